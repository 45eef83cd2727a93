/* test_headroom_call.c - headroom's route(): small calls by load, big ones by room. */
#include "routers_metrics_scene.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* 1 in 1000, by degrees of freedom. */
static const double chance[] = { 0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32 };

/* Heaps of 4 GiB with so much of them alive. */
static void set_live(const double *live_gib, size_t n)
{
	load("headroom", "");
	set_fleet(n);
	for (size_t i = 0; i < n; i++)
		put_heap(i, 4 * GIB, live_gib[i] * GIB);
	rank_now();
}

static void expect_shares(double cost_bytes, const double *share, size_t n)
{
	unsigned count[FLEET];

	count_calls(12000, cost_bytes, count);
	cr_expect_lt(chi_square_of(count, share, n), chance[n - 1], "%u %u %u", count[0], count[1],
		     count[2]);
}

/*** The small tier ***/

Test(headroom_small, goes_where_the_fewest_calls_are_for_the_free_heap)
{
	static const double live[] = { 1, 3, 2 }; /* prices 1, 2, 4/3 */

	set_live(live, 3);
	fleet.shared->live[0].inflight = 5;
	fleet.shared->live[1].inflight = 3;
	fleet.shared->live[2].inflight = 4;
	cr_expect_eq(first(0), 0);
	fleet.shared->live[2].inflight = 3;
	cr_expect_eq(first(0), 2);
	fleet.shared->live[1].inflight = 1;
	cr_expect_eq(first(0), 1);
	fleet.shared->live[1].peer_inflight = 4;
	cr_expect_eq(first(0), 2);
	cr_expect_eq(fleet.order[1], 0);
	cr_expect_eq(fleet.order[2], 1);
	unload();
}

Test(headroom_small, divides_an_idle_fleet_by_weight_and_free_heap)
{
	static const double live[] = { 1, 3, 2, 0 };
	static const double share[] = { 1 * 1, .5 * 2, .75 * 3, 1.25 * 4 };

	set_live(live, 4);
	for (uint32_t i = 0; i < 4; i++)
		fleet.weight[i] = i + 1;
	rank_now();
	expect_shares(0, share, 4);
	unload();
}

Test(headroom_small, divides_ties_under_load_by_weight)
{
	static const double share[] = { 7, 1, 49, 3 };

	load("headroom", "");
	set_fleet(4);
	for (size_t i = 0; i < 4; i++) {
		fleet.weight[i] = (uint32_t)share[i];
		fleet.shared->live[i].inflight = 3 * fleet.weight[i];
	}
	rank_now();
	expect_shares(0, share, 4);
	unload();
}

Test(headroom_small, takes_failures_for_calls_in_progress)
{
	static const double live[] = { 2, 2 };

	set_live(live, 2);
	set_failures(0, 200000); /* 10 calls, by 0.8^12: 145 */
	fleet.shared->live[1].inflight = 145;
	cr_expect_eq(first(0), 1);
	fleet.shared->live[1].inflight = 146;
	cr_expect_eq(first(0), 0);
	set_failures(0, 1000000);
	fleet.shared->live[1].inflight = 490000;
	cr_expect_eq(first(0), 1);
	unload();
}

Test(headroom_small, has_no_favourite_among_the_next_of_an_idle_fleet)
{
	static const double live[] = { 2, 2, 2, 2 }, share[] = { 1, 1, 1, 1 };
	unsigned second[4] = { 0 }, third[4] = { 0 };

	set_live(live, 4);
	for (int k = 0; k < 12000; k++) {
		first(0);
		second[fleet.order[1]]++;
		third[fleet.order[2]]++;
		expect_each_once();
	}
	cr_expect_lt(chi_square_of(second, share, 4), chance[3]);
	cr_expect_lt(chi_square_of(third, share, 4), chance[3]);
	unload();
}

Test(headroom_small, falls_back_to_calls_by_weight_where_no_heap_is_known)
{
	static const double share[] = { 1, 2, 3 };

	load("headroom", "");
	set_fleet(3);
	for (uint32_t i = 0; i < 3; i++)
		fleet.weight[i] = i + 1;
	expect_shares(0, share, 3); /* not even ranked yet */
	rank_now();
	expect_shares(1 * GIB, share, 3);
	fleet.shared->live[0].inflight = 1;
	fleet.shared->live[1].inflight = 1;
	fleet.shared->live[2].inflight = 2;
	cr_expect_eq(first(1 * GIB), 1);
	unload();
}

