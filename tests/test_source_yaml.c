/* test_source_yaml.c - laying keys over a profile, and where each of them was written. */
#include <errno.h>
#include <unistd.h>

#include "source_bench.h"

static struct source_yaml *yaml;

static void begin(void)
{
	yaml = source_yaml_new();
	bench_faults[0] = '\0';
}

static void end(void)
{
	source_yaml_free(yaml);
	bench_end();
}

TestSuite(source_yaml, .init = begin, .fini = end);

static void expect_text(const char *text)
{
	char *json = source_yaml_text(yaml);

	cr_expect_str_eq(json, text);
	free(json);
}

Test(source_yaml, makes_every_value_a_text)
{
	cr_expect_eq(bench_lay(yaml, "a: 1\nb: true\nc: 007\nd: 'x\"y'\ne: [1, [2], {f: 1e3}]\n"
				     "g: >-\n  one\n  two\nh: ''\n"),
		     0);
	expect_text(
		"{\"a\":\"1\",\"b\":\"true\",\"c\":\"007\",\"d\":\"x\\\"y\",\"e\":[\"1\",[\"2\"],"
		"{\"f\":\"1e3\"}],\"g\":\"one two\",\"h\":\"\"}");
}

Test(source_yaml, lays_maps_into_maps_and_puts_the_rest_in_place)
{
	cr_expect_eq(bench_lay(yaml, "{ path: /a, ok: [1, 2], f: { x: { s: 1, u: b }, y: 2 } }"),
		     0);
	cr_expect_eq(bench_lay(yaml, "{ path: /b, ok: [3], f: { x: { u: kib }, z: 4 } }"), 0);
	expect_text("{\"path\":\"/b\",\"ok\":[\"3\"],\"f\":{\"x\":{\"s\":\"1\",\"u\":\"kib\"},"
		    "\"y\":\"2\",\"z\":\"4\"}}");
	cr_expect_eq(bench_lay(yaml, "{ f: 5, ok: { a: 1 } }"), 0);
	expect_text("{\"path\":\"/b\",\"ok\":{\"a\":\"1\"},\"f\":\"5\"}");
}

Test(source_yaml, takes_away_what_is_written_without_a_value)
{
	cr_expect_eq(bench_lay(yaml, "{ path: /a, f: { x: 1, y: 2, z: 3 }, ok: 1 }"), 0);
	cr_expect_eq(bench_lay(yaml, "path:\nf: { x: null, y: ~, q: }\nok: 'null'\nno: ~\n"), 0);
	expect_text("{\"f\":{\"z\":\"3\"},\"ok\":\"null\"}");
}

static bool is_name(void *user, const char *key)
{
	return strcmp(key, user) == 0;
}

Test(source_yaml, leaves_keys_of_others_out_and_gives_options_away)
{
	static const char text[] = "{ name: wls, path: /a, max_body: 2MiB, in: { name: b } }";
	const struct source_yaml_calls calls = { is_name, NULL, (char[]){ "name" } };
	yaml_parser_t parser;
	yaml_document_t document;
	char *taken;

	yaml_parser_initialize(&parser);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, sizeof text - 1);
	cr_assert(yaml_parser_load(&parser, &document));
	cr_expect_eq(source_yaml_lay(yaml, "f", &document, yaml_document_get_root_node(&document),
				     &calls),
		     0);
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	taken = source_yaml_take(yaml, "max_body");
	cr_expect_str_eq(taken, "2MiB");
	free(taken);
	cr_expect_null(source_yaml_take(yaml, "max_body"));
	cr_expect_null(source_yaml_take(yaml, "in"));
	expect_text("{\"path\":\"/a\",\"in\":{\"name\":\"b\"}}");
}

static void expect_place(const char *pointer, size_t line, size_t column)
{
	const struct source_place place = source_yaml_place(yaml, pointer);

	cr_expect_str_eq(place.file, "text");
	cr_expect_eq(place.line, line, "%s is in line %zu", pointer, place.line);
	cr_expect_eq(place.column, column, "%s is in column %zu", pointer, place.column);
}

Test(source_yaml, knows_where_each_thing_was_written)
{
	cr_expect_eq(bench_lay(yaml, "format: json\nfields:\n  busy_threads:\n    select: /n\n"
				     "    unit: kib\nok: [ { select: /a }, { select: /b } ]\n"
				     "\"a/b~c\": 1\n"),
		     0);
	cr_expect_eq(bench_lay(yaml, "\n\n fields: { busy_threads: { unit: mib } }\n"), 0);
	expect_place("", 1, 1);
	expect_place("/format", 1, 1);
	expect_place("/fields/busy_threads/select", 4, 5);
	expect_place("/fields/busy_threads/unit", 3, 28);
	expect_place("/fields/busy_threads", 3, 12);
	expect_place("/ok/1", 6, 23);
	expect_place("/ok/1/select", 6, 25);
	expect_place("/ok/7", 6, 1);
	expect_place("/a~1b~0c", 7, 1);
	expect_place("/fields/nothing/here", 3, 2);
	expect_place("/nothing", 1, 1);
}

