/* source_parse.c - reads a description: what all its requests share, then each of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "source_internal.h"
#include "source_json.h"

const char *const source_language_keys[] = {
	"transport", "scope", "auth",   "help",    "requests",    "method",  "path",
	"query",     "body",  "format", "headers", "ok",          "error",   "rows",
	"key",       "skip",  "where",  "fields",  "sample_time", "context", "community_suffix",
	NULL,
};
static const char *const transports[] = { "http", "snmp", NULL };
static const char *const scopes[] = { "server", "group", NULL };
static const char *const auths[] = { "basic", "digest", "bearer", NULL };
static const char *const help_keys[] = { "auth", "absent", NULL };

static const struct source_at root_at = { NULL, NULL, 0 };

/* The word under key, or preset. */
static int read_word(struct source_parser *parser, const json_t *root, const char *key,
		     const char *const *words, int preset)
{
	const struct source_at at = { &root_at, key, 0 };
	const json_t *json = json_object_get(root, key);
	const int word = json != NULL ? source_parser_word(parser, &at, json, words) : preset;

	return word >= 0 ? word : preset;
}

static char *read_help_text(struct source_parser *parser, const struct source_at *up,
			    const json_t *help, const char *key)
{
	const struct source_at at = { up, key, 0 };
	const json_t *json = json_object_get(help, key);
	const char *text = json != NULL ? source_parser_text(parser, &at, json) : "";

	return source_parser_copy(parser, text != NULL ? text : "");
}

static void read_help(struct source_parser *parser, const json_t *root)
{
	const struct source_at at = { &root_at, "help", 0 };
	const json_t *help = json_object_get(root, "help");

	if (help != NULL)
		(void)source_parser_map(parser, &at, help, "help", help_keys);
	parser->source->help_auth = read_help_text(parser, &at, help, "auth");
	parser->source->help_absent = read_help_text(parser, &at, help, "absent");
}

static struct source_request *new_request(struct source_parser *parser, const char *name)
{
	struct source *source = parser->source;
	struct source_request *request = &source->request[source->n_requests++];

	request->name = source_parser_copy(parser, name);
	return request;
}

static void read_request_list(struct source_parser *parser, const struct source_at *at,
			      const json_t *root, const json_t *requests)
{
	const struct source_at fields_at = { &root_at, "fields", 0 };
	const char *name;
	json_t *own;

	if (!source_parser_map(parser, at, requests, "requests", NULL))
		return;
	if (json_object_size(requests) == 0 || json_object_size(requests) > SOURCE_REQUESTS_MAX) {
		source_parser_fault(parser, at, "%zu requests; 1 to %d can be made",
				    json_object_size(requests), SOURCE_REQUESTS_MAX);
		return;
	}
	if (json_object_get(root, "fields") != NULL)
		source_parser_fault(parser, &fields_at,
				    "where there are requests, each has its own fields");
	json_object_foreach((json_t *)(uintptr_t)requests, name, own)
	{
		const struct source_at here = { at, name, 0 };

		if (source_parser_map(parser, &here, own, "a request", source_request_keys))
			source_parser_request(parser, &here, own, &root_at, root,
					      new_request(parser, name));
	}
}

static void read_requests(struct source_parser *parser, const json_t *root)
{
	const struct source_at at = { &root_at, "requests", 0 };
	const json_t *requests = json_object_get(root, "requests");
	struct source *source = parser->source;

	source->request = source_parser_array(parser, SOURCE_REQUESTS_MAX, sizeof *source->request);
	if (source->request == NULL)
		return;
	if (requests != NULL)
		read_request_list(parser, &at, root, requests);
	else
		source_parser_request(parser, &root_at, root, NULL, NULL,
				      new_request(parser, "request"));
}

/* What the requests are, where nothing is said. */
static bool is_snmp(const struct source *source, size_t i)
{
	const struct source_parts *parts = source->request[i].parts;

	return parts != NULL && parts->kind != NULL && parts->kind->is_snmp;
}

