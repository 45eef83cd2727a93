/* document.c - values for JSON documents out of what may be foreign, and words for what is none. */
#include "document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *document_text(const char *text, size_t max)
{
	const size_t len = strnlen(text, max);
	json_t *value = json_stringn(text, len);
	char *copy;

	if (value != NULL)
		return value;
	copy = malloc(len + 1);
	if (copy == NULL)
		return NULL;
	memcpy(copy, text, len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)copy[i] >= 0x80)
			copy[i] = '?';
	value = json_stringn(copy, len);
	free(copy);
	return value;
}

json_t *document_text_or_null(const char *text, size_t max)
{
	return text[0] == '\0' ? json_null() : document_text(text, max);
}

json_t *document_number(double value)
{
	if (!isfinite(value))
		return json_null();
	/* Up to here a double holds every whole number exactly. */
	if (value >= -9007199254740992.0 && value <= 9007199254740992.0 &&
	    value == (double)(json_int_t)value)
		return json_integer((json_int_t)value);
	return json_real(value);
}

const char *document_words(const json_error_t *where, int last)
{
	if (last == '\0')
		return "it holds a NUL byte";
	switch (json_error_code(where)) {
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "a text holds \\u0000, which is in no name: take it out";
	default:
		return where->text;
	}
}

json_t *document_seconds(int64_t span_ns)
{
	const int64_t ms = span_ns > 0 ? span_ns / 1000000 : 0;

	return document_number((double)ms / 1000);
}
