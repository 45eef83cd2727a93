/* test_poller_log.c - a rack goes down and comes back: what the log is told of its targets. */
#include <criterion/criterion.h>

#include "kept_log.h"
#include "poller_scene.h"

#define FAILS "target fails, polled less often from now on source=wls target="
#define AGAIN "target answers again source=wls target="
#define MORE                                                                                       \
	"more targets fail source=wls more=10 failing=30 targets=30: callrouterctl status counts "
#define SECOND CLOCK_S

static int count_logged(const char *words)
{
	int n = 0;

	for (const char *at = logged; (at = strstr(at, words)) != NULL; at++)
		n++;
	return n;
}

/** A source "wls" of s0, s1, ... that no thread has. */
static struct source *make(struct scene *scene, const char *target)
{
	struct err err = { 0 };
	struct source *source;

	scene_source(scene, "wls", "fake", target, 100 * SECOND, SECOND);
	source = poller_source_new(scene->poller, &scene->config, scene->source, &scene->first,
				   &err);
	cr_assert_not_null(source, "%s", err.text);
	return source;
}

Test(poller_lines, are_written_twenty_times_a_minute_and_counted_beyond_that)
{
	const int64_t begin_ns = 1000 * SECOND;
	struct poller_lines lines = { 0 };

	for (int i = 0; i < POLLER_LINES; i++)
		cr_expect(poller_log_take(&lines, begin_ns + i * SECOND), "line %d", i);
	cr_expect_eq(poller_log_others(&lines, begin_ns + 29 * SECOND), 0);
	for (int i = 0; i < 3; i++)
		cr_expect_not(poller_log_take(&lines, begin_ns + 30 * SECOND + i));
	cr_expect_eq(poller_log_others(&lines, begin_ns + 40 * SECOND - 1), 0, "too early");
	cr_expect_eq(poller_log_others(&lines, begin_ns + 40 * SECOND), 3);
	cr_expect_eq(poller_log_others(&lines, begin_ns + 50 * SECOND), 0, "they are told once");
	cr_expect_not(poller_log_take(&lines, begin_ns + 60 * SECOND - 1));
	cr_expect(poller_log_take(&lines, begin_ns + 60 * SECOND), "it is another minute");
	cr_expect_eq(poller_log_others(&lines, begin_ns + 70 * SECOND), 1);
}

Test(poller_log, tells_of_a_rack_by_twenty_names_and_a_number)
{
	struct scene *scene = scene_new(30);
	struct source *source = make(scene, "fail:${name}");

	keep_log(CR_INFO);
	for (size_t i = 0; i < source->n_targets; i++) {
		source->target[i]->failures = POLLER_FAILURES;
		poller_log_change(source, source->target[i], POLLER_FAILURES - 1, "timeout: dead");
	}
	cr_expect_eq(count_logged(FAILS), 20);
	cr_expect_eq(count_logged("endpoint=fail:s0 error=\"timeout: dead\""), 1);
	poller_log_end(source);
	cr_expect_eq(count_logged(MORE), 1, "%s", logged);

	keep_log(CR_INFO);
	for (size_t i = 0; i < 25; i++) {
		source->target[i]->failures = 0;
		poller_log_change(source, source->target[i], 9, NULL);
	}
	cr_expect_eq(count_logged(AGAIN), 20);
	cr_expect_eq(count_logged("target=s0 failures=9"), 1);
	poller_log_end(source);
	cr_expect_eq(count_logged("more targets answer again source=wls more=5 failing=5 "
				  "targets=30"),
		     1, "%s", logged);
	cr_expect_eq(count_logged("more targets fail"), 0);
	poller_source_free(source);
	scene_free(scene);
}

Test(poller_log, says_nothing_of_targets_that_were_never_told_of)
{
	struct scene *scene = scene_new(1);
	struct source *source = make(scene, "good:${name}");
	struct target *target = source->target[0];

	keep_log(CR_INFO);
	target->failures = POLLER_FAILURES - 1;
	poller_log_change(source, target, POLLER_FAILURES - 2, "timeout: dead");
	target->failures = 0;
	poller_log_change(source, target, POLLER_FAILURES - 1, NULL);
	poller_log_end(source);
	cr_expect_str_eq(logged, "");
	poller_source_free(source);
	scene_free(scene);
}

