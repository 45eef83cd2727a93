/* test_health_waiting.c - a thread that places a call and waits for its answer, as most do: what
 * becomes of a server is timed from the end of the contact, however long that took. */
#include <time.h>

#include "health_scene.h"

TestSuite(waiting, .timeout = 100);

/* For a fifth of a second this thread does nothing but wait for an answer. */
static void wait_for_answer(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = S / 5 }, NULL);
}

#define WAITED_NS (S / 10) /* at the least, whatever the clock's steps are */

/* As most callers do: a thread, a call, and nothing else until it is answered. */
static void scene_of_waiting(struct scene *s, uint32_t n)
{
	struct image_health rules = usual_health;

	rules.failures = 1;
	scene_of_health(s, n, rules);
	cr_call_now(s->thread, &s->call);
	cr_route(s->thread, s->service, &s->call, &s->ticket);
	wait_for_answer();
}

Test(waiting, what_ends_without_a_latency_ends_now_for_a_thread_that_waited_for_it)
{
	static const enum cr_outcome bad[] = { CR_REFUSED_CONNECTION, CR_TIMED_OUT, CR_FAILED };

	for (size_t i = 0; i < 2 * sizeof bad / sizeof *bad; i++) {
		const enum cr_outcome outcome = bad[i / 2];
		const int64_t least_ns = outcome == CR_REFUSED_CONNECTION ? 2 * S : OUT_LEAST * S;
		int64_t until_ns, began_ns;
		struct scene s;

		scene_of_waiting(&s, 2);
		began_ns = s.call.now_ns;
		if (i % 2 == 0)
			cr_next(s.thread, &s.ticket, outcome);
		else
			cr_end(s.thread, &s.ticket, outcome, -1);
		until_ns = health_until_ns(run_line(&s.run, "ms1"), began_ns);
		if (outcome == CR_REFUSED_CONNECTION) /* of an exact length */
			cr_expect_geq(until_ns, began_ns + WAITED_NS + least_ns, "%zu", i);
		cr_expect_geq(until_ns, began_ns + least_ns, "%zu", i);
		cr_expect_geq(run_line(&s.run, "ms1")->live.failure_ns, began_ns + WAITED_NS, "%zu",
			      i);
		cr_end(s.thread, &s.ticket, CR_OK, 1);
		scene_close(&s);
	}
}

Test(waiting, the_next_contact_begins_when_the_one_before_has_ended)
{
	int64_t began_ns;
	struct scene s;

	scene_of_waiting(&s, 3);
	began_ns = s.call.now_ns;
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_TIMED_OUT)->name, "ms2");
	cr_end(s.thread, &s.ticket, CR_REFUSED_CONNECTION, 7 * S);
	cr_expect_geq(health_until_ns(run_line(&s.run, "ms2"), began_ns),
		      began_ns + WAITED_NS + 9 * S);
	scene_close(&s);
}

Test(waiting, a_trial_that_succeeds_after_a_while_begins_the_slow_start_then)
{
	struct cr_call call = { 0 };
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	cr_call_now(s.thread, &call);
	s.call.now_ns = call.now_ns - 300 * S;
	calls_now(&s, 10, CR_FAILED);
	cr_call_now(s.thread, &s.call);
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_str_eq(s.ticket.server[0]->name, "ms1");
	wait_for_answer();
	cr_end(s.thread, &s.ticket, CR_OK, -1);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_geq(run_line(&s.run, "ms1")->live.up_since_ns, s.call.now_ns + WAITED_NS);
	scene_close(&s);
}

Test(waiting, a_time_that_is_the_caller_s_own_is_never_the_clock_s)
{
	struct scene s;
	int64_t left_ns;

	scene_of_health(&s, 2, usual_health);
	cr_call_now(s.thread, &s.call);
	s.call.now_ns -= 5000 * S;
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_end(s.thread, &s.ticket, CR_REFUSED_CONNECTION, -1);
	left_ns = health_left_ns(run_line(&s.run, "ms1"), s.call.now_ns);
	cr_expect(left_ns <= 2 * S && left_ns > 2 * S - 4, "%lld", (long long)left_ns);
	scene_close(&s);
}
