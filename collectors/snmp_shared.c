/* snmp_shared.c - what the agents of a source share: polls that are used again, and names. */
#include "snmp_agent.h"

#define POLLS_KEPT 128 /* idle ones */

void snmp_shared_fini(struct snmp_shared *shared)
{
	struct snmp_poll *poll;

	while ((poll = SLIST_FIRST(&shared->polls)) != NULL) {
		SLIST_REMOVE_HEAD(&shared->polls, next);
		snmp_poll_free(poll);
	}
	place_names_fini(&shared->names);
}

struct snmp_poll *snmp_shared_take_poll(struct snmp_shared *shared)
{
	struct snmp_poll *poll = SLIST_FIRST(&shared->polls);

	if (poll != NULL) {
		SLIST_REMOVE_HEAD(&shared->polls, next);
		shared->n_polls--;
	} else {
		poll = snmp_poll_new(shared->settings.source, &shared->settings.access);
	}
	shared->n_polling += poll != NULL;
	return poll;
}

void snmp_shared_give_poll(struct snmp_shared *shared, struct snmp_poll *poll)
{
	shared->n_polling--;
	snmp_poll_end(poll);
	if (shared->n_polls >= POLLS_KEPT) {
		snmp_poll_free(poll);
		return;
	}
	SLIST_INSERT_HEAD(&shared->polls, poll, next);
	shared->n_polls++;
}
