/* servers.c - servers found by name in a hash table, their samples in arrays that grow with the
 * metrics in use. */
#include "servers_internal.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "clock.h"
#include "text.h"

#define METRIC_NAME_MAX 63
#define WEIGHT_MAX      100

/** Where the server of this name is in a table of n places, or would be. */
static struct server **place_of(struct server **by_name, size_t n, const char *name)
{
	size_t i = (size_t)cr_hash64(name, strlen(name)) & (n - 1);

	while (by_name[i] != NULL && strcmp(by_name[i]->name, name) != 0)
		i = (i + 1) & (n - 1);
	return by_name + i;
}

static size_t places_for(size_t n)
{
	size_t places = 2;

	while (places < 2 * n)
		places *= 2;
	return places;
}

struct server *servers_find(const struct servers *servers, const char *name)
{
	return servers->n == 0 ? NULL : *place_of(servers->by_name, servers->n_by_name, name);
}

static void server_free(struct server *server)
{
	if (server == NULL)
		return;
	free(server->sample.at);
	free(server->backup.at);
	free(server->reject);
	free(server->failing);
	free(server);
}

static struct server *server_new(const struct config_server *from)
{
	struct server *server = calloc(1, sizeof *server);

	if (server == NULL)
		return NULL;
	(void)text_copy(server->name, sizeof server->name, from->name);
	(void)text_copy(server->address, sizeof server->address, from->address);
	server->is_admin = from->is_admin;
	return server;
}

void servers_unlock_and_ring(struct servers *servers)
{
	const bool is_first = !servers->is_rung;

	servers->is_rung = true;
	pthread_mutex_unlock(&servers->lock);
	if (is_first)
		(void)eventfd_write(servers->fd, 1);
}

static bool make_heap_metrics(struct servers *servers)
{
	for (size_t i = 0; i < HEAP_COUNT; i++)
		if (servers_metric(servers, derive_names[i]) != (int)i)
			return false;
	return true;
}

struct servers *servers_new(const char *state_dir)
{
	struct servers *servers = calloc(1, sizeof *servers);

	if (servers == NULL)
		return NULL;
	pthread_mutex_init(&servers->lock, NULL);
	servers->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	servers->wishes = servers_operator_new(state_dir);
	if (servers->fd < 0 || servers->wishes == NULL || !make_heap_metrics(servers)) {
		servers_free(servers);
		return NULL;
	}
	return servers;
}

void servers_free(struct servers *servers)
{
	if (servers == NULL)
		return;
	for (size_t i = 0; i < servers->n; i++)
		server_free(servers->server[i]);
	free(servers->server);
	free(servers->by_name);
	free(servers->changed);
	free(servers->backup);
	for (size_t i = 0; i < servers->n_metrics; i++)
		free(servers->metric[i]);
	servers_operator_free(servers->wishes);
	if (servers->fd >= 0)
		close(servers->fd);
	pthread_mutex_destroy(&servers->lock);
	free(servers);
}

/** May what is known of server be kept for this entry? */
static bool is_same(const struct server *server, const struct config_server *entry)
{
	char address[sizeof server->address];

	(void)text_copy(address, sizeof address, entry->address);
	return server->is_admin == entry->is_admin && strcmp(server->address, address) == 0;
}

/** The next list of servers, the kept ones in it. Returns false without memory. */
static bool gather(const struct servers *servers, const struct config *config, struct server **next,
		   bool *is_kept)
{
	for (size_t i = 0; i < config->n_servers; i++) {
		struct server *const old = servers_find(servers, config->servers[i].name);

		is_kept[i] = old != NULL && is_same(old, config->servers + i);
		next[i] = is_kept[i] ? old : server_new(config->servers + i);
		if (next[i] == NULL)
			return false;
	}
	return true;
}

/** Skipped until asked again; by every source, for the one that skips may be the slowest. */
static void suspect(const struct servers *servers, struct server *server)
{
	server->is_suspected = true;
	server->trust_ns = clock_now_ns() + servers->turn_ns;
}

static int64_t longest_turn(const struct config *config)
{
	int64_t turn_ns = 0, ns;

	for (size_t i = 0; i < config->n_sources; i++) {
		ns = config->sources[i].interval_ns + config->sources[i].timeout_ns;
		turn_ns = ns > turn_ns ? ns : turn_ns;
	}
	return turn_ns;
}

/** The lists of a configuration that is being taken over. */
struct lists {
	struct server **server, **by_name;
	uint64_t *changed;
	char (*backup)[64];
	size_t n_backups;
};

