/* two_choices.c - of two servers drawn by weight the call goes to the one with fewer calls in
 * progress for its weight; of a few servers, to the best of all. */
#include <errno.h>
#include <stdlib.h>

#include <callrouter/order.h>

#define FEW    16 /* two of four draws may both be bad: looking at all costs about the same */
#define PLACES 3  /* nobody counts on more tries for one call: behind them any order will do */
#define PPM    1000000u

struct choices {
	uint64_t failure_calls;
};

static int open_choices(const struct cr_open *in, void **out)
{
	struct choices *self = malloc(sizeof *self);

	if (self == NULL)
		return -ENOMEM;
	self->failure_calls = (uint64_t)in->option[0].num;
	*out = self;
	return 0;
}

/* In millionths of a call. A server that fails fast has few calls in progress, and would get all:
 * failures count as calls that never end. */
static uint64_t read_load(const struct choices *self, const struct cr_view *view, size_t row)
{
	const uint32_t failed = __atomic_load_n(&view->live[row]->failure_ppm, __ATOMIC_RELAXED);

	return (uint64_t)cr_inflight(view, row) * PPM + failed * self->failure_calls;
}

static uint64_t weigh(const struct cr_view *view, const uint16_t *order, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += view->weight[order[i]];
	return sum;
}

static void swap(uint16_t *order, size_t i, size_t j)
{
	const uint16_t x = order[i];

	order[i] = order[j];
	order[j] = x;
}

/* Different servers into the first places, each with the chance of its weight. */
static void draw_places(const struct cr_view *view, uint16_t *order, size_t n, uint64_t state)
{
	uint64_t weight = weigh(view, order, n);

	if (weight == 0)
		cr_order_rotate(order, n, cr_draw(&state));
	for (size_t place = 0; place < PLACES && weight > 0 && place + 1 < n; place++) {
		uint32_t below = cr_below(cr_draw(&state), (uint32_t)weight);
		size_t i = place;

		while (below >= view->weight[order[i]])
			below -= view->weight[order[i++]];
		swap(order, place, i);
		weight -= view->weight[order[place]];
	}
}

/* The first two by calls / weight, multiplied crosswise; of equals the one that was drawn first. */
static void compare_two(const struct choices *self, const struct cr_view *view, uint16_t *order)
{
	const uint64_t first = read_load(self, view, order[0]);
	const uint64_t second = read_load(self, view, order[1]);

	if (second * view->weight[order[0]] < first * view->weight[order[1]])
		swap(order, 0, 1);
}

/* As in weighted_least_connections. */
static size_t find_least(const struct choices *self, const struct cr_view *view,
			 const uint16_t *order, size_t n, size_t place, uint64_t *state)
{
	uint64_t least = 0, least_weight = 0, equals = 0;
	size_t best = place;

	for (size_t i = place; i < n; i++) {
		const uint64_t weight = view->weight[order[i]];
		const uint64_t load = read_load(self, view, order[i]);
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
		best = place + cr_below(cr_draw(state), (uint32_t)(n - place));
	return best;
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	uint64_t state = call->random;

	if (n > FEW) {
		draw_places(view, order, n, call->random);
		compare_two(self, view, order);
		return (int)n;
	}
	for (size_t place = 0; place < PLACES && place + 1 < n; place++)
		swap(order, place, find_least(self, view, order, n, place, &state));
	return (int)n;
}

static const struct cr_option options[] = {
	{ "failure_calls", CR_INT, "0", 0, 10000, NULL,
	  "calls in progress that a server which fails every call seems to have" },
	{ 0 },
};

CR_ROUTER = {
	CR_ROUTER_HEAD("two_choices", "1.0.0",
		       "the better of two drawn by weight; of up to 16 servers, the best of all"),
	.options = options,
	.open = open_choices,
	.close = free,
	.route = route,
};
