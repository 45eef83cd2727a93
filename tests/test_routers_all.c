/*
 * test_routers_all.c - what every router keeps, whatever its rule: all that lie in the build's
 * plugins.d are asked, with each choice of their options.
 */
#include "routers_all_scene.h"

#define BIG_CALL INT64_C(64 << 20)

#define EACH_FOUND(one)                                                                            \
	for (const struct found *one = (find_routers(), found); one < found + n_found; one++)

/* Those by whose rule weights do not count. */
static bool looks_at_weights(const struct found *one)
{
	static const char *const names[] = { "round_robin", "random", "least_connections", "sorted",
					     "heap_free" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], one->name) == 0)
			return false;
	return true;
}

Test(all_routers, are_found_in_the_build)
{
	const char *name = ROUTERS; /* of routers/, each followed by a comma */
	unsigned n = 0;

	find_routers();
	for (size_t len; (len = strcspn(name, ",")) > 0; name += len + 1, n++) {
		size_t i = 0;

		while (i < n_found &&
		       (strncmp(found[i].name, name, len) != 0 || found[i].name[len] != '\0'))
			i++;
		cr_expect_lt(i, n_found, "%.*s is not asked", (int)len, name);
	}
	cr_expect_geq(n, 15, "%u", n);
}

/*** Lists ***/

static double draw_value(void)
{
	static const double odd[] = { 0, -1, -4e18, 4294967295.0, 1e300, 1, 0.5, 4 * GIB };
	const uint64_t draw = cr_draw(&fleet.draw);

	switch (draw % 4) {
	case 0:
		return UNKNOWN;
	case 1:
		return draw % 8 < 4 ? (double)INFINITY : -(double)INFINITY;
	case 2:
		return odd[draw / 4 % (sizeof odd / sizeof *odd)];
	default:
		return (double)(draw >> 30);
	}
}

/* Anything may be in progress anywhere, any metric may say anything, anybody may be missing. */
static void shake(void)
{
	for (size_t i = 0; i < fleet.view.n; i++) {
		struct cr_live *live = &fleet.shared->live[i];
		const uint64_t draw = cr_draw(&fleet.draw);

		live->inflight = draw % 5 == 0 ? UINT32_MAX : (uint32_t)(draw % 4);
		live->peer_inflight = (uint32_t)(draw >> 8 & 1);
		live->inflight_bytes = (int64_t)cr_draw(&fleet.draw);
		live->latency_ns = (int64_t)cr_draw(&fleet.draw) >> (draw >> 16 & 63);
		live->failure_ppm = (uint32_t)(draw >> 32 & 3) * 400000;
		fleet.weight[i] = (uint32_t)(draw >> 40) % 101;
		is_offered[i] = fleet.weight[i] > 0 && (draw >> 50 & 7) != 0;
		for (size_t k = 0; plugin_metric(&plugin->router, k) != NULL; k++) {
			fleet.value[k][i] = draw_value();
			fleet.taken_ns[k][i] = fleet.view.taken_ns;
		}
	}
}

Test(all_routers, list_each_server_that_is_offered_once_and_nobody_else)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 16, 17, 33, 64, 65, 200, 300 };

	EACH_FOUND(one)
	{
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			begin(one, sizes[s]);
			for (int call = 0; call < 60; call++) {
				if (call % 6 == 0)
					shake();
				offer(call % 3 == 0);
				if (fleet.n_offered > 0)
					decide((struct cr_call){
						.cost_bytes = call % 2 * BIG_CALL,
						.key = { "session", (size_t)call % 8 },
						.primary = (uint16_t)call,
						.secondary = CR_NONE });
				at_s(call);
			}
			unload();
		}
	}
}

Test(all_routers, send_every_call_to_the_only_server)
{
	EACH_FOUND(one)
	{
		begin(one, 4);
		know_all();
		memset(is_offered, 0, sizeof is_offered);
		is_offered[2] = true;
		offer(true);
		for (int call = 0; call < 100; call++) {
			fleet.published[1] = 77;
			decide((struct cr_call){ .cost_bytes = call % 2 * BIG_CALL });
			cr_expect_eq(fleet.order[0], 2, "%s", one->name);
			cr_expect_eq(fleet.order[1], 77, "%s", one->name);
		}
		unload();
	}
}

Test(all_routers, list_nobody_where_nobody_is_offered)
{
	EACH_FOUND(one)
	{
		begin(one, 4);
		know_all();
		memset(is_offered, 0, sizeof is_offered);
		offer(true);
		fleet.published[0] = 3;
		for (int call = 0; call < 100; call++) {
			decide((struct cr_call){ .cost_bytes = call % 2 * BIG_CALL });
			cr_expect_eq(fleet.order[0], 3, "%s", one->name);
		}
		unload();
	}
}

/*** No favourites ***/

