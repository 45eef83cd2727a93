/* roster.c - lines in the counters file for the servers and services of a configuration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assemble.h"

void roster_free(struct roster *roster)
{
	if (roster == NULL)
		return;
	free(roster->server_line);
	free(roster->service_line);
	free(roster->index);
	free(roster);
}

/* kept begins as the lines of the roster before: data planes still have its last image. Those of
 * names that have a line already join them, before anybody new is given one. */
static void roster_keep(struct roster *roster, const struct config *config,
			const struct counters *counters, const struct roster *before)
{
	if (before != NULL) {
		memcpy(roster->kept, before->own, sizeof roster->kept);
		memcpy(roster->service_kept, before->service_own, sizeof roster->service_kept);
	}
	for (size_t i = 0; i < config->n_servers; i++) {
		const int line = counters_find_line(counters, config->servers[i].name);

		if (line >= 0)
			roster->kept[line] = roster->known[line] = true;
	}
	for (size_t i = 0; i < config->n_services; i++) {
		const int line = counters_find_service(counters, config->services[i].name);

		if (line >= 0)
			roster->service_kept[line] = true;
	}
}

static int roster_fill_servers(struct roster *roster, const struct config *config,
			       struct counters *counters, struct err *err)
{
	for (size_t i = 0; i < config->n_servers; i++) {
		int line;

		roster->index[i] = IMAGE_NONE;
		if (config->servers[i].is_admin)
			continue;
		line = counters_line_of(counters, config->servers[i].name, roster->kept);
		if (line < 0)
			return err_set(err, line,
				       "no line in the counters file is left for server %s",
				       config->servers[i].name);
		roster->server_line[i] = (uint32_t)line;
		roster->own[line] = roster->kept[line] = true;
		roster->index[i] = roster->n_managed++;
	}
	return 0;
}

static int roster_fill_services(struct roster *roster, const struct config *config,
				struct counters *counters, struct err *err)
{
	for (size_t i = 0; i < config->n_services; i++) {
		const int line = counters_service_of(counters, config->services[i].name,
						     roster->service_kept);

		if (line < 0)
			return err_set(err, line,
				       "no line in the counters file is left for service %s",
				       config->services[i].name);
		roster->service_line[i] = (uint32_t)line;
		roster->service_own[line] = roster->service_kept[line] = true;
	}
	return 0;
}

struct roster *roster_new(const struct config *config, struct counters *counters,
			  const struct roster *before, struct err *err)
{
	struct roster *roster = calloc(1, sizeof *roster);

	if (roster == NULL) {
		err_set(err, -ENOMEM, "no memory for the roster");
		return NULL;
	}
	roster->server_line = calloc(config->n_servers + 1, sizeof *roster->server_line);
	roster->service_line = calloc(config->n_services + 1, sizeof *roster->service_line);
	roster->index = calloc(config->n_servers + 1, sizeof *roster->index);
	if (roster->server_line == NULL || roster->service_line == NULL || roster->index == NULL) {
		err_set(err, -ENOMEM, "no memory for the roster");
		roster_free(roster);
		return NULL;
	}
	roster_keep(roster, config, counters, before);
	if (roster_fill_servers(roster, config, counters, err) == 0 &&
	    roster_fill_services(roster, config, counters, err) == 0)
		return roster;
	roster_free(roster);
	return NULL;
}
