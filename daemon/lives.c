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

static bool has_health(const struct config_service *service)
{
	const struct config_health *health = &service->health;

	return health->aside_ns > 0 || health->failures > 0 || health->slow_start_ns > 0;
}

/* Nobody would ever try them, and status would say that they are on trial for ever. */
static void open_unruled(struct counters *counters, const struct config *config,
			 const struct roster *roster, bool *is_ruled)
{
	const int64_t now = clock_now_ns();

	memset(is_ruled, 0, config->n_servers * sizeof *is_ruled);
	for (size_t i = 0; i < config->n_services; i++)
		for (size_t k = 0;
		     has_health(&config->services[i]) && k < config->services[i].n_servers; k++)
			is_ruled[config->services[i].servers[k]] = true;
	for (size_t i = 0; i < config->n_servers; i++) {
		struct counters_line *line = counters_line(counters, roster->server_line[i]);
		const bool is_managed = !config->servers[i].is_admin;
		const enum cr_state state = is_managed ? health_state(line, now) : CR_UP;

		if (!is_ruled[i] && state != CR_UP && state != CR_DOWN)
			health_restore(counters, line, now);
	}
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
	open_unruled(counters, config, roster, is_new);

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
