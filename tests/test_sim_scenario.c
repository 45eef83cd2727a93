/* test_sim_scenario.c - scenario files, their mistakes, and the calls that follow from them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jvm.h"
#include "scenario.h"
#include "workload.h"

static struct scenario scenario;
static struct err err;
static char path[] = "/tmp/sim-scenario-XXXXXX";

static int read_text(const char *text)
{
	const int fd = mkstemp(path);
	int code;

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	scenario_init(&scenario);
	code = scenario_read(&scenario, path, &err);
	unlink(path);
	return code;
}

/* The sentence, without the file's name. */
static void expect_mistake(const char *text, const char *sentence)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	cr_expect_lt(read_text(text), 0, "accepted: %s", text);
	cr_expect_str_eq(err.text + (strncmp(err.text, path, strlen(path)) == 0 ? strlen(path) : 0),
			 sentence);
	scenario_fini(&scenario);
}

Test(sim_scenario, takes_numbers_lists_choices_servers_and_comments)
{
	cr_assert_eq(read_text("# a comment\n"
			       "rate = 300   # calls\n"
			       "cores = 1 2,3\n"
			       "gc = g1\n"
			       "slow_server = 2\n"
			       "\n"
			       "report = no\n"),
		     0, "%s", err.text);
	cr_expect_eq(scenario.rate, 300);
	cr_expect_eq(scenario_at(&scenario.cores, 4), 2);
	cr_expect_eq(scenario.gc, JVM_G1);
	cr_expect_eq(scenario.slow_server, 2);
	cr_expect_eq(scenario.flap_server, SCENARIO_NOBODY);
	cr_expect_not(scenario.report);
	cr_expect_eq(scenario.servers, 8);
	scenario_fini(&scenario);
}

Test(sim_scenario, a_mistake_is_reported_with_its_line_and_what_would_be_right)
{
	expect_mistake("rate = 300\n\nraet = 5\n",
		       ":3: unknown key \"raet\", did you mean \"rate\"?");
	expect_mistake("rate = fast\n", ":1: rate: \"fast\" is not a number");
	expect_mistake("rate = -1\n", ":1: rate: \"-1\" is not within 0.001 .. 1e+06");
	expect_mistake("servers = 2.5\n", ":1: servers: \"2.5\" is not a whole number");
	expect_mistake("gc = cms\n", ":1: gc: \"cms\" is none of: none, parallel, g1");
	expect_mistake("\nslow_server = first\n",
		       ":2: slow_server: \"first\" is not a server (0 is the first) or \"none\"");
	expect_mistake("report = perhaps\n", ":1: report: \"perhaps\" is not yes or no");
	expect_mistake("cores =\n", ":1: cores: \"\" is not a list of numbers");
	expect_mistake("rate 300\n", ":1: \"rate 300\" is not \"key = value\"");
	expect_mistake("router = Headroom\n",
		       ":1: router: \"Headroom\" is not the name of a plugin");
	expect_mistake("router = a\nrouter = a\n", ":2: router: there are two of label \"a\"");
	expect_mistake("router = x: board sort\n", ":1: router: \"sort\" is not name=value");
}

Test(sim_scenario, what_is_no_text_is_refused)
{
	static const char bytes[] = "rate = 300\n\0servers = 4\n";
	const int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, sizeof bytes - 1), (ssize_t)sizeof bytes - 1);
	close(fd);
	scenario_init(&scenario);
	cr_expect_lt(scenario_read(&scenario, path, &err), 0);
	cr_expect_str_eq(err.text + strlen(path), ":2: a byte of 0: this is no text");
	unlink(path);
	scenario_fini(&scenario);
	scenario_init(&scenario);
	cr_expect_lt(scenario_read(&scenario, "/tmp", &err), 0);
	cr_expect_str_eq(err.text, "/tmp: Is a directory");
	scenario_fini(&scenario);
}

Test(sim_scenario, settings_that_contradict_each_other_are_refused)
{
	expect_mistake("servers = 2\nhole_server = 2\n",
		       "hole_server: there is no server 2, only 0 .. 1");
	expect_mistake("big_share = 0.6\nmedium_share = 0.6\n",
		       "medium_share and big_share are above 1 together");
	expect_mistake("restart_every = 10\n",
		       "restart_every is shorter than restart_drain and restart_down");
	expect_mistake("check = 1e-9\n", "check is neither 0 (none) nor at least 0.001");
	expect_mistake("peers = 1e-9\n", "peers is neither 0 (none) nor at least 0.001");
	expect_mistake("tick = 1e-9\n", "tick is neither 0 (none) nor at least 0.001");
	expect_mistake("restart_every = 1e-9\nrestart_down = 0\n",
		       "restart_every is neither 0 (none) nor at least 0.001");
}

