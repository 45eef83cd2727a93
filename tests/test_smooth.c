/* test_smooth.c - what rankers are given instead of a sawtooth. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "sawtooth.h"
#include "smooth.h"

#define MS    CLOCK_MS
#define NAMES 4
#define FREE  "jvm_heap_free_bytes"

static char names[NAMES][2] = { "a", "b", "c", "d" };
static struct config_server servers[NAMES];
static size_t members[NAMES] = { 0, 1, 2, 3 };
static char metric_name[] = FREE;
static struct config_smooth how;
static struct config_service service;
static struct config config;
static struct smooth *smooth;
static struct image_header *image;

static void set_up(void)
{
	const struct image_size size = { .servers = NAMES,
					 .metrics = 1,
					 .services = 1,
					 .rows = NAMES,
					 .orders = NAMES,
					 .text = 1 };
	struct image_service *in_image;

	for (size_t i = 0; i < NAMES; i++)
		servers[i].name = names[i];
	how = (struct config_smooth){ .metric = metric_name };
	service = (struct config_service){ .name = names[0],
					   .servers = members,
					   .n_servers = NAMES,
					   .smooth = &how,
					   .n_smooth = 1 };
	config = (struct config){
		.servers = servers, .n_servers = NAMES, .services = &service, .n_services = 1
	};
	smooth = smooth_new();
	image = image_new(&size);
	strcpy(((struct image_metric *)image_edit(image, image->metric))->name, FREE);
	in_image = image_edit(image, image->service);
	in_image->n_rows = NAMES;
	in_image->stale_after_ns = 10 * CLOCK_S;
	for (uint32_t i = 0; i < NAMES; i++)
		((uint32_t *)image_edit(image, image->row))[i] = i;
}

static void tear_down(void)
{
	smooth_free(smooth);
	free(image);
}

TestSuite(smooth, .init = set_up, .fini = tear_down);

static void sample(size_t row, double value, int64_t taken_ns)
{
	((double *)image_edit(image, image->value))[row] = value;
	((int64_t *)image_edit(image, image->taken))[row] = taken_ns;
}

static double given(size_t row)
{
	return smooth_get(smooth, 0, FREE, row);
}

/* One sample of the first server. */
static double after(double value, int64_t taken_ns)
{
	sample(0, value, taken_ns);
	smooth_update(smooth, image);
	return given(0);
}

/* All servers at once. */
static void all(double a, double b, double c, double d)
{
	static int64_t now_ns = CLOCK_S;
	const double value[NAMES] = { a, b, c, d };

	now_ns += 100 * MS;
	for (size_t i = 0; i < NAMES; i++)
		sample(i, value[i], now_ns);
	smooth_update(smooth, image);
}

/*** One way each ***/

Test(smooth, window_max_gives_the_largest_of_the_window_and_forgets_it_after)
{
	how.window_ns = 1600 * MS;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	cr_expect_eq(after(100, 10000 * MS), 100);
	cr_expect_eq(after(240, 10110 * MS), 240);
	cr_expect_eq(after(50, 10150 * MS), 240, "in the same sixteenth of the window");
	cr_expect_eq(after(90, 10200 * MS), 240);
	cr_expect_eq(after(80, 11500 * MS), 240, "1.4 s ago");
	cr_expect_eq(after(70, 11800 * MS), 80, "1.7 s ago is over");
	cr_expect_eq(after(60, 20000 * MS), 60, "and all of it");
}

Test(smooth, window_min_gives_the_smallest)
{
	how.window_ns = 1600 * MS;
	how.is_min = true;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	cr_expect_eq(after(100, 10000 * MS), 100);
	cr_expect_eq(after(40, 10100 * MS), 40);
	cr_expect_eq(after(90, 10200 * MS), 40);
	cr_expect_eq(after(95, 11900 * MS), 95);
}

Test(smooth, half_life_counts_by_time_not_by_samples)
{
	how.half_life_ns = CLOCK_S;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	cr_expect_eq(after(100, 10 * CLOCK_S), 100);
	cr_expect_eq(after(200, 11 * CLOCK_S), 150);
	cr_expect_eq(after(200, 13 * CLOCK_S), 187.5, "two half-lives more");
}

