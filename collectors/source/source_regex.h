/* source_regex.h - extended regular expressions on texts of strangers: what they cost in time and
 * memory is bounded. */
#ifndef CR_COLLECTORS_SOURCE_REGEX_H
#define CR_COLLECTORS_SOURCE_REGEX_H

#include <regex.h>

#include "source_internal.h"

struct source_regex;

/**
 * Compile text; is_whole: a value has to match as a whole, and there are no groups to ask for.
 * column: where text begins in the selector, for fault. Returns 0, -EINVAL with fault (no regular
 * expression, or one that could cost too much), or -ENOMEM. [any]
 */
int source_regex_new(const char *text, bool is_whole, size_t column, struct source_regex **out,
		     struct source_selector_fault *fault);
void source_regex_free(struct source_regex *regex);

/** How many groups it has. [any] */
size_t source_regex_groups(const struct source_regex *regex);

/** As regexec(): match[2] is where it and its group stand (NULL: nobody wants to know). Two threads
 * may ask at once; one waits. [any] */
bool source_regex_match(struct source_regex *regex, const char *text, regmatch_t *match, int flags);

#endif
