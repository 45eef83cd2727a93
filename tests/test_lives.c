/* test_lives.c - which servers begin afresh with a configuration, and what the log says of their
 * health. */
#include "lives.h"

#include "health_log.h"
#include "kept_log.h"
#include "lives_scene.h"

static struct lives_scene scene;

static void begin(void)
{
	scene_open(&scene, 3);
	keep_log(CR_INFO);
}

static void end(void)
{
	scene_close(&scene);
}

TestSuite(lives, .init = begin, .fini = end, .timeout = 30);

static uint64_t an_ejection(void)
{
	return health_word(HEALTH_EJECTED, clock_now_ns() + 100 * CLOCK_S);
}

static bool is_in_slow_start(size_t i)
{
	return health_ramp(scene_line(&scene, i), 10 * CLOCK_S, clock_now_ns()) < 1;
}

/* The configuration as it is now follows the one before. */
static void reload(const struct config *old)
{
	struct roster *roster = scene_roster(&scene, scene.roster);
	const struct lives_before before = { .config = old, .roster = scene.roster };

	lives_begin(scene.counters, &scene.config, roster, &before);
	roster_free(scene.roster);
	scene.roster = roster;
}

Test(lives, a_first_start_needs_no_slow_start)
{
	const struct lives_before nobody = { 0 };

	lives_begin(scene.counters, &scene.config, scene.roster, &nobody);
	for (size_t i = 0; i < 3; i++)
		cr_expect_not(is_in_slow_start(i));
}

Test(lives, an_unchanged_server_keeps_health_and_counters_over_a_reload)
{
	const struct config old = scene.config;
	const uint64_t ejected = an_ejection();

	scene_line(&scene, 1)->shut = ejected;
	scene_line(&scene, 1)->consecutive = 10;
	scene_line(&scene, 1)->calls = 77;
	scene_line(&scene, 0)->live.latency_ns = 5;
	reload(&old);
	cr_expect_eq(scene_line(&scene, 1)->shut, ejected);
	cr_expect_eq(scene_line(&scene, 1)->consecutive, 10u);
	cr_expect_eq(scene_line(&scene, 1)->calls, 77u);
	cr_expect_eq(scene_line(&scene, 0)->live.latency_ns, 5);
	cr_expect_not(is_in_slow_start(0));
}

Test(lives, a_changed_weight_is_no_new_life)
{
	struct config_server servers[SCENE_SERVERS];
	struct config old = scene.config;
	const uint64_t ejected = an_ejection();

	memcpy(servers, scene.server, sizeof servers);
	old.servers = servers;
	scene_line(&scene, 1)->shut = ejected;
	scene.server[1].weight = 50;
	reload(&old);
	cr_expect_eq(scene_line(&scene, 1)->shut, ejected);
}

Test(lives, a_server_that_joins_others_starts_slowly)
{
	const struct config old = scene.config;

	scene.config.n_servers = 4;
	reload(&old);
	cr_expect_not(is_in_slow_start(0));
	cr_expect(is_in_slow_start(3));
}

Test(lives, a_new_address_forgets_the_health_of_the_old_one)
{
	struct config_server servers[SCENE_SERVERS];
	struct config old = scene.config;
	const uint64_t ejected = an_ejection();

	memcpy(servers, scene.server, sizeof servers);
	old.servers = servers;
	servers[1].address = (char[]){ "10.0.0.1:1" };
	scene_line(&scene, 0)->shut = ejected;
	scene_line(&scene, 1)->shut = ejected;
	scene_line(&scene, 1)->consecutive = 10;
	reload(&old);
	cr_expect_eq(scene_state(&scene, 1), CR_UP);
	cr_expect_eq(scene_line(&scene, 1)->consecutive, 0u);
	cr_expect(is_in_slow_start(1));
	cr_expect_eq(scene_line(&scene, 0)->shut, ejected);
}

Test(lives, a_server_that_was_away_for_one_configuration_begins_afresh)
{
	struct config old = scene.config;

	scene_line(&scene, 2)->shut = an_ejection();
	scene.config.n_servers = 2;
	reload(&old);
	old = scene.config;
	scene.config.n_servers = 3;
	reload(&old);
	cr_expect_eq(scene_state(&scene, 2), CR_UP);
	cr_expect(is_in_slow_start(2));
}

Test(lives, without_any_health_nobody_is_shown_as_out)
{
	const struct config old = scene.config;
	const uint64_t ejected = an_ejection();

	scene_line(&scene, 0)->shut = ejected;
	reload(&old);
	cr_expect_eq(scene_line(&scene, 0)->shut, ejected);
	scene.service[0].health = (struct config_health){ .out_for_ns = CLOCK_S };
	reload(&old);
	cr_expect_eq(scene_state(&scene, 0), CR_UP);
	health_check_failed(scene.counters, scene_line(&scene, 1), clock_now_ns() + 60 * CLOCK_S);
	reload(&old);
	cr_expect_eq(scene_state(&scene, 1), CR_DOWN, "that is the check's");
}

/* What a daemon published before this one. */
static struct image_header *published(size_t n)
{
	const struct image_size size = { .servers = (uint32_t)n, .text = 1 };
	struct image_header *image = image_new(&size);
	struct image_server *server;

	cr_assert_not_null(image);
	server = image_edit(image, image->server);
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(server[i].name, sizeof server[i].name, "%s", scene.name[i]);
		(void)snprintf(server[i].address, sizeof server[i].address, "%s", scene.address[i]);
		server[i].line = scene.roster->server_line[i];
	}
	return image;
}

