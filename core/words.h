/* words.h - the words for reasons, states, deciders and metrics: one table each. [L1] */
#ifndef CR_CORE_WORDS_H
#define CR_CORE_WORDS_H

#include <callrouter/plugin.h>
#include <callrouter/words.h>

/** "stale", "router_default", ...: as in JSON. Unknown numbers give "unknown". Static memory. [any]
 */
const char *words_reason(enum cr_reason reason);

/** The reason as a sentence for status. [any] */
const char *words_reason_help(enum cr_reason reason);

const char *words_decided(enum cr_decided decided); /* "nobody" "router" "default" "refused" */
const char *words_state(enum cr_state state); /* "up" "trial" "aside" "ejected" "drained" "down" */
const char *words_why(enum cr_why why); /* "timeout" "connect" "auth" "reply" "absent" "value" */

/** A metric that callrouter knows. */
struct word_metric {
	const char *name; /* "jvm_heap_free_bytes" */
	const char *help; /* one line */
};

/** All known metrics; the last has name NULL. [any] */
extern const struct word_metric words_metrics[];

/** The names of words_metrics alone, NULL-terminated, for text_nearest(). [any] */
extern const char *const words_metric_names[];

#endif
