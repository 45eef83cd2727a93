/* test_snmp_hostile.c - the SNMP collector with agents that mean harm or are badly made: each costs
 * a bounded amount of work, is told in clear words, and nothing it says is taken for a figure. */
#include <poll.h>
#include <sys/resource.h>

#include "lab/snmp_bench.h"

TestSuite(snmp_hostile, .init = begin, .fini = end, .timeout = 60);

#define PARENT_COLUMN ".1.3.6.1.4.1.140.625.340.1.20"
#define PARENT        PARENT_COLUMN "."

#define SIZE ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.12.0"

static void add_rows(unsigned int n)
{
	char parent[64];

	for (unsigned int i = 1; i <= n; i++) {
		snprintf(parent, sizeof parent, "ServerRuntime:ms%u", i);
		fake_snmp_weblogic(fake, i, parent, (int64_t)i << 20, INT64_C(1000) << 20, 50);
	}
}

static void setup_table(unsigned int n)
{
	setup(WEBLOGIC, "domain", true);
	add_rows(n);
}

/*** Who speaks? ***/

Test(snmp_hostile, takes_no_answer_of_another_community)
{
	static const char *const strict[] = { "strict_source=true", "strict_source=false" };

	fake = fake_snmp_new(FAKE_COMMUNITY);
	fake_snmp_jvm(fake, 100, 400, 1000);
	for (size_t i = 0; i < 2; i++) {
		open_with(JVM, strict[i], NULL);
		target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
		expect_bad(SHORT_MS, CR_TIMEOUT, "is SNMP v2c spoken there?");
		collector_host_close(host);
	}
	host = NULL;
}

/* Who cannot see our questions could else guess the id of the next one from his own. */
Test(snmp_hostile, asks_under_ids_that_nobody_can_guess)
{
	uint32_t before = 0;

	setup_jvm();
	for (int i = 0; i < 8; i++) {
		expect_good();
		cr_expect_gt(fake_snmp_last_id(fake) - before + 1000, 2000, "after %u comes %u",
			     before, fake_snmp_last_id(fake));
		before = fake_snmp_last_id(fake);
	}
}

Test(snmp_hostile, does_not_take_an_answer_that_comes_after_the_timeout_for_the_next_ones)
{
	setup_jvm();
	fake_snmp_delay(fake, 300);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer in 200 ms");
	fake_snmp_delay(fake, 0);
	fake_snmp_jvm(fake, 200, 400, 1000);
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 200);
	cr_assert_eq(n_values(), 3);
}

