/* test_check.c - the daemon's checks of servers, against real sockets of this machine. */
#include "check.h"

#include <arpa/inet.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "check_internal.h"
#include "lab/fake_http.h"
#include "lives_scene.h"
#include "resolve.h"

static struct lives_scene scene;
static struct event_base *base;
static struct checks *checks;
static struct fake_http *web;
static char up_path[] = "/up";

static int port_of(const char *url)
{
	return (int)strtol(strrchr(url, ':') + 1, NULL, 10);
}

static struct config_check *check_of(size_t service)
{
	return &scene.service[service].health.check;
}

static void begin(void)
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

static void end(void)
{
	checks_free(checks);
	event_base_free(base);
	fake_http_free(web);
	scene_close(&scene);
}

TestSuite(check, .init = begin, .fini = end, .timeout = 60);

static void apply(void)
{
	struct err err = { 0 };

	cr_assert_eq(checks_apply(checks, &scene.config, scene.roster, &err), 0, "%s", err.text);
}

static struct check_report report(void)
{
	struct check_report report = { 0 };

	(void)checks_get(checks, scene.roster->server_line[0], &report);
	return report;
}

/* Let the loop run until the condition holds; false if it does not in 10 s. */
typedef bool done_fn(void);

static bool run_until(done_fn *done)
{
	const int64_t deadline_ns = clock_now_ns() + 10 * CLOCK_S;

	while (!done()) {
		if (clock_now_ns() > deadline_ns)
			return false;
		event_base_loop(base, EVLOOP_ONCE);
	}
	return true;
}

static bool is_down(void)
{
	return scene_state(&scene, 0) == CR_DOWN;
}

static bool is_up(void)
{
	return scene_state(&scene, 0) == CR_UP;
}

static bool has_failed_thrice(void)
{
	return report().bad >= 3;
}

static bool has_passed_twice(void)
{
	return report().good >= 2;
}

static bool has_run_ten_times(void)
{
	return report().runs >= 10;
}

static void expect_bad(const char *error)
{
	cr_assert(run_until(has_failed_thrice), "good=%u bad=%u", report().good, report().bad);
	cr_expect_str_eq(report().error, error);
	cr_expect(is_down());
}

/*** Results ***/

Test(check, a_page_of_2xx_or_3xx_is_good)
{
	static const char *const status[] = { "200 OK", "204 No Content", "302 Found" };

	for (size_t i = 0; i < 3; i++) {
		fake_http_page(web, status[i], "", "");
		apply();
		cr_assert(run_until(has_passed_twice), "%s", status[i]);
		cr_expect_str_eq(report().error, "");
		cr_expect(is_up());
	}
}

Test(check, a_page_of_4xx_or_5xx_is_bad_and_takes_it_out_after_fall_failures)
{
	fake_http_page(web, "404 Not Found", "", "");
	apply();
	expect_bad("it answered 404");
}

Test(check, two_failures_of_three_take_nobody_out)
{
	fake_http_page(web, "500 Broken", "", "");
	apply();
	while (report().bad < 2)
		event_base_loop(base, EVLOOP_ONCE);
	cr_expect(is_up());
	fake_http_page(web, "200 OK", "", "");
	cr_assert(run_until(has_passed_twice));
	cr_expect(is_up());
}

Test(check, only_the_listed_status_codes_are_good)
{
	check_of(0)->status[0] = 200;
	check_of(0)->status[1] = 401;
	check_of(0)->n_status = 2;
	fake_http_page(web, "401 Who", "", "");
	apply();
	cr_assert(run_until(has_passed_twice));
	fake_http_page(web, "204 No Content", "", "");
	expect_bad("it answered 204");
}

Test(check, asks_for_the_path_with_the_address_as_host)
{
	char request[1024], host[80];

	fake_http_page(web, "200 OK", "", "");
	apply();
	cr_assert(run_until(has_passed_twice));
	fake_http_request(web, request, sizeof request);
	cr_expect(strncmp(request, "GET /up HTTP/1.1\r\n", 18) == 0, "%s", request);
	(void)snprintf(host, sizeof host, "\r\nHost: %s\r\n", scene.address[0]);
	cr_expect(strstr(request, host) != NULL, "%s", request);
}

