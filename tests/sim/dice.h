/* dice.h - reproducible random numbers: one stream for each purpose, so that another router does
 * not change what the others draw. */
#ifndef CR_SIM_DICE_H
#define CR_SIM_DICE_H

#include <stdint.h>

/** What is drawn from a stream of its own. */
enum dice_stream {
	DICE_ARRIVAL = 1,
	DICE_BURST,
	DICE_KIND,
	DICE_SIZE,
	DICE_WORK,
	DICE_HOST,
	DICE_CALL,
	DICE_HINT,
	DICE_GRAY,
	DICE_POLL,
	DICE_NOISE,
	DICE_PEER,
	DICE_VICTIM,
	DICE_TRACE,
};

struct dice {
	uint64_t state;
};

struct dice dice_new(uint64_t seed, enum dice_stream stream);

/** 64 even bits. [any] */
uint64_t dice_bits(struct dice *dice);

/** Even in [0, 1). [any] */
double dice_even(struct dice *dice);

/** Exponential with mean 1; normal with mean 0 and deviation 1. [any] */
double dice_exponential(struct dice *dice);
double dice_normal(struct dice *dice);

#endif
