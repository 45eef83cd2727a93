/* headroom_rank.h - what rank() of headroom and headroom_lite share: from metrics to columns. */
#ifndef CR_ROUTERS_HEADROOM_RANK_H
#define CR_ROUTERS_HEADROOM_RANK_H

#include "headroom_call.h"
#include "heap_history.h"

#define HEADROOM_RATE_S   20.0 /* over which bytes and calls per second are averaged */
#define HEADROOM_PEERS_NS INT64_C(30000000000) /* peers not heard of for so long are gone */
#define HEADROOM_PEERS_S  1.25 /* what peers send stays unseen for so long: exchange and effect */
#define HEADROOM_EFFECT_S 1.0  /* a call fills the heap only after it has begun */
#define HEADROOM_TELL_NS  INT64_C(1000000000) /* what lasts so long is logged */
#define HEADROOM_UNITS    100.0 /* a maximum so many times the others' is in another unit */

/** One server while ranking. */
struct headroom_row {
	struct heap_history *history;
	struct heap_reading now;
	enum heap_basis basis;
	bool is_offered;
};

/** The ranking in progress. */
struct headroom_round {
	struct headroom *self;
	const struct cr_view *view;
	double *const *column;
	struct headroom_row *row; /* [n] */
	double *scratch;          /* [n] */
	size_t n_offered, n_valid;
	/* Of the valid ones: ratio, ratio, bytes, bytes, seconds. */
	double mean_free, mean_live, mean_max, sum_max, mean_age_s;
	double median_max, bytes_per_s;
	bool hears_peers;
};

/*** Between the rankings ***/

/** Options: floor, phantom, and for two tiers big, big_call, hosts. */
static inline int headroom_open(const struct cr_open *in, bool has_tiers, void **out)
{
	struct headroom *self = calloc(1, sizeof *self);

	if (self == NULL)
		return -ENOMEM;
	*self = (struct headroom){
		.host = in->host,
		.floor_ratio = in->option[0].real,
		.phantom = in->option[1].real,
		.has_tiers = has_tiers,
		.memory.record_bytes = sizeof(struct heap_history),
	};
	if (has_tiers) {
		self->big_ratio = in->option[2].real;
		self->state.big_call_bytes = (double)in->option[3].num;
		self->hosts = (double)in->option[4].num;
	}
	*out = self;
	if (in->saved_len < sizeof self->state)
		return 0;
	memcpy(&self->state, in->saved, sizeof self->state);
	/* records that cannot be read fill again within a minute */
	(void)memory_load(&self->memory, (const char *)in->saved + sizeof self->state,
			  in->saved_len - sizeof self->state);
	return 0;
}

static inline void headroom_close(void *arg)
{
	struct headroom *self = arg;

	free(self->memory.slots);
	free(self);
}

static inline size_t headroom_save(const void *arg, void *buf, size_t cap)
{
	const struct headroom *self = arg;

	if (cap < sizeof self->state)
		return 0;
	memcpy(buf, &self->state, sizeof self->state);
	return sizeof self->state + memory_save(&self->memory, (char *)buf + sizeof self->state,
						cap - sizeof self->state);
}

/* How much the word has grown. One that reads less than before is that of a trial, unless it lasts:
 * then it was made anew. */
static inline double meter_read(struct meter *meter, const struct cr_view *view, size_t word)
{
	const uint64_t now =
		view->shared != NULL ? __atomic_load_n(&view->shared[word], __ATOMIC_RELAXED) : 0;
	const uint64_t more = now - meter->seen;

	if (now >= meter->seen) {
		meter->seen = now;
		meter->back_ns = 0;
		return (double)more;
	}
	if (meter->back_ns == 0)
		meter->back_ns = view->taken_ns;
	if (view->taken_ns - meter->back_ns > INT64_C(10000000000)) {
		meter->seen = now;
		meter->back_ns = 0;
	}
	return 0;
}

