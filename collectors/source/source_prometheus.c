/*
 * source_prometheus.c - the text that exporters answer with, read by selectors as in PromQL:
 * name{label="v",label=~"re",label!="v",label!~"re"}. A key is a label's name: series with the same
 * value of it are one row.
 */
#include "source_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "source_regex.h"
#include "source_twice.h"

enum { MATCHES_MAX = 16 };

struct match {
	char *label, *value;
	struct source_regex *regex; /* NULL: the value itself */
	bool is_not;
};

struct selector {
	char *name; /* of the series; for a key: of the label */
	struct match match[MATCHES_MAX];
	size_t n;
};

/*** Compiling ***/

static void release(void *user)
{
	struct selector *selector = user;

	if (selector == NULL)
		return;
	for (size_t i = 0; i < selector->n; i++) {
		free(selector->match[i].label);
		free(selector->match[i].value);
		source_regex_free(selector->match[i].regex);
	}
	free(selector->name);
	free(selector);
}

struct compiler {
	const char *text, *at;
	struct selector *selector;
	struct source_selector_fault *fault;
};

static size_t column(const struct compiler *c)
{
	return (size_t)(c->at - c->text) + 1;
}

static void skip_blanks(struct compiler *c)
{
	c->at += strspn(c->at, " \t");
}

static int take_name(struct compiler *c, char **out, const char *what)
{
	const size_t len = source_series_name_len(c->at);

	if (len == 0)
		return source_selector_fail(c->fault, column(c), "here has to be %s", what);
	*out = strndup(c->at, len);
	c->at += len;
	return *out != NULL ? 0 : -ENOMEM;
}

/* A text in double quotes, \\ \" \n undone. */
static int take_quoted(struct compiler *c, char **out)
{
	const char *start = c->at;
	char *to;

	if (*c->at != '"')
		return source_selector_fail(c->fault, column(c),
					    "here has to be a value in double quotes");
	to = *out = malloc(strlen(c->at));
	if (to == NULL)
		return -ENOMEM;
	for (c->at++; *c->at != '"'; c->at++) {
		if (*c->at == '\0') {
			c->at = start;
			return source_selector_fail(c->fault, column(c),
						    "this quote is not closed");
		}
		if (*c->at == '\\' && (c->at[1] == '"' || c->at[1] == '\\'))
			c->at++;
		*to++ = *c->at;
	}
	c->at++;
	*to = '\0';
	return 0;
}

static int take_operator(struct compiler *c, struct match *match, bool *is_regex)
{
	static const struct {
		const char *text;
		bool is_regex, is_not;
	} operators[] = { { "=~", true, false },
			  { "!~", true, true },
			  { "!=", false, true },
			  { "=", false, false } };

	skip_blanks(c);
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
		if (strncmp(c->at, operators[i].text, strlen(operators[i].text)) != 0)
			continue;
		c->at += strlen(operators[i].text);
		*is_regex = operators[i].is_regex;
		match->is_not = operators[i].is_not;
		skip_blanks(c);
		return 0;
	}
	return source_selector_fail(c->fault, column(c), "here has to be = != =~ or !~");
}

static int compile_match(struct compiler *c)
{
	struct match *match = &c->selector->match[c->selector->n];
	bool is_regex = false;
	size_t at;
	int rc;

	if (c->selector->n == MATCHES_MAX)
		return source_selector_fail(c->fault, column(c), "more than %d labels",
					    MATCHES_MAX);
	rc = take_name(c, &match->label, "a label's name");
	if (rc < 0)
		return rc;
	c->selector->n++;
	rc = take_operator(c, match, &is_regex);
	at = column(c);
	if (rc == 0)
		rc = take_quoted(c, &match->value);
	if (rc == 0 && is_regex) /* like Prometheus, the whole value has to match */
		rc = source_regex_new(match->value, true, at, &match->regex, c->fault);
	return rc;
}

