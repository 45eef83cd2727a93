/* option.c - a plugin's options: text in, checked values out. */
#include "option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define ROWS_MAX 64 /* more options than anybody reads: the table has no end */

size_t option_count(const struct cr_option *table)
{
	size_t n = 0;

	while (table != NULL && table[n].name != NULL)
		n++;
	return n;
}

int option_find(const struct cr_option *table, const char *name)
{
	for (size_t i = 0; i < option_count(table); i++)
		if (strcmp(table[i].name, name) == 0)
			return (int)i;
	return -ENOENT;
}

/* Appends to a list of words, "a, b, c", as far as it fits. */
static void append_word(char *list, size_t len, const char *word)
{
	const size_t at = strlen(list);

	(void)snprintf(list + at, len - at, "%s%s", at > 0 ? ", " : "", word);
}

static int unknown_option(const struct cr_option *table, const char *name, struct err *err)
{
	const char *names[ROWS_MAX + 1] = { NULL };
	const size_t n = option_count(table);
	const char *nearest;
	char list[160] = "";

	if (n == 0)
		return err_set(err, -ENOENT, "no option \"%s\": this plugin has none; remove it",
			       name);
	for (size_t i = 0; i < n && i < ROWS_MAX; i++) {
		names[i] = table[i].name;
		append_word(list, sizeof list, names[i]);
	}
	nearest = text_nearest(name, names);
	if (nearest != NULL)
		return err_set(err, -ENOENT, "no option \"%s\"; did you mean \"%s\"?", name,
			       nearest);
	return err_set(err, -ENOENT, "no option \"%s\"; there are: %s", name, list);
}

static int bad_choice(const struct cr_option *row, const char *value, struct err *err)
{
	const char *nearest = text_nearest(value, row->choices);
	char list[160] = "";

	if (nearest != NULL)
		return err_set(err, -EINVAL,
			       "option \"%s\": \"%s\" is no choice; did you mean \"%s\"?",
			       row->name, value, nearest);
	for (size_t i = 0; row->choices[i] != NULL; i++)
		append_word(list, sizeof list, row->choices[i]);
	return err_set(err, -EINVAL, "option \"%s\": \"%s\" is no choice; there are: %s", row->name,
		       value, list);
}

/* What a value of this type looks like. */
static const char *form_of(enum cr_type type)
{
	switch (type) {
	case CR_BOOL:
		return "true or false";
	case CR_INT:
		return "a whole number like 12";
	case CR_REAL:
		return "a number like 0.5";
	case CR_TEXT:
		return "a text";
	case CR_BYTES:
		return "a size like 4096, 64KiB or 1.5GiB";
	case CR_DURATION:
		return "a duration like 500ms, 2s or 3m";
	case CR_RATIO:
		return "a share like 0.25 or 25%";
	case CR_CHOICE:
		return "one of the choices";
	}
	return NULL;
}

/* A bound in the form in which it can be written, without loss where it is a whole number of units.
 */
static void show_bound(char *buf, size_t len, enum cr_type type, double bound)
{
	static const struct {
		enum cr_type type;
		double factor;
		const char *name;
	} units[] = {
		{ CR_BYTES, 1024.0 * 1024 * 1024, "GiB" },
		{ CR_BYTES, 1024.0 * 1024, "MiB" },
		{ CR_BYTES, 1024, "KiB" },
		{ CR_DURATION, 3600e9, "h" },
		{ CR_DURATION, 60e9, "m" },
		{ CR_DURATION, 1e9, "s" },
		{ CR_DURATION, 1e6, "ms" },
		{ CR_DURATION, 1e3, "us" },
		{ CR_DURATION, 1, "ns" },
	};

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		const double count = bound / units[i].factor;

		if (units[i].type != type || count < 1 || count > 1e15 ||
		    count != (double)(int64_t)count)
			continue;
		(void)snprintf(buf, len, "%" PRId64 "%s", (int64_t)count, units[i].name);
		return;
	}
	(void)snprintf(buf, len, "%.15g", bound);
}

static int check_range(const struct cr_option *row, const char *text, double value, struct err *err)
{
	char low[40], high[40];

	if ((row->min == 0 && row->max == 0) || (value >= row->min && value <= row->max))
		return 0;
	show_bound(low, sizeof low, row->type, row->min);
	show_bound(high, sizeof high, row->type, row->max);
	return err_set(err, -ERANGE, "option \"%s\": %s is outside of %s .. %s", row->name, text,
		       low, high);
}

static int parse_choice(const struct cr_option *row, const char *text, union cr_value *out)
{
	for (size_t i = 0; row->choices[i] != NULL; i++) {
		if (strcmp(row->choices[i], text) != 0)
			continue;
		out->num = (int64_t)i;
		return 0;
	}
	return -EINVAL;
}

/* The value alone, and as a number for the range (0 where there is none). */
static int parse_text(const struct cr_option *row, const char *text, union cr_value *out,
		      double *number)
{
	int r = -EINVAL;

	*number = 0;
	switch (row->type) {
	case CR_BOOL:
		return text_bool(text, &out->flag);
	case CR_TEXT:
		out->text = text;
		return 0;
	case CR_CHOICE:
		return parse_choice(row, text, out);
	case CR_REAL:
		r = text_real(text, &out->real);
		break;
	case CR_RATIO:
		r = text_ratio(text, &out->real);
		break;
	case CR_INT:
		r = text_int(text, &out->num);
		break;
	case CR_BYTES:
		r = text_bytes(text, &out->num);
		break;
	case CR_DURATION:
		r = text_duration(text, &out->num);
		break;
	}
	if (r == 0)
		*number = row->type == CR_REAL || row->type == CR_RATIO ? out->real
									: (double)out->num;
	return r;
}

