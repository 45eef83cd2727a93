/* test_headroom.c - headroom's ranking: from metrics to what it believes of each server. */
#include "routers_metrics_scene.h"

#include "../routers/portable.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define SAVED        (64u << 10)

/* Each sample 5 s after the one before, the same for all servers. */
static void sample_ratios(const double *ratio, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		at_s(5.0 * (double)k);
		for (size_t i = 0; i < fleet.view.n; i++)
			put_heap(i, 10 * GIB, ratio[k] * 10 * GIB);
		rank_now();
	}
}

/*** What is free now ***/

Test(headroom, believes_a_fresh_sample_and_an_old_one_only_as_far_as_the_heap_repeats_itself)
{
	static const double young[] = { .2, .4, .6, .8 };
	static const double old[] = { .2, .3, .4, .5, .6, .7, .8, .2, .3, .4, .5, .6 };
	/* seconds after the last sample: the free share, by a calculation apart */
	static const double want[][3] = { { 0, .2, .4 },
					  { 5, .476173077432, .498723215152 },
					  { 60, .752211304729, .693519276653 } };

	load("headroom", "");
	set_fleet(1);
	sample_ratios(young, COUNT(young));
	for (size_t k = 0; k < COUNT(want); k++) {
		at_s(15 + want[k][0]);
		rank_now();
		expect_near(shown("free_ratio", 0), want[k][1]);
	}
	unload();
	load("headroom", "");
	set_fleet(1);
	sample_ratios(old, COUNT(old));
	for (size_t k = 0; k < COUNT(want); k++) {
		at_s(55 + want[k][0]);
		rank_now();
		expect_near(shown("free_ratio", 0), want[k][2]);
	}
	unload();
}

Test(headroom, never_calls_a_server_fuller_than_98_percent)
{
	load("headroom", "");
	set_fleet(1);
	put_heap(0, GIB, 1.04 * GIB);
	rank_now();
	expect_near(shown("free_ratio", 0), .02);
	expect_near(shown("price", 0), 1 / .27);
	unload();
}

Test(headroom, prices_a_call_by_weight_and_predicted_free_heap)
{
	load("headroom", "");
	set_fleet(2);
	fleet.weight[1] = 4;
	put_heap(0, GIB, .25 * GIB);
	put_heap(1, GIB, .5 * GIB);
	rank_now();
	expect_near(shown("price", 0), 1);
	expect_near(shown("price", 1), 1 / 3.);
	unload();
	load("headroom", "floor=50%\n");
	rank_now();
	expect_near(shown("price", 0), 1 / 1.25);
	unload();
}

/*** What is alive: hogs, then after a collection, then used ***/

static void expect_live(double live, int basis)
{
	rank_now();
	expect_near(shown("live_bytes", 0), live);
	cr_expect_eq((int)shown("basis", 0), basis);
}

Test(headroom, takes_for_live_what_is_used_if_it_knows_no_better)
{
	load("headroom", "");
	set_fleet(1);
	put_heap(0, 4 * GIB, 3 * GIB);
	expect_live(3 * GIB, 1);
	unload();
}

Test(headroom, takes_for_live_what_the_last_collection_left)
{
	load("headroom", "");
	set_fleet(1);
	put_heap(0, 4 * GIB, 3 * GIB);
	put(FREE_AFTER_GC, 0, 3 * GIB);
	expect_live(1 * GIB, 2);
	put(FREE_AFTER_GC, 0, 5 * GIB); /* more than there is */
	expect_live(3 * GIB, 1);
	unload();
}

