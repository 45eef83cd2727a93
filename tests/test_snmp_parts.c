/* test_snmp_table.c - the SNMP collector's parts that know no network: numbers, names, the join of
 * columns, timers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "snmp_profile.h"
#include "snmp_table.h"
#include "snmp_timer.h"

#define WEBLOGIC (&snmp_profiles[0])
#define JVM      (&snmp_profiles[1])

/*** Numbers ***/

static const struct snmp_field plain = { .metric = "x", .unit = 1 };

static enum snmp_found number(const struct snmp_field *field, u_char type, const void *value,
			      size_t len, double *out)
{
	netsnmp_variable_list *var = NULL;
	const oid name[] = { 1, 3, 6 };
	enum snmp_found found;

	snmp_varlist_add_variable(&var, name, 3, type, value, len);
	cr_assert_not_null(var);
	found = snmp_profile_number(field, var, out);
	snmp_free_varbind(var);
	return found;
}

static enum snmp_found integer(u_char type, long value, double *out)
{
	return number(&plain, type, &value, sizeof value, out);
}

static enum snmp_found counter64(u_char type, u_long high, u_long low, double *out)
{
	const struct counter64 value = { .high = high, .low = low };

	return number(&plain, type, &value, sizeof value, out);
}

static enum snmp_found text(const char *value, double *out)
{
	return number(&plain, ASN_OCTET_STR, value, strlen(value), out);
}

Test(snmp_profile, takes_every_type_in_which_agents_send_sizes)
{
	double x = -1;

	cr_assert_eq(integer(ASN_INTEGER, 314572800, &x), SNMP_FOUND);
	cr_assert_eq(x, 314572800);
	cr_assert_eq(integer(ASN_GAUGE, 4294967290, &x), SNMP_FOUND);
	cr_assert_eq(x, 4294967290);
	cr_assert_eq(integer(ASN_COUNTER, 7, &x), SNMP_FOUND);
	cr_assert_eq(x, 7);
	cr_assert_eq(counter64(ASN_COUNTER64, 2, 1, &x), SNMP_FOUND);
	cr_assert_eq(x, 8589934593);
	cr_assert_eq(counter64(ASN_COUNTER64, 0, 0xffffffffdeadbeef, &x), SNMP_FOUND);
	cr_assert_eq(x, 0xdeadbeef, "the upper half of a long low word is no part of it");
	cr_assert_eq(text("12884901888", &x), SNMP_FOUND);
	cr_assert_eq(x, 12884901888);
	cr_assert_eq(text(" 42 ", &x), SNMP_FOUND);
	cr_assert_eq(x, 42);
}

Test(snmp_profile, takes_64_bit_opaque_numbers)
{
	const struct counter64 minus_one = { .high = 0xffffffff, .low = 0xffffffff };
	netsnmp_variable_list var = { .val_len = sizeof minus_one };
	struct counter64 value = { .high = 1, .low = 5 };
	double x = -1;

	var.val.counter64 = &value;
	var.type = ASN_OPAQUE_U64;
	cr_assert_eq(snmp_profile_number(&plain, &var, &x), SNMP_FOUND);
	cr_assert_eq(x, 4294967301);
	var.type = ASN_OPAQUE_I64;
	cr_assert_eq(snmp_profile_number(&plain, &var, &x), SNMP_FOUND);
	value = minus_one;
	cr_assert_eq(snmp_profile_number(&plain, &var, &x), SNMP_UNDEFINED);
}

Test(snmp_profile, takes_no_nonsense_for_a_number)
{
	double x = -1;

	cr_assert_eq(integer(ASN_INTEGER, -1, &x), SNMP_UNDEFINED);
	cr_assert_eq(integer(ASN_INTEGER, -2147483648, &x), SNMP_UNDEFINED);
	cr_assert_eq(text("", &x), SNMP_UNDEFINED);
	cr_assert_eq(text("-1", &x), SNMP_UNDEFINED);
	cr_assert_eq(text("12 MB", &x), SNMP_UNDEFINED);
	cr_assert_eq(text("123456789012345678901", &x), SNMP_UNDEFINED);
	cr_assert_eq(number(&plain, ASN_NULL, NULL, 0, &x), SNMP_UNDEFINED);
	cr_assert_eq(number(&plain, ASN_IPADDRESS, "\1\2\3\4", 4, &x), SNMP_UNDEFINED);
	cr_assert_eq(x, -1, "untouched");
}

