/* test_headroom_fleet.c - headroom's ranking of all servers together: what is expected to come, and
 * what a successor takes over. */
#include "routers_metrics_scene.h"

#include "../routers/portable.h"

#define SAVED (64u << 10)

static void put_heaps(double max, double used)
{
	for (size_t i = 0; i < fleet.view.n; i++)
		put_heap(i, max, used);
}

Test(headroom_fleet, calls_big_what_holds_a_share_of_the_median_heap)
{
	load("headroom", "");
	set_fleet(3);
	put_heap(0, 1000, 500);
	put_heap(1, 4000, 500);
	put_heap(2, 3000, 500);
	rank_now();
	expect_near(shown("big_bytes", 0), 30);
	unload();
	load("headroom", "big=10%\n");
	rank_now();
	expect_near(shown("big_bytes", 2), 300);
	unload();
}

Test(headroom_fleet, measures_the_bytes_sent_over_twenty_seconds)
{
	load("headroom", "hosts=1\n");
	set_fleet(2);
	put_heaps(64 * GIB, 2 * GIB);
	fleet.shared->word[0] = 12345; /* of before our time */
	rank_now();
	cr_expect_eq(shown("bytes_per_s", 0), 0);
	for (int s = 1; s <= 20; s++) {
		at_s(s);
		fleet.shared->word[0] += 100;
		rank_now();
		expect_near(shown("bytes_per_s", 1), 100);
	}
	at_s(21);
	rank_now();
	expect_near(shown("bytes_per_s", 0), 100 * exp(-1 / 20.));
	unload();
}

Test(headroom_fleet, multiplies_the_bytes_by_the_hosts_that_it_is_told)
{
	load("headroom", "hosts=7\n");
	set_fleet(2);
	fleet.view.hosts = 3;
	put_heaps(64 * GIB, 2 * GIB);
	rank_now();
	at_s(1);
	fleet.shared->word[0] += 100;
	rank_now();
	expect_near(shown("bytes_per_s", 0), 700);
	unload();
	load("headroom", "");
	set_fleet(2);
	fleet.view.hosts = 3;
	put_heaps(64 * GIB, 2 * GIB);
	rank_now();
	at_s(1);
	fleet.shared->word[0] += 100;
	rank_now();
	expect_near(shown("bytes_per_s", 0), 300);
	unload();
}

Test(headroom_fleet, finds_out_how_many_hosts_there_are_by_the_requests_that_servers_complete)
{
	load("headroom", "");
	set_fleet(3);
	for (int s = 0; s <= 30; s++) {
		at_s(s);
		put_heaps(64 * GIB, (2 + s) * GIB);
		put(REQUESTS, 0, 1000 + 150 * s);
		put(REQUESTS, 1, 7 + 250 * s); /* the third does not count */
		fleet.shared->word[0] = (uint64_t)(100 * s);
		fleet.shared->word[2] = (uint64_t)(120 * s);
		rank_now();
	}
	expect_near(shown("bytes_per_s", 0), 100 * 600 / 120.);
	unload();
}

/* Its counter begins at 0 again: nobody has taken requests back. */
Test(headroom_fleet, takes_no_rate_from_a_server_that_counts_from_0_again)
{
	load("headroom", "");
	set_fleet(2);
	for (int s = 0; s <= 30; s++) {
		at_s(s);
		put_heaps(64 * GIB, (2 + s) * GIB);
		for (size_t i = 0; i < 2; i++)
			put(REQUESTS, i, i == 1 && s >= 15 ? 300 * (s - 15) : 90000 + 300 * s);
		fleet.shared->word[0] = (uint64_t)(100 * s);
		fleet.shared->word[2] = (uint64_t)(120 * s);
		rank_now();
		if (s > 1)
			expect_near(shown("bytes_per_s", 0), 100 * 600 / 120.);
	}
	unload();
}

Test(headroom_fleet, counts_one_host_if_requests_are_not_counted_and_a_thousand_at_most)
{
	load("headroom", "");
	set_fleet(3);
	for (int s = 0; s < 3; s++) {
		at_s(s);
		put_heaps(64 * GIB, (2 + s) * GIB);
		put(REQUESTS, 0, 1000 + 150 * s);
		fleet.shared->word[0] = (uint64_t)(100 * s);
		fleet.shared->word[2] = (uint64_t)s;
		rank_now();
	}
	expect_near(shown("bytes_per_s", 0), 100);
	for (int s = 3; s < 6; s++) {
		at_s(s);
		put_heaps(64 * GIB, (2 + s) * GIB);
		for (size_t i = 0; i < 3; i++)
			put(REQUESTS, i, 1e6 * s);
		fleet.shared->word[0] = (uint64_t)(100 * s);
		fleet.shared->word[2] = (uint64_t)s;
		rank_now();
	}
	expect_near(shown("bytes_per_s", 0), 100000);
	unload();
}

