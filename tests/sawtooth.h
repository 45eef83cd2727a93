/* sawtooth.h - the free heap of a Tomcat under load, as it was recorded. */
#ifndef CR_TESTS_SAWTOOTH_H
#define CR_TESTS_SAWTOOTH_H

#include <stdio.h>

#include <criterion/criterion.h>

#include "clock.h"

struct sawtooth_point {
	int64_t t_ns;
	double free;
};

/** Returns how many points there are, max at most. */
static inline size_t sawtooth_read(struct sawtooth_point *point, size_t max)
{
	FILE *file = fopen(TEST_DATA "/tomcat_heap_sawtooth.csv", "r");
	char line[128];
	size_t n = 0;

	cr_assert_not_null(file);
	cr_assert_not_null(fgets(line, sizeof line, file));
	while (n < max && fgets(line, sizeof line, file) != NULL) {
		long long t_ms, bytes;

		cr_assert_eq(sscanf(line, "%lld,%lld", &t_ms, &bytes), 2);
		point[n++] = (struct sawtooth_point){ t_ms * CLOCK_MS, (double)bytes };
	}
	fclose(file);
	return n;
}

#endif
