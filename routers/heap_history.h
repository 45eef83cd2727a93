/* heap_history.h - one server's heap over time: is it to be believed, how full is it on average,
 * how much of it is alive. */
#ifndef CR_ROUTERS_HEAP_HISTORY_H
#define CR_ROUTERS_HEAP_HISTORY_H

#include <math.h>

#include "memory.h"
#include "portable.h"

#define HISTORY_TAU_S      120.0 /* over which mean and correlation are remembered */
#define HISTORY_RATE_TAU_S 20.0
#define HISTORY_SLICES     20 /* of the window in which the least unexplained heap is sought */
#define HISTORY_SLICE_NS   INT64_C(3000000000)
#define HISTORY_POLLS      8 /* the window holds so many polls at least */
#define HISTORY_YOUNG      8 /* samples before the correlation is believed */
#define HISTORY_REPEATS    3 /* equal samples in a row make a frozen exporter ... */
#define HISTORY_FROZEN_NS  INT64_C(3000000000) /* ... if they span so much time */
#define HISTORY_CALL_S     15.0 /* what a long call holds is gone after so long, about */
#define HISTORY_LEAP       4.0  /* a maximum that changes by more has to say so three times */

/** What a server says of its heap, NaN where it says nothing. */
struct heap_reading {
	double max, used, used_after_gc; /* bytes */
	double hogs;                     /* requests that run for long */
	double requests;                 /* completed so far */
	int64_t taken_ns;                /* when used was measured */
};

/** The order of the metrics in wants[] of those who call heap_read(). */
enum heap_metric {
	HEAP_MAX,
	HEAP_USED,
	HEAP_FREE,
	HEAP_SIZE,
	HEAP_FREE_AFTER_GC,
	HEAP_HOGS,
	HEAP_REQUESTS,
};
static const char *const heap_metrics[] = {
	"jvm_heap_max_bytes",
	"jvm_heap_used_bytes",
	"jvm_heap_free_bytes",
	"jvm_heap_size_bytes",
	"jvm_heap_free_after_gc_bytes",
	"hogging_threads",
	"requests_total",
	NULL,
};

/** What the figures of a server rest on; shown to the operator as the column "basis". */
enum heap_basis {
	HEAP_NONSENSE = -2, /* below 0, more used than there is, another unit than the others */
	HEAP_FROZEN = -1,   /* the exporter repeats itself while calls are served */
	HEAP_UNKNOWN = 0,
	HEAP_FROM_USED = 1,
	HEAP_FROM_AFTER_GC = 2,
	HEAP_FROM_HOGS = 3, /* the best */
};

/** A server's record in the memory. */
struct heap_history {
	struct memory_head head;
	int64_t taken_ns; /* of the newest sample */
	int64_t same_since_ns;
	int64_t latency_ns; /* then: another value says that calls have ended since */
	int64_t slice_ns;   /* when the newest slice began */
	uint32_t slice;     /* its place */
	double used, used_after_gc, requests;
	double max, coming_max;                   /* believed; seen n_coming times instead */
	double ratio, mean, variance, covariance; /* of used / max */
	double live_mean;                         /* bytes */
	double gap_s;                             /* mean time between samples */
	double requests_per_s;                    /* NaN: not known yet */
	uint32_t n_samples, n_same, n_coming;
	uint32_t live_basis;         /* of live and live_mean: enum heap_basis */
	struct news believed;        /* 0, or the basis for which it is not, positive */
	float least[HISTORY_SLICES]; /* unexplained bytes, by slice of time */
};

/** Row i as the view has it. [any] */
static inline struct heap_reading heap_read(const struct cr_view *view, size_t i)
{
	const bool is_derived = isnan(view->metric[HEAP_USED][i]);
	const int64_t *taken = view->metric_taken_ns[is_derived ? HEAP_FREE : HEAP_USED];
	const double size = view->metric[HEAP_SIZE][i], free = view->metric[HEAP_FREE][i];

	return (struct heap_reading){
		.max = view->metric[HEAP_MAX][i],
		.used = is_derived ? size - free : view->metric[HEAP_USED][i],
		.used_after_gc = view->metric[HEAP_MAX][i] - view->metric[HEAP_FREE_AFTER_GC][i],
		.hogs = view->metric[HEAP_HOGS][i],
		.requests = view->metric[HEAP_REQUESTS][i],
		.taken_ns = taken[i],
	};
}

/* Equal, or both unknown. */
static inline bool history_is_same(double a, double b)
{
	return !(a < b) && !(a > b) && isnan(a) == isnan(b);
}

