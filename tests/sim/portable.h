/* portable.h - exp and log of our own: the same bits from every compiler, libm and processor. */
#ifndef CR_SIM_PORTABLE_H
#define CR_SIM_PORTABLE_H

/** e^x, within one unit in the last place; 0 below -708, infinite above 709. [any] */
double portable_exp(double x);

/** Natural logarithm of a positive, normal x, within one unit in the last place. [any] */
double portable_log(double x);

/** x^y and the square root, for x > 0, by the two above: good to about 1e-14. [any] */
double portable_pow(double x, double y);
double portable_root(double x);

#endif
