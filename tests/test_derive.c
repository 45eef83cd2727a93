/* test_derive.c - figures that follow from others, and those that cannot be true together. */
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

/* In the order of the enum: free, used, size, max, available, used after gc, free after gc, free
 * ratio. */
static const struct derivation table[] = {
	{ "nothing", { U, U, U, U, U, U, U, U }, { U, U, U, U, U, U, U, U }, 0 },
	{ "size and free", { 30, U, 100, U, U, U, U, U }, { 30, 70, 100, U, 30, U, U, 0.3 }, 0 },
	{ "size and used", { U, 70, 100, U, U, U, U, U }, { 30, 70, 100, U, 30, U, U, 0.3 }, 0 },
	{ "used and free", { 30, 70, U, U, U, U, U, U }, { 30, 70, 100, U, 30, U, U, 0.3 }, 0 },
	{ "with max", { U, 70, 100, 400, U, U, U, U }, { 30, 70, 100, 400, 330, U, U, 0.825 }, 0 },
	{ "max and used", { U, 70, U, 400, U, U, U, U }, { U, 70, U, 400, 330, U, U, 0.825 }, 0 },
	{ "after gc",
	  { U, 70, 100, 400, U, 20, U, U },
	  { 30, 70, 100, 400, 330, 20, 380, 0.825 },
	  0 },
	{ "after gc, no max",
	  { U, 70, 100, U, U, 20, U, U },
	  { 30, 70, 100, U, 30, 20, 80, 0.3 },
	  0 },
	{ "size alone", { U, U, 100, 400, U, U, U, U }, { U, U, 100, 400, U, U, U, U }, 0 },
	{ "all given",
	  { 1, 2, 3, 4, 5, 6, 7, 0.5 },
	  { 1, 2, 3, 4, 5, 6, 7, 0.5 },
	  DERIVE_AFTER_GC_OVER_MAX },
	{ "used over size",
	  { U, 110, 100, U, U, U, U, U },
	  { 0, 110, 100, U, 0, U, U, 0 },
	  DERIVE_USED_OVER_SIZE },
	{ "free over size",
	  { 120, U, 100, 400, U, U, U, U },
	  { 120, 0, 100, 400, 400, U, U, 1 },
	  DERIVE_FREE_OVER_SIZE },
	{ "free over size, no max",
	  { 120, U, 100, U, U, U, U, U },
	  { 120, 0, 100, U, 100, U, U, 1 },
	  DERIVE_FREE_OVER_SIZE },
	{ "size over max",
	  { U, 70, 500, 400, U, U, U, U },
	  { 430, 70, 500, 400, 330, U, U, 0.825 },
	  DERIVE_SIZE_OVER_MAX },
	{ "all over max",
	  { 500, 600, U, 400, U, U, U, U },
	  { 500, 600, 1100, 400, 0, U, U, 0 },
	  DERIVE_USED_OVER_MAX | DERIVE_FREE_OVER_MAX },
	{ "available over max", { U, U, U, 400, 500, U, U, U }, { U, U, U, 400, 500, U, U, 1 }, 0 },
	{ "a maximum of nothing has no shares",
	  { 30, 70, 100, 0, U, U, U, U },
	  { 30, 70, 100, 0, 0, U, U, U },
	  DERIVE_SIZE_OVER_MAX | DERIVE_USED_OVER_MAX | DERIVE_FREE_OVER_MAX },
	{ "nothing follows from a ratio: WebLogic's MIB, which has no max",
	  { 30, U, 100, U, U, U, U, 0.9 },
	  { 30, 70, 100, U, 30, U, U, 0.9 },
	  0 },
	{ "nothing follows from a ratio and a maximum",
	  { U, U, U, 400, U, U, U, 0.9 },
	  { U, U, U, 400, U, U, U, 0.9 },
	  0 },
};

