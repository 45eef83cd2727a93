/* config_servers.c - the list of servers: names, addresses, roles, weights, heaps, vars and
 * targets. */
#include "config_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define ADDRESS_MAX 127 /* letters, as an image holds them */

enum { NAME, ADDRESS, ROLE, WEIGHT, HEAP_MAX, VARS, TARGETS };
static const char *const server_keys[] = { "name",     "address", "role",    "weight",
					   "heap_max", "vars",    "targets", NULL };
static const char *const role_words[] = { "managed", "admin", NULL };

/*** Addresses ***/

static bool is_host_name(const char *host)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_";
	const size_t len = strspn(host, letters);
	struct in_addr v4;

	if (len == 0 || host[len] != '\0' || host[0] == '-' || host[0] == '.')
		return false;
	return host[strspn(host, "0123456789.")] != '\0' || inet_pton(AF_INET, host, &v4) == 1;
}

/* "[v6]", with or without a zone. */
static bool is_bracketed(const char *host)
{
	const size_t len = strlen(host);
	char bare[ADDRESS_MAX + 1];
	struct in6_addr v6;

	if (len < 4 || host[0] != '[' || host[len - 1] != ']')
		return false;
	memcpy(bare, host + 1, len - 2);
	bare[len - 2] = '\0';
	bare[strcspn(bare, "%")] = '\0';
	return inet_pton(AF_INET6, bare, &v6) == 1;
}

static bool is_port(const char *text)
{
	int64_t port;

	return text_int(text, &port) == 0 && port >= 1 && port <= 65535 && text[0] != '0';
}

/* Cut "host:port" in two. */
static void split_address(struct config_reader *reader, struct config_server *server)
{
	const char *colon = strrchr(server->address, ':');

	server->host = strndup(server->address, (size_t)(colon - server->address));
	server->port = strdup(colon + 1);
	if (server->host == NULL || server->port == NULL)
		reader->is_out_of_memory = true;
}

/* Text that is no address: what would be one? */
static void note_address(struct config_reader *reader, const yaml_node_t *node, const char *text)
{
	const char *colon = strrchr(text, ':'), *bracket = strchr(text, ']');

	if (strchr(text, '/') != NULL)
		config_mistake(reader, node,
			       "address \"%s\" is no HOST:PORT; leave out what stands before the "
			       "host and after the port",
			       text);
	else if (text[0] != '[' && colon != NULL && strchr(text, ':') != colon)
		config_mistake(reader, node,
			       "address \"%s\" is no HOST:PORT; put an IPv6 address in brackets: "
			       "\"[ADDRESS]:PORT\"",
			       text);
	else if (colon == NULL || (bracket != NULL && bracket > colon))
		config_mistake(reader, node,
			       "address \"%s\" has no port; write HOST:PORT, like \"%s:7001\"",
			       text, text);
	else if (!is_port(colon + 1))
		config_mistake(reader, node, "address \"%s\" has a bad port; ports are 1 to 65535",
			       text);
	else
		config_mistake(reader, node,
			       "address \"%s\" has a bad host; write a host name, an IPv4 address "
			       "or an \"[IPv6 address]\"",
			       text);
}

static void read_address(struct config_reader *reader, const yaml_node_t *node,
			 struct config_server *server)
{
	const char *text = config_text(reader, node, "address", false);
	size_t len;

	if (text == NULL)
		return;
	if (strlen(text) > ADDRESS_MAX) {
		config_mistake(reader, node, "address is longer than 127 letters; shorten it");
		return;
	}
	server->address = config_copy(reader, text);
	if (server->address == NULL)
		return;
	len = strlen(text);
	if (strchr(text, ':') != NULL && text[len - 1] != ']') {
		split_address(reader, server);
		if (server->host == NULL || server->port == NULL)
			return;
		if (is_port(server->port) &&
		    (is_host_name(server->host) || is_bracketed(server->host)))
			return;
	}
	note_address(reader, node, text);
}

/*** The other keys ***/

static void read_role(struct config_reader *reader, const yaml_node_t *node,
		      struct config_server *server)
{
	const char *text = config_text(reader, node, "role", false);
	const char *nearest;

	if (text == NULL)
		return;
	server->is_admin = strcmp(text, "admin") == 0;
	if (server->is_admin || strcmp(text, "managed") == 0)
		return;
	nearest = text_nearest(text, role_words);
	if (nearest != NULL)
		config_mistake(reader, node, "role \"%s\" is unknown; did you mean \"%s\"?", text,
			       nearest);
	else
		config_mistake(reader, node, "role \"%s\" is unknown; write managed or admin",
			       text);
}

static void read_weight(struct config_reader *reader, const yaml_node_t *node,
			struct config_server *server)
{
	const char *text = config_text(reader, node, "weight", false);
	int64_t weight;

	if (text == NULL)
		return;
	if (text_int(text, &weight) == 0 && weight >= 0 && weight <= 100)
		server->weight = (uint32_t)weight;
	else
		config_mistake(reader, node,
			       "weight \"%s\" is out of range; write a whole number from 0 to 100",
			       text);
}

static bool is_var_name(struct config_reader *reader, const yaml_node_t *key, const char *name)
{
	for (size_t i = 0; config_own_variables[i] != NULL; i++) {
		if (strcmp(name, config_own_variables[i]) != 0)
			continue;
		config_mistake(reader, key,
			       "var \"%s\" is there for every server already; name it otherwise",
			       name);
		return false;
	}
	if (text_is_name(name))
		return true;
	config_mistake(reader, key,
		       "var \"%s\" is no name; use letters, digits, \".\", \"_\" and \"-\"", name);
	return false;
}