/* The rates, and what a big call holds on average. */
static inline void headroom_read_meters(struct headroom_round *round)
{
	struct headroom_state *state = &round->self->state;
	const double dt_s = (double)(round->view->taken_ns - state->ranked_ns) * 1e-9;
	const bool is_first = state->ranked_ns == 0;
	double grown[HEADROOM_WORDS], gain;

	if (dt_s <= 0)
		return;
	state->measured_s += is_first ? 0 : dt_s;
	/* a plain mean at first, or the rates would begin too low */
	gain = state->measured_s < HEADROOM_RATE_S ? dt_s / state->measured_s
						   : 1 - portable_exp(-dt_s / HEADROOM_RATE_S);
	for (size_t i = 0; i < HEADROOM_WORDS; i++) {
		grown[i] = meter_read(&state->meter[i], round->view, i);
		/* more than fits into all heaps was not sent since, but before our time */
		if (i == WORD_BIG_BYTES && grown[i] > round->sum_max)
			grown[i] = round->sum_max;
		if (!is_first)
			state->meter[i].per_s += gain * (grown[i] / dt_s - state->meter[i].per_s);
	}
	if (!is_first && grown[WORD_BIG_CALLS] > 0)
		state->big_call_bytes +=
			(1 - portable_exp(-grown[WORD_BIG_CALLS] / 50)) *
			(grown[WORD_BIG_BYTES] / grown[WORD_BIG_CALLS] - state->big_call_bytes);
	state->ranked_ns = round->view->taken_ns;
}

/*** The ranking ***/

static inline bool headroom_is_believed(const struct headroom_row *row)
{
	return row->basis > HEAP_UNKNOWN;
}

/* With fewer than half of them nobody's heap counts. */
static inline bool headroom_is_known(const struct headroom_round *round)
{
	return round->n_valid > 0 && 2 * round->n_valid >= round->n_offered;
}

static inline int headroom_compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the maxima that are believed, 0 if there are none. */
static inline double headroom_median(const struct headroom_round *round)
{
	size_t n = 0;

	for (size_t i = 0; i < round->view->n; i++)
		if (headroom_is_believed(&round->row[i]))
			round->scratch[n++] = round->row[i].now.max;
	qsort(round->scratch, n, sizeof *round->scratch, headroom_compare);
	return n > 0 ? round->scratch[n / 2] : 0;
}

static inline void headroom_take_readings(struct headroom_round *round)
{
	const struct cr_view *view = round->view;

	for (size_t i = 0; i < view->n; i++) {
		struct headroom_row *row = &round->row[i];

		row->history = memory_get(&round->self->memory, view->name[i], view->taken_ns);
		row->now = heap_read(view, i);
		row->basis =
			heap_learn(row->history, &row->now, round->self->state.big_call_bytes,
				   __atomic_load_n(&view->live[i]->latency_ns, __ATOMIC_RELAXED));
	}
	round->median_max = headroom_median(round);
	/* of two servers nobody knows which one is wrong */
	for (size_t i = 0; view->n > 2 && i < view->n; i++) {
		struct headroom_row *row = &round->row[i];

		if (headroom_is_believed(row) &&
		    (row->now.max > round->median_max * HEADROOM_UNITS ||
		     row->now.max < round->median_max / HEADROOM_UNITS))
			row->basis = HEAP_NONSENSE;
	}
}

/* Once per change, so that a bad exporter fills no log. */
static inline void headroom_tell_row(const struct headroom_round *round, size_t i)
{
	const struct headroom_row *row = &round->row[i];
	const struct cr_host *host = round->self->host;
	const uint32_t bad = row->basis < HEAP_UNKNOWN ? (uint32_t)-row->basis : 0;

	if (!news_is_due(&row->history->believed, bad, round->view->taken_ns, HEADROOM_TELL_NS))
		return;
	if (bad == 0)
		host->log(host, CR_INFO, "heap believed again server=%s", round->view->name[i]);
	else
		host->log(host, CR_WARN, "heap not believed server=%s reason=%s max=%.0f used=%.0f",
			  round->view->name[i], row->basis == HEAP_FROZEN ? "frozen" : "nonsense",
			  row->now.max, row->now.used);
}

