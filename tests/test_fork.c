/* test_fork.c - what a forked child counts, and that it does no harm to its parent. */
#include <sys/syscall.h>

#include "other_process.h"

TestSuite(fork, .timeout = 100);

static void say_all(struct scene *s)
{
	say((int64_t)run_inflight(&s->run, "ms1"));
	say((int64_t)atomic_load(&run_line(&s->run, "ms1")->calls));
	say((int64_t)atomic_load(&run_line(&s->run, "ms1")->failures));
	say((int64_t)count_of(s, CR_ROUTER_DECIDED));
}

static int act_without_refresh(struct scene *s)
{
	struct cr_ticket own;

	say(cr_route(s->thread, s->service, &s->call, &own));
	say(own.decided);
	cr_next(s->thread, &own, CR_FAILED);
	cr_end(s->thread, &own, CR_FAILED, 1);
	cr_end(s->thread, &s->ticket, CR_FAILED, 1); /* its parent's */
	say_all(s);
	return 0;
}

Test(fork, a_child_that_does_not_refresh_routes_and_counts_nothing)
{
	struct other child;
	struct scene s;

	scene_of_forks(&s, true);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 2);
	child = other_start(&s, act_without_refresh);
	cr_expect_eq(hear(&child), 2);
	cr_expect_eq(hear(&child), CR_ROUTER_DECIDED);
	expect_said(&child, 1, 1, 0, 1);
	other_end(&child, false);
	cr_expect_eq(counters_reap(s.run.counters, NULL, NULL), 0);
	expect_held(&s, "ms1", 1, 0);
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	expect_held(&s, "ms1", 0, 0);
	scene_close(&s);
}

static int act_with_refresh(struct scene *s)
{
	struct cr_ticket own;

	say(cr_refresh(s->cr));
	cr_end(s->thread, &s->ticket, CR_FAILED, 1); /* its parent's: dropped */
	say(cr_route(s->thread, s->service, &s->call, &own));
	say_all(s);
	return HOLD_FOR_EVER;
}

Test(fork, a_child_that_refreshes_has_a_slot_of_its_own_and_drops_its_parent_s_calls)
{
	struct other child;
	struct scene s;

	scene_of_forks(&s, true);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 2);
	child = other_start(&s, act_with_refresh);
	cr_expect_eq(hear(&child), 1);
	cr_expect_eq(hear(&child), 2);
	expect_said(&child, 2, 2, 0, 2);
	expect_held(&s, "ms1", 2, 0);
	cr_expect_eq(counters_reap(s.run.counters, NULL, NULL), 0);
	other_end(&child, true);
	cr_expect_eq(counters_reap(s.run.counters, NULL, NULL), 1);
	expect_held(&s, "ms1", 1, 0);
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	expect_held(&s, "ms1", 0, 0);
	scene_close(&s);
}

static int act_detach(struct scene *s)
{
	cr_detach(s->cr);
	say(1);
	return 0;
}

static int act_refresh_and_detach(struct scene *s)
{
	struct cr_ticket own;

	cr_refresh(s->cr);
	cr_route(s->thread, s->service, &s->call, &own);
	cr_detach(s->cr);
	say(1);
	return 0;
}

static uint64_t generation_of(struct scene *s)
{
	struct cr_ticket ticket;

	cr_route_dry(s->thread, s->service, &s->call, &ticket);
	return ticket.generation;
}

/* With a thread of the library's that is at work. */
static void scene_of_threads(struct scene *s)
{
	scene_of_forks(s, false);
	s->cr = run_attach_with(&s->run, "test", true);
	s->thread = cr_thread_new(s->cr);
	s->service = cr_service(s->cr, "orders");
	run_publish(&s->run, s->plan);
	while (generation_of(s) < 2)
		sched_yield();
}

static void expect_detaching_child_is_harmless(bool has_thread, act_fn *act)
{
	struct other child;
	struct scene s;

	if (has_thread)
		scene_of_threads(&s);
	else
		scene_of_forks(&s, true);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 2);
	child = other_start(&s, act);
	cr_expect_eq(hear(&child), 1);
	other_end(&child, false);
	cr_expect_eq(counters_slots_used(s.run.counters) > 0, true);
	cr_expect_eq(counters_reap(s.run.counters, NULL, NULL), 0);
	expect_held(&s, "ms1", 1, 0);
	run_publish(&s.run, s.plan);
	if (!has_thread)
		cr_expect_eq(cr_refresh(s.cr), 1);
	while (has_thread && generation_of(&s) < 3) /* it is still at work in the parent */
		sched_yield();
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	expect_held(&s, "ms1", 0, 0);
	scene_close(&s);
}

