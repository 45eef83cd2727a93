/* source_fill.c - puts a server's name into what is sent. */
#include <stdlib.h>
#include <string.h>

#include "source.h"

static const char variable[] = "${name}";

/* At most three letters for one. */
static size_t write_encoded(char *to, const char *text)
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

char *source_fill(const char *text, const char *server, bool in_url)
{
	const size_t len = strlen(variable), server_len = strlen(server);
	const char *found;
	size_t n = 0;
	char *filled, *to;

	for (found = text; (found = strstr(found, variable)) != NULL; found += len)
		n++;
	to = filled = malloc(strlen(text) + n * server_len * 3 + 1);
	if (filled == NULL)
		return NULL;
	while ((found = strstr(text, variable)) != NULL) {
		memcpy(to, text, (size_t)(found - text));
		to += found - text;
		if (in_url)
			to += write_encoded(to, server);
		else
			to = mempcpy(to, server, server_len);
		text = found + len;
	}
	memcpy(to, text, strlen(text) + 1);
	return filled;
}
