/* test_routers_classic_turns.c - weighted_round_robin and weighted_random: whose turn it is. */
#include <math.h>

#include "routers_classic_scene.h"

#define LONGEST 1100 /* turns in a row */

static unsigned weights_of(const uint32_t *weight, size_t n)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += weight[i];
	return sum;
}

static void load_turns(const char *name, size_t n, const uint32_t *weight)
{
	load(name, "");
	set_crowd(n);
	set_weights(n, weight);
	crowd.shared->word[0] = 0;
}

/* The first n turns from the start of a period, as letters. */
static const char *turns_from(uint64_t start, size_t n)
{
	static char text[LONGEST + 1];

	crowd.shared->word[0] = start;
	for (size_t i = 0; i < n; i++)
		text[i] = (char)('a' + route_one());
	text[n] = '\0';
	return text;
}

/*** weighted_round_robin: the sequence ***/

Test(weighted_round_robin, mixes_the_turns_smoothly)
{
	static const struct {
		uint32_t weight[4];
		size_t n;
		const char *turns;
	} cases[] = {
		{ { 1 }, 1, "aaa" },
		{ { 1, 1 }, 2, "abab" },
		{ { 7, 7 }, 2, "abab" },
		{ { 5, 3 }, 2, "abaababa" },
		{ { 3, 5 }, 2, "bababbab" },
		{ { 5, 1, 1 }, 3, "abaaaca" },
		{ { 1, 1, 1 }, 3, "acbacb" },
		{ { 4, 3, 2, 1 }, 4, "bacabdabac" },
		{ { 3, 3, 3, 1 }, 4, "acbcabdacb" },
		{ { 2, 0, 3 }, 3, "cacac" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const size_t n = strlen(cases[i].turns);
		const uint64_t period = weights_of(cases[i].weight, cases[i].n);

		load_turns("weighted_round_robin", cases[i].n, cases[i].weight);
		cr_expect_str_eq(turns_from(1000 * period, n), cases[i].turns);
		unload();
	}
}

/* Each server exactly its weight in any window of length turns, wherever it begins. */
static void expect_exact_windows(size_t n, const uint32_t *weight, unsigned length)
{
	const unsigned all = weights_of(weight, n);
	uint16_t turn[LONGEST * 2];
	unsigned count[CROWD] = { 0 };

	load_turns("weighted_round_robin", n, weight);
	for (unsigned i = 0; i < 2 * length; i++) {
		turn[i] = route_one();
		count[turn[i]]++;
		if (i >= length)
			count[turn[i - length]]--;
		for (size_t row = 0; i + 1 >= length && row < n; row++)
			cr_assert_eq(count[row] * all, weight[row] * length,
				     "%u of server %zu at turn %u", count[row], row, i);
	}
	unload();
}

Test(weighted_round_robin, gives_exact_shares_in_any_window_of_the_total_weight)
{
	static const struct {
		uint32_t weight[12];
		size_t n;
	} cases[] = {
		{ { 1, 1 }, 2 },
		{ { 5, 3 }, 2 },
		{ { 1, 100 }, 2 },
		{ { 5, 1, 1 }, 3 },
		{ { 100, 100, 100, 1 }, 4 },
		{ { 97, 89, 83, 79, 2, 3, 5 }, 7 },
		{ { 1, 1, 1, 1, 1, 1, 1, 7 }, 8 },
		{ { 64, 1, 32, 2, 16, 4, 8, 8, 100, 100, 99, 98 }, 12 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		expect_exact_windows(cases[i].n, cases[i].weight,
				     weights_of(cases[i].weight, cases[i].n));
}

Test(weighted_round_robin, gives_exact_shares_in_windows_without_the_common_divisor)
{
	static const uint32_t tens[] = { 50, 30, 20, 90 }, hundreds[] = { 100, 100, 100 };

	expect_exact_windows(4, tens, 19);
	expect_exact_windows(3, hundreds, 3);
}

/* How far any server ever is from its even schedule, in calls. */
static double largest_error(size_t n, const uint32_t *weight)
{
	const unsigned all = weights_of(weight, n);
	unsigned count[CROWD] = { 0 };
	double worst = 0;

	load_turns("weighted_round_robin", n, weight);
	crowd.shared->word[0] = (uint64_t)all * 1000;
	for (unsigned i = 1; i <= all; i++) {
		count[route_one()]++;
		for (size_t row = 0; row < n; row++)
			worst = fmax(worst, fabs(count[row] - (double)i * weight[row] / all));
	}
	unload();
	return worst;
}

Test(weighted_round_robin, is_never_two_calls_ahead_of_or_behind_an_even_schedule)
{
	uint64_t state = 11;
	double worst = 0;

	for (int round = 0; round < 60; round++) {
		uint32_t weight[CROWD];
		const size_t n = 2 + cr_below(cr_draw(&state), 47);

		for (size_t i = 0; i < n; i++)
			weight[i] = 1 + cr_below(cr_draw(&state), 100) / (1 + round % 3 * 24);
		worst = fmax(worst, largest_error(n, weight));
	}
	printf("weighted_round_robin: at most %.2f calls off an even schedule\n", worst);
	cr_expect_lt(worst, 2);
}

static unsigned longest_run(const char *turns)
{
	unsigned run = 1, longest = 1;

	for (size_t i = 1; turns[i] != '\0'; i++) {
		run = turns[i] == turns[i - 1] ? run + 1 : 1;
		longest = run > longest ? run : longest;
	}
	return longest;
}

Test(weighted_round_robin, never_hammers_the_heavy_server_more_than_it_must)
{
	static const uint32_t three[] = { 3, 1 }, five[] = { 5, 1, 1 }, hundred[] = { 1, 100 },
			      four[] = { 4, 3, 2, 1 };

	load_turns("weighted_round_robin", 2, three);
	cr_expect_eq(longest_run(turns_from(0, 400)), 3);
	unload();
	load_turns("weighted_round_robin", 3, five);
	cr_expect_eq(longest_run(turns_from(0, 700)), 3);
	unload();
	load_turns("weighted_round_robin", 2, hundred);
	cr_expect_eq(longest_run(turns_from(0, 1010)), 100);
	unload();
	load_turns("weighted_round_robin", 4, four);
	cr_expect_eq(longest_run(turns_from(0, 1000)), 1);
	unload();
}

/*** weighted_round_robin: start, changes, many callers ***/

Test(weighted_round_robin, starts_anywhere_so_that_many_hosts_do_not_start_at_the_heaviest)
{
	static const uint32_t weight[] = { 5, 1, 1 };
	unsigned first[3] = { 0 };

	load_turns("weighted_round_robin", 3, weight);
	for (int host = 0; host < 7000; host++) {
		crowd.shared->word[0] = 0;
		first[route_one()]++;
	}
	cr_expect_lt(chi_by_weight(first, weight, 3), 13.82); /* 2 degrees of freedom, 1 in 1000 */
	unload();
}

Test(weighted_round_robin, owes_nobody_anything_after_weights_change_their_scale)
{
	static const uint32_t before[] = { 100, 100, 100, 100 }, after[] = { 4, 3, 2, 1 };
	unsigned first[4];

	load_turns("weighted_round_robin", 4, before);
	count_first(333, first);
	set_weights(4, after);
	count_first(100, first);
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(first[i], after[i] * 10, "server %zu: %u", i, first[i]);
	unload();
}

Test(weighted_round_robin, follows_a_weight_that_is_changed_at_run_time_at_once)
{
	static const uint32_t weight[] = { 10, 10 }, raised[] = { 100, 10 };
	unsigned first[2];

	load_turns("weighted_round_robin", 2, weight);
	count_first(20, first);
	cr_expect_eq(first[0], 10);
	set_weights(2, raised);
	count_first(110, first);
	cr_expect_eq(first[0], 100);
	cr_expect_eq(first[1], 10);
	unload();
}

Test(weighted_round_robin, gives_a_returning_server_its_share_and_not_what_it_missed)
{
	static const uint32_t all[] = { 2, 1, 1 }, without[] = { 2, 0, 1 };
	unsigned first[3];

	load_turns("weighted_round_robin", 3, all);
	count_first(4 * 25, first);
	set_weights(3, without);
	count_first(3 * 100, first);
	cr_expect_eq(first[0], 200);
	cr_expect_eq(first[1], 0);
	cr_expect_eq(first[2], 100);
	set_weights(3, all);
	count_first(4 * 25, first);
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(first[i], all[i] * 25);
	unload();
}

/* Lists that are rebuilt with every change begin with the heaviest each time. */
Test(weighted_round_robin, does_not_starve_light_servers_when_the_weights_change_often)
{
	uint32_t weight[] = { 10, 1, 1, 1 };
	unsigned first[4] = { 0 };

	load_turns("weighted_round_robin", 4, weight);
	for (unsigned change = 0; change < 10000; change++) {
		crowd.weight[0] = 9 + change % 3;
		for (int i = 0; i < 3; i++)
			first[route_one()]++;
	}
	/* 30,000 calls, 1/13 each; 2,120 .. 2,495 is more than four deviations of a random draw */
	for (size_t i = 1; i < 4; i++)
		cr_expect(first[i] > 2120 && first[i] < 2495, "server %zu: %u", i, first[i]);
	unload();
}

/* The published order may be that of a metric, and change with every poll. */
Test(weighted_round_robin, keeps_exact_shares_whatever_order_the_servers_come_in)
{
	static const uint32_t weight[] = { 5, 1, 1, 3 };
	unsigned first[4] = { 0 };
	uint64_t state = 4;

	load_turns("weighted_round_robin", 4, weight);
	for (int i = 0; i < 100; i++) {
		const struct cr_call call = { .random = cr_draw(&state) };
		uint16_t order[] = { 0, 1, 2, 3 };

		cr_order_rotate(order, 4, cr_draw(&state));
		cr_assert_eq(plugin->router.route(NULL, &crowd.view, &call, order, 4), 4);
		first[order[0]]++;
	}
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(first[i], weight[i] * 10);
	unload();
}

#define CALLS 420000 /* of each worker; all calls are a multiple of 21, the sum of weights */

static void call_often(unsigned worker)
{
	uint64_t state = worker;

	for (int i = 0; i < CALLS; i++) {
		const struct cr_call call = { .random = cr_draw(&state) };
		uint16_t order[CROWD];
		const size_t n = usable(order);

		plugin->router.route(instance.self, &crowd.view, &call, order, n);
		crowd.shared->first[worker][order[0]]++;
	}
}

Test(weighted_round_robin, gives_exact_shares_from_four_threads_of_two_processes)
{
	static const uint32_t weight[] = { 5, 1, 1, 0, 7, 7 };

	load_turns("weighted_round_robin", 6, weight);
	run_everywhere(call_often);
	for (size_t i = 0; i < 6; i++)
		cr_expect_eq(first_of_all(i), weight[i] * WORKERS * CALLS / 21, "server %zu: %u", i,
			     first_of_all(i));
	unload();
}

Test(weighted_round_robin, draws_by_weight_where_there_are_no_shared_words)
{
	static const uint32_t weight[] = { 5, 0, 1, 3 };
	unsigned first[4];

	load_turns("weighted_round_robin", 4, weight);
	crowd.view.shared = NULL;
	count_first(9000, first);
	cr_expect_lt(chi_by_weight(first, weight, 4), 13.82); /* 2 degrees of freedom, 1 in 1000 */
	unload();
}

/*** Both: what comes behind the first, and random shares ***/

/* Of the calls that have server 0 first, the next one is drawn by weight: the neighbour of a dead
 * server does not get all its calls. */
static void expect_followers_by_weight(const char *name)
{
	static const uint32_t weight[] = { 4, 3, 2, 1 }, without[] = { 0, 3, 2, 1 };
	unsigned second[4] = { 0 }, third[4] = { 0 };

	load_turns(name, 4, weight);
	for (int i = 0; i < 60000; i++) {
		if (route_one() != 0)
			continue;
		second[crowd.order[1]]++;
		third[crowd.order[2]] += crowd.order[1] == 1;
	}
	cr_expect_lt(chi_by_weight(second, without, 4),
		     13.82); /* 2 degrees of freedom, 1 in 1000 */
	cr_expect_eq(third[1], 0);
	cr_expect_lt(chi_by_weight(third, (uint32_t[]){ 0, 0, 2, 1 }, 4), 10.83); /* 1 degree */
	unload();
}

Test(weighted_round_robin, lets_all_others_take_over_from_a_dead_server_by_weight)
{
	expect_followers_by_weight("weighted_round_robin");
}

Test(weighted_random, lets_all_others_take_over_from_a_dead_server_by_weight)
{
	expect_followers_by_weight("weighted_random");
}

static void expect_random_shares(size_t n, const uint32_t *weight, double limit)
{
	unsigned first[CROWD];

	load_turns("weighted_random", n, weight);
	count_first(100000, first);
	cr_expect_lt(chi_by_weight(first, weight, n), limit);
	unload();
}

/* Limits are passed once in 1000 times, by degrees of freedom. */
Test(weighted_random, draws_each_server_as_often_as_it_weighs)
{
	static const uint32_t even[] = { 1, 1 }, odd[] = { 5, 3 }, far[] = { 1, 100 },
			      many[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	expect_random_shares(2, even, 10.83);
	expect_random_shares(2, odd, 10.83);
	expect_random_shares(2, far, 10.83);
	expect_random_shares(8, many, 24.32);
}

Test(weighted_random, never_draws_weight_0_and_never_skips_the_last)
{
	static const uint32_t weight[] = { 2, 0, 3 };

	expect_random_shares(3, weight, 10.83);
}

Test(weighted_random, draws_by_weight_from_four_threads_of_two_processes)
{
	static const uint32_t weight[] = { 5, 1, 1, 0, 7, 7 };
	unsigned first[6];

	load_turns("weighted_random", 6, weight);
	run_everywhere(call_often);
	for (size_t i = 0; i < 6; i++)
		first[i] = first_of_all(i);
	cr_expect_lt(chi_by_weight(first, weight, 6), 18.47); /* 4 degrees of freedom, 1 in 1000 */
	unload();
}

Test(weighted_random, repeats_itself_for_the_same_call)
{
	static const uint32_t weight[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint16_t before[CROWD];

	load_turns("weighted_random", 8, weight);
	for (uint64_t random = 0; random < 500; random++) {
		ask(&(struct cr_call){ .random = random });
		memcpy(before, crowd.order, sizeof before);
		ask(&(struct cr_call){ .random = random });
		cr_assert_eq(memcmp(before, crowd.order, 8 * sizeof *before), 0);
	}
	unload();
}
