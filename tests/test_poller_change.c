/* test_poller_change.c - from one configuration, or version of a collector, to the next. */
#include <criterion/criterion.h>

#include "poller_scene.h"

static void apply(struct scene *scene)
{
	struct err err = { 0 };

	cr_assert_eq(scene_apply(scene, &err), 0, "%s", err.text);
}

/** One source "wls" of plugin "fake", interval 20 ms, timeout 10 ms. */
static struct scene *simple(size_t n_servers, const char *target)
{
	struct scene *scene = scene_new(n_servers);

	scene_source(scene, "wls", "fake", target, 20 * CLOCK_MS, 10 * CLOCK_MS);
	return scene;
}

/** It still polls. */
static void expect_alive(const char *name)
{
	const int before = fake_starts(name);

	SCENE_UNTIL(fake_starts(name) >= before + 3);
	cr_expect_geq(fake_starts(name), before + 3, "%s is not polled", name);
}

Test(poller_change, leaves_unchanged_sources_alone)
{
	struct scene *scene = simple(2, "good:${name}");

	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).good > 2);
	apply(scene);
	cr_expect_eq(fake_get(&fake.opens), 1);
	cr_expect_eq(fake_get(&fake.closes), 0);
	cr_expect_gt(scene_get(scene, 0).good, 2);
	expect_alive("s0");
	scene_free(scene);
}

Test(poller_change, polls_a_new_address_and_keeps_the_figures)
{
	struct scene *scene = simple(2, "good:${host}");
	char moved[] = "127.0.0.2";
	uint64_t good;

	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).good > 2);
	scene->server[1].host = moved;
	good = scene_get(scene, 0).good;
	apply(scene);
	cr_expect_geq(scene_get(scene, 0).good, good);
	SCENE_UNTIL(fake_get(&fake.closes) == 1);
	cr_expect_eq(fake_get(&fake.opens), 2);
	cr_expect_eq(fake_get(&fake.closes), 1);
	expect_alive("s0");
	expect_alive("s1");
	pthread_mutex_lock(&fake.lock);
	cr_expect_str_eq(fake.target[fake_record("s0")].endpoint, "good:127.0.0.1");
	cr_expect_str_eq(fake.target[fake_record("s1")].endpoint, "good:127.0.0.2");
	pthread_mutex_unlock(&fake.lock);
	cr_expect_eq(fake_get(&fake.overlaps), 0);
	scene_free(scene);
}

static bool has_vars(const char *target, const char *vars)
{
	bool is_so;

	pthread_mutex_lock(&fake.lock);
	is_so = strcmp(fake.target[fake_record(target)].vars, vars) == 0;
	pthread_mutex_unlock(&fake.lock);
	return is_so;
}

/* One agent has pages for all servers: each is a target, since what is sent names variables. */
Test(poller_change, gives_targets_their_variables_and_the_new_ones_of_a_reload)
{
	struct scene *scene = simple(2, "good:1");
	struct config_pair named[] = { { .name = (char[]){ "rack" } },
				       { .name = (char[]){ "host" } } },
			   racks[] = { { .name = named[0].name, .value = (char[]){ "a" } },
				       { .name = named[0].name, .value = (char[]){ "b" } } },
			   unused = { .name = (char[]){ "x" }, .value = (char[]){ "y" } };

	for (size_t i = 0; i < 2; i++) {
		scene->server[i].vars = &racks[i];
		scene->server[i].n_vars = 1;
	}
	scene->source[0].variables = named;
	scene->source[0].n_variables = 2;
	apply(scene);
	SCENE_UNTIL(fake_starts("s0") > 2 && fake_starts("s1") > 2);
	cr_expect_eq(fake_starts("wls"), 0, "all at once");
	cr_expect(has_vars("s0", "rack=a host=127.0.0.1 "));
	cr_expect(has_vars("s1", "rack=b host=127.0.0.1 "));

	racks[1].value = (char[]){ "c" };
	apply(scene);
	SCENE_UNTIL(has_vars("s1", "rack=c host=127.0.0.1 "));
	cr_expect(has_vars("s1", "rack=c host=127.0.0.1 "));
	cr_expect_eq(fake_get(&fake.opens), 2);

	/* what nobody sends starts nothing anew */
	scene->source[0].n_variables = 1;
	scene->server[0].vars = (struct config_pair[]){ racks[0], unused };
	scene->server[0].n_vars = 2;
	scene->source[0].n_variables = 2;
	apply(scene);
	cr_expect_eq(fake_get(&fake.opens), 2);
	expect_alive("s0");

	/* a new version of the collector gets them, too */
	scene->loaded[0] = &scene->second;
	apply(scene);
	SCENE_UNTIL(fake_get(&fake.second_opens) == 1);
	expect_alive("s1");
	cr_expect(has_vars("s1", "rack=c host=127.0.0.1 "));
	scene_free(scene);
}