Test(snmp_profile, tells_what_an_agent_does_not_have)
{
	double x;

	cr_assert_eq(number(&plain, SNMP_NOSUCHOBJECT, NULL, 0, &x), SNMP_MISSING);
	cr_assert_eq(number(&plain, SNMP_NOSUCHINSTANCE, NULL, 0, &x), SNMP_MISSING);
	cr_assert_eq(number(&plain, SNMP_ENDOFMIBVIEW, NULL, 0, &x), SNMP_MISSING);
}

Test(snmp_profile, turns_weblogics_percent_into_a_ratio)
{
	const struct snmp_field *percent = &WEBLOGIC->field[2];
	long value = 25;
	double x = -1;

	cr_assert_str_eq(percent->metric, "jvm_heap_free_ratio");
	cr_assert_eq(number(percent, ASN_INTEGER, &value, sizeof value, &x), SNMP_FOUND);
	cr_assert_float_eq(x, 0.25, 1e-12);
	value = 101;
	cr_assert_eq(number(percent, ASN_INTEGER, &value, sizeof value, &x), SNMP_UNDEFINED);
}

Test(snmp_profile, takes_a_maximum_of_0_for_undefined)
{
	const long zero = 0;
	double x;

	cr_assert_str_eq(JVM->field[2].metric, "jvm_heap_max_bytes");
	cr_assert_eq(number(&JVM->field[2], ASN_GAUGE, &zero, sizeof zero, &x), SNMP_UNDEFINED);
	cr_assert_eq(number(&WEBLOGIC->field[0], ASN_GAUGE, &zero, sizeof zero, &x), SNMP_FOUND,
		     "a full heap has 0 bytes free");
}

/*** Names ***/

static bool name_of(const struct snmp_key *key, const char *value, char *name)
{
	netsnmp_variable_list *var = NULL;
	const oid at[] = { 1, 3 };
	bool is_found;

	snmp_varlist_add_variable(&var, at, 2, ASN_OCTET_STR, value, strlen(value));
	is_found = snmp_profile_name(key, var, name);
	snmp_free_varbind(var);
	return is_found;
}

Test(snmp_profile, finds_the_servers_name_behind_the_colon)
{
	char name[SNMP_NAME_LEN] = "";

	cr_assert(name_of(&WEBLOGIC->key[0], "ServerRuntime:ms1", name));
	cr_assert_str_eq(name, "ms1");
	cr_assert_not(name_of(&WEBLOGIC->key[0], "ms1", name));
	cr_assert_not(name_of(&WEBLOGIC->key[0], "ServerRuntime:", name));
	cr_assert(name_of(&WEBLOGIC->key[1], "ms2", name));
	cr_assert_str_eq(name, "ms2");
	cr_assert_not(name_of(&WEBLOGIC->key[1], "m s", name));
	cr_assert_not(name_of(&WEBLOGIC->key[1], "ms\n1", name));
	cr_assert_not(name_of(&WEBLOGIC->key[1],
			      "0123456789012345678901234567890123456789012345678901234567890123",
			      name));
	cr_assert_str_eq(name, "ms2", "untouched");
}

/*** The join ***/

static struct snmp_table table;
static netsnmp_variable_list *vars;
static char why[160];

static void begin(void)
{
	netsnmp_pdu *pdu;

	snmp_table_init(&table, WEBLOGIC, 10);
	snmp_table_start(&table);
	pdu = snmp_table_request(&table);
	cr_assert_eq(pdu->command, SNMP_MSG_GETBULK);
	cr_assert_eq(pdu->max_repetitions, 10);
	snmp_free_pdu(pdu);
}

