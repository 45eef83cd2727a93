/* poller_round.c - one source's life on its thread: opened, visited when something is due, retired,
 * closed. */
#include "poller_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

#define REST_NS     (100 * CLOCK_MS) /* of a collector that failed, whatever its descriptor says */
#define SHORTEST_NS CLOCK_MS         /* between two visits without a reason of their own */

/** The collector is running from here on: pairs with the acquire in poller_get(). */
static int64_t enter(struct poll_thread *thread)
{
	const int64_t now_ns = clock_now_ns();

	atomic_store_explicit(&thread->entered_ns, now_ns, memory_order_release);
	return now_ns;
}

static void leave(struct poll_thread *thread, const struct source *source, int64_t entered_ns)
{
	const int64_t took_ns = clock_now_ns() - entered_ns;

	atomic_store_explicit(&thread->entered_ns, 0, memory_order_release);
	if (took_ns > source->poller->patience_ns)
		log_warn("collector held up its thread",
			 "plugin=%s source=%s seconds=%.1f: all its sources were late",
			 source->plugin, source->name, (double)took_ns * 1e-9);
}

static CR_PRINTF(3, 4) void host_log(const struct cr_host *host, enum cr_level level,
				     const char *fmt, ...)
{
	struct source *source = (struct source *)(uintptr_t)host;
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	poller_log_say(source, level, text);
}

static int host_metric(const struct cr_host *host, const char *name)
{
	const struct source *source = (const struct source *)(const void *)host;

	if (poller_is_abandoned(source->poller))
		return -ESHUTDOWN;
	return servers_metric(source->poller->servers, name);
}

int poller_round_open(struct poll_thread *thread, struct source *source, struct err *err)
{
	char text[256] = "";
	const struct cr_open in = { .host = &source->host,
				    .option = source->value,
				    .source = source->name,
				    .err = text,
				    .err_len = sizeof text };
	int64_t entered_ns;
	int rc = 0;

	source->host.log = host_log;
	source->host.metric = host_metric;
	entered_ns = enter(thread);
	if (source->table.open != NULL)
		rc = source->table.open(&in, &source->self);
	if (rc >= 0 && source->table.fd != NULL)
		source->fd = source->table.fd(source->self);
	leave(thread, source, entered_ns);
	text[sizeof text - 1] = '\0'; /* a plugin wrote it */
	text[strcspn(text, "\n")] = '\0';
	if (rc < 0)
		return err_set(err, rc, "source %s: plugin %s: %s", source->name, source->plugin,
			       text[0] != '\0' ? text : err_words(rc));
	source->is_open = true;
	return 0;
}

void poller_round_close(struct poll_thread *thread, struct source *source)
{
	const struct cr_collector *const table = &source->table;

	if (source->is_open) {
		const int64_t entered_ns = enter(thread);

		for (size_t i = 0; table->forget != NULL && i < source->n_targets; i++)
			if (source->target[i]->was_started)
				table->forget(source->self, &source->target[i]->target);
		if (table->close != NULL)
			table->close(source->self);
		leave(thread, source, entered_ns);
	}
	if (!poller_is_abandoned(source->poller))
		poller_log_end(source);
	/* A retired source shares its figures: what it gave up is no longer under way. */
	pthread_mutex_lock(&source->poller->lock);
	source->figures->now.in_flight -= source->n_under_way;
	pthread_mutex_unlock(&source->poller->lock);
	poller_source_free(source);
}

static bool are_equal(const struct target *a, const struct target *b)
{
	return b != NULL && poller_source_is_same_target(a, b);
}

/** The old times; but not before the old poll has to be over. */
static void inherit(struct target *target, const struct target *old)
{
	target->failures = old->failures;
	target->round = old->round;
	target->base_ns = old->base_ns;
	target->slot_ns = old->slot_ns;
	target->due_ns = old->due_ns;
	if (old->is_under_way && old->target.deadline_ns > target->due_ns)
		target->due_ns = old->target.deadline_ns;
}

/** Whom old could not poll, but source perhaps can: it asks otherwise, or elsewhere. */
static bool may_work_now(const struct source *source, const struct source *old,
			 const struct target *target, const struct target *before)
{
	return before != NULL && before->failures > 0 &&
	       (!poller_source_asks_alike(source, old) || !are_equal(target, before));
}

/** Once more than its place in the grid says, and soon, but not close to the next round. */
static void hurry(struct target *target, int64_t interval_ns, int64_t now_ns)
{
	const int64_t soon_ns = interval_ns < POLLER_SOON_NS ? interval_ns : POLLER_SOON_NS;

	target->failures = 1; /* as far as anybody knows, but its pauses are short again */
	target->due_ns = now_ns + poller_schedule_phase(target->seed, soon_ns);
	if (target->slot_ns - target->due_ns >= interval_ns / 2)
		target->slot_ns -= interval_ns;
}

void poller_round_start(struct source *source, const struct source *old, int64_t now_ns)
{
	const int64_t interval_ns = source->interval_ns;

	for (size_t i = 0; i < source->n_targets; i++) {
		struct target *const target = source->target[i];
		const struct target *before = NULL;
		bool is_soon;

		if (old != NULL)
			before = poller_source_target(old, target->name, target->target.is_shared);
		is_soon = may_work_now(source, old, target, before);
		target->is_told = before != NULL && before->is_told;
		source->n_told += target->is_told;
		target->base_ns = now_ns;
		target->slot_ns = now_ns + poller_schedule_phase(target->seed, interval_ns);
		target->due_ns = target->slot_ns;
		if (is_soon)
			hurry(target, interval_ns, now_ns);
		else if (are_equal(target, before) && old->interval_ns == interval_ns)
			inherit(target, before);
		poller_schedule_push(&source->heap, target);
	}
	source->is_running = true;
}