Test(headroom_fleet, is_blind_for_the_age_of_a_sample_and_the_second_in_which_a_call_takes_effect)
{
	load("headroom", "");
	set_fleet(3);
	put_heap(0, 4 * GIB, 2 * GIB);
	at_s(4);
	put_heap(1, 4 * GIB, 2 * GIB);
	at_s(6);
	rank_now();
	expect_near(shown("blind_s", 0), 7);
	expect_near(shown("blind_s", 1), 3);
	expect_near(shown("blind_s", 2), 5);
	unload();
}

Test(headroom_fleet, is_blind_for_a_moment_only_while_peers_tell)
{
	load("headroom", "hosts=8\n");
	set_fleet(2);
	put_heaps(4 * GIB, 2 * GIB);
	rank_now();
	at_s(10);
	fleet.shared->live[1].peer_inflight = 1;
	fleet.shared->word[0] = 1000;
	rank_now();
	expect_near(shown("blind_s", 0), 1.25);
	expect_near(shown("bytes_per_s", 0), 100); /* the peers' are seen */
	fleet.shared->live[1].peer_inflight = 0;
	at_s(39);
	rank_now();
	expect_near(shown("blind_s", 0), 1.25);
	at_s(40);
	rank_now();
	expect_near(shown("blind_s", 0), 41);
	unload();
}

Test(headroom_fleet, puts_the_server_first_that_one_more_small_call_would_choose)
{
	load("headroom", "");
	set_fleet(4);
	put_heap(0, 4 * GIB, 3 * GIB);
	put_heap(1, 4 * GIB, 1 * GIB);
	put_heap(2, 4 * GIB, 2 * GIB);
	put_heap(3, 4 * GIB, 0);
	set_failures(3, 500000);
	fleet.shared->live[1].inflight = 2;
	rank_now();
	cr_expect_eq(fleet.published[0], 2);
	cr_expect_eq(fleet.published[1], 0);
	cr_expect_eq(fleet.published[2], 1);
	cr_expect_eq(fleet.published[3], 3);
	unload();
}

/*** The successor ***/

/* A minute of samples, calls and ranks, a little different for each server. */
static void live_on(int from_s, int to_s)
{
	for (int s = from_s; s < to_s; s++) {
		at_s(s);
		for (size_t i = 0; i < fleet.view.n; i++) {
			const double phase = (double)((s * 7 + (int)i * 13) % 50) / 100;

			put_heap(i, 4 * GIB, (1 + phase) * GIB);
			put(HOGS, i, (s + (int)i) % 3);
			put(REQUESTS, i, 100. * s + (double)i);
			fleet.shared->live[i].latency_ns = 1000 + s;
		}
		fleet.shared->word[0] += (uint64_t)(s * MIB);
		fleet.shared->word[1] += (uint64_t)(s % 4);
		fleet.shared->word[2] += 64;
		rank_now();
	}
}

static size_t save_to(char *buf, size_t cap)
{
	return plugin->router.save(instance.self, buf, cap);
}

static void succeed(const char *saved, size_t len)
{
	plugin_instance_close(&instance);
	cr_assert_eq(plugin_instance_open(plugin, NULL, "orders", "", saved, len, &instance, &err),
		     0);
}

Test(headroom_fleet, answers_the_same_after_its_state_has_gone_to_a_successor)
{
	static double column[CR_COLUMNS_MAX][FLEET];
	static char saved[SAVED];
	size_t len;

	load("headroom", "");
	set_fleet(12);
	live_on(0, 70);
	len = save_to(saved, sizeof saved);
	cr_expect_gt(len, 0);
	live_on(70, 80);
	memcpy(column, fleet.column, sizeof column);

	fleet.shared->word[0] -= (uint64_t)((70 + 79) * 5 * MIB);
	fleet.shared->word[1] -= 17;
	fleet.shared->word[2] -= 640;
	succeed(saved, len);
	live_on(70, 80);
	cr_expect_eq(memcmp(column, fleet.column, sizeof column), 0);
	unload();
}

