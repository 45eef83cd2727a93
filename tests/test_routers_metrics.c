/* test_routers_metrics.c - the simpler metric-driven routers: heap_weighted, mod_cluster, hot_cold.
 */
#include "routers_metrics_scene.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* 1 in 1000, by degrees of freedom. */
static const double chance[] = { 0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32 };

static void expect_shares(const double *share, size_t n)
{
	unsigned count[FLEET];

	count_calls(12000, 0, count);
	cr_expect_lt(chi_square_of(count, share, n), chance[n - 1], "%u %u %u", count[0], count[1],
		     count[2]);
}

/*** All of them ***/

static const char *const routers[] = { "heap_weighted", "mod_cluster", "hot_cold" };

Test(routers_metrics, route_with_nan_everywhere_by_weight_before_and_after_ranking)
{
	static const double share[] = { 1, 2, 3 };
	unsigned count[3];

	for (size_t r = 0; r < COUNT(routers); r++) {
		load(routers[r], "");
		set_fleet(3);
		for (uint32_t i = 0; i < 3; i++)
			fleet.weight[i] = i + 1;
		count_calls(1000, 0, count);
		for (size_t i = 0; i < 3; i++)
			cr_expect_gt(count[i], 100);
		rank_now();
		expect_shares(share, 3);
		unload();
	}
}

Test(routers_metrics, route_to_one_server_and_among_many)
{
	static const size_t sizes[] = { 1, 2, 3, 64, 65, 300 };

	for (size_t r = 0; r < COUNT(routers); r++)
		for (size_t s = 0; s < COUNT(sizes); s++) {
			load(routers[r], "");
			set_fleet(sizes[s]);
			for (size_t i = 0; i < sizes[s]; i++)
				put_heap(i, 4 * GIB, (double)(i % 4) * GIB);
			rank_now();
			for (int k = 0; k < 100; k++) {
				first(0);
				expect_each_once();
			}
			unload();
		}
}

Test(routers_metrics, send_nothing_to_a_weight_of_zero_while_others_have_one)
{
	static const double share[] = { 1, 0, 1 }, equal[] = { 1, 1, 1 };

	for (size_t r = 0; r < COUNT(routers); r++) {
		load(routers[r], "");
		set_fleet(3);
		fleet.weight[1] = 0;
		for (size_t i = 0; i < 3; i++)
			put_heap(i, 4 * GIB, i == 1 ? 0 : 2 * GIB);
		rank_now();
		expect_shares(share, 3);
		fleet.weight[0] = fleet.weight[2] = 0;
		rank_now();
		expect_shares(equal, 3);
		unload();
	}
}

Test(routers_metrics, have_no_favourite_among_the_next_of_equal_servers)
{
	static const double share[] = { 1, 1, 1, 1 };

	for (size_t r = 0; r < COUNT(routers); r++) {
		unsigned second[4] = { 0 };

		load(routers[r], r == 2 ? "draws=4\n" : "");
		set_fleet(4);
		for (size_t i = 0; i < 4; i++)
			put_heap(i, 4 * GIB, 2 * GIB);
		rank_now();
		for (int k = 0; k < 12000; k++) {
			first(0);
			second[fleet.order[1]]++;
		}
		cr_expect_lt(chi_square_of(second, share, 4), chance[3], "%s", routers[r]);
		unload();
	}
}

Test(routers_metrics, divide_calls_of_many_threads_and_processes_among_equal_servers)
{
	unsigned count[8];

	for (size_t r = 0; r < COUNT(routers); r++) {
		load(routers[r], "");
		set_fleet(8);
		for (size_t i = 0; i < 8; i++)
			put_heap(i, 4 * GIB, 2 * GIB);
		rank_now();
		call_from_everywhere(count);
		for (size_t i = 0; i < 8; i++) {
			cr_expect_gt(count[i], 3000, "%s: %u", routers[r], count[i]);
			cr_expect_lt(count[i], 50000, "%s: %u", routers[r], count[i]);
		}
		unload();
	}
}

/*** heap_weighted ***/

Test(heap_weighted, shares_calls_by_the_heap_that_is_free_of_live_data)
{
	static const double share[] = { 3, 3.5, .08, 6.58 / 3 * 2 };

	load("heap_weighted", "");
	set_fleet(4);
	put_heap(0, 4 * GIB, 1 * GIB);
	put_heap(1, 4 * GIB, 2 * GIB);
	put(FREE_AFTER_GC, 1, 3.5 * GIB);
	put_heap(2, 4 * GIB, 4 * GIB);
	fleet.weight[3] = 2; /* nothing known: as the others on average */
	rank_now();
	for (size_t i = 0; i < 4; i++)
		expect_near(shown("share_bytes", i), share[i] * GIB);
	expect_shares(share, 4);
	cr_expect_eq(fleet.published[0], 3);
	cr_expect_eq(fleet.published[3], 2);
	unload();
}