Test(snmp_hostile, bears_a_flood_of_answers_to_no_question)
{
	setup_jvm();
	fake_snmp_mode(fake, FAKE_FLOOD, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "messages that are none");
	cr_assert_lt(collector_host_longest_ns(host), 150 * CH_MS);
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

/*** Tables that do not go as tables go ***/

Test(snmp_hostile, gets_along_with_one_object_per_answer)
{
	setup_table(3);
	fake_snmp_mode(fake, FAKE_ONE_OBJECT, 0);
	expect_good();
	cr_assert_eq(n_values(), 9);
	cr_assert_leq(fake_snmp_requests(fake), 3 * 5 + 7);
}

Test(snmp_hostile, takes_no_answer_without_objects)
{
	setup_table(3);
	fake_snmp_mode(fake, FAKE_NO_OBJECTS, 0);
	expect_bad(LONG_MS, CR_REPLY, "an answer without any object: faulty agent");
	cr_assert_eq(fake_snmp_requests(fake), 2);
}

Test(snmp_hostile, breaks_off_a_walk_that_goes_backwards)
{
	setup_table(3);
	fake_snmp_text(fake, ".1.3.6.1.2.1.1.1.0", "before the table");
	fake_snmp_mode(fake, FAKE_BACKWARDS, 0);
	expect_bad(LONG_MS, CR_REPLY, "OID not increasing");
	cr_assert_eq(fake_snmp_requests(fake), 2);
}

Test(snmp_hostile, asks_an_endless_table_a_bounded_number_of_times)
{
	setup_table(3);
	fake_snmp_mode(fake, FAKE_ENDLESS, 0);
	expect_bad(20000, CR_REPLY, "does not end after 4096 rows");
	cr_assert_leq(fake_snmp_requests(fake), 2 * (4096 / 10 + 1));
	cr_assert_lt(collector_host_longest_ns(host), 500 * CH_MS);
}

Test(snmp_hostile, reads_a_row_whose_index_is_longer_than_32)
{
	char oid[400], *end = oid;

	setup(WEBLOGIC, "domain", true);
	end += snprintf(end, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.25.40");
	for (int i = 0; i < 40; i++)
		end += snprintf(end, 8, ".%d", 100 + i);
	fake_snmp_number(fake, oid, FAKE_COUNTER64, 700);
	memcpy(oid + strlen(".1.3.6.1.4.1.140.625.340.1."), "20", 2);
	fake_snmp_text(fake, oid, "ServerRuntime:long");
	memcpy(oid + strlen(".1.3.6.1.4.1.140.625.340.1."), "30", 2);
	fake_snmp_number(fake, oid, FAKE_COUNTER64, 1000);
	expect_good();
	cr_assert_eq(collector_host_value(host, "domain", "long", "jvm_heap_free_bytes"), 700);
	cr_assert_eq(collector_host_value(host, "domain", "long", "jvm_heap_size_bytes"), 1000);
}

Test(snmp_hostile, keeps_to_the_row_of_a_value_where_others_have_vanished)
{
	setup(WEBLOGIC, "domain", true);
	fake_snmp_weblogic(fake, 1, "ServerRuntime:ms1", 100, 1000, 10);
	/* ms2 goes down: its name is still there, its figures in part. */
	fake_snmp_text(fake, ".1.3.6.1.4.1.140.625.340.1.20.2", "ServerRuntime:ms2");
	fake_snmp_number(fake, ".1.3.6.1.4.1.140.625.340.1.30.2", FAKE_COUNTER64, 2000);
	fake_snmp_weblogic(fake, 3, "ServerRuntime:ms3", 300, 3000, 10);
	expect_good();
	cr_assert(isnan(collector_host_value(host, "domain", "ms2", "jvm_heap_free_bytes")));
	cr_assert_eq(collector_host_value(host, "domain", "ms2", "jvm_heap_size_bytes"), 2000);
	cr_assert_eq(collector_host_value(host, "domain", "ms3", "jvm_heap_free_bytes"), 300);
	cr_assert_eq(n_values(), 7);
}

Test(snmp_hostile, takes_no_name_that_is_none)
{
	setup(WEBLOGIC, "domain", true);
	fake_snmp_weblogic(fake, 1, "ServerRuntime:", 100, 1000, 10);
	fake_snmp_weblogic(fake, 2, "ServerRuntime:ms\n2", 100, 1000, 10);
	fake_snmp_weblogic(fake, 3, "ServerRuntime:ms3", 300, 3000, 10);
	expect_good();
	cr_assert_eq(n_values(), 3);
	cr_assert_eq(collector_host_value(host, "domain", "ms3", "jvm_heap_free_bytes"), 300);
}

/* Or whoever can name a row would be the server of the shorter name. */
Test(snmp_hostile, takes_a_name_with_nuls_behind_it_and_none_with_nuls_within)
{
	setup(WEBLOGIC, "domain", true);
	fake_snmp_weblogic(fake, 1, "", 100, 1000, 10);
	fake_snmp_bytes(fake, PARENT "1", "ServerRuntime:ms1\0junk", 22);
	fake_snmp_weblogic(fake, 2, "", 200, 2000, 10);
	fake_snmp_bytes(fake, PARENT "2", "ServerRuntime:ms2\0\0", 19);
	fake_snmp_weblogic(fake, 3, "", 300, 3000, 10);
	fake_snmp_bytes(fake, PARENT "3", "x\0ServerRuntime:ms3", 19);
	expect_good();
	cr_assert_eq(n_values(), 3);
	cr_assert_eq(collector_host_value(host, "domain", "ms2", "jvm_heap_free_bytes"), 200);
	cr_assert_not_null(collector_host_logged(
				   host, "row 1 has no name that a server can have: " PARENT_COLUMN
					 " is \"ServerRuntime:ms1?junk\""),
			   "%s", collector_host_logged(host, ""));
}

/*** Broken bytes ***/

/* Whatever the bytes are: each poll ends by its deadline, and the agent is polled on afterwards. */
static void bear_mutations(bool is_shared)
{
	fake_snmp_mode(fake, FAKE_MUTATED, 0);
	for (int i = 0; i < 150; i++) {
		const struct collector_poll *poll = poll_for(15);

		cr_assert(poll->state == COLLECTOR_GOOD || poll->state == COLLECTOR_FAILED);
		cr_assert_lt(poll->took_ns, 1000 * CH_MS);
	}
	cr_assert_null(collector_host_fault(host), "%s", collector_host_fault(host));
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
	cr_assert_eq(n_values(), is_shared ? 9 : 3);
}

Test(snmp_hostile, bears_answers_with_broken_bytes)
{
	setup_jvm();
	bear_mutations(false);
}

Test(snmp_hostile, bears_tables_with_broken_bytes)
{
	setup_table(3);
	bear_mutations(true);
}

Test(snmp_hostile, bears_version_3_with_broken_bytes)
{
	const char *more[] = { "version=3", "user=poller", NULL };

	fake = fake_snmp_new(FAKE_NORMAL);
	fake_snmp_jvm(fake, 100, 400, 1000);
	cr_assert_null(try_open(JVM, more));
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	bear_mutations(false);
}

/*** Values ***/

/* The poll of an agent that says this about the heap in use fails, and nothing is taken for it. */
static void expect_no_value(enum fake_type type, int64_t number)
{
	fake_snmp_number(fake, USED, type, number);
	cr_assert_eq(poll_for(LONG_MS)->state, COLLECTOR_FAILED, "type %#x, %lld", type,
		     (long long)number);
	cr_assert(isnan(value(NULL, "jvm_heap_used_bytes")));
	cr_assert_eq(value(NULL, "jvm_heap_size_bytes"), 400, "the others can be used");
}

Test(snmp_hostile, takes_no_exception_and_no_null_for_a_value)
{
	setup_jvm();
	expect_no_value(FAKE_NULL, 0);
	expect_no_value(FAKE_NO_OBJECT, 0);
	expect_no_value(FAKE_NO_INSTANCE, 0);
	expect_no_value(FAKE_END, 0);
}

Test(snmp_hostile, takes_no_number_that_cannot_be_a_size)
{
	setup_jvm();
	expect_no_value(FAKE_GAUGE, 4294967295);           /* the end of 32 bits */
	expect_no_value(FAKE_INTEGER, 2147483647);         /* of 31 */
	expect_no_value(FAKE_COUNTER64, 9007199254740993); /* not exact any more */
	expect_no_value(FAKE_COUNTER64, -1);               /* 2^64 - 1 */
	cr_assert_not_null(collector_host_logged(host, "<4>value not taken target=ms1"));
}

Test(snmp_hostile, says_of_each_number_that_cannot_be_a_size_why)
{
	const struct collector_value *values;
	size_t n;

	setup_jvm();
	fake_snmp_number(fake, USED, FAKE_GAUGE, 4294967295);
	cr_assert_eq(poll_for(LONG_MS)->state, COLLECTOR_FAILED);
	values = collector_host_values(host, &n);
	cr_assert_eq(n, 3);
	cr_assert_str_eq(values[0].reject, "wrapped");
	cr_assert_eq(strncmp(values[0].text, "4294967295: this is the limit", 29), 0, "%s",
		     values[0].text);
	cr_assert_str_empty(values[1].reject);

	/* Nothing can be used, and still it is told. */
	collector_host_close(host);
	open_with("format: snmp-get\nfields: { jvm_heap_used_bytes: "
		  ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.11.0 }",
		  NULL, NULL);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	cr_assert_eq(poll_for(LONG_MS)->state, COLLECTOR_FAILED);
	values = collector_host_values(host, &n);
	cr_assert_eq(n, 1);
	cr_assert_str_eq(values[0].reject, "wrapped");
}

Test(snmp_hostile, takes_a_number_in_letters_and_no_letters_for_a_number)
{
	setup_jvm();
	fake_snmp_text(fake, USED, "12884901888");
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 12884901888);
	fake_snmp_text(fake, USED, "12 MB");
	cr_assert_eq(poll_for(LONG_MS)->state, COLLECTOR_FAILED);
	cr_assert(isnan(value(NULL, "jvm_heap_used_bytes")));
	fake_snmp_text(fake, USED, "");
	cr_assert_eq(poll_for(LONG_MS)->state, COLLECTOR_FAILED);
	cr_assert(isnan(value(NULL, "jvm_heap_used_bytes")));
}

