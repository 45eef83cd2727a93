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

static void expect_better(const char *name)
{
	const struct trace trace = read_trace(name);
	double error[4] = { 0 };

	for (int basis = 1; basis <= 3; basis++)
		error[basis] = error_of(&trace, basis);
	printf("%s: by long requests %.3f, by the last collection %.3f, by use %.3f\n", name,
	       error[3], error[2], error[1]);
}

Test(headroom_trace, prints)
{
	expect_better("jvm_parallel_seed4");
	expect_better("jvm_parallel_seed11");
	expect_better("jvm_g1_seed4");
	expect_better("jvm_g1_seed11");
}
