/*
 * warnings.h - what an operator should hear of without asking: one server that draws all calls
 * ("herd"), a cluster that has no room left ("cluster_full"), and a ranking that garbage
 * collections turn about ("unsteady"). Found by sampling the counters and what is published.
 */
#ifndef CR_DAEMON_WARNINGS_H
#define CR_DAEMON_WARNINGS_H

#include "report.h"

#define WARNINGS_MS         500L /* from sample to sample */
#define WARNINGS_HERD_TIMES 3    /* a server's calls over its share by weight, for 2 s */
#define WARNINGS_HERD_CALLS 50   /* in these 2 s: less tells nothing */
#define WARNINGS_HERD_OWN   10   /* of these its own, in each second */
#define WARNINGS_HOLD_S     10   /* a warning is shown so long after it was last true */
#define WARNINGS_LOG_S      60   /* and logged again after that */

struct warnings;

/** NULL: no memory. [main] */
struct warnings *warnings_new(void);
void warnings_free(struct warnings *warnings);

/** Take a sample and judge; wanted every WARNINGS_MS. [main] */
void warnings_tick(struct warnings *warnings, const struct report_source *source);

/**
 * The warnings of a service as a list of {"warning", "text", ...}; a new reference, NULL without
 * memory. [main]
 */
json_t *warnings_document(const struct warnings *warnings, const struct image_service *service,
			  int64_t now_ns);

#endif
