/* random.c - each call goes to a random server, and on failure to another random one. */
#include <callrouter/order.h>

#define DRAWN_MAX 16 /* nobody tries more servers for one call */

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t state = call->random;

	(void)self;
	(void)view;
	/* Fisher and Yates from the front: place i gets one of those that are left. */
	for (size_t i = 0; i + 1 < n && i < DRAWN_MAX; i++) {
		const size_t j = i + cr_below(cr_draw(&state), (uint32_t)(n - i));
		const uint16_t x = order[i];

		order[i] = order[j];
		order[j] = x;
	}
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("random", "1.0.0", "the servers in random order, each equally often first"),
	.route = route,
};
