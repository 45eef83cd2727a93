/* test_source_hostile.c - answers that are broken, endless or made to hurt: each ends with a reason
 * and within a bounded time. */
#include <malloc.h>
#include <time.h>

#include "source_bench.h"

enum { LIMIT_MS = 3000, BODY_MAX = 1 << 20 }; /* with sanitizers, on a busy machine */

TestSuite(hostile, .fini = bench_end, .timeout = 60);

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char json[] = "{ format: json, fields: { busy_threads: /n } }";
static const char json_rows[] = "{ format: json, rows: '/*', key: /n, fields: { busy_threads: { "
				"select: /v, optional: true } } }";
static const char xml[] = "{ format: xml, fields: { busy_threads: /a/b@n } }";
static const char series[] = "{ format: prometheus, fields: { busy_threads: n } }";
static const char text[] = "{ format: text, fields: { busy_threads: ' = ([0-9]+)$' } }";

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* begin, then unit again and again up to len bytes in all, then end. */
static char *fill(const char *begin, const char *unit, const char *end, size_t len)
{
	char *body = calloc(1, len + strlen(begin) + strlen(end) + 1), *at;
	const size_t n = strlen(unit);

	at = body + sprintf(body, "%s", begin);
	while ((size_t)(at - body) + n <= len)
		at = (char *)memcpy(at, unit, n) + n;
	memcpy(at, end, strlen(end));
	return body;
}

static void expect_bounded(const char *what, const char *keys, char *body, enum cr_why why,
			   const char *reason)
{
	const int64_t start = now_ms();

	bench_begin(NULL, keys);
	cr_expect_lt(bench_read(body), 0, "%s: it was good", what);
	cr_expect_leq(now_ms() - start, LIMIT_MS, "%s took %lld ms", what,
		      (long long)(now_ms() - start));
	cr_expect_eq(bench_sample->why, why, "%s: %d: %s", what, bench_sample->why,
		     bench_sample->text);
	cr_expect(strstr(bench_sample->text, reason) != NULL, "%s: \"%s\" has no \"%s\"", what,
		  bench_sample->text, reason);
	free(body);
}

Test(hostile, deep_and_endless_json)
{
	expect_bounded("deep lists", json, fill("", "[", "", BODY_MAX), CR_REPLY,
		       "bad JSON in line 1, column 2049: maximum parsing depth reached");
	expect_bounded("deep maps", json, fill("", "{\"n\":", "", BODY_MAX), CR_REPLY, "bad JSON");
	expect_bounded("many values", "{ format: json, fields: { busy_threads: '/*' } }",
		       fill("[1", ",1", "]", BODY_MAX), CR_REPLY,
		       "more than 4096 rows or 65536 values in the answer");
	expect_bounded("many rows", json_rows,
		       fill("[{\"n\":\"a\"}", ",{\"n\":\"a\"}", "]", BODY_MAX), CR_REPLY,
		       "more than 4096 rows or 65536 values in the answer");
	expect_bounded("digits", json, fill("{\"n\":1", "1", "}", BODY_MAX), CR_REPLY,
		       "bad JSON in line 1");
}

Test(hostile, truncated_and_foreign_json)
{
	static const char *const bodies[] = { "",
					      " ",
					      "{",
					      "{\"n\":",
					      "{\"n\":1",
					      "{\"n\":1}}",
					      "{'n':1}",
					      "{\"n\":NaN}",
					      "{\"n\":01}",
					      "{\"n\":1}x",
					      "\xff\xfe{\"n\":1}",
					      "{\"n\":\"\xff\"}",
					      "{\"n\":1,}" };

	for (size_t i = 0; i < COUNT(bodies); i++) {
		bench_begin(NULL, json);
		EXPECT_FAILED(bench_read(bodies[i]), CR_REPLY, "bad JSON in line 1");
	}
}

Test(hostile, json_with_a_nul_is_told_in_words_of_our_own)
{
	static const char *const bodies[] = { "{\"n\":\"a\\u0000\"}", "{\"a\\u0000b\":1}",
					      "[\"\\u0000\"]" };

	for (size_t i = 0; i < COUNT(bodies); i++) {
		bench_begin(NULL, json);
		EXPECT_FAILED(bench_read(bodies[i]), CR_REPLY,
			      "a text holds \\u0000, which no name or figure does");
	}
}

