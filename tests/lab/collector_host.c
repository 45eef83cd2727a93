/* collector_host.c - callrouterd's part towards one collector, in a test's own thread. */
#include "collector_host.h"

#include <dlfcn.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector_settings.h"

#define METRICS_MAX 64
#define LOG_LINES   64

struct target {
	struct cr_target target;
	char name[64], *endpoint;
	struct collector_poll poll;
	int64_t started_ns, timeout_ns;
	bool is_due, is_gone;
};

struct collector_host {
	struct cr_host host; /* first: what the collector sees of us */
	const struct cr_collector *collector;
	void *object, *self;
	union cr_value value[SETTINGS_MAX];
	char *settings[SETTINGS_MAX];
	char metric[METRICS_MAX][64];
	int n_metrics;
	struct target **target;
	size_t n_targets;
	struct collector_value *put;
	size_t n_put, cap_put;
	char log[LOG_LINES][512];
	size_t n_log;
	char fault[256];
	unsigned long visits;
	int64_t next_ns, longest_ns;
};

/** What a round's functions get: the round first, then whose it is. */
struct visit {
	struct cr_round round;
	struct collector_host *host;
};

static int64_t passed_ns; /* besides the time that has really passed */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + passed_ns;
}

void collector_host_pass(int64_t ns)
{
	passed_ns += ns;
}

static void *check(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

CR_PRINTF(2, 3) static void fault(struct collector_host *host, const char *fmt, ...)
{
	va_list args;

	if (host->fault[0] != '\0')
		return;
	va_start(args, fmt);
	vsnprintf(host->fault, sizeof host->fault, fmt, args);
	va_end(args);
}

/*** What the collector calls ***/

CR_PRINTF(3, 4)
static void host_log(const struct cr_host *self, enum cr_level level, const char *fmt, ...)
{
	struct collector_host *host = (struct collector_host *)self;
	char *line = host->log[host->n_log++ % LOG_LINES];
	va_list args;
	int at = snprintf(line, sizeof host->log[0], "<%d>", (int)level);

	va_start(args, fmt);
	vsnprintf(line + at, sizeof host->log[0] - (size_t)at, fmt, args);
	va_end(args);
}

static int host_metric(const struct cr_host *self, const char *name)
{
	struct collector_host *host = (struct collector_host *)self;

	for (int i = 0; i < host->n_metrics; i++)
		if (strcmp(host->metric[i], name) == 0)
			return i;
	if (host->n_metrics == METRICS_MAX || strlen(name) >= sizeof host->metric[0])
		return -1;
	strncpy(host->metric[host->n_metrics], name, sizeof host->metric[0] - 1);
	return host->n_metrics++;
}

static struct target *running(const struct cr_round *round, struct cr_target *t, const char *what)
{
	struct target *target = (struct target *)t; /* its first member */

	if (target->poll.state == COLLECTOR_RUNNING)
		return target;
	fault(((const struct visit *)round)->host, "%s for %s, which is not being polled", what,
	      target->name);
	return NULL;
}

/* Room for one more, filled in but for the value; NULL after a breach of the contract. */
static struct collector_value *add_value(const struct cr_round *round, struct cr_target *t,
					 const char *row, int metric)
{
	struct collector_host *host = ((const struct visit *)round)->host;
	struct collector_value *put;

	if (running(round, t, "put()") == NULL)
		return NULL;
	if (row == NULL && t->is_shared)
		fault(host, "a value without a row for %s, which is shared", t->name);
	if (metric < 0 || metric >= host->n_metrics) {
		fault(host, "a value of unknown metric %d for %s", metric, t->name);
		return NULL;
	}
	if (host->n_put == host->cap_put) {
		host->cap_put = host->cap_put * 2 + 64;
		host->put = check(realloc(host->put, host->cap_put * sizeof *host->put));
	}
	put = &host->put[host->n_put++];
	*put = (struct collector_value){ .has_row = row != NULL, .value = (double)NAN };
	snprintf(put->target, sizeof put->target, "%s", t->name);
	snprintf(put->row, sizeof put->row, "%s", row != NULL ? row : "");
	snprintf(put->metric, sizeof put->metric, "%s", host->metric[metric]);
	return put;
}

static void round_put(const struct cr_round *round, struct cr_target *t, const char *row,
		      int metric, double value, int64_t taken_ns)
{
	struct collector_value *put = add_value(round, t, row, metric);

	if (put == NULL)
		return;
	put->value = value;
	put->taken_ns = taken_ns;
}

static void round_reject(const struct cr_round *round, struct cr_target *t, const char *row,
			 int metric, const char *word, const char *text)
{
	struct collector_value *put = add_value(round, t, row, metric);

	if (put == NULL)
		return;
	snprintf(put->reject, sizeof put->reject, "%s", word);
	snprintf(put->text, sizeof put->text, "%s", text != NULL ? text : "");
}

static void round_skip(const struct cr_round *round, struct cr_target *t, const char *row,
		       const char *text)
{
	struct target *target = running(round, t, "skip()");

	if (target == NULL)
		return;
	target->poll.skips++;
	snprintf(target->poll.skip_row, sizeof target->poll.skip_row, "%s", row ? row : "");
	snprintf(target->poll.skip_text, sizeof target->poll.skip_text, "%s", text);
}

static void round_absent(const struct cr_round *round, struct cr_target *t, const char *row,
			 const char *text)
{
	struct target *target = running(round, t, "absent()");

	if (target == NULL)
		return;
	target->poll.absents++;
	snprintf(target->poll.absent_row, sizeof target->poll.absent_row, "%s", row ? row : "");
	snprintf(target->poll.absent_text, sizeof target->poll.absent_text, "%s", text);
}

static void round_done(const struct cr_round *round, struct cr_target *t)
{
	struct target *target = running(round, t, "done()");

	if (target == NULL)
		return;
	target->poll.state = COLLECTOR_GOOD;
	target->poll.took_ns = now_ns() - target->started_ns;
}

static void round_fail(const struct cr_round *round, struct cr_target *t, enum cr_why why,
		       const char *text)
{
	struct target *target = running(round, t, "fail()");

	if (target == NULL)
		return;
	target->poll.state = COLLECTOR_FAILED;
	target->poll.why = why;
	target->poll.took_ns = now_ns() - target->started_ns;
	snprintf(target->poll.text, sizeof target->poll.text, "%s", text);
}

/*** Opening and closing ***/

struct collector_host *collector_host_open(const struct cr_collector *collector, const char *source,
					   const char *const *settings, char *err, size_t err_len)
{
	struct collector_host *host = check(calloc(1, sizeof *host));
	const struct cr_open in = { .host = &host->host,
				    .option = host->value,
				    .source = source,
				    .err = err,
				    .err_len = err_len };

	host->host.log = host_log;
	host->host.metric = host_metric;
	host->collector = collector;
	host->next_ns = INT64_MAX;
	err[0] = '\0';
	if (collector_settings_parse(collector->options, settings, host->settings, host->value, err,
				     err_len) == 0 &&
	    collector->open(&in, &host->self) >= 0)
		return host;
	host->collector = NULL; /* nothing to be closed */
	collector_host_close(host);
	return NULL;
}

int collector_host_check(const struct collector_host *host, const char *endpoint, char *err,
			 size_t err_len)
{
	err[0] = '\0';
	return host->collector->check(host->self, endpoint, err, err_len);
}

struct collector_host *collector_host_load(const char *path, const char *source,
					   const char *const *settings, char *err, size_t err_len)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const struct cr_collector *collector;
	struct collector_host *host;

	collector = object != NULL ? dlsym(object, "cr_collector_1") : NULL;
	if (collector == NULL) {
		snprintf(err, err_len, "%s", dlerror());
		return NULL;
	}
	host = collector_host_open(collector, source, settings, err, err_len);
	if (host != NULL)
		host->object = object;
	return host;
}

