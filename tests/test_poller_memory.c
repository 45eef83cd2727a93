/* test_poller_memory.c - a change of what is polled when memory runs out, at each of main's
 * allocations: the sources before go on. */
#include <criterion/criterion.h>

#include "lab/failing_memory.h"
#include "poller_scene.h"

/** It still polls. */
static void expect_alive(const char *name)
{
	const int before = fake_starts(name);

	SCENE_UNTIL(fake_starts(name) >= before + 2);
	cr_expect_geq(fake_starts(name), before + 2, "%s is not polled", name);
}

/** Another interval, timeout, and number of servers than before. */
static void change(struct scene *scene)
{
	const bool is_odd = scene->config.n_servers == 3;

	scene->source[0].interval_ns = is_odd ? 12 * CLOCK_MS : 10 * CLOCK_MS;
	scene->source[1].timeout_ns = is_odd ? 6 * CLOCK_MS : 5 * CLOCK_MS;
	scene->config.n_servers = is_odd ? 2 : 3;
	for (size_t i = 0; i < scene->config.n_sources; i++)
		scene->source[i].n_servers = scene->config.n_servers;
}

/** Change with the n-th allocation failing, then without; false: there are not so many. */
static bool survives(struct scene *scene, size_t n)
{
	struct err err = { 0 };
	bool has_failed;
	int rc;

	change(scene);
	n_until_failure = n;
	rc = scene_apply(scene, &err);
	has_failed = n_until_failure == 0;
	n_until_failure = 0;
	cr_expect_eq(rc < 0, has_failed, "%zu: %s", n, err.text);
	expect_alive("s0");
	expect_alive("two");
	cr_assert_eq(scene_apply(scene, &err), 0, "%zu: %s", n, err.text);
	return has_failed;
}

Test(poller_memory, that_is_missing_leaves_the_sources_before, .timeout = 100)
{
	struct scene *scene = scene_new(3);
	struct err err = { 0 };
	size_t n = 1;

	scene_source(scene, "wls", "fake", "good:${name}", 10 * CLOCK_MS, 5 * CLOCK_MS);
	scene_source(scene, "two", "other", "rows:s0,s1", 10 * CLOCK_MS, 5 * CLOCK_MS);
	cr_assert_eq(scene_apply(scene, &err), 0, "%s", err.text);
	while (survives(scene, n))
		n++;
	cr_expect_gt(n, 40u);
	scene_free(scene);
}
