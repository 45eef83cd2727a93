/* bench_print.c - the bench's figures for people and for programs, with the machine beside them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jansson.h>

#include "bench.h"
#include "clock.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/*** The machine ***/

static void machine_model(char *model, size_t len)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(model, len, "unknown processor");
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || colon == NULL)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(model, len, "%s", colon + 2);
		break;
	}
	if (file != NULL)
		fclose(file);
}

static json_t *machine_json(const struct bench_result *result)
{
	struct utsname kernel = { 0 };
	double load = 0;
	char model[128];

	machine_model(model, sizeof model);
	uname(&kernel);
	getloadavg(&load, 1);
	return json_pack("{ss si ss ss ss sb sb sf}", "model", model, "cores",
			 (int)sysconf(_SC_NPROCESSORS_ONLN), "kernel", kernel.release, "machine",
			 kernel.machine, "compiler", COMPILER, "optimized",
#ifdef __OPTIMIZE__
			 1,
#else
			 0,
#endif
			 "pinned", result->is_pinned, "load", load);
}

static void machine_print(const struct bench_result *result)
{
	json_t *machine = machine_json(result);

	printf("machine   %s, %d cores, %s, Linux %s\n",
	       json_string_value(json_object_get(machine, "model")),
	       (int)json_integer_value(json_object_get(machine, "cores")),
	       json_string_value(json_object_get(machine, "machine")),
	       json_string_value(json_object_get(machine, "kernel")));
	printf("build     callrouter %s, %s%s\n", cr_version(), COMPILER,
	       json_is_true(json_object_get(machine, "optimized"))
		       ? ""
		       : ", NOT OPTIMIZED: the figures say nothing");
	printf("method    median of %u slices of %d ms, in an order drawn anew each round; threads "
	       "%spinned\n",
	       result->rounds, (int)(result->slice_ns / CLOCK_MS), result->is_pinned ? "" : "not ");
	printf("quiet     of %zu slices %zu were disturbed by other programs, after %zu "
	       "repetitions; load %.1f\n",
	       result->n_cells * result->rounds, result->n_disturbed, result->n_repeated,
	       json_real_value(json_object_get(machine, "load")));
	json_decref(machine);
}

/*** Figures ***/

const struct bench_cell *bench_find(const struct bench_result *result, const char *what,
				    const char *variant, unsigned servers, unsigned threads)
{
	for (size_t i = 0; i < result->n_cells; i++) {
		const struct bench_cell *cell = &result->cell[i];

		if (strcmp(cell->subject->what, what) == 0 &&
		    strcmp(cell->subject->variant, variant) == 0 &&
		    cell->subject->servers == servers && cell->threads == threads)
			return cell;
	}
	bench_die("nobody measured %s, %s, %u servers", what, variant, servers);
}

/** What is compared with what. */
static const struct comparison {
	const char *key, *label, *naive, *ours;
} comparisons[] = {
	{ "decide", "naive decide / cr_route_dry", "decide", "cr_route_dry" },
	{ "count", "naive with count / cr_route", "decide and count", "cr_route" },
	{ "whole_call", "naive whole / whole call", "whole call", "whole call" },
	{ "decide_to_route", "naive decide / cr_route", "decide", "cr_route" },
};

#define COMPARISONS (sizeof comparisons / sizeof *comparisons)

/* How often dearer the naive way is: the median over the rounds. */
static double ratio(const struct bench_result *result, const struct comparison *comparison,
		    unsigned servers, unsigned threads)
{
	const struct bench_cell *naive =
		bench_find(result, "naive", comparison->naive, servers, threads);
	const struct bench_cell *ours =
		bench_find(result, comparison->ours, "rank-only", servers, threads);
	double ratios[BENCH_ROUNDS_MAX];

	for (unsigned i = 0; i < result->rounds; i++)
		ratios[i] = naive->sample[i] / ours->sample[i];
	return bench_median(ratios, result->rounds, NULL, NULL);
}

