/* source_request.c - reads one request of a description. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "source_slot.h"

enum { SLOTS_MAX = 256, HEADERS_MAX = 32 };

const char *const source_request_keys[] = { "method", "path",   "headers",     "body", "format",
					    "ok",     "error",  "rows",        "key",  "skip",
					    "where",  "fields", "sample_time", NULL };

static const struct source_kind *const kinds[] = {
	[SOURCE_JSON] = &source_kind_json,
	[SOURCE_XML] = &source_kind_xml,
	[SOURCE_PROMETHEUS] = &source_kind_prometheus,
	[SOURCE_PROMQL] = &source_kind_promql,
	[SOURCE_TEXT] = &source_kind_text,
	[SOURCE_SNMP_GET] = &source_kind_snmp_get,
	[SOURCE_SNMP_TABLE] = &source_kind_snmp_table,
};
static const char *const formats[] = { "json", "xml",      "prometheus", "promql",
				       "text", "snmp-get", "snmp-table", NULL };

/* A request being read: its own keys, and presets that it shares with others. */
struct reader {
	struct source_parser *parser;
	const struct source_at *at, *shared_at;
	const json_t *own, *shared;
	struct source_request *request;
};

static const json_t *get(const struct reader *reader, const char *key, struct source_at *at)
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

/*** What is sent ***/

/* Only ${name} is known when a request is sent. */
static void check_variables(struct source_parser *parser, const struct source_at *at,
			    const char *text)
{
	for (; (text = strstr(text, "${")) != NULL; text += 2)
		if (strncmp(text, "${name}", 7) != 0)
			source_parser_fault(parser, at,
					    "\"%.40s\": only ${name} can stand here; put other "
					    "variables into target",
					    text);
}

static void read_path(const struct reader *reader)
{
	struct source_request *request = reader->request;
	struct source_at at;
	const json_t *json = get(reader, "path", &at);
	const char *text = json != NULL ? source_parser_text(reader->parser, &at, json) : "";

	if (text == NULL)
		return;
	if (*text != '\0' && *text != '/')
		source_parser_fault(reader->parser, &at, "path \"%.100s\" has to begin with \"/\"",
				    text);
	for (const char *letter = text; *letter != '\0'; letter++)
		if (*letter <= ' ' || *letter > '~' || *letter == '#') {
			source_parser_fault(reader->parser, &at,
					    "path: letter %zu cannot stand in a URL; write a blank "
					    "as %%20, \"#\" as %%23",
					    (size_t)(letter - text) + 1);
			break;
		}
	check_variables(reader->parser, &at, text);
	request->path = source_parser_copy(reader->parser, text);
}

static void read_method(const struct reader *reader)
{
	static const char *const methods[] = { "GET", "POST", NULL };
	struct source_request *request = reader->request;
	struct source_at at;
	const json_t *json = get(reader, "body", &at);
	const char *text = json != NULL ? source_parser_text(reader->parser, &at, json) : NULL;
	int method = text != NULL;

	if (text != NULL) {
		check_variables(reader->parser, &at, text);
		request->body = source_parser_copy(reader->parser, text);
	}
	json = get(reader, "method", &at);
	if (json != NULL)
		method = source_parser_word(reader->parser, &at, json, methods);
	if (method == 0 && request->body != NULL)
		source_parser_fault(reader->parser, &at, "a GET has no body; write POST");
	request->method = source_parser_copy(reader->parser, methods[method > 0]);
}

static void add_header(const struct reader *reader, const char *name, const char *value)
{
	struct source_request *request = reader->request;
	struct source_header *header = &request->header[request->n_headers++];

	header->name = source_parser_copy(reader->parser, name);
	header->value = source_parser_copy(reader->parser, value);
}

static bool has_header(const struct source_request *request, const char *name)
{
	for (size_t i = 0; i < request->n_headers; i++)
		if (request->header[i].name != NULL &&
		    strcasecmp(request->header[i].name, name) == 0)
			return true;
	return false;
}

