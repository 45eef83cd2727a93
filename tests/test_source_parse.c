/* test_source_parse.c - descriptions: what is taken from them, and what is said about bad ones. */
#include <errno.h>

#include "source_bench.h"

TestSuite(source_parse, .fini = bench_end);

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define FIELDS       "fields: { busy_threads: /n }"

struct bad {
	const char *description, *faults;
};

static void expect_faults(const struct bad *bad, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cr_expect_lt(bench_parse(NULL, bad[i].description), 0, "%s", bad[i].description);
		cr_expect_str_eq(bench_faults, bad[i].faults);
	}
}

Test(source_parse, names_the_nearest_word)
{
	static const struct bad bad[] = {
		{ "{ format: jsno, " FIELDS " }",
		  "/format: unknown word \"jsno\"; did you mean \"json\"?\n" },
		{ "{ format: json, fileds: { busy_threads: /n }, " FIELDS " }",
		  "/fileds: unknown key \"fileds\"; did you mean \"fields\"?\n" },
		{ "{ format: json, fields: { jvm_heap_fre_bytes: /n } }",
		  "/fields/jvm_heap_fre_bytes: unknown metric \"jvm_heap_fre_bytes\"; did you "
		  "mean \"jvm_heap_free_bytes\"?\n" },
		{ "{ format: json, fields: { xyzzy: /n } }",
		  "/fields/xyzzy: unknown metric \"xyzzy\"; docs/sources.md lists the metrics, "
		  "like jvm_heap_used_bytes\n" },
		{ "{ format: json, fields: { busy_threads: { select: /n, reduse: sum } } }",
		  "/fields/busy_threads/reduse: unknown key \"reduse\"; did you mean "
		  "\"reduce\"?\n" },
		{ "{ format: json, fields: { busy_threads: { select: /n, reduce: total } } }",
		  "/fields/busy_threads/reduce: unknown word \"total\"; there are first, sum, max, "
		  "min, count, mean\n" },
		{ "{ format: json, fields: { jvm_heap_max_bytes: { select: /n, unit: MiB } } }",
		  "/fields/jvm_heap_max_bytes/unit: unknown word \"MiB\"; did you mean "
		  "\"mib\"?\n" },
		{ "{ format: json, auth: digset, " FIELDS " }",
		  "/auth: unknown word \"digset\"; did you mean \"digest\"?\n" },
		{ "{ format: json, help: { auht: x }, " FIELDS " }",
		  "/help/auht: unknown key \"auht\"; did you mean \"auth\"?\n" },
		{ "{ format: json, ok: { select: /s, equal: '1' }, " FIELDS " }",
		  "/ok/equal: unknown key \"equal\"; did you mean \"equals\"?\n" },
	};

	expect_faults(bad, COUNT(bad));
}

