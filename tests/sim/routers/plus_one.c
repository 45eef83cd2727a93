/* plus_one.c - for comparison: weighted least connections as it is often written, by
 * (calls + 1) / weight: without ties, and so idle heavy servers first, always. */
#include <callrouter/order.h>

static bool is_lighter(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	(void)arg;
	return (uint64_t)(cr_inflight(view, a) + 1) * view->weight[b] <
	       (uint64_t)(cr_inflight(view, b) + 1) * view->weight[a];
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	(void)self;
	(void)call;
	return cr_order_sort(view, order, n, is_lighter, NULL);
}

CR_ROUTER = {
	CR_ROUTER_HEAD("plus_one", "1.0.0", "for the simulator: (calls + 1) / weight"),
	.route = route,
};
