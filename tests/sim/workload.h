/* workload.h - the calls that come: when, how large, from which host; the same for every router. */
#ifndef CR_SIM_WORKLOAD_H
#define CR_SIM_WORKLOAD_H

#include "dice.h"
#include "scenario.h"

enum call_kind { CALL_SMALL, CALL_MEDIUM, CALL_BIG };

/** One call that comes. */
struct arrival {
	double at_s;
	enum call_kind kind;
	double bytes, work_s, send_s;
	int64_t hint_bytes; /* 0: unknown */
	uint32_t host;
	uint64_t random; /* for the router */
	double gray;     /* even in [0, 1): below gray_share it fails at a gray server */
};

struct workload {
	const struct scenario *scenario;
	struct dice arrival, burst, kind, size, work, host, call, hint, gray;
	double now_s;
	double mean_bytes[3]; /* by kind: what a class says */
};

void workload_init(struct workload *workload, const struct scenario *scenario, uint64_t seed);

/** The next call. */
struct arrival workload_next(struct workload *workload);

#endif
