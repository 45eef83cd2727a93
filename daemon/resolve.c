/* resolve.c - one thread that asks getaddrinfo(), and what it has learnt. */
#include "resolve.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "clock.h"
#include "text.h"

#define HOST_MAX 256
#define BUCKETS  4096u

struct entry {
	struct entry *next;        /* in its bucket */
	struct entry *next_wanted; /* in the queue */
	char host[HOST_MAX];
	struct resolve_address known; /* n 0: nothing yet */
	char error[160];              /* of the last lookup; "" if it was good */
	int64_t asked_ns;             /* when a lookup was last asked for */
	bool is_wanted, has_answer;
};

struct resolver {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct entry *bucket[BUCKETS]; /* by hash; only grows: names that a configuration had */
	struct entry *wanted, **wanted_end; /* the queue of the thread */
	unsigned users;                     /* main, and the thread while it runs */
	bool has_thread, is_ending;
};

/*** Looking up ***/

static const char *bare_host(const char *host, char *buf, size_t len)
{
	(void)text_copy(buf, len, host[0] == '[' ? host + 1 : host);
	if (host[0] == '[')
		buf[strcspn(buf, "]")] = '\0';
	return buf;
}

static int look_up(const char *host, int flags, struct resolve_address *out)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = flags };
	struct addrinfo *list = NULL;
	char bare[HOST_MAX];
	const int r = getaddrinfo(bare_host(host, bare, sizeof bare), NULL, &hints, &list);

	out->n = 0;
	if (r != 0)
		return r;
	for (const struct addrinfo *at = list; at != NULL && out->n < RESOLVE_MOST;
	     at = at->ai_next) {
		memcpy(&out->address[out->n], at->ai_addr, at->ai_addrlen);
		out->len[out->n++] = at->ai_addrlen;
	}
	freeaddrinfo(list);
	return 0;
}

int resolve_numeric(const char *host, struct resolve_address *out)
{
	return look_up(host, AI_NUMERICHOST, out) == 0 && out->n > 0 ? 0 : -EINVAL;
}

/*** The thread ***/

static void resolver_unlock_or_free(struct resolver *resolver)
{
	const bool is_last = --resolver->users == 0;

	pthread_mutex_unlock(&resolver->lock);
	if (!is_last)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct entry *entry = resolver->bucket[i], *next; entry != NULL;
		     entry = next) {
			next = entry->next;
			free(entry);
		}
	pthread_cond_destroy(&resolver->wake);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

static void queue_put(struct resolver *resolver, struct entry *entry)
{
	if (entry->is_wanted)
		return;
	entry->is_wanted = true;
	entry->next_wanted = NULL;
	*resolver->wanted_end = entry;
	resolver->wanted_end = &entry->next_wanted;
}

/* NULL: nothing is wanted. */
static struct entry *queue_take(struct resolver *resolver)
{
	struct entry *entry = resolver->wanted;

	if (entry == NULL)
		return NULL;
	resolver->wanted = entry->next_wanted;
	if (resolver->wanted == NULL)
		resolver->wanted_end = &resolver->wanted;
	entry->is_wanted = false;
	return entry;
}

/* Under the lock, but for the lookup itself. */
static void answer(struct resolver *resolver, struct entry *entry)
{
	struct resolve_address found;
	int r;

	pthread_mutex_unlock(&resolver->lock);
	r = look_up(entry->host, AI_ADDRCONFIG, &found);
	pthread_mutex_lock(&resolver->lock);
	entry->has_answer = true;
	(void)text_copy(entry->error, sizeof entry->error, r != 0 ? gai_strerror(r) : "");
	if (r == 0 && found.n > 0)
		entry->known = found;
}

static void *resolver_thread(void *arg)
{
	struct resolver *resolver = arg;
	struct entry *entry;

	pthread_mutex_lock(&resolver->lock);
	while (!resolver->is_ending) {
		entry = queue_take(resolver);
		if (entry != NULL)
			answer(resolver, entry);
		else
			pthread_cond_wait(&resolver->wake, &resolver->lock);
	}
	resolver_unlock_or_free(resolver);
	return NULL;
}

/* Signals are the main thread's. */
static int resolver_start(struct resolver *resolver)
{
	pthread_t thread;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	resolver->users++;
	r = pthread_create(&thread, NULL, resolver_thread, resolver);
	if (r == 0)
		(void)pthread_detach(thread);
	else
		resolver->users--;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	resolver->has_thread = r == 0;
	return -r;
}

/*** For main ***/

struct resolver *resolver_new(void)
{
	struct resolver *resolver = calloc(1, sizeof *resolver);

	if (resolver == NULL)
		return NULL;
	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->wake, NULL);
	resolver->users = 1;
	resolver->wanted_end = &resolver->wanted;
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (resolver == NULL)
		return;
	pthread_mutex_lock(&resolver->lock);
	resolver->is_ending = true;
	pthread_cond_signal(&resolver->wake);
	resolver_unlock_or_free(resolver);
}

static struct entry *find_entry(struct resolver *resolver, const char *host)
{
	struct entry **bucket = &resolver->bucket[cr_hash64(host, strlen(host)) % BUCKETS];
	struct entry *entry = *bucket;

	while (entry != NULL && strcmp(entry->host, host) != 0)
		entry = entry->next;
	if (entry != NULL)
		return entry;
	entry = calloc(1, sizeof *entry);
	if (entry == NULL)
		return NULL;
	(void)text_copy(entry->host, sizeof entry->host, host);
	entry->next = *bucket;
	*bucket = entry;
	return entry;
}

int resolver_get(struct resolver *resolver, const char *host, struct resolve_address *out,
		 struct err *err)
{
	const int64_t now_ns = clock_now_ns();
	struct entry *entry;
	int r;

	pthread_mutex_lock(&resolver->lock);
	entry = find_entry(resolver, host);
	if (entry == NULL || (!resolver->has_thread && resolver_start(resolver) < 0)) {
		r = 0;
		goto unlock;
	}
	if (entry->asked_ns == 0 || now_ns - entry->asked_ns >= RESOLVE_REFRESH_S * CLOCK_S) {
		entry->asked_ns = now_ns;
		queue_put(resolver, entry);
		pthread_cond_signal(&resolver->wake);
	}
	*out = entry->known;
	if (entry->known.n > 0)
		r = 1;
	else if (!entry->has_answer)
		r = 0;
	else
		r = err_set(err, -ENOENT, "host %.80s: %s", host, entry->error);

unlock:
	pthread_mutex_unlock(&resolver->lock);
	return r;
}