Test(all_routers, have_no_favourite_among_equal_servers)
{
	unsigned first[8];

	EACH_FOUND(one)
	{
		begin(one, 8);
		know_all();
		rank_again();
		count_decisions(CALLS, 0, first);
		expect_no_favourite(first, "small calls");
		count_decisions(CALLS, BIG_CALL, first);
		expect_no_favourite(first, "big calls");
		unload();
	}
}

/* Weights 1, 1 are the commonest of all. */
Test(all_routers, use_both_of_two_equal_servers)
{
	unsigned first[2];

	EACH_FOUND(one)
	{
		for (int is_known = 0; is_known < 2; is_known++) {
			begin(one, 2);
			if (is_known)
				know_all();
			rank_again();
			count_decisions(1000, BIG_CALL, first);
			cr_expect(first[0] > 430 && first[0] < 570, "%s %s: %u", one->name,
				  one->packed, first[0]);
			unload();
		}
	}
}

Test(all_routers, have_no_favourite_where_all_metrics_are_nan)
{
	unsigned first[8];

	EACH_FOUND(one)
	{
		begin(one, 8);
		if (one->has_route) { /* columns are NaN, too, before the first ranking */
			count_decisions(CALLS, BIG_CALL, first);
			expect_no_favourite(first, "never ranked");
		}
		rank_again();
		count_decisions(CALLS, BIG_CALL, first);
		expect_no_favourite(first, "ranked");
		unload();
	}
}

/* Neither starved, as if it had nothing to give, nor flooded, as if it had nothing to do. */
Test(all_routers, treat_a_server_of_which_nothing_is_known_as_the_others)
{
	unsigned first[5];

	EACH_FOUND(one)
	{
		if (!one->has_route) /* a ranking alone puts unknown values last, as documented */
			continue;
		begin(one, 5);
		for (size_t i = 0; i < 4; i++)
			know(i);
		rank_again();
		for (int tier = 0; tier < 2; tier++) {
			count_decisions(5000, tier * BIG_CALL, first);
			cr_expect(first[4] > 500 && first[4] < 2000, "%s %s: %u of 5000", one->name,
				  one->packed, first[4]);
		}
		unload();
	}
}

Test(all_routers, send_nothing_to_weight_0_if_they_look_at_weights)
{
	unsigned first[4];

	EACH_FOUND(one)
	{
		if (!looks_at_weights(one))
			continue;
		for (int is_known = 0; is_known < 2; is_known++) {
			begin(one, 4);
			fleet.weight[0] = fleet.weight[2] = 0;
			if (is_known)
				know_all();
			rank_again();
			for (int tier = 0; tier < 2; tier++) {
				count_decisions(1000, tier * BIG_CALL, first);
				cr_expect_eq(first[0] + first[2], 0, "%s %s: %u and %u", one->name,
					     one->packed, first[0], first[2]);
			}
			unload();
		}
	}
}

/* Nobody spins, divides by it, or takes the first: the core does not offer such servers. */
Test(all_routers, have_no_favourite_where_all_weights_are_0)
{
	unsigned first[8];

	EACH_FOUND(one)
	{
		begin(one, 8);
		know_all();
		memset(fleet.weight, 0, sizeof fleet.weight);
		rank_again();
		for (int tier = 0; tier < 2 && one->has_route; tier++) {
			count_decisions(CALLS, tier * BIG_CALL, first);
			expect_no_favourite(first, "weight 0");
		}
		unload();
	}
}

Test(all_routers, reach_a_server_of_the_smallest_weight_but_rarely)
{
	unsigned first[3];

	EACH_FOUND(one)
	{
		if (!one->has_route || !looks_at_weights(one))
			continue;
		begin(one, 3);
		know_all();
		fleet.weight[0] = fleet.weight[2] = 100;
		rank_again();
		count_decisions(20100, 0, first); /* 100 are its share */
		cr_expect(first[1] > 60 && first[1] < 140, "%s %s: %u", one->name, one->packed,
			  first[1]);
		unload();
	}
}

/*** Values and views that are not to be trusted ***/

/* A failed, infinite, negative or reset metric never makes a server the best of all. */
Test(all_routers, send_no_flood_where_a_metric_has_failed)
{
	static const double bad[] = { UNKNOWN, INFINITY, -INFINITY, -1, 0, 1e300 };
	unsigned first[5];

	EACH_FOUND(one)
	{
		for (size_t b = 0; b < sizeof bad / sizeof *bad && one->has_route; b++) {
			begin(one, 5);
			know_all();
			for (size_t k = 0; plugin_metric(&plugin->router, k) != NULL; k++)
				fleet.value[k][4] = bad[b];
			rank_again();
			for (int tier = 0; tier < 2; tier++) {
				count_decisions(2000, tier * BIG_CALL, first);
				cr_expect_lt(first[4], 800, "%s %s: %u of 2000 with %g", one->name,
					     one->packed, first[4], bad[b]);
			}
			unload();
		}
	}
}

