/* document.h - values for JSON documents out of what may be foreign: text of any bytes, unknown
 * numbers; and what is wrong with one that is read. */
#ifndef CR_DAEMON_DOCUMENT_H
#define CR_DAEMON_DOCUMENT_H

#include <stdint.h>

#include <jansson.h>

/* All that return values return a new reference, or NULL only without memory. [any] */

/** A text of at most max bytes (it may lack its NUL); what is not UTF-8 is shown as '?'. */
json_t *document_text(const char *text, size_t max);

/** The same, but null for "". */
json_t *document_text_or_null(const char *text, size_t max);

/** A number: whole ones as integers, NaN and infinity as null. */
json_t *document_number(double value);

/** What is wrong with a JSON text, also where the library would name flags of its own, or call a
 * NUL the end of the file. last: the byte before where->position; < 0: there is none. Borrowed from
 * where. [any] */
const char *document_words(const json_error_t *where, int last);

/** A span of time in seconds, to the millisecond, never below 0. */
json_t *document_seconds(int64_t span_ns);

#endif
