/* poller.c - main's side of the poller: from one set of sources to the next, whole or not at all.
 */
#include "poller_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "text.h"

/** A set of sources on its way to replace the current one. */
struct change {
	struct source **next; /* in the configuration's order; those that stay are in it too */
	size_t n;
};

struct poller *poller_new(struct servers *servers)
{
	struct poller *poller = calloc(1, sizeof *poller);
	pthread_condattr_t monotonic;

	if (poller == NULL)
		return NULL;
	poller->servers = servers;
	poller->patience_ns = POLLER_PATIENCE_NS;
	pthread_mutex_init(&poller->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&poller->answered, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return poller;
}

/** Let go of a change whose fresh sources no thread has seen. */
static void drop_change(struct change *change)
{
	for (size_t i = 0; i < change->n; i++)
		if (change->next[i]->is_fresh)
			poller_source_free(change->next[i]);
	free(change->next);
}

/** How long the thread has been inside its collector. */
static int64_t inside_ns(struct poll_thread *thread)
{
	/* pairs with the release in enter() */
	const int64_t entered_ns = atomic_load_explicit(&thread->entered_ns, memory_order_acquire);

	return entered_ns == 0 ? 0 : clock_now_ns() - entered_ns;
}

static struct poll_thread *find_thread(const struct poller *poller, const char *plugin)
{
	struct poll_thread *thread = poller->thread;

	while (thread != NULL && strcmp(thread->plugin, plugin) != 0)
		thread = thread->next;
	return thread;
}

/** Join and free the threads that have ended by until_ns; those of plugin NULL: all. Returns false
 * if one goes on. */
static bool reap(struct poller *poller, const char *plugin, int64_t until_ns)
{
	struct poll_thread **link = &poller->thread;
	bool is_all = true;

	while (*link != NULL) {
		struct poll_thread *const thread = *link, *const next = thread->next;

		if (!thread->is_ending || (plugin != NULL && strcmp(plugin, thread->plugin) != 0)) {
			link = &thread->next;
		} else if (poller_thread_join(thread, until_ns)) {
			*link = next;
		} else {
			link = &thread->next;
			is_all = false;
		}
	}
	return is_all;
}

static int stall_error(struct poll_thread *thread, struct err *err)
{
	return err_set(err, -EBUSY,
		       "plugin %s: its collector has not returned for %.0f s, so that its sources "
		       "cannot be changed; restart callrouterd if it never does",
		       thread->plugin, (double)inside_ns(thread) * 1e-9);
}

/** The plugin's thread, started if need be: never two at once, collectors rely on that. */
static struct poll_thread *get_thread(struct poller *poller, const char *plugin, int64_t until_ns,
				      struct err *err)
{
	struct poll_thread *thread = find_thread(poller, plugin);

	if (thread != NULL && thread->is_ending) {
		if (!reap(poller, plugin, until_ns)) {
			(void)stall_error(thread, err);
			return NULL;
		}
		thread = NULL;
	}
	if (thread != NULL)
		return thread;
	thread = poller_thread_start(poller, plugin, err);
	if (thread == NULL)
		return NULL;
	thread->next = poller->thread;
	poller->thread = thread;
	return thread;
}

/** An order with room for so many sources. */
static struct poller_command *command_new(enum poller_order order, size_t room)
{
	struct poller_command *command =
		calloc(1, sizeof *command + room * sizeof(struct source *));

	if (command != NULL)
		command->order = order;
	return command;
}

static void post(struct poll_thread *thread, struct poller_command *command,
		 enum poller_order order, bool is_orphan)
{
	command->order = order;
	command->is_done = false;
	command->is_orphan = is_orphan;
	poller_thread_post(thread, command);
}

/** End the threads that have nothing to do. One for which there is no memory ends with a later
 * change. */
static void end_idle_threads(struct poller *poller)
{
	for (struct poll_thread *thread = poller->thread; thread != NULL; thread = thread->next) {
		struct poller_command *command;
		bool is_idle = !thread->is_ending;

		for (size_t i = 0; i < poller->n; i++)
			is_idle &= strcmp(poller->source[i]->plugin, thread->plugin) != 0;
		command = is_idle ? command_new(POLLER_QUIT, 0) : NULL;
		if (command == NULL)
			continue;
		thread->is_ending = true;
		post(thread, command, POLLER_QUIT, true);
	}
}

/** Wait for command; if it is not done by until_ns, the thread has to free it. Returns whether it
 * was done. */
static bool await(struct poller *poller, struct poller_command *command, int64_t until_ns)
{
	bool is_done;

	pthread_mutex_lock(&poller->lock);
	while (!command->is_done && poller_thread_wait(poller, until_ns))
		;
	is_done = command->is_done;
	command->is_orphan = !is_done;
	pthread_mutex_unlock(&poller->lock);
	return is_done;
}

/** A thread for every fresh source, an order for every thread. */
static int prepare(struct poller *poller, const struct change *change, int64_t until_ns,
		   struct err *err)
{
	for (size_t i = 0; i < change->n; i++)
		if (change->next[i]->is_fresh &&
		    get_thread(poller, change->next[i]->plugin, until_ns, err) == NULL)
			return err->code;
	for (struct poll_thread *thread = poller->thread; thread != NULL; thread = thread->next) {
		thread->order = command_new(POLLER_OPEN, change->n);
		if (thread->order == NULL)
			return err_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < change->n; i++) {
		struct source *const source = change->next[i];
		struct poller_command *order;

		if (!source->is_fresh)
			continue;
		order = find_thread(poller, source->plugin)->order;
		order->source[order->n++] = source;
	}
	return 0;
}

static void forget_orders(struct poller *poller)
{
	for (struct poll_thread *thread = poller->thread; thread != NULL; thread = thread->next) {
		free(thread->order);
		thread->order = NULL;
	}
}

/** Wait for the thread's instances. A failure goes to err, unless another was first. */
static int await_opened(struct poller *poller, struct poll_thread *thread, int64_t until_ns,
			struct err *err)
{
	struct poller_command *const order = thread->order;

