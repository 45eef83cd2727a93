/* test_sim_server.c - a simulated server against what can be worked out on paper. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "portable.h"
#include "server.h"

#define JOBS 4096

static struct server_rules rules;
static struct server server;
static struct job job[JOBS];
static uint32_t place[JOBS];

/* What ended, in order. */
static struct {
	uint32_t n, id[64];
	double at_s[64];
	enum cr_outcome outcome[64];
	double sum_s; /* of times since they came */
} ended;

static void note_end(void *arg, uint32_t id, enum cr_outcome outcome)
{
	(void)arg;
	if (ended.n < 64) {
		ended.id[ended.n] = id;
		ended.at_s[ended.n] = server.now_s;
		ended.outcome[ended.n] = outcome;
	}
	ended.n++;
	ended.sum_s += server.now_s - job[id].came_s;
}

/* One core of speed 1, a heap that never fills. */
static void open_server(void)
{
	memset(&ended, 0, sizeof ended);
	memset(place, 0xff, sizeof place);
	rules = (struct server_rules){
		.jvm = { .kind = JVM_NONE, .copy_bytes_per_s = JVM_GB },
		.threads = 200,
		.backlog = 300,
		.garbage = 3,
		.ended = note_end,
	};
	server = (struct server){ .cores = 1, .speed = 1, .victim = dice_new(1, DICE_VICTIM) };
	server_init(&server, &rules, job, place);
	server.jvm = jvm_new(&rules.jvm, 4 * JVM_GB);
}

static void close_server(void)
{
	server_fini(&server);
}

TestSuite(sim_server, .init = open_server, .fini = close_server);

static bool offer(uint32_t id, double now_s, double work_s)
{
	job[id] = (struct job){ .work_s = work_s };
	return server_offer(&server, id, now_s);
}

static void run_until(double end_s)
{
	while (server_next_s(&server) <= end_s)
		server_step(&server, server_next_s(&server));
	server_advance(&server, end_s);
}

static void expect_end(uint32_t n, uint32_t id, double at_s, enum cr_outcome outcome)
{
	cr_expect_eq(ended.id[n], id, "%u. to end is %u, not %u", n, ended.id[n], id);
	cr_expect_float_eq(ended.at_s[n], at_s, 1e-9, "%u ended at %g, not %g", id, ended.at_s[n],
			   at_s);
	cr_expect_eq(ended.outcome[n], outcome);
}

Test(sim_server, calls_share_the_core)
{
	/* alone for 1 s, then both at half speed: the short one needs 2 s for its 1 s */
	offer(1, 0, 3);
	offer(2, 1, 1);
	run_until(100);
	expect_end(0, 2, 3, CR_OK);
	expect_end(1, 1, 4, CR_OK);
	cr_expect_float_eq(server.busy_s, 4, 1e-9);
}

Test(sim_server, a_call_uses_one_core_at_most_and_speed_counts)
{
	server.cores = 4;
	server.speed = 0.5;
	for (uint32_t id = 0; id < 2; id++)
		offer(id, 0, 1);
	run_until(1);
	cr_expect_eq(ended.n, 0);
	for (uint32_t id = 2; id < 8; id++)
		offer(id, 1, 1);
	/* eight on four cores: a quarter of a second's work each second; two have half done */
	run_until(100);
	expect_end(0, 0, 3, CR_OK);
	expect_end(1, 1, 3, CR_OK);
	/* the others have done half by then, and six still share four cores: 1/3 each second */
	expect_end(2, 2, 4.5, CR_OK);
	cr_expect_eq(ended.n, 8);
}

Test(sim_server, a_change_of_speed_takes_effect_at_once)
{
	offer(1, 0, 2);
	server_set_speed(&server, 1, 0.25);
	run_until(100);
	expect_end(0, 1, 5, CR_OK);
}

Test(sim_server, in_the_mean_a_call_takes_1_over_1_minus_load)
{
	struct dice arrivals = dice_new(6, DICE_ARRIVAL), work = dice_new(6, DICE_WORK);
	const double load = 0.5;
	const uint32_t n = 400000;
	double now_s = 0;

	rules.threads = JOBS;
	for (uint32_t i = 0; i < n; i++) {
		now_s += dice_exponential(&arrivals) / load;
		while (server_next_s(&server) <= now_s)
			server_step(&server, server_next_s(&server));
		cr_assert(offer(i % JOBS, now_s, dice_exponential(&work) + 1e-12));
	}
	run_until(now_s + 1000);
	cr_assert_eq(ended.n, n);
	cr_expect_float_eq(ended.sum_s / n, 2, 0.03, "mean %g", ended.sum_s / n);
}

