/* check_internal.h - one check and its run, for check.c, check_list.c and check_run.c. */
#ifndef CR_DAEMON_CHECK_INTERNAL_H
#define CR_DAEMON_CHECK_INTERNAL_H

#include "check.h"
#include "resolve.h"

struct checks {
	struct event_base *base;
	struct counters *counters;
	struct resolver *resolver;
	struct check **check; /* sorted by line, then key */
	size_t n;
	int64_t complained_ns;
};

/** What has come of an HTTP answer. */
struct check_answer {
	char line[64];   /* the beginning of the line that is being read */
	size_t n_line;   /* letters of it so far, those that line[] does not hold included */
	size_t n;        /* bytes of all */
	uint32_t status; /* 0: its line has not come yet */
};

/** How a run ended. */
enum check_end {
	CHECK_GOOD = 0,
	CHECK_BAD,
	CHECK_NOTHING, /* the trouble is ours: says nothing about the server */
};

struct check {
	struct checks *checks;
	/* What is checked, and how. */
	char *key;  /* all of it, as text: equal keys are the same check */
	char *what; /* the part that people want to see */
	uint32_t line;
	char *host, *port, *request; /* request NULL: TCP */
	struct resolver_name *name;  /* NULL: host is an address */
	uint32_t status[CONFIG_STATUS_MAX];
	size_t n_status;
	int64_t interval_ns, timeout_ns;
	uint32_t fall, rise;
	/* When. */
	uint64_t seed, round;
	int64_t base_ns;
	struct event *timer; /* the next run, or the deadline of this one */
	/* What it said. */
	bool is_down;
	bool has_failed; /* since it last said "passed" */
	uint32_t good, bad;
	char error[160];
	/* The run. */
	int fd; /* -1: none is under way */
	struct event *io;
	struct resolve_list address;
	size_t at; /* in address */
	size_t n_sent;
	struct check_answer answer;
};

/** Start a run at check->address; check_over() tells how it ended, perhaps at once. */
void check_run(struct check *check);

/** End a run without a result. */
void check_cancel(struct check *check);

/** The time is up. */
void check_too_late(struct check *check);

/** A run ended; error: a sentence, if it was not good. In check.c. */
void check_over(struct check *check, enum check_end end, const char *error);

/** Take n more bytes of an answer. Returns 1 if enough has come, 0 if not, -EBADMSG: that is not
 * HTTP. */
int check_answer_feed(struct check_answer *answer, const char *bytes, size_t n);

/** 0 <= x < 1 from 64 random bits. */
static inline double check_fraction(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

/** The next thing to do in delay_ns: a run, or the end of the one under way. */
void check_arm(struct check *check, int64_t delay_ns);

/** The timer of a check: arg. */
void check_due(evutil_socket_t fd, short what, void *arg);

/** Ends its run without a result; NULL is fine. */
void check_free(struct check *check);

/** The first check of a line, or of a later one. */
size_t checks_from(const struct checks *checks, uint32_t line);

/** The n-th of all, if it is one of this line: NULL after the line's last. */
struct check *checks_of(const struct checks *checks, size_t n, uint32_t line);

/** The line of a check's server. */
struct counters_line *check_line(const struct check *check);

#endif
