/*
 * source_bench.h - what the tests of the source language have in common: descriptions in YAML,
 * captures, and what came out of them.
 */
#ifndef CR_TESTS_SOURCE_BENCH_H
#define CR_TESTS_SOURCE_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "source.h"
#include "source_yaml.h"

static char bench_faults[8192]; /* "POINTER: TEXT\n" each */
static struct source *bench_source;
static struct source_sample *bench_sample;

static inline void bench_note(void *user, const char *pointer, const char *text)
{
	const size_t used = strlen(bench_faults);

	(void)user;
	snprintf(bench_faults + used, sizeof bench_faults - used, "%s: %s\n", pointer, text);
}

static inline void bench_note_yaml(void *user, const struct source_place *place, const char *text)
{
	const size_t used = strlen(bench_faults);

	(void)user;
	snprintf(bench_faults + used, sizeof bench_faults - used, "%zu:%zu: %s\n", place->line,
		 place->column, text);
}

static const struct source_yaml_calls bench_calls = { NULL, bench_note_yaml, NULL };

static inline int bench_lay(struct source_yaml *yaml, const char *text)
{
	yaml_parser_t parser;
	yaml_document_t document;
	int rc;

	cr_assert(yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	cr_assert(yaml_parser_load(&parser, &document), "%s in %s", parser.problem, text);
	rc = source_yaml_lay(yaml, "text", &document, yaml_document_get_root_node(&document),
			     &bench_calls);
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	return rc;
}

static inline void bench_end(void)
{
	source_sample_free(bench_sample);
	source_free(bench_source);
	bench_sample = NULL;
	bench_source = NULL;
}

/* Parse a profile (NULL: none) with keys laid over it (NULL: none); faults are in bench_faults. */
static inline int bench_parse(const char *profile, const char *keys)
{
	struct source_yaml *yaml = source_yaml_new();
	char path[512], *json;
	int rc = 0;

	bench_end();
	bench_faults[0] = '\0';
	snprintf(path, sizeof path, "%s/%s.yaml", LAB_PROFILES, profile != NULL ? profile : "");
	if (profile != NULL)
		rc = source_yaml_load(yaml, path, &bench_calls);
	if (rc == 0 && keys != NULL)
		rc = bench_lay(yaml, keys);
	if (rc == 0) {
		json = source_yaml_text(yaml);
		rc = source_parse(json, &bench_source, bench_note, NULL);
		free(json);
	}
	source_yaml_free(yaml);
	return rc;
}

/* The same, and it has to be good; an empty sample is ready. */
static inline void bench_begin(const char *profile, const char *keys)
{
	cr_assert_eq(bench_parse(profile, keys), 0, "%s %s: %s", profile != NULL ? profile : "",
		     keys != NULL ? keys : "", bench_faults);
	bench_sample = source_sample_new(bench_source);
}

/* The answers to all requests, as texts; NULL: that one is not answered. Returns source_end(). */
static inline int bench_answer(const char *server, size_t n, const char *const *body)
{
	source_sample_free(bench_sample);
	bench_sample = source_sample_new(bench_source);
	for (size_t i = 0; i < n; i++) {
		const struct source_answer answer = { .bytes = body[i],
						      .len = body[i] ? strlen(body[i]) : 0 };

		if (body[i] != NULL)
			source_extract(bench_sample, i, &answer);
	}
	return source_end(bench_sample, server);
}

/* One answer about one server. */
static inline int bench_read(const char *body)
{
	return bench_answer("ms1", 1, &body);
}

/*** Captures ***/

struct bench_capture {
	char *bytes, type[80];
	size_t len;
	long status;
};

static inline char *bench_file(const char *name, size_t *len)
{
	char path[512];
	FILE *file;
	char *bytes = calloc(1, 1 << 20);

	snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
	file = fopen(path, "r");
	if (file == NULL) {
		free(bytes);
		return NULL;
	}
	*len = fread(bytes, 1, (1 << 20) - 1, file);
	fclose(file);
	return bytes;
}

/* The headers that came with a capture, if they were kept; freed by the caller. */
static inline char *bench_headers(const char *name)
{
	/* Those of the same page at another moment: {beginning, whose headers}. */
	static const char *const same[][2] = { { "tomcat10_status.xml", "tomcat_status_xml" },
					       { "tomcat10_status.json", "tomcat_status_json" },
					       { "tomcat10_jmxproxy_", "tomcat_jmxproxy" } };
	char path[256];
	size_t len;

	snprintf(path, sizeof path, "%.*s.headers", (int)strcspn(name, "."), name);
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (strncmp(name, same[i][0], strlen(same[i][0])) == 0)
			snprintf(path, sizeof path, "%s.headers", same[i][1]);
	return bench_file(path, &len);
}

/* A file of tests/data. A last line "HTTP 400" is its status; so is what its headers say. */
static inline void bench_load(struct bench_capture *capture, const char *name)
{
	char *text, *at;

	*capture = (struct bench_capture){ 0 };
	capture->bytes = bench_file(name, &capture->len);
	cr_assert_not_null(capture->bytes, "%s", name);
	at = strstr(capture->bytes, "\nHTTP ");
	if (at != NULL) {
		capture->status = strtol(at + 6, NULL, 10);
		capture->len = (size_t)(at - capture->bytes);
	}
	text = bench_headers(name);
	if (text == NULL)
		return;
	capture->status = strtol(strchr(text, ' '), NULL, 10);
	at = strstr(text, "Content-Type: ");
	if (at != NULL)
		snprintf(capture->type, sizeof capture->type, "%.*s", (int)strcspn(at + 14, "\r\n"),
			 at + 14);
	free(text);
}

static inline int bench_replay(const char *server, size_t n, const char *const *names)
{
	source_sample_free(bench_sample);
	bench_sample = source_sample_new(bench_source);
	for (size_t i = 0; i < n; i++) {
		struct bench_capture capture;
		struct source_answer answer;

		bench_load(&capture, names[i]);
		answer = (struct source_answer){ .bytes = capture.bytes,
						 .len = capture.len,
						 .status = capture.status,
						 .content_type = capture.type };
		source_extract(bench_sample, i, &answer);
		free(capture.bytes);
	}
	return source_end(bench_sample, server);
}

/*** What came out ***/

static inline const struct source_row *bench_row(const char *name)
{
	for (size_t i = 0; i < bench_sample->n_rows; i++)
		if (strcmp(bench_sample->row[i].name, name) == 0)
			return &bench_sample->row[i];
	return NULL;
}

static inline size_t bench_metric(const char *metric)
{
	for (size_t i = 0; i < bench_source->n_metrics; i++)
		if (strcmp(bench_source->metric[i], metric) == 0)
			return i;
	cr_assert_fail("no metric %s", metric);
	return 0;
}

static inline double bench_value(const char *row, const char *metric)
{
	const struct source_row *found = bench_row(row);

	return found != NULL ? found->value[bench_metric(metric)] : (double)NAN;
}

static inline enum source_state bench_state(const char *row, const char *metric)
{
	const struct source_row *found = bench_row(row);

	return found != NULL ? found->state[bench_metric(metric)] : SOURCE_MISSING;
}

/* Is there a note about this row with this text in it? */
static inline bool bench_has_note(const char *row, const char *text)
{
	for (size_t i = 0; i < bench_sample->n_notes; i++)
		if (strcmp(bench_sample->note[i].row, row) == 0 &&
		    strstr(bench_sample->note[i].text, text) != NULL)
			return true;
	return false;
}

#define EXPECT_FAILED(rc, why_, text_)                                                             \
	do {                                                                                       \
		cr_expect_lt(rc, 0, "it was good");                                                \
		cr_expect_eq(bench_sample->why, why_, "why is %d: %s", bench_sample->why,          \
			     bench_sample->text);                                                  \
		cr_expect(strstr(bench_sample->text, text_) != NULL, "\"%s\" has no \"%s\"",       \
			  bench_sample->text, text_);                                              \
	} while (0)

#endif
