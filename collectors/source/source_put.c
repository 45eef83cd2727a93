/* source_put.c - a row of a sample goes to the host. */
#include <time.h>

#include "source.h"

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* A row's time is one of the clock on the wall. Whether it is too far ahead is for the host to say:
 * nobody knows how old it is then. */
static int64_t taken_of(const struct source_row *row, int64_t asked_ns)
{
	int64_t age_ns, now;

	if (row->taken_ns == 0)
		return asked_ns;
	age_ns = now_ns(CLOCK_REALTIME) - row->taken_ns;
	now = now_ns(CLOCK_MONOTONIC);
	return age_ns < now ? now - age_ns : 1;
}

void source_put_row(const struct source_sample *sample, const struct source_row *row,
		    const struct cr_round *round, struct cr_target *target, const int *metric,
		    int64_t asked_ns)
{
	const char *name = row->name[0] != '\0' ? row->name : NULL;
	const int64_t taken_ns = taken_of(row, asked_ns);

	if (row->left_out_by > 0) {
		if (name != NULL)
			round->absent(round, target, name, row->why);
		return;
	}
	if (row->is_skipped) {
		round->skip(round, target, name, row->why);
		return;
	}
	for (size_t i = 0; i < sample->source->n_metrics; i++) {
		if (metric[i] < 0)
			continue;
		if (row->state[i] == SOURCE_FOUND)
			round->put(round, target, name, metric[i], row->value[i], taken_ns);
		else if (row->state[i] == SOURCE_REJECTED)
			round->reject(round, target, name, metric[i], row->reject[i],
				      source_reject_text(sample, row, i));
	}
}
