/*
 * resolve.h - addresses of host names, looked up by a thread of their own: a name server that does
 * not answer holds up nobody, and while names have to wait further threads take them. For the
 * daemon's checks and the collectors.
 *
 *	name = resolver_join(resolver, "db1.example", AF_UNSPEC);
 *	r = resolver_get(resolver, name, now_ns, &list, text, sizeof text);
 *	if (r == 0)
 *		come back when resolver_fd() is readable, or some time later
 */
#ifndef CR_COLLECTORS_RESOLVE_H
#define CR_COLLECTORS_RESOLVE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RESOLVE_MOST      8  /* addresses of one name that are kept */
#define RESOLVE_REFRESH_S 30 /* a name that is asked for is looked up again after that, */
#define RESOLVE_RETRY_S   10 /* after that if it was not found, */
#define RESOLVE_DOUBT_S   2  /* and after that if its address does not work */
#define RESOLVE_KEEP_S    60 /* so long an address is known after everybody has left */
#define RESOLVE_THREADS   32 /* at most; one while no name has to wait for long */

/** One address and port, of IPv4 or IPv6; family AF_UNSPEC: none. */
union resolve_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/** Where a host is, what to try first coming first; ports are 0. */
struct resolve_list {
	union resolve_address address[RESOLVE_MOST];
	size_t n;
};

struct resolver;
struct resolver_name;

/** A host that is an address itself: no lookup. host: with or without brackets; family: AF_UNSPEC
 * for any. Returns 0 or -EINVAL. [any] */
int resolve_numeric(const char *host, int family, union resolve_address *out);

/** How many bytes of it connect() wants. [any] */
socklen_t resolve_len(const union resolve_address *address);

void resolve_set_port(union resolve_address *address, uint16_t port);

/** The same host, whatever the port? [any] */
bool resolve_is_same(const union resolve_address *a, const union resolve_address *b);

/** The address as text, without the port; "?" if there is none. [any] */
void resolve_show(const union resolve_address *address, char *text, size_t len);

/** NULL: no memory. The thread is started when the first name is asked for. [any] */
struct resolver *resolver_new(void);

/** No name is used any more. Waits for no lookup: the last thread frees what is left. NULL is fine.
 * [any] */
void resolver_free(struct resolver *resolver);

/** A descriptor (eventfd) that becomes readable when there is an answer that somebody was told to
 * wait for, each time anew for who watches it by edges (EPOLLET), so that nobody has to read it;
 * made by the first call, closed by resolver_free(). Returns a negative errno value without one.
 * [any] */
int resolver_fd(struct resolver *resolver);

/** A name to be asked for, to be left again; whoever joins the same name and family gets the same
 * one, and a lookup serves all. NULL: no memory. [any] */
struct resolver_name *resolver_join(struct resolver *resolver, const char *host, int family);

/** The last one to leave makes it forgotten; but an address that is known is kept for some time,
 * for who comes in the leaver's place. NULL is fine. [any] */
void resolver_leave(struct resolver *resolver, struct resolver_name *name);

/** The host, without brackets. [any] */
const char *resolver_host(const struct resolver_name *name);

/** Has a lookup been answered, well or not? Costs next to nothing. [any] */
bool resolver_has_answer(const struct resolver_name *name);

/**
 * What is known of a name; a lookup is asked for if that is nothing or old. Addresses are kept
 * while later lookups fail. now_ns: CLOCK_MONOTONIC. Returns 1; 0: not known yet; or -ENOENT
 * with text, a sentence: there is no such host, or nobody knows it now. [any]
 */
int resolver_get(struct resolver *resolver, struct resolver_name *name, int64_t now_ns,
		 struct resolve_list *out, char *text, size_t text_len);

/** What is known does not work, perhaps because the host has moved: look again at once, or if that
 * was done a moment ago, soon. [any] */
void resolver_doubt(struct resolver *resolver, struct resolver_name *name, int64_t now_ns);

#endif
