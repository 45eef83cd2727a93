/* source_request.c - reads one request of a description. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "source_request.h"
#include "text.h"
#include "words.h"

enum { SLOTS_MAX = 256 };

const char *const source_request_keys[] = { "method", "path",  "query",  "headers",     "body",
					    "format", "ok",    "error",  "rows",        "key",
					    "skip",   "where", "fields", "sample_time", NULL };

static const struct source_kind *const kinds[] = {
	[SOURCE_JSON] = &source_kind_json,
	[SOURCE_XML] = &source_kind_xml,
	[SOURCE_PROMETHEUS] = &source_kind_prometheus,
	[SOURCE_PROMQL] = &source_kind_promql,
	[SOURCE_TEXT] = &source_kind_text,
	[SOURCE_SNMP_GET] = &source_kind_snmp_get,
	[SOURCE_SNMP_TABLE] = &source_kind_snmp_table,
};

/* Where nobody knows the format: any selector will do, so that the other faults can be told. */
static int take_any(const char *text, void **selector, struct source_selector_fault *fault)
{
	(void)fault;
	*selector = strdup(text);
	return *selector != NULL ? 0 : -ENOMEM;
}

static const struct source_kind unknown_kind = {
	.has_rows_selector = true,
	.compile = take_any,
	.release = free,
};

static const char *const formats[] = { "json", "xml",      "prometheus", "promql",
				       "text", "snmp-get", "snmp-table", NULL };

const json_t *source_request_get(const struct source_request_reader *reader, const char *key,
				 struct source_at *at)
{
	const json_t *json = json_object_get(reader->own, key);

	*at = (struct source_at){ reader->at, key, 0 };
	if (json != NULL || reader->shared == NULL)
		return json;
	json = json_object_get(reader->shared, key);
	if (json != NULL)
		at->up = reader->shared_at;
	return json;
}

/*** What is read ***/

static struct source_slot *new_slot(const struct source_request_reader *reader,
				    const struct source_at *at)
{
	struct source_parts *parts = reader->request->parts;

	if (parts->n_slots < SLOTS_MAX)
		return &parts->slot[parts->n_slots++];
	source_parser_fault(reader->parser, at, "more than %d selectors in one request", SLOTS_MAX);
	return NULL;
}

/* The things under key, one or a list: a slot each. Returns whether one is optional. */
static bool read_slots(const struct source_request_reader *reader, const struct source_at *at,
		       const json_t *json, const struct source_slot_want *want, size_t metric)
{
	bool is_optional = false;

	if (source_parser_count(json) == 0)
		source_parser_fault(reader->parser, at, "an empty list; write a selector");
	for (size_t i = 0; i < source_parser_count(json); i++) {
		const struct source_at item = { at, NULL, i };
		const struct source_at *here = json_is_array(json) ? &item : at;
		struct source_slot *slot = new_slot(reader, here);

		if (slot == NULL)
			return is_optional;
		slot->metric = metric;
		is_optional |= source_slot_read(reader->parser, here, source_parser_item(json, i),
						want, slot);
	}
	return is_optional;
}

static bool read_role(const struct source_request_reader *reader, const char *key,
		      enum source_role role)
{
	const struct source_slot_want want = { role, reader->request->parts->kind, "_seconds" };
	struct source_at at;
	const json_t *json = source_request_get(reader, key, &at);

	if (json == NULL)
		return false;
	(void)read_slots(reader, &at, json, &want, SIZE_MAX);
	return true;
}

static void note_where(const struct source_request_reader *reader, size_t metric, size_t slot)
{
	const struct source_parts *parts = reader->request->parts;
	struct source *source = reader->parser->source;

	if (source->where[metric] == NULL && slot < parts->n_slots &&
	    parts->slot[slot].where != NULL)
		source->where[metric] = source_parser_copy(reader->parser, parts->slot[slot].where);
}

