/* test_source_rows.c - answers about many servers: keys, rows that do not count, several requests,
 * times. */
#include <errno.h>

#include "source_bench.h"

TestSuite(source_rows, .fini = bench_end);

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char group[] =
	"{ format: json, rows: '/*', key: { select: [/n, /alias], after: ':', "
	"before: '@', map: { managed1: ms1 } }, skip: { select: /admin, equals: "
	"[ 'true', yes ] }, where: { select: /state, equals: RUNNING }, fields: "
	"{ jvm_heap_free_bytes: /f, jvm_heap_max_bytes: { select: /m, undefined: "
	"negative, optional: true } } }";

Test(source_rows, names_rows_by_their_key_and_leaves_out_what_does_not_run)
{
	static const char *const body[] = {
		"[{\"n\":\"S:managed1@d\",\"state\":\"RUNNING\",\"f\":11},"
		"{\"n\":\"S:ms2@d\",\"state\":\"STANDBY\",\"f\":999},"
		"{\"n\":\"S:ms3@d\",\"state\":\"RUNNING\"},"
		"{\"n\":\"S:ms4@d\",\"state\":\"RUNNING\",\"f\":-5,\"m\":7},"
		"{\"n\":\"S:adm@d\",\"state\":\"RUNNING\",\"f\":5,\"admin\":true},"
		"{\"n\":\"S:ms1@d\",\"state\":\"RUNNING\",\"f\":12},"
		"{\"n\":\"nocolon\",\"state\":\"RUNNING\",\"f\":13},"
		"{\"n\":null,\"alias\":\"S:ms6@d\",\"state\":\"RUNNING\",\"f\":14},"
		"{\"n\":\"S:a b@d\",\"state\":\"RUNNING\",\"f\":15}]"
	};

	bench_begin(NULL, group);
	cr_expect_eq(bench_answer(NULL, 1, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("ms1", "jvm_heap_free_bytes"), 11);
	cr_expect_eq(bench_row("ms2")->left_out_by, 1);
	cr_expect_str_eq(bench_row("ms2")->why, "it is STANDBY, not RUNNING (/state)");
	cr_expect_eq(bench_state("ms3", "jvm_heap_free_bytes"), SOURCE_MISSING);
	cr_expect(bench_has_note("ms3", "jvm_heap_free_bytes: nothing at /f"));
	cr_expect_eq(bench_state("ms4", "jvm_heap_free_bytes"), SOURCE_REJECTED);
	cr_expect_eq(bench_value("ms4", "jvm_heap_max_bytes"), 7);
	cr_expect(bench_row("adm")->is_skipped);
	cr_expect(bench_has_note("ms1", "a second row of this name does not count"));
	cr_expect(
		bench_has_note("", "row 7 has no name that a server can have: /n is \"nocolon\""));
	cr_expect_eq(bench_value("ms6", "jvm_heap_free_bytes"), 14);
	cr_expect(bench_has_note("", "row 9 has no name that a server can have: /n is \"a b\""));
	cr_expect_eq(bench_sample->n_rows, 6);
	cr_expect_eq(bench_sample->n_found, 3, "that of ms2 does not count");
}

Test(source_rows, gives_one_server_its_own_row_alone)
{
	static const char *const body[] = { "[{\"n\":\"S:ms1@d\",\"state\":\"RUNNING\",\"f\":11},"
					    "{\"n\":\"S:ms2@d\",\"state\":\"RUNNING\",\"f\":-3},"
					    "{\"n\":\"S:ms3@d\",\"state\":\"ADMIN\",\"f\":3}]" };

	bench_begin(NULL, group);
	cr_expect_eq(bench_answer("ms1", 1, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_sample->n_rows, 1);
	cr_expect_eq(bench_value("", "jvm_heap_free_bytes"), 11);
	cr_expect_eq(bench_sample->n_notes, 0);
	EXPECT_FAILED(bench_answer("ms2", 1, body), CR_VALUE, "jvm_heap_free_bytes: negative: -3");
	EXPECT_FAILED(bench_answer("ms3", 1, body), CR_ABSENT,
		      "left out: it is ADMIN, not RUNNING (/state)");
	EXPECT_FAILED(bench_answer("ms4", 1, body), CR_ABSENT,
		      "no row of this server in the answer");
}

static const char joined[] =
	"{ format: json, rows: '/*', key: /n, requests: { heap: { fields: { jvm_heap_free_bytes: "
	"/f } }, state: { where: { select: /state, equals: RUNNING, optional: true }, fields: { "
	"running: { select: /state, type: string, map: { RUNNING: 1, STANDBY: 0 }, optional: true "
	"} } } } }";
static const char heaps[] = "[{\"n\":\"ms1\",\"f\":1},{\"n\":\"ms2\",\"f\":2},"
			    "{\"n\":\"ms3\",\"f\":3},{\"n\":\"ms4\",\"f\":4}]";
static const char states[] = "[{\"n\":\"ms1\",\"state\":\"RUNNING\"},"
			     "{\"n\":\"ms2\",\"state\":\"STANDBY\"},{\"n\":\"ms3\"}]";

/* Its heap stands in another table than its state, and there is much of it. */
Test(source_rows, left_out_by_one_request_count_in_none_of_them)
{
	static const char *const body[] = { heaps, states };

	bench_begin(NULL, joined);
	cr_expect_eq(bench_answer(NULL, 2, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_row("ms1")->left_out_by, 0);
	cr_expect_eq(bench_value("ms1", "running"), 1);
	cr_expect_eq(bench_row("ms2")->left_out_by, 2);
	cr_expect_str_eq(bench_row("ms2")->why, "it is STANDBY, not RUNNING (/state)");
	cr_expect_eq(bench_row("ms3")->left_out_by, 0, "nothing is said of its state");
	cr_expect_eq(bench_row("ms4")->left_out_by, 0, "nothing at all");
	cr_expect_eq(bench_sample->n_found, 4);
	cr_expect_eq(bench_sample->n_notes, 0);
	EXPECT_FAILED(bench_answer("ms2", 2, body), CR_ABSENT,
		      "left out: it is STANDBY, not RUNNING (/state)");
	cr_expect_eq(bench_answer("ms3", 2, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "jvm_heap_free_bytes"), 3);
}

Test(source_rows, left_out_before_the_others_are_read_do_not_count_either)
{
	static const char *const body[] = { "[{\"n\":\"ms1\",\"up\":true},{\"n\":\"ms2\",\"up\":"
					    "false},{\"n\":\"ms3\"}]",
					    heaps };

	bench_begin(NULL, "{ format: json, rows: '/*', key: /n, requests: { state: { where: { "
			  "select: /up, equals: 'true' }, fields: { running: { select: /up, type: "
			  "bool } } }, heap: { fields: { jvm_heap_free_bytes: /f } } } }");
	cr_expect_eq(bench_answer(NULL, 2, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_row("ms1")->left_out_by, 0);
	cr_expect_eq(bench_row("ms2")->left_out_by, 1);
	cr_expect_str_eq(bench_row("ms3")->why, "it has no /up", "this one is not optional");
	cr_expect_eq(bench_sample->n_found, 3);
}

Test(source_rows, of_one_name_are_chosen_by_where)
{
	static const char *const body[] = { "[{\"n\":\"ms1\",\"pool\":\"eden\",\"f\":9},{\"n\":"
					    "\"ms1\",\"pool\":\"heap\",\"f\":1},"
					    "{\"n\":\"ms2\",\"pool\":\"heap\",\"f\":2},{\"n\":"
					    "\"ms2\",\"pool\":\"eden\",\"f\":9},"
					    "{\"n\":\"ms3\",\"pool\":\"eden\",\"f\":9}]" };

	bench_begin(NULL, "{ format: json, rows: '/*', key: /n, where: { select: /pool, equals: "
			  "heap }, fields: { jvm_heap_free_bytes: /f } }");
	cr_expect_eq(bench_answer(NULL, 1, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_row("ms1")->left_out_by, 0);
	cr_expect_eq(bench_value("ms1", "jvm_heap_free_bytes"), 1);
	cr_expect_eq(bench_row("ms2")->left_out_by, 0);
	cr_expect_eq(bench_value("ms2", "jvm_heap_free_bytes"), 2);
	cr_expect_str_eq(bench_row("ms3")->why, "it is eden, not heap (/pool)");
}

/* Else a lost message would put a server in STANDBY first. */
Test(source_rows, do_not_count_while_nobody_knows_which_of_them_do)
{
	static const char *const lost[] = { heaps, NULL }, *const other[] = { NULL, states };
	const struct source_answer answer = { .bytes = heaps, .len = strlen(heaps) };

	bench_begin(NULL, joined);
	EXPECT_FAILED(bench_answer(NULL, 2, lost), CR_TIMEOUT, "1 of 2 requests failed; state: ");
	cr_expect_eq(bench_sample->n_rows, 0);
	cr_expect_not(bench_sample->is_partial);
	EXPECT_FAILED(bench_answer(NULL, 2, other), CR_TIMEOUT,
		      "partial: 1 of 2 requests failed; heap: ");
	bench_begin(NULL, joined);
	cr_expect_eq(source_extract(bench_sample, 0, &answer), 0);
	source_fail(bench_sample, 1, CR_ABSENT, "it has no states");
	EXPECT_FAILED(source_end(bench_sample, NULL), CR_ABSENT,
		      "partial: 1 of 2 requests failed; state: it has no states");
	cr_expect_eq(bench_sample->n_found, 4, "there is nothing that leaves a row out");
}

Test(source_rows, fails_a_group_without_rows_or_figures)
{
	static const char *const empty[] = { "[]" }, *const null[] = { "[null]" };
	static const char *const idle[] = { "[{\"n\":\"S:ms1@d\",\"state\":\"STANDBY\"}]" };
	static const char *const poor[] = { "[{\"n\":\"S:ms1@d\",\"state\":\"RUNNING\"}]" };

	bench_begin(NULL, group);
	EXPECT_FAILED(bench_answer(NULL, 1, empty), CR_ABSENT, "no row of any server");
	EXPECT_FAILED(bench_answer(NULL, 1, null), CR_ABSENT, "no row of any server");
	EXPECT_FAILED(bench_answer(NULL, 1, poor), CR_ABSENT,
		      "no figure: jvm_heap_free_bytes: nothing at /f");
	EXPECT_FAILED(bench_answer(NULL, 1, idle), CR_ABSENT,
		      "all servers are left out; ms1: it is STANDBY, not RUNNING (/state)");
	bench_begin("weblogic-rest", NULL);
	EXPECT_FAILED(bench_answer(NULL, 1, (const char *const[]){ "{\"serverRuntimes\":null}" }),
		      CR_ABSENT, "no row of any server; is this the administration server");
}

Test(source_rows, finds_rows_of_xml_and_of_series_too)
{
	static const char *const xml[] = { "<d><s n='ms1'><h f='11'/></s><s n='ms2'><h f='12'/>"
					   "</s><s><h f='13'/></s></d>" };
	static const char *const text[] = { "wls_heap_free{name=\"ms1\"} 11\nup 1\n"
					    "wls_heap_size{name=\"ms1\"} 21\n"
					    "wls_heap_free{name=\"ms2\"} 12\nwls_heap_free 13\n" };

	bench_begin(NULL, "{ format: xml, rows: /d/s, key: '@n', fields: { jvm_heap_free_bytes: "
			  "/h@f } }");
	cr_expect_eq(bench_answer(NULL, 1, xml), 0);
	cr_expect_eq(bench_value("ms1", "jvm_heap_free_bytes"), 11);
	cr_expect_eq(bench_value("ms2", "jvm_heap_free_bytes"), 12);
	cr_expect_eq(bench_sample->n_rows, 2);
	cr_expect(bench_has_note("", "row 3 has nothing at @n"));
	bench_begin(NULL, "{ format: prometheus, key: name, fields: { jvm_heap_free_bytes: "
			  "wls_heap_free, jvm_heap_size_bytes: { select: wls_heap_size, optional: "
			  "true } } }");
	cr_expect_eq(bench_answer(NULL, 1, text), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("ms1", "jvm_heap_size_bytes"), 21);
	cr_expect_eq(bench_value("ms2", "jvm_heap_free_bytes"), 12);
	cr_expect_eq(bench_sample->n_rows, 2);
	cr_expect(bench_has_note("", "1 of the series has no label name"));
	bench_begin(NULL, "{ format: prometheus, key: [server, job], fields: { "
			  "jvm_heap_free_bytes: wls_heap_free } }");
	EXPECT_FAILED(bench_answer(NULL, 1, text), CR_ABSENT,
		      "no row of any server: 3 of the series have no label server or job");
}

Test(source_rows, takes_the_time_of_a_sample_only_if_it_is_one)
{
	static const struct {
		const char *unit, *time;
		int64_t taken_ms; /* 0: none */
	} cases[] = {
		{ "s", "1795977803.686", 1795977803686 },
		{ "s", "\"1795977803\"", 1795977803000 },
		{ "ms", "1795977803686", 1795977803686 },
		{ "ns", "1795977803686000000", 1795977803686 },
		{ "s", "1795977803686", 0 },
		{ "ms", "1795977803", 0 },
		{ "s", "0", 0 },
		{ "s", "\"NaN\"", 0 },
		{ "s", "null", 0 },
	};
	char keys[256], body[128];

	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(keys, sizeof keys,
			 "{ format: json, sample_time: { select: /t, unit: %s }, fields: { "
			 "busy_threads: /n } }",
			 cases[i].unit);
		snprintf(body, sizeof body, "{\"n\":1,\"t\":%s}", cases[i].time);
		bench_begin(NULL, keys);
		if (cases[i].taken_ms == 0) {
			EXPECT_FAILED(bench_read(body), CR_VALUE,
				      "busy_threads: no_time: 1 has no");
			cr_expect(bench_has_note("", "sample_time: /t: "));
			continue;
		}
		cr_expect_eq(bench_read(body), 0);
		cr_expect_eq((bench_row("")->taken_ns + 500000) / 1000000, cases[i].taken_ms,
			     "%s %s", cases[i].time, cases[i].unit);
		cr_expect_eq(bench_sample->n_notes, 0);
	}
}

Test(source_rows, joins_the_rows_of_several_queries_and_their_oldest_time)
{
	static const char *const body[] = {
		"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
		"{\"metric\":{\"server\":\"ms1\"},\"value\":[1795977809,\"11\"]},"
		"{\"metric\":{\"server\":\"ms2\"},\"value\":[1795977809,\"12\"]}]}}",
		"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
		"{\"metric\":{\"server\":\"ms2\"},\"value\":[1795977809,\"22\"]},"
		"{\"metric\":{\"server\":\"ms1\"},\"value\":[1795977809,\"21\"]}]}}",
		"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
		"{\"metric\":{\"server\":\"ms1\"},\"value\":[1795977809,\"1795977803.5\"]},"
		"{\"metric\":{\"server\":\"ms2\"},\"value\":[1795977809,\"1795977804.5\"]}]}}"
	};

	bench_begin("prometheus-query", NULL);
	cr_expect_eq(bench_answer(NULL, 3, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("ms1", "jvm_heap_used_bytes"), 11);
	cr_expect_eq(bench_value("ms1", "jvm_heap_size_bytes"), 21);
	cr_expect_eq(bench_value("ms2", "jvm_heap_size_bytes"), 22);
	cr_expect_eq(bench_row("ms1")->taken_ns, 1795977803500000000);
	cr_expect_eq(bench_row("ms2")->taken_ns, 1795977804500000000);
	cr_expect_eq(bench_sample->n_notes, 0);
}

Test(source_rows, without_a_time_are_not_taken_for_new_where_others_have_one)
{
#define VECTOR(result)                                                                             \
	"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" result "]}}"
#define SERIES(server, value)                                                                      \
	"{\"metric\":{\"server\":\"" server "\"},\"value\":[1795977809,\"" value "\"]}"
	static const char *const body[] = { VECTOR(SERIES("ms1", "11") "," SERIES("ms2", "12")),
					    VECTOR(SERIES("ms1", "21") "," SERIES("ms2", "22")),
					    VECTOR(SERIES("ms2", "1795977804")) };
	const char *const empty[] = { body[0], body[1], VECTOR("") };

	bench_begin("prometheus-query", NULL);
	cr_expect_eq(bench_answer(NULL, 3, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_state("ms1", "jvm_heap_used_bytes"), SOURCE_REJECTED);
	cr_expect(bench_has_note("ms1", "jvm_heap_used_bytes: no_time: 11 has no sample_time: "));
	cr_expect_eq(bench_state("ms1", "jvm_heap_size_bytes"), SOURCE_REJECTED);
	cr_expect_eq(bench_value("ms2", "jvm_heap_used_bytes"), 12);
	bench_begin("prometheus-query", NULL);
	EXPECT_FAILED(bench_answer(NULL, 3, empty), CR_ABSENT, "1 of 3 requests failed; time: ");
	cr_expect_not(bench_sample->is_partial);
	cr_expect_eq(bench_state("ms2", "jvm_heap_used_bytes"), SOURCE_REJECTED);
#undef SERIES
#undef VECTOR
}

Test(source_rows, take_a_scalar_of_prometheus_for_one_server_and_nothing_but_vectors_for_many)
{
	static const char scalar[] =
		"{\"status\":\"success\",\"warnings\":[\"slow\"],\"data\":{\"resultType\":"
		"\"scalar\",\"result\":[1795977803.686,\"5363624\"]}}";
	static const char *const many[] = { scalar };
	static const char text[] = "{\"status\":\"success\",\"data\":{\"resultType\":\"string\","
				   "\"result\":[1795977803.686,\"5363624\"]}}";
	static const char one[] =
		"{ format: promql, fields: { sessions: value }, sample_time: time }";

	bench_begin(NULL, one);
	cr_expect_eq(bench_read(scalar), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "sessions"), 5363624);
	cr_expect_eq(bench_row("")->taken_ns / 1000000, 1795977803686);
	bench_begin(NULL, one);
	EXPECT_FAILED(bench_read(text), CR_REPLY, "the query's result is a \"string\"");
	bench_begin(NULL, "{ format: promql, key: server, fields: { sessions: value } }");
	EXPECT_FAILED(bench_answer(NULL, 1, many), CR_REPLY, "a scalar, which has no labels");
}

Test(source_rows, are_as_old_as_the_oldest_time_that_is_given)
{
	static const char *const body[] = { "{\"n\":1,\"t\":1795977803}",
					    "{\"n\":2,\"t\":1795977801}",
					    "{\"n\":3,\"t\":1795977802}" };

	bench_begin(NULL,
		    "{ format: json, sample_time: /t, requests: { a: { fields: { sessions: /n } "
		    "}, b: { fields: { busy_threads: /n } }, c: { fields: { max_threads: /n } } "
		    "} }");
	cr_expect_eq(bench_answer("ms1", 3, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_row("")->taken_ns, 1795977801000000000);
}

/* Prometheus' page for other Prometheus servers (federation) has values of up to 5 minutes ago. */
Test(source_rows, are_as_old_as_the_oldest_time_in_their_lines)
{
	static const char *const body[] = {
		"n{s=\"ms1\",p=\"a\"} 1 1795977803000\nn{s=\"ms1\",p=\"b\"} 2 1795977801500\n"
		"n{s=\"ms2\",p=\"a\"} 4 1795977802.25 # {t=\"1\"} 7 1795977700\n"
		"n{s=\"ms3\"} 8 # {t=\"1\"} 7 1795977700\nm{s=\"ms3\"} 8 1795977700000\n"
		"n{s=\"ms4\"} 16 1000\nn{s=\"ms5\"} 32 soon\n"
	};

	bench_begin(NULL, "{ format: prometheus, key: s, fields: { busy_threads: { select: n, "
			  "reduce: sum } } }");
	cr_expect_eq(bench_answer(NULL, 1, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("ms1", "busy_threads"), 3);
	cr_expect_eq(bench_row("ms1")->taken_ns, 1795977801500000000);
	cr_expect_eq((bench_row("ms2")->taken_ns + 500000) / 1000000, 1795977802250);
	cr_expect_eq(bench_value("ms3", "busy_threads"), 8);
	cr_expect_eq(bench_row("ms3")->taken_ns, 0, "what is not selected has no say");
	cr_expect_eq(bench_state("ms4", "busy_threads"), SOURCE_REJECTED);
	cr_expect(bench_has_note("ms4", "busy_threads: no_time: 1000: "));
	cr_expect_eq(bench_state("ms5", "busy_threads"), SOURCE_REJECTED);
	cr_expect(bench_has_note("ms5", "busy_threads: no_time: soon: "));
}

Test(source_rows, turns_words_into_numbers_by_a_map)
{
	static const char keys[] = "{ format: json, fields: { running: { select: /state, type: "
				   "string, map: { RUNNING: 1, STANDBY: 0 } } } }";

	bench_begin(NULL, keys);
	cr_expect_eq(bench_read("{\"state\":\"RUNNING\"}"), 0);
	cr_expect_eq(bench_value("", "running"), 1);
	cr_expect_eq(bench_read("{\"state\":\"STANDBY\"}"), 0);
	cr_expect_eq(bench_value("", "running"), 0);
	EXPECT_FAILED(bench_read("{\"state\":\"FAILED\"}"), CR_VALUE,
		      "running: not_a_number: FAILED");
	bench_begin(NULL, "{ format: json, fields: { running: { select: /up, type: bool } } }");
	cr_expect_eq(bench_read("{\"up\":true}"), 0);
	cr_expect_eq(bench_value("", "running"), 1);
	cr_expect_eq(bench_read("{\"up\":\"false\"}"), 0);
	cr_expect_eq(bench_value("", "running"), 0);
}

Test(source_rows, reads_snmp_cells_as_it_reads_everything_else)
{
	static const struct source_cell cells[] = {
		{ .kind = SOURCE_CELL_TEXT, .text = "ServerRuntime:ms1x", .len = 17 },
		{ .kind = SOURCE_CELL_NUMBER, .number = 5e9 },
		{ .kind = SOURCE_CELL_TEXT, .text = "ServerRuntime:ms2", .len = 17 },
		{ .kind = SOURCE_CELL_TEXT, .text = "4294967295", .len = 10 },
		{ .kind = SOURCE_CELL_TEXT, .text = "ServerRuntime:ms3", .len = 17 },
		{ .kind = SOURCE_CELL_NONE },
		{ .kind = SOURCE_CELL_NONE },
		{ .kind = SOURCE_CELL_NUMBER, .number = 1 },
	};

	bench_begin(NULL, "{ format: snmp-table, key: { select: .1.3.20, after: ':' }, fields: { "
			  "jvm_heap_free_bytes: .1.3.25 } }");
	cr_assert_eq(bench_source->request[0].n_oids, 2);
	cr_expect_eq(source_extract_cells(bench_sample, 0, cells, 4), 0);
	cr_expect_eq(source_end(bench_sample, NULL), 0);
	cr_expect(bench_has_note("", "row 4 has nothing at .1.3.20"));
	cr_expect_eq(bench_value("ms1", "jvm_heap_free_bytes"), 5e9);
	cr_expect_eq(bench_state("ms2", "jvm_heap_free_bytes"), SOURCE_REJECTED);
	cr_expect(bench_has_note("ms2", "wrapped: 4294967295"));
	cr_expect_eq(bench_state("ms3", "jvm_heap_free_bytes"), SOURCE_MISSING);
}
