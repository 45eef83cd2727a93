/*
 * config_profile.c - a collector's entry becomes options of its plugin. Where the plugin reads the
 * source language, the profile with the entry's own keys laid over it is one text, and one option.
 */
#include "config_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "source.h"
#include "source_yaml.h"
#include "text.h"

/* An entry on its way. */
struct making {
	struct config_reader *reader;
	const struct config_entry *entry;
	const struct cr_option *table; /* of the plugin; NULL: it has none, or nobody knows */
	bool has_source;               /* the plugin reads the source language */
	struct source_yaml *yaml;
	struct config_source *source;
	bool is_faulty;
	size_t n_laid; /* keys of the language in the entry */
};

static bool is_option(const struct making *making, const char *name)
{
	return option_find(making->table, name) >= 0;
}

static bool is_own(const struct making *making, const char *key)
{
	return text_index(key, making->entry->own_keys) >= 0;
}

static bool is_of_language(const struct making *making, const char *key)
{
	return text_index(key, source_language_keys) >= 0 && !is_option(making, key);
}

/* The key that was probably meant, of the language, the plugin's options, and keys (NULL: no
 * more). */
static const char *nearest_key(const struct making *making, const char *key,
			       const char *const *keys)
{
	const char *words[256];
	const size_t max = sizeof words / sizeof *words - 1;
	size_t n = 0;

	for (; keys != NULL && *keys != NULL && n < max; keys++)
		words[n++] = *keys;
	for (keys = source_language_keys; *keys != NULL && n < max; keys++)
		words[n++] = *keys;
	for (const struct cr_option *o = making->table; o != NULL && o->name != NULL && n < max;
	     o++)
		if (strcmp(o->name, CONFIG_SOURCE_OPTION) != 0)
			words[n++] = o->name;
	words[n] = NULL;
	return text_nearest(key, words);
}

/*** Faults ***/

static void take_fault_at(struct making *making, const struct source_place *at, const char *text)
{
	struct config_place place = { at->file, at->line, at->column, making->entry->profile };

	making->is_faulty = true;
	if (at->file == NULL || strcmp(at->file, making->reader->path) == 0) {
		place.file = NULL;
		place.at = NULL;
	}
	config_mistake_in(making->reader, &place, "%s", text);
}

/* Of the YAML. */
static void take_yaml_fault(void *user, const struct source_place *place, const char *text)
{
	take_fault_at(user, place, text);
}

/* A key at the top of a profile that is none of the language. */
static void note_stray_key(struct making *making, const struct source_place *place, const char *key)
{
	const char *nearest = nearest_key(making, key, NULL);
	char text[300];

	if (is_own(making, key))
		(void)snprintf(text, sizeof text,
			       "\"%s\" is a key of a collector's entry, not of a profile; move it "
			       "there",
			       key);
	else if (nearest != NULL)
		(void)snprintf(text, sizeof text, "unknown key \"%.64s\"; did you mean \"%s\"?",
			       key, nearest);
	else
		(void)snprintf(text, sizeof text,
			       "unknown key \"%.64s\"; it is neither of the source language nor an "
			       "option of plugin %s",
			       key, making->entry->plugin);
	take_fault_at(making, place, text);
}

/* Of what was written in it. What is missing as a whole is the entry's to say. */
static void take_source_fault(void *user, const char *pointer, const char *text)
{
	struct making *making = user;
	const struct config_entry *entry = making->entry;
	struct source_place place;

	if (*pointer == '\0') {
		making->is_faulty = true;
		config_mistake(making->reader, entry->profile != NULL ? entry->profile : entry->at,
			       "%s", text);
		return;
	}
	place = source_yaml_place(making->yaml, pointer);
	if (strchr(pointer + 1, '/') == NULL && text_index(pointer + 1, source_language_keys) < 0)
		note_stray_key(making, &place, pointer + 1);
	else
		take_fault_at(making, &place, text);
}

/*** The profile ***/

