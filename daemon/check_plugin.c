/* check_plugin.c - a plugin and its options on trial, with nothing else around. */
#include "check_plugin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "option.h"
#include "ranker.h"
#include "source.h"
#include "source_yaml.h"
#include "text.h"

#define EXIT_USAGE 2

/* NAME of a file NAME.so: plugins.d takes it under no other name. malloc'd; NULL: not a .so. */
static char *plugin_name_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
	const size_t len = strlen(base);

	if (len <= 3 || strcmp(base + len - 3, ".so") != 0)
		return NULL;
	return strndup(base, len - 3);
}

/* Options under way; texts are borrowed, but for source and presets. */
struct given {
	struct option_text *option;
	size_t n;
	struct source_yaml *yaml; /* NULL: the plugin reads no source language */
	char *source;
	char **preset; /* [n_presets] */
	size_t n_presets;
	bool is_faulty;
};

static void take_yaml_fault(void *user, const struct source_place *place, const char *text)
{
	struct given *given = user;

	given->is_faulty = true;
	(void)fprintf(stderr, "%s:%zu:%zu: %s\n", place->file, place->line, place->column, text);
}

static void take_source_fault(void *user, const char *pointer, const char *text)
{
	struct given *given = user;
	const struct source_place place = source_yaml_place(given->yaml, pointer);

	if (place.file != NULL) {
		take_yaml_fault(given, &place, text);
		return;
	}
	given->is_faulty = true;
	(void)fprintf(stderr, "callrouterd: %s\n", text);
}

static bool is_of_language(const struct cr_option *table, const char *name)
{
	return text_index(name, source_language_keys) >= 0 && option_find(table, name) < 0;
}

static void load_profile(struct given *given, const struct profiles *profiles, const char *name)
{
	const struct source_yaml_calls calls = { .on_fault = take_yaml_fault, .user = given };
	char *path = profiles_is_path(name) ? strdup(name) : profiles_find(profiles, name);
	char nearest[64];

	if (path != NULL) {
		given->is_faulty |= source_yaml_load(given->yaml, path, &calls) < 0;
	} else {
		given->is_faulty = true;
		if (profiles_nearest(profiles, name, nearest, sizeof nearest))
			(void)fprintf(stderr,
				      "callrouterd: no profile \"%s\"; did you mean \"%s\"?\n",
				      name, nearest);
		else
			(void)fprintf(stderr, "callrouterd: no profile \"%s\"\n", name);
	}
	free(path);
}