static void expect_bytes(const char *bytes, size_t len, double number)
{
	fake_snmp_bytes(fake, USED, bytes, len);
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), number);
}

static void expect_no_bytes(const char *bytes, size_t len, const char *text)
{
	fake_snmp_bytes(fake, USED, bytes, len);
	cr_assert_eq(poll_for(LONG_MS)->state, COLLECTOR_FAILED);
	cr_assert_not_null(strstr(collector_host_last(host, target)->text, text), "%s",
			   collector_host_last(host, target)->text);
	cr_assert(isnan(value(NULL, "jvm_heap_used_bytes")));
}

/* C programs send the end of their strings, or a field that they have padded. */
Test(snmp_hostile, takes_a_number_with_nuls_behind_it_and_none_with_nuls_within)
{
	setup_jvm();
	expect_bytes("12", sizeof "12", 12);
	expect_bytes("13\0\0\0\0\0", 7, 13);
	expect_no_bytes("12\0junk", 7,
			"jvm_heap_used_bytes: not_a_number: 12?junk: this is no number");
	expect_no_bytes("12\0 \0", 5, "not_a_number: 12? : this is no number");
	expect_no_bytes("\00012", 3, "not_a_number: ?12: this is no number");
	expect_no_bytes("\0\0", 2, "not_a_number: : this is no number");
}

