/* headroom.c - small calls by calls in progress over predicted free heap, big ones by the room that
 * is left for them. */
#include "headroom_rank.h"

#define RESIDENCE_S 15.0 /* a call's bytes are in the heap for so long at most */
#define LEAST_SHARE 0.05 /* of all heaps: so much may always come that we do not know of */

/* The bytes expected to land on these servers before we learn of them. share: of the servers, how
 * many are in the field. */
static double expect_bytes(const struct cr_view *view, const struct cr_call *call,
			   const uint16_t *order, const struct field *field, double share)
{
	double heaps = 0, blind_s = 0, bytes;

	for (size_t k = 0; k < field->n; k++) {
		heaps += view->column[COLUMN_HEAP_BYTES][order[field->at[k]]];
		blind_s += view->column[COLUMN_BLIND_S][order[field->at[k]]];
	}
	blind_s /= (double)field->n;
	/* ages are those of the ranking */
	if (call->now_ns > view->taken_ns)
		blind_s += (double)(call->now_ns - view->taken_ns) * 1e-9;
	bytes = view->column[COLUMN_BYTES_PER_S][order[0]] *
		(blind_s < RESIDENCE_S ? blind_s : RESIDENCE_S) * share;
	return bytes > heaps * LEAST_SHARE ? bytes : heaps * LEAST_SHARE;
}

/* The level to which so many bytes would fill the servers, the roomiest first: room below it is
 * used. It only rises from pass to pass, each time leaving a server out. */
static double water_level(const double *room, size_t n, double bytes)
{
	double level = -INFINITY;

	for (;;) {
		double sum = 0, next;
		size_t count = 0;

		for (size_t k = 0; k < n; k++) {
			sum += room[k] > level ? room[k] : 0;
			count += room[k] > level;
		}
		next = (sum - bytes) / (double)count;
		if (count == 0 || !(next > level))
			return level;
		level = next;
	}
}

/** A big call while it is placed. */
struct big {
	const struct headroom *self;
	const struct cr_view *view;
	int64_t now_ns;
	const uint16_t *order;
	struct field field;
	double part[FIELD_MAX], sum; /* how likely each member is drawn, and all of them */
	uint64_t state;
};

/* In proportion to what the water takes of each, less where calls fail. */
static void big_take_parts(struct big *big, double level)
{
	big->sum = 0;
	for (size_t k = 0; k < big->field.n; k++) {
		const double over = -big->field.score[k] - level;

		big->part[k] = 0;
		if (over > 0)
			big->part[k] = over * headroom_grace(cr_failure_ratio_at(
						      big->view, big->order[big->field.at[k]],
						      big->now_ns));
		big->sum += big->part[k];
	}
}

/* Returns field.n if nobody has a part. */
static size_t big_draw(struct big *big)
{
	double left = draw_unit(&big->state) * big->sum;
	size_t found = big->field.n;

	for (size_t k = 0; k < big->field.n; k++) {
		if (!(big->part[k] > 0))
			continue;
		found = k;
		if (left < big->part[k])
			break;
		left -= big->part[k];
	}
	return found;
}

/* As a small call would see it. */
static double big_score(const struct big *big, size_t k)
{
	const size_t i = big->order[big->field.at[k]];

	return headroom_score(big->self, big->view, i, big->now_ns,
			      headroom_price(big->view, i, false), 0);
}

/*
 * Draws two, and takes the one with fewer calls in progress for what it is worth: that is known at
 * once, and tells of a server that hangs when the heap figures are still those of better times.
 * Returns field.n if nobody has a part.
 */
static size_t big_choose(struct big *big)
{
	const size_t first = big_draw(big), second = big_draw(big);

	if (first == second || first == big->field.n || second == big->field.n)
		return first;
	return big_score(big, second) < big_score(big, first) ? second : first;
}

/* The big tier: by the room that heap, live data, bytes in progress and this call leave. Says
 * nothing if there is nobody to be drawn. */
static bool route_big(const struct headroom *self, const struct cr_view *view,
		      const struct cr_call *call, uint16_t *order, size_t n)
{
	struct big big;
	double room[FIELD_MAX], bytes;
	size_t first;

	big.self = self;
	big.view = view;
	big.now_ns = call->now_ns;
	big.order = order;
	big.state = call->random;
	if (n <= FIELD_MAX)
		field_take_all(&big.field, n);
	else
		field_draw(&big.field, view, order, n, FIELD_MAX, &big.state);
	for (size_t k = 0; k < big.field.n; k++) {
		const size_t i = order[big.field.at[k]];

		room[k] = view->column[COLUMN_HEAP_BYTES][i] - view->column[COLUMN_LIVE_BYTES][i] -
			  (double)cr_inflight_bytes(view, i) - (double)call->cost_bytes;
		if (view->weight[i] == 0 || isnan(room[k]))
			room[k] = -INFINITY;
		big.field.score[k] = -room[k];
	}
	bytes = expect_bytes(view, call, order, &big.field, (double)big.field.n / (double)n);
	big_take_parts(&big, water_level(room, big.field.n, bytes));
	first = big_choose(&big);
	if (first == big.field.n)
		return false;
	field_front(&big.field, first, order, &big.state);
	return true;
}

static int route(const void *arg, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	const struct headroom *self = arg;
	/* NaN, as long as no heap is known: then no call is big */
	const bool is_big = (double)call->cost_bytes >= view->column[COLUMN_BIG_BYTES][order[0]];

	/* one call in 64 counts for 64: a shared word costs more than the rest of the decision */
	if ((call->random & 63) == 0 && view->shared != NULL)
		cr_shared_add(view, WORD_CALLS, 64);
	if (is_big && view->shared != NULL) {
		cr_shared_add(view, WORD_BIG_BYTES, (uint64_t)call->cost_bytes);
		cr_shared_add(view, WORD_BIG_CALLS, 1);
	}
	if (!is_big || headroom_is_old(view, call) || !route_big(self, view, call, order, n))
		headroom_small(self, view, call, order, n);
	return (int)n;
}

static int open_headroom(const struct cr_open *in, void **out)
{
	return headroom_open(in, true, out);
}

static const char *const columns[] = { "price",      "free_ratio",  "basis",
				       "heap_bytes", "live_bytes",  "blind_s",
				       "big_bytes",  "bytes_per_s", NULL };

static const struct cr_option options[] = {
	{ "floor", CR_RATIO, "25%", 0.01, 10, NULL, "added to each server's share of free heap" },
	{ "phantom", CR_REAL, "50", 0, 10000, NULL,
	  "calls in progress that a server stands for where every call fails" },
	{ "big", CR_RATIO, "1%", 0.0001, 1, NULL,
	  "calls that hold at least this share of the median heap go where there is room" },
	{ "big_call", CR_BYTES, "256MiB", 1, 1e15, NULL,
	  "what a long request holds, until big calls have been seen" },
	{ "hosts", CR_INT, "0", 0, 1000, NULL,
	  "hosts that send calls to these servers; 0: find out" },
	{ 0 }
};

CR_ROUTER = {
	CR_ROUTER_HEAD("headroom", "1.0.0",
		       "small calls by load over free heap, big ones by the room left"),
	.state_tag = 2,
	.shared_words = HEADROOM_WORDS,
	.wants = heap_metrics,
	.columns = columns,
	.options = options,
	.open = open_headroom,
	.close = headroom_close,
	.save = headroom_save,
	.rank = headroom_rank,
	.route = route,
};
