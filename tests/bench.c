/*
 * bench.c - what a decision costs, beside the same done naively: ./run bench.
 *
 * Time is cut into slices; in each round everything gets one slice, in an order drawn anew. So what
 * else the machine does hits all alike, and a ratio compares slices of the same round.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <callrouter/order.h>

#include "bench.h"
#include "clock.h"

const unsigned bench_sizes[BENCH_SIZES] = { 4, 8, 64, 512 };

/** How long it takes. */
struct pace {
	unsigned rounds;
	int64_t slice_ns;
};

static const struct pace full_pace = { 21, 20 * CLOCK_MS };
static const struct pace quick_pace = { 7, 5 * CLOCK_MS };

void bench_die(const char *fmt, ...)
{
	va_list args;

	fputs("bench: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void bench_add(struct bench_list *list, const struct bench_subject *subject)
{
	if (list->n == BENCH_SUBJECTS_MAX)
		bench_die("more than %d subjects", BENCH_SUBJECTS_MAX);
	list->subject[list->n++] = *subject;
}

/*** Threads ***/

/** The second thread, and what both are to do. */
struct pool {
	pthread_t thread;
	pthread_barrier_t start, end;
	const struct bench_subject *subject; /* NULL: the second thread may go */
	int64_t slice_ns;
	double ns[BENCH_THREADS]; /* per call */
	bool is_pinned, is_alone; /* alone: one thread measures, the other sleeps */
	_Atomic unsigned n_ready;
	_Atomic bool is_over, is_disturbed;
};

/** What a thread had of the processor. */
struct usage {
	int64_t wall_ns, cpu_ns;
	long n_preempted;
};

static struct usage usage_now(void)
{
	struct rusage use = { 0 };

	getrusage(RUSAGE_THREAD, &use);
	return (struct usage){
		.wall_ns = clock_now_ns(),
		.cpu_ns = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * CLOCK_S +
			  (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * CLOCK_US,
		.n_preempted = use.ru_nivcsw,
	};
}

/* Another program had the processor for more than a twentieth of the time; waiting of one's own
 * accord is part of what is measured. */
static bool usage_is_disturbed(struct usage from, struct usage to)
{
	return to.n_preempted > from.n_preempted &&
	       to.cpu_ns - from.cpu_ns < (to.wall_ns - from.wall_ns) / 20 * 19;
}

/* The index-th processor that we may use. */
static bool pin(unsigned index)
{
	cpu_set_t allowed, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
		return false;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || index-- > 0)
			continue;
		CPU_SET(cpu, &one);
		return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
	}
	return false;
}

/* How much of the time the thread had the processor. Alone it waits for nobody else: what another
 * program took is no part of a call. */
static double usage_share(struct usage from, struct usage to)
{
	const double cpu = (double)(to.cpu_ns - from.cpu_ns),
		     wall = (double)(to.wall_ns - from.wall_ns);

	return cpu > 0 && cpu < wall ? cpu / wall : 1;
}

/* Until the first one's time is up: nobody goes on alone. */
static double slice_run(struct pool *pool, const struct bench_subject *subject, unsigned index,
			int64_t slice_ns)
{
	const struct usage start = usage_now();
	int64_t spent = 0, calls = 0;
	struct usage end;

	do {
		spent += subject->run(subject, index, subject->batch);
		calls += subject->batch;
	} while (clock_now_ns() - start.wall_ns < slice_ns &&
		 !atomic_load_explicit(&pool->is_over, memory_order_relaxed));
	atomic_store_explicit(&pool->is_over, true, memory_order_relaxed);
	end = usage_now();
	if (usage_is_disturbed(start, end))
		atomic_store_explicit(&pool->is_disturbed, true, memory_order_relaxed);
	return (double)spent / (double)calls * (pool->is_alone ? usage_share(start, end) : 1);
}

/* A thread that slept needs a while to wake up: nobody starts alone either. */
static void pool_meet(struct pool *pool)
{
	atomic_fetch_add_explicit(&pool->n_ready, 1, memory_order_relaxed);
	while (atomic_load_explicit(&pool->n_ready, memory_order_relaxed) < BENCH_THREADS)
		;
}

static void *pool_second(void *arg)
{
	struct pool *pool = arg;
	/* Before the first one pins itself: its child inherits that. */
	const bool is_pinned = pin(1);

	pool->is_pinned = is_pinned;
	pthread_barrier_wait(&pool->start);
	for (;;) {
		pthread_barrier_wait(&pool->start);
		if (pool->subject == NULL)
			return NULL;
		pool_meet(pool);
		pool->ns[1] = slice_run(pool, pool->subject, 1, pool->slice_ns);
		pthread_barrier_wait(&pool->end);
	}
}

static void pool_open(struct pool *pool)
{
	pthread_barrier_init(&pool->start, NULL, BENCH_THREADS);
	pthread_barrier_init(&pool->end, NULL, BENCH_THREADS);
	if (pthread_create(&pool->thread, NULL, pool_second, pool) != 0)
		bench_die("cannot start a second thread");
	pthread_barrier_wait(&pool->start);
	pool->is_pinned = pin(0) && pool->is_pinned;
}

static void pool_close(struct pool *pool)
{
	pool->subject = NULL;
	pthread_barrier_wait(&pool->start);
	pthread_join(pool->thread, NULL);
	pthread_barrier_destroy(&pool->start);
	pthread_barrier_destroy(&pool->end);
}

/* Nanoseconds per call as each thread sees it: their mean. */
static double pool_run(struct pool *pool, const struct bench_subject *subject, unsigned threads,
		       int64_t slice_ns)
{
	atomic_store_explicit(&pool->is_over, false, memory_order_relaxed);
	atomic_store_explicit(&pool->is_disturbed, false, memory_order_relaxed);
	pool->is_alone = threads == 1;
	if (pool->is_alone)
		return slice_run(pool, subject, 0, slice_ns);
	pool->subject = subject;
	pool->slice_ns = slice_ns;
	atomic_store_explicit(&pool->n_ready, 0, memory_order_relaxed);
	pthread_barrier_wait(&pool->start);
	pool_meet(pool);
	pool->ns[0] = slice_run(pool, subject, 0, slice_ns);
	pthread_barrier_wait(&pool->end);
	return (pool->ns[0] + pool->ns[1]) / 2;
}

/*** Measuring ***/

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *figure, size_t n, double *low, double *high)
{
	qsort(figure, n, sizeof *figure, by_size);
	if (low != NULL)
		*low = figure[n / 4];
	if (high != NULL)
		*high = figure[n - 1 - n / 4];
	return n % 2 == 1 ? figure[n / 2] : (figure[n / 2 - 1] + figure[n / 2]) / 2;
}

