/* ranker_scene.h - rankers as real processes, and what they tell: for test programs that are their
 * own rankers. */
#ifndef CR_TESTS_RANKER_SCENE_H
#define CR_TESTS_RANKER_SCENE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <event2/event.h>

#include "clock.h"
#include "ranker.h"
#include "shared_files.h"

#define ACTS TEST_PLUGINS_DIR "/acts.so"

static struct event_base *base;
static struct image_header *image;

/* What a ranker told, in order. */
static struct {
	enum ranker_event event[8];
	size_t n;
	struct err err;
} told;

static inline void set_up(void)
{
	/* Criterion's mark on processes of its own: our rankers would be taken for such. */
	unsetenv("BXFI_MAP");
	base = event_base_new();
	cr_assert(base != NULL);
	image = sample_image(0);
}

static inline size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	cr_assert(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* The process id of our one child, 0 without any. */
static inline pid_t child(void)
{
	char text[64] = "";
	FILE *file = fopen("/proc/thread-self/children", "r");

	cr_assert(file != NULL);
	if (fgets(text, sizeof text, file) == NULL)
		text[0] = '\0';
	(void)fclose(file);
	return (pid_t)strtol(text, NULL, 10);
}

static inline void tear_down(void)
{
	cr_expect_eq(child(), 0, "a ranker is left behind");
	free(image);
	event_base_free(base);
}

static inline void heard(void *arg, struct ranker *ranker, enum ranker_event event,
			 const struct err *err)
{
	(void)arg;
	(void)ranker;
	cr_assert_lt(told.n, 8u);
	told.event[told.n++] = event;
	if (err != NULL)
		told.err = *err;
}

static inline struct ranker *start_with(const char *options, const void *saved, size_t saved_len)
{
	const struct ranker_load load = { .path = ACTS,
					  .plugin = "acts",
					  .service = "orders",
					  .options = options,
					  .saved = saved,
					  .saved_len = saved_len };
	struct err err = { 0 };
	struct ranker *ranker = ranker_start(base, &load, heard, NULL, &err);

	cr_assert(ranker != NULL, "%s", err.text);
	told.n = 0;
	return ranker;
}

static inline struct ranker *start(const char *options)
{
	return start_with(options, NULL, 0);
}

static inline void stop_waiting(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

/* Turn the loop until it has told n times; at most 10 s. */
static inline void wait_for(size_t n)
{
	const struct timeval limit = { .tv_sec = 10 };
	struct event *timer = evtimer_new(base, stop_waiting, base);
	const int64_t until = clock_now_ns() + 10 * CLOCK_S;

	evtimer_add(timer, &limit);
	while (told.n < n && clock_now_ns() < until)
		event_base_loop(base, EVLOOP_ONCE);
	event_free(timer);
	cr_assert_geq(told.n, n);
}

static inline void rank(struct ranker *ranker)
{
	told.n = 0;
	ranker_rank(ranker, image, 0);
}

static inline void expect_death(struct ranker *ranker, int code, const char *text)
{
	wait_for(1);
	cr_assert_eq(told.event[told.n - 1], RANKER_DEAD);
	cr_expect_eq(told.err.code, code, "%d: %s", told.err.code, told.err.text);
	cr_expect_str_eq(told.err.text, text);
	cr_expect(!ranker_is_busy(ranker));
	ranker_free(ranker);
}

/* Criterion has the main(): glibc hands its arguments to constructors, too. */
__attribute__((constructor)) static void be_a_ranker(int argc, char **argv)
{
	if (ranker_is_me(argc, argv))
		_exit(ranker_main(argc, argv));
}

#endif
