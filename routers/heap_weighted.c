/* heap_weighted.c - at random, in proportion to the heap that is free of live data. */
#include "heap_history.h"
#include "place.h"

#define LEAST_RATIO 0.02  /* of its heap that even a full server counts with */
#define UNITS       100.0 /* a maximum so many times the others' is in another unit, or none */

static const char *const needs[] = { "jvm_heap_max_bytes", NULL };
static const char *const columns[] = { "share_bytes", NULL };

/* Free of what the last collection left alive, or free now; NaN if it is not to be believed. */
static double free_bytes(const struct cr_view *view, size_t i)
{
	const struct heap_reading now = heap_read(view, i);
	const double least = now.max * LEAST_RATIO;
	double room = now.max - now.used;

	if (heap_judge(&now) <= HEAP_UNKNOWN)
		return (double)NAN;
	if (now.used_after_gc >= 0 && now.used_after_gc <= now.max)
		room = now.max - now.used_after_gc;
	return room > least ? room : least;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A server that says its heap has no end would get every call. Of two servers nobody knows which
 * one is wrong. scratch: of view->n. */
static void disbelieve(const struct cr_view *view, double *share, double *scratch)
{
	size_t n = 0;

	for (size_t i = 0; i < view->n; i++)
		if (!isnan(share[i]))
			scratch[n++] = heap_read(view, i).max;
	qsort(scratch, n, sizeof *scratch, compare);
	for (size_t i = 0; n > 2 && i < view->n; i++) {
		const double max = heap_read(view, i).max, median = scratch[n / 2];

		if (max > median * UNITS || max < median / UNITS)
			share[i] = (double)NAN;
	}
}

static bool has_more(const struct cr_view *view, uint16_t a, uint16_t b, const void *arg)
{
	const double *share = arg;

	(void)view;
	return share[a] > share[b];
}

/* Where nothing is known a server counts as the others do on average; if that is most of them, all
 * count the same. */
static int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n,
		double *const *column)
{
	double *share = column[0], *scratch = calloc(view->n, sizeof *scratch), sum = 0, usual;
	size_t known = 0;

	(void)self;
	if (scratch == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < view->n; i++)
		share[i] = free_bytes(view, i);
	disbelieve(view, share, scratch);
	free(scratch);
	for (size_t k = 0; k < n; k++) {
		known += isnan(share[order[k]]) ? 0 : 1;
		sum += isnan(share[order[k]]) ? 0 : share[order[k]];
	}
	usual = 2 * known >= n && known > 0 ? sum / (double)known : 1;
	for (size_t i = 0; i < view->n; i++) {
		if (isnan(share[i]) || 2 * known < n)
			share[i] = usual;
		share[i] *= view->weight[i];
	}
	cr_order_sort(view, order, n, has_more, share);
	cr_order_turns(view, order, n, has_more, share);
	return (int)n;
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	(void)self;
	place_by_weight(order, n, view->column[0], call->random);
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("heap_weighted", "1.0.0", "at random, by the heap free of live data"),
	.needs = needs,
	.wants = heap_metrics + 1,
	.columns = columns,
	.rank = rank,
	.route = route,
};
