/*
 * board.c - for the theory check: policies that see the servers' calls in progress on a bulletin
 * board (the metric busy_threads), which is as old as the last poll.
 *
 * sort: one of those with the fewest. best: the best of a few random ones. li: load interpretation
 * (Dahlin): the calls expected since the board was written are spread so that they level the
 * servers; basic: the same shares until the next board, aggressive: as if they had already come.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <callrouter/order.h>

enum policy { SORT, BEST, LI_BASIC, LI_AGGRESSIVE };

enum { OPT_POLICY, OPT_CHOICES, OPT_RATE, OPT_PERIOD };

static const char *const policies[] = { "sort", "best", "li_basic", "li_aggressive", NULL };

static const struct cr_option options[] = {
	{ "policy", CR_CHOICE, "sort", 0, 0, policies, "which" },
	{ "choices", CR_INT, "2", 1, 64, NULL, "best: of how many" },
	{ "rate", CR_REAL, "1", 0, 1e6, NULL, "li: calls in a second, of all hosts" },
	{ "period", CR_REAL, "1", 0, 1e6, NULL, "li_basic: seconds between two boards" },
	{ 0 },
};

static const char *const needs[] = { "busy_threads", NULL };

/* load: calls in progress; starts: calls that have come, by then this row is among the least. */
static const char *const columns[] = { "load", "starts", NULL };

enum { LOAD, STARTS };

struct board {
	enum policy policy;
	uint32_t choices;
	double rate, period;
};

static int board_open(const struct cr_open *in, void **out)
{
	struct board *board = calloc(1, sizeof *board);

	if (board == NULL)
		return -ENOMEM;
	board->policy = (enum policy)in->option[OPT_POLICY].num;
	board->choices = (uint32_t)in->option[OPT_CHOICES].num;
	board->rate = in->option[OPT_RATE].real;
	board->period = in->option[OPT_PERIOD].real;
	*out = board;
	return 0;
}

static double load_of(const struct cr_view *view, uint16_t row)
{
	const double load = view->metric[0][row];

	return isnan(load) ? 0 : load;
}

static bool has_fewer(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	(void)arg;
	return load_of(view, a) < load_of(view, b);
}

static int board_rank(void *self, const struct cr_view *view, uint16_t *order, size_t n,
		      double *const *column)
{
	double starts = 0;

	(void)self;
	cr_order_sort(view, order, n, has_fewer, NULL);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			starts +=
				(double)i * (load_of(view, order[i]) - load_of(view, order[i - 1]));
		column[LOAD][order[i]] = load_of(view, order[i]);
		column[STARTS][order[i]] = starts;
	}
	return (int)n;
}

static size_t rows_until(const struct cr_view *view, const uint16_t *order, size_t n,
			 double arrivals)
{
	size_t k = 1;

	while (k < n && view->column[STARTS][order[k]] <= arrivals)
		k++;
	return k;
}

static size_t pick_best(const struct cr_view *view, const struct cr_call *call,
			const uint16_t *order, size_t n, uint32_t choices)
{
	uint64_t state = call->random;
	size_t best = cr_below(cr_draw(&state), (uint32_t)n);

	/* without putting back: a row that was drawn is drawn again, n is far above choices */
	for (uint32_t drawn = 1; drawn < choices && drawn < n;) {
		const size_t other = cr_below(cr_draw(&state), (uint32_t)n);

		if (other == best)
			continue;
		if (view->column[LOAD][order[other]] < view->column[LOAD][order[best]])
			best = other;
		drawn++;
	}
	return best;
}

/* Shares in proportion to what each row lacks to the level that all arrivals fill. */
static size_t pick_basic(const struct cr_view *view, const struct cr_call *call,
			 const uint16_t *order, size_t n, double arrivals)
{
	const size_t k = rows_until(view, order, n, arrivals);
	const double level = view->column[LOAD][order[k - 1]] +
			     (arrivals - view->column[STARTS][order[k - 1]]) / (double)k;
	double left = (double)(call->random >> 11) * 0x1p-53 * arrivals;

	for (size_t i = 0; i < k; i++) {
		left -= level - view->column[LOAD][order[i]];
		if (left < 0)
			return i;
	}
	return k - 1;
}

static int board_route(const void *self, const struct cr_view *view, const struct cr_call *call,
		       uint16_t *order, size_t n)
{
	const struct board *board = self;
	const double age_s = (double)(call->now_ns - view->metric_taken_ns[0][order[0]]) * 1e-9;
	size_t pick = 0;

	switch (board->policy) {
	case SORT:
		pick = cr_below(call->random, (uint32_t)rows_until(view, order, n, 0));
		break;
	case BEST:
		pick = pick_best(view, call, order, n, board->choices);
		break;
	case LI_BASIC:
		pick = pick_basic(view, call, order, n, board->rate * board->period);
		break;
	case LI_AGGRESSIVE:
		pick = cr_below(call->random,
				(uint32_t)rows_until(view, order, n, board->rate * age_s));
		break;
	}
	cr_order_front(order, n, order[pick]);
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("board", "1.0.0", "for the simulator: policies on a bulletin board"),
	.needs = needs,
	.columns = columns,
	.options = options,
	.open = board_open,
	.close = free,
	.rank = board_rank,
	.route = board_route,
};
