/* report_parts.h - what the documents of report.h have in common. */
#ifndef CR_DAEMON_REPORT_PARTS_H
#define CR_DAEMON_REPORT_PARTS_H

#include "report.h"

/** A server's line in the counters, or NULL: there is none, or it is another server's by now. */
const struct counters_line *report_line(const struct report_source *source,
					const struct image_server *server);

/** The word of a line's state; "up" while nothing else is known (line NULL). */
const char *report_state(const struct report_source *source, const struct counters_line *line);

/** Add what there is to say of a line's health: "state_for_s", "failures_in_row", "slow_start".
 * Takes document; returns it, or NULL without memory. */
json_t *report_add_health(json_t *document, const struct report_source *source,
			  const struct counters_line *line, int64_t slow_start_ns);

/** What the server's check says, or null; a new reference. */
json_t *report_check(const struct report_source *source, const struct image_server *server);

/** The sources whose polls of a server fail, as a list; a new reference, NULL without memory.
 * server: as in the configuration. */
json_t *report_failing(const struct report_source *source, size_t server);

/** How many servers of a service there are with such sources, and the first of them; likewise. */
json_t *report_service_failing(const struct report_source *source,
			       const struct config_service *service);

/** Calls that the server got in the last 10 seconds. */
uint64_t report_recent_calls(const struct report *report, const struct report_source *source,
			     const struct image_server *server);

/** {"value", "age_s", "fresh"}; a new reference. */
json_t *report_metric(double value, int64_t age_ns, int64_t stale_after_ns);

#endif
