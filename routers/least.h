/* least.h - what the routers that look for the fewest calls in progress share: their one option,
 * what a server's load is, and who has the least for its weight. */
#ifndef CR_ROUTERS_LEAST_H
#define CR_ROUTERS_LEAST_H

#include <errno.h>
#include <stdlib.h>

#include <callrouter/order.h>

#define PLACES 3 /* nobody counts on more tries for one call: behind them any order will do */
#define PPM    1000000u

struct least {
	uint64_t failure_calls;
};

static inline int open_least(const struct cr_open *in, void **out)
{
	struct least *self = malloc(sizeof *self);

	if (self == NULL)
		return -ENOMEM;
	self->failure_calls = (uint64_t)in->option[0].num;
	*out = self;
	return 0;
}

/* In millionths of a call. A server that fails fast has few calls in progress, and would get all:
 * failures count as calls that never end, but are forgotten in time. */
static inline uint64_t read_load(const struct least *self, const struct cr_view *view, size_t row,
				 int64_t now_ns)
{
	const uint64_t calls = (uint64_t)cr_inflight(view, row) * PPM;

	if (self->failure_calls == 0)
		return calls;
	return calls +
	       (uint64_t)(cr_failure_ratio_at(view, row, now_ns) * PPM + 0.5) * self->failure_calls;
}

/*
 * The least load for its weight: calls / weight, multiplied crosswise. Not
 * (calls + 1) / weight, which has no equals and starves the light servers while there is little to
 * do. Of equals each has the chance of its weight: one that is met takes the place with
 * probability weight / (weights of the equals so far).
 */
static inline size_t find_least_for_weight(const struct least *self, const struct cr_view *view,
					   const struct cr_call *call, const uint16_t *order,
					   size_t n, uint64_t *state)
{
	uint64_t least = 0, least_weight = 0, equals = 0;
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t weight = view->weight[order[i]];
		const uint64_t load = read_load(self, view, order[i], call->now_ns);
		const uint64_t mine = load * least_weight, its = least * weight;

		if (weight == 0 || (mine > its && least_weight > 0))
			continue;
		equals = mine < its || least_weight == 0 ? weight : equals + weight;
		if (equals > weight && cr_below(cr_draw(state), (uint32_t)equals) >= weight)
			continue;
		least = load;
		least_weight = weight;
		best = i;
	}
	if (least_weight == 0) /* nobody weighs anything: anybody */
		best = cr_below(cr_draw(state), (uint32_t)n);
	return best;
}

static inline void swap(uint16_t *order, size_t i, size_t j)
{
	const uint16_t x = order[i];

	order[i] = order[j];
	order[j] = x;
}

static const struct cr_option least_options[] = {
	{ "failure_calls", CR_INT, "0", 0, 10000, NULL,
	  "calls in progress that a server which fails every call seems to have" },
	{ 0 },
};

#endif
