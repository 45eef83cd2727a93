/* source_walk.c - careful steps over the JSON of a description, and faults with their place. */
#include "source_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "text.h"
#include "words.h"

int source_selector_fail(struct source_selector_fault *fault, size_t column, const char *fmt, ...)
{
	va_list args;

	fault->column = column;
	va_start(args, fmt);
	(void)vsnprintf(fault->text, sizeof fault->text, fmt, args);
	va_end(args);
	text_clean(fault->text);
	return -EINVAL;
}

void source_parser_pointer(char *buf, size_t len, const struct source_at *at)
{
	size_t n;

	if (at->up == NULL) {
		buf[0] = '\0';
		return;
	}
	source_parser_pointer(buf, len, at->up);
	n = strlen(buf);
	if (at->key == NULL) {
		(void)snprintf(buf + n, len - n, "/%zu", at->index);
		return;
	}
	if (n + 1 < len)
		buf[n++] = '/';
	for (const char *key = at->key; *key != '\0' && n + 2 < len; key++) {
		if (*key == '~' || *key == '/') {
			buf[n++] = '~';
			buf[n++] = (char)(*key == '~' ? '0' : '1');
		} else {
			buf[n++] = *key;
		}
	}
	buf[n] = '\0';
}

void source_parser_fault(struct source_parser *parser, const struct source_at *at, const char *fmt,
			 ...)
{
	char pointer[512], text[400];
	va_list args;

	parser->is_faulty = true;
	if (parser->on_fault == NULL)
		return;
	source_parser_pointer(pointer, sizeof pointer, at);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	text_clean(text);
	parser->on_fault(parser->user, pointer, text);
}

char *source_parser_copy(struct source_parser *parser, const char *text)
{
	char *copy = strdup(text);

	parser->is_out_of_memory |= copy == NULL;
	return copy;
}

void *source_parser_array(struct source_parser *parser, size_t n, size_t size)
{
	void *array = calloc(n > 0 ? n : 1, size);

	parser->is_out_of_memory |= array == NULL;
	return array;
}

static void note_unknown(struct source_parser *parser, const struct source_at *at, const char *what,
			 const char *word, const char *const *words)
{
	const char *nearest = text_nearest(word, words);
	char list[256];

	text_join(list, sizeof list, words);
	if (nearest != NULL)
		source_parser_fault(parser, at, "unknown %s \"%.64s\"; did you mean \"%s\"?", what,
				    word, nearest);
	else
		source_parser_fault(parser, at, "unknown %s \"%.64s\"; there are %s", what, word,
				    list);
}

bool source_parser_map(struct source_parser *parser, const struct source_at *at, const json_t *json,
		       const char *what, const char *const *words)
{
	const char *key;
	json_t *value;

	if (!json_is_object(json)) {
		source_parser_fault(parser, at, "%s has to be a map, key: value", what);
		return false;
	}
	if (words == NULL)
		return true;
	json_object_foreach((json_t *)(uintptr_t)json, key, value)
	{
		const struct source_at here = { at, key, 0 };

		(void)value;
		if (text_index(key, words) < 0)
			note_unknown(parser, &here, "key", key, words);
	}
	return true;
}

const char *source_parser_text(struct source_parser *parser, const struct source_at *at,
			       const json_t *json)
{
	const char *text = json_string_value(json);

	if (text == NULL)
		source_parser_fault(parser, at, "here has to be one value, no %s",
				    json_is_array(json) ? "list" : "map");
	else if (strlen(text) != json_string_length(json))
		source_parser_fault(parser, at, "the value holds a zero byte");
	else
		return text;
	return NULL;
}

int source_parser_word(struct source_parser *parser, const struct source_at *at, const json_t *json,
		       const char *const *words)
{
	const char *text = source_parser_text(parser, at, json);
	int i;

	if (text == NULL)
		return -1;
	i = text_index(text, words);
	if (i < 0)
		note_unknown(parser, at, "word", text, words);
	return i;
}

bool source_parser_bool(struct source_parser *parser, const struct source_at *at,
			const json_t *json)
{
	const char *text = source_parser_text(parser, at, json);
	bool value = false;

	if (text != NULL && text_bool(text, &value) < 0)
		source_parser_fault(parser, at, "\"%.64s\" is neither true nor false", text);
	return value;
}

size_t source_parser_count(const json_t *json)
{
	return json_is_array(json) ? json_array_size(json) : 1;
}

json_t *source_parser_item(const json_t *json, size_t i)
{
	return json_is_array(json) ? json_array_get(json, i) : (json_t *)(uintptr_t)json;
}

static void note_metric(struct source_parser *parser, const struct source_at *at, const char *name)
{
	const char *nearest = text_nearest(name, words_metric_names);

	if (nearest != NULL)
		source_parser_fault(parser, at, "unknown metric \"%.64s\"; did you mean \"%s\"?",
				    name, nearest);
	else
		source_parser_fault(parser, at,
				    "unknown metric \"%.64s\"; docs/sources.md lists the metrics, "
				    "like jvm_heap_used_bytes",
				    name);
}

size_t source_parser_metric(struct source_parser *parser, const struct source_at *at,
			    const char *name)
{
	struct source *source = parser->source;

	for (size_t i = 0; i < source->n_metrics; i++)
		if (strcmp(source->metric[i], name) == 0)
			return i;
	if (text_index(name, words_metric_names) < 0) {
		note_metric(parser, at, name);
		return SIZE_MAX;
	}
	if (source->n_metrics == SOURCE_METRICS_MAX) {
		source_parser_fault(parser, at, "more than %d metrics", SOURCE_METRICS_MAX);
		return SIZE_MAX;
	}
	source->metric[source->n_metrics] = source_parser_copy(parser, name);
	if (source->metric[source->n_metrics] == NULL)
		return SIZE_MAX;
	return source->n_metrics++;
}
