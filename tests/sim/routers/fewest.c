/* fewest.c - for comparison: the fewest calls in progress, ties drawn, nothing else: no weights, no
 * failures. */
#include <callrouter/order.h>

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t state = call->random;
	uint32_t key[64];

	(void)self;
	if (n > 64)
		return CR_DEFAULT;
	cr_order_rotate(order, n, cr_draw(&state) >> 32);
	for (size_t i = 0; i + 1 < n; i++) {
		const size_t j = i + cr_below(cr_draw(&state), (uint32_t)(n - i));
		const uint16_t x = order[i];

		order[i] = order[j];
		order[j] = x;
	}
	for (size_t i = 0; i < n; i++) {
		const uint16_t x = order[i];
		size_t j = i;

		key[i] = cr_inflight(view, x);
		for (const uint32_t mine = key[i]; j > 0 && key[j - 1] > mine; j--) {
			key[j] = key[j - 1];
			key[j - 1] = mine;
			order[j] = order[j - 1];
			order[j - 1] = x;
		}
	}
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("fewest", "1.0.0", "for the simulator: the fewest calls in progress"),
	.route = route,
};
