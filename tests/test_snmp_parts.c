/* test_snmp_parts.c - the SNMP collector's parts that know no network: types, the join of columns,
 * reports, timers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "snmp_cells.h"
#include "snmp_report.h"
#include "snmp_timer.h"

/*** Types ***/

static struct snmp_cells cells;

static void end_cells(void)
{
	snmp_cells_fini(&cells);
}

TestSuite(snmp_cells, .fini = end_cells);

static const struct source_cell *put(u_char type, const void *value, size_t len)
{
	netsnmp_variable_list *var = NULL;
	const oid name[] = { 1, 3, 6 };

	snmp_varlist_add_variable(&var, name, 3, type, value, len);
	cr_assert_not_null(var);
	snmp_cells_clear(&cells, 1);
	cr_assert_eq(snmp_cells_put(&cells, name, 3, 0, var), 0);
	snmp_free_varbind(var);
	cr_assert_eq(cells.n_rows, 1);
	return &cells.cell[0];
}

static void expect_number(const struct source_cell *cell, double number)
{
	cr_assert_eq(cell->kind, SOURCE_CELL_NUMBER);
	cr_assert_eq(cell->number, number, "%.17g", cell->number);
}

static const struct source_cell *put_integer(u_char type, long value)
{
	return put(type, &value, sizeof value);
}

static const struct source_cell *put_counter64(u_long high, u_long low)
{
	const struct counter64 value = { .high = high, .low = low };

	return put(ASN_COUNTER64, &value, sizeof value);
}

Test(snmp_cells, take_every_type_in_which_agents_send_sizes)
{
	expect_number(put_integer(ASN_INTEGER, 314572800), 314572800);
	expect_number(put_integer(ASN_INTEGER, -1), -1);
	expect_number(put_integer(ASN_INTEGER, -2147483648), -2147483648.0);
	expect_number(put_integer(ASN_GAUGE, 4294967290), 4294967290);
	expect_number(put_integer(ASN_COUNTER, 7), 7);
	expect_number(put_integer(ASN_TIMETICKS, 100), 100);
	expect_number(put_counter64(2, 1), 8589934593);
	expect_number(put_counter64(0x7fffffff, 0xffffffff), 9223372036854775807.0);
	expect_number(put_counter64(0, 0xffffffffdeadbeef), 0xdeadbeef);
}

Test(snmp_cells, take_a_counter_above_2_to_the_53_for_the_nearest_number)
{
	expect_number(put_counter64(0x200000, 1), 9007199254740992.0);
}

Test(snmp_cells, take_opaque_numbers)
{
	struct counter64 value = { .high = 1, .low = 5 };
	float small = 0.5f;
	double large = 1e12;
	netsnmp_variable_list var = { .val_len = sizeof value, .val.counter64 = &value };
	const struct {
		u_char type;
		double number;
	} rows[] = { { ASN_OPAQUE_U64, 4294967301 },
		     { ASN_OPAQUE_I64, 4294967301 },
		     { ASN_OPAQUE_COUNTER64, 4294967301 } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snmp_cells_clear(&cells, 1);
		var.type = rows[i].type;
		cr_assert_eq(snmp_cells_put(&cells, NULL, 0, 0, &var), 0);
		expect_number(&cells.cell[0], rows[i].number);
	}
	value = (struct counter64){ .high = 0xffffffff, .low = 0xffffffff };
	var.type = ASN_OPAQUE_I64;
	cr_assert_eq(snmp_cells_put(&cells, NULL, 0, 0, &var), 0);
	expect_number(&cells.cell[0], -1);
	var = (netsnmp_variable_list){ .type = ASN_OPAQUE_FLOAT,
				       .val_len = sizeof small,
				       .val.floatVal = &small };
	cr_assert_eq(snmp_cells_put(&cells, NULL, 0, 0, &var), 0);
	expect_number(&cells.cell[0], 0.5);
	var = (netsnmp_variable_list){ .type = ASN_OPAQUE_DOUBLE,
				       .val_len = sizeof large,
				       .val.doubleVal = &large };
	cr_assert_eq(snmp_cells_put(&cells, NULL, 0, 0, &var), 0);
	expect_number(&cells.cell[0], 1e12);
}

Test(snmp_cells, take_texts_with_their_length_and_not_with_a_nul)
{
	const struct source_cell *cell = put(ASN_OCTET_STR, "12884901888\0x", 13);

	cr_assert_eq(cell->kind, SOURCE_CELL_TEXT);
	cr_assert_eq(cell->len, 13);
	cr_assert_arr_eq(cell->text, "12884901888\0x", 13);
	cell = put(ASN_OCTET_STR, "", 0);
	cr_assert_eq(cell->kind, SOURCE_CELL_TEXT);
	cr_assert_eq(cell->len, 0);
}

