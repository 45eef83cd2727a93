/* test_health_calls.c - many callers at once: one of them gets the trial, late results change
 * nothing, and what one process sees all others obey. */
#include "health_scene.h"
#include "other_process.h"

TestSuite(claims, .timeout = 100);
TestSuite(late, .timeout = 100);
TestSuite(moving_on, .timeout = 100);
TestSuite(processes, .timeout = 100);

/* ms1 is out, and its time is over. */
static void scene_of_trial(struct scene *s, uint32_t n)
{
	scene_of_health(s, n, usual_health);
	calls_now(s, 10, CR_FAILED);
	at(s, 200);
}

/*** Claims ***/

#define CLAIMERS 8
#define ROUNDS   500

static struct scene *claimed;
static pthread_barrier_t barrier;
static _Atomic int n_got[3]; /* ms1 .. ms3 */

/* All at once, again and again: each round the one who got ms1 gives it back. */
static void *claim_many(void *arg)
{
	struct cr_thread *thread = cr_thread_new(claimed->cr);

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct cr_ticket ticket;

		pthread_barrier_wait(&barrier);
		cr_route(thread, claimed->service, &claimed->call, &ticket);
		atomic_fetch_add(&n_got[ticket.server[0]->name[2] - '1'], 1);
		pthread_barrier_wait(&barrier);
		cr_end(thread, &ticket, CR_ABANDONED, -1);
	}
	cr_thread_free(thread);
	return NULL;
}

static void run_claimers(struct scene *s)
{
	pthread_t thread[CLAIMERS];

	claimed = s;
	pthread_barrier_init(&barrier, NULL, CLAIMERS);
	for (int i = 0; i < CLAIMERS; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, claim_many, NULL), 0);
	for (int i = 0; i < CLAIMERS; i++)
		pthread_join(thread[i], NULL);
}

Test(claims, of_eight_threads_exactly_one_gets_the_trial_and_the_others_the_next_server)
{
	struct scene s;

	scene_of_trial(&s, 3);
	run_claimers(&s);
	cr_expect_eq(n_got[0], ROUNDS);
	cr_expect_eq(n_got[1], (CLAIMERS - 1) * ROUNDS);
	cr_expect_eq(state_of(&s, "ms1"), CR_TRIAL);
	scene_close(&s);
}

Test(claims, who_gets_none_of_a_short_list_is_routed_again_not_sent_to_a_trial_of_others)
{
	struct scene s;

	scene_of_trial(&s, 3);
	at(&s, 0);
	calls_at(&s, "ms2", 10, CR_FAILED);
	at(&s, 200);
	s.orders->router = says(&s, "say=two\n"); /* ms1 and ms2, both due */
	scene_publish(&s);
	run_claimers(&s);
	cr_expect_eq(n_got[0], ROUNDS);
	cr_expect_eq(n_got[1], ROUNDS);
	cr_expect_eq(n_got[2], (CLAIMERS - 2) * ROUNDS);
	scene_close(&s);
}

Test(claims, a_dry_route_shows_the_same_first_server_and_claims_nothing)
{
	struct cr_ticket dry;
	struct scene s;
	uint64_t before;

	scene_of_trial(&s, 3);
	before = atomic_load(&run_line(&s.run, "ms1")->shut);
	for (int i = 0; i < 3; i++) {
		cr_route_dry(s.thread, s.service, &s.call, &dry);
		cr_expect_str_eq(list_of(&dry), "ms1 ms2 ms3");
		cr_expect_eq(atomic_load(&run_line(&s.run, "ms1")->shut), before);
		cr_expect_eq(shown_state(&s, "ms1"), CR_EJECTED);
	}
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	scene_close(&s);
}

