/* probe.h - what a test and the router probe.c tell each other: call->key.ptr points to one. */
#ifndef CR_TESTS_PROBE_H
#define CR_TESTS_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define PROBE_ROWS 8

/** call->method "look": what route() sees. */
struct probe_look {
	uint64_t generation;
	uint32_t hosts;
	int64_t taken_ns;
	size_t n, n_order;
	const char *name[PROBE_ROWS];
	uint16_t order[PROBE_ROWS];
	uint32_t id[PROBE_ROWS], weight[PROBE_ROWS], inflight[PROBE_ROWS];
	int64_t inflight_bytes[PROBE_ROWS];
	double failures[PROBE_ROWS];
	double metric[3][PROBE_ROWS], column[2][PROBE_ROWS];
	int64_t metric_taken_ns[3][PROBE_ROWS];
	uint16_t primary, secondary; /* the call's */
	uint64_t word;               /* of the first shared word, before one is added */
};

#endif
