/* fake_ranker.h - rankers without processes: they answer when the test says so. */
#ifndef CR_TESTS_FAKE_RANKER_H
#define CR_TESTS_FAKE_RANKER_H

#include "ranker.h"

struct ranker {
	ranker_fn *fn;
	void *arg;
	bool is_busy;
	unsigned asked;             /* how often rank() was asked for */
	struct image_header *image; /* a copy of what was asked last */
	uint32_t instance;
	struct ranker_answer answer;
	uint16_t order[64];
	double column[64];
	char saved[32];
	size_t saved_len;
};

/** How many are there now? */
extern unsigned fake_rankers;

/** rank() has returned: verdict, and if that is above 0 so many rows. */
void fake_ranker_answers(struct ranker *ranker, int32_t verdict, const uint16_t *order,
			 uint32_t n_rows);

/** It is past its deadline, or has crashed. */
void fake_ranker_is_late(struct ranker *ranker);
void fake_ranker_dies(struct ranker *ranker);

#endif
