/* test_option.c - a plugin's options: every value, every message. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const modes[] = { "fast", "careful", NULL };

static const struct cr_option table[] = {
	{ "min_free", CR_BYTES, "64MiB", 1048576, 1073741824, NULL, "keep so much heap free" },
	{ "window", CR_DURATION, "2s", 1e8, 6e10, NULL, "how far to look back" },
	{ "share", CR_RATIO, "10%", 0, 1, NULL, "a share" },
	{ "tries", CR_INT, "3", 1, 16, NULL, "how often" },
	{ "factor", CR_REAL, "1.5", 0, 0, NULL, "any number" },
	{ "strict", CR_BOOL, "no", 0, 0, NULL, "be strict" },
	{ "mode", CR_CHOICE, "fast", 0, 0, modes, "how" },
	{ "order_by", CR_TEXT, NULL, 0, 0, NULL, "what to sort by" },
	{ .name = NULL },
};
enum { MIN_FREE, WINDOW, SHARE, TRIES, FACTOR, STRICT, MODE, ORDER_BY, ROWS };

Test(option, counts_rows_and_takes_no_table_for_none)
{
	cr_expect_eq(option_count(table), ROWS);
	cr_expect_eq(option_count(NULL), 0);
}

Test(option, fills_in_presets)
{
	static const struct option_text given[] = { { "order_by", "latency" } };
	union cr_value value[ROWS];
	struct err err;

	cr_assert_eq(option_parse(table, given, 1, value, &err), 0);
	cr_expect_eq(value[MIN_FREE].num, 67108864);
	cr_expect_eq(value[WINDOW].num, 2000000000);
	cr_expect_eq(value[SHARE].real, 0.1);
	cr_expect_eq(value[TRIES].num, 3);
	cr_expect_eq(value[FACTOR].real, 1.5);
	cr_expect_eq(value[STRICT].flag, false);
	cr_expect_eq(value[MODE].num, 0);
	cr_expect_eq(value[ORDER_BY].text, given[0].value);
}

Test(option, takes_given_values_up_to_both_bounds)
{
	static const struct option_text given[] = {
		{ "mode", "careful" }, { "strict", "on" },    { "min_free", "1GiB" },
		{ "share", "1" },      { "window", "100ms" }, { "tries", "16" },
		{ "factor", "-2e3" },  { "order_by", "" },
	};
	union cr_value value[ROWS];
	struct err err;

	cr_assert_eq(option_parse(table, given, COUNT(given), value, &err), 0);
	cr_expect_eq(value[MIN_FREE].num, 1073741824);
	cr_expect_eq(value[WINDOW].num, 100000000);
	cr_expect_eq(value[SHARE].real, 1);
	cr_expect_eq(value[TRIES].num, 16);
	cr_expect_eq(value[FACTOR].real, -2000);
	cr_expect_eq(value[STRICT].flag, true);
	cr_expect_eq(value[MODE].num, 1);
	cr_expect_str_eq(value[ORDER_BY].text, "");
}

Test(option, finds_a_row_by_its_name)
{
	static const struct cr_option two_rows[] = {
		{ "first", CR_BOOL, "no", 0, 0, NULL, "the first" },
		{ "second", CR_BOOL, "no", 0, 0, NULL, "the second" },
		{ 0 },
	};

	cr_expect_eq(option_find(two_rows, "second"), 1);
	cr_expect_eq(option_find(two_rows, "sec"), -ENOENT);
	cr_expect_eq(option_find(NULL, "second"), -ENOENT);
}

Test(option, checks_one_setting_and_returns_its_row)
{
	cr_expect_eq(option_check(table, "tries", "4", NULL), TRIES);
	cr_expect_eq(option_check(table, "mode", "slow", NULL), -EINVAL);
	cr_expect_eq(option_check(table, "tries", "40", NULL), -ERANGE);
	cr_expect_eq(option_check(table, "nothing", "4", NULL), -ENOENT);
}

Test(option, says_what_is_wrong_with_a_setting)
{
	static const struct {
		const char *name, *value;
		int code;
		const char *text;
	} cases[] = {
		{ "min_fre", "1", -ENOENT, "no option \"min_fre\"; did you mean \"min_free\"?" },
		{ "zzz", "1", -ENOENT,
		  "no option \"zzz\"; there are: min_free, window, share, tries, factor, strict, "
		  "mode, order_by" },
		{ "min_free", "64MB?", -EINVAL,
		  "option \"min_free\": \"64MB?\" is not a size like 4096, 64KiB or 1.5GiB" },
		{ "window", "2", -EINVAL,
		  "option \"window\": \"2\" is not a duration like 500ms, 2s or 3m" },
		{ "share", "ten%", -EINVAL,
		  "option \"share\": \"ten%\" is not a share like 0.25 or 25%" },
		{ "tries", "3.5", -EINVAL,
		  "option \"tries\": \"3.5\" is not a whole number like 12" },
		{ "factor", "nan", -EINVAL, "option \"factor\": \"nan\" is not a number like 0.5" },
		{ "strict", "maybe", -EINVAL, "option \"strict\": \"maybe\" is not true or false" },
		{ "mode", "carefull", -EINVAL,
		  "option \"mode\": \"carefull\" is no choice; did you mean \"careful\"?" },
		{ "mode", "slow", -EINVAL,
		  "option \"mode\": \"slow\" is no choice; there are: fast, careful" },
		{ "min_free", "4096", -ERANGE,
		  "option \"min_free\": 4096 is outside of 1MiB .. 1GiB" },
		{ "window", "2h", -ERANGE, "option \"window\": 2h is outside of 100ms .. 1m" },
		{ "share", "101%", -ERANGE, "option \"share\": 101% is outside of 0 .. 1" },
		{ "share", "-0.1", -ERANGE, "option \"share\": -0.1 is outside of 0 .. 1" },
		{ "tries", "0", -ERANGE, "option \"tries\": 0 is outside of 1 .. 16" },
		{ "tries", "99999999999999999999", -ERANGE,
		  "option \"tries\": 99999999999999999999 is more than 64 bits hold" },
		{ "order_by", "a\nb", -EINVAL,
		  "option \"order_by\": remove the line break from its value" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { 0 };

		cr_expect_eq(option_check(table, cases[i].name, cases[i].value, &err),
			     cases[i].code);
		cr_expect_eq(err.code, cases[i].code);
		cr_expect_str_eq(err.text, cases[i].text);
	}
}

Test(option, says_what_is_wrong_with_a_set_of_settings)
{
	static const struct option_text twice[] = { { "tries", "1" }, { "tries", "1" } };
	static const struct option_text none[] = { { "x", "1" } };
	static const struct cr_option empty[] = { { .name = NULL } };
	union cr_value value[ROWS];
	struct err err;

	cr_expect_eq(option_parse(table, NULL, 0, value, &err), -EINVAL);
	cr_expect_str_eq(err.text, "option \"order_by\" must be given: what to sort by");
	cr_expect_eq(option_parse(table, twice, 2, value, &err), -EINVAL);
	cr_expect_str_eq(err.text, "option \"tries\" is given twice; keep one");
	cr_expect_eq(option_parse(NULL, none, 1, value, &err), -ENOENT);
	cr_expect_str_eq(err.text, "no option \"x\": this plugin has none; remove it");
	cr_expect_eq(option_parse(empty, none, 1, value, &err), -ENOENT);
	cr_expect_eq(option_parse(NULL, NULL, 0, NULL, &err), 0);
}

Test(option, finds_what_is_unsound_in_a_table)
{
	static const char *const no_choices[] = { NULL };
	static const struct cr_option end = { .name = NULL };
	static const struct {
		struct cr_option row;
		const char *text;
	} cases[] = {
		{ { "Min", CR_INT, "1", 0, 0, NULL, "help" },
		  "options[0]: the name \"Min\" is not 1 to 31 of a-z, 0-9 and _" },
		{ { "min", (enum cr_type)99, "1", 0, 0, NULL, "help" },
		  "options[0]: \"min\" has the unknown type 99" },
		{ { "min", (enum cr_type)0, "1", 0, 0, NULL, "help" },
		  "options[0]: \"min\" has the unknown type 0" },
		{ { "min", CR_CHOICE, "1", 0, 0, NULL, "help" },
		  "options[0]: \"min\" is a CR_CHOICE without choices" },
		{ { "min", CR_CHOICE, "1", 0, 0, no_choices, "help" },
		  "options[0]: \"min\" is a CR_CHOICE without choices" },
		{ { "min", CR_INT, "1", 0, 0, NULL, NULL }, "options[0]: \"min\" has no help" },
		{ { "min", CR_INT, "1", 5, 2, NULL, "help" },
		  "options[0]: \"min\" has a max below its min" },
		{ { "min", CR_INT, "1", 0, (double)NAN, NULL, "help" },
		  "options[0]: \"min\" has a max below its min" },
		{ { "min", CR_INT, "many", 0, 0, NULL, "help" },
		  "options[0]: bad preset: option \"min\": \"many\" is not a whole number like "
		  "12" },
		{ { "min", CR_INT, "9", 1, 5, NULL, "help" },
		  "options[0]: bad preset: option \"min\": 9 is outside of 1 .. 5" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct cr_option rows[] = { cases[i].row, end };
		struct err err = { 0 };

		cr_expect_eq(option_table_check(rows, &err), -EINVAL, "%s", cases[i].text);
		cr_expect_str_eq(err.text, cases[i].text);
	}
}

Test(option, finds_a_repeated_name_and_a_missing_end)
{
	static const struct cr_option twice[] = { { "a", CR_INT, "1", 0, 0, NULL, "help" },
						  { "a", CR_INT, "1", 0, 0, NULL, "help" },
						  { .name = NULL } };
	struct cr_option endless[65];
	struct err err;

	cr_expect_eq(option_table_check(twice, &err), -EINVAL);
	cr_expect_str_eq(err.text, "options[1]: the name \"a\" is there twice");
	for (size_t i = 0; i < COUNT(endless); i++)
		endless[i] = twice[0];
	cr_expect_eq(option_table_check(endless, &err), -EINVAL);
	cr_expect_str_eq(err.text, "options[] has no end: close it with { .name = NULL }");
}

Test(option, accepts_sound_tables)
{
	cr_expect_eq(option_table_check(table, NULL), 0);
	cr_expect_eq(option_table_check(NULL, NULL), 0);
}

Test(option, packs_and_unpacks_without_loss)
{
	static const struct option_text given[] = { { "mode", "fast" },
						    { "order_by", "a=b, -c" },
						    { "empty", "" } };
	struct option_text back[4];
	char *packed = option_pack(given, COUNT(given));

	cr_assert_not_null(packed);
	cr_expect_str_eq(packed, "mode=fast\norder_by=a=b, -c\nempty=\n");
	cr_assert_eq(option_unpack(packed, back, COUNT(back)), 3);
	for (size_t i = 0; i < COUNT(given); i++) {
		cr_expect_str_eq(back[i].name, given[i].name);
		cr_expect_str_eq(back[i].value, given[i].value);
	}
	free(packed);
	packed = option_pack(NULL, 0);
	cr_expect_str_eq(packed, "");
	cr_expect_eq(option_unpack(packed, back, 0), 0);
	free(packed);
}

Test(option, refuses_packed_text_of_another_form)
{
	static const char *const cases[] = {
		"a", "a\n", "a\nb=c\n", "a=b", "a=b\nc=d\ne=f\n", "\n"
	};
	struct option_text back[2];

	for (size_t i = 0; i < COUNT(cases); i++) {
		char *packed = strdup(cases[i]);

		cr_expect_eq(option_unpack(packed, back, COUNT(back)), -EINVAL, "%s", cases[i]);
		free(packed);
	}
}
