/* test_text.c - parsers, numbers for people, nearest words, names. */
#include <criterion/criterion.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

struct int_case {
	const char *text;
	int result;
	int64_t value;
};

static void check_int_cases(int (*parse)(const char *, int64_t *), const struct int_case *cases,
			    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t value = -77;
		const int r = parse(cases[i].text, &value);

		cr_expect_eq(r, cases[i].result, "\"%s\" returned %d", cases[i].text, r);
		cr_expect_eq(value, cases[i].result == 0 ? cases[i].value : -77, "\"%s\" gave %lld",
			     cases[i].text, (long long)value);
	}
}

Test(text, parses_whole_numbers_to_the_last_digit)
{
	static const struct int_case cases[] = {
		{ "0", 0, 0 },
		{ "-12", 0, -12 },
		{ "007", 0, 7 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -ERANGE, 0 },
		{ "-9223372036854775809", -ERANGE, 0 },
		{ "99999999999999999999999999", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
	};

	check_int_cases(text_int, cases, COUNT(cases));
}

Test(text, parses_durations_exactly_and_never_overflows)
{
	static const struct int_case cases[] = {
		{ "0", 0, 0 },
		{ "80ns", 0, 80 },
		{ "250us", 0, 250000 },
		{ "500ms", 0, 500000000 },
		{ "2s", 0, 2000000000 },
		{ "1.5s", 0, 1500000000 },
		{ "0.1s", 0, 100000000 },
		{ "3m", 0, INT64_C(180000000000) },
		{ "1h", 0, INT64_C(3600000000000) },
		{ "1d", 0, INT64_C(86400000000000) },
		{ "106751d", 0, INT64_C(9223286400000000000) },
		{ "106752d", -ERANGE, 0 },
		{ "9223372036854775807ns", 0, INT64_MAX },
		{ "9223372036854775808ns", -ERANGE, 0 },
		{ "9223372036.9s", -ERANGE, 0 },
		{ "18446744073709551617s", -ERANGE, 0 },
		{ "5", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "2 s", -EINVAL, 0 },
		{ "1m30s", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "1.5ns", -EINVAL, 0 },
		{ "2sec", -EINVAL, 0 },
		{ "2S", -EINVAL, 0 },
	};

	check_int_cases(text_duration, cases, COUNT(cases));
}

Test(text, parses_sizes_exactly_and_never_overflows)
{
	static const struct int_case cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "512B", 0, 512 },
		{ "64KiB", 0, 65536 },
		{ "1.5GiB", 0, 1610612736 },
		{ "10kB", 0, 10000 },
		{ "2MB", 0, 2000000 },
		{ "1TB", 0, INT64_C(1000000000000) },
		{ "9007199254740993", 0, INT64_C(9007199254740993) },
		{ "8191PiB", 0, INT64_C(9222246136947933184) },
		{ "8192PiB", -ERANGE, 0 },
		{ "8191.9999999999999999PiB", -ERANGE, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "1.5B", -EINVAL, 0 },
		{ "64K", -EINVAL, 0 },
		{ "64KB", -EINVAL, 0 },
		{ "64 KiB", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "KiB", -EINVAL, 0 },
	};

	check_int_cases(text_bytes, cases, COUNT(cases));
}

static const struct real_case {
	const char *text;
	int result;
	double value;
} real_cases[] = {
	{ "0.5", 0, 0.5 },     { "1e3", 0, 1000 },    { "-2.5E-1", 0, -0.25 },
	{ "12", 0, 12 },       { "1e-400", 0, 0 },    { "1e999", -ERANGE, 0 },
	{ "nan", -EINVAL, 0 }, { "inf", -EINVAL, 0 }, { "0x1p3", -EINVAL, 0 },
	{ "1.", -EINVAL, 0 },  { ".5", -EINVAL, 0 },  { "1e", -EINVAL, 0 },
	{ "1e+", -EINVAL, 0 }, { "1,5", -EINVAL, 0 }, { "", -EINVAL, 0 },
	{ "+1", -EINVAL, 0 },
};

Test(text, parses_real_numbers_and_refuses_nan_and_infinity)
{
	for (size_t i = 0; i < COUNT(real_cases); i++) {
		double value = -77;
		const int r = text_real(real_cases[i].text, &value);

		cr_expect_eq(r, real_cases[i].result, "\"%s\" returned %d", real_cases[i].text, r);
		cr_expect_eq(value, r == 0 ? real_cases[i].value : -77, "\"%s\" gave %g",
			     real_cases[i].text, value);
	}
}

