/* dice.c - splitmix64 streams and what is drawn from them. */
#include "dice.h"

#include <callrouter/order.h>

#include "portable.h"

struct dice dice_new(uint64_t seed, enum dice_stream stream)
{
	return (struct dice){ cr_mix64(cr_mix64(seed + 1) + (uint64_t)stream) };
}

uint64_t dice_bits(struct dice *dice)
{
	return cr_draw(&dice->state);
}

double dice_even(struct dice *dice)
{
	return (double)(dice_bits(dice) >> 11) * 0x1p-53;
}

double dice_exponential(struct dice *dice)
{
	/* 1 - x is never 0 */
	return -portable_log(1 - dice_even(dice));
}

/* The polar method; the second number is left, so that a draw does not depend on the one before. */
double dice_normal(struct dice *dice)
{
	double x, y, square;

	do {
		x = 2 * dice_even(dice) - 1;
		y = 2 * dice_even(dice) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square < 1e-30);
	return x * portable_root(-2 * portable_log(square) / square);
}
