/* servers_failing.c - which sources' polls of a server fail, since when, and what the last one
 * said. */
#include "servers_internal.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "text.h"

static struct failing *find(struct server *server, const char *source)
{
	for (size_t i = 0; i < server->n_failing; i++)
		if (strcmp(server->failing[i].told.source, source) == 0)
			return &server->failing[i];
	return NULL;
}

/* A new one; NULL: no memory, and nothing is lost but this text. */
static struct failing *add(struct server *server, const char *source)
{
	struct failing *grown = reallocarray(server->failing, server->n_failing + 1, sizeof *grown);

	if (grown == NULL)
		return NULL;
	server->failing = grown;
	grown += server->n_failing++;
	*grown = (struct failing){ .told.since_ns = clock_now_ns() };
	(void)text_copy(grown->told.source, sizeof grown->told.source, source);
	return grown;
}

/* The others stay in their order: the one that has failed for longest is the first. */
static void drop(struct server *server, struct failing *failing)
{
	const size_t behind = server->n_failing - (size_t)(failing - server->failing) - 1;

	memmove(failing, failing + 1, behind * sizeof *failing);
	if (--server->n_failing > 0)
		return;
	free(server->failing);
	server->failing = NULL;
}

void servers_note_failing(struct server *server, const char *source, const char *error)
{
	struct failing *failing = find(server, source);

	if (error == NULL) {
		if (failing != NULL)
			drop(server, failing);
		return;
	}
	if (failing == NULL)
		failing = add(server, source);
	if (failing != NULL)
		(void)text_copy(failing->told.text, sizeof failing->told.text, error);
}

void servers_keep_failing(struct server **server, size_t n, const struct config *config)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < server[i]->n_failing; k++)
			server[i]->failing[k].is_polled = false;
	for (size_t i = 0; i < config->n_sources; i++) {
		const struct config_source *const source = &config->sources[i];

		for (size_t k = 0; k < source->n_servers; k++) {
			struct failing *failing = find(server[source->servers[k]], source->name);

			if (failing != NULL)
				failing->is_polled = true;
		}
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = server[i]->n_failing; k > 0; k--)
			if (!server[i]->failing[k - 1].is_polled)
				drop(server[i], &server[i]->failing[k - 1]);
}

bool servers_get_failing(struct servers *servers, size_t index, size_t k,
			 struct servers_failing *out)
{
	const struct server *server;
	bool is_there;

	if (index >= servers->n)
		return false;
	server = servers->server[index];
	pthread_mutex_lock(&servers->lock);
	is_there = k < server->n_failing;
	if (is_there)
		*out = server->failing[k].told;
	pthread_mutex_unlock(&servers->lock);
	return is_there;
}