Test(poller_change, opens_all_or_nothing)
{
	struct scene *scene = simple(1, "good:${name}");
	struct err err;

	apply(scene);
	scene_source(scene, "jvm", "other", "good:jvm", 20 * CLOCK_MS, 10 * CLOCK_MS);
	scene->source[0].interval_ns = 40 * CLOCK_MS;
	fake_set(&fake.open_error, -EACCES);
	cr_expect_eq(poller_apply(scene->poller, &scene->config, scene->loaded, 2, &err), -EACCES);
	cr_expect_not_null(strstr(err.text, ": the fake was told to fail"), "%s", err.text);
	cr_expect_eq(fake_get(&fake.opens), 1);
	cr_expect_eq(scene_get(scene, 0).interval_ns, 20 * CLOCK_MS);
	cr_expect_not(poller_get(scene->poller, 1, &(struct poller_source){ 0 }));
	expect_alive("s0");
	cr_expect_eq(fake_starts("jvm"), 0);
	scene_free(scene);
	cr_expect_eq(fake.closes, 1);
}

static int open_never(const struct cr_open *in, void **self)
{
	(void)in;
	(void)self;
	return -EPERM;
}

Test(poller_change, closes_what_it_opened_when_another_plugin_cannot)
{
	struct scene *scene = simple(1, "good:${name}");
	struct err err;

	apply(scene);
	scene->other.collector.open = open_never;
	scene_source(scene, "jvm", "other", "good:jvm", 20 * CLOCK_MS, 10 * CLOCK_MS);
	scene_source(scene, "more", "fake", "good:more", 20 * CLOCK_MS, 10 * CLOCK_MS);
	cr_expect_eq(poller_apply(scene->poller, &scene->config, scene->loaded, 2, &err), -EPERM);
	cr_expect_str_eq(err.text, "source jvm: plugin other: Operation not permitted");
	SCENE_UNTIL(fake_get(&fake.closes) == 1);
	cr_expect_eq(fake_get(&fake.opens), 2);
	cr_expect_eq(fake_get(&fake.closes), 1);
	expect_alive("s0");
	cr_expect_eq(fake_starts("more"), 0);
	scene_free(scene);
	cr_expect_eq(fake.closes, 2);
}

Test(poller_change, refuses_a_source_whose_plugin_is_not_loaded)
{
	struct scene *scene = simple(1, "good:${name}");
	struct err err;

	apply(scene);
	scene_source(scene, "old", "missing", "good:old", 20 * CLOCK_MS, 10 * CLOCK_MS);
	cr_expect_eq(poller_apply(scene->poller, &scene->config, scene->loaded, 2, &err), -ENOENT);
	cr_expect_str_eq(err.text, "source old: plugin missing is not loaded");
	expect_alive("s0");
	scene_free(scene);
}

Test(poller_change, refuses_an_option_that_the_plugin_does_not_take)
{
	struct scene *scene = simple(1, "good:${name}");
	struct config_pair pair = { .name = (char *)"nubmer", .value = (char *)"7" };
	struct err err;

	scene->source[0].options = &pair;
	scene->source[0].n_options = 1;
	cr_expect_lt(poller_apply(scene->poller, &scene->config, scene->loaded, 2, &err), 0);
	cr_expect_eq(strncmp(err.text, "source wls: ", 12), 0, "%s", err.text);
	cr_expect_not_null(strstr(err.text, "number"), "%s", err.text);
	cr_expect_eq(fake_get(&fake.opens), 0);
	pair.name = (char *)"number";
	cr_expect_eq(poller_apply(scene->poller, &scene->config, scene->loaded, 2, &err), 0);
	scene_free(scene);
}