Test(source_parse, says_what_is_missing_or_too_much)
{
	static const struct bad bad[] = {
		{ "{ " FIELDS " }", ": format is missing: json, xml, prometheus, promql, text, "
				    "snmp-get or snmp-table\n" },
		{ "{ format: json }", ": fields are missing: which metric stands where, as in "
				      "fields: { jvm_heap_used_bytes: ... }\n" },
		{ "{ format: json, fields: {} }",
		  ": fields are missing: which metric stands where, as in fields: { "
		  "jvm_heap_used_bytes: ... }\n" },
		{ "{ format: json, fields: { busy_threads: { unit: none } } }",
		  "/fields/busy_threads: select is missing: where the value stands\n" },
		{ "{ format: json, where: { select: /up, optional: true }, fields: { busy_threads: "
		  "/n } }",
		  "/where: optional needs equals: what the value may be where there is one\n" },
		{ "{ format: json, ok: { select: /up, optional: true }, fields: { busy_threads: /n "
		  "} }",
		  "/ok/optional: unknown key \"optional\"; there are select, equals\n" },
		{ "{ format: json, fields: { busy_threads: [] } }",
		  "/fields/busy_threads: an empty list; write a selector\n" },
		{ "{ format: json, fields: { busy_threads: { select: [] } } }",
		  "/fields/busy_threads/select: an empty list; write a selector\n" },
		{ "{ format: json, fields: [ busy_threads ] }",
		  "/fields: fields has to be a map, key: value\n" },
		{ "{ format: json, rows: '/*', " FIELDS " }",
		  ": key is missing: which value names the server of a row\n" },
		{ "{ format: json, key: /name, " FIELDS " }",
		  "/key: a key needs rows: which things of the answer are servers\n" },
		{ "{ format: prometheus, rows: a, key: b, fields: { busy_threads: n } }",
		  "/rows: format prometheus has no rows; only json and xml select them\n" },
		{ "{ format: prometheus, key: 'a{b=\"c\"}', fields: { busy_threads: n } }",
		  "/key: the key of series is the name of a label alone\n" },
		{ "{ format: text, key: a, fields: { busy_threads: n } }",
		  "/key: format text is about one server: no key\n" },
		{ "{ format: snmp-table, fields: { busy_threads: .1.3.6 } }",
		  ": key is missing: which value names the server of a row\n" },
		{ "{ format: snmp-get, key: .1.3.7, fields: { busy_threads: .1.3.6 } }",
		  "/key: format snmp-get is about one server: no key\n" },
		{ "{ format: snmp-get, path: /x, fields: { busy_threads: .1.3.6 } }",
		  "/path: path is for HTTP; remove it from an SNMP source\n" },
		{ "{ transport: http, format: snmp-get, fields: { busy_threads: .1.3.6 } }",
		  "/transport: transport http does not bring format snmp-get\n" },
		{ "{ scope: group, format: json, " FIELDS " }",
		  "/scope: scope group: each request needs a key, which tells the servers "
		  "apart\n" },
		{ "{ format: json, requests: {}, a: b }",
		  "/a: unknown key \"a\"; there are transport, scope, auth, help, requests, "
		  "method, path, query, body, format, headers, ok, error, rows, key, skip, where, "
		  "fields, sample_time, context, community_suffix\n/requests: 0 requests; 1 to 16 "
		  "can be made\n" },
		{ "{ format: json, requests: { a: { " FIELDS " } }, " FIELDS " }",
		  "/fields: where there are requests, each has its own fields\n" },
		{ "{ requests: { a: { format: json, scope: group, " FIELDS " } } }",
		  "/requests/a/scope: unknown key \"scope\"; there are method, path, query, "
		  "headers, body, format, ok, error, rows, key, skip, where, fields, "
		  "sample_time\n" },
	};

	expect_faults(bad, COUNT(bad));
}

/* As many as can be told, whatever the format may be; by the nearest one, if there is one. */
Test(source_parse, says_all_that_is_wrong_with_a_request_of_an_unknown_format)
{
	static const struct bad bad[] = {
		{ "{ format: jsno, path: status, fields: { busy_threads: 'n', xyzzy: /n } }",
		  "/format: unknown word \"jsno\"; did you mean \"json\"?\n"
		  "/fields/busy_threads: selector \"n\", column 1: a JSON pointer begins with /, "
		  "as in /value/used\n"
		  "/fields/xyzzy: unknown metric \"xyzzy\"; docs/sources.md lists the metrics, "
		  "like jvm_heap_used_bytes\n"
		  "/path: path \"status\" has to begin with \"/\"\n" },
		{ "{ format: snmp-tabel, path: /x, fields: { busy_threads: /n } }",
		  "/format: unknown word \"snmp-tabel\"; did you mean \"snmp-table\"?\n"
		  ": key is missing: which value names the server of a row\n"
		  "/fields/busy_threads: selector \"/n\", column 1: an OID is written in numbers, "
		  "as in .1.3.6.1.4.1.2021.4.5.0\n"
		  "/path: path is for HTTP; remove it from an SNMP source\n" },
		{ "{ format: yaml, key: a, method: PUT, fields: { busy_threads: { select: n, "
		  "unit: kib } } }",
		  "/format: unknown word \"yaml\"; there are json, xml, prometheus, promql, text, "
		  "snmp-get, snmp-table\n"
		  "/fields/busy_threads/unit: unit kib is for names that end in _bytes; "
		  "\"busy_threads\" is counted otherwise\n"
		  "/method: unknown word \"PUT\"; there are GET, POST\n" },
		{ "{ path: status, fields: { busy_threads: [] } }",
		  ": format is missing: json, xml, prometheus, promql, text, snmp-get or "
		  "snmp-table\n"
		  "/fields/busy_threads: an empty list; write a selector\n"
		  "/path: path \"status\" has to begin with \"/\"\n" },
		{ "{ transport: snmp, format: xyzzy, fields: { busy_threads: 'a{b' } }",
		  "/format: unknown word \"xyzzy\"; there are json, xml, prometheus, promql, text, "
		  "snmp-get, snmp-table\n" },
		{ "{ requests: { a: { format: jsno, path: x, " FIELDS " }, b: { path: y, format: "
		  "text, fields: { busy_threads: '(' } } } }",
		  "/requests/a/format: unknown word \"jsno\"; did you mean \"json\"?\n"
		  "/requests/a/path: path \"x\" has to begin with \"/\"\n"
		  "/requests/b/fields/busy_threads: selector \"(\", column 1: not an extended "
		  "regular expression: Unmatched ( or \\(\n"
		  "/requests/b/path: path \"y\" has to begin with \"/\"\n" },
	};

	expect_faults(bad, COUNT(bad));
}

