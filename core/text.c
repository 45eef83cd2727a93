/* text.c - numbers with units, names, and words that were nearly right. */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit duration_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000 },
	{ "m", INT64_C(60) * 1000000000 },
	{ "h", INT64_C(3600) * 1000000000 },
	{ "d", INT64_C(86400) * 1000000000 },
	{ NULL, 0 },
};

static const struct unit byte_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "KiB", INT64_C(1) << 10 },
	{ "MiB", INT64_C(1) << 20 },
	{ "GiB", INT64_C(1) << 30 },
	{ "TiB", INT64_C(1) << 40 },
	{ "PiB", INT64_C(1) << 50 },
	{ "kB", 1000 },
	{ "MB", 1000000 },
	{ "GB", 1000000000 },
	{ "TB", INT64_C(1000000000000) },
	{ "PB", INT64_C(1000000000000000) },
	{ NULL, 0 },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(const char *text)
{
	size_t n = 0;

	while (is_digit(text[n]))
		n++;
	return n;
}

int text_int(const char *text, int64_t *out)
{
	const bool is_negative = text[0] == '-';
	const char *digits = text + is_negative;
	const size_t n = count_digits(digits);
	int64_t sum = 0;

	if (n == 0 || digits[n] != '\0')
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const int64_t digit = digits[i] - '0';

		/* Towards the sign: the smallest number has no positive counterpart. */
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, is_negative ? -digit : digit, &sum))
			return -ERANGE;
	}
	*out = sum;
	return 0;
}

/* Length of [-]digits[.digits][e[+-]digits] at the start of text, or 0. */
static size_t real_len(const char *text)
{
	size_t at = text[0] == '-', n = count_digits(text + at);

	if (n == 0)
		return 0;
	at += n;
	if (text[at] == '.') {
		n = count_digits(text + at + 1);
		if (n == 0)
			return 0;
		at += 1 + n;
	}
	if (text[at] == 'e' || text[at] == 'E') {
		const size_t sign = text[at + 1] == '-' || text[at + 1] == '+';

		n = count_digits(text + at + 1 + sign);
		if (n == 0)
			return 0;
		at += 1 + sign + n;
	}
	return at;
}

/* strtod() in the "C" locale: the process that we live in may write 0,5. */
static int real_value(const char *text, double *out)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double value;

	if (c == (locale_t)0)
		return -ENOMEM;
	value = strtod_l(text, NULL, c);
	freelocale(c);
	if (!isfinite(value))
		return -ERANGE;
	*out = value;
	return 0;
}

int text_real(const char *text, double *out)
{
	const size_t len = real_len(text);

	if (len == 0 || text[len] != '\0')
		return -EINVAL;
	return real_value(text, out);
}

int text_ratio(const char *text, double *out)
{
	const size_t len = real_len(text);
	const bool is_percent = len > 0 && text[len] == '%';
	double value;
	int r;

	if (len == 0 || text[len + is_percent] != '\0')
		return -EINVAL;
	r = real_value(text, &value);
	if (r == 0)
		*out = is_percent ? value / 100 : value;
	return r;
}

int text_bool(const char *text, bool *out)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = { { "true", true },   { "yes", true }, { "on", true },
		      { "false", false }, { "no", false }, { "off", false } };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(text, words[i].word) != 0)
			continue;
		*out = words[i].value;
		return 0;
	}
	return -EINVAL;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	while (units->name != NULL && strcmp(units->name, name) != 0)
		units++;
	return units->name != NULL ? units : NULL;
}

/* digits[.digits]UNIT. The whole part is exact; the fraction is rounded to one base unit. */
static int parse_units(const char *text, const struct unit *units, int64_t *out)
{
	const size_t whole = count_digits(text);
	size_t fraction = 0;
	const struct unit *unit;
	int64_t sum = 0;
	double part = 0, place = 0.1;

	if (whole == 0)
		return -EINVAL;
	if (text[whole] == '.') {
		fraction = count_digits(text + whole + 1);
		if (fraction == 0)
			return -EINVAL;
	}
	unit = find_unit(units, text + whole + (fraction > 0 ? 1 + fraction : 0));
	if (unit == NULL || (fraction > 0 && unit->factor == 1))
		return -EINVAL;
	for (size_t i = 0; i < whole; i++)
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, text[i] - '0', &sum))
			return -ERANGE;
	for (size_t i = 0; i < fraction; i++, place /= 10)
		part += place * (text[whole + 1 + i] - '0');
	if (__builtin_mul_overflow(sum, unit->factor, &sum) ||
	    __builtin_add_overflow(sum, (int64_t)(part * (double)unit->factor + 0.5), &sum))
		return -ERANGE;
	*out = sum;
	return 0;
}

int text_duration(const char *text, int64_t *out_ns)
{
	if (strcmp(text, "0") == 0) {
		*out_ns = 0;
		return 0;
	}
	return parse_units(text, duration_units, out_ns);
}

