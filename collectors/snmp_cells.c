/* snmp_cells.c - the join of columns by index, and the types in which agents send figures. */
#include "snmp_cells.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BLOCK 4096
#define TEXT_MAX   1024 /* of one cell: no name and no figure is so long */

struct snmp_cells_row {
	size_t index_at, index_len; /* in index[] */
	size_t number;              /* in cell[] */
};

struct snmp_cells_text {
	struct snmp_cells_text *next;
	size_t used;
	char bytes[TEXT_BLOCK];
};

void snmp_cells_clear(struct snmp_cells *cells, size_t width)
{
	struct snmp_cells_text *block;

	/* One block is enough for most. */
	while (cells->text != NULL && cells->text->next != NULL) {
		block = cells->text;
		cells->text = block->next;
		free(block);
	}
	if (cells->text != NULL)
		cells->text->used = 0;
	cells->width = width;
	cells->n_rows = cells->n_index = cells->text_bytes = cells->hint = 0;
}

void snmp_cells_fini(struct snmp_cells *cells)
{
	snmp_cells_clear(cells, 0);
	free(cells->text);
	free(cells->row);
	free(cells->cell);
	free(cells->index);
	memset(cells, 0, sizeof *cells);
}

/* Make room in an array for n elements. */
static int reserve(void **array, size_t *cap, size_t n, size_t size)
{
	const size_t wanted = n + n / 2 + 16;
	void *grown;

	if (n <= *cap)
		return 0;
	grown = reallocarray(*array, wanted, size);
	if (grown == NULL)
		return -ENOMEM;
	*array = grown;
	*cap = wanted;
	return 0;
}

/* A scalar has none, and there may be no index[] then. */
static const oid *index_of(const struct snmp_cells *cells, const struct snmp_cells_row *row)
{
	return row->index_len > 0 ? cells->index + row->index_at : NULL;
}

static int order(const struct snmp_cells *cells, const oid *index, size_t len, size_t at)
{
	const struct snmp_cells_row *row = &cells->row[at];

	return snmp_oid_compare(index, len, index_of(cells, row), row->index_len);
}

/* Where the row of this index is (true), or belongs. */
static bool find(const struct snmp_cells *cells, const oid *index, size_t len, size_t *at)
{
	size_t low = 0, high = cells->n_rows;

	/* Columns come in lock-step: mostly it is the last one again, or the next. */
	for (*at = cells->hint; *at < cells->n_rows && *at < cells->hint + 2; ++*at)
		if (order(cells, index, len, *at) == 0)
			return true;
	while (low < high) {
		const size_t mid = (low + high) / 2;
		const int cmp = order(cells, index, len, mid);

		*at = mid;
		if (cmp == 0)
			return true;
		if (cmp < 0)
			high = mid;
		else
			low = mid + 1;
	}
	*at = low;
	return false;
}

static int insert(struct snmp_cells *cells, const oid *index, size_t len, size_t at)
{
	const size_t n = cells->n_rows;
	struct snmp_cells_row *row;
	void *rows = cells->row, *cell = cells->cell, *indices = cells->index;
	int code;

	if (n == SOURCE_ROWS_MAX)
		return -E2BIG;
	code = reserve(&rows, &cells->cap_rows, n + 1, sizeof *cells->row);
	cells->row = rows;
	if (code == 0)
		code = reserve(&cell, &cells->cap_cells, (n + 1) * cells->width,
			       sizeof *cells->cell);
	cells->cell = cell;
	if (code == 0)
		code = reserve(&indices, &cells->cap_index, cells->n_index + len, sizeof(oid));
	cells->index = indices;
	if (code < 0)
		return code;
	row = &cells->row[at];
	memmove(row + 1, row, (n - at) * sizeof *row);
	*row = (struct snmp_cells_row){ cells->n_index, len, n };
	if (len > 0)
		memcpy(cells->index + cells->n_index, index, len * sizeof *index);
	cells->n_index += len;
	memset(&cells->cell[n * cells->width], 0, cells->width * sizeof *cells->cell);
	cells->n_rows++;
	return 0;
}

int snmp_cells_add(struct snmp_cells *cells, const oid *index, size_t len)
{
	size_t at;

	return find(cells, index, len, &at) ? 0 : insert(cells, index, len, at);
}

/* A copy that lives until the next snmp_cells_clear(). NULL: no memory, or too much of it. */
static char *keep(struct snmp_cells *cells, const unsigned char *text, size_t len)
{
	struct snmp_cells_text *block = cells->text;
	char *copy;

	if (block == NULL || block->used + len > TEXT_BLOCK) {
		if (cells->text_bytes + TEXT_BLOCK > SNMP_TEXTS_MAX)
			return NULL;
		block = malloc(sizeof *block);
		if (block == NULL)
			return NULL;
		block->next = cells->text;
		block->used = 0;
		cells->text = block;
		cells->text_bytes += TEXT_BLOCK;
	}
	copy = block->bytes + block->used;
	memcpy(copy, text, len);
	block->used += len;
	return copy;
}