static void end(void)
{
	snmp_free_varbind(vars);
	vars = NULL;
	snmp_table_fini(&table);
}

TestSuite(snmp_table, .init = begin, .fini = end);

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
	const int code = snmp_table_answer(&table, vars, why, sizeof why);

	snmp_free_varbind(vars);
	vars = NULL;
	return code;
}

/* Repeat the request, as the walk would. */
static size_t ask(void)
{
	netsnmp_pdu *pdu = snmp_table_request(&table);
	size_t n = 0;

	for (const netsnmp_variable_list *v = pdu->variables; v != NULL; v = v->next_variable)
		n++;
	snmp_free_pdu(pdu);
	return n;
}

Test(snmp_table, joins_rows_by_index_and_not_by_their_number)
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
	cr_assert_eq(table.n_rows, 3);
	cr_assert_str_eq(table.row[0].name, "ms5");
	cr_assert(isnan(table.row[0].value[0]));
	cr_assert_eq(table.row[0].value[1], 5000);
	cr_assert_float_eq(table.row[0].value[2], 0.55, 1e-12);
	cr_assert_str_eq(table.row[1].name, "ms7");
	cr_assert_eq(table.row[1].value[0], 700);
	cr_assert_eq(table.row[1].value[1], 7000);
	cr_assert(isnan(table.row[1].value[2]));
	cr_assert_not(table.row[2].is_named);
}

Test(snmp_table, takes_a_row_that_appears_while_it_is_walking_for_what_it_is)
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
	cr_assert_eq(take(), 0);
	cr_assert_eq(table.n_rows, 3);
	cr_assert_not(table.row[1].is_named);
	cr_assert_str_eq(table.row[2].name, "ms3");
	cr_assert_eq(table.row[2].value[0], 300);
}

Test(snmp_table, does_not_read_on_past_the_last_name)
{
	add_name(1, "ServerRuntime:ms1");
	add(25, 1, 100);
	add(30, 1, 1000);
	add(52, 1, 10);
	add(25, 1, 100);
	cr_assert_eq(take(), 0);
	cr_assert_eq(table.n_rows, 1);
}

Test(snmp_table, refuses_an_agent_that_repeats_itself)
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

Test(snmp_table, refuses_an_answer_without_objects)
{
	cr_assert_eq(take(), -EPROTO);
	cr_assert_str_eq(why, "an answer without any object: faulty agent");
}

Test(snmp_table, tries_the_column_name_where_parents_name_nobody)
{
	netsnmp_pdu *pdu;

	add_name(1, ":");
	add(25, 1, 100);
	add(30, 1, 1000);
	add(52, 1, 10);
	add(25, 1, 100);
	cr_assert_eq(take(), 1, "another walk");
	cr_assert_eq(table.n_rows, 0);
	pdu = snmp_table_request(&table);
	cr_assert_eq(pdu->variables->name[10], 15);
	snmp_free_pdu(pdu);
}

Test(snmp_table, is_over_at_once_where_there_is_no_table)
{
	for (int i = 0; i < 4; i++)
		add(99, 1, 1);
	cr_assert_eq(take(), 0);
	cr_assert_eq(table.n_rows, 0);
	cr_assert_eq(table.key, 0);
}

Test(snmp_table, halves_its_requests_down_to_getnext)
{
	netsnmp_pdu *pdu;

	cr_assert(snmp_table_shrink(&table, true));
	cr_assert_eq(table.repetitions, 5);
	cr_assert(snmp_table_shrink(&table, false));
	cr_assert_eq(table.repetitions, 2);
	cr_assert(snmp_table_shrink(&table, false));
	cr_assert_not(snmp_table_shrink(&table, false));
	pdu = snmp_table_request(&table);
	cr_assert_eq(pdu->command, SNMP_MSG_GETNEXT);
	snmp_free_pdu(pdu);
	snmp_table_start(&table);
	cr_assert_eq(table.repetitions, 5, "the next walk keeps what was for good");
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
