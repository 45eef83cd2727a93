/* resolve.c - a thread that asks getaddrinfo(), more of them while lookups hang, and what they have
 * learnt. */
#include "resolve.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "clock.h"
#include "err.h"
#include "resolve_internal.h"

#define BUCKETS      4096u
#define SLOW_NS      (500 * CLOCK_MS) /* a lookup that took longer comes last the next time, */
#define LAST         100              /* but not after more than so many others */
#define SLOW_AT_ONCE (RESOLVE_THREADS / 2)
#define LEFT_MOST    16384u

TAILQ_HEAD(name_queue, resolver_name);

struct resolver_name {
	LIST_ENTRY(resolver_name) in_bucket;
	TAILQ_ENTRY(resolver_name) queued;
	struct name_queue *queue; /* NULL: no lookup is wanted */
	int64_t left_ns;          /* when it was put into the queue "left" */
	size_t n_users;
	int64_t asked_ns; /* when a lookup was last asked for */
	bool was_asked, is_looked_up;
	bool is_awaited; /* somebody was told that nothing is known yet */
	bool is_doubted, is_slow;
	/* Changed under the lock, and last of all: who sees it true may ask for the rest. */
	atomic_bool has_answer;
	int error, code;           /* of the last lookup: EAI_..., and errno */
	struct resolve_list known; /* n 0: nothing */
	int family;
	char host[];
};

LIST_HEAD(name_bucket, resolver_name);

struct resolver {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct name_bucket bucket[BUCKETS]; /* by hash */
	/* What the threads are to do, in this order: names that nobody knows yet; those that were
	 * quick the last time; those that were slow or not found. */
	struct name_queue unknown, quick, slow;
	struct name_queue left; /* nobody uses them, but their addresses are known */
	size_t n_left;
	unsigned n_others; /* lookups since the last one of a slow name */
	unsigned n_slow;   /* lookups of slow names that are going on */
	unsigned n_threads;
	int64_t calm_ns; /* since then names have been waiting without another thread */
	unsigned users;  /* its owner, and the threads while they run */
	bool is_ending;
	int fd; /* -1: nobody wants it */
};

/*** The threads. All of it under the lock, but for the lookup itself. ***/

static void unqueue(struct resolver_name *name)
{
	if (name->queue != NULL)
		TAILQ_REMOVE(name->queue, name, queued);
	name->queue = NULL;
}

/* Does a name wait that has been quick, or may be? */
static bool has_queue(const struct resolver *resolver)
{
	return !TAILQ_EMPTY(&resolver->unknown) || !TAILQ_EMPTY(&resolver->quick);
}

static void enqueue(struct resolver *resolver, struct resolver_name *name, int64_t now_ns)
{
	struct name_queue *queue = &resolver->unknown;

	if (!has_queue(resolver))
		resolver->calm_ns = clock_now_ns();
	if (name->was_asked)
		queue = name->is_slow ? &resolver->slow : &resolver->quick;
	name->was_asked = true;
	name->asked_ns = now_ns;
	name->queue = queue;
	TAILQ_INSERT_TAIL(queue, name, queued);
	pthread_cond_signal(&resolver->wake);
}

static struct resolver_name *next_name(const struct resolver *resolver)
{
	if (!TAILQ_EMPTY(&resolver->unknown))
		return TAILQ_FIRST(&resolver->unknown);
	if (TAILQ_EMPTY(&resolver->slow) || resolver->n_slow >= SLOW_AT_ONCE ||
	    (!TAILQ_EMPTY(&resolver->quick) && resolver->n_others < LAST))
		return TAILQ_FIRST(&resolver->quick);
	return TAILQ_FIRST(&resolver->slow);
}

static void tell(const struct resolver *resolver, struct resolver_name *name)
{
	/* pairs with the acquire in resolver_has_answer() */
	atomic_store_explicit(&name->has_answer, true, memory_order_release);
	if (name->is_awaited && resolver->fd >= 0)
		(void)eventfd_write(resolver->fd, 1); /* fails if it is readable anyway */
	name->is_awaited = false;
}

/* The lookup itself, which may take its time, without the lock. */
static int look_up(struct resolver *resolver, struct resolver_name *name, bool is_hasty,
		   struct resolve_list *found, int *code)
{
	/* A family that was asked for is looked for even if this machine has no other address. */
	const int flags = name->family == AF_UNSPEC ? AI_ADDRCONFIG : 0;
	int r;

	pthread_mutex_unlock(&resolver->lock);
	resolve_hurry(is_hasty);
	r = resolve_look_up(name->host, name->family, flags, found);
	*code = errno;
	pthread_mutex_lock(&resolver->lock);
	return r;
}

