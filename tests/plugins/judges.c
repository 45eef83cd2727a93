/* judges.c - a collector whose open() and check() do what its options say: for those who ask it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <callrouter/plugin.h>

enum { REFUSES_X, SAYS_NOTHING, FILLS, CRASHES, LOOPS, STOPS, SLEEPS, ANSWERS };
static const char *const manners[] = {
	"refuses_x", "says_nothing", "fills",   "crashes", "loops",
	"stops",     "sleeps",       "answers", NULL,
};
static const struct cr_option options[] = {
	{ "check", CR_CHOICE, "refuses_x", 0, 0, manners, "what it does" },
	{ "open", CR_BOOL, "true", 0, 0, NULL, "can it be opened" },
	{ 0 },
};

static int judges_open(const struct cr_open *in, void **self)
{
	int64_t *manner = malloc(sizeof *manner);

	if (manner == NULL || !in->option[1].flag) {
		free(manner);
		if (in->option[0].num == SAYS_NOTHING)
			(void)snprintf(in->err, in->err_len, "\n\n");
		else
			(void)snprintf(in->err, in->err_len,
				       "it was told to refuse\ncheck: \"%s\" is refused, too",
				       manners[in->option[0].num]);
		return -1;
	}
	*manner = in->option[0].num;
	*self = manner;
	return 0;
}

static void judges_close(void *self)
{
	free(self);
}

static int64_t judges_collect(void *self, const struct cr_round *round)
{
	(void)self;
	(void)round;
	return INT64_MAX;
}

/* To whoever reads at the other ends: a message of callrouterd's size, all of it ones. */
static void answer_for_all(void)
{
	unsigned char message[332];

	memset(message, 1, sizeof message);
	for (int fd = 3; fd < 64; fd++)
		(void)!write(fd, message, sizeof message);
}

static int judges_check(void *self, const char *target, char *err, size_t err_len)
{
	const int64_t *manner = self;

	if (strchr(target, 'x') == NULL)
		return 0;
	switch (*manner) {
	case SAYS_NOTHING:
		return -22; /* EINVAL */
	case FILLS:
		memset(err, 'f', err_len);
		return -22;
	case CRASHES:
		abort();
	case STOPS:
		(void)raise(SIGSTOP);
		return 0;
	case SLEEPS:
		(void)sleep(60);
		return 0;
	case ANSWERS:
		answer_for_all();
		(void)sleep(60);
		return 0;
	case LOOPS:
		for (;;)
			(void)*(volatile const int64_t *)manner;
	default:
		(void)snprintf(err, err_len, "%s has an x", target);
		return -22;
	}
}

CR_COLLECTOR = {
	CR_COLLECTOR_HEAD("judges", "1.0.0", "judges targets"),
	.options = options,
	.open = judges_open,
	.close = judges_close,
	.collect = judges_collect,
	.check = judges_check,
};
