/*
 * weighted_round_robin.c - the servers in turn, each as often as it weighs, smoothly mixed.
 *
 * The usual way (add every weight, take the largest sum, subtract the total) is one critical
 * section, and what it remembers is wrong once servers come and go or weights change. Here whose
 * turn k it is follows from k and the weights alone: a shared counter hands out the turns, nothing
 * else is remembered.
 *
 * Cut the servers in two, near half of their weight. Of W turns in a row (W: all weights) the left
 * ones, of weight A, get exactly A, evenly spaced: turn k is one of them if floor((k * A + W/2) /
 * W) grows from k to k + 1, and that floor tells which of their own turns it is. By its number the
 * left ones divide it in the same way, and so do the right ones theirs, down to one server. So:
 *  - Of any W turns in a row each server gets exactly its weight, by induction over the cuts, and
 *    whoever takes them: the counter gives each turn to one call only. With g = gcd(weights) every
 *    floor is A/g larger W/g turns later, so the same holds for any W/g turns.
 *  - A cut rounds by half a call at most, and a server bears of its parents' rounding only what its
 *    share of them is, about 1/2, 1/4, ...: it is never two calls ahead of or behind an even
 *    schedule (1.72 is the most that a search for bad weights found; the usual way: 1.1).
 *  - After a change the next turn is divided by the new weights: no debt, no credit is left.
 */
#include <callrouter/order.h>

#define PLACES 3 /* nobody counts on more tries for one call: behind them any order will do */

static bool has_lower_row(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	(void)view;
	(void)arg;
	return a < b;
}

/* The turn of this call. All processes of the host share the counter. */
static uint64_t take_turn(const struct cr_view *view, const struct cr_call *call)
{
	uint64_t turn = 0;

	if (view->shared == NULL)
		return call->random >> 32;
	/* The first call ever draws where to start, or many hosts would all begin alike. */
	if (__atomic_load_n(&view->shared[0], __ATOMIC_RELAXED) == 0)
		__atomic_compare_exchange_n(&view->shared[0], &turn, (call->random >> 32) + 1,
					    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return cr_shared_add(view, 0, 1);
}

static uint64_t weigh(const struct cr_view *view, const uint16_t *order, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += view->weight[order[i]];
	return sum;
}

/* How many of n servers are left of the cut, and what they weigh; one at least on either side. */
static size_t cut(const struct cr_view *view, const uint16_t *order, size_t n, uint64_t weight,
		  uint64_t *left)
{
	size_t i = 1;

	*left = view->weight[order[0]];
	while (i + 1 < n && 2 * *left + view->weight[order[i]] <= weight)
		*left += view->weight[order[i++]];
	return i;
}

/* The place of the server whose turn it is; turn < weight, the sum of all n. */
static size_t find_turn(const struct cr_view *view, const uint16_t *order, size_t n, uint64_t turn,
			uint64_t weight)
{
	size_t first = 0;

	while (n > 1) {
		uint64_t left;
		const size_t n_left = cut(view, order + first, n, weight, &left);
		const uint64_t at = turn * left + weight / 2, before = at / weight;

		if (at % weight + left >= weight) { /* the floor grows */
			n = n_left;
			weight = left;
			turn = before;
		} else {
			first += n_left;
			n -= n_left;
			weight -= left;
			turn -= before;
		}
	}
	return first;
}

static void swap(uint16_t *order, size_t i, size_t j)
{
	const uint16_t x = order[i];

	order[i] = order[j];
	order[j] = x;
}

/* Those to fall back on are drawn, or the neighbour of a dead server would get all its calls.
 * weight: of all from place on. */
static void draw_places(const struct cr_view *view, uint16_t *order, size_t n, size_t place,
			uint64_t weight, uint64_t state)
{
	for (; place < PLACES && weight > 0 && place + 1 < n; place++) {
		uint32_t below = cr_below(cr_draw(&state), (uint32_t)weight);
		size_t i = place;

		while (below >= view->weight[order[i]])
			below -= view->weight[order[i++]];
		swap(order, place, i);
		weight -= view->weight[order[place]];
	}
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	const uint64_t weight = weigh(view, order, n), turn = take_turn(view, call);

	(void)self;
	if (weight == 0) {
		cr_order_rotate(order, n, turn);
		return (int)n;
	}
	/* The turns are divided among the servers, not among places of a changing ranking. */
	cr_order_sort(view, order, n, has_lower_row, NULL);
	swap(order, 0, find_turn(view, order, n, turn % weight, weight));
	draw_places(view, order, n, 1, weight - view->weight[order[0]], call->random);
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("weighted_round_robin", "1.0.0",
		       "the servers in turn, each as often as it weighs, smoothly mixed"),
	.state_tag = 1,
	.shared_words = 1,
	.route = route,
};
