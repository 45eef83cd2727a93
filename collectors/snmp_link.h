/*
 * snmp_link.h - the way to one agent: its address, a socket that never blocks, and a session of
 * net-snmp over it. The sockets are our own because net-snmp connects TCP while everybody waits.
 */
#ifndef CR_COLLECTORS_SNMP_LINK_H
#define CR_COLLECTORS_SNMP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/library/large_fd_set.h>
#include <net-snmp/net-snmp-includes.h>

#include "place.h"
#include "snmp_report.h"
#include "snmp_user.h"

#define SNMP_CONTEXT_SHOWN 64 /* letters of a context that an agent names */

#define SNMP_LINK_IDS 8 /* ids of the newest messages, to know reports by */

/** What the links to one agent know of it together. Zeroed at first. */
struct snmp_known {
	int64_t heard_ns;          /* when it has answered one of them; 0: never */
	struct snmp_engine engine; /* version 3: whose answers our keys have proven; len 0: none */
	union resolve_address address; /* where that is */
	unsigned int n_silent;         /* polls in a row in vain, of all of them */
	size_t n_busy;                 /* links that a poll is under way on */
};

struct snmp_link {
	struct snmp_known *known;      /* since it was made, as the next one */
	const char *about;             /* follows the community; version 3: the context; or "" */
	union resolve_address address; /* since it was opened, as the next two */
	bool is_stream;
	bool is_wide;                 /* hears who else answers; takes the address's answers only */
	bool is_connecting;           /* wait until writable, then snmp_link_connected() */
	int fd;                       /* -1: closed */
	struct session_list *session; /* NULL: closed, or the engine is not known yet */
	struct snmp_engine engine;    /* version 3: whom the keys are bound to; kept when closed */
	const struct snmp_access *access; /* since it was opened */
	uint32_t id[SNMP_LINK_IDS];
	unsigned int n_ids;
	bool is_busy;      /* a poll is under way */
	bool has_stranger; /* since it was opened: an answer came from another address, this one */
	union resolve_address stranger;
	bool has_report; /* the newest message was one, about a message of this link */
	struct snmp_report report;
	bool has_context; /* the newest message was an answer for another context: */
	char context[SNMP_CONTEXT_SHOWN];
};

/** Who may read from an agent, and how answers are taken. */
struct snmp_access {
	long version; /* SNMP_VERSION_1, ... */
	const char *community;
	const char *about; /* with variables: the source's community_suffix, or context */
	const struct snmp_user *user; /* version 3 */
	struct snmp_engine engine;    /* version 3: given; len 0: to be asked for */
	const struct cr_host *log_to; /* answers are logged there; NULL: nowhere */
	bool is_strict;               /* UDP: hear nobody but the address that was asked */
};

/** Prepare net-snmp, once per process; further calls have no effect. Reads and writes no files.
 * [own] */
void snmp_link_prepare(void);

/** Open the socket to the place's address, and the session unless the engine has to be asked for:
 * another link may know it already. is_wide: if UDP answers count from that address only, notice
 * those from others. Returns 0 or a negative errno value. [own] */
int snmp_link_open(struct snmp_link *link, const struct place *place,
		   const struct snmp_access *access, bool is_wide);

/** Close them; callbacks of what was under way are called. Keeps the engine. No effect on a closed
 * one. [own] */
void snmp_link_close(struct snmp_link *link);

/** Close it and forget the engine: it is asked for anew. is_refuted: the agent itself says that
 * what we know of it is wrong, so that it is wrong for all links to it. [own] */
void snmp_link_forget(struct snmp_link *link, const struct snmp_access *access, bool is_refuted);

/** A poll begins on it; it ends, for better or worse. While one is under way, other links to the
 * agent leave the user alone that it needs for the answer. [own] */
void snmp_link_begin(struct snmp_link *link);
void snmp_link_end(struct snmp_link *link);

/** The agent has answered. [own] */
void snmp_link_prove(const struct snmp_link *link, int64_t now_ns);

/** Version 3: has it answered this link or another one at this address, and with this engine? [own]
 */
bool snmp_link_is_proven(const struct snmp_link *link);

/** Nothing will be sent for some time. [own] */
void snmp_link_rest(const struct snmp_link *link);

/** A TCP connection has been made (0) or not (a negative errno value). [own] */
int snmp_link_connected(struct snmp_link *link);

/** Ask for the engine. Returns 0 or a negative errno value. [own] */
int snmp_link_discover(struct snmp_link *link);

/** Take one message while the engine is not known. Returns 1: it is known now, and the session is
 * open; 0: go on waiting; -EBADMSG, or another error as of snmp_link_read(). [own] */
int snmp_link_learn(struct snmp_link *link);

/**
 * Send pdu, which is freed in any case. callback is called: with the answer, or by
 * snmp_link_expire() after timeout_ns, or by snmp_link_close(); twice for some reports. Returns the
 * request's id (> 0), or a negative errno value after which callback counts for nothing. [own]
 */
long snmp_link_send(struct snmp_link *link, netsnmp_pdu *pdu, int64_t timeout_ns,
		    netsnmp_callback callback, void *magic);

/**
 * Take one message that has arrived; calls the callback of the request that it answers, and sets
 * has_report and has_context. fds: scratch space. Returns 0, -EBADMSG (no such SNMP, or another
 * community), -EAGAIN (nothing there), or the socket's error; -ECONNRESET: the connection has
 * ended, and the link is to be closed. [own]
 */
int snmp_link_read(struct snmp_link *link, netsnmp_large_fd_set *fds);

/** Give up the requests whose timeout has passed. [own] */
void snmp_link_expire(struct snmp_link *link);

#endif
