/* test_sim_jvm.c - the arithmetic of a simulated heap. */
#include <criterion/criterion.h>
#include <math.h>

#include "jvm.h"

static struct jvm_rules rules = {
	.kind = JVM_PARALLEL,
	.eden = 0.25,
	.eden_least = 0.04,
	.minor_pause_s = 0.005,
	.copy_bytes_per_s = 1.5 * JVM_GB,
	.floating = 0.01,
	.full_at = 0.67,
	.full_room = 0.3,
	.full_pause_s = 0.05,
	.full_pause_per_gb = 0.4,
	.mark_at = 0.45,
	.out_at = 0.95,
	.base = 0.1,
};

Test(sim_jvm, starts_with_what_the_application_keeps)
{
	const struct jvm jvm = jvm_new(&rules, 10 * JVM_GB);

	cr_expect_float_eq(jvm_used(&jvm), 1 * JVM_GB, 1);
	cr_expect_float_eq(jvm_room(&jvm), 2.5 * JVM_GB, 1);
	cr_expect_float_eq(jvm.after_gc, 1 * JVM_GB, 1);
}

Test(sim_jvm, a_minor_collection_promotes_what_lives_and_pauses_for_the_copy)
{
	struct jvm jvm = jvm_new(&rules, 10 * JVM_GB);
	double pause_s;

	jvm.young = 2.5 * JVM_GB;
	/* 1.5 GB live: 5 ms + 1 s; 1.515 GB arrive in the old part */
	pause_s = jvm_collect(&jvm, 1.5 * JVM_GB);
	cr_expect_float_eq(pause_s, 1.005, 1e-9);
	cr_expect_float_eq(jvm.old, 2.515 * JVM_GB, 1);
	cr_expect_float_eq(jvm_used(&jvm), 2.515 * JVM_GB, 1);
	cr_expect_eq(jvm.fulls, 0);
	cr_expect_eq(jvm.minors, 1);
	/* the same calls live: nothing more to copy */
	jvm.young = 2.5 * JVM_GB;
	pause_s = jvm_collect(&jvm, 1.5 * JVM_GB);
	cr_expect_float_eq(pause_s, 0.005, 1e-9);
}

Test(sim_jvm, an_old_part_above_its_limit_is_cleaned_down_to_what_lives)
{
	struct jvm jvm = jvm_new(&rules, 10 * JVM_GB);
	double pause_s;

	jvm.old = 6.6 * JVM_GB;
	/* 0.3 GB of 0.3 GB promoted: 6.903 GB > 6.7 GB; 1.3 GB live: 50 ms + 0.52 s more */
	pause_s = jvm_collect(&jvm, 0.3 * JVM_GB);
	cr_expect_float_eq(pause_s, 0.005 + 0.2 + 0.05 + 0.52, 1e-9);
	cr_expect_float_eq(jvm.old, 1.3 * JVM_GB, 1);
	cr_expect_float_eq(jvm.after_major, 1.3 * JVM_GB, 1);
	cr_expect_float_eq(jvm.full_at, 6.7 * JVM_GB, 1);
	cr_expect_eq(jvm.fulls, 1);
	cr_expect_not(jvm.is_out);
}

Test(sim_jvm, the_limit_rises_when_more_than_it_lives)
{
	struct jvm jvm = jvm_new(&rules, 10 * JVM_GB);

	jvm.old = 6.9 * JVM_GB;
	jvm_collect(&jvm, 7 * JVM_GB);
	/* 8 GB live: 30 % of the other 2 GB may fill */
	cr_expect_float_eq(jvm.full_at, 8.6 * JVM_GB, 1);
	cr_expect_not(jvm.is_out);
	/* and little is left to allocate in */
	cr_expect_float_eq(jvm_room(&jvm), 2 * JVM_GB, 1);
}

Test(sim_jvm, is_out_of_memory_when_more_than_95_percent_live_after_a_full_collection)
{
	struct jvm jvm = jvm_new(&rules, 10 * JVM_GB);

	jvm.old = 6.9 * JVM_GB;
	jvm_collect(&jvm, 8.4 * JVM_GB);
	cr_expect_not(jvm.is_out);
	jvm.old = 9.9 * JVM_GB;
	jvm_collect(&jvm, 8.6 * JVM_GB);
	cr_expect(jvm.is_out);
	cr_expect_float_eq(jvm_room(&jvm), 0.4 * JVM_GB, 1);
}

Test(sim_jvm, g1_marks_and_then_cleans_in_eight_equal_steps)
{
	struct jvm_rules g1 = rules;
	struct jvm jvm;

	g1.kind = JVM_G1;
	jvm = jvm_new(&g1, 10 * JVM_GB);
	jvm.old = 5 * JVM_GB;
	jvm_collect(&jvm, 0);
	cr_expect_eq(jvm.mixed_left, 8);
	cr_expect_float_eq(jvm.old, 5 * JVM_GB, 1);
	jvm_collect(&jvm, 0);
	/* 4 GB of garbage: half a GB each time */
	cr_expect_float_eq(jvm.old, 4.5 * JVM_GB, 1);
	for (int i = 0; i < 7; i++)
		jvm_collect(&jvm, 0);
	cr_expect_float_eq(jvm.old, 1 * JVM_GB, 1);
	cr_expect_eq(jvm.fulls, 0);
}

Test(sim_jvm, a_restart_empties_the_heap_and_keeps_the_counts)
{
	struct jvm jvm = jvm_new(&rules, 10 * JVM_GB);

	jvm.old = 8 * JVM_GB;
	jvm_collect(&jvm, 1 * JVM_GB);
	jvm_restart(&jvm);
	cr_expect_float_eq(jvm_used(&jvm), 1 * JVM_GB, 1);
	cr_expect_eq(jvm.fulls, 1);
	cr_expect_eq(jvm.minors, 1);
}

Test(sim_jvm, without_collections_there_is_always_room)
{
	struct jvm_rules none = rules;
	struct jvm jvm;

	none.kind = JVM_NONE;
	jvm = jvm_new(&none, JVM_GB);
	cr_expect(isinf(jvm_room(&jvm)));
}