static void expect_derivation(const struct derivation *d, double heap_max)
{
	int64_t taken_ns[HEAP_COUNT];
	double value[HEAP_COUNT];

	memcpy(value, d->given, sizeof value);
	for (size_t k = 0; k < HEAP_COUNT; k++)
		taken_ns[k] = isnan(value[k]) ? 0 : 5;
	cr_expect_eq(derive(value, taken_ns, heap_max, NULL), d->faults, "%s", d->name);
	for (size_t k = 0; k < HEAP_COUNT; k++) {
		cr_expect(value[k] == d->want[k] || (isnan(value[k]) && isnan(d->want[k])),
			  "%s: %s is %g, not %g", d->name, derive_names[k], value[k], d->want[k]);
		cr_expect_eq(taken_ns[k], isnan(d->want[k]) ? 0 : 5, "%s", d->name);
	}
}

Test(derive, follows_the_table_in_its_order)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		expect_derivation(&table[i], 0);
}

Test(derive, tells_how_and_takes_the_oldest_time_of_the_parts)
{
	double value[HEAP_COUNT] = { U, 70, 100, U, U, U, U, U };
	int64_t taken_ns[HEAP_COUNT] = { 0, 9, 4 };
	const char *how[HEAP_COUNT];

	cr_expect_eq(derive(value, taken_ns, 0, how), 0);
	cr_expect_str_eq(how[HEAP_FREE], "size - used");
	cr_expect_eq(taken_ns[HEAP_FREE], 4);
	cr_expect_str_eq(how[HEAP_AVAILABLE], "size - used, for want of max");
	cr_expect(how[HEAP_USED] == NULL, "it was measured");
	cr_expect_str_eq(how[HEAP_FREE_RATIO], "free / size, for want of max");
	cr_expect_eq(taken_ns[HEAP_FREE_RATIO], 4);
}

Test(derive, an_old_measurement_gives_way_to_what_follows_from_newer_ones)
{
	double value[HEAP_COUNT] = { 1, 70, 100, U, U, U, U, 0.9 };
	int64_t taken_ns[HEAP_COUNT] = { 2, 9, 8, 0, 0, 0, 0, 8 };

	(void)derive(value, taken_ns, 0, NULL);
	cr_expect_eq(value[HEAP_FREE], 30);
	cr_expect_eq(taken_ns[HEAP_FREE], 8);
	cr_expect_eq(value[HEAP_FREE_RATIO], 0.9, "measured, and no older");
}

Test(derive, takes_the_share_of_the_maximum_where_that_is_known)
{
	double value[HEAP_COUNT] = { U, 70, 100, 400, U, U, U, 0.9 };
	int64_t taken_ns[HEAP_COUNT] = { 0, 9, 9, 7, 0, 0, 0, 6 };
	const char *how[HEAP_COUNT];

	(void)derive(value, taken_ns, 0, how);
	cr_expect_eq(value[HEAP_FREE_RATIO], 0.825);
	cr_expect_eq(taken_ns[HEAP_FREE_RATIO], 7, "the maximum is the oldest part");
	cr_expect_str_eq(how[HEAP_FREE_RATIO], "available / max");
}

/* As in table, with a heap_max of 400. */
static const struct derivation assumed[] = {
	{ "used alone", { U, 70, U, U, U, U, U, U }, { U, 70, U, 400, 330, U, U, 0.825 }, 0 },
	{ "it comes before the size",
	  { U, 70, 100, U, U, 20, U, U },
	  { 30, 70, 100, 400, 330, 20, 380, 0.825 },
	  0 },
	{ "a measured maximum wins",
	  { U, 70, 100, 200, U, U, U, U },
	  { 30, 70, 100, 200, 130, U, U, 0.65 },
	  0 },
	{ "a measured ratio stays",
	  { 30, U, 100, U, U, U, U, 0.9 },
	  { 30, 70, 100, 400, 330, U, U, 0.9 },
	  0 },
	{ "too small: told, and nothing negative",
	  { U, 500, 600, U, U, U, U, U },
	  { 100, 500, 600, 400, 0, U, U, 0 },
	  DERIVE_SIZE_OVER_MAX | DERIVE_USED_OVER_MAX },
	{ "of a heap of which nothing is known",
	  { U, U, U, U, U, U, U, U },
	  { U, U, U, U, U, U, U, U },
	  0 },
};