Test(poller_change, stops_a_source_that_is_gone)
{
	struct scene *scene = simple(1, "silent:${name}");
	int starts;

	scene_source(scene, "jvm", "fake", "good:jvm", 20 * CLOCK_MS, 10 * CLOCK_MS);
	apply(scene);
	SCENE_UNTIL(fake_starts("s0") > 0);
	scene->source[0] = scene->source[1];
	scene->config.n_sources = 1;
	apply(scene);
	starts = fake_starts("s0");
	cr_expect_eq(fake_get(&fake.closes), 1, "it is closed at once, under way or not");
	expect_alive("jvm");
	cr_expect_eq(fake_starts("s0"), starts);
	cr_expect_str_eq(scene_get(scene, 0).name, "jvm");
	scene_free(scene);
	cr_expect_eq(fake.forgets, 2);
}

Test(poller_change, replaces_a_collector_while_polls_are_under_way)
{
	struct scene *scene = simple(3, "slow:${name}");
	struct err err = { 0 };
	uint64_t good;

	fake.slow_ns = 8 * CLOCK_MS;
	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).in_flight > 0);
	good = scene_get(scene, 0).good;
	cr_expect_eq(poller_replace(scene->poller, &scene->second, &err), 0, "%s", err.text);
	cr_expect_eq(fake_get(&fake.second_opens), 1);
	SCENE_UNTIL(fake_get(&fake.closes) == 1);
	cr_expect_eq(fake_get(&fake.closes), 1, "the old instance was not closed");
	SCENE_UNTIL(scene_get(scene, 0).good >= good + 9);
	cr_expect_eq(scene_get(scene, 0).good, scene_get(scene, 0).polls,
		     "a poll was lost in the change");
	cr_expect_eq(fake_get(&fake.overlaps), 0);
	scene_free(scene);
	cr_expect_eq(fake.opens, 2);
	cr_expect_eq(fake.closes, 2);
}

/** A name whose poll begins at once. */
static void make_early(struct scene *scene, char *name, size_t len)
{
	for (int i = 0; poller_schedule_phase(poller_schedule_seed(scene->source[0].name, name),
					      scene->source[0].interval_ns) > CLOCK_S / 5;
	     i++)
		snprintf(name, len, "n%d", i);
}

Test(poller_change, lets_the_old_instance_end_what_is_under_way)
{
	struct scene *scene = scene_new(1);
	struct err err = { 0 };

	/* Due again in 10 s only: the one good poll is the old instance's. */
	fake.slow_ns = 300 * CLOCK_MS;
	scene_source(scene, "wls", "fake", "slow:x", 10 * CLOCK_S, 5 * CLOCK_S);
	scene_target(scene, 0, "wls", "slow:x");
	make_early(scene, scene->name[0], sizeof scene->name[0]);
	apply(scene);
	SCENE_UNTIL(fake_starts(scene->name[0]) == 1);
	cr_expect_eq(poller_replace(scene->poller, &scene->second, &err), 0, "%s", err.text);
	SCENE_UNTIL(fake_get(&fake.closes) == 1);
	cr_expect_eq(scene_get(scene, 0).good, 1);
	cr_expect_eq(scene_get(scene, 0).in_flight, 0);
	cr_expect_eq(scene_value(scene, 0, "busy_threads_ratio"), 0.75);
	cr_expect_eq(fake_get(&fake.forgets), 1);
	cr_expect_eq(fake_starts(scene->name[0]), 1);
	scene_free(scene);
}

/* Its answer would be about the old ones, and pass for one about the new. */
Test(poller_change, gives_up_a_poll_that_was_sent_with_other_variables)
{
	struct scene *scene = scene_new(1);
	struct config_pair named = { .name = (char[]){ "app" } },
			   app = { .name = named.name, .value = (char[]){ "a" } };
	const char *name = scene->name[0];

	/* Never answered as far as this test goes; due again in 100 s. */
	fake.slow_ns = 90 * CLOCK_S;
	scene_source(scene, "wls", "fake", "slow:x", 100 * CLOCK_S, 95 * CLOCK_S);
	make_early(scene, scene->name[0], sizeof scene->name[0]);
	scene->server[0].vars = &app;
	scene->server[0].n_vars = 1;
	scene->source[0].variables = &named;
	scene->source[0].n_variables = 1;
	apply(scene);
	SCENE_UNTIL(fake_starts(name) == 1);
	app.value = (char[]){ "b" };
	apply(scene);
	SCENE_UNTIL(fake_get(&fake.closes) == 1 && fake_starts(name) == 2);
	cr_expect_eq(fake_get(&fake.closes), 1, "the old poll goes on");
	cr_expect_eq(fake_starts(name), 2, "the new ones wait for the old poll's turn");
	cr_expect(has_vars(name, "app=b "));
	cr_expect_eq(scene_get(scene, 0).in_flight, 1);
	cr_expect_eq(scene_get(scene, 0).polls, 0);
	scene_free(scene);
}