/* Whoever reads it as a C string would take what stands before the NUL. */
Test(hostile, json_with_a_nul_behind_it_is_no_json)
{
	static const char body[] = "{\"n\":1}\0{\"n\":2}";
	const struct source_answer answer = { .bytes = body, .len = sizeof body - 1 };

	bench_begin(NULL, json);
	(void)source_extract(bench_sample, 0, &answer);
	EXPECT_FAILED(source_end(bench_sample, "ms1"), CR_REPLY,
		      "bad JSON in line 1, column 8: it holds a NUL byte");
}

/* What the last of them says would be believed, and the first by another reader. */
Test(hostile, json_that_says_two_things_of_one_key)
{
	static const char *const formats[] = {
		json, json_rows, "{ format: promql, fields: { busy_threads: value } }"
	};
	static const struct {
		const char *body, *reason;
	} twice[] = {
		{ "{\"n\":1,\"n\":1}",
		  "bad JSON in line 1, column 10: the key \"n\" is there twice" },
		{ "{\"n\":1,\n \"m\":[{\"k\":{},\"k\":2}]}",
		  "bad JSON in line 2, column 17: the key \"k\" is there twice" },
		{ "{\"n\":1,\"\\u006e\":2}",
		  "bad JSON in line 1, column 15: the key \"\\u006e\" is there twice" },
		{ "{\"\":1,\"\":2}", "bad JSON in line 1, column 8: the key \"\" is there twice" },
		{ "{\"\\\\\\\"\":1,\"\\\\\\\"\":2}",
		  "bad JSON in line 1, column 16: the key \"\\\\\\\"\" is there twice" },
		{ "{\"n\":99999999999999999999,\"n\":2}",
		  "bad JSON in line 1, column 29: the key \"n\" is there twice" },
		{ "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{"
		  "\"metric\":{"
		  "\"server\":\"a\",\"server\":\"b\"},\"value\":[1,\"2\"]}]}}",
		  "the key \"server\" is there twice; who knows which one is true" },
		{ "{\"a\\nb\":1,\"a\\nb\":1}", "the key \"a\\nb\" is there twice" },
	};
	char *body = fill("{\"", "k", "\":1,\"", BODY_MAX / 2), *end = strchr(body, '\0');

	for (size_t f = 0; f < COUNT(formats); f++)
		for (size_t i = 0; i < COUNT(twice); i++)
			expect_bounded(twice[i].body, formats[f], strdup(twice[i].body), CR_REPLY,
				       twice[i].reason);
	body = realloc(body, BODY_MAX + 64);
	end = strchr(body, '\0');
	memset(end, 'k', BODY_MAX / 2 - 2);
	strcpy(end + BODY_MAX / 2 - 2, "\":1}");
	expect_bounded("a long key", json, body, CR_REPLY, "kkkkkkkkk\" is there twice");
}

