/* lives_scene.h - servers of a configuration with their lines in a counters file, for the tests of
 * what the daemon does for health. */
#ifndef CR_TESTS_LIVES_SCENE_H
#define CR_TESTS_LIVES_SCENE_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble.h"
#include "clock.h"
#include "counters.h"
#include "health.h"
#include "shared_files.h"

#define SCENE_SERVERS 4

/** Up to four servers, all in both services; ms1 is the first. */
struct lives_scene {
	struct folder folder;
	struct counters *counters;
	struct roster *roster;
	struct config config;
	struct config_server server[SCENE_SERVERS];
	struct config_service service[2];
	size_t members[SCENE_SERVERS];
	char name[SCENE_SERVERS][16], address[SCENE_SERVERS][64], host[SCENE_SERVERS][64];
	char port[SCENE_SERVERS][8];
};

static inline void scene_address(struct lives_scene *scene, size_t i, const char *host, int port)
{
	(void)snprintf(scene->host[i], sizeof scene->host[i], "%s", host);
	(void)snprintf(scene->port[i], sizeof scene->port[i], "%d", port);
	(void)snprintf(scene->address[i], sizeof scene->address[i], "%.40s:%d", host, port);
}

static inline void scene_name(struct lives_scene *scene, size_t i, const char *name)
{
	(void)snprintf(scene->name[i], sizeof scene->name[i], "%s", name);
}

/* Make the roster that belongs to the configuration as it is now. */
static inline struct roster *scene_roster(const struct lives_scene *scene,
					  const struct roster *before)
{
	struct err err = { 0 };
	struct roster *roster = roster_new(&scene->config, scene->counters, before, &err);

	cr_assert_not_null(roster, "%s", err.text);
	return roster;
}

static inline void scene_open(struct lives_scene *scene, size_t n_servers)
{
	struct err err = { 0 };

	*scene = (struct lives_scene){ .folder = folder_make() };
	cr_assert_eq(counters_create(scene->folder.path, (gid_t)-1, &scene->counters, &err), 0);
	for (size_t i = 0; i < SCENE_SERVERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "ms%zu", i + 1);
		scene_name(scene, i, name);
		scene_address(scene, i, "127.0.0.1", 7101 + (int)i);
		scene->members[i] = i;
		scene->server[i] = (struct config_server){ .name = scene->name[i],
							   .address = scene->address[i],
							   .host = scene->host[i],
							   .port = scene->port[i],
							   .weight = 1 };
	}
	for (size_t i = 0; i < 2; i++)
		scene->service[i] =
			(struct config_service){ .name = strdup(i == 0 ? "orders" : "stock"),
						 .health = { .failures = 10 },
						 .servers = scene->members,
						 .n_servers = n_servers };
	scene->config = (struct config){ .servers = scene->server,
					 .n_servers = n_servers,
					 .services = scene->service,
					 .n_services = 1 };
	scene->roster = scene_roster(scene, NULL);
}

static inline void scene_close(struct lives_scene *scene)
{
	roster_free(scene->roster);
	counters_close(scene->counters);
	folder_remove(&scene->folder);
	free(scene->service[0].name);
	free(scene->service[1].name);
}

static inline struct counters_line *scene_line(const struct lives_scene *scene, size_t i)
{
	return counters_line(scene->counters, scene->roster->server_line[i]);
}

static inline enum cr_state scene_state(const struct lives_scene *scene, size_t i)
{
	return health_state(scene_line(scene, i), clock_now_ns());
}

#endif