Test(fork, a_child_that_detaches_does_no_harm_to_its_parent)
{
	expect_detaching_child_is_harmless(false, act_detach);
	expect_detaching_child_is_harmless(true, act_detach);
	expect_detaching_child_is_harmless(false, act_refresh_and_detach);
	expect_detaching_child_is_harmless(true, act_refresh_and_detach);
}

static int act_follow(struct scene *s)
{
	say(cr_refresh(s->cr));
	while (generation_of(s) < 3) /* without a refresh of its own */
		sched_yield();
	say(2);
	cr_detach(s->cr);
	return 0;
}

Test(fork, the_library_s_thread_starts_again_in_a_child_that_refreshes)
{
	struct other child;
	struct scene s;

	scene_of_threads(&s);
	child = other_start(&s, act_follow);
	cr_expect_eq(hear(&child), 1);
	run_publish(&s.run, s.plan);
	cr_expect_eq(hear(&child), 2);
	other_end(&child, false);
	scene_close(&s);
}

static int act_draw(struct scene *s)
{
	struct cr_call call = { .now_ns = 0 };

	cr_refresh(s->cr);
	cr_call_now(s->thread, &call);
	say((int64_t)call.random);
	return 0;
}

Test(fork, children_do_not_draw_the_same_numbers)
{
	struct other one, two;
	struct scene s;

	scene_of_forks(&s, true);
	one = other_start(&s, act_draw);
	two = other_start(&s, act_draw);
	cr_expect_neq(hear(&one), hear(&two));
	other_end(&one, false);
	other_end(&two, false);
	scene_close(&s);
}

static int act_publish(struct scene *s)
{
	for (int i = 0; i < 2000; i++) {
		s->orders->router = says(s, i % 2 == 0 ? "say=all\n" : "say=reversed\n");
		run_publish(&s->run, s->plan);
	}
	return 0;
}

static int act_route(struct scene *s)
{
	say(cr_refresh(s->cr) >= 0 && cr_route(s->thread, s->service, &s->call, &s->ticket) == 2 &&
	    cr_service(s->cr, "another") >= 0);
	return 0;
}

Test(fork, a_child_is_sound_whatever_the_library_s_thread_was_doing)
{
	struct other publisher;
	struct scene s;

	scene_of_threads(&s);
	publisher = other_start(&s, act_publish);
	for (int i = 0; i < 60; i++) {
		struct other child = other_start(&s, act_route);

		cr_expect_eq(hear(&child), 1);
		other_end(&child, false);
	}
	other_end(&publisher, true);
	cr_expect_eq(counters_reap(s.run.counters, NULL, NULL), 60);
	expect_held(&s, "ms1", 0, 0);
	expect_held(&s, "ms2", 0, 0);
	scene_close(&s);
}

/* A fork of which libc knows nothing: only the page that the kernel empties tells. */
static struct other other_start_bare(struct scene *s, act_fn *act)
{
	struct other other;
	int pipe_fds[2];

	cr_assert_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	other.pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	cr_assert_geq(other.pid, 0);
	if (other.pid == 0) {
		said_to = pipe_fds[1];
		act(s);
		syscall(SYS_exit_group, 0);
	}
	close(pipe_fds[1]);
	other.from = pipe_fds[0];
	return other;
}

Test(fork, a_child_by_a_bare_system_call_notices_when_it_refreshes_or_detaches)
{
	struct other child;
	struct scene s;

	scene_of_forks(&s, true);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 2);
	child = other_start_bare(&s, act_detach);
	cr_expect_eq(hear(&child), 1);
	other_end(&child, false);
	expect_held(&s, "ms1", 1, 0);
	child = other_start_bare(&s, act_with_refresh);
	cr_expect_eq(hear(&child), 1);
	cr_expect_eq(hear(&child), 2);
	expect_said(&child, 2, 2, 0, 2);
	other_end(&child, false);
	cr_expect_eq(counters_reap(s.run.counters, NULL, NULL), 1);
	expect_held(&s, "ms1", 1, 0);
	scene_close(&s);
}
