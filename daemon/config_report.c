/* config_report.c - the mistakes of a configuration: noted as they are found, told in the file's
 * order. */
#include "config_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static bool is_same_file(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* An anchored part of the file is read wherever an alias repeats it, a profile wherever it is used.
 */
static bool is_noted(const struct config_reader *reader, const struct config_mistake *mistake)
{
	for (size_t i = 0; i < reader->n_mistakes; i++) {
		const struct config_mistake *old = &reader->mistake[i];

		if (old->line == mistake->line && old->column == mistake->column &&
		    is_same_file(old->file, mistake->file) && strcmp(old->text, mistake->text) == 0)
			return true;
	}
	return false;
}

/* Takes text. */
static void note(struct config_reader *reader, const struct config_place *place, char *text)
{
	const yaml_node_t *at = place->at;
	struct config_mistake mistake = {
		.line = place->line,
		.column = place->column,
		.at_line = at != NULL ? at->start_mark.line + 1 : place->line,
		.at_column = at != NULL ? at->start_mark.column + 1 : place->column,
		.text = text,
	};

	if (place->file != NULL)
		mistake.file = config_copy(reader, place->file);
	if (text == NULL)
		reader->is_out_of_memory = true;
	if (reader->is_out_of_memory || is_noted(reader, &mistake)) {
		free(mistake.file);
		free(text);
		return;
	}
	mistake.found = reader->n_mistakes;
	reader->mistake[reader->n_mistakes++] = mistake;
}

CR_PRINTF(3, 0)
static void note_args(struct config_reader *reader, const struct config_place *place,
		      const char *fmt, va_list args)
{
	char *text = NULL;

	if (reader->n_mistakes == CONFIG_MISTAKES_MAX) {
		reader->n_unlisted++;
		return;
	}
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	/* A key may hold a line break, or what a terminal obeys. */
	if (text != NULL)
		text_clean(text);
	note(reader, place, text);
}

void config_mistake_at(struct config_reader *reader, size_t line, size_t column, const char *fmt,
		       ...)
{
	const struct config_place place = { .line = line, .column = column };
	va_list args;

	va_start(args, fmt);
	note_args(reader, &place, fmt, args);
	va_end(args);
}

void config_mistake(struct config_reader *reader, const yaml_node_t *at, const char *fmt, ...)
{
	const struct config_place place = { .line = at->start_mark.line + 1,
					    .column = at->start_mark.column + 1 };
	va_list args;

	va_start(args, fmt);
	note_args(reader, &place, fmt, args);
	va_end(args);
}

void config_mistake_in(struct config_reader *reader, const struct config_place *place,
		       const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	note_args(reader, place, fmt, args);
	va_end(args);
}

const char *config_others(char *buf, size_t len, size_t n)
{
	buf[0] = '\0';
	if (n > 0)
		(void)snprintf(buf, len, " and %zu other%s", n, text_s(n));
	return buf;
}

struct config_place config_pair_place(const struct config_pair *pair, const yaml_node_t *profile_at)
{
	return (struct config_place){ pair->file, (size_t)pair->line, (size_t)pair->column,
				      pair->file != NULL ? profile_at : NULL };
}

static int compare_numbers(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_mistakes(const void *left, const void *right)
{
	const struct config_mistake *a = left, *b = right;

	if (a->at_line != b->at_line)
		return compare_numbers(a->at_line, b->at_line);
	if (a->at_column != b->at_column)
		return compare_numbers(a->at_column, b->at_column);
	if ((a->file != NULL) != (b->file != NULL))
		return a->file != NULL ? 1 : -1;
	if (a->line != b->line)
		return compare_numbers(a->line, b->line);
	if (a->column != b->column)
		return compare_numbers(a->column, b->column);
	return compare_numbers(a->found, b->found);
}

/* Returns 0, or < 0 if the stream could not take it all. */
static int print(FILE *stream, const struct config_reader *reader)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < reader->n_mistakes; i++) {
		const struct config_mistake *mistake = &reader->mistake[i];

		const char *file = mistake->file != NULL ? mistake->file : reader->path;

		r = mistake->line == 0 ? fprintf(stream, "%s: %s\n", file, mistake->text)
				       : fprintf(stream, "%s:%zu:%zu: %s\n", file, mistake->line,
						 mistake->column, mistake->text);
	}
	if (r >= 0 && reader->n_unlisted > 0)
		r = fprintf(stream, "%s: %zu more mistake%s not listed; correct these first\n",
			    reader->path, reader->n_unlisted,
			    reader->n_unlisted == 1 ? " is" : "s are");
	return r < 0 ? r : 0;
}

int config_report_make(struct config_reader *reader, struct config_report *report)
{
	size_t len = 0;
	FILE *stream;
	int r = -ENOMEM;

	report->text = NULL;
	report->n = reader->n_mistakes + reader->n_unlisted;
	if (report->n == 0 && !reader->is_out_of_memory)
		return 0;
	if (reader->n_mistakes > 0)
		qsort(reader->mistake, reader->n_mistakes, sizeof *reader->mistake,
		      compare_mistakes);
	stream = reader->is_out_of_memory ? NULL : open_memstream(&report->text, &len);
	if (stream != NULL) {
		r = print(stream, reader);
		if (fclose(stream) != 0 || r < 0)
			r = -ENOMEM;
	}
	if (r == 0)
		return 0;
	free(report->text);
	report->n = 1;
	report->text = strdup("not enough memory to read the configuration\n");
	return r;
}

void config_mistakes_free(struct config_reader *reader)
{
	for (size_t i = 0; i < reader->n_mistakes; i++) {
		free(reader->mistake[i].file);
		free(reader->mistake[i].text);
	}
	reader->n_mistakes = 0;
}
