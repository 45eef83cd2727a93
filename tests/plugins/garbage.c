/* garbage.c - a router that returns garbage, another one for each call: for the test that nothing
 * comes of it. */
#include "garbage.h"

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	(void)self;
	return garbage_answer(call->random, view->n, order, n);
}

CR_ROUTER = {
	CR_ROUTER_HEAD("garbage", "1", "returns garbage"),
	.route = route,
};
