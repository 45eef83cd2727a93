/*
 * source_promql.c - answers of a Prometheus server to /api/v1/query. Every series of a vector is a
 * row; selectors are "value", "time" (of the evaluation) or the name of a label.
 */
#include "source_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The selector is its own text. */
static int compile(const char *text, void **out, struct source_selector_fault *fault)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				      "0123456789";
	const size_t len = strspn(text, letters);

	if (text[0] == '\0' || (text[0] >= '0' && text[0] <= '9'))
		return source_selector_fail(fault, 1, "write value, time, or a label's name");
	if (text[len] != '\0')
		return source_selector_fail(fault, len + 1,
					    "no such letter in a label's name; the query itself "
					    "stands in path");
	*out = strdup(text);
	return *out != NULL ? 0 : -ENOMEM;
}

/* point: [time, "value"] */
static void read_point(struct source_reading *reading, size_t row, const json_t *labels,
		       const json_t *point)
{
	const struct source_parts *parts = reading->parts;

	for (size_t slot = 0; slot < parts->n_slots; slot++) {
		for (size_t i = 0; i < parts->slot[slot].n_selectors; i++) {
			const char *selector = parts->slot[slot].selector[i];
			const json_t *json;
			struct source_raw raw;

			if (strcmp(selector, "value") == 0)
				json = json_array_get(point, 1);
			else if (strcmp(selector, "time") == 0)
				json = json_array_get(point, 0);
			else
				json = json_object_get(labels, selector);
			if (json == NULL)
				continue;
			raw = source_json_raw(json);
			source_sheet_take(reading->sheet, row, slot, &raw);
		}
	}
}

static bool has_key(const struct source_parts *parts)
{
	for (size_t slot = 0; slot < parts->n_slots; slot++)
		if (parts->slot[slot].role == SOURCE_ROLE_KEY)
			return true;
	return false;
}

static int read_vector(struct source_reading *reading, const json_t *result)
{
	const bool is_named = has_key(reading->parts);
	const json_t *series;
	size_t i;

	if (json_array_size(result) == 0)
		return source_reading_fail(reading, CR_ABSENT,
					   "the query has no result: no such series, or its "
					   "servers are down");
	json_array_foreach(result, i, series)
	{
		const json_t *point = json_object_get(series, "value");
		const size_t row = is_named ? source_sheet_row(reading->sheet) : 0;

		if (!json_is_array(point))
			return source_reading_fail(reading, CR_REPLY, "a series has no value");
		if (is_named && row == 0)
			return 0; /* the sheet says why */
		read_point(reading, row, json_object_get(series, "metric"), point);
	}
	return 0;
}

static const char *text_of(const json_t *object, const char *key, const char *preset)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : preset;
}

static int read_answer(struct source_reading *reading, const json_t *root)
{
	const char *status = text_of(root, "status", NULL);
	const json_t *data = json_object_get(root, "data");
	const json_t *result = json_object_get(data, "result");
	const char *type = text_of(data, "resultType", "");

	if (status == NULL)
		return source_reading_fail(reading, CR_REPLY,
					   "not an answer of Prometheus: it has no status");
	if (strcmp(status, "success") != 0)
		return source_reading_fail(reading, CR_REPLY, "Prometheus says %s: %.160s",
					   text_of(root, "errorType", "error"),
					   text_of(root, "error", "no reason given"));
	if (strcmp(type, "vector") == 0 && json_is_array(result))
		return read_vector(reading, result);
	if (strcmp(type, "scalar") != 0 || !json_is_array(result))
		return source_reading_fail(reading, CR_REPLY,
					   "the query's result is a \"%.20s\"; it has to be a "
					   "vector or a scalar",
					   type);
	if (has_key(reading->parts))
		return source_reading_fail(reading, CR_REPLY,
					   "the query's result is a scalar, which has no labels");
	read_point(reading, 0, NULL, result);
	return 0;
}

static int read_promql(struct source_reading *reading, const struct source_answer *answer)
{
	json_t *root = source_json_load(reading, answer);
	int rc;

	if (root == NULL)
		return -EPROTO;
	rc = read_answer(reading, root);
	json_decref(root);
	return rc;
}

const struct source_kind source_kind_promql = {
	.word = "promql",
	.accept = "application/json",
	.has_labels = true,
	.compile = compile,
	.release = free,
	.read = read_promql,
};
