/* test_source_truth.c - the traps of real sources: what is undefined, what cannot be true, what
 * must not be added up, and what is missing. */
#include <errno.h>

#include "source_bench.h"

TestSuite(truth, .fini = bench_end);

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* One field of a JSON answer {"v": VALUE}. */
static int read_field(const char *metric, const char *rest, const char *value)
{
	char keys[512], body[256];

	snprintf(keys, sizeof keys, "{ format: json, fields: { %s: { select: /v%s } } }", metric,
		 rest);
	snprintf(body, sizeof body, "{\"v\":%s}", value);
	bench_begin(NULL, keys);
	return bench_read(body);
}

Test(truth, takes_numbers_in_every_form_that_programs_write)
{
	static const struct {
		const char *value;
		double number;
	} cases[] = {
		{ "0", 0 },
		{ "1.8614272E8", 186142720 },
		{ "2.4284934144e+10", 24284934144 },
		{ "5165056.0", 5165056 },
		{ "1e-07", 1e-07 },
		{ "\"1e-07\"", 1e-07 },
		{ "\"5363624\"", 5363624 },
		{ "\"+7\"", 7 },
		{ "\" 7 \\n\"", 7 },
		{ "\"3.5651584E7\"", 35651584 },
		{ "4294967296", 4294967296 },
		{ "9007199254740991", 9007199254740991 },
		{ "\"9007199254740991\"", 9007199254740991 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		cr_expect_eq(read_field("jvm_heap_used_bytes", "", cases[i].value), 0, "%s: %s",
			     cases[i].value, bench_sample->text);
		cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), cases[i].number, "%s",
			     cases[i].value);
	}
}

Test(truth, takes_a_zero_below_zero_for_zero)
{
	static const char *const zeros[] = { "-0", "-0.0", "\"-0\"", "-0e9", "\"-0.0\"" };

	for (size_t i = 0; i < COUNT(zeros); i++) {
		cr_expect_eq(read_field("jvm_heap_used_bytes", "", zeros[i]), 0);
		cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 0);
		cr_expect_not(signbit(bench_value("", "jvm_heap_used_bytes")), "%s", zeros[i]);
	}
}

Test(truth, rejects_with_a_word_what_cannot_be_true_and_passes_no_zero_on)
{
	static const struct {
		const char *value, *text;
	} cases[] = {
		{ "-1",
		  "negative: -1: if the server means \"unknown\", write undefined: negative" },
		{ "\"-1\"", "negative: -1: " },
		{ "-0.5", "negative: -0.5: " },
		{ "4294967295", "wrapped: 4294967295: this is the limit of a 32-bit agent" },
		{ "2147483647", "wrapped: 2147483647: " },
		{ "4294967295.0", "wrapped: 4294967295: " },
		{ "\"4.294967295e9\"", "wrapped: 4.294967295e9: " },
		{ "9007199254740992", "too_large: 9007199254740992: 2^53 or more" },
		{ "9007199254740993", "too_large: 9007199254740993: " },
		{ "9223372036854775807", "too_large: 9223372036854775807: " },
		{ "9223372036854771712", "too_large: 9223372036854771712: " },
		{ "18446744073709551615", "too_large: 1.8446744073709552e+19: " },
		{ "\"18446744073709551616\"", "too_large: 18446744073709551616: " },
		{ "\"1e400\"", "too_large: 1e400: " },
		{ "\"NaN\"", "nan: NaN: the server says \"not a number\"" },
		{ "\"+Inf\"", "infinite: +Inf: " },
		{ "\"-Inf\"", "infinite: -Inf: " },
		{ "\"Infinity\"", "infinite: Infinity: " },
		{ "\"\"", "not_a_number: : this is no number" },
		{ "\"12 MB\"", "not_a_number: 12 MB: " },
		{ "\"0x10\"", "not_a_number: 0x10: " },
		{ "\"1,5\"", "not_a_number: 1,5: " },
		{ "\"+-7\"", "not_a_number: +-7: " },
		{ "\"unlimited\"", "not_a_number: unlimited: " },
		{ "true", "not_a_number: true: " },
		{ "[1]", "not_a_number: (a list or a map): " },
		{ "{\"a\":1}", "not_a_number: (a list or a map): " },
		{ "\"a\\nb\\u00e4\"", "not_a_number: a?b??: " },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[128];
		const int rc = read_field("jvm_heap_used_bytes", "", cases[i].value);

		snprintf(text, sizeof text, "jvm_heap_used_bytes: %s", cases[i].text);
		EXPECT_FAILED(rc, CR_VALUE, text);
		cr_expect_eq(bench_state("", "jvm_heap_used_bytes"), SOURCE_REJECTED);
		cr_expect(isnan(bench_value("", "jvm_heap_used_bytes")), "%s", cases[i].value);
	}
	cr_expect_eq(read_field("requests_total", "", "4294967295"), 0,
		     "a count may have this value");
}