Test(snmp_hostile, warns_of_a_value_once_until_it_is_all_right_again)
{
	setup_jvm();
	for (int i = 0; i < 3; i++)
		expect_no_value(FAKE_GAUGE, 4294967295);
	cr_assert_not_null(collector_host_logged(host, "jvm_heap_used_bytes"));
}

/*** Version 1 ***/

#define MEMORY32                                                                                   \
	"format: snmp-get\nfields: { jvm_heap_used_bytes: "                                        \
	"{ select: .1.3.6.1.4.1.99999.1.0, unit: kib }, jvm_heap_size_bytes: "                     \
	"{ select: .1.3.6.1.4.1.99999.2.0, unit: kib, optional: true } }"
#define TABLE32                                                                                    \
	"format: snmp-table\nkey: { select: .1.3.6.1.4.1.99999.3.1 }\n"                            \
	"fields: { jvm_heap_free_bytes: { select: .1.3.6.1.4.1.99999.3.2 }, "                      \
	"jvm_heap_size_bytes: { select: .1.3.6.1.4.1.99999.3.3, optional: true } }"

static void setup_version_1(const char *keys, bool is_shared)
{
	fake = fake_snmp_new(FAKE_NORMAL);
	open_with(keys, "version=1", NULL);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), is_shared);
}

Test(snmp_hostile, reads_scalars_of_version_1_and_asks_without_the_missing_ones)
{
	setup_version_1(MEMORY32, false);
	fake_snmp_number(fake, ".1.3.6.1.4.1.99999.1.0", FAKE_INTEGER, 3);
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 3072);
	cr_assert_eq(n_values(), 1);
	cr_assert_eq(fake_snmp_requests(fake), 2, "the first was refused as a whole");
}

Test(snmp_hostile, walks_a_table_of_version_1_to_the_end_of_the_agent)
{
	setup_version_1(TABLE32, true);
	fake_snmp_text(fake, ".1.3.6.1.4.1.99999.3.1.1", "a");
	fake_snmp_text(fake, ".1.3.6.1.4.1.99999.3.1.2", "b");
	fake_snmp_number(fake, ".1.3.6.1.4.1.99999.3.2.1", FAKE_GAUGE, 10);
	fake_snmp_number(fake, ".1.3.6.1.4.1.99999.3.2.2", FAKE_GAUGE, 20);
	expect_good();
	cr_assert_eq(collector_host_value(host, "ms1", "a", "jvm_heap_free_bytes"), 10);
	cr_assert_eq(collector_host_value(host, "ms1", "b", "jvm_heap_free_bytes"), 20);
	cr_assert_eq(n_values(), 2);
}

Test(snmp_hostile, does_not_trust_the_index_of_an_error)
{
	setup_version_1(MEMORY32, false);
	fake_snmp_mode(fake, FAKE_BAD_INDEX, 0);
	expect_bad(LONG_MS, CR_REPLY, "noSuchName about object 99 of 2: faulty agent");
	cr_assert_eq(fake_snmp_requests(fake), 1);
}

/*** Many ***/

#define FAKES   10
#define TARGETS 200

static struct fake_snmp *fakes[FAKES];

static void free_fakes(void)
{
	for (int i = 0; i < FAKES; i++)
		fake_snmp_free(fakes[i]);
}

