/* test_health.c - refused connections put a server aside, failures in a row put it out, and one
 * trial call brings it back. */
#include "health_scene.h"

TestSuite(aside, .timeout = 100);
TestSuite(ejected, .timeout = 100);
TestSuite(trial, .timeout = 100);

/*** Aside ***/

Test(aside, a_refused_connection_costs_one_try_and_no_further_calls)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_REFUSED_CONNECTION)->name, "ms2");
	cr_end(s.thread, &s.ticket, CR_OK, 5);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	cr_expect_eq(state_of(&s, "ms1"), CR_ASIDE);
	cr_expect_eq(shown_state(&s, "ms1"), CR_ASIDE);
	cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), s.call.now_ns), NOW_NS + 2 * S);
	at(&s, 1.999);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	at(&s, 2);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	cr_expect_eq(state_of(&s, "ms1"), CR_TRIAL);
	scene_close(&s);
}

Test(aside, the_time_doubles_up_to_the_most_and_starts_again_after_success)
{
	static const int64_t due[] = { 2, 4, 8, 16, 30 };
	int64_t now = 0;
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (int i = 0; i < 100; i++) { /* it is away for most of an hour */
		const int64_t length = due[i < 4 ? i : 4];

		s.call.now_ns = NOW_NS + now * S;
		cr_expect_str_eq(call_now(&s, CR_REFUSED_CONNECTION), "ms1");
		cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), s.call.now_ns),
			     s.call.now_ns + length * S, "%d", i);
		now += length;
	}
	s.call.now_ns = NOW_NS + now * S;
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(shown_state(&s, "ms1"), CR_UP);
	cr_expect_str_eq(call_now(&s, CR_REFUSED_CONNECTION), "ms1");
	cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), s.call.now_ns),
		     s.call.now_ns + 2 * S);
	scene_close(&s);
}

Test(aside, a_hundred_calls_refused_at_the_same_moment_are_one_refusal)
{
	static struct cr_ticket ticket[100];
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (int i = 0; i < 100; i++)
		cr_route(s.thread, s.service, &s.call, &ticket[i]);
	for (int i = 0; i < 100; i++)
		cr_end(s.thread, &ticket[i], CR_REFUSED_CONNECTION, -1);
	cr_expect_eq(run_line(&s.run, "ms1")->refusals, 1);
	cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), NOW_NS), NOW_NS + 2 * S);
	cr_expect_eq(run_line(&s.run, "ms1")->failures, 100);
	scene_close(&s);
}

Test(aside, refusals_that_put_aside_are_no_failures_in_a_row)
{
	double now = 0;
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (int i = 0; i < 12; i++, now += 30) {
		at(&s, now);
		cr_expect_str_eq(call_now(&s, CR_REFUSED_CONNECTION), "ms1");
		cr_expect_eq(state_of(&s, "ms1"), CR_ASIDE);
		cr_expect_eq(run_line(&s.run, "ms1")->consecutive, 0);
	}
	scene_close(&s);
}

Test(aside, where_nothing_is_put_aside_a_refusal_is_a_failure_like_others_if_it_counts)
{
	struct image_health health = usual_health;
	struct scene s;

	health.aside_ns = 0;
	scene_of_health(&s, 2, health);
	calls_now(&s, 9, CR_REFUSED_CONNECTION);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	calls_now(&s, 1, CR_REFUSED_CONNECTION);
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	scene_close(&s);
	health.counts = IMAGE_COUNTS_TIMEOUT | IMAGE_COUNTS_FAILED;
	scene_of_health(&s, 2, health);
	calls_now(&s, 50, CR_REFUSED_CONNECTION);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(run_line(&s.run, "ms1")->consecutive, 0);
	scene_close(&s);
}

/*** Failures in a row ***/

