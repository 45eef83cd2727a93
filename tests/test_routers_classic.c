/* test_routers_classic.c - what all classical routers have in common, whatever their rule. */
#include <errno.h>

#include "routers_classic_scene.h"

#define CLASSICS (sizeof classics / sizeof *classics)
#define ANYWHERE 1 /* the first servers are drawn by weight while nothing is in progress */
#define EVENLY   2 /* as ANYWHERE, but weights do not count */
#define IN_TURN  3 /* the shares are exact */

/* All of them, with the options that change what they do. */
static const struct classic {
	const char *name, *packed;
	int rule;
} classics[] = {
	{ "weighted_round_robin", "", IN_TURN },
	{ "weighted_random", "", ANYWHERE },
	{ "least_connections", "", EVENLY },
	{ "weighted_least_connections", "", ANYWHERE },
	{ "weighted_least_connections", "failure_calls=50\n", ANYWHERE },
	{ "two_choices", "", ANYWHERE },
	{ "hash", "", ANYWHERE },
	{ "hash", "mode=buckets\n", ANYWHERE },
	{ "hash", "bound=1.25\n", ANYWHERE },
	{ "hash", "mode=maglev\n", ANYWHERE },
	{ "hash", "mode=maglev\nbound=1.25\n", ANYWHERE },
};

static void load_classic(const struct classic *classic, size_t n)
{
	load(classic->name, classic->packed);
	set_crowd(n);
}

/* The shares of first places, exact or by a limit of chi-square that is passed once in 1000 times.
 */
static void expect_shares(const struct classic *classic, size_t n, const uint32_t *weight,
			  double limit)
{
	static const uint32_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	unsigned first[CROWD], all = 0;
	double chi;

	load_classic(classic, n);
	set_weights(n, weight);
	for (size_t i = 0; i < n; i++)
		all += weight[i];
	count_first(all * 100, first);
	chi = chi_by_weight(first, classic->rule == EVENLY ? ones : weight, n);
	cr_expect_lt(chi, classic->rule == IN_TURN ? 1e-9 : limit, "%s %s: %g", classic->name,
		     classic->packed, chi);
	unload();
}

Test(classic_routers, share_by_weight)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		expect_shares(&classics[k], 2, (uint32_t[]){ 1, 1 }, 10.83);
		expect_shares(&classics[k], 2, (uint32_t[]){ 5, 3 }, 10.83);
		expect_shares(&classics[k], 2, (uint32_t[]){ 1, 100 }, 10.83);
		expect_shares(&classics[k], 5, (uint32_t[]){ 100, 50, 20, 5, 1 }, 18.47);
	}
}

/* Weights 1, 1 are the commonest of all, and have been a special case in the wrong way. */
Test(classic_routers, use_both_of_two_equal_servers)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		unsigned first[2];

		load_classic(&classics[k], 2);
		count_first(1000, first);
		cr_expect(first[0] > 430 && first[0] < 570, "%s: %u", classics[k].name, first[0]);
		unload();
	}
}

Test(classic_routers, share_evenly_where_all_are_equal)
{
	for (size_t k = 0; k < CLASSICS; k++)
		expect_shares(&classics[k], 8, (uint32_t[]){ 9, 9, 9, 9, 9, 9, 9, 9 }, 24.32);
}

Test(classic_routers, reach_a_server_of_the_smallest_weight_but_rarely)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		unsigned first[3];

		if (classics[k].rule == EVENLY)
			continue;
		load_classic(&classics[k], 3);
		set_weights(3, (uint32_t[]){ 100, 1, 100 });
		count_first(20100, first);
		cr_expect(first[1] > 60 && first[1] < 140, "%s %s: %u", classics[k].name,
			  classics[k].packed, first[1]);
		unload();
	}
}

/*** Lists ***/

