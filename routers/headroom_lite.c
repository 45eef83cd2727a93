/* headroom_lite.c - every call by calls in progress over predicted free heap, whatever its size. */
#include "headroom_rank.h"

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	headroom_small(self, view, call, order, n);
	return (int)n;
}

static int open_lite(const struct cr_open *in, void **out)
{
	return headroom_open(in, false, out);
}

static const char *const columns[] = { "price", "free_ratio", "basis", NULL };

static const struct cr_option options[] = {
	{ "floor", CR_RATIO, "25%", 0.01, 10, NULL, "added to each server's share of free heap" },
	{ "phantom", CR_REAL, "50", 0, 10000, NULL,
	  "calls in progress that a server stands for where every call fails" },
	{ 0 }
};

CR_ROUTER = {
	CR_ROUTER_HEAD("headroom_lite", "1.0.0", "fewest calls in progress for the free heap"),
	.state_tag = 2,
	.wants = heap_metrics,
	.columns = columns,
	.options = options,
	.open = open_lite,
	.close = headroom_close,
	.save = headroom_save,
	.rank = headroom_rank,
	.route = route,
};
