/* round_robin.c - each call goes to the next server, whichever process or thread it comes from. */
#include <callrouter/order.h>

/* The turn of this call. All processes of the host share the cursor. */
static uint64_t take_turn(const struct cr_view *view, const struct cr_call *call)
{
	uint64_t cursor = 0;

	if (view->shared == NULL)
		return call->random;
	/* The first call ever draws where to start, or many hosts would start at the same server.
	 */
	if (__atomic_load_n(&view->shared[0], __ATOMIC_RELAXED) == 0)
		__atomic_compare_exchange_n(&view->shared[0], &cursor, (call->random >> 32) + 1,
					    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return cr_shared_add(view, 0, 1);
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	(void)self;
	cr_order_rotate(order, n, take_turn(view, call));
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("round_robin", "1.0.0", "the servers in turn, from a random start"),
	.state_tag = 1,
	.shared_words = 1,
	.route = route,
};