Test(smooth, an_old_sample_seen_again_changes_nothing)
{
	how.half_life_ns = CLOCK_S;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	after(100, 10 * CLOCK_S);
	after(200, 11 * CLOCK_S);
	cr_expect_eq(after(200, 11 * CLOCK_S), 150);
}

Test(smooth, a_server_that_starts_afresh_is_not_what_it_was)
{
	how.window_ns = 10 * CLOCK_S;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	after(200, 11 * CLOCK_S);
	cr_expect(isnan(after(NAN, 0)), "nothing is known");
	cr_expect_eq(after(50, 12 * CLOCK_S), 50);
}

Test(smooth, a_band_makes_near_ones_equal_and_keeps_the_others_apart)
{
	how.band = 0.05;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	all(1000, 951, 949, 500);
	cr_expect_eq(given(0), 1000);
	cr_expect_eq(given(1), 1000, "4.9 %% less");
	cr_expect_eq(given(2), 949, "5.1 %% less");
	cr_expect_eq(given(3), 500);
}

Test(smooth, equal_ones_part_beyond_the_band_and_meet_again_within_half_of_it)
{
	how.band = 0.05;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	all(1000, 960, NAN, NAN);
	cr_expect_eq(given(1), 1000);
	all(1000, 940, NAN, NAN);
	cr_expect_eq(given(1), 940, "they part");
	all(1000, 960, NAN, NAN);
	cr_expect_eq(given(1), 960, "4 %% is not near enough to meet again");
	all(1000, 976, NAN, NAN);
	cr_expect_eq(given(1), 1000, "2.4 %% is");
	cr_expect(isnan(given(2)), "who is not known stays so");
}

Test(smooth, the_order_of_what_is_given_never_contradicts_a_difference_beyond_the_band)
{
	unsigned seed = 7;

	how.band = 0.05;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	for (size_t turn = 0; turn < 5000; turn++) {
		double value[NAMES];

		for (size_t i = 0; i < NAMES; i++)
			value[i] = 900 + (double)(rand_r(&seed) % 200);
		all(value[0], value[1], value[2], value[3]);
		for (size_t i = 0; i < NAMES; i++)
			for (size_t k = 0; k < NAMES; k++)
				cr_assert(!(value[i] * 0.95 > value[k] && given(i) <= given(k)),
					  "turn %zu: %g and %g given as %g and %g", turn, value[i],
					  value[k], given(i), given(k));
	}
}

Test(smooth, nobody_is_made_equal_to_a_server_whose_value_has_run_out)
{
	how.band = 0.05;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	sample(0, 1000, 5 * CLOCK_S);
	sample(1, 980, 5 * CLOCK_S);
	image->taken_ns = 6 * CLOCK_S;
	smooth_update(smooth, image);
	cr_expect_eq(given(1), 1000);
	sample(1, 981, 16 * CLOCK_S);
	image->taken_ns = 16 * CLOCK_S;
	smooth_update(smooth, image);
	cr_expect_eq(given(1), 981, "the first is stale");
	cr_expect(isnan(given(0)));
	sample(0, 1001, 17 * CLOCK_S);
	image->taken_ns = 17 * CLOCK_S;
	smooth_update(smooth, image);
	cr_expect_eq(given(1), 1001, "it is back");
}

/*** For rankers only, and over a reload ***/

Test(smooth, only_the_copy_for_the_rankers_is_changed)
{
	struct image_header *copy;

	how.window_ns = 10 * CLOCK_S;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	cr_expect(smooth_is_used(smooth, 0));
	cr_expect(!smooth_is_used(smooth, 1));
	after(200, 11 * CLOCK_S);
	after(100, 12 * CLOCK_S);
	copy = smooth_image(smooth, image, 0);
	cr_expect_eq(image_values(copy, 0)[0], 200);
	cr_expect(isnan(image_values(copy, 0)[1]));
	cr_expect_eq(image_taken(copy, 0)[0], 12 * CLOCK_S, "its age is the sample's own");
	cr_expect_eq(image_values(image, 0)[0], 100);
	free(copy);
}