/* 40 calls arrive between two polls; one server looks a good deal emptier than the others. */
Test(all_routers, spread_a_burst_on_one_view)
{
	EACH_FOUND(one)
	{
		for (int tier = 0; tier < 2 && one->has_route; tier++) {
			unsigned most = 0;

			begin(one, 8);
			know_all();
			for (size_t k = 0; plugin_metric(&plugin->router, k) != NULL; k++) {
				const char *name = plugin_metric(&plugin->router, k);

				if (strstr(name, "used") != NULL)
					fleet.value[k][5] = GIB;
				else if (strstr(name, "free") != NULL)
					fleet.value[k][5] = 3 * GIB;
			}
			rank_again();
			for (int call = 0; call < 40; call++) {
				struct cr_live *live;

				decide((struct cr_call){ .cost_bytes = tier * BIG_CALL });
				live = &fleet.shared->live[fleet.order[0]];
				live->inflight_bytes += tier * BIG_CALL;
				if (++live->inflight > most)
					most = live->inflight;
			}
			cr_expect_leq(most, 20, "%s %s, cost %d: %u of 40", one->name, one->packed,
				      tier, most);
			unload();
		}
	}
}

/*** Changing membership ***/

/* Two of twelve are away for ten calls each, and only every other change is ranked. */
Test(all_routers, follow_servers_that_come_and_go)
{
	EACH_FOUND(one)
	{
		unsigned first[12] = { 0 }, offered[12] = { 0 };

		begin(one, 12);
		know_all();
		for (unsigned call = 0; call < 12000; call++) {
			const unsigned change = call / 10;

			for (unsigned i = 0; i < 12; i++) {
				is_offered[i] = i != change % 12 && i != (change + 5) % 12;
				offered[i] += is_offered[i];
			}
			if (call % 10 == 0)
				offer(change / 12 % 2 == 0);
			decide((struct cr_call){ .cost_bytes = call % 2 * BIG_CALL });
			first[fleet.order[0]]++;
		}
		for (size_t i = 0; i < 12 && one->has_route; i++) /* 1000 are its share */
			cr_expect(offered[i] == 10000 && first[i] > 800 && first[i] < 1200,
				  "%s %s: server %zu: %u", one->name, one->packed, i, first[i]);
		unload();
	}
}

/* It has no history and nothing in progress; until a ranking knows it there are no columns, for
 * nobody: the host drops those of another set of servers. */
Test(all_routers, give_a_new_server_its_share_and_no_flood)
{
	unsigned first[9];

	EACH_FOUND(one)
	{
		if (!one->has_route)
			continue;
		begin(one, 8);
		know_all();
		rank_again();
		fleet.view.n = 9;
		is_offered[8] = true;
		forget_columns();
		offer(false);
		for (int ranked = 0; ranked < 2; ranked++) {
			count_decisions(4500, 0, first);
			cr_expect(first[8] > 250 && first[8] < 1000, "%s %s: %u of 4500", one->name,
				  one->packed, first[8]);
			rank_again();
		}
		unload();
	}
}

/*** Threads and processes ***/

static void *decide_and_hold(void *arg)
{
	const unsigned worker = *(const unsigned *)arg;
	uint64_t draw = worker + 1;
	uint16_t order[FLEET], held[4] = { 0 };

	for (unsigned k = 0; k < 2000; k++) {
		const struct cr_call call = { .now_ns = fleet.view.taken_ns,
					      .random = cr_draw(&draw),
					      .cost_bytes = k % 16 == 0 ? BIG_CALL : 0 };
		unsigned seen = 0;

		memcpy(order, fleet.published, sizeof order);
		if (asked->has_route &&
		    plugin->router.route(instance.self, &fleet.view, &call, order, 8) != 8)
			_exit(1);
		for (size_t i = 0; i < 8; i++)
			seen |= order[i] < 8 ? 1u << order[i] : 0;
		if (seen != 0xff)
			_exit(1);
		fleet.shared->first[worker][order[0]]++;
		__atomic_fetch_add(&fleet.shared->live[order[0]].inflight, 1, __ATOMIC_RELAXED);
		if (k >= 4)
			__atomic_fetch_sub(&fleet.shared->live[held[k % 4]].inflight, 1,
					   __ATOMIC_RELAXED);
		held[k % 4] = order[0];
	}
	for (unsigned k = 0; k < 4; k++)
		__atomic_fetch_sub(&fleet.shared->live[held[k]].inflight, 1, __ATOMIC_RELAXED);
	return NULL;
}

Test(all_routers, keep_their_word_in_four_threads_of_each_of_two_processes)
{
	EACH_FOUND(one)
	{
		unsigned count[8];

		begin(one, 8);
		know_all();
		rank_again();
		see_view();
		work_everywhere(decide_and_hold, count);
		for (size_t i = 0; i < 8 && one->has_route; i++) /* 2000 are its share */
			cr_expect(count[i] > 200 && count[i] < 6000, "%s %s: server %zu: %u",
				  one->name, one->packed, i, count[i]);
		unload();
	}
}
