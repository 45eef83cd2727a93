/* routers_metrics_scene.h - a fleet of servers with metrics, ranked and called as the host does it:
 * for the tests of the metric-driven routers. */
#ifndef CR_TESTS_ROUTERS_METRICS_SCENE_H
#define CR_TESTS_ROUTERS_METRICS_SCENE_H

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "router_scene.h"

#define FLEET   300
#define MIB     (1024.0 * 1024)
#define START_S 1000 /* the clock when a scene begins */

#define MAX_BYTES     "jvm_heap_max_bytes"
#define USED_BYTES    "jvm_heap_used_bytes"
#define FREE_AFTER_GC "jvm_heap_free_after_gc_bytes"
#define HOGS          "hogging_threads"
#define REQUESTS      "requests_total"

/* What processes share. */
struct fleet_shared {
	struct cr_live live[FLEET];
	uint64_t word[8];
	uint32_t first[8][FLEET];
};

static struct {
	struct cr_view view;
	char text[FLEET][16];
	const char *name[FLEET];
	uint32_t id[FLEET], weight[FLEET];
	const struct cr_live *live_of[FLEET];
	double value[METRICS][FLEET];
	int64_t taken_ns[METRICS][FLEET];
	const double *metric[METRICS];
	const int64_t *metric_taken[METRICS];
	double column[CR_COLUMNS_MAX][FLEET];
	const double *column_of[CR_COLUMNS_MAX];
	struct fleet_shared *shared;
	uint16_t published[FLEET], order[FLEET];
	size_t n_offered;
	uint64_t draw;
} fleet;

static inline void fleet_point(size_t n)
{
	for (uint32_t i = 0; i < FLEET; i++) {
		snprintf(fleet.text[i], sizeof fleet.text[i], "ms%u", i + 1);
		fleet.name[i] = fleet.text[i];
		fleet.id[i] = i;
		fleet.weight[i] = 1;
		fleet.live_of[i] = &fleet.shared->live[i];
		fleet.published[i] = (uint16_t)i;
	}
	for (size_t k = 0; k < METRICS; k++) {
		fleet.metric[k] = fleet.value[k];
		fleet.metric_taken[k] = fleet.taken_ns[k];
		for (size_t i = 0; i < FLEET; i++)
			fleet.value[k][i] = UNKNOWN;
	}
	for (size_t k = 0; k < CR_COLUMNS_MAX; k++) {
		fleet.column_of[k] = fleet.column[k];
		for (size_t i = 0; i < FLEET; i++)
			fleet.column[k][i] = UNKNOWN;
	}
	fleet.n_offered = n;
	fleet.draw = 1;
}

/* n servers of weight 1, "ms1" ..; no metric is known, nothing is in progress. */
static inline void set_fleet(size_t n)
{
	if (fleet.shared == NULL)
		fleet.shared = mmap(NULL, sizeof *fleet.shared, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(fleet.shared, MAP_FAILED);
	memset(fleet.shared, 0, sizeof *fleet.shared);
	memset(fleet.taken_ns, 0, sizeof fleet.taken_ns);
	fleet_point(n);
	fleet.view = (struct cr_view){ .taken_ns = START_S * INT64_C(1000000000),
				       .n = n,
				       .name = fleet.name,
				       .id = fleet.id,
				       .weight = fleet.weight,
				       .metric = fleet.metric,
				       .metric_taken_ns = fleet.metric_taken,
				       .column = fleet.column_of,
				       .live = fleet.live_of,
				       .shared = fleet.shared->word };
}

/* It is so many seconds after the beginning. */
static inline void at_s(double seconds)
{
	fleet.view.taken_ns = (int64_t)((START_S + seconds) * 1e9);
}

/* The share of calls that failed at a server, as of now. */
static inline void set_failures(size_t i, uint32_t ppm)
{
	fleet.shared->live[i].failure_ppm = ppm;
	fleet.shared->live[i].failure_ns = fleet.view.taken_ns;
}

static inline size_t metric_of(const char *name)
{
	size_t k = 0;

	while (strcmp(plugin_metric(&plugin->router, k), name) != 0)
		k++;
	return k;
}

/* A poll has brought a value, now. */
static inline void put(const char *metric, size_t i, double value)
{
	const size_t k = metric_of(metric);

	fleet.value[k][i] = value;
	fleet.taken_ns[k][i] = fleet.view.taken_ns;
}

static inline void put_heap(size_t i, double max, double used)
{
	put(MAX_BYTES, i, max);
	put(USED_BYTES, i, used);
}

/* rank(), and what the host does with its result. */
static inline void rank_now(void)
{
	double *column[CR_COLUMNS_MAX];
	bool seen[FLEET] = { false };
	int n;

	for (size_t k = 0; k < CR_COLUMNS_MAX; k++)
		column[k] = fleet.column[k];
	fleet.view.generation++;
	n = plugin->router.rank(instance.self, &fleet.view, fleet.published, fleet.n_offered,
				column);
	cr_assert_eq(n, (int)fleet.n_offered);
	for (int k = 0; k < n; k++) {
		cr_assert_not(seen[fleet.published[k]]);
		seen[fleet.published[k]] = true;
	}
}

/* The value of a column, by its name. */
static inline double shown(const char *name, size_t i)
{
	size_t k = 0;

	while (strcmp(plugin->router.columns[k], name) != 0)
		k++;
	return fleet.column[k][i];
}

static inline uint16_t ask(const struct cr_call *call)
{
	memcpy(fleet.order, fleet.published, sizeof fleet.order);
	cr_assert_eq(plugin->router.route(instance.self, &fleet.view, call, fleet.order,
					  fleet.n_offered),
		     (int)fleet.n_offered);
	return fleet.order[0];
}

/* Where the next call goes; cost_bytes 0: its size is unknown. */
static inline uint16_t first(double cost_bytes)
{
	return ask(&(struct cr_call){ .now_ns = fleet.view.taken_ns,
				      .random = cr_draw(&fleet.draw),
				      .cost_bytes = (int64_t)cost_bytes });
}

static inline void count_calls(unsigned calls, double cost_bytes, unsigned *count)
{
	memset(count, 0, fleet.view.n * sizeof *count);
	for (unsigned k = 0; k < calls; k++)
		count[first(cost_bytes)]++;
}

/* Chi-square against these shares; where the share is 0 there may be nothing. */
static inline double chi_square_of(const unsigned *count, const double *share, size_t n)
{
	double calls = 0, shares = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		calls += count[i];
		shares += share[i];
	}
	for (size_t i = 0; i < n; i++) {
		const double expected = calls * share[i] / shares;

		cr_assert(share[i] > 0 || count[i] == 0, "server %zu: %u calls", i, count[i]);
		if (share[i] > 0)
			sum += (count[i] - expected) * (count[i] - expected) / expected;
	}
	return sum;
}

