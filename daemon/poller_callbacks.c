/* poller_callbacks.c - what a collector reports during a visit, on its way to the servers and the
 * figures. */
#include "poller_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <callrouter/order.h>

#include "log.h"
#include "text.h"
#include "words.h"

/* enum cr_why: room for those of a collector that makes up its own. */
#define WHY_COUNT (sizeof((struct poller_source *)0)->failed / sizeof(uint64_t))

static struct source *source_of(const struct cr_round *round)
{
	return ((const struct visit *)(const void *)round)->source;
}

/** The target, or NULL if its poll is over: failed by us, given up, ended twice. */
static struct target *under_way(const struct source *source, struct cr_target *t)
{
	struct target *const target = (struct target *)(void *)t;

	return target->is_under_way && !poller_is_abandoned(source->poller) ? target : NULL;
}

/** A row that is nobody we poll: said once each, and only of the first ones. */
static void drop_row(struct source *source, const char *row)
{
	const uint64_t mark = cr_hash64(row, strlen(row));

	for (size_t i = 0; i < source->n_dropped; i++)
		if (source->dropped[i] == mark)
			return;
	if (source->n_dropped == POLLER_DROPPED_NAMED)
		return;
	source->dropped[source->n_dropped++] = mark;
	log_info("row not in the configuration", "source=%s row=%s%s", source->name, row,
		 source->n_dropped == POLLER_DROPPED_NAMED ? " (no further row is named)" : "");
}

/** A shared target has no server of its own. */
static void drop_rowless(struct source *source)
{
	if (!source->was_rowless)
		log_debug("report without a row dropped", "source=%s: its target is shared",
			  source->name);
	source->was_rowless = true;
}

/** The name of the server that a report of a target is about; NULL: nobody whom we poll. */
static const char *subject_of(struct source *source, const struct target *target,
			      const struct cr_target *t, const char *row)
{
	struct source_server *server;

	if (row == NULL && t->is_shared) {
		drop_rowless(source);
		return NULL;
	}
	if (row == NULL)
		return target->name;
	server = poller_source_server(source, row);
	if (server == NULL) {
		drop_row(source, row);
		return NULL;
	}
	if (t->is_shared)
		server->seen = source->shared_poll;
	return row;
}

static void count_rejected(const struct source *source)
{
	pthread_mutex_lock(&source->poller->lock);
	source->figures->now.rejected++;
	pthread_mutex_unlock(&source->poller->lock);
}

static void put(const struct cr_round *r, struct cr_target *t, const char *row, int metric,
		double value, int64_t taken_ns)
{
	struct source *const source = source_of(r);
	const struct target *const target = under_way(source, t);
	const char *server;

	if (target == NULL)
		return;
	server = subject_of(source, target, t, row);
	if (server != NULL && servers_put_from(source->poller->servers, source->name, server,
					       metric, value, taken_ns) == -EINVAL)
		count_rejected(source);
}

static void reject(const struct cr_round *r, struct cr_target *t, const char *row, int metric,
		   const char *word, const char *text)
{
	struct source *const source = source_of(r);
	const struct target *const target = under_way(source, t);
	const char *server;

	if (target == NULL)
		return;
	server = subject_of(source, target, t, row);
	if (server != NULL && servers_reject(source->poller->servers, source->name, server, metric,
					     word, text) != -ENOENT)
		count_rejected(source);
}

static void skip(const struct cr_round *r, struct cr_target *t, const char *row, const char *text)
{
	struct source *const source = source_of(r);
	const struct target *const target = under_way(source, t);
	const char *name;

	if (target == NULL)
		return;
	name = subject_of(source, target, t, row);
	if (name == NULL || servers_is_skipped(source->poller->servers, name))
		return;
	servers_skip(source->poller->servers, name, text);
	log_warn("administration server skipped", "source=%s server=%s text=\"%s\"", source->name,
		 name, text == NULL ? "" : text);
}

static void absent(const struct cr_round *r, struct cr_target *t, const char *row, const char *text)
{
	struct source *const source = source_of(r);
	struct source_server *server;
	char line[160];

	if (under_way(source, t) == NULL || !t->is_shared)
		return;
	if (row == NULL) {
		drop_rowless(source);
		return;
	}
	server = poller_source_server(source, row);
	if (server == NULL) {
		drop_row(source, row);
		return;
	}
	if (!server->is_covered || server->told == source->shared_poll)
		return;
	server->told = source->shared_poll;
	(void)snprintf(line, sizeof line, "%s: %s: %s", source->name, words_why(CR_ABSENT),
		       text != NULL ? text : "no reason given");
	servers_polled(source->poller->servers, source->name, server->name, line);
}