Test(headroom_small, forgets_the_heaps_a_minute_after_the_last_ranking)
{
	static const double live[] = { 0, 3.9 };
	struct cr_call call = { .now_ns = (START_S + 60) * INT64_C(1000000000),
				.cost_bytes = INT64_C(1) << 30 };

	set_live(live, 2);
	fleet.shared->live[0].inflight = 3;
	fleet.shared->live[1].inflight = 2;
	cr_expect_eq(ask(&call), 0);
	call.cost_bytes = 0;
	cr_expect_eq(ask(&call), 0);
	call.now_ns += 1000000;
	cr_expect_eq(ask(&call), 1);
	call.cost_bytes = INT64_C(1) << 30;
	cr_expect_eq(ask(&call), 1);
	unload();
}

Test(headroom_small, sends_nothing_to_a_weight_of_zero_while_others_have_one)
{
	static const double live[] = { 3, 0, 3 }, equal[] = { 1, 1, 1 }, share[] = { 1, 0, 1 };

	set_live(live, 3);
	fleet.weight[1] = 0;
	rank_now();
	expect_shares(0, share, 3);
	expect_shares(.5 * GIB, share, 3);
	fleet.weight[0] = fleet.weight[2] = 0;
	rank_now();
	expect_shares(0, equal, 3);
	expect_shares(.5 * GIB, equal, 3);
	unload();
}

/*** The big tier ***/

Test(headroom_big, sends_a_big_call_where_there_is_most_room_whatever_is_in_progress)
{
	static const double live[] = { 3, 1, 2.5 };

	set_live(live, 3); /* 0.6 GiB may come unseen: less than lies between the first two */
	fleet.shared->live[1].inflight = 100;
	for (int k = 0; k < 100; k++)
		cr_expect_eq(first(.0401 * GIB), 1);
	cr_expect_neq(first(.039 * GIB), 1); /* less than 1 % of 4 GiB: small */
	unload();
}

Test(headroom_big, gives_no_big_call_to_a_full_server)
{
	static const double live[] = { 4, 1, 1, 1 };
	unsigned count[4];

	set_live(live, 4);
	count_calls(1000, 1 * GIB, count);
	cr_expect_eq(count[0], 0);
	cr_expect_eq(first(1 * GIB) == 0, 0);
	cr_expect_neq(fleet.order[1], 0);
	cr_expect_neq(fleet.order[2], 0);
	unload();
}

Test(headroom_big, subtracts_the_bytes_in_progress_of_this_host_and_its_peers)
{
	static const double live[] = { 1, 1.8 };

	set_live(live, 2);
	cr_expect_eq(first(.5 * GIB), 0);
	fleet.shared->live[0].inflight_bytes = (int64_t)(1.3 * GIB);
	cr_expect_eq(first(.5 * GIB), 1);
	fleet.shared->live[1].peer_bytes = (int64_t)(1 * GIB);
	cr_expect_eq(first(.5 * GIB), 0);
	unload();
}

Test(headroom_big, divides_what_is_expected_to_come_as_water_finds_its_level)
{
	static const double live[] = { 0, 1, 3 }; /* 4, 3, 1 GiB of room */
	static const struct {
		double expected_gib, share[3];
	} cases[] = {
		{ .5, { 1, 0, 0 } }, { 1, { 1, 0, 0 } },  { 3, { 2, 1, 0 } },   { 5, { 3, 2, 0 } },
		{ 11, { 5, 4, 2 } }, { 14, { 6, 5, 3 } }, { 1e6, { 4, 4, 4 } },
	};

	set_live(live, 3);
	for (size_t c = 0; c < COUNT(cases); c++) {
		for (size_t i = 0; i < 3; i++) /* blind for a second */
			fleet.column[7][i] = cases[c].expected_gib * GIB;
		expect_shares(.5 * GIB, cases[c].share, 3);
	}
	unload();
}

