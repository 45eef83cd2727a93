/* test_snmp_profiles.c - the shipped SNMP profiles, and sources of one's own, on what agents really
 * said (tests/data). */
#include "lab/snmp_bench.h"

TestSuite(snmp_profiles, .init = begin, .fini = end, .timeout = 60);

/* One object of a recording: "OID|TAG|VALUE" (snmpsim) or "OID = TYPE: VALUE" (snmpwalk). */
static void add_line(char *line)
{
	static const struct {
		const char *word;
		enum fake_type type;
	} words[] = {
		{ "|2|", FAKE_INTEGER },          { "|70|", FAKE_COUNTER64 },
		{ " = INTEGER: ", FAKE_INTEGER }, { " = Counter64: ", FAKE_COUNTER64 },
		{ " = Gauge32: ", FAKE_GAUGE },   { "|4|", FAKE_STRING },
		{ " = STRING: \"", FAKE_STRING },
	};
	char oid[512], *at = NULL;

	line[strcspn(line, "\n")] = '\0';
	if (line[strlen(line) - 1] == '"')
		line[strlen(line) - 1] = '\0';
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		at = strstr(line, words[i].word);
		if (at == NULL)
			continue;
		*at = '\0';
		at += strlen(words[i].word);
		snprintf(oid, sizeof oid, "%s%s", line[0] == '.' ? "" : ".", line);
		if (words[i].type == FAKE_STRING)
			fake_snmp_text(fake, oid, at);
		else
			fake_snmp_number(fake, oid, words[i].type, strtoll(at, NULL, 10));
		return;
	}
}

static void replay(const char *name)
{
	char path[512], line[1024];
	FILE *file;
	int n = 0;

	snprintf(path, sizeof path, "%s/%s", LAB_DATA, name);
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s", path);
	for (; fgets(line, sizeof line, file) != NULL; n++)
		add_line(line);
	fclose(file);
	cr_assert_gt(n, 20);
}

static void setup_replay(const char *profile, const char *name, bool is_shared, const char *file)
{
	setup(profile, name, is_shared);
	replay(file);
}

static double row(const char *name, const char *metric)
{
	return collector_host_value(host, "domain", name, metric);
}

/*** weblogic-mib ***/

Test(snmp_profiles, weblogic_mib_reads_a_domain_with_indices_of_32_digits)
{
	setup_replay(WEBLOGIC, "domain", true, "weblogic_domain.snmprec");
	expect_good();
	cr_assert_eq(row("ms1", "jvm_heap_free_bytes"), 314572800);
	cr_assert_eq(row("ms1", "jvm_heap_size_bytes"), 1073741824);
	cr_assert_float_eq(row("ms1", "jvm_heap_free_ratio"), 0.29, 1e-12);
	cr_assert_eq(row("ms2", "jvm_heap_free_bytes"), 3221225472);
	cr_assert_eq(row("ms2", "jvm_heap_size_bytes"), 4294967296);
	cr_assert_float_eq(row("ms2", "jvm_heap_free_ratio"), 0.75, 1e-12);
	cr_assert_eq(row("AdminServer", "jvm_heap_free_bytes"), 419430400);
	cr_assert_float_eq(row("AdminServer", "jvm_heap_free_ratio"), 0.78, 1e-12);
}

Test(snmp_profiles, weblogic_mib_joins_the_table_of_states_by_name_as_its_indices_differ)
{
	setup_replay(WEBLOGIC, "domain", true, "weblogic_domain.snmprec");
	expect_good();
	cr_assert_eq(row("ms1", "running"), 1);
	cr_assert_eq(row("ms2", "running"), 1);
	cr_assert_eq(row("AdminServer", "running"), 1);
	cr_assert_eq(n_values(), 12, "nothing of ms3");
}

/* It takes no calls, and so it has much free heap. */
Test(snmp_profiles, weblogic_mib_leaves_out_a_server_that_is_not_running)
{
	const struct collector_poll *last;

	setup_replay(WEBLOGIC, "domain", true, "weblogic_domain.snmprec");
	expect_good();
	last = collector_host_last(host, target);
	cr_expect(isnan(row("ms3", "jvm_heap_free_bytes")));
	cr_expect(isnan(row("ms3", "running")));
	cr_expect_eq(last->absents, 1);
	cr_expect_str_eq(last->absent_row, "ms3");
	cr_expect_str_eq(last->absent_text,
			 "it is ADMIN, not RUNNING (.1.3.6.1.4.1.140.625.360.1.60)");
	fake_snmp_text(fake,
		       ".1.3.6.1.4.1.140.625.360.1.60.32.100.48.51.56.53.101.100.99.49.50.101.50."
		       "50.98.97.102.57.53.55.53.48.102.99.101.99.101.102.53.49.54.53.57",
		       "RUNNING");
	expect_good();
	cr_expect_eq(row("ms3", "jvm_heap_free_bytes"), 734003200);
	cr_expect_eq(row("ms3", "running"), 1);
	cr_expect_eq(collector_host_last(host, target)->absents, 0);
}

