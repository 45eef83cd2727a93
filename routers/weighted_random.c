/* weighted_random.c - each call goes to a random server, each as often as it weighs. */
#include <callrouter/order.h>

#define PLACES 3 /* nobody counts on more tries for one call: behind them any order will do */

static uint64_t weigh(const struct cr_view *view, const uint16_t *order, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += view->weight[order[i]];
	return sum;
}

/* The place at which the sum of weights passes below: strictly, so that weight 0 is never met. */
static size_t find_weight(const struct cr_view *view, const uint16_t *order, size_t place,
			  uint32_t below)
{
	while (below >= view->weight[order[place]])
		below -= view->weight[order[place++]];
	return place;
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t weight = weigh(view, order, n), state = call->random;

	(void)self;
	if (weight == 0)
		cr_order_rotate(order, n, cr_draw(&state));
	for (size_t place = 0; place < PLACES && weight > 0 && place + 1 < n; place++) {
		const uint32_t below = cr_below(cr_draw(&state), (uint32_t)weight);
		const size_t i = find_weight(view, order, place, below);
		const uint16_t row = order[i];

		order[i] = order[place];
		order[place] = row;
		weight -= view->weight[row];
	}
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("weighted_random", "1.0.0",
		       "a random server, each as often first as it weighs"),
	.route = route,
};