/* One field of text in Prometheus' format, from all series n, reduced so ("": it is not said how).
 */
static int read_series(const char *reduce, const char *body)
{
	char keys[256];

	snprintf(keys, sizeof keys,
		 "{ format: prometheus, fields: { busy_threads: { select: n%s%s } } }",
		 *reduce != '\0' ? ", reduce: " : "", reduce);
	bench_begin(NULL, keys);
	return bench_read(body);
}

/* Added up they would be a load that nobody has, and the first of them may be the wrong one. */
Test(truth, takes_no_series_that_comes_twice)
{
	static const char *const reduces[] = { "", "first", "sum", "max", "min", "mean", "count" };
	static const struct {
		const char *body, *lines;
	} twice[] = {
		{ "n 1\nn 2\n", "in lines 1 and 2" },
		{ "n 1\nn 1\n", "in lines 1 and 2" },
		{ "n 1\n# TYPE n gauge\nn{} 2\n", "in lines 1 and 3" },
		{ "n{a=\"1\",b=\"2\"} 5\nn{a=\"2\"} 7\nn{ b = \"2\", a=\"1\", } 6 # {x=\"y\"} 1\n",
		  "in lines 1 and 3" },
		{ "n{a=\"\"} 1\nn{a=\"x\"} 2\nn 4\n", "in lines 1 and 3" },
		{ "n{a=\"x\"} 1 1000\nn{a=\"x\"} 2 2000\n", "in lines 1 and 2" },
		{ "n{a=\"x\"} 1\n{\"n\",\"a\"=\"x\"} NaN\n", "in lines 1 and 2" },
		{ "n 1\nn 2\nn 3\n", "in lines 1 and 2" },
	};
	char text[160];

	for (size_t i = 0; i < COUNT(twice); i++)
		for (size_t k = 0; k < COUNT(reduces); k++) {
			const int rc = read_series(reduces[k], twice[i].body);

			snprintf(text, sizeof text, "busy_threads: twice: %s: same name and labels",
				 twice[i].lines);
			EXPECT_FAILED(rc, CR_VALUE, text);
			cr_expect_eq(bench_state("", "busy_threads"), SOURCE_REJECTED);
			cr_expect(isnan(bench_value("", "busy_threads")), "%s", twice[i].body);
			cr_expect_str_eq(bench_row("")->reject[0], "twice");
		}
}

Test(truth, takes_series_for_two_that_differ_in_a_label)
{
	static const struct {
		const char *body;
		double sum;
	} differ[] = {
		{ "n 1\nn{a=\"1\"} 2\nn{a=\"2\"} 4\nm 8\nm 16\n", 7 },
		{ "n{a=\"b\"} 1\nn{b=\"a\"} 2\n", 3 },
		{ "n{a=\"1\",b=\"2\"} 1\nn{a=\"2\",b=\"1\"} 2\nn{a=\"12\"} 4\nn{a=\"1\"} 8\n", 15 },
		{ "n{a=\"x\"} 1\nn{a=\"x \"} 2\nn{a=\"x\\n\"} 4\nn{a=\"X\"} 8\n", 15 },
	};

	for (size_t i = 0; i < COUNT(differ); i++) {
		cr_expect_eq(read_series("sum", differ[i].body), 0, "%s", bench_sample->text);
		cr_expect_eq(bench_value("", "busy_threads"), differ[i].sum, "%s", differ[i].body);
	}
}