	if (await(poller, order, until_ns)) {
		if (order->err.code < 0 && err->code == 0)
			*err = order->err;
		return order->err.code;
	}
	thread->order = NULL; /* the thread's, with its sources */
	return err->code == 0 ? stall_error(thread, err) : err->code;
}

/** Open all fresh sources, each on its plugin's thread. After a failure they are all gone. */
static bool open_fresh(struct poller *poller, int64_t until_ns, struct err *err)
{
	struct poll_thread *thread;

	err->code = 0;
	for (thread = poller->thread; thread != NULL; thread = thread->next)
		if (thread->order->n > 0)
			post(thread, thread->order, POLLER_OPEN, false);
	for (thread = poller->thread; thread != NULL; thread = thread->next)
		if (thread->order->n > 0)
			(void)await_opened(poller, thread, until_ns, err);
	if (err->code >= 0)
		return true;
	for (thread = poller->thread; thread != NULL; thread = thread->next) {
		if (thread->order == NULL || thread->order->n == 0)
			continue;
		post(thread, thread->order, POLLER_DROP, true);
		thread->order = NULL;
	}
	return false;
}

/** How many of these sources are of that plugin. */
static size_t count_of(struct source *const *source, size_t n, const char *plugin)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += strcmp(source[i]->plugin, plugin) == 0;
	return count;
}

/** The order that gives a thread its sources; none if they are the ones that it has. */
static void fill_order(const struct poller *poller, const struct change *change,
		       struct poll_thread *thread)
{
	struct poller_command *const order = thread->order;

	if (order->n == 0 && count_of(change->next, change->n, thread->plugin) ==
				     count_of(poller->source, poller->n, thread->plugin)) {
		free(order);
		thread->order = NULL;
		return;
	}
	order->n = 0;
	for (size_t i = 0; i < change->n; i++)
		if (strcmp(change->next[i]->plugin, thread->plugin) == 0)
			order->source[order->n++] = change->next[i];
}

/** Post the orders, and wait until they are carried out. */
static void hand_over(struct poller *poller, int64_t until_ns)
{
	struct poll_thread *thread;

	for (thread = poller->thread; thread != NULL; thread = thread->next)
		if (thread->order != NULL)
			post(thread, thread->order, POLLER_COMMIT, false);
	for (thread = poller->thread; thread != NULL; thread = thread->next) {
		if (thread->order == NULL)
			continue;
		if (await(poller, thread->order, until_ns))
			free(thread->order);
		else
			log_warn("collector has not returned, its sources change later",
				 "plugin=%s seconds=%.1f", thread->plugin,
				 (double)inside_ns(thread) * 1e-9);
		thread->order = NULL;
	}
}

/** A fresh source goes on with its predecessor's figures. */
static void share_figures(struct poller *poller, struct source *fresh, const struct source *old)
{
	free(fresh->figures); /* only ours so far */
	pthread_mutex_lock(&poller->lock);
	fresh->figures = old->figures;
	fresh->figures->users++;
	pthread_mutex_unlock(&poller->lock);
}

static struct source *find_source(const struct poller *poller, const char *name)
{
	for (size_t i = 0; i < poller->n; i++)
		if (strcmp(poller->source[i]->name, name) == 0)
			return poller->source[i];
	return NULL;
}

/** From the current sources to the next ones: cannot fail any more. */
static void commit(struct poller *poller, const struct change *change, int64_t until_ns)
{
	struct poll_thread *thread;

	for (size_t i = 0; i < change->n; i++) {
		struct source *const source = change->next[i];
		const struct source *const old = find_source(poller, source->name);

		if (source->is_fresh && old != NULL)
			share_figures(poller, source, old);
		source->is_fresh = false;
	}
	for (thread = poller->thread; thread != NULL; thread = thread->next)
		fill_order(poller, change, thread);
	/* Once they are handed over, the old sources may be gone at any moment. */
	free(poller->source);
	poller->source = change->next;
	poller->n = change->n;
	hand_over(poller, until_ns);
}

