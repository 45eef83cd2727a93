/* poller_source.c - makes a source out of its configuration: its servers, its targets, its options'
 * values. */
#include "poller_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "text.h"

static void target_free(struct target *target)
{
	if (target == NULL)
		return;
	free(target->name);
	free(target->endpoint);
	free(target->vars);
	free(target);
}

/** Whom to poll, on its way into a target. */
struct aim {
	const char *name;
	char *endpoint;
	struct cr_var *vars;
	size_t n_vars;
	bool is_shared;
};

/** Takes endpoint and vars. Returns NULL without memory (also if one of them is NULL). */
static struct target *target_new(const char *source, const struct aim *aim)
{
	struct target *target = calloc(1, sizeof *target);

	if (target == NULL || aim->endpoint == NULL || aim->vars == NULL)
		goto no_memory;
	target->name = strdup(aim->name);
	if (target->name == NULL)
		goto no_memory;
	target->endpoint = aim->endpoint;
	target->vars = aim->vars;
	target->target.name = target->name;
	target->target.endpoint = aim->endpoint;
	target->target.var = aim->vars;
	target->target.n_vars = aim->n_vars;
	target->target.is_shared = aim->is_shared;
	target->seed = poller_schedule_seed(source, aim->name);
	return target;

no_memory:
	free(target);
	free(aim->endpoint);
	free(aim->vars);
	return NULL;
}

static void figures_drop(struct poller *poller, struct figures *figures)
{
	bool is_last;

	if (figures == NULL)
		return;
	pthread_mutex_lock(&poller->lock);
	is_last = --figures->users == 0;
	pthread_mutex_unlock(&poller->lock);
	if (is_last)
		free(figures);
}

void poller_source_free(struct source *source)
{
	if (source == NULL)
		return;
	for (size_t i = 0; i < source->n_targets; i++)
		target_free(source->target[i]);
	for (size_t i = 0; i < source->n_servers; i++)
		free(source->server[i].name);
	figures_drop(source->poller, source->figures);
	free(source->target);
	free(source->server);
	free(source->heap.at);
	free(source->due);
	free(source->unpacked);
	free(source->value);
	free(source->name);
	free(source->plugin);
	free(source->packed);
	free(source);
}

/** Arrays for so many servers, and their targets and the shared one. */
static bool make_room(struct source *source, size_t n_servers)
{
	source->server = calloc(n_servers + 1, sizeof *source->server);
	source->target = calloc(n_servers + 1, sizeof(struct target *));
	source->heap.at = calloc(n_servers + 1, sizeof(struct target *));
	source->due = calloc(n_servers + 1, sizeof(struct cr_target *));
	source->figures = calloc(1, sizeof *source->figures);
	if (source->figures != NULL)
		source->figures->users = 1;
	return source->server != NULL && source->target != NULL && source->heap.at != NULL &&
	       source->due != NULL && source->figures != NULL;
}

/** A source without servers and targets. Takes packed. Returns NULL without memory. */
static struct source *begin(struct poller *poller, const char *name, const struct plugin *plugin,
			    char *packed, size_t n_servers)
{
	struct source *source = calloc(1, sizeof *source);

	if (source == NULL) {
		free(packed);
		return NULL;
	}
	source->poller = poller;
	source->packed = packed;
	source->name = strdup(name);
	source->plugin = strdup(plugin_name(plugin));
	source->table = plugin->collector;
	source->is_fresh = true;
	source->fd = -1;
	source->next_ns = INT64_MAX;
	if (packed == NULL || source->name == NULL || source->plugin == NULL ||
	    !make_room(source, n_servers)) {
		poller_source_free(source);
		return NULL;
	}
	return source;
}

static bool add_server(struct source *source, const char *name, bool is_covered)
{
	struct source_server *const server = source->server + source->n_servers;

	server->is_covered = is_covered;
	server->name = strdup(name);
	if (server->name == NULL)
		return false;
	source->n_servers++;
	return true;
}

/** Takes aim's endpoint and vars. */
static bool add_target(struct source *source, const struct aim *aim)
{
	struct target *const target = target_new(source->name, aim);

	if (target == NULL)
		return false;
	source->target[source->n_targets++] = target;
	return true;
}

