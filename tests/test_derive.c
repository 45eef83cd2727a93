/* test_derive.c - heap figures that follow from others, and those that cannot be true together. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include "derive.h"

/* Figures as they were measured, then as they are afterwards. */
struct derivation {
	const char *name;
	double given[HEAP_COUNT], want[HEAP_COUNT];
	unsigned faults;
};

#define U NAN /* unknown */

/* In the order of the enum: free, used, size, max, available, used after gc, free after gc. */
static const struct derivation table[] = {
	{ "nothing", { U, U, U, U, U, U, U }, { U, U, U, U, U, U, U }, 0 },
	{ "size and free", { 30, U, 100, U, U, U, U }, { 30, 70, 100, U, 30, U, U }, 0 },
	{ "size and used", { U, 70, 100, U, U, U, U }, { 30, 70, 100, U, 30, U, U }, 0 },
	{ "used and free", { 30, 70, U, U, U, U, U }, { 30, 70, 100, U, 30, U, U }, 0 },
	{ "with max", { U, 70, 100, 400, U, U, U }, { 30, 70, 100, 400, 330, U, U }, 0 },
	{ "max and used", { U, 70, U, 400, U, U, U }, { U, 70, U, 400, 330, U, U }, 0 },
	{ "after gc", { U, 70, 100, 400, U, 20, U }, { 30, 70, 100, 400, 330, 20, 380 }, 0 },
	{ "after gc, no max", { U, 70, 100, U, U, 20, U }, { 30, 70, 100, U, 30, 20, 80 }, 0 },
	{ "size alone", { U, U, 100, 400, U, U, U }, { U, U, 100, 400, U, U, U }, 0 },
	{ "all given", { 1, 2, 3, 4, 5, 6, 7 }, { 1, 2, 3, 4, 5, 6, 7 }, DERIVE_AFTER_GC_OVER_MAX },
	{ "used over size",
	  { U, 110, 100, U, U, U, U },
	  { 0, 110, 100, U, 0, U, U },
	  DERIVE_USED_OVER_SIZE },
	{ "free over size",
	  { 120, U, 100, 400, U, U, U },
	  { 120, 0, 100, 400, 400, U, U },
	  DERIVE_FREE_OVER_SIZE },
	{ "size over max",
	  { U, 70, 500, 400, U, U, U },
	  { 430, 70, 500, 400, 330, U, U },
	  DERIVE_SIZE_OVER_MAX },
	{ "all over max",
	  { 500, 600, U, 400, U, U, U },
	  { 500, 600, 1100, 400, 0, U, U },
	  DERIVE_USED_OVER_MAX | DERIVE_FREE_OVER_MAX },
};

Test(derive, follows_the_table_in_its_order)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const struct derivation *d = &table[i];
		int64_t taken_ns[HEAP_COUNT];
		double value[HEAP_COUNT];

		memcpy(value, d->given, sizeof value);
		for (size_t k = 0; k < HEAP_COUNT; k++)
			taken_ns[k] = isnan(value[k]) ? 0 : 5;
		cr_expect_eq(derive(value, taken_ns, NULL), d->faults, "%s", d->name);
		for (size_t k = 0; k < HEAP_COUNT; k++) {
			cr_expect(value[k] == d->want[k] || (isnan(value[k]) && isnan(d->want[k])),
				  "%s: %s is %g, not %g", d->name, derive_names[k], value[k],
				  d->want[k]);
			cr_expect_eq(taken_ns[k], isnan(d->want[k]) ? 0 : 5, "%s", d->name);
		}
	}
}

Test(derive, tells_how_and_takes_the_oldest_time_of_the_parts)
{
	double value[HEAP_COUNT] = { U, 70, 100, U, U, U, U };
	int64_t taken_ns[HEAP_COUNT] = { 0, 9, 4, 0, 0, 0, 0 };
	const char *how[HEAP_COUNT];

	cr_expect_eq(derive(value, taken_ns, how), 0);
	cr_expect_str_eq(how[HEAP_FREE], "size - used");
	cr_expect_eq(taken_ns[HEAP_FREE], 4);
	cr_expect_str_eq(how[HEAP_AVAILABLE], "size - used, for want of max");
	cr_expect(how[HEAP_USED] == NULL, "it was measured");
}

Test(derive, an_old_measurement_gives_way_to_what_follows_from_newer_ones)
{
	double value[HEAP_COUNT] = { 1, 70, 100, U, U, U, U };
	int64_t taken_ns[HEAP_COUNT] = { 2, 9, 8, 0, 0, 0, 0 };

	(void)derive(value, taken_ns, NULL);
	cr_expect_eq(value[HEAP_FREE], 30);
	cr_expect_eq(taken_ns[HEAP_FREE], 8);
}

Test(derive, has_words_for_every_contradiction)
{
	cr_expect_str_eq(derive_fault_words(0), "used > size");
	for (size_t i = 0; i < DERIVE_FAULTS; i++)
		cr_expect(strstr(derive_fault_words(i), " > ") != NULL);
	cr_expect_str_eq(derive_fault_words(DERIVE_FAULTS), "unknown");
}
