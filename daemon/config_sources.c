/* config_sources.c - the list of collectors: what is polled by which plugin, how often, and under
 * which target. */
#include "config_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "text.h"

#define DAY (86400 * CLOCK_S)

enum { NAME, PLUGIN, TARGET, INTERVAL, TIMEOUT, SERVERS, PROFILE, HEAP_MAX, BACKUP };
static const char *const source_keys[] = { "name",    "plugin",  "target",   "interval", "timeout",
					   "servers", "profile", "heap_max", "backup",   NULL };
static const struct config_range interval_range = { 50 * CLOCK_MS, DAY, "50ms to 1d" };
static const struct config_range timeout_range = { CLOCK_MS, DAY, "1ms to 1d" };

static void read_times(struct config_reader *reader, const yaml_node_t *const *slot,
		       struct config_source *source)
{
	source->interval_ns = 2 * CLOCK_S;
	source->timeout_ns = 500 * CLOCK_MS;
	config_duration(reader, slot[INTERVAL], "interval", &interval_range, &source->interval_ns);
	config_duration(reader, slot[TIMEOUT], "timeout", &timeout_range, &source->timeout_ns);
	if (source->timeout_ns <= source->interval_ns)
		return;
	if (slot[TIMEOUT] == NULL)
		source->timeout_ns = source->interval_ns;
	else
		config_mistake(reader, slot[TIMEOUT],
			       "timeout is longer than the interval (%.12g s); a poll has to end "
			       "before the next begins",
			       (double)source->interval_ns / (double)CLOCK_S);
}

static void read_target(struct config_reader *reader, const yaml_node_t *node,
			struct config_source *source)
{
	const char *text = config_text(reader, node, "target", false);
	const char *at = text;
	struct config_piece piece;
	int r;

	if (text == NULL)
		return;
	source->target = config_copy(reader, text);
	while ((r = config_piece_next(&at, &piece)) > 0)
		;
	if (r < 0)
		config_mistake(reader, node,
			       "target: \"%s\" is no variable; write ${NAME}, closed by }", at);
}

static void read_plugin(struct config_reader *reader, const yaml_node_t *const *slot,
			struct config_source *source, struct config_source_nodes *nodes)
{
	const yaml_node_t *at = slot[PLUGIN];
	const size_t before = reader->n_mistakes + reader->n_unlisted;
	struct config_options options = {
		.is_router = false,
		.at = nodes->entry,
		.plugin_at = at,
		.profile_at = slot[PROFILE],
	};
	struct config_entry entry = { .at = nodes->entry,
				      .profile = slot[PROFILE],
				      .own_keys = source_keys };

	if (at != NULL)
		source->plugin = config_plugin_name(reader, at, "plugin");
	else
		config_mistake(reader, nodes->entry,
			       "this collector has no plugin; add plugin: NAME, like snmp or http");
	entry.plugin = source->plugin;
	config_profile_read(reader, &entry, source, nodes);
	if (at == NULL)
		return;
	options.is_faulty = reader->n_mistakes + reader->n_unlisted > before;
	options.plugin = source->plugin;
	options.pairs = source->options;
	options.n = source->n_options;
	options.own_keys = source_keys;
	nodes->is_accepted = config_options_check(reader, &options);
}

static void read_source(struct config_reader *reader, const yaml_node_t *node,
			struct config_source *source, struct config_source_nodes *nodes)
{
	const yaml_node_t *slot[CONFIG_KEYS_MAX];

	*nodes = (struct config_source_nodes){ .entry = node };
	source->line = (int)node->start_mark.line + 1;
	source->column = (int)node->start_mark.column + 1;
	if (!config_map(reader, node, "a collector", source_keys, true, slot))
		return;
	nodes->target = slot[TARGET];
	nodes->servers = slot[SERVERS];
	nodes->profile = slot[PROFILE];
	nodes->heap_max = slot[HEAP_MAX];
	if (slot[NAME] != NULL)
		source->name = config_name(reader, slot[NAME], "name");
	else
		config_mistake(reader, node, "this collector has no name; add name: NAME");
	if (slot[TARGET] != NULL)
		read_target(reader, slot[TARGET], source);
	else
		config_mistake(reader, node,
			       "this collector has no target; add target: with what the plugin "
			       "polls, like \"udp:${host}:161\"");
	read_times(reader, slot, source);
	config_heap_max(reader, slot[HEAP_MAX], &source->heap_max);
	config_bool(reader, slot[BACKUP], "backup", &source->is_backup);
	read_plugin(reader, slot, source, nodes);
}

void config_sources_read(struct config_reader *reader, const yaml_node_t *list)
{
	struct config *config = reader->config;
	struct config_name *names;
	const size_t n = config_list(reader, list, "collectors", CONFIG_SOURCES_MAX,
				     "add one, or remove the key");

	config->sources = config_array(reader, n, sizeof *config->sources);
	reader->source_nodes = config_array(reader, n, sizeof *reader->source_nodes);
	names = config_array(reader, n, sizeof *names);
	if (config->sources == NULL || reader->source_nodes == NULL || names == NULL) {
		free(names);
		return;
	}
	config->n_sources = n;
	for (size_t i = 0; i < n; i++) {
		const yaml_node_t *item = config_item(reader, list, i);

		read_source(reader, item, &config->sources[i], &reader->source_nodes[i]);
		names[i] = (struct config_name){ config->sources[i].name, i, item };
	}
	config_names_make(reader, names, n, "collector", &reader->sources);
}

