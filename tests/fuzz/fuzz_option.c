/* fuzz_option.c - options of plugins, packed and one by one; tables of options that a plugin made
 * up; numbers with units and names. Lines of an input: "name=value" as packed, or rows of a table.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "option.h"
#include "text.h"

enum { ROWS_MAX = 8, GIVEN_MAX = 16 };

static const char *const choices[] = { "one", "two", "three", NULL };
static const struct cr_option table[] = {
	{ "flag", CR_BOOL, "no", 0, 0, NULL, "a flag" },
	{ "count", CR_INT, "3", 1, 100, NULL, "a number" },
	{ "real", CR_REAL, "0.5", 0, 1, NULL, "a real number" },
	{ "text", CR_TEXT, "", 0, 0, NULL, "a text" },
	{ "min_free", CR_BYTES, "64MiB", 0, 1e15, NULL, "bytes" },
	{ "after", CR_DURATION, "2s", 0, 0, NULL, "a time" },
	{ "share", CR_RATIO, "5%", 0, 1, NULL, "a share" },
	{ "kind", CR_CHOICE, "two", 0, 0, choices, "a choice" },
	{ 0 },
};

/* All that is good is in range. */
static void expect_values(const union cr_value *value)
{
	fuzz_expect(value[1].num >= 1 && value[1].num <= 100, "a number out of range");
	fuzz_expect(value[2].real >= 0 && value[2].real <= 1, "a real number out of range");
	fuzz_expect(value[3].text != NULL, "no text");
	fuzz_expect(value[4].num >= 0, "bytes below 0");
	fuzz_expect(value[7].num >= 0 && value[7].num < 3, "no choice");
}

static void parse(const struct option_text *given, size_t n)
{
	union cr_value value[sizeof table / sizeof *table];
	struct err err = { 0 };

	for (size_t i = 0; i < n; i++)
		(void)option_check(table, given[i].name, given[i].value, &err);
	if (option_parse(table, given, n, value, &err) == 0)
		expect_values(value);
}

static void take_packed(char *packed)
{
	struct option_text given[GIVEN_MAX], again[GIVEN_MAX];
	const int n = option_unpack(packed, given, GIVEN_MAX);
	char *copy;

	if (n < 0)
		return;
	parse(given, (size_t)n);
	copy = option_pack(given, (size_t)n);
	fuzz_expect(copy != NULL && option_unpack(copy, again, GIVEN_MAX) == n,
		    "packed again it is another number");
	for (int i = 0; i < n; i++)
		fuzz_expect(strcmp(given[i].name, again[i].name) == 0 &&
				    strcmp(given[i].value, again[i].value) == 0,
			    "packed again it is something else");
	free(copy);
}

/* A table as a plugin may bring it: rows of name, preset. If it is sound, it can be used. */
static void take_table(struct fuzz_input *in)
{
	struct cr_option made[ROWS_MAX + 1] = { 0 };
	union cr_value value[ROWS_MAX];
	struct err err = { 0 };
	size_t n = 1 + fuzz_below(in, ROWS_MAX);

	for (size_t i = 0; i < n; i++) {
		const uint8_t how = fuzz_byte(in);

		made[i].type = (enum cr_type)(how % 10);
		if ((how & 32) != 0)
			made[i].max = (double)(int64_t)fuzz_word(in);
		if ((how & 64) != 0)
			made[i].min = (double)(int64_t)fuzz_word(in);
		made[i].choices = (how & 128) != 0 ? choices : NULL;
		made[i].help = "help";
	}
	for (size_t i = 0; i < n; i++) {
		made[i].name = fuzz_line(in);
		made[i].preset = fuzz_line(in);
	}
	if (option_table_check(made, &err) == 0)
		fuzz_expect(option_parse(made, NULL, 0, value, &err) == 0,
			    "a sound table whose presets do not parse");
	for (size_t i = 0; i < n; i++) {
		free((void *)(uintptr_t)made[i].name);
		free((void *)(uintptr_t)made[i].preset);
	}
}

static void take_text(const char *text)
{
	static const char *const words[] = { "servers", "services", "collectors", NULL };
	char shown[32];
	int64_t whole = 0;
	double real = 0;
	bool flag;

	if (text_int(text, &whole) == 0 || text_bytes(text, &whole) == 0 ||
	    text_duration(text, &whole) == 0)
		(void)text_show_bytes(shown, sizeof shown, (double)whole);
	if (text_real(text, &real) == 0 || text_ratio(text, &real) == 0) {
		fuzz_expect(isfinite(real), "a number that is none");
		(void)text_show_bytes(shown, sizeof shown, real);
		(void)text_show_seconds(shown, sizeof shown, real);
	}
	(void)text_bool(text, &flag);
	(void)text_nearest(text, words);
	if (text_is_plugin_name(text))
		fuzz_expect(strlen(text) <= 31, "a plugin's name that is too long");
	if (text_is_name(text))
		fuzz_expect(strlen(text) <= TEXT_NAME_MAX, "a name that is too long");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	char *text;

	if (how % 4 == 3) {
		take_table(&in);
		return 0;
	}
	text = fuzz_text(&in);
	if (how % 4 == 2)
		take_text(text);
	else
		take_packed(text);
	free(text);
	return 0;
}
