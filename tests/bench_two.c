/* bench_two.c - a router for the bench: two servers are drawn, the one with fewer calls is first.
 */
#include <callrouter/order.h>

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t state = call->random;
	const uint32_t a = cr_below(cr_draw(&state), (uint32_t)n);
	const uint32_t b = cr_below(cr_draw(&state), (uint32_t)n);
	const uint32_t best = cr_inflight(view, order[a]) <= cr_inflight(view, order[b]) ? a : b;
	const uint16_t first = order[best];

	(void)self;
	order[best] = order[0];
	order[0] = first;
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("bench_two", "1.0.0", "the one with fewer calls in progress of two drawn"),
	.route = route,
};