/* What ranker_trial.c does before the successor ranks in earnest. */
static void try_on_made_up_servers(void)
{
	const size_t n = fleet.view.n;
	uint64_t words[8] = { 0 };
	uint64_t *const shared = fleet.view.shared;

	fleet.view.shared = words;
	for (size_t trial = 0; trial < 2; trial++) {
		fleet.view.n = fleet.n_offered = 100 + 200 * trial;
		for (uint32_t i = 0; i < FLEET; i++) {
			snprintf(fleet.text[i], sizeof fleet.text[i], "trial-%u", i + 1);
			put_heap(i, 1e9, 1e9);
			fleet.published[i] = (uint16_t)i;
		}
		rank_now();
	}
	for (uint32_t i = 0; i < FLEET; i++)
		snprintf(fleet.text[i], sizeof fleet.text[i], "ms%u", i + 1);
	for (uint16_t i = 0; i < n; i++)
		fleet.published[i] = i;
	fleet.view.shared = shared;
	fleet.view.n = fleet.n_offered = n;
}

Test(headroom_fleet, keeps_its_predecessors_state_through_a_trial_on_made_up_servers)
{
	static double free_ratio[FLEET], live[FLEET];
	static char saved[SAVED];
	size_t len;

	load("headroom", "hosts=1\n");
	set_fleet(12);
	live_on(0, 70);
	len = save_to(saved, sizeof saved);
	live_on(70, 71);
	for (size_t i = 0; i < 12; i++) {
		free_ratio[i] = shown("free_ratio", i);
		live[i] = shown("live_bytes", i);
	}
	plugin_instance_close(&instance);
	cr_assert_eq(plugin_instance_open(plugin, NULL, "orders", "hosts=1\n", saved, len,
					  &instance, &err),
		     0);
	at_s(69.9);
	try_on_made_up_servers();
	fleet.shared->word[0] -= (uint64_t)(70 * MIB);
	fleet.shared->word[1] -= 2;
	live_on(70, 71);
	for (size_t i = 0; i < 12; i++) {
		expect_near(shown("free_ratio", i), free_ratio[i]);
		expect_near(shown("live_bytes", i), live[i]);
	}
	cr_expect_lt(shown("bytes_per_s", 0), 70 * MIB);
	cr_expect_gt(shown("bytes_per_s", 0), 40 * MIB);
	unload();
}

Test(headroom_fleet, saves_as_many_servers_as_fit_and_reads_only_whole_records)
{
	static char saved[SAVED];
	size_t len;

	load("headroom", "");
	set_fleet(FLEET);
	live_on(0, 3);
	cr_expect_eq(save_to(saved, 10), 0);
	len = save_to(saved, 20000);
	cr_expect_gt(len, 10000);
	cr_expect_leq(len, 20000);
	succeed(saved, len);
	live_on(3, 5);
	succeed(saved, len - 1);
	live_on(3, 5);
	memset(saved, 0, sizeof saved);
	succeed(saved, sizeof saved);
	live_on(3, 5);
	unload();
}

Test(headroom_fleet, forgets_servers_that_are_gone)
{
	static char saved[SAVED];
	size_t len;

	load("headroom", "");
	set_fleet(20);
	live_on(0, 1);
	len = save_to(saved, sizeof saved);
	for (int round = 1; round < 40; round++) {
		for (uint32_t i = 0; i < 20; i++)
			snprintf(fleet.text[i], sizeof fleet.text[i], "new%d-%u", round, i);
		live_on(round * 200, round * 200 + 1);
	}
	cr_expect_lt(save_to(saved, sizeof saved), 16 * len);
	unload();
}

/*** Numbers ***/

Test(portable, gives_the_same_bits_everywhere)
{
	cr_expect_eq(portable_exp(0), 1);
	cr_expect_eq(portable_log(1), 0);
	cr_expect_eq(portable_exp(-1000), 0);
	for (double x = -20; x < 20; x += .37)
		cr_expect(fabs(portable_exp(x) / exp(x) - 1) < 2e-15, "%g", x);
	for (double x = 1e-9; x < 1e9; x *= 1.37)
		cr_expect(fabs(portable_log(x) - log(x)) < 2e-15 * fabs(log(x)) + 1e-16, "%g", x);
}