void collector_host_close(struct collector_host *host)
{
	if (host == NULL)
		return;
	for (size_t i = 0; i < host->n_targets; i++) {
		collector_host_forget(host, (int)i);
		free(host->target[i]->endpoint);
		free(host->target[i]);
	}
	if (host->collector != NULL)
		host->collector->close(host->self);
	for (size_t i = 0; i < SETTINGS_MAX; i++)
		free(host->settings[i]);
	if (host->object != NULL)
		dlclose(host->object);
	free(host->target);
	free(host->put);
	free(host);
}

/*** Targets and rounds ***/

int collector_host_add(struct collector_host *host, const char *name, const char *endpoint,
		       bool is_shared)
{
	struct target *target = check(calloc(1, sizeof *target));

	snprintf(target->name, sizeof target->name, "%s", name);
	target->endpoint = check(strdup(endpoint));
	target->target.name = target->name;
	target->target.endpoint = target->endpoint;
	target->target.is_shared = is_shared;
	host->target =
		check(realloc(host->target, (host->n_targets + 1) * sizeof(struct target *)));
	host->target[host->n_targets] = target;
	return (int)host->n_targets++;
}

void collector_host_vars(struct collector_host *host, int target, const struct cr_var *var,
			 size_t n)
{
	host->target[target]->target.var = var;
	host->target[target]->target.n_vars = n;
}

void collector_host_forget(struct collector_host *host, int target)
{
	struct target *gone = host->target[target];

	if (gone->is_gone)
		return;
	gone->is_gone = true;
	gone->is_due = false;
	if (host->collector != NULL && host->collector->forget != NULL)
		host->collector->forget(host->self, &gone->target);
	if (gone->poll.state == COLLECTOR_RUNNING)
		gone->poll.state = COLLECTOR_IDLE;
}

