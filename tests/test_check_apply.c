/* test_check_apply.c - checks of configurations that follow each other, several of one server, and
 * trouble that is not the server's. */
#include "check_scene.h"
#include "lab/fake_names.h"

TestSuite(check_apply, .init = begin, .fini = end, .timeout = 60);

/*** Configurations that follow each other ***/

Test(check_apply, an_unchanged_check_goes_on_where_it_is)
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

Test(check_apply, a_changed_check_of_a_server_that_is_down_goes_on_from_there)
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

Test(check_apply, what_a_check_said_ends_with_it)
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

Test(check_apply, a_check_can_end_in_the_middle_of_a_run)
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

Test(check_apply, services_that_want_the_same_share_one_check)
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

Test(check_apply, one_of_two_checks_that_fails_keeps_a_server_out)
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

Test(check_apply, the_operators_word_holds_until_it_fails_fall_times_again)
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

Test(check_apply, without_a_descriptor_a_run_says_nothing)
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

Test(check_apply, who_is_down_stays_so_while_no_check_can_be_made)
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

Test(check_apply, a_daemon_that_was_stopped_does_not_blame_the_server)
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

Test(check_apply, a_host_name_is_looked_up_beside_the_loop)
{
	scene_address(&scene, 0, "localhost", port_of(fake_http_url(web)));
	fake_http_page(web, "200 OK", "", "");
	apply();
	cr_assert(run_until(has_passed_twice), "%s", report().error);
}

Test(check_apply, a_name_that_nobody_knows_is_bad)
{
	fake_names_set("no-such-host.test", NULL);
	scene_address(&scene, 0, "no-such-host.test", 80);
	apply();
	cr_assert(run_until(has_failed_thrice));
	cr_expect_str_eq(
		report().error,
		"there is no host named no-such-host.test: correct the name, or enter it in DNS "
		"or /etc/hosts");
	cr_expect(is_down());
}