/** Put the new lists in place and free the servers that are no longer in them. */
static void take_over(struct servers *servers, const struct config *config,
		      const struct lists *lists)
{
	struct server **const old = servers->server, **const old_by_name = servers->by_name;
	struct server **const next = lists->server;
	const size_t n_old = servers->n;

	pthread_mutex_lock(&servers->lock);
	free(servers->changed);
	free(servers->backup);
	servers->changed = lists->changed;
	servers->backup = lists->backup;
	servers->n_backups = lists->n_backups;
	servers->server = next;
	servers->by_name = lists->by_name;
	servers->n = config->n_servers;
	servers->n_by_name = places_for(servers->n);
	servers->turn_ns = longest_turn(config);
	for (size_t i = 0; i < servers->n; i++) {
		next[i]->weight = config->servers[i].weight;
		servers_take_rules(next[i], &config->servers[i]);
		next[i]->wish = servers_operator_get(servers->wishes, next[i]->name);
		if (next[i]->is_skipped)
			suspect(servers, next[i]);
		next[i]->index = i;
		*place_of(lists->by_name, servers->n_by_name, next[i]->name) = next[i];
		servers_note_change(servers, next[i]);
	}
	servers_keep_failing(next, servers->n, config);
	pthread_mutex_unlock(&servers->lock);

	for (size_t i = 0; i < n_old; i++)
		if (servers_find(servers, old[i]->name) != old[i])
			server_free(old[i]);
	free(old);
	free(old_by_name);
}

static void lists_free(struct lists *lists)
{
	free(lists->server);
	free(lists->by_name);
	free(lists->changed);
	free(lists->backup);
}

int servers_configure(struct servers *servers, const struct config *config, struct err *err)
{
	const size_t n = config->n_servers;
	bool *is_kept = calloc(n + 1, sizeof *is_kept);
	struct lists next = {
		.server = calloc(n + 1, sizeof(struct server *)),
		.by_name = calloc(places_for(n), sizeof(struct server *)),
		.changed = calloc(n + 1, sizeof *next.changed),
		.backup = calloc(config->n_sources + 1, sizeof *next.backup),
	};

	if (next.server == NULL || next.by_name == NULL || next.changed == NULL ||
	    next.backup == NULL || is_kept == NULL ||
	    !gather(servers, config, next.server, is_kept))
		goto no_memory;
	for (size_t i = 0; i < config->n_sources; i++)
		if (config->sources[i].is_backup)
			(void)text_copy(next.backup[next.n_backups++], sizeof *next.backup,
					config->sources[i].name);
	take_over(servers, config, &next);
	free(is_kept);
	return 0;

no_memory:
	for (size_t i = 0; next.server != NULL && is_kept != NULL && i < n; i++)
		if (!is_kept[i])
			server_free(next.server[i]);
	lists_free(&next);
	free(is_kept);
	return err_set(err, -ENOMEM, "out of memory for %zu servers", n);
}

int servers_fd(const struct servers *servers)
{
	return servers->fd;
}

void servers_clear(struct servers *servers)
{
	eventfd_t count;

	pthread_mutex_lock(&servers->lock);
	(void)eventfd_read(servers->fd, &count);
	servers->is_rung = false;
	pthread_mutex_unlock(&servers->lock);
}

static bool is_metric_name(const char *name)
{
	const size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return name[len] == '\0' && len > 0 && len <= METRIC_NAME_MAX && name[0] >= 'a';
}

/** Under the lock; -ENOENT: there is none of that name. */
static int find_metric(const struct servers *servers, const char *name)
{
	for (size_t i = 0; i < servers->n_metrics; i++)
		if (strcmp(servers->metric[i], name) == 0)
			return (int)i;
	return -ENOENT;
}

/** Under the lock. */
static int add_metric(struct servers *servers, const char *name)
{
	const size_t i = servers->n_metrics;

	if (i == SERVERS_METRICS_MAX)
		return -ENOSPC;
	servers->metric[i] = strdup(name);
	if (servers->metric[i] == NULL)
		return -ENOMEM;
	servers->n_metrics++;
	return (int)i;
}

static bool is_of_threads(const char *name)
{
	for (size_t i = 0; i < THREADS_COUNT; i++)
		if (strcmp(derive_threads_names[i], name) == 0)
			return true;
	return false;
}

/** All of them with the first one, so that the ratio has its place. Where nobody measures threads
 * images are not larger for them. Under the lock; returns 0 or < 0. */
static int add_threads_metrics(struct servers *servers)
{
	const size_t first = servers->n_metrics;
	int rc = first + THREADS_COUNT <= SERVERS_METRICS_MAX ? 0 : -ENOSPC;

	for (size_t i = 0; rc >= 0 && i < THREADS_COUNT; i++)
		rc = add_metric(servers, derive_threads_names[i]);
	if (rc >= 0) {
		servers->threads_at = first;
		return 0;
	}
	while (servers->n_metrics > first)
		free(servers->metric[--servers->n_metrics]);
	return rc;
}

/** Under the lock. */
static int metric_index(struct servers *servers, const char *name)
{
	int index = find_metric(servers, name);

	if (index >= 0)
		return index;
	if (!is_of_threads(name))
		return add_metric(servers, name);
	index = add_threads_metrics(servers);
	return index < 0 ? index : find_metric(servers, name);
}