Test(headroom_big, expects_more_the_longer_it_is_blind_but_a_stay_in_the_heap_at_most)
{
	static const double live[] = { 0, 1, 3 };
	static const struct {
		double blind_s, later_s, share[3];
	} cases[] = {
		{ 3, 0, { 2, 1, 0 } }, { 1, 2, { 2, 1, 0 } },      { 11, 0, { 5, 4, 2 } },
		{ 5, 6, { 5, 4, 2 } }, { 300, 0, { 19, 16, 10 } }, /* 15 s */
	};
	unsigned count[3];

	set_live(live, 3);
	for (size_t c = 0; c < COUNT(cases); c++) {
		memset(count, 0, sizeof count);
		for (size_t i = 0; i < 3; i++) {
			fleet.column[7][i] = GIB;
			fleet.column[5][i] = cases[c].blind_s;
		}
		for (int k = 0; k < 12000; k++)
			count[ask(&(struct cr_call){ .now_ns = fleet.view.taken_ns +
							       (int64_t)(cases[c].later_s * 1e9),
						     .random = cr_draw(&fleet.draw),
						     .cost_bytes = INT64_C(1) << 29 })]++;
		cr_expect_lt(chi_square_of(count, cases[c].share, 3), chance[2], "case %zu", c);
	}
	unload();
}

Test(headroom_big, sends_less_to_a_server_that_fails)
{
	static const double live[] = { 0, 0, 0 };
	/* by 0.9^12, and only if it is drawn twice */
	static const double share[] = { 0.9514987197395597, 0.04850128026044029, 0 };

	set_live(live, 3);
	set_failures(1, 100000);
	set_failures(2, 1000000);
	expect_shares(.5 * GIB, share, 3);
	unload();
}

Test(headroom_big, takes_of_two_that_are_drawn_the_one_with_fewer_calls)
{
	static const double live[] = { 0, 0 };
	static const double share[] = { .25, .75 };

	set_live(live, 2);
	fleet.shared->live[0].inflight = 1;
	expect_shares(.5 * GIB, share, 2);
	unload();
}

Test(headroom_big, places_a_call_even_where_there_is_room_nowhere)
{
	static const double live[] = { 3.5, 3.9, 4 };

	set_live(live, 3);
	for (int k = 0; k < 100; k++) {
		cr_expect_neq(first(100 * GIB), 2);
		expect_each_once();
	}
	for (size_t i = 0; i < 3; i++)
		set_failures(i, 1000000);
	first(1 * GIB);
	expect_each_once();
	unload();
}

Test(headroom_big, counts_what_it_has_sent)
{
	static const double live[] = { 1, 1 };

	set_live(live, 2);
	for (int k = 0; k < 6400; k++)
		first(k % 100 == 0 ? 1000 * MIB : 1 * MIB);
	cr_expect_eq(fleet.shared->word[0], (uint64_t)(64 * 1000 * MIB));
	cr_expect_eq(fleet.shared->word[1], 64);
	cr_expect_gt(fleet.shared->word[2], 6400 - 3200);
	cr_expect_lt(fleet.shared->word[2], 6400 + 3200);
	fleet.view.shared = NULL;
	first(1 * GIB);
	unload();
}

/*** Any number of servers, calls from everywhere ***/

Test(headroom_call, routes_to_one_server_and_among_many)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 64, 65, 300 };

	for (size_t s = 0; s < COUNT(sizes); s++) {
		load("headroom", "");
		set_fleet(sizes[s]);
		for (size_t i = 0; i < sizes[s]; i++)
			put_heap(i, 4 * GIB, 1 * GIB);
		rank_now();
		for (int k = 0; k < 200; k++) {
			first(k % 2 == 0 ? 0 : 1 * GIB);
			expect_each_once();
		}
		unload();
	}
}

Test(headroom_call, gives_each_of_three_hundred_its_share)
{
	static unsigned count[FLEET];
	double share[FLEET];

	load("headroom", "");
	set_fleet(FLEET);
	for (uint32_t i = 0; i < FLEET; i++) {
		fleet.weight[i] = i == 17 ? 100 : 1 + i % 3;
		share[i] = fleet.weight[i];
		put_heap(i, 4 * GIB, 1 * GIB);
	}
	rank_now();
	count_calls(200000, 0, count);
	/* 299 degrees of freedom, 1 in 1000 */
	cr_expect_lt(chi_square_of(count, share, FLEET), 378, "%g, the heaviest %u",
		     chi_square_of(count, share, FLEET), count[17]);
	unload();
}

Test(headroom_call, finds_the_idle_servers_among_three_hundred)
{
	unsigned idle = 0;

	load("headroom", "");
	set_fleet(FLEET);
	for (size_t i = 0; i < FLEET; i++)
		fleet.shared->live[i].inflight = i % 2 == 0 ? 0 : 5;
	rank_now();
	for (int k = 0; k < 10000; k++)
		idle += first(0) % 2 == 0;
	cr_expect_gt(idle, 9900);
	unload();
}

