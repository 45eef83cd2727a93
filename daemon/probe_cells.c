/*
 * probe_cells.c - objects of an SNMP agent as others have recorded them:
 *	.1.3.6.1.4.1.140.625.340.1.25.3.97.98.99 = INTEGER: 1000	snmpwalk -On
 *	1.3.6.1.4.1.140.625.340.1.25.3.97.98.99|2|1000			snmpsim's .snmprec
 */
#include "probe_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OID_MAX 128

/** One object; texts are cut out of the line. */
struct object {
	uint32_t id[OID_MAX];
	size_t len;
	struct source_cell cell;
};

/* Rows by their index, in the order in which they came. */
struct rows {
	const uint32_t **index;
	size_t *len;
	uint32_t *kept; /* what index points into */
	size_t n, n_kept;
};

/* "1.3.6", ".1.3.6", "iso.3.6". Returns what follows, or NULL: no OID stands there. */
static char *read_oid(char *at, struct object *object)
{
	object->len = 0;
	if (strncmp(at, "iso.", 4) == 0) {
		object->id[object->len++] = 1;
		at += 3;
	}
	while (object->len < OID_MAX) {
		char *end;
		unsigned long number;

		if (*at == '.')
			at++;
		else if (object->len > 0)
			return at;
		if (*at < '0' || *at > '9')
			return NULL;
		number = strtoul(at, &end, 10);
		if (number > UINT32_MAX)
			return NULL;
		object->id[object->len++] = (uint32_t)number;
		at = end;
	}
	return NULL;
}

static void set_text(struct source_cell *cell, const char *text, size_t len)
{
	*cell = (struct source_cell){ .kind = SOURCE_CELL_TEXT, .text = text, .len = len };
}

static void set_number(struct source_cell *cell, const char *text)
{
	char *end;
	const double number = strtod(text, &end);

	*cell = (struct source_cell){ .kind = end != text ? SOURCE_CELL_NUMBER : SOURCE_CELL_NONE,
				      .number = number };
}

/* "41 42 0A " or "41420a", in place. */
static void set_hex(struct source_cell *cell, char *text)
{
	char *to = text;
	const char *at = text;

	for (; *at != '\0'; at++) {
		char pair[3] = { at[0], at[1], '\0' };

		if (!isxdigit((unsigned char)at[0]) || !isxdigit((unsigned char)at[1]))
			continue;
		*to++ = (char)strtoul(pair, NULL, 16);
		at++;
	}
	set_text(cell, text, (size_t)(to - text));
}

static void set_quoted(struct source_cell *cell, const char *text)
{
	size_t len = strlen(text);

	if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
		text++;
		len -= 2;
	}
	set_text(cell, text, len);
}

/* "TYPE: value" of snmpwalk. What is no figure and no name is nothing. */
static void read_walked(char *text, struct source_cell *cell)
{
	char *value = strstr(text, ": ");
	const char *in_brackets;

	*cell = (struct source_cell){ .kind = SOURCE_CELL_NONE };
	if (text[0] == '"') { /* -Oq leaves the type out */
		set_quoted(cell, text);
		return;
	}
	if (value == NULL)
		return;
	*value = '\0';
	value += 2;
	in_brackets = strchr(value, '(');
	if (strcmp(text, "STRING") == 0)
		set_quoted(cell, value);
	else if (strcmp(text, "Hex-STRING") == 0)
		set_hex(cell, value);
	else if (strcmp(text, "INTEGER") == 0 || strcmp(text, "Counter32") == 0 ||
		 strcmp(text, "Counter64") == 0 || strcmp(text, "Gauge32") == 0 ||
		 strcmp(text, "Unsigned32") == 0 || strcmp(text, "Timeticks") == 0)
		set_number(cell, in_brackets != NULL ? in_brackets + 1 : value);
}

