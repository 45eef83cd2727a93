/* test_snmp.c - the SNMP collector and its profiles against agents that answer. */
#include "lab/snmp_bench.h"

TestSuite(snmp, .init = begin, .fini = end, .timeout = 60);

/*** jvm-mib ***/

Test(snmp, puts_the_heap_of_a_jvm_with_one_datagram)
{
	setup(JVM, "ms1", false);
	fake_snmp_jvm(fake, 5368709121, 8589934592, 17179869184);
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 5368709121);
	cr_assert_eq(value(NULL, "jvm_heap_size_bytes"), 8589934592);
	cr_assert_eq(value(NULL, "jvm_heap_max_bytes"), 17179869184);
	cr_assert_eq(n_values(), 3, "free is the host's to derive");
	cr_assert_eq(fake_snmp_requests(fake), 1);
}

Test(snmp, refuses_version_1_for_64_bit_counters)
{
	const char *more[] = { community_setting, "version=1", NULL };
	const char *err = try_open(JVM, more);

	cr_assert_not_null(err);
	cr_assert_not_null(strstr(err, "version 1 has no 64-bit counters"), "%s", err);
}

Test(snmp, keeps_what_a_jvm_calls_undefined_to_itself)
{
	setup(JVM, "ms1", false);
	fake_snmp_jvm(fake, 100, 400, 0);
	expect_good();
	cr_assert(isnan(value(NULL, "jvm_heap_max_bytes")));
	cr_assert_eq(n_values(), 2);
	fake_snmp_number(fake, USED, FAKE_INTEGER, -1);
	expect_good();
	cr_assert(isnan(value(NULL, "jvm_heap_used_bytes")));
	cr_assert_eq(n_values(), 1);
}

Test(snmp, does_not_take_a_null_for_a_number)
{
	setup_jvm();
	fake_snmp_number(fake, USED, FAKE_NULL, 0);
	cr_assert_eq(poll_for(LONG_MS)->state, COLLECTOR_FAILED);
	cr_assert_not_null(
		strstr(collector_host_last(host, target)->text, "jvm_heap_used_bytes: nothing at"));
	cr_assert(isnan(value(NULL, "jvm_heap_used_bytes")));
	cr_assert_eq(value(NULL, "jvm_heap_size_bytes"), 400, "what is there can be used");
}

Test(snmp, says_what_to_switch_on_where_there_is_no_jvm_mib)
{
	setup(JVM, "ms1", false);
	expect_bad(LONG_MS, CR_ABSENT, "com.sun.management.snmp.port");
}

Test(snmp, says_that_the_jvm_mib_is_about_one_server)
{
	setup(JVM, "all", true);
	expect_bad(LONG_MS, CR_ABSENT, "udp:${host}:161");
}

Test(snmp, dates_a_value_by_the_question_and_not_by_the_answer)
{
	const struct collector_value *values;
	size_t n;
	struct timespec before;

	setup_jvm();
	fake_snmp_delay(fake, 50);
	clock_gettime(CLOCK_MONOTONIC, &before);
	expect_good();
	values = collector_host_values(host, &n);
	cr_assert_eq(n, 3);
	cr_assert_lt(values[0].taken_ns,
		     before.tv_sec * INT64_C(1000000000) + before.tv_nsec + 50 * CH_MS);
	cr_assert_geq(values[0].taken_ns, before.tv_sec * INT64_C(1000000000) + before.tv_nsec);
}

