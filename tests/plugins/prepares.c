/* prepares.c - a router that prepares as its options say, counts what it made, and never routes
 * with what was released: for the tests of prepare() and release(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "gate.h"

#define ALIVE 0x616c697665212121ull

enum how { ANEW, SHARE, NOTHING, FAIL, CRASH, LOOP, CRASH_WITHOUT, KEEP, CRASH_AT_END };

static const char *const hows[] = { "anew", "share",         "nothing", "fail",         "crash",
				    "loop", "crash_without", "keep",    "crash_at_end", NULL };

static const struct cr_option options[] = {
	{ "how", CR_CHOICE, "share", 0, 0, hows, "what prepare() does" },
	{ "report_to", CR_INT, "-1", 0, 0, NULL,
	  "descriptor: 'o' opened, 'p' prepared anew, 's' shared, 'b' the view before has "
	  "something, 'r' released, 'c' closed" },
	{ .name = NULL },
};

struct prepares {
	enum how how;
	int to;
	int *n_made; /* not yet released */
};

/* What it prepares. */
struct made {
	uint64_t alive;
	size_t n;
	uint32_t weight[]; /* [n] */
};

static void report(const struct prepares *self, char letter)
{
	if (self->to >= 0 && write(self->to, &letter, 1) != 1)
		abort();
}

static int open_prepares(const struct cr_open *in, void **out)
{
	struct prepares *self = malloc(sizeof *self);
	int *n_made = calloc(1, sizeof *n_made);

	if (self == NULL || n_made == NULL) {
		free(self);
		free(n_made);
		return -ENOMEM;
	}
	*self = (struct prepares){ (enum how)in->option[0].num, (int)in->option[1].num, n_made };
	report(self, 'o');
	*out = self;
	return 0;
}

static void close_prepares(void *arg)
{
	struct prepares *self = arg;

	if (*self->n_made != 0)
		abort(); /* not all was released */
	report(self, 'c');
	free(self->n_made);
	free(self);
}

static bool is_of(const struct made *made, const struct cr_view *view)
{
	return made != NULL && made->n == view->n &&
	       memcmp(made->weight, view->weight, view->n * sizeof *view->weight) == 0;
}

static int make(const struct prepares *self, const struct cr_view *view, const void **out)
{
	struct made *made = malloc(sizeof *made + view->n * sizeof *view->weight);

	if (made == NULL)
		return -ENOMEM;
	made->alive = ALIVE;
	made->n = view->n;
	memcpy(made->weight, view->weight, view->n * sizeof *view->weight);
	*self->n_made += 1;
	report(self, 'p');
	*out = made;
	return 0;
}

static int prepare(const void *arg, const struct cr_view *view, const void *previous,
		   const void **out)
{
	const struct prepares *self = arg;
	const struct made *before = previous;

	if (*out != NULL || (before != NULL && before->alive != ALIVE))
		abort();
	switch (self->how) {
	case NOTHING:
		return 0;
	case FAIL:
		if (before != NULL)
			report(self, 'b');
		*out = self; /* of no account: it failed */
		return view->weight[0] == 1 ? -ENOSPC : make(self, view, out);
	case CRASH:
		abort();
	case LOOP:
		for (volatile int i = 0; i < 1; i = 0)
			;
		break;
	case KEEP: /* as if any that is large enough would do */
		if (before == NULL || before->n < view->n)
			break;
		*out = before;
		return 0;
	case SHARE:
		if (!is_of(before, view))
			break;
		report(self, 's');
		*out = before;
		return 0;
	case ANEW:
	case CRASH_WITHOUT:
	case CRASH_AT_END:
		break;
	}
	return make(self, view, out);
}

static void release(const void *arg, void *prepared)
{
	const struct prepares *self = arg;
	struct made *made = prepared;

	if (made->alive != ALIVE || self->how == CRASH_AT_END)
		abort();
	made->alive = 0;
	free(made);
	*self->n_made -= 1;
	report(self, 'r');
}

static int route(const void *arg, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	const struct prepares *self = arg;
	const struct made *made = view->prepared;

	if (call->method.len == 4 && memcmp(call->method.ptr, "wait", 4) == 0)
		gate_wait((struct gate *)(uintptr_t)call->key.ptr);
	if (made == NULL && self->how == CRASH_WITHOUT)
		abort();
	if (made == NULL)
		return (int)n;
	if (made->alive != ALIVE)
		return -EFAULT;
	if (self->how == KEEP)
		order[0] = made->n > view->n ? (uint16_t)(made->n - 1) : order[0];
	else if (!is_of(made, view))
		return -ESTALE;
	else
		cr_order_reverse(order, n); /* so that one sees that it was there */
	return (int)n;
}

CR_ROUTER = {
	CR_ROUTER_HEAD("prepares", "1", "prepares views as told"),
	.options = options,
	.open = open_prepares,
	.close = close_prepares,
	.route = route,
	.prepare = prepare,
	.release = release,
};