Test(headroom, takes_for_live_the_least_unexplained_heap_of_a_minute_and_the_long_requests)
{
	load("headroom", "");
	set_fleet(1);
	put_heap(0, 4 * GIB, 3 * GIB);
	put(FREE_AFTER_GC, 0, 3 * GIB);
	put(HOGS, 0, 4); /* 256 MiB each */
	expect_live(3 * GIB, 3);
	at_s(5);
	put_heap(0, 4 * GIB, 1.5 * GIB);
	put(HOGS, 0, 0);
	expect_live(1.5 * GIB, 3);
	for (int s = 10; s <= 60; s += 5) {
		at_s(s);
		put_heap(0, 4 * GIB, 3.5 * GIB);
		put(HOGS, 0, 2);
		expect_live(2 * GIB, 3);
	}
	at_s(70); /* the low is forgotten: 3 GiB were the least since */
	put_heap(0, 4 * GIB, 3.75 * GIB);
	put(HOGS, 0, 1);
	expect_live(3.25 * GIB, 3);
	unload();
}

Test(headroom, looks_for_the_least_heap_among_eight_polls_if_they_are_rare)
{
	load("headroom", "");
	set_fleet(1);
	put_heap(0, 4 * GIB, 1 * GIB);
	put(HOGS, 0, 0);
	expect_live(1 * GIB, 3);
	for (int s = 60; s < 8 * 60; s += 60) {
		at_s(s);
		put_heap(0, 4 * GIB, 3 * GIB);
		put(HOGS, 0, 0);
		expect_live(1 * GIB, 3);
	}
	at_s(8 * 60);
	put_heap(0, 4 * GIB, 3 * GIB);
	put(HOGS, 0, 0);
	expect_live(3 * GIB, 3);
	unload();
}

Test(headroom, draws_what_lives_to_its_mean_as_the_sample_ages)
{
	load("headroom", "");
	set_fleet(1);
	put_heap(0, 4 * GIB, 1 * GIB);
	rank_now();
	at_s(5);
	put_heap(0, 4 * GIB, 3 * GIB);
	expect_live(3 * GIB, 1);
	at_s(20); /* a mean of 2 GiB, and 1 / e of the difference */
	expect_live(2.3678794411714423 * GIB, 1);
	unload();
}

Test(headroom, never_takes_more_for_live_than_is_used)
{
	load("headroom", "big_call=1GiB\n");
	set_fleet(1);
	put_heap(0, 4 * GIB, 2 * GIB);
	put(HOGS, 0, 7);
	expect_live(2 * GIB, 3);
	unload();
}

Test(headroom, works_out_the_used_heap_from_size_and_free)
{
	load("headroom", "");
	set_fleet(1);
	put(MAX_BYTES, 0, 4 * GIB);
	put("jvm_heap_size_bytes", 0, 2 * GIB);
	put("jvm_heap_free_bytes", 0, 1.5 * GIB);
	expect_live(.5 * GIB, 1);
	expect_near(shown("free_ratio", 0), .875);
	unload();
}

Test(headroom, learns_what_a_big_call_holds)
{
	load("headroom", "");
	set_fleet(1);
	put_heap(0, 4 * GIB, 2 * GIB);
	put(HOGS, 0, 0);
	rank_now();
	at_s(1);
	fleet.shared->word[0] = (uint64_t)(50 * 56 * MIB);
	fleet.shared->word[1] = 50;
	rank_now(); /* from 256 to 56 MiB, by 1 - 1/e */
	at_s(2);
	put_heap(0, 4 * GIB, 3 * GIB);
	put(HOGS, 0, 1);
	expect_live(2 * GIB + 129.57588823428847 * MIB, 3);
	unload();
}

/*** Servers of which nothing is known ***/

Test(headroom, counts_a_server_without_metrics_as_the_others_on_average)
{
	load("headroom", "");
	set_fleet(3);
	put_heap(0, 4 * GIB, 1 * GIB);
	put_heap(1, 2 * GIB, 1.5 * GIB);
	rank_now();
	expect_near(shown("free_ratio", 2), .5);
	expect_near(shown("heap_bytes", 2), 3 * GIB);
	expect_near(shown("live_bytes", 2), 1.5 * GIB);
	cr_expect_eq(shown("basis", 2), 0);
	expect_near(shown("price", 2), 1 / .75);
	unload();
}

