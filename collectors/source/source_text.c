/*
 * source_text.c - answers that are plain text, read line by line with extended regular expressions;
 * the value is what the one group matches (without a group: the whole match).
 */
#include "source_regex.h"

#include <string.h>

/* A regular expression may cost the square of a line's length. */
enum { LINE_MAX_LEN = 4096, LINES_MAX = 20000 };

static void release(void *user)
{
	source_regex_free(user);
}

static int compile(const char *text, void **out, struct source_selector_fault *fault)
{
	struct source_regex *regex;
	int rc;

	if (text[0] == '\0')
		return source_selector_fail(fault, 1, "the regular expression is empty");
	rc = source_regex_new(text, false, 1, &regex, fault);
	if (rc < 0)
		return rc;
	if (source_regex_groups(regex) > 1) {
		rc = source_selector_fail(fault, 1, "%zu groups; one ( ) at most, around the value",
					  source_regex_groups(regex));
		release(regex);
		return rc;
	}
	*out = regex;
	return 0;
}

/* All matches of one expression in one line. */
static void take_matches(struct source_reading *reading, size_t slot, struct source_regex *regex,
			 const char *line, size_t len)
{
	regmatch_t match[2] = { { 0, (regoff_t)len }, { -1, -1 } };
	int flags = REG_STARTEND;

	while (!reading->sheet->is_too_much &&
	       source_budget_spend(&reading->budget, len - (size_t)match[0].rm_so) &&
	       source_regex_match(regex, line, match, flags)) {
		const regmatch_t *value = &match[source_regex_groups(regex) > 0];
		const size_t next = (size_t)match[0].rm_eo + (match[0].rm_eo == match[0].rm_so);
		struct source_raw raw = { .kind = SOURCE_RAW_TEXT };

		if (value->rm_so >= 0) {
			raw.text = line + value->rm_so;
			raw.len = (size_t)(value->rm_eo - value->rm_so);
			source_sheet_take(reading->sheet, 0, slot, &raw);
		}
		if (next > len)
			return;
		match[0] = (regmatch_t){ (regoff_t)next, (regoff_t)len };
		flags = REG_STARTEND | REG_NOTBOL;
	}
}

static void read_line(struct source_reading *reading, const char *start, size_t len)
{
	const struct source_parts *parts = reading->parts;
	char line[LINE_MAX_LEN + 1]; /* with an end of its own: who takes texts may look for it */

	memcpy(line, start, len);
	line[len] = '\0';
	for (size_t slot = 0; slot < parts->n_slots; slot++)
		for (size_t i = 0; i < parts->slot[slot].n_selectors && !reading->budget.is_spent;
		     i++)
			take_matches(reading, slot, parts->slot[slot].selector[i], line, len);
}

static int read_text(struct source_reading *reading, const struct source_answer *answer)
{
	const char *at = answer->bytes, *end = at + answer->len, *newline;
	size_t len, n = 0;

	while (at < end) {
		newline = memchr(at, '\n', (size_t)(end - at));
		len = (size_t)((newline != NULL ? newline : end) - at);
		if (++n > LINES_MAX)
			return source_reading_fail(reading, CR_REPLY, "more than %d lines",
						   LINES_MAX);
		if (len > LINE_MAX_LEN)
			return source_reading_fail(reading, CR_REPLY,
						   "line %zu is longer than %d bytes", n,
						   LINE_MAX_LEN);
		read_line(reading, at, len > 0 && at[len - 1] == '\r' ? len - 1 : len);
		if (reading->budget.is_spent)
			return source_reading_fail_late(reading, n);
		at = newline != NULL ? newline + 1 : end;
	}
	return 0;
}

const struct source_kind source_kind_text = {
	.word = "text",
	.accept = "text/plain",
	.compile = compile,
	.release = release,
	.read = read_text,
};