/*** The table ***/

/** A row of the table of calls. */
static const struct row {
	const char *what, *variant, *label;
} call_rows[] = {
	{ "cr_route_dry", "rank-only", "cr_route_dry, rank-only router" },
	{ "cr_route", "rank-only", "cr_route, rank-only router" },
	{ "cr_route", "round_robin", "cr_route, route(): round_robin" },
	{ "cr_route", "two choices", "cr_route, route(): two choices" },
	{ "cr_route", "default", "cr_route, default (round_robin)" },
	{ "whole call", "rank-only", "whole call, rank-only" },
	{ "whole call", "round_robin", "whole call, round_robin" },
	{ "naive", "decide", "naive: lock, copy, sort" },
	{ "naive", "decide and count", "naive: the same, and count" },
	{ "naive", "whole call", "naive: whole call" },
}, state_rows[] = {
	{ "cr_refresh", "nothing new", "cr_refresh, nothing new" },
	{ "cr_refresh", "something new", "cr_refresh, something new" },
	{ "snapshot_publish", "alone", "snapshot_publish" },
	{ "snapshot_publish", "with assemble", "assemble + snapshot_publish" },
};

#define CALL_ROWS  (sizeof call_rows / sizeof *call_rows)
#define STATE_ROWS (sizeof state_rows / sizeof *state_rows)

static void print_head(const char *title, const unsigned *servers, size_t n)
{
	printf("\n%-34s", title);
	for (size_t i = 0; i < n; i++)
		printf("%9u", servers[i]);
	puts("");
}

static void print_calls(const struct bench_result *result, unsigned threads)
{
	char title[64];

	snprintf(title, sizeof title, "ns per call, %u thread%s; servers:", threads,
		 threads == 1 ? "" : "s");
	print_head(title, bench_sizes, BENCH_SIZES);
	for (size_t r = 0; r < CALL_ROWS; r++) {
		printf("  %-32s", call_rows[r].label);
		for (size_t i = 0; i < BENCH_SIZES; i++)
			printf("%9.0f", bench_find(result, call_rows[r].what, call_rows[r].variant,
						   bench_sizes[i], threads)
						->median);
		puts("");
	}
	for (size_t r = 0; r < COMPARISONS; r++) {
		printf("  %-32s", comparisons[r].label);
		for (size_t i = 0; i < BENCH_SIZES; i++)
			printf("%8.1fx", ratio(result, &comparisons[r], bench_sizes[i], threads));
		puts("");
	}
}

static void print_state(const struct bench_result *result)
{
	static const unsigned sizes[] = { 8, 64, 1000 };

	print_head("microseconds, 1 thread; servers:", sizes, 3);
	for (size_t r = 0; r < STATE_ROWS; r++) {
		printf("  %-32s", state_rows[r].label);
		for (size_t i = 0; i < 3; i++)
			printf("%9.1f", bench_find(result, state_rows[r].what,
						   state_rows[r].variant, sizes[i], 1)
							->median /
						1e3);
		puts("");
	}
}

static void print_routers(const struct bench_result *result)
{
	struct bench_verdict verdict[BENCH_ROUTERS_MAX];
	const size_t n = bench_judge(result, verdict);

	printf("\n%-34s", "whole call, ns; of round_robin's:");
	for (size_t k = 0; k < BENCH_ROUTER_SIZES; k++)
		printf("%6u %6s", bench_sizes[1 + k], "");
	puts("");
	for (size_t i = 0; i < n; i++) {
		printf("  %-32s", verdict[i].router);
		for (size_t k = 0; k < BENCH_ROUTER_SIZES; k++)
			printf("%6.0f (%4.1fx)", verdict[i].ns[k], verdict[i].times[k]);
		printf("   %s", verdict[i].is_cheap && verdict[i].is_linear ? "PASS" : "above:");
		if (!verdict[i].is_cheap)
			printf(" %g times with 8 servers;", BENCH_TIMES_AT_MOST);
		puts(verdict[i].is_linear ? "" : " grows faster than the servers");
	}
}

