/* ctl_table.c - aligned tables for people, and colours where they can be seen. */
#include "ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define CELL_MAX 512
#define GAP      2 /* blanks between columns */

struct cell {
	char *text;
	enum ctl_colour colour;
};

struct ctl_table {
	const struct ctl_column *columns;
	size_t n_columns;
	struct cell *cells;
	size_t n_cells, cap;
	bool is_broken; /* a cell could not be kept */
};

bool ctl_is_coloured(FILE *out)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread. */
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) == 1 && (no_color == NULL || no_color[0] == '\0') &&
	       term != NULL && strcmp(term, "dumb") != 0;
}

const char *ctl_colour(bool is_coloured, enum ctl_colour colour)
{
	static const char *const escapes[] = {
		[CTL_PLAIN] = "\033[0m", [CTL_BOLD] = "\033[1m",   [CTL_DIM] = "\033[2m",
		[CTL_RED] = "\033[31m",  [CTL_GREEN] = "\033[32m", [CTL_YELLOW] = "\033[33m",
	};

	return is_coloured ? escapes[colour] : "";
}

char *ctl_clean(char *buf, size_t len, const char *text)
{
	(void)text_copy(buf, len, text);
	for (char *c = buf; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return buf;
}

struct ctl_table *ctl_table_new(const struct ctl_column *columns, size_t n_columns)
{
	struct ctl_table *table = calloc(1, sizeof *table);

	if (table == NULL)
		return NULL;
	table->columns = columns;
	table->n_columns = n_columns;
	return table;
}

void ctl_table_free(struct ctl_table *table)
{
	if (table == NULL)
		return;
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i].text);
	free(table->cells);
	free(table);
}

static int table_grow(struct ctl_table *table)
{
	const size_t cap = table->cap == 0 ? 64 : table->cap * 2;
	struct cell *more;

	if (table->n_cells < table->cap)
		return 0;
	more = realloc(table->cells, cap * sizeof *more);
	if (more == NULL)
		return -ENOMEM;
	table->cells = more;
	table->cap = cap;
	return 0;
}

void ctl_table_add(struct ctl_table *table, enum ctl_colour colour, const char *text)
{
	char clean[CELL_MAX];
	char *copy;

	if (table == NULL)
		return;
	copy = strdup(ctl_clean(clean, sizeof clean, text));
	if (copy == NULL || table_grow(table) < 0) {
		free(copy);
		table->is_broken = true;
		return;
	}
	table->cells[table->n_cells++] = (struct cell){ .text = copy, .colour = colour };
}

void ctl_table_addf(struct ctl_table *table, enum ctl_colour colour, const char *fmt, ...)
{
	char text[CELL_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	ctl_table_add(table, colour, text);
}

void ctl_table_add_bytes(struct ctl_table *table, const json_t *metric)
{
	char text[32];

	ctl_table_add(table, CTL_PLAIN,
		      text_show_bytes(text, sizeof text, ctl_number(metric, "value")));
}

/* Letters, not bytes: the continuation bytes of UTF-8 take no place. */
static int width_of(const char *text)
{
	int n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static int column_width(const struct ctl_table *table, size_t column)
{
	int widest = width_of(table->columns[column].title);

	for (size_t i = column; i < table->n_cells; i += table->n_columns) {
		const int width = width_of(table->cells[i].text);

		if (width > widest)
			widest = width;
	}
	return widest;
}

struct pen {
	FILE *out;
	bool is_coloured;
	bool is_last; /* of its line: no blanks after it */
};

static void print_cell(const struct pen *pen, const struct cell *cell, int width, bool is_right)
{
	const int blanks = width - width_of(cell->text);
	const bool is_plain = cell->colour == CTL_PLAIN || cell->text[0] == '\0';

	(void)fprintf(pen->out, "%*s%s%s%s%*s", is_right ? blanks : 0, "",
		      is_plain ? "" : ctl_colour(pen->is_coloured, cell->colour), cell->text,
		      is_plain ? "" : ctl_colour(pen->is_coloured, CTL_PLAIN),
		      is_right || pen->is_last ? 0 : blanks, "");
}

int ctl_table_print(const struct ctl_table *table, FILE *out, bool is_coloured, int indent)
{
	struct pen pen = { .out = out, .is_coloured = is_coloured };

	if (table == NULL || table->is_broken)
		return -ENOMEM;
	/* Line 0 is the titles. */
	for (size_t at = 0; at <= table->n_cells; at += table->n_columns) {
		(void)fprintf(out, "%*s", indent, "");
		for (size_t k = 0; k < table->n_columns; k++) {
			const struct ctl_column *column = &table->columns[k];
			struct cell title = { .colour = CTL_DIM };
			char text[CELL_MAX];

			title.text = ctl_clean(text, sizeof text, column->title);
			pen.is_last = k + 1 == table->n_columns;
			print_cell(&pen,
				   at == 0 ? &title : &table->cells[at - table->n_columns + k],
				   column_width(table, k), column->is_right);
			(void)fprintf(out, "%*s", pen.is_last ? 0 : GAP, "");
		}
		(void)fputc('\n', out);
	}
	return 0;
}