static int compile_matches(struct compiler *c)
{
	int rc = 0;

	for (c->at++;;) {
		skip_blanks(c);
		if (*c->at == '}')
			break;
		rc = compile_match(c);
		if (rc < 0)
			return rc;
		skip_blanks(c);
		if (*c->at == ',')
			c->at++;
		else if (*c->at != '}')
			return source_selector_fail(c->fault, column(c), "here has to be , or }");
	}
	c->at++;
	return 0;
}

static int compile(const char *text, void **out, struct source_selector_fault *fault)
{
	struct compiler c = { text, text, calloc(1, sizeof *c.selector), fault };
	int rc;

	if (c.selector == NULL)
		return -ENOMEM;
	rc = take_name(&c, &c.selector->name, "a metric's name, as in jvm_memory_used_bytes");
	if (rc == 0 && *c.at == '{')
		rc = compile_matches(&c);
	if (rc == 0 && *c.at != '\0')
		rc = source_selector_fail(fault, column(&c), "after the name comes { or the end");
	if (rc < 0) {
		release(c.selector);
		return rc;
	}
	*out = c.selector;
	return 0;
}

/*** Reading ***/

static bool match_fits(struct source_reading *reading, const struct match *match,
		       const struct source_series *series)
{
	/* As in PromQL, a label that is missing is empty. */
	const char *value = source_series_label(series, match->label);

	if (match->regex == NULL)
		return (strcmp(value, match->value) == 0) != match->is_not;
	return source_budget_spend(&reading->budget, strlen(value)) &&
	       source_regex_match(match->regex, value, NULL, 0) != match->is_not;
}

static bool fits(struct source_reading *reading, const struct selector *selector,
		 const struct source_series *series)
{
	if (strcmp(selector->name, series->name) != 0)
		return false;
	for (size_t i = 0; i < selector->n; i++)
		if (!match_fits(reading, &selector->match[i], series))
			return false;
	return true;
}

static bool slot_fits(struct source_reading *reading, const struct source_slot *slot,
		      const struct source_series *series)
{
	for (size_t i = 0; i < slot->n_selectors; i++)
		if (fits(reading, slot->selector[i], series))
			return true;
	return false;
}

/* The name of the row that a series belongs to; false: none. */
static bool name_of(const struct source_slot *slot, const struct source_series *series,
		    char name[SOURCE_NAME_LEN])
{
	for (size_t i = 0; i < slot->n_selectors; i++) {
		const struct selector *selector = slot->selector[i];
		const char *value = source_series_label(series, selector->name);
		const struct source_raw raw = { .text = value, .len = strlen(value) };

		if (raw.len > 0 && source_value_text(slot, &raw, name, SOURCE_NAME_LEN) &&
		    name[0] != '\0')
			return true;
	}
	return false;
}

/* The row of a series: 0 without a key; SIZE_MAX: it has no name, so it is about nobody. */
static size_t row_of(struct source_reading *reading, const struct source_series *series)
{
	const struct source_parts *parts = reading->parts;
	char name[SOURCE_NAME_LEN];
	bool has_key = false;
	size_t row;

	for (size_t slot = 0; slot < parts->n_slots; slot++) {
		struct source_raw raw = { .text = name };

		if (parts->slot[slot].role != SOURCE_ROLE_KEY)
			continue;
		has_key = true;
		if (!name_of(&parts->slot[slot], series, name))
			continue;
		row = source_sheet_named(reading->sheet, name);
		raw.len = strlen(name);
		if (row > 0 && source_sheet_at(reading->sheet, row, slot)->n == 0)
			source_sheet_take(reading->sheet, row, slot, &raw);
		return row > 0 ? row : SIZE_MAX;
	}
	reading->sheet->n_nameless += has_key;
	return has_key ? SIZE_MAX : 0;
}

/* A series, where it stands, and those that came before. */
struct arrival {
	const struct source_series *series;
	size_t line;
	struct source_twice *twice;
};

