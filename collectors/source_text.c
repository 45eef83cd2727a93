/*
 * source_text.c - answers that are plain text, read line by line with extended regular expressions;
 * the value is what the one group matches (without a group: the whole match).
 */
#include "source_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A regular expression may cost the square of a line's length: ([0-9]+) KB and a MiB of digits take
 * 14 s, in which no other target is polled. So the CPU time of one answer is bounded.
 */
enum { LINE_MAX_LEN = 4096, LINES_MAX = 20000, CPU_MS_MAX = 100, LOOK_AFTER = 4096 };

/** The CPU time that one answer has taken. */
struct budget {
	int64_t start_ms;
	size_t n_bytes; /* matched since the clock was looked at */
	bool is_spent;
};

static void release(void *user)
{
	regex_t *regex = user;

	if (regex != NULL)
		regfree(regex);
	free(regex);
}

static int compile(const char *text, void **out, struct source_selector_fault *fault)
{
	regex_t *regex;
	int rc;

	if (text[0] == '\0')
		return source_selector_fail(fault, 1, "the regular expression is empty");
	regex = calloc(1, sizeof *regex);
	if (regex == NULL)
		return -ENOMEM;
	rc = source_regex_compile(regex, text, 0, 1, fault);
	if (rc < 0) {
		free(regex);
		return rc;
	}
	if (regex->re_nsub > 1) {
		rc = source_selector_fail(fault, 1, "%zu groups; one ( ) at most, around the value",
					  regex->re_nsub);
		release(regex);
		return rc;
	}
	*out = regex;
	return 0;
}

static int64_t cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* len bytes are about to be matched: may they? */
static bool spend(struct budget *budget, size_t len)
{
	budget->n_bytes += len;
	if (budget->n_bytes >= LOOK_AFTER) {
		budget->n_bytes = 0;
		budget->is_spent = cpu_ms() - budget->start_ms > CPU_MS_MAX;
	}
	return !budget->is_spent;
}

/* All matches of one expression in one line. */
static void take_matches(struct source_reading *reading, size_t slot, const regex_t *regex,
			 const char *line, size_t len, struct budget *budget)
{
	regmatch_t match[2] = { { 0, (regoff_t)len }, { -1, -1 } };
	int flags = REG_STARTEND;

	while (!reading->sheet->is_too_much && spend(budget, len - (size_t)match[0].rm_so) &&
	       regexec(regex, line, 2, match, flags) == 0) {
		const regmatch_t *value = &match[regex->re_nsub > 0];
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

static void read_line(struct source_reading *reading, const char *start, size_t len,
		      struct budget *budget)
{
	const struct source_parts *parts = reading->parts;
	char line[LINE_MAX_LEN + 1]; /* with an end of its own: who takes texts may look for it */

	memcpy(line, start, len);
	line[len] = '\0';
	for (size_t slot = 0; slot < parts->n_slots; slot++)
		for (size_t i = 0; i < parts->slot[slot].n_selectors && !budget->is_spent; i++)
			take_matches(reading, slot, parts->slot[slot].selector[i], line, len,
				     budget);
}

static int read_text(struct source_reading *reading, const struct source_answer *answer)
{
	const char *at = answer->bytes, *end = at + answer->len, *newline;
	struct budget budget = { .start_ms = cpu_ms() };
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
		read_line(reading, at, len > 0 && at[len - 1] == '\r' ? len - 1 : len, &budget);
		if (budget.is_spent)
			return source_reading_fail(
				reading, CR_REPLY,
				"broken off in line %zu: the regular expressions take too long "
				"(more than %d ms); let them begin with a text, like \"used=\"",
				n, CPU_MS_MAX);
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
