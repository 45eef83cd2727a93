/* test_sim_portable.c - the simulator's own exp and log, and its random numbers. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "dice.h"
#include "portable.h"

/* How many numbers lie between a and b. */
static int64_t units_between(double a, double b)
{
	int64_t x, y;

	memcpy(&x, &a, sizeof x);
	memcpy(&y, &b, sizeof y);
	return x > y ? x - y : y - x;
}

Test(sim_portable, exp_is_within_one_unit_of_the_c_librarys)
{
	struct dice dice = dice_new(1, DICE_SIZE);

	for (int i = 0; i < 200000; i++) {
		const double x = (dice_even(&dice) - 0.5) * (i % 2 == 0 ? 1400 : 4);

		cr_assert_leq(units_between(portable_exp(x), exp(x)), 1, "exp(%.17g)", x);
	}
	cr_assert_eq(portable_exp(0), 1.0);
	cr_assert_eq(portable_exp(-1000), 0.0);
	cr_assert(isinf(portable_exp(1000)));
}

Test(sim_portable, log_is_within_one_unit_of_the_c_librarys)
{
	struct dice dice = dice_new(2, DICE_SIZE);

	for (int i = 0; i < 200000; i++) {
		const double x =
			i % 2 == 0 ? exp((dice_even(&dice) - 0.5) * 1300) : 0.5 + dice_even(&dice);

		cr_assert_leq(units_between(portable_log(x), log(x)), 1, "log(%.17g)", x);
	}
	cr_assert_eq(portable_log(1), 0.0);
}

Test(sim_portable, powers_and_roots_are_good_to_thirteen_digits)
{
	struct dice dice = dice_new(3, DICE_SIZE);

	for (int i = 0; i < 20000; i++) {
		const double x = 0.01 + 100 * dice_even(&dice), y = 4 * dice_even(&dice) - 2;

		cr_assert_float_eq(portable_pow(x, y) / pow(x, y), 1, 1e-13);
		cr_assert_float_eq(portable_root(x) / sqrt(x), 1, 1e-13);
	}
}

Test(sim_dice, streams_of_a_seed_are_what_they_were_when_figures_were_published)
{
	struct dice arrival = dice_new(11, DICE_ARRIVAL), size = dice_new(11, DICE_SIZE);

	cr_expect_eq(dice_bits(&arrival), UINT64_C(0x449eedd09f30c91a));
	cr_expect_eq(dice_bits(&size), UINT64_C(0x4f27ba14cc01a443));
}

Test(sim_dice, draws_have_the_mean_and_the_deviation_that_they_should)
{
	struct dice dice = dice_new(4, DICE_WORK);
	double even = 0, exponential = 0, normal = 0, square = 0;
	const int n = 1000000;

	for (int i = 0; i < n; i++) {
		const double draw = dice_normal(&dice);

		even += dice_even(&dice);
		exponential += dice_exponential(&dice);
		normal += draw;
		square += draw * draw;
	}
	/* four standard errors each */
	cr_expect_float_eq(even / n, 0.5, 0.0012);
	cr_expect_float_eq(exponential / n, 1, 0.004);
	cr_expect_float_eq(normal / n, 0, 0.004);
	cr_expect_float_eq(square / n, 1, 0.0057);
}
