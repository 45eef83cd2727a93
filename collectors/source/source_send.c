/* source_send.c - reads what a request over HTTP sends: path, query, method, headers, body. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "source_request.h"

enum { HEADERS_MAX = 32 };

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
/* text, percent-encoded but for ${name}. */
static void write_value(struct text *to, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~";
	char code[4];

	while (*text != '\0') {
		if (strncmp(text, "${name}", 7) == 0) {
			text_add(to, text, 7);
			text += 7;
			continue;
		}
		if (strchr(plain, *text) != NULL) {
			text_add(to, text++, 1);
			continue;
		}
		(void)snprintf(code, sizeof code, "%%%02X", (unsigned char)*text++);
		text_add(to, code, 3);
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
		check_variables(reader->parser, &here, text);
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
	check_variables(reader->parser, &at, text);
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
		check_variables(reader->parser, &at, text);
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
	check_variables(reader->parser, at, value);
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

void source_request_read_http(const struct source_request_reader *reader)
{
	read_path(reader);
	read_method(reader);
	read_headers(reader);
}
