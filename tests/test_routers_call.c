/* test_routers_call.c - routers with route(), loaded as a data plane loads them, on views made by
 * hand. */
#include <pthread.h>

#include <callrouter/order.h>

#include "router_scene.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* The order of all n rows after route(). */
static void routed(uint64_t random, uint16_t *order, size_t n)
{
	const struct cr_call call = { .random = random };

	for (size_t i = 0; i < n; i++)
		order[i] = (uint16_t)i;
	cr_assert_eq(plugin->router.route(instance.self, &scene.view, &call, order, n), (int)n);
}

static double chi_square(const unsigned *count, size_t n, double expected)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (count[i] - expected) * (count[i] - expected) / expected;
	return sum;
}

static void expect_each_row_once(const uint16_t *order, size_t n)
{
	bool seen[64] = { false };

	for (size_t i = 0; i < n; i++) {
		cr_assert_lt(order[i], n);
		cr_assert_not(seen[order[i]]);
		seen[order[i]] = true;
	}
}

/*** round_robin ***/

struct share {
	pthread_t thread;
	uint64_t seed;
	unsigned first[5];
};

static void *call_often(void *arg)
{
	struct share *share = arg;

	for (int i = 0; i < 10000; i++) {
		const struct cr_call call = { .random = cr_draw(&share->seed) };
		uint16_t order[] = { 0, 1, 2, 3, 4 };

		plugin->router.route(instance.self, &scene.view, &call, order, 5);
		share->first[order[0]]++;
	}
	return NULL;
}

Test(round_robin, gives_each_server_the_same_share_from_four_threads)
{
	struct share shares[4] = { { .seed = 1 }, { .seed = 2 }, { .seed = 3 }, { .seed = 4 } };
	unsigned first[5] = { 0 };

	load("round_robin", "");
	set_scene(5);
	for (size_t t = 0; t < 4; t++)
		cr_assert_eq(pthread_create(&shares[t].thread, NULL, call_often, &shares[t]), 0);
	for (size_t t = 0; t < 4; t++) {
		pthread_join(shares[t].thread, NULL);
		for (size_t i = 0; i < 5; i++)
			first[i] += shares[t].first[i];
	}
	for (size_t i = 0; i < 5; i++)
		cr_expect_eq(first[i], 8000, "server %zu was first %u times", i, first[i]);
	unload();
}

Test(round_robin, rotates_one_place_a_call)
{
	uint16_t before[4], order[4];

	load("round_robin", "");
	set_scene(4);
	routed(12345, before, 4);
	for (int turn = 0; turn < 9; turn++) {
		routed(777, order, 4);
		for (size_t i = 0; i < 4; i++)
			cr_expect_eq(order[i], before[(i + 1) % 4]);
		memcpy(before, order, sizeof order);
	}
	unload();
}

Test(round_robin, starts_at_a_random_server)
{
	unsigned first[4] = { 0 };
	uint64_t state = 7;

	load("round_robin", "");
	set_scene(4);
	for (int i = 0; i < 4000; i++) {
		uint16_t order[4];

		scene.shared[0] = 0;
		routed(cr_draw(&state), order, 4);
		first[order[0]]++;
	}
	cr_expect_lt(chi_square(first, 4, 1000), 16.27); /* 3 degrees of freedom, 1 in 1000 */
	unload();
}

Test(round_robin, works_without_shared_words_and_with_one_server)
{
	unsigned first[3] = { 0 };
	uint64_t state = 9;
	uint16_t order[3];

	load("round_robin", "");
	set_scene(3);
	scene.view.shared = NULL;
	for (int i = 0; i < 3000; i++) {
		routed(cr_draw(&state), order, 3);
		first[order[0]]++;
	}
	cr_expect_lt(chi_square(first, 3, 1000), 13.82); /* 2 degrees of freedom, 1 in 1000 */
	routed(5, order, 1);
	cr_expect_eq(order[0], 0);
	unload();
}

/*** random ***/

Test(random, puts_each_server_first_and_second_equally_often)
{
	unsigned first[8] = { 0 }, second[8] = { 0 };
	uint64_t state = 1;

	load("random", "");
	set_scene(8);
	for (int i = 0; i < 80000; i++) {
		uint16_t order[8];

		routed(cr_draw(&state), order, 8);
		first[order[0]]++;
		second[order[1]]++;
	}
	cr_expect_lt(chi_square(first, 8, 10000), 24.32); /* 7 degrees of freedom, 1 in 1000 */
	cr_expect_lt(chi_square(second, 8, 10000), 24.32);
	unload();
}

Test(random, fails_over_to_each_other_server_equally_often)
{
	unsigned follower[8 * 8] = { 0 };
	uint64_t state = 2;
	double chi = 0;

	load("random", "");
	set_scene(8);
	for (int i = 0; i < 56000; i++) {
		uint16_t order[8];

		routed(cr_draw(&state), order, 8);
		follower[order[0] * 8 + order[1]]++;
	}
	for (size_t i = 0; i < 64; i++) {
		if (i % 9 == 0)
			cr_expect_eq(follower[i], 0);
		else
			chi += (follower[i] - 1000.0) * (follower[i] - 1000.0) / 1000;
	}
	cr_expect_lt(chi, 93.17); /* 55 degrees of freedom, 1 in 1000 */
	unload();
}

Test(random, draws_all_orders_of_four_equally_often)
{
	unsigned count[256] = { 0 }, n_orders = 0;
	uint64_t state = 3;
	double chi = 0;

	load("random", "");
	set_scene(4);
	for (int i = 0; i < 24000; i++) {
		uint16_t order[4];

		routed(cr_draw(&state), order, 4);
		count[order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3]]++;
	}
	for (size_t i = 0; i < COUNT(count); i++) {
		n_orders += count[i] > 0;
		if (count[i] > 0)
			chi += (count[i] - 1000.0) * (count[i] - 1000.0) / 1000;
	}
	cr_expect_eq(n_orders, 24);
	cr_expect_lt(chi, 49.73); /* 23 degrees of freedom, 1 in 1000 */
	unload();
}

Test(random, keeps_every_server_and_repeats_itself_for_the_same_call)
{
	uint16_t order[40], again[40];

	load("random", "");
	set_scene(8);
	for (uint64_t random = 0; random < 500; random++) {
		routed(random, order, 40);
		expect_each_row_once(order, 40);
		routed(random, again, 40);
		cr_assert_eq(memcmp(order, again, sizeof order), 0);
	}
	routed(1, order, 1);
	cr_expect_eq(order[0], 0);
	unload();
}
