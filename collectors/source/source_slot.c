/* source_slot.c - reads what stands under ok, key, fields ...: selectors with what is to be done
 * with the values they find. */
#include "source_slot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "text.h"

struct unit {
	const char *word;
	double factor;
	const char *end; /* of the metrics that have it; NULL: all */
};

static const struct unit units[] = {
	{ "none", 1, NULL },           { "b", 1, "_bytes" },
	{ "kb", 1e3, "_bytes" },       { "kib", 1024, "_bytes" },
	{ "mb", 1e6, "_bytes" },       { "mib", 1048576, "_bytes" },
	{ "gb", 1e9, "_bytes" },       { "gib", 1073741824, "_bytes" },
	{ "percent", 0.01, "_ratio" }, { "ratio", 1, "_ratio" },
	{ "s", 1, "_seconds" },        { "ms", 1e-3, "_seconds" },
	{ "ns", 1e-9, "_seconds" },
};
static const char *const unit_words[] = { "none", "b",       "kb",    "kib", "mb", "mib", "gb",
					  "gib",  "percent", "ratio", "s",   "ms", "ns",  NULL };

static const char *const condition_keys[] = { "select", "equals", NULL };
static const char *const where_keys[] = { "select", "equals", "optional", NULL };
static const char *const key_keys[] = { "select", "after", "before", "map", NULL };
static const char *const time_keys[] = { "select", "unit", NULL };
static const char *const select_keys[] = { "select", NULL };
static const char *const field_keys[] = { "select",   "unit",  "reduce", "undefined", "type",
					  "optional", "after", "before", "map",       NULL };

static const char *const reduce_words[] = { "first", "sum", "max", "min", "count", "mean", NULL };
static const char *const type_words[] = { "number", "bool", "string", NULL };
static const char *const undefined_words[] = { "none", "negative", "zero", NULL };

static const char *const *keys_of(enum source_role role)
{
	switch (role) {
	case SOURCE_ROLE_OK:
	case SOURCE_ROLE_SKIP:
		return condition_keys;
	case SOURCE_ROLE_WHERE:
		return where_keys;
	case SOURCE_ROLE_ERROR:
		return select_keys;
	case SOURCE_ROLE_KEY:
		return key_keys;
	case SOURCE_ROLE_FIELD:
		return field_keys;
	case SOURCE_ROLE_TIME:
		return time_keys;
	}
	return condition_keys;
}

/*** Selectors ***/

void *source_slot_compile(struct source_parser *parser, const struct source_at *at,
			  const struct source_kind *kind, const char *text)
{
	struct source_selector_fault fault = { 0, "" };
	void *selector = NULL;
	const int rc = kind->compile(text, &selector, &fault);

	if (rc == -ENOMEM)
		parser->is_out_of_memory = true;
	else if (rc < 0)
		source_parser_fault(parser, at, "selector \"%.100s\", column %zu: %s", text,
				    fault.column, fault.text);
	return rc == 0 ? selector : NULL;
}

static void read_selectors(struct source_parser *parser, const struct source_at *at,
			   const json_t *json, const struct source_kind *kind,
			   struct source_slot *slot)
{
	const size_t n = source_parser_count(json);

	if (n == 0) {
		source_parser_fault(parser, at, "an empty list; write a selector");
		return;
	}
	slot->selector = source_parser_array(parser, n, sizeof *slot->selector);
	slot->oid = source_parser_array(parser, n, sizeof *slot->oid);
	for (size_t i = 0; slot->selector != NULL && slot->oid != NULL && i < n; i++) {
		const struct source_at item = { at, NULL, i };
		const struct source_at *here = json_is_array(json) ? &item : at;
		const char *text = source_parser_text(parser, here, source_parser_item(json, i));
		void *selector = NULL;

		if (text != NULL)
			selector = source_slot_compile(parser, here, kind, text);
		if (selector == NULL)
			continue;
		if (slot->where == NULL)
			slot->where = source_parser_copy(parser, text);
		slot->selector[slot->n_selectors++] = selector;
	}
}

/*** What is done with the values ***/

static void read_equals(struct source_parser *parser, const struct source_at *at,
			const json_t *json, struct source_slot *slot)
{
	const size_t n = source_parser_count(json);

	slot->equals = source_parser_array(parser, n, sizeof *slot->equals);
	for (size_t i = 0; slot->equals != NULL && i < n; i++) {
		const struct source_at item = { at, NULL, i };
		const char *text = source_parser_text(parser, json_is_array(json) ? &item : at,
						      source_parser_item(json, i));

		if (text != NULL)
			slot->equals[slot->n_equals++] = source_parser_copy(parser, text);
	}
}

static void read_map(struct source_parser *parser, const struct source_at *at, const json_t *json,
		     struct source_slot *slot)
{
	const char *key;
	json_t *value;

	if (!source_parser_map(parser, at, json, "map", NULL))
		return;
	slot->map = source_parser_array(parser, json_object_size(json), sizeof *slot->map);
	if (slot->map == NULL)
		return;
	json_object_foreach((json_t *)(uintptr_t)json, key, value)
	{
		const struct source_at here = { at, key, 0 };
		const char *text = source_parser_text(parser, &here, value);

		if (text == NULL)
			continue;
		slot->map[slot->n_map].from = source_parser_copy(parser, key);
		slot->map[slot->n_map++].to = source_parser_copy(parser, text);
	}
}

