/*
 * derive.h - figures that follow from others, and figures that contradict each other. In this
 * order, each only where the value is missing or older than its parts; a derived value has the
 * oldest time of its parts. Figures are at least 0, ratios at most 1:
 *
 *	used          = size - free
 *	free          = size - used
 *	size          = used + free
 *	max           = heap_max              (of the configuration; only if nobody measured one)
 *	available     = max - used            (max unknown: size - used)
 *	free after gc = max - used after gc   (max unknown: size - used after gc)
 *	free ratio    = available / max       (max unknown: free / size)
 *	busy ratio    = busy threads / max threads
 *
 * heap_max is no measurement and has no time: what it gives is as old as the newest figure of the
 * heap, and where nothing of the heap is known it gives nothing.
 *
 * Nothing follows from a ratio: sources give it in whole percent, and of a heap of 8 GiB that has
 * 90 % free one percent up or down makes 0.8 GiB of the maximum that would follow from it.
 */
#ifndef CR_DAEMON_DERIVE_H
#define CR_DAEMON_DERIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The metrics of the heap; servers.c has them at these places. */
enum {
	HEAP_FREE,
	HEAP_USED,
	HEAP_SIZE,
	HEAP_MAX,
	HEAP_AVAILABLE,
	HEAP_USED_AFTER_GC,
	HEAP_FREE_AFTER_GC,
	HEAP_FREE_RATIO,
	HEAP_COUNT
};

/** Those of the threads; servers.c has them one after the other, once anybody measures one. */
enum { THREADS_BUSY, THREADS_MAX, THREADS_BUSY_RATIO, THREADS_COUNT };

/** Their names: "jvm_heap_free_bytes" ..., "busy_threads" ... */
extern const char *const derive_names[HEAP_COUNT];
extern const char *const derive_threads_names[THREADS_COUNT];

/** What cannot be true together; a set of bits. */
enum {
	DERIVE_USED_OVER_SIZE = 1,
	DERIVE_FREE_OVER_SIZE = 2,
	DERIVE_SIZE_OVER_MAX = 4,
	DERIVE_USED_OVER_MAX = 8,
	DERIVE_FREE_OVER_MAX = 16,
	DERIVE_AFTER_GC_OVER_MAX = 32,
	DERIVE_FAULTS = 6 /* how many */
};

/**
 * Derive in place. value[HEAP_COUNT]: NaN where unknown; taken_ns: their times. heap_max: bytes,
 * which stand in where the maximum is unknown; 0: none. how[HEAP_COUNT] (NULL: nobody asks): "size
 * - used", or NULL where the value was there. Returns what contradicts, of the values as they were
 * given and heap_max: those of polls at different times may do so for a moment. [any]
 */
unsigned derive(double *value, int64_t *taken_ns, double heap_max, const char **how);

/** The same for value[THREADS_COUNT]. [any] */
void derive_threads(double *value, int64_t *taken_ns, const char **how);

/** The words for the i-th bit: "used > size". [any] */
const char *derive_fault_words(size_t i);

#endif
