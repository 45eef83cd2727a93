/* err.h - an error for a human: a code and one line of text, in the caller's memory. [L1] */
#ifndef CR_CORE_ERR_H
#define CR_CORE_ERR_H

#include <callrouter/plugin.h>

struct err {
	int code; /* negative errno; 0: none */
	char text[320];
};

/** Fill err (NULL: nobody wants the text) and return code, so that failing is one statement. [any]
 */
int err_set(struct err *err, int code, const char *fmt, ...) CR_PRINTF(3, 4);

/** Put "prefix: " before the text that err already has; returns err->code. [any] */
int err_prefix(struct err *err, const char *fmt, ...) CR_PRINTF(2, 3);

/** The system's words for a (positive or negative) errno value, thread-safe. Static memory. [any]
 */
const char *err_words(int code);

#endif