static void read_field(const struct source_request_reader *reader, const struct source_at *at,
		       const char *name, const json_t *json)
{
	const size_t metric = source_parser_metric(reader->parser, at, name);
	const size_t first = reader->request->parts->n_slots;
	/* What else is wrong with it can be told if we know what is meant. */
	const struct source_slot_want want = { SOURCE_ROLE_FIELD, reader->request->parts->kind,
					       metric != SIZE_MAX
						       ? name
						       : text_nearest(name, words_metric_names) };
	bool is_optional;

	if (want.metric == NULL)
		return;
	is_optional = read_slots(reader, at, json, &want, metric);
	if (metric == SIZE_MAX)
		return;
	reader->parser->source->is_optional[metric] |= is_optional;
	note_where(reader, metric, first);
}

static bool read_fields(const struct source_request_reader *reader)
{
	struct source_at at;
	const json_t *json = source_request_get(reader, "fields", &at);
	const char *name;
	json_t *value;

	if (json == NULL)
		return false;
	if (!source_parser_map(reader->parser, &at, json, "fields", NULL))
		return true;
	json_object_foreach((json_t *)(uintptr_t)json, name, value)
	{
		const struct source_at here = { &at, name, 0 };

		read_field(reader, &here, name, value);
	}
	return json_object_size(json) > 0;
}

static void read_rows(const struct source_request_reader *reader)
{
	struct source_request *request = reader->request;
	struct source_parts *parts = request->parts;
	struct source_at at;
	const json_t *rows = source_request_get(reader, "rows", &at), *key;
	const char *text = NULL;

	if (rows != NULL && !parts->kind->has_rows_selector)
		source_parser_fault(reader->parser, &at,
				    "format %s has no rows; only json and xml select them",
				    parts->kind->word);
	else if (rows != NULL)
		text = source_parser_text(reader->parser, &at, rows);
	if (text != NULL)
		parts->rows = source_slot_compile(reader->parser, &at, parts->kind, text);
	key = source_request_get(reader, "key", &at);
	if (key == NULL && (rows != NULL || parts->kind == &source_kind_snmp_table))
		source_parser_fault(reader->parser, reader->at,
				    "key is missing: which value names the server of a row");
	if (key != NULL && rows == NULL && parts->kind->has_rows_selector &&
	    parts->kind != &unknown_kind)
		source_parser_fault(reader->parser, &at,
				    "a key needs rows: which things of the answer are servers");
	if (key != NULL &&
	    (parts->kind == &source_kind_text || parts->kind == &source_kind_snmp_get))
		source_parser_fault(reader->parser, &at, "format %s is about one server: no key",
				    parts->kind->word);
	request->has_rows = key != NULL;
}

/* A key of series is a label, not a series. */
static void check_labels(const struct source_request_reader *reader)
{
	const struct source_parts *parts = reader->request->parts;
	struct source_at at;

	(void)source_request_get(reader, "key", &at);
	for (size_t i = 0; i < parts->n_slots; i++)
		if (parts->slot[i].role == SOURCE_ROLE_KEY && parts->slot[i].where != NULL &&
		    strchr(parts->slot[i].where, '{') != NULL)
			source_parser_fault(reader->parser, &at,
					    "the key of series is the name of a label alone");
}

/*** SNMP ***/

static size_t oid_index(const struct source_request_reader *reader, const struct source_oid *oid)
{
	struct source_request *request = reader->request;
	struct source_oid *to;

	for (size_t i = 0; i < request->n_oids; i++)
		if (request->oid[i].len == oid->len &&
		    memcmp(request->oid[i].id, oid->id, oid->len * sizeof *oid->id) == 0)
			return i;
	to = &request->oid[request->n_oids];
	to->id = source_parser_array(reader->parser, oid->len, sizeof *to->id);
	if (to->id == NULL)
		return 0;
	memcpy(to->id, oid->id, oid->len * sizeof *oid->id);
	to->len = oid->len;
	return request->n_oids++;
}

static void collect_oids(const struct source_request_reader *reader)
{
	struct source_request *request = reader->request;
	const struct source_parts *parts = request->parts;
	size_t n = 0;

	for (size_t i = 0; i < parts->n_slots; i++)
		n += parts->slot[i].n_selectors;
	request->oid = source_parser_array(reader->parser, n, sizeof *request->oid);
	for (size_t i = 0; request->oid != NULL && i < parts->n_slots; i++)
		for (size_t j = 0; j < parts->slot[i].n_selectors; j++)
			parts->slot[i].oid[j] =
				oid_index(reader, source_oid_get(parts->slot[i].selector[j]));
}

