/* servers_put.c - values arrive: judged, kept (those of backups apart), or counted with the reason
 * why not. */
#include "servers_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "text.h"

#define PRESET_HOLD_NS (5 * CLOCK_S) /* of a server in no service */

static bool is_bytes(const char *metric)
{
	const size_t len = strlen(metric), end = strlen("_bytes");

	return len > end && strcmp(metric + len - end, "_bytes") == 0;
}

const char *servers_reject_word(enum servers_reject reject)
{
	static const char *const words[SERVERS_REJECTS] = {
		[SERVERS_NAN] = "nan",
		[SERVERS_INFINITE] = "infinite",
		[SERVERS_NEGATIVE] = "negative",
		[SERVERS_WRAPPED] = "wrapped",
		[SERVERS_FUTURE] = "future",
		[SERVERS_NOT_A_NUMBER] = "not_a_number",
		[SERVERS_TOO_LARGE] = "too_large",
		[SERVERS_ABOVE_ONE] = "above_one",
		[SERVERS_MANY] = "many",
		[SERVERS_TWICE] = "twice",
		[SERVERS_NO_TIME] = "no_time",
		[SERVERS_OTHER] = "other",
	};

	return words[reject];
}

/** Why a value is not taken; SERVERS_REJECTS: it is. */
static enum servers_reject judge(const char *metric, double value, int64_t taken_ns, int64_t now_ns)
{
	if (isnan(value))
		return SERVERS_NAN;
	if (isinf(value))
		return SERVERS_INFINITE;
	if (value < 0)
		return SERVERS_NEGATIVE;
	if (value == (double)UINT32_MAX && is_bytes(metric))
		return SERVERS_WRAPPED;
	if (taken_ns - now_ns > CLOCK_S)
		return SERVERS_FUTURE;
	return SERVERS_REJECTS;
}

/** The sample of a metric, or NULL without memory. */
static struct sample *sample_of(struct samples *samples, size_t metric)
{
	struct sample *grown;

	if (metric < samples->n)
		return samples->at + metric;
	grown = reallocarray(samples->at, metric + 1, sizeof *grown);
	if (grown == NULL)
		return NULL;
	samples->at = grown;
	while (samples->n <= metric)
		grown[samples->n++] = (struct sample){ .value = NAN };
	return grown + metric;
}

static bool is_backup(const struct servers *servers, const char *source)
{
	for (size_t i = 0; i < servers->n_backups; i++)
		if (strcmp(servers->backup[i], source) == 0)
			return true;
	return false;
}

/** What is counted for a source; NULL without memory. */
static struct servers_rejected *reject_of(struct server *server, const char *source)
{
	struct servers_rejected *grown;

	for (size_t i = 0; i < server->n_rejects; i++)
		if (strcmp(server->reject[i].source, source) == 0)
			return &server->reject[i];
	if (server->n_rejects == SERVERS_REJECTERS_MAX)
		return NULL;
	grown = reallocarray(server->reject, server->n_rejects + 1, sizeof *grown);
	if (grown == NULL)
		return NULL;
	server->reject = grown;
	grown = &server->reject[server->n_rejects++];
	*grown = (struct servers_rejected){ .at_ns = 0 };
	(void)text_copy(grown->source, sizeof grown->source, source);
	return grown;
}

/** One more; returns where to say something about it, or NULL: nowhere. */
static struct servers_rejected *count_reject(struct server *server, const char *source,
					     enum servers_reject fault)
{
	struct servers_rejected *reject = reject_of(server, source);

	server->rejected[fault]++;
	if (reject == NULL)
		return NULL;
	reject->count[fault]++;
	reject->at_ns = clock_now_ns();
	return reject;
}

static void tell_reject(struct servers_rejected *reject, const char *metric,
			const struct sample *sample, enum servers_reject fault)
{
	static const char *const words[SERVERS_REJECTS] = {
		[SERVERS_NAN] = "is not a figure",
		[SERVERS_INFINITE] = "is infinite",
		[SERVERS_NEGATIVE] = "is negative",
		[SERVERS_WRAPPED] = "is the limit of a 32-bit agent",
	};

	if (fault == SERVERS_FUTURE)
		(void)snprintf(reject->text, sizeof reject->text,
			       "%s: measured %.1f s ahead of this host's clock", metric,
			       (double)(sample->taken_ns - reject->at_ns) / 1e9);
	else
		(void)snprintf(reject->text, sizeof reject->text, "%s: %.17g %s", metric,
			       sample->value, words[fault]);
}