static inline void headroom_tell(const struct headroom_round *round)
{
	const struct cr_host *host = round->self->host;
	const bool is_known = headroom_is_known(round);

	if (host == NULL)
		return;
	for (size_t i = 0; i < round->view->n; i++)
		headroom_tell_row(round, i);
	/* at the start the first polls are still to come */
	if (!news_is_due(&round->self->state.known, is_known ? 0 : 1, round->view->taken_ns,
			 10 * HEADROOM_TELL_NS))
		return;
	host->log(host, is_known ? CR_INFO : CR_WARN, "%s known=%zu servers=%zu",
		  is_known ? "heaps known again" : "heaps unknown, only calls in progress count",
		  round->n_valid, round->n_offered);
}

static inline double headroom_age_s(const struct headroom_round *round,
				    const struct headroom_row *row)
{
	const double age_s = (double)(round->view->taken_ns - row->now.taken_ns) * 1e-9;

	return age_s > 0 ? age_s : 0;
}

/* What the servers that are believed have in common, for those that are not. */
static inline void headroom_take_means(struct headroom_round *round)
{
	double n;

	for (size_t i = 0; i < round->view->n; i++) {
		const struct headroom_row *row = &round->row[i];

		if (!row->is_offered || !headroom_is_believed(row))
			continue;
		round->n_valid++;
		round->mean_free += heap_free_ratio(row->history, round->view->taken_ns);
		round->mean_live +=
			heap_live_bytes(row->history, &row->now, row->basis,
					round->self->state.big_call_bytes, round->view->taken_ns) /
			row->now.max;
		round->sum_max += row->now.max;
		round->mean_age_s += headroom_age_s(round, row);
	}
	n = round->n_valid > 0 ? (double)round->n_valid : 1;
	round->mean_free /= n;
	round->mean_live /= n;
	round->mean_max = round->sum_max / n;
	round->mean_age_s /= n;
}

static inline bool headroom_hears_peers(const struct headroom_round *round)
{
	const struct cr_view *view = round->view;
	struct headroom_state *state = &round->self->state;

	for (size_t i = 0; i < view->n; i++)
		if (__atomic_load_n(&view->live[i]->peer_inflight, __ATOMIC_RELAXED) > 0 ||
		    __atomic_load_n(&view->live[i]->peer_bytes, __ATOMIC_RELAXED) > 0)
			state->peers_ns = view->taken_ns;
	return state->peers_ns != 0 && view->taken_ns - state->peers_ns < HEADROOM_PEERS_NS;
}

/* How many hosts send to these servers: as told, or by the requests that the servers complete
 * against the calls that this host sends. */
static inline double headroom_count_hosts(const struct headroom_round *round)
{
	const double own = round->self->state.meter[WORD_CALLS].per_s;
	double all = 0, known = 0, hosts;

	if (round->self->hosts > 0)
		return round->self->hosts;
	if (round->view->hosts > 0)
		return round->view->hosts;
	for (size_t i = 0; i < round->view->n; i++) {
		const struct headroom_row *row = &round->row[i];

		if (!row->is_offered || !headroom_is_believed(row) ||
		    isnan(row->history->requests_per_s))
			continue;
		all += row->history->requests_per_s;
		known++;
	}
	if (!(own > 0) || 2 * known < (double)round->n_offered)
		return 1;
	hosts = all / known * (double)round->n_offered / own;
	return hosts < 1 ? 1 : hosts > 1000 ? 1000 : hosts;
}