/* In other places of an answer the same key is no second one. */
Test(hostile, json_with_one_key_in_several_maps)
{
	bench_begin(NULL, json);
	cr_expect_eq(bench_read("{\"m\":{\"n\":1},\"l\":[{\"n\":2},{\"n\":3}],\"n\":4,\"N\":5}"), 0,
		     "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "busy_threads"), 4);
}

Test(hostile, xml_with_entities_or_without_end)
{
	static const char laughs[] =
		"<!DOCTYPE a [<!ENTITY x0 \"ha\"><!ENTITY x1 \"&x0;&x0;&x0;&x0;&x0;&x0;&x0;&x0;\">"
		"<!ENTITY x2 \"&x1;&x1;&x1;&x1;&x1;&x1;&x1;&x1;\"><!ENTITY x3 "
		"\"&x2;&x2;&x2;&x2;\">]>"
		"<a><b n='1'>&x3;&x3;&x3;</b></a>";

	expect_bounded("entities", xml, strdup(laughs), CR_REPLY, "not taken: XML with a DOCTYPE");
	expect_bounded("a file", xml,
		       strdup("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a><b n='1'/></a>"),
		       CR_REPLY, "not taken: XML with a DOCTYPE");
	expect_bounded("any DOCTYPE", xml, strdup("<!DOCTYPE a><a><b n='1'/></a>"), CR_REPLY,
		       "not taken: XML with a DOCTYPE");
	expect_bounded("deep elements", xml, fill("", "<a>", "", BODY_MAX), CR_REPLY,
		       "not taken: XML with more than 128 elements inside each other");
	expect_bounded("many elements", xml, fill("<a>", "<c/>", "</a>", BODY_MAX), CR_REPLY,
		       "not taken: XML with more than 65536 elements");
	expect_bounded("many attributes", xml, fill("<a><b", " n='1'", "/></a>", BODY_MAX),
		       CR_REPLY, "bad XML in line 1");
	expect_bounded("a long attribute", xml, fill("<a><b n='1", "1", "'/></a>", BODY_MAX),
		       CR_VALUE, "busy_threads: not_a_number: 1111");
	expect_bounded("long text", "{ format: xml, fields: { busy_threads: /a } }",
		       fill("<a>", "1", "</a>", BODY_MAX), CR_VALUE, "not_a_number");
	expect_bounded("cut off", xml, strdup("<a><b n='1'/>"), CR_REPLY,
		       "bad XML in line 1, column 14: no element found");
	expect_bounded("an unknown entity", xml, strdup("<a><b n='&x;'/></a>"), CR_REPLY,
		       "bad XML in line 1, column 4: undefined entity");
}

Test(hostile, broken_and_endless_series)
{
	static const struct {
		const char *body, *reason;
	} bad[] = {
		{ "n", "bad metrics in line 1: the value is missing" },
		{ "n 1\nn{", "bad metrics in line 2: a label has no name" },
		{ "n{l=\"x", "bad metrics in line 1: a label's value is not in quotes, or they" },
		{ "n{l=x} 1", "bad metrics in line 1: a label's value is not in quotes, or they" },
		{ "n{l} 1", "bad metrics in line 1: a label has no value" },
		{ "n{=\"x\"} 1", "bad metrics in line 1: a label has no name" },
		{ "n{l=\"x\"}", "bad metrics in line 1: the value is missing" },
		{ "{l=\"x\"} 1", "bad metrics in line 1: it does not begin with a metric's name" },
		{ "1 2", "bad metrics in line 1: it does not begin with a metric's name" },
		{ "{\"a\":1}",
		  "bad metrics in line 1: labels are not separated by commas and closed by }" },
		{ "n{l=\"x\",m=\"y\",l=\"z\"} 1", "bad metrics in line 1: a label is there twice" },
		{ "n{l=\"x\",\"l\"=\"x\"} 1", "bad metrics in line 1: a label is there twice" },
		{ "# EOF\nn 1", "bad metrics in line 2: a series follows \"# EOF\"" },
	};
	char labels[1024] = "n{", *at = labels + 2;

	for (size_t i = 0; i < COUNT(bad); i++)
		expect_bounded(bad[i].body, series, strdup(bad[i].body), CR_REPLY, bad[i].reason);
	expect_bounded("a long line", series, fill("n{l=\"", "x", "\"} 1", BODY_MAX), CR_REPLY,
		       "bad metrics in line 1: longer than 8192 bytes");
	for (int i = 0; i < 65; i++)
		at += sprintf(at, "l%d=\"\",%s", i, i == 64 ? "} 1" : "");
	expect_bounded("many labels", series, strdup(labels), CR_REPLY,
		       "bad metrics in line 1: more than 64 labels");
	expect_bounded("many series", series, fill("", "n 1\n", "", BODY_MAX), CR_REPLY,
		       "more than 4096 rows or 65536 values in the answer");
	expect_bounded("empty lines", series, fill("", "\n", "", BODY_MAX), CR_ABSENT,
		       "busy_threads: nothing at n");
	expect_bounded("many values for a regular expression",
		       "{ format: prometheus, fields: { busy_threads: 'n{l=~\"(x+x+)+y\"}' } }",
		       fill("n{l=\"", "x", "\"} 1\n", 8000), CR_ABSENT, "nothing at n{");
}

/* Each of them takes over 9 s without a bound. */
Test(hostile, lines_that_cost_a_regular_expression_the_square_of_their_length)
{
	static const struct {
		const char *regex, *unit;
	} costly[] = {
		{ "([0-9]+) KB", "1" },
		{ "[0-9]+ *KB", "1" },
		{ "(x+x+)+y", "x" },
		{ "x.*x.*x.*x.*x.*y", "x" },
	};
	char keys[128], line[4097];

	for (size_t i = 0; i < COUNT(costly); i++) {
		memset(line, costly[i].unit[0], 4095);
		memcpy(line + 4095, "\n", 2);
		snprintf(keys, sizeof keys, "{ format: text, fields: { busy_threads: '%s' } }",
			 costly[i].regex);
		expect_bounded(costly[i].regex, keys, fill("", line, "", BODY_MAX), CR_REPLY,
			       "the regular expressions take too long (more than 100 ms)");
	}
	snprintf(keys, sizeof keys, "{ format: text, fields: { busy_threads: 'used=([0-9]+)' } }");
	expect_bounded("a cheap one", keys, fill("", line, "", BODY_MAX), CR_ABSENT,
		       "nothing at used=");
}

/* Without a bound it takes over a minute, and 400 MB. */
Test(hostile, labels_that_make_a_regular_expression_remember_every_letter)
{
	char *body = calloc(1, BODY_MAX), *at = body;
	uint32_t random = 1;

	while (at - body < BODY_MAX - 9000) {
		at += sprintf(at, "n{l=\"");
		for (int i = 0; i < 8000; i++) {
			random = random * 1664525 + 1013904223;
			*at++ = random >> 31 ? 'a' : 'b';
		}
		at += sprintf(at, "\"} 1\n");
	}
	expect_bounded("labels",
		       "{ format: prometheus, fields: { busy_threads: 'n{l=~\".*a.{200}c\"}' } }",
		       body, CR_REPLY, "the regular expressions take too long (more than 100 ms)");
}

static size_t heap_bytes(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* How many bytes more than after the first poll are in use after any of n polls, each of which
 * brings a text of len letters that no poll has brought before. */
static size_t heap_growth(const char *keys, const char *begin, const char *end, int n, size_t len)
{
	size_t first = 0, most = 0;
	uint32_t random = 1;
	char body[2048];

	bench_begin(NULL, keys);
	for (int poll = 0; poll < n; poll++) {
		char *at = body + sprintf(body, "%s", begin);

		for (size_t i = 0; i < len; i++) {
			random = random * 1664525 + 1013904223;
			*at++ = random >> 31 ? 'a' : 'b';
		}
		sprintf(at, "%s", end);
		EXPECT_FAILED(bench_read(body), CR_ABSENT, "busy_threads: nothing at");
		if (poll == 0)
			first = heap_bytes();
		else if (heap_bytes() > first + most)
			most = heap_bytes() - first;
	}
	return most;
}

/* Each letter is a new state to the C library: without a bound 225 MB and 97 MB are kept. */
Test(hostile, texts_that_change_leave_no_memory_behind)
{
	enum { POLLS = 2000, LETTERS = 30, MOST = 24 << 20 };
	const size_t lines = heap_growth("{ format: text, fields: { busy_threads: '.*a.{20}c' } }",
					 "", "\n", POLLS, LETTERS);
	const size_t labels = heap_growth("{ format: prometheus, fields: { busy_threads: "
					  "'n{l=~\".*a.{20}c\"}' } }",
					  "n{l=\"", "\"} 1\n", POLLS, LETTERS);

	cr_expect_lt(lines, MOST, "lines: %zu kB", lines / 1000);
	cr_expect_lt(labels, MOST, "labels: %zu kB", labels / 1000);
}

Test(hostile, rows_of_series_without_end)
{
	char *body = calloc(1, BODY_MAX), *at = body;

	for (int i = 0; i < 30000; i++)
		at += sprintf(at, "n{s=\"ms%d\"} 1\n", i);
	expect_bounded("many names", "{ format: prometheus, key: s, fields: { busy_threads: n } }",
		       body, CR_REPLY, "more than 4096 rows or 65536 values in the answer");
}

/* Each is compared with all others: the square of their number would take minutes. */
Test(hostile, many_series_of_which_one_comes_twice)
{
	char *body = calloc(1, 2 * BODY_MAX), *at = body;

	for (int i = 0; i < 60000; i++)
		at += sprintf(at, "n{l=\"%d\"} 1\n%s", i, i < 40000 ? "m 1\n" : "");
	sprintf(at, "n{l=\"0\"} 1\n");
	expect_bounded("one of 100,000 lines",
		       "{ format: prometheus, fields: { busy_threads: { "
		       "select: n, reduce: sum } } }",
		       body, CR_VALUE, "busy_threads: twice: in lines 1 and 100001: ");
	expect_bounded("all the same",
		       "{ format: prometheus, fields: { busy_threads: { select: n, "
		       "reduce: sum } } }",
		       fill("", "n{l=\"0\"} 1\n", "", 60000 * 11), CR_VALUE,
		       "busy_threads: twice: in lines 1 and 2: ");
}

Test(hostile, text_that_costs_a_regular_expression_much)
{
	expect_bounded("blanks", text, fill("", " ", "", 4096), CR_ABSENT, "nothing at");
	expect_bounded("nearly a match", text, fill("", " = 1x", "", 4096), CR_ABSENT,
		       "nothing at");
	expect_bounded("nearly a match in all lines", text,
		       fill("", " = 1111111111111111x\n", "", 20000 * 20), CR_ABSENT, "nothing at");
	expect_bounded("a long line", text, fill("", "x", "", BODY_MAX), CR_REPLY,
		       "line 1 is longer than 4096 bytes");
	expect_bounded("many lines", text, fill("", "\n", "", BODY_MAX), CR_REPLY,
		       "more than 20000 lines");
	expect_bounded("many matches", "{ format: text, fields: { busy_threads: '1' } }",
		       fill("", "1111111111111111111111111111111\n", "", 20000 * 32), CR_REPLY,
		       "more than 4096 rows or 65536 values in the answer");
}

Test(hostile, pages_for_people)
{
	static const char *const pages[] = {
		"<!DOCTYPE html><html/>",
		"\n <HTML><body/></HTML>",
		"\xef\xbb\xbf<!doctype HTML>",
		("<html xmlns='http://www.w3.org/1999/xhtml'>"
		 "<form action='j_security_check'/></html>"),
	};
	static const char *const formats[] = { json, xml, series };

	for (size_t f = 0; f < COUNT(formats); f++)
		for (size_t i = 0; i < COUNT(pages); i++) {
			bench_begin(NULL, formats[f]);
			EXPECT_FAILED(bench_read(pages[i]), CR_REPLY,
				      "looks like HTML (login page?)");
		}
	for (size_t f = 0; f < COUNT(formats); f++) {
		const struct source_answer answer = { .bytes = "please log in",
						      .len = 13,
						      .content_type = "text/html;charset=utf-8" };

		bench_begin(NULL, formats[f]);
		source_extract(bench_sample, 0, &answer);
		EXPECT_FAILED(source_end(bench_sample, "ms1"), CR_REPLY,
			      "looks like HTML (login page?)");
	}
}

Test(hostile, openmetrics_that_was_cut_off)
{
	struct source_answer answer = { .bytes = "n 1\n",
					.len = 4,
					.content_type = "application/openmetrics-text; version=1" };

	bench_begin(NULL, series);
	source_extract(bench_sample, 0, &answer);
	EXPECT_FAILED(source_end(bench_sample, "ms1"), CR_REPLY, "cut off: OpenMetrics without");
	answer.bytes = "n 1\n# EOF\n";
	answer.len = 10;
	bench_begin(NULL, series);
	source_extract(bench_sample, 0, &answer);
	cr_expect_eq(source_end(bench_sample, "ms1"), 0, "%s", bench_sample->text);
}

Test(hostile, metrics_that_were_cut_off)
{
	static const char whole[] = "m 5\nn 1048576\n# HELP n help\n";

	for (size_t n = 1; n < sizeof whole; n++) {
		char *body = strndup(whole, n);

		bench_begin(NULL, "{ format: prometheus, fields: { sessions: m, busy_threads: { "
				  "select: n, optional: true } } }");
		if (body[n - 1] == '\n')
			cr_expect_eq(bench_read(body), 0, "%s: %s", body, bench_sample->text);
		else
			EXPECT_FAILED(bench_read(body), CR_REPLY, "");
		free(body);
	}
	bench_begin(NULL, series);
	EXPECT_FAILED(bench_read("m 5\nn 10485"), CR_REPLY,
		      "cut off: no line feed at the end of line 2, the last");
	bench_begin(NULL, series);
	cr_expect_eq(bench_read("n 1\n# EOF"), 0, "%s", bench_sample->text);
}

Test(hostile, bytes_of_strangers_do_not_reach_the_log)
{
	bench_begin("jolokia", NULL);
	EXPECT_FAILED(
		bench_read("{\"status\":500,\"error\":\"a\\nservers lost\\u001b[2J \\u00e4\"}"),
		CR_REPLY, "/status is \"500\", not \"200\": a?servers lost?[2J ??");
	bench_begin(NULL, json);
	EXPECT_FAILED(bench_read("{\"n\":\"1\\n2\"}"), CR_VALUE, "not_a_number: 1?2: ");
	bench_begin(NULL, "{ format: promql, fields: { busy_threads: value } }");
	EXPECT_FAILED(
		bench_read("{\"status\":\"a\\nb\",\"errorType\":\"c\\nd\",\"error\":\"\\u00e4\"}"),
		CR_REPLY, "Prometheus says c?d: ??");
	bench_begin(NULL, "{ format: json, fields: { busy_threads: /\xc3\xa4 } }");
	EXPECT_FAILED(bench_read("{}"), CR_ABSENT, "busy_threads: nothing at /??");
}