Test(classic_routers, list_each_usable_server_once)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		for (size_t n = 1; n <= CROWD; n++) {
			load_classic(&classics[k], n);
			for (size_t i = 0; i < n; i++)
				crowd.weight[i] = i % 7 == 3 ? 0 : (uint32_t)(i % 5) + 1;
			for (int call = 0; call < 30; call++) {
				crowd.shared->live[call % n].inflight += (uint32_t)call % 3;
				route_one();
				expect_whole_order();
			}
			unload();
		}
	}
}

Test(classic_routers, send_all_calls_to_the_only_server)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		uint16_t order[] = { 2, 77 };

		load_classic(&classics[k], 4);
		prepare(&crowd.view);
		cr_expect_eq(plugin->router.route(instance.self, &crowd.view,
						  &(struct cr_call){ 0 }, order, 1),
			     1);
		cr_expect_eq(order[0], 2, "%s", classics[k].name);
		cr_expect_eq(order[1], 77);
		unload();
	}
}

/* The core does not ask then; whoever asks all the same gets "the default decides". */
Test(classic_routers, list_nobody_where_there_is_nobody)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		uint16_t order[] = { 77 };

		load_classic(&classics[k], 4);
		prepare(&crowd.view);
		cr_expect_eq(plugin->router.route(instance.self, &crowd.view,
						  &(struct cr_call){ 0 }, order, 0),
			     CR_DEFAULT);
		cr_expect_eq(order[0], 77);
		unload();
	}
}

/* The core keeps weight 0 out; a router that gets nothing else still ends, and is fair. */
Test(classic_routers, divide_by_nothing_where_all_weights_are_0)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		unsigned first[4] = { 0 };

		load_classic(&classics[k], 4);
		memset(crowd.weight, 0, sizeof crowd.weight);
		prepare(&crowd.view);
		for (int i = 0; i < 4000; i++) {
			const struct cr_call call = { .random = cr_draw(&crowd.draw) };
			uint16_t order[] = { 0, 1, 2, 3 };

			cr_assert_eq(
				plugin->router.route(instance.self, &crowd.view, &call, order, 4),
				4);
			first[order[0]]++;
		}
		for (size_t i = 0; i < 4; i++)
			cr_expect(first[i] > 880 && first[i] < 1120, "%s %s: server %zu: %u",
				  classics[k].name, classics[k].packed, i, first[i]);
		unload();
	}
}

Test(classic_routers, put_weight_0_behind_all_others_if_it_is_offered)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		if (classics[k].rule == EVENLY)
			continue;
		load_classic(&classics[k], 4);
		set_weights(4, (uint32_t[]){ 0, 3, 0, 2 });
		prepare(&crowd.view);
		for (int i = 0; i < 1000; i++) {
			const struct cr_call call = { .random = cr_draw(&crowd.draw) };
			uint16_t order[] = { 0, 1, 2, 3 };

			plugin->router.route(instance.self, &crowd.view, &call, order, 4);
			cr_assert_eq(order[0] % 2, 1, "%s %s", classics[k].name,
				     classics[k].packed);
			cr_assert_eq(order[1] % 2, 1, "%s %s", classics[k].name,
				     classics[k].packed);
		}
		unload();
	}
}

/*** Changes ***/

/* Servers come and go with every hundredth call: the list is always theirs, and none gets it all.
 */
Test(classic_routers, follow_servers_that_come_and_go)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		unsigned first[12] = { 0 }, offered[12] = { 0 };

		load_classic(&classics[k], 12);
		for (unsigned call = 0; call < 24000; call++) {
			const uint16_t gone = (uint16_t)(call / 100 % 12);

			for (uint16_t i = 0; i < 12; i++) {
				crowd.weight[i] = i != gone && i != (gone + 5) % 12;
				offered[i] += crowd.weight[i];
			}
			first[route_one()]++;
			expect_whole_order();
		}
		for (size_t i = 0; i < 12; i++) /* 2000; four deviations are 171 */
			cr_expect(offered[i] == 20000 && first[i] > 1829 && first[i] < 2171,
				  "%s %s: server %zu: %u", classics[k].name, classics[k].packed, i,
				  first[i]);
		unload();
	}
}

