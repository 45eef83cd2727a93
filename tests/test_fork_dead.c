/* test_fork_dead.c - what a dead data plane held is given back, and what killed it is remembered.
 */
#include "attachment.h"
#include "other_process.h"

TestSuite(fork_dead, .timeout = 100);

static int act_attach_and_hold(struct scene *s)
{
	scene_attach(s);
	s->call.cost_bytes = 300;
	say(cr_route(s->thread, s->service, &s->call, &s->ticket));
	return HOLD_FOR_EVER;
}

static int act_in_a_pid_namespace(struct scene *s)
{
	pid_t pid = unshare(CLONE_NEWPID) < 0 ? -1 : fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return act_attach_and_hold(s);
	}
	if (pid < 0)
		say(-1);
	else
		waitpid(pid, NULL, 0);
	return HOLD_FOR_EVER;
}

static void keep_death(void *arg, const struct counters_death *death)
{
	*(struct counters_death *)arg = *death;
}

static void expect_given_back(act_fn *act)
{
	struct counters_death death = { 0 };
	struct other other;
	struct scene s;
	int64_t said;

	scene_of_forks(&s, false);
	other = other_start(&s, act);
	said = hear(&other);
	if (said < 0) {
		other_end(&other, true);
		scene_close(&s);
		cr_skip("no new pid namespace may be made here");
	}
	cr_expect_eq(said, 2);
	expect_held(&s, "ms1", 1, 300);
	cr_expect_eq(counters_reap(s.run.counters, keep_death, &death), 0);
	other_end(&other, true);
	/* the one in the namespace dies after its parent */
	while (counters_reap(s.run.counters, keep_death, &death) == 0)
		sched_yield();
	cr_expect_str_eq(death.program, "test");
	cr_expect_eq(death.inflight, 1);
	cr_expect_eq(death.running_seq[0], 0);
	expect_held(&s, "ms1", 0, 0);
	cr_expect_eq(counters_slots_used(s.run.counters), 0);
	scene_close(&s);
}

Test(fork_dead, what_a_killed_process_held_is_given_back)
{
	expect_given_back(act_attach_and_hold);
}

Test(fork_dead, what_a_process_in_another_pid_namespace_held_is_given_back_too)
{
	expect_given_back(act_in_a_pid_namespace);
}

/* As if another thread were in a route() at that moment. */
static int act_exit_in_route(struct scene *s)
{
	scene_attach(s);
	say(cr_route(s->thread, s->service, &s->call, &s->ticket));
	atomic_store_explicit(&counters_row(s->cr->mapping->counters)->running[0], 9,
			      memory_order_relaxed);
	exit(0);
}

Test(fork_dead, a_process_that_exits_without_detaching_blames_no_router)
{
	struct counters_death death = { .running_seq = { 1 }, .loaded_seq = 1 };
	struct other other;
	struct scene s;

#ifdef __SANITIZE_ADDRESS__
	cr_skip("the leak check would complain of what the test itself has in its child");
#endif
	scene_of_forks(&s, false);
	other = other_start(&s, act_exit_in_route);
	cr_expect_eq(hear(&other), 2);
	other_end(&other, false);
	cr_assert_eq(counters_reap(s.run.counters, keep_death, &death), 1);
	cr_expect_eq(death.inflight, 1);
	cr_expect_eq(death.running_seq[0], 0);
	cr_expect_eq(death.loaded_seq, 0);
	cr_expect_not(counters_is_quarantined(s.run.counters, 9));
	scene_close(&s);
}

/* A master with a worker: the worker lives on, with or without ever having refreshed. */
static int act_as_master(struct scene *s, bool worker_refreshes)
{
	pid_t pid;

	scene_attach(s);
	cr_route(s->thread, s->service, &s->call, &s->ticket);
	pid = fork();
	if (pid == 0) {
		if (worker_refreshes) {
			cr_refresh(s->cr);
			cr_route(s->thread, s->service, &s->call, &s->ticket);
		}
		say(getpid());
	}
	return HOLD_FOR_EVER;
}

static int act_master_of_idle(struct scene *s)
{
	return act_as_master(s, false);
}

static int act_master_of_busy(struct scene *s)
{
	return act_as_master(s, true);
}

static void expect_death_of_master_is_noticed(act_fn *act, uint32_t worker_calls)
{
	struct counters_death death = { 0 };
	struct other master;
	struct scene s;
	pid_t worker;

	scene_of_forks(&s, false);
	master = other_start(&s, act);
	worker = (pid_t)hear(&master);
	expect_held(&s, "ms1", 1 + worker_calls, 0);
	other_end(&master, true);
	cr_expect_eq(kill(worker, 0), 0, "the worker lives");
	cr_expect_eq(counters_reap(s.run.counters, keep_death, &death), 1);
	cr_expect_eq(death.inflight, 1);
	cr_expect_eq(death.pid, master.pid);
	expect_held(&s, "ms1", worker_calls, 0);
	kill(worker, SIGKILL);
	while (worker_calls > 0 && counters_reap(s.run.counters, keep_death, &death) == 0)
		sched_yield();
	expect_held(&s, "ms1", 0, 0);
	scene_close(&s);
}

Test(fork_dead, a_parent_s_death_is_noticed_while_its_child_lives)
{
	expect_death_of_master_is_noticed(act_master_of_idle, 0);
	expect_death_of_master_is_noticed(act_master_of_busy, 1);
}

static int act_die_in_route(struct scene *s)
{
	scene_attach(s);
	s->call.method = (struct cr_str){ "die", 3 };
	cr_route(s->thread, s->service, &s->call, &s->ticket);
	return HOLD_FOR_EVER;
}

Test(fork_dead, whoever_attaches_after_a_crash_in_route_does_not_ask_that_router)
{
	struct other other;
	struct scene s;

	scene_open(&s, 2);
	s.orders->router = probe(&s, "");
	s.orders->preset = says(&s, "say=reversed\n");
	run_publish(&s.run, s.plan);
	other = other_start(&s, act_die_in_route);
	waitpid(other.pid, NULL, 0);
	close(other.from);
	scene_attach(&s); /* no daemon has looked */
	expect_call(&s, "ms2 ms1", CR_DEFAULT_DECIDED, CR_REASON_QUARANTINED);
	cr_expect_eq(count_mappings("probe.2.so"), 0);
	scene_close(&s);
}