/* What makes a figure is remembered: one that comes twice would count twice. */
static void take_value(struct source_reading *reading, const struct arrival *arrival, size_t row,
		       size_t slot)
{
	const struct source_series *series = arrival->series;
	const struct source_raw raw = { .text = series->value, .len = strlen(series->value) };
	const struct source_parts *parts = reading->parts;
	const enum source_role role = parts->slot[slot].role;
	const size_t place = row * parts->n_slots + slot;

	source_sheet_take(reading->sheet, row, slot, &raw);
	if (role == SOURCE_ROLE_FIELD && series->time[0] != '\0')
		source_sheet_date(reading->sheet, row, slot, series->time);
	if (role != SOURCE_ROLE_FIELD && role != SOURCE_ROLE_TIME)
		return;
	if (source_twice_note(arrival->twice, series, (uint32_t)place, arrival->line) < 0)
		reading->sheet->is_out_of_memory = true;
}

static void take_series(struct source_reading *reading, const struct arrival *arrival)
{
	const struct source_series *series = arrival->series;
	const struct source_parts *parts = reading->parts;
	size_t row = SIZE_MAX - 1; /* not looked for yet */

	for (size_t slot = 0; slot < parts->n_slots; slot++) {
		const struct source_slot *at = &parts->slot[slot];

		if (at->role == SOURCE_ROLE_KEY || !slot_fits(reading, at, series))
			continue;
		if (source_slot_is_of_answer(at)) {
			take_value(reading, arrival, 0, slot);
			continue;
		}
		if (row == SIZE_MAX - 1)
			row = row_of(reading, series);
		if (row == SIZE_MAX)
			return;
		take_value(reading, arrival, row, slot);
	}
}

static bool is_openmetrics(const struct source_answer *answer)
{
	static const char type[] = "application/openmetrics-text";

	return answer->content_type != NULL &&
	       strncasecmp(answer->content_type, type, sizeof type - 1) == 0;
}

/* All lines. Returns as source_series_next() did last. */
static int read_lines(struct source_reading *reading, struct source_series_reader *reader)
{
	struct source_twice twice = { 0 };
	const struct source_series *series;
	int rc;

	while ((rc = source_series_next(reader, &series)) > 0 && !reading->sheet->is_too_much &&
	       !reading->budget.is_spent) {
		const struct arrival arrival = { series, reader->line, &twice };

		take_series(reading, &arrival);
	}
	if (rc == 0)
		source_twice_refuse(&twice, reading->sheet);
	source_twice_fini(&twice);
	return rc;
}

/* An answer without a length ends where its connection does, and half of a number is a number. */
static int judge_end(struct source_reading *reading, const struct source_answer *answer,
		     const struct source_series_reader *reader)
{
	if (reader->has_eof)
		return 0;
	if (is_openmetrics(answer))
		return source_reading_fail(reading, CR_REPLY,
					   "cut off: OpenMetrics without \"# EOF\" at the end");
	if (answer->len > 0 && answer->bytes[answer->len - 1] != '\n')
		return source_reading_fail(reading, CR_REPLY,
					   "cut off: no line feed at the end of line %zu, the last",
					   reader->line);
	return 0;
}

static int read_prometheus(struct source_reading *reading, const struct source_answer *answer)
{
	struct source_series_reader reader;
	int rc;

	if (source_looks_like_html(answer))
		return source_reading_fail(reading, CR_REPLY,
					   "not metrics: looks like HTML (login page?)");
	source_series_begin(&reader, answer->bytes, answer->len);
	rc = read_lines(reading, &reader);
	if (reading->budget.is_spent)
		return source_reading_fail_late(reading, reader.line);
	if (rc < 0)
		return source_reading_fail(reading, CR_REPLY, "bad metrics in line %zu: %s",
					   reader.line, reader.text);
	return rc == 0 ? judge_end(reading, answer, &reader) : 0;
}

const struct source_kind source_kind_prometheus = {
	.word = "prometheus",
	.accept = "text/plain;version=0.0.4",
	.has_labels = true,
	.compile = compile,
	.release = release,
	.read = read_prometheus,
};
