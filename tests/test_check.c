/* test_check.c - what the daemon's checks find, against real sockets of this machine. */
#include "check_scene.h"

TestSuite(check, .init = begin, .fini = end, .timeout = 60);

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
