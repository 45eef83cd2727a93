/* portable.h - exp() and log() that give the same bits everywhere: libm's differ from processor to
 * processor, and a simulation has to repeat itself. */
#ifndef CR_ROUTERS_PORTABLE_H
#define CR_ROUTERS_PORTABLE_H

#include <stdint.h>
#include <string.h>

#define PORTABLE_LN2_HIGH 6.93147180369123816490e-01 /* the upper 33 bits: k times it is exact */
#define PORTABLE_LN2_LOW  1.90821492927058770002e-10

/** 2 to the power of k, -1022 .. 1023. [any] */
static inline double portable_power_of_two(int64_t k)
{
	const uint64_t bits = (uint64_t)(k + 1023) << 52;
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/** e to the power of x, good to 1e-15; 0 below -700, the value at 700 above. [any] */
static inline double portable_exp(double x)
{
	double sum = 1, r;
	int64_t k;

	if (!(x > -700))
		return 0;
	if (x > 700)
		x = 700;
	k = (int64_t)(x * 1.44269504088896338700 + (x < 0 ? -0.5 : 0.5));
	r = x - (double)k * PORTABLE_LN2_HIGH - (double)k * PORTABLE_LN2_LOW;
	for (int i = 14; i > 0; i--)
		sum = 1 + sum * r / i;
	return sum * portable_power_of_two(k);
}

/** The natural logarithm of a normal number above 0, good to 1e-15. [any] */
static inline double portable_log(double x)
{
	uint64_t bits;
	int64_t k;
	double s, square, sum = 0;

	memcpy(&bits, &x, sizeof bits);
	k = (int64_t)(bits >> 52) - 1023;
	bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000);
	memcpy(&x, &bits, sizeof x);
	if (x > 1.41421356237309504880) {
		x *= 0.5;
		k++;
	}
	s = (x - 1) / (x + 1);
	square = s * s;
	for (int i = 23; i > 0; i -= 2)
		sum = 1.0 / i + square * sum;
	return 2 * s * sum + (double)k * PORTABLE_LN2_LOW + (double)k * PORTABLE_LN2_HIGH;
}

#endif