Test(heap_weighted, shares_evenly_if_most_heaps_are_unknown_or_nonsense)
{
	static const double share[] = { 1, 1, 1, 1, 1 };

	load("heap_weighted", "");
	set_fleet(5);
	put_heap(0, 4 * GIB, 1 * GIB);
	put_heap(1, 4 * GIB, 3 * GIB);
	put_heap(2, 4 * GIB, 5 * GIB);
	put_heap(3, INFINITY, 5 * GIB);
	put_heap(4, 4 * GIB, -1);
	rank_now();
	expect_shares(share, 5);
	unload();
}

Test(heap_weighted, is_not_asked_without_the_maximum)
{
	load("heap_weighted", "");
	cr_expect_eq(plugin_count(plugin->router.needs), 1);
	cr_expect_str_eq(plugin->router.needs[0], MAX_BYTES);
	unload();
}

/*** mod_cluster ***/

static double factor_of(double used_gib)
{
	put_heap(0, 4 * GIB, used_gib * GIB);
	rank_now();
	return shown("factor", 0);
}

Test(mod_cluster, gives_100_to_an_idle_and_1_to_a_full_server)
{
	static const double cases[][2] = { { 0, 100 },    { 1, 75 },    { 2, 50 },
					   { .018, 100 }, { .021, 99 }, { 3.93, 2 },
					   { 3.99, 1 },   { 4, 1 },     { 4.1, 1 } };

	for (size_t c = 0; c < COUNT(cases); c++) {
		load("mod_cluster", "");
		set_fleet(1);
		cr_expect_eq(factor_of(cases[c][0]), cases[c][1], "%g", shown("factor", 0));
		unload();
	}
}

Test(mod_cluster, halves_the_weight_of_a_load_with_each_newer_one)
{
	load("mod_cluster", "");
	set_fleet(1);
	cr_expect_eq(factor_of(.8), 80); /* a new server has no history of zeros */
	at_s(5);
	cr_expect_eq(factor_of(2.4), 60);
	rank_now(); /* no new sample */
	cr_expect_eq(shown("factor", 0), 60);
	at_s(10);
	cr_expect_eq(factor_of(0), 80);
	unload();
}

Test(mod_cluster, weighs_the_loads_that_are_there)
{
	load("mod_cluster", "heap=1\ncpu=2\nbusy=5\n");
	set_fleet(3);
	for (size_t i = 0; i < 3; i++)
		put_heap(i, 4 * GIB, 1 * GIB);
	put("cpu_load_ratio", 0, .7);
	put("cpu_load_ratio", 1, .1);
	rank_now();
	cr_expect_eq(shown("factor", 0), 45);
	cr_expect_eq(shown("factor", 1), 85);
	cr_expect_eq(shown("factor", 2), 65); /* its processor as the others on average */
	put("busy_threads_ratio", 0, 1);
	put("busy_threads_ratio", 1, 0);
	put("busy_threads_ratio", 2, .4);
	rank_now();
	cr_expect_eq(shown("factor", 0), 100 - 83);
	cr_expect_eq(shown("factor", 1), 100 - 6);
	unload();
}

Test(mod_cluster, never_takes_a_server_whose_metrics_fail_for_the_best)
{
	static const double bad[][2] = { { UNKNOWN, UNKNOWN },
					 { 4, UNKNOWN },
					 { UNKNOWN, 1 },
					 { 0, 0 },
					 { 4, -1 },
					 { -4, 1 },
					 { 4, INFINITY },
					 { INFINITY, 1 },
					 { 4, 5 },
					 { -INFINITY, INFINITY } };

	for (size_t c = 0; c < COUNT(bad); c++) {
		load("mod_cluster", "");
		set_fleet(3);
		put_heap(0, 4 * GIB, 1 * GIB);
		put_heap(1, 4 * GIB, 3 * GIB);
		put_heap(2, bad[c][0] * GIB, bad[c][1] * GIB);
		put("cpu_load_ratio", 2, bad[c][0] > 0 ? INFINITY : -1);
		rank_now();
		cr_expect_eq(shown("factor", 2), 50, "case %zu: %g", c, shown("factor", 2));
		cr_expect_eq(fleet.published[0], 0);
		unload();
	}
}

Test(mod_cluster, shares_calls_by_weight_and_factor)
{
	static const double share[] = { 75, 100, 1, 3 * (176. / 3) };

	load("mod_cluster", "");
	set_fleet(4);
	put_heap(0, 4 * GIB, 1 * GIB);
	put_heap(1, 4 * GIB, 0);
	put_heap(2, 4 * GIB, 4 * GIB);
	fleet.weight[3] = 3;
	rank_now();
	cr_expect_eq(shown("factor", 3), 58); /* 100 - 41.67, rounded */
	expect_shares((const double[]){ share[0], share[1], share[2], 174 }, 4);
	unload();
}

Test(mod_cluster, leaves_it_to_the_default_if_its_factors_are_a_minute_old)
{
	struct cr_call call = { .now_ns = (START_S + 60) * INT64_C(1000000000) };

	load("mod_cluster", "");
	set_fleet(2);
	rank_now();
	ask(&call);
	call.now_ns++;
	cr_expect_eq(plugin->router.route(instance.self, &fleet.view, &call, fleet.order, 2),
		     CR_DEFAULT);
	unload();
}

