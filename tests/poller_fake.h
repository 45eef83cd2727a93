/*
 * poller_fake.h - a collector inside the test: what a target does is the first word of its
 * endpoint.
 *
 *	good:       a value and done, at once          silent:   never ends
 *	fail:       fails at once                      slow:     ends after fake.slow_ns
 *	event:      ends when the descriptor says so   rows:a,b  puts for rows a and b, then done
 *	admin:      skip, of row s0 if it is shared,   block:    waits for fake.gate
 *	            then done
 *	reject:     a value that is not passed on, for row s0 if it is shared, then done
 *	error:      collect() returns -EIO             late:     silent, but done once the poll is
 *	                                                         over for the host
 */
#ifndef CR_TESTS_POLLER_FAKE_H
#define CR_TESTS_POLLER_FAKE_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "plugin.h"

#define FAKE_TARGETS 256

/** What the fake remembers of a target: at target->user. */
struct fake_target {
	struct fake_target *next; /* under way */
	struct cr_target *target;
	int64_t ends_ns; /* slow, late */
	bool is_event, is_under_way, is_released;
};

struct fake_instance {
	char source[64];
	int fd, metric;
	struct fake_target *first;
};

/** Figures of all instances; under lock. */
static struct {
	pthread_mutex_t lock;
	sem_t gate;
	int64_t slow_ns;
	int opens, closes, forgets, open_error, second_opens; /* opens of the second version */
	int overlaps, blocked, released;                      /* released: late done() calls */
	bool is_signal_blocked, is_option_seen;
	char thread[32];
	size_t n;
	struct {
		char name[64], endpoint[64];
		char vars[64]; /* "rack=a zone=b " */
		int starts;
		int64_t first_ns, last_ns, longest_ns;
		bool is_under_way; /* at any instance */
	} target[FAKE_TARGETS];
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .slow_ns = 20 * CLOCK_MS };

/** The record of a target, made if new. Under lock. */
static size_t fake_record(const char *name)
{
	size_t i = 0;

	while (i < fake.n && strcmp(fake.target[i].name, name) != 0)
		i++;
	if (i == fake.n && i < FAKE_TARGETS)
		snprintf(fake.target[fake.n++].name, sizeof fake.target[0].name, "%s", name);
	return i;
}

static inline int fake_starts(const char *name)
{
	int starts;

	pthread_mutex_lock(&fake.lock);
	starts = fake.target[fake_record(name)].starts;
	pthread_mutex_unlock(&fake.lock);
	return starts;
}

/** Read one of the figures. */
static inline int fake_get(const int *figure)
{
	int value;

	pthread_mutex_lock(&fake.lock);
	value = *figure;
	pthread_mutex_unlock(&fake.lock);
	return value;
}

static inline void fake_set(int *figure, int value)
{
	pthread_mutex_lock(&fake.lock);
	*figure = value;
	pthread_mutex_unlock(&fake.lock);
}

static int fake_open_any(const struct cr_open *in, void **self, bool is_second)
{
	struct fake_instance *instance;
	int error;

	pthread_mutex_lock(&fake.lock);
	error = fake.open_error;
	fake.opens += error == 0;
	fake.second_opens += error == 0 && is_second;
	fake.is_option_seen |= in->option[0].num == 7;
	pthread_mutex_unlock(&fake.lock);
	if (error != 0) {
		snprintf(in->err, in->err_len, "the fake was told to fail");
		return error;
	}
	instance = calloc(1, sizeof *instance);
	snprintf(instance->source, sizeof instance->source, "%s", in->source);
	instance->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	instance->metric = in->host->metric(in->host, "busy_threads_ratio");
	in->host->log(in->host, CR_INFO, "fake opened number=%d", fake_get(&fake.opens));
	*self = instance;
	return 0;
}

static int fake_open(const struct cr_open *in, void **self)
{
	return fake_open_any(in, self, false);
}

static int fake_open_second(const struct cr_open *in, void **self)
{
	return fake_open_any(in, self, true);
}

static void fake_close(void *self)
{
	struct fake_instance *instance = self;

	pthread_mutex_lock(&fake.lock);
	fake.closes++;
	pthread_mutex_unlock(&fake.lock);
	close(instance->fd);
	free(instance);
}

static int fake_fd(const void *self)
{
	return ((const struct fake_instance *)self)->fd;
}

static void fake_started(const struct cr_target *target)
{
	const int64_t now_ns = clock_now_ns();
	sigset_t blocked;
	size_t i;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	pthread_mutex_lock(&fake.lock);
	i = fake_record(target->name);
	snprintf(fake.target[i].endpoint, sizeof fake.target[i].endpoint, "%s", target->endpoint);
	fake.target[i].vars[0] = '\0';
	for (size_t k = 0; k < target->n_vars; k++) {
		char *vars = fake.target[i].vars;
		const size_t used = strlen(vars);

		snprintf(vars + used, sizeof fake.target[i].vars - used, "%s=%s ",
			 target->var[k].name, target->var[k].value);
	}
	if (fake.target[i].starts++ == 0)
		fake.target[i].first_ns = now_ns;
	else if (now_ns - fake.target[i].last_ns > fake.target[i].longest_ns)
		fake.target[i].longest_ns = now_ns - fake.target[i].last_ns;
	fake.target[i].last_ns = now_ns;
	fake.overlaps += fake.target[i].is_under_way;
	fake.target[i].is_under_way = true;
	fake.is_signal_blocked = sigismember(&blocked, SIGTERM) == 1;
	pthread_getname_np(pthread_self(), fake.thread, sizeof fake.thread);
	pthread_mutex_unlock(&fake.lock);
}

static void fake_ended(const struct cr_target *target)
{
	pthread_mutex_lock(&fake.lock);
	fake.target[fake_record(target->name)].is_under_way = false;
	pthread_mutex_unlock(&fake.lock);
}