/* "2|1000": tag and value of a .snmprec line. */
static void read_recorded(char *text, struct source_cell *cell)
{
	char *value = strchr(text, '|');

	*cell = (struct source_cell){ .kind = SOURCE_CELL_NONE };
	if (value == NULL)
		return;
	*value++ = '\0';
	if (strcmp(text, "4x") == 0)
		set_hex(cell, value);
	else if (strcmp(text, "4") == 0)
		set_text(cell, value, strlen(value));
	else if (strcmp(text, "2") == 0 || strcmp(text, "65") == 0 || strcmp(text, "66") == 0 ||
		 strcmp(text, "67") == 0 || strcmp(text, "70") == 0)
		set_number(cell, value);
}

static bool read_line(char *line, struct object *object)
{
	char *at = read_oid(line, object);

	if (at == NULL)
		return false;
	if (*at == '|')
		read_recorded(at + 1, &object->cell);
	else if (strncmp(at, " = ", 3) == 0)
		read_walked(at + 3, &object->cell);
	else
		return false;
	return true;
}

/* Which of the request's OIDs it belongs to; SIZE_MAX: none. */
static size_t column_of(const struct source_request *request, const struct object *object)
{
	for (size_t i = 0; i < request->n_oids; i++) {
		const struct source_oid *oid = &request->oid[i];

		if (oid->len > object->len ||
		    memcmp(oid->id, object->id, oid->len * sizeof *oid->id) != 0)
			continue;
		if (request->format == SOURCE_SNMP_TABLE ? oid->len < object->len
							 : oid->len == object->len)
			return i;
	}
	return SIZE_MAX;
}

/* The row of this index, made if it is new; SIZE_MAX: no room. */
static size_t row_of(struct rows *rows, const uint32_t *index, size_t len)
{
	for (size_t i = rows->n; i-- > 0;)
		if (rows->len[i] == len && memcmp(rows->index[i], index, len * sizeof *index) == 0)
			return i;
	if (rows->n == SOURCE_ROWS_MAX || rows->n_kept + len > (size_t)SOURCE_ROWS_MAX * OID_MAX)
		return SIZE_MAX;
	memcpy(rows->kept + rows->n_kept, index, len * sizeof *index);
	rows->index[rows->n] = rows->kept + rows->n_kept;
	rows->len[rows->n] = len;
	rows->n_kept += len;
	return rows->n++;
}

static bool rows_init(struct rows *rows)
{
	rows->index = calloc(SOURCE_ROWS_MAX, sizeof *rows->index);
	rows->len = calloc(SOURCE_ROWS_MAX, sizeof *rows->len);
	rows->kept = calloc((size_t)SOURCE_ROWS_MAX * OID_MAX, sizeof *rows->kept);
	return rows->index != NULL && rows->len != NULL && rows->kept != NULL;
}

static void rows_fini(struct rows *rows)
{
	free(rows->index);
	free(rows->len);
	free(rows->kept);
}

int probe_cells_read(char *text, const struct source_request *request, struct probe_cells *cells)
{
	struct rows rows = { 0 };
	struct object object;
	char *rest = text, *line;
	const bool is_good = rows_init(&rows);

	*cells = (struct probe_cells){ .text = text };
	cells->cell = calloc((size_t)SOURCE_ROWS_MAX * (request->n_oids + 1), sizeof *cells->cell);
	while (is_good && cells->cell != NULL && (line = strsep(&rest, "\n")) != NULL) {
		size_t column, row;

		line[strcspn(line, "\r")] = '\0';
		if (!read_line(line, &object))
			continue;
		cells->n_lines++;
		column = column_of(request, &object);
		if (column == SIZE_MAX)
			continue;
		row = row_of(&rows, object.id + request->oid[column].len,
			     object.len - request->oid[column].len);
		if (row != SIZE_MAX)
			cells->cell[row * request->n_oids + column] = object.cell;
	}
	cells->n_rows = rows.n;
	if (request->format == SOURCE_SNMP_GET)
		cells->n_rows = 1; /* scalars, whether they are there or not */
	rows_fini(&rows);
	if (!is_good || cells->cell == NULL)
		return -ENOMEM;
	return cells->n_lines > 0 ? 0 : -EINVAL;
}

void probe_cells_fini(struct probe_cells *cells)
{
	free(cells->cell);
	free(cells->text);
	*cells = (struct probe_cells){ 0 };
}
