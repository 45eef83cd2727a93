/* snmp_place.c - targets, names and addresses. */
#include "snmp_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "errno_words.h"
#include "snmp_endpoint.h"

/*** The target ***/

/* Names need a thread, and a descriptor: only who has names gets them. */
static int names_open(struct snmp_names *names)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd, code;

	if (names->resolver != NULL)
		return 0;
	names->resolver = resolver_new();
	if (names->resolver == NULL)
		return -ENOMEM;
	fd = resolver_fd(names->resolver);
	code = fd < 0 ? fd : 0;
	if (code == 0 && epoll_ctl(names->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		code = -errno;
	if (code < 0)
		snmp_names_fini(names);
	return code;
}

/* Keep what the target says: an address, or a name to be asked for. */
static int keep(struct snmp_place *place, struct snmp_names *names, const char *host, int family)
{
	int code;

	if (resolve_numeric(host, family, &place->address) == 0) {
		resolve_set_port(&place->address, place->port);
		return 0;
	}
	code = names_open(names);
	if (code < 0)
		return code;
	place->name = resolver_join(names->resolver, host, family);
	return place->name != NULL ? 0 : -ENOMEM;
}

int snmp_place_read(struct snmp_place *place, struct snmp_names *names, const char *endpoint,
		    char *text, size_t text_len)
{
	struct snmp_endpoint at;
	char fault[192];
	int code;

	if (place->port != 0)
		return 0;
	code = snmp_endpoint_read(&at, endpoint, fault, sizeof fault);
	if (code < 0) {
		(void)snprintf(text, text_len, "target: %s", fault);
		return code;
	}
	place->is_stream = at.is_stream;
	place->port = at.port;
	code = keep(place, names, at.host, at.family);
	if (code == 0)
		return 0;
	place->port = 0;
	(void)snprintf(text, text_len, "names cannot be resolved: %s", errno_words(code));
	return code;
}

/*** Addresses ***/

/* Which of them is in use; list->n if none is. */
static size_t index_in(const struct resolve_list *list, const struct snmp_place *place)
{
	size_t i = 0;

	while (i < list->n && !resolve_is_same(&list->address[i], &place->address))
		i++;
	return i;
}

static void take(struct snmp_place *place, const union resolve_address *address)
{
	place->address = *address;
	resolve_set_port(&place->address, place->port);
}

int snmp_place_find(struct snmp_place *place, const struct snmp_names *names, int64_t now_ns,
		    bool *has_moved, char *text, size_t text_len)
{
	struct resolve_list list;
	int code;

	*has_moved = false;
	place->n_tried = 0;
	if (place->name == NULL)
		return 1;
	code = resolver_get(names->resolver, place->name, now_ns, &list, text, text_len);
	if (code <= 0)
		return code;
	place->n_known = (uint8_t)list.n;
	if (index_in(&list, place) < list.n)
		return 1;
	*has_moved = place->address.any.sa_family != AF_UNSPEC;
	take(place, &list.address[0]);
	return 1;
}

unsigned int snmp_place_left(const struct snmp_place *place)
{
	return place->n_known > place->n_tried + 1 ? place->n_known - place->n_tried - 1u : 0;
}

bool snmp_place_turn(struct snmp_place *place, const struct snmp_names *names, int64_t now_ns)
{
	struct resolve_list list;
	char text[8]; /* nobody wants to know */
	size_t at;

	if (place->n_known <= 1 ||
	    resolver_get(names->resolver, place->name, now_ns, &list, text, sizeof text) <= 0)
		return false;
	at = index_in(&list, place);
	at = at + 1 < list.n ? at + 1 : 0;
	if (place->n_tried < UINT8_MAX)
		place->n_tried++;
	if (resolve_is_same(&list.address[at], &place->address))
		return false;
	take(place, &list.address[at]);
	return true;
}

void snmp_place_doubt(const struct snmp_place *place, const struct snmp_names *names,
		      int64_t now_ns)
{
	if (place->name != NULL)
		resolver_doubt(names->resolver, place->name, now_ns);
}

const char *snmp_place_show(const struct snmp_place *place, char *text, size_t text_len)
{
	char shown[INET6_ADDRSTRLEN];

	text[0] = '\0';
	if (place->name == NULL)
		return text;
	resolve_show(&place->address, shown, sizeof shown);
	(void)snprintf(text, text_len, " (%s)", shown);
	return text;
}

void snmp_place_fini(struct snmp_place *place, const struct snmp_names *names)
{
	resolver_leave(names->resolver, place->name);
	*place = (struct snmp_place){ 0 };
}

void snmp_names_fini(struct snmp_names *names)
{
	resolver_free(names->resolver);
	names->resolver = NULL;
}