Test(mod_cluster, hands_its_averages_to_its_successor)
{
	static char saved[64u << 10];
	size_t len;

	load("mod_cluster", "");
	set_fleet(1);
	factor_of(.8);
	len = plugin->router.save(instance.self, saved, sizeof saved);
	plugin_instance_close(&instance);
	cr_assert_eq(plugin_instance_open(plugin, NULL, "orders", "", saved, len, &instance, &err),
		     0);
	at_s(5);
	cr_expect_eq(factor_of(2.4), 60);
	unload();
}

/*** hot_cold ***/

/* Servers with so many calls in progress and this mean latency in ms. */
static void set_calls(const uint32_t *calls, const int64_t *latency_ms, size_t n)
{
	set_fleet(n);
	for (size_t i = 0; i < n; i++) {
		fleet.shared->live[i].inflight = calls[i];
		fleet.shared->live[i].latency_ns = latency_ms[i] * 1000000;
	}
	rank_now();
}

Test(hot_cold, takes_the_fastest_server_that_is_not_hot)
{
	static const uint32_t calls[] = { 3, 9, 4, 5 };
	static const int64_t latency_ms[] = { 30, 10, 20, 15 };

	load("hot_cold", "draws=4\nhot=50%\n");
	set_calls(calls, latency_ms, 4);
	cr_expect_eq(shown("hot_above", 0), 5);
	cr_expect_eq(first(0), 3);
	cr_expect_eq(fleet.order[1], 2);
	cr_expect_eq(fleet.order[2], 0);
	fleet.shared->live[3].inflight = 6; /* hot at once, before the next ranking */
	cr_expect_eq(first(0), 2);
	unload();
}

Test(hot_cold, takes_the_least_loaded_server_if_all_are_hot)
{
	static const uint32_t calls[] = { 3, 1, 2 };
	static const int64_t latency_ms[] = { 10, 30, 20 };

	load("hot_cold", "hot=0%\n");
	set_calls(calls, latency_ms, 3);
	for (size_t i = 0; i < 3; i++)
		fleet.shared->live[i].inflight += 10;
	cr_expect_eq(first(0), 1);
	fleet.weight[0] = 2;
	cr_expect_eq(first(0), 0);
	unload();
}

Test(hot_cold, calls_hot_who_has_more_calls_than_84_percent_of_the_servers)
{
	static const uint32_t calls[] = { 7, 0, 3, 1, 5, 2, 6, 4 };
	static const int64_t latency_ms[] = { 1, 9, 9, 9, 9, 9, 2, 9 };

	load("hot_cold", "draws=8\n");
	set_calls(calls, latency_ms, 8);
	cr_expect_eq(shown("hot_above", 3), 6);
	cr_expect_eq(first(0), 6);
	unload();
}

Test(hot_cold, does_not_take_a_new_server_for_the_fastest)
{
	static const uint32_t calls[] = { 1, 1, 1 };
	static const int64_t latency_ms[] = { 30, 0, 10 };

	load("hot_cold", "");
	set_calls(calls, latency_ms, 3);
	expect_near(shown("cost", 1), .020);
	cr_expect_eq(first(0), 2);
	cr_expect_eq(fleet.order[1], 1);
	unload();
}

Test(hot_cold, does_not_take_a_server_that_fails_fast_for_cold)
{
	static const uint32_t calls[] = { 4, 4, 0 };
	static const int64_t latency_ms[] = { 30, 30, 1 };

	load("hot_cold", "hot=50%\n");
	set_calls(calls, latency_ms, 3);
	cr_expect_eq(first(0), 2);
	set_failures(2, 500000);
	rank_now();
	cr_expect_neq(first(0), 2);
	unload();
}

Test(hot_cold, prefers_the_emptiest_heap_of_the_cold_if_told)
{
	static const uint32_t calls[] = { 1, 1, 1, 1 };
	static const int64_t latency_ms[] = { 1, 2, 3, 4 };

	load("hot_cold", "draws=4\ncold_by=heap\n");
	set_calls(calls, latency_ms, 4);
	put_heap(0, 4 * GIB, 3 * GIB);
	put_heap(1, 4 * GIB, 2 * GIB);
	put_heap(2, 4 * GIB, 1 * GIB);
	rank_now();
	cr_expect_eq(first(0), 2);
	expect_near(shown("cost", 3), .5);
	unload();
}

Test(hot_cold, draws_its_three_by_weight)
{
	static unsigned count[FLEET];
	static double share[FLEET];

	load("hot_cold", "");
	set_fleet(FLEET);
	for (uint32_t i = 0; i < FLEET; i++)
		share[i] = fleet.weight[i] = 1 + i % 4;
	rank_now();
	count_calls(200000, 0, count);
	cr_expect_lt(chi_square_of(count, share, FLEET), 378); /* 299 degrees of freedom */
	unload();
}
