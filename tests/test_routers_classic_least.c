/* test_routers_classic_least.c - least_connections, weighted_least_connections and two_choices: by
 * calls in progress. */
#include <stdlib.h>

#include "routers_classic_scene.h"

static const char *const least[] = { "least_connections", "weighted_least_connections",
				     "two_choices" };
#define LEAST (sizeof least / sizeof *least)

static void load_least(const char *name, size_t n, const uint32_t *weight)
{
	load(name, "");
	set_crowd(n);
	if (weight != NULL)
		set_weights(n, weight);
}

static void set_inflight(size_t n, const uint32_t *inflight)
{
	for (size_t i = 0; i < n; i++)
		crowd.shared->live[i].inflight = inflight[i];
}

/* The order of a call, as digits. */
static const char *routed(void)
{
	static char text[CROWD + 1];

	route_one();
	for (int i = 0; i < crowd.n; i++)
		text[i] = (char)('0' + crowd.order[i]);
	text[crowd.n] = '\0';
	return text;
}

static unsigned largest(const unsigned *count, size_t n)
{
	unsigned most = 0;

	for (size_t i = 0; i < n; i++)
		most = count[i] > most ? count[i] : most;
	return most;
}

/*** What comes first ***/

Test(least_connections, puts_the_three_least_loaded_first)
{
	static const uint32_t inflight[] = { 4, 9, 3, 8, 0 };

	load_least("least_connections", 5, NULL);
	set_inflight(5, inflight);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(strncmp(routed(), "420", 3), 0);
	unload();
}

Test(least_connections, does_not_look_at_weights)
{
	static const uint32_t weight[] = { 100, 1, 50 }, inflight[] = { 2, 1, 3 };

	load_least("least_connections", 3, weight);
	set_inflight(3, inflight);
	cr_expect_str_eq(routed(), "102");
	unload();
}

/* 7/5 = 1.4, 3/3 = 1, 2/1 = 2, 1/2 = 0.5, 149/100 = 1.49 */
Test(weighted_least_connections, puts_the_least_loaded_for_their_weight_first)
{
	static const uint32_t weight[] = { 5, 3, 1, 2, 100 }, inflight[] = { 7, 3, 2, 1, 149 };

	load_least("weighted_least_connections", 5, weight);
	set_inflight(5, inflight);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(strncmp(routed(), "310", 3), 0);
	unload();
	load_least("two_choices", 5, weight);
	set_inflight(5, inflight);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(strncmp(routed(), "310", 3), 0);
	unload();
}

/* 33333/100 against 33334/100, and 3 billion calls: neither a fraction nor 32 bits will do. */
Test(weighted_least_connections, compares_exactly_and_without_overflow)
{
	static const uint32_t weight[] = { 100, 100, 99 };

	load_least("weighted_least_connections", 3, weight);
	set_inflight(3, (uint32_t[]){ 33334, 33333, 33001 });
	cr_expect_str_eq(routed(), "102");
	set_inflight(3, (uint32_t[]){ 3000000001, 3000000000, 2970000000 });
	for (int i = 0; i < 50; i++)
		cr_expect_eq(routed()[2], '0');
	unload();
}

Test(calls_in_progress, of_peers_count_as_our_own)
{
	for (size_t k = 0; k < LEAST; k++) {
		load_least(least[k], 3, NULL);
		set_inflight(3, (uint32_t[]){ 1, 3, 2 });
		crowd.shared->live[0].peer_inflight = 4;
		cr_expect_str_eq(routed(), "210", "%s", least[k]);
		unload();
	}
}

/*** Equals ***/