static void answer(struct resolver *resolver, struct resolver_name *name)
{
	const bool was_slow = name->queue == &resolver->slow;
	const int64_t begun_ns = clock_now_ns();
	struct resolve_list found;
	int r, code;

	resolver->n_others = was_slow ? 0 : resolver->n_others + 1;
	resolver->n_slow += was_slow;
	unqueue(name);
	name->is_looked_up = true;
	name->is_doubted = false;
	r = look_up(resolver, name, !was_slow, &found, &code);
	resolver->n_slow -= was_slow;
	name->is_looked_up = false;
	if (name->n_users == 0 && name->queue == NULL) {
		free(name);
		return;
	}
	name->is_slow = r != 0 || clock_now_ns() - begun_ns > SLOW_NS;
	if (r == EAI_AGAIN && !was_slow && name->n_users > 0) { /* once more, with patience */
		enqueue(resolver, name, name->asked_ns);
		return;
	}
	name->error = r;
	name->code = code;
	if (r == 0)
		name->known = found;
	tell(resolver, name);
}

static void unlock_or_free(struct resolver *resolver)
{
	const bool is_last = --resolver->users == 0;
	struct resolver_name *name;

	pthread_mutex_unlock(&resolver->lock);
	if (!is_last)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while ((name = LIST_FIRST(&resolver->bucket[i])) != NULL) {
			LIST_REMOVE(name, in_bucket);
			free(name);
		}
	pthread_cond_destroy(&resolver->wake);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

static void *resolver_thread(void *arg)
{
	struct resolver *resolver = arg;
	struct resolver_name *name;

	pthread_mutex_lock(&resolver->lock);
	while (!resolver->is_ending) {
		name = next_name(resolver);
		if (name != NULL)
			answer(resolver, name);
		else if (resolver->n_threads == 1)
			pthread_cond_wait(&resolver->wake, &resolver->lock);
		else
			break; /* it was there to help out */
	}
	resolver->n_threads--;
	unlock_or_free(resolver);
	return NULL;
}

/* Signals are other threads' matter. */
static int start_thread(struct resolver *resolver)
{
	pthread_t thread;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	resolver->users++;
	resolver->n_threads++;
	r = pthread_create(&thread, NULL, resolver_thread, resolver);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		return pthread_detach(thread);
	resolver->users--;
	resolver->n_threads--;
	return -r;
}

/*** For its owner ***/

struct resolver *resolver_new(void)
{
	struct resolver *resolver = calloc(1, sizeof *resolver);

	if (resolver == NULL)
		return NULL;
	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->wake, NULL);
	TAILQ_INIT(&resolver->unknown);
	TAILQ_INIT(&resolver->quick);
	TAILQ_INIT(&resolver->slow);
	TAILQ_INIT(&resolver->left);
	resolver->users = 1;
	resolver->fd = -1;
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (resolver == NULL)
		return;
	pthread_mutex_lock(&resolver->lock);
	resolver->is_ending = true;
	if (resolver->fd >= 0)
		close(resolver->fd);
	resolver->fd = -1;
	pthread_cond_broadcast(&resolver->wake);
	unlock_or_free(resolver);
}

int resolver_fd(struct resolver *resolver)
{
	int fd;

	pthread_mutex_lock(&resolver->lock);
	if (resolver->fd < 0)
		resolver->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd = resolver->fd >= 0 ? resolver->fd : -errno;
	pthread_mutex_unlock(&resolver->lock);
	return fd;
}

static struct name_bucket *bucket_of(struct resolver *resolver, const char *host, size_t len)
{
	return &resolver->bucket[cr_hash64(host, len) % BUCKETS];
}

static struct resolver_name *find(const struct name_bucket *bucket, const char *host, size_t len,
				  int family)
{
	struct resolver_name *name;

	LIST_FOREACH(name, bucket, in_bucket)
	if (name->family == family && strncmp(name->host, host, len) == 0 &&
	    name->host[len] == '\0')
		return name;
	return NULL;
}

/*** Names that nobody uses ***/

static void forget(struct resolver_name *name)
{
	LIST_REMOVE(name, in_bucket);
	if (!name->is_looked_up) /* else the thread frees it */
		free(name);
}

static void keep(struct resolver *resolver, struct resolver_name *name)
{
	const int64_t now_ns = clock_now_ns();
	struct resolver_name *first, *next;

	name->left_ns = now_ns;
	name->queue = &resolver->left;
	TAILQ_INSERT_TAIL(&resolver->left, name, queued);
	resolver->n_left++;
	for (first = TAILQ_FIRST(&resolver->left);
	     resolver->n_left > LEFT_MOST || now_ns - first->left_ns > RESOLVE_KEEP_S * CLOCK_S;
	     first = next) { /* never the one that has just come */
		next = TAILQ_NEXT(first, queued);
		TAILQ_REMOVE(&resolver->left, first, queued);
		resolver->n_left--;
		first->queue = NULL;
		forget(first);
	}
}

struct resolver_name *resolver_join(struct resolver *resolver, const char *host, int family)
{
	struct name_bucket *bucket;
	struct resolver_name *name;
	size_t len;