/* The neighbour in the list of one that is gone gets no more than the others. */
Test(classic_routers, share_the_calls_of_a_lost_server_among_all_others)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		unsigned first[6];

		load_classic(&classics[k], 6);
		crowd.weight[2] = 0;
		count_first(10000, first);
		cr_expect_eq(first[2], 0);
		for (size_t i = 0; i < 6; i++)
			cr_expect(i == 2 || (first[i] > 1840 && first[i] < 2160),
				  "%s %s: server %zu: %u", classics[k].name, classics[k].packed, i,
				  first[i]);
		unload();
	}
}

/* Only those that go by calls in progress know that a server is new; for them there is a test of
 * its own. No other may flood it: its share and no more. */
Test(classic_routers, give_a_new_server_its_share_and_no_more)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		unsigned first[5];

		load_classic(&classics[k], 4);
		count_first(4000, first);
		crowd.view.n = 5;
		count_first(4000, first);
		cr_expect(first[4] > 700 && first[4] < 900, "%s %s: %u", classics[k].name,
			  classics[k].packed, first[4]);
		unload();
	}
}

/*** Metrics ***/

Test(classic_routers, need_no_metric)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		load_classic(&classics[k], 2);
		cr_expect_null(plugin_metric(&plugin->router, 0), "%s", classics[k].name);
		cr_expect_null(plugin->router.rank);
		cr_expect_not_null(plugin->router.route);
		unload();
	}
}

/* Whatever a metric is, known or not: the orders are the same. */
Test(classic_routers, decide_the_same_where_all_metrics_are_unknown)
{
	for (size_t k = 0; k < CLASSICS; k++) {
		uint16_t unknown[CROWD];

		for (uint64_t random = 0; random < 300; random++) {
			load_classic(&classics[k], 9);
			crowd.shared->word[0] = random + 1;
			ask(&(struct cr_call){ .random = random });
			memcpy(unknown, crowd.order, sizeof unknown);
			for (size_t i = 0; i < CROWD; i++)
				crowd.nothing[i] = (double)(random * i);
			crowd.shared->word[0] = random + 1;
			ask(&(struct cr_call){ .random = random });
			cr_assert_eq(memcmp(unknown, crowd.order, 9 * sizeof *unknown), 0, "%s",
				     classics[k].name);
			unload();
		}
	}
}

/*** Options ***/

Test(classic_routers, say_what_is_wrong_with_their_options)
{
	static const struct {
		const char *name, *packed, *text;
		int code;
	} cases[] = {
		{ "hash", "key=cookie\n",
		  "hash: key: \"cookie\" is none of auto, client, method, param:NAME", -EINVAL },
		{ "hash", "key=param:\n",
		  "hash: key: \"param:\" is none of auto, client, method, param:NAME", -EINVAL },
		{ "hash", "bound=0.5\n",
		  "hash: bound: 0.5 is below 1, the even share; write 0 for none", -EINVAL },
		{ "hash", "mode=ketama\n",
		  "hash: option \"mode\": \"ketama\" is no choice; there are: consistent, buckets, "
		  "maglev",
		  -EINVAL },
		{ "two_choices", "failure_calls=-1\n",
		  "two_choices: option \"failure_calls\": -1 is outside of 0 .. 10000", -ERANGE },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[4096];

		snprintf(path, sizeof path, "%s/%s.so", PLUGINS_DIR, cases[i].name);
		cr_assert_eq(plugin_open(path, cases[i].name, &plugin, &err), 0);
		cr_expect_eq(plugin_instance_open(plugin, NULL, "orders", cases[i].packed, NULL, 0,
						  &instance, &err),
			     cases[i].code);
		cr_expect_str_eq(err.text, cases[i].text);
		plugin_close(plugin);
	}
}