/* One key of the language over what there is. */
static void lay_key(struct given *given, const char *name, const char *value)
{
	const struct source_yaml_calls calls = { .on_fault = take_yaml_fault, .user = given };
	yaml_parser_t parser;
	yaml_document_t document;
	char *text;

	if (asprintf(&text, "%s: %s\n", name, value) < 0 || !yaml_parser_initialize(&parser)) {
		given->is_faulty = true;
		return;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	if (yaml_parser_load(&parser, &document)) {
		given->is_faulty |=
			source_yaml_lay(given->yaml, "command line", &document,
					yaml_document_get_root_node(&document), &calls) < 0;
		yaml_document_delete(&document);
	} else {
		given->is_faulty = true;
		(void)fprintf(stderr, "callrouterd: %s is not YAML: %s\n", name, parser.problem);
	}
	yaml_parser_delete(&parser);
	free(text);
}

static bool has(const struct given *given, const char *name)
{
	for (size_t i = 0; i < given->n; i++)
		if (strcmp(given->option[i].name, name) == 0)
			return true;
	return false;
}

/* What the profile presets, and all the rest as one text. */
static void finish_source(struct given *given, const struct cr_option *table)
{
	struct source *source = NULL;

	for (const struct cr_option *o = table; o->name != NULL; o++) {
		char *value = source_yaml_take(given->yaml, o->name);

		if (value == NULL)
			continue;
		given->preset[given->n_presets++] = value;
		if (!has(given, o->name))
			given->option[given->n++] = (struct option_text){ o->name, value };
	}
	given->source = source_yaml_text(given->yaml);
	if (given->source == NULL) {
		given->is_faulty = true;
		return;
	}
	if (!given->is_faulty && strcmp(given->source, "{}") != 0)
		(void)source_parse(given->source, &source, take_source_fault, given);
	source_free(source);
	if (strcmp(given->source, "{}") != 0)
		given->option[given->n++] = (struct option_text){ "source", given->source };
}

/* Sort "NAME=VALUE" words. Returns false after a message. */
static bool sort_options(struct given *given, char **word, int n, const struct cr_option *table,
			 const struct profiles *profiles)
{
	for (int i = 0; i < n; i++) {
		char *equals = strchr(word[i], '=');

		if (equals == NULL) {
			(void)fprintf(stderr,
				      "callrouterd: option \"%s\" is not of the form NAME=VALUE\n",
				      word[i]);
			return false;
		}
		*equals = '\0';
		if (given->yaml != NULL && strcmp(word[i], "profile") == 0)
			load_profile(given, profiles, equals + 1);
	}
	for (int i = 0; i < n; i++) {
		char *value = word[i] + strlen(word[i]) + 1;

		if (given->yaml != NULL && strcmp(word[i], "profile") == 0)
			continue;
		if (given->yaml != NULL && is_of_language(table, word[i]))
			lay_key(given, word[i], value);
		else
			given->option[given->n++] = (struct option_text){ word[i], value };
	}
	if (given->yaml != NULL)
		finish_source(given, table);
	return true;
}

static void given_fini(struct given *given)
{
	for (size_t i = 0; i < given->n_presets; i++)
		free(given->preset[i]);
	free(given->preset);
	free(given->option);
	free(given->source);
	source_yaml_free(given->yaml);
}

static int try_plugin(const struct ranker_facts *facts, const char *file, const char *path,
		      const struct given *given)
{
	char *packed = option_pack(given->option, given->n);
	const struct ranker_load load = {
		.path = path, .plugin = facts->name, .service = "check", .options = packed
	};
	struct err err = { -ENOMEM, "no memory" };
	char *lines = NULL, *rest, *line;
	const int failed = packed != NULL ? ranker_check(&load, true, &lines, &err) : -ENOMEM;

	if (failed < 0 && lines == NULL)
		(void)fprintf(stderr, "%s: refused: %s\n", file, err.text);
	for (rest = lines; (line = strsep(&rest, "\n")) != NULL;)
		if (line[0] != '\0') {
			text_clean(line);
			(void)fprintf(stderr, "%s: refused: open() failed: %s\n", file, line);
		}
	if (failed >= 0)
		(void)printf("%s: good: %s %s %s: %s\n", file,
			     facts->kind == PLUGIN_ROUTER ? "router" : "collector", facts->name,
			     facts->version, facts->summary);
	free(lines);
	free(packed);
	return failed < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int check_described(const struct ranker_facts *facts, const char *file, const char *path,
			   char **word, int n, const struct profiles *profiles)
{
	const size_t n_options = option_count(facts->options);
	struct given given = { .option = calloc((size_t)n + n_options + 2, sizeof *given.option),
			       .preset = calloc(n_options + 1, sizeof *given.preset) };
	int status = EXIT_FAILURE;

	if (facts->kind == PLUGIN_COLLECTOR && option_find(facts->options, "source") >= 0)
		given.yaml = source_yaml_new();
	if (given.option == NULL || given.preset == NULL)
		(void)fprintf(stderr, "callrouterd: no memory\n");
	else if (!sort_options(&given, word, n, facts->options, profiles))
		status = EXIT_USAGE;
	else if (!given.is_faulty)
		status = try_plugin(facts, file, path, &given);
	given_fini(&given);
	return status;
}

int check_plugin(const char *file, char **option, int n_options, const struct profiles *profiles)
{
	char *path = realpath(file, NULL), *name = plugin_name_of(file);
	struct ranker_facts *facts = NULL;
	struct err err = { 0, "" };
	int status = EXIT_FAILURE;

	if (path == NULL)
		(void)fprintf(stderr, "%s: %s\n", file, err_words(errno));
	else if (ranker_describe(path, name, &facts, &err) < 0)
		(void)fprintf(stderr, "%s: refused: %s\n", file, err.text);
	else
		status = check_described(facts, file, path, option, n_options, profiles);
	ranker_facts_free(facts);
	free(name);
	free(path);
	return status;
}
