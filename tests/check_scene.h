/* check_scene.h - one server of this machine and the checks of it, for the tests of checks. */
#ifndef CR_TESTS_CHECK_SCENE_H
#define CR_TESTS_CHECK_SCENE_H

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "check.h"
#include "check_internal.h"
#include "lab/fake_http.h"
#include "lives_scene.h"
#include "resolve.h"

static struct lives_scene scene;
static struct event_base *base;
static struct checks *checks;
static struct fake_http *web;
static char up_path[] = "/up";

static inline int port_of(const char *url)
{
	return (int)strtol(strrchr(url, ':') + 1, NULL, 10);
}

static inline struct config_check *check_of(size_t service)
{
	return &scene.service[service].health.check;
}

static inline void begin(void)
{
	scene_open(&scene, 1);
	base = event_base_new();
	checks = checks_new(base, scene.counters);
	web = fake_http_new();
	cr_assert(base != NULL && checks != NULL && web != NULL);
	scene_address(&scene, 0, "127.0.0.1", port_of(fake_http_url(web)));
	for (size_t i = 0; i < 2; i++)
		*check_of(i) = (struct config_check){ .kind = CONFIG_CHECK_HTTP,
						      .path = up_path,
						      .interval_ns = 20 * CLOCK_MS,
						      .timeout_ns = 20 * CLOCK_MS,
						      .fall = 3,
						      .rise = 2 };
	*check_of(1) = (struct config_check){ 0 };
}

static inline void end(void)
{
	checks_free(checks);
	event_base_free(base);
	fake_http_free(web);
	scene_close(&scene);
}

static inline void apply(void)
{
	struct err err = { 0 };

	cr_assert_eq(checks_apply(checks, &scene.config, scene.roster, &err), 0, "%s", err.text);
}

static inline struct check_report report(void)
{
	struct check_report report = { 0 };

	(void)checks_get(checks, scene.roster->server_line[0], &report);
	return report;
}

/* Let the loop run until the condition holds; false if it does not in 10 s. */
typedef bool done_fn(void);

static inline bool run_until(done_fn *done)
{
	const int64_t deadline_ns = clock_now_ns() + 10 * CLOCK_S;

	while (!done()) {
		if (clock_now_ns() > deadline_ns)
			return false;
		event_base_loop(base, EVLOOP_ONCE);
	}
	return true;
}

static inline bool is_down(void)
{
	return scene_state(&scene, 0) == CR_DOWN;
}

static inline bool is_up(void)
{
	return scene_state(&scene, 0) == CR_UP;
}

static inline bool has_failed_thrice(void)
{
	return report().bad >= 3;
}

static inline bool has_passed_twice(void)
{
	return report().good >= 2;
}

static inline bool has_run_ten_times(void)
{
	return report().runs >= 10;
}

static inline void expect_bad(const char *error)
{
	cr_assert(run_until(has_failed_thrice), "good=%u bad=%u", report().good, report().bad);
	cr_expect_str_eq(report().error, error);
	cr_expect(is_down());
}

#endif