static void fake_done(const struct cr_round *round, struct cr_target *target)
{
	fake_ended(target);
	round->done(round, target);
}

static void fake_rows(const struct fake_instance *instance, const struct cr_round *round,
		      struct cr_target *target)
{
	char rows[64], *at = rows;
	const char *row;

	snprintf(rows, sizeof rows, "%s", target->endpoint + strlen("rows:"));
	while ((row = strsep(&at, ",")) != NULL)
		if (row[0] == '-')
			round->absent(round, target, row[1] == '\0' ? NULL : row + 1,
				      "it is STANDBY, not RUNNING (/state)");
		else
			round->put(round, target, row[0] == '\0' ? NULL : row, instance->metric,
				   0.25, 0);
	fake_done(round, target);
}

static bool fake_is(const struct cr_target *target, const char *word)
{
	return strncmp(target->endpoint, word, strlen(word)) == 0;
}

static void fake_wait_at_gate(void)
{
	pthread_mutex_lock(&fake.lock);
	fake.blocked++;
	pthread_mutex_unlock(&fake.lock);
	while (sem_wait(&fake.gate) < 0)
		;
}

/** Keep it for a later visit. */
static void fake_keep(struct fake_instance *instance, struct cr_target *target)
{
	struct fake_target *own = target->user;

	if (own == NULL)
		own = target->user = calloc(1, sizeof *own);
	own->target = target;
	own->is_event = fake_is(target, "event:");
	own->ends_ns = INT64_MAX;
	if (fake_is(target, "slow:"))
		own->ends_ns = clock_now_ns() + fake.slow_ns;
	if (fake_is(target, "late:"))
		own->ends_ns = target->deadline_ns + 1200 * CLOCK_MS;
	if (own->is_event)
		eventfd_write(instance->fd, 1);
	if (own->is_under_way)
		return;
	own->is_under_way = true;
	own->next = instance->first;
	instance->first = own;
}

static void fake_start(struct fake_instance *instance, const struct cr_round *round,
		       struct cr_target *target)
{
	fake_started(target);
	if (fake_is(target, "good:")) {
		round->put(round, target, NULL, instance->metric, 0.5, 0);
		fake_done(round, target);
	} else if (fake_is(target, "reject:")) {
		round->reject(round, target, target->is_shared ? "s0" : NULL, instance->metric,
			      "above_one", "7: is it percent?");
		fake_done(round, target);
	} else if (fake_is(target, "fail:")) {
		fake_ended(target);
		round->fail(round, target, CR_CONNECT, "connection refused");
	} else if (fake_is(target, "rows:")) {
		fake_rows(instance, round, target);
	} else if (fake_is(target, "admin:")) {
		round->skip(round, target, target->is_shared ? "s0" : NULL, "this is AdminServer");
		fake_done(round, target);
	} else if (fake_is(target, "block:")) {
		fake_wait_at_gate();
		fake_done(round, target);
	} else {
		fake_keep(instance, target);
	}
}

static bool fake_is_over(const struct fake_target *own, bool is_event, int64_t now_ns)
{
	return (own->is_event && is_event) || own->ends_ns <= now_ns;
}

static int64_t fake_collect(void *self, const struct cr_round *round)
{
	struct fake_instance *instance = self;
	struct fake_target **link = &instance->first;
	int64_t next_ns = INT64_MAX;
	eventfd_t count;
	const bool is_event = eventfd_read(instance->fd, &count) == 0;

	while (*link != NULL) {
		struct fake_target *const own = *link;

		if (fake_is_over(own, is_event, round->now_ns)) {
			*link = own->next;
			own->is_under_way = false;
			round->put(round, own->target, NULL, instance->metric, 0.75, 0);
			fake_done(round, own->target);
			fake_set(&fake.released, 1);
			continue;
		}
		if (own->ends_ns < next_ns)
			next_ns = own->ends_ns;
		link = &own->next;
	}
	for (size_t i = 0; i < round->n; i++) {
		if (fake_is(round->target[i], "error:")) {
			fake_started(round->target[i]);
			fake_ended(round->target[i]);
			return -EIO;
		}
		fake_start(instance, round, round->target[i]);
	}
	for (const struct fake_target *own = instance->first; own != NULL; own = own->next)
		if (own->ends_ns < next_ns)
			next_ns = own->ends_ns;
	return next_ns;
}

static void fake_forget(void *self, struct cr_target *target)
{
	struct fake_instance *instance = self;
	struct fake_target *own = target->user;

	for (struct fake_target **link = &instance->first; *link != NULL;) {
		if (*link == own)
			*link = own->next;
		else
			link = &(*link)->next;
	}
	fake_ended(target);
	pthread_mutex_lock(&fake.lock);
	fake.forgets++;
	pthread_mutex_unlock(&fake.lock);
	free(own);
}

static const struct cr_option fake_options[] = {
	{ "number", CR_INT, "7", 0, 100, NULL, "a number" },
	{ "password_file", CR_TEXT, "", 0, 0, NULL, "a secret" },
	{ 0 },
};

/** A plugin of that name, as the loader would hand it out. */
static inline struct plugin fake_plugin(const char *name, bool is_second)
{
	struct plugin plugin = { .kind = PLUGIN_COLLECTOR };

	plugin.collector = (struct cr_collector){
		.abi = CR_ABI,
		.size = sizeof(struct cr_collector),
		.name = name,
		.version = is_second ? "2" : "1",
		.summary = "a fake",
		.options = fake_options,
		.open = is_second ? fake_open_second : fake_open,
		.close = fake_close,
		.fd = fake_fd,
		.collect = fake_collect,
		.forget = fake_forget,
	};
	return plugin;
}

#endif
