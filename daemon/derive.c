/* derive.c - tables of sums, differences and shares, and a table of contradictions. */
#include "derive.h"

#include <math.h>

const char *const derive_names[HEAP_COUNT] = {
	[HEAP_FREE] = "jvm_heap_free_bytes",
	[HEAP_USED] = "jvm_heap_used_bytes",
	[HEAP_SIZE] = "jvm_heap_size_bytes",
	[HEAP_MAX] = "jvm_heap_max_bytes",
	[HEAP_AVAILABLE] = "jvm_heap_available_bytes",
	[HEAP_USED_AFTER_GC] = "jvm_heap_used_after_gc_bytes",
	[HEAP_FREE_AFTER_GC] = "jvm_heap_free_after_gc_bytes",
	[HEAP_FREE_RATIO] = "jvm_heap_free_ratio",
};

const char *const derive_threads_names[THREADS_COUNT] = {
	[THREADS_BUSY] = "busy_threads",
	[THREADS_MAX] = "max_threads",
	[THREADS_BUSY_RATIO] = "busy_threads_ratio",
};

#define ALWAYS (-1)

/* result = left op right. unless: not while that is known, for there is a better way. */
struct step {
	int result, left;
	enum { PLUS, MINUS, SHARE } op;
	int right, unless;
	const char *words;
};

static const struct step heap_steps[] = {
	{ HEAP_USED, HEAP_SIZE, MINUS, HEAP_FREE, ALWAYS, "size - free" },
	{ HEAP_FREE, HEAP_SIZE, MINUS, HEAP_USED, ALWAYS, "size - used" },
	{ HEAP_SIZE, HEAP_USED, PLUS, HEAP_FREE, ALWAYS, "used + free" },
	{ HEAP_AVAILABLE, HEAP_MAX, MINUS, HEAP_USED, ALWAYS, "max - used" },
	{ HEAP_AVAILABLE, HEAP_SIZE, MINUS, HEAP_USED, HEAP_MAX, "size - used, for want of max" },
	{ HEAP_FREE_AFTER_GC, HEAP_MAX, MINUS, HEAP_USED_AFTER_GC, ALWAYS, "max - used after gc" },
	{ HEAP_FREE_AFTER_GC, HEAP_SIZE, MINUS, HEAP_USED_AFTER_GC, HEAP_MAX,
	  "size - used after gc, for want of max" },
	{ HEAP_FREE_RATIO, HEAP_AVAILABLE, SHARE, HEAP_MAX, ALWAYS, "available / max" },
	{ HEAP_FREE_RATIO, HEAP_FREE, SHARE, HEAP_SIZE, HEAP_MAX, "free / size, for want of max" },
};

static const struct step threads_steps[] = {
	{ THREADS_BUSY_RATIO, THREADS_BUSY, SHARE, THREADS_MAX, ALWAYS,
	  "busy threads / max threads" },
};

/* more can never be above less. */
static const struct {
	int less, more;
	const char *words;
} contradictions[DERIVE_FAULTS] = {
	{ HEAP_USED, HEAP_SIZE, "used > size" },
	{ HEAP_FREE, HEAP_SIZE, "free > size" },
	{ HEAP_SIZE, HEAP_MAX, "size > max" },
	{ HEAP_USED, HEAP_MAX, "used > max" },
	{ HEAP_FREE, HEAP_MAX, "free > max" },
	{ HEAP_USED_AFTER_GC, HEAP_MAX, "used after gc > max" },
};

static unsigned contradict(const double *value)
{
	unsigned faults = 0;

	for (size_t i = 0; i < DERIVE_FAULTS; i++)
		/* false for NaN */
		if (value[contradictions[i].less] > value[contradictions[i].more])
			faults |= 1u << i;
	return faults;
}

/* NaN if a part is unknown, or there is nothing to have a share of. */
static double work_out(const struct step *step, const double *value)
{
	const double left = value[step->left], right = value[step->right];

	switch (step->op) {
	case PLUS:
		return left + right;
	case MINUS:
		return left < right ? 0 : left - right;
	case SHARE:
		break;
	}
	if (!(right > 0))
		return NAN;
	return left > right ? 1 : left / right;
}

static void derive_one(const struct step *step, double *value, int64_t *taken_ns, const char **how)
{
	const int64_t left_ns = taken_ns[step->left], right_ns = taken_ns[step->right];
	const int64_t oldest_ns = left_ns < right_ns ? left_ns : right_ns;
	double result;

	/* most figures of most servers end here: all of them at every round */
	if ((step->unless != ALWAYS && !isnan(value[step->unless])) ||
	    (taken_ns[step->result] >= oldest_ns && !isnan(value[step->result])))
		return;
	result = work_out(step, value);
	if (isnan(result))
		return;
	value[step->result] = result;
	taken_ns[step->result] = oldest_ns;
	if (how != NULL)
		how[step->result] = step->words;
}

/* What is configured holds at any time: it is as old as what it is used with. */
static void assume_max(double *value, int64_t *taken_ns, double heap_max, const char **how)
{
	int64_t newest_ns = 0;

	if (!(heap_max > 0) || !isnan(value[HEAP_MAX]))
		return;
	for (size_t i = 0; i < HEAP_COUNT; i++)
		if (!isnan(value[i]) && taken_ns[i] > newest_ns)
			newest_ns = taken_ns[i];
	if (newest_ns == 0)
		return;
	value[HEAP_MAX] = heap_max;
	taken_ns[HEAP_MAX] = newest_ns;
	if (how != NULL)
		how[HEAP_MAX] = "heap_max of the configuration";
}

unsigned derive(double *value, int64_t *taken_ns, double heap_max, const char **how)
{
	unsigned faults;

	for (size_t i = 0; how != NULL && i < HEAP_COUNT; i++)
		how[i] = NULL;
	assume_max(value, taken_ns, heap_max, how);
	faults = contradict(value);
	for (size_t i = 0; i < sizeof heap_steps / sizeof *heap_steps; i++)
		derive_one(&heap_steps[i], value, taken_ns, how);
	return faults;
}

void derive_threads(double *value, int64_t *taken_ns, const char **how)
{
	for (size_t i = 0; how != NULL && i < THREADS_COUNT; i++)
		how[i] = NULL;
	for (size_t i = 0; i < sizeof threads_steps / sizeof *threads_steps; i++)
		derive_one(&threads_steps[i], value, taken_ns, how);
}

const char *derive_fault_words(size_t i)
{
	return i < DERIVE_FAULTS ? contradictions[i].words : "unknown";
}