/* Makes the German locale in a folder of its own and uses it; false if that cannot be done. */
static bool use_a_comma(void)
{
	char folder[] = "/tmp/test_text.XXXXXX", command[200];
	bool is_used;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
		 folder);
	is_used = system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 &&
		  setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	cr_expect_eq(system(command), 0);
	return is_used;
}

Test(text, reads_and_writes_a_point_where_the_locale_has_a_comma)
{
	double value = 0;
	char buf[32];

	if (!use_a_comma())
		cr_skip_test("no localedef with de_DE is installed here");
	snprintf(buf, sizeof buf, "%.1f", 2.5);
	cr_assert_str_eq(buf, "2,5");
	cr_expect_eq(text_real("2.5", &value), 0);
	cr_expect_eq(value, 2.5);
	cr_expect_eq(text_ratio("2.5%", &value), 0);
	cr_expect_eq(value, 0.025);
	cr_expect_str_eq(text_show_bytes(buf, sizeof buf, 1.5 * 1024), "1.5 KiB");
	cr_expect_str_eq(text_show_seconds(buf, sizeof buf, 1.25), "1.3 s");
}

Test(text, parses_shares_with_and_without_percent)
{
	static const struct real_case cases[] = {
		{ "0.25", 0, 0.25 },    { "25%", 0, 0.25 },       { "1%", 0, 0.01 },
		{ "150%", 0, 1.5 },     { "%", -EINVAL, 0 },      { "25 %", -EINVAL, 0 },
		{ "25%%", -EINVAL, 0 }, { "1e999%", -ERANGE, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		double value = -77;
		const int r = text_ratio(cases[i].text, &value);

		cr_expect_eq(r, cases[i].result, "\"%s\" returned %d", cases[i].text, r);
		cr_expect_eq(value, r == 0 ? cases[i].value : -77, "\"%s\"", cases[i].text);
	}
}

Test(text, knows_six_words_for_true_and_false)
{
	static const char *const yes[] = { "true", "yes", "on" }, *const no[] = { "false", "no",
										  "off" };
	bool value;

	for (size_t i = 0; i < 3; i++) {
		value = false;
		cr_expect(text_bool(yes[i], &value) == 0 && value, "%s", yes[i]);
		cr_expect(text_bool(no[i], &value) == 0 && !value, "%s", no[i]);
	}
	cr_expect_eq(text_bool("True", &value), -EINVAL);
	cr_expect_eq(text_bool("1", &value), -EINVAL);
	cr_expect_eq(text_bool("", &value), -EINVAL);
}

Test(text, shows_bytes_with_one_digit_and_never_1024_of_a_unit)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 512, "512 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1023.97 * 1024, "1.0 MiB" },
		{ 1932735283, "1.8 GiB" },
		{ 5e15, "4.4 PiB" },
		{ -2048, "-2.0 KiB" },
		{ (double)NAN, "-" },
		{ (double)INFINITY, "-" },
		{ 1e300, "-" },
	};
	char buf[32];

	for (size_t i = 0; i < COUNT(cases); i++)
		cr_expect_str_eq(text_show_bytes(buf, sizeof buf, cases[i].bytes), cases[i].text);
}

Test(text, shows_seconds_in_the_unit_that_people_use)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{ 0, "0 s" },         { 0.000080, "80 us" }, { 0.350, "350 ms" },
		{ 0.9996, "1.0 s" },  { 1.2, "1.2 s" },      { 99.9, "99.9 s" },
		{ 180, "3.0 min" },   { 7200, "2.0 h" },     { 864000, "10.0 d" },
		{ -0.35, "-350 ms" }, { (double)NAN, "-" },  { 1e300, "-" },
	};
	char buf[32];

	for (size_t i = 0; i < COUNT(cases); i++)
		cr_expect_str_eq(text_show_seconds(buf, sizeof buf, cases[i].seconds),
				 cases[i].text);
}

