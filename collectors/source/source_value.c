/* source_value.c - from what stands in an answer to a number that can be true, or a reason. */
#include "source_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "text.h"

#define EXACT_END 9007199254740992.0 /* 2^53: from here on not every whole number is a double */

static const struct {
	const char *word, *help;
} rejects[] = {
	[SOURCE_TAKEN] = { "taken", "" },
	[SOURCE_NOT_A_NUMBER] = { "not_a_number", "this is no number" },
	[SOURCE_NAN] = { "nan", "the server says \"not a number\"" },
	[SOURCE_INFINITE] = { "infinite", "nothing is that large" },
	[SOURCE_NEGATIVE] = { "negative",
			      "if the server means \"unknown\", write undefined: negative" },
	[SOURCE_WRAPPED] = { "wrapped", "this is the limit of a 32-bit agent, not a size" },
	[SOURCE_TOO_LARGE] = { "too_large", "2^53 or more means \"no limit\", or is not exact" },
	[SOURCE_ABOVE_ONE] = { "above_one", "more than all of it; is it percent?" },
	[SOURCE_MANY] = { "many", "several values match; select one, or add reduce" },
	[SOURCE_TWICE] = { "twice", "same name and labels; who knows which one is true" },
	[SOURCE_NO_TIME] = { "no_time", "not a time from 2001 to 2100; is the unit right?" },
};

const char *source_reject_word(enum source_reject reject)
{
	return rejects[reject].word;
}

const char *source_reject_help(enum source_reject reject)
{
	return rejects[reject].help;
}

/*** Text ***/

/* The value's own text; buf takes that of numbers. */
static bool own_text(const struct source_raw *raw, char *buf, size_t len, const char **text,
		     size_t *text_len)
{
	switch (raw->kind) {
	case SOURCE_RAW_TEXT:
		*text = raw->text;
		*text_len = raw->len;
		return true;
	case SOURCE_RAW_NUMBER:
		if (raw->is_whole)
			(void)snprintf(buf, len, "%" PRId64, raw->integer);
		else
			(void)snprintf(buf, len, "%.17g", raw->number);
		break;
	case SOURCE_RAW_BOOL:
		(void)snprintf(buf, len, "%s", raw->number != 0 ? "true" : "false");
		break;
	case SOURCE_RAW_OTHER:
		return false;
	}
	*text = buf;
	*text_len = strlen(buf);
	return true;
}

static const char *find(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what));
}

static const char *mapped(const struct source_slot *slot, const char *text)
{
	for (size_t i = 0; i < slot->n_map; i++)
		if (strcmp(slot->map[i].from, text) == 0)
			return slot->map[i].to;
	return NULL;
}

bool source_value_text(const struct source_slot *slot, const struct source_raw *raw, char *buf,
		       size_t len)
{
	char number[32];
	const char *text, *cut, *other;
	size_t n;

	if (!own_text(raw, number, sizeof number, &text, &n) || memchr(text, '\0', n) != NULL)
		return false; /* what stands before a NUL is not all of it */
	if (slot->after != NULL) {
		cut = find(text, n, slot->after);
		if (cut == NULL)
			return false;
		cut += strlen(slot->after);
		n -= (size_t)(cut - text);
		text = cut;
	}
	if (slot->before != NULL) {
		cut = find(text, n, slot->before);
		if (cut == NULL)
			return false;
		n = (size_t)(cut - text);
	}
	if (n >= len)
		return false;
	memcpy(buf, text, n);
	buf[n] = '\0';
	other = mapped(slot, buf);
	if (other != NULL)
		return text_copy(buf, len, other);
	return slot->n_map == 0 || slot->role == SOURCE_ROLE_KEY;
}

