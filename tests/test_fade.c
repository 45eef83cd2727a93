/* test_fade.c - how the share of failures fades: against the exponential function, and as a router
 * reads it. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include <callrouter/plugin.h>

#define S INT64_C(1000000000)

TestSuite(fade, .timeout = 30);

/* Of a million. */
Test(fade, goes_to_a_half_a_quarter_and_e_to_the_minus_one)
{
	static const struct {
		int64_t dt_ns;
		uint64_t least, most;
	} cases[] = {
		{ 0, 1000000, 1000000 },    { 1, 999990, 1000000 },
		{ 1 * S, 904000, 907000 },  { 6931471806, 499000, 501000 },
		{ 10 * S, 367000, 369000 }, { 13862943611, 249500, 250500 },
		{ 30 * S, 49600, 50000 },   { 60 * S, 2470, 2490 },
		{ 200 * S, 0, 0 },          { INT64_MAX, 0, 0 },
		{ -1, 1000000, 1000000 },   { INT64_MIN, 1000000, 1000000 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const uint64_t value = cr_fade(1000000, cases[i].dt_ns);

		cr_expect_geq(value, cases[i].least, "%zu: %llu", i, (unsigned long long)value);
		cr_expect_leq(value, cases[i].most, "%zu: %llu", i, (unsigned long long)value);
	}
}

Test(fade, is_within_half_a_percent_of_the_exponential_and_never_rises)
{
	uint64_t before = UINT64_MAX;

	for (int64_t dt_ns = 0; dt_ns < 100 * S; dt_ns += 7777777) {
		const uint64_t value = cr_fade(UINT64_C(1) << 43, dt_ns);
		const double right = 0x1p43 * exp(-(double)dt_ns / 1e10);

		cr_assert_lt(fabs((double)value / right - 1), 0.005, "at %lld", (long long)dt_ns);
		cr_assert_leq(value, before);
		before = value;
	}
}

/* The same bits on every processor: it is integers all the way. */
Test(fade, has_the_same_bits_everywhere)
{
	cr_expect_eq(cr_fade(1000000, 1 * S), 906463);
	cr_expect_eq(cr_fade(1000000, 10 * S), 367927);
	cr_expect_eq(cr_fade(123456789, 12345678901), 35789395);
}

static double ratio_at(uint32_t ppm, int64_t failure_ns, int64_t now_ns)
{
	const struct cr_live live = { .failure_ppm = ppm, .failure_ns = failure_ns };
	const struct cr_live *const rows[] = { &live };
	const struct cr_view view = { .n = 1, .live = rows };

	return cr_failure_ratio_at(&view, 0, now_ns);
}

Test(fade, a_router_reads_the_share_as_it_is_now)
{
	cr_expect_float_eq(ratio_at(500000, 7 * S, 7 * S), 0.5, 1e-6);
	cr_expect_float_eq(ratio_at(500000, 7 * S, 17 * S), 0.18394, 0.0004);
	cr_expect_float_eq(ratio_at(500000, 7 * S, 37 * S), 0.02489, 0.0001);
	cr_expect_eq(ratio_at(500000, 7 * S, 207 * S), 0);
	cr_expect_eq(ratio_at(0, 0, 5), 0);
	cr_expect_float_eq(ratio_at(500000, 7 * S, 6 * S), 0.5, 1e-6); /* another clock's now */
}
