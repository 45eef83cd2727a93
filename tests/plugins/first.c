/*
 * first.c - a router that puts the server of one row first, and misbehaves where it is told to: for
 * tests of swaps. rank() leaves its mark in a column, and route() refuses to work with an order or
 * columns of another version: they have to change together.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <callrouter/order.h>

/* Macros to choose a version, and what is wrong with it. */
#ifndef NAME
#define NAME "first"
#endif
#ifndef VERSION
#define VERSION "1"
#endif
#ifndef FIRST
#define FIRST 1 /* server s1 */
#endif
#ifndef TAG
#define TAG 1
#endif
#ifndef IN_CONSTRUCTOR
#define IN_CONSTRUCTOR NOTHING
#endif
#ifndef IN_OPEN
#define IN_OPEN NOTHING
#endif
#ifndef IN_RANK
#define IN_RANK NOTHING
#endif
#ifndef IN_ROUTE
#define IN_ROUTE NOTHING
#endif
#ifndef WHEN_FILE
#define WHEN_FILE "" /* only while this file exists */
#endif
#ifndef WHEN_ENV
#define WHEN_ENV "" /* only in processes with this variable */
#endif

enum mischief {
	NOTHING = 0,
	CRASH,
	LOOP,
	LEAVE,   /* exit(0) */
	FAIL,    /* return an error */
	FORGE,   /* a row that does not exist */
	REPEAT,  /* a row twice */
	EXCEED,  /* more rows than there are */
	HANG_UP, /* close what it did not open */
};

struct first {
	uint64_t ranks; /* rankings made, by the versions before, too */
};

static int misbehave(enum mischief mischief, uint16_t *order, size_t n)
{
	volatile unsigned forever = 1;

	if ((WHEN_FILE[0] != '\0' && access(WHEN_FILE, F_OK) < 0) ||
	    (WHEN_ENV[0] != '\0' && getenv(WHEN_ENV) == NULL))
		return 0;
	switch (mischief) {
	case NOTHING:
		break;
	case CRASH:
		__builtin_trap();
	case LOOP:
		while (forever != 0)
			forever |= 1;
		break;
	case LEAVE:
		exit(EXIT_SUCCESS);
	case FAIL:
		return -EIO;
	case FORGE:
		if (n > 0)
			order[n - 1] = 40000;
		break;
	case REPEAT:
		if (n > 1)
			order[1] = order[0];
		break;
	case EXCEED:
		return (int)n + 1000;
	case HANG_UP:
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		pause();
		break;
	}
	return 0;
}

__attribute__((constructor)) static void construct(void)
{
	misbehave(IN_CONSTRUCTOR, NULL, 0);
}

static int open_first(const struct cr_open *in, void **out)
{
	struct first *self = calloc(1, sizeof *self);
	const int got = misbehave(IN_OPEN, NULL, 0);

	if (self == NULL || got < 0) {
		snprintf(in->err, in->err_len, "it was told to fail");
		free(self);
		return -EIO;
	}
	if (in->saved_len == sizeof *self)
		memcpy(self, in->saved, sizeof *self);
	in->host->log(in->host, CR_INFO, "first opened: version=%s ranks=%llu", VERSION,
		      (unsigned long long)self->ranks);
	*out = self;
	return 0;
}

static size_t save(const void *self, void *buf, size_t cap)
{
	if (cap < sizeof(struct first))
		return 0;
	memcpy(buf, self, sizeof(struct first));
	return sizeof(struct first);
}

#ifndef WITHOUT_RANK
static const char *const columns[] = { "first_mark", NULL };

static int rank(void *self, const struct cr_view *view, uint16_t *order, size_t n,
		double *const *column)
{
	int got;

	((struct first *)self)->ranks++;
	cr_order_front(order, n, FIRST - 1);
	for (size_t i = 0; i < view->n; i++)
		column[0][i] = FIRST;
	got = misbehave(IN_RANK, order, n);
	return got != 0 ? got : (int)n;
}
#endif

#ifndef WITHOUT_ROUTE
static int route(const void *self, const struct cr_view *view, const struct cr_call *call,
		 uint16_t *order, size_t n)
{
	int got;

	(void)self;
	(void)call;
#ifdef WITHOUT_RANK
	(void)view;
	cr_order_front(order, n, FIRST - 1);
#else
	/* On trial route() is asked before anything was ranked: the columns are all unknown then.
	 */
	for (size_t i = 0; i < view->n && view->column != NULL && view->column[0] != NULL; i++)
		if (view->column[0][i] == view->column[0][i] &&
		    (view->column[0][i] != FIRST || order[0] != FIRST - 1))
			return -EPROTO;
#endif
	got = misbehave(IN_ROUTE, order, n);
	return got != 0 ? got : (int)n;
}
#endif

#ifdef DEMANDS
static const struct cr_option options[] = {
	{ "demanded", CR_INT, NULL, 0, 0, NULL, "a number that the configuration does not give" },
	{ .name = NULL },
};
#endif

CR_ROUTER = {
	CR_ROUTER_HEAD(NAME, VERSION, "the server of one row first"),
	.state_tag = TAG,
	.open = open_first,
	.close = free,
	.save = save,
#ifndef WITHOUT_RANK
	.rank = rank,
	.columns = columns,
#endif
#ifndef WITHOUT_ROUTE
	.route = route,
#endif
#ifdef DEMANDS
	.options = options,
#endif
};