/* An agent that keeps what it has read says when it was. */
Test(snmp, dates_a_value_by_the_time_that_the_source_gives)
{
	const struct collector_value *values;
	struct timespec wall, steady;
	int64_t age_ms;
	size_t n;

	setup(JVM " { sample_time: .1.3.6.1.4.1.99999.1.0 }", "ms1", false);
	fake_snmp_jvm(fake, 100, 400, 800);
	clock_gettime(CLOCK_REALTIME, &wall);
	fake_snmp_number(fake, ".1.3.6.1.4.1.99999.1.0", FAKE_GAUGE, wall.tv_sec - 300);
	expect_good();
	values = collector_host_values(host, &n);
	cr_assert_eq(n, 3);
	clock_gettime(CLOCK_MONOTONIC, &steady);
	age_ms = ((int64_t)steady.tv_sec * 1000 + steady.tv_nsec / 1000000) -
		 values[0].taken_ns / 1000000;
	cr_assert(age_ms >= 299000 && age_ms < 360000, "%lld", (long long)age_ms);
	fake_snmp_number(fake, ".1.3.6.1.4.1.99999.1.0", FAKE_NULL, 0);
	cr_assert_eq(poll_for(LONG_MS)->why, CR_VALUE);
	cr_assert_not_null(strstr(collector_host_last(host, target)->text, "no_time: 100 has no"));
	values = collector_host_values(host, &n);
	cr_assert_eq(n, 3);
	for (size_t i = 0; i < n; i++)
		cr_assert_str_eq(values[i].reject, "no_time");
}

/*** weblogic-mib ***/

static void add_domain(void)
{
	fake_snmp_weblogic(fake, 1, "ServerRuntime:AdminServer", 900000000, 1000000000, 90);
	fake_snmp_weblogic(fake, 2, "ServerRuntime:ms1", 314572800, 1073741824, 29);
	fake_snmp_weblogic(fake, 3, "ServerRuntime:ms2", 5368709120, 8589934592, 62);
}

Test(snmp, puts_every_row_of_a_domain_the_admin_servers_too)
{
	setup(WEBLOGIC, "domain", true);
	add_domain();
	expect_good();
	cr_assert_eq(n_values(), 9);
	cr_assert_eq(collector_host_value(host, "domain", "AdminServer", "jvm_heap_free_bytes"),
		     900000000);
	cr_assert_eq(collector_host_value(host, "domain", "ms1", "jvm_heap_free_bytes"), 314572800);
	cr_assert_eq(collector_host_value(host, "domain", "ms2", "jvm_heap_size_bytes"),
		     8589934592);
	cr_assert_float_eq(collector_host_value(host, "domain", "ms2", "jvm_heap_free_ratio"), 0.62,
			   1e-9);
}

Test(snmp, puts_what_a_row_has_and_leaves_the_undefined_out)
{
	setup(WEBLOGIC, "domain", true);
	fake_snmp_weblogic(fake, 1, "ServerRuntime:ms1", -1, 1000, -1);
	expect_good();
	cr_assert_eq(n_values(), 1);
	cr_assert_eq(collector_host_value(host, "domain", "ms1", "jvm_heap_size_bytes"), 1000);
	fake_snmp_weblogic(fake, 1, "ServerRuntime:ms1", -1, -1, -1);
	expect_bad(LONG_MS, CR_ABSENT, "no figure");
}

Test(snmp, takes_its_own_row_for_a_target_that_is_one_server)
{
	setup(WEBLOGIC, "ms1", false);
	add_domain();
	expect_good();
	cr_assert_eq(n_values(), 3);
	cr_assert_eq(value(NULL, "jvm_heap_free_bytes"), 314572800);
}

Test(snmp, says_that_a_server_has_no_row)
{
	setup(WEBLOGIC, "ms9", false);
	add_domain();
	expect_bad(LONG_MS, CR_ABSENT, "no row of this server in the answer");
}

Test(snmp, says_what_to_switch_on_where_there_is_no_weblogic_table)
{
	setup(WEBLOGIC, "domain", true);
	fake_snmp_jvm(fake, 1, 2, 3);
	expect_bad(LONG_MS, CR_ABSENT, "enable the SNMP agent in WebLogic");
	cr_assert_eq(fake_snmp_requests(fake), 2, "one for each table");
}

Test(snmp, takes_the_column_name_where_parents_name_nobody)
{
	setup(WEBLOGIC, "domain", true);
	fake_snmp_weblogic(fake, 1, "ServerRuntime", 100, 1000, 10);
	fake_snmp_text(fake, ".1.3.6.1.4.1.140.625.340.1.15.1", "ms1");
	expect_good();
	cr_assert_eq(collector_host_value(host, "domain", "ms1", "jvm_heap_free_bytes"), 100);
	cr_assert_eq(fake_snmp_requests(fake), 2);
}

