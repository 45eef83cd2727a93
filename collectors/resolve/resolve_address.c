/* resolve_address.c - addresses, and what getaddrinfo() says. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#include "resolve_internal.h"

socklen_t resolve_len(const union resolve_address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

void resolve_set_port(union resolve_address *address, uint16_t port)
{
	if (address->any.sa_family == AF_INET6)
		address->v6.sin6_port = htons(port);
	else
		address->v4.sin_port = htons(port);
}

bool resolve_is_same(const union resolve_address *a, const union resolve_address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family != AF_INET6)
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0 &&
	       a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

void resolve_show(const union resolve_address *address, char *text, size_t len)
{
	const char *shown = NULL;

	if (address->any.sa_family == AF_INET)
		shown = inet_ntop(AF_INET, &address->v4.sin_addr, text, (socklen_t)len);
	else if (address->any.sa_family == AF_INET6)
		shown = inet_ntop(AF_INET6, &address->v6.sin6_addr, text, (socklen_t)len);
	if (shown == NULL)
		(void)snprintf(text, len, "?");
}

/* An address that is there once already is left out. */
static void list_add(struct resolve_list *list, const struct addrinfo *found)
{
	union resolve_address *next = &list->address[list->n];

	if (found->ai_addrlen > sizeof *next ||
	    (found->ai_family != AF_INET && found->ai_family != AF_INET6))
		return;
	*next = (union resolve_address){ 0 };
	memcpy(next, found->ai_addr, found->ai_addrlen);
	for (size_t i = 0; i < list->n; i++)
		if (resolve_is_same(next, &list->address[i]))
			return;
	list->n++;
}

int resolve_look_up(const char *host, int family, int flags, struct resolve_list *out)
{
	const struct addrinfo hints = { .ai_family = family,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = flags };
	struct addrinfo *found = NULL;
	int r;

	out->n = 0;
	errno = 0;
	r = getaddrinfo(host, NULL, &hints, &found);
	if (r != 0)
		return r;
	for (const struct addrinfo *at = found; at != NULL && out->n < RESOLVE_MOST;
	     at = at->ai_next)
		list_add(out, at);
	freeaddrinfo(found);
	return out->n > 0 ? 0 : EAI_NODATA;
}

void resolve_hurry(bool is_hasty)
{
	if (_res.options & RES_INIT)
		res_nclose(&_res);
	if (res_ninit(&_res) == 0 && is_hasty)
		_res.retrans = _res.retry = 1;
}

const char *resolve_bare(const char *host, size_t *len)
{
	if (host[0] == '[') {
		host++;
		*len = strcspn(host, "]");
	} else {
		*len = strlen(host);
	}
	return host;
}

int resolve_numeric(const char *host, int family, union resolve_address *out)
{
	char bare[INET6_ADDRSTRLEN + 32]; /* with the name of an interface */
	struct resolve_list list;
	size_t len;

	host = resolve_bare(host, &len);
	if (len >= sizeof bare)
		return -EINVAL;
	(void)snprintf(bare, sizeof bare, "%.*s", (int)len, host);
	if (resolve_look_up(bare, family, AI_NUMERICHOST, &list) != 0)
		return -EINVAL;
	*out = list.address[0];
	return 0;
}
