/* config_options.c - the options of plugins: secrets come from guarded files, the rest is checked
 * against the plugin's table. */
#include "config_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "secret.h"
#include "text.h"

/* How much of a file is judged. */
enum guard { GUARD_NONE = 0, GUARD_FILE, GUARD_LINE };

/* By the option's name: a secret in a file's first line, or one in a form of the plugin's own. */
static enum guard guard_of(const char *option)
{
	static const struct {
		const char *ending;
		enum guard guard;
	} secrets[] = {
		{ "community_file", GUARD_LINE }, { "password_file", GUARD_LINE },
		{ "token_file", GUARD_LINE },     { "key_file", GUARD_FILE },
		{ "secret_file", GUARD_FILE },    { "secret_header_file", GUARD_LINE },
	};

	for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
		if (text_ends_in(option, secrets[i].ending))
			return secrets[i].guard;
	return GUARD_NONE;
}

/* The daemon may run in another folder than the one in which the file was checked. A profile's
 * folder is not its user's. */
static void make_absolute(struct config_reader *reader, struct config_pair *pair)
{
	char *path;

	if (pair->value[0] == '/' || pair->value[0] == '\0')
		return;
	if (asprintf(&path, "%s/%s", reader->folder, pair->value) < 0) {
		reader->is_out_of_memory = true;
		return;
	}
	free(pair->value);
	pair->value = path;
}

/* By the rules by which collectors read it, so that a good one will do when it is polled. */
static void check_secret(struct config_reader *reader, const struct config_pair *pair,
			 const yaml_node_t *at, enum guard guard)
{
	const struct config_place place = config_pair_place(pair, at);
	char text[2 * CONFIG_TEXT_MAX + 300]; /* it names the file twice */
	struct secret secret;
	int code;

	if (pair->value[0] == '\0') {
		config_mistake_in(reader, &place, "%s is empty; name a file", pair->name);
		return;
	}
	if (guard == GUARD_FILE)
		code = secret_check(pair->name, pair->value, text, sizeof text);
	else
		code = secret_read(&secret, pair->name, pair->value, text, sizeof text);
	if (guard == GUARD_LINE)
		secret_wipe(&secret);
	if (code < 0)
		config_mistake_in(reader, &place, "%s", text);
}

static void check_files(struct config_reader *reader, const struct config_options *options)
{
	for (size_t i = 0; i < options->n; i++) {
		struct config_pair *pair = &options->pairs[i];
		enum guard guard;

		if (!text_ends_in(pair->name, "_file"))
			continue;
		make_absolute(reader, pair);
		guard = guard_of(pair->name);
		if (guard != GUARD_NONE)
			check_secret(reader, pair, options->profile_at, guard);
	}
}

static void check_given(struct config_reader *reader, const struct config_options *options,
			const struct cr_option *table)
{
	for (size_t i = 0; i < options->n; i++) {
		const struct config_pair *pair = &options->pairs[i];
		const struct config_place place = config_pair_place(pair, options->profile_at);
		const char *nearest = NULL;
		struct err err;
		const int r = option_check(table, pair->name, pair->value, &err);

		if (r >= 0)
			continue;
		if (r == -ENOENT && options->own_keys != NULL)
			nearest = text_nearest(pair->name, options->own_keys);
		if (nearest != NULL)
			config_mistake_in(reader, &place,
					  "unknown key \"%s\"; did you mean \"%s\"?", pair->name,
					  nearest);
		else
			config_mistake_in(reader, &place, "plugin %s: %s", options->plugin,
					  err.text);
	}
}

static bool is_given(const struct config_options *options, const char *name)
{
	for (size_t i = 0; i < options->n; i++)
		if (strcmp(options->pairs[i].name, name) == 0)
			return true;
	return false;
}

