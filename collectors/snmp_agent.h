/*
 * snmp_agent.h - one SNMP agent and its polls: ask, ask again, go on with a table, judge what came.
 * Decides nothing about when polls start and tells nobody: that is snmp.c's part.
 */
#ifndef CR_COLLECTORS_SNMP_AGENT_H
#define CR_COLLECTORS_SNMP_AGENT_H

#include <sys/queue.h>

#include <callrouter/plugin.h>

#include "snmp_link.h"
#include "snmp_profile.h"
#include "snmp_table.h"
#include "snmp_timer.h"

#define SNMP_RETRIES_MAX 5

/** What all agents of a source have in common. */
struct snmp_settings {
	const struct snmp_profile *profile;
	struct snmp_access access;
	unsigned int retries;         /* further tries of a request */
	unsigned int max_repetitions; /* rows per request */
	size_t max_inflight;          /* polls asked at once */
	int epoll;                    /* every agent's socket is in it, with the agent as data */
};

/** How far a poll is. */
enum snmp_verdict {
	SNMP_PENDING = 0,
	SNMP_GOOD,
	SNMP_BAD, /* why and text say what was wrong */
};

struct snmp_agent {
	struct snmp_timer timer; /* first: snmp.c finds the agent by it */
	TAILQ_ENTRY(snmp_agent) all, queued;
	const struct snmp_settings *settings;
	struct snmp_link link;
	struct snmp_table *table; /* NULL: the profile has scalars only */
	int64_t resolve_after_ns; /* after a failure: the resolver is not asked before */

	/* snmp.c's: */
	struct cr_target *due; /* to be polled when its turn comes */
	bool is_queued;        /* waits for its turn */
	bool is_fresh;         /* was asked a moment ago: counts against max_inflight */
	bool is_suspect;       /* did not answer the last time */
	bool is_warned;        /* of its row's name */
	int64_t fresh_until_ns;

	/* The poll under way: */
	struct cr_target *target;           /* NULL: none */
	int64_t begun_ns, step_ns;          /* since when: the poll, the request */
	long request[1 + SNMP_RETRIES_MAX]; /* ids of the tries of the request */
	unsigned int tries;
	unsigned int strays;       /* messages that answered no question */
	enum snmp_verdict verdict; /* of an answer */
	bool is_answered;          /* verdict is new */
	enum cr_why why;
	char text[200];
	enum snmp_found found[SNMP_FIELDS_MAX]; /* scalars */
	double value[SNMP_FIELDS_MAX];
	const struct snmp_row *own; /* the row of a target that is one server */
};

/** An agent that has not been asked yet, or NULL (no memory). settings: live longer. [own] */
struct snmp_agent *snmp_agent_new(const struct snmp_settings *settings);
void snmp_agent_free(struct snmp_agent *agent);

/** Start a poll of target, which is kept in agent->target until the poll is over. [own] */
enum snmp_verdict snmp_agent_begin(struct snmp_agent *agent, struct cr_target *target,
				   int64_t now_ns);

/** The agent's socket has something. fds: scratch space. [own] */
enum snmp_verdict snmp_agent_event(struct snmp_agent *agent, netsnmp_large_fd_set *fds,
				   int64_t now_ns);

/** Its time has come (snmp_agent_when_ns()): ask again, or give up. [own] */
enum snmp_verdict snmp_agent_tick(struct snmp_agent *agent, int64_t now_ns);
int64_t snmp_agent_when_ns(const struct snmp_agent *agent);

/** The name of the row that a target which is one server was given although the row is named
 * differently, or NULL. After SNMP_GOOD. [own] */
const char *snmp_agent_foreign_row(const struct snmp_agent *agent);

/** Put the values of a good poll; metric[i]: the host's number of field i. [own] */
void snmp_agent_put(const struct snmp_agent *agent, const struct cr_round *round,
		    const int *metric);

#endif