Test(headroom, looks_at_no_heap_if_most_are_unknown)
{
	load("headroom", "");
	set_fleet(5);
	fleet.weight[1] = 5;
	put_heap(0, 4 * GIB, 1 * GIB);
	put_heap(1, 4 * GIB, 3 * GIB);
	rank_now();
	for (size_t i = 0; i < 5; i++) {
		cr_expect(isnan(shown("free_ratio", i)));
		cr_expect(isnan(shown("heap_bytes", i)));
		cr_expect(isnan(shown("big_bytes", i)));
		expect_near(shown("price", i), i == 1 ? .2 : 1);
	}
	put_heap(2, 4 * GIB, 2 * GIB);
	rank_now();
	expect_near(shown("free_ratio", 4), .5);
	unload();
}

Test(headroom, ranks_with_nan_everywhere)
{
	load("headroom", "");
	set_fleet(8);
	fleet.weight[5] = 2;
	rank_now();
	cr_expect_eq(fleet.published[0], 5);
	unload();
}

Test(headroom, leaves_out_of_the_averages_who_is_not_offered)
{
	load("headroom", "");
	set_fleet(4);
	put_heap(0, 4 * GIB, 1 * GIB);
	put_heap(3, 4 * GIB, 3 * GIB);
	fleet.n_offered = 3; /* row 3 is drained */
	rank_now();
	cr_expect(isnan(shown("free_ratio", 0)));
	put_heap(1, 4 * GIB, 2 * GIB);
	rank_now();
	expect_near(shown("free_ratio", 2), .625);
	expect_near(shown("free_ratio", 3), .25);
	unload();
}

/*** Metrics that lie ***/

static int basis_of(size_t i)
{
	rank_now();
	return (int)shown("basis", i);
}

Test(headroom, does_not_believe_impossible_heaps)
{
	static const struct {
		double max, used;
		int basis;
	} cases[] = {
		{ UNKNOWN, 1e9, 0 }, { 4e9, UNKNOWN, 0 },   { 0, 0, -2 },
		{ -4e9, 1e9, -2 },   { 4e9, -1, -2 },       { 4e9, 4.3e9, -2 },
		{ 4e9, 4.1e9, 1 },   { INFINITY, 1e9, -2 }, { 4e9, INFINITY, -2 },
		{ 4e9, 0, 1 },       { 4e11, 1e9, 1 },      { 4.1e11, 1e9, -2 },
		{ 4e7, 1e6, 1 },     { 3.9e7, 1e6, -2 },
	};

	for (size_t c = 0; c < COUNT(cases); c++) {
		load("headroom", "");
		set_fleet(4);
		for (size_t i = 0; i < 3; i++)
			put_heap(i, 4e9, 1e9);
		put_heap(3, cases[c].max, cases[c].used);
		cr_expect_eq(basis_of(3), cases[c].basis, "case %zu: %g", c, shown("basis", 3));
		expect_near(shown("free_ratio", 0), .75);
		if (cases[c].basis <= 0)
			expect_near(shown("free_ratio", 3), .75);
		unload();
	}
}

Test(headroom, does_not_believe_a_maximum_that_leaps_until_it_has_come_three_times)
{
	static const struct {
		double max;
		int basis;
	} steps[] = { { 1, 1 },  { 3.9, 1 }, { 1, 1 }, { 5, -2 }, { 1, 1 },    { 5, -2 }, { 9, -2 },
		      { 9, -2 }, { 9, 1 },   { 9, 1 }, { 2, -2 }, { 2.2, -2 }, { 2, -2 } };

	load("headroom", "");
	set_fleet(1);
	for (size_t k = 0; k < COUNT(steps); k++) {
		at_s(5.0 * (double)k);
		put_heap(0, steps[k].max * GIB, .5 * GIB);
		cr_expect_eq(basis_of(0), steps[k].basis, "step %zu", k);
	}
	unload();
}

static void poll_again(double at_second, int64_t latency_ns, double requests)
{
	at_s(at_second);
	fleet.shared->live[0].latency_ns = latency_ns;
	put_heap(0, 4 * GIB, 1 * GIB);
	put(REQUESTS, 0, requests);
	put_heap(1, 4 * GIB, (2 + at_second / 1000) * GIB);
}

