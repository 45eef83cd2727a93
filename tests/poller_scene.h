/* poller_scene.h - configurations made by hand, and bounded waits, for the tests of the poller. */
#ifndef CR_TESTS_POLLER_SCENE_H
#define CR_TESTS_POLLER_SCENE_H

#include <time.h>

#include "config.h"
#include "poller_fake.h"
#include "poller_internal.h"

#define SCENE_SERVERS 256
#define SCENE_SOURCES 4

/** A configuration of servers s0, s1, ... and up to four sources; texts are borrowed. */
struct scene {
	struct servers *servers;
	struct poller *poller;
	struct plugin first, second; /* two versions of "fake" */
	struct plugin other;         /* another plugin: "other" */
	struct plugin *loaded[2];
	struct config config;
	struct config_server server[SCENE_SERVERS];
	struct config_source source[SCENE_SOURCES];
	struct config_pair target[SCENE_SERVERS]; /* a server's own, where it has one */
	size_t all[SCENE_SERVERS];
	char name[SCENE_SERVERS][24], own[SCENE_SERVERS][64];
};

static inline void scene_servers(struct scene *scene, size_t n)
{
	static char host[] = "127.0.0.1", port[] = "7101", address[] = "127.0.0.1:7101";

	for (size_t i = 0; i < n; i++) {
		snprintf(scene->name[i], sizeof scene->name[i], "s%u", (unsigned)i);
		scene->all[i] = i;
		scene->server[i] = (struct config_server){ .name = scene->name[i],
							   .address = address,
							   .host = host,
							   .port = port,
							   .weight = 1 };
	}
	scene->config.servers = scene->server;
	scene->config.n_servers = n;
	scene->config.sources = scene->source;
}

static inline void scene_source(struct scene *scene, const char *name, const char *plugin,
				const char *target, int64_t interval_ns, int64_t timeout_ns)
{
	scene->source[scene->config.n_sources++] =
		(struct config_source){ .name = (char *)name,
					.plugin = (char *)plugin,
					.target = (char *)target,
					.interval_ns = interval_ns,
					.timeout_ns = timeout_ns,
					.servers = scene->all,
					.n_servers = scene->config.n_servers };
}

/** Server i has a target of its own for that source. */
static inline void scene_target(struct scene *scene, size_t i, const char *source,
				const char *target)
{
	snprintf(scene->own[i], sizeof scene->own[i], "%s", target);
	scene->target[i] = (struct config_pair){ .name = (char *)source, .value = scene->own[i] };
	scene->server[i].targets = scene->target + i;
	scene->server[i].n_targets = 1;
}

static inline int scene_apply(struct scene *scene, struct err *err)
{
	const int rc = poller_apply(scene->poller, &scene->config, scene->loaded, 2, err);

	return rc < 0 ? rc : servers_configure(scene->servers, &scene->config, err);
}

static inline struct scene *scene_new(size_t n_servers)
{
	struct scene *scene = calloc(1, sizeof *scene);

	sem_init(&fake.gate, 0, 0);
	scene->servers = servers_new(NULL);
	scene->poller = poller_new(scene->servers);
	scene->first = fake_plugin("fake", false);
	scene->second = fake_plugin("fake", true);
	scene->other = fake_plugin("other", false);
	scene->loaded[0] = &scene->first;
	scene->loaded[1] = &scene->other;
	scene_servers(scene, n_servers);
	return scene;
}

static inline void scene_free(struct scene *scene)
{
	poller_free(scene->poller);
	servers_free(scene->servers);
	free(scene);
}

static inline void scene_nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/** Wait for a condition, at most 20 s (a sanitizer on a busy machine). */
#define SCENE_UNTIL(condition)                                                                     \
	do {                                                                                       \
		const int64_t scene_end_ns = clock_now_ns() + 20 * CLOCK_S;                        \
                                                                                                   \
		while (!(condition) && clock_now_ns() < scene_end_ns)                              \
			scene_nap();                                                               \
	} while (0)

static inline struct poller_source scene_get(struct scene *scene, size_t i)
{
	struct poller_source source = { 0 };

	(void)poller_get(scene->poller, i, &source);
	return source;
}

static inline struct servers_entry scene_server(struct scene *scene, size_t i)
{
	struct servers_entry entry = { 0 };

	(void)servers_get(scene->servers, i, &entry);
	return entry;
}

static inline double scene_value(struct scene *scene, size_t i, const char *metric)
{
	const int index = servers_metric(scene->servers, metric);

	return scene_server(scene, i).value[index];
}

#endif