static bool has_range(enum cr_type type)
{
	return type != CR_BOOL && type != CR_TEXT && type != CR_CHOICE;
}

static int parse_value(const struct cr_option *row, const char *text, union cr_value *out,
		       struct err *err)
{
	double number;
	int r;

	if (text[strcspn(text, "\r\n")] != '\0')
		return err_set(err, -EINVAL, "option \"%s\": remove the line break from its value",
			       row->name);
	r = parse_text(row, text, out, &number);
	if (r == -EINVAL && row->type == CR_CHOICE)
		return bad_choice(row, text, err);
	if (r == -EINVAL)
		return err_set(err, r, "option \"%s\": \"%s\" is not %s", row->name, text,
			       form_of(row->type));
	if (r == -ERANGE)
		return err_set(err, r, "option \"%s\": %s is more than 64 bits hold", row->name,
			       text);
	if (r < 0)
		return err_set(err, r, "option \"%s\": %s", row->name, err_words(r));
	return has_range(row->type) ? check_range(row, text, number, err) : 0;
}

int option_check(const struct cr_option *table, const char *name, const char *value,
		 struct err *err)
{
	const int i = option_find(table, name);
	union cr_value unused;
	int r;

	if (i < 0)
		return unknown_option(table, name, err);
	r = parse_value(&table[i], value, &unused, err);
	return r < 0 ? r : i;
}

/* The setting of this name among the first n, or NULL. */
static const struct option_text *find_given(const struct option_text *given, size_t n,
					    const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(given[i].name, name) == 0)
			return &given[i];
	return NULL;
}

int option_parse(const struct cr_option *table, const struct option_text *given, size_t n,
		 union cr_value *value, struct err *err)
{
	const size_t rows = option_count(table);

	for (size_t i = 0; i < n; i++) {
		const int r = option_check(table, given[i].name, given[i].value, err);

		if (r < 0)
			return r;
		if (find_given(given, i, given[i].name) != NULL)
			return err_set(err, -EINVAL, "option \"%s\" is given twice; keep one",
				       given[i].name);
	}
	for (size_t i = 0; i < rows; i++) {
		const struct option_text *setting = find_given(given, n, table[i].name);
		const char *text = setting != NULL ? setting->value : table[i].preset;
		int r;

		if (text == NULL)
			return err_set(err, -EINVAL, "option \"%s\" must be given: %s",
				       table[i].name, table[i].help);
		r = parse_value(&table[i], text, &value[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_row(const struct cr_option *table, size_t i, struct err *err)
{
	const struct cr_option *row = &table[i];
	union cr_value unused;
	int r;

	if (!text_is_plugin_name(row->name))
		return err_set(err, -EINVAL,
			       "options[%zu]: the name \"%s\" is not 1 to 31 of a-z, 0-9 and _", i,
			       row->name);
	if (option_find(table, row->name) != (int)i)
		return err_set(err, -EINVAL, "options[%zu]: the name \"%s\" is there twice", i,
			       row->name);
	if (form_of(row->type) == NULL)
		return err_set(err, -EINVAL, "options[%zu]: \"%s\" has the unknown type %d", i,
			       row->name, (int)row->type);
	if (row->type == CR_CHOICE && (row->choices == NULL || row->choices[0] == NULL))
		return err_set(err, -EINVAL, "options[%zu]: \"%s\" is a CR_CHOICE without choices",
			       i, row->name);
	if (row->help == NULL)
		return err_set(err, -EINVAL, "options[%zu]: \"%s\" has no help", i, row->name);
	if (!(row->min <= row->max))
		return err_set(err, -EINVAL, "options[%zu]: \"%s\" has a max below its min", i,
			       row->name);
	r = row->preset != NULL ? parse_value(row, row->preset, &unused, err) : 0;
	return r < 0 ? err_prefix(err, "options[%zu]: bad preset", i) : 0;
}

int option_table_check(const struct cr_option *table, struct err *err)
{
	for (size_t i = 0; table != NULL && i <= ROWS_MAX; i++)
		if (table[i].name == NULL)
			break;
		else if (i == ROWS_MAX)
			return err_set(err, -EINVAL,
				       "options[] has no end: close it with { .name = NULL }");
	for (size_t i = 0; i < option_count(table); i++)
		if (check_row(table, i, err) < 0)
			return -EINVAL;
	return 0;
}

char *option_pack(const struct option_text *given, size_t n)
{
	size_t len = 1, at = 0;
	char *packed;

	for (size_t i = 0; i < n; i++)
		len += strlen(given[i].name) + strlen(given[i].value) + 2;
	packed = malloc(len);
	if (packed == NULL)
		return NULL;
	packed[0] = '\0';
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(packed + at, len - at, "%s=%s\n", given[i].name,
				       given[i].value);
	return packed;
}

int option_unpack(char *packed, struct option_text *given, size_t max)
{
	size_t n = 0;

	while (*packed != '\0') {
		char *end = strchr(packed, '\n');
		char *equals = strchr(packed, '=');

		if (n == max || end == NULL || equals == NULL || equals > end)
			return -EINVAL;
		*equals = '\0';
		*end = '\0';
		given[n++] = (struct option_text){ .name = packed, .value = equals + 1 };
		packed = end + 1;
	}
	return (int)n;
}
