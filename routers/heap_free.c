/* heap_free.c - the classic: the server with the most free heap first. */
#include <math.h>

#include <callrouter/order.h>

static const char *const needs[] = { "jvm_heap_free_bytes", NULL };

/* More free heap stands before less; a server of which nobody knows it comes last. */
static bool has_more(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	const double free_a = view->metric[0][a], free_b = view->metric[0][b];

	(void)arg;
	if (isnan(free_a))
		return false;
	return isnan(free_b) || free_a > free_b;
}

static int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n,
		double *const *column)
{
	(void)self;
	(void)column;
	cr_order_sort(view, order, n, has_more, NULL);
	cr_order_turns(view, order, n, has_more, NULL); /* behind the head, ties keep their place */
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("heap_free", "1.0.0", "the server with the most free heap first"),
	.needs = needs,
	.rank = rank,
};