static void check_header(const struct reader *reader, const struct source_at *at, const char *name,
			 const char *value)
{
	static const char *const never[] = { "Host", "Content-Length", "Transfer-Encoding",
					     "Connection", "Accept-Encoding" };
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_";

	if (*name == '\0' || name[strspn(name, letters)] != '\0')
		source_parser_fault(reader->parser, at, "\"%.64s\" is no name of a header", name);
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		if (strcasecmp(name, never[i]) == 0)
			source_parser_fault(reader->parser, at, "%s is not yours to set", never[i]);
	if (strcasecmp(name, "Authorization") == 0 || strcasecmp(name, "Cookie") == 0)
		source_parser_fault(reader->parser, at,
				    "a secret does not stand here; use user and password_file, or "
				    "token_file");
	for (const char *letter = value; *letter != '\0'; letter++)
		if ((unsigned char)*letter < ' ' || *letter == 127) {
			source_parser_fault(reader->parser, at,
					    "a header is one line of printable letters");
			break;
		}
	check_variables(reader->parser, at, value);
}

static void read_headers(const struct reader *reader)
{
	struct source_request *request = reader->request;
	struct source_at at;
	const json_t *json = get(reader, "headers", &at);
	const char *name;
	json_t *value;

	request->header =
		source_parser_array(reader->parser, HEADERS_MAX + 2, sizeof *request->header);
	if (request->header == NULL)
		return;
	if (json != NULL && source_parser_map(reader->parser, &at, json, "headers", NULL)) {
		json_object_foreach((json_t *)(uintptr_t)json, name, value)
		{
			const struct source_at here = { &at, name, 0 };
			const char *text = source_parser_text(reader->parser, &here, value);

			if (text == NULL || request->n_headers == HEADERS_MAX)
				continue;
			check_header(reader, &here, name, text);
			add_header(reader, name, text);
		}
		if (json_object_size(json) > HEADERS_MAX)
			source_parser_fault(reader->parser, &at, "more than %d headers",
					    HEADERS_MAX);
	}
	if (request->parts->kind->accept != NULL && !has_header(request, "Accept"))
		add_header(reader, "Accept", request->parts->kind->accept);
	if (request->body != NULL && !has_header(request, "Content-Type"))
		add_header(reader, "Content-Type", "application/json");
}

/*** What is read ***/

static struct source_slot *new_slot(const struct reader *reader, const struct source_at *at)
{
	struct source_parts *parts = reader->request->parts;

	if (parts->n_slots < SLOTS_MAX)
		return &parts->slot[parts->n_slots++];
	source_parser_fault(reader->parser, at, "more than %d selectors in one request", SLOTS_MAX);
	return NULL;
}

/* The things under key, one or a list: a slot each. Returns whether one is optional. */
static bool read_slots(const struct reader *reader, const struct source_at *at, const json_t *json,
		       const struct source_slot_want *want, size_t metric)
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

static bool read_role(const struct reader *reader, const char *key, enum source_role role)
{
	const struct source_slot_want want = { role, reader->request->parts->kind, "_seconds" };
	struct source_at at;
	const json_t *json = get(reader, key, &at);

	if (json == NULL)
		return false;
	(void)read_slots(reader, &at, json, &want, SIZE_MAX);
	return true;
}

static void read_field(const struct reader *reader, const struct source_at *at, const char *name,
		       const json_t *json)
{
	const struct source_slot_want want = { SOURCE_ROLE_FIELD, reader->request->parts->kind,
					       name };
	const struct source_parts *parts = reader->request->parts;
	const size_t metric = source_parser_metric(reader->parser, at, name);
	const size_t first = parts->n_slots;
	struct source *source = reader->parser->source;
	bool is_optional;

	if (metric == SIZE_MAX)
		return;
	is_optional = read_slots(reader, at, json, &want, metric);
	source->is_optional[metric] |= is_optional;
	if (source->where[metric] == NULL && first < parts->n_slots &&
	    parts->slot[first].where != NULL)
		source->where[metric] =
			source_parser_copy(reader->parser, parts->slot[first].where);
}