/* Where the profile is; malloc'd, or NULL with a mistake. */
static char *find_profile(struct making *making, const char *name)
{
	struct config_reader *reader = making->reader;
	const struct profiles *profiles = reader->plugins->profiles;
	char nearest[64], *path = NULL;

	if (profiles_is_path(name)) {
		while (strncmp(name, "./", 2) == 0)
			name += 2;
		if (asprintf(&path, "%s%s%s", name[0] == '/' ? "" : reader->folder,
			     name[0] == '/' ? "" : "/", name) < 0)
			path = NULL;
		reader->is_out_of_memory |= path == NULL;
		return path;
	}
	path = profiles_find(profiles, name);
	if (path != NULL)
		return path;
	making->is_faulty = true;
	if (profiles_nearest(profiles, name, nearest, sizeof nearest))
		config_mistake(reader, making->entry->profile,
			       "no profile \"%.64s\"; did you mean \"%s\"?", name, nearest);
	else
		config_mistake(reader, making->entry->profile,
			       "no profile \"%.64s\"; callrouterctl profile list shows them, and "
			       "one of your own is written ./FILE.yaml",
			       name);
	return NULL;
}

static void load_profile(struct making *making)
{
	struct config_reader *reader = making->reader;
	const char *name = config_text(reader, making->entry->profile, "profile", false);
	char *path = name != NULL ? find_profile(making, name) : NULL;
	const struct source_yaml_calls calls = { NULL, take_yaml_fault, making };
	struct source_place place = { path, 0, 0 };
	int rc;

	if (path == NULL) {
		making->is_faulty = true;
		return;
	}
	making->source->profile = config_copy(reader, name);
	rc = access(path, R_OK) < 0 ? -errno : 0;
	if (rc < 0) {
		config_mistake(reader, making->entry->profile, "profile %s cannot be read: %s",
			       path, err_words(rc));
		making->is_faulty = true;
	} else {
		rc = source_yaml_load(making->yaml, path, &calls);
		if (rc < 0 && rc != -ENOMEM && !making->is_faulty)
			take_fault_at(making, &place, err_words(rc));
	}
	reader->is_out_of_memory |= rc == -ENOMEM;
	free(path);
}

/* NULL: it does not say. json: a description, or one of its requests. */
static const char *transport_of(const json_t *json)
{
	const char *transport = json_string_value(json_object_get(json, "transport"));
	const char *format = json_string_value(json_object_get(json, "format"));

	if (transport != NULL)
		return strcmp(transport, "snmp") == 0 ? "SNMP" : "HTTP";
	if (format != NULL)
		return strncmp(format, "snmp-", 5) == 0 ? "SNMP" : "HTTP";
	return NULL;
}

/* By what the profile says itself, of all its requests or of one. NULL: it leaves that to the
 * entry, or there is no memory. */
static const char *profile_transport(const struct making *making)
{
	char *text = source_yaml_text(making->yaml);
	json_t *root = text != NULL ? json_loads(text, 0, NULL) : NULL, *request;
	const char *transport = transport_of(root), *name;

	json_object_foreach(json_object_get(root, "requests"), name, request)
	{
		if (transport == NULL)
			transport = transport_of(request);
	}
	json_decref(root);
	free(text);
	return transport;
}

/* Does the profile speak the other transport than the one after which the plugin is named? Not if
 * the entry makes another one of it. */
static bool is_of_other_plugin(const struct making *making)
{
	static const char *const keys[] = { "transport", "format", NULL };
	const bool is_snmp = strcmp(making->entry->plugin, "snmp") == 0;
	const yaml_node_t *slot[CONFIG_KEYS_MAX];
	const char *transport;

	if (making->source->profile == NULL || making->is_faulty ||
	    (!is_snmp && strcmp(making->entry->plugin, "http") != 0))
		return false;
	transport = profile_transport(making);
	if (transport == NULL || (strcmp(transport, "SNMP") == 0) == is_snmp)
		return false;
	(void)config_map(making->reader, making->entry->at, "a collector", keys, true, slot);
	return slot[0] == NULL && slot[1] == NULL;
}

