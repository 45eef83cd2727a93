/*
 * snmp_queue.h - whose turn it is to be asked. Agents and switches drop bursts, so that few polls
 * are started at once, fewer still at the same endpoint. But a poll counts for its first moments
 * only: agents that do not answer must not hold up the others.
 */
#ifndef CR_COLLECTORS_SNMP_QUEUE_H
#define CR_COLLECTORS_SNMP_QUEUE_H

#include <search.h> /* before net-snmp, which has a macro with a type's name: ACTION */

#include "snmp_agent.h"

#define SNMP_FRESH_NS INT64_C(20000000) /* how long a poll counts as one that was just started */

/** Zeroed at first, then snmp_queue_init(). */
struct snmp_queue {
	struct snmp_agents waiting, suspects; /* those that did not answer last time come last */
	size_t n_fresh;
	void *places; /* struct snmp_place by endpoint: a tree of <search.h> */
};

void snmp_queue_init(struct snmp_queue *queue);

/** All agents have left. [own] */
void snmp_queue_fini(struct snmp_queue *queue);

/** From now on agent may wait here; endpoint: where it is. Returns 0 or -ENOMEM. [own] */
int snmp_queue_join(struct snmp_queue *queue, struct snmp_agent *agent, const char *endpoint);
void snmp_queue_leave(struct snmp_queue *queue, struct snmp_agent *agent);

/** It waits for its turn; it does not any more (no effect if it does not). [own] */
void snmp_queue_push(struct snmp_queue *queue, struct snmp_agent *agent);
void snmp_queue_remove(struct snmp_agent *agent);

/** Whose turn it is: it waits no longer, and counts as fresh for SNMP_FRESH_NS. NULL: nobody's.
 * [own] */
struct snmp_agent *snmp_queue_take(struct snmp_queue *queue, const struct snmp_settings *settings,
				   int64_t now_ns);

/** It does not count as just started any more. [own] */
void snmp_queue_unfresh(struct snmp_queue *queue, struct snmp_agent *agent);

#endif
