/* routers_found.h - every router of the build, in every way to set it up: for tests of what all of
 * them have to keep, those to come included. */
#ifndef CR_TESTS_ROUTERS_FOUND_H
#define CR_TESTS_ROUTERS_FOUND_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define FOUND_MAX 64

/** A router with one setting of its options. */
struct found {
	char name[32], packed[96];
	bool has_rank, has_route;
	uint32_t shared_words, n_columns;
};

static struct found found[FOUND_MAX];
static size_t n_found;

/* Routers that cannot be opened without options. */
static const struct {
	const char *name, *packed;
} found_must[] = {
	{ "sorted", "order_by=-jvm_heap_free_bytes\n" },
};

/* Options that make another router of one; the words of choices are tried without being named. */
static const char *const found_may[] = { "bound=1.25", "failure_calls=50", "hosts=3" };

static inline void found_add(const struct cr_router *router, const char *name, const char *value)
{
	struct found *one = &found[n_found];
	const char *must = "";

	cr_assert_lt(n_found, FOUND_MAX);
	n_found++;
	for (size_t i = 0; i < sizeof found_must / sizeof *found_must; i++)
		if (strcmp(found_must[i].name, router->name) == 0)
			must = found_must[i].packed;
	*one = (struct found){ .has_rank = router->rank != NULL,
			       .has_route = router->route != NULL,
			       .shared_words = router->shared_words,
			       .n_columns = (uint32_t)plugin_count(router->columns) };
	(void)snprintf(one->name, sizeof one->name, "%s", router->name);
	if (name == NULL)
		(void)snprintf(one->packed, sizeof one->packed, "%s", must);
	else
		(void)snprintf(one->packed, sizeof one->packed, "%s%s=%s\n", must, name, value);
}

static inline void found_add_option(const struct cr_router *router, const struct cr_option *option)
{
	const size_t len = strlen(option->name);

	for (size_t i = 0; option->choices != NULL && option->choices[i] != NULL; i++)
		if (option->preset == NULL || strcmp(option->choices[i], option->preset) != 0)
			found_add(router, option->name, option->choices[i]);
	for (size_t i = 0; i < sizeof found_may / sizeof *found_may; i++)
		if (strncmp(found_may[i], option->name, len) == 0 && found_may[i][len] == '=')
			found_add(router, option->name, found_may[i] + len + 1);
}

static inline void found_look_at(const char *file)
{
	struct plugin *plugin;
	struct err err = { 0 };
	char path[4096];

	(void)snprintf(path, sizeof path, "%s/%s", PLUGINS_DIR, file);
	cr_assert_eq(plugin_open(path, NULL, &plugin, &err), 0, "%s", err.text);
	if (plugin->kind == PLUGIN_ROUTER) {
		const struct cr_option *option = plugin->router.options;

		found_add(&plugin->router, NULL, NULL);
		for (; option != NULL && option->name != NULL; option++)
			found_add_option(&plugin->router, option);
	}
	plugin_close(plugin);
}

static inline int found_is_plugin(const struct dirent *entry)
{
	const size_t len = strlen(entry->d_name);

	return len > 3 && strcmp(entry->d_name + len - 3, ".so") == 0;
}

/** Fill found[] with all that lie in the build's plugins.d. */
static inline void find_routers(void)
{
	struct dirent **entry;
	const int n = scandir(PLUGINS_DIR, &entry, found_is_plugin, alphasort);

	cr_assert_gt(n, 0, "%s", PLUGINS_DIR);
	n_found = 0;
	for (int i = 0; i < n; i++) {
		found_look_at(entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
}

#endif