Test(source_parse, says_what_cannot_be_sent)
{
	static const struct bad bad[] = {
		{ "{ format: json, path: status, " FIELDS " }",
		  "/path: path \"status\" has to begin with \"/\"\n" },
		{ "{ format: json, path: '/a b', " FIELDS " }",
		  "/path: path: letter 3 cannot stand in a URL; write a blank as %20, \"#\" as "
		  "%23\n" },
		{ "{ format: json, path: '/${host', " FIELDS " }",
		  "/path: \"${host\" is no variable; write ${NAME}, closed by }\n" },
		{ "{ format: json, query: { q: 'a${}' }, " FIELDS " }",
		  "/query/q: \"${}\" is no variable; write ${NAME}, closed by }\n" },
		{ "{ format: json, method: PUT, " FIELDS " }",
		  "/method: unknown word \"PUT\"; there are GET, POST\n" },
		{ "{ format: json, method: GET, body: x, " FIELDS " }",
		  "/method: a GET has no body; write POST\n" },
		{ "{ format: json, headers: { Host: x }, " FIELDS " }",
		  "/headers/Host: Host is not yours to set\n" },
		{ "{ format: json, headers: { authorization: x }, " FIELDS " }",
		  "/headers/authorization: a secret does not stand here; use user and "
		  "password_file, or token_file\n" },
		{ "{ format: json, headers: { 'X Y': x }, " FIELDS " }",
		  "/headers/X Y: \"X Y\" is no name of a header\n" },
		{ "{ format: json, headers: { X-A: \"b\\r\\nX-C: d\" }, " FIELDS " }",
		  "/headers/X-A: a header is one line of printable letters\n" },
		{ "{ format: json, headers: { X-A: '${a${b}' }, " FIELDS " }",
		  "/headers/X-A: \"${a${b}\" is no variable; write ${NAME}, closed by }\n" },
		{ "{ format: json, body: '$${n', " FIELDS " }",
		  "/body: \"${n\" is no variable; write ${NAME}, closed by }\n" },
		{ "{ format: json, headers: { X-A: [ b ] }, " FIELDS " }",
		  "/headers/X-A: here has to be one value, no list\n" },
	};

	expect_faults(bad, COUNT(bad));
}

Test(source_parse, checks_units_and_types_against_the_metric)
{
	static const struct bad bad[] = {
		{ "{ format: json, fields: { busy_threads: { select: /n, unit: mib } } }",
		  "/fields/busy_threads/unit: unit mib is for names that end in _bytes; "
		  "\"busy_threads\" is counted otherwise\n" },
		{ "{ format: json, fields: { jvm_heap_max_bytes: { select: /n, unit: percent } } }",
		  "/fields/jvm_heap_max_bytes/unit: unit percent is for names that end in _ratio; "
		  "\"jvm_heap_max_bytes\" is counted otherwise\n" },
		{ "{ format: json, sample_time: { select: /t, unit: kib }, " FIELDS " }",
		  "/sample_time/unit: unit kib is for names that end in _bytes; \"_seconds\" is "
		  "counted otherwise\n" },
		{ "{ format: json, fields: { running: { select: /n, type: string } } }",
		  "/fields/running: type string needs map: which text is which number\n" },
		{ "{ format: json, fields: { running: { select: /a, type: string, map: { UP: 1, "
		  "DOWN: off, GONE: nan } } } }",
		  "/fields/running/map: \"off\" is no number; a field's map says which text is "
		  "which "
		  "number\n"
		  "/fields/running/map: \"nan\" is no number; a field's map says which text is "
		  "which "
		  "number\n" },
		{ "{ format: json, fields: { running: { select: /n, optional: maybe } } }",
		  "/fields/running/optional: \"maybe\" is neither true nor false\n" },
		{ "{ format: json, fields: { running: { select: /n, undefined: [ zero, one ] } } }",
		  "/fields/running/undefined/1: unknown word \"one\"; did you mean "
		  "\"none\"?\n" },
		{ "{ format: json, fields: { running: { select: /n, after: '' } } }",
		  "/fields/running/after: here has to be the text to cut at\n" },
	};

	expect_faults(bad, COUNT(bad));
}

