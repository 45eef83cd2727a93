/* lives.c - which servers of a configuration were there before, by their lines. */
#include "lives.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "health.h"

/** Who had a line until now. */
struct former {
	const char *name, *address; /* NULL: nobody */
};

static void former_from_config(struct former *former, const struct config *config,
			       const struct roster *roster)
{
	for (size_t i = 0; i < config->n_servers; i++)
		if (!config->servers[i].is_admin)
			former[roster->server_line[i]] =
				(struct former){ config->servers[i].name,
						 config->servers[i].address };
}

static void former_from_image(struct former *former, const struct image_header *image)
{
	const struct image_server *server = image_servers(image);

	for (size_t i = 0; i < image->server.count; i++)
		if (server[i].line < COUNTERS_LINES)
			former[server[i].line] =
				(struct former){ server[i].name, server[i].address };
}

static bool is_there_before(const struct former *former, const struct config_server *server)
{
	return former->name != NULL && strcmp(former->name, server->name) == 0 &&
	       strcmp(former->address, server->address) == 0;
}

/* Marks the new ones; returns how many there are. */
static size_t find_new(const struct config *config, const struct roster *roster,
		       const struct former *former, bool *is_new)
{
	size_t n = 0;

	for (size_t i = 0; i < config->n_servers; i++) {
		const uint32_t line = roster->server_line[i];

		if (config->servers[i].is_admin)
			continue;
		is_new[i] =
			!roster->known[line] ||
			(former != NULL && !is_there_before(&former[line], &config->servers[i]));
		n += is_new[i];
	}
	return n;
}

void lives_begin(struct counters *counters, const struct config *config,
		 const struct roster *roster, const struct lives_before *before)
{
	const bool is_known = before->config != NULL || before->image != NULL;
	struct former *former = calloc(COUNTERS_LINES, sizeof *former);
	bool *is_new = calloc(config->n_servers + 1, sizeof *is_new);
	size_t n;

	if (former == NULL || is_new == NULL)
		goto out;
	if (before->config != NULL)
		former_from_config(former, before->config, before->roster);
	else if (before->image != NULL)
		former_from_image(former, before->image);
	n = find_new(config, roster, is_known ? former : NULL, is_new);
	/* where all are new nobody has to spare anybody */
	for (size_t i = 0; i < config->n_servers; i++)
		if (is_new[i])
			health_begin(counters, counters_line(counters, roster->server_line[i]),
				     n < roster->n_managed ? clock_now_ns() : 0);

out:
	free(former);
	free(is_new);
}

void lives_undrained(struct counters *counters, uint32_t line)
{
	struct counters_line *at = counters_line(counters, line);
	const int64_t now = clock_now_ns();

	if (at != NULL && health_state(at, now) != CR_DOWN)
		health_begin(counters, at, now);
}