static int compare_servers(const void *a, const void *b)
{
	const struct source_server *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static int compare_targets(const void *a, const void *b)
{
	const struct target *const *left = a, *const *right = b;
	const int order = strcmp((*left)->name, (*right)->name);

	return order != 0 ? order
			  : (int)(*left)->target.is_shared - (int)(*right)->target.is_shared;
}

static void sort(struct source *source)
{
	qsort(source->server, source->n_servers, sizeof *source->server, compare_servers);
	qsort(source->target, source->n_targets, sizeof(struct target *), compare_targets);
}

/** Another number when a file that an option names has been written or replaced: a new password is
 * a new source, although its options are the same. */
static uint64_t stamp_files(const struct option_text *given, int n)
{
	static const char ending[] = "_file";
	uint64_t stamp = 0;
	struct stat status;

	for (int i = 0; i < n; i++) {
		const size_t len = strlen(given[i].name);
		uint64_t part[4];

		if (len < sizeof ending ||
		    strcmp(given[i].name + len - (sizeof ending - 1), ending) != 0 ||
		    stat(given[i].value, &status) < 0)
			continue;
		part[0] = (uint64_t)status.st_ino;
		part[1] = (uint64_t)status.st_size;
		part[2] = (uint64_t)status.st_mtim.tv_sec;
		part[3] = (uint64_t)status.st_mtim.tv_nsec;
		for (size_t k = 0; k < 4; k++)
			stamp = (stamp ^ part[k]) * UINT64_C(0x100000001b3);
	}
	return stamp;
}

/** Values of the options, from the packed text. */
static int read_options(struct source *source, struct err *err)
{
	struct option_text *given;
	size_t lines = 0;
	int n, rc;

	for (const char *at = source->packed; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	given = calloc(lines + 1, sizeof *given);
	source->unpacked = strdup(source->packed);
	source->value = calloc(option_count(source->table.options) + 1, sizeof *source->value);
	if (given == NULL || source->unpacked == NULL || source->value == NULL) {
		free(given);
		return err_set(err, -ENOMEM, "out of memory");
	}
	n = option_unpack(source->unpacked, given, lines);
	rc = n < 0 ? err_set(err, n, "an option's value holds a newline")
		   : option_parse(source->table.options, given, (size_t)n, source->value, err);
	source->files = stamp_files(given, n);
	free(given);
	return rc;
}

/** Servers and targets as configured. */
static int add_configured(struct source *source, const struct config *config,
			  const struct config_source *from, struct err *err)
{
	bool needs_shared = false;

	for (size_t i = 0; i < from->n_servers; i++) {
		const struct config_server *server = config->servers + from->servers[i];
		const struct config_pair *own = config_own_target(server, from);
		const bool is_covered = config_is_covered(server, from);
		struct aim aim = { .name = server->name };

		if (server->is_admin)
			continue;
		if (!add_server(source, server->name, is_covered))
			return err_set(err, -ENOMEM, "out of memory");
		needs_shared |= is_covered;
		if (is_covered)
			continue;
		aim.endpoint = config_expand(own == NULL ? from->target : own->value, server);
		if (aim.endpoint == NULL)
			return err_set(err, -EINVAL, "the target cannot be filled in for server %s",
				       server->name);
		aim.vars = config_vars(from, server, &aim.n_vars);
		if (!add_target(source, &aim))
			return err_set(err, -ENOMEM, "out of memory");
	}
	if (needs_shared) {
		const struct aim aim = { from->name, strdup(from->target),
					 config_vars_copy(NULL, 0), 0, true };

		if (!add_target(source, &aim))
			return err_set(err, -ENOMEM, "out of memory");
	}
	sort(source);
	return 0;
}

struct source *poller_source_new(struct poller *poller, const struct config *config,
				 const struct config_source *from, const struct plugin *plugin,
				 struct err *err)
{
	struct source *source = begin(poller, from->name, plugin,
				      config_pack(from->options, from->n_options), from->n_servers);

	if (source == NULL) {
		(void)err_set(err, -ENOMEM, "source %s: out of memory", from->name);
		return NULL;
	}
	source->interval_ns = from->interval_ns;
	source->timeout_ns = from->timeout_ns;
	if (add_configured(source, config, from, err) < 0 || read_options(source, err) < 0) {
		(void)err_prefix(err, "source %s", from->name);
		poller_source_free(source);
		return NULL;
	}
	return source;
}

static bool add_same_target(struct source *source, const struct target *old)
{
	const struct cr_target *target = &old->target;
	const struct aim aim = { old->name, strdup(old->endpoint),
				 config_vars_copy(target->var, target->n_vars), target->n_vars,
				 target->is_shared };

	return add_target(source, &aim);
}

struct source *poller_source_renew(const struct source *old, const struct plugin *plugin,
				   struct err *err)
{
	struct source *source =
		begin(old->poller, old->name, plugin, strdup(old->packed), old->n_servers);
	bool is_good = source != NULL;

	for (size_t i = 0; is_good && i < old->n_servers; i++)
		is_good = add_server(source, old->server[i].name, old->server[i].is_covered);
	for (size_t i = 0; is_good && i < old->n_targets; i++)
		is_good = add_same_target(source, old->target[i]);
	if (!is_good) {
		(void)err_set(err, -ENOMEM, "source %s: out of memory", old->name);
		poller_source_free(source);
		return NULL;
	}
	source->interval_ns = old->interval_ns;
	source->timeout_ns = old->timeout_ns;
	if (read_options(source, err) < 0) {
		(void)err_prefix(err, "source %s", old->name);
		poller_source_free(source);
		return NULL;
	}
	return source;
}

static bool are_same_vars(const struct cr_target *a, const struct cr_target *b)
{
	if (a->n_vars != b->n_vars)
		return false;
	for (size_t i = 0; i < a->n_vars; i++)
		if (strcmp(a->var[i].name, b->var[i].name) != 0 ||
		    strcmp(a->var[i].value, b->var[i].value) != 0)
			return false;
	return true;
}

bool poller_source_is_same_target(const struct target *a, const struct target *b)
{
	return a->target.is_shared == b->target.is_shared && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->endpoint, b->endpoint) == 0 && are_same_vars(&a->target, &b->target);
}

/** Is it the same code? A replaced plugin has the same name, but other functions. */
static bool are_same_tables(const struct cr_collector *a, const struct cr_collector *b)
{
	return a->name == b->name && a->version == b->version && a->options == b->options &&
	       a->open == b->open && a->close == b->close && a->fd == b->fd &&
	       a->collect == b->collect && a->forget == b->forget && a->check == b->check;
}

bool poller_source_asks_alike(const struct source *source, const struct source *old)
{
	return are_same_tables(&source->table, &old->table) &&
	       strcmp(source->packed, old->packed) == 0 && source->files == old->files &&
	       source->timeout_ns == old->timeout_ns;
}

bool poller_source_is_same(const struct source *source, const struct source *old)
{
	if (!poller_source_asks_alike(source, old) || source->interval_ns != old->interval_ns ||
	    source->n_servers != old->n_servers || source->n_targets != old->n_targets)
		return false;
	for (size_t i = 0; i < source->n_servers; i++)
		if (strcmp(source->server[i].name, old->server[i].name) != 0 ||
		    source->server[i].is_covered != old->server[i].is_covered)
			return false;
	for (size_t i = 0; i < source->n_targets; i++)
		if (!poller_source_is_same_target(source->target[i], old->target[i]))
			return false;
	return true;
}

struct source_server *poller_source_server(const struct source *source, const char *name)
{
	size_t low = 0, high = source->n_servers;

	while (low < high) {
		const size_t mid = (low + high) / 2;
		const int order = strcmp(source->server[mid].name, name);

		if (order == 0)
			return source->server + mid;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

struct target *poller_source_target(const struct source *source, const char *name, bool is_shared)
{
	size_t low = 0, high = source->n_targets;

	while (low < high) {
		struct target *const target = source->target[(low + high) / 2];
		int order = strcmp(target->name, name);

		if (order == 0)
			order = (int)target->target.is_shared - (int)is_shared;
		if (order == 0)
			return target;
		if (order < 0)
			low = (low + high) / 2 + 1;
		else
			high = (low + high) / 2;
	}
	return NULL;
}