Test(text, finds_the_word_that_was_probably_meant)
{
	static const char *const words[] = { "servers",  "services", "collectors", "cluster",
					     "interval", "on",       NULL };
	static const struct {
		const char *text, *nearest;
	} cases[] = {
		{ "server", "servers" },
		{ "serivces", "services" },
		{ "Cluster", "cluster" },
		{ "clutser", "cluster" },
		{ "intervall", "interval" },
		{ "coll", "collectors" },
		{ "int", "interval" },
		{ "no", "on" },
		{ "xyz", NULL },
		{ "routers_of_the_cluster", NULL },
		{ "s", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *nearest = text_nearest(cases[i].text, words);

		cr_expect_str_eq(nearest != NULL ? nearest : "none",
				 cases[i].nearest != NULL ? cases[i].nearest : "none", "%s",
				 cases[i].text);
	}
}

Test(text, takes_words_longer_than_a_name_without_reading_beyond)
{
	char longest[200], text[200];
	const char *words[] = { longest, NULL };

	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	for (size_t len = 2; len < sizeof text; len++) {
		memset(text, 'b', len);
		text[len] = '\0';
		cr_expect_null(text_nearest(text, words));
		if (len == sizeof text - 1)
			break;
	}
}

Test(text, accepts_names_of_servers_and_refuses_what_would_confuse)
{
	static const char *const good[] = { "ms1", "a", "Node-1.example_x", "9" };
	static const char *const bad[] = { "", ".x", "-x", "a b", "a/b", "a:b", "\xc3\xa4" };
	char longest[65];

	for (size_t i = 0; i < COUNT(good); i++)
		cr_expect(text_is_name(good[i]), "%s", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect_not(text_is_name(bad[i]), "%s", bad[i]);
	memset(longest, 'x', 64);
	longest[64] = '\0';
	cr_expect_not(text_is_name(longest));
	longest[63] = '\0';
	cr_expect(text_is_name(longest));
}

Test(text, accepts_plugin_names_of_at_most_31_small_letters)
{
	cr_expect(text_is_plugin_name("heap_free2"));
	cr_expect(text_is_plugin_name("a234567890123456789012345678901"));
	cr_expect_not(text_is_plugin_name("a2345678901234567890123456789012"));
	cr_expect_not(text_is_plugin_name(""));
	cr_expect_not(text_is_plugin_name("Heap"));
	cr_expect_not(text_is_plugin_name("a-b"));
	cr_expect_not(text_is_plugin_name("../x"));
}

Test(text, finds_and_joins_words)
{
	static const char *const words[] = { "up", "upper", "down", NULL }, *const none[] = {
		NULL
	};
	char list[16];

	cr_expect_eq(text_index("up", words), 0);
	cr_expect_eq(text_index("down", words), 2);
	cr_expect_eq(text_index("Down", words), -1);
	cr_expect_eq(text_index("", words), -1);
	cr_expect_eq(text_index("up", none), -1);
	text_join(list, sizeof list, words);
	cr_expect_str_eq(list, "up, upper, down");
	text_join(list, sizeof list - 1, words);
	cr_expect_str_eq(list, "up, upper, dow");
	text_join(list, 3, words);
	cr_expect_str_eq(list, "up");
	text_join(list, sizeof list, none);
	cr_expect_str_eq(list, "");
}

Test(text, knows_what_a_text_ends_in)
{
	cr_expect(text_ends_in("jvm_heap_free_bytes", "_bytes"));
	cr_expect_not(text_ends_in("jvm_heap_free_ratio", "_bytes"));
	cr_expect(text_ends_in("_bytes", "_bytes"));
	cr_expect_not(text_ends_in("bytes", "_bytes"));
}

Test(text, copies_and_says_whether_it_had_to_cut)
{
	char buf[4] = "zzz";

	cr_expect(text_copy(buf, sizeof buf, "abc"));
	cr_expect_str_eq(buf, "abc");
	cr_expect_not(text_copy(buf, sizeof buf, "abcd"));
	cr_expect_str_eq(buf, "abc");
	cr_expect_not(text_copy(buf, 0, "x"));
	cr_expect_str_eq(buf, "abc");
}

Test(text, of_strangers_becomes_one_line)
{
	char text[] = "a\tb\nc\x1b[2J\x7f\xc3\xa4 ~";

	text_clean(text);
	cr_expect_str_eq(text, "a?b?c?[2J?\xc3\xa4 ~");
}
