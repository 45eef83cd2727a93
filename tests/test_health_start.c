/* test_health_start.c - slow start: a server that comes up is neither flooded nor starved, whatever
 * router there is. Calls come in virtual time, 1000 a second, and last as long as makes the wanted
 * number in progress. */
#include "health_scene.h"

TestSuite(slow_start, .timeout = 100);

#define CALLS_PER_S 1000
#define RAMP_S      10

/** What ms1 got in each second, and the most that it had in progress then. */
struct course {
	unsigned calls[2 * RAMP_S], most[2 * RAMP_S];
};

static void scene_of_start(struct scene *s, uint32_t n, const char *router)
{
	struct image_health health = usual_health;

	health.slow_start_ns = RAMP_S * S;
	scene_of_health(s, n, health);
	s->orders->router = plan_route(router, run_stage(&s->run, PLUGINS_DIR, router, 50), 50);
	s->orders->router.shared_words = 1;
	s->orders->router.options = strcmp(router, "round_robin") == 0 ? NULL : "failure_calls=0\n";
	scene_publish(s);
}

/* n servers with so many calls in progress each, and ms1 comes up when the others have theirs. */
static struct course run_course(struct scene *s, uint32_t n, uint32_t calls_each)
{
	const size_t n_open = (size_t)n * calls_each;
	struct cr_ticket *open = calloc(n_open, sizeof *open);
	struct course course = { { 0 }, { 0 } };
	uint64_t draw = 42;

	cr_assert_not_null(open);
	s->plan->server[0].weight = 0; /* it is not there yet */
	scene_publish(s);
	for (size_t i = 0; i < n_open; i++) {
		s->call.random = cr_draw(&draw);
		cr_route(s->thread, s->service, &s->call, &open[i]);
	}
	s->plan->server[0].weight = 1;
	scene_publish(s);
	health_begin(s->run.counters, run_line(&s->run, "ms1"), NOW_NS);
	for (unsigned i = 0; i < 2 * RAMP_S * CALLS_PER_S; i++) {
		struct cr_ticket *ticket = &open[i % n_open];
		const unsigned second = i / CALLS_PER_S;
		uint32_t inflight;

		s->call.now_ns = NOW_NS + i * (S / CALLS_PER_S);
		s->call.random = cr_draw(&draw);
		cr_end(s->thread, ticket, CR_OK, -1);
		cr_route(s->thread, s->service, &s->call, ticket);
		course.calls[second] += strcmp(ticket->server[0]->name, "ms1") == 0;
		inflight = run_inflight(&s->run, "ms1");
		if (inflight > course.most[second])
			course.most[second] = inflight;
	}
	for (size_t i = 0; i < n_open; i++)
		cr_end(s->thread, &open[i], CR_OK, -1);
	free(open);
	return course;
}

/** What is to be expected of ms1 among n servers with 50 calls in progress each. */
struct expected {
	uint32_t n;
	unsigned first_least,
		first_most;             /* calls of the first second; with a ramp of 0.1 to 0.19 */
	unsigned first_open;            /* in progress then: 0.19 of the others' mean, and one */
	unsigned fair_least, fair_most; /* calls of a second after the start */
};

static const struct expected expected[] = { { 2, 50, 150, 20, 500, 500 },
					    { 8, 8, 45, 11, 110, 140 },
					    { 64, 1, 15, 11, 9, 25 } };

static void expect_course(const char *router, const struct expected *want)
{
	struct course course;
	struct scene s;

	scene_of_start(&s, want->n, router);
	course = run_course(&s, want->n, 50);
	cr_expect_geq(course.calls[0], want->first_least, "%u: starved", want->n);
	cr_expect_leq(course.calls[0], want->first_most, "%u: flooded", want->n);
	cr_expect_leq(course.most[0], want->first_open, "%u: %u at once", want->n, course.most[0]);
	for (int i = 0; i < RAMP_S; i++) /* the whole ramp, for its mean at the end of a second */
		cr_expect_leq(course.most[i],
			      (19u + 9u * (unsigned)i) * 50 * want->n / (want->n - 1) / 100 + 1,
			      "%u, second %d: %u at once", want->n, i, course.most[i]);
	for (int i = RAMP_S + 2; i < 2 * RAMP_S; i++) {
		cr_expect_geq(course.calls[i], want->fair_least, "%u, second %d", want->n, i);
		cr_expect_leq(course.calls[i], want->fair_most, "%u, second %d", want->n, i);
	}
	scene_close(&s);
}

Test(slow_start, round_robin_neither_floods_nor_starves_a_new_server)
{
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		expect_course("round_robin", &expected[i]);
}

Test(slow_start, least_connections_neither_floods_nor_starves_a_new_server)
{
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		expect_course("least_connections", &expected[i]);
}

Test(slow_start, without_it_least_connections_sends_all_calls_to_a_new_server)
{
	struct course course;
	struct scene s;

	scene_of_start(&s, 8, "least_connections");
	s.orders->health.slow_start_ns = 0;
	course = run_course(&s, 8, 50);
	cr_expect_geq(course.most[0], 50);
	cr_expect_geq(course.calls[0], 125);
	scene_close(&s);
}

Test(slow_start, a_server_among_idle_ones_gets_one_call_at_a_time)
{
	struct course course;
	struct scene s;

	scene_of_start(&s, 64, "least_connections");
	course = run_course(&s, 64, 1);
	cr_expect_eq(course.most[0], 1);
	cr_expect_geq(course.calls[0], 1);
	cr_expect_leq(course.calls[0], 20);
	scene_close(&s);
}