/* They fail at once, and are due again in 100 s: unless what is asked is another question. */
Test(poller_change, polls_failing_targets_of_a_changed_source_at_once)
{
	struct scene *scene = scene_new(2);
	struct config_pair number = { .name = (char[]){ "number" }, .value = (char[]){ "8" } };
	const char *bad = scene->name[0], *good = scene->name[1];

	scene_source(scene, "wls", "fake", "good:x", 100 * CLOCK_S, 10 * CLOCK_S);
	make_early(scene, scene->name[0], sizeof scene->name[0]);
	scene_target(scene, 0, "wls", "fail:x");
	scene_target(scene, 1, "wls", "good:x");
	apply(scene);
	SCENE_UNTIL(fake_starts(bad) == 1);
	scene->config.n_servers = scene->source[0].n_servers = 1;
	apply(scene);
	cr_expect_eq(fake_get(&fake.opens), 2, "another set of servers");
	scene->config.n_servers = scene->source[0].n_servers = 2;
	scene->source[0].options = &number;
	scene->source[0].n_options = 1;
	apply(scene);
	SCENE_UNTIL(fake_starts(bad) == 2);
	cr_expect_eq(fake_starts(bad), 2, "an option has changed");
	scene_target(scene, 0, "wls", "fail:y");
	apply(scene);
	SCENE_UNTIL(fake_starts(bad) == 3);
	cr_expect_eq(fake_starts(bad), 3, "it is another target now");
	cr_expect_leq(fake_starts(good), 1);
	scene_free(scene);
}

/* The old question's answer is not waited for: in vain it takes 95 s. */
Test(poller_change, gives_up_the_poll_of_a_failing_target_when_its_source_changes)
{
	struct scene *scene = scene_new(1);
	struct config_pair number = { .name = (char[]){ "number" }, .value = (char[]){ "8" } };
	struct config_pair other = { .name = number.name, .value = (char[]){ "9" } };
	const char *name = scene->name[0];

	scene_source(scene, "wls", "fake", "good:x", 100 * CLOCK_S, 95 * CLOCK_S);
	make_early(scene, scene->name[0], sizeof scene->name[0]);
	scene_target(scene, 0, "wls", "fail:x");
	apply(scene);
	SCENE_UNTIL(fake_starts(name) == 1);
	scene_target(scene, 0, "wls", "silent:x");
	apply(scene);
	SCENE_UNTIL(fake_starts(name) == 2);
	scene->source[0].options = &number;
	scene->source[0].n_options = 1;
	apply(scene);
	SCENE_UNTIL(fake_starts(name) == 3);
	scene->source[0].options = &other;
	apply(scene);
	SCENE_UNTIL(fake_starts(name) == 4 && fake_get(&fake.closes) == 3);
	cr_expect_eq(fake_starts(name), 4);
	cr_expect_eq(fake_get(&fake.closes), 3, "old polls go on");
	scene_free(scene);
}

static bool is_failing(struct scene *scene, size_t server)
{
	struct servers_failing failing;

	return servers_get_failing(scene->servers, server, 0, &failing);
}

/* One poll answers for three servers. While it is under way one of them is taken from the source,
 * then another one: what comes of it must not stay with them, for nothing would take it back. */