Test(check, host_header_and_port_can_be_others)
{
	char request[1024];

	check_of(0)->port = scene.port[0];
	check_of(0)->host_header = (char[]){ "shop.example" };
	fake_http_page(web, "200 OK", "", "");
	scene.server[0].port = (char[]){ "1" };
	apply();
	cr_assert(run_until(has_passed_twice));
	fake_http_request(web, request, sizeof request);
	cr_expect(strstr(request, "\r\nHost: shop.example\r\n") != NULL, "%s", request);
}

Test(check, a_server_that_says_nothing_is_bad_in_time)
{
	apply();
	expect_bad("no answer in time");
}

Test(check, a_server_that_hangs_up_is_bad)
{
	fake_http_set(web, FAKE_HANG_UP, "", 0);
	apply();
	expect_bad("it closed the connection without an answer");
}

Test(check, an_answer_that_is_not_http_is_bad)
{
	fake_http_set(web, FAKE_ANSWER, "SSH-2.0-OpenSSH\r\n", 17);
	apply();
	expect_bad("its answer is not HTTP");
}

Test(check, a_connection_that_never_comes_is_bad_in_time)
{
	struct fake_blackhole hole;

	cr_assert_eq(fake_blackhole_open(&hole), 0);
	scene_address(&scene, 0, "127.0.0.1", port_of(hole.url));
	check_of(0)->kind = CONFIG_CHECK_TCP;
	apply();
	expect_bad("no connection in time");
	fake_blackhole_close(&hole);
}

Test(check, a_refused_connection_is_bad_and_a_listener_is_good_for_tcp)
{
	char url[64];
	const int fd = fake_refusal_open(url, sizeof url);

	check_of(0)->kind = CONFIG_CHECK_TCP;
	apply();
	cr_assert(run_until(has_passed_twice), "%s", report().error);
	scene_address(&scene, 0, "127.0.0.1", port_of(url));
	apply();
	expect_bad("connect: Connection refused");
	fake_refusal_close(fd);
}

/*** The head of an answer ***/

/* Fed in pieces of so many bytes. Returns the last result. */
static int feed(struct check_answer *answer, const char *text, size_t len, size_t piece)
{
	int r = 0;

	*answer = (struct check_answer){ 0 };
	for (size_t at = 0; at < len && r == 0; at += piece)
		r = check_answer_feed(answer, text + at, len - at < piece ? len - at : piece);
	return r;
}

Test(check, a_head_is_understood_in_pieces_of_any_size)
{
	static const struct {
		const char *text;
		int result;
		uint32_t status;
	} table[] = {
		{ "HTTP/1.1 200 OK\r\nA: b\r\n\r\n", 1, 200 },
		{ "HTTP/1.0 503\n\n", 1, 503 },
		{ "HTTP/1.1 200 OK\r\nA: b\r\n", 0, 200 },
		{ "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 500 No\r\n\r\n", 1, 500 },
		{ "HTTP/1.1 20\r\n\r\n", -EBADMSG, 0 },
		{ "HTTP/1.1 2000 OK\r\n\r\n", -EBADMSG, 0 },
		{ "HTTP/2 200\r\n\r\n", -EBADMSG, 0 },
		{ "HTTP/1.1 abc\r\n\r\n", -EBADMSG, 0 },
		{ "\r\n", -EBADMSG, 0 },
	};
	struct check_answer answer;

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		for (size_t piece = 1; piece < 9; piece++) {
			const int r = feed(&answer, table[i].text, strlen(table[i].text), piece);

			cr_expect_eq(r, table[i].result, "%s: %d", table[i].text, r);
			if (table[i].result >= 0)
				cr_expect_eq(answer.status, table[i].status, "%s", table[i].text);
		}
}

Test(check, no_more_than_16_kib_of_a_head_are_read)
{
	static char text[20000];
	struct check_answer answer;

	memset(text, 'a', sizeof text);
	memcpy(text, "HTTP/1.1 200 OK\r\n", 17);
	cr_expect_eq(feed(&answer, text, 16384, 1000), 0);
	cr_expect_eq(feed(&answer, text, 16385, 1000), 1, "the status is known");
	text[0] = 'X';
	cr_expect_eq(feed(&answer, text, 17, 17), -EBADMSG);
	memset(text, 'a', 100);
	cr_expect_eq(feed(&answer, text, sizeof text, 1000), -EBADMSG, "no line has ended");
}

