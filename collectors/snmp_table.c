/* snmp_table.c - a walk over several columns at once, and the join of their rows by index. */
#include "snmp_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void snmp_table_init(struct snmp_table *table, const struct snmp_profile *profile,
		     unsigned int max_repetitions)
{
	memset(table, 0, sizeof *table);
	table->profile = profile;
	table->ceiling = table->repetitions = max_repetitions;
}

void snmp_table_fini(struct snmp_table *table)
{
	free(table->row);
	free(table->index);
	memset(table, 0, sizeof *table);
}

void snmp_table_start(struct snmp_table *table)
{
	const struct snmp_profile *profile = table->profile;
	const size_t len = profile->root_len;

	for (size_t c = 0; c < profile->n_fields + 1; c++) {
		struct snmp_column *column = &table->column[c];

		memcpy(column->at, profile->root, len * sizeof *column->at);
		column->at[len] =
			c == 0 ? profile->key[table->key].column : profile->field[c - 1].column;
		column->at_len = len + 1;
		column->is_done = false;
	}
	table->repetitions = table->ceiling;
	table->n_rows = table->n_index = table->n_asked = 0;
}

netsnmp_pdu *snmp_table_request(struct snmp_table *table)
{
	netsnmp_pdu *pdu =
		snmp_pdu_create(table->repetitions > 1 ? SNMP_MSG_GETBULK : SNMP_MSG_GETNEXT);

	if (pdu == NULL)
		return NULL;
	if (table->repetitions > 1) {
		pdu->non_repeaters = 0;
		pdu->max_repetitions = table->repetitions;
	}
	table->n_asked = 0;
	for (size_t c = 0; c < table->profile->n_fields + 1; c++) {
		const struct snmp_column *column = &table->column[c];

		if (column->is_done)
			continue;
		if (snmp_add_null_var(pdu, column->at, column->at_len) == NULL) {
			snmp_free_pdu(pdu);
			return NULL;
		}
		table->asked[table->n_asked++] = c;
	}
	return pdu;
}

/* Make room for one row more and its index. */
static int make_room(struct snmp_table *table, size_t index_len)
{
	if (table->n_rows == table->cap_rows) {
		const size_t cap = table->cap_rows > 0 ? table->cap_rows * 2 : 16;
		struct snmp_row *row = reallocarray(table->row, cap, sizeof *row);

		if (row == NULL)
			return -ENOMEM;
		table->row = row;
		table->cap_rows = cap;
	}
	if (table->n_index + index_len > table->cap_index) {
		const size_t cap = table->cap_index * 2 + (size_t)2 * MAX_OID_LEN;
		oid *index = reallocarray(table->index, cap, sizeof *index);

		if (index == NULL)
			return -ENOMEM;
		table->index = index;
		table->cap_index = cap;
	}
	return 0;
}

/* The row of this index, made if it is new; NULL: no room. */
static struct snmp_row *find_row(struct snmp_table *table, const oid *index, size_t len)
{
	size_t low = 0, high = table->n_rows;
	struct snmp_row *row;

	while (low < high) {
		const size_t mid = (low + high) / 2;
		int order;

		row = &table->row[mid];
		order = snmp_oid_compare(index, len, table->index + row->index_at, row->index_len);
		if (order == 0)
			return row;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	if (table->n_rows == SNMP_ROWS_MAX || make_room(table, len) < 0)
		return NULL;
	row = &table->row[low];
	memmove(row + 1, row, (table->n_rows - low) * sizeof *row);
	table->n_rows++;
	*row = (struct snmp_row){ .index_at = table->n_index, .index_len = len };
	for (size_t i = 0; i < SNMP_FIELDS_MAX; i++)
		row->value[i] = NAN;
	memcpy(table->index + table->n_index, index, len * sizeof *index);
	table->n_index += len;
	return row;
}

/* One variable of a column: advance the column and note the value. */
static int take(struct snmp_table *table, size_t c, const netsnmp_variable_list *var)
{
	const struct snmp_profile *profile = table->profile;
	struct snmp_column *column = &table->column[c];
	const size_t prefix = profile->root_len + 1;
	struct snmp_row *row;

	if (var->type == SNMP_ENDOFMIBVIEW || var->type == SNMP_NOSUCHOBJECT ||
	    var->type == SNMP_NOSUCHINSTANCE) {
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
	row = find_row(table, var->name + prefix, var->name_length - prefix);
	if (row == NULL)
		return table->n_rows == SNMP_ROWS_MAX ? -E2BIG : -ENOMEM;
	memcpy(column->at, var->name, var->name_length * sizeof *column->at);
	column->at_len = var->name_length;
	if (c == 0)
		row->is_named = snmp_profile_name(&profile->key[table->key], var, row->name);
	else
		snmp_profile_number(&profile->field[c - 1], var, &row->value[c - 1]);
	return 0;
}

/* Past the last row that has a key there is nothing to be learned. */
static void stop_past_key(struct snmp_table *table)
{
	const struct snmp_column *key = &table->column[0];
	const size_t prefix = table->profile->root_len + 1;

	for (size_t c = 1; key->is_done && c < table->profile->n_fields + 1; c++) {
		struct snmp_column *column = &table->column[c];

		if (snmp_oid_compare(column->at + prefix, column->at_len - prefix, key->at + prefix,
				     key->at_len - prefix) >= 0)
			column->is_done = true;
	}
}

/* The walk is over: was the key column the right one? Returns 1 if another is to be tried. */
static int end_walk(struct snmp_table *table)
{
	for (size_t i = 0; i < table->n_rows; i++)
		if (table->row[i].is_named)
			return 0;
	if (table->n_rows > 0 && table->key + 1 < table->profile->n_keys) {
		table->key++;
		snmp_table_start(table);
		return 1;
	}
	table->key = 0;
	return 0;
}

static int explain(int code, oid column, char *text, size_t text_len)
{
	switch (code) {
	case -E2BIG:
		(void)snprintf(text, text_len, "the table does not end after %d rows: faulty agent",
			       SNMP_ROWS_MAX);
		break;
	case -ENOMEM:
		(void)snprintf(text, text_len, "out of memory");
		break;
	default:
		(void)snprintf(text, text_len, "OID not increasing in column %lu: faulty agent",
			       column);
		break;
	}
	return code;
}

int snmp_table_answer(struct snmp_table *table, const netsnmp_variable_list *vars, char *text,
		      size_t text_len)
{
	size_t i = 0, left = 0;
	int code;

	if (vars == NULL || table->n_asked == 0) {
		(void)snprintf(text, text_len, "an answer without any object: faulty agent");
		return -EPROTO;
	}
	for (; vars != NULL; vars = vars->next_variable, i++) {
		const size_t c = table->asked[i % table->n_asked];

		if (table->column[c].is_done)
			continue;
		code = take(table, c, vars);
		if (code < 0)
			return explain(code, table->column[c].at[table->profile->root_len], text,
				       text_len);
	}
	stop_past_key(table);
	for (size_t c = 0; c < table->profile->n_fields + 1; c++)
		left += !table->column[c].is_done;
	return left > 0 ? 1 : end_walk(table);
}

bool snmp_table_shrink(struct snmp_table *table, bool is_lasting)
{
	if (table->repetitions <= 1)
		return false;
	table->repetitions /= 2;
	if (is_lasting)
		table->ceiling = table->repetitions;
	return true;
}
