/* test_snmp_walk.c - how the SNMP collector walks tables and asks for scalars, without a network.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "snmp_walk.h"

static void expect_number(const struct source_cell *cell, double number)
{
	cr_assert_eq(cell->kind, SOURCE_CELL_NUMBER);
	cr_assert_eq(cell->number, number, "%.17g", cell->number);
}

static uint32_t column_id[4][11] = { { 1, 3, 6, 1, 4, 1, 140, 625, 340, 1, 20 },
				     { 1, 3, 6, 1, 4, 1, 140, 625, 340, 1, 25 },
				     { 1, 3, 6, 1, 4, 1, 140, 625, 340, 1, 30 },
				     { 1, 3, 6, 1, 4, 1, 140, 625, 340, 1, 52 } };
static struct source_oid columns[4] = {
	{ column_id[0], 11 }, { column_id[1], 11 }, { column_id[2], 11 }, { column_id[3], 11 }
};
static const struct source_request table = { .format = SOURCE_SNMP_TABLE,
					     .oid = columns,
					     .n_oids = 4 };
static const struct source_request scalars = { .format = SOURCE_SNMP_GET,
					       .oid = columns,
					       .n_oids = 4 };

static struct snmp_walk walk;
static netsnmp_variable_list *vars;
static char why[160];

static size_t ask(void)
{
	netsnmp_pdu *pdu = snmp_walk_message(&walk);
	size_t n = 0;

	for (const netsnmp_variable_list *v = pdu->variables; v != NULL; v = v->next_variable)
		n++;
	snmp_free_pdu(pdu);
	return n;
}

static int command(void)
{
	netsnmp_pdu *pdu = snmp_walk_message(&walk);
	const int is = pdu->command;

	snmp_free_pdu(pdu);
	return is;
}

static void begin_walk(void)
{
	cr_assert_eq(snmp_walk_start(&walk, &table, false, 10), 0);
	cr_assert_eq(ask(), 4);
}

static void end_walk(void)
{
	snmp_free_varbind(vars);
	vars = NULL;
	snmp_walk_fini(&walk);
}

TestSuite(snmp_walk, .init = begin_walk, .fini = end_walk);

static oid *cell(oid column, oid row, size_t *len)
{
	static oid name[12] = { 1, 3, 6, 1, 4, 1, 140, 625, 340, 1 };

	name[10] = column;
	name[11] = row;
	*len = 12;
	return name;
}

static void add_name(oid row, const char *parent)
{
	size_t len;
	const oid *name = cell(20, row, &len);

	snmp_varlist_add_variable(&vars, name, len, ASN_OCTET_STR, parent, strlen(parent));
}

static void add(oid column, oid row, long value)
{
	size_t len;
	const oid *name = cell(column, row, &len);

	snmp_varlist_add_variable(&vars, name, len, ASN_INTEGER, &value, sizeof value);
}

static int take(void)
{
	const int code = snmp_walk_answer(&walk, vars, why, sizeof why);

	snmp_free_varbind(vars);
	vars = NULL;
	return code;
}

/* The cell of the row that came as the row-th. */
static const struct source_cell *at(size_t row, size_t column)
{
	return &walk.cells.cell[row * 4 + column];
}

static void expect_text(size_t row, const char *text)
{
	cr_assert_eq(at(row, 0)->kind, SOURCE_CELL_TEXT);
	cr_assert_eq(at(row, 0)->len, strlen(text));
	cr_assert_arr_eq(at(row, 0)->text, text, strlen(text));
}

Test(snmp_walk, joins_rows_by_index_and_not_by_their_number)
{
	/* Row 5 has no free, row 7 has no percent. */
	add_name(5, "ServerRuntime:ms5");
	add(25, 7, 700);
	add(30, 5, 5000);
	add(52, 5, 55);
	add_name(7, "ServerRuntime:ms7");
	add(30, 5, 5000); /* past the column free's end */
	add(30, 7, 7000);
	add(52, 9, 99);
	cr_assert_eq(take(), 1);
	cr_assert_eq(walk.cells.n_rows, 3);
	expect_text(0, "ServerRuntime:ms5");
	cr_assert_eq(at(0, 1)->kind, SOURCE_CELL_NONE);
	expect_number(at(0, 2), 5000);
	expect_number(at(0, 3), 55);
	expect_text(1, "ServerRuntime:ms7");
	expect_number(at(1, 1), 700);
	expect_number(at(1, 2), 7000);
	cr_assert_eq(at(1, 3)->kind, SOURCE_CELL_NONE);
	cr_assert_eq(at(2, 0)->kind, SOURCE_CELL_NONE, "row 9 has no name");
}

