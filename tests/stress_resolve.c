/* stress_resolve.c - names joined, asked for, doubted and left by several threads while their
 * lookups run, and resolvers that end in the middle of it, for ThreadSanitizer. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "lab/fake_names.h"
#include "resolve.h"

#define RUN_NS  (3 * CLOCK_S)
#define THREADS 3
#define NAMES   12

struct work {
	struct resolver *resolver;
	int64_t until_ns;
	unsigned seed, known, unknown, failed;
};

static unsigned next(struct work *work)
{
	work->seed = work->seed * 1103515245u + 12345u;
	return work->seed >> 16;
}

static void ask(struct work *work, struct resolver_name *name)
{
	/* A clock of its own, so that everything becomes due. */
	const int64_t now_ns = clock_now_ns() + next(work) % 100 * CLOCK_S;
	struct resolve_list list;
	char text[160] = "";
	int r;

	if (next(work) % 8 == 0)
		resolver_doubt(work->resolver, name, now_ns);
	r = resolver_get(work->resolver, name, now_ns, &list, text, sizeof text);
	work->known += r == 1 && list.n > 0 && resolver_has_answer(name);
	work->unknown += r == 0;
	work->failed += r < 0 && text[0] != '\0';
}

static void *run(void *arg)
{
	struct work *work = arg;
	struct resolver_name *name[NAMES] = { NULL };
	char host[32];
	eventfd_t n;

	while (clock_now_ns() < work->until_ns) {
		const unsigned i = next(work) % NAMES;

		if (name[i] == NULL) {
			snprintf(host, sizeof host, "n%u.test", i);
			name[i] = resolver_join(work->resolver, host, AF_UNSPEC);
		}
		ask(work, name[i]);
		if (next(work) % 16 == 0) {
			resolver_leave(work->resolver, name[i]);
			name[i] = NULL;
		}
		if (next(work) % 64 == 0)
			(void)eventfd_read(resolver_fd(work->resolver), &n);
	}
	for (unsigned i = 0; i < NAMES; i++)
		resolver_leave(work->resolver, name[i]);
	return NULL;
}

/* Addresses change all the time, some names are not there. */
static void *change(void *arg)
{
	const struct work *work = arg;
	char host[32], address[32];

	for (unsigned i = 0; clock_now_ns() < work->until_ns; i++) {
		snprintf(host, sizeof host, "n%u.test", i % NAMES);
		snprintf(address, sizeof address, "10.0.%u.%u", i % 200, i % NAMES);
		fake_names_set(host, i % 5 == 0 ? NULL : address);
		/* One hangs for so long that another thread is started. */
		if (i % 1000 == 100 || i % 1000 == 800)
			fake_names_hold("n3.test", i % 1000 == 100);
		poll(NULL, 0, 1);
	}
	fake_names_hold("n3.test", false);
	return NULL;
}

/* Short lives: freed with lookups in the queue and in the thread. */
static void come_and_go(void)
{
	struct resolve_list list;
	char text[160];

	for (unsigned i = 0; i < 200; i++) {
		struct resolver *resolver = resolver_new();
		struct resolver_name *name[NAMES];
		char host[32];

		(void)resolver_fd(resolver);
		for (unsigned k = 0; k < NAMES; k++) {
			snprintf(host, sizeof host, "n%u.test", k);
			name[k] = resolver_join(resolver, host, AF_UNSPEC);
			(void)resolver_get(resolver, name[k], clock_now_ns(), &list, text,
					   sizeof text);
		}
		for (unsigned k = 0; k < i % NAMES; k++)
			resolver_leave(resolver, name[k]);
		resolver_free(resolver);
	}
}

int main(void)
{
	struct work work[THREADS + 1];
	pthread_t thread[THREADS + 1];
	struct resolver *resolver = resolver_new();
	unsigned known = 0, unknown = 0, failed = 0;

	if (resolver == NULL || resolver_fd(resolver) < 0)
		return 1;
	for (unsigned i = 0; i <= THREADS; i++) {
		work[i] = (struct work){ .resolver = resolver,
					 .until_ns = clock_now_ns() + RUN_NS,
					 .seed = i + 1 };
		if (pthread_create(&thread[i], NULL, i < THREADS ? run : change, &work[i]) != 0)
			return 1;
	}
	come_and_go();
	for (unsigned i = 0; i <= THREADS; i++) {
		pthread_join(thread[i], NULL);
		known += work[i].known;
		unknown += work[i].unknown;
		failed += work[i].failed;
	}
	resolver_free(resolver);
	printf("known=%u unknown=%u failed=%u lookups=%u\n", known, unknown, failed,
	       fake_names_lookups(NULL));
	return known > 0 && unknown > 0 && failed > 0 ? 0 : 1;
}
