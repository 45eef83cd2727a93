/*
 * daemon_scene.h - the middle of the daemon, put together by hand: a configuration of four servers
 * (one of them the admin server) and three services, counters, metrics, seats with fake rankers.
 */
#ifndef CR_TESTS_DAEMON_SCENE_H
#define CR_TESTS_DAEMON_SCENE_H

#include <errno.h>
#include <math.h>

#include <criterion/criterion.h>

#include "assemble.h"
#include "clock.h"
#include "fake_ranker.h"
#include "shared_files.h"

/* clang-format off */
static char free_bytes[] = "jvm_heap_free_bytes";
static char *needs_free[] = { free_bytes, NULL };

static struct config_server scene_servers[] = {
	{ .name = (char[]){ "admin" }, .address = (char[]){ "127.0.0.1:7001" }, .is_admin = true, .weight = 1 },
	{ .name = (char[]){ "ms1" }, .address = (char[]){ "127.0.0.1:7101" }, .weight = 5 },
	{ .name = (char[]){ "ms2" }, .address = (char[]){ "127.0.0.1:7102" }, .weight = 1 },
	{ .name = (char[]){ "ms3" }, .address = (char[]){ "127.0.0.1:7103" }, .weight = 1 },
};
static struct config_pair scene_options[] = { { .name = (char[]){ "share" }, .value = (char[]){ "2" } } };
static struct config_service scene_services[] = {
	{ .name = (char[]){ "orders" }, .servers = (size_t[]){ 1, 2, 3 }, .n_servers = 3,
	  .router = { .plugin = (char[]){ "most" }, .options = scene_options, .n_options = 1 },
	  .preset = { .plugin = (char[]){ "turns" } }, .stale_after_ns = 10 * CLOCK_S },
	{ .name = (char[]){ "stock" }, .servers = (size_t[]){ 3, 1 }, .n_servers = 2,
	  .preset = { .plugin = (char[]){ "turns" } }, .stale_after_ns = 2 * CLOCK_S },
	{ .name = (char[]){ "news" }, .servers = (size_t[]){ 2 }, .n_servers = 1,
	  .router = { .plugin = (char[]){ "most" } },
	  .preset = { .plugin = (char[]){ "turns" } }, .stale_after_ns = 10 * CLOCK_S },
};
static struct config scene_config = {
	.cluster = (char[]){ "tests" },
	.servers = scene_servers, .n_servers = 4,
	.services = scene_services, .n_services = 3,
};
/* clang-format on */

/** Seats of the scene, by number. */
enum { ORDERS_ROUTER, ORDERS_DEFAULT, STOCK_ROUTER, STOCK_DEFAULT, NEWS_ROUTER, NEWS_DEFAULT };

struct daemon_scene {
	struct folder folder;
	struct counters *counters;
	struct servers *servers;
	struct roster *roster;
	struct seats *seats;
	struct seats_context context;
	struct generation *most, *turns; /* a router that needs free heap, a default with route() */
	int64_t now_ns;
	/* what scene_heard() was told of last */
	struct sitter *sitter;
	enum ranker_event event;
};

static inline void scene_heard(void *arg, struct sitter *sitter, enum ranker_event event,
			       const struct err *err)
{
	struct daemon_scene *scene = arg;

	(void)err;
	scene->sitter = sitter;
	scene->event = event;
}

static inline struct generation *scene_generation(const char *plugin, uint64_t seq,
						  const struct ranker_facts *facts)
{
	struct generation *generation = calloc(1, sizeof *generation);

	cr_assert(generation != NULL);
	generation->facts = malloc(sizeof *facts);
	cr_assert(generation->facts != NULL);
	*generation->facts = *facts;
	generation->seq = seq;
	generation->refs = 1;
	(void)snprintf(generation->plugin, sizeof generation->plugin, "%s", plugin);
	cr_assert(asprintf(&generation->path, "/state/plugins/%s.%d.so", plugin, (int)seq) > 0);
	return generation;
}

static inline void daemon_scene_open(struct daemon_scene *scene)
{
	const struct ranker_facts most = {
		.version = "1.0", .flags = IMAGE_HAS_RANK, .state_tag = 1, .needs = needs_free
	};
	const struct ranker_facts turns = { .version = "2.1",
					    .flags = IMAGE_HAS_RANK | IMAGE_HAS_ROUTE,
					    .shared_words = 1 };
	struct err err = { 0 };

	*scene = (struct daemon_scene){ .folder = folder_make(), .now_ns = 1000 * CLOCK_S };
	scene->context = (struct seats_context){ .event = scene_heard, .arg = scene };
	cr_assert_eq(counters_create(scene->folder.path, (gid_t)-1, &scene->counters, &err), 0);
	scene->servers = servers_new(NULL);
	cr_assert(scene->servers != NULL);
	cr_assert_eq(servers_configure(scene->servers, &scene_config, &err), 0);
	scene->roster = roster_new(&scene_config, scene->counters, NULL, &err);
	cr_assert(scene->roster != NULL);
	scene->seats = seats_new(&scene_config, &scene->context);
	cr_assert(scene->seats != NULL);
	scene->most = scene_generation("most", 7, &most);
	scene->turns = scene_generation("turns", 8, &turns);
}

static inline void daemon_scene_close(struct daemon_scene *scene)
{
	seats_free(scene->seats);
	generation_drop(scene->most);
	generation_drop(scene->turns);
	roster_free(scene->roster);
	servers_free(scene->servers);
	counters_close(scene->counters);
	folder_remove(&scene->folder);
	cr_expect_eq(fake_rankers, 0u);
}

/** Put a sitter with a fake ranker into office. */
static inline struct sitter *scene_seat(struct daemon_scene *scene, size_t seat,
					struct generation *generation)
{
	struct seat *at = &scene->seats->seat[seat];
	struct err err = { 0 };

	at->now = sitter_new(at, generation, NULL, seat_bank(at), NULL);
	cr_assert(at->now != NULL);
	cr_assert_eq(sitter_start(at->now, &err), 0);
	return at->now;
}

static inline void scene_seat_all(struct daemon_scene *scene)
{
	scene_seat(scene, ORDERS_ROUTER, scene->most);
	scene_seat(scene, NEWS_ROUTER, scene->most);
	for (size_t i = ORDERS_DEFAULT; i <= NEWS_DEFAULT; i += 2)
		scene_seat(scene, i, scene->turns);
}

static inline void scene_put(struct daemon_scene *scene, const char *server, double value,
			     int64_t taken_ns)
{
	const int metric = servers_metric(scene->servers, "jvm_heap_free_bytes");

	cr_assert_eq(servers_put(scene->servers, server, metric, value, taken_ns), 0);
}

#endif
