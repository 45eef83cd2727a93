/* clock.h - the one clock: CLOCK_MONOTONIC in nanoseconds. [L1] */
#ifndef CR_CORE_CLOCK_H
#define CR_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_US INT64_C(1000)
#define CLOCK_MS INT64_C(1000000)
#define CLOCK_S  INT64_C(1000000000)

static inline int64_t clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * CLOCK_S + ts.tv_nsec;
}

#endif