Test(sim_scenario, a_router_is_a_plugin_with_options_and_settings)
{
	struct scenario_router router;
	struct scenario changed;

	cr_assert_eq(read_text("router = best: board policy=best choices=3 / interval=7 hosts=2\n"),
		     0, "%s", err.text);
	cr_assert_eq(scenario_router(&scenario, "best", &router, &err), 0);
	cr_expect_str_eq(router.plugin, "board");
	cr_expect_str_eq(router.options, "policy=best\nchoices=3\n");
	changed = scenario;
	cr_assert_eq(scenario_apply(&changed, &router, &err), 0, "%s", err.text);
	cr_expect_eq(changed.interval, 7);
	cr_expect_eq(changed.hosts, 2);

	cr_assert_eq(scenario_router(&scenario, "headroom:big=2%:hosts=4+peers", &router, &err), 0);
	cr_expect_str_eq(router.plugin, "headroom");
	cr_expect_str_eq(router.options, "big=2%\nhosts=4\n");
	changed = scenario;
	cr_assert_eq(scenario_apply(&changed, &router, &err), 0);
	cr_expect_eq(changed.peers, 0.25);
	cr_expect_lt(scenario_router(&scenario, "headroom+luck", &router, &err), 0);
	scenario_fini(&scenario);
}

Test(sim_scenario, values_live_ten_seconds_or_three_intervals)
{
	scenario_init(&scenario);
	cr_expect_eq(scenario_stale_after(&scenario), 15);
	scenario.interval = 1;
	cr_expect_eq(scenario_stale_after(&scenario), 10);
	scenario.stale_after = 4;
	cr_expect_eq(scenario_stale_after(&scenario), 4);
}

/*** The calls ***/

Test(sim_workload, the_reference_load_has_the_rates_and_sizes_that_it_is_described_with)
{
	struct workload workload;
	double bytes[3] = { 0 }, work_s = 0, last_s = 0;
	unsigned count[3] = { 0 }, host[4] = { 0 };
	const unsigned n = 1000000;

	scenario_init(&scenario);
	workload_init(&workload, &scenario, 11);
	for (unsigned i = 0; i < n; i++) {
		const struct arrival a = workload_next(&workload);

		count[a.kind]++;
		host[a.host]++;
		bytes[a.kind] += a.bytes;
		work_s += a.work_s;
		last_s = a.at_s;
	}
	cr_expect_float_eq(n / last_s, 650, 3);
	cr_expect_float_eq((double)count[CALL_BIG] / n, 0.003, 0.0003);
	cr_expect_float_eq((double)count[CALL_MEDIUM] / n, 0.027, 0.0007);
	cr_expect_float_eq(bytes[CALL_BIG] / count[CALL_BIG] / JVM_MB, 246, 12);
	cr_expect_float_eq(bytes[CALL_MEDIUM] / count[CALL_MEDIUM] / JVM_MB, 12.5, 0.4);
	/* its nominal 49.4 cores are busy for 38 % */
	cr_expect_float_eq(work_s / last_s / 49.4, 0.38, 0.01);
	for (unsigned h = 0; h < 4; h++)
		cr_expect_float_eq((double)host[h] / n, 0.25, 0.003);
}

Test(sim_workload, classes_know_the_mean_of_their_calls)
{
	struct workload workload;
	double sum[3] = { 0 };
	unsigned count[3] = { 0 };

	scenario_init(&scenario);
	scenario.big_share = scenario.medium_share = 0.3;
	workload_init(&workload, &scenario, 12);
	for (unsigned i = 0; i < 1000000; i++) {
		const struct arrival a = workload_next(&workload);

		sum[a.kind] += a.bytes;
		count[a.kind]++;
		cr_assert_eq(a.hint_bytes, (int64_t)workload.mean_bytes[a.kind]);
	}
	for (unsigned k = 0; k < 3; k++)
		cr_expect_float_eq(sum[k] / count[k] / workload.mean_bytes[k], 1, 0.01);
}

Test(sim_workload, a_burst_multiplies_the_rate_while_it_lasts)
{
	struct workload workload;
	unsigned in = 0, out = 0;
	double at_s = 0;

	scenario_init(&scenario);
	scenario.rate = 100;
	scenario.burst_factor = 3;
	workload_init(&workload, &scenario, 13);
	while (at_s < 4000) {
		at_s = workload_next(&workload).at_s;
		if (at_s - 40 * (unsigned)(at_s / 40) >= 30)
			in++;
		else
			out++;
	}
	cr_expect_float_eq(in / 1000.0, 300, 3);
	cr_expect_float_eq(out / 3000.0, 100, 1);
}

Test(sim_workload, without_hints_calls_are_the_same_but_say_nothing)
{
	struct workload with, without;
	struct scenario blind;

	scenario_init(&scenario);
	blind = scenario;
	blind.hint = HINT_NONE;
	workload_init(&with, &scenario, 14);
	workload_init(&without, &blind, 14);
	for (unsigned i = 0; i < 10000; i++) {
		const struct arrival a = workload_next(&with), b = workload_next(&without);

		cr_assert_eq(a.at_s, b.at_s);
		cr_assert_eq(a.bytes, b.bytes);
		cr_assert_eq(a.random, b.random);
		cr_assert_eq(b.hint_bytes, 0);
	}
}
