/* source_request.h - what the readers of a request's parts share. */
#ifndef CR_COLLECTORS_SOURCE_REQUEST_H
#define CR_COLLECTORS_SOURCE_REQUEST_H

#include "source_slot.h"

/** A request being read: its own keys, and presets that it shares with others. */
struct source_request_reader {
	struct source_parser *parser;
	const struct source_at *at, *shared_at;
	const struct json_t *own, *shared;
	struct source_request *request;
};

/** What stands under key, or NULL; at: where. */
const struct json_t *source_request_get(const struct source_request_reader *reader, const char *key,
					struct source_at *at);

/** Where the variable ends that begins at at, which is "${": at its "}"; NULL: it is none. [any] */
const char *source_variable_end(const char *at);

/** Write text percent-encoded, without an end: at most three bytes for one. Returns how many. [any]
 */
size_t source_percent_encode(char *to, const char *text);

/** Path, query, method, headers, body. */
void source_request_read_http(const struct source_request_reader *reader);

#endif