int servers_metric(struct servers *servers, const char *name)
{
	int index;

	if (!is_metric_name(name))
		return -EINVAL;
	pthread_mutex_lock(&servers->lock);
	index = metric_index(servers, name);
	pthread_mutex_unlock(&servers->lock);
	return index;
}

/**
 * A poll was good: does that clear the server of being skipped? Not while polls of another source
 * fail: it may be the one that knows. Under the lock.
 */
static bool clear(struct server *server)
{
	server->good_ns = clock_now_ns();
	if (!server->is_suspected || server->good_ns < server->trust_ns || server->n_failing > 0)
		return false;
	server->is_skipped = server->is_suspected = false;
	server->skip_text[0] = '\0';
	return true;
}

void servers_polled(struct servers *servers, const char *source, const char *server,
		    const char *error)
{
	struct server *found;
	bool is_cleared = false;

	pthread_mutex_lock(&servers->lock);
	found = servers_find(servers, server);
	if (found != NULL && !found->is_admin) {
		found->polls++;
		found->failures += error != NULL;
		servers_note_failing(found, source, error);
		is_cleared = error == NULL && clear(found);
	}
	if (is_cleared)
		servers_note_change(servers, found);
	if (is_cleared)
		servers_unlock_and_ring(servers);
	else
		pthread_mutex_unlock(&servers->lock);
}

static void mark(struct server *server, const char *text)
{
	server->is_skipped = true;
	server->is_suspected = false;
	(void)text_copy(server->skip_text, sizeof server->skip_text, text);
}

void servers_skip(struct servers *servers, const char *server, const char *text)
{
	struct server *found;

	pthread_mutex_lock(&servers->lock);
	found = servers_find(servers, server);
	if (found == NULL || found->is_admin) {
		pthread_mutex_unlock(&servers->lock);
		return;
	}
	mark(found, text == NULL ? "" : text);
	servers_note_change(servers, found);
	servers_unlock_and_ring(servers);
}

void servers_suspect(struct servers *servers, const char *server, const char *text)
{
	struct server *found;

	pthread_mutex_lock(&servers->lock);
	found = servers_find(servers, server);
	if (found != NULL && !found->is_admin && !found->is_skipped) {
		mark(found, text);
		suspect(servers, found);
		servers_note_change(servers, found);
	}
	pthread_mutex_unlock(&servers->lock);
}

bool servers_is_skipped(struct servers *servers, const char *server)
{
	const struct server *found;
	bool is_skipped;

	pthread_mutex_lock(&servers->lock);
	found = servers_find(servers, server);
	is_skipped =
		found != NULL && (found->is_admin || (found->is_skipped && !found->is_suspected));
	pthread_mutex_unlock(&servers->lock);
	return is_skipped;
}

/** The server about which the operator has a wish, or NULL with err. */
static struct server *find_for_operator(const struct servers *servers, const char *name,
					struct err *err)
{
	struct server *const server = servers_find(servers, name);

	if (server == NULL)
		(void)err_set(err, -ENOENT,
			      "no server \"%.80s\" in the configuration; callrouterctl servers "
			      "lists them",
			      name);
	else if (server->is_admin)
		(void)err_set(err, -EINVAL,
			      "%s is an administration server: no call goes there anyway", name);
	return server == NULL || server->is_admin ? NULL : server;
}

/** Write a wish, and only then act on it. */
static int wish_for(struct servers *servers, struct server *server, const struct servers_wish *wish,
		    struct err *err)
{
	const int rc = servers_operator_set(servers->wishes, wish, err);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&servers->lock);
	server->wish = *wish;
	servers_note_change(servers, server);
	pthread_mutex_unlock(&servers->lock);
	return 0;
}

int servers_drain(struct servers *servers, const char *server, bool drained, struct err *err)
{
	struct err own;
	struct server *found;
	struct servers_wish wish;

	err = err == NULL ? &own : err;
	found = find_for_operator(servers, server, err);
	if (found == NULL)
		return err->code;
	wish = servers_operator_get(servers->wishes, server);
	wish.is_drained = drained;
	return wish_for(servers, found, &wish, err);
}

int servers_weight(struct servers *servers, const char *server, uint32_t weight, struct err *err)
{
	struct err own;
	struct server *found;
	struct servers_wish wish;

	err = err == NULL ? &own : err;
	found = find_for_operator(servers, server, err);
	if (found == NULL)
		return err->code;
	if (weight > WEIGHT_MAX && weight != SERVERS_WEIGHT_UNSET)
		return err_set(err, -ERANGE, "weight %u is not in 0 .. %d", weight, WEIGHT_MAX);
	wish = servers_operator_get(servers->wishes, server);
	wish.weight_is_set = weight != SERVERS_WEIGHT_UNSET;
	wish.weight = wish.weight_is_set ? weight : 0;
	return wish_for(servers, found, &wish, err);
}