/*** Once the servers are known ***/

static void check_target(struct config_reader *reader, const struct config_source *source,
			 const yaml_node_t *at)
{
	const struct config_place place = { NULL, at->start_mark.line + 1,
					    at->start_mark.column + 1, NULL };
	const char *rest = source->target;
	struct config_piece piece;

	while (rest != NULL && config_piece_next(&rest, &piece) > 0) {
		const struct config_use use = { place, "target", piece.ptr, piece.len, true };

		if (piece.is_variable)
			config_vars_check_use(reader, source, &use);
	}
}

/* Who asks each server by itself has to be told where each of them is. */
static void check_scope(struct config_reader *reader, const struct config_source *source,
			const struct config_source_nodes *nodes)
{
	bool needs_target = false;

	for (size_t i = 0; i < source->n_servers; i++)
		needs_target |= config_own_target(&reader->config->servers[source->servers[i]],
						  source) == NULL;
	if (nodes->is_per_server && needs_target && source->target != NULL &&
	    !config_asks_each(source))
		config_mistake(reader, nodes->target,
			       "target: this source asks each server by itself, so the target has "
			       "to say where each is; put ${host} or another variable into it");
}

static void check_own_target(struct config_reader *reader, const struct config_server *server,
			     const struct config_pair *pair, bool is_polled)
{
	const size_t line = (size_t)pair->line, column = (size_t)pair->column;

	if (pair->value[0] == '\0')
		config_mistake_at(reader, line, column,
				  "the target for collector \"%s\" is empty; write it or remove "
				  "the line",
				  pair->name);
	if (!is_polled)
		config_mistake_at(reader, line, column,
				  "collector \"%s\" does not poll this server; remove the target, "
				  "or name the server in the collector",
				  pair->name);
	if (server->host != NULL && server->name != NULL && !config_can_expand(pair->value, server))
		config_mistake_at(reader, line, column,
				  "target \"%s\" has an unknown or open variable; there are "
				  "${host}, ${port}, ${name} and the server's vars",
				  pair->value);
}

static void check_own_targets(struct config_reader *reader, const struct config_source *source)
{
	const size_t n = reader->config->n_servers;
	bool *is_polled = config_array(reader, n, sizeof *is_polled);

	if (is_polled == NULL)
		return;
	for (size_t i = 0; i < source->n_servers; i++)
		is_polled[source->servers[i]] = true;
	for (size_t i = 0; i < n; i++) {
		const struct config_server *server = &reader->config->servers[i];
		const struct config_pair *pair = config_own_target(server, source);

		if (pair != NULL)
			check_own_target(reader, server, pair, is_polled[i]);
	}
	free(is_polled);
}

/* Servers without a heap_max of their own have that of their collector. given_by: by server, the
 * collector that gave it, from 1. */
static void give_heap_max(struct config_reader *reader, size_t index, size_t *given_by)
{
	const struct config_source *source = &reader->config->sources[index], *giver = NULL;
	const char *first = NULL;
	size_t n = 0;
	char more[64];

	for (size_t i = 0; source->heap_max > 0 && i < source->n_servers; i++) {
		const size_t at = source->servers[i];
		struct config_server *server = &reader->config->servers[at];

		if (server->heap_max == 0) {
			server->heap_max = source->heap_max;
			given_by[at] = index + 1;
		} else if (given_by[at] > 0 && server->heap_max != source->heap_max && n++ == 0) {
			giver = &reader->config->sources[given_by[at] - 1];
			first = server->name;
		}
	}
	if (n > 0)
		config_mistake(reader, reader->source_nodes[index].heap_max,
			       "heap_max: collector \"%s\" says another one of server \"%s\"%s; "
			       "keep one of the two, or write heap_max in the server",
			       giver->name, first, config_others(more, sizeof more, n - 1));
}

void config_sources_finish(struct config_reader *reader)
{
	struct config *config = reader->config;
	size_t *given_by = config_array(reader, config->n_servers, sizeof *given_by);

	for (size_t i = 0; i < config->n_sources; i++) {
		struct config_source *source = &config->sources[i];
		const struct config_source_nodes *nodes = &reader->source_nodes[i];

		config_servers_pick(reader, nodes->servers, "polled", &source->servers,
				    &source->n_servers);
		if (given_by != NULL)
			give_heap_max(reader, i, given_by);
		if (nodes->target != NULL)
			check_target(reader, source, nodes->target);
		config_vars_check(reader, source, nodes);
		check_scope(reader, source, nodes);
		check_own_targets(reader, source);
	}
	free(given_by);
	config_targets_check(reader);
}
