/* http_profile.h - what is asked of a server over HTTP, and how its answer is read. */
#ifndef CR_COLLECTORS_HTTP_PROFILE_H
#define CR_COLLECTORS_HTTP_PROFILE_H

#include <callrouter/plugin.h>

#define HTTP_METRICS_MAX 8

/** What a parser made of one answer. */
struct http_reading {
	double value[HTTP_METRICS_MAX]; /* by the profile's metrics[]; NaN: not to be had */
	enum cr_why why;                /* if it failed */
	char text[200];                 /* and the words for the operator */
};

/** A request with its answer: a new source of metrics is one more of these. */
struct http_profile {
	const char *path;           /* begins with "/"; follows the endpoint's own path */
	const char *accept;         /* header line */
	const char *allow;          /* what the user needs there; part of a sentence */
	const char *const *metrics; /* NULL-terminated, at most HTTP_METRICS_MAX */

	/**
	 * Read the body of an answer with status 200 (any bytes; body[len] is NUL). reading: all
	 * values NaN on entry. Returns 0, or -EPROTO with why and text. [any]
	 */
	int (*parse)(const char *body, size_t len, struct http_reading *reading);
};

/** The profiles' names, NULL-terminated: choices of the option "profile". */
extern const char *const http_profile_names[];

/** The profile of this index in http_profile_names. */
const struct http_profile *http_profile_get(int64_t index);

/** Fill why and text; returns -EPROTO. [any] */
int http_reading_fail(struct http_reading *reading, enum cr_why why, const char *fmt, ...)
	CR_PRINTF(3, 4);

/** A whole number as text, all of it; -1, which is Java's "undefined", gives NaN. false: it is no
 * such number. [any] */
bool http_number(const char *text, double *out);

/** Does the body begin as a page for people does? [any] */
bool http_looks_like_html(const char *body, size_t len);

#endif
