/* test_headroom_trace.c - what headroom takes for alive, beside what a real JVM was known to hold:
 * the traces that tests/lab/jvm_trace/record.sh made. */
#include "routers_metrics_scene.h"

#define ROWS_MAX 400
#define POLL_S   5

struct trace {
	double max[ROWS_MAX], used[ROWS_MAX], after_gc[ROWS_MAX], hogs[ROWS_MAX], live[ROWS_MAX];
	size_t n;
};

static struct trace read_trace(const char *name)
{
	struct trace trace = { .n = 0 };
	char path[500], line[500];
	double t_ms, free_bytes, total;
	FILE *file;

	snprintf(path, sizeof path, "%s/%s.csv", SIM_TRACES, name);
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s", path);
	while (trace.n < ROWS_MAX && fgets(line, sizeof line, file) != NULL) {
		const size_t k = trace.n;

		if (line[0] < '0' || line[0] > '9')
			continue;
		cr_assert_eq(sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf", &t_ms, &free_bytes, &total,
				    &trace.max[k], &trace.after_gc[k], &trace.hogs[k],
				    &trace.live[k]),
			     7);
		trace.used[k] = total - free_bytes;
		trace.n++;
	}
	fclose(file);
	cr_assert_gt(trace.n, 200);
	return trace;
}

static void poll_row(const struct trace *trace, size_t t, int basis)
{
	put_heap(0, trace->max[t], trace->used[t]);
	if (basis == 2)
		put(FREE_AFTER_GC, 0, trace->max[t] - trace->after_gc[t]);
	if (basis == 3)
		put(HOGS, 0, trace->hogs[t]);
	rank_now();
	cr_assert_eq(shown("basis", 0), basis);
}

/* The root of the mean square of estimate - truth, in shares of the heap: each second, with polls
 * every 5 s, at all phases. The first half minute only teaches. */
static double error_of(const struct trace *trace, int basis)
{
	double sum = 0, n = 0;

	for (size_t phase = 0; phase < POLL_S; phase++) {
		load("headroom", "big_call=62MiB\n"); /* the mean of the load's big class */
		set_fleet(1);
		for (size_t t = 0; t < trace->n; t++) {
			at_s((double)t);
			if (t % POLL_S == phase)
				poll_row(trace, t, basis);
			if (t < 30)
				continue;
			sum += pow((shown("live_bytes", 0) - trace->live[t]) / trace->max[t], 2);
			n++;
		}
		unload();
	}
	return sqrt(sum / n);
}

/* What it says of this trace by long requests, by the last collection, by use. */
struct errors {
	double hogs, after_gc, used;
};

static struct errors errors_of(const char *name)
{
	const struct trace trace = read_trace(name);
	const struct errors errors = { .hogs = error_of(&trace, 3),
				       .after_gc = error_of(&trace, 2),
				       .used = error_of(&trace, 1) };

	printf("%s: by long requests %.3f, by the last collection %.3f, by use %.3f\n", name,
	       errors.hogs, errors.after_gc, errors.used);
	return errors;
}

/* In order, and off by less than so much of the heap. */
static void expect_long_requests_to_say_best(const char *name, double most)
{
	const struct errors errors = errors_of(name);

	cr_expect_lt(errors.hogs, most);
	cr_expect_lt(errors.hogs, 0.95 * errors.after_gc);
	cr_expect_lt(errors.after_gc, 0.95 * errors.used);
}

Test(headroom_trace, is_told_best_by_long_requests_what_lives_under_parallel)
{
	expect_long_requests_to_say_best("jvm_parallel_seed4", 0.21);
}

Test(headroom_trace, is_told_best_by_long_requests_what_lives_under_g1)
{
	expect_long_requests_to_say_best("jvm_g1_seed4", 0.19);
}

Test(headroom_trace, is_told_best_by_long_requests_what_lives_where_memory_runs_out)
{
	expect_long_requests_to_say_best("jvm_parallel_seed11", 0.23);
	expect_long_requests_to_say_best("jvm_g1_seed11", 0.23);
}