/* Or NULs up to the cut would hide what is behind them. */
Test(snmp_cells, take_no_end_of_a_text_for_its_end_where_it_was_cut)
{
	char text[1100] = "ms1";
	const struct source_cell *cell;

	text[sizeof text - 1] = 'x';
	cell = put(ASN_OCTET_STR, text, sizeof text);
	cr_assert_eq(cell->len, 1024);
	cr_assert_eq(cell->text[1023], '?');
	cell = put(ASN_OCTET_STR, text, 1024);
	cr_assert_eq(cell->len, 1024);
	cr_assert_eq(cell->text[1023], '\0');
}

Test(snmp_cells, take_nothing_for_what_is_no_figure)
{
	const oid other[] = { 1, 3 };

	cr_assert_eq(put(ASN_NULL, NULL, 0)->kind, SOURCE_CELL_NONE);
	cr_assert_eq(put(ASN_IPADDRESS, "\1\2\3\4", 4)->kind, SOURCE_CELL_NONE);
	cr_assert_eq(put(ASN_OBJECT_ID, other, sizeof other)->kind, SOURCE_CELL_NONE);
	cr_assert_eq(put(SNMP_NOSUCHOBJECT, NULL, 0)->kind, SOURCE_CELL_NONE);
	cr_assert_eq(put(SNMP_NOSUCHINSTANCE, NULL, 0)->kind, SOURCE_CELL_NONE);
	cr_assert_eq(put(SNMP_ENDOFMIBVIEW, NULL, 0)->kind, SOURCE_CELL_NONE);
	/* An INTEGER without a value, as no agent should send one. */
	cr_assert_eq(put(ASN_INTEGER, NULL, 0)->kind, SOURCE_CELL_NONE);
}

Test(snmp_cells, hold_a_bounded_amount_of_text)
{
	char text[1000];
	netsnmp_variable_list var = { .type = ASN_OCTET_STR, .val_len = sizeof text };
	size_t rows = 0;

	memset(text, 'x', sizeof text);
	var.val.string = (u_char *)text;
	snmp_cells_clear(&cells, 1);
	for (oid row = 0; rows < SOURCE_ROWS_MAX; row++, rows++)
		if (snmp_cells_put(&cells, &row, 1, 0, &var) < 0)
			break;
	cr_assert_lt(rows, SNMP_TEXTS_MAX / 1000);
	cr_assert_gt(rows, SNMP_TEXTS_MAX / 2000);
}

Test(snmp_cells, find_rows_in_whatever_order_they_come)
{
	const oid order[] = { 5, 1, 9, 3, 7, 2, 8, 4, 6, 0 };
	long value;
	netsnmp_variable_list var = { .type = ASN_INTEGER, .val_len = sizeof value };

	var.val.integer = &value;
	snmp_cells_clear(&cells, 2);
	for (size_t c = 0; c < 2; c++)
		for (size_t i = 0; i < 10; i++) {
			const oid index[] = { 7, order[(i * (c * 2 + 1)) % 10] };

			value = (long)(index[1] * 10 + c);
			cr_assert_eq(snmp_cells_put(&cells, index, 2, c, &var), 0);
		}
	cr_assert_eq(cells.n_rows, 10);
	for (size_t i = 0; i < 10; i++) {
		expect_number(&cells.cell[i * 2], (double)(order[i] * 10));
		expect_number(&cells.cell[i * 2 + 1], (double)(order[i] * 10 + 1));
	}
}

/*** Reports ***/

/* What snmpd 5.9.3 answers to snmp_report_ask(). */
static const uint8_t report_of_snmpd[] = {
	0x30, 0x6c, 0x02, 0x01, 0x03, 0x30, 0x11, 0x02, 0x04, 0x12, 0x34, 0x56, 0x79, 0x02,
	0x03, 0x00, 0xff, 0xe3, 0x04, 0x01, 0x00, 0x02, 0x01, 0x03, 0x04, 0x21, 0x30, 0x1f,
	0x04, 0x11, 0x80, 0x00, 0x1f, 0x88, 0x80, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
	0x68, 0x00, 0x00, 0x00, 0x00, 0x02, 0x01, 0x05, 0x02, 0x01, 0x0a, 0x04, 0x00, 0x04,
	0x00, 0x04, 0x00, 0x30, 0x31, 0x04, 0x11, 0x80, 0x00, 0x1f, 0x88, 0x80, 0x11, 0x22,
	0x33, 0x44, 0x55, 0x66, 0x77, 0x68, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0xa8, 0x1a,
	0x02, 0x02, 0x12, 0x34, 0x02, 0x01, 0x00, 0x02, 0x01, 0x00, 0x30, 0x0e, 0x30, 0x0c,
	0x06, 0x0a, 0x2b, 0x06, 0x01, 0x06, 0x03, 0x0f, 0x01, 0x01, 0x04, 0x00,
};

static struct snmp_report report;

Test(snmp_report, reads_the_engine_from_what_an_agent_answers)
{
	/* The report's object has no value here: it is not looked at. */
	cr_assert_eq(snmp_report_read(report_of_snmpd, sizeof report_of_snmpd, &report), 0);
	cr_assert_eq(report.message, 0x12345679);
	cr_assert_eq(report.complaint, SNMP_UNKNOWN_ENGINE);
	cr_assert_eq(report.engine.len, 17);
	cr_assert_eq(report.engine.id[0], 0x80);
	cr_assert_eq(report.engine.id[12], 0x68);
}

