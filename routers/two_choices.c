/* two_choices.c - of two servers drawn by weight the call goes to the one with fewer calls in
 * progress for its weight; of a few servers, to the best of all. */
#include "least.h"

#define FEW 16 /* two of four draws may both be bad: looking at all costs about the same */

static uint64_t weigh(const struct cr_view *view, const uint16_t *order, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += view->weight[order[i]];
	return sum;
}

/* Different servers into the first places, each with the chance of its weight. */
static void draw_places(const struct cr_view *view, uint16_t *order, size_t n, uint64_t state)
{
	uint64_t weight = weigh(view, order, n);

	if (weight == 0)
		cr_order_rotate(order, n, cr_draw(&state));
	for (size_t place = 0; place < PLACES && weight > 0 && place + 1 < n; place++) {
		uint32_t below = cr_below(cr_draw(&state), (uint32_t)weight);
		size_t i = place;

		while (below >= view->weight[order[i]])
			below -= view->weight[order[i++]];
		swap(order, place, i);
		weight -= view->weight[order[place]];
	}
}

/* The first two by calls / weight, multiplied crosswise; of equals the one that was drawn first. */
static void compare_two(const struct least *self, const struct cr_view *view,
			const struct cr_call *call, uint16_t *order)
{
	const uint64_t first = read_load(self, view, order[0], call->now_ns);
	const uint64_t second = read_load(self, view, order[1], call->now_ns);

	if (second * view->weight[order[0]] < first * view->weight[order[1]])
		swap(order, 0, 1);
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t state = call->random;

	if (n > FEW) {
		draw_places(view, order, n, call->random);
		compare_two(self, view, call, order);
		return (int)n;
	}
	for (size_t place = 0; place < PLACES && place + 1 < n; place++)
		swap(order, place,
		     place + find_least_for_weight(self, view, call, order + place, n - place,
						   &state));
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("two_choices", "1.0.0",
		       "the better of two drawn by weight; of up to 16 servers, the best of all"),
	.options = least_options,
	.open = open_least,
	.close = free,
	.route = route,
};
