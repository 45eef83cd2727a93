/*
 * snmp_agent.h - one SNMP agent: its link, and the life of its polls: ask, ask again, learn its
 * engine, give up. Decides nothing about when polls start and tells nobody: that is snmp.c's part.
 * An agent that is not being polled is small; what a poll needs is shared by all.
 */
#ifndef CR_COLLECTORS_SNMP_AGENT_H
#define CR_COLLECTORS_SNMP_AGENT_H

#include "snmp_poll.h"
#include "snmp_timer.h"

/** What all agents of a source have in common. */
struct snmp_settings {
	const struct source *source;
	struct snmp_access access;
	unsigned int retries;         /* further tries of a message */
	unsigned int max_repetitions; /* rows per message */
	size_t max_inflight;          /* polls asked at once */
	size_t max_per_agent;         /* polls of one agent under way */
	size_t max_open;              /* sockets kept open */
};

struct snmp_peer;
TAILQ_HEAD(snmp_agents, snmp_agent);

struct snmp_shared {
	struct snmp_settings settings;
	int epoll; /* every agent's socket is in it, with the agent as data */
	struct place_names names;
	struct snmp_agents idle; /* not being polled, but open: the longest idle first */
	size_t n_open;           /* sockets */
	SLIST_HEAD(snmp_polls, snmp_poll) polls; /* for reuse */
	size_t n_polls, n_polling;               /* idle ones, those under way */
};

struct snmp_agent {
	struct snmp_timer timer; /* first: snmp.c finds the agent by it */
	TAILQ_ENTRY(snmp_agent) all, queued, idle;
	struct snmp_shared *shared;
	struct place place;
	struct snmp_link link;
	char *about;            /* the link's; NULL: not filled in yet */
	struct snmp_poll *poll; /* NULL: none is under way */
	unsigned int ceiling;   /* rows per message that it can stand */
	unsigned int n_silent;  /* polls in a row without an answer */
	int64_t heard_ns;       /* when it has answered this target; 0: never */
	int64_t silent_ns;      /* when the newest poll in vain began */
	bool is_open, is_idle;
	bool is_proven; /* has answered somebody with these keys at this address */
	bool is_moving; /* the poll begins again, at another address */

	/* snmp.c's: */
	struct snmp_peer *peer;    /* targets that are the same agent */
	bool is_counted;           /* in the peer's n_polling */
	bool was_parked;           /* has had to wait for the peer */
	struct cr_target *due;     /* to be polled when its turn comes */
	struct snmp_agents *queue; /* where it waits for its turn; NULL: it does not */
	bool is_fresh;             /* was asked a moment ago: counts against max_inflight */
	bool is_suspect;           /* did not answer the last time */
	bool is_warned;            /* of values that cannot be true */
	int64_t fresh_until_ns;
};

/** Free what the agents share. [own] */
void snmp_shared_fini(struct snmp_shared *shared);

/** A poll to be given back; NULL: no memory. [own] */
struct snmp_poll *snmp_shared_take_poll(struct snmp_shared *shared);
void snmp_shared_give_poll(struct snmp_shared *shared, struct snmp_poll *poll);

/** An agent that has not been asked yet, or NULL (no memory). shared: lives longer. [own] */
struct snmp_agent *snmp_agent_new(struct snmp_shared *shared);
void snmp_agent_free(struct snmp_agent *agent);

/** Find out where target is, before its poll. Returns 1; 0: its name is being looked up, ask again
 * when place_is_found(); or < 0 with text. [own] */
int snmp_agent_find(struct snmp_agent *agent, const struct cr_target *target, int64_t now_ns,
		    char *text, size_t text_len);

/**
 * Start a poll of target, which has been found. Whatever it returns, agent->poll is there until
 * snmp_agent_end(), but for want of memory: NULL and SNMP_BAD. [own]
 */
enum snmp_verdict snmp_agent_begin(struct snmp_agent *agent, struct cr_target *target,
				   int64_t now_ns);

/** A poll is under way: has the agent answered other targets, but not this one, since it began, or
 * since the last one in vain began? [own] */
bool snmp_agent_is_alone(const struct snmp_agent *agent);

/** The poll is over and its sample has been used. [own] */
void snmp_agent_end(struct snmp_agent *agent);

/** The agent's socket has something. fds: scratch space. [own] */
enum snmp_verdict snmp_agent_event(struct snmp_agent *agent, netsnmp_large_fd_set *fds,
				   int64_t now_ns);

/** Its time has come (snmp_agent_when_ns()): ask again, or give up. [own] */
enum snmp_verdict snmp_agent_tick(struct snmp_agent *agent, int64_t now_ns);
int64_t snmp_agent_when_ns(const struct snmp_agent *agent);

#endif