/* As after a restart: the lines are there, the configuration of before is not. */
static void restart(const struct image_header *image)
{
	const struct lives_before before = { .image = image };

	roster_free(scene.roster);
	scene.roster = scene_roster(&scene, NULL);
	lives_begin(scene.counters, &scene.config, scene.roster, &before);
}

Test(lives, a_restart_keeps_ejections)
{
	struct image_header *image = published(3);
	const uint64_t ejected = an_ejection();

	scene_line(&scene, 1)->shut = ejected;
	restart(image);
	cr_expect_eq(scene_line(&scene, 1)->shut, ejected);
	restart(NULL);
	cr_expect_eq(scene_line(&scene, 1)->shut, ejected, "also without the snapshot");
	cr_expect_not(is_in_slow_start(0));
	free(image);
}

Test(lives, a_restart_with_a_new_address_or_a_new_server_begins_those_afresh)
{
	struct image_header *image = published(2);
	const uint64_t ejected = an_ejection();

	for (size_t i = 0; i < 3; i++)
		scene_line(&scene, i)->shut = ejected;
	scene_address(&scene, 0, "10.0.0.9", 99);
	restart(image);
	cr_expect_eq(scene_state(&scene, 0), CR_UP, "a new address");
	cr_expect_eq(scene_state(&scene, 1), CR_EJECTED);
	cr_expect_eq(scene_state(&scene, 2), CR_UP, "not published before");
	free(image);
}

Test(lives, an_undrained_server_starts_slowly_unless_a_check_says_that_it_is_down)
{
	scene_line(&scene, 0)->shut = an_ejection();
	lives_undrained(scene.counters, scene.roster->server_line[0]);
	cr_expect_eq(scene_state(&scene, 0), CR_UP);
	cr_expect(is_in_slow_start(0));
	health_check_failed(scene.counters, scene_line(&scene, 1), clock_now_ns() + 60 * CLOCK_S);
	lives_undrained(scene.counters, scene.roster->server_line[1]);
	cr_expect_eq(scene_state(&scene, 1), CR_DOWN);
}

/*** The log ***/

static const struct config *the_config = &scene.config;

static struct health_log *log_new(void)
{
	const struct health_log_context context = {
		.counters = scene.counters,
		.config = &the_config,
		.roster = (const struct roster *const *)&scene.roster,
	};
	struct health_log *log = health_log_new(NULL, &context);

	cr_assert_not_null(log);
	return log;
}

#define NOW_NS (1000 * CLOCK_S)

static void expect_logged(struct health_log *log, int64_t after_ns, const char *expected)
{
	logged[0] = '\0';
	health_log_look(log, NOW_NS + after_ns);
	cr_expect_str_eq(logged, expected);
}

Test(lives, the_log_tells_each_change_once)
{
	struct health_log *log = log_new();
	struct counters_line *line = scene_line(&scene, 1);

	expect_logged(log, 0, "");
	line->shut = health_word(HEALTH_EJECTED, NOW_NS + 130 * CLOCK_S);
	expect_logged(log, 0,
		      "server ejected name=ms2 address=127.0.0.1:7102 reason=\"too many failures "
		      "in a row\" "
		      "for=\"2.2 min\"\n");
	expect_logged(log, CLOCK_S, "");
	line->shut = health_word(HEALTH_TRIAL, NOW_NS + 140 * CLOCK_S);
	expect_logged(log, 131 * CLOCK_S, "");
	line->shut = health_word(HEALTH_EJECTED, NOW_NS + 311 * CLOCK_S);
	expect_logged(log, 131 * CLOCK_S,
		      "server ejected name=ms2 address=127.0.0.1:7102 reason=\"too many failures "
		      "in a row\" "
		      "for=\"3.0 min\"\n");
	line->shut = 0;
	expect_logged(log, 320 * CLOCK_S,
		      "server back name=ms2 address=127.0.0.1:7102 was=ejected "
		      "after=\"5.3 min\"\n");
	expect_logged(log, 321 * CLOCK_S, "");
	health_log_free(log);
}

Test(lives, the_log_tells_of_a_dead_server_once_however_often_it_is_tried)
{
	struct health_log *log = log_new();
	struct counters_line *line = scene_line(&scene, 0);

	line->shut = health_word(HEALTH_ASIDE, NOW_NS + 2 * CLOCK_S);
	expect_logged(log, 0,
		      "server aside name=ms1 address=127.0.0.1:7101 reason=\"it refuses "
		      "connections\" for=\"2.0 s\"\n");
	for (int i = 1; i < 5; i++) {
		line->shut = health_word(HEALTH_TRIAL, NOW_NS + 60 * CLOCK_S);
		expect_logged(log, i * CLOCK_S, "");
		line->shut = health_word(HEALTH_ASIDE, NOW_NS + (4 + i) * CLOCK_S);
		expect_logged(log, i * CLOCK_S, "");
	}
	line->shut = 0;
	expect_logged(log, 30 * CLOCK_S,
		      "server back name=ms1 address=127.0.0.1:7101 was=aside "
		      "after=\"30.0 s\"\n");
	health_log_free(log);
}

Test(lives, the_log_tells_of_servers_that_a_check_takes_out)
{
	struct health_log *log = log_new();

	scene_line(&scene, 2)->down_until_ns = NOW_NS + 6 * CLOCK_S;
	expect_logged(log, 0, "server down name=ms3\n");
	expect_logged(log, CLOCK_S, "");
	expect_logged(log, 7 * CLOCK_S,
		      "server back name=ms3 address=127.0.0.1:7103 was=down "
		      "after=\"7.0 s\"\n");
	health_log_free(log);
}
