/* test_health_hostile.c - what is in the counters file, and what callers say of time, is believed
 * only as far as it can be: no result without a meaning, no loop without an end, nobody out for
 * good. ./run asan looks for undefined behaviour meanwhile. */
#include "health_scene.h"

/* The last by name: Criterion forgets 48 bytes of its own if the longest suite is not. */
TestSuite(wild_bytes, .timeout = 200);
TestSuite(times, .timeout = 100);
TestSuite(dry, .timeout = 100);
TestSuite(leases, .timeout = 100);

#define HOUR (3600 * S)
#define DAY  (24 * HOUR)

/** What may stand in any word of the file: extremes, times that were, will be and never are, each
 * with all kinds of what shuts. */
static const uint64_t patterns[] = {
	0,
	1,
	3,
	UINT64_MAX,
	UINT64_MAX - 3,
	INT64_MAX,
	(uint64_t)INT64_MAX + 1,
	(uint64_t)INT64_MAX + 4,
	UINT64_C(0xaaaaaaaaaaaaaaaa),
	UINT64_C(0x5555555555555555),
	NOW_NS - 4,
	NOW_NS,
	NOW_NS + 1,
	NOW_NS + 2,
	NOW_NS + 3,
	NOW_NS + 5 * S,
	NOW_NS + 5 * S + 1,
	NOW_NS + 5 * S + 2,
	NOW_NS + 5 * S + 3,
	NOW_NS + 59 * DAY + 1,
	NOW_NS + 59 * DAY + 2,
	NOW_NS + 59 * DAY + 3,
	NOW_NS + 61 * DAY + 1,
	NOW_NS + 61 * DAY + 2,
	NOW_NS + 61 * DAY + 3,
};

#define PATTERNS (sizeof patterns / sizeof *patterns)

static const int64_t times[] = { 0,         1,       NOW_NS,   NOW_NS + 6 * S, INT64_MAX / 2,
				 INT64_MAX, -NOW_NS, INT64_MIN };

#define TIMES (sizeof times / sizeof *times)

/* Every field of health in the line, some of them in step and some not. */
static void spoil(struct counters_line *line, size_t k)
{
	const uint64_t one = patterns[k % PATTERNS], other = patterns[k / PATTERNS % PATTERNS];

	atomic_store(&line->shut, one);
	atomic_store(&line->down_until_ns, (int64_t)other);
	atomic_store(&line->consecutive, (uint32_t)one);
	atomic_store(&line->refusals, (uint32_t)other);
	atomic_store(&line->failures, other);
	__atomic_store_n(&line->live.up_since_ns, (int64_t)patterns[(k + 7) % PATTERNS],
			 __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.failure_ns, (int64_t)other, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.failure_ppm, (uint32_t)one, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.latency_ns, (int64_t)one, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.inflight, (uint32_t)one, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.peer_inflight, (uint32_t)other, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.inflight_bytes, (int64_t)one, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.peer_bytes, (int64_t)other, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.state, (uint32_t)one, __ATOMIC_RELAXED);
}

static void spoil_all(struct scene *s, size_t k)
{
	for (uint32_t i = 0; i < s->plan->n_servers; i++)
		spoil(run_line(&s->run, s->plan->server[i].name), k + i * (PATTERNS + 1));
	atomic_store(counters_trouble(s->run.counters), patterns[k % PATTERNS]);
}

static void read_all(struct scene *s, int64_t now_ns)
{
	for (uint32_t i = 0; i < s->plan->n_servers; i++) {
		const struct counters_line *line = run_line(&s->run, s->plan->server[i].name);
		const double ramp = health_ramp(line, 30 * S, now_ns);

		cr_expect_geq(health_left_ns(line, now_ns), 0);
		cr_expect_leq(health_left_ns(line, now_ns), HEALTH_FAR_NS);
		cr_expect(ramp >= 0.1 && ramp <= 1);
		cr_expect(health_state(line, now_ns) >= CR_UP &&
			  health_state(line, now_ns) <= CR_DOWN);
	}
}

/* A call to the end of its list, with all outcomes. */
static void live_through(struct scene *s, size_t k)
{
	static const int64_t latency_ns[] = { -1, 0, 1, S, DAY, INT64_MAX, INT64_MIN };
	struct cr_ticket ticket;
	size_t n = 0;

	cr_assert_gt(cr_route_dry(s->thread, s->service, &s->call, &ticket), 0);
	cr_assert_gt(cr_route(s->thread, s->service, &s->call, &ticket), 0);
	if (k % 3 == 0)
		while (cr_next(s->thread, &ticket, (enum cr_outcome)(k++ % 5)) != NULL)
			cr_assert_lt(++n, 16u);
	cr_end(s->thread, &ticket, (enum cr_outcome)(k % 5), latency_ns[k % 7]);
}

static const char *const routers[] = { "random", "least_connections", "round_robin" };

