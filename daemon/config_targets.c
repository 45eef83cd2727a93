/* config_targets.c - what collectors say of the targets, filled in for each server, before they are
 * polled. */
#include "config_internal.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

/** A target of a source. */
struct aim {
	const struct config_server *server; /* NULL: one agent for all */
	const struct config_pair *own;      /* it is the server's own; NULL: the source's */
	size_t source;
	char *target;
	char *fault; /* why it cannot be polled; NULL: it can */
};

/** Those of all sources of one plugin that have the same options. */
struct aims {
	struct config_reader *reader;
	struct aim *aim;
	const char **target; /* that the plugin is asked about, and whose they are */
	size_t *index;
	size_t n, n_asked;
	/* For the answers of all plugins; < 0: it has been told that it is used up. */
	int64_t *left_ns;
};

static bool aims_init(struct aims *aims, struct config_reader *reader, size_t capacity)
{
	*aims = (struct aims){ .reader = reader };
	aims->aim = config_array(reader, capacity, sizeof *aims->aim);
	aims->target = config_array(reader, capacity, sizeof *aims->target);
	aims->index = config_array(reader, capacity, sizeof *aims->index);
	return aims->aim != NULL && aims->target != NULL && aims->index != NULL;
}

static void aims_fini(struct aims *aims)
{
	for (size_t i = 0; i < aims->n; i++) {
		free(aims->aim[i].target);
		free(aims->aim[i].fault);
	}
	free(aims->aim);
	free(aims->target);
	free(aims->index);
}

/*** What is polled ***/

/* One more; aim's target is taken. */
static void add_aim(struct aims *aims, const struct aim *aim)
{
	if (aim->target == NULL)
		aims->reader->is_out_of_memory = true;
	else
		aims->aim[aims->n++] = *aim;
}

/* What is wrong with servers and variables has been told: those are left out. */
static void add_source(struct aims *aims, size_t index)
{
	const struct config *config = aims->reader->config;
	const struct config_source *source = &config->sources[index];
	bool needs_shared = false;

	for (size_t i = 0; i < source->n_servers; i++) {
		const struct config_server *server = &config->servers[source->servers[i]];
		const struct config_pair *own = config_own_target(server, source);
		const char *target = own != NULL ? own->value : source->target;
		struct aim aim = { .server = server, .own = own, .source = index };

		if (own == NULL && (target == NULL || !config_asks_each(source))) {
			needs_shared |= target != NULL;
			continue;
		}
		if (target[0] == '\0' || server->name == NULL || server->host == NULL ||
		    !config_can_expand(target, server))
			continue;
		aim.target = config_expand(target, server);
		add_aim(aims, &aim);
	}
	if (needs_shared) {
		const struct aim aim = { .source = index, .target = strdup(source->target) };

		add_aim(aims, &aim);
	}
}

/*** What the plugin says ***/

static void set_fault(struct aims *aims, struct aim *aim, const char *text)
{
	if (aim->fault == NULL)
		aim->fault = config_copy(aims->reader, text);
}

static void take_fault(void *user, size_t index, const char *text)
{
	struct aims *aims = user;

	if (index < aims->n_asked)
		set_fault(aims, &aims->aim[aims->index[index]], text);
}

/* A check() that hangs must hold up the others' reload once and not for each of its sources. */
static void tell_late(struct aims *aims, const struct config_source *source, const yaml_node_t *at)
{
	if (*aims->left_ns < 0)
		return;
	*aims->left_ns = -1;
	config_mistake(aims->reader, at,
		       "nobody has looked at the targets of collector \"%s\" and those below it: "
		       "check() of the others has taken %g s",
		       source->name, (double)TARGET_LIST_NS / (double)CLOCK_S);
}

static void ask(struct aims *aims, const struct config_source *source, const char *packed,
		const yaml_node_t *at)
{
	const struct config_plugins *plugins = aims->reader->plugins;
	struct target_list list = { aims->target, 0, take_fault, aims, aims->left_ns };
	struct err err = { 0, "" };

	for (size_t i = 0; i < aims->n; i++) {
		if (strlen(aims->aim[i].target) >= TARGET_LIST_LEN) {
			set_fault(aims, &aims->aim[i],
				  "it is longer than 4095 bytes once it is filled in; shorten it");
			continue;
		}
		aims->index[aims->n_asked] = i;
		aims->target[aims->n_asked++] = aims->aim[i].target;
	}
	list.n = aims->n_asked;
	if (list.n == 0)
		return;
	if (*aims->left_ns <= 0)
		tell_late(aims, source, at);
	else if (plugins->can_poll(plugins->arg, source->plugin, packed, &list, &err) < 0)
		config_mistake(aims->reader, at, "plugin %s", err.text);
}