static void result_lay_out(struct bench_result *result, const struct bench_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		for (unsigned t = 1; t <= list->subject[i].threads_max; t++)
			result->cell[result->n_cells++] =
				(struct bench_cell){ .subject = &list->subject[i], .threads = t };
}

static void shuffle(size_t *order, size_t n, uint64_t *draw)
{
	for (size_t i = n; i > 1; i--) {
		const size_t j = cr_below(cr_draw(draw), (uint32_t)i);
		const size_t x = order[i - 1];

		order[i - 1] = order[j];
		order[j] = x;
	}
}

/* A disturbed slice is done again, as long as there is time for that. */
static double result_slice(struct bench_result *result, struct pool *pool,
			   const struct bench_cell *cell)
{
	const size_t most = result->n_cells * result->rounds / 4;

	for (int tries = 0;; tries++) {
		const double ns = pool_run(pool, cell->subject, cell->threads, result->slice_ns);

		if (!atomic_load_explicit(&pool->is_disturbed, memory_order_relaxed))
			return ns;
		if (tries == 3 || result->n_repeated == most) {
			result->n_disturbed++;
			return ns;
		}
		result->n_repeated++;
	}
}

/* The first round warms up and does not count. */
static void result_measure(struct bench_result *result, struct pool *pool, const struct pace *pace)
{
	size_t order[BENCH_SUBJECTS_MAX * BENCH_THREADS];
	uint64_t draw = (uint64_t)clock_now_ns();

	result->rounds = pace->rounds;
	result->slice_ns = pace->slice_ns;
	result->is_pinned = pool->is_pinned;
	for (size_t i = 0; i < result->n_cells; i++)
		order[i] = i;
	for (unsigned round = 0; round <= pace->rounds; round++) {
		shuffle(order, result->n_cells, &draw);
		for (size_t i = 0; i < result->n_cells; i++) {
			struct bench_cell *cell = &result->cell[order[i]];

			if (round == 0)
				pool_run(pool, cell->subject, cell->threads, pace->slice_ns / 4);
			else
				cell->sample[round - 1] = result_slice(result, pool, cell);
		}
	}
}