Test(sim_server, beyond_threads_calls_wait_and_beyond_the_backlog_they_are_refused)
{
	rules.threads = 2;
	rules.backlog = 1;
	cr_expect(offer(0, 0, 1));
	cr_expect(offer(1, 0, 1));
	cr_expect(offer(2, 0, 1));
	cr_expect_not(offer(3, 0, 1));
	run_until(100);
	/* two at half speed, then the one that waited */
	expect_end(0, 0, 2, CR_OK);
	expect_end(1, 1, 2, CR_OK);
	expect_end(2, 2, 3, CR_OK);
	cr_expect_eq(ended.n, 3);
}

Test(sim_server, a_call_fills_its_data_while_it_runs_and_holds_it_while_it_sends)
{
	job[1] = (struct job){ .work_s = 2, .bytes = 100, .send_s = 3 };
	server_offer(&server, 1, 0);
	run_until(1);
	cr_expect_float_eq(server_live(&server), 50, 1e-6);
	cr_expect_float_eq(server.jvm.young, 150, 1e-6);
	run_until(4);
	cr_expect_float_eq(server_live(&server), 100, 1e-6);
	run_until(100);
	expect_end(0, 1, 5, CR_OK);
	cr_expect_float_eq(server_live(&server), 0, 1e-6);
}

Test(sim_server, in_a_pause_nobody_computes_but_data_is_sent)
{
	rules.jvm = (struct jvm_rules){ .kind = JVM_PARALLEL,
					.eden = 0.25,
					.eden_least = 0.04,
					.minor_pause_s = 10,
					.copy_bytes_per_s = 1e30,
					.full_at = 0.9,
					.full_room = 0.3,
					.out_at = 0.95 };
	server.jvm = jvm_new(&rules.jvm, 1200);
	/* 100 bytes of data make 300 of garbage: eden is full when its work is done */
	job[1] = (struct job){ .work_s = 4, .bytes = 200, .send_s = 1 };
	job[2] = (struct job){ .work_s = 0.5, .bytes = 1, .send_s = 5 };
	server.cores = 2;
	server_offer(&server, 1, 0);
	server_offer(&server, 2, 0);
	run_until(1000);
	/* the pause begins when 300 bytes are allocated: (3 + 150 t) = 300 */
	expect_end(0, 2, 5.5, CR_OK);
	expect_end(1, 1, 4 + 10 + 1 + 10, CR_OK);
	cr_expect_eq(server.jvm.minors, 2);
}

Test(sim_server, out_of_memory_takes_calls_until_the_rest_fits)
{
	rules.jvm = (struct jvm_rules){ .kind = JVM_PARALLEL,
					.eden = 0.25,
					.eden_least = 0.04,
					.copy_bytes_per_s = 1e30,
					.full_at = 0.5,
					.full_room = 0.3,
					.full_pause_s = 1,
					.out_at = 0.95 };
	server.cores = 10;
	server.jvm = jvm_new(&rules.jvm, 1000);
	for (uint32_t id = 0; id < 3; id++) {
		job[id] = (struct job){ .work_s = 10, .bytes = 500, .send_s = 1 };
		server_offer(&server, id, 0);
	}
	run_until(100);
	cr_expect_eq(server.oom_calls, 2);
	cr_expect_eq(ended.n, 3);
	cr_expect_eq(ended.outcome[0], CR_FAILED);
	cr_expect_eq(ended.outcome[1], CR_FAILED);
	cr_expect_eq(ended.outcome[2], CR_OK);
}

Test(sim_server, a_server_that_dies_fails_all_its_calls_and_refuses_until_it_is_back)
{
	rules.threads = 2;
	for (uint32_t id = 0; id < 3; id++)
		offer(id, 0, 10);
	job[3] = (struct job){ 0 };
	server_kill(&server, 1, 31);
	cr_expect_eq(ended.n, 3);
	for (uint32_t n = 0; n < 3; n++)
		cr_expect_eq(ended.outcome[n], CR_FAILED);
	cr_expect_not(offer(3, 30, 1));
	run_until(31);
	cr_expect(offer(3, 32, 1));
	run_until(100);
	expect_end(3, 3, 33, CR_OK);
}

Test(sim_server, a_call_that_is_to_fail_does_so_in_time_without_any_work)
{
	offer(1, 0, 2);
	cr_expect(server_offer_failing(&server, 2, 0.5, 0.001, CR_TIMED_OUT));
	run_until(100);
	expect_end(0, 2, 0.501, CR_TIMED_OUT);
	expect_end(1, 1, 2, CR_OK);
}

Test(sim_server, counts_calls_that_have_been_there_for_long)
{
	server.cores = 10;
	offer(1, 0, 10);
	offer(2, 1.5, 10);
	run_until(2);
	cr_expect_eq(server_hogs(&server, 1), 1);
	cr_expect_eq(server_calls(&server), 2);
}