/* All else that could be said of the entry would send somebody the wrong way. */
static void tell_other_plugin(const struct making *making)
{
	const bool is_snmp = strcmp(making->entry->plugin, "snmp") == 0;

	config_mistake(making->reader, making->entry->profile,
		       "profile %.100s speaks %s, and plugin %s does not: write plugin: %s, or "
		       "another profile",
		       making->source->profile, is_snmp ? "HTTP" : "SNMP", making->entry->plugin,
		       is_snmp ? "http" : "snmp");
}

/* What the profile says of the plugin's options, as long as the entry says nothing of them. */
static void take_presets(struct making *making, struct config_pair *preset, size_t *n)
{
	struct config_reader *reader = making->reader;
	char pointer[72];

	for (const struct cr_option *o = making->table; o->name != NULL; o++) {
		struct config_pair pair = { 0 };
		struct source_place place;

		(void)snprintf(pointer, sizeof pointer, "/%s", o->name);
		place = source_yaml_place(making->yaml, pointer);
		pair.value = source_yaml_take(making->yaml, o->name);
		if (pair.value == NULL)
			continue;
		if (*n == CONFIG_PAIRS_MAX || place.file == NULL) {
			free(pair.value);
			continue;
		}
		pair.name = config_copy(reader, o->name);
		pair.file = config_copy(reader, place.file);
		pair.line = (int)place.line;
		pair.column = (int)place.column;
		preset[(*n)++] = pair;
	}
}

/*** The entry ***/

static bool is_not_laid(void *user, const char *key)
{
	const struct making *making = user;

	return !is_of_language(making, key);
}

/* A key that is nothing at all, or that nobody writes by hand. */
static void check_key(struct making *making, const yaml_node_t *at, const char *key)
{
	const char *nearest;

	if (strcmp(key, CONFIG_SOURCE_OPTION) == 0) {
		config_mistake(making->reader, at,
			       "\"source\" is made of profile and the keys beside it; write those");
		return;
	}
	nearest = nearest_key(making, key, making->entry->own_keys);
	if (nearest != NULL)
		config_mistake(making->reader, at, "unknown key \"%.64s\"; did you mean \"%s\"?",
			       key, nearest);
	else
		config_mistake(making->reader, at,
			       "unknown key \"%.64s\"; it is neither of the source language nor an "
			       "option of plugin %s",
			       key, making->entry->plugin);
}

/* The keys of the entry that are no options, so that config_pairs() leaves them out; malloc'd. */
static const char **sort_keys(struct making *making)
{
	struct config_reader *reader = making->reader;
	const yaml_node_t *map = making->entry->at;
	const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	const char **others = config_array(reader, (size_t)(map->data.mapping.pairs.top - pair) + 1,
					   sizeof *others);
	size_t n = 0;

	for (; others != NULL && pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *at = yaml_document_get_node(&reader->document, pair->key);
		const char *key = (const char *)at->data.scalar.value;

		if (at->type != YAML_SCALAR_NODE)
			continue; /* config_map() has told */
		if (is_of_language(making, key))
			making->n_laid++;
		else if (!is_own(making, key) &&
			 (!is_option(making, key) || strcmp(key, CONFIG_SOURCE_OPTION) == 0))
			check_key(making, at, key);
		else if (is_option(making, key) && !is_own(making, key))
			continue;
		others[n++] = key;
	}
	return others;
}

static void add_pair(struct making *making, struct config_pair *pair)
{
	struct config_source *source = making->source;
	struct config_pair *grown = NULL;

	if (pair->name != NULL) /* else there was no memory for it */
		grown = reallocarray(source->options, source->n_options + 1, sizeof *grown);
	if (grown == NULL) {
		making->reader->is_out_of_memory = true;
		free(pair->name);
		free(pair->value);
		free(pair->file);
		return;
	}
	source->options = grown;
	grown[source->n_options++] = *pair;
}

static bool is_given(const struct config_source *source, const char *name)
{
	for (size_t i = 0; i < source->n_options; i++)
		if (strcmp(source->options[i].name, name) == 0)
			return true;
	return false;
}

static void add_presets(struct making *making, struct config_pair *preset, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (preset[i].name != NULL && preset[i].file != NULL &&
		    !is_given(making->source, preset[i].name)) {
			add_pair(making, &preset[i]);
			continue;
		}
		free(preset[i].name);
		free(preset[i].value);
		free(preset[i].file);
	}
}

