/*
 * snmp_table.h - walks a table of an SNMP agent: all columns of a profile in lock-step, a few rows
 * per request, rows joined by their index. Knows no network: makes requests, takes answers.
 */
#ifndef CR_COLLECTORS_SNMP_TABLE_H
#define CR_COLLECTORS_SNMP_TABLE_H

#include "snmp_profile.h"

#define SNMP_ROWS_MAX    4096
#define SNMP_COLUMNS_MAX (1 + SNMP_FIELDS_MAX) /* the key first, then the fields */

/** What a walk found about one server. */
struct snmp_row {
	size_t index_at, index_len; /* the row's index, in the table's index[] */
	bool is_named;
	char name[SNMP_NAME_LEN];
	double value[SNMP_FIELDS_MAX]; /* NaN: missing or undefined */
};

/** How far one column has been read. */
struct snmp_column {
	oid at[MAX_OID_LEN]; /* the newest object seen */
	size_t at_len;
	bool is_done;
};

/** One agent's table. Memory is kept from walk to walk. */
struct snmp_table {
	const struct snmp_profile *profile;
	size_t key;                        /* which of the profile's keys works with this agent */
	unsigned int ceiling, repetitions; /* rows per request: ever, in this walk */
	struct snmp_column column[SNMP_COLUMNS_MAX];
	size_t asked[SNMP_COLUMNS_MAX], n_asked; /* columns of the request under way */
	struct snmp_row *row;                    /* in the order of their index */
	size_t n_rows, cap_rows;
	oid *index;
	size_t n_index, cap_index;
};

/** Make table ready for an agent of profile; max_repetitions: rows per request at most. [own] */
void snmp_table_init(struct snmp_table *table, const struct snmp_profile *profile,
		     unsigned int max_repetitions);
void snmp_table_fini(struct snmp_table *table);

/** Start a walk from the beginning; forgets the rows. [own] */
void snmp_table_start(struct snmp_table *table);

/** The request that goes on with the walk (GETBULK, or GETNEXT for one row), or NULL. [own] */
netsnmp_pdu *snmp_table_request(struct snmp_table *table);

/**
 * Take the answer to the newest request. Returns 1: there is more to ask; 0: the walk is over and
 * row[] is complete; -EPROTO, -E2BIG or -ENOMEM with text, one line for the operator. [own]
 */
int snmp_table_answer(struct snmp_table *table, const netsnmp_variable_list *vars, char *text,
		      size_t text_len);

/**
 * Ask for half as many rows from now on; is_lasting: in later walks too. Returns false if it was
 * one row already. [own]
 */
bool snmp_table_shrink(struct snmp_table *table, bool is_lasting);

#endif
