/* bench_judge.c - what each router costs, beside round_robin with as many servers. */
#include <string.h>

#include "bench.h"

#define YARDSTICK "round_robin"

static unsigned size_of(size_t i)
{
	return bench_sizes[1 + i];
}

/* The median over the rounds of one figure divided by the other. */
static double times_of(const struct bench_result *result, const struct bench_cell *figure,
		       const struct bench_cell *by)
{
	double times[BENCH_ROUNDS_MAX];

	for (unsigned i = 0; i < result->rounds; i++)
		times[i] = figure->sample[i] / by->sample[i];
	return bench_median(times, result->rounds, NULL, NULL);
}

static struct bench_verdict judge_router(const struct bench_result *result, const char *router)
{
	struct bench_verdict verdict = { .router = router, .is_linear = true };
	const struct bench_cell *cell[BENCH_ROUTER_SIZES];

	for (size_t i = 0; i < BENCH_ROUTER_SIZES; i++) {
		cell[i] = bench_find(result, BENCH_ROUTER, router, size_of(i), 1);
		verdict.ns[i] = cell[i]->median;
		verdict.times[i] =
			times_of(result, cell[i],
				 bench_find(result, BENCH_ROUTER, YARDSTICK, size_of(i), 1));
	}
	for (size_t i = 0; i + 1 < BENCH_ROUTER_SIZES; i++) {
		verdict.growth[i] = times_of(result, cell[i + 1], cell[i]);
		if (verdict.growth[i] > (double)size_of(i + 1) / size_of(i))
			verdict.is_linear = false;
	}
	verdict.is_cheap = verdict.times[0] <= BENCH_TIMES_AT_MOST;
	return verdict;
}

size_t bench_judge(const struct bench_result *result,
		   struct bench_verdict verdict[BENCH_ROUTERS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < result->n_cells && n < BENCH_ROUTERS_MAX; i++) {
		const struct bench_subject *subject = result->cell[i].subject;

		if (strcmp(subject->what, BENCH_ROUTER) == 0 && subject->servers == size_of(0))
			verdict[n++] = judge_router(result, subject->variant);
	}
	return n;
}