Test(headroom, does_not_believe_an_exporter_that_repeats_itself_while_calls_are_served)
{
	load("headroom", "");
	set_fleet(2);
	poll_again(0, 100, 7);
	cr_expect_eq(basis_of(0), 1);
	poll_again(5, 101, 7);
	cr_expect_eq(basis_of(0), 1);
	poll_again(10, 102, 7);
	cr_expect_eq(basis_of(0), -1);
	expect_near(shown("free_ratio", 0), shown("free_ratio", 1));
	expect_near(shown("live_bytes", 0), shown("live_bytes", 1));
	poll_again(15, 102, 7);
	cr_expect_eq(basis_of(0), -1);
	poll_again(20, 103, 8);
	cr_expect_eq(basis_of(0), 1);
	unload();
}

Test(headroom, believes_an_idle_server_whose_figures_stay_the_same)
{
	load("headroom", "");
	set_fleet(2);
	for (int k = 0; k < 10; k++) {
		poll_again(5 * k, 100, 7);
		cr_expect_eq(basis_of(0), 1);
		rank_now(); /* nothing new: no further sample */
	}
	unload();
}

Test(headroom, believes_a_heap_that_stays_the_same_if_requests_are_counted)
{
	load("headroom", "");
	set_fleet(2);
	for (int k = 0; k < 10; k++) {
		poll_again(5 * k, 100 + k, 7 + k);
		cr_expect_eq(basis_of(0), 1);
	}
	unload();
}

Test(headroom, believes_an_exporter_that_renews_its_figures_once_a_second)
{
	load("headroom", "");
	set_fleet(2);
	for (int k = 0; k < 50; k++) {
		poll_again(.1 * k, 100 + k, k / 10);
		cr_expect_eq(basis_of(0), 1);
	}
	unload();
}

static unsigned n_lines;
static char last_line[200];

static CR_PRINTF(3, 4) void note_line(const struct cr_host *host, enum cr_level level,
				      const char *fmt, ...)
{
	va_list args;

	(void)host;
	(void)level;
	n_lines++;
	va_start(args, fmt);
	vsnprintf(last_line, sizeof last_line, fmt, args);
	va_end(args);
}

static void load_to_note(void)
{
	static const struct cr_host host = { .log = note_line };

	load("headroom", "");
	plugin_instance_close(&instance);
	cr_assert_eq(plugin_instance_open(plugin, &host, "orders", "", NULL, 0, &instance, &err),
		     0);
	n_lines = 0;
}

Test(headroom, logs_once_when_it_stops_believing_and_once_when_it_begins_again)
{
	static const unsigned want[] = { 0, 1, 1, 1, 2, 2 };

	load_to_note();
	set_fleet(2);
	put_heap(1, 4e9, 1e9);
	for (int k = 0; k < 6; k++) {
		at_s(k);
		put_heap(0, 4e9, k < 3 ? 5e9 : 2e9);
		rank_now();
		rank_now();
		cr_expect_eq(n_lines, want[k], "%d: %u", k, n_lines);
		if (k == 1)
			cr_expect_str_eq(last_line, "heap not believed server=ms1 reason=nonsense "
						    "max=4000000000 used=5000000000");
	}
	cr_expect_str_eq(last_line, "heap believed again server=ms1");
	unload();
}

Test(headroom, logs_when_for_ten_seconds_most_heaps_have_been_unknown)
{
	load_to_note();
	set_fleet(3);
	put_heap(1, 4e9, 1e9);
	for (int s = 0; s < 30; s++) {
		at_s(s);
		if (s == 15)
			put_heap(0, 4e9, 1e9);
		rank_now();
		cr_expect_eq(n_lines, s < 10 ? 0 : s < 25 ? 1 : 2);
		if (s == 10)
			cr_expect_str_eq(last_line, "heaps unknown, only calls in progress count "
						    "known=1 servers=3");
	}
	cr_expect_str_eq(last_line, "heaps known again known=2 servers=3");
	unload();
}
