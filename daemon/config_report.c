/* config_report.c - the mistakes of a configuration: noted as they are found, told in the file's
 * order. */
#include "config_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An anchored part of the file is read wherever an alias repeats it. */
static bool is_noted(const struct config_reader *reader, const struct config_mistake *mistake)
{
	for (size_t i = 0; i < reader->n_mistakes; i++) {
		const struct config_mistake *old = &reader->mistake[i];

		if (old->line == mistake->line && old->column == mistake->column &&
		    strcmp(old->text, mistake->text) == 0)
			return true;
	}
	return false;
}

/* Takes text. */
static void note(struct config_reader *reader, size_t line, size_t column, char *text)
{
	struct config_mistake mistake = { .line = line, .column = column, .text = text };

	if (text == NULL) {
		reader->is_out_of_memory = true;
		return;
	}
	if (is_noted(reader, &mistake)) {
		free(text);
		return;
	}
	mistake.found = reader->n_mistakes;
	reader->mistake[reader->n_mistakes++] = mistake;
}

CR_PRINTF(4, 0)
static void note_args(struct config_reader *reader, size_t line, size_t column, const char *fmt,
		      va_list args)
{
	char *text = NULL;

	if (reader->n_mistakes == CONFIG_MISTAKES_MAX) {
		reader->n_unlisted++;
		return;
	}
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	note(reader, line, column, text);
}

void config_mistake_at(struct config_reader *reader, size_t line, size_t column, const char *fmt,
		       ...)
{
	va_list args;

	va_start(args, fmt);
	note_args(reader, line, column, fmt, args);
	va_end(args);
}

void config_mistake(struct config_reader *reader, const yaml_node_t *at, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	note_args(reader, at->start_mark.line + 1, at->start_mark.column + 1, fmt, args);
	va_end(args);
}

static int compare_numbers(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_mistakes(const void *left, const void *right)
{
	const struct config_mistake *a = left, *b = right;

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

		r = mistake->line == 0 ? fprintf(stream, "%s: %s\n", reader->path, mistake->text)
				       : fprintf(stream, "%s:%zu:%zu: %s\n", reader->path,
						 mistake->line, mistake->column, mistake->text);
	}
	if (r >= 0 && reader->n_unlisted > 0)
		r = fprintf(stream, "%s: %zu more mistakes are not listed; correct these first\n",
			    reader->path, reader->n_unlisted);
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
	for (size_t i = 0; i < reader->n_mistakes; i++)
		free(reader->mistake[i].text);
	reader->n_mistakes = 0;
}