Test(ejected, after_ten_failures_in_a_row_and_not_after_nine)
{
	int64_t until_ns;
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	calls_now(&s, 5, CR_TIMED_OUT);
	calls_now(&s, 4, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	calls_now(&s, 1, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	cr_expect_eq(shown_state(&s, "ms1"), CR_EJECTED);
	until_ns = health_until_ns(run_line(&s.run, "ms1"), s.call.now_ns);
	cr_expect_geq(until_ns, NOW_NS + OUT_LEAST * S);
	cr_expect_leq(until_ns, NOW_NS + OUT_MOST * S);
	at(&s, OUT_LEAST - 1);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	at(&s, OUT_MOST);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	scene_close(&s);
}

Test(ejected, a_success_starts_the_count_again)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (int i = 0; i < 5; i++) {
		calls_now(&s, 9, CR_FAILED);
		cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
		cr_expect_eq(run_line(&s.run, "ms1")->consecutive, 0);
		cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	}
	scene_close(&s);
}

Test(ejected, an_abandoned_call_neither_counts_nor_starts_the_count_again)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	calls_now(&s, 9, CR_FAILED);
	calls_now(&s, 50, CR_ABANDONED);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	calls_now(&s, 1, CR_FAILED);
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	scene_close(&s);
}

Test(ejected, only_outcomes_that_the_service_counts_count)
{
	static const struct {
		uint32_t counts;
		enum cr_outcome outcome;
		enum cr_state state;
	} cases[] = {
		{ IMAGE_COUNTS_TIMEOUT, CR_TIMED_OUT, CR_EJECTED },
		{ IMAGE_COUNTS_TIMEOUT, CR_FAILED, CR_UP },
		{ IMAGE_COUNTS_FAILED, CR_FAILED, CR_EJECTED },
		{ IMAGE_COUNTS_FAILED, CR_TIMED_OUT, CR_UP },
		{ IMAGE_COUNTS_CONNECT, CR_TIMED_OUT, CR_UP },
		{ 0, CR_FAILED, CR_UP },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct image_health health = usual_health;
		struct scene s;

		health.counts = cases[i].counts;
		scene_of_health(&s, 2, health);
		calls_now(&s, 20, cases[i].outcome);
		cr_expect_eq(state_of(&s, "ms1"), cases[i].state, "%zu", i);
		scene_close(&s);
	}
}

Test(ejected, never_where_failures_is_0)
{
	struct image_health health = usual_health;
	struct scene s;

	health.failures = 0;
	scene_of_health(&s, 2, health);
	calls_now(&s, 100, CR_FAILED);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(run_line(&s.run, "ms1")->consecutive, 0);
	scene_close(&s);
}

Test(ejected, never_where_failures_is_0_not_even_by_a_trial_after_an_aside)
{
	static const struct {
		enum cr_outcome outcome;
		enum cr_state state;
	} cases[] = {
		{ CR_FAILED, CR_UP },       /* an answer */
		{ CR_TIMED_OUT, CR_TRIAL }, /* says nothing: the next call tries it */
		{ CR_REFUSED_CONNECTION, CR_ASIDE },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct image_health health = usual_health;
		struct scene s;

		health.failures = 0;
		scene_of_health(&s, 2, health);
		call_now(&s, CR_REFUSED_CONNECTION);
		at(&s, 3);
		cr_expect_str_eq(call_now(&s, cases[i].outcome), "ms1");
		cr_expect_eq(state_of(&s, "ms1"), cases[i].state, "%zu", i);
		scene_close(&s);
	}
}

Test(ejected, servers_that_fail_together_are_not_due_together)
{
	int64_t until_ns[3];
	struct scene s;

	scene_of_health(&s, 8, usual_health);
	for (int i = 0; i < 3; i++) {
		const char *const server = s.plan->server[i].name;

		calls_at(&s, server, 10, CR_FAILED);
		until_ns[i] = health_until_ns(run_line(&s.run, server), NOW_NS);
	}
	cr_expect_gt(llabs(until_ns[0] - until_ns[1]), S / 10);
	cr_expect_gt(llabs(until_ns[1] - until_ns[2]), S / 10);
	cr_expect_gt(llabs(until_ns[0] - until_ns[2]), S / 10);
	scene_close(&s);
}

/*** The trial ***/