/* Keys that mean nothing to SNMP. */
static void refuse_http_keys(const struct source_request_reader *reader)
{
	static const char *const keys[] = { "method", "path", "query", "headers",
					    "body",   "ok",   "error", NULL };
	struct source_at at;

	for (size_t i = 0; keys[i] != NULL; i++)
		if (source_request_get(reader, keys[i], &at) != NULL)
			source_parser_fault(reader->parser, &at,
					    "%s is for HTTP; remove it from an SNMP source",
					    keys[i]);
}

/*** All of it ***/

/* The kind of this format; of the one that was probably meant, if there is none. */
static const struct source_kind *find_kind(const struct source_request_reader *reader)
{
	struct source_at at;
	const json_t *json = source_request_get(reader, "format", &at);
	const char *nearest = NULL;
	int format = -1;

	if (json != NULL)
		format = source_parser_word(reader->parser, &at, json, formats);
	else
		source_parser_fault(reader->parser, reader->at,
				    "format is missing: json, xml, prometheus, promql, text, "
				    "snmp-get or snmp-table");
	if (format < 0 && json_is_string(json))
		nearest = text_nearest(json_string_value(json), formats);
	if (nearest != NULL)
		format = text_index(nearest, formats);
	if (format < 0)
		return &unknown_kind;
	reader->request->format = (enum source_format)format;
	return kinds[format];
}

static bool read_format(const struct source_request_reader *reader)
{
	struct source_request *request = reader->request;
	const struct source_kind *kind = find_kind(reader);

	request->parts = source_parser_array(reader->parser, 1, sizeof *request->parts);
	if (request->parts == NULL)
		return false;
	request->parts->kind = kind;
	request->parts->slot =
		source_parser_array(reader->parser, SLOTS_MAX, sizeof *request->parts->slot);
	return request->parts->slot != NULL;
}

static void read_answer(const struct source_request_reader *reader)
{
	bool has_time, has_fields;

	read_rows(reader);
	(void)read_role(reader, "ok", SOURCE_ROLE_OK);
	(void)read_role(reader, "error", SOURCE_ROLE_ERROR);
	(void)read_role(reader, "skip", SOURCE_ROLE_SKIP);
	(void)read_role(reader, "where", SOURCE_ROLE_WHERE);
	(void)read_role(reader, "key", SOURCE_ROLE_KEY);
	has_time = read_role(reader, "sample_time", SOURCE_ROLE_TIME);
	has_fields = read_fields(reader);
	if (!has_time && !has_fields)
		source_parser_fault(reader->parser, reader->at,
				    "fields are missing: which metric stands where, as in fields: "
				    "{ jvm_heap_used_bytes: ... }");
	if (reader->request->format == SOURCE_PROMETHEUS)
		check_labels(reader);
}

void source_parser_request(struct source_parser *parser, const struct source_at *at,
			   const json_t *own, const struct source_at *shared_at,
			   const json_t *shared, struct source_request *request)
{
	const struct source_request_reader reader = { parser, at, shared_at, own, shared, request };

	if (!read_format(&reader))
		return;
	read_answer(&reader);
	if (request->parts->kind->is_snmp) {
		refuse_http_keys(&reader);
		collect_oids(&reader);
		return;
	}
	source_request_read_http(&reader);
}

void source_request_fini(struct source_request *request)
{
	struct source_parts *parts = request->parts;

	for (size_t i = 0; parts != NULL && i < parts->n_slots; i++)
		source_slot_fini(&parts->slot[i], parts->kind);
	if (parts != NULL && parts->rows != NULL)
		parts->kind->release(parts->rows);
	if (parts != NULL)
		free(parts->slot);
	free(parts);
	for (size_t i = 0; i < request->n_headers; i++) {
		free(request->header[i].name);
		free(request->header[i].value);
	}
	free(request->header);
	for (size_t i = 0; i < request->n_oids; i++)
		free(request->oid[i].id);
	free(request->oid);
	free(request->name);
	free(request->method);
	free(request->path);
	free(request->body);
}