/** Carry out a change. Takes change->next and its fresh sources in any case. */
static int carry_out(struct poller *poller, struct change *change, struct err *err)
{
	const int64_t until_ns = clock_now_ns() + poller->patience_ns;

	if (prepare(poller, change, until_ns, err) < 0) {
		forget_orders(poller);
		drop_change(change);
		end_idle_threads(poller);
		return err->code;
	}
	if (!open_fresh(poller, until_ns, err)) {
		forget_orders(poller);
		free(change->next);
		end_idle_threads(poller);
		return err->code;
	}
	commit(poller, change, clock_now_ns() + poller->patience_ns);
	end_idle_threads(poller);
	return 0;
}

static struct plugin *find_plugin(struct plugin *const *plugins, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (plugins[i]->kind == PLUGIN_COLLECTOR &&
		    strcmp(plugin_name(plugins[i]), name) == 0)
			return plugins[i];
	return NULL;
}

/** The source for one entry: the current one if nothing is different, else a fresh one. Returns
 * NULL with err. */
static struct source *source_for(struct poller *poller, const struct config *config, size_t i,
				 const struct plugin *plugin, struct err *err)
{
	const struct config_source *const entry = config->sources + i;
	struct source *source, *old;

	if (plugin == NULL) {
		(void)err_set(err, -ENOENT, "source %s: plugin %s is not loaded", entry->name,
			      entry->plugin);
		return NULL;
	}
	source = poller_source_new(poller, config, entry, plugin, err);
	old = find_source(poller, entry->name);
	if (source == NULL || old == NULL || !poller_source_is_same(source, old))
		return source;
	poller_source_free(source);
	return old;
}

int poller_apply(struct poller *poller, const struct config *config, struct plugin *const *plugins,
		 size_t n_plugins, struct err *err)
{
	struct err own;
	struct change change = { 0 };

	err = err == NULL ? &own : err;
	(void)reap(poller, NULL, 0);
	change.next = calloc(config->n_sources + 1, sizeof(struct source *));
	if (change.next == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < config->n_sources; i++) {
		const struct plugin *const plugin =
			find_plugin(plugins, n_plugins, config->sources[i].plugin);

		change.next[i] = source_for(poller, config, i, plugin, err);
		if (change.next[i] == NULL) {
			drop_change(&change);
			return err->code;
		}
		change.n++;
	}
	return carry_out(poller, &change, err);
}

int poller_replace(struct poller *poller, struct plugin *plugin, struct err *err)
{
	struct err own;
	struct change change = { 0 };

	err = err == NULL ? &own : err;
	(void)reap(poller, NULL, 0);
	change.next = calloc(poller->n + 1, sizeof(struct source *));
	if (change.next == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < poller->n; i++) {
		struct source *const old = poller->source[i];

		change.next[i] = strcmp(old->plugin, plugin_name(plugin)) == 0
					 ? poller_source_renew(old, plugin, err)
					 : old;
		if (change.next[i] == NULL) {
			drop_change(&change);
			return err->code;
		}
		change.n++;
	}
	return carry_out(poller, &change, err);
}

/** Under the lock. */
static int64_t slowest(const struct poller_worst *worst)
{
	const int64_t now = clock_now_ns() / POLLER_SLICE_NS;
	int64_t slowest_ns = 0;

	for (size_t i = 0; i < POLLER_SLICES; i++)
		if (worst->slice[i] > now - POLLER_SLICES && worst->latency_ns[i] > slowest_ns)
			slowest_ns = worst->latency_ns[i];
	return slowest_ns;
}

bool poller_get(struct poller *poller, size_t index, struct poller_source *out)
{
	const struct source *source;
	struct poll_thread *thread;
	int64_t stalled_ns;

	if (index >= poller->n)
		return false;
	source = poller->source[index];
	pthread_mutex_lock(&poller->lock);
	*out = source->figures->now;
	out->worst_ns = slowest(&source->figures->worst);
	pthread_mutex_unlock(&poller->lock);
	(void)text_copy(out->name, sizeof out->name, source->name);
	(void)text_copy(out->plugin, sizeof out->plugin, source->plugin);
	out->targets = source->n_targets;
	out->interval_ns = source->interval_ns;

	thread = find_thread(poller, source->plugin);
	stalled_ns = thread == NULL ? 0 : inside_ns(thread);
	if (stalled_ns > poller->patience_ns) {
		(void)snprintf(out->error, sizeof out->error,
			       "collector has not returned for %.0f s", (double)stalled_ns * 1e-9);
		out->error_ns = clock_now_ns() - stalled_ns;
	}
	return true;
}

void poller_free(struct poller *poller)
{
	if (poller == NULL)
		return;
	poller->n = 0;
	end_idle_threads(poller);
	if (!reap(poller, NULL, clock_now_ns() + poller->patience_ns)) {
		log_error("collector has not returned, its thread is left behind", "plugin=%s",
			  poller->thread->plugin);
		/* pairs with the acquire in poller_is_abandoned() */
		atomic_store_explicit(&poller->is_abandoned, true, memory_order_release);
		return; /* that thread uses it still */
	}
	free(poller->source);
	pthread_cond_destroy(&poller->answered);
	pthread_mutex_destroy(&poller->lock);
	free(poller);
}
