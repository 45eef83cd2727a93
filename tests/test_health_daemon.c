/* test_health_daemon.c - what the daemon says about a server's health, and what is shown of it. */
#include "health_scene.h"

TestSuite(begin, .timeout = 100);
TestSuite(check, .timeout = 100);
TestSuite(restore, .timeout = 100);
TestSuite(shown, .timeout = 100);

static struct counters_line *ms1(const struct scene *s)
{
	return run_line(&s->run, "ms1");
}

static int64_t up_since(const struct scene *s)
{
	return __atomic_load_n(&ms1(s)->live.up_since_ns, __ATOMIC_RELAXED);
}

/*** A new server, or a new address ***/

Test(begin, forgets_all_that_was_known_of_the_server)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	calls_now(&s, 10, CR_FAILED);
	health_check_failed(s.run.counters, ms1(&s), NOW_NS + 9 * S);
	cr_expect_str_eq(list_now(&s), "ms2");
	cr_expect_gt(ms1(&s)->live.failure_ppm, 0);
	health_begin(s.run.counters, ms1(&s), NOW_NS + 5);
	cr_expect_str_eq(list_now(&s), "ms1 ms2");
	cr_expect_eq(shown_state(&s, "ms1"), CR_UP);
	cr_expect_eq(up_since(&s), NOW_NS + 5);
	cr_expect_eq(ms1(&s)->live.failure_ppm, 0);
	cr_expect_eq(ms1(&s)->live.latency_ns, 0);
	at(&s, 1);
	calls_now(&s, 9, CR_FAILED);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

Test(begin, results_of_calls_to_the_old_address_do_not_count)
{
	static struct cr_ticket old[10];
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (int i = 0; i < 10; i++)
		cr_route(s.thread, s.service, &s.call, &old[i]);
	health_begin(s.run.counters, ms1(&s), NOW_NS + 1);
	for (int i = 0; i < 10; i++)
		cr_end(s.thread, &old[i], CR_FAILED, 10);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(ms1(&s)->consecutive, 0);
	scene_close(&s);
}

Test(begin, a_line_that_goes_to_another_server_starts_clean)
{
	static bool keep[COUNTERS_LINES];
	struct counters_line *line;
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	calls_now(&s, 5, CR_FAILED);
	calls_now(&s, 1, CR_REFUSED_CONNECTION);
	line = ms1(&s);
	health_check_failed(s.run.counters, line, NOW_NS + 9 * S);
	for (uint32_t i = 0; i < COUNTERS_LINES; i++) { /* no line is unused, one is idle */
		keep[i] = counters_line(s.run.counters, i) != line;
		if (keep[i] && atomic_load(&counters_line(s.run.counters, i)->incarnation) == 0)
			atomic_store(&counters_line(s.run.counters, i)->incarnation, 1);
	}
	cr_assert_geq(counters_line_of(s.run.counters, "new", keep), 0);
	cr_assert_str_eq(line->name, "new");
	cr_expect_eq(atomic_load(&line->shut), 0);
	cr_expect_eq(atomic_load(&line->consecutive), 0);
	cr_expect_eq(atomic_load(&line->refusals), 0);
	cr_expect_eq(atomic_load(&line->down_until_ns), 0);
	cr_expect_eq(atomic_load(&line->calls), 0);
	cr_expect_eq(line->live.failure_ns, 0);
	cr_expect_eq(line->live.up_since_ns, 0);
	scene_close(&s);
}

/*** Active checks ***/

Test(check, that_failed_takes_a_server_out_until_its_lease_ends_even_if_the_daemon_dies)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	health_check_failed(s.run.counters, ms1(&s), NOW_NS + 9 * S);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	cr_expect_eq(state_of(&s, "ms1"), CR_DOWN);
	cr_expect_eq(shown_state(&s, "ms1"), CR_DOWN);
	cr_expect_eq(health_until_ns(ms1(&s), NOW_NS), NOW_NS + 9 * S);
	at(&s, 8.999);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	at(&s, 9);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

Test(check, that_passed_ends_down_and_begins_a_slow_start)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	health_check_failed(s.run.counters, ms1(&s), NOW_NS + 9 * S);
	health_check_passed(s.run.counters, ms1(&s), NOW_NS + S);
	at(&s, 1);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	cr_expect_eq(shown_state(&s, "ms1"), CR_UP);
	cr_expect_eq(up_since(&s), NOW_NS + S);
	scene_close(&s);
}