/* A repeated answer alone may be an idle server: its calls' mean time says that it is not. */
static inline void history_compare(struct heap_history *h, const struct heap_reading *now,
				   int64_t latency_ns)
{
	const bool is_same = history_is_same(h->used, now->used) &&
			     history_is_same(h->used_after_gc, now->used_after_gc) &&
			     history_is_same(h->requests, now->requests);

	if (!is_same || h->n_samples == 0) {
		h->n_same = 1;
		h->same_since_ns = now->taken_ns;
	} else if (latency_ns != h->latency_ns) {
		h->n_same += h->n_same < HISTORY_REPEATS;
	}
	h->latency_ns = latency_ns;
}

static inline bool history_is_frozen(const struct heap_history *h)
{
	return h->n_same >= HISTORY_REPEATS && h->taken_ns - h->same_since_ns >= HISTORY_FROZEN_NS;
}

/* A maximum that leaps is a mistake, until it has been seen three times. */
static inline void history_believe(struct heap_history *h, double max)
{
	if (h->max <= 0 || (max < h->max * HISTORY_LEAP && max > h->max / HISTORY_LEAP)) {
		h->max = max;
		h->n_coming = 0;
		return;
	}
	h->n_coming = history_is_same(max, h->coming_max) ? h->n_coming + 1 : 1;
	h->coming_max = max;
	if (h->n_coming < 3)
		return;
	h->max = max;
	h->n_coming = 0;
	h->n_samples = 0; /* another server under the old name */
}

static inline void history_average(struct heap_history *h, double ratio, double gap_s)
{
	double gain = 1 - portable_exp(-gap_s / HISTORY_TAU_S);
	double off, off_before;

	gain = gain < 0.005 ? 0.005 : gain > 0.3 ? 0.3 : gain;
	if (h->n_samples == 0) {
		h->mean = ratio;
		h->variance = h->covariance = h->gap_s = 0;
	} else {
		off = ratio - h->mean;
		off_before = h->ratio - h->mean;
		h->covariance += gain * (off_before * off - h->covariance);
		h->variance += gain * (off * off - h->variance);
		h->mean += gain * off;
		h->gap_s = h->n_samples == 1 ? gap_s : h->gap_s + 0.2 * (gap_s - h->gap_s);
	}
	h->ratio = ratio;
}

static inline void history_count_requests(struct heap_history *h, double requests, double gap_s)
{
	const double more = requests - h->requests;

	if (h->n_samples == 0)
		h->requests_per_s = (double)NAN;
	else if (more >= 0 && isnan(h->requests_per_s))
		h->requests_per_s = more / gap_s;
	else if (more >= 0) /* a server that has started anew counts from 0 */
		h->requests_per_s += (1 - portable_exp(-gap_s / HISTORY_RATE_TAU_S)) *
				     (more / gap_s - h->requests_per_s);
}

/* What neither long requests nor their expected size explain; its least value over a minute, or
 * over some polls if they are rare, is what stays after a garbage collection. */
static inline void history_note_unexplained(struct heap_history *h, double bytes)
{
	const double rare_ns = h->gap_s * 1e9 * HISTORY_POLLS / HISTORY_SLICES;
	const int64_t slice_ns = rare_ns > HISTORY_SLICE_NS ? (int64_t)rare_ns : HISTORY_SLICE_NS;
	int64_t passed = (h->taken_ns - h->slice_ns) / slice_ns;

	if (h->n_samples == 0 || passed > HISTORY_SLICES || passed < 0)
		passed = HISTORY_SLICES;
	if (passed >= HISTORY_SLICES)
		h->slice_ns = h->taken_ns;
	else if (passed > 0)
		h->slice_ns += passed * slice_ns;
	for (; passed > 0; passed--) {
		h->slice = (h->slice + 1) % HISTORY_SLICES;
		h->least[h->slice] = INFINITY;
	}
	if (bytes < (double)h->least[h->slice])
		h->least[h->slice] = (float)bytes;
}

/** Is the reading possible at all? Nothing is known, or it is nonsense, or what it rests on. [rank]
 */
static inline enum heap_basis heap_judge(const struct heap_reading *now)
{
	if (isnan(now->max) || isnan(now->used))
		return HEAP_UNKNOWN;
	if (!(now->max > 0) || isinf(now->max) || !(now->used >= 0) || now->used > 1.05 * now->max)
		return HEAP_NONSENSE;
	if (now->hogs >= 0 && now->hogs < 1e6)
		return HEAP_FROM_HOGS;
	if (now->used_after_gc >= 0 && now->used_after_gc <= 1.05 * now->max)
		return HEAP_FROM_AFTER_GC;
	return HEAP_FROM_USED;
}

