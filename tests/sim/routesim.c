/* routesim.c - which router is better? Runs scenarios in virtual time, one CSV line each. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"
#include "text.h"

static const char *const usage =
	"usage: routesim --scenario FILE [--routers LIST] [--seeds LIST] [OPTION...]\n"
	"\n"
	"Prints one CSV line for each router and seed.\n"
	"  --routers LIST   labels of the file, plugins, or plugin:option=value:...; +peers and\n"
	"                   +blind may follow; separated by commas. Default: the file's\n"
	"  --seeds LIST     11,12 or 11-14; default: 11-14\n"
	"  --set KEY=VALUE  over what the file says; may be repeated\n"
	"  --plugins DIRS   folders of the router plugins, separated by colons; default: "
	"$ROUTESIM_PLUGINS\n"
	"  --series FILE    the first server each second, as a trace; of the last run\n"
	"  --no-header      without the CSV's first line\n"
	"  --list           only print the labels of the file's routers\n"
	"  --limits         only print the file's limits\n"
	"  --keys           only print all keys of scenarios, their defaults and meaning\n";

static volatile int stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/** What the command line says. */
struct request {
	const char *scenario, *routers, *plugins, *series;
	const char *seeds;
	const char *set[64];
	unsigned n_set;
	bool no_header, only_list, only_limits;
};

static int request_set(const struct request *request, struct scenario *scenario, struct err *err)
{
	for (unsigned i = 0; i < request->n_set; i++) {
		const char *value = strchr(request->set[i], '=');
		char key[64];

		if (value == NULL || (size_t)(value - request->set[i]) >= sizeof key)
			return err_set(err, -1, "--set %s: KEY=VALUE is wanted", request->set[i]);
		memcpy(key, request->set[i], (size_t)(value - request->set[i]));
		key[value - request->set[i]] = '\0';
		if (scenario_set(scenario, key, value + 1, err) < 0)
			return err_prefix(err, "--set");
	}
	return scenario_check(scenario, err);
}

/* Returns 0 or < 0 with err. */
static int run_sim(const struct request *request, struct sim *sim, struct err *err)
{
	int code;

	if (request->series == NULL)
		return sim_run(sim, &stop, err);
	sim->series = fopen(request->series, "we");
	if (sim->series == NULL)
		return err_set(err, -1, "cannot write %s", request->series);
	series_print_header(sim->series);
	code = sim_run(sim, &stop, err);
	if (fclose(sim->series) != 0 && code == 0)
		code = err_set(err, -1, "cannot write %s", request->series);
	return code;
}

static int run_one(const struct request *request, const struct scenario *base, const char *name,
		   uint64_t seed, struct err *err)
{
	struct scenario scenario = *base;
	struct scenario_router router;
	struct host_plan plan;
	struct sim *sim = malloc(sizeof *sim);

	if (sim == NULL)
		return err_set(err, -1, "no memory");
	if (scenario_router(base, name, &router, err) < 0 ||
	    scenario_apply(&scenario, &router, err) < 0 ||
	    request_set(request, &scenario, err) < 0 ||
	    host_plan_open(&plan, &scenario, &router, request->plugins, err) < 0) {
		free(sim);
		return -1;
	}
	if (sim_open(sim, &scenario, &plan, seed, err) == 0) {
		if (run_sim(request, sim, err) == 0) {
			printf("%s,%s,%llu,", scenario.name, router.label,
			       (unsigned long long)seed);
			stats_print(&sim->stats, sim->server, scenario.servers);
			(void)fflush(stdout);
			err->code = 0;
		}
		sim_close(sim);
	}
	host_plan_close(&plan);
	free(sim);
	return err->code;
}

/* "11,12" and "11-14" in one list. Calls run_one() for each; returns the number of failures. */
static int run_seeds(const struct request *request, const struct scenario *scenario,
		     const char *router)
{
	const char *at = request->seeds;
	int failed = 0;

	while (*at != '\0' && stop == 0) {
		char *end;
		unsigned long long first = strtoull(at, &end, 10), last = first;
		struct err err = { 0 };

		if (end != at && *end == '-')
			last = strtoull(end + 1, &end, 10);
		if (end == at || (*end != ',' && *end != '\0') || last < first) {
			(void)fprintf(stderr, "routesim: --seeds %s: 11,12 or 11-14 is wanted\n",
				      request->seeds);
			return 1;
		}
		for (; first <= last && stop == 0; first++)
			if (run_one(request, scenario, router, first, &err) < 0) {
				(void)fprintf(stderr, "routesim: %s, seed %llu: %s\n", router,
					      first, err.text);
				failed++;
			}
		at = end + (*end == ',');
	}
	return failed;
}