static void scene_of_router(struct scene *s, const char *router)
{
	struct image_health health = usual_health;

	health.slow_start_ns = 30 * S;
	scene_of_health(s, 4, health);
	s->orders->router = plan_route(router, run_stage(&s->run, PLUGINS_DIR, router, 60), 60);
	s->orders->router.shared_words = 1;
	scene_publish(s);
}

/*** Any bytes ***/

Test(wild_bytes, whatever_stands_in_the_lines_calls_are_routed_and_ended_at_any_time)
{
	for (size_t r = 0; r < sizeof routers / sizeof *routers; r++) {
		struct scene s;

		scene_of_router(&s, routers[r]);
		for (size_t k = 0; k < PATTERNS * PATTERNS; k++) {
			spoil_all(&s, k);
			for (size_t t = 0; t < TIMES; t++) {
				s.call.now_ns = times[t];
				s.call.random = cr_mix64(k);
				read_all(&s, times[t]);
				live_through(&s, k + t);
			}
		}
		scene_close(&s);
	}
}

Test(wild_bytes, whatever_stands_in_a_line_a_check_and_the_operator_bring_it_back)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	for (size_t k = 0; k < PATTERNS * PATTERNS; k++) {
		struct counters_line *line = run_line(&s.run, "ms1");

		spoil(line, k);
		health_check_failed(s.run.counters, line, NOW_NS + 9 * S);
		cr_expect_eq(health_state(line, NOW_NS), CR_DOWN);
		health_check_passed(s.run.counters, line, NOW_NS);
		cr_expect_neq(health_state(line, NOW_NS), CR_DOWN);
		health_restore(s.run.counters, line, NOW_NS);
		cr_expect_eq(health_state(line, NOW_NS), CR_UP);
		cr_expect_eq(shown_state(&s, "ms1"), CR_UP);
		cr_expect_str_eq(list_now(&s), "ms1 ms2");
	}
	scene_close(&s);
}

/* Failures are counted, whenever the file says that the server came up. */
Test(wild_bytes, no_start_of_a_server_keeps_its_failures_from_counting_for_ever)
{
	for (size_t k = 0; k < PATTERNS; k++) {
		struct scene s;
		struct counters_line *line;

		scene_of_health(&s, 2, usual_health);
		line = run_line(&s.run, "ms1");
		__atomic_store_n(&line->live.up_since_ns, (int64_t)patterns[k], __ATOMIC_RELAXED);
		at(&s, 10);
		calls_now(&s, 10, CR_FAILED);
		cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED, "%zu", k);
		scene_close(&s);
	}
}

Test(wild_bytes, a_number_of_troubles_hides_nothing_from_a_new_state)
{
	for (size_t k = 0; k < PATTERNS; k++) {
		struct scene s;

		scene_of_health(&s, 2, usual_health);
		atomic_store(&run_line(&s.run, "ms1")->shut,
			     health_word(HEALTH_EJECTED, NOW_NS + 9 * S));
		atomic_store(counters_trouble(s.run.counters), patterns[k]);
		scene_publish(&s);
		cr_expect_str_eq(list_now(&s), "ms2", "%zu", k);
		scene_close(&s);
	}
}

Test(wild_bytes, a_lease_that_no_trial_has_is_over)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	atomic_store(&run_line(&s.run, "ms1")->shut,
		     health_word(HEALTH_TRIAL, NOW_NS + HEALTH_LEASE_NS));
	atomic_fetch_add(counters_trouble(s.run.counters), 1);
	cr_expect_str_eq(list_now(&s), "ms2");
	atomic_store(&run_line(&s.run, "ms1")->shut, health_word(HEALTH_TRIAL, NOW_NS + 2 * HOUR));
	atomic_fetch_add(counters_trouble(s.run.counters), 1);
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	scene_close(&s);
}

/*** Times ***/

Test(times, a_share_of_failures_from_a_time_to_come_fades_with_the_next_result)
{
	static const int64_t then[] = { NOW_NS + 2 * DAY, INT64_MAX, INT64_MIN, -1 };
	struct scene s;

	scene_of_health(&s, 1, usual_health);
	for (size_t k = 0; k < sizeof then / sizeof *then; k++) {
		struct cr_live *live = &run_line(&s.run, "ms1")->live;

		__atomic_store_n(&live->failure_ppm, 900000, __ATOMIC_RELAXED);
		__atomic_store_n(&live->failure_ns, then[k], __ATOMIC_RELAXED);
		call_now(&s, CR_FAILED);
		cr_expect_eq(__atomic_load_n(&live->failure_ppm, __ATOMIC_RELAXED), 100000);
		cr_expect_eq(__atomic_load_n(&live->failure_ns, __ATOMIC_RELAXED), NOW_NS);
	}
	scene_close(&s);
}