/*** What follows from the results ***/

Test(check, who_passes_again_is_back_after_rise_passes_with_a_slow_start)
{
	const int64_t began_ns = clock_now_ns();

	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	fake_http_page(web, "200 OK", "", "");
	cr_assert(run_until(is_up));
	cr_expect_eq(report().good, 2u);
	cr_expect_gt(scene_line(&scene, 0)->live.up_since_ns, began_ns);
}

Test(check, a_verdict_holds_a_second_at_least_and_is_renewed_while_it_lasts)
{
	int64_t until_ns;

	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	until_ns = scene_line(&scene, 0)->down_until_ns;
	cr_expect_gt(until_ns - clock_now_ns(), 900 * CLOCK_MS);
	cr_expect_leq(until_ns - clock_now_ns(), 1000 * CLOCK_MS);
	cr_assert(run_until(has_run_ten_times));
	cr_expect_gt(scene_line(&scene, 0)->down_until_ns, until_ns);
}

Test(check, a_daemon_that_dies_leaves_nobody_out)
{
	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	checks_free(checks);
	checks = NULL;
	cr_expect(is_down(), "for a while");
	cr_expect_eq(health_state(scene_line(&scene, 0), clock_now_ns() + CLOCK_S), CR_UP);
}

Test(check, who_passes_all_the_time_changes_nothing_that_calls_found_out)
{
	const uint64_t ejected = health_word(HEALTH_EJECTED, clock_now_ns() + 100 * CLOCK_S);

	scene_line(&scene, 0)->shut = ejected;
	fake_http_page(web, "200 OK", "", "");
	apply();
	cr_assert(run_until(has_run_ten_times));
	cr_expect_eq(scene_line(&scene, 0)->shut, ejected);
}

Test(check, who_recovers_while_ejected_is_due_for_its_trial_at_once)
{
	scene_line(&scene, 0)->shut = health_word(HEALTH_EJECTED, clock_now_ns() + 100 * CLOCK_S);
	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	fake_http_page(web, "200 OK", "", "");
	cr_assert(run_until(has_passed_twice));
	cr_expect_eq(scene_state(&scene, 0), CR_TRIAL);
}

/*** Configurations that follow each other ***/

Test(check, an_unchanged_check_goes_on_where_it_is)
{
	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	for (int i = 0; i < 5; i++) {
		const uint64_t runs = report().runs;

		apply();
		cr_expect_eq(report().runs, runs);
		cr_expect(report().is_down);
	}
	cr_expect(is_down());
}

Test(check, a_changed_check_of_a_server_that_is_down_goes_on_from_there)
{
	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	check_of(0)->path = (char[]){ "/other" };
	apply();
	cr_expect(is_down());
	cr_expect_eq(report().runs, 0u);
	cr_expect(report().is_down);
	fake_http_page(web, "200 OK", "", "");
	cr_assert(run_until(is_up));
}

Test(check, what_a_check_said_ends_with_it)
{
	struct check_report none;

	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	check_of(0)->kind = CONFIG_CHECK_NONE;
	apply();
	cr_expect(is_up());
	cr_expect_not(checks_get(checks, scene.roster->server_line[0], &none));
}

Test(check, a_check_can_end_in_the_middle_of_a_run)
{
	for (int i = 0; i < 20; i++) {
		check_of(0)->kind = CONFIG_CHECK_HTTP;
		apply();
		while (report().runs == 0)
			event_base_loop(base, EVLOOP_ONCE);
		check_of(0)->kind = CONFIG_CHECK_NONE;
		apply();
	}
	cr_expect(is_up());
}

Test(check, services_that_want_the_same_share_one_check)
{
	size_t requests;

	scene.config.n_services = 2;
	roster_free(scene.roster);
	scene.roster = scene_roster(&scene, NULL);
	*check_of(1) = *check_of(0);
	fake_http_page(web, "200 OK", "", "");
	apply();
	cr_assert(run_until(has_run_ten_times));
	requests = fake_http_requests(web);
	cr_expect_leq(requests, 10u, "%zu", requests);
}