Test(truth, takes_the_other_rows_and_figures_beside_a_series_that_comes_twice)
{
	static const char *const body[] = {
		"n{s=\"ms1\",p=\"a\"} 1\nn{s=\"ms1\",p=\"b\"} 2\nn{s=\"ms2\",p=\"a\"} 4\n"
		"n{p=\"a\",s=\"ms1\"} 8\nm{s=\"ms1\"} 16\nm{s=\"ms2\"} 16\nt{s=\"ms1\"} "
		"1795977803\n"
		"t{s=\"ms2\"} 1795977803\nt{s=\"ms2\"} 1795977803\nn{s=\"ms3\"} 4\n"
		"t{s=\"ms3\"} 1795977803\nstate{s=\"ms1\"} 1\nstate{s=\"ms1\"} 1\n"
	};

	bench_begin(NULL,
		    "{ format: prometheus, key: s, where: { select: state, equals: '1', "
		    "optional: true }, sample_time: t, fields: { busy_threads: { select: [n, "
		    "'n{p=\"a\"}'], reduce: sum }, max_threads: { select: m, optional: true } "
		    "} }");
	cr_expect_eq(bench_answer(NULL, 1, body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_state("ms1", "busy_threads"), SOURCE_REJECTED);
	cr_expect(bench_has_note("ms1", "busy_threads: twice: in lines 1 and 4: "));
	cr_expect_eq(bench_value("ms1", "max_threads"), 16);
	cr_expect_eq(bench_value("ms3", "busy_threads"), 4);
	cr_expect_eq(bench_state("ms2", "busy_threads"), SOURCE_REJECTED);
	cr_expect(bench_has_note("ms2", "sample_time: t: twice: same name and labels"));
}

Test(truth, fails_for_null_and_for_nothing)
{
	EXPECT_FAILED(read_field("jvm_heap_used_bytes", "", "null"), CR_ABSENT,
		      "jvm_heap_used_bytes: nothing at /v");
	EXPECT_FAILED(read_field("jvm_heap_used_bytes", ", optional: true", "null"), CR_ABSENT,
		      "no figure");
	bench_begin("jolokia", NULL);
	EXPECT_FAILED(bench_read("{\"status\":200,\"value\":{\"committed\":2}}"), CR_ABSENT,
		      "jvm_heap_used_bytes: nothing at /value/used");
	cr_expect(bench_sample->is_partial);
	cr_expect_eq(bench_value("", "jvm_heap_size_bytes"), 2);
}

Test(truth, takes_undefined_for_it_only_where_the_field_says_so)
{
	static const struct {
		const char *rest, *value;
		enum source_state state;
	} cases[] = {
		{ "", "0", SOURCE_FOUND },
		{ "", "-1", SOURCE_REJECTED },
		{ ", undefined: none", "-1", SOURCE_REJECTED },
		{ ", undefined: negative", "-1", SOURCE_UNDEFINED },
		{ ", undefined: negative", "-9223372036854775808", SOURCE_UNDEFINED },
		{ ", undefined: negative", "0", SOURCE_FOUND },
		{ ", undefined: zero", "0", SOURCE_UNDEFINED },
		{ ", undefined: zero", "\"0.0\"", SOURCE_UNDEFINED },
		{ ", undefined: zero", "-1", SOURCE_REJECTED },
		{ ", undefined: [ negative, zero ]", "0", SOURCE_UNDEFINED },
		{ ", undefined: [ negative, zero ]", "-1", SOURCE_UNDEFINED },
		{ ", undefined: [ negative, zero ]", "4294967295", SOURCE_REJECTED },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		read_field("jvm_heap_max_bytes", cases[i].rest, cases[i].value);
		cr_expect_eq(bench_state("", "jvm_heap_max_bytes"), cases[i].state, "%s%s: %s",
			     cases[i].value, cases[i].rest,
			     source_state_word(bench_state("", "jvm_heap_max_bytes")));
	}
	read_field("jvm_heap_max_bytes", ", undefined: negative", "-1");
	EXPECT_FAILED(-1, CR_ABSENT, "no figure");
}

Test(truth, counts_in_the_unit_of_the_source)
{
	static const struct {
		const char *metric, *unit, *value;
		double number;
	} cases[] = {
		{ "host_memory_free_bytes", "b", "3", 3 },
		{ "host_memory_free_bytes", "kb", "3", 3000 },
		{ "host_memory_free_bytes", "kib", "24287056", 24869945344 },
		{ "host_memory_free_bytes", "mb", "1.5", 1500000 },
		{ "host_memory_free_bytes", "mib", "256", 268435456 },
		{ "host_memory_free_bytes", "gb", "2", 2000000000 },
		{ "host_memory_free_bytes", "gib", "2", 2147483648 },
		{ "jvm_heap_free_ratio", "percent", "95", 0.95 },
		{ "jvm_heap_free_ratio", "percent", "100", 1 },
		{ "jvm_heap_free_ratio", "ratio", "0.25", 0.25 },
		{ "busy_threads", "none", "7", 7 },
	};
	char rest[64];

	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(rest, sizeof rest, ", unit: %s", cases[i].unit);
		cr_expect_eq(read_field(cases[i].metric, rest, cases[i].value), 0);
		cr_expect_float_eq(bench_value("", cases[i].metric), cases[i].number, 1e-9, "%s",
				   cases[i].unit);
	}
	EXPECT_FAILED(read_field("jvm_heap_free_ratio", "", "95"), CR_VALUE,
		      "jvm_heap_free_ratio: above_one: 95: more than all of it; is it percent?");
	EXPECT_FAILED(read_field("jvm_heap_free_ratio", ", unit: percent", "101"), CR_VALUE,
		      "jvm_heap_free_ratio: above_one: 1.01: ");
	EXPECT_FAILED(read_field("jvm_heap_used_bytes", ", unit: gib", "9000000"), CR_VALUE,
		      "jvm_heap_used_bytes: too_large: 9.663676416e+15: ");
	EXPECT_FAILED(read_field("jvm_heap_used_bytes", ", unit: kib", "2147483647"), CR_VALUE,
		      "jvm_heap_used_bytes: wrapped: 2147483647: ");
}