Test(snmp_walk, takes_a_row_that_appears_while_it_is_walking_for_what_it_is)
{
	add_name(1, "ServerRuntime:ms1");
	add(25, 1, 100);
	add(30, 1, 1000);
	add(52, 1, 10);
	cr_assert_eq(take(), 1);
	cr_assert_eq(ask(), 4);
	add_name(3, "ServerRuntime:ms3");
	add(25, 2, 200); /* ms2 has just started: its name was not there yet */
	add(30, 2, 2000);
	add(52, 2, 20);
	cr_assert_eq(take(), 1);
	cr_assert_eq(ask(), 4);
	add(25, 1, 100); /* the column of names has ended */
	add(25, 3, 300);
	add(30, 3, 3000);
	add(52, 3, 30);
	cr_assert_eq(take(), 1);
	cr_assert_eq(ask(), 3, "the column that has ended is not asked for any more");
	add(30, 1, 1000);
	add(52, 1, 10);
	add(99, 1, 0);
	cr_assert_eq(take(), 0);
	cr_assert_eq(walk.cells.n_rows, 3);
	expect_text(1, "ServerRuntime:ms3");
	expect_number(at(1, 1), 300);
	cr_assert_eq(at(2, 0)->kind, SOURCE_CELL_NONE);
	expect_number(at(2, 1), 200);
}

Test(snmp_walk, joins_an_index_longer_than_32)
{
	oid name[11 + 40];

	for (size_t i = 0; i < 51; i++)
		name[i] = i < 11 ? column_id[0][i] : 255 - i;
	snmp_varlist_add_variable(&vars, name, 51, ASN_OCTET_STR, "x:a", 3);
	for (size_t c = 1; c < 4; c++) {
		const long value = (long)c;

		name[10] = column_id[c][10];
		snmp_varlist_add_variable(&vars, name, 51, ASN_INTEGER, &value, sizeof value);
	}
	cr_assert_eq(take(), 1);
	cr_assert_eq(walk.cells.n_rows, 1);
	expect_text(0, "x:a");
	expect_number(at(0, 3), 3);
}

Test(snmp_walk, refuses_an_agent_that_repeats_itself)
{
	add_name(2, "ServerRuntime:ms2");
	add(25, 2, 200);
	add(30, 2, 2000);
	add(52, 2, 20);
	add_name(3, "ServerRuntime:ms3");
	add(25, 2, 200);
	cr_assert_eq(take(), -EPROTO);
	cr_assert_str_eq(why, "OID not increasing in column 25: faulty agent");
}

Test(snmp_walk, refuses_an_answer_without_objects)
{
	cr_assert_eq(take(), -EPROTO);
	cr_assert_str_eq(why, "an answer without any object: faulty agent");
}

Test(snmp_walk, is_over_at_once_where_there_is_no_table)
{
	for (int i = 0; i < 4; i++)
		add(99, 1, 1);
	cr_assert_eq(take(), 0);
	cr_assert_eq(walk.cells.n_rows, 0);
}

Test(snmp_walk, takes_each_exception_for_the_end_of_its_column)
{
	const u_char exceptions[] = { SNMP_NOSUCHOBJECT, SNMP_NOSUCHINSTANCE, SNMP_ENDOFMIBVIEW };
	size_t len;
	const oid *name;

	add_name(1, "ServerRuntime:ms1");
	for (oid c = 0; c < 3; c++) {
		name = cell(column_id[c + 1][10], 1, &len);
		snmp_varlist_add_variable(&vars, name, len, exceptions[c], NULL, 0);
	}
	cr_assert_eq(take(), 1);
	cr_assert_eq(ask(), 1, "only the names go on");
	add(25, 1, 1);
	cr_assert_eq(take(), 0);
	cr_assert_eq(walk.cells.n_rows, 1);
}

Test(snmp_walk, halves_its_messages_down_to_getnext)
{
	cr_assert(snmp_walk_shrink(&walk));
	cr_assert_eq(walk.repetitions, 5);
	cr_assert_eq(command(), SNMP_MSG_GETBULK);
	cr_assert(snmp_walk_shrink(&walk));
	cr_assert_eq(walk.repetitions, 2);
	cr_assert(snmp_walk_shrink(&walk));
	cr_assert_eq(walk.repetitions, 1);
	cr_assert_eq(command(), SNMP_MSG_GETNEXT);
	cr_assert_not(snmp_walk_shrink(&walk));
	cr_assert_eq(walk.repetitions, 1, "never 0");
}

