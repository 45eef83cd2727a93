/* test_source_selectors.c - each kind of selector: what it finds, and what is wrong with a bad one,
 * with the column. */
#include <errno.h>

#include "source_bench.h"
#include "source_internal.h"

TestSuite(selectors, .fini = bench_end);

struct find {
	const char *selector; /* what stands in the description, ' doubled */
	double value;         /* NaN: nothing is found */
};

struct refusal {
	const char *selector, *text;
};

/* A number at selector in body, by format; all values are added up. */
static void expect_found(const char *format, const char *body, const struct find *find, size_t n)
{
	char keys[1024];

	for (size_t i = 0; i < n; i++) {
		snprintf(keys, sizeof keys,
			 "{ format: %s, fields: { sessions: { select: '%s', reduce: sum, "
			 "optional: true }, requests_total: '%s' } }",
			 format, find[i].selector, find[i].selector);
		bench_begin(NULL, keys);
		bench_read(body);
		if (isnan(find[i].value))
			cr_expect_eq(bench_state("", "sessions"), SOURCE_MISSING, "%s finds %g",
				     find[i].selector, bench_value("", "sessions"));
		else
			cr_expect_eq(bench_value("", "sessions"), find[i].value, "%s finds %g: %s",
				     find[i].selector, bench_value("", "sessions"),
				     bench_sample->text);
	}
}