/* The first, second and third place among idle servers. */
static void expect_fair_ties(const char *name, const uint32_t *weight)
{
	static const uint32_t even[] = { 1, 1, 1, 1, 1, 1 };
	const bool is_weighted = strcmp(name, "least_connections") != 0;
	unsigned first[6] = { 0 }, after_0[6] = { 0 };
	uint32_t others[6];

	load_least(name, 6, weight);
	memcpy(others, is_weighted ? weight : even, sizeof others);
	for (int i = 0; i < 120000; i++) {
		first[route_one()]++;
		after_0[crowd.order[1]] += crowd.order[0] == 0;
	}
	/* 5 and 4 degrees of freedom, 1 in 1000 */
	cr_expect_lt(chi_by_weight(first, others, 6), 20.52, "%s", name);
	others[0] = 0;
	cr_expect_lt(chi_by_weight(after_0, others, 6), 18.47, "%s", name);
	unload();
}

Test(ties, never_favour_the_same_server)
{
	static const uint32_t even[] = { 1, 1, 1, 1, 1, 1 }, odd[] = { 1, 2, 3, 4, 5, 6 };

	for (size_t k = 0; k < LEAST; k++) {
		expect_fair_ties(least[k], even);
		expect_fair_ties(least[k], odd);
	}
}

Test(ties, do_not_give_the_successor_of_a_busy_server_its_share)
{
	unsigned first[6];

	for (size_t k = 0; k < LEAST; k++) {
		load_least(least[k], 6, NULL);
		set_inflight(6, (uint32_t[]){ 0, 9, 9, 0, 0, 9 });
		count_first(30000, first);
		cr_expect_lt(chi_by_weight(first, (uint32_t[]){ 1, 0, 0, 1, 1, 0 }, 6), 13.82, "%s",
			     least[k]);
		unload();
	}
}

/* (calls + 1) / weight has no equals, and the light ones would never be asked. */
Test(weighted_least_connections, uses_the_light_servers_of_an_idle_cluster)
{
	static const uint32_t weight[] = { 100, 10, 10, 1, 1 };
	unsigned first[5];

	load_least("weighted_least_connections", 5, weight);
	count_first(122000, first);
	cr_expect_lt(chi_by_weight(first, weight, 5), 18.47); /* 4 degrees of freedom, 1 in 1000 */
	unload();
}

/*** Calls that stay in progress ***/

Test(calls_in_progress, of_a_burst_between_two_polls_spread_at_once)
{
	for (size_t k = 0; k < LEAST; k++) {
		unsigned count[4] = { 0 };

		load_least(least[k], 4, NULL);
		for (int i = 0; i < 8; i++)
			count[place_one()]++;
		for (size_t i = 0; i < 4; i++)
			cr_expect_eq(count[i], 2, "%s: server %zu: %u", least[k], i, count[i]);
		unload();
	}
}

Test(calls_in_progress, of_500_placements_stay_even)
{
	for (size_t k = 0; k < LEAST; k++) {
		unsigned count[10] = { 0 };

		load_least(least[k], 10, NULL);
		for (int i = 0; i < 500; i++)
			count[place_one()]++;
		cr_expect_eq(largest(count, 10), 50, "%s", least[k]);
		unload();
	}
}

static void expect_filled(const char *name, size_t n, const uint32_t *weight, const unsigned *want)
{
	unsigned count[CROWD] = { 0 }, calls = 0;

	load_least(name, n, weight);
	for (size_t i = 0; i < n; i++)
		calls += want[i];
	for (unsigned i = 0; i < calls; i++)
		count[place_one()]++;
	for (size_t i = 0; i < n; i++)
		cr_expect_eq(count[i], want[i], "%s: server %zu: %u", name, i, count[i]);
	unload();
}

Test(calls_in_progress, fill_servers_in_proportion_to_their_weight)
{
	for (size_t k = 1; k < LEAST; k++) {
		expect_filled(least[k], 2, (uint32_t[]){ 1, 1 }, (unsigned[]){ 7, 7 });
		expect_filled(least[k], 2, (uint32_t[]){ 5, 3 }, (unsigned[]){ 50, 30 });
		expect_filled(least[k], 2, (uint32_t[]){ 1, 100 }, (unsigned[]){ 3, 300 });
		expect_filled(least[k], 4, (uint32_t[]){ 1, 2, 3, 4 },
			      (unsigned[]){ 10, 20, 30, 40 });
	}
	expect_filled("least_connections", 2, (uint32_t[]){ 1, 100 }, (unsigned[]){ 40, 40 });
}