Test(times, of_a_later_thread_are_kept)
{
	struct cr_live *live;
	struct scene s;

	scene_of_health(&s, 1, usual_health);
	live = &run_line(&s.run, "ms1")->live;
	at(&s, 1);
	call_now(&s, CR_FAILED);
	at(&s, 0);
	call_now(&s, CR_FAILED);
	cr_expect_eq(__atomic_load_n(&live->failure_ppm, __ATOMIC_RELAXED), 190000);
	cr_expect_eq(__atomic_load_n(&live->failure_ns, __ATOMIC_RELAXED), NOW_NS + S);
	scene_close(&s);
}

Test(times, that_no_call_takes_change_no_mean)
{
	struct cr_live *live;
	struct scene s;

	scene_of_health(&s, 1, usual_health);
	live = &run_line(&s.run, "ms1")->live;
	for (int i = 0; i < 2; i++) {
		cr_route(s.thread, s.service, &s.call, &s.ticket);
		cr_end(s.thread, &s.ticket, CR_OK, i == 0 ? 5 * S : INT64_MAX);
		cr_expect_eq(__atomic_load_n(&live->latency_ns, __ATOMIC_RELAXED), 5 * S);
	}
	scene_close(&s);
}

/*** Dry calls ***/

static void take_down(struct scene *s, double seconds)
{
	health_check_failed(s->run.counters, run_line(&s->run, "ms1"),
			    NOW_NS + (int64_t)(seconds * 1e9));
}

Test(dry, at_a_time_to_come_calms_no_call_of_now)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	take_down(&s, 9);
	at(&s, 100);
	cr_expect_str_eq(list_now(&s), "ms1 ms2");
	at(&s, 1);
	cr_expect_str_eq(call_now(&s, CR_OK), "ms2");
	scene_close(&s);
}

Test(dry, at_a_time_to_come_is_not_when_a_call_of_now_ends)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	at(&s, 1000);
	list_now(&s);
	cr_end(s.thread, &s.ticket, CR_REFUSED_CONNECTION, -1);
	cr_expect_eq(health_until_ns(run_line(&s.run, "ms1"), NOW_NS), NOW_NS + 2 * S);
	scene_close(&s);
}

/*** Leases ***/

/* Each call takes a minute, and there is always one on its way. */
Test(leases, calls_that_take_longer_than_a_lease_bring_a_server_back)
{
	static const enum cr_outcome good[] = { CR_OK, CR_FAILED };

	for (int i = 0; i < 2; i++) {
		struct image_health health = usual_health;
		struct cr_ticket first, second;
		struct scene s;

		health.counts =
			IMAGE_COUNTS_TIMEOUT; /* a failure that is not counted is an answer */
		scene_of_health(&s, 3, health);
		calls_now(&s, 10, CR_TIMED_OUT);
		at(&s, 200);
		cr_route(s.thread, s.service, &s.call, &first);
		at(&s, 231);
		cr_route(s.thread, s.service, &s.call, &second);
		cr_expect_str_eq(first.server[0]->name, "ms1");
		cr_expect_str_eq(second.server[0]->name, "ms1");
		at(&s, 260);
		cr_end(s.thread, &first, good[i], 60 * S);
		cr_expect_eq(state_of(&s, "ms1"), CR_UP);
		cr_end(s.thread, &second, CR_TIMED_OUT, 60 * S);
		cr_expect_eq(state_of(&s, "ms1"), CR_UP);
		scene_close(&s);
	}
}

Test(leases, a_late_failure_ends_nobody_elses_trial)
{
	static const enum cr_outcome bad[] = { CR_FAILED, CR_TIMED_OUT, CR_REFUSED_CONNECTION,
					       CR_ABANDONED };

	for (int i = 0; i < 4; i++) {
		struct cr_ticket first, second;
		struct scene s;

		scene_of_health(&s, 3, usual_health);
		calls_now(&s, 10, CR_FAILED);
		at(&s, 200);
		cr_route(s.thread, s.service, &s.call, &first);
		at(&s, 231);
		cr_route(s.thread, s.service, &s.call, &second);
		cr_end(s.thread, &first, bad[i], -1);
		cr_expect_eq(state_of(&s, "ms1"), CR_TRIAL);
		cr_expect_str_eq(list_now(&s), "ms2 ms3");
		cr_end(s.thread, &second, CR_OK, -1);
		cr_expect_eq(state_of(&s, "ms1"), CR_UP);
		scene_close(&s);
	}
}

Test(leases, a_late_success_does_not_open_what_was_shut_meanwhile)
{
	struct cr_ticket first, second;
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	calls_now(&s, 10, CR_FAILED);
	at(&s, 200);
	cr_route(s.thread, s.service, &s.call, &first);
	at(&s, 231);
	cr_route(s.thread, s.service, &s.call, &second);
	cr_end(s.thread, &second, CR_FAILED, -1);
	cr_end(s.thread, &first, CR_OK, -1);
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	scene_close(&s);
}
