/* least_connections.c - each call goes to the server with the fewest calls in progress. */
#include "least.h"

/* The least loaded. Of equals each has the same chance: the k-th that is met takes
 * the place with probability 1/k. */
static size_t find_least(const struct least *self, const struct cr_view *view,
			 const struct cr_call *call, const uint16_t *order, size_t n,
			 uint64_t *state)
{
	uint64_t least = UINT64_MAX;
	uint32_t equals = 0;
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t load = read_load(self, view, order[i], call->now_ns);

		if (load > least)
			continue;
		equals = load < least ? 1 : equals + 1;
		least = load;
		if (equals == 1 || cr_below(cr_draw(state), equals) == 0)
			best = i;
	}
	return best;
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t state = call->random;

	for (size_t place = 0; place < PLACES && place + 1 < n; place++)
		swap(order, place,
		     place + find_least(self, view, call, order + place, n - place, &state));
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("least_connections", "1.0.0",
		       "the server with the fewest calls in progress"),
	.options = least_options,
	.open = open_least,
	.close = free,
	.route = route,
};
