/* sources.c - profiles of the tree and keys over them; samples that must hold together. */
#include "sources.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_yaml.h"

static void tell(void *user, const char *pointer, const char *text)
{
	(void)user;
	(void)fprintf(stderr, "%s: %s\n", pointer, text);
}

static void tell_yaml(void *user, const struct source_place *place, const char *text)
{
	(void)user;
	(void)fprintf(stderr, "%zu:%zu: %s\n", place->line, place->column, text);
}

/* Profiles may hold presets of the plugin's options, too. */
static bool is_other(void *user, const char *key)
{
	size_t i = 0;

	(void)user;
	while (source_language_keys[i] != NULL && strcmp(source_language_keys[i], key) != 0)
		i++;
	return source_language_keys[i] == NULL;
}

static const struct source_yaml_calls calls = { is_other, tell_yaml, NULL };

static int lay(struct source_yaml *yaml, const char *keys)
{
	yaml_document_t document;
	yaml_parser_t parser;
	int rc = -1;

	if (!yaml_parser_initialize(&parser))
		abort();
	yaml_parser_set_input_string(&parser, (const unsigned char *)keys, strlen(keys));
	if (yaml_parser_load(&parser, &document)) {
		rc = source_yaml_lay(yaml, "keys", &document,
				     yaml_document_get_root_node(&document), &calls);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	return rc;
}

const struct source *fuzz_source(struct fuzz_description *description)
{
	struct source_yaml *yaml;
	char path[512], *json;
	int rc = 0;

	if (description->source != NULL)
		return description->source;
	yaml = source_yaml_new();
	if (yaml == NULL)
		abort();
	if (description->profile != NULL) {
		(void)snprintf(path, sizeof path, "%s/%s.yaml", FUZZ_PROFILES,
			       description->profile);
		rc = source_yaml_load(yaml, path, &calls);
	}
	if (rc == 0 && description->keys != NULL)
		rc = lay(yaml, description->keys);
	json = rc == 0 ? source_yaml_text(yaml) : NULL;
	if (json == NULL || source_parse(json, &description->source, tell, NULL) < 0)
		fuzz_expect(false, description->profile != NULL ? description->profile
								: description->keys);
	free(json);
	source_yaml_free(yaml);
	return description->source;
}

static void expect_row(const struct source_sample *sample, const struct source_row *row)
{
	fuzz_expect_line(row->name, "a row's name is no line");
	fuzz_expect_line(row->why, "why a row is skipped is no line");
	fuzz_expect(row->taken_ns >= 0, "a row of a negative time");
	for (size_t k = 0; k < sample->source->n_metrics; k++)
		if (row->state[k] == SOURCE_FOUND)
			fuzz_expect(isfinite(row->value[k]) && row->value[k] >= 0,
				    "a figure that cannot be true");
		else
			fuzz_expect(isnan(row->value[k]), "a figure that was not found");
}

void fuzz_sample_end(struct source_sample *sample, const char *server)
{
	const int rc = source_end(sample, server);

	fuzz_expect(rc == 0 || sample->text[0] != '\0', "a failure without a text");
	fuzz_expect_line(sample->text, "the verdict is no line");
	fuzz_expect(sample->n_notes <= SOURCE_NOTES_MAX, "too many notes");
	for (size_t i = 0; i < sample->n_notes; i++)
		fuzz_expect_line(sample->note[i].text, "a note is no line");
	for (size_t i = 0; i < sample->n_rows; i++)
		expect_row(sample, &sample->row[i]);
	source_sample_free(sample);
}

void fuzz_answer(struct fuzz_description *descriptions, size_t n, struct fuzz_input *in)
{
	static const char *const types[] = { NULL, "text/html", "text/plain", "application/json",
					     "application/openmetrics-text" };
	static const long statuses[] = { 200, 0, 404, 401, 302, 503, 400 };
	const struct source *source = fuzz_source(&descriptions[fuzz_byte(in) % n]);
	const uint8_t how = fuzz_byte(in);
	const char *server = how >= 128 ? "ms1" : NULL;
	struct source_sample *sample = source_sample_new(source);
	struct source_answer answer = { 0 };
	char *bytes;

	if (sample == NULL)
		abort();
	/* Most of them with a good status and no type: else few would be read. */
	if (how % 8 == 7)
		answer.status = statuses[fuzz_below(in, sizeof statuses / sizeof *statuses)];
	if (how % 8 >= 6)
		answer.content_type = types[fuzz_below(in, sizeof types / sizeof *types)];
	bytes = fuzz_rest(in, &answer.len);
	answer.bytes = bytes;
	for (size_t i = 0; i < source->n_requests; i++)
		(void)source_extract(sample, i, &answer);
	free(bytes);
	fuzz_sample_end(sample, server);
}
