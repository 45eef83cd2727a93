/*
 * bench_naive.c - the same decision made the obvious way: lock the server table, copy it, unlock,
 * sort the copy by free heap, return the first names.
 *
 * It is the cheapest form of that: an entry is a pointer and a number, names are not copied, the
 * sort is outside the lock. Counting what cr_route() counts takes the lock once more.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "clock.h"

#define TABLE_MAX 512

struct entry {
	const char *name;
	double free_bytes;
	uint32_t index;
};

/** What getServerList() would have at hand. */
struct table {
	pthread_mutex_t lock;
	size_t n;
	struct entry entry[TABLE_MAX];
	uint64_t decided;
	struct {
		uint64_t calls;
		uint32_t inflight;
	} count[TABLE_MAX];
};

struct bench_naive {
	struct table table[BENCH_SIZES];
	char name[TABLE_MAX][16];
};

static int more_free(const void *a, const void *b)
{
	const double free_a = ((const struct entry *)a)->free_bytes;
	const double free_b = ((const struct entry *)b)->free_bytes;

	return (free_a < free_b) - (free_a > free_b);
}

/* Returns the index of the first. */
static uint32_t table_route(struct table *table, const char **list)
{
	struct entry copy[TABLE_MAX];
	size_t n;

	pthread_mutex_lock(&table->lock);
	n = table->n;
	memcpy(copy, table->entry, n * sizeof *copy);
	pthread_mutex_unlock(&table->lock);
	qsort(copy, n, sizeof *copy, more_free);
	if (n > CR_LIST_MAX)
		n = CR_LIST_MAX;
	for (size_t i = 0; i < n; i++)
		list[i] = copy[i].name;
	return copy[0].index;
}

static void table_count(struct table *table, uint32_t index)
{
	pthread_mutex_lock(&table->lock);
	table->decided++;
	table->count[index].calls++;
	table->count[index].inflight++;
	pthread_mutex_unlock(&table->lock);
}

static void table_end(struct table *table, uint32_t index)
{
	pthread_mutex_lock(&table->lock);
	table->count[index].inflight--;
	pthread_mutex_unlock(&table->lock);
}

static struct table *table_of(const struct bench_subject *subject)
{
	return &((struct bench_naive *)subject->scene)->table[subject->number];
}

static int64_t run_decide(const struct bench_subject *subject, unsigned index, unsigned n)
{
	const char *list[CR_LIST_MAX];
	const int64_t start = clock_now_ns();

	(void)index;
	for (unsigned i = 0; i < n; i++)
		table_route(table_of(subject), list);
	return clock_now_ns() - start;
}

static int64_t run_count(const struct bench_subject *subject, unsigned index, unsigned n)
{
	struct table *table = table_of(subject);
	const char *list[CR_LIST_MAX];
	uint32_t first[BENCH_BATCH];
	int64_t start, end;

	(void)index;
	start = clock_now_ns();
	for (unsigned i = 0; i < n; i++) {
		first[i] = table_route(table, list);
		table_count(table, first[i]);
	}
	end = clock_now_ns();
	for (unsigned i = 0; i < n; i++)
		table_end(table, first[i]);
	return end - start;
}

static int64_t run_whole(const struct bench_subject *subject, unsigned index, unsigned n)
{
	struct table *table = table_of(subject);
	const char *list[CR_LIST_MAX];
	const int64_t start = clock_now_ns();

	(void)index;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t first = table_route(table, list);

		table_count(table, first);
		table_end(table, first);
	}
	return clock_now_ns() - start;
}

static void table_fill(struct bench_naive *naive, size_t size)
{
	struct table *table = &naive->table[size];
	const char *list[CR_LIST_MAX];
	uint32_t first;

	pthread_mutex_init(&table->lock, NULL);
	table->n = bench_sizes[size];
	for (unsigned i = 0; i < table->n; i++)
		table->entry[i] = (struct entry){ naive->name[i], bench_free_bytes(i), i };
	first = table_route(table, list);
	for (unsigned i = 0; i < table->n; i++)
		if (list[0] != naive->name[first] || bench_free_bytes(i) > bench_free_bytes(first))
			bench_die("the naive way does not put the most free heap first");
}

static void naive_add(struct bench_naive *naive, size_t size, struct bench_list *list)
{
	static const struct {
		const char *variant;
		bench_fn *run;
	} ways[] = {
		{ "decide", run_decide },
		{ "decide and count", run_count },
		{ "whole call", run_whole },
	};

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		bench_add(list, &(struct bench_subject){ .what = "naive",
							 .variant = ways[i].variant,
							 .servers = bench_sizes[size],
							 .batch = BENCH_BATCH,
							 .threads_max = BENCH_THREADS,
							 .run = ways[i].run,
							 .scene = naive,
							 .number = (int)size });
}

struct bench_naive *bench_naive_new(struct bench_list *list)
{
	struct bench_naive *naive = calloc(1, sizeof *naive);

	if (naive == NULL)
		bench_die("no memory");
	for (unsigned i = 0; i < TABLE_MAX; i++)
		snprintf(naive->name[i], sizeof naive->name[i], "ms%u", i);
	for (size_t i = 0; i < BENCH_SIZES; i++) {
		table_fill(naive, i);
		naive_add(naive, i, list);
	}
	return naive;
}

void bench_naive_free(struct bench_naive *naive)
{
	for (size_t i = 0; i < BENCH_SIZES; i++)
		pthread_mutex_destroy(&naive->table[i].lock);
	free(naive);
}
