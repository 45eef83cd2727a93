/* weighted_least_connections.c - each call goes to the server with the fewest calls in progress for
 * its weight. */
#include "least.h"

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t state = call->random;

	for (size_t place = 0; place < PLACES && place + 1 < n; place++)
		swap(order, place,
		     place + find_least_for_weight(self, view, call, order + place, n - place,
						   &state));
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("weighted_least_connections", "1.0.0",
		       "the server with the fewest calls in progress for its weight"),
	.options = least_options,
	.open = open_least,
	.close = free,
	.route = route,
};