Test(truth, makes_one_of_several_values_only_as_told)
{
	static const struct {
		const char *reduce, *values;
		double number; /* NaN: undefined */
	} cases[] = {
		{ "first", "3,1,2", 3 },         { "sum", "3,1,2", 6 },
		{ "max", "1,3,2", 3 },           { "min", "3,1,2", 1 },
		{ "mean", "3,1,2", 2 },          { "count", "3,1,2", 3 },
		{ "count", "3,-1,\"x\"", 3 },    { "first", "-1,3", NAN },
		{ "first", "3,-1,\"x\"", 3 },    { "sum", "3,-1", NAN },
		{ "sum", "-1,3", NAN },          { "mean", "3,-1", NAN },
		{ "max", "-1,3,-1", 3 },         { "min", "-1,3,5", 3 },
		{ "max", "-1,-1", NAN },         { "sum", "7", 7 },
		{ "sum", "0.5,\"0.25\"", 0.75 }, { "max", "0,0", 0 },
	};
	char keys[256], body[128];

	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(
			keys, sizeof keys,
			"{ format: json, fields: { jvm_heap_max_bytes: { select: '/*', reduce: %s, "
			"undefined: negative } } }",
			cases[i].reduce);
		snprintf(body, sizeof body, "[%s]", cases[i].values);
		bench_begin(NULL, keys);
		bench_read(body);
		if (isnan(cases[i].number))
			cr_expect_eq(bench_state("", "jvm_heap_max_bytes"), SOURCE_UNDEFINED,
				     "%s of %s", cases[i].reduce, cases[i].values);
		else
			cr_expect_eq(bench_value("", "jvm_heap_max_bytes"), cases[i].number,
				     "%s of %s", cases[i].reduce, cases[i].values);
	}
}

Test(truth, rejects_a_reduction_with_one_bad_value_in_it)
{
	static const char body[] = "u{p=\"a\"} 5\nu{p=\"b\"} NaN\nu{p=\"c\"} 7\n";

	bench_begin(NULL, "{ format: prometheus, fields: { jvm_heap_used_bytes: { select: u, "
			  "reduce: sum } } }");
	EXPECT_FAILED(bench_read(body), CR_VALUE, "jvm_heap_used_bytes: nan: NaN: ");
	bench_begin(NULL, "{ format: prometheus, fields: { jvm_heap_used_bytes: u } }");
	EXPECT_FAILED(bench_read(body), CR_VALUE, "jvm_heap_used_bytes: many: 3 at u: ");
}

/* Pools of a heap as Micrometer writes them. */
static void read_pools(const char *body)
{
	bench_begin("micrometer", NULL);
	cr_expect_eq(bench_read(body), 0, "%s", bench_sample->text);
}

#define POOL(id, used, max)                                                                        \
	"jvm_memory_used_bytes{area=\"heap\",id=\"" id "\",} " used "\n"                           \
	"jvm_memory_committed_bytes{area=\"heap\",id=\"" id "\",} " used "\n"                      \
	"jvm_memory_max_bytes{area=\"heap\",id=\"" id "\",} " max "\n"

