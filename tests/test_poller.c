/* test_poller.c - targets polled on time, their answers, and collectors that misbehave. */
#include <ctype.h>
#include <dirent.h>
#include <math.h>

#include <criterion/criterion.h>

#include "log.h"
#include "poller_scene.h"

#define BUSY "busy_threads_ratio"

/** What is given up with a thread is no leak. */
static struct poller *volatile left_behind;

/** The log, for tests that look into it. */
static struct {
	pthread_mutex_t lock;
	char text[16384];
} journal = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void keep_line(void *arg, enum cr_level level, const char *line)
{
	size_t len;

	(void)arg;
	(void)level;
	pthread_mutex_lock(&journal.lock);
	len = strlen(journal.text);
	snprintf(journal.text + len, sizeof journal.text - len, "%s\n", line);
	pthread_mutex_unlock(&journal.lock);
}

/** How often the log says so. */
static int journal_count(const char *words)
{
	int n = 0;

	pthread_mutex_lock(&journal.lock);
	for (const char *at = journal.text; (at = strstr(at, words)) != NULL; at++)
		n++;
	pthread_mutex_unlock(&journal.lock);
	return n;
}

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

/** Threads of this process with that name. */
static int threads_named(const char *name)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	int n = 0;

	while ((entry = readdir(dir)) != NULL) {
		char path[300], text[32] = "";
		FILE *file;

		snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
		file = isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "r") : NULL;
		if (file == NULL)
			continue;
		if (fgets(text, sizeof text, file) != NULL)
			text[strcspn(text, "\n")] = '\0';
		fclose(file);
		n += strcmp(text, name) == 0;
	}
	closedir(dir);
	return n;
}

Test(poller, polls_every_server_and_puts_what_it_answers)
{
	struct scene *scene = simple(3, "good:${host}:${port}/${name}");

	apply(scene);
	SCENE_UNTIL(fake_starts("s0") >= 3 && fake_starts("s1") >= 3 && fake_starts("s2") >= 3);
	for (size_t i = 0; i < 3; i++) {
		SCENE_UNTIL(scene_server(scene, i).polls >= 2);
		cr_expect_eq(scene_value(scene, i, BUSY), 0.5);
		cr_expect_eq(scene_server(scene, i).failures, 0);
	}
	pthread_mutex_lock(&fake.lock);
	cr_expect_str_eq(fake.target[fake_record("s1")].endpoint, "good:127.0.0.1:7101/s1");
	cr_expect_str_eq(fake.thread, "poll fake");
	cr_expect(fake.is_signal_blocked);
	cr_expect(fake.is_option_seen);
	pthread_mutex_unlock(&fake.lock);
	scene_free(scene);
	cr_expect_eq(fake.closes, fake.opens);
	cr_expect_eq(fake.forgets, 3);
}

Test(poller, tells_what_a_source_did)
{
	struct scene *scene = simple(2, "good:${name}");
	struct poller_source source;

	scene_target(scene, 1, "wls", "fail:${name}");
	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).good >= 2 && scene_get(scene, 0).failed[CR_CONNECT] >= 1);
	source = scene_get(scene, 0);
	cr_expect_str_eq(source.name, "wls");
	cr_expect_str_eq(source.plugin, "fake");
	cr_expect_eq(source.targets, 2);
	cr_expect_eq(source.interval_ns, 20 * CLOCK_MS);
	cr_expect_eq(source.polls, source.good + source.failed[CR_CONNECT]);
	cr_expect_str_eq(source.error, "s1: connect: connection refused");
	cr_expect(source.error_ns > 0);
	cr_expect_not(poller_get(scene->poller, 1, &source));
	SCENE_UNTIL(scene_server(scene, 1).failures > 0);
	cr_expect_str_eq(scene_server(scene, 1).error, "wls: connect: connection refused");
	cr_expect_str_empty(scene_server(scene, 0).error);
	scene_free(scene);
}

static void expect_rejects(const char *target)
{
	struct scene *scene = simple(2, target);
	struct servers_rejected rejected;

	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).rejected >= 2 && scene_server(scene, 0).polls >= 2);
	cr_expect_geq(scene_get(scene, 0).rejected, 2);
	cr_expect_geq(scene_server(scene, 0).rejected[SERVERS_ABOVE_ONE], 2);
	cr_assert(servers_get_rejected(scene->servers, 0, 0, &rejected));
	cr_expect_str_eq(rejected.source, "wls");
	cr_expect_str_eq(rejected.text, BUSY ": above_one: 7: is it percent?");
	cr_expect(isnan(scene_value(scene, 0, BUSY)));
	cr_expect_str_empty(scene_server(scene, 0).error, "it has a row");
	scene_free(scene);
}