Test(calls_in_progress, count_from_before_the_connection_is_made)
{
	for (size_t k = 0; k < LEAST; k++) {
		unsigned count[4] = { 0 };
		uint16_t row;

		/* Server 0 does not even answer the connections: its calls stay, the others' end.
		 */
		load_least(least[k], 4, NULL);
		for (int i = 0; i < 1000; i++) {
			row = place_one();
			count[row]++;
			if (row != 0)
				end_one(row);
		}
		cr_expect_eq(count[0], 1, "%s: %u", least[k], count[0]);
		unload();
	}
}

Test(calls_in_progress, fill_a_new_server_to_the_level_of_the_others_and_no_further)
{
	for (size_t k = 0; k < LEAST; k++) {
		unsigned count[4] = { 0 };

		load_least(least[k], 4, NULL);
		set_inflight(4, (uint32_t[]){ 20, 20, 20, 0 });
		for (int i = 0; i < 60; i++)
			count[place_one()]++;
		for (size_t i = 0; i < 3; i++)
			cr_expect_eq(count[i], 10, "%s: server %zu: %u", least[k], i, count[i]);
		cr_expect_eq(count[3], 30, "%s: %u", least[k], count[3]);
		unload();
	}
}

Test(calls_in_progress, go_nowhere_new_when_a_weight_becomes_0_and_return_with_it)
{
	for (size_t k = 0; k < LEAST; k++) {
		unsigned first[3];

		load_least(least[k], 3, NULL);
		set_inflight(3, (uint32_t[]){ 5, 0, 5 });
		crowd.weight[1] = 0;
		count_first(1000, first);
		cr_expect_eq(first[1], 0, "%s", least[k]);
		crowd.weight[1] = 1;
		count_first(1000, first);
		cr_expect_eq(first[1], 1000, "%s", least[k]);
		unload();
	}
}

/*** Failures ***/

/* Server 0 fails each call within 1 step, the others take 100 steps for theirs. */
static unsigned share_of_the_failing_one(const char *name, const char *packed)
{
	uint16_t queue[100];
	unsigned count = 0;

	load(name, packed);
	set_crowd(8);
	for (unsigned step = 0; step < 10000; step++) {
		uint16_t *slot = &queue[step % 100], row = place_one();

		if (step >= 100 && *slot != 0)
			end_one(*slot);
		*slot = row;
		if (row != 0)
			continue;
		end_one(row);
		crowd.shared->live[0].failure_ppm = 1000000;
		count++;
	}
	unload();
	return count;
}

Test(failures, let_a_server_that_fails_fast_look_idle)
{
	const unsigned calls = share_of_the_failing_one("least_connections", "");

	cr_expect_gt(calls, 9000, "%u", calls); /* of 10,000; its share is 1250 */
}

Test(failures, count_as_calls_in_progress_where_failure_calls_says_so)
{
	for (size_t k = 0; k < LEAST; k++)
		cr_expect_eq(share_of_the_failing_one(least[k], "failure_calls=50\n"), 1, "%s",
			     least[k]);
}

Test(failures, count_by_their_share)
{
	for (size_t k = 0; k < LEAST; k++) {
		load(least[k], "failure_calls=50\n");
		set_crowd(3);
		set_inflight(3, (uint32_t[]){ 5, 0, 4 });
		crowd.shared->live[1].failure_ppm = 90000; /* 4.5 calls */
		cr_expect_str_eq(routed(), "210", "%s", least[k]);
		unload();
	}
}

/*** two_choices in a crowd ***/

Test(two_choices, takes_the_best_of_up_to_sixteen)
{
	load_least("two_choices", 16, NULL);
	for (size_t i = 0; i < 16; i++)
		crowd.shared->live[i].inflight = i == 11 ? 1 : 2;
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(route_one(), 11);
	unload();
}