/* A domain of n servers; server i has i MiB of 1000 free. */
static void setup_domain(unsigned int n, const char *setting)
{
	char parent[64];

	fake = fake_snmp_new(FAKE_NORMAL);
	open_with(WEBLOGIC, setting, NULL);
	target = collector_host_add(host, "domain", fake_snmp_endpoint(fake), true);
	for (unsigned int i = 1; i <= n; i++) {
		snprintf(parent, sizeof parent, "ServerRuntime:ms%u", i);
		fake_snmp_weblogic(fake, i, parent, (int64_t)i << 20, INT64_C(1000) << 20, 50);
	}
}

static void expect_domain(unsigned int n)
{
	char name[64];

	expect_good();
	cr_assert_eq(n_values(), 3 * n);
	for (unsigned int i = 1; i <= n; i++) {
		snprintf(name, sizeof name, "ms%u", i);
		cr_assert_eq(collector_host_value(host, "domain", name, "jvm_heap_free_bytes"),
			     (double)i * 1048576);
	}
}

Test(snmp, reads_100_rows_and_the_table_of_states_in_12_round_trips)
{
	setup_domain(100, NULL);
	expect_domain(100);
	cr_assert_leq(fake_snmp_requests(fake), 12);
	cr_assert_eq(fake_snmp_largest(fake), 50);
}

Test(snmp, asks_for_less_where_answers_get_too_big_and_remembers_it)
{
	setup_domain(20, NULL);
	fake_snmp_mode(fake, FAKE_TOO_BIG, 25); /* 10 rows are 50 objects, 5 are 25 */
	expect_domain(20);
	cr_assert_eq(fake_snmp_requests(fake), 7, "one in vain, four of five rows, two ends");
	expect_domain(20);
	cr_assert_eq(fake_snmp_requests(fake), 13);
}

Test(snmp, falls_back_to_single_rows_and_then_gives_up)
{
	setup_domain(3, NULL);
	fake_snmp_mode(fake, FAKE_TOO_BIG, 5);
	expect_domain(3);
	fake_snmp_mode(fake, FAKE_TOO_BIG, 4);
	expect_bad(LONG_MS, CR_REPLY, "tooBig");
}

Test(snmp, goes_on_behind_an_answer_that_ends_within_a_row)
{
	setup_domain(20, NULL);
	fake_snmp_mode(fake, FAKE_SHORT, 7);
	expect_domain(20);
}

Test(snmp, walks_row_by_row_if_told_to)
{
	setup_domain(5, "max_repetitions=1");
	expect_domain(5);
	cr_assert_eq(fake_snmp_largest(fake), 5);
}

Test(snmp, asks_again_for_half_as_much_when_an_answer_is_lost)
{
	setup_domain(5, NULL);
	fake_snmp_mode(fake, FAKE_DROP_FIRST, 0);
	cr_assert_eq(poll_for(1000)->state, COLLECTOR_GOOD);
	cr_assert_eq(n_values(), 15);
	cr_assert_eq(fake_snmp_largest(fake), 25);
}

Test(snmp, breaks_off_a_walk_that_goes_in_circles)
{
	setup_domain(3, NULL);
	fake_snmp_mode(fake, FAKE_SAME_OID, 0);
	expect_bad(LONG_MS, CR_REPLY, "OID not increasing");
}

Test(snmp, breaks_off_a_walk_that_does_not_end)
{
	setup_domain(3, NULL);
	fake_snmp_mode(fake, FAKE_ENDLESS, 0);
	expect_bad(20000, CR_REPLY, "does not end after 4096 rows");
}

Test(snmp, says_all_that_is_wrong_with_its_options)
{
	const char *settings[] = { "version=3",
				   "user=012345678901234567890123456789012",
				   "engine_id=80000000",
				   "auth_protocol=sha",
				   "priv_protocol=aes",
				   community_setting,
				   NULL };

	cr_assert_str_eq(try_open(JVM, settings),
			 "community_file: version 3 has a user instead; leave it out, or set "
			 "version to 2c\n"
			 "engine_id \"80000000\": write 5 to 32 bytes in hexadecimal\n"
			 "user: more than 32 letters\n"
			 "auth_protocol is set, so auth_password_file must be given\n"
			 "priv_protocol is set, so priv_password_file must be given");
}
