/* bench_publish.c - what keeping data planes up to date costs: cr_refresh(), publishing. */
#include <stdlib.h>

#include "bench.h"
#include "clock.h"

#define SIZES 3
#define LOOKS 32 /* refreshes without news between two looks at the clock */

static const unsigned sizes[SIZES] = { 8, 64, 1000 };

/** One service with a ranked router, and one process that follows. */
struct place_of_news {
	struct bench_stage stage;
	struct image_header *image;
	struct cr *cr;
};

struct bench_publish {
	struct place_of_news place[SIZES];
};

static struct place_of_news *place_of(const struct bench_subject *subject)
{
	return &((struct bench_publish *)subject->scene)->place[subject->number];
}

static int64_t run_refresh_idle(const struct bench_subject *subject, unsigned index, unsigned n)
{
	struct place_of_news *place = place_of(subject);
	int64_t start;

	(void)index;
	cr_refresh(place->cr);
	start = clock_now_ns();
	for (unsigned i = 0; i < n; i++)
		if (cr_refresh(place->cr) != 0)
			bench_die("a refresh found news where there is none");
	return clock_now_ns() - start;
}

static int64_t run_refresh_news(const struct bench_subject *subject, unsigned index, unsigned n)
{
	struct place_of_news *place = place_of(subject);
	int64_t spent = 0;

	(void)index;
	for (unsigned i = 0; i < n; i++) {
		int64_t start;

		bench_stage_publish(&place->stage, place->image);
		start = clock_now_ns();
		if (cr_refresh(place->cr) != 1)
			bench_die("a refresh did not find what was published");
		spent += clock_now_ns() - start;
	}
	return spent;
}

static int64_t run_publish(const struct bench_subject *subject, unsigned index, unsigned n)
{
	struct place_of_news *place = place_of(subject);
	const int64_t start = clock_now_ns();

	(void)index;
	for (unsigned i = 0; i < n; i++)
		bench_stage_publish(&place->stage, place->image);
	return clock_now_ns() - start;
}

static int64_t run_assemble(const struct bench_subject *subject, unsigned index, unsigned n)
{
	struct place_of_news *place = place_of(subject);
	const int64_t start = clock_now_ns();

	(void)index;
	for (unsigned i = 0; i < n; i++) {
		struct image_header *image = bench_stage_assemble(&place->stage);

		bench_stage_publish(&place->stage, image);
		free(image);
	}
	return clock_now_ns() - start;
}

static void place_add(struct bench_publish *publish, int at, struct bench_list *list)
{
	static const struct {
		const char *what, *variant;
		unsigned batch;
		bench_fn *run;
	} subjects[] = {
		{ "cr_refresh", "nothing new", LOOKS, run_refresh_idle },
		{ "cr_refresh", "something new", 1, run_refresh_news },
		{ "snapshot_publish", "alone", 1, run_publish },
		{ "snapshot_publish", "with assemble", 1, run_assemble },
	};

	for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
		bench_add(list, &(struct bench_subject){ .what = subjects[i].what,
							 .variant = subjects[i].variant,
							 .servers = sizes[at],
							 .batch = subjects[i].batch,
							 .threads_max = 1,
							 .run = subjects[i].run,
							 .scene = publish,
							 .number = at });
}

struct bench_publish *bench_publish_new(struct bench_list *list)
{
	struct bench_publish *publish = calloc(1, sizeof *publish);

	if (publish == NULL)
		bench_die("no memory");
	for (int i = 0; i < SIZES; i++) {
		struct place_of_news *place = &publish->place[i];
		const struct bench_service service = { "orders", sizes[i], "heap_free", NULL };

		bench_stage_open(&place->stage, sizes[i], &service, 1);
		place->image = bench_stage_assemble(&place->stage);
		bench_stage_publish(&place->stage, place->image);
		place->cr = bench_stage_attach(&place->stage);
		place_add(publish, i, list);
	}
	return publish;
}

void bench_publish_free(struct bench_publish *publish)
{
	for (int i = 0; i < SIZES; i++) {
		cr_detach(publish->place[i].cr);
		free(publish->place[i].image);
		bench_stage_close(&publish->place[i].stage);
	}
	free(publish);
}