/** Its poll ends unheard. */
static void give_up(struct source *source, struct target *target)
{
	target->is_under_way = false;
	source->n_under_way--;
	pthread_mutex_lock(&source->poller->lock);
	source->figures->now.in_flight--;
	pthread_mutex_unlock(&source->poller->lock);
}

/** Nobody will take back what a last poll says of servers that the successor does not ask about. */
static void uncover(const struct source *source, const struct source *successor)
{
	for (size_t i = 0; i < source->n_servers; i++) {
		struct source_server *const server = source->server + i;
		const struct source_server *next = poller_source_server(successor, server->name);

		server->is_covered &= next != NULL && next->is_covered;
	}
}

void poller_round_retire(struct source *source, const struct source *successor)
{
	source->is_retiring = true;
	uncover(source, successor);
	for (size_t i = 0; i < source->n_targets; i++) {
		struct target *const target = source->target[i];
		const struct target *next =
			poller_source_target(successor, target->name, target->target.is_shared);

		if (target->is_under_way &&
		    (!are_equal(target, next) || may_work_now(successor, source, next, target)))
			give_up(source, target);
		target->due_ns = INT64_MAX;
		poller_schedule_place(&source->heap, target);
	}
}

static void start(struct source *source, struct target *target, int64_t now_ns)
{
	target->is_under_way = true;
	target->was_started = true;
	target->started_ns = now_ns;
	target->target.deadline_ns = now_ns + source->timeout_ns;
	source->n_under_way++;
	source->shared_poll += target->target.is_shared;
}

/** When the first target wants something; INT64_MAX: none does. */
static int64_t first_ns(const struct source *source)
{
	if (source->heap.n == 0)
		return INT64_MAX;
	return poller_schedule_batch(source->heap.at[0]->wake_ns, source->interval_ns);
}

/** Fail what is overdue, fill source->due with what is due. Returns how many. */
static size_t gather(struct source *source, int64_t now_ns, uint64_t *skipped)
{
	struct target_heap *const heap = &source->heap;
	size_t n = 0;

	while (first_ns(source) <= now_ns) {
		struct target *const target = heap->at[0];

		if (target->is_under_way &&
		    target->target.deadline_ns + POLLER_GRACE_NS <= now_ns) {
			poller_callbacks_end(source, target, CR_TIMEOUT,
					     "the collector did not end the poll by its deadline");
			continue;
		}
		if (target->is_under_way) {
			(*skipped)++;
		} else if (target->target.is_shared ||
			   !servers_is_skipped(source->poller->servers, target->name)) {
			start(source, target, now_ns);
			source->due[n++] = &target->target;
		}
		target->round++;
		target->base_ns = target->slot_ns;
		poller_schedule_next(target, source->interval_ns, now_ns);
		poller_schedule_place(heap, target);
	}
	return n;
}

/** collect() returned an error: the round's targets have failed. */
static void fail_round(struct source *source, size_t n, int64_t rc, int64_t now_ns)
{
	const char *words = err_words(rc < -4095 ? -EIO : (int)rc);
	char text[128];

	(void)snprintf(text, sizeof text, "the collector failed: %s", words);
	for (size_t i = 0; i < n; i++) {
		struct target *const target = (struct target *)(void *)source->due[i];

		if (target->is_under_way)
			poller_callbacks_end(source, target, CR_REPLY, text);
	}
	if (!source->is_failing)
		log_warn("collector failed", "source=%s plugin=%s error=\"%s\"", source->name,
			 source->plugin, words);
	source->rest_until_ns = now_ns + REST_NS;
}

static void collect(struct poll_thread *thread, struct source *source, size_t n)
{
	struct visit visit = { .round = { .n = n, .target = source->due }, .source = source };
	int64_t next_ns, now_ns;

	poller_callbacks_set(&visit.round);
	visit.round.now_ns = enter(thread);
	next_ns = source->table.collect(source->self, &visit.round);
	leave(thread, source, visit.round.now_ns);

	now_ns = clock_now_ns();
	if (next_ns < 0)
		fail_round(source, n, next_ns, now_ns);
	source->is_failing = next_ns < 0;
	/* After an error, what is under way is looked after once it has rested. */
	source->next_ns = next_ns < 0 ? source->rest_until_ns : next_ns;
	if (source->next_ns < now_ns + SHORTEST_NS)
		source->next_ns = now_ns + SHORTEST_NS;
}

int64_t poller_round_visit(struct poll_thread *thread, struct source *source, int64_t now_ns)
{
	uint64_t skipped = 0;
	const size_t n = gather(source, now_ns, &skipped);
	int64_t wake_ns, due_ns, tell_ns;

	if (n > 0 || skipped > 0) {
		pthread_mutex_lock(&source->poller->lock);
		source->figures->now.in_flight += n;
		source->figures->now.skipped += skipped;
		pthread_mutex_unlock(&source->poller->lock);
	}
	if (n > 0 || source->is_readable || source->next_ns <= now_ns)
		collect(thread, source, n);
	source->is_readable = false;

	wake_ns = source->next_ns;
	if (source->rest_until_ns > now_ns && source->rest_until_ns < wake_ns)
		wake_ns = source->rest_until_ns;
	due_ns = first_ns(source);
	if (due_ns < wake_ns)
		wake_ns = due_ns;
	tell_ns = poller_log_visit(source, now_ns);
	return tell_ns < wake_ns ? tell_ns : wake_ns;
}
