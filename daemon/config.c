/* config.c - the configuration file as a whole: read, checked, freed. */
#include "config_internal.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define GROUP_BYTES_MAX (1u << 20) /* of a group with all its members */

#define HOSTS_MAX 65536

enum { CLUSTER, GROUP, HOSTS, SERVERS, COLLECTORS, SERVICES };
static const char *const top_keys[] = { "cluster",    "group",    "hosts", "servers",
					"collectors", "services", NULL };

/* Returns 1 if there is such a group, 0 if not, < 0 if nobody can tell. */
static int has_group(const char *name)
{
	struct group group, *found = NULL;
	int r = ERANGE;

	for (size_t room = 1024; r == ERANGE && room <= GROUP_BYTES_MAX; room *= 4) {
		char *buf = malloc(room);

		if (buf == NULL)
			return -ENOMEM;
		r = getgrnam_r(name, &group, buf, room, &found);
		free(buf);
	}
	return found != NULL || r == 0 ? found != NULL : -r;
}

static void read_group(struct config_reader *reader, const yaml_node_t *node)
{
	const char *text = config_text(reader, node, "group", false);
	int r;

	if (text == NULL)
		return;
	r = has_group(text);
	if (r == -ENOMEM)
		reader->is_out_of_memory = true;
	else if (r == 0)
		config_mistake(reader, node,
			       "this machine has no group \"%s\"; name another, or create it: "
			       "groupadd --system %s",
			       text, text);
	else if (r < 0)
		config_mistake(reader, node, "group \"%s\" cannot be looked up: %s", text,
			       err_words(r));
	else
		reader->config->group = config_copy(reader, text);
}

/* Servers name collectors in their targets, collectors and services name servers: hence the order.
 */
static void read_top(struct config_reader *reader, const yaml_node_t *root)
{
	const yaml_node_t *slot[CONFIG_KEYS_MAX];

	if (!config_map(reader, root, "the configuration", top_keys, false, slot))
		return;
	if (slot[CLUSTER] != NULL)
		reader->config->cluster = config_name(reader, slot[CLUSTER], "cluster");
	else
		reader->config->cluster = config_copy(reader, "callrouter");
	if (slot[GROUP] != NULL)
		read_group(reader, slot[GROUP]);
	config_whole(reader, slot[HOSTS], "hosts", 0, HOSTS_MAX, &reader->config->hosts);
	if (slot[COLLECTORS] != NULL)
		config_sources_read(reader, slot[COLLECTORS]);
	if (slot[SERVERS] != NULL)
		config_servers_read(reader, slot[SERVERS]);
	else
		config_mistake(reader, root,
			       "servers is missing; list the servers under it, each with name and "
			       "address");
	config_sources_finish(reader);
	if (slot[SERVICES] != NULL)
		config_services_read(reader, slot[SERVICES]);
	else
		config_mistake(reader, root,
			       "services is missing; list the services under it, each with a name");
}

/* The folder of the file, absolute, so that it holds wherever the daemon works. */
static int find_folder(struct config_reader *reader)
{
	const char *slash = strrchr(reader->path, '/');
	char *folder = slash == NULL ? strdup(".")
				     : strndup(reader->path, (size_t)(slash - reader->path) + 1);

	if (folder != NULL)
		reader->folder = realpath(folder, NULL);
	free(folder);
	if (reader->folder != NULL)
		return 0;
	if (folder == NULL || errno == ENOMEM) {
		reader->is_out_of_memory = true;
		return -ENOMEM;
	}
	config_mistake_at(reader, 0, 0, "its folder cannot be found: %s", err_words(errno));
	return -errno;
}

static int read_config(struct config_reader *reader)
{
	const yaml_node_t *root = NULL;
	int r = config_load(reader, &root);

	if (r < 0)
		return r;
	r = find_folder(reader);
	if (r == 0)
		read_top(reader, root);
	if (r == 0)
		config_warnings_make(reader);
	yaml_document_delete(&reader->document);
	return r;
}

static void fini_reader(struct config_reader *reader)
{
	config_names_free(&reader->servers);
	config_names_free(&reader->sources);
	config_mistakes_free(reader);
	free(reader->source_nodes);
	free(reader->folder);
	config_free(reader->config);
}

int config_read(const char *path, const struct config_plugins *plugins, struct config **out,
		struct config_report *report)
{
	struct config_reader reader = { .path = path, .plugins = plugins };
	int r = 0;

	*out = NULL;
	reader.config = config_array(&reader, 1, sizeof *reader.config);
	if (reader.config != NULL)
		reader.config->path = config_copy(&reader, path);
	if (!reader.is_out_of_memory)
		r = read_config(&reader);
	if (config_report_make(&reader, report) < 0)
		r = -ENOMEM;
	if (r == 0 && report->n > 0)
		r = -EINVAL;
	if (r == 0) {
		*out = reader.config;
		reader.config = NULL;
	}
	fini_reader(&reader);
	return r;
}

static void free_server(struct config_server *server)
{
	free(server->name);
	free(server->address);
	free(server->host);
	free(server->port);
	config_pairs_free(server->vars, server->n_vars);
	config_pairs_free(server->targets, server->n_targets);
}

static void free_source(struct config_source *source)
{
	free(source->name);
	free(source->plugin);
	free(source->target);
	free(source->servers);
	free(source->profile);
	config_figures_free(source);
	config_pairs_free(source->options, source->n_options);
	config_pairs_free(source->variables, source->n_variables);
	config_pairs_free(source->abouts, source->n_abouts);
}

static void free_choice(struct config_choice *choice)
{
	free(choice->plugin);
	free(choice->ranks_by);
	config_pairs_free(choice->options, choice->n_options);
}

static void free_service(struct config_service *service)
{
	free(service->name);
	free(service->servers);
	free_choice(&service->router);
	free_choice(&service->preset);
	config_health_free(&service->health);
	for (size_t i = 0; i < service->n_smooth; i++)
		free(service->smooth[i].metric);
	free(service->smooth);
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; i < config->n_servers; i++)
		free_server(&config->servers[i]);
	for (size_t i = 0; i < config->n_sources; i++)
		free_source(&config->sources[i]);
	for (size_t i = 0; i < config->n_services; i++)
		free_service(&config->services[i]);
	config_warnings_free(config);
	free(config->servers);
	free(config->sources);
	free(config->services);
	free(config->path);
	free(config->cluster);
	free(config->group);
	free(config);
}

char *config_pack(const struct config_pair *options, size_t n)
{
	struct option_text *given = calloc(n > 0 ? n : 1, sizeof *given);
	char *packed;

	if (given == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		given[i] =
			(struct option_text){ .name = options[i].name, .value = options[i].value };
	packed = option_pack(given, n);
	free(given);
	return packed;
}