Test(snmp_profiles, weblogic_mib_reads_one_server_of_a_domain)
{
	setup_replay(WEBLOGIC, "ms2", false, "weblogic_domain.snmprec");
	expect_good();
	cr_assert_eq(n_values(), 4);
	cr_assert_eq(collector_host_value(host, "ms2", NULL, "jvm_heap_free_bytes"), 3221225472);
	cr_assert_eq(collector_host_value(host, "ms2", NULL, "running"), 1);
}

Test(snmp_profiles, weblogic_mib_fails_for_one_server_that_is_not_running)
{
	setup_replay(WEBLOGIC, "ms3", false, "weblogic_domain.snmprec");
	expect_bad(LONG_MS, CR_ABSENT,
		   "left out: it is ADMIN, not RUNNING (.1.3.6.1.4.1.140.625.360.1.60)");
	cr_assert_eq(n_values(), 0);
}

Test(snmp_profiles, weblogic_mib_takes_other_names_and_leaves_a_table_out)
{
	const char *more[] = { community_setting, NULL };

	cr_assert_null(
		try_open("weblogic-mib requests: { heap: { key: { select: "
			 ".1.3.6.1.4.1.140.625.340.1.20, after: ':', map: { ms1: first } } }, "
			 "state: }",
			 more));
	fake = fake_snmp_new(FAKE_NORMAL);
	replay("weblogic_domain.snmprec");
	target = collector_host_add(host, "domain", fake_snmp_endpoint(fake), true);
	expect_good();
	cr_assert_eq(row("first", "jvm_heap_free_bytes"), 314572800);
	cr_assert_eq(row("ms2", "jvm_heap_free_bytes"), 3221225472);
	cr_assert(isnan(row("first", "running")));
	cr_assert_eq(n_values(), 12);
	cr_assert_eq(fake_snmp_requests(fake), 1);
}

/*** host-mib ***/

Test(snmp_profiles, host_mib_takes_what_programs_can_get_and_not_what_nobody_uses)
{
	setup_replay("host-mib", "ms1", false, "snmpwalk_ucd_memory.txt");
	expect_good();
	cr_assert_eq(value(NULL, "host_memory_free_bytes"), 24287056.0 * 1024);
	cr_assert_eq(n_values(), 1);
}

Test(snmp_profiles, host_mib_adds_buffers_and_cache_where_an_agent_is_too_old)
{
	setup_replay("host-mib", "ms1", false, "snmpwalk_ucd_memory.txt");
	fake_snmp_number(fake, ".1.3.6.1.4.1.2021.4.27.0", FAKE_NO_INSTANCE, 0);
	expect_good();
	cr_assert_eq(value(NULL, "host_memory_free_bytes"), (23570152.0 + 8380 + 974872) * 1024);
}

/*** jvm-mib ***/

Test(snmp_profiles, jvm_mib_takes_another_unit)
{
	const char *more[] = { community_setting, NULL };

	fake = fake_snmp_new(FAKE_NORMAL);
	fake_snmp_jvm(fake, 100, 400, 1000);
	cr_assert_null(try_open("jvm-mib fields: { jvm_heap_used_bytes: { unit: kib } }", more));
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 102400);
	cr_assert_eq(value(NULL, "jvm_heap_size_bytes"), 400);
}

/*** jrockit-mib and sources of one's own ***/

Test(snmp_profiles, jrockit_mib_wants_the_columns_and_reads_them)
{
	const char *more[] = { community_setting, NULL };
	const char *err = try_open("jrockit-mib", more);

	cr_assert_not_null(err);
	cr_assert_not_null(strstr(err, "fields are missing"), "%s", err);
	cr_assert_null(try_open("jrockit-mib fields: { jvm_heap_free_bytes: "
				"{ select: .1.3.6.1.4.1.140.625.302.1.25 } }",
				more));
	fake = fake_snmp_new(FAKE_NORMAL);
	target = collector_host_add(host, "domain", fake_snmp_endpoint(fake), true);
	fake_snmp_text(fake, ".1.3.6.1.4.1.140.625.302.1.20.7", "ServerRuntime:ms1");
	fake_snmp_number(fake, ".1.3.6.1.4.1.140.625.302.1.25.7", FAKE_GAUGE, 1000);
	expect_good();
	cr_assert_eq(row("ms1", "jvm_heap_free_bytes"), 1000);
}