Test(poller, counts_what_a_collector_does_not_pass_on_by_server_and_source)
{
	expect_rejects("reject:${name}");
	expect_rejects("reject:shared");
}

Test(poller, ends_polls_whenever_the_descriptor_or_the_collector_says)
{
	struct scene *scene = scene_new(2);

	fake.slow_ns = 5 * CLOCK_MS;
	scene_source(scene, "wls", "fake", "event:", 100 * CLOCK_MS, 80 * CLOCK_MS);
	scene_target(scene, 0, "wls", "event:");
	scene_target(scene, 1, "wls", "slow:");
	apply(scene);
	SCENE_UNTIL(fake_starts("s0") >= 5 && fake_starts("s1") >= 5);
	SCENE_UNTIL(scene_server(scene, 0).polls >= 4 && scene_server(scene, 1).polls >= 4);
	cr_expect_eq(scene_get(scene, 0).good, scene_get(scene, 0).polls);
	cr_expect_eq(scene_value(scene, 0, BUSY), 0.75);
	cr_expect_eq(scene_value(scene, 1, BUSY), 0.75);
	cr_expect_geq(scene_get(scene, 0).latency_ns, 0);
	scene_free(scene);
}

Test(poller, works_without_a_descriptor)
{
	struct scene *scene = simple(1, "slow:${name}");

	scene->first.collector.fd = NULL;
	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).good >= 3);
	cr_expect_geq(scene_get(scene, 0).good, 3);
	scene_free(scene);
}

Test(poller, is_not_delayed_by_dead_targets)
{
	enum { LIVE = 180, DEAD = 20 };
	struct scene *scene = scene_new(LIVE + DEAD);
	uint64_t polls = 0, expected;
	int64_t begin_ns;

	scene_source(scene, "wls", "fake", "good:${name}", 200 * CLOCK_MS, 50 * CLOCK_MS);
	for (size_t i = 0; i < DEAD; i++)
		scene_target(scene, i * 10, "wls", "silent:");
	begin_ns = clock_now_ns();
	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).failed[CR_TIMEOUT] >= DEAD);
	expected = (uint64_t)((clock_now_ns() - begin_ns) / (200 * CLOCK_MS));
	cr_expect_geq(scene_get(scene, 0).failed[CR_TIMEOUT], DEAD);
	for (size_t i = 0; i < LIVE + DEAD; i++)
		polls += scene_server(scene, i).error[0] == '\0' ? scene_server(scene, i).polls : 0;
	/* One start of each is lost to the phase; the rest is room for a busy machine. */
	cr_expect_geq(polls, LIVE * (expected - 1) * 7 / 10, "%lu polls in %lu intervals",
		      (unsigned long)polls, (unsigned long)expected);
	cr_expect_str_eq(scene_server(scene, 0).error,
			 "wls: timeout: the collector did not end the poll by its deadline");
	cr_expect_eq(scene_server(scene, 1).failures, 0);
	scene_free(scene);
}

Test(poller, ignores_what_comes_after_it_failed_a_target_itself)
{
	struct scene *scene = scene_new(1);

	scene_source(scene, "wls", "fake", "late:${name}", 3 * CLOCK_S, 10 * CLOCK_MS);
	apply(scene);
	SCENE_UNTIL(fake_get(&fake.released) > 0);
	cr_expect_eq(fake_get(&fake.released), 1);
	SCENE_UNTIL(scene_get(scene, 0).in_flight == 0);
	cr_expect_eq(scene_get(scene, 0).failed[CR_TIMEOUT], 1);
	cr_expect_eq(scene_get(scene, 0).good, 0);
	cr_expect_eq(scene_get(scene, 0).polls, 1);
	cr_expect(isnan(scene_value(scene, 0, BUSY)));
	scene_free(scene);
}

Test(poller, never_lets_two_polls_of_a_target_overlap)
{
	struct scene *scene = simple(4, "slow:${name}");

	fake.slow_ns = 50 * CLOCK_MS;
	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).good >= 12 && scene_get(scene, 0).skipped >= 4);
	cr_expect_geq(scene_get(scene, 0).good, 12);
	cr_expect_geq(scene_get(scene, 0).skipped, 4);
	cr_expect_eq(fake_get(&fake.overlaps), 0);
	scene_free(scene);
}

