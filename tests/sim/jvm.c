/* jvm.c - collections in closed form. */
#include "jvm.h"

#include <math.h>

#define MIXED        8 /* collections that follow a marking */
#define G1_FULL_AT   0.95
#define MIXED_PAUSE  0.010
#define MIXED_PER_GB 0.2

struct jvm jvm_new(const struct jvm_rules *rules, double heap)
{
	return (struct jvm){
		.rules = rules,
		.heap = heap,
		.base = rules->base * heap,
		.base_old = rules->base * heap,
		.old = rules->base * heap,
		.full_at = rules->full_at * heap,
		.after_gc = rules->base * heap,
		.after_major = rules->base * heap,
	};
}

void jvm_restart(struct jvm *jvm)
{
	const uint32_t minors = jvm->minors, fulls = jvm->fulls;

	*jvm = jvm_new(jvm->rules, jvm->heap);
	jvm->minors = minors;
	jvm->fulls = fulls;
}

double jvm_room(const struct jvm *jvm)
{
	double eden = jvm->rules->eden * jvm->heap;

	if (jvm->rules->kind == JVM_NONE)
		return HUGE_VAL;
	if (eden > jvm->heap - jvm->old)
		eden = jvm->heap - jvm->old;
	if (eden < jvm->rules->eden_least * jvm->heap)
		eden = jvm->rules->eden_least * jvm->heap;
	return eden > jvm->young ? eden - jvm->young : 0;
}

double jvm_used(const struct jvm *jvm)
{
	const double used = jvm->old + jvm->young;

	return used < jvm->heap ? used : jvm->heap;
}

static double jvm_collect_minor(struct jvm *jvm, double live)
{
	const struct jvm_rules *rules = jvm->rules;
	const double survivors = live - jvm->promoted + jvm->base - jvm->base_old;

	jvm->old += survivors * (1 + rules->floating);
	jvm->young = 0;
	jvm->promoted = live;
	jvm->base_old = jvm->base;
	jvm->minors++;
	return rules->minor_pause_s + survivors / rules->copy_bytes_per_s;
}

static double jvm_collect_full(struct jvm *jvm, double live)
{
	const struct jvm_rules *rules = jvm->rules;
	const double all = jvm->base + live;
	const double next = all + rules->full_room * (jvm->heap - all);

	jvm->old = all;
	jvm->after_major = all;
	jvm->is_out = all > rules->out_at * jvm->heap;
	jvm->full_at = rules->full_at * jvm->heap;
	if (next > jvm->full_at)
		jvm->full_at = next;
	jvm->mixed_left = 0;
	jvm->fulls++;
	return rules->full_pause_s + rules->full_pause_per_gb * all / JVM_GB;
}

/* An equal part of the garbage that is left, each time. */
static double jvm_collect_mixed(struct jvm *jvm, double live)
{
	const double garbage = jvm->old - jvm->base - live;
	const double cleaned = garbage > 0 ? garbage / jvm->mixed_left : 0;

	jvm->old -= cleaned;
	jvm->after_major = jvm->old;
	jvm->mixed_left--;
	return MIXED_PAUSE + MIXED_PER_GB * cleaned / JVM_GB;
}

double jvm_collect(struct jvm *jvm, double live)
{
	double pause_s = jvm_collect_minor(jvm, live);

	if (jvm->rules->kind == JVM_G1) {
		if (jvm->old > G1_FULL_AT * jvm->heap)
			pause_s += jvm_collect_full(jvm, live);
		else if (jvm->mixed_left > 0)
			pause_s += jvm_collect_mixed(jvm, live);
		else if (jvm->old > jvm->rules->mark_at * jvm->heap)
			jvm->mixed_left = MIXED;
	} else if (jvm->old > jvm->full_at) {
		pause_s += jvm_collect_full(jvm, live);
	}
	jvm->after_gc = jvm->old;
	return pause_s;
}