/*** Lists: the router takes the servers by name ***/

static void scene_of_lists(struct scene *s, uint32_t n)
{
	struct image_health health = usual_health;

	health.slow_start_ns = RAMP_S * S;
	scene_of_health(s, n, health);
}

/* Of 1000 calls, how many have ms1 first? The others' order stays as it was. */
static int count_first(struct scene *s, const char *first, const char *stepped_back)
{
	int count = 0;

	for (uint64_t i = 0; i < 1000; i++) {
		const char *list;

		s->call.random = cr_mix64(i);
		list = list_now(s);
		if (strcmp(list, first) == 0)
			count++;
		else
			cr_assert_str_eq(list, stepped_back);
	}
	return count;
}

Test(slow_start, steps_back_behind_the_next_and_the_chance_rises)
{
	static const int most[] = { 140, 330, 590, 860, 1000 },
			 least[] = { 60, 220, 470, 750, 1000 };
	static const double at_s[] = { 0, 2, 5, 8, 10 };
	struct scene s;

	scene_of_lists(&s, 3);
	health_begin(s.run.counters, run_line(&s.run, "ms1"), NOW_NS);
	for (size_t i = 0; i < sizeof at_s / sizeof *at_s; i++) {
		int count;

		at(&s, at_s[i]);
		count = count_first(&s, "ms1 ms2 ms3", "ms2 ms1 ms3");
		cr_expect_geq(count, least[i], "at %f: %d", at_s[i], count);
		cr_expect_leq(count, most[i], "at %f: %d", at_s[i], count);
	}
	scene_close(&s);
}

Test(slow_start, passes_over_several_new_servers_to_one_that_is_settled)
{
	struct scene s;
	int others = 0;

	scene_of_lists(&s, 3);
	health_begin(s.run.counters, run_line(&s.run, "ms1"), NOW_NS);
	health_begin(s.run.counters, run_line(&s.run, "ms2"), NOW_NS);
	for (uint64_t i = 0; i < 1000; i++) {
		s.call.random = cr_mix64(i);
		others += strcmp(list_now(&s), "ms3 ms1 ms2") == 0;
	}
	cr_expect_geq(others, 760); /* 0.9 * 0.9 */
	cr_expect_leq(others, 860);
	scene_close(&s);
}

Test(slow_start, has_no_effect_when_all_are_in_it)
{
	struct scene s;

	scene_of_lists(&s, 3);
	for (int i = 0; i < 3; i++)
		health_begin(s.run.counters, run_line(&s.run, s.plan->server[i].name), NOW_NS);
	cr_expect_eq(count_first(&s, "ms1 ms2 ms3", ""), 1000);
	scene_close(&s);
}

Test(slow_start, has_no_effect_when_the_settled_ones_are_shut)
{
	struct scene s;

	scene_of_lists(&s, 3);
	health_begin(s.run.counters, run_line(&s.run, "ms1"), NOW_NS);
	health_check_failed(s.run.counters, run_line(&s.run, "ms2"), NOW_NS + 9 * S);
	health_check_failed(s.run.counters, run_line(&s.run, "ms3"), NOW_NS + 9 * S);
	cr_expect_eq(count_first(&s, "ms1", ""), 1000);
	scene_close(&s);
}

Test(slow_start, follows_a_trial_that_went_well)
{
	struct scene s;
	int count;

	scene_of_lists(&s, 3);
	calls_now(&s, 10, CR_FAILED);
	at(&s, 200);
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	count = count_first(&s, "ms1 ms2 ms3", "ms2 ms1 ms3");
	cr_expect_geq(count, 60);
	cr_expect_leq(count, 140);
	at(&s, 210);
	cr_expect_eq(count_first(&s, "ms1 ms2 ms3", ""), 1000);
	scene_close(&s);
}

/* At 5 s the ramp is 0.55; the others have 10 calls for a weight of 1, ms1 weighs 10. */
Test(slow_start, the_share_of_calls_in_progress_goes_by_weight)
{
	struct scene s;

	scene_of_lists(&s, 3);
	s.plan->server[0].weight = 10;
	scene_publish(&s);
	health_begin(s.run.counters, run_line(&s.run, "ms1"), NOW_NS);
	at(&s, 5);
	run_line(&s.run, "ms2")->live.inflight = 8;
	run_line(&s.run, "ms3")->live.inflight = 9;
	run_line(&s.run, "ms3")->live.peer_inflight = 3; /* other hosts' count, too */
	run_line(&s.run, "ms1")->live.inflight = 55;
	cr_expect_geq(count_first(&s, "ms1 ms2 ms3", "ms2 ms1 ms3"), 450);
	run_line(&s.run, "ms1")->live.inflight = 56;
	cr_expect_eq(count_first(&s, "ms1 ms2 ms3", "ms2 ms1 ms3"), 0);
	run_line(&s.run, "ms1")->live.inflight = 5000;
	at(&s, 10); /* it is over, whatever it has in progress */
	cr_expect_eq(count_first(&s, "ms1 ms2 ms3", ""), 1000);
	scene_close(&s);
}

Test(slow_start, a_service_without_it_takes_new_servers_as_they_are)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	health_begin(s.run.counters, run_line(&s.run, "ms1"), NOW_NS);
	cr_expect_eq(count_first(&s, "ms1 ms2 ms3", ""), 1000);
	scene_close(&s);
}