Test(poller, polls_one_shared_target_and_gives_each_row_to_its_server)
{
	struct scene *scene = simple(4, "rows:s0,s1,ghost,s9,");

	log_to(keep_line, NULL, CR_DEBUG);
	scene_target(scene, 3, "wls", "good:own");
	apply(scene);
	SCENE_UNTIL(fake_starts("wls") >= 4 && scene_server(scene, 3).polls > 1 &&
		    scene_server(scene, 2).polls >= 3);
	cr_expect_eq(scene_get(scene, 0).targets, 2);
	cr_expect_eq(scene_value(scene, 0, BUSY), 0.25);
	cr_expect_eq(scene_value(scene, 1, BUSY), 0.25);
	cr_expect(isnan(scene_value(scene, 2, BUSY)));
	cr_expect_eq(scene_value(scene, 3, BUSY), 0.5);
	cr_expect_str_empty(scene_server(scene, 0).error);
	cr_expect_str_empty(scene_server(scene, 3).error);
	cr_expect_str_eq(scene_server(scene, 2).error,
			 "wls: absent: no row of this server in the answer");
	cr_expect_eq(fake_starts("s0"), 0);
	cr_expect_eq(journal_count("row not in the configuration"), 2);
	cr_expect_eq(journal_count("source=wls row=ghost"), 1);
	cr_expect_eq(journal_count("without a row"), 1);
	scene_free(scene);
}

Test(poller, tells_a_server_why_its_row_does_not_count)
{
	struct scene *scene = simple(4, "rows:s0,-s1,-ghost,-,-s3");

	scene_target(scene, 3, "wls", "good:own");
	apply(scene);
	SCENE_UNTIL(scene_server(scene, 3).polls > 1 && scene_server(scene, 1).polls >= 3);
	cr_expect(isnan(scene_value(scene, 1, BUSY)));
	cr_expect_str_eq(scene_server(scene, 1).error,
			 "wls: absent: it is STANDBY, not RUNNING (/state)");
	cr_expect_eq(scene_server(scene, 1).failures, scene_server(scene, 1).polls,
		     "told once a poll");
	cr_expect_str_empty(scene_server(scene, 0).error);
	cr_expect_str_eq(scene_server(scene, 2).error,
			 "wls: absent: no row of this server in the answer");
	cr_expect_str_empty(scene_server(scene, 3).error, "it has a target of its own");
	scene_free(scene);
}

Test(poller, tells_all_servers_when_their_shared_target_fails)
{
	struct scene *scene = simple(2, "fail:agent");

	apply(scene);
	SCENE_UNTIL(scene_server(scene, 0).failures > 0 && scene_server(scene, 1).failures > 0);
	cr_expect_str_eq(scene_server(scene, 0).error, "wls: connect: connection refused");
	cr_expect_str_eq(scene_server(scene, 1).error, "wls: connect: connection refused");
	scene_free(scene);
}

Test(poller, asks_an_administration_server_no_more_until_the_next_reload)
{
	struct scene *scene = simple(2, "good:${name}");
	int others;

	log_to(keep_line, NULL, CR_INFO);
	scene_target(scene, 0, "wls", "admin:");
	apply(scene);
	SCENE_UNTIL(scene_server(scene, 0).is_skipped);
	cr_expect_str_eq(scene_server(scene, 0).skip_text, "this is AdminServer");
	others = fake_starts("s1");
	SCENE_UNTIL(fake_starts("s1") >= others + 5);
	cr_expect_eq(fake_starts("s0"), 1);
	cr_expect_eq(journal_count("administration server skipped source=wls server=s0"), 1);
	apply(scene);
	SCENE_UNTIL(fake_starts("s0") >= 2);
	cr_expect_geq(fake_starts("s0"), 2);
	scene_free(scene);
}

Test(poller, takes_the_row_of_an_administration_server_for_a_row)
{
	struct scene *scene = simple(2, "admin:");

	apply(scene);
	SCENE_UNTIL(scene_server(scene, 0).is_skipped && scene_server(scene, 1).polls >= 3);
	cr_expect_eq(scene_server(scene, 0).failures, 0, "%s", scene_server(scene, 0).error);
	cr_expect_str_eq(scene_server(scene, 1).error,
			 "wls: absent: no row of this server in the answer");
	scene_free(scene);
}

Test(poller, polls_no_admin_server)
{
	struct scene *scene = simple(2, "good:${name}");

	scene->server[0].is_admin = true;
	apply(scene);
	SCENE_UNTIL(fake_starts("s1") >= 3);
	cr_expect_eq(scene_get(scene, 0).targets, 1);
	cr_expect_eq(fake_starts("s0"), 0);
	scene_free(scene);
}

