/* sample.h - what a poll of a server sees, as metrics by name. */
#ifndef CR_SIM_SAMPLE_H
#define CR_SIM_SAMPLE_H

#include "err.h"
#include "server.h"

/** One answer of a server to a poll. */
struct sample {
	double heap, used, after_gc; /* bytes */
	double calls, threads, hogs, ended, failed;
	double cpu; /* 0 .. 1, since the last sample */
};

/** The number of the metric of this name, -1: nobody measures it; and its value in a sample. */
int sample_index(const char *name);
double sample_value(const struct sample *sample, int index);

/** A recorded heap that is reported instead of the server's own. */
struct trace {
	struct trace_row {
		double at_s, free, total, max, after_gc, hogs; /* NaN: not recorded */
	} * row;
	uint32_t n;
};

/** Read a CSV file with a header line; lines that begin with # say how it was made. Returns 0 or <
 * 0 with err. */
int trace_read(struct trace *trace, const char *path, struct err *err);
void trace_fini(struct trace *trace);

/** Put what was recorded at that time, again and again, into the sample, scaled to its heap. */
void trace_apply(const struct trace *trace, double at_s, struct sample *sample);

#endif