/* The best of 17 is found when one of the two draws hits it: 2/17. The worst never wins. */
Test(two_choices, compares_two_different_draws_of_more_than_sixteen)
{
	unsigned first[17], hits;

	load_least("two_choices", 17, NULL);
	for (size_t i = 0; i < 17; i++)
		crowd.shared->live[i].inflight = (uint32_t)i;
	count_first(17000, first);
	hits = first[0];
	cr_expect(hits > 1825 && hits < 2175, "%u", hits); /* 2000, four deviations of 42 */
	cr_expect_eq(first[16], 0);
	for (size_t i = 0; i + 1 < 17; i++)
		cr_expect_lt(first[i + 1], first[i] + 200, "server %zu", i);
	unload();
}

Test(two_choices, draws_a_crowd_by_weight)
{
	unsigned first[40], second[40] = { 0 };
	uint32_t weight[40], others[40];

	for (uint32_t i = 0; i < 40; i++)
		others[i] = weight[i] = i % 5;
	load_least("two_choices", 40, weight);
	count_first(80000, first);
	cr_expect_lt(chi_by_weight(first, weight, 40),
		     61.10); /* 31 degrees of freedom, 1 in 1000 */
	for (int i = 0; i < 400000; i++)
		if (route_one() == 4)
			second[crowd.order[1]]++;
	others[4] = 0;
	cr_expect_lt(chi_by_weight(second, others, 40), 59.70); /* 30 degrees of freedom */
	unload();
}

Test(two_choices, keeps_a_crowd_of_unequal_servers_level)
{
	unsigned most = 0;
	uint32_t weight[CROWD];

	for (uint32_t i = 0; i < CROWD; i++)
		weight[i] = 1 + i % 4;
	load_least("two_choices", CROWD, weight);
	for (int i = 0; i < 160 * 10; i++)
		place_one();
	/* 10 calls for each unit of weight on average; at random the worst has 21 */
	for (size_t i = 0; i < CROWD; i++) {
		const unsigned level = crowd.shared->live[i].inflight / weight[i];

		most = level > most ? level : most;
	}
	cr_expect(most >= 10 && most <= 12, "%u", most);
	unload();
}

/*** Many callers ***/

#define CALLS 1000 /* of each worker */

static void place_many(unsigned worker)
{
	uint64_t state = worker;

	for (int i = 0; i < CALLS; i++) {
		const struct cr_call call = { .random = cr_draw(&state) };
		uint16_t order[CROWD];

		plugin->router.route(instance.self, &crowd.view, &call, order, usable(order));
		crowd.shared->first[worker][order[0]]++;
		__atomic_fetch_add(&crowd.shared->live[order[0]].inflight, 1, __ATOMIC_RELAXED);
	}
}

static void end_many(unsigned worker)
{
	for (size_t row = 0; row < crowd.view.n; row++)
		for (uint32_t i = 0; i < crowd.shared->first[worker][row]; i++)
			end_one((uint16_t)row);
}

/* Each worker may see its choice before it sees the choices of the other seven. */
Test(calls_in_progress, of_four_threads_of_two_processes_spread_by_weight)
{
	static const int by_weight[] = { 2000, 0, 1000, 1000, 4000 };
	static const int even[] = { 2000, 0, 2000, 2000, 2000 };

	for (size_t k = 0; k < LEAST; k++) {
		const int *want = k == 0 ? even : by_weight;

		load_least(least[k], 5, (uint32_t[]){ 2, 0, 1, 1, 4 });
		run_everywhere(place_many);
		for (size_t i = 0; i < 5; i++) {
			const int inflight = (int)crowd.shared->live[i].inflight;

			cr_expect_eq(inflight, (int)first_of_all(i));
			cr_expect_leq(abs(inflight - want[i]), want[i] > 0 ? WORKERS : 0,
				      "%s: server %zu: %d", least[k], i, inflight);
		}
		run_everywhere(end_many);
		for (size_t i = 0; i < 5; i++)
			cr_expect_eq(crowd.shared->live[i].inflight, 0);
		unload();
	}
}