/* Check the text of the whole, and make it the option. */
static void finish_text(struct making *making, struct config_source_nodes *nodes)
{
	struct config_reader *reader = making->reader;
	const yaml_node_t *at =
		making->entry->profile != NULL ? making->entry->profile : making->entry->at;
	struct config_pair pair = { .line = (int)at->start_mark.line + 1,
				    .column = (int)at->start_mark.column + 1 };
	struct source *parsed = NULL;

	pair.value = source_yaml_text(making->yaml);
	if (pair.value == NULL) {
		reader->is_out_of_memory = true;
		return;
	}
	if (making->entry->profile == NULL && making->n_laid == 0)
		config_mistake(reader, at,
			       "this collector has neither a profile nor fields; add profile: NAME "
			       "(callrouterctl profile list shows them)");
	else if (source_parse(pair.value, &parsed, take_source_fault, making) == -ENOMEM)
		reader->is_out_of_memory = true;
	if (parsed != NULL) {
		config_figures_read(reader, pair.value, making->source);
		config_vars_note(reader, parsed, making->yaml, making->source);
	}
	nodes->is_per_server = parsed != NULL && parsed->scope == SOURCE_SERVER;
	source_free(parsed);
	pair.name = config_copy(reader, CONFIG_SOURCE_OPTION);
	add_pair(making, &pair);
}

static void make_source(struct making *making, struct config_source_nodes *nodes)
{
	struct config_pair preset[CONFIG_PAIRS_MAX];
	const struct source_yaml_calls calls = { is_not_laid, take_yaml_fault, making };
	struct config_reader *reader = making->reader;
	const char **others = NULL;
	size_t n = 0;

	making->yaml = source_yaml_new();
	if (making->yaml != NULL && making->entry->profile != NULL)
		load_profile(making);
	if (making->yaml != NULL && is_of_other_plugin(making)) {
		tell_other_plugin(making);
		goto free_yaml;
	}
	others = sort_keys(making);
	if (making->yaml == NULL || others == NULL) {
		reader->is_out_of_memory = true;
		goto free_yaml;
	}
	take_presets(making, preset, &n);
	making->source->n_options = config_pairs(reader, making->entry->at, "a collector", others,
						 NULL, &making->source->options);
	add_presets(making, preset, n);
	if (source_yaml_lay(making->yaml, reader->path, &reader->document, making->entry->at,
			    &calls) == -ENOMEM)
		reader->is_out_of_memory = true;
	/* what is left of a broken profile would only be told to lack things */
	if (!making->is_faulty && !reader->is_out_of_memory)
		finish_text(making, nodes);
free_yaml:
	source_yaml_free(making->yaml);
	free(others);
}

/* The plugin's table; one that nobody knows is told of elsewhere. */
static bool find_table(struct making *making)
{
	const struct config_plugins *plugins = making->reader->plugins;
	struct err err = { 0, "" };

	if (plugins == NULL || making->entry->plugin == NULL ||
	    plugins->options(plugins->arg, false, making->entry->plugin, &making->table, &err) < 0)
		return false;
	making->has_source = is_option(making, CONFIG_SOURCE_OPTION);
	return true;
}

void config_profile_read(struct config_reader *reader, const struct config_entry *entry,
			 struct config_source *source, struct config_source_nodes *nodes)
{
	struct making making = { .reader = reader, .entry = entry, .source = source };
	const bool is_known = find_table(&making);
	const char *others[64];
	size_t n = 0;

	if (making.has_source) {
		make_source(&making, nodes);
		return;
	}
	/* any key may be an option; where nobody knows, those of the language are let be */
	for (const char *const *key = entry->own_keys; *key != NULL; key++)
		if (!is_known || strcmp(*key, "profile") != 0)
			others[n++] = *key;
	for (const char *const *key = source_language_keys; !is_known && *key != NULL; key++)
		others[n++] = *key;
	others[n] = NULL;
	source->n_options =
		config_pairs(reader, entry->at, "a collector", others, NULL, &source->options);
}
