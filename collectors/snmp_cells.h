/*
 * snmp_cells.h - what an agent has said in answer to one request of a source: rows, joined by the
 * index of their objects, of one cell per column. Memory is kept from poll to poll.
 */
#ifndef CR_COLLECTORS_SNMP_CELLS_H
#define CR_COLLECTORS_SNMP_CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

#include "source.h"

#define SNMP_TEXTS_MAX 1048576 /* bytes of all texts together */

struct snmp_cells_row; /* which index is where */

struct snmp_cells {
	size_t width;             /* cells of a row */
	struct source_cell *cell; /* [n_rows * width], rows in the order in which they came */
	size_t n_rows;

	struct snmp_cells_row *row; /* in the order of their index */
	size_t cap_rows, cap_cells, hint;
	oid *index;
	size_t n_index, cap_index;
	struct snmp_cells_text *text; /* the newest block first */
	size_t text_bytes;
};

/** Forget all rows; from now on they have width cells. [own] */
void snmp_cells_clear(struct snmp_cells *cells, size_t width);
void snmp_cells_fini(struct snmp_cells *cells);

/**
 * Note var as the cell of this column in the row of this index (len may be 0). Returns 0, -E2BIG
 * (more than SOURCE_ROWS_MAX rows or SNMP_TEXTS_MAX bytes) or -ENOMEM. [own]
 */
int snmp_cells_put(struct snmp_cells *cells, const oid *index, size_t len, size_t column,
		   const netsnmp_variable_list *var);

/** Add a row without any object, for an index that is new. Returns as snmp_cells_put(). [own] */
int snmp_cells_add(struct snmp_cells *cells, const oid *index, size_t len);

/** Log at level debug what there is: lines "answer", "request 0", an empty one, and one for each
 * object as snmpwalk -On writes them. [own] */
void snmp_cells_log(const struct snmp_cells *cells, const struct cr_host *host, size_t index,
		    const struct source_request *request);

/** Is it one of the three ways to say that there is no such object? [any] */
bool snmp_cells_is_absent(const netsnmp_variable_list *var);

#endif
