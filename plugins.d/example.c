/* example.c - a router: largest free share of the heap first, nearly full servers last. */
#include <stdlib.h>

#include <callrouter/order.h>

/* Metrics by name. view->metric[k][i] is the k-th of these at server i; NaN: nobody knows. */
static const char *const needs[] = { "jvm_heap_available_bytes", "jvm_heap_max_bytes", NULL };

/* Settings. callrouter reads and checks them, in->option[k] is the value of the k-th. */
static const struct cr_option options[] = {
	{ "min_free", CR_RATIO, "10%", 0, 1, NULL, "servers with less free heap come last" },
	{ .name = NULL },
};

/* Figures that rank() works out for each server; callrouterctl status shows them. */
static const char *const columns[] = { "example_score", NULL };

static int open_example(const struct cr_open *in, void **self)
{
	double *min_free = malloc(sizeof *min_free);

	if (min_free == NULL)
		return -1;
	*min_free = in->option[0].real;
	*self = min_free;
	return 0;
}

/* Should server a stand before server b? */
static bool is_better(const struct cr_view *view, uint16_t a, uint16_t b, const void *score)
{
	(void)view;
	return ((const double *)score)[a] > ((const double *)score)[b];
}

/* Metrics have arrived: order holds the n servers that may be contacted; put the best first. */
static int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n,
		double *const *column)
{
	for (size_t i = 0; i < view->n; i++) {
		double share = view->metric[0][i] / view->metric[1][i];

		column[0][i] = share >= *(double *)self ? share : -1; /* unknown: -1 too */
	}
	return cr_order_sort(view, order, n, is_better, column[0]);
}

CR_ROUTER = {
	CR_ROUTER_HEAD("example", "1", "largest free share of the heap first"),
	.needs = needs,
	.columns = columns,
	.options = options,
	.open = open_example,
	.close = free,
	.rank = rank,
};
