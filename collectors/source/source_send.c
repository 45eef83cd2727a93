/* source_send.c - reads what a request over HTTP sends: path, query, method, headers, body. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "source_request.h"

enum { HEADERS_MAX = 32 };

/*** Variables ***/

static void add_variable(struct source_parser *parser, const struct source_at *at, const char *name,
			 size_t len)
{
	struct source *source = parser->source;
	struct source_variable *variable;
	char pointer[512];

	for (size_t i = 0; i < source->n_variables; i++)
		if (strncmp(source->variable[i].name, name, len) == 0 &&
		    source->variable[i].name[len] == '\0')
			return;
	if (source->n_variables == SOURCE_VARIABLES_MAX) {
		source_parser_fault(parser, at, "more than %d variables", SOURCE_VARIABLES_MAX);
		return;
	}
	source_parser_pointer(pointer, sizeof pointer, at);
	variable = &source->variable[source->n_variables];
	variable->name = strndup(name, len);
	variable->pointer = source_parser_copy(parser, pointer);
	parser->is_out_of_memory |= variable->name == NULL;
	if (variable->name == NULL)
		free(variable->pointer);
	else
		source->n_variables++;
}

void source_parser_variables(struct source_parser *parser, const struct source_at *at,
			     const char *text)
{
	for (; (text = strstr(text, "${")) != NULL; text += 2) {
		const char *end = source_variable_end(text);

		if (end != NULL)
			add_variable(parser, at, text + 2, (size_t)(end - text - 2));
		else
			source_parser_fault(parser, at,
					    "\"%.40s\" is no variable; write ${NAME}, closed by }",
					    text);
	}
}

/* A text that grows. */
struct text {
	char *ptr;
	size_t len;
	bool is_out_of_memory;
};

static void text_add(struct text *text, const char *more, size_t len)
{
	char *grown = realloc(text->ptr, text->len + len + 1);

	if (grown == NULL) {
		text->is_out_of_memory = true;
		return;
	}
	memcpy(grown + text->len, more, len);
	text->ptr = grown;
	text->len += len;
	grown[text->len] = '\0';
}

/* text, percent-encoded but for its variables. */
static void write_value(struct text *to, const char *text)
{
	char one[2] = "", code[3];

	while (*text != '\0') {
		const char *end = strncmp(text, "${", 2) == 0 ? source_variable_end(text) : NULL;

		if (end != NULL) {
			text_add(to, text, (size_t)(end + 1 - text));
			text = end + 1;
			continue;
		}
		one[0] = *text++;
		text_add(to, code, source_percent_encode(code, one));
	}
}

/* Put the parameters behind the path. */
static void add_query(const struct source_request_reader *reader)
{
	struct source_request *request = reader->request;
	struct source_at at;
	const json_t *json = source_request_get(reader, "query", &at);
	struct text path = { request->path, request->path != NULL ? strlen(request->path) : 0,
			     false };
	const char *name;
	json_t *value;

	if (json == NULL || !source_parser_map(reader->parser, &at, json, "query", NULL))
		return;
	json_object_foreach((json_t *)(uintptr_t)json, name, value)
	{
		const struct source_at here = { &at, name, 0 };
		const char *text = source_parser_text(reader->parser, &here, value);

		if (text == NULL)
			continue;
		source_parser_variables(reader->parser, &here, name);
		source_parser_variables(reader->parser, &here, text);
		text_add(&path, path.ptr != NULL && strchr(path.ptr, '?') != NULL ? "&" : "?", 1);
		write_value(&path, name);
		text_add(&path, "=", 1);
		write_value(&path, text);
	}
	reader->parser->is_out_of_memory |= path.is_out_of_memory;
	request->path = path.ptr;
}

static void read_path(const struct source_request_reader *reader)
{
	struct source_request *request = reader->request;
	struct source_at at;
	const json_t *json = source_request_get(reader, "path", &at);
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
	source_parser_variables(reader->parser, &at, text);
	request->path = source_parser_copy(reader->parser, text);
	add_query(reader);
}

static void read_method(const struct source_request_reader *reader)
{
	static const char *const methods[] = { "GET", "POST", NULL };
	struct source_request *request = reader->request;
	struct source_at at;
	const json_t *json = source_request_get(reader, "body", &at);
	const char *text = json != NULL ? source_parser_text(reader->parser, &at, json) : NULL;
	int method = text != NULL;

	if (text != NULL) {
		source_parser_variables(reader->parser, &at, text);
		request->body = source_parser_copy(reader->parser, text);
	}
	json = source_request_get(reader, "method", &at);
	if (json != NULL)
		method = source_parser_word(reader->parser, &at, json, methods);
	if (method == 0 && request->body != NULL)
		source_parser_fault(reader->parser, &at, "a GET has no body; write POST");
	request->method = source_parser_copy(reader->parser, methods[method > 0]);
}

static void add_header(const struct source_request_reader *reader, const char *name,
		       const char *value)
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

static void check_header(const struct source_request_reader *reader, const struct source_at *at,
			 const char *name, const char *value)
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
	source_parser_variables(reader->parser, at, value);
}

static void read_headers(const struct source_request_reader *reader)
{
	struct source_request *request = reader->request;
	struct source_at at;
	const json_t *json = source_request_get(reader, "headers", &at);
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

/* A form's values are written as a query's are. */
static enum source_escape escape_of(const struct source_request *request)
{
	static const struct {
		const char *word;
		enum source_escape escape;
	} types[] = { { "json", SOURCE_ESCAPE_JSON },
		      { "xml", SOURCE_ESCAPE_XML },
		      { "x-www-form-urlencoded", SOURCE_ESCAPE_URL } };

	for (size_t i = 0; i < request->n_headers; i++) {
		const struct source_header *header = &request->header[i];

		if (header->name == NULL || header->value == NULL ||
		    strcasecmp(header->name, "Content-Type") != 0)
			continue;
		for (size_t k = 0; k < sizeof types / sizeof *types; k++)
			if (strcasestr(header->value, types[k].word) != NULL)
				return types[k].escape;
	}
	return SOURCE_ESCAPE_NONE;
}

void source_request_read_http(const struct source_request_reader *reader)
{
	read_path(reader);
	read_method(reader);
	read_headers(reader);
	reader->request->body_escape = escape_of(reader->request);
}