/* All that are missing at once, where option_parse() would tell of the first. */
static void check_missing(struct config_reader *reader, const struct config_options *options,
			  const struct cr_option *table)
{
	for (size_t i = 0; i < option_count(table); i++)
		if (table[i].preset == NULL && !is_given(options, table[i].name) &&
		    (options->is_router || strcmp(table[i].name, CONFIG_SOURCE_OPTION) != 0))
			config_mistake(reader, options->at,
				       "plugin %s: option \"%s\" is missing, add it: %s",
				       options->plugin, table[i].name,
				       table[i].help != NULL ? table[i].help : "no help");
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

static const struct config_pair *find_given(const struct config_options *options, const char *name,
					    size_t len)
{
	for (size_t i = 0; i < options->n; i++)
		if (strlen(options->pairs[i].name) == len &&
		    strncmp(options->pairs[i].name, name, len) == 0)
			return &options->pairs[i];
	return NULL;
}

static bool begins_with_option(const struct cr_option *table, const char *line)
{
	const size_t len = strspn(line, letters);

	for (size_t i = 0; i < option_count(table); i++)
		if (strlen(table[i].name) == len && strncmp(table[i].name, line, len) == 0)
			return true;
	return false;
}

/* What a line is about that begins with an option's name: the first one that is given of those
 * before its colon, as in "user and password_file: give both or none". NULL: none. */
static const struct config_pair *subject_of(const struct config_options *options,
					    const struct cr_option *table, const char *line)
{
	const char *end = line + strcspn(line, ":");
	const struct config_pair *pair = NULL;

	if (!begins_with_option(table, line))
		return NULL;
	while (pair == NULL && line < end) {
		const size_t len = strspn(line, letters);

		pair = find_given(options, line, len);
		line += len;
		line += line < end ? strcspn(line, letters) : 0;
	}
	return pair;
}

/* Each where its option stands; what is about none, or one that is not given, at the plugin. */
static void tell_refused(struct config_reader *reader, const struct config_options *options,
			 const struct cr_option *table, char *lines)
{
	const char *line;

	while ((line = strsep(&lines, "\n")) != NULL) {
		const struct config_pair *pair = subject_of(options, table, line);

		if (line[0] == '\0')
			continue;
		if (pair != NULL && pair->line > 0) {
			const struct config_place place =
				config_pair_place(pair, options->profile_at);

			config_mistake_in(reader, &place, "plugin %s: %s", options->plugin, line);
		} else {
			config_mistake(reader, options->plugin_at, "plugin %s: %s", options->plugin,
				       line);
		}
	}
}

/* Some values only the plugin itself can judge. */
static bool check_accepted(struct config_reader *reader, const struct config_options *options,
			   const struct cr_option *table)
{
	const struct config_plugins *plugins = reader->plugins;
	char *packed = config_pack(options->pairs, options->n);
	struct err err = { 0, "" };
	char *lines = NULL;
	int r = -ENOMEM;

	if (packed == NULL)
		reader->is_out_of_memory = true;
	else
		r = plugins->accepts(plugins->arg, options->plugin, packed, &lines, &err);
	if (lines != NULL)
		tell_refused(reader, options, table, lines);
	else if (r < 0 && packed != NULL)
		config_mistake(reader, options->plugin_at, "plugin %s", err.text);
	free(lines);
	free(packed);
	return r >= 0;
}

bool config_options_check(struct config_reader *reader, const struct config_options *options)
{
	const struct config_plugins *plugins = reader->plugins;
	const size_t n = reader->n_mistakes + reader->n_unlisted;
	const struct cr_option *table = NULL;
	struct err err = { 0, "" };

	check_files(reader, options);
	if (plugins == NULL || options->plugin == NULL || reader->is_out_of_memory)
		return false;
	if (plugins->options(plugins->arg, options->is_router, options->plugin, &table, &err) < 0) {
		config_mistake(reader, options->plugin_at, "%s", err.text);
		return false;
	}
	check_given(reader, options, table);
	check_missing(reader, options, table);
	if (options->is_faulty || reader->n_mistakes + reader->n_unlisted > n ||
	    reader->is_out_of_memory)
		return false;
	return plugins->accepts == NULL || check_accepted(reader, options, table);
}