Test(snmp_report, asks_with_64_bytes_that_carry_the_id_twice)
{
	uint8_t question[SNMP_DISCOVER_LEN];

	cr_assert_eq(snmp_report_ask(question, 0x01020304), 64);
	cr_assert_arr_eq(question + 9, "\1\2\3\4", 4);
	cr_assert_arr_eq(question + 52, "\1\2\3\4", 4);
	cr_assert_eq(snmp_report_read(question, sizeof question, &report), -EBADMSG,
		     "a question is no report");
}

Test(snmp_report, survives_every_cut_and_every_wrong_byte)
{
	uint8_t copy[sizeof report_of_snmpd];
	uint8_t *exact;
	uint32_t id;

	for (size_t len = 0; len < sizeof report_of_snmpd; len++) {
		exact = malloc(len + 1); /* a read past the end is seen by the sanitizers */
		memcpy(exact + 1, report_of_snmpd, len);
		cr_assert_eq(snmp_report_read(exact + 1, len, &report), -EBADMSG);
		cr_assert_not(snmp_report_id(exact + 1, len, &id));
		free(exact);
	}
	for (size_t i = 0; i < sizeof copy; i++)
		for (int value = 0; value < 256; value++) {
			memcpy(copy, report_of_snmpd, sizeof copy);
			copy[i] = (uint8_t)value;
			(void)snmp_report_id(copy, sizeof copy, &id);
			if (snmp_report_read(copy, sizeof copy, &report) == 0)
				cr_assert(report.engine.len >= 5 &&
					  report.engine.len <= SNMP_ENGINE_MAX);
		}
}

Test(snmp_report, belongs_to_the_message_of_its_id)
{
	const uint8_t answer[] = { 0x30, 19,  2,    1, 1, 4, 6,    'p',  'u',  'b', 'l',
				   'i',  'c', 0xa2, 6, 2, 4, 0x12, 0x34, 0x56, 0x78 };
	uint8_t question[sizeof answer];
	uint32_t id = 0;

	cr_assert(snmp_report_id(answer, sizeof answer, &id));
	cr_expect_eq(id, 0x12345678);
	for (size_t len = 0; len < sizeof answer; len++)
		cr_expect_not(snmp_report_id(answer, len, &id), "%zu bytes", len);
	memcpy(question, answer, sizeof question);
	question[13] = 0xa0;
	cr_expect_not(snmp_report_id(question, sizeof question, &id), "no answer");
	cr_assert(snmp_report_id(report_of_snmpd, sizeof report_of_snmpd, &id));
	cr_assert_eq(snmp_report_read(report_of_snmpd, sizeof report_of_snmpd, &report), 0);
	cr_expect_eq(id, report.message);
}

Test(snmp_report, tells_a_community_from_another)
{
	const uint8_t message[] = { 0x30, 11, 2, 1, 1, 4, 6, 'p', 'u', 'b', 'l', 'i', 'c' };

	cr_assert(snmp_report_is_from(message, sizeof message, 1, "public", 6));
	cr_assert_not(snmp_report_is_from(message, sizeof message, 1, "publi", 5));
	cr_assert_not(snmp_report_is_from(message, sizeof message, 1, "private", 7));
	cr_assert_not(snmp_report_is_from(message, sizeof message, 1, "Public", 6));
	cr_assert_not(snmp_report_is_from(message, sizeof message, 0, "public", 6));
	cr_assert_not(snmp_report_is_from(message, sizeof message - 1, 1, "public", 6));
	cr_assert_not(snmp_report_is_from(message, 0, 1, "public", 6));
}

/*** Timers ***/

Test(snmp_timer, gives_the_earliest_however_they_are_set_moved_and_cancelled)
{
	static struct snmp_timer timer[1000];
	struct snmp_timers timers = { 0 };
	int64_t last = -1;
	size_t n = 0;

	cr_assert_null(snmp_timers_first(&timers));
	cr_assert_eq(snmp_timers_reserve(&timers, 1000), 0);
	for (int64_t i = 0; i < 1000; i++)
		snmp_timers_set(&timers, &timer[i], i * 7919 % 1009);
	for (int64_t i = 0; i < 1000; i += 3)
		snmp_timers_set(&timers, &timer[i], i * 104729 % 2003);
	for (size_t i = 0; i < 1000; i += 5)
		snmp_timers_cancel(&timers, &timer[i]);
	snmp_timers_cancel(&timers, &timer[0]);
	for (struct snmp_timer *first; (first = snmp_timers_first(&timers)) != NULL; n++) {
		cr_assert_geq(first->when_ns, last);
		last = first->when_ns;
		snmp_timers_cancel(&timers, first);
	}
	cr_assert_eq(n, 800);
	snmp_timers_fini(&timers);
}