Test(check, one_of_two_checks_that_fails_keeps_a_server_out)
{
	char url[64];
	const int fd = fake_refusal_open(url, sizeof url);
	char port[8];
	size_t requests;

	(void)snprintf(port, sizeof port, "%d", port_of(url));
	scene.config.n_services = 2;
	roster_free(scene.roster);
	scene.roster = scene_roster(&scene, NULL);
	*check_of(1) = *check_of(0);
	check_of(1)->kind = CONFIG_CHECK_TCP;
	check_of(1)->port = port;
	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	fake_http_page(web, "200 OK", "", ""); /* the first recovers, the second does not */
	requests = fake_http_requests(web);
	while (fake_http_requests(web) < requests + 5)
		event_base_loop(base, EVLOOP_ONCE);
	cr_expect(is_down());
	cr_expect_eq(scene_line(&scene, 0)->live.up_since_ns, 0, "nor was it up for a moment");
	cr_expect_str_eq(report().error, "connect: Connection refused");
	fake_refusal_close(fd);
}

Test(check, the_operators_word_holds_until_it_fails_fall_times_again)
{
	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	health_restore(scene.counters, scene_line(&scene, 0), clock_now_ns());
	checks_restored(checks, scene.roster->server_line[0]);
	cr_expect(is_up());
	cr_expect_eq(report().bad, 0u);
	while (report().bad < 2)
		event_base_loop(base, EVLOOP_ONCE);
	cr_expect(is_up());
	cr_assert(run_until(is_down));
}

/*** Trouble of the daemon's own ***/

static struct rlimit take_descriptors(void)
{
	struct rlimit limit, none;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = limit.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	return limit;
}

Test(check, without_a_descriptor_a_run_says_nothing)
{
	struct rlimit limit;

	fake_http_page(web, "200 OK", "", "");
	apply();
	cr_assert(run_until(has_passed_twice));
	limit = take_descriptors();
	cr_expect(run_until(has_run_ten_times));
	cr_expect_eq(report().bad, 0u);
	cr_expect_str_eq(report().error, "");
	cr_expect(is_up());
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

Test(check, who_is_down_stays_so_while_no_check_can_be_made)
{
	struct rlimit limit;
	int64_t until_ns;

	fake_http_page(web, "500 Broken", "", "");
	apply();
	cr_assert(run_until(is_down));
	limit = take_descriptors();
	until_ns = scene_line(&scene, 0)->down_until_ns;
	cr_expect(run_until(has_run_ten_times));
	cr_expect_gt(scene_line(&scene, 0)->down_until_ns, until_ns);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

Test(check, a_daemon_that_was_stopped_does_not_blame_the_server)
{
	const struct timespec pause = { .tv_nsec = 300000000 };

	apply(); /* of a server that says nothing */
	while (report().runs == 0)
		event_base_loop(base, EVLOOP_ONCE);
	nanosleep(&pause, NULL);
	while (report().runs == 1)
		event_base_loop(base, EVLOOP_ONCE);
	cr_expect_eq(report().bad, 0u);
	cr_assert(run_until(is_down), "but later it does");
}

/*** Names ***/

Test(check, a_host_name_is_looked_up_beside_the_loop)
{
	scene_address(&scene, 0, "localhost", port_of(fake_http_url(web)));
	fake_http_page(web, "200 OK", "", "");
	apply();
	cr_assert(run_until(has_passed_twice), "%s", report().error);
}

Test(check, a_name_that_nobody_knows_is_bad)
{
	scene_address(&scene, 0, "no-such-host.invalid", 80);
	apply();
	cr_assert(run_until(has_failed_thrice));
	cr_expect(strncmp(report().error, "host no-such-host.invalid: ", 27) == 0, "%s",
		  report().error);
	cr_expect(is_down());
}

Test(check, addresses_need_no_look_up)
{
	struct resolve_address address;

	cr_expect_eq(resolve_numeric("10.1.2.3", &address), 0);
	cr_expect_eq(address.address[0].ss_family, AF_INET);
	cr_expect_eq(resolve_numeric("[::1]", &address), 0);
	cr_expect_eq(address.address[0].ss_family, AF_INET6);
	cr_expect_eq(resolve_numeric("localhost", &address), -EINVAL);
}