Test(poller_change, tells_servers_that_have_left_nothing_of_a_poll_that_is_under_way)
{
	struct scene *scene = scene_new(3);
	char source[24] = "s";

	fake.slow_ns = 500 * CLOCK_MS; /* then it is done, without a row of any of them */
	scene_source(scene, source, "fake", "slow:x", 10 * CLOCK_S, 5 * CLOCK_S);
	for (int i = 0; poller_schedule_phase(poller_schedule_seed(source, source), 10 * CLOCK_S) >
			CLOCK_S / 5;
	     i++)
		snprintf(source, sizeof source, "s%d", i);
	apply(scene);
	SCENE_UNTIL(fake_starts(source) == 1);
	scene->source[0].n_servers = 2;
	apply(scene);
	scene->source[0].n_servers = 1;
	apply(scene);
	SCENE_UNTIL(fake_get(&fake.closes) == 2);
	cr_expect_eq(scene_get(scene, 0).good, 1, "the poll was not ended by the old instance");
	cr_expect(is_failing(scene, 0));
	cr_expect_not(is_failing(scene, 1), "the second one left in the second change");
	cr_expect_not(is_failing(scene, 2), "the third one left in the first change");
	scene_free(scene);
}

Test(poller_change, keeps_the_old_collector_if_the_new_one_does_not_open)
{
	struct scene *scene = simple(2, "good:${name}");
	struct err err;

	apply(scene);
	fake_set(&fake.open_error, -EINVAL);
	cr_expect_eq(poller_replace(scene->poller, &scene->second, &err), -EINVAL);
	cr_expect_str_eq(err.text, "source wls: plugin fake: the fake was told to fail");
	expect_alive("s0");
	cr_expect_eq(fake_get(&fake.closes), 0);
	cr_expect_eq(fake_get(&fake.second_opens), 0);
	scene_free(scene);
}

Test(poller_change, survives_many_replacements_of_silent_targets)
{
	struct scene *scene = simple(8, "silent:${name}");
	struct err err = { 0 };

	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).in_flight == 8);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(
			poller_replace(scene->poller, i % 2 ? &scene->first : &scene->second, &err),
			0, "%s", err.text);
	SCENE_UNTIL(fake_get(&fake.closes) == 10);
	cr_expect_eq(fake_get(&fake.closes), 10, "instances pile up");
	scene_free(scene);
	cr_expect_eq(fake.closes, 11);
}

Test(poller_change, moves_a_source_to_another_plugin)
{
	struct scene *scene = simple(1, "good:${name}");

	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).good > 0);
	scene->source[0].plugin = (char *)"other";
	apply(scene);
	cr_expect_str_eq(scene_get(scene, 0).plugin, "other");
	SCENE_UNTIL(fake_get(&fake.closes) == 1);
	cr_expect_eq(fake_get(&fake.closes), 1);
	expect_alive("s0");
	scene_free(scene);
}

/* It knows neither check() nor the variables of targets: both stand where its structures end. */
Test(poller_change, polls_with_a_collector_that_was_made_for_abi_1_2)
{
	struct scene *scene = scene_new(2);
	struct config_pair named = { .name = (char[]){ "host" } };
	struct servers_rejected rejected;
	struct plugin *plugin;
	struct err err = { 0 };

	cr_assert_eq(
		plugin_open(TEST_PLUGINS_DIR "/made_for_1_2.so", "made_for_1_2", &plugin, &err), 0,
		"%s", err.text);
	cr_expect_eq(plugin->collector.abi, 0x10002u);
	cr_expect_null(plugin->collector.check);
	scene_source(scene, "old", "made_for_1_2", "any", 20 * CLOCK_MS, 10 * CLOCK_MS);
	scene->source[0].variables = &named;
	scene->source[0].n_variables = 1;
	scene->loaded[0] = plugin;
	apply(scene);
	SCENE_UNTIL(scene_value(scene, 0, "jvm_heap_used_bytes") > 3 &&
		    scene_value(scene, 1, "jvm_heap_used_bytes") > 3);
	cr_expect_gt(scene_value(scene, 0, "jvm_heap_used_bytes"), 3, "what a target keeps");
	cr_expect_gt(scene_value(scene, 1, "jvm_heap_used_bytes"), 3);
	cr_expect(servers_get_rejected(scene->servers, 0, 0, &rejected));
	cr_expect_str_eq(rejected.text, "jvm_heap_size_bytes: negative: size is -1");
	cr_expect_eq(poller_replace(scene->poller, plugin, &err), 0, "%s", err.text);
	scene_free(scene);
	plugin_close(plugin);
}