/*** What is told ***/

static void tell_own(const struct aims *aims, const struct aim *aim)
{
	config_mistake_at(aims->reader, (size_t)aim->own->line, (size_t)aim->own->column,
			  "the target for collector \"%s\" cannot be polled: %s", aim->own->name,
			  aim->fault);
}

/* A template's mistake once, not for each of the servers. */
static void tell_source(const struct aims *aims, const struct aim *first, size_t n)
{
	const yaml_node_t *at = aims->reader->source_nodes[first->source].target;
	char others[64];

	(void)config_others(others, sizeof others, n - 1);
	if (first->server == NULL)
		config_mistake(aims->reader, at, "target cannot be polled: %s", first->fault);
	else
		config_mistake(aims->reader, at, "target cannot be polled for server \"%s\"%s: %s",
			       first->server->name, others, first->fault);
}

/* A source's aims follow each other. */
static void tell(const struct aims *aims)
{
	const struct aim *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < aims->n; i++) {
		const struct aim *aim = &aims->aim[i];
		const bool is_last = i + 1 == aims->n || aim[1].source != aim->source;

		if (aim->fault != NULL && aim->own != NULL)
			tell_own(aims, aim);
		if (aim->fault != NULL && aim->own == NULL) {
			first = first != NULL ? first : aim;
			n++;
		}
		if (is_last && first != NULL)
			tell_source(aims, first, n);
		if (is_last) {
			first = NULL;
			n = 0;
		}
	}
}

/*** All sources ***/

/* packed: of all sources; NULL: not asked about, or done. */
static bool is_alike(const struct config *config, char *const *packed, size_t a, size_t b)
{
	return packed[b] != NULL &&
	       strcmp(config->sources[a].plugin, config->sources[b].plugin) == 0 &&
	       strcmp(packed[a], packed[b]) == 0;
}

/* Source first, and those after it that are like it: one question, one process. */
static void check_alike(struct config_reader *reader, char **packed, size_t first, int64_t *left_ns)
{
	const struct config *config = reader->config;
	const struct config_source_nodes *nodes = &reader->source_nodes[first];
	struct aims aims;
	size_t capacity = 0;

	for (size_t i = first; i < config->n_sources; i++)
		if (is_alike(config, packed, first, i))
			capacity += config->sources[i].n_servers + 1;
	if (aims_init(&aims, reader, capacity)) {
		aims.left_ns = left_ns;
		for (size_t i = first; i < config->n_sources; i++)
			if (is_alike(config, packed, first, i))
				add_source(&aims, i);
		if (!reader->is_out_of_memory)
			ask(&aims, &config->sources[first], packed[first],
			    nodes->target != NULL ? nodes->target : nodes->entry);
		tell(&aims);
	}
	aims_fini(&aims);
	for (size_t i = config->n_sources; i-- > first;)
		if (is_alike(config, packed, first, i)) {
			free(packed[i]);
			packed[i] = NULL;
		}
}

void config_targets_check(struct config_reader *reader)
{
	const struct config *config = reader->config;
	int64_t left_ns = TARGET_LIST_NS;
	char **packed;

	if (reader->plugins == NULL || reader->plugins->can_poll == NULL ||
	    reader->is_out_of_memory || config->n_sources == 0)
		return;
	packed = config_array(reader, config->n_sources, sizeof *packed);
	if (packed == NULL)
		return;
	for (size_t i = 0; i < config->n_sources; i++) {
		if (!reader->source_nodes[i].is_accepted)
			continue;
		packed[i] = config_pack(config->sources[i].options, config->sources[i].n_options);
		reader->is_out_of_memory |= packed[i] == NULL;
	}
	for (size_t i = 0; i < config->n_sources; i++)
		if (packed[i] != NULL)
			check_alike(reader, packed, i, &left_ns);
	free(packed);
}