	host = resolve_bare(host, &len);
	bucket = bucket_of(resolver, host, len);
	pthread_mutex_lock(&resolver->lock);
	name = find(bucket, host, len, family);
	if (name == NULL) {
		name = calloc(1, sizeof *name + len + 1);
		if (name == NULL)
			goto unlock;
		name->family = family;
		memcpy(name->host, host, len);
		LIST_INSERT_HEAD(bucket, name, in_bucket);
	}
	if (name->n_users++ == 0 && name->queue != NULL) { /* it was kept */
		unqueue(name);
		resolver->n_left--;
	}

unlock:
	pthread_mutex_unlock(&resolver->lock);
	return name;
}

void resolver_leave(struct resolver *resolver, struct resolver_name *name)
{
	if (name == NULL)
		return;
	pthread_mutex_lock(&resolver->lock);
	if (--name->n_users == 0) {
		unqueue(name);
		if (name->known.n > 0)
			keep(resolver, name);
		else
			forget(name);
	}
	pthread_mutex_unlock(&resolver->lock);
}

const char *resolver_host(const struct resolver_name *name)
{
	return name->host;
}

bool resolver_has_answer(const struct resolver_name *name)
{
	/* pairs with the release in tell() */
	return atomic_load_explicit(&name->has_answer, memory_order_acquire);
}

static bool is_due(const struct resolver_name *name, int64_t now_ns)
{
	int64_t after_s = name->error == 0 ? RESOLVE_REFRESH_S : RESOLVE_RETRY_S;

	if (name->queue != NULL || name->is_looked_up)
		return false;
	if (name->is_doubted)
		after_s = RESOLVE_DOUBT_S;
	return !name->was_asked || now_ns - name->asked_ns >= after_s * CLOCK_S;
}

/* Names have been waiting for some time: twice as many threads. */
static void help_out(struct resolver *resolver)
{
	const int64_t now_ns = clock_now_ns();
	unsigned n = resolver->n_threads;

	if (!has_queue(resolver) || now_ns - resolver->calm_ns <= SLOW_NS)
		return;
	resolver->calm_ns = now_ns;
	while (n-- > 0 && resolver->n_threads < RESOLVE_THREADS)
		if (start_thread(resolver) < 0)
			return; /* the names wait longer */
}

/* Without a thread nothing is known, and the next one who asks tries again to start it. */
static void ask_if_due(struct resolver *resolver, struct resolver_name *name, int64_t now_ns)
{
	if (is_due(name, now_ns) && (resolver->n_threads > 0 || start_thread(resolver) == 0))
		enqueue(resolver, name, now_ns);
	help_out(resolver);
}

/* Why nothing is known. */
static void explain(const struct resolver_name *name, char *text, size_t len)
{
	if (name->code == EMFILE || name->code == ENFILE) { /* whatever it says */
		(void)snprintf(text, len,
			       "name %.60s cannot be resolved: no file left, let callrouterd open "
			       "more (LimitNOFILE=, ulimit -n)",
			       name->host);
		return;
	}
	switch (name->error) {
	case EAI_NONAME:
		(void)snprintf(text, len,
			       "there is no host named %.100s: correct the name, or enter it in "
			       "DNS or /etc/hosts",
			       name->host);
		break;
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		(void)snprintf(text, len,
			       name->family == AF_INET6
				       ? "host %.100s has no IPv6 address"
				       : "host %.100s has no address that this machine can use",
			       name->host);
		break;
	case EAI_AGAIN:
		(void)snprintf(text, len,
			       "name %.100s cannot be resolved: no name server answers (see "
			       "/etc/resolv.conf)",
			       name->host);
		break;
	case EAI_SYSTEM:
		(void)snprintf(text, len, "name %.100s cannot be resolved: %s", name->host,
			       err_words(name->code));
		break;
	default:
		(void)snprintf(text, len, "name %.100s cannot be resolved: %s", name->host,
			       gai_strerror(name->error));
		break;
	}
}

int resolver_get(struct resolver *resolver, struct resolver_name *name, int64_t now_ns,
		 struct resolve_list *out, char *text, size_t text_len)
{
	int r;

	pthread_mutex_lock(&resolver->lock);
	ask_if_due(resolver, name, now_ns);
	*out = name->known;
	if (name->known.n > 0) {
		r = 1;
	} else if (resolver_has_answer(name)) {
		explain(name, text, text_len);
		r = -ENOENT;
	} else {
		name->is_awaited = true;
		r = 0;
	}
	pthread_mutex_unlock(&resolver->lock);
	return r;
}

void resolver_doubt(struct resolver *resolver, struct resolver_name *name, int64_t now_ns)
{
	pthread_mutex_lock(&resolver->lock);
	name->is_doubted = true;
	ask_if_due(resolver, name, now_ns);
	pthread_mutex_unlock(&resolver->lock);
}
