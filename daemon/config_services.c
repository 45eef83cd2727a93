/* config_services.c - the list of services: their servers, router and default. */
#include "config_internal.h"

#include <stdlib.h>

#include "clock.h"

#define DEFAULT_PLUGIN "round_robin"

#define FULL_AT_MAX 1000000

enum { NAME, SERVERS, ROUTER, DEFAULT, STALE_AFTER, HEALTH, FULL_AT, SMOOTH };
static const char *const service_keys[] = { "name",   "servers", "router", "default", "stale_after",
					    "health", "full_at", "smooth", NULL };
enum { PLUGIN, OPTIONS };
static const char *const choice_keys[] = { "plugin", "options", NULL };
static const struct config_range stale_range = { 50 * CLOCK_MS, 86400 * CLOCK_S, "50ms to 1d" };

/* A plugin's name, or a map of name and options. Returns where the name stands, or NULL. */
static const yaml_node_t *read_plugin(struct config_reader *reader, const yaml_node_t *node,
				      const char *what, struct config_choice *choice)
{
	const yaml_node_t *slot[CONFIG_KEYS_MAX];

	if (node->type != YAML_MAPPING_NODE) {
		if (node->type == YAML_SEQUENCE_NODE)
			config_mistake(reader, node,
				       "%s must be a plugin's name or { plugin: NAME, options: "
				       "{ ... } }, not a list",
				       what);
		else
			choice->plugin = config_plugin_name(reader, node, what);
		return choice->plugin != NULL ? node : NULL;
	}
	if (!config_map(reader, node, what, choice_keys, false, slot))
		return NULL;
	if (slot[OPTIONS] != NULL)
		choice->n_options = config_pairs(reader, slot[OPTIONS], "options", NULL, NULL,
						 &choice->options);
	if (slot[PLUGIN] == NULL) {
		config_mistake(reader, node, "%s has no plugin; add plugin: NAME", what);
		return NULL;
	}
	choice->plugin = config_plugin_name(reader, slot[PLUGIN], "plugin");
	return slot[PLUGIN];
}

static void read_choice(struct config_reader *reader, const yaml_node_t *node, const char *what,
			struct config_choice *choice)
{
	struct config_options options = { .is_router = true, .at = node };

	choice->line = (int)node->start_mark.line + 1;
	choice->column = (int)node->start_mark.column + 1;
	options.plugin_at = read_plugin(reader, node, what, choice);
	options.plugin = choice->plugin;
	options.pairs = choice->options;
	options.n = choice->n_options;
	config_options_check(reader, &options);
	config_ranks_by_find(reader, choice);
}

/* entry: of the service, which did not name a default. */
static void preset_choice(struct config_reader *reader, const yaml_node_t *entry,
			  struct config_choice *choice)
{
	const struct config_options options = {
		.is_router = true, .plugin = DEFAULT_PLUGIN, .at = entry, .plugin_at = entry
	};

	choice->line = (int)entry->start_mark.line + 1;
	choice->column = (int)entry->start_mark.column + 1;
	choice->plugin = config_copy(reader, DEFAULT_PLUGIN);
	config_options_check(reader, &options);
}

/* Each server learns of the strictest of its services. */
static void note_stale_after(struct config *config, const struct config_service *service)
{
	for (size_t i = 0; i < service->n_servers; i++) {
		struct config_server *server = &config->servers[service->servers[i]];

		if (server->stale_after_ns == 0 || service->stale_after_ns < server->stale_after_ns)
			server->stale_after_ns = service->stale_after_ns;
	}
}

static void read_service(struct config_reader *reader, const yaml_node_t *node,
			 struct config_service *service)
{
	const yaml_node_t *slot[CONFIG_KEYS_MAX];

	service->stale_after_ns = 10 * CLOCK_S;
	service->health = config_health_preset();
	if (!config_map(reader, node, "a service", service_keys, false, slot))
		return;
	if (slot[NAME] != NULL)
		service->name = config_name(reader, slot[NAME], "name");
	else
		config_mistake(reader, node, "this service has no name; add name: NAME");
	config_servers_pick(reader, slot[SERVERS], "a candidate for calls", &service->servers,
			    &service->n_servers);
	if (slot[ROUTER] != NULL)
		read_choice(reader, slot[ROUTER], "router", &service->router);
	if (slot[DEFAULT] != NULL)
		read_choice(reader, slot[DEFAULT], "default", &service->preset);
	else
		preset_choice(reader, node, &service->preset);
	config_duration(reader, slot[STALE_AFTER], "stale_after", &stale_range,
			&service->stale_after_ns);
	note_stale_after(reader->config, service);
	if (slot[HEALTH] != NULL)
		config_health_read(reader, slot[HEALTH], &service->health);
	config_whole(reader, slot[FULL_AT], "full_at", 0, FULL_AT_MAX, &service->full_at);
	if (slot[SMOOTH] != NULL)
		config_smooth_read(reader, slot[SMOOTH], service);
}

void config_services_read(struct config_reader *reader, const yaml_node_t *list)
{
	struct config *config = reader->config;
	struct config_names sorted = { 0 };
	struct config_name *names;
	const size_t n =
		config_list(reader, list, "services", CONFIG_SERVICES_MAX, "add at least one");

	config->services = config_array(reader, n, sizeof *config->services);
	names = config_array(reader, n, sizeof *names);
	if (config->services == NULL || names == NULL) {
		free(names);
		return;
	}
	config->n_services = n;
	for (size_t i = 0; i < n; i++) {
		const yaml_node_t *item = config_item(reader, list, i);

		read_service(reader, item, &config->services[i]);
		names[i] = (struct config_name){ config->services[i].name, i, item };
	}
	config_names_make(reader, names, n, "service", &sorted);
	config_names_free(&sorted);
}