Test(check, that_passed_ends_an_aside_but_leaves_an_ejected_server_its_trial)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	calls_now(&s, 1, CR_REFUSED_CONNECTION);
	health_check_passed(s.run.counters, ms1(&s), NOW_NS + 5);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(up_since(&s), NOW_NS + 5);
	at(&s, 1);
	calls_now(&s, 10, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	health_check_passed(s.run.counters, ms1(&s), NOW_NS + S);
	cr_expect_eq(state_of(&s, "ms1"), CR_TRIAL);
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_str_eq(s.ticket.server[0]->name, "ms1");
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	health_check_passed(s.run.counters, ms1(&s), NOW_NS + S); /* the trial goes on */
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

Test(check, that_passed_where_all_is_well_writes_nothing)
{
	struct scene s;
	uint64_t before;

	scene_of_health(&s, 2, usual_health);
	before = atomic_load(counters_trouble(s.run.counters));
	health_check_passed(s.run.counters, ms1(&s), NOW_NS);
	cr_expect_eq(atomic_load(counters_trouble(s.run.counters)), before);
	cr_expect_eq(up_since(&s), 0);
	scene_close(&s);
}

Test(check, calls_find_each_change_however_often_they_were_calm_in_between)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (int i = 0; i < 1000; i++) {
		at(&s, i);
		cr_assert_str_eq(list_now(&s), "ms1 ms2");
		cr_assert_str_eq(list_now(&s), "ms1 ms2");
		health_check_failed(s.run.counters, ms1(&s), s.call.now_ns + S);
		cr_assert_str_eq(list_now(&s), "ms2");
		if (i % 2 == 0)
			health_check_passed(s.run.counters, ms1(&s), s.call.now_ns);
	}
	scene_close(&s);
}

/*** The operator ***/

Test(restore, opens_at_once_whatever_it_was)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	calls_now(&s, 10, CR_FAILED);
	health_check_failed(s.run.counters, ms1(&s), NOW_NS + 9 * S);
	health_restore(s.run.counters, ms1(&s), NOW_NS + 7);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(shown_state(&s, "ms1"), CR_UP);
	cr_expect_eq(up_since(&s), NOW_NS + 7);
	cr_expect_str_eq(list_now(&s), "ms1 ms2");
	scene_close(&s);
}

Test(restore, starts_the_failures_in_a_row_again)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	calls_now(&s, 9, CR_FAILED);
	health_restore(s.run.counters, ms1(&s), NOW_NS);
	cr_expect_eq(up_since(&s), 0); /* it was up all the time */
	calls_now(&s, 9, CR_FAILED);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

/*** What is shown ***/

Test(shown, the_ramp_goes_from_a_tenth_to_one)
{
	static const struct {
		double at_s, ramp;
	} cases[] = { { -3, 0.1 },     { 0, 0.1 }, { 1, 0.19 }, { 5, 0.55 },
		      { 9.99, 0.999 }, { 10, 1 },  { 1000, 1 } };
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	cr_expect_eq(health_ramp(ms1(&s), 10 * S, NOW_NS), 1); /* up since long ago */
	health_begin(s.run.counters, ms1(&s), NOW_NS);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		at(&s, cases[i].at_s);
		cr_expect_float_eq(health_ramp(ms1(&s), 10 * S, s.call.now_ns), cases[i].ramp, 1e-9,
				   "%zu", i);
		cr_expect_eq(health_ramp(ms1(&s), 0, s.call.now_ns), 1);
	}
	scene_close(&s);
}

Test(shown, words_that_somebody_spoiled_keep_nobody_out_for_ever)
{
	static const uint64_t words[] = { UINT64_MAX, UINT64_MAX / 2, 1ull << 63, 3, 2, 1 };
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		atomic_store(&ms1(&s)->shut, words[i]);
		atomic_store(&ms1(&s)->down_until_ns, INT64_MAX);
		ms1(&s)->live.up_since_ns = INT64_MAX;
		atomic_fetch_add(counters_trouble(s.run.counters), 1);
		cr_expect_str_eq(call_now(&s, CR_OK), "ms1", "%zu", i);
		cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	}
	scene_close(&s);
}
