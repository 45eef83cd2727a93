/* derive.c - a table of sums and differences, and a table of contradictions. */
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
};

/* result = left + sign * right; instead: for left, if that is unknown. */
static const struct {
	int result, left, instead, right;
	double sign;
	const char *words, *instead_words;
} steps[] = {
	{ HEAP_USED, HEAP_SIZE, -1, HEAP_FREE, -1, "size - free", NULL },
	{ HEAP_FREE, HEAP_SIZE, -1, HEAP_USED, -1, "size - used", NULL },
	{ HEAP_SIZE, HEAP_USED, -1, HEAP_FREE, 1, "used + free", NULL },
	{ HEAP_AVAILABLE, HEAP_MAX, HEAP_SIZE, HEAP_USED, -1, "max - used",
	  "size - used, for want of max" },
	{ HEAP_FREE_AFTER_GC, HEAP_MAX, HEAP_SIZE, HEAP_USED_AFTER_GC, -1, "max - used after gc",
	  "size - used after gc, for want of max" },
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

static void derive_one(double *value, int64_t *taken_ns, const char **how, size_t step)
{
	const int result = steps[step].result, right = steps[step].right;
	const bool has_left = steps[step].instead < 0 || !isnan(value[steps[step].left]);
	const int left = has_left ? steps[step].left : steps[step].instead;
	const double sum = value[left] + steps[step].sign * value[right];
	const int64_t oldest_ns =
		taken_ns[left] < taken_ns[right] ? taken_ns[left] : taken_ns[right];

	if (isnan(sum) || (!isnan(value[result]) && taken_ns[result] >= oldest_ns))
		return;
	value[result] = sum > 0 ? sum : 0;
	taken_ns[result] = oldest_ns;
	if (how != NULL)
		how[result] = has_left ? steps[step].words : steps[step].instead_words;
}

unsigned derive(double *value, int64_t *taken_ns, const char **how)
{
	const unsigned faults = contradict(value);

	for (size_t i = 0; how != NULL && i < HEAP_COUNT; i++)
		how[i] = NULL;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		derive_one(value, taken_ns, how, i);
	return faults;
}

const char *derive_fault_words(size_t i)
{
	return i < DERIVE_FAULTS ? contradictions[i].words : "unknown";
}
