/*
 * bare.h - what the two bare loops share: targets asked one after the other, evenly over the
 * interval, and what that costs. The loops do the same exchanges as callrouterd and nothing else;
 * they are what its cost is compared with.
 */
#ifndef CR_TESTS_BARE_H
#define CR_TESTS_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bare {
	uint16_t port;
	uint32_t first, n; /* targets: see responder_address() */
	uint32_t share;    /* bare_http: targets in one multi handle; 0: all, as curl comes */
	int64_t interval_ns, warm_ns, measure_ns;
	/* the course of it */
	int64_t began_ns, cpu_ns;
	uint64_t started, asked, answered, answered_before;
	bool is_measuring;
};

/** Parse "--port P --targets N [--first I] [--share N] [--interval MS] [--warm MS] [--measure MS]".
 */
bool bare_read(struct bare *bare, int argc, char **argv);

/** Is the next target due? Returns its number, or -1: not now. */
int64_t bare_next(struct bare *bare);

/** How long to wait for events, for epoll_wait(): whole milliseconds as callrouterd does. */
int bare_wait_ms(const struct bare *bare);

/** Begin to measure once it is warm. Returns false when all is measured, and has printed it. */
bool bare_goes_on(struct bare *bare);

#endif