Test(source_parse, reports_all_faults_at_once)
{
	cr_expect_lt(bench_parse(NULL, "{ format: json, pth: /x, method: GETT, fields: { a: /n, "
				       "busy_threads: { select: n, unit: kib } } }"),
		     0);
	cr_expect(strstr(bench_faults, "/pth: unknown key") != NULL, "%s", bench_faults);
	cr_expect(strstr(bench_faults, "/method: unknown word") != NULL);
	cr_expect(strstr(bench_faults, "/fields/a: unknown metric") != NULL);
	cr_expect(strstr(bench_faults, "/fields/busy_threads/select: selector") != NULL);
	cr_expect(strstr(bench_faults, "/fields/busy_threads/unit: unit kib") != NULL);
}

Test(source_parse, looks_into_a_field_whose_metric_is_misspelt)
{
	cr_expect_lt(bench_parse(NULL,
				 "{ format: json, fields: { jvm_heap_usd_bytes: { select: x, unit: "
				 "MiB } } }"),
		     0);
	cr_expect_str_eq(
		bench_faults,
		"/fields/jvm_heap_usd_bytes: unknown metric \"jvm_heap_usd_bytes\"; did you "
		"mean \"jvm_heap_used_bytes\"?\n"
		"/fields/jvm_heap_usd_bytes/select: selector \"x\", column 1: a JSON pointer "
		"begins with /, as in /value/used\n"
		"/fields/jvm_heap_usd_bytes/unit: unknown word \"MiB\"; did you mean "
		"\"mib\"?\n");
}

Test(source_parse, refuses_what_is_no_description)
{
	static const char *const texts[] = { "",
					     "x",
					     "[]",
					     "\"x\"",
					     "{",
					     "{\"a\":1,\"a\":2}",
					     "{\"format\":{}}",
					     "{\"requests\":[]}",
					     "{\"format\":\"json\",\"fields\":{\"running\":1}}" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		bench_faults[0] = '\0';
		cr_expect_lt(source_parse(texts[i], &bench_source, bench_note, NULL), 0, "%s",
			     texts[i]);
		cr_expect_null(bench_source);
		cr_expect_neq(bench_faults[0], '\0', "%s", texts[i]);
	}
}

/* As YAML such a thing is told with its place, before it comes here. */
Test(source_parse, takes_no_key_that_is_there_twice)
{
	bench_faults[0] = '\0';
	cr_expect_lt(source_parse("{\"format\":\"json\",\"fields\":{\"sessions\":\"/n\","
				  "\"sessions\":\"/m\"}}",
				  &bench_source, bench_note, NULL),
		     0);
	cr_expect_str_eq(bench_faults, ": the description is not JSON: line 1, column 53: "
				       "duplicate object key near '\"sessions\"'\n");
}

Test(source_parse, fills_in_what_is_not_said)
{
	const struct source_request *request;

	bench_begin(NULL, "{ format: json, " FIELDS " }");
	request = &bench_source->request[0];
	cr_expect_eq(bench_source->transport, SOURCE_HTTP);
	cr_expect_eq(bench_source->scope, SOURCE_SERVER);
	cr_expect_not(bench_source->has_auth);
	cr_expect_str_eq(request->name, "request");
	cr_expect_str_eq(request->method, "GET");
	cr_expect_str_eq(request->path, "");
	cr_expect_null(request->body);
	cr_assert_eq(request->n_headers, 1);
	cr_expect_str_eq(request->header[0].name, "Accept");
	cr_expect_str_eq(request->header[0].value, "application/json");

	bench_begin(NULL, "{ format: xml, rows: /a/b, key: '@n', body: <q/>, headers: { accept: x, "
			  "content-type: text/xml }, fields: { busy_threads: '@t' } }");
	request = &bench_source->request[0];
	cr_expect_eq(bench_source->scope, SOURCE_GROUP);
	cr_expect_str_eq(request->method, "POST");
	cr_expect_eq(request->n_headers, 2);
}