static inline void expect_near(double value, double want)
{
	cr_expect(fabs(value - want) <= 1e-9 * fabs(want), "%.12g instead of %.12g", value, want);
}

static inline void expect_each_once(void)
{
	bool seen[FLEET] = { false };

	for (size_t k = 0; k < fleet.n_offered; k++) {
		cr_assert_lt(fleet.order[k], fleet.view.n);
		cr_assert_not(seen[fleet.order[k]]);
		seen[fleet.order[k]] = true;
	}
}

/*** Four threads in each of two processes ***/

static inline void *call_and_end(void *arg)
{
	const unsigned worker = *(const unsigned *)arg;
	uint64_t draw = worker + 1;
	uint16_t order[FLEET], held[4] = { 0 };

	for (unsigned k = 0; k < 20000; k++) {
		const struct cr_call call = { .now_ns = fleet.view.taken_ns,
					      .random = cr_draw(&draw),
					      .cost_bytes = k % 16 == 0 ? 64 << 20 : 0 };

		memcpy(order, fleet.published, sizeof order);
		if (plugin->router.route(instance.self, &fleet.view, &call, order,
					 fleet.n_offered) != (int)fleet.n_offered)
			_exit(1);
		fleet.shared->first[worker][order[0]]++;
		__atomic_fetch_add(&fleet.shared->live[order[0]].inflight, 1, __ATOMIC_RELAXED);
		if (k >= 4)
			__atomic_fetch_sub(&fleet.shared->live[held[k % 4]].inflight, 1,
					   __ATOMIC_RELAXED);
		held[k % 4] = order[0];
	}
	for (unsigned k = 0; k < 4; k++)
		__atomic_fetch_sub(&fleet.shared->live[held[k]].inflight, 1, __ATOMIC_RELAXED);
	return NULL;
}

static inline void run_threads(unsigned process)
{
	pthread_t thread[4];
	unsigned worker[4];

	for (unsigned t = 0; t < 4; t++) {
		worker[t] = process * 4 + t;
		if (pthread_create(&thread[t], NULL, call_and_end, &worker[t]) != 0)
			_exit(1);
	}
	for (unsigned t = 0; t < 4; t++)
		pthread_join(thread[t], NULL);
	_exit(0);
}

/* 160,000 calls from everywhere at once; how many each server got. */
static inline void call_from_everywhere(unsigned *count)
{
	pid_t child[2];
	int status;

	for (unsigned p = 0; p < 2; p++) {
		child[p] = fork();
		cr_assert_neq(child[p], -1);
		if (child[p] == 0)
			run_threads(p);
	}
	for (unsigned p = 0; p < 2; p++) {
		cr_assert_eq(waitpid(child[p], &status, 0), child[p]);
		cr_assert_eq(status, 0);
	}
	for (size_t i = 0; i < fleet.view.n; i++) {
		count[i] = 0;
		for (size_t w = 0; w < 8; w++)
			count[i] += fleet.shared->first[w][i];
		cr_expect_eq(fleet.shared->live[i].inflight, 0);
	}
}

#endif