void collector_host_start(struct collector_host *host, int target, int64_t timeout_ns)
{
	host->target[target]->is_due = true;
	host->target[target]->timeout_ns = timeout_ns;
}

static void visit(struct collector_host *host)
{
	struct cr_target **due = check(calloc(host->n_targets + 1, sizeof(struct cr_target *)));
	struct visit visit = { .round = { .now_ns = now_ns(),
					  .target = due,
					  .put = round_put,
					  .skip = round_skip,
					  .done = round_done,
					  .fail = round_fail,
					  .reject = round_reject,
					  .absent = round_absent },
			       .host = host };
	int64_t took_ns;

	for (size_t i = 0; i < host->n_targets; i++) {
		struct target *target = host->target[i];

		if (!target->is_due || target->poll.state == COLLECTOR_RUNNING)
			continue;
		target->is_due = false;
		target->poll = (struct collector_poll){ .state = COLLECTOR_RUNNING };
		target->started_ns = visit.round.now_ns;
		target->target.deadline_ns = visit.round.now_ns + target->timeout_ns;
		due[visit.round.n++] = &target->target;
	}
	host->visits++;
	host->next_ns = host->collector->collect(host->self, &visit.round);
	if (host->next_ns < 0)
		fault(host, "collect() returned an error: %lld", (long long)host->next_ns);
	took_ns = now_ns() - visit.round.now_ns;
	if (took_ns > host->longest_ns)
		host->longest_ns = took_ns;
	free(due);
}

static size_t count(const struct collector_host *host, bool *is_due)
{
	size_t n = 0;

	*is_due = false;
	for (size_t i = 0; i < host->n_targets; i++) {
		n += host->target[i]->poll.state == COLLECTOR_RUNNING;
		*is_due |= host->target[i]->is_due;
	}
	return n;
}

/* Wait until the collector wants a visit or the time is over. */
static void wait_for(const struct collector_host *host, int64_t until_ns)
{
	struct pollfd fd = { .fd = -1, .events = POLLIN };
	const int64_t wake_ns = host->next_ns < until_ns ? host->next_ns : until_ns;
	const int64_t rest_ns = wake_ns - now_ns();
	struct timespec rest = { 0 };

	if (host->collector->fd != NULL)
		fd.fd = host->collector->fd(host->self);
	if (rest_ns > 0) {
		rest.tv_sec = rest_ns / INT64_C(1000000000);
		rest.tv_nsec = rest_ns % INT64_C(1000000000);
	}
	ppoll(&fd, 1, &rest, NULL);
}

size_t collector_host_run(struct collector_host *host, int64_t limit_ns)
{
	const int64_t until_ns = now_ns() + limit_ns;
	size_t n;
	bool is_due;

	for (;;) {
		n = count(host, &is_due);
		if ((n == 0 && !is_due) || now_ns() >= until_ns || host->next_ns < 0)
			return n;
		if (!is_due)
			wait_for(host, until_ns);
		visit(host);
	}
}

size_t collector_host_poll(struct collector_host *host, int64_t timeout_ns, int64_t limit_ns)
{
	collector_host_clear(host);
	for (size_t i = 0; i < host->n_targets; i++)
		if (!host->target[i]->is_gone)
			collector_host_start(host, (int)i, timeout_ns);
	return collector_host_run(host, limit_ns);
}

/*** What became of it ***/

const struct collector_poll *collector_host_last(const struct collector_host *host, int target)
{
	return &host->target[target]->poll;
}

double collector_host_value(const struct collector_host *host, const char *target, const char *row,
			    const char *metric)
{
	for (size_t i = host->n_put; i-- > 0;) {
		const struct collector_value *put = &host->put[i];

		if (strcmp(put->target, target) == 0 && put->has_row == (row != NULL) &&
		    strcmp(put->row, row != NULL ? row : "") == 0 &&
		    strcmp(put->metric, metric) == 0)
			return put->value;
	}
	return NAN;
}

const struct collector_value *collector_host_values(const struct collector_host *host, size_t *n)
{
	*n = host->n_put;
	return host->put;
}

void collector_host_clear(struct collector_host *host)
{
	host->n_put = 0;
}

const char *collector_host_fault(const struct collector_host *host)
{
	return host->fault[0] != '\0' ? host->fault : NULL;
}

unsigned long collector_host_visits(const struct collector_host *host)
{
	return host->visits;
}

int64_t collector_host_longest_ns(const struct collector_host *host)
{
	return host->longest_ns;
}

const char *collector_host_logged(const struct collector_host *host, const char *text)
{
	for (size_t i = host->n_log, n = 0; i-- > 0 && n < LOG_LINES; n++)
		if (strstr(host->log[i % LOG_LINES], text) != NULL)
			return host->log[i % LOG_LINES];
	return NULL;
}