Test(smooth, a_reload_keeps_what_is_known_of_the_same_servers_in_another_order)
{
	static size_t turned[] = { 3, 0 };
	struct config_smooth next = { .metric = metric_name, .window_ns = 10 * CLOCK_S };

	how.window_ns = 10 * CLOCK_S;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	after(200, 11 * CLOCK_S);
	service.servers = turned;
	service.n_servers = 2;
	service.smooth = &next;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	cr_expect_eq(given(1), 200);
	cr_expect(isnan(given(0)));
	next.window_ns = 5 * CLOCK_S;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
	cr_expect(isnan(given(1)), "smoothed in another way, it starts afresh");
}

/*** The recorded sawtooth ***/

/* What becomes of two equal servers that live the recorded life, one a while later. */
struct life {
	double raw_flips, flips; /* of their order, per minute */
	size_t unequal;          /* how often they were given different values, the window filled */
};

/* -1, 0, 1; counts in *flips when it turns. */
static void count_flip(double a, double b, int *before, double *flips)
{
	const int order = (a > b) - (a < b);

	*flips += *before != 0 && order != 0 && order != *before;
	*before = order != 0 ? order : *before;
}

/* Polled every interval_ns for ten minutes. */
static struct life live(int64_t interval_ns, int64_t later_ns)
{
	struct sawtooth_point trace[128];
	const size_t n = sawtooth_read(trace, 128);
	struct life life = { 0 };
	int before = 0, raw_before = 0;

	for (int64_t t_ns = interval_ns; t_ns <= 600 * CLOCK_S; t_ns += interval_ns) {
		double value[2];

		for (size_t i = 0; i < 2; i++) {
			const int64_t at_ns = (t_ns + (int64_t)i * later_ns) % trace[n - 1].t_ns;
			size_t k = 0;

			while (k + 1 < n && trace[k + 1].t_ns <= at_ns)
				k++;
			value[i] = trace[k].free;
			sample(i, value[i], t_ns);
		}
		smooth_update(smooth, image);
		count_flip(value[0], value[1], &raw_before, &life.raw_flips);
		count_flip(given(0), given(1), &before, &life.flips);
		life.unequal += t_ns > how.window_ns && given(0) != given(1);
	}
	life.raw_flips /= 10;
	life.flips /= 10;
	return life;
}

/* A server afresh, with what config_smooth.c sets where nothing is said. */
static void begin_with_defaults(int64_t interval_ns)
{
	tear_down();
	set_up();
	how.window_ns = 15 * interval_ns > 10 * CLOCK_S ? 15 * interval_ns : 10 * CLOCK_S;
	how.band = 0.1;
	cr_assert_eq(smooth_configure(smooth, &config), 0);
}

Test(smooth, equal_servers_on_the_recorded_sawtooth_stay_equal_with_the_defaults)
{
	static const struct {
		int64_t interval_ns;
		double raw_flips; /* with 900 ms between the servers */
	} polled[] = {
		{ 200 * MS, 63.6 }, { 500 * MS, 63.6 }, { 1000 * MS, 52.1 }, { 2000 * MS, 4.8 }
	};

	for (size_t i = 0; i < sizeof polled / sizeof *polled; i++)
		for (int64_t later_ns = 300 * MS; later_ns < 6000 * MS; later_ns += 300 * MS) {
			struct life life;

			begin_with_defaults(polled[i].interval_ns);
			life = live(polled[i].interval_ns, later_ns);
			if (later_ns == 900 * MS)
				cr_expect_float_eq(life.raw_flips, polled[i].raw_flips, 0.01,
						   "every %lld ms: %g",
						   (long long)(polled[i].interval_ns / MS),
						   life.raw_flips);
			cr_expect_leq(life.flips, 0.1, "every %lld ms, %lld ms later: %g",
				      (long long)(polled[i].interval_ns / MS),
				      (long long)(later_ns / MS), life.flips);
			cr_expect_eq(life.unequal, 0, "every %lld ms, %lld ms later",
				     (long long)(polled[i].interval_ns / MS),
				     (long long)(later_ns / MS));
		}
}
