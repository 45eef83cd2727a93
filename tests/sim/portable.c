/* portable.c - exp and log by argument reduction and series; compiled without contraction. */
#include "portable.h"

#include <stdint.h>
#include <string.h>

/* ln 2 in two parts: the first has 21 zero bits at its end, so that k * LN2_HIGH is exact. */
#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW  1.90821492927058770002e-10
#define INV_LN2  1.44269504088896338700e+00
#define ROOT_2   1.41421356237309514547e+00

static double from_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

static uint64_t to_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static double two_to(int k)
{
	return from_bits((uint64_t)(k + 1023) << 52);
}

double portable_exp(double x)
{
	/* 1/n! for n = 2 .. 13: with |r| <= ln(2) / 2 the next term is below half a unit. */
	static const double term[] = {
		1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
		1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
		1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2,
	};
	double high, low, r, sum = 0;
	int k;

	if (x < -708)
		return 0;
	if (x > 709)
		return from_bits(UINT64_C(0x7ff0000000000000));
	k = (int)(x * INV_LN2 + (x < 0 ? -0.5 : 0.5));
	high = x - k * LN2_HIGH;
	low = k * LN2_LOW;
	r = high - low;
	for (unsigned i = 0; i < sizeof term / sizeof *term; i++)
		sum = sum * r + term[i];
	/* the large terms last, and high - low not rounded before */
	return (1 + (high + (r * r * sum - low))) * two_to(k);
}

double portable_log(double x)
{
	const uint64_t bits = to_bits(x);
	int k = (int)(bits >> 52) - 1023;
	double m = from_bits((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
	double f, s, z, sum = 0;

	if (m > ROOT_2) {
		m *= 0.5;
		k++;
	}
	f = m - 1;
	s = f / (2 + f);
	z = s * s;
	/* log((1 + s) / (1 - s)) = 2s + 2s^3/3 + 2s^5/5 ..., and 2s = f - s f */
	for (int n = 23; n >= 3; n -= 2)
		sum = sum * z + 2.0 / n;
	return k * LN2_HIGH + (f - (s * (f - sum * z) - k * LN2_LOW));
}

double portable_pow(double x, double y)
{
	return portable_exp(y * portable_log(x));
}

double portable_root(double x)
{
	return portable_exp(0.5 * portable_log(x));
}
