/* source_about.c - reads and judges whom an SNMP agent is asked about: what follows the community,
 * or the context. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "source_internal.h"

static int refuse(char *why, size_t why_len, const char *fmt, ...) CR_PRINTF(3, 4);

static int refuse(char *why, size_t why_len, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, why_len, fmt, args);
	va_end(args);
	return -EINVAL;
}

static int check_bytes(const char *text, char *why, size_t why_len)
{
	for (size_t i = 0; text[i] != '\0'; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return refuse(why, why_len,
				      "it holds a control byte (0x%02x) as byte %zu; remove it",
				      (unsigned char)text[i], i + 1);
	return 0;
}

int source_about_check(const char *text, const char *community, char *why, size_t why_len)
{
	const size_t len = strlen(text);

	if (check_bytes(text, why, why_len) < 0)
		return -EINVAL;
	if (len == 0) /* the agent would speak of itself */
		return refuse(why, why_len, "it is empty once it is filled in; look at its vars");
	if (len > SOURCE_ABOUT_MAX)
		return refuse(why, why_len,
			      "it has %zu bytes, and SNMP takes at most %d; shorten it", len,
			      SOURCE_ABOUT_MAX);
	/* How long the secret is, is its own business. */
	if (community != NULL && strlen(community) + len > SOURCE_ABOUT_MAX)
		return refuse(why, why_len,
			      "the community has more than %d bytes with it; shorten one of them",
			      SOURCE_ABOUT_MAX);
	return 0;
}

/* Without a variable it is as it will be sent, but for the community. */
static int check(const char *text, char *why, size_t why_len)
{
	return text[0] != '\0' && !source_is_template(text)
		       ? source_about_check(text, NULL, why, why_len)
		       : check_bytes(text, why, why_len);
}

static char *read_text(struct source_parser *parser, const json_t *root, const char *key)
{
	const struct source_at top = { NULL, NULL, 0 }, at = { &top, key, 0 };
	const json_t *json = json_object_get(root, key);
	const char *text = json != NULL ? source_parser_text(parser, &at, json) : NULL;
	char why[128];

	if (text == NULL)
		return source_parser_copy(parser, "");
	if (parser->source->transport != SOURCE_SNMP && !parser->is_faulty)
		source_parser_fault(parser, &at, "%s is for SNMP; remove it from an HTTP source",
				    key);
	source_parser_variables(parser, &at, text);
	if (check(text, why, sizeof why) < 0)
		source_parser_fault(parser, &at, "%s: %s", key, why);
	return source_parser_copy(parser, text);
}

void source_parser_about(struct source_parser *parser, const json_t *root)
{
	parser->source->community_suffix = read_text(parser, root, "community_suffix");
	parser->source->context = read_text(parser, root, "context");
}
