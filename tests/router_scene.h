/* router_scene.h - a view made by hand and a built router to ask: for the tests of routers. */
#ifndef CR_TESTS_ROUTER_SCENE_H
#define CR_TESTS_ROUTER_SCENE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plugin.h"

#define ROWS    8
#define METRICS 64 /* as many as an image may have */
#define UNKNOWN ((double)NAN)
#define GIB     (1024.0 * 1024 * 1024)

/* One service's view, all of it writable. */
static struct {
	struct cr_view view;
	double value[METRICS][ROWS];
	const double *metric[METRICS];
	struct cr_live live[ROWS];
	const struct cr_live *live_of[ROWS];
	uint32_t weight[ROWS], id[ROWS];
	uint64_t shared[1];
	double column[1][ROWS];
} scene;

static struct plugin *plugin;
static struct plugin_instance instance;
static const void *prepared; /* what the view has */
static struct err err;

/* A view of n servers of which nothing is known. */
static inline void set_scene(size_t n)
{
	static const char *const names[ROWS] = { "ms1", "ms2", "ms3", "ms4",
						 "ms5", "ms6", "ms7", "ms8" };

	memset(&scene, 0, sizeof scene);
	for (size_t k = 0; k < METRICS; k++) {
		scene.metric[k] = scene.value[k];
		for (size_t i = 0; i < ROWS; i++)
			scene.value[k][i] = UNKNOWN;
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		scene.live_of[i] = &scene.live[i];
		scene.weight[i] = 1;
		scene.id[i] = i;
	}
	scene.view = (struct cr_view){ .n = n,
				       .name = names,
				       .id = scene.id,
				       .weight = scene.weight,
				       .metric = scene.metric,
				       .live = scene.live_of,
				       .shared = scene.shared };
}

static inline void load_from(const char *folder, const char *name, const char *packed)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s.so", folder, name);
	cr_assert_eq(plugin_open(path, name, &plugin, &err), 0, "%s", err.text);
	cr_assert_eq(plugin_instance_open(plugin, NULL, "orders", packed, NULL, 0, &instance, &err),
		     0, "%s", err.text);
}

static inline void load(const char *name, const char *packed)
{
	load_from(PLUGINS_DIR, name, packed);
}

/* What the host does with a new view. */
static inline void prepare(struct cr_view *view)
{
	const void *before = prepared;

	if (plugin->router.prepare == NULL)
		return;
	cr_assert_geq(plugin->router.prepare(instance.self, view, before, &prepared), 0);
	if (prepared != before && before != NULL)
		plugin->router.release(instance.self, (void *)before);
	view->prepared = prepared;
}

static inline void unload(void)
{
	if (prepared != NULL)
		plugin->router.release(instance.self, (void *)prepared);
	prepared = NULL;
	plugin_instance_close(&instance);
	plugin_close(plugin);
}

#endif