static void expect_refused(const char *format, const struct refusal *bad, size_t n)
{
	char keys[1024], text[600];

	for (size_t i = 0; i < n; i++) {
		snprintf(keys, sizeof keys, "{ format: %s, fields: { sessions: '%s' } }", format,
			 bad[i].selector);
		snprintf(text, sizeof text, "/fields/sessions: selector \"%s\", %s\n",
			 bad[i].selector, bad[i].text);
		cr_expect_lt(bench_parse(NULL, keys), 0, "%s", bad[i].selector);
		cr_expect_str_eq(bench_faults, text);
	}
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

Test(selectors, json_leads_through_keys_lists_all_and_filters)
{
	static const char body[] =
		"{\"a\":{\"b\":1,\"\":2,\"x/y\":4,\"m~n\":8,\"c[d\":16,\"10\":32},"
		"\"list\":[1,2,[3,4],{\"k\":\"v\",\"n\":64},{\"k\":\"w\",\"n\":128},{\"k\":7,"
		"\"n\":256},{\"k\":true,\"n\":512}],\"null\":null,\"text\":\"12\",\"\":5,"
		"\"pools\":{\"Old\":{\"t\":\"H\",\"u\":{\"n\":3}},\"New\":{\"t\":\"H\",\"u\":"
		"{\"n\":4}},\"Code\":{\"t\":\"N\",\"u\":null}}}";
	static const struct find find[] = {
		{ "/a/b", 1 },
		{ "/a/", 2 },
		{ "/a/x~1y", 4 },
		{ "/a/m~0n", 8 },
		{ "/a/c~2d", 16 },
		{ "/a/10", 32 },
		{ "/list/0", 1 },
		{ "/list/2/1", 4 },
		{ "/list/2/*", 7 },
		{ "/list/*/n", 960 },
		{ "/list/*[k=v]/n", 64 },
		{ "/list/[k=w]/n", 128 },
		{ "/list/*[k=7]/n", 256 },
		{ "/list/*[k=true]/n", 512 },
		{ "/list/[k=v][n=64]/n", 64 },
		{ "/list/[k=v][n=65]/n", NAN },
		{ "/pools/*[t=H]/u/n", 7 },
		{ "/pools/Old[t=H]/u/n", 3 },
		{ "/pools/*/u/n", 7 },
		{ "/text", 12 },
		{ "/", 5 },
		{ "/null", NAN },
		{ "/list/9", NAN },
		{ "/list/01", NAN },
		{ "/list/-", NAN },
		{ "/list/k", NAN },
		{ "/a/b/c", NAN },
		{ "/no/such", NAN },
	};

	expect_found("json", body, find, COUNT(find));
	expect_found("json", "17", (const struct find[]){ { "", 17 } }, 1);
	expect_found("json", "[1,2]", (const struct find[]){ { "/*", 3 } }, 1);
}

Test(selectors, json_says_where_a_pointer_is_wrong)
{
	static const struct refusal bad[] = {
		{ "a/b", "column 1: a JSON pointer begins with /, as in /value/used" },
		{ "$.a", "column 1: a JSON pointer begins with /, as in /value/used" },
		{ "/a/b~", "column 5: \"~\" is written ~0, \"/\" in a key ~1, \"[\" in a key ~2" },
		{ "/a~3", "column 3: \"~\" is written ~0, \"/\" in a key ~1, \"[\" in a key ~2" },
		{ "/a/*[k=v", "column 5: this [ has no ]" },
		{ "/a/*[kv]", "column 6: write [key=value], without quotes" },
		{ "/a/[=v]", "column 5: write [key=value], without quotes" },
		{ "/a/[k=v]b", "column 9: after ] comes /, [ or the end" },
		{ "/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1",
		  "column 65: more than 32 steps" },
	};

	expect_refused("json", bad, COUNT(bad));
}

Test(selectors, xml_leads_through_elements_tests_and_attributes)
{
	static const char body[] =
		"<?xml version='1.0'?><?xml-stylesheet href='x'?><!-- c -->"
		"<s a='1'><j><m free='2' t:x=\"3\">4</m><p name='Eden Space' u='5'/>"
		"<p name=\"it's\" u='6'> 7 </p><p name='say \"x\"' u='8'/></j>"
		"<c><n>10<!-- - -->0</n><n><![CDATA[23]]></n></c><c><n>1000</n></c>"
		"<t:e n='9'/><free>11</free></s>";
	static const struct find find[] = {
		{ "/s@a", 1 },
		{ "/s/j/m@free", 2 },
		{ "/s/j/m@t:x", 3 },
		{ "/s/j/m", 4 },
		{ "/s/j/p[@name=''Eden Space'']@u", 5 },
		{ "/s/j/p[@name=\"it''s\"]@u", 6 },
		{ "/s/j/p[@name=\"it''s\"]", 7 },
		{ "/s/j/p[@name=''say \"x\"'']@u", 8 },
		{ "/s/j/p@u", 19 },
		{ "/s/*@n", 9 },
		{ "/s/t:e@n", 9 },
		{ "/s/j/p[@name=''it''][@u=''6'']@u", NAN },
		{ "/s/c/n", 1123 },
		{ "/*/*/n", 1123 },
		{ "/s/free", 11 },
		{ "/s/j/m@used", NAN },
		{ "/j/m@free", NAN },
		{ "/s/j/m@FREE", NAN },
		{ "/s/x/y", NAN },
	};

	expect_found("xml", body, find, COUNT(find));
}

Test(selectors, xml_says_where_a_path_is_wrong)
{
	static const struct refusal bad[] = {
		{ "status", "column 1: a path begins with /, as in /status/jvm/memory@free; below "
			    "a row also with @ or ." },
		{ "/a//b", "column 4: here has to be an element's name or *" },
		{ "/a/", "column 4: here has to be an element's name or *" },
		{ "/a@", "column 4: here has to be an attribute's name" },
		{ "/a@b/c", "column 5: \"/\" cannot stand here" },
		{ "/a[1]", "column 3: write [@name='value']" },
		{ "/a[@b]", "column 6: here has to be ='value', in quotes" },
		{ "/a[@b=c]", "column 6: here has to be ='value', in quotes" },
		{ "/a[@b=\"c]", "column 7: this quote is not closed by \"]" },
		{ "/a b", "column 3: \" \" cannot stand here" },
	};

	expect_refused("xml", bad, COUNT(bad));
}

Test(selectors, prometheus_matches_labels_as_promql_does)
{
	static const char body[] =
		"# HELP a 1 { \" } of it\n# TYPE a gauge\na 1\na{n=\"z\"} 2\na{l=\"x\"} 4 "
		"1795977803000\n"
		"a{l=\"xy\",m=\"p\",} 8\n  a { l = \"it's {a} \\\"b\\\" \\\\ c\" , m=\"q\" }  16  "
		"\n"
		"ab{l=\"x\"} 32\n\na{l=\"\\n\"} 64 # {trace=\"1\"} 0.5 1.5\r\n"
		"{\"my.name\",l=\"x\"} 128\n{l=\"y\",\"my.name\"} 256\na_total{l=\"x\"} 1.5e+3\n"
		"colon:rule 512\n{\"n\",\"q.l\"=\"v\"} 1024\n";
	static const struct find find[] = {
		{ "a", 95 },
		{ "a{}", 95 },
		{ "a{l=\"x\"}", 4 },
		{ "a{l=~\"x\"}", 4 },
		{ "a{l=~\"x.*\"}", 12 },
		{ "a{l=~\"x|xy\"}", 12 },
		{ "a{l!=\"x\"}", 91 },
		{ "a{l!~\"x.*\"}", 83 },
		{ "a{l=\"\"}", 3 },
		{ "a{l!=\"\"}", 92 },
		{ "a{m=\"p\",l=\"xy\"}", 8 },
		{ "a{ m = \"p\" , l = \"xy\" , }", 8 },
		{ "a{m=\"p\",l=\"x\"}", NAN },
		{ "a{l=\"it''s {a} \\\"b\\\" \\\\ c\"}", 16 },
		{ "a_total", 1500 },
		{ "colon:rule", 512 },
		{ "b", NAN },
	};

	expect_found("prometheus", body, find, COUNT(find));
}

Test(selectors, prometheus_says_where_one_is_wrong)
{
	static const struct refusal bad[] = {
		{ "", "column 1: here has to be a metric's name, as in jvm_memory_used_bytes" },
		{ "1a", "column 1: here has to be a metric's name, as in jvm_memory_used_bytes" },
		{ "sum(a)", "column 4: after the name comes { or the end" },
		{ "a{", "column 3: here has to be a label's name" },
		{ "a{l}", "column 4: here has to be = != =~ or !~" },
		{ "a{l=x}", "column 5: here has to be a value in double quotes" },
		{ "a{l=\"x}", "column 5: this quote is not closed" },
		{ "a{l=\"x\" m=\"y\"}", "column 9: here has to be , or }" },
		{ "a{l=\"x\"} 5", "column 9: after the name comes { or the end" },
		{ "a{l=~\"(a)\\\\1\"}", "column 6: back references (\\1) are not taken" },
		{ "a{l=~\"b)|(c\"}", "column 6: a \")\" without its \"(\"" },
		{ "a{l=~\"(\"}",
		  "column 6: not an extended regular expression: Unmatched ( or \\(" },
	};

	expect_refused("prometheus", bad, COUNT(bad));
}

Test(selectors, text_finds_the_group_in_each_line)
{
	static const char body[] = "OK - free = 12\r\nused: {a=1, b=2, a=40}\nfree = 30\nx9y\n567";
	static const struct find find[] = {
		{ "free = ([0-9]+)$", 42 },
		{ "^free = ([0-9]+)$", 30 },
		{ "a=([0-9]+)", 41 },
		{ "b=([0-9]+)", 2 },
		{ "x([0-9])y", 9 },
		{ "[0-9]y$", NAN },
		{ "12$", 12 },
		{ "^a=([0-9]+)", NAN },
		{ "y(0*)$", NAN },
		{ "^[567]", 5 },
	};
	static const struct refusal bad[] = {
		{ "", "column 1: the regular expression is empty" },
		{ "a(", "column 1: not an extended regular expression: Unmatched ( or \\(" },
		{ "(a)(b)", "column 1: 2 groups; one ( ) at most, around the value" },
		{ "(a)\\1", "column 1: back references (\\1) are not taken" },
		{ "a[",
		  "column 1: not an extended regular expression: Invalid regular expression" },
		{ "a)", "column 1: a \")\" without its \"(\"" },
	};

	for (size_t i = 0; i < COUNT(find); i++) {
		char keys[256];

		snprintf(keys, sizeof keys,
			 "{ format: text, fields: { sessions: { select: '%s', reduce: sum } } }",
			 find[i].selector);
		bench_begin(NULL, keys);
		bench_read(body);
		cr_expect(isnan(find[i].value) ? bench_state("", "sessions") != SOURCE_FOUND
					       : bench_value("", "sessions") == find[i].value,
			  "%s finds %g", find[i].selector, bench_value("", "sessions"));
	}
	expect_refused("text", bad, COUNT(bad));
}

/* The C library would unroll them: some took all memory, some all time. */
Test(selectors, regular_expressions_that_cost_too_much_are_refused_before_they_are_compiled)
{
	static const char too_large[] = "too large once its repetitions are unrolled";
	static const char in_a_row[] = "a repetition right behind a repetition";
	static const char *const good[] = { "[0-9]{1,20}", "^([a-z]+|[^]+*{]{2,5})*$",
					    "a\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+",
					    "[[:alpha:]+++++++++++++++]x{400}", "(a*)*|b?c*\\**" };
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "(a{1,255}){1,255}", too_large },
		{ "((a{99}){99}){99}", too_large },
		{ "(a+b+c+d+){300}", too_large },
		{ "a{5000}", too_large },
		{ "(x|[]]{1,200}){9}", too_large },
		{ "a++++++++++++", in_a_row },
		{ "h**", in_a_row },
		{ "used=.*?,", in_a_row },
		{ "(a)*{2}", in_a_row },
		{ "([ab]{1,2}{9}|c)", in_a_row },
	};
	char json[256], deep[80] = "";
	const struct refusal nested = { deep, "column 1: more than 31 groups inside each other" };

	for (size_t i = 0; i < COUNT(good); i++) {
		struct source_selector_fault fault;
		void *selector;

		cr_expect_eq(source_kind_text.compile(good[i], &selector, &fault), 0, "%s: %s",
			     good[i], fault.text);
		source_kind_text.release(selector);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *text = bad[i].text;
		struct source_selector_fault fault;
		void *selector;

		cr_expect_eq(source_kind_text.compile(text, &selector, &fault), -EINVAL, "%s",
			     text);
		cr_expect(strstr(fault.text, bad[i].why) != NULL, "%s: %s", text, fault.text);
		snprintf(json, sizeof json, "n{l=~\"%s\"}", text);
		cr_expect_eq(source_kind_prometheus.compile(json, &selector, &fault), -EINVAL);
		cr_expect(strstr(fault.text, bad[i].why) != NULL, "%s: %s", json, fault.text);
		cr_expect_eq(fault.column, 6);
	}
	memset(deep, '(', 40);
	expect_refused("text", &nested, 1);
}

