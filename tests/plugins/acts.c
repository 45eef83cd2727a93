/* acts.c - a router that does in open() and in rank() what its options say, for tests of rankers.
 * In rank() only with a server "ms3" in row 0: a trial's made-up servers find it well behaved. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <callrouter/order.h>

enum { OPEN, RANK };
enum { GOOD, REFUSES, CRASHES, LOOPS };
enum {
	REVERSE,
	DEFAULT,
	REFUSE,
	FAIL,
	TWICE,
	CRASH,
	LOOP,
	SLOW,
	LEAVE,
	FORK,
	FORK_CRASH,
	GREEDY,
	WRITE,
	HANG_UP,
	STOP
};

static const char *const opens[] = { "good", "refuses", "crashes", "loops", NULL };
static const char *const ranks[] = { "reverse", "default", "refuse", "fail", "twice",      "crash",
				     "loop",    "slow",    "leave",  "fork", "fork_crash", "greedy",
				     "write",   "hang_up", "stop",   NULL };

struct acts {
	int64_t act;
	uint32_t ranked; /* how often, by all predecessors together */
};

static void loop_for_ever(void)
{
	for (volatile int i = 0; i < 1; i = 0)
		;
}

static int open_acts(const struct cr_open *in, void **out)
{
	struct acts *self = calloc(1, sizeof *self);

	switch (in->option[OPEN].num) {
	case REFUSES:
		(void)snprintf(in->err, in->err_len, "open: it was told to refuse");
		free(self);
		return -EINVAL;
	case CRASHES:
		abort();
	case LOOPS:
		loop_for_ever();
	}
	if (self == NULL)
		return -ENOMEM;
	self->act = in->option[RANK].num;
	if (in->saved_len == sizeof self->ranked)
		memcpy(&self->ranked, in->saved, sizeof self->ranked);
	*out = self;
	return 0;
}

static size_t save(const void *arg, void *buf, size_t cap)
{
	const struct acts *self = arg;

	if (cap < sizeof self->ranked)
		return 0;
	memcpy(buf, &self->ranked, sizeof self->ranked);
	return sizeof self->ranked;
}

static int fork_for_ever(void)
{
	switch (fork()) {
	case -1:
		return -errno;
	case 0:
		for (;;)
			pause();
	}
	return 0;
}

static int be_greedy(void)
{
	void *much = malloc((size_t)5 << 30);
	const bool is_there = much != NULL;

	free(much);
	return is_there ? 0 : -ENOMEM;
}

/* What some libraries do before they fork: to all descriptors, whoever opened them. */
static void disturb(int64_t how)
{
	for (int fd = 3; fd < 64; fd++)
		if (how == HANG_UP)
			close(fd);
		else
			(void)!write(fd, "junk", 4);
}

static int act(const struct acts *self, uint16_t *order, size_t n)
{
	switch (self->act) {
	case DEFAULT:
		return CR_DEFAULT;
	case REFUSE:
		return CR_REFUSE;
	case FAIL:
		return -EIO;
	case TWICE:
		order[1] = order[0];
		return (int)n;
	case CRASH:
		abort();
	case LOOP:
		loop_for_ever();
		break;
	case SLOW:
		nanosleep(&(struct timespec){ .tv_nsec = 800000000 }, NULL);
		break;
	case LEAVE:
		_exit(0);
	case FORK:
		return fork_for_ever();
	case FORK_CRASH:
		fork_for_ever();
		abort();
	case STOP:
		(void)raise(SIGSTOP);
		break;
	case GREEDY:
		return be_greedy();
	case WRITE:
	case HANG_UP:
		disturb(self->act);
		nanosleep(&(struct timespec){ .tv_sec = 20 }, NULL);
	}
	return (int)n;
}

static int rank(void *arg, const struct cr_view *view, uint16_t *order, size_t n,
		double *const *column)
{
	struct acts *self = arg;
	const bool is_real = view->n > 0 && strcmp(view->name[0], "ms3") == 0;

	self->ranked += is_real;
	cr_order_reverse(order, n);
	for (size_t i = 0; i < view->n; i++)
		column[0][i] = self->ranked;
	return is_real ? act(self, order, n) : (int)n;
}

static const char *const columns[] = { "ranked", NULL };
static const struct cr_option options[] = {
	{ "open", CR_CHOICE, "good", 0, 0, opens, "what open() does" },
	{ "rank", CR_CHOICE, "reverse", 0, 0, ranks, "what rank() does" },
	{ 0 },
};

CR_ROUTER = {
	CR_ROUTER_HEAD("acts", "1.5.0", "does what it is told"),
	.columns = columns,
	.options = options,
	.open = open_acts,
	.close = free,
	.save = save,
	.rank = rank,
};
