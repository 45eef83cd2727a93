/* test_counters_dead.c - what dead processes held is given back, what killed them is remembered. */
#include <pthread.h>

#include "counters_scene.h"

static void act_run(struct counters *c)
{
	counters_hold_add(c, 3, 7);
	atomic_store(&counters_row(c)->running[5], 42);
	atomic_store(&counters_slot(c, (uint32_t)counters_slot_number(c))->loaded_seq, 43);
	atomic_store(&counters_slot(c, (uint32_t)counters_slot_number(c))->loaded_ns, 44);
}

static void keep_death(void *arg, const struct counters_death *death)
{
	*(struct counters_death *)arg = *death;
}

/*** The dead ***/

static void expect_death_is_noticed(struct scene *s, const struct other *other, int32_t pid)
{
	struct counters_death death = { 0 };

	cr_expect(counters_is_alive(s->daemon, (uint32_t)other->slot));
	cr_expect_eq(counters_reap(s->daemon, keep_death, &death), 0);
	expect_totals(s->daemon, 3, 2, 1500);
	other_kill(other);
	cr_expect_not(counters_is_alive(s->daemon, (uint32_t)other->slot));
	cr_expect_eq(counters_reap(s->daemon, keep_death, &death), 1);
	cr_expect_eq(death.slot, (uint32_t)other->slot);
	cr_expect_eq(death.pid, pid);
	cr_expect_str_eq(death.program, "other");
	cr_expect_eq(death.inflight, 3);
	cr_expect_eq(death.running_seq[0], 0);
	expect_totals(s->daemon, 3, 0, 0);
	expect_totals(s->daemon, 16383, 0, 0);
	cr_expect_eq(counters_reap(s->daemon, keep_death, &death), 0);
	cr_expect_eq(counters_slots_used(s->daemon), 0);
}

Test(counters, a_killed_process_is_found_and_what_it_held_given_back)
{
	struct scene s;
	struct other other;

	scene_open(&s);
	other = other_start(&s, act_hold);
	expect_death_is_noticed(&s, &other, other.pid);
	scene_close(&s);
}

Test(counters, a_process_in_another_pid_namespace_is_found_dead_too)
{
	struct scene s;
	struct other other;

	scene_open(&s);
	other = other_start_apart(&s, act_hold);
	if (other.pid > 0)
		expect_death_is_noticed(&s, &other, 1); /* there it is number 1 */
	else
		waitpid(other.child, NULL, 0);
	scene_close(&s);
	if (other.pid < 0)
		cr_skip_test("needs root: a pid namespace of its own");
}

Test(counters, what_the_living_hold_stays_when_another_dies)
{
	struct scene s;
	struct other other, second;

	scene_open(&s);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_add(s.plane, 3, 10);
	other = other_start(&s, act_hold);
	second = other_start(&s, act_hold);
	expect_totals(s.daemon, 3, 5, 3010);
	other_kill(&other);
	cr_expect_eq(counters_reap(s.daemon, NULL, NULL), 1);
	expect_totals(s.daemon, 3, 3, 1510);
	other_kill(&second);
	cr_expect_eq(counters_reap(s.daemon, NULL, NULL), 1);
	expect_totals(s.daemon, 3, 1, 10);
	scene_close(&s);
}

Test(counters, a_dead_process_with_an_impossible_ledger_leaves_no_total_below_zero)
{
	struct scene s;
	struct other other;
	struct counters_row *row;

	scene_open(&s);
	other = other_start(&s, act_hold);
	cr_assert_eq(counters_map_row(s.plane, (uint32_t)other.slot, &row), 0);
	row->hold[3].inflight = UINT32_MAX;
	row->hold[3].bytes = INT64_MIN;
	row->hold[16383].bytes = INT64_MAX;
	counters_unmap_row(row);
	memset(counters_slot(s.plane, (uint32_t)other.slot)->program, 'x', 32);
	other_kill(&other);
	cr_expect_eq(counters_audit(s.daemon), 0);
	cr_expect_eq(counters_reap(s.daemon, NULL, NULL), 1);
	expect_totals(s.daemon, 3, 0, 1500);
	expect_totals(s.daemon, 16383, 0, 0);
	cr_expect_eq(counters_line_of(s.daemon, "a", NULL), 0);
	scene_close(&s);
}

/*** Crashes in route() ***/

Test(counters, a_file_in_whose_route_a_process_died_is_quarantined)
{
	struct scene s;
	struct other other;

	scene_open(&s);
	other = other_start(&s, act_run);
	cr_expect_eq(counters_inquest(s.plane), 0, "it lives: it may come out of route() again");
	cr_expect_not(counters_is_quarantined(s.plane, 42));
	other_kill(&other);
	cr_expect_eq(counters_inquest(s.plane), 1);
	cr_expect(counters_is_quarantined(s.plane, 42));
	cr_expect(counters_is_quarantined(s.daemon, 42));
	cr_expect_not(counters_is_quarantined(s.plane, 43));
	cr_expect_not(counters_is_quarantined(s.plane, 0));
	expect_totals(s.daemon, 3, 1, 7); /* giving back is the daemon's */
	scene_close(&s);
}

Test(counters, reaping_quarantines_and_reports_what_ran)
{
	struct scene s;
	struct counters_death death = { 0 };
	struct other other;

	scene_open(&s);
	other = other_start(&s, act_run);
	other_kill(&other);
	cr_expect_eq(counters_reap(s.daemon, keep_death, &death), 1);
	cr_expect_eq(death.running_seq[0], 42);
	cr_expect_eq(death.loaded_seq, 43);
	cr_expect_eq(death.loaded_ns, 44);
	cr_expect(counters_is_quarantined(s.plane, 42));
	cr_expect_eq(counters_inquest(s.plane), 0);
	scene_close(&s);
}

