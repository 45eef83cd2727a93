/* snmp_walk.c - the next message, and what an answer means for the one after it. */
#include "snmp_walk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_table(const struct snmp_walk *walk)
{
	return walk->request->format == SOURCE_SNMP_TABLE;
}

static int reserve(struct snmp_walk *walk, size_t n)
{
	struct snmp_column *column;
	size_t *asked;

	if (n <= walk->cap_columns && n <= walk->cap_asked)
		return 0;
	column = reallocarray(walk->column, n, sizeof *column);
	if (column == NULL)
		return -ENOMEM;
	walk->column = column;
	walk->cap_columns = n;
	asked = reallocarray(walk->asked, n, sizeof *asked);
	if (asked == NULL)
		return -ENOMEM;
	walk->asked = asked;
	walk->cap_asked = n;
	return 0;
}

int snmp_walk_start(struct snmp_walk *walk, const struct source_request *request, bool is_version_1,
		    unsigned int repetitions)
{
	if (reserve(walk, request->n_oids) < 0)
		return -ENOMEM;
	walk->request = request;
	walk->is_version_1 = is_version_1;
	walk->repetitions = request->format == SOURCE_SNMP_TABLE ? repetitions : SNMP_SCALARS_MAX;
	walk->rounds = 0;
	walk->n_asked = 0;
	for (size_t c = 0; c < request->n_oids; c++) {
		const struct source_oid *wanted = &request->oid[c];
		struct snmp_column *column = &walk->column[c];

		/* The description's parser keeps them shorter; an index follows. */
		column->is_done = wanted->len >= MAX_OID_LEN;
		column->prefix_len = column->at_len = column->is_done ? 0 : wanted->len;
		for (size_t i = 0; i < column->at_len; i++)
			column->at[i] = wanted->id[i];
	}
	snmp_cells_clear(&walk->cells, request->n_oids);
	/* Scalars are one row, even if the agent has none of them. */
	return is_table(walk) ? 0 : snmp_cells_add(&walk->cells, NULL, 0);
}

void snmp_walk_fini(struct snmp_walk *walk)
{
	snmp_cells_fini(&walk->cells);
	free(walk->column);
	free(walk->asked);
	memset(walk, 0, sizeof *walk);
}

static int command(const struct snmp_walk *walk)
{
	if (!is_table(walk))
		return SNMP_MSG_GET;
	return walk->repetitions > 1 && !walk->is_version_1 ? SNMP_MSG_GETBULK : SNMP_MSG_GETNEXT;
}

netsnmp_pdu *snmp_walk_message(struct snmp_walk *walk)
{
	netsnmp_pdu *pdu = snmp_pdu_create(command(walk));
	size_t max = walk->request->n_oids;

	if (pdu == NULL)
		return NULL;
	if (pdu->command == SNMP_MSG_GETBULK) {
		pdu->non_repeaters = 0;
		pdu->max_repetitions = walk->repetitions;
	}
	if (!is_table(walk))
		max = walk->repetitions < SNMP_SCALARS_MAX ? walk->repetitions : SNMP_SCALARS_MAX;
	walk->n_asked = 0;
	for (size_t c = 0; c < walk->request->n_oids && walk->n_asked < max; c++) {
		const struct snmp_column *column = &walk->column[c];

		if (column->is_done)
			continue;
		if (snmp_add_null_var(pdu, column->at, column->at_len) == NULL) {
			snmp_free_pdu(pdu);
			return NULL;
		}
		walk->asked[walk->n_asked++] = c;
	}
	return pdu;
}

CR_PRINTF(4, 5)
static int explain(int code, char *text, size_t text_len, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (code == -ENOMEM)
		(void)snprintf(text, text_len, "out of memory");
	else if (code == -E2BIG)
		(void)snprintf(text, text_len, "the table does not end after %d rows: faulty agent",
			       SOURCE_ROWS_MAX);
	else
		(void)vsnprintf(text, text_len, fmt, args);
	va_end(args);
	return code;
}

