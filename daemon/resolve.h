/*
 * resolve.h - addresses of host names, looked up by a thread of their own: a name server that does
 * not answer holds up nobody.
 */
#ifndef CR_DAEMON_RESOLVE_H
#define CR_DAEMON_RESOLVE_H

#include <sys/socket.h>

#include "err.h"

#define RESOLVE_MOST      4  /* addresses of one name that are kept */
#define RESOLVE_REFRESH_S 30 /* an address that is asked for is looked up again after that */

/** Where a host is; ports are 0. */
struct resolve_address {
	struct sockaddr_storage address[RESOLVE_MOST];
	socklen_t len[RESOLVE_MOST];
	size_t n;
};

struct resolver;

/** NULL: no memory. The thread is started when the first name is asked for. [main] */
struct resolver *resolver_new(void);

/** Waits for no lookup: the thread frees what is left. NULL is fine. [main] */
void resolver_free(struct resolver *resolver);

/** A host that is an address: no lookup. Returns 0 or -EINVAL. host: with or without brackets.
 * [any] */
int resolve_numeric(const char *host, struct resolve_address *out);

/**
 * What is known of a host; a lookup is asked for if that is nothing or old. An address is kept
 * while later lookups fail. Returns 1, 0 (not known yet: ask again later), or < 0 with err (there
 * is no such host). [main]
 */
int resolver_get(struct resolver *resolver, const char *host, struct resolve_address *out,
		 struct err *err);

#endif
