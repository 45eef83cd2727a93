/* source_about.c - whom an SNMP agent is asked about: what follows the community, or the context.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "source_internal.h"

int source_about_check(const char *text, bool is_filled, char *why, size_t why_len)
{
	const size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] >= ' ' && text[i] != 0x7f)
			continue;
		(void)snprintf(why, why_len,
			       "it holds a control byte (0x%02x) as byte %zu; remove it",
			       (unsigned char)text[i], i + 1);
		return -EINVAL;
	}
	if (is_filled && len == 0) { /* the agent would speak of itself */
		(void)snprintf(why, why_len, "it is empty once it is filled in; look at its vars");
		return -EINVAL;
	}
	if (!is_filled || len <= SOURCE_ABOUT_MAX)
		return 0;
	(void)snprintf(why, why_len, "it has %zu bytes, and SNMP takes at most %d; shorten it", len,
		       SOURCE_ABOUT_MAX);
	return -EINVAL;
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
	if (text[0] != '\0' &&
	    source_about_check(text, strstr(text, "${") == NULL, why, sizeof why) < 0)
		source_parser_fault(parser, &at, "%s: %s", key, why);
	return source_parser_copy(parser, text);
}

void source_parser_about(struct source_parser *parser, const json_t *root)
{
	parser->source->community_suffix = read_text(parser, root, "community_suffix");
	parser->source->context = read_text(parser, root, "context");
}