static int count_left(const struct snmp_walk *walk)
{
	for (size_t c = 0; c < walk->request->n_oids; c++)
		if (!walk->column[c].is_done)
			return 1;
	return 0;
}

/* One variable of a column: note the value and advance the column. */
static int take_cell(struct snmp_walk *walk, size_t c, const netsnmp_variable_list *var)
{
	struct snmp_column *column = &walk->column[c];
	const size_t prefix = column->prefix_len;
	int code;

	if (snmp_cells_is_absent(var)) {
		column->is_done = true;
		return 0;
	}
	/* An agent that repeats itself would be walked for ever. */
	if (snmp_oid_compare(var->name, var->name_length, column->at, column->at_len) <= 0)
		return -EPROTO;
	if (var->name_length <= prefix ||
	    snmp_oid_compare(var->name, prefix, column->at, prefix) != 0) {
		column->is_done = true;
		return 0;
	}
	code = snmp_cells_put(&walk->cells, var->name + prefix, var->name_length - prefix, c, var);
	if (code < 0)
		return code;
	memcpy(column->at, var->name, var->name_length * sizeof *column->at);
	column->at_len = var->name_length;
	return 0;
}

static int take_rows(struct snmp_walk *walk, const netsnmp_variable_list *vars, char *text,
		     size_t text_len)
{
	if (++walk->rounds > SNMP_ROUNDS_MAX)
		return explain(-E2BIG, text, text_len, " ");
	for (size_t i = 0; vars != NULL; vars = vars->next_variable, i++) {
		const size_t c = walk->asked[i % walk->n_asked];
		int code;

		if (walk->column[c].is_done)
			continue;
		code = take_cell(walk, c, vars);
		if (code < 0)
			return explain(code, text, text_len,
				       "OID not increasing in column %lu: faulty agent",
				       walk->column[c].at[walk->column[c].prefix_len - 1]);
	}
	return count_left(walk);
}

static int take_scalars(struct snmp_walk *walk, const netsnmp_variable_list *vars, char *text,
			size_t text_len)
{
	size_t i = 0;
	int code;

	for (; vars != NULL && i < walk->n_asked; vars = vars->next_variable, i++) {
		const size_t c = walk->asked[i];
		struct snmp_column *column = &walk->column[c];

		if (snmp_oid_compare(vars->name, vars->name_length, column->at, column->at_len) !=
		    0)
			break;
		code = snmp_cells_put(&walk->cells, NULL, 0, c, vars);
		if (code < 0)
			return explain(code, text, text_len, " ");
		column->is_done = true;
	}
	if (vars != NULL || i < walk->n_asked)
		return explain(-EPROTO, text, text_len,
			       "the answer is about other objects than the question");
	return count_left(walk);
}

int snmp_walk_answer(struct snmp_walk *walk, const netsnmp_variable_list *vars, char *text,
		     size_t text_len)
{
	if (vars == NULL || walk->n_asked == 0)
		return explain(-EPROTO, text, text_len,
			       "an answer without any object: faulty agent");
	return is_table(walk) ? take_rows(walk, vars, text, text_len)
			      : take_scalars(walk, vars, text, text_len);
}

int snmp_walk_drop(struct snmp_walk *walk, long index, char *text, size_t text_len)
{
	/* A stranger's number: never to be trusted. */
	if (index < 1 || (size_t)index > walk->n_asked)
		return explain(-EPROTO, text, text_len,
			       "noSuchName about object %ld of %zu: faulty agent", index,
			       walk->n_asked);
	walk->column[walk->asked[index - 1]].is_done = true;
	return count_left(walk);
}

bool snmp_walk_shrink(struct snmp_walk *walk)
{
	if (!is_table(walk) && walk->repetitions > walk->n_asked)
		walk->repetitions = (unsigned int)walk->n_asked;
	if (walk->repetitions <= 1)
		return false;
	walk->repetitions /= 2;
	return true;
}