void source_value_show(const struct source_raw *raw, char *buf, size_t len)
{
	char number[32];
	const char *text = "(a list or a map)";
	size_t n = strlen(text);

	(void)own_text(raw, number, sizeof number, &text, &n);
	if (n >= len)
		n = len - 1;
	for (size_t i = 0; i < n; i++)
		buf[i] = (char)(text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
	buf[n] = '\0';
}

/*** Numbers ***/

static bool is_word(const char *text, const char *word)
{
	return strcasecmp(text, word) == 0;
}

/* A number as programs write it: 12, -1, +1.5, 2.4e+10, NaN, +Inf. */
static enum source_reject number_of_text(const char *text, double *out)
{
	const bool has_plus = text[0] == '+';
	const char *unsigned_text = text + (has_plus || text[0] == '-');
	int rc;

	if (is_word(unsigned_text, "nan"))
		return SOURCE_NAN;
	if (is_word(unsigned_text, "inf") || is_word(unsigned_text, "infinity"))
		return SOURCE_INFINITE;
	if (has_plus && unsigned_text[0] == '-')
		return SOURCE_NOT_A_NUMBER;
	rc = text_real(has_plus ? unsigned_text : text, out);
	if (rc == -ERANGE)
		return SOURCE_TOO_LARGE;
	return rc < 0 ? SOURCE_NOT_A_NUMBER : SOURCE_TAKEN;
}

static void trim(char *text)
{
	size_t start = strspn(text, " \t\r\n"), n;

	memmove(text, text + start, strlen(text + start) + 1);
	for (n = strlen(text); n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL; n--)
		text[n - 1] = '\0';
}

static enum source_reject number_of(const struct source_slot *slot, const struct source_raw *raw,
				    double *out)
{
	char text[SOURCE_TEXT_LEN];

	if (!source_value_text(slot, raw, text, sizeof text))
		return SOURCE_NOT_A_NUMBER;
	trim(text);
	if (slot->type == SOURCE_TYPE_BOOL) {
		bool flag;

		if (text_bool(text, &flag) < 0)
			return SOURCE_NOT_A_NUMBER;
		*out = flag;
		return SOURCE_TAKEN;
	}
	return number_of_text(text, out);
}

enum source_reject source_value_number(const struct source_slot *slot, const struct source_raw *raw,
				       double *out)
{
	const bool is_plain = slot->type == SOURCE_TYPE_NUMBER && slot->n_map == 0;
	enum source_reject reject = SOURCE_TAKEN;

	if (is_plain && raw->kind == SOURCE_RAW_NUMBER)
		*out = raw->number;
	else
		reject = number_of(slot, raw, out);
	if (reject != SOURCE_TAKEN)
		return reject;
	if (isnan(*out))
		return SOURCE_NAN;
	*out += 0.0; /* or -0 would be shown as such */
	return isinf(*out) ? SOURCE_INFINITE : SOURCE_TAKEN;
}

enum source_reject source_value_judge(const struct source_slot *slot, double number)
{
	if (number < 0)
		return SOURCE_NEGATIVE;
	if (number >= EXACT_END)
		return slot->role == SOURCE_ROLE_TIME ? SOURCE_TAKEN : SOURCE_TOO_LARGE;
	if (slot->is_bytes && (number == (double)UINT32_MAX || number == (double)INT32_MAX))
		return SOURCE_WRAPPED;
	return SOURCE_TAKEN;
}

/*** All values of a slot ***/

static enum source_state reduced(const struct source_slot *slot, const struct source_sum *sum,
				 double *out)
{
	const size_t n_taken = sum->n - sum->n_undefined;

	switch (slot->reduce) {
	case SOURCE_ONE:
	case SOURCE_FIRST:
		*out = sum->first;
		return sum->first_is_undefined ? SOURCE_UNDEFINED : SOURCE_FOUND;
	case SOURCE_SUM: /* a part of a sum is not the sum */
		*out = sum->total;
		return sum->n_undefined > 0 ? SOURCE_UNDEFINED : SOURCE_FOUND;
	case SOURCE_MEAN:
		*out = sum->total / (double)sum->n;
		return sum->n_undefined > 0 ? SOURCE_UNDEFINED : SOURCE_FOUND;
	case SOURCE_MAX:
		*out = sum->most;
		break;
	case SOURCE_MIN:
		*out = sum->least;
		break;
	case SOURCE_COUNT:
		*out = (double)sum->n;
		return SOURCE_FOUND;
	}
	return n_taken > 0 ? SOURCE_FOUND : SOURCE_UNDEFINED;
}

enum source_state source_value_reduce(const struct source_slot *slot, const struct source_sum *sum,
				      double *out, enum source_reject *reject)
{
	enum source_state state;

	*reject = SOURCE_TAKEN;
	if (sum->n == 0)
		return SOURCE_MISSING;
	*reject = sum->reject;
	if (*reject == SOURCE_TWICE)
		return SOURCE_REJECTED;
	if (slot->reduce == SOURCE_COUNT)
		*reject = SOURCE_TAKEN;
	else if (slot->reduce == SOURCE_ONE && sum->n > 1)
		*reject = SOURCE_MANY;
	if (*reject != SOURCE_TAKEN)
		return SOURCE_REJECTED;
	state = reduced(slot, sum, out);
	if (state != SOURCE_FOUND)
		return state;
	if (slot->reduce != SOURCE_COUNT)
		*out *= slot->factor;
	if (*out >= EXACT_END)
		*reject = SOURCE_TOO_LARGE;
	else if (slot->is_ratio && *out > 1 + 1e-9)
		*reject = SOURCE_ABOVE_ONE;
	return *reject == SOURCE_TAKEN ? SOURCE_FOUND : SOURCE_REJECTED;
}

#define FIRST_S 978307200.0  /* 2001 */
#define LAST_S  4102444800.0 /* 2100 */

bool source_value_stamp(const char *text, int64_t *out_ns)
{
	double seconds;

	if (text_real(text, &seconds) < 0)
		return false;
	if (seconds >= LAST_S) /* no second of 2001 to 2100 is a millisecond of theirs */
		seconds /= 1000;
	if (seconds < FIRST_S || seconds >= LAST_S)
		return false;
	*out_ns = (int64_t)(seconds * 1e9);
	return true;
}

bool source_value_time(const struct source_slot *slot, const struct source_sum *sum,
		       int64_t *out_ns)
{
	double seconds = sum->least * slot->factor;

	if (sum->n == 0 || sum->n == sum->n_undefined || sum->reject != SOURCE_TAKEN ||
	    seconds < FIRST_S || seconds >= LAST_S)
		return false;
	*out_ns = (int64_t)(seconds * 1e9);
	return true;
}