Test(source_parse, shares_keys_among_requests_and_lets_each_override_them)
{
	bench_begin(NULL,
		    "{ format: json, path: /shared, query: { a: 'b c&d' }, auth: bearer, "
		    "requests: { one: { fields: { busy_threads: /n } }, two: { format: xml, "
		    "path: '/own?x=1', query: { n: '${name}=' }, fields: { sessions: /n } } } }");
	cr_assert_eq(bench_source->n_requests, 2);
	cr_expect(bench_source->has_auth);
	cr_expect_eq(bench_source->auth, SOURCE_AUTH_BEARER);
	cr_expect_str_eq(bench_source->request[0].name, "one");
	cr_expect_str_eq(bench_source->request[0].path, "/shared?a=b%20c%26d");
	cr_expect_eq(bench_source->request[0].format, SOURCE_JSON);
	cr_expect_str_eq(bench_source->request[1].path, "/own?x=1&n=${name}%3D");
	cr_expect_eq(bench_source->request[1].format, SOURCE_XML);
	cr_expect_eq(bench_source->n_metrics, 2);
}

Test(source_parse, tells_which_variables_are_named_and_where)
{
	static const char *const expected[][2] = {
		{ "name", "/path" },
		{ "zone", "/query/z" },
		{ "host", "/requests/two/body" },
		{ "a.b", "/requests/two/headers/X-A" },
	};

	bench_begin(NULL, "{ format: json, path: '/${name}/${name}', query: { z: '${zone}' }, "
			  "requests: { one: { " FIELDS " }, two: { headers: { X-A: 'x${a.b}$' }, "
			  "body: '{\"${host}\":\"$\"}', " FIELDS " } } }");
	cr_assert_eq(bench_source->n_variables, COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++) {
		cr_expect_str_eq(bench_source->variable[i].name, expected[i][0]);
		cr_expect_str_eq(bench_source->variable[i].pointer, expected[i][1]);
	}
	cr_expect_str_eq(bench_source->request[0].path, "/${name}/${name}?z=${zone}");
}

#define TABLE "format: snmp-table, key: .1.3.6.1, fields: { busy_threads: .1.3.6.2 }"

Test(source_parse, knows_whom_an_snmp_agent_is_asked_about)
{
	static const struct {
		const char *description, *suffix, *context, *pointer;
		enum source_scope scope;
	} cases[] = {
		{ "{ " TABLE " }", "", "", NULL, SOURCE_GROUP },
		{ "{ " TABLE ", community_suffix: '@mydomain' }", "@mydomain", "", NULL,
		  SOURCE_GROUP },
		{ "{ " TABLE ", community_suffix: '@${name}' }", "@${name}", "",
		  "/community_suffix", SOURCE_SERVER },
		{ "{ " TABLE ", context: 'm${name}' }", "", "m${name}", "/context", SOURCE_SERVER },
		{ "{ " TABLE ", context: '${name}', scope: group }", "", "${name}", "/context",
		  SOURCE_GROUP },
		{ "{ context: '${name}', requests: { a: { " TABLE " } } }", "", "${name}",
		  "/context", SOURCE_SERVER },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		bench_begin(NULL, cases[i].description);
		cr_expect_str_eq(bench_source->community_suffix, cases[i].suffix);
		cr_expect_str_eq(bench_source->context, cases[i].context);
		cr_expect_eq(bench_source->scope, cases[i].scope, "%s", cases[i].description);
		cr_assert_eq(bench_source->n_variables, cases[i].pointer != NULL);
		if (cases[i].pointer != NULL)
			cr_expect_str_eq(bench_source->variable[0].pointer, cases[i].pointer);
	}
}

Test(source_parse, says_what_cannot_be_said_to_an_snmp_agent)
{
	static const struct bad bad[] = {
		{ "{ format: json, context: x, " FIELDS " }",
		  "/context: context is for SNMP; remove it from an HTTP source\n" },
		{ "{ format: json, community_suffix: '@${name}', " FIELDS " }",
		  "/community_suffix: community_suffix is for SNMP; remove it from an HTTP "
		  "source\n" },
		{ "{ community_suffix: '@${name', " TABLE " }",
		  "/community_suffix: \"${name\" is no variable; write ${NAME}, closed by }\n" },
		{ "{ community_suffix: \"@a\\n${name}\", " TABLE " }",
		  "/community_suffix: community_suffix: it holds a control byte (0x0a) as byte 3; "
		  "remove it\n" },
		{ "{ context: \"\\x7f\", " TABLE " }",
		  "/context: context: it holds a control byte (0x7f) as byte 1; remove it\n" },
		{ "{ context: [ a ], " TABLE " }",
		  "/context: here has to be one value, no list\n" },
		{ "{ requests: { a: { context: x, " TABLE " } } }",
		  "/requests/a/context: unknown key \"context\"; there are method, path, query, "
		  "headers, body, format, ok, error, rows, key, skip, where, fields, "
		  "sample_time\n" },
	};

	expect_faults(bad, COUNT(bad));
}