/* Live bytes as this sample tells them. */
static inline double history_live(const struct heap_history *h, const struct heap_reading *now,
				  enum heap_basis basis, double hog_bytes)
{
	double least = INFINITY, live;

	if (basis == HEAP_FROM_AFTER_GC)
		return now->used_after_gc;
	if (basis != HEAP_FROM_HOGS)
		return now->used;
	for (size_t i = 0; i < HISTORY_SLICES; i++)
		least = (double)h->least[i] < least ? (double)h->least[i] : least;
	live = least + now->hogs * hog_bytes;
	return live < now->used ? live : now->used;
}

static inline void history_note_live(struct heap_history *h, double live, enum heap_basis basis,
				     double gap_s)
{
	double gain = 1 - portable_exp(-gap_s / HISTORY_TAU_S);

	/* a plain mean at first */
	gain = h->n_samples == 0 || gain * h->n_samples < 1 ? 1.0 / (h->n_samples + 1.0) : gain;
	if (h->n_samples == 0 || h->live_basis != (uint32_t)basis)
		h->live_mean = live;
	else
		h->live_mean += gain * (live - h->live_mean);
	h->live_basis = (uint32_t)basis;
}

/**
 * Take a reading into account; one that is not newer than the last one changes nothing. hog_bytes:
 * what a long request is expected to hold. Returns what the server's figures rest on. [rank]
 */
static inline enum heap_basis heap_learn(struct heap_history *h, const struct heap_reading *now,
					 double hog_bytes, int64_t latency_ns)
{
	const double gap_s = (double)(now->taken_ns - h->taken_ns) * 1e-9;
	const enum heap_basis basis = now->taken_ns > 0 ? heap_judge(now) : HEAP_UNKNOWN;

	if (basis <= HEAP_UNKNOWN)
		return basis;
	if (h->taken_ns == 0 || gap_s > 0) {
		history_compare(h, now, latency_ns);
		h->taken_ns = now->taken_ns;
		history_believe(h, now->max);
		if (h->n_coming == 0 && !history_is_frozen(h)) {
			const double unexplained = now->used - now->hogs * hog_bytes;

			history_average(h, now->used < now->max ? now->used / now->max : 1, gap_s);
			history_count_requests(h, now->requests, gap_s);
			if (basis == HEAP_FROM_HOGS)
				history_note_unexplained(h, unexplained > 0 ? unexplained : 0);
			history_note_live(h, history_live(h, now, basis, hog_bytes), basis, gap_s);
			h->n_samples += h->n_samples < UINT32_MAX;
		}
		h->used = now->used;
		h->used_after_gc = now->used_after_gc;
		h->requests = now->requests;
	}
	if (h->n_coming > 0)
		return HEAP_NONSENSE;
	return history_is_frozen(h) ? HEAP_FROZEN : basis;
}

/** Bytes of the heap that a collection would not free now: what the last sample says, drawn to the
 * mean as the calls that it saw end. [rank] */
static inline double heap_live_bytes(const struct heap_history *h, const struct heap_reading *now,
				     enum heap_basis basis, double hog_bytes, int64_t now_ns)
{
	const double age_s = now_ns > now->taken_ns ? (double)(now_ns - now->taken_ns) * 1e-9 : 0;
	const double live = history_live(h, now, basis, hog_bytes);

	if (h->live_basis != (uint32_t)basis)
		return live;
	return h->live_mean + (live - h->live_mean) * portable_exp(-age_s / HISTORY_CALL_S);
}

/** The share of its heap that a server is expected to have free now: its last sample, drawn to its
 * mean the more the older it is. 0.02 .. 1. [rank] */
static inline double heap_free_ratio(const struct heap_history *h, int64_t now_ns)
{
	const double age_s = now_ns > h->taken_ns ? (double)(now_ns - h->taken_ns) * 1e-9 : 0;
	double rho = h->variance > 0 ? h->covariance / h->variance : 0, weight, free;

	rho = h->n_samples < HISTORY_YOUNG ? 0.5 : rho > 0.98 ? 0.98 : rho;
	if (age_s <= 0 || h->gap_s <= 0)
		weight = 1;
	else
		weight = rho > 1e-9 ? portable_exp(age_s / h->gap_s * portable_log(rho)) : 0;
	free = 1 - (h->mean + (h->ratio - h->mean) * weight);
	return free < 0.02 ? 0.02 : free > 1 ? 1 : free;
}

#endif
