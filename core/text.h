/* text.h - numbers with units, names, and words that were nearly right. [L1] */
#ifndef CR_CORE_TEXT_H
#define CR_CORE_TEXT_H

#include <callrouter/plugin.h>

#define TEXT_NAME_MAX 63 /* letters of a server's, service's, source's or cluster's name */

/*
 * Strict parsers: the whole text or nothing. Return 0, -EINVAL (not of this form), or -ERANGE (of
 * this form but not representable). *out is untouched on error. [any]
 */
int text_int(const char *text, int64_t *out); /* -12 */
int text_real(const char *text, double *out); /* 0.5, 1e3; never NaN or infinite */
int text_bool(const char *text, bool *out);   /* true false yes no on off */
int text_duration(const char *text,
		  int64_t *out_ns); /* 0, 500ms 2s 3m 1h 1d 250us 80ns; one number, one unit */
int text_bytes(const char *text, int64_t *out); /* 4096, 64KiB 1.5GiB, 10kB 2MB (powers of 1000) */
int text_ratio(const char *text, double *out);  /* 0.25 or 25% */

/* For people. Write at most len bytes with the NUL and return buf. NaN gives "-". [any] */
char *text_show_bytes(char *buf, size_t len, double bytes);     /* "1.8 GiB", "512 B" */
char *text_show_seconds(char *buf, size_t len, double seconds); /* "1.2 s", "350 ms", "3.0 min" */

/** The word of words[] (NULL-terminated) that text is probably meant to be, or NULL. [any] */
const char *text_nearest(const char *text, const char *const *words);

/** Index of text in words[] (NULL-terminated), or -1. [any] */
int text_index(const char *text, const char *const *words);

/** What "server" needs at its end when there are n of them: "s", or "" for one. [any] */
static inline const char *text_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/** "a, b, c" of words[] (NULL-terminated), cut to fit. [any] */
void text_join(char *buf, size_t len, const char *const *words);

/** Does text end in end? [any] */
bool text_ends_in(const char *text, const char *end);

/** Name of a server, service, source, cluster: 1 .. 63 of [A-Za-z0-9._-], not starting with '.' or
 * '-'. [any] */
bool text_is_name(const char *text);

/** Name of a plugin or an option: [a-z0-9_]{1,31}. [any] */
bool text_is_plugin_name(const char *text);

/** Make it one line: control characters become '?'. For what quotes strangers' words. [any] */
void text_clean(char *text);

/** Copy into a fixed array, cut if need be, always NUL-terminated; returns false if it was cut.
 * [any] */
bool text_copy(char *to, size_t len, const char *from);

#endif
