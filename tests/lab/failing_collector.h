/* failing_collector.h - a collector whose allocations fail one by one, in its calls and not in the
 * host's; in a test program that has failing_memory.h. */
#ifndef CR_TESTS_FAILING_COLLECTOR_H
#define CR_TESTS_FAILING_COLLECTOR_H

#include <stdint.h>

#include <callrouter/plugin.h>

#include "failing_memory.h"

static size_t n_left; /* allocations of its calls until one fails; 0: none does */
static struct cr_round host_calls;

static void put_calmly(const struct cr_round *round, struct cr_target *t, const char *row,
		       int metric, double value, int64_t taken_ns)
{
	const size_t left = n_until_failure;

	n_until_failure = 0;
	host_calls.put(round, t, row, metric, value, taken_ns);
	n_until_failure = left;
}

static void reject_calmly(const struct cr_round *round, struct cr_target *t, const char *row,
			  int metric, const char *word, const char *text)
{
	const size_t left = n_until_failure;

	n_until_failure = 0;
	host_calls.reject(round, t, row, metric, word, text);
	n_until_failure = left;
}

static int64_t collect_failing(void *self, const struct cr_round *round)
{
	struct cr_round *own = (struct cr_round *)(uintptr_t)round; /* the host's, on its stack */
	int64_t next_ns;

	host_calls = *round;
	own->put = put_calmly;
	own->reject = reject_calmly;
	n_until_failure = n_left;
	next_ns = cr_collector_1.collect(self, round);
	n_left = n_until_failure;
	n_until_failure = 0;
	return next_ns;
}

static int open_failing(const struct cr_open *in, void **self)
{
	int rc;

	n_until_failure = n_left;
	rc = cr_collector_1.open(in, self);
	n_left = n_until_failure;
	n_until_failure = 0;
	return rc;
}

static inline struct cr_collector failing_collector(void)
{
	struct cr_collector collector = cr_collector_1;

	collector.open = open_failing;
	collector.collect = collect_failing;
	return collector;
}

#endif
