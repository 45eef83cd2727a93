/* source_json.h - JSON answers: what their kinds share. */
#ifndef CR_COLLECTORS_SOURCE_JSON_H
#define CR_COLLECTORS_SOURCE_JSON_H

#include <jansson.h>

#include "source_internal.h"

/** The answer as a tree, to be freed by json_decref(); NULL: it is no JSON, and reading says so.
 * Integers too large for 64 bits are read as real numbers. [any] */
json_t *source_json_load(struct source_reading *reading, const struct source_answer *answer);

/** What is wrong with a JSON text, without the names of the library's flags. Borrowed from where.
 * [any] */
const char *source_json_words(const json_error_t *where);

/** A value as it stands there. Its text is borrowed from json. [any] */
struct source_raw source_json_raw(const json_t *json);

#endif