Test(claims, a_server_on_trial_is_not_tried_by_who_comes_to_it_later_in_a_list)
{
	struct cr_ticket ticket, trial;
	struct scene s;

	scene_of_trial(&s, 3);
	s.orders->router = says(&s, "say=reversed\n");
	scene_publish(&s);
	cr_route(s.thread, s.service, &s.call, &ticket);
	cr_expect_str_eq(list_of(&ticket), "ms3 ms2 ms1");
	cr_assert(ticket_at(&s, "ms1", &trial));
	cr_expect_str_eq(cr_next(s.thread, &ticket, CR_ABANDONED)->name, "ms2");
	cr_expect_null(cr_next(s.thread, &ticket, CR_ABANDONED));
	cr_end(s.thread, &ticket, CR_FAILED, -1);
	cr_end(s.thread, &trial, CR_OK, -1);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

Test(claims, a_ticket_may_end_in_another_thread_and_after_its_world_is_gone)
{
	struct cr_thread *other;
	struct cr_ticket trial;
	struct scene s;

	scene_of_trial(&s, 2);
	cr_route(s.thread, s.service, &s.call, &trial);
	s.orders->health = (struct image_health){ 0 };
	for (int i = 0; i < 3; i++)
		scene_publish(&s);
	other = cr_thread_new(s.cr);
	cr_end(other, &trial, CR_FAILED, -1); /* by the rules that it was routed by */
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	cr_thread_free(other);
	scene_close(&s);
}

/*** Late results ***/

Test(late, a_success_of_a_call_from_before_does_not_reopen)
{
	struct cr_ticket old;
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	cr_route(s.thread, s.service, &s.call, &old);
	calls_now(&s, 10, CR_FAILED);
	cr_end(s.thread, &old, CR_OK, 1000);
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	cr_route(s.thread, s.service, &s.call, &old);
	cr_expect_str_eq(old.server[0]->name, "ms2");
	calls_at(&s, "ms2", 1, CR_REFUSED_CONNECTION);
	cr_end(s.thread, &old, CR_OK, 1000);
	cr_expect_eq(state_of(&s, "ms2"), CR_ASIDE);
	scene_close(&s);
}

Test(late, failures_of_calls_from_before_do_not_shut_a_server_that_came_back)
{
	static struct cr_ticket old[50];
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (int i = 0; i < 50; i++)
		cr_route(s.thread, s.service, &s.call, &old[i]);
	calls_now(&s, 10, CR_TIMED_OUT);
	at(&s, 200);
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	for (int i = 0; i < 50; i++)
		cr_end(s.thread, &old[i], i < 25 ? CR_TIMED_OUT : CR_REFUSED_CONNECTION, -1);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(run_line(&s.run, "ms1")->consecutive, 0);
	scene_close(&s);
}

Test(late, results_lengthen_no_time_and_count_once_only)
{
	static struct cr_ticket old[50];
	struct scene s;
	int64_t until_ns;

	scene_of_health(&s, 2, usual_health);
	for (int i = 0; i < 50; i++)
		cr_route(s.thread, s.service, &s.call, &old[i]);
	for (int i = 0; i < 10; i++)
		cr_end(s.thread, &old[i], CR_FAILED, -1);
	until_ns = health_until_ns(run_line(&s.run, "ms1"), NOW_NS);
	at(&s, 60);
	call_now(&s, CR_ABANDONED);
	for (int i = 0; i < 50; i++)
		cr_end(s.thread, &old[i], CR_FAILED, -1);
	cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), NOW_NS), until_ns);
	cr_expect_eq(run_line(&s.run, "ms1")->consecutive, 0);
	cr_expect_eq(run_line(&s.run, "ms1")->failures, 50);
	scene_close(&s);
}

Test(late, the_end_of_a_contact_is_its_beginning_and_its_latency_if_nothing_later_was_seen)
{
	struct cr_ticket slow;
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	cr_route(s.thread, s.service, &s.call, &slow);
	cr_end(s.thread, &slow, CR_REFUSED_CONNECTION, 7 * S);
	cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), NOW_NS), NOW_NS + 9 * S);
	at(&s, 20);
	cr_route(s.thread, s.service, &s.call, &slow);
	at(&s, 50);
	call_now(&s, CR_ABANDONED);
	cr_end(s.thread, &slow, CR_REFUSED_CONNECTION, 1 * S);
	cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), NOW_NS), NOW_NS + 54 * S);
	scene_close(&s);
}

Test(late, a_result_for_a_server_that_is_gone_is_not_its_successor_s)
{
	struct cr_ticket old;
	struct scene s;
	int line;

	scene_of_health(&s, 2, usual_health);
	calls_now(&s, 9, CR_FAILED);
	cr_route(s.thread, s.service, &s.call, &old);
	line = counters_find_line(s.run.counters, "ms1");
	atomic_fetch_add(&counters_line(s.run.counters, (uint32_t)line)->incarnation, 1);
	cr_end(s.thread, &old, CR_FAILED, -1);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

/*** Moving on ***/

Test(moving_on, passes_over_a_server_that_was_shut_since_the_list_was_made)
{
	struct cr_ticket ticket;
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	cr_route(s.thread, s.service, &s.call, &ticket);
	calls_at(&s, "ms2", 1, CR_REFUSED_CONNECTION);
	cr_expect_str_eq(cr_next(s.thread, &ticket, CR_FAILED)->name, "ms3");
	expect_held(&s, "ms2", 0, 0);
	expect_held(&s, "ms3", 1, 0);
	cr_end(s.thread, &ticket, CR_OK, 1);
	expect_held(&s, "ms3", 0, 0);
	scene_close(&s);
}

Test(moving_on, takes_one_that_was_shut_rather_than_give_up)
{
	struct cr_ticket ticket;
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	cr_route(s.thread, s.service, &s.call, &ticket);
	calls_at(&s, "ms2", 10, CR_FAILED);
	calls_at(&s, "ms3", 1, CR_REFUSED_CONNECTION);
	cr_expect_str_eq(cr_next(s.thread, &ticket, CR_FAILED)->name, "ms2");
	expect_held(&s, "ms2", 1, 0);
	cr_expect_str_eq(cr_next(s.thread, &ticket, CR_FAILED)->name, "ms3");
	cr_expect_null(cr_next(s.thread, &ticket, CR_FAILED));
	cr_end(s.thread, &ticket, CR_FAILED, 1);
	for (int i = 0; i < 3; i++)
		expect_held(&s, s.plan->server[i].name, 0, 0);
	scene_close(&s);
}

Test(moving_on, a_trial_that_is_left_by_cr_next_has_ended)
{
	struct scene s;

	scene_of_trial(&s, 2);
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_str_eq(s.ticket.server[0]->name, "ms1");
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_FAILED)->name, "ms2");
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	cr_end(s.thread, &s.ticket, CR_OK, 1); /* ms2's */
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	scene_close(&s);
}

