/* config_expand.c - a server's target: its own, or made of a template with ${host}, ${port},
 * ${name} and the server's vars. */
#include "config_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

const char *const config_own_variables[] = { "host", "port", "name", NULL };

int config_piece_next(const char **at, struct config_piece *piece)
{
	const char *begin = *at, *end;

	if (*begin == '\0')
		return 0;
	piece->is_variable = strncmp(begin, "${", 2) == 0;
	if (!piece->is_variable) {
		end = strstr(begin, "${");
		if (end == NULL)
			end = begin + strlen(begin);
		piece->ptr = begin;
		piece->len = (size_t)(end - begin);
		*at = end;
		return 1;
	}
	end = begin + 2 + strcspn(begin + 2, "${}");
	if (*end != '}' || end == begin + 2)
		return -EINVAL;
	piece->ptr = begin + 2;
	piece->len = (size_t)(end - piece->ptr);
	*at = end + 1;
	return 1;
}

static bool is_word(const char *word, const char *name, size_t len)
{
	return strncmp(word, name, len) == 0 && word[len] == '\0';
}

const char *config_variable(const struct config_server *server, const char *name, size_t len)
{
	if (is_word("host", name, len))
		return server->host;
	if (is_word("port", name, len))
		return server->port;
	if (is_word("name", name, len))
		return server->name;
	for (size_t i = 0; i < server->n_vars; i++)
		if (is_word(server->vars[i].name, name, len))
			return server->vars[i].value;
	return NULL;
}

bool config_asks_each(const struct config_source *source)
{
	return source_is_template(source->target) || source->n_variables > 0;
}

const struct config_pair *config_own_target(const struct config_server *server,
					    const struct config_source *source)
{
	for (size_t i = 0; source->name != NULL && i < server->n_targets; i++)
		if (strcmp(server->targets[i].name, source->name) == 0)
			return &server->targets[i];
	return NULL;
}

bool config_is_covered(const struct config_server *server, const struct config_source *source)
{
	return !config_asks_each(source) && config_own_target(server, source) == NULL;
}

/* Writes the text to out, if there is one. Returns its length, or < 0. */
static ssize_t expand(const char *target, const struct config_server *server, char *out)
{
	struct config_piece piece;
	size_t len = 0;
	int r;

	while ((r = config_piece_next(&target, &piece)) > 0) {
		const char *text = piece.ptr;
		size_t n = piece.len;

		if (piece.is_variable) {
			text = config_variable(server, piece.ptr, piece.len);
			if (text == NULL)
				return -ENOENT;
			n = strlen(text);
		}
		if (out != NULL)
			memcpy(out + len, text, n);
		len += n;
	}
	return r < 0 ? r : (ssize_t)len;
}

bool config_can_expand(const char *target, const struct config_server *server)
{
	return expand(target, server, NULL) >= 0;
}

char *config_expand(const char *target, const struct config_server *server)
{
	const ssize_t len = expand(target, server, NULL);
	char *text = len < 0 ? NULL : malloc((size_t)len + 1);

	if (text == NULL)
		return NULL;
	(void)expand(target, server, text);
	text[len] = '\0';
	return text;
}