Test(source_yaml, says_what_it_does_not_take)
{
	static const struct {
		const char *text, *faults;
	} bad[] = {
		{ "[ a ]", "1:1: here has to be a map, key: value\n" },
		{ "a", "1:1: here has to be a map, key: value\n" },
		{ "{ a: 1, b: 2, a: 3 }", "1:15: key \"a\" is there twice; remove one\n" },
		{ "{ x: { b: 1, b: 2 } }", "1:14: key \"b\" is there twice; remove one\n" },
		{ "{ [ a ]: 1 }", "1:3: a key has to be one word; merge keys (<<) do not work\n" },
		{ "{ a: &m { b: 1 }, c: { <<: *m } }",
		  "1:24: a key has to be one word; merge keys (<<) do not work\n" },
		{ "{ a: !secret x }", "1:6: the tag !secret does not work here; remove it\n" },
		{ "{ a: \"x\\0y\" }", "1:6: the text holds a zero byte\n" },
		{ "{a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: 1}}}}}}}}}}}}}",
		  "1:53: more than 12 lists and maps inside each other\n" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		end();
		begin();
		cr_expect_eq(bench_lay(yaml, bad[i].text), -EINVAL, "%s", bad[i].text);
		cr_expect_str_eq(bench_faults, bad[i].faults);
	}
}

/* Else "select is missing" would be said of a field that the profile has. */
Test(source_yaml, says_how_to_write_what_cannot_be_merged_with_a_selector_alone)
{
	cr_expect_eq(bench_lay(yaml, "{ fields: { a: /used, b: \"/m[@type='Heap']@x\", c: /c }, "
				     "key: /name }"),
		     0);
	cr_expect_eq(bench_lay(yaml, "fields:\n  a: { unit: kib, undefined: [zero] }\n"
				     "  b: { unit: mib }\n  c: { select: /d, unit: b }\n"
				     "key: { map: { x: y } }\n"),
		     -EINVAL);
	cr_expect_str_eq(bench_faults,
			 "2:6: the profile has a selector alone here; write it whole: "
			 "{ select: '/used', unit: kib, undefined: ... }\n"
			 "3:6: the profile has a selector alone here; write it whole: "
			 "{ select: \"/m[@type='Heap']@x\", unit: mib }\n"
			 "5:6: the profile has a selector alone here; write it whole: "
			 "{ select: '/name', map: ... }\n");
}

Test(source_yaml, survives_aliases_that_multiply_or_lead_in_a_circle)
{
	cr_expect_eq(bench_lay(yaml,
			       "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
			       "c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c]\n"
			       "e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e]\n"),
		     -EINVAL);
	cr_expect(strstr(bench_faults, "more than 10000 values\n") != NULL, "%s", bench_faults);
	cr_expect_eq(bench_lay(yaml, "a: &a [ *a ]\n"), -EINVAL);
}

Test(source_yaml, loads_a_file_or_says_why_not)
{
	char path[] = "/tmp/callrouter-yaml-XXXXXX", expected[128];
	const int fd = mkstemp(path);
	char *large;

	cr_assert_geq(fd, 0);
	cr_expect_eq(source_yaml_load(yaml, "/nonexistent.yaml", &bench_calls), -ENOENT);
	cr_expect_eq(source_yaml_load(yaml, path, &bench_calls), -EINVAL);
	cr_expect_str_eq(bench_faults, "0:0: No such file or directory\n0:0: the file is empty\n");
	bench_faults[0] = '\0';
	cr_assert_eq(write(fd, "a: 1\nb: [\n", 10), 10);
	cr_expect_eq(source_yaml_load(yaml, path, &bench_calls), -EINVAL);
	snprintf(expected, sizeof expected, "3:1: not YAML: did not find expected node content\n");
	cr_expect_str_eq(bench_faults, expected);
	large = calloc(1, 300000);
	memset(large, '#', 300000);
	cr_assert_eq(write(fd, large, 300000), 300000);
	free(large);
	cr_expect_eq(source_yaml_load(yaml, path, &bench_calls), -EFBIG);
	close(fd);
	unlink(path);
}
