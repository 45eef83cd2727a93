/* fake_names.c - getaddrinfo() out of a table. */
#include "fake_names.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <resolv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAMES_MAX 64

struct fake_name {
	char name[64], addresses[256];
	bool is_there, is_held;
	unsigned lookups;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct fake_name name[NAMES_MAX];
	size_t n;
	unsigned lookups, held;
	int open_signals;
	bool was_hasty;
	bool is_held, is_failing;
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static struct fake_name *find(const char *name)
{
	for (size_t i = 0; i < fake.n; i++)
		if (strcmp(fake.name[i].name, name) == 0)
			return &fake.name[i];
	if (fake.n == NAMES_MAX)
		abort();
	snprintf(fake.name[fake.n].name, sizeof fake.name[0].name, "%s", name);
	return &fake.name[fake.n++];
}

typedef int lookup_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int ask_system(const char *node, const char *service, const struct addrinfo *hints,
		      struct addrinfo **found)
{
	lookup_fn *next;

	*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	return next(node, service, hints, found);
}

/* One list of all of them; the C library frees lists one by one. */
static int list_of(char *addresses, const struct addrinfo *hints, struct addrinfo **found)
{
	struct addrinfo numeric = *hints, **end = found;
	char *rest = NULL;

	*found = NULL;
	numeric.ai_flags = AI_NUMERICHOST;
	for (char *one = strtok_r(addresses, " ", &rest); one != NULL;
	     one = strtok_r(NULL, " ", &rest)) {
		if (ask_system(one, NULL, &numeric, end) != 0)
			continue; /* of another family */
		while (*end != NULL)
			end = &(*end)->ai_next;
	}
	return *found != NULL ? 0 : EAI_NODATA;
}

static int count_open_signals(void)
{
	sigset_t blocked;
	int n = 0;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	for (int i = 1; i < 32; i++)
		n += sigismember(&blocked, i) == 0 && i != SIGKILL && i != SIGSTOP;
	return n;
}

static int ask_table(const char *node, const struct addrinfo *hints, struct addrinfo **found)
{
	char addresses[256] = "";
	struct fake_name *name;
	int r = 0;

	pthread_mutex_lock(&fake.lock);
	name = find(node);
	name->lookups++;
	fake.lookups++;
	fake.held++;
	fake.open_signals = count_open_signals();
	fake.was_hasty = _res.retrans == 1 && _res.retry == 1;
	pthread_cond_broadcast(&fake.changed);
	while (fake.is_held || name->is_held)
		pthread_cond_wait(&fake.changed, &fake.lock);
	fake.held--;
	if (fake.is_failing)
		r = EAI_AGAIN;
	else if (!name->is_there)
		r = EAI_NONAME;
	snprintf(addresses, sizeof addresses, "%s", name->addresses);
	pthread_mutex_unlock(&fake.lock);
	return r != 0 ? r : list_of(addresses, hints, found);
}

static int ask_many(const struct addrinfo *hints, struct addrinfo **found)
{
	char address[] = "127.0.0.1";

	pthread_mutex_lock(&fake.lock);
	fake.lookups++;
	pthread_mutex_unlock(&fake.lock);
	return list_of(address, hints, found);
}

static bool ends_in(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
						       const struct addrinfo *hints,
						       struct addrinfo **found)
{
	if (hints->ai_flags & AI_NUMERICHOST)
		return ask_system(node, service, hints, found);
	if (ends_in(node, ".many.test"))
		return ask_many(hints, found);
	if (ends_in(node, ".test"))
		return ask_table(node, hints, found);
	pthread_mutex_lock(&fake.lock);
	fake.lookups++;
	pthread_mutex_unlock(&fake.lock);
	return ask_system(node, service, hints, found);
}

/*** For the tests ***/

void fake_names_set(const char *name, const char *addresses)
{
	struct fake_name *known;

	pthread_mutex_lock(&fake.lock);
	known = find(name);
	known->is_there = addresses != NULL;
	snprintf(known->addresses, sizeof known->addresses, "%s",
		 addresses != NULL ? addresses : "");
	pthread_mutex_unlock(&fake.lock);
}

void fake_names_hold(const char *name, bool is_held)
{
	pthread_mutex_lock(&fake.lock);
	*(name != NULL ? &find(name)->is_held : &fake.is_held) = is_held;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
}

void fake_names_fail(bool is_failing)
{
	pthread_mutex_lock(&fake.lock);
	fake.is_failing = is_failing;
	pthread_mutex_unlock(&fake.lock);
}

/* *number, once it is n or more or the time is over. */
static unsigned await(const unsigned *number, unsigned n)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	while (*number < n && r == 0)
		r = pthread_cond_timedwait(&fake.changed, &fake.lock, &until);
	return *number;
}

unsigned fake_names_await(const char *name, unsigned n)
{
	unsigned lookups;

	pthread_mutex_lock(&fake.lock);
	lookups = await(name != NULL ? &find(name)->lookups : &fake.lookups, n);
	pthread_mutex_unlock(&fake.lock);
	return lookups;
}

unsigned fake_names_lookups(const char *name)
{
	return fake_names_await(name, 0);
}

unsigned fake_names_await_held(unsigned n)
{
	unsigned held;

	pthread_mutex_lock(&fake.lock);
	held = await(&fake.held, n);
	pthread_mutex_unlock(&fake.lock);
	return held;
}

int fake_names_open_signals(void)
{
	int n;

	pthread_mutex_lock(&fake.lock);
	n = fake.open_signals;
	pthread_mutex_unlock(&fake.lock);
	return n;
}

bool fake_names_was_hasty(void)
{
	bool was_hasty;

	pthread_mutex_lock(&fake.lock);
	was_hasty = fake.was_hasty;
	pthread_mutex_unlock(&fake.lock);
	return was_hasty;
}
