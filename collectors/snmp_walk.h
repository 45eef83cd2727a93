/*
 * snmp_walk.h - how one request of a source is asked of an agent: scalars with GET; the columns of
 * a table in lock-step with GETBULK, a few rows per message (GETNEXT for single rows, and for
 * version 1). Knows no network: makes messages, takes answers. The cost of a walk is bounded
 * whatever the agent says.
 */
#ifndef CR_COLLECTORS_SNMP_WALK_H
#define CR_COLLECTORS_SNMP_WALK_H

#include "snmp_cells.h"

#define SNMP_SCALARS_MAX 32 /* of one message */
#define SNMP_ROUNDS_MAX  (2 * SOURCE_ROWS_MAX)

/** How far one column or scalar has been read. */
struct snmp_column {
	oid at[MAX_OID_LEN]; /* the newest object seen */
	size_t at_len, prefix_len;
	bool is_done;
};

struct snmp_walk {
	const struct source_request *request;
	bool is_version_1;
	unsigned int repetitions; /* rows per message, or scalars */
	unsigned int rounds;
	struct snmp_column *column; /* [request->n_oids] */
	size_t cap_columns;
	size_t *asked, n_asked, cap_asked; /* columns of the message under way */
	struct snmp_cells cells;
};

/** Begin to ask for request; repetitions: rows per message at most. Returns 0 or -ENOMEM. [own] */
int snmp_walk_start(struct snmp_walk *walk, const struct source_request *request, bool is_version_1,
		    unsigned int repetitions);
void snmp_walk_fini(struct snmp_walk *walk);

/** The message that goes on with it, or NULL (no memory). [own] */
netsnmp_pdu *snmp_walk_message(struct snmp_walk *walk);

/**
 * Take the answer to the newest message: no error in it. Returns 1: there is more to ask; 0: over,
 * cells are complete; -EPROTO, -E2BIG or -ENOMEM with text, one line for the operator. [own]
 */
int snmp_walk_answer(struct snmp_walk *walk, const netsnmp_variable_list *vars, char *text,
		     size_t text_len);

/** Version 1 said noSuchName about the index-th object (from 1, as it came from the wire). Returns
 * as snmp_walk_answer(). [own] */
int snmp_walk_drop(struct snmp_walk *walk, long index, char *text, size_t text_len);

/** Ask for half as much from now on. Returns false if it was one row or scalar already. [own] */
bool snmp_walk_shrink(struct snmp_walk *walk);

#endif
