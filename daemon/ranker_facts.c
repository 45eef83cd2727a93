/* ranker_facts.c - what a plugin says of itself, carried from the child to the daemon as JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "option.h"
#include "ranker_wire.h"
#include "text.h"

static json_t *facts_list(const char *const *names)
{
	json_t *list = json_array();

	for (size_t i = 0; names != NULL && names[i] != NULL; i++)
		json_array_append_new(list, json_string(names[i]));
	return list;
}

static json_t *facts_options(const struct cr_option *table)
{
	json_t *list = json_array();

	for (; table != NULL && table->name != NULL; table++)
		json_array_append_new(list,
				      json_pack("{s:s, s:i, s:s?, s:f, s:f, s:o, s:s?}", "name",
						table->name, "type", (int)table->type, "preset",
						table->preset, "min", table->min, "max", table->max,
						"choices", facts_list(table->choices), "help",
						table->help));
	return list;
}

static uint32_t facts_flags(const struct cr_router *router)
{
	return (router->rank != NULL ? (uint32_t)IMAGE_HAS_RANK : 0) |
	       (router->route != NULL ? (uint32_t)IMAGE_HAS_ROUTE : 0);
}

int ranker_facts_write(const struct plugin *plugin, char *buf, size_t len)
{
	const struct cr_router *router = &plugin->router;
	const bool is_router = plugin->kind == PLUGIN_ROUTER;
	const char *summary = is_router ? router->summary : plugin->collector.summary;
	const char *version = plugin_version(plugin);
	json_t *facts = json_pack("{s:i, s:s, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:o}", "kind",
				  (int)plugin->kind, "name", plugin_name(plugin), "version",
				  document_text(version, strlen(version)), "summary",
				  document_text(summary, strlen(summary)), "options",
				  facts_options(plugin_options(plugin)), "flags",
				  is_router ? (int)facts_flags(router) : 0, "state_tag",
				  is_router ? (int)router->state_tag : 0, "shared_words",
				  is_router ? (int)router->shared_words : 0, "needs",
				  facts_list(is_router ? router->needs : NULL), "wants",
				  facts_list(is_router ? router->wants : NULL), "columns",
				  facts_list(is_router ? router->columns : NULL));
	const size_t need = json_dumpb(facts, buf, len - 1, JSON_COMPACT);

	json_decref(facts);
	if (need == 0 || need >= len)
		return -EMSGSIZE;
	buf[need] = '\0';
	return 0;
}

static char **facts_take_list(const json_t *list)
{
	char **names = calloc(json_array_size(list) + 1, sizeof *names);

	for (size_t i = 0; names != NULL && i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		names[i] = strdup(name != NULL ? name : "");
	}
	return names;
}

/* The strings of a copied table are ours, whatever its type says. */
static void facts_free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

static void facts_free_list(const char *const *names)
{
	for (size_t i = 0; names != NULL && names[i] != NULL; i++)
		facts_free_text(names[i]);
	free((void *)(uintptr_t)names);
}

void ranker_facts_free(struct ranker_facts *facts)
{
	if (facts == NULL)
		return;
	for (struct cr_option *row = facts->options; row != NULL && row->name != NULL; row++) {
		facts_free_text(row->name);
		facts_free_text(row->preset);
		facts_free_text(row->help);
		facts_free_list(row->choices);
	}
	free(facts->options);
	facts_free_list((const char *const *)facts->needs);
	facts_free_list((const char *const *)facts->wants);
	facts_free_list((const char *const *)facts->columns);
	free(facts);
}

static char *facts_take_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? strdup(text) : NULL;
}

/* A row without a name would end the table: it has an empty one, which is not sound. */
static char *facts_take_name(const json_t *object)
{
	char *name = facts_take_text(object, "name");

	return name != NULL ? name : strdup("");
}

static struct cr_option *facts_take_options(const json_t *list)
{
	const size_t n = json_array_size(list);
	struct cr_option *table = calloc(n + 1, sizeof *table);

	for (size_t i = 0; table != NULL && i < n; i++) {
		const json_t *row = json_array_get(list, i);
		const json_t *choices = json_object_get(row, "choices");

		table[i] = (struct cr_option){
			.name = facts_take_name(row),
			.type = (enum cr_type)json_integer_value(json_object_get(row, "type")),
			.preset = facts_take_text(row, "preset"),
			.min = json_real_value(json_object_get(row, "min")),
			.max = json_real_value(json_object_get(row, "max")),
			.choices = json_array_size(choices) > 0
					   ? (const char *const *)facts_take_list(choices)
					   : NULL,
			.help = facts_take_text(row, "help"),
		};
	}
	return table;
}

static void facts_copy(char *to, size_t len, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	text_copy(to, len, text != NULL ? text : "");
}

static void facts_take(struct ranker_facts *facts, const json_t *root)
{
	facts->kind = (enum plugin_kind)json_integer_value(json_object_get(root, "kind"));
	facts_copy(facts->name, sizeof facts->name, root, "name");
	facts_copy(facts->version, sizeof facts->version, root, "version");
	facts_copy(facts->summary, sizeof facts->summary, root, "summary");
	facts->flags = (uint32_t)json_integer_value(json_object_get(root, "flags"));
	facts->state_tag = (uint32_t)json_integer_value(json_object_get(root, "state_tag"));
	facts->shared_words = (uint32_t)json_integer_value(json_object_get(root, "shared_words"));
	facts->needs = facts_take_list(json_object_get(root, "needs"));
	facts->wants = facts_take_list(json_object_get(root, "wants"));
	facts->columns = facts_take_list(json_object_get(root, "columns"));
	facts->n_columns = (uint32_t)plugin_count((const char *const *)facts->columns);
	facts->options = facts_take_options(json_object_get(root, "options"));
}

/* The plugin's own code ran in the process that wrote this: plugin_open() checked the same there,
 * but it may have written anything since. */
static bool facts_are_sound(const struct ranker_facts *facts)
{
	const uint32_t flags = IMAGE_HAS_RANK | IMAGE_HAS_ROUTE;

	return (facts->kind == PLUGIN_ROUTER || facts->kind == PLUGIN_COLLECTOR) &&
	       text_is_plugin_name(facts->name) && (facts->flags & ~flags) == 0 &&
	       facts->shared_words <= CR_SHARED_WORDS_MAX && facts->n_columns <= CR_COLUMNS_MAX &&
	       plugin_count((const char *const *)facts->needs) <= IMAGE_METRICS_MAX &&
	       plugin_count((const char *const *)facts->wants) <= IMAGE_METRICS_MAX &&
	       facts->options != NULL && option_table_check(facts->options, NULL) == 0;
}

struct ranker_facts *ranker_facts_read(const char *text, struct err *err)
{
	json_error_t at;
	json_t *root = json_loads(text, 0, &at);
	struct ranker_facts *facts = calloc(1, sizeof *facts);

	if (root != NULL && facts != NULL) {
		facts_take(facts, root);
		if (facts_are_sound(facts)) {
			json_decref(root);
			return facts;
		}
	}
	(void)err_set(err, -EBADMSG, "the plugin's description could not be read");
	json_decref(root);
	ranker_facts_free(facts);
	return NULL;
}