static int test_lives[2]; /* a pipe: readable when the test has closed its end */

/* Leaves a child behind that has let go of its parent's slot and lives as long as the test. */
static void act_fork(struct counters *c)
{
	int ready[2];
	char byte = 0;

	act_run(c);
	if (pipe2(ready, O_CLOEXEC) < 0)
		_exit(1);
	if (fork() == 0) {
		close(test_lives[1]);
		counters_disown(c);
		if (write(ready[1], &byte, 1) == 1 && read(test_lives[0], &byte, 1) == 0)
			_exit(0);
		_exit(1);
	}
	if (read(ready[0], &byte, 1) != 1)
		_exit(1);
}

Test(counters, a_parents_death_is_noticed_though_its_child_lives)
{
	struct scene s;
	struct counters_death death = { 0 };
	struct other other;

	scene_open(&s);
	cr_assert_eq(pipe2(test_lives, O_CLOEXEC), 0);
	other = other_start(&s, act_fork);
	other_kill(&other);
	cr_expect_eq(counters_reap(s.daemon, keep_death, &death), 1);
	cr_expect_eq(death.pid, other.pid);
	cr_expect_eq(death.inflight, 1);
	expect_totals(s.daemon, 3, 0, 0);
	close(test_lives[1]);
	close(test_lives[0]);
	scene_close(&s);
}

Test(counters, a_process_that_runs_a_route_itself_does_not_accuse_itself)
{
	struct scene s;

	scene_open(&s);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	atomic_store(&counters_row(s.plane)->running[0], 42);
	cr_expect_eq(counters_inquest(s.plane), 0);
	cr_expect_eq(counters_inquest(s.daemon), 0);
	cr_expect_not(counters_is_quarantined(s.plane, 42));
	scene_close(&s);
}

Test(counters, a_full_quarantine_forgets_the_oldest_file)
{
	struct scene s;

	scene_open(&s);
	for (uint64_t seq = 101; seq <= 164; seq++) {
		const uint64_t mark = counters_quarantine_mark(s.daemon);

		counters_quarantine(s.plane, seq);
		cr_expect_neq(counters_quarantine_mark(s.daemon), mark);
		counters_quarantine(s.plane, 101); /* known: nothing changes */
	}
	cr_expect(counters_is_quarantined(s.plane, 101));
	counters_quarantine(s.plane, 165);
	cr_expect_not(counters_is_quarantined(s.plane, 101));
	cr_expect(counters_is_quarantined(s.plane, 102));
	cr_expect(counters_is_quarantined(s.plane, 165));
	scene_close(&s);
}

/*** All at once ***/

#define THREADS 4
#define ROUNDS  20000

static void *count_calls(void *arg)
{
	struct counters *c = arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		counters_hold_add(c, i % 8, 1 + i % 3);
		counters_hold_add(c, (i + 1) % 8, 7);
		counters_hold_drop(c, i % 8, 1 + i % 3);
		counters_hold_drop(c, (i + 1) % 8, 7);
	}
	return NULL;
}

static int count_in_process(const struct scene *s)
{
	pthread_t thread[THREADS];
	struct counters *c;

	if (counters_open(s->folder.path, false, &c, NULL) < 0 || counters_claim(c, "count") < 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, count_calls, c) != 0)
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	/* Nothing is left in the ledger, so closing has nothing to give back. */
	for (uint32_t i = 0; i < 8; i++)
		if (counters_row(c)->hold[i].inflight != 0 || counters_row(c)->hold[i].bytes != 0)
			return 3;
	counters_close(c);
	return 0;
}

Test(counters, two_processes_of_four_threads_end_at_exactly_zero)
{
	struct scene s;
	pid_t child[2];
	int status;

	scene_open(&s);
	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		cr_assert_geq(child[i], 0);
		if (child[i] == 0)
			_exit(count_in_process(&s));
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(waitpid(child[i], &status, 0), child[i]);
		cr_expect_eq(status, 0, "%x", (unsigned)status);
	}
	for (uint32_t i = 0; i < 8; i++)
		expect_totals(s.daemon, i, 0, 0);
	scene_close(&s);
}

/* Lives for a few calls and dies in the middle of them. */
static void die_young(const struct scene *s, uint64_t seed)
{
	struct counters *c;

	if (counters_open(s->folder.path, false, &c, NULL) < 0 || counters_claim(c, "young") < 0)
		_exit(1);
	for (uint64_t i = 0; i < 10 + seed % 50; i++)
		counters_hold_add(c, (uint32_t)((seed + i) % 8), 3);
	_exit(0);
}

Test(counters, processes_that_come_and_die_while_the_daemon_reaps_leave_nothing)
{
	struct scene s;
	pid_t child[3];
	int status;

	scene_open(&s);
	for (int i = 0; i < 3; i++) {
		child[i] = fork();
		cr_assert_geq(child[i], 0);
		for (uint64_t k = 0; child[i] == 0 && k < 60; k++) {
			const pid_t young = fork();

			if (young == 0)
				die_young(&s, 60 * (uint64_t)i + k);
			if (waitpid(young, &status, 0) != young || status != 0)
				_exit(1);
		}
		if (child[i] == 0)
			_exit(0);
	}
	for (int alive = 3; alive > 0;) {
		counters_reap(s.daemon, NULL, NULL);
		counters_audit(s.daemon);
		if (waitpid(-1, &status, WNOHANG) > 0) {
			cr_expect_eq(status, 0);
			alive--;
		}
	}
	counters_reap(s.daemon, NULL, NULL);
	cr_expect_eq(counters_slots_used(s.daemon), 0);
	for (uint32_t i = 0; i < 8; i++)
		expect_totals(s.daemon, i, 0, 0);
	scene_close(&s);
}