static bool read_fields(const struct reader *reader)
{
	struct source_at at;
	const json_t *json = get(reader, "fields", &at);
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

static void read_rows(const struct reader *reader)
{
	struct source_request *request = reader->request;
	struct source_parts *parts = request->parts;
	struct source_at at;
	const json_t *rows = get(reader, "rows", &at), *key;
	const char *text = NULL;

	if (rows != NULL && !parts->kind->has_rows_selector)
		source_parser_fault(reader->parser, &at,
				    "format %s has no rows; only json and xml select them",
				    parts->kind->word);
	else if (rows != NULL)
		text = source_parser_text(reader->parser, &at, rows);
	if (text != NULL)
		parts->rows = source_slot_compile(reader->parser, &at, parts->kind, text);
	key = get(reader, "key", &at);
	if (key == NULL && (rows != NULL || parts->kind == &source_kind_snmp_table))
		source_parser_fault(reader->parser, reader->at,
				    "key is missing: which value names the server of a row");
	if (key != NULL && rows == NULL && parts->kind->has_rows_selector)
		source_parser_fault(reader->parser, &at,
				    "a key needs rows: which things of the answer are servers");
	if (key != NULL &&
	    (parts->kind == &source_kind_text || parts->kind == &source_kind_snmp_get))
		source_parser_fault(reader->parser, &at, "format %s is about one server: no key",
				    parts->kind->word);
	request->has_rows = key != NULL;
}

/* A key of series is a label, not a series. */
static void check_labels(const struct reader *reader)
{
	const struct source_parts *parts = reader->request->parts;
	struct source_at at;

	(void)get(reader, "key", &at);
	for (size_t i = 0; i < parts->n_slots; i++)
		if (parts->slot[i].role == SOURCE_ROLE_KEY && parts->slot[i].where != NULL &&
		    strchr(parts->slot[i].where, '{') != NULL)
			source_parser_fault(reader->parser, &at,
					    "the key of series is the name of a label alone");
}

/*** SNMP ***/

static size_t oid_index(const struct reader *reader, const struct source_oid *oid)
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

static void collect_oids(const struct reader *reader)
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
static void refuse_http_keys(const struct reader *reader)
{
	static const char *const keys[] = {
		"method", "path", "headers", "body", "ok", "error", NULL
	};
	struct source_at at;

	for (size_t i = 0; keys[i] != NULL; i++)
		if (get(reader, keys[i], &at) != NULL)
			source_parser_fault(reader->parser, &at,
					    "%s is for HTTP; remove it from an SNMP source",
					    keys[i]);
}

/*** All of it ***/

static bool read_format(const struct reader *reader)
{
	struct source_request *request = reader->request;
	struct source_at at;
	const json_t *json = get(reader, "format", &at);
	int format = -1;

	if (json != NULL)
		format = source_parser_word(reader->parser, &at, json, formats);
	else
		source_parser_fault(reader->parser, reader->at,
				    "format is missing: json, xml, prometheus, promql, text, "
				    "snmp-get or snmp-table");
	request->parts = source_parser_array(reader->parser, 1, sizeof *request->parts);
	if (format < 0 || request->parts == NULL)
		return false;
	request->format = (enum source_format)format;
	request->parts->kind = kinds[format];
	request->parts->slot =
		source_parser_array(reader->parser, SLOTS_MAX, sizeof *request->parts->slot);
	return request->parts->slot != NULL;
}

static void read_answer(const struct reader *reader)
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
	const struct reader reader = { parser, at, shared_at, own, shared, request };

	if (!read_format(&reader))
		return;
	read_answer(&reader);
	if (request->parts->kind->is_snmp) {
		refuse_http_keys(&reader);
		collect_oids(&reader);
		return;
	}
	read_path(&reader);
	read_method(&reader);
	read_headers(&reader);
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