static void read_unit(struct source_parser *parser, const struct source_at *at, const json_t *json,
		      const char *metric, struct source_slot *slot)
{
	const int i = source_parser_word(parser, at, json, unit_words);

	if (i < 0)
		return;
	slot->factor = units[i].factor;
	if (units[i].end != NULL && !text_ends_in(metric, units[i].end))
		source_parser_fault(parser, at,
				    "unit %s is for names that end in %s; \"%s\" is "
				    "counted otherwise",
				    units[i].word, units[i].end, metric);
}

static void read_undefined(struct source_parser *parser, const struct source_at *at,
			   const json_t *json, struct source_slot *slot)
{
	for (size_t i = 0; i < source_parser_count(json); i++) {
		const struct source_at item = { at, NULL, i };
		const int word = source_parser_word(parser, json_is_array(json) ? &item : at,
						    source_parser_item(json, i), undefined_words);

		slot->negative_is_undefined |= word == 1;
		slot->zero_is_undefined |= word == 2;
	}
}

static char *read_part(struct source_parser *parser, const struct source_at *at, const json_t *json)
{
	const char *text = source_parser_text(parser, at, json);

	if (text != NULL && *text == '\0')
		source_parser_fault(parser, at, "here has to be the text to cut at");
	return text != NULL ? source_parser_copy(parser, text) : NULL;
}

/* One slot being read. */
struct reader {
	struct source_parser *parser;
	const struct source_at *at;
	const struct source_kind *kind;
	const char *metric; /* whose unit it is */
	struct source_slot *slot;
};

static void read_key(struct reader *reader, const char *key, const json_t *value)
{
	const struct source_at at = { reader->at, key, 0 };
	struct source_slot *slot = reader->slot;
	int word;

	if (strcmp(key, "select") == 0) {
		read_selectors(reader->parser, &at, value, reader->kind, slot);
	} else if (strcmp(key, "equals") == 0) {
		read_equals(reader->parser, &at, value, slot);
	} else if (strcmp(key, "after") == 0) {
		slot->after = read_part(reader->parser, &at, value);
	} else if (strcmp(key, "before") == 0) {
		slot->before = read_part(reader->parser, &at, value);
	} else if (strcmp(key, "map") == 0) {
		read_map(reader->parser, &at, value, slot);
	} else if (strcmp(key, "unit") == 0) {
		read_unit(reader->parser, &at, value, reader->metric, slot);
	} else if (strcmp(key, "undefined") == 0) {
		read_undefined(reader->parser, &at, value, slot);
	} else if (strcmp(key, "optional") == 0) {
		slot->is_optional = source_parser_bool(reader->parser, &at, value);
	} else if (strcmp(key, "reduce") == 0) {
		word = source_parser_word(reader->parser, &at, value, reduce_words);
		slot->reduce =
			(enum source_reduce)(word + 1); /* a fault: as if it were not there */
	} else if (strcmp(key, "type") == 0) {
		word = source_parser_word(reader->parser, &at, value, type_words);
		slot->type = (enum source_type)(word > 0 ? word : 0);
	}
}

/* What a field's texts are mapped to are figures of a metric. */
static void check_map(const struct reader *reader)
{
	const struct source_slot *slot = reader->slot;
	const struct source_at here = { reader->at, "map", 0 };
	double number;

	for (size_t i = 0; i < slot->n_map; i++)
		if (slot->map[i].to != NULL && text_real(slot->map[i].to, &number) < 0)
			source_parser_fault(reader->parser, &here,
					    "\"%s\" is no number; a field's map says which text is "
					    "which number",
					    slot->map[i].to);
}

static void check_slot(const struct reader *reader, const json_t *json)
{
	const struct source_slot *slot = reader->slot;

	if (slot->role == SOURCE_ROLE_FIELD)
		check_map(reader);
	if (json_object_get(json, "select") == NULL)
		source_parser_fault(reader->parser, reader->at,
				    "select is missing: where the value stands");
	if (slot->role == SOURCE_ROLE_WHERE && slot->is_optional && slot->n_equals == 0)
		source_parser_fault(reader->parser, reader->at,
				    "optional needs equals: what the value may be where there is "
				    "one");
	if (slot->type == SOURCE_TYPE_STRING && slot->n_map == 0)
		source_parser_fault(reader->parser, reader->at,
				    "type string needs map: which text is which number");
}

bool source_slot_read(struct source_parser *parser, const struct source_at *at, const json_t *json,
		      const struct source_slot_want *want, struct source_slot *slot)
{
	struct reader reader = { parser, at, want->kind, want->metric, slot };
	const char *key;
	json_t *value;

	slot->role = want->role;
	slot->factor = 1;
	slot->is_bytes = want->role == SOURCE_ROLE_FIELD && text_ends_in(want->metric, "_bytes");
	slot->is_ratio = want->role == SOURCE_ROLE_FIELD && text_ends_in(want->metric, "_ratio");
	if (json_is_string(json)) {
		read_selectors(parser, at, json, want->kind, slot);
		return false;
	}
	if (!source_parser_map(parser, at, json, "this", keys_of(want->role)))
		return false;
	json_object_foreach((json_t *)(uintptr_t)json, key, value)
	{
		read_key(&reader, key, value);
	}
	check_slot(&reader, json);
	return slot->is_optional;
}

void source_slot_fini(struct source_slot *slot, const struct source_kind *kind)
{
	for (size_t i = 0; i < slot->n_selectors; i++)
		kind->release(slot->selector[i]);
	free(slot->selector);
	free(slot->oid);
	free(slot->where);
	for (size_t i = 0; i < slot->n_equals; i++)
		free(slot->equals[i]);
	free(slot->equals);
	free(slot->after);
	free(slot->before);
	for (size_t i = 0; i < slot->n_map; i++) {
		free(slot->map[i].from);
		free(slot->map[i].to);
	}
	free(slot->map);
}