int text_bytes(const char *text, int64_t *out)
{
	return parse_units(text, byte_units, out);
}

/* A number with one digit after the point, whatever the locale's point is. */
static char *show_tenths(char *buf, size_t len, double value, const char *unit)
{
	const int64_t tenths = (int64_t)(fabs(value) * 10 + 0.5);

	(void)snprintf(buf, len, "%s%lld.%d %s", value < 0 ? "-" : "", (long long)(tenths / 10),
		       (int)(tenths % 10), unit);
	return buf;
}

/* lround() would need libm, which processes that we live in may not have. */
static int rounded(double value)
{
	return (int)(value < 0 ? value - 0.5 : value + 0.5);
}

char *text_show_bytes(char *buf, size_t len, double bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t i = 0;

	if (!isfinite(bytes) || fabs(bytes) > 9e18) {
		text_copy(buf, len, "-");
		return buf;
	}
	if (fabs(bytes) < 1023.5) {
		(void)snprintf(buf, len, "%d B", rounded(bytes));
		return buf;
	}
	/* 1023.96 would be shown as "1024.0". */
	for (; i + 1 < sizeof names / sizeof *names && fabs(bytes) >= 1023.95; i++)
		bytes /= 1024;
	return show_tenths(buf, len, bytes, names[i]);
}

char *text_show_seconds(char *buf, size_t len, double seconds)
{
	const double size = fabs(seconds);

	if (!isfinite(seconds) || size > 1e15) {
		text_copy(buf, len, "-");
		return buf;
	}
	if (size < 0.0000005)
		text_copy(buf, len, "0 s");
	else if (size < 0.0009995)
		(void)snprintf(buf, len, "%d us", rounded(seconds * 1e6));
	else if (size < 0.9995)
		(void)snprintf(buf, len, "%d ms", rounded(seconds * 1e3));
	else if (size < 99.95)
		show_tenths(buf, len, seconds, "s");
	else if (size < 5997)
		show_tenths(buf, len, seconds / 60, "min");
	else if (size < 48 * 3600)
		show_tenths(buf, len, seconds / 3600, "h");
	else
		show_tenths(buf, len, seconds / 86400, "d");
	return buf;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool is_same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Damerau-Levenshtein (insert, delete, replace, swap neighbours). Both at most TEXT_NAME_MAX long.
 */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][TEXT_NAME_MAX + 1];

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			const size_t cost = !is_same_letter(a[i - 1], b[j - 1]);

			now[j] = least(before[j - 1] + cost, least(before[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) &&
			    is_same_letter(a[i - 2], b[j - 1]))
				now[j] = least(now[j], older[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

/* The shortest word that goes on where text ends. */
static const char *shortest_with_prefix(const char *text, size_t len, const char *const *words)
{
	const char *best = NULL;

	for (; *words != NULL; words++)
		if (strncasecmp(*words, text, len) == 0 &&
		    (best == NULL || strlen(*words) < strlen(best)))
			best = *words;
	return best;
}

const char *text_nearest(const char *text, const char *const *words)
{
	const size_t len = strnlen(text, TEXT_NAME_MAX + 1);
	const char *best = NULL;
	size_t limit;

	if (len < 2 || len > TEXT_NAME_MAX)
		return NULL;
	limit = len / 3 > 1 ? len / 3 : 1;
	for (const char *const *word = words; *word != NULL; word++) {
		const size_t word_len = strnlen(*word, TEXT_NAME_MAX + 1);
		size_t d;

		if (word_len > TEXT_NAME_MAX || word_len > len + limit || len > word_len + limit)
			continue;
		d = distance(text, len, *word, word_len);
		if (d > limit || (d == limit && best != NULL))
			continue;
		best = *word;
		limit = d;
	}
	return best != NULL ? best : shortest_with_prefix(text, len, words);
}

int text_index(const char *text, const char *const *words)
{
	for (int i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	return -1;
}

void text_join(char *buf, size_t len, const char *const *words)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; words[i] != NULL && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s", i > 0 ? ", " : "", words[i]);
}

bool text_ends_in(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

bool text_is_name(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	const size_t len = strspn(text, allowed);

	return len >= 1 && len <= TEXT_NAME_MAX && text[len] == '\0' && text[0] != '.' &&
	       text[0] != '-';
}

bool text_is_plugin_name(const char *text)
{
	const size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len >= 1 && len <= 31 && text[len] == '\0';
}

void text_clean(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

bool text_copy(char *to, size_t len, const char *from)
{
	const size_t from_len = strlen(from);
	size_t n;

	if (len == 0)
		return false;
	n = from_len < len ? from_len : len - 1;
	memcpy(to, from, n);
	to[n] = '\0';
	return n == from_len;
}
