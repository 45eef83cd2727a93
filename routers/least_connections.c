/* least_connections.c - each call goes to the server with the fewest calls in progress. */
#include <errno.h>
#include <stdlib.h>

#include <callrouter/order.h>

#define PLACES 3 /* nobody counts on more tries for one call: behind them any order will do */
#define PPM    1000000u

struct least {
	uint64_t failure_calls;
};

static int open_least(const struct cr_open *in, void **out)
{
	struct least *self = malloc(sizeof *self);

	if (self == NULL)
		return -ENOMEM;
	self->failure_calls = (uint64_t)in->option[0].num;
	*out = self;
	return 0;
}

/* In millionths of a call. A server that fails fast has few calls in progress, and would get all:
 * failures count as calls that never end. */
static uint64_t read_load(const struct least *self, const struct cr_view *view, size_t row)
{
	const uint32_t failed = __atomic_load_n(&view->live[row]->failure_ppm, __ATOMIC_RELAXED);

	return (uint64_t)cr_inflight(view, row) * PPM + failed * self->failure_calls;
}

/* The least loaded from place on. Of equals each has the same chance: the k-th that is met takes
 * the place with probability 1/k. */
static size_t find_least(const struct least *self, const struct cr_view *view,
			 const uint16_t *order, size_t n, size_t place, uint64_t *state)
{
	uint64_t least = UINT64_MAX;
	uint32_t equals = 0;
	size_t best = place;

	for (size_t i = place; i < n; i++) {
		const uint64_t load = read_load(self, view, order[i]);

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

	for (size_t place = 0; place < PLACES && place + 1 < n; place++) {
		const size_t i = find_least(self, view, order, n, place, &state);
		const uint16_t row = order[i];

		order[i] = order[place];
		order[place] = row;
	}
	return (int)n;
}

static const struct cr_option options[] = {
	{ "failure_calls", CR_INT, "0", 0, 10000, NULL,
	  "calls in progress that a server which fails every call seems to have" },
	{ 0 },
};

CR_ROUTER = {
	CR_ROUTER_HEAD("least_connections", "1.0.0",
		       "the server with the fewest calls in progress"),
	.options = options,
	.open = open_least,
	.close = free,
	.route = route,
};