static void check_transport(struct source_parser *parser, const json_t *root)
{
	const struct source_at at = { &root_at, "transport", 0 };
	struct source *source = parser->source;
	const bool first_is_snmp = source->n_requests > 0 && is_snmp(source, 0);

	source->transport = (enum source_transport)read_word(parser, root, "transport", transports,
							     first_is_snmp);
	for (size_t i = 0; i < source->n_requests; i++) {
		const struct source_parts *parts = source->request[i].parts;

		if (parts != NULL && parts->kind != NULL && parts->kind->word != NULL &&
		    is_snmp(source, i) != (source->transport == SOURCE_SNMP)) {
			source_parser_fault(parser, &at, "transport %s does not bring format %s",
					    transports[source->transport], parts->kind->word);
			return;
		}
	}
}

/* Is each server asked about itself? Then one answer is not about many. */
static bool is_about_one(const struct source *source)
{
	return source_is_template(source->community_suffix) || source_is_template(source->context);
}

static void check_scope(struct source_parser *parser, const json_t *root)
{
	const struct source_at at = { &root_at, "scope", 0 };
	struct source *source = parser->source;
	bool has_rows = source->n_requests > 0;

	for (size_t i = 0; i < source->n_requests; i++)
		has_rows = has_rows && source->request[i].has_rows;
	source->scope = (enum source_scope)read_word(parser, root, "scope", scopes,
						     has_rows && !is_about_one(source));
	if (source->scope == SOURCE_GROUP && !has_rows && !parser->is_faulty)
		source_parser_fault(parser, &at,
				    "scope group: each request needs a key, which tells the "
				    "servers apart");
}

static void read_source(struct source_parser *parser, const json_t *root)
{
	struct source *source = parser->source;

	source->metric = source_parser_array(parser, SOURCE_METRICS_MAX, sizeof *source->metric);
	source->where = source_parser_array(parser, SOURCE_METRICS_MAX, sizeof *source->where);
	source->variable =
		source_parser_array(parser, SOURCE_VARIABLES_MAX, sizeof *source->variable);
	source->is_optional =
		source_parser_array(parser, SOURCE_METRICS_MAX, sizeof *source->is_optional);
	if (parser->is_out_of_memory ||
	    !source_parser_map(parser, &root_at, root, "a source", source_language_keys))
		return;
	source->has_auth = json_object_get(root, "auth") != NULL;
	source->auth = (enum source_auth)read_word(parser, root, "auth", auths, 0);
	read_help(parser, root);
	read_requests(parser, root);
	check_transport(parser, root);
	source_parser_about(parser, root);
	if (!parser->is_out_of_memory)
		check_scope(parser, root);
}

int source_parse(const char *json, struct source **out, source_fault_fn *on_fault, void *user)
{
	struct source_parser parser = { .on_fault = on_fault, .user = user };
	json_error_t where;
	json_t *root;

	*out = NULL;
	parser.source = calloc(1, sizeof *parser.source);
	if (parser.source == NULL)
		return -ENOMEM;
	root = json_loads(json, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
	if (root == NULL)
		source_parser_fault(&parser, &root_at,
				    "the description is not JSON: line %d, column %d: %s",
				    where.line, where.column, source_json_words(&where));
	else
		read_source(&parser, root);
	json_decref(root);
	if (!parser.is_faulty && !parser.is_out_of_memory) {
		*out = parser.source;
		return 0;
	}
	source_free(parser.source);
	return parser.is_out_of_memory ? -ENOMEM : -EINVAL;
}

void source_free(struct source *source)
{
	if (source == NULL)
		return;
	for (size_t i = 0; i < source->n_requests; i++)
		source_request_fini(&source->request[i]);
	free(source->request);
	for (size_t i = 0; i < source->n_metrics; i++)
		free(source->metric[i]);
	for (size_t i = 0; source->where != NULL && i < SOURCE_METRICS_MAX; i++)
		free(source->where[i]);
	for (size_t i = 0; i < source->n_variables; i++) {
		free(source->variable[i].name);
		free(source->variable[i].pointer);
	}
	free(source->variable);
	free(source->metric);
	free(source->where);
	free(source->is_optional);
	free(source->community_suffix);
	free(source->context);
	free(source->help_auth);
	free(source->help_absent);
	free(source);
}