Test(headroom_call, divides_calls_of_many_threads_and_processes_evenly)
{
	unsigned count[8];

	load("headroom", "");
	set_fleet(8);
	for (size_t i = 0; i < 8; i++)
		put_heap(i, 4 * GIB, 1 * GIB);
	rank_now();
	call_from_everywhere(count);
	for (size_t i = 0; i < 8; i++) {
		cr_expect_gt(count[i], 5000);
		cr_expect_lt(count[i], 40000);
	}
	unload();
}

/*** headroom_lite ***/

Test(headroom_lite, treats_every_call_as_small)
{
	load("headroom_lite", "");
	set_fleet(2);
	put_heap(0, 4 * GIB, 3.9 * GIB);
	put_heap(1, 4 * GIB, 2 * GIB);
	rank_now();
	expect_near(shown("price", 1), 1 / .75);
	expect_near(shown("free_ratio", 1), .5);
	fleet.shared->live[1].inflight = 3;
	fleet.shared->live[0].inflight = 1;
	cr_expect_eq(first(3.9 * GIB), 0);
	fleet.shared->live[0].inflight = 2;
	cr_expect_eq(first(0), 1);
	unload();
}

Test(headroom_lite, divides_calls_of_many_threads_and_processes_evenly)
{
	unsigned count[8];

	load("headroom_lite", "");
	set_fleet(8);
	rank_now();
	call_from_everywhere(count);
	for (size_t i = 0; i < 8; i++) {
		cr_expect_gt(count[i], 5000);
		cr_expect_lt(count[i], 40000);
	}
	unload();
}

/*** The recorded heap of a real Tomcat, four times at different phases ***/

#define ROWS_MAX 100

struct trace {
	double used[ROWS_MAX], max[ROWS_MAX];
	size_t n;
};

static struct trace read_trace(void)
{
	FILE *file = fopen(TEST_DATA "/tomcat_heap_sawtooth.csv", "r");
	struct trace trace = { .n = 0 };
	double t_ms, free_bytes, total;
	char line[200];

	cr_assert_not_null(file);
	cr_assert_not_null(fgets(line, sizeof line, file));
	while (trace.n < ROWS_MAX && fgets(line, sizeof line, file) != NULL) {
		cr_assert_eq(sscanf(line, "%lf,%lf,%lf,%lf", &t_ms, &free_bytes, &total,
				    &trace.max[trace.n]),
			     4);
		trace.used[trace.n++] = total - free_bytes;
	}
	fclose(file);
	return trace;
}

/* Replays the trace 40 times, a poll each step; at each poll 50 calls one after the other, of which
 * the last so many are in progress. Expects equal shares, and no step in which one server gets it
 * all. */
static void expect_equal_shares(const char *router, size_t in_progress)
{
	static const double share[] = { 1, 1, 1, 1 };
	const struct trace trace = read_trace();
	uint16_t held[64];
	unsigned count[4] = { 0 }, calls = 0, herds = 0;

	load(router, "");
	set_fleet(4);
	for (size_t step = 0; step < 40 * trace.n; step++) {
		unsigned here[4] = { 0 };

		at_s((double)step * .2);
		for (size_t i = 0; i < 4; i++)
			put_heap(i, trace.max[0], trace.used[(step + 15 * i) % trace.n]);
		rank_now();
		for (int k = 0; k < 50; k++, calls++) {
			uint16_t *slot = &held[calls % (in_progress + 1)];

			if (in_progress > 0 && calls > in_progress)
				fleet.shared->live[*slot].inflight--;
			*slot = first(0);
			if (in_progress > 0)
				fleet.shared->live[*slot].inflight++;
			here[fleet.order[0]]++;
			count[fleet.order[0]]++;
		}
		for (size_t i = 0; i < 4; i++)
			herds += here[i] > 30;
	}
	cr_expect_lt(chi_square_of(count, share, 4), chance[3], "%u %u %u %u", count[0], count[1],
		     count[2], count[3]);
	cr_expect_lt(herds, 40 * trace.n / 100);
	unload();
}

Test(headroom_sawtooth, leaves_equal_servers_equal_shares_when_they_are_idle)
{
	expect_equal_shares("headroom", 0);
}

Test(headroom_sawtooth, leaves_equal_servers_equal_shares_under_load)
{
	expect_equal_shares("headroom", 40);
}

Test(headroom_sawtooth, leaves_equal_servers_equal_shares_with_the_small_tier_alone)
{
	expect_equal_shares("headroom_lite", 40);
}