Test(truth, adds_up_no_maxima_of_parallel_and_generational_zgc_and_native_pools)
{
	read_pools(POOL("PS Eden Space", "10", "44564480") POOL("PS Survivor Space", "1", "2097152")
			   POOL("PS Old Gen", "20", "86507520"));
	cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 31);
	cr_expect_eq(bench_state("", "jvm_heap_max_bytes"), SOURCE_MISSING);
	read_pools(POOL("ZGC Young Generation", "10", "134217728")
			   POOL("ZGC Old Generation", "20", "134217728"));
	cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 30);
	cr_expect_eq(bench_state("", "jvm_heap_max_bytes"), SOURCE_MISSING);
	read_pools(POOL("eden space", "10", "-1.0") POOL("old generation space", "20", "-1.0"));
	cr_expect_eq(bench_state("", "jvm_heap_max_bytes"), SOURCE_MISSING);
	read_pools(POOL("ZHeap", "10", "134217728"));
	cr_expect_eq(bench_value("", "jvm_heap_max_bytes"), 134217728);
	read_pools(POOL("Eden Space", "10", "-1") POOL("Survivor Space", "0", "5")
			   POOL("Tenured Gen", "7", "6"));
	cr_expect_eq(bench_state("", "jvm_heap_max_bytes"), SOURCE_UNDEFINED);
}

Test(truth, reads_what_the_old_generation_kept_but_not_before_its_first_collection)
{
	static const char format[] =
		"[{\"status\":200,\"value\":{\"used\":9,\"committed\":10,\"max\":-1}},"
		"{\"status\":200,\"value\":{"
		"\"java.lang:name=Eden Space,type=MemoryPool\":{\"Type\":\"HEAP\","
		"\"CollectionUsage\":{\"used\":0,\"max\":5}},"
		"\"java.lang:name=Tenured Gen,type=MemoryPool\":{\"Type\":\"HEAP\","
		"\"CollectionUsage\":{\"used\":%d,\"max\":5}},"
		"\"java.lang:name=Metaspace,type=MemoryPool\":{\"Type\":\"NON_HEAP\","
		"\"CollectionUsage\":null}}}]";
	char body[1024];

	bench_begin("jolokia-bulk", NULL);
	snprintf(body, sizeof body, format, 4321);
	cr_expect_eq(bench_read(body), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "jvm_heap_used_after_gc_bytes"), 4321);
	cr_expect_eq(bench_state("", "jvm_heap_max_bytes"), SOURCE_UNDEFINED);
	snprintf(body, sizeof body, format, 0);
	cr_expect_eq(bench_read(body), 0);
	cr_expect_eq(bench_state("", "jvm_heap_used_after_gc_bytes"), SOURCE_UNDEFINED);
	/* Jolokia answers with one object when a name in a bulk cannot be parsed. */
	EXPECT_FAILED(bench_read("{\"status\":400,\"error\":\"bad name\"}"), CR_REPLY,
		      "not a good answer: no /0/status: bad name");
}

Test(truth, takes_the_first_alternative_that_is_there)
{
	bench_begin("node-exporter", NULL);
	cr_expect_eq(bench_read("node_memory_MemAvailable_bytes 5\nnode_memory_MemFree_bytes 1\n"),
		     0);
	cr_expect_eq(bench_value("", "host_memory_free_bytes"), 5);
	cr_expect_eq(bench_read("node_memory_MemFree_bytes 1\nnode_memory_Buffers_bytes 2\n"
				"node_memory_Cached_bytes 4\n"),
		     0);
	cr_expect_eq(bench_value("", "host_memory_free_bytes"), 7);
}

Test(truth, calls_a_sample_partial_if_not_all_requests_are_answered)
{
	static const char *const both[] = {
		"{\"measurements\":[{\"statistic\":\"VALUE\",\"value\":1}]}",
		"{\"measurements\":[{\"statistic\":\"VALUE\",\"value\":2}]}"
	};
	static const char *const none[] = { NULL, NULL };
	const char *const one[] = { both[0], NULL };

	bench_begin("actuator", NULL);
	cr_expect_eq(bench_answer("ms1", 2, both), 0);
	EXPECT_FAILED(bench_answer("ms1", 2, one), CR_TIMEOUT,
		      "partial: 1 of 2 requests failed; committed: there was no time for it");
	cr_expect(bench_sample->is_partial);
	cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 1);
	EXPECT_FAILED(bench_answer("ms1", 2, none), CR_TIMEOUT, "2 of 2 requests failed; used: ");
	cr_expect_not(bench_sample->is_partial);
}