Test(poller, fails_the_round_when_the_collector_returns_an_error)
{
	struct scene *scene = simple(1, "error:${name}");

	log_to(keep_line, NULL, CR_INFO);
	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).failed[CR_REPLY] >= 4);
	cr_expect_str_eq(scene_server(scene, 0).error,
			 "wls: reply: the collector failed: Input/output error");
	cr_expect_eq(journal_count("collector failed source=wls"), 1);
	cr_expect_eq(journal_count("target fails, polled less often from now on"), 1);
	cr_expect_eq(scene_get(scene, 0).in_flight, 0);
	scene_free(scene);
}

Test(poller, holds_up_only_the_sources_of_a_blocking_collector)
{
	struct scene *scene = simple(1, "block:${name}");
	struct poller_source source;
	struct err err;

	scene->poller->patience_ns = 100 * CLOCK_MS;
	scene_source(scene, "jvm", "other", "good:jvm", 20 * CLOCK_MS, 10 * CLOCK_MS);
	apply(scene);
	SCENE_UNTIL(fake_get(&fake.blocked) > 0);
	SCENE_UNTIL(strstr(scene_get(scene, 0).error, "has not returned") != NULL);
	source = scene_get(scene, 0);
	cr_expect_eq(strncmp(source.error, "collector has not returned for ", 31), 0, "%s",
		     source.error);
	cr_expect_str_empty(scene_get(scene, 1).error);
	const int before = fake_starts("jvm");
	SCENE_UNTIL(fake_starts("jvm") >= before + 3);
	cr_expect_geq(fake_starts("jvm"), before + 3);

	/* What has to open instances there is refused; the other source may change. */
	cr_expect_eq(poller_replace(scene->poller, &scene->second, &err), -EBUSY);
	cr_expect_eq(strncmp(err.text, "plugin fake: its collector has not returned for ", 48), 0,
		     "%s", err.text);
	scene->source[1].interval_ns = 30 * CLOCK_MS;
	apply(scene);
	cr_expect_eq(scene_get(scene, 1).interval_ns, 30 * CLOCK_MS);

	for (int i = 0; i < 1000; i++)
		sem_post(&fake.gate);
	SCENE_UNTIL(fake_get(&fake.second_opens) == fake_get(&fake.closes) - 1);
	cr_expect_eq(poller_replace(scene->poller, &scene->second, &err), 0);
	scene_free(scene);
	cr_expect_eq(fake.opens, fake.closes);
}

Test(poller, ends_even_if_a_collector_never_returns)
{
	struct scene *scene = simple(1, "block:${name}");

	log_to(keep_line, NULL, CR_INFO);
	scene->poller->patience_ns = 50 * CLOCK_MS;
	apply(scene);
	SCENE_UNTIL(fake_get(&fake.blocked) > 0);
	left_behind = scene->poller;
	scene_free(scene);
	cr_expect_eq(journal_count("collector has not returned, its thread is left behind"), 1);
	/* It comes back after all, and finds nothing that it may touch. */
	sem_post(&fake.gate);
	SCENE_UNTIL(fake_get(&fake.closes) == 1);
	cr_expect_eq(fake_get(&fake.closes), 1);
}

Test(poller, ends_a_thread_that_has_no_source_left)
{
	struct scene *scene = simple(1, "good:${name}");

	scene_source(scene, "jvm", "other", "good:jvm", 20 * CLOCK_MS, 10 * CLOCK_MS);
	apply(scene);
	SCENE_UNTIL(threads_named("poll fake") == 1 && threads_named("poll other") == 1);
	cr_expect_eq(threads_named("poll fake"), 1);
	cr_expect_eq(threads_named("poll other"), 1);
	scene->config.n_sources = 1;
	apply(scene);
	SCENE_UNTIL(threads_named("poll other") == 0);
	cr_expect_eq(threads_named("poll fake"), 1);
	cr_expect_eq(threads_named("poll other"), 0);
	scene->config.n_sources = 0;
	apply(scene);
	SCENE_UNTIL(threads_named("poll fake") == 0);
	cr_expect_eq(threads_named("poll fake"), 0);
	scene->config.n_sources = 2;
	apply(scene);
	SCENE_UNTIL(scene_get(scene, 0).good > 0 && scene_get(scene, 1).good > 0);
	cr_expect_gt(scene_get(scene, 1).good, 0);
	scene_free(scene);
}