/* The columns of the big tier; heaps are known. */
static inline void headroom_fill_big(const struct headroom_round *round, size_t i)
{
	const struct headroom_row *row = &round->row[i];
	const bool is_believed = headroom_is_believed(row);
	double max = round->mean_max, live = max * round->mean_live;

	if (row->basis != HEAP_NONSENSE && row->now.max > 0 && !isinf(row->now.max)) {
		max = row->now.max;
		live = max * round->mean_live;
	}
	if (is_believed)
		live = heap_live_bytes(row->history, &row->now, row->basis,
				       round->self->state.big_call_bytes, round->view->taken_ns);
	round->column[COLUMN_HEAP_BYTES][i] = max;
	round->column[COLUMN_LIVE_BYTES][i] = live;
	round->column[COLUMN_BLIND_S][i] = round->hears_peers ? HEADROOM_PEERS_S
					   : is_believed
						   ? headroom_age_s(round, row) + HEADROOM_EFFECT_S
						   : round->mean_age_s + HEADROOM_EFFECT_S;
	round->column[COLUMN_BIG_BYTES][i] = round->median_max * round->self->big_ratio;
	round->column[COLUMN_BYTES_PER_S][i] = round->bytes_per_s;
}

static inline void headroom_fill_columns(struct headroom_round *round)
{
	const struct headroom *self = round->self;
	const struct cr_view *view = round->view;
	const bool is_known = headroom_is_known(round);

	round->hears_peers = headroom_hears_peers(round);
	round->bytes_per_s = self->state.meter[WORD_BIG_BYTES].per_s *
			     (round->hears_peers ? 1 : headroom_count_hosts(round));
	for (size_t i = 0; i < view->n; i++) {
		const struct headroom_row *row = &round->row[i];
		double free_ratio = round->mean_free;

		for (size_t k = 0; k < (self->has_tiers ? HEADROOM_COLUMNS : HEADROOM_LITE_COLUMNS);
		     k++)
			round->column[k][i] = (double)NAN;
		if (headroom_is_believed(row))
			free_ratio = heap_free_ratio(row->history, view->taken_ns);
		if (view->weight[i] > 0)
			round->column[COLUMN_PRICE][i] =
				1 /
				((is_known ? self->floor_ratio + free_ratio : 1) * view->weight[i]);
		if (is_known)
			round->column[COLUMN_FREE_RATIO][i] = free_ratio;
		round->column[COLUMN_BASIS][i] = row->basis;
		if (is_known && self->has_tiers)
			headroom_fill_big(round, i);
	}
}

static inline bool headroom_is_before(const struct cr_view *view, uint16_t a, uint16_t b,
				      const void *arg)
{
	const double *score = arg;

	(void)view;
	return score[a] < score[b];
}

/* As one more small call would see it. */
static inline void headroom_sort(const struct headroom_round *round, uint16_t *order, size_t n)
{
	for (size_t i = 0; i < round->view->n; i++) {
		const double price = round->column[COLUMN_PRICE][i];

		round->scratch[i] = price > 0 ? headroom_score(round->self, round->view, i,
							       round->view->taken_ns, price, 1)
					      : (double)INFINITY;
	}
	cr_order_sort(round->view, order, n, headroom_is_before, round->scratch);
	cr_order_turns(round->view, order, n, headroom_is_before, round->scratch);
}

static inline int headroom_rank(void *arg, const struct cr_view *view, uint16_t *order, size_t n,
				double *const *column)
{
	struct headroom *self = arg;
	struct headroom_round round = {
		.self = self, .view = view, .column = column, .n_offered = n
	};

	if (memory_reserve(&self->memory, view->n, view->taken_ns) < 0)
		return -ENOMEM;
	round.row = calloc(view->n, sizeof *round.row);
	round.scratch = calloc(view->n, sizeof *round.scratch);
	if (round.row == NULL || round.scratch == NULL) {
		free(round.row);
		free(round.scratch);
		return -ENOMEM;
	}
	for (size_t k = 0; k < n; k++)
		round.row[order[k]].is_offered = true;
	headroom_take_readings(&round);
	headroom_take_means(&round);
	headroom_tell(&round);
	headroom_read_meters(&round);
	headroom_fill_columns(&round);
	headroom_sort(&round, order, n);
	free(round.row);
	free(round.scratch);
	return (int)n;
}

#endif