Test(derive, a_configured_maximum_stands_in_for_one_that_nobody_measured)
{
	for (size_t i = 0; i < sizeof assumed / sizeof *assumed; i++)
		expect_derivation(&assumed[i], 400);
}

Test(derive, a_configured_maximum_is_never_newer_than_what_was_measured)
{
	double value[HEAP_COUNT] = { U, 70, 100, U, U, 20, U, U };
	int64_t taken_ns[HEAP_COUNT] = { 0, 4, 9, 0, 0, 3, 0, 0 };
	const char *how[HEAP_COUNT];

	(void)derive(value, taken_ns, 400, how);
	cr_expect_eq(taken_ns[HEAP_MAX], 9, "as the newest figure");
	cr_expect_str_eq(how[HEAP_MAX], "heap_max of the configuration");
	cr_expect_eq(taken_ns[HEAP_AVAILABLE], 4, "as what is used");
	cr_expect_str_eq(how[HEAP_AVAILABLE], "max - used");
	cr_expect_eq(taken_ns[HEAP_FREE_AFTER_GC], 3);
	cr_expect_eq(taken_ns[HEAP_FREE_RATIO], 4);
}

/* Busy threads, the maximum, their ratio. */
Test(derive, takes_busy_threads_as_a_share_of_their_maximum)
{
	static const struct {
		double given[THREADS_COUNT], want;
	} threads[] = {
		{ { 50, 200, U }, 0.25 },  { { 0, 200, U }, 0 },     { { 250, 200, U }, 1 },
		{ { 50, 0, U }, U },       { { 50, U, U }, U },      { { U, 200, U }, U },
		{ { 50, 200, 0.5 }, 0.5 }, { { U, 200, 0.5 }, 0.5 },
	};

	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		int64_t taken_ns[THREADS_COUNT] = { 4, 5, 4 };
		double value[THREADS_COUNT];
		const char *how[THREADS_COUNT];
		const bool is_derived =
			isnan(threads[i].given[THREADS_BUSY_RATIO]) && !isnan(threads[i].want);

		memcpy(value, threads[i].given, sizeof value);
		derive_threads(value, taken_ns, how);
		cr_expect(value[THREADS_BUSY_RATIO] == threads[i].want ||
				  (isnan(value[THREADS_BUSY_RATIO]) && isnan(threads[i].want)),
			  "%zu: %g", i, value[THREADS_BUSY_RATIO]);
		cr_expect_eq(how[THREADS_BUSY_RATIO] != NULL, is_derived, "%zu", i);
		cr_expect_eq(memcmp(value, threads[i].given, 2 * sizeof *value), 0,
			     "%zu: nothing follows from a ratio", i);
	}
}

Test(derive, a_newer_pair_of_thread_counts_takes_the_place_of_an_old_ratio)
{
	double value[THREADS_COUNT] = { 50, 200, 0.9 };
	int64_t taken_ns[THREADS_COUNT] = { 7, 6, 5 };
	const char *how[THREADS_COUNT];

	derive_threads(value, taken_ns, how);
	cr_expect_eq(value[THREADS_BUSY_RATIO], 0.25);
	cr_expect_eq(taken_ns[THREADS_BUSY_RATIO], 6);
	cr_expect_str_eq(how[THREADS_BUSY_RATIO], "busy threads / max threads");
}

Test(derive, has_words_for_every_contradiction)
{
	cr_expect_str_eq(derive_fault_words(0), "used > size");
	for (size_t i = 0; i < DERIVE_FAULTS; i++)
		cr_expect(strstr(derive_fault_words(i), " > ") != NULL);
	cr_expect_str_eq(derive_fault_words(DERIVE_FAULTS), "unknown");
}