static bool is_source_name(struct config_reader *reader, const yaml_node_t *key, const char *name)
{
	const char *nearest;

	if (config_names_find(&reader->sources, name) != NULL)
		return true;
	nearest = reader->sources.n > 0 ? text_nearest(name, reader->sources.words) : NULL;
	if (nearest != NULL)
		config_mistake(reader, key,
			       "no collector has the name \"%s\"; did you mean \"%s\"?", name,
			       nearest);
	else
		config_mistake(reader, key,
			       "no collector has the name \"%s\"; targets are "
			       "COLLECTOR: TARGET, with the names under collectors",
			       name);
	return false;
}

static void read_server(struct config_reader *reader, const yaml_node_t *node,
			struct config_server *server)
{
	const yaml_node_t *slot[CONFIG_KEYS_MAX];

	server->weight = 1;
	if (!config_map(reader, node, "a server", server_keys, false, slot))
		return;
	if (slot[NAME] != NULL)
		server->name = config_name(reader, slot[NAME], "name");
	else
		config_mistake(reader, node, "this server has no name; add name: NAME");
	if (slot[ADDRESS] != NULL)
		read_address(reader, slot[ADDRESS], server);
	else
		config_mistake(reader, node,
			       "this server has no address; add address: \"HOST:PORT\"");
	if (slot[ROLE] != NULL)
		read_role(reader, slot[ROLE], server);
	if (slot[WEIGHT] != NULL)
		read_weight(reader, slot[WEIGHT], server);
	config_heap_max(reader, slot[HEAP_MAX], &server->heap_max);
	if (slot[VARS] != NULL)
		server->n_vars =
			config_pairs(reader, slot[VARS], "vars", NULL, is_var_name, &server->vars);
	if (slot[TARGETS] != NULL)
		server->n_targets = config_pairs(reader, slot[TARGETS], "targets", NULL,
						 is_source_name, &server->targets);
}

static size_t count_managed(const struct config *config)
{
	size_t n = 0;

	for (size_t i = 0; i < config->n_servers; i++)
		n += !config->servers[i].is_admin;
	return n;
}

void config_servers_read(struct config_reader *reader, const yaml_node_t *list)
{
	struct config *config = reader->config;
	struct config_name *names;
	const size_t n = config_list(reader, list, "servers", CONFIG_SERVERS_MAX,
				     "add at least one managed server");

	config->servers = config_array(reader, n, sizeof *config->servers);
	names = config_array(reader, n, sizeof *names);
	if (config->servers == NULL || names == NULL) {
		free(names);
		return;
	}
	config->n_servers = n;
	for (size_t i = 0; i < n; i++) {
		const yaml_node_t *item = config_item(reader, list, i);

		read_server(reader, item, &config->servers[i]);
		names[i] = (struct config_name){ config->servers[i].name, i, item };
	}
	config_names_make(reader, names, n, "server", &reader->servers);
	if (n > 0 && count_managed(config) == 0)
		config_mistake(reader, list,
			       "every server has role admin; add a managed one, for calls go to "
			       "managed servers only");
}

/*** Picking servers by name ***/

static void pick_all(struct config_reader *reader, size_t **indices, size_t *n)
{
	const struct config *config = reader->config;

	*n = 0;
	*indices = config_array(reader, count_managed(config), sizeof **indices);
	if (*indices == NULL)
		return;
	for (size_t i = 0; i < config->n_servers; i++)
		if (!config->servers[i].is_admin)
			(*indices)[(*n)++] = i;
}

/* The server of that name, or NULL with a mistake. */
static const struct config_name *find_server(struct config_reader *reader, const yaml_node_t *node,
					     const char *name, const char *never)
{
	const struct config_name *found = config_names_find(&reader->servers, name);
	const char *nearest;

	if (reader->config->n_servers == 0)
		return NULL; /* told already */
	if (found != NULL && !reader->config->servers[found->index].is_admin)
		return found;
	if (found != NULL) {
		config_mistake(reader, node,
			       "server \"%s\" is an admin server, which is never %s; leave it out",
			       name, never);
		return NULL;
	}
	nearest = reader->servers.n > 0 ? text_nearest(name, reader->servers.words) : NULL;
	if (nearest != NULL)
		config_mistake(reader, node, "no server has the name \"%s\"; did you mean \"%s\"?",
			       name, nearest);
	else
		config_mistake(reader, node,
			       "no server has the name \"%s\"; add it under servers or remove it "
			       "here",
			       name);
	return NULL;
}

static void pick_each(struct config_reader *reader, const yaml_node_t *list, const char *never,
		      size_t *indices, size_t *n)
{
	const size_t given = *n;
	bool *is_picked = config_array(reader, reader->config->n_servers, sizeof *is_picked);

	*n = 0;
	for (size_t i = 0; is_picked != NULL && i < given; i++) {
		const yaml_node_t *item = config_item(reader, list, i);
		const char *name = config_text(reader, item, "an entry of servers", false);
		const struct config_name *found =
			name != NULL ? find_server(reader, item, name, never) : NULL;

		if (found == NULL)
			continue;
		if (is_picked[found->index])
			config_mistake(reader, item,
				       "server \"%s\" is in this list twice; keep one", name);
		else
			indices[(*n)++] = found->index;
		is_picked[found->index] = true;
	}
	free(is_picked);
}

void config_servers_pick(struct config_reader *reader, const yaml_node_t *list, const char *never,
			 size_t **indices, size_t *n)
{
	if (list == NULL) {
		pick_all(reader, indices, n);
		return;
	}
	*n = config_list(reader, list, "servers", CONFIG_SERVERS_MAX,
			 "name some, or remove the key: then it is all managed servers");
	*indices = config_array(reader, *n, sizeof **indices);
	if (*indices == NULL)
		*n = 0;
	else
		pick_each(reader, list, never, *indices, n);
}
