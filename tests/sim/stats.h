/* stats.h - what is counted in a run, and its CSV line. */
#ifndef CR_SIM_STATS_H
#define CR_SIM_STATS_H

#include <stdint.h>
#include <stdio.h>

#include "server.h"
#include "workload.h"

#define HISTOGRAM_SLOTS 8192

/** Times in nanoseconds, in slots that are at most 1/128 wide. */
struct histogram {
	uint64_t n, slot[HISTOGRAM_SLOTS];
};

void histogram_add(struct histogram *histogram, int64_t ns);

/** The time that this share of all is below, in seconds; 0: nothing was added. */
double histogram_at(const struct histogram *histogram, double share);

enum stats_loss { LOSS_MEMORY, LOSS_REFUSED, LOSS_OTHER, LOSSES };

/** One run. Counted are calls that came after the warm-up. */
struct stats {
	uint64_t calls, lost[LOSSES], by_default;
	double sum_s; /* of good calls' times */
	uint64_t good;
	struct histogram all, small, big;
	/* Once a second, after the warm-up. */
	uint64_t seconds, full_seconds;
	double live, live_max, heap_spread, cpu_spread, top_share;
	uint64_t *placed, *second_placed; /* [servers]: counted calls; in this second */
	double *busy;                     /* [servers]: busy_s at the last second */
	uint32_t fulls_before;            /* collections before the end of the warm-up */
};

/** Returns 0, or -1 without memory. */
int stats_init(struct stats *stats, uint32_t servers);
void stats_fini(struct stats *stats);

/** A call that is counted ended well, so many seconds after it came. */
void stats_good(struct stats *stats, enum call_kind kind, double took_s);

/** A second is over; the servers were advanced. is_counted: the warm-up is over. */
void stats_second(struct stats *stats, const struct server *servers, uint32_t n, bool is_counted);

/** A server over time, in the columns of a recorded trace: the header line; the line of a moment,
 * to which the server was advanced. hog_age_s: calls that are older are hogs. */
void series_print_header(FILE *file);
void series_print(FILE *file, const struct server *server, double hog_age_s);

/** The header line, and the line of a run, without the first three values. */
void stats_print_header(void);
void stats_print(const struct stats *stats, const struct server *servers, uint32_t n);

#endif
