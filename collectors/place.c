/* place.c - hosts of targets: names, addresses, and which of them is used. */
#include "place.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "errno_words.h"
#include "files.h"

/*** The resolver ***/

/* What a generation of the plugin knows of names: no setting and no state of any source. */
static struct {
	pthread_mutex_t lock; /* a thread that hangs may have been replaced */
	struct resolver *resolver;
	unsigned n_sources;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

void place_names_init(struct place_names *names, int epoll, uint64_t mark)
{
	names->epoll = epoll;
	names->mark = mark;
	names->is_open = true;
	pthread_mutex_lock(&shared.lock);
	shared.n_sources++;
	pthread_mutex_unlock(&shared.lock);
}

void place_names_fini(struct place_names *names)
{
	if (!names->is_open)
		return;
	pthread_mutex_lock(&shared.lock);
	if (--shared.n_sources == 0) {
		resolver_free(shared.resolver);
		shared.resolver = NULL;
	}
	pthread_mutex_unlock(&shared.lock);
	*names = (struct place_names){ 0 };
}

static struct resolver *share_resolver(void)
{
	struct resolver *resolver;

	pthread_mutex_lock(&shared.lock);
	if (shared.resolver == NULL)
		shared.resolver = resolver_new();
	resolver = shared.resolver;
	pthread_mutex_unlock(&shared.lock);
	return resolver;
}

/* Names need a thread, and a descriptor: only who has names gets them. */
static int names_open(struct place_names *names)
{
	/* By edges: it wakes each source once, and nobody has to read it. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = names->mark };
	struct resolver *resolver;
	int fd;

	if (names->resolver != NULL)
		return 0;
	resolver = share_resolver();
	if (resolver == NULL)
		return -ENOMEM;
	fd = resolver_fd(resolver);
	if (fd < 0)
		return fd;
	if (epoll_ctl(names->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	names->resolver = resolver;
	return 0;
}

/*** The place ***/

int place_set(struct place *place, struct place_names *names, const char *host, int family,
	      uint16_t port)
{
	int code = 0;

	if (resolve_numeric(host, family, &place->address) < 0) {
		code = names_open(names);
		if (code == 0)
			place->name = resolver_join(names->resolver, host, family);
		if (code == 0 && place->name == NULL)
			code = -ENOMEM;
	}
	if (code == 0)
		place->port = port;
	resolve_set_port(&place->address, port);
	return code;
}

void place_explain_unset(int code, char *text, size_t text_len)
{
	if (files_are_short(code))
		files_explain(code, text, text_len);
	else
		(void)snprintf(text, text_len, "names cannot be resolved: %s", errno_words(code));
}

/* Which of them is in use; list->n if none is. */
static size_t index_in(const struct resolve_list *list, const struct place *place)
{
	size_t i = 0;

	while (i < list->n && !resolve_is_same(&list->address[i], &place->address))
		i++;
	return i;
}

static void take(struct place *place, const union resolve_address *address)
{
	place->address = *address;
	resolve_set_port(&place->address, place->port);
}

int place_find(struct place *place, const struct place_names *names, int64_t now_ns,
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

bool place_is_found(const struct place *place)
{
	return place->name == NULL || resolver_has_answer(place->name);
}

void place_explain_late(const struct place *place, char *text, size_t text_len)
{
	(void)snprintf(text, text_len,
		       "name %.100s was not resolved in time: name server slow or down "
		       "(see /etc/resolv.conf)",
		       resolver_host(place->name));
}

unsigned int place_left(const struct place *place)
{
	return place->n_known > place->n_tried + 1 ? place->n_known - place->n_tried - 1u : 0;
}

bool place_turn(struct place *place, const struct place_names *names, int64_t now_ns)
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

void place_doubt(const struct place *place, const struct place_names *names, int64_t now_ns)
{
	if (place->name != NULL)
		resolver_doubt(names->resolver, place->name, now_ns);
}

const char *place_show(const struct place *place, char *text, size_t text_len)
{
	char shown[INET6_ADDRSTRLEN];

	text[0] = '\0';
	if (place->name == NULL)
		return text;
	resolve_show(&place->address, shown, sizeof shown);
	(void)snprintf(text, text_len, " (%s)", shown);
	return text;
}

void place_fini(struct place *place, const struct place_names *names)
{
	resolver_leave(names->resolver, place->name);
	*place = (struct place){ 0 };
}