/* Nothing else is due for a minute and more: the visit comes for the log alone. */
Test(poller_log, is_told_of_the_others_by_a_visit_and_asks_for_it)
{
	struct scene *scene = scene_new(30);
	struct source *source = make(scene, "silent:${name}");
	struct poll_thread thread = { .poller = scene->poller };
	const int64_t now_ns = clock_now_ns();
	struct err err = { 0 };
	int64_t wake_ns;

	keep_log(CR_WARN);
	cr_assert_eq(poller_round_open(&thread, source, &err), 0, "%s", err.text);
	poller_round_start(source, NULL, now_ns);
	for (size_t i = 0; i < source->n_targets; i++) {
		source->target[i]->due_ns = INT64_MAX;
		poller_schedule_place(&source->heap, source->target[i]);
		source->target[i]->failures = POLLER_FAILURES;
		poller_log_change(source, source->target[i], POLLER_FAILURES - 1, "dead");
	}
	wake_ns = poller_round_visit(&thread, source, now_ns);
	cr_expect_eq(wake_ns, source->fails.tell_ns);
	cr_expect_eq(count_logged("more targets fail"), 0);
	cr_expect_eq(poller_round_visit(&thread, source, wake_ns), INT64_MAX);
	cr_expect_eq(count_logged(MORE), 1, "%s", logged);
	poller_round_close(&thread, source);
	cr_expect_eq(count_logged("more targets fail"), 1, "told again");
	scene_free(scene);
}

/* Values that cannot be true at each server of a fleet, and then can again. */
Test(poller_log, lets_a_collector_say_so_many_lines_of_each_kind)
{
	struct scene *scene = scene_new(1);
	struct source *source = make(scene, "silent:${name}");

	keep_log(CR_DEBUG);
	for (int i = 0; i < POLLER_LINES + 5; i++) {
		poller_log_say(source, CR_WARN, "value left out");
		poller_log_say(source, CR_INFO, "all values are good");
		poller_log_say(source, CR_DEBUG, "an answer");
	}
	cr_expect_eq(count_logged("collector source=wls value left out"), POLLER_LINES);
	cr_expect_eq(count_logged("collector source=wls all values are good"), POLLER_LINES);
	cr_expect_eq(count_logged("collector source=wls an answer"), POLLER_LINES + 5);
	cr_expect_lt(poller_log_visit(source, clock_now_ns()), INT64_MAX);
	cr_expect_eq(count_logged("more warnings"), 0);
	cr_expect_eq(poller_log_visit(source, clock_now_ns() + 11 * SECOND), INT64_MAX);
	cr_expect_eq(count_logged("more warnings of the collector source=wls more=5: "), 1);
	cr_expect_eq(count_logged("more remarks of the collector source=wls more=5"), 1);
	poller_source_free(source);
	scene_free(scene);
}

/** A poll of the source's one target begins now. */
static void begin_poll(struct poll_thread *thread, struct source *source)
{
	source->target[0]->due_ns = 0;
	poller_schedule_place(&source->heap, source->target[0]);
	(void)poller_round_visit(thread, source, clock_now_ns());
	cr_assert(source->target[0]->is_under_way);
}

/* A poll that is under way at a reload ends at the old source: the new one has it still to learn.
 */
Test(poller_log, is_told_once_of_a_target_that_answers_in_the_middle_of_a_reload)
{
	struct scene *scene = scene_new(1);
	struct source *old = make(scene, "silent:${name}"), *next = make(scene, "silent:${name}");
	struct poll_thread thread = { .poller = scene->poller };
	struct err err = { 0 };

	keep_log(CR_INFO);
	cr_assert_eq(poller_round_open(&thread, old, &err), 0, "%s", err.text);
	cr_assert_eq(poller_round_open(&thread, next, &err), 0, "%s", err.text);
	poller_round_start(old, NULL, clock_now_ns());
	old->target[0]->failures = POLLER_FAILURES;
	poller_log_change(old, old->target[0], POLLER_FAILURES - 1, "timeout: dead");
	begin_poll(&thread, old);
	poller_round_start(next, old, clock_now_ns());
	poller_round_retire(old, next);
	cr_expect_eq(old->n_under_way, 1u, "it asks as before");
	poller_callbacks_end(old, old->target[0], 0, NULL);
	cr_expect_eq(count_logged(AGAIN), 0, "%s", logged);
	poller_round_close(&thread, old);
	begin_poll(&thread, next);
	poller_callbacks_end(next, next->target[0], 0, NULL);
	cr_expect_eq(count_logged(AGAIN), 1, "%s", logged);
	poller_round_close(&thread, next);
	scene_free(scene);
}

/* The other way round: what is not due yet is not lost when the source ends. */
Test(poller_log, is_told_of_the_others_when_their_source_ends)
{
	struct scene *scene = scene_new(30);
	struct err err = { 0 };

	keep_log(CR_WARN);
	scene_source(scene, "wls", "fake", "fail:${name}", 20 * CLOCK_MS, 10 * CLOCK_MS);
	cr_assert_eq(scene_apply(scene, &err), 0, "%s", err.text);
	SCENE_UNTIL(scene_get(scene, 0).failed[CR_CONNECT] >= 30 * 6);
	scene_free(scene);
	cr_expect_eq(count_logged(FAILS), 20);
	cr_expect_eq(count_logged(MORE), 1, "%s", logged);
}