/** The servers about which target was: text NULL: good. */
static void tell_servers(struct source *source, const struct target *target, const char *text)
{
	struct servers *const servers = source->poller->servers;
	char missing[160];

	if (poller_is_abandoned(source->poller))
		return;
	if (!target->target.is_shared) {
		servers_polled(servers, source->name, target->name, text);
		return;
	}
	(void)snprintf(missing, sizeof missing, "%s: %s: no row of this server in the answer",
		       source->name, words_why(CR_ABSENT));
	for (size_t i = 0; i < source->n_servers; i++) {
		const struct source_server *const server = source->server + i;

		if (!server->is_covered || server->told == source->shared_poll)
			continue;
		if (text == NULL && server->seen != source->shared_poll)
			servers_polled(servers, source->name, server->name, missing);
		else
			servers_polled(servers, source->name, server->name, text);
	}
}

/** The decaying mean of good polls. */
static int64_t mean_of(int64_t mean_ns, int64_t latency_ns)
{
	return mean_ns == 0 ? latency_ns : mean_ns + (latency_ns - mean_ns) / 8;
}

/** Keep the slowest of each ten seconds, for the slowest of the last minute. */
static void note_slowest(struct poller_worst *worst, int64_t latency_ns, int64_t now_ns)
{
	const int64_t slice = now_ns / POLLER_SLICE_NS;
	const size_t at = (size_t)slice % POLLER_SLICES;

	if (worst->slice[at] != slice)
		worst->latency_ns[at] = 0;
	worst->slice[at] = slice;
	if (latency_ns > worst->latency_ns[at])
		worst->latency_ns[at] = latency_ns;
}

static void count(struct source *source, const struct target *target, int why, const char *error)
{
	struct poller_source *const now = &source->figures->now;
	const int64_t now_ns = clock_now_ns();

	pthread_mutex_lock(&source->poller->lock);
	now->in_flight--;
	now->polls++;
	if (why == 0) {
		now->good++;
		now->good_ns = now_ns;
		now->latency_ns = mean_of(now->latency_ns, now_ns - target->started_ns);
		note_slowest(&source->figures->worst, now_ns - target->started_ns, now_ns);
	} else {
		now->failed[why]++;
		now->error_ns = now_ns;
		(void)text_copy(now->error, sizeof now->error, error);
	}
	pthread_mutex_unlock(&source->poller->lock);
}

static void end_well(struct source *source, struct target *target)
{
	const unsigned before = target->failures;

	target->failures = 0;
	count(source, target, 0, NULL);
	tell_servers(source, target, NULL);
	poller_log_change(source, target, before, NULL);
}

static void end_badly(struct source *source, struct target *target, enum cr_why why,
		      const char *text)
{
	const unsigned before = target->failures;
	char of_server[160], of_source[160];

	if (text == NULL || text[0] == '\0')
		text = "no reason given";
	if (target->failures < UINT_MAX)
		target->failures++;
	(void)snprintf(of_server, sizeof of_server, "%s: %s: %s", source->name, words_why(why),
		       text);
	(void)snprintf(of_source, sizeof of_source, "%s: %s: %s", target->name, words_why(why),
		       text);
	count(source, target, (int)why, of_source);
	tell_servers(source, target, of_server);
	poller_log_change(source, target, before, of_server);
}

void poller_callbacks_end(struct source *source, struct target *target, int why, const char *text)
{
	target->is_under_way = false;
	source->n_under_way--;
	if (why == 0)
		end_well(source, target);
	else
		end_badly(source, target,
			  why < 0 || (size_t)why >= WHY_COUNT ? CR_REPLY : (enum cr_why)why, text);

	if (!source->is_retiring)
		poller_schedule_next(target, source->interval_ns, clock_now_ns());
	poller_schedule_place(&source->heap, target);
}

static void done(const struct cr_round *r, struct cr_target *t)
{
	struct source *const source = source_of(r);
	struct target *const target = under_way(source, t);

	if (target != NULL)
		poller_callbacks_end(source, target, 0, NULL);
}

static void fail(const struct cr_round *r, struct cr_target *t, enum cr_why why, const char *text)
{
	struct source *const source = source_of(r);
	struct target *const target = under_way(source, t);

	if (target != NULL)
		poller_callbacks_end(source, target, why > 0 ? (int)why : (int)CR_REPLY, text);
}

void poller_callbacks_set(struct cr_round *round)
{
	round->put = put;
	round->skip = skip;
	round->done = done;
	round->fail = fail;
	round->reject = reject;
	round->absent = absent;
}