static int run_list(const struct request *request, const struct scenario *scenario)
{
	int failed = 0;

	if (request->routers == NULL)
		for (const struct scenario_router *r = scenario->routers; r != NULL; r = r->next)
			failed += run_seeds(request, scenario, r->label);
	for (const char *at = request->routers; at != NULL && *at != '\0';) {
		const size_t len = strcspn(at, ",");
		char name[512];

		if (len >= sizeof name)
			return 1;
		memcpy(name, at, len);
		name[len] = '\0';
		failed += run_seeds(request, scenario, name);
		at += len + (at[len] == ',');
	}
	return failed;
}

static int request_run(const struct request *request)
{
	struct scenario scenario;
	struct err err = { 0 };
	int failed = 0;

	scenario_init(&scenario);
	if (scenario_read(&scenario, request->scenario, &err) < 0) {
		(void)fprintf(stderr, "routesim: %s\n", err.text);
		failed = 1;
	} else if (request->only_list) {
		for (const struct scenario_router *r = scenario.routers; r != NULL; r = r->next)
			printf("%s\n", r->label);
	} else if (request->only_limits) {
		for (const struct scenario_limit *l = scenario.limits; l != NULL; l = l->next)
			printf("%s %s\n", scenario.name, l->text);
	} else {
		if (!request->no_header)
			stats_print_header();
		failed = run_list(request, &scenario);
	}
	scenario_fini(&scenario);
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

enum {
	OPT_SCENARIO = 1,
	OPT_ROUTERS,
	OPT_SEEDS,
	OPT_SET,
	OPT_PLUGINS,
	OPT_SERIES,
	OPT_NO_HEADER,
	OPT_LIST,
	OPT_LIMITS,
	OPT_KEYS,
	OPT_HELP
};

static const struct option long_options[] = {
	{ "scenario", required_argument, NULL, OPT_SCENARIO },
	{ "routers", required_argument, NULL, OPT_ROUTERS },
	{ "seeds", required_argument, NULL, OPT_SEEDS },
	{ "set", required_argument, NULL, OPT_SET },
	{ "plugins", required_argument, NULL, OPT_PLUGINS },
	{ "series", required_argument, NULL, OPT_SERIES },
	{ "no-header", no_argument, NULL, OPT_NO_HEADER },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "limits", no_argument, NULL, OPT_LIMITS },
	{ "keys", no_argument, NULL, OPT_KEYS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* Returns < 0 to go on, or the exit status. */
static int request_option(struct request *request, int option)
{
	switch (option) {
	case OPT_SCENARIO:
		request->scenario = optarg;
		return -1;
	case OPT_ROUTERS:
		request->routers = optarg;
		return -1;
	case OPT_SEEDS:
		request->seeds = optarg;
		return -1;
	case OPT_SET:
		if (request->n_set < sizeof request->set / sizeof *request->set)
			request->set[request->n_set++] = optarg;
		return -1;
	case OPT_PLUGINS:
		request->plugins = optarg;
		return -1;
	case OPT_SERIES:
		request->series = optarg;
		return -1;
	case OPT_NO_HEADER:
		request->no_header = true;
		return -1;
	case OPT_LIST:
		request->only_list = true;
		return -1;
	case OPT_LIMITS:
		request->only_limits = true;
		return -1;
	case OPT_KEYS:
		scenario_help();
		return EXIT_SUCCESS;
	case OPT_HELP:
		(void)fputs(usage, stdout);
		return EXIT_SUCCESS;
	default:
		(void)fputs(usage, stderr);
		return EXIT_FAILURE;
	}
}

int main(int argc, char **argv)
{
	struct request request = { .seeds = "11-14" };
	int option;

	/* the program has one thread: NOLINTBEGIN(concurrency-mt-unsafe) */
	request.plugins = getenv("ROUTESIM_PLUGINS");
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		const int status = request_option(&request, option);

		if (status >= 0)
			return status;
	}
	/* NOLINTEND(concurrency-mt-unsafe) */
	if (request.scenario == NULL || optind < argc) {
		(void)fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	if (request.plugins == NULL)
		request.plugins = ".";
	(void)signal(SIGINT, on_signal);
	(void)signal(SIGTERM, on_signal);
	return request_run(&request);
}