/* ms1 is out, and its time is over. */
static void scene_of_trial(struct scene *s, uint32_t n, struct image_health health)
{
	scene_of_health(s, n, health);
	calls_now(s, 10, CR_FAILED);
	at(s, 200);
	cr_expect_eq(state_of(s, "ms1"), CR_TRIAL);
}

Test(trial, one_call_gets_the_server_and_the_others_go_past_it)
{
	struct scene s;

	scene_of_trial(&s, 3, usual_health);
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_str_eq(list_of(&s.ticket), "ms1 ms2 ms3");
	cr_expect_eq(shown_state(&s, "ms1"), CR_TRIAL);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	cr_end(s.thread, &s.ticket, CR_OK, 5);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(shown_state(&s, "ms1"), CR_UP);
	cr_expect_eq(run_line(&s.run, "ms1")->consecutive, 0);
	cr_expect_eq(run_line(&s.run, "ms1")->live.up_since_ns, s.call.now_ns + 5);
	scene_close(&s);
}

Test(trial, that_fails_shuts_the_server_for_the_whole_time_again)
{
	int64_t until_ns;
	struct scene s;

	scene_of_trial(&s, 2, usual_health);
	cr_expect_str_eq(call_now(&s, CR_TIMED_OUT), "ms1");
	cr_expect_str_eq(list_now(&s), "ms2");
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	until_ns = health_until_ns(run_line(&s.run, "ms1"), s.call.now_ns);
	cr_expect_geq(until_ns, s.call.now_ns + OUT_LEAST * S);
	cr_expect_leq(until_ns, s.call.now_ns + OUT_MOST * S);
	scene_close(&s);
}

Test(trial, that_is_refused_puts_aside_for_twice_as_long)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	call_now(&s, CR_REFUSED_CONNECTION);
	at(&s, 3);
	cr_expect_str_eq(call_now(&s, CR_REFUSED_CONNECTION), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_ASIDE);
	cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), s.call.now_ns),
		     s.call.now_ns + 4 * S);
	scene_close(&s);
}

Test(trial, that_is_abandoned_is_due_again_at_once)
{
	struct scene s;

	scene_of_trial(&s, 2, usual_health);
	cr_expect_str_eq(call_now(&s, CR_ABANDONED), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_TRIAL);
	cr_expect_str_eq(list_now(&s), "ms1 ms2");
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

Test(trial, whose_caller_died_is_lost_after_30_seconds)
{
	struct cr_ticket dead;
	struct scene s;

	scene_of_trial(&s, 2, usual_health);
	cr_route(s.thread, s.service, &s.call, &dead);
	at(&s, 229.9);
	cr_expect_str_eq(list_now(&s), "ms2");
	at(&s, 230);
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_end(s.thread, &dead, CR_FAILED, -1); /* it was not dead, only late */
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(run_line(&s.run, "ms1")->consecutive, 0);
	scene_close(&s);
}

Test(trial, may_be_any_place_of_a_list_and_is_claimed_when_it_is_reached)
{
	struct scene s;

	scene_of_trial(&s, 3, usual_health);
	s.orders->router = says(&s, "say=reversed\n");
	scene_publish(&s);
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_str_eq(list_of(&s.ticket), "ms3 ms2 ms1");
	cr_expect_eq(shown_state(&s, "ms1"), CR_EJECTED); /* nobody's yet */
	cr_next(s.thread, &s.ticket, CR_ABANDONED);
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_ABANDONED)->name, "ms1");
	cr_expect_eq(shown_state(&s, "ms1"), CR_TRIAL);
	cr_end(s.thread, &s.ticket, CR_OK, 5);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

Test(trial, of_a_service_that_does_not_count_an_error_takes_it_for_an_answer)
{
	struct image_health health = usual_health;
	struct scene s;

	health.counts = IMAGE_COUNTS_TIMEOUT;
	scene_of_health(&s, 2, health);
	calls_now(&s, 10, CR_TIMED_OUT);
	at(&s, 200);
	cr_expect_str_eq(call_now(&s, CR_FAILED), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}