Test(snmp_profiles, weblogic_mib_leaves_out_of_another_table_too)
{
	const char *more[] = { community_setting, NULL };

	cr_assert_null(try_open("weblogic-mib requests: { heap: { key: { select: "
				".1.3.6.1.4.1.140.625.302.1.20, after: ':' }, fields: { "
				"jvm_heap_free_bytes: { select: .1.3.6.1.4.1.140.625.302.1.25 }, "
				"jvm_heap_size_bytes: ~, jvm_heap_free_ratio: ~ } } }",
				more));
	fake = fake_snmp_new(FAKE_NORMAL);
	target = collector_host_add(host, "domain", fake_snmp_endpoint(fake), true);
	fake_snmp_text(fake, ".1.3.6.1.4.1.140.625.302.1.20.7", "ServerRuntime:ms1");
	fake_snmp_number(fake, ".1.3.6.1.4.1.140.625.302.1.25.7", FAKE_GAUGE, 1000);
	fake_snmp_text(fake, ".1.3.6.1.4.1.140.625.302.1.20.8", "ServerRuntime:ms2");
	fake_snmp_number(fake, ".1.3.6.1.4.1.140.625.302.1.25.8", FAKE_GAUGE, 2000);
	fake_snmp_text(fake, ".1.3.6.1.4.1.140.625.360.1.15.3", "ms2");
	fake_snmp_text(fake, ".1.3.6.1.4.1.140.625.360.1.60.3", "SUSPENDING");
	expect_good();
	cr_expect_eq(row("ms1", "jvm_heap_free_bytes"), 1000);
	cr_expect(isnan(row("ms2", "jvm_heap_free_bytes")));
	cr_expect_str_eq(collector_host_last(host, target)->absent_row, "ms2");
}

Test(snmp_profiles, snmp_reads_any_scalar)
{
	const char *more[] = { community_setting, NULL };

	cr_assert_null(try_open("snmp fields: { jvm_heap_used_bytes: "
				"{ select: .1.3.6.1.4.1.99999.1.0, unit: mib } }",
				more));
	fake = fake_snmp_new(FAKE_NORMAL);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	fake_snmp_number(fake, ".1.3.6.1.4.1.99999.1.0", FAKE_INTEGER, 7);
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 7340032);
}

Test(snmp_profiles, snmp_reads_any_table)
{
	const char *more[] = { community_setting, NULL };

	cr_assert_null(try_open("snmp format: snmp-table\n"
				"key: { select: .1.3.6.1.2.1.25.2.3.1.3 }\n"
				"fields: { host_memory_free_bytes: "
				"{ select: .1.3.6.1.2.1.25.2.3.1.5, unit: kib } }",
				more));
	fake = fake_snmp_new(FAKE_NORMAL);
	replay("snmpwalk_hrstorage.txt");
	target = collector_host_add(host, "domain", fake_snmp_endpoint(fake), true);
	expect_good();
	cr_assert_eq(n_values(), 3, "names with blanks are none");
	cr_assert_gt(row("/dev/shm", "host_memory_free_bytes"), 0);
}

Test(snmp_profiles, a_source_that_fails_in_part_keeps_its_good_part)
{
	const char *more[] = { community_setting, "max_repetitions=1", NULL };

	cr_assert_null(
		try_open("snmp requests: {\n"
			 " heap: { format: snmp-get, fields: { jvm_heap_used_bytes: { select: "
			 ".1.3.6.1.4.1.99999.1.0 } } },\n"
			 " threads: { format: snmp-get, fields: { busy_threads: { select: "
			 ".1.3.6.1.4.1.99999.2.0 } } } }",
			 more));
	fake = fake_snmp_new(FAKE_NORMAL);
	fake_snmp_number(fake, ".1.3.6.1.4.1.99999.1.0", FAKE_INTEGER, 7);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	cr_assert_eq(poll_for(LONG_MS)->state, COLLECTOR_FAILED);
	cr_assert_not_null(strstr(collector_host_last(host, target)->text, "busy_threads"));
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 7);
	cr_assert_eq(fake_snmp_requests(fake), 2);
}
