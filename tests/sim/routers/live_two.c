/* live_two.c - for the theory check: the less loaded of two random servers, from fresh figures. */
#include <callrouter/order.h>

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t state = call->random;
	const uint16_t a = order[cr_below(cr_draw(&state), (uint32_t)n)];
	uint16_t b = a;

	(void)self;
	while (b == a && n > 1)
		b = order[cr_below(cr_draw(&state), (uint32_t)n)];
	cr_order_front(order, n, cr_inflight(view, b) < cr_inflight(view, a) ? b : a);
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("live_two", "1.0.0", "for the simulator: the better of two"),
	.route = route,
};