/*** Other processes ***/

static void scene_of_processes(struct scene *s)
{
	scene_open(s, 3);
	s->orders->router = says(s, "say=all\n");
	s->orders->health = usual_health;
	run_publish(&s->run, s->plan);
}

static int act_eject(struct scene *s)
{
	scene_attach(s);
	calls_now(s, 10, CR_FAILED);
	return 0;
}

Test(processes, an_ejection_is_seen_by_another_process_at_its_next_call)
{
	struct other other;
	struct scene s;

	scene_of_processes(&s);
	other = other_start(&s, act_eject);
	scene_attach(&s);
	for (int i = 0; i < 100; i++) /* it is calm, or sees part of it */
		call_now(&s, CR_ABANDONED);
	other_end(&other, false);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	scene_close(&s);
}

static int act_fail_twice(struct scene *s)
{
	scene_attach(s);
	calls_now(s, 2, CR_FAILED);
	return 0;
}

Test(processes, failures_in_a_row_are_counted_over_all_processes)
{
	struct scene s;

	scene_of_processes(&s);
	for (int i = 0; i < 5; i++) {
		struct other other = other_start(&s, act_fail_twice);

		other_end(&other, false);
		cr_expect_eq(state_of(&s, "ms1"), i < 4 ? CR_UP : CR_EJECTED);
	}
	scene_close(&s);
}

static int act_hold_trial(struct scene *s)
{
	scene_attach(s);
	at(s, 200);
	cr_route(s->thread, s->service, &s->call, &s->ticket);
	say(s->ticket.server[0]->name[2]);
	return HOLD_FOR_EVER;
}

Test(processes, the_trial_of_a_process_that_was_killed_is_lost_after_30_seconds)
{
	struct other other;
	struct scene s;

	scene_of_processes(&s);
	scene_attach(&s);
	calls_now(&s, 10, CR_FAILED);
	other = other_start(&s, act_hold_trial);
	cr_expect_eq(hear(&other), '1');
	other_end(&other, true);
	at(&s, 229.9);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	at(&s, 230);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	scene_close(&s);
}

/* A forked child that has not refreshed counts nothing: it leaves trials to others. */
static int act_unrefreshed(struct scene *s)
{
	say(strcmp(list_now(s), "ms2 ms3"));
	at(s, 200);
	say(strcmp(call_now(s, CR_OK), "ms2"));
	calls_now(s, 20, CR_FAILED);
	say(strcmp(list_now(s), "ms2 ms3"));
	cr_refresh(s->cr);
	say(strcmp(call_now(s, CR_OK), "ms1"));
	return 0;
}

Test(processes, a_child_that_has_not_refreshed_obeys_but_neither_claims_nor_reports)
{
	struct other child;
	struct scene s;

	scene_of_processes(&s);
	scene_attach(&s);
	calls_now(&s, 10, CR_FAILED);
	child = other_start(&s, act_unrefreshed);
	expect_said(&child, 0, 0, 0, 0);
	other_end(&child, false);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_eq(state_of(&s, "ms2"), CR_UP);
	scene_close(&s);
}

Test(processes, a_call_that_outlives_its_counters_file_writes_nothing_into_the_new_one)
{
	struct cr_ticket old;
	struct scene s;

	scene_of_processes(&s);
	scene_attach(&s);
	calls_now(&s, 10, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	at(&s, 200);
	cr_route(s.thread, s.service, &s.call, &old);
	cr_expect_str_eq(old.server[0]->name, "ms1");
	run_stop_daemon(&s.run);
	unlink(run_file(&s.run, COUNTERS_FILE));
	run_start_daemon(&s.run);
	run_publish(&s.run, s.plan);
	cr_expect_eq(cr_refresh(s.cr), 1);
	cr_end(s.thread, &old, CR_FAILED, -1);
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	calls_now(&s, 10, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	scene_close(&s);
}
