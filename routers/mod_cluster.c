/* mod_cluster.c - at random, in proportion to mod_cluster's load factor, 100 (idle) .. 1 (full). */
#include "heap_history.h"
#include "place.h"

#define OLD_NS INT64_C(60000000000) /* a view so old says nothing of load any more */

enum load { LOAD_HEAP, LOAD_CPU, LOAD_BUSY, LOADS };
enum { METRIC_CPU = HEAP_REQUESTS + 1, METRIC_BUSY };

static const char *const wants[] = { "jvm_heap_max_bytes",
				     "jvm_heap_used_bytes",
				     "jvm_heap_free_bytes",
				     "jvm_heap_size_bytes",
				     "jvm_heap_free_after_gc_bytes",
				     "hogging_threads",
				     "requests_total",
				     "cpu_load_ratio",
				     "busy_threads_ratio",
				     NULL };
static const char *const columns[] = { "factor", "share", NULL };

/** A server's loads, averaged: each sample counts half as much as the next one. */
struct record {
	struct memory_head head;
	int64_t taken_ns[LOADS];
	double mean[LOADS];
};

struct mod_cluster {
	double weight[LOADS];
	struct memory memory;
	double usual[LOADS]; /* while ranking: mean of the servers that say it, or NaN */
};

static int open_mod_cluster(const struct cr_open *in, void **out)
{
	struct mod_cluster *self = calloc(1, sizeof *self);

	if (self == NULL)
		return -ENOMEM;
	self->memory.record_bytes = sizeof(struct record);
	for (size_t k = 0; k < LOADS; k++)
		self->weight[k] = in->option[k].real;
	if (in->saved_len > 0)
		(void)memory_load(&self->memory, in->saved, in->saved_len);
	*out = self;
	return 0;
}

static void close_mod_cluster(void *arg)
{
	struct mod_cluster *self = arg;

	free(self->memory.slots);
	free(self);
}

static size_t save(const void *arg, void *buf, size_t cap)
{
	const struct mod_cluster *self = arg;

	return memory_save(&self->memory, buf, cap);
}

/* 0 .. 1; NaN if it is unknown or no share: an exporter that fails must not look idle. */
static double read_load(const struct cr_view *view, enum load load, size_t i, int64_t *taken_ns)
{
	const struct heap_reading heap = heap_read(view, i);
	const size_t metric = load == LOAD_CPU ? METRIC_CPU : METRIC_BUSY;
	double ratio = load == LOAD_HEAP ? heap.used / heap.max : view->metric[metric][i];

	*taken_ns = load == LOAD_HEAP ? heap.taken_ns : view->metric_taken_ns[metric][i];
	if (load == LOAD_HEAP && heap_judge(&heap) <= HEAP_UNKNOWN)
		return (double)NAN;
	if (!(ratio >= 0) || ratio > 1.05)
		return (double)NAN;
	return ratio < 1 ? ratio : 1;
}

/* The averaged loads of row i; a server's first sample is its average, not a history of zeros. */
static void learn(struct mod_cluster *self, const struct cr_view *view, size_t i, double *loads)
{
	struct record *record = memory_get(&self->memory, view->name[i], view->taken_ns);

	for (size_t k = 0; k < LOADS; k++) {
		int64_t taken_ns;
		const double now = read_load(view, (enum load)k, i, &taken_ns);

		if (isnan(now)) {
			loads[k] = now;
			continue;
		}
		if (record->taken_ns[k] == 0)
			record->mean[k] = now;
		else if (taken_ns > record->taken_ns[k])
			record->mean[k] = (record->mean[k] + now) / 2;
		record->taken_ns[k] = taken_ns;
		loads[k] = record->mean[k];
	}
}

static void take_usual(struct mod_cluster *self, const double *loads, const uint16_t *order,
		       size_t n)
{
	for (size_t k = 0; k < LOADS; k++) {
		double sum = 0, known = 0;

		for (size_t j = 0; j < n; j++) {
			const double load = loads[order[j] * (size_t)LOADS + k];

			known += !isnan(load);
			sum += isnan(load) ? 0 : load;
		}
		self->usual[k] = known > 0 ? sum / known : (double)NAN;
	}
}

/* 1 .. 100, NaN if nothing is known of anybody. What a server does not say counts as it is
 * elsewhere: it is never the best for saying nothing. */
static double factor(const struct mod_cluster *self, const double *loads)
{
	double sum = 0, weights = 0, percent;

	for (size_t k = 0; k < LOADS; k++) {
		if (isnan(self->usual[k]))
			continue;
		sum += self->weight[k] * (isnan(loads[k]) ? self->usual[k] : loads[k]);
		weights += self->weight[k];
	}
	if (!(weights > 0))
		return (double)NAN;
	percent = floor(100 * sum / weights + 0.5);
	return 100 - (percent < 99 ? percent : 99);
}

static bool has_more(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	const double *share = arg;

	(void)view;
	return share[a] > share[b];
}

static int rank(void *arg, const struct cr_view *view, uint16_t *order, size_t n,
		double *const *column)
{
	struct mod_cluster *self = arg;
	double *loads = calloc(view->n, LOADS * sizeof *loads);

	if (loads == NULL || memory_reserve(&self->memory, view->n, view->taken_ns) < 0) {
		free(loads);
		return -ENOMEM;
	}
	for (size_t i = 0; i < view->n; i++)
		learn(self, view, i, loads + i * LOADS);
	take_usual(self, loads, order, n);
	for (size_t i = 0; i < view->n; i++) {
		column[0][i] = factor(self, loads + i * LOADS);
		column[1][i] = view->weight[i] * (isnan(column[0][i]) ? 1 : column[0][i]);
	}
	free(loads);
	cr_order_sort(view, order, n, has_more, column[1]);
	cr_order_turns(view, order, n, has_more, column[1]);
	return (int)n;
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	(void)self;
	if (call->now_ns - view->taken_ns > OLD_NS)
		return CR_DEFAULT;
	place_by_weight(order, n, view->column[1], call->random);
	return (int)n;
}

static const struct cr_option options[] = {
	{ "heap", CR_REAL, "1", 0, 1000, NULL, "weight of the used share of the heap" },
	{ "cpu", CR_REAL, "1", 0, 1000, NULL, "weight of the processor load" },
	{ "busy", CR_REAL, "1", 0, 1000, NULL, "weight of the share of busy threads" },
	{ 0 }
};

CR_ROUTER = {
	CR_ROUTER_HEAD("mod_cluster", "1.0.0", "at random, by mod_cluster's load factor"),
	.state_tag = 1,
	.wants = wants,
	.columns = columns,
	.options = options,
	.open = open_mod_cluster,
	.close = close_mod_cluster,
	.save = save,
	.rank = rank,
	.route = route,
};