Test(source_parse, takes_255_bytes_for_a_context_and_no_more)
{
	char text[512], long_one[257];

	memset(long_one, 'x', 256);
	long_one[256] = '\0';
	snprintf(text, sizeof text, "{ context: %s, " TABLE " }", long_one + 1);
	cr_expect_eq(bench_parse(NULL, text), 0, "%s", bench_faults);
	snprintf(text, sizeof text, "{ context: %s, " TABLE " }", long_one);
	cr_expect_lt(bench_parse(NULL, text), 0);
	cr_expect_str_eq(bench_faults, "/context: context: it has 256 bytes, and SNMP takes at "
				       "most 255; shorten it\n");
	snprintf(text, sizeof text, "{ context: '${name}%s', " TABLE " }", long_one + 1);
	cr_expect_eq(bench_parse(NULL, text), 0, "it may have any length when it is filled in");
}

Test(source_parse, chooses_how_values_are_written_by_the_type_of_the_body)
{
	static const struct {
		const char *type;
		enum source_escape escape;
	} cases[] = {
		{ "application/json", SOURCE_ESCAPE_JSON },
		{ "application/vnd.x+JSON; charset=utf-8", SOURCE_ESCAPE_JSON },
		{ "text/xml", SOURCE_ESCAPE_XML },
		{ "application/x-www-form-urlencoded", SOURCE_ESCAPE_URL },
		{ "text/plain", SOURCE_ESCAPE_NONE },
	};
	char keys[256];

	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(keys, sizeof keys,
			 "{ format: json, body: x, headers: { content-type: '%s' }, " FIELDS " }",
			 cases[i].type);
		bench_begin(NULL, keys);
		cr_expect_eq(bench_source->request[0].body_escape, cases[i].escape, "%s",
			     cases[i].type);
	}
	bench_begin(NULL, "{ format: json, body: x, " FIELDS " }");
	cr_expect_eq(bench_source->request[0].body_escape, SOURCE_ESCAPE_JSON);
}

Test(source_parse, fills_variables_in_so_that_they_stay_values)
{
	static const struct cr_var vars[] = { { "host", "[::1]" },
					      { "q", "\"\\<&'\x01" },
					      { "e", "" } };
	static const struct cr_target target = { .name = "ms-1.a_/ \xc3\xa4",
						 .var = vars,
						 .n_vars = 3 };
	static const struct {
		const char *text;
		enum source_escape escape;
		const char *filled;
	} cases[] = {
		{ "/s/${name}/JVM?n=${name}", SOURCE_ESCAPE_URL,
		  "/s/ms-1.a_%2F%20%C3%A4/JVM?n=ms-1.a_%2F%20%C3%A4" },
		{ "{\"n\":\"${name}\"}", SOURCE_ESCAPE_JSON, "{\"n\":\"ms-1.a_/ \xc3\xa4\"}" },
		{ "${host}${e}:${q}", SOURCE_ESCAPE_URL, "%5B%3A%3A1%5D:%22%5C%3C%26%27%01" },
		{ "${host}${e}:${q}", SOURCE_ESCAPE_NONE, "[::1]:\"\\<&'\x01" },
		{ "${host}${e}:${q}", SOURCE_ESCAPE_JSON, "[::1]:\\\"\\\\<&'\\u0001" },
		{ "${host}${e}:${q}", SOURCE_ESCAPE_XML, "[::1]:&quot;\\&lt;&amp;&apos;\x01" },
		{ "plain $ {} }${", SOURCE_ESCAPE_URL, "plain $ {} }${" },
		{ "", SOURCE_ESCAPE_NONE, "" },
	};
	char *filled;

	for (size_t i = 0; i < COUNT(cases); i++) {
		cr_expect_eq(source_fill(cases[i].text, &target, cases[i].escape, &filled), 0);
		cr_expect_str_eq(filled, cases[i].filled);
		free(filled);
	}
	cr_expect_eq(source_fill("${hos}", &target, SOURCE_ESCAPE_NONE, &filled), -ENOENT);
	cr_expect_null(filled);
	cr_expect_eq(source_fill("${hosts}", &target, SOURCE_ESCAPE_NONE, &filled), -ENOENT);
}
