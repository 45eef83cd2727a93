/* says.c - a router whose route() answers what its option says, right or wrong: for the tests of
 * what the library makes of it. */
#include <errno.h>
#include <stdlib.h>

#include <callrouter/order.h>

enum say { ALL, REVERSED, TWO, DEFAULT, REFUSE, ERROR, FORGED, NOBODY, UNUSABLE, REPEATED, EXCESS };

static const char *const says[] = { "all",    "reversed", "two",      "default",  "refuse", "error",
				    "forged", "nobody",   "unusable", "repeated", "excess", NULL };

static const struct cr_option options[] = {
	{ "say", CR_CHOICE, "reversed", 0, 0, says, "what route() returns" },
	{ .name = NULL },
};

static int open_says(const struct cr_open *in, void **self)
{
	enum say *say = malloc(sizeof *say);

	if (say == NULL)
		return -ENOMEM;
	*say = (enum say)in->option[0].num;
	*self = say;
	return 0;
}

/* A row that order does not have; CR_NONE if it has all. */
static uint16_t row_left_out(const struct cr_view *view, const uint16_t *order, size_t n)
{
	for (uint16_t row = 0; row < view->n; row++) {
		size_t i = 0;

		while (i < n && order[i] != row)
			i++;
		if (i == n)
			return row;
	}
	return CR_NONE;
}

static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	(void)call;
	switch (*(const enum say *)self) {
	case ALL:
		break;
	case REVERSED:
		cr_order_reverse(order, n);
		break;
	case TWO:
		return 2;
	case DEFAULT:
		return CR_DEFAULT;
	case REFUSE:
		return CR_REFUSE;
	case ERROR:
		return -EIO;
	case FORGED:
		order[n - 1] = (uint16_t)view->n;
		break;
	case NOBODY:
		order[0] = CR_NONE;
		break;
	case UNUSABLE:
		order[0] = row_left_out(view, order, n);
		break;
	case REPEATED:
		order[n - 1] = order[0];
		break;
	case EXCESS:
		return (int)n + 1;
	}
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("says", "1", "answers what its option says"),
	.options = options,
	.open = open_says,
	.close = free,
	.route = route,
};