static double read_counter64(const struct counter64 *counter, bool is_signed)
{
	/* The halves are unsigned long: mask what a 64-bit machine leaves above. */
	const uint64_t bits = (uint64_t)(counter->high & 0xffffffffu) << 32 |
			      (uint64_t)(counter->low & 0xffffffffu);

	return is_signed ? (double)(int64_t)bits : (double)bits;
}

/* Returns false if var holds no number. */
static bool read_number(const netsnmp_variable_list *var, double *out)
{
	switch (var->type) {
	case ASN_INTEGER:
		*out = (double)*var->val.integer;
		return true;
	case ASN_GAUGE: /* is Unsigned32 too */
	case ASN_COUNTER:
	case ASN_TIMETICKS:
	case ASN_UINTEGER:
		*out = (double)(*var->val.integer & 0xffffffff);
		return true;
	case ASN_COUNTER64:
	case ASN_OPAQUE_COUNTER64:
	case ASN_OPAQUE_U64:
		*out = read_counter64(var->val.counter64, false);
		return true;
	case ASN_OPAQUE_I64:
		*out = read_counter64(var->val.counter64, true);
		return true;
	case ASN_OPAQUE_FLOAT:
		*out = (double)*var->val.floatVal;
		return true;
	case ASN_OPAQUE_DOUBLE:
		*out = *var->val.doubleVal;
		return true;
	default: /* somebody else's data: any type may come */
		return false;
	}
}

static int put_text(struct snmp_cells *cells, struct source_cell *cell,
		    const netsnmp_variable_list *var)
{
	const size_t len = var->val_len < TEXT_MAX ? var->val_len : TEXT_MAX;
	char *text;

	if (len == 0) {
		*cell = (struct source_cell){ .kind = SOURCE_CELL_TEXT, .text = "" };
		return 0;
	}
	text = keep(cells, var->val.string, len);
	if (text == NULL)
		return -E2BIG;
	if (len < var->val_len) /* or NULs might be all that is left behind a name */
		text[len - 1] = '?';
	*cell = (struct source_cell){ .kind = SOURCE_CELL_TEXT, .text = text, .len = len };
	return 0;
}

bool snmp_cells_is_absent(const netsnmp_variable_list *var)
{
	return var->type == SNMP_NOSUCHOBJECT || var->type == SNMP_NOSUCHINSTANCE ||
	       var->type == SNMP_ENDOFMIBVIEW;
}

int snmp_cells_put(struct snmp_cells *cells, const oid *index, size_t len, size_t column,
		   const netsnmp_variable_list *var)
{
	struct source_cell *cell;
	size_t at;
	int code;

	if (!find(cells, index, len, &at)) {
		code = insert(cells, index, len, at);
		if (code < 0)
			return code;
	}
	cells->hint = at;
	cell = &cells->cell[cells->row[at].number * cells->width + column];
	*cell = (struct source_cell){ .kind = SOURCE_CELL_NONE };
	if (var->type == ASN_OCTET_STR) {
		code = put_text(cells, cell, var);
		if (code < 0)
			return code;
	} else if (var->val_len > 0 && read_number(var, &cell->number)) {
		cell->kind = SOURCE_CELL_NUMBER;
	}
	return 0;
}

/*** For people ***/

static void print_oid(FILE *out, const struct source_oid *column, const oid *index, size_t len)
{
	for (size_t i = 0; i < column->len; i++)
		(void)fprintf(out, ".%u", column->id[i]);
	for (size_t i = 0; i < len; i++)
		(void)fprintf(out, ".%lu", (unsigned long)index[i]);
}

/* Text as it is, if it is one line for a terminal; else in hexadecimal. */
static void print_text(FILE *out, const struct source_cell *cell)
{
	bool is_plain = true;

	for (size_t i = 0; i < cell->len; i++)
		is_plain &= cell->text[i] >= ' ' && cell->text[i] <= '~' && cell->text[i] != '"';
	if (is_plain) {
		(void)fprintf(out, "STRING: \"%.*s\"\n", (int)cell->len, cell->text);
		return;
	}
	(void)fputs("Hex-STRING:", out);
	for (size_t i = 0; i < cell->len; i++)
		(void)fprintf(out, " %02X", (unsigned char)cell->text[i]);
	(void)fputc('\n', out);
}

void snmp_cells_log(const struct snmp_cells *cells, const struct cr_host *host, size_t index,
		    const struct source_request *request)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return;
	for (size_t c = 0; c < request->n_oids && c < cells->width; c++)
		for (size_t r = 0; r < cells->n_rows; r++) {
			const struct snmp_cells_row *row = &cells->row[r];
			const struct source_cell *cell =
				&cells->cell[row->number * cells->width + c];

			if (cell->kind == SOURCE_CELL_NONE)
				continue;
			print_oid(out, &request->oid[c], index_of(cells, row), row->index_len);
			(void)fputs(" = ", out);
			if (cell->kind == SOURCE_CELL_NUMBER)
				(void)fprintf(out, "INTEGER: %.17g\n", cell->number);
			else
				print_text(out, cell);
		}
	if (fclose(out) == 0)
		host->log(host, CR_DEBUG, "answer\nrequest %zu\n\n%s", index, text);
	free(text);
}
