/* source_fill.c - puts the values of variables into what is sent, so that they stay values. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_request.h"

enum { ESCAPED_MAX = 6 }; /* letters for one: \u001f, &quot; */

const char *source_variable_end(const char *at)
{
	const char *end = at + 2 + strcspn(at + 2, "${}");

	return *end == '}' && end > at + 2 ? end : NULL;
}

size_t source_percent_encode(char *to, const char *text)
{
	static const char hex[] = "0123456789ABCDEF";
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~";
	char *start = to;

	for (; *text != '\0'; text++) {
		if (strchr(plain, *text) != NULL) {
			*to++ = *text;
			continue;
		}
		*to++ = '%';
		*to++ = hex[(unsigned char)*text >> 4];
		*to++ = hex[(unsigned char)*text & 15];
	}
	return (size_t)(to - start);
}

static size_t write_json(char *to, const char *text)
{
	char *start = to;

	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ') {
			to += snprintf(to, ESCAPED_MAX + 1, "\\u%04x", (unsigned char)*text);
			continue;
		}
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	return (size_t)(to - start);
}

static size_t write_xml(char *to, const char *text)
{
	static const char special[] = "&<>\"'";
	static const char *const entity[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&apos;" };
	char *start = to;

	for (; *text != '\0'; text++) {
		const char *found = strchr(special, *text);

		if (found != NULL)
			to = mempcpy(to, entity[found - special], strlen(entity[found - special]));
		else
			*to++ = *text;
	}
	return (size_t)(to - start);
}

static size_t write_value(char *to, const char *value, enum source_escape escape)
{
	switch (escape) {
	case SOURCE_ESCAPE_NONE:
		return (size_t)((char *)mempcpy(to, value, strlen(value)) - to);
	case SOURCE_ESCAPE_URL:
		return source_percent_encode(to, value);
	case SOURCE_ESCAPE_JSON:
		return write_json(to, value);
	case SOURCE_ESCAPE_XML:
		return write_xml(to, value);
	}
	return 0;
}

static const char *value_of(const struct cr_target *target, const char *name, size_t len)
{
	if (len == 4 && memcmp(name, "name", 4) == 0)
		return target->name;
	for (size_t i = 0; i < target->n_vars; i++)
		if (strncmp(target->var[i].name, name, len) == 0 &&
		    target->var[i].name[len] == '\0')
			return target->var[i].value;
	return NULL;
}

/* The next variable in text, or NULL; *value NULL: the target has none of this name. */
static const char *next_variable(const char *text, const struct cr_target *target, const char **end,
				 const char **value)
{
	for (; (text = strstr(text, "${")) != NULL; text += 2) {
		*end = source_variable_end(text);
		if (*end == NULL)
			continue;
		*value = value_of(target, text + 2, (size_t)(*end - text - 2));
		return text;
	}
	return NULL;
}

bool source_is_template(const char *text)
{
	return strstr(text, "${") != NULL;
}

int source_fill(const char *text, const struct cr_target *target, enum source_escape escape,
		char **out)
{
	size_t room = strlen(text) + 1;
	const char *found, *end, *value;
	char *to;

	*out = NULL;
	end = text;
	while (next_variable(end, target, &end, &value) != NULL) {
		if (value == NULL)
			return -ENOENT;
		room += strlen(value) * ESCAPED_MAX + 1;
	}
	to = *out = malloc(room);
	if (to == NULL)
		return -ENOMEM;
	while ((found = next_variable(text, target, &end, &value)) != NULL) {
		to = mempcpy(to, text, (size_t)(found - text));
		to += write_value(to, value, escape);
		text = end + 1;
	}
	memcpy(to, text, strlen(text) + 1);
	return 0;
}