/* "0" only if it was none at all. */
static void print_count(const char *what, double worst, double control)
{
	if (worst < 0)
		printf("%s per call: cannot be counted here\n", what);
	else
		printf("%s per call: %.4g (of a loop that makes one each time: %.4g)\n", what,
		       worst, control);
}

void bench_print_table(const struct bench_result *result)
{
	machine_print(result);
	for (unsigned t = 1; t <= BENCH_THREADS; t++)
		print_calls(result, t);
	print_routers(result);
	print_state(result);
	puts("");
	print_count("allocations", result->worst.allocations, result->control.allocations);
	print_count("system calls", result->worst.system_calls, result->control.system_calls);
}

/*** JSON ***/

static json_t *count_json(double count)
{
	return count < 0 ? json_null() : json_real(count);
}

static json_t *cell_json(const struct bench_cell *cell, unsigned rounds)
{
	json_t *out = json_pack("{ss ss si si si sf sf sf}", "what", cell->subject->what, "variant",
				cell->subject->variant, "servers", (int)cell->subject->servers,
				"threads", (int)cell->threads, "slices", (int)rounds, "ns",
				cell->median, "ns_low", cell->low, "ns_high", cell->high);

	if (cell->subject->threads_max == 1 || cell->threads != 1)
		return out;
	json_object_set_new(out, "allocations", count_json(cell->counts.allocations));
	json_object_set_new(out, "system_calls", count_json(cell->counts.system_calls));
	return out;
}

static json_t *ratios_json(const struct bench_result *result)
{
	json_t *out = json_array();

	for (unsigned t = 1; t <= BENCH_THREADS; t++)
		for (size_t i = 0; i < BENCH_SIZES; i++) {
			json_t *one = json_pack("{si si}", "servers", (int)bench_sizes[i],
						"threads", (int)t);

			for (size_t r = 0; r < COMPARISONS; r++)
				json_object_set_new(one, comparisons[r].key,
						    json_real(ratio(result, &comparisons[r],
								    bench_sizes[i], t)));
			json_array_append_new(out, one);
		}
	return out;
}

static json_t *routers_json(const struct bench_result *result)
{
	struct bench_verdict verdict[BENCH_ROUTERS_MAX];
	const size_t n = bench_judge(result, verdict);
	json_t *out = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *sizes = json_array();

		for (size_t k = 0; k < BENCH_ROUTER_SIZES; k++)
			json_array_append_new(sizes, json_pack("{si sf sf}", "servers",
							       (int)bench_sizes[1 + k], "ns",
							       verdict[i].ns[k], "times",
							       verdict[i].times[k]));
		json_array_append_new(
			out, json_pack("{ss so s[ff] sb sb}", "router", verdict[i].router,
				       "whole_call", sizes, "growth", verdict[i].growth[0],
				       verdict[i].growth[1], "cheap", (int)verdict[i].is_cheap,
				       "linear", (int)verdict[i].is_linear));
	}
	return out;
}

void bench_print_json(const struct bench_result *result)
{
	json_t *cells = json_array();
	json_t *out;

	for (size_t i = 0; i < result->n_cells; i++)
		json_array_append_new(cells, cell_json(&result->cell[i], result->rounds));
	out = json_pack("{ss so sI sI sI so so so s{so so so so}}", "version", cr_version(),
			"machine", machine_json(result), "slice_ns", (json_int_t)result->slice_ns,
			"repeated", (json_int_t)result->n_repeated, "disturbed",
			(json_int_t)result->n_disturbed, "figures", cells, "ratios",
			ratios_json(result), "routers", routers_json(result), "per_call",
			"allocations", count_json(result->worst.allocations), "system_calls",
			count_json(result->worst.system_calls), "control_allocations",
			count_json(result->control.allocations), "control_system_calls",
			count_json(result->control.system_calls));
	json_dumpf(out, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	puts("");
	json_decref(out);
}