Test(snmp_walk, walks_version_1_with_getnext_and_ends_a_column_where_it_has_no_name)
{
	cr_assert_eq(snmp_walk_start(&walk, &table, true, 10), 0);
	cr_assert_eq(command(), SNMP_MSG_GETNEXT);
	cr_assert_eq(snmp_walk_drop(&walk, 2, why, sizeof why), 1);
	cr_assert_eq(ask(), 3);
	cr_assert_eq(snmp_walk_drop(&walk, 3, why, sizeof why), 1);
	cr_assert_eq(ask(), 2);
}

Test(snmp_walk, does_not_trust_the_number_of_a_missing_name)
{
	cr_assert_eq(snmp_walk_drop(&walk, 0, why, sizeof why), -EPROTO);
	cr_assert_eq(snmp_walk_drop(&walk, 5, why, sizeof why), -EPROTO);
	cr_assert_eq(snmp_walk_drop(&walk, -1, why, sizeof why), -EPROTO);
	cr_assert_eq(snmp_walk_drop(&walk, 4294967297, why, sizeof why), -EPROTO);
	cr_assert_str_eq(why, "noSuchName about object 4294967297 of 4: faulty agent");
}

/*** Scalars ***/

static void add_scalar(size_t i, long value)
{
	oid name[11];

	for (size_t k = 0; k < 11; k++)
		name[k] = column_id[i][k];
	snmp_varlist_add_variable(&vars, name, 11, ASN_INTEGER, &value, sizeof value);
}

Test(snmp_walk, asks_for_scalars_in_one_message)
{
	cr_assert_eq(snmp_walk_start(&walk, &scalars, false, 1), 0);
	cr_assert_eq(command(), SNMP_MSG_GET);
	cr_assert_eq(ask(), 4);
	for (size_t i = 0; i < 4; i++)
		add_scalar(i, (long)i * 11);
	cr_assert_eq(take(), 0);
	cr_assert_eq(walk.cells.n_rows, 1);
	expect_number(at(0, 3), 33);
}

Test(snmp_walk, asks_for_scalars_in_halves_where_answers_get_too_big)
{
	cr_assert_eq(snmp_walk_start(&walk, &scalars, false, 10), 0);
	cr_assert_eq(ask(), 4);
	cr_assert(snmp_walk_shrink(&walk));
	cr_assert_eq(ask(), 2);
	add_scalar(0, 1);
	add_scalar(1, 2);
	cr_assert_eq(take(), 1);
	cr_assert_eq(ask(), 2);
	add_scalar(2, 3);
	add_scalar(3, 4);
	cr_assert_eq(take(), 0);
	expect_number(at(0, 0), 1);
	expect_number(at(0, 3), 4);
}

Test(snmp_walk, takes_no_scalars_that_it_has_not_asked_for)
{
	cr_assert_eq(snmp_walk_start(&walk, &scalars, false, 10), 0);
	cr_assert_eq(ask(), 4);
	add_scalar(1, 1);
	cr_assert_eq(take(), -EPROTO);
	cr_assert_str_eq(why, "the answer is about other objects than the question");
	cr_assert_eq(snmp_walk_start(&walk, &scalars, false, 10), 0);
	cr_assert_eq(ask(), 4);
	for (size_t i = 0; i < 4; i++)
		add_scalar(i, 1);
	add_scalar(0, 1);
	cr_assert_eq(take(), -EPROTO, "one too many");
}

Test(snmp_walk, leaves_out_the_scalars_that_version_1_does_not_have)
{
	cr_assert_eq(snmp_walk_start(&walk, &scalars, true, 10), 0);
	cr_assert_eq(ask(), 4);
	cr_assert_eq(snmp_walk_drop(&walk, 1, why, sizeof why), 1);
	cr_assert_eq(ask(), 3);
	cr_assert_eq(snmp_walk_drop(&walk, 3, why, sizeof why), 1);
	cr_assert_eq(ask(), 2);
	add_scalar(1, 11);
	add_scalar(2, 22);
	cr_assert_eq(take(), 0);
	cr_assert_eq(walk.cells.n_rows, 1);
	cr_assert_eq(at(0, 0)->kind, SOURCE_CELL_NONE);
	expect_number(at(0, 1), 11);
	cr_assert_eq(at(0, 3)->kind, SOURCE_CELL_NONE);
}
