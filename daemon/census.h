/* census.h - looks after the processes that are attached: gives back what dead ones held, and finds
 * out what kills them. */
#ifndef CR_DAEMON_CENSUS_H
#define CR_DAEMON_CENSUS_H

#include <event2/event.h>

#include "counters.h"

#define CENSUS_MS       200L /* between looks for dead processes */
#define CENSUS_AUDIT_S  10   /* between audits of totals against ledgers */
#define CENSUS_DEATHS   3    /* so many deaths ... */
#define CENSUS_LOADED_S 60   /* ... within that time after loading it convict a plugin file */

/** Plugin file seq is to be quarantined. */
typedef void census_fn(void *arg, uint64_t seq, const char *note);

struct census;

/** Start looking. run_dir: borrowed. NULL: no memory. [main] */
struct census *census_new(struct event_base *base, struct counters *counters, const char *run_dir,
			  census_fn *convict, void *arg);
void census_free(struct census *census);

#endif