static void result_sum_up(struct bench_result *result)
{
	for (size_t i = 0; i < result->n_cells; i++) {
		struct bench_cell *cell = &result->cell[i];
		double sorted[BENCH_ROUNDS_MAX];

		memcpy(sorted, cell->sample, result->rounds * sizeof *sorted);
		cell->median = bench_median(sorted, result->rounds, &cell->low, &cell->high);
	}
}

/*** Counting ***/

static double worse(double a, double b)
{
	return a < 0 || b < 0 ? -1 : a > b ? a : b;
}

/* Only what is on the call path. */
static void result_count(struct bench_result *result)
{
	result->control = bench_count(&bench_control);
	for (size_t i = 0; i < result->n_cells; i++) {
		struct bench_cell *cell = &result->cell[i];

		if (cell->subject->threads_max == 1 || cell->threads != 1)
			continue;
		cell->counts = bench_count(cell->subject);
		if (strcmp(cell->subject->what, "naive") == 0)
			continue;
		result->worst.allocations =
			worse(result->worst.allocations, cell->counts.allocations);
		result->worst.system_calls =
			worse(result->worst.system_calls, cell->counts.system_calls);
	}
}

/* The allocator itself may make a system call now and then. */
static bool is_about_one(double count)
{
	return count >= 1 && count < 1.01;
}

/* What could not be counted is shown as that, and is no failure. */
static int result_judge(const struct bench_result *result)
{
	if (result->control.allocations >= 0 && !is_about_one(result->control.allocations))
		bench_die("the counting of allocations does not work");
	if (result->control.system_calls >= 0 && !is_about_one(result->control.system_calls))
		bench_die("the counting of system calls does not work");
	if (result->worst.allocations > 0 || result->worst.system_calls > 0) {
		fputs("bench: a call allocates memory or makes system calls\n", stderr);
		return 1;
	}
	return 0;
}

/* With --check: is every router as cheap as it has to be? */
static int routers_judge(const struct bench_result *result)
{
	struct bench_verdict verdict[BENCH_ROUTERS_MAX];
	const size_t n = bench_judge(result, verdict);
	int status = 0;

	for (size_t i = 0; i < n; i++) {
		if (verdict[i].is_cheap && verdict[i].is_linear)
			continue;
		fprintf(stderr,
			"bench: %s: a call costs %.1f times as much as with round_robin (8 "
			"servers; %g are allowed), and grows %.1f and %.1f times from 8 to 64 and "
			"512 servers (8 are allowed)\n",
			verdict[i].router, verdict[i].times[0], BENCH_TIMES_AT_MOST,
			verdict[i].growth[0], verdict[i].growth[1]);
		status = 1;
	}
	return status;
}

/*** The program ***/

static void usage(int status)
{
	fputs("usage: bench [--quick] [--json] [--check]\n"
	      "  --quick  a few seconds: shows that it works, the figures are rough\n"
	      "  --json   for programs: all figures with their quartiles\n"
	      "  --check  fail if a router costs more than it may beside round_robin\n",
	      status == 0 ? stdout : stderr);
	exit(status);
}

int main(int argc, char **argv)
{
	static struct bench_result result;
	static struct bench_list list;
	const struct pace *pace = &full_pace;
	bool is_json = false, is_checked = false;
	int status;
	struct pool pool = { 0 };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			pace = &quick_pace;
		else if (strcmp(argv[i], "--json") == 0)
			is_json = true;
		else if (strcmp(argv[i], "--check") == 0)
			is_checked = true;
		else
			usage(strcmp(argv[i], "--help") == 0 ? 0 : 2);
	}
	struct bench_calls *calls = bench_calls_new(&list);
	struct bench_naive *naive = bench_naive_new(&list);
	struct bench_publish *publish = bench_publish_new(&list);
	struct bench_routers *routers = bench_routers_new(&list);

	result_lay_out(&result, &list);
	/* Children are forked before there is a second thread. */
	result_count(&result);
	pool_open(&pool);
	result_measure(&result, &pool, pace);
	pool_close(&pool);
	result_sum_up(&result);
	(is_json ? bench_print_json : bench_print_table)(&result);
	bench_routers_free(routers);
	bench_publish_free(publish);
	bench_naive_free(naive);
	bench_calls_free(calls);
	status = is_checked ? routers_judge(&result) : 0;
	return result_judge(&result) != 0 ? 1 : status;
}