Test(snmp_hostile, polls_more_targets_than_it_may_open_files, .fini = free_fakes)
{
	struct rlimit limit;
	char name[32];

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 120;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	open_with(JVM, NULL, NULL);
	for (int i = 0; i < TARGETS; i++) {
		if (i < FAKES) {
			fakes[i] = fake_snmp_new(FAKE_NORMAL);
			fake_snmp_jvm(fakes[i], 100 + i, 400, 1000);
		}
		snprintf(name, sizeof name, "ms%d", i);
		collector_host_add(host, name, fake_snmp_endpoint(fakes[i % FAKES]), false);
	}
	for (int round = 0; round < 3; round++) {
		cr_assert_eq(collector_host_poll(host, LONG_MS * CH_MS, 20000 * CH_MS), 0);
		for (int i = 0; i < TARGETS; i++)
			cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_GOOD, "%d: %s",
				     i, collector_host_last(host, i)->text);
		cr_assert_eq(n_values(), 3 * TARGETS);
		cr_assert_eq(collector_host_value(host, "ms199", NULL, "jvm_heap_used_bytes"), 109);
	}
}

/* A burst of 2000 would run over the agent's receive buffer, which takes some 270. */
Test(snmp_hostile, does_not_flood_an_agent_that_answers_for_2000_targets)
{
	char name[32];

	fake = fake_snmp_new(FAKE_NORMAL);
	fake_snmp_jvm(fake, 100, 400, 1000);
	fake_snmp_delay(fake, 1); /* slower than polls could be started */
	open_with(JVM, NULL, NULL);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "ms%d", i);
		collector_host_add(host, name, fake_snmp_endpoint(fake), false);
	}
	cr_assert_eq(collector_host_poll(host, 15000 * CH_MS, 20000 * CH_MS), 0);
	for (int i = 0; i < 2000; i++)
		cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_GOOD, "%d: %s", i,
			     collector_host_last(host, i)->text);
	cr_assert_eq(n_values(), 6000);
	cr_assert_leq(fake_snmp_requests(fake), 2010, "%u", fake_snmp_requests(fake));
}

Test(snmp_hostile, says_that_an_agent_has_not_answered_for_other_targets)
{
	int others[3];

	fake = fake_snmp_new(FAKE_SILENT);
	open_with(JVM, NULL, NULL);
	for (int i = 0; i < 3; i++)
		others[i] = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	cr_assert_eq(collector_host_poll(host, SHORT_MS * CH_MS, 5000 * CH_MS), 0);
	cr_assert_eq(fake_snmp_await(fake, 4), 4, "two polls of two tries");
	cr_assert_not_null(strstr(collector_host_last(host, others[2])->text,
				  "the agent has not answered for other targets yet"),
			   "%s", collector_host_last(host, others[2])->text);
	/* Forgotten while others wait for it: they have their turn. */
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	fake_snmp_jvm(fake, 100, 400, 1000);
	fake_snmp_delay(fake, 30);
	for (int i = 0; i < 3; i++)
		collector_host_start(host, others[i], LONG_MS * CH_MS);
	collector_host_run(host, 5 * CH_MS);
	collector_host_forget(host, others[0]);
	collector_host_forget(host, others[1]);
	cr_assert_eq(collector_host_run(host, 5000 * CH_MS), 0);
	cr_assert_eq(collector_host_last(host, others[2])->state, COLLECTOR_GOOD);
}

Test(snmp_hostile, gives_the_turn_of_a_target_that_is_late_to_the_next_one)
{
	static const int64_t timeout_ms[] = { LONG_MS, 60, LONG_MS };
	int others[3];

	fake = fake_snmp_new(FAKE_NORMAL);
	fake_snmp_jvm(fake, 100, 400, 1000);
	fake_snmp_delay(fake, 30);
	open_with(JVM, "max_per_agent=1", NULL);
	for (int i = 0; i < 3; i++) {
		others[i] = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
		collector_host_start(host, others[i], timeout_ms[i] * CH_MS);
	}
	collector_host_run(host, 5 * CH_MS);
	/* The answer to the first and the deadline of the second are seen in one visit. */
	poll(NULL, 0, 150);
	cr_assert_lt(collector_host_run(host, 2000 * CH_MS), 1, "the third waits for nobody");
	cr_assert_eq(collector_host_last(host, others[0])->state, COLLECTOR_GOOD);
	cr_assert_eq(collector_host_last(host, others[1])->state, COLLECTOR_FAILED);
	cr_assert_eq(collector_host_last(host, others[2])->state, COLLECTOR_GOOD);
}
