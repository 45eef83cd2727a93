/* garbage.h - the answers of garbage.c, so that a test can say what has to become of each. */
#ifndef CR_TESTS_GARBAGE_H
#define CR_TESTS_GARBAGE_H

#include <callrouter/order.h>

/** Spoil the order of n usable rows of n_rows in one of many ways; returns what route() returns. */
static inline int garbage_answer(uint64_t random, size_t n_rows, uint16_t *order, size_t n)
{
	uint64_t state = random;
	const uint32_t way = cr_below(cr_draw(&state), 8);

	for (size_t i = n; i > 1; i--) {
		const uint32_t j = cr_below(cr_draw(&state), (uint32_t)i);
		const uint16_t x = order[i - 1];

		order[i - 1] = order[j];
		order[j] = x;
	}
	if (way == 0) /* any rows at all, unusable and repeated ones */
		for (size_t i = 0; i < n; i++)
			order[i] = (uint16_t)cr_below(cr_draw(&state), (uint32_t)n_rows);
	if (way == 1) /* any numbers at all */
		for (size_t i = 0; i < n; i++)
			order[i] = (uint16_t)cr_draw(&state);
	if (way == 2) /* one wrong entry */
		order[cr_below(cr_draw(&state), (uint32_t)n)] = (uint16_t)cr_draw(&state);
	if (way == 3)
		order[cr_below(cr_draw(&state), (uint32_t)n)] = order[0];
	if (way == 4) /* any result */
		return (int)(uint32_t)cr_draw(&state);
	if (way == 5)
		return (int)cr_below(cr_draw(&state), (uint32_t)n + 3);
	return (int)n;
}

#endif
