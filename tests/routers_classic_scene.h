/* routers_classic_scene.h - a crowd of servers in memory that several processes share, and calls to
 * them: for the tests of the classical routers. */
#ifndef CR_TESTS_ROUTERS_CLASSIC_SCENE_H
#define CR_TESTS_ROUTERS_CLASSIC_SCENE_H

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "router_scene.h"

#define CROWD     64
#define PROCESSES 2
#define THREADS   4
#define WORKERS   (PROCESSES * THREADS)

/* What is in the counters file at other times. */
struct crowd_shared {
	struct cr_live live[CROWD];
	uint64_t word[4];
	uint32_t first[WORKERS][CROWD]; /* how often a worker found a server first */
	uint32_t ready;                 /* workers that wait for the others */
};

static struct {
	struct cr_view view;
	char text[CROWD][16];
	const char *name[CROWD];
	uint32_t weight[CROWD], id[CROWD];
	const struct cr_live *live_of[CROWD];
	double nothing[CROWD];
	const double *metric[METRICS];
	struct crowd_shared *shared;
	uint16_t order[CROWD]; /* after the last call */
	int n;                 /* what that call returned */
	uint64_t draw;
} crowd;

/* A view of n servers of weight 1, "ms1" .. ; nothing is in progress, no metric is known. */
static inline void set_crowd(size_t n)
{
	if (crowd.shared == NULL)
		crowd.shared = mmap(NULL, sizeof *crowd.shared, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(crowd.shared, MAP_FAILED);
	memset(crowd.shared, 0, sizeof *crowd.shared);
	for (uint32_t i = 0; i < CROWD; i++) {
		snprintf(crowd.text[i], sizeof crowd.text[i], "ms%u", i + 1);
		crowd.name[i] = crowd.text[i];
		crowd.weight[i] = 1;
		crowd.id[i] = i;
		crowd.live_of[i] = &crowd.shared->live[i];
		crowd.nothing[i] = UNKNOWN;
	}
	for (size_t k = 0; k < METRICS; k++)
		crowd.metric[k] = crowd.nothing;
	crowd.draw = 1;
	crowd.view =
		(struct cr_view){ .n = n,
				  .name = crowd.name,
				  .id = crowd.id,
				  .weight = crowd.weight,
				  .metric = crowd.metric,
				  .live = crowd.live_of,
				  .shared = plugin->router.shared_words > 0 ? crowd.shared->word
									    : NULL };
}

static inline void set_weights(size_t n, const uint32_t *weight)
{
	memcpy(crowd.weight, weight, n * sizeof *weight);
}

/* The servers that may be contacted: those of the n rows that weigh something. */
static inline size_t usable(uint16_t *order)
{
	size_t n = 0;

	for (size_t i = 0; i < crowd.view.n; i++)
		if (crowd.weight[i] > 0)
			order[n++] = (uint16_t)i;
	return n;
}

static inline uint16_t ask(const struct cr_call *call)
{
	const size_t n = usable(crowd.order);

	prepare(&crowd.view); /* a test may have changed it */
	crowd.n = plugin->router.route(instance.self, &crowd.view, call, crowd.order, n);
	cr_assert_eq(crowd.n, (int)n);
	return crowd.order[0];
}

/* The first server of the next call. */
static inline uint16_t route_one(void)
{
	return ask(&(struct cr_call){ .random = cr_draw(&crowd.draw) });
}

/* The first server of the next call, which is in progress there from now on. */
static inline uint16_t place_one(void)
{
	const uint16_t row = route_one();

	__atomic_fetch_add(&crowd.shared->live[row].inflight, 1, __ATOMIC_RELAXED);
	return row;
}

static inline void end_one(uint16_t row)
{
	__atomic_fetch_sub(&crowd.shared->live[row].inflight, 1, __ATOMIC_RELAXED);
}

/* How often each server comes first in that many calls. */
static inline void count_first(unsigned calls, unsigned *first)
{
	memset(first, 0, crowd.view.n * sizeof *first);
	for (unsigned i = 0; i < calls; i++)
		first[route_one()]++;
}

/* Chi-square of counts against shares of the total by weight; a weight of 0 has to have none. */
static inline double chi_by_weight(const unsigned *count, const uint32_t *weight, size_t n)
{
	double total = 0, weights = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		total += count[i];
		weights += weight[i];
	}
	for (size_t i = 0; i < n; i++) {
		const double expected = total * weight[i] / weights;

		cr_assert(weight[i] > 0 || count[i] == 0);
		if (weight[i] > 0)
			sum += (count[i] - expected) * (count[i] - expected) / expected;
	}
	return sum;
}

/* Each server that may be contacted, once. */
static inline void expect_whole_order(void)
{
	uint16_t want[CROWD];
	bool seen[CROWD] = { false };
	const size_t n = usable(want);

	for (size_t i = 0; i < n; i++) {
		cr_assert_lt(crowd.order[i], crowd.view.n);
		cr_assert_gt(crowd.weight[crowd.order[i]], 0);
		cr_assert_not(seen[crowd.order[i]]);
		seen[crowd.order[i]] = true;
	}
}

/*** Several processes with several threads each ***/

typedef void worker_fn(unsigned worker);

struct worker {
	worker_fn *run;
	unsigned number;
};

static inline void *worker_main(void *arg)
{
	const struct worker *worker = arg;

	/* Together, or the first would be done before the last is there. */
	__atomic_fetch_add(&crowd.shared->ready, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&crowd.shared->ready, __ATOMIC_RELAXED) < WORKERS)
		sched_yield();
	worker->run(worker->number);
	return NULL;
}

static inline void run_process(worker_fn *run, unsigned process)
{
	struct worker worker[THREADS];
	pthread_t thread[THREADS];

	for (unsigned t = 0; t < THREADS; t++) {
		worker[t] = (struct worker){ run, process * THREADS + t };
		if (pthread_create(&thread[t], NULL, worker_main, &worker[t]) != 0)
			_exit(1);
	}
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	_exit(0);
}

/* Runs the function in THREADS threads of each of PROCESSES processes, and waits for all. */
static inline void run_everywhere(worker_fn *run)
{
	pid_t child[PROCESSES];

	crowd.shared->ready = 0;
	for (unsigned p = 0; p < PROCESSES; p++) {
		child[p] = fork();
		cr_assert_neq(child[p], -1);
		if (child[p] == 0)
			run_process(run, p);
	}
	for (unsigned p = 0; p < PROCESSES; p++) {
		int status;

		cr_assert_eq(waitpid(child[p], &status, 0), child[p]);
		cr_assert_eq(status, 0);
	}
}

/* How often all workers together found this server first. */
static inline unsigned first_of_all(size_t row)
{
	unsigned sum = 0;

	for (size_t w = 0; w < WORKERS; w++)
		sum += crowd.shared->first[w][row];
	return sum;
}

#endif
