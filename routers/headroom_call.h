/* headroom_call.h - what route() of headroom and headroom_lite share: the columns and the small
 * tier of calls. */
#ifndef CR_ROUTERS_HEADROOM_CALL_H
#define CR_ROUTERS_HEADROOM_CALL_H

#include "memory.h"
#include "place.h"

#define HEADROOM_OLD_NS INT64_C(60000000000) /* heap figures of a view so old are not used */
#define HEADROOM_DRAWS  8 /* of more than FIELD_MAX servers, so many are compared */

/** Columns, the first three also of headroom_lite. Those for all servers together have the same
 * value in every row. */
enum headroom_column {
	COLUMN_PRICE, /* of a call in progress: 1 / (weight * (floor + free_ratio)) */
	COLUMN_FREE_RATIO,
	COLUMN_BASIS,      /* enum heap_basis */
	COLUMN_HEAP_BYTES, /* the maximum */
	COLUMN_LIVE_BYTES,
	COLUMN_BLIND_S,     /* how long what others send stays unseen */
	COLUMN_BIG_BYTES,   /* all: from so many bytes on a call is big; NaN: none is */
	COLUMN_BYTES_PER_S, /* all: of big calls that are not seen at once */
	HEADROOM_COLUMNS,
};
#define HEADROOM_LITE_COLUMNS COLUMN_HEAP_BYTES

/** Shared words, counted by route(), read by rank(). */
enum headroom_word { WORD_BIG_BYTES, WORD_BIG_CALLS, WORD_CALLS, HEADROOM_WORDS };

/** The rate at which a shared word grows. */
struct meter {
	uint64_t seen;
	int64_t back_ns; /* since when it reads less than seen; 0: it does not */
	double per_s;
};

/** What lasts from rank() to rank(), beside the servers' records; saved as it is. */
struct headroom_state {
	int64_t ranked_ns; /* 0: never */
	int64_t peers_ns;  /* when a peer's calls were last seen; 0: never */
	double measured_s; /* by the meters */
	double big_call_bytes;
	struct meter meter[HEADROOM_WORDS];
	struct news known; /* 1: most heaps are not */
};

/** An instance. route() reads the options alone. */
struct headroom {
	const struct cr_host *host;
	double big_ratio, floor_ratio, phantom;
	double hosts;   /* 0: find out */
	bool has_tiers; /* false: headroom_lite */
	struct headroom_state state;
	struct memory memory;
};

/** How much of its share a server keeps that fails so often. [any] */
static inline double headroom_grace(double failure_ratio)
{
	const double q = failure_ratio < 1 ? 1 - failure_ratio : 0, q4 = q * q * q * q;

	return q4 * q4 * q4;
}

/** Calls in progress, and those that recent failures stand for, at this price each. [any] */
static inline double headroom_score(const struct headroom *self, const struct cr_view *view,
				    size_t i, int64_t now_ns, double price, double more_calls)
{
	const double calls = cr_inflight(view, i) + more_calls;
	const double failure_ratio = cr_failure_ratio_at(view, i, now_ns);

	if (failure_ratio <= 0)
		return calls * price;
	return (calls + self->phantom * failure_ratio) * price /
	       (headroom_grace(failure_ratio) + 1e-4);
}

/** The price of row i; of its weight alone before the first ranking and long after the last. NaN:
 * nobody is to go there. [any] */
static inline double headroom_price(const struct cr_view *view, size_t i, bool is_old)
{
	const double price = view->column[COLUMN_PRICE][i];

	if (price > 0 && !is_old)
		return price;
	return view->weight[i] > 0 ? 1.0 / view->weight[i] : (double)NAN;
}

/** Are the columns too old to be used? [any] */
static inline bool headroom_is_old(const struct cr_view *view, const struct cr_call *call)
{
	return call->now_ns - view->taken_ns > HEADROOM_OLD_NS;
}

/** Bring the servers with the fewest calls in progress for what they are worth to the front. [any]
 */
static inline void headroom_small(const struct headroom *self, const struct cr_view *view,
				  const struct cr_call *call, uint16_t *order, size_t n)
{
	const bool is_old = headroom_is_old(view, call);
	uint64_t state = call->random;
	struct field field;

	if (n <= FIELD_MAX)
		field_take_all(&field, n);
	else
		field_draw(&field, view, order, n, HEADROOM_DRAWS, &state);
	for (size_t k = 0; k < field.n; k++) {
		const size_t i = order[field.at[k]];

		field.price[k] = headroom_price(view, i, is_old);
		field.score[k] = headroom_score(self, view, i, call->now_ns, field.price[k], 0);
		if (n > FIELD_MAX)
			field.price[k] *= view->weight[i] / (double)field.hits[k];
	}
	field_front(&field, field_least(&field, &state), order, &state);
}

#endif
