/*
 * snmp_poll.h - one poll of an agent, seen from its answers: which request of the source is being
 * asked, what an answer means, and the verdict. Knows no sockets and no clock.
 */
#ifndef CR_COLLECTORS_SNMP_POLL_H
#define CR_COLLECTORS_SNMP_POLL_H

#include <sys/queue.h>

#include <callrouter/plugin.h>

#include "snmp_link.h"
#include "snmp_walk.h"

#define SNMP_RETRIES_MAX 5

/** How far a poll is. */
enum snmp_verdict {
	SNMP_PENDING = 0,
	SNMP_GOOD,
	SNMP_BAD, /* why and text say what was wrong; sample->is_partial: some values can be used */
};

/** A poll under way; memory is kept for the next one, of whatever agent. */
struct snmp_poll {
	SLIST_ENTRY(snmp_poll) next;
	const struct source *source;
	const struct snmp_access *access;
	struct cr_target *target;
	const char *about;             /* what it is asked about, as of the link */
	int64_t begun_ns, step_ns;     /* since when: the poll, the message */
	long id[1 + SNMP_RETRIES_MAX]; /* request ids of the tries of the message */
	unsigned int tries;
	unsigned int strays; /* messages that answered no question */
	bool is_discovering; /* asks for the engine */
	bool has_discovered; /* has been told it, in this poll */
	unsigned int n_late; /* complaints of the agent about our idea of its clock */
	bool is_resumed;     /* the engine has been asked for again, in this poll */
	char other_context[SNMP_CONTEXT_SHOWN]; /* version 3: whom answers were about instead */
	bool has_other_context;
	bool is_heard; /* somebody has said something to the point */
	bool is_alone; /* other targets are answered by this agent meanwhile */

	size_t request;        /* of the source, being asked */
	size_t n_good;         /* requests that have been answered well */
	unsigned int *ceiling; /* the agent's: rows per message */
	struct snmp_walk walk;
	struct source_sample *sample;

	enum snmp_verdict verdict; /* of an answer */
	bool is_answered;          /* verdict is new */
	enum cr_why why;
	char text[256];
};

/** An idle one, or NULL (no memory). [own] */
struct snmp_poll *snmp_poll_new(const struct source *source, const struct snmp_access *access);
void snmp_poll_free(struct snmp_poll *poll);

/**
 * Make it ready for target; about: as of its link; ceiling: where the number of rows per message is
 * kept that the agent can stand. Returns SNMP_PENDING, or SNMP_BAD. [own]
 */
enum snmp_verdict snmp_poll_start(struct snmp_poll *poll, struct cr_target *target,
				  const char *about, unsigned int *ceiling, int64_t now_ns);

/** Forget the sample. [own] */
void snmp_poll_end(struct snmp_poll *poll);

/** Take an answer to the newest message: SNMP_PENDING: there is more to ask. [own] */
enum snmp_verdict snmp_poll_answer(struct snmp_poll *poll, const netsnmp_pdu *pdu);

/** Take a report of version 3 that ends the poll. [own] */
enum snmp_verdict snmp_poll_complain(struct snmp_poll *poll, const struct snmp_report *report);

/** The same for one that had to be decrypted: SNMP_PENDING if it is about nothing that is known.
 * [own]
 */
enum snmp_verdict snmp_poll_report(struct snmp_poll *poll, const netsnmp_pdu *pdu);

/** What has not been answered yet never will be. Returns SNMP_BAD. [own] */
enum snmp_verdict snmp_poll_fail(struct snmp_poll *poll, enum cr_why why, const char *fmt, ...)
	CR_PRINTF(3, 4);

/** The same after an error of the socket, a negative errno value; shown: place_show(). [own] */
enum snmp_verdict snmp_poll_break(struct snmp_poll *poll, int code, const char *shown);

/** The same at the deadline, with the words that fit best. stranger: who has answered in the
 * agent's place; NULL: nobody. [own] */
enum snmp_verdict snmp_poll_give_up(struct snmp_poll *poll, bool is_connecting, bool is_proven,
				    const union resolve_address *stranger);

#endif