Test(selectors, oids_are_numbers)
{
	static const struct refusal bad[] = {
		{ "", "column 1: an OID is written in numbers, as in .1.3.6.1.4.1.2021.4.5.0" },
		{ "sysUpTime.0", "column 1: an OID is written in numbers, as in "
				 ".1.3.6.1.4.1.2021.4.5.0" },
		{ ".1.3.x", "column 6: an OID is written in numbers, as in "
			    ".1.3.6.1.4.1.2021.4.5.0" },
		{ ".1.3.", "column 6: an OID is written in numbers, as in "
			   ".1.3.6.1.4.1.2021.4.5.0" },
		{ ".1.3-4", "column 5: between the numbers come dots" },
		{ ".1.3.4294967296", "column 6: this number is above 4294967295" },
		{ ".1.40.1", "column 1: no OID begins like that" },
		{ ".3.1", "column 1: no OID begins like that" },
		{ "1", "column 1: no OID begins like that" },
	};
	const struct source_request *request;

	expect_refused("snmp-get", bad, COUNT(bad));
	bench_begin(NULL, "{ format: snmp-get, fields: { sessions: [ '1.3.6.1.0', "
			  "'.1.3.6.4294967295.0' ], busy_threads: .1.3.6.1.0 } }");
	request = &bench_source->request[0];
	cr_expect_eq(bench_source->transport, SOURCE_SNMP);
	cr_assert_eq(request->n_oids, 2, "the same OID is asked for once");
	cr_expect_eq(request->oid[0].len, 5);
	cr_expect_eq(request->oid[1].id[3], 4294967295);
}

Test(selectors, promql_has_value_time_and_labels)
{
	static const struct refusal bad[] = {
		{ "", "column 1: write value, time, or a label's name" },
		{ "1x", "column 1: write value, time, or a label's name" },
		{ "sum(x)", "column 4: no such letter in a label's name; the query itself stands "
			    "in path" },
	};

	expect_refused("promql", bad, COUNT(bad));
	bench_begin(NULL, "{ format: promql, fields: { sessions: value, requests_total: n } }");
	cr_expect_eq(bench_read("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","
				"\"result\":[{\"metric\":{\"n\":\"8\"},\"value\":[1,\"7\"]}]}}"),
		     0);
	cr_expect_eq(bench_value("", "sessions"), 7);
	cr_expect_eq(bench_value("", "requests_total"), 8);
}
