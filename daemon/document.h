/* document.h - values for JSON documents out of what may be foreign: text of any bytes, unknown
 * numbers. */
#ifndef CR_DAEMON_DOCUMENT_H
#define CR_DAEMON_DOCUMENT_H

#include <stdint.h>

#include <jansson.h>

/* All return a new reference, or NULL only without memory. [any] */

/** A text of at most max bytes (it may lack its NUL); what is not UTF-8 is shown as '?'. */
json_t *document_text(const char *text, size_t max);

/** The same, but null for "". */
json_t *document_text_or_null(const char *text, size_t max);

/** A number: whole ones as integers, NaN and infinity as null. */
json_t *document_number(double value);

/** A span of time in seconds, to the millisecond, never below 0. */
json_t *document_seconds(int64_t span_ns);

#endif
