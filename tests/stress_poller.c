/* stress_poller.c - applies, replaces, puts and reads at once, for ThreadSanitizer. */
#include <stdatomic.h>

#include "poller_scene.h"

#define RUN_NS (2 * CLOCK_S)

static atomic_bool is_over;

/** What an application's own thread could do. */
static void *put(void *arg)
{
	struct scene *scene = arg;
	const int metric = servers_metric(scene->servers, "jvm_heap_used_bytes");
	char name[16];

	for (unsigned i = 0; !atomic_load(&is_over); i++) {
		snprintf(name, sizeof name, "s%u", i % 40);
		(void)servers_put(scene->servers, name, metric, (double)i, 0);
		servers_polled(scene->servers, "wls", name,
			       i % 3 == 0 ? "wls: timeout: late" : NULL);
		if (i % 1000 == 0)
			servers_skip(scene->servers, name, "an administration server");
	}
	return NULL;
}

/** The main loop's reading. */
static bool read_all(struct scene *scene)
{
	struct servers_entry entry;
	struct poller_source source;
	uint64_t done;

	servers_clear(scene->servers);
	for (size_t i = 0; servers_get(scene->servers, i, &entry); i++)
		if (entry.value[1] < 0)
			return false;
	for (size_t i = 0; poller_get(scene->poller, i, &source); i++) {
		done = source.good;
		for (size_t k = 0; k < 8; k++)
			done += source.failed[k];
		if (done != source.polls || source.in_flight > 1000000)
			return false;
	}
	return true;
}

/** One change after another, each different from the one before. */
static int change(struct scene *scene, unsigned i, struct err *err)
{
	scene->config.n_sources = i % 5 == 0 ? 2 : 4;
	scene->source[0].interval_ns = i % 3 == 0 ? 10 * CLOCK_MS : 15 * CLOCK_MS;
	scene->source[2].plugin = i % 7 == 0 ? (char *)"other" : (char *)"fake";
	fake_set(&fake.open_error, i % 11 == 0 ? -EACCES : 0);
	if (i % 4 == 3)
		return poller_replace(scene->poller, i % 8 == 3 ? &scene->second : &scene->first,
				      err);
	return scene_apply(scene, err);
}

int main(void)
{
	struct scene *scene = scene_new(40);
	const int64_t end_ns = clock_now_ns() + RUN_NS;
	pthread_t thread;
	unsigned i = 0, refused = 0;
	bool is_good = true;
	struct err err = { 0 };

	fake.slow_ns = 3 * CLOCK_MS;
	scene_source(scene, "wls", "fake", "good:${name}", 10 * CLOCK_MS, 5 * CLOCK_MS);
	scene_source(scene, "jvm", "other", "slow:${name}", 20 * CLOCK_MS, 10 * CLOCK_MS);
	scene_source(scene, "agent", "fake", "rows:s0,s1,s2", 10 * CLOCK_MS, 5 * CLOCK_MS);
	scene_source(scene, "dead", "fake", "fail:${name}", 10 * CLOCK_MS, 5 * CLOCK_MS);
	scene_target(scene, 3, "wls", "silent:");
	scene_target(scene, 4, "wls", "event:");
	(void)servers_configure(scene->servers, &scene->config, NULL);
	pthread_create(&thread, NULL, put, scene);
	for (; is_good && clock_now_ns() < end_ns; i++) {
		const int rc = change(scene, i, &err);

		refused += rc < 0;
		is_good = (rc == 0 || rc == -EACCES) && read_all(scene);
		scene_nap();
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	scene_free(scene);
	printf("%u changes, %u refused, %d instances opened, %d closed\n", i, refused, fake.opens,
	       fake.closes);
	if (!is_good)
		printf("last error: %s\n", err.text);
	return is_good && refused > 0 && fake.opens == fake.closes ? 0 : 1;
}
