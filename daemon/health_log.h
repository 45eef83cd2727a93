/* health_log.h - says in the log what became of the servers' health, each change once; found by
 * looking at their lines, never on the call path. */
#ifndef CR_DAEMON_HEALTH_LOG_H
#define CR_DAEMON_HEALTH_LOG_H

#include <event2/event.h>

#include "assemble.h"
#include "check.h"

#define HEALTH_LOG_MS 200 /* from look to look: shorter states are not told */

struct health_log;

/** Where it looks; the pointers behind may change between looks (reload). */
struct health_log_context {
	struct counters *counters;
	const struct checks *checks;
	const struct config *const *config;
	const struct roster *const *roster;
};

/** NULL: no memory. base NULL: looks only when health_log_look() is called. [main] */
struct health_log *health_log_new(struct event_base *base,
				  const struct health_log_context *context);
void health_log_free(struct health_log *log);

/** Look now. [main] */
void health_log_look(struct health_log *log, int64_t now_ns);

#endif