/** A value on its way. */
struct arrival {
	const char *server, *source;
	int metric;
	struct sample sample;
};

/** Under the lock. Returns 1 if something changed, 0 if not, or < 0. */
static int put(struct servers *servers, const struct arrival *arrival)
{
	const int metric = arrival->metric;
	struct sample sample = arrival->sample;
	struct server *const server = servers_find(servers, arrival->server);
	const int64_t now_ns = clock_now_ns();
	struct servers_rejected *reject;
	enum servers_reject fault;
	struct sample *known;

	if (server == NULL || server->is_admin || server->is_skipped)
		return -ENOENT;
	if (metric < 0 || (size_t)metric >= servers->n_metrics)
		return -EINVAL;
	fault = judge(servers->metric[metric], sample.value, sample.taken_ns, now_ns);
	if (fault != SERVERS_REJECTS) {
		reject = count_reject(server, arrival->source, fault);
		if (reject != NULL)
			tell_reject(reject, servers->metric[metric], &sample, fault);
		return -EINVAL;
	}
	if (sample.taken_ns == 0 || sample.taken_ns > now_ns)
		sample.taken_ns = now_ns;
	known = sample_of(is_backup(servers, arrival->source) ? &server->backup : &server->sample,
			  (size_t)metric);
	if (known == NULL)
		return -ENOMEM;
	if (known->taken_ns > sample.taken_ns)
		return 0;
	*known = sample;
	servers_note_change(servers, server);
	return 1;
}

int servers_put_from(struct servers *servers, const char *source, const char *server, int metric,
		     double value, int64_t taken_ns)
{
	const struct arrival arrival = { server, source, metric, { value, taken_ns } };
	int rc;

	pthread_mutex_lock(&servers->lock);
	rc = put(servers, &arrival);
	if (rc == 1)
		servers_unlock_and_ring(servers);
	else
		pthread_mutex_unlock(&servers->lock);
	return rc < 0 ? rc : 0;
}

int servers_put(struct servers *servers, const char *server, int metric, double value,
		int64_t taken_ns)
{
	return servers_put_from(servers, "", server, metric, value, taken_ns);
}

static enum servers_reject reject_by_word(const char *word)
{
	enum servers_reject reject = SERVERS_NAN;

	while (reject < SERVERS_OTHER && strcmp(servers_reject_word(reject), word) != 0)
		reject++;
	return reject;
}

int servers_reject(struct servers *servers, const char *source, const char *name, int metric,
		   const char *word, const char *text)
{
	struct servers_rejected *reject;
	struct server *server;
	int rc = 0;

	pthread_mutex_lock(&servers->lock);
	server = servers_find(servers, name);
	if (server == NULL || server->is_admin || server->is_skipped) {
		rc = -ENOENT;
	} else if (metric < 0 || (size_t)metric >= servers->n_metrics) {
		rc = -EINVAL;
	} else {
		reject = count_reject(server, source, reject_by_word(word));
		if (reject != NULL)
			(void)snprintf(reject->text, sizeof reject->text, "%s: %s%s%s",
				       servers->metric[metric], word, text != NULL ? ": " : "",
				       text != NULL ? text : "");
	}
	pthread_mutex_unlock(&servers->lock);
	return rc;
}

static void forget(struct samples *samples, size_t metric)
{
	if (metric < samples->n)
		samples->at[metric] = (struct sample){ .value = NAN };
}

/* Another heap_max is news of the heap: who measured a maximum before may do so no more, and who
 * does will soon say it again. */
static void take_heap_max(struct server *server, double heap_max)
{
	if (server->heap_max == heap_max)
		return;
	server->heap_max = heap_max;
	forget(&server->sample, HEAP_MAX);
	forget(&server->backup, HEAP_MAX);
}

void servers_take_rules(struct server *server, const struct config_server *from)
{
	take_heap_max(server, (double)from->heap_max);
	/* Half of what routers wait, so that a backup is there before they see nothing. */
	server->hold_ns = from->stale_after_ns > 0 ? from->stale_after_ns / 2 : PRESET_HOLD_NS;
}
