/* test_poller_schedule.c - when targets are polled, without a clock; and what counts as unchanged.
 */
#include <criterion/criterion.h>

#include "poller_scene.h"

Test(poller_schedule, gives_a_target_the_same_phase_for_ever)
{
	const uint64_t seed = poller_schedule_seed("wls", "ms1");

	cr_expect_eq(seed, 0xabb35296e740439bull);
	cr_expect_eq(poller_schedule_phase(seed, 2 * CLOCK_S), 1341409991);
	cr_expect_eq(poller_schedule_phase(0, 2 * CLOCK_S), 0);
	cr_expect_eq(poller_schedule_phase(UINT64_MAX, 2 * CLOCK_S), 1999999999);
	cr_expect_eq(poller_schedule_phase(1ull << 63, 2 * CLOCK_S), 1000000000);
}

Test(poller_schedule, starts_two_sources_of_a_server_at_different_times)
{
	cr_expect_eq(poller_schedule_phase(poller_schedule_seed("wls", "ms1"), 2 * CLOCK_S),
		     1341409991);
	cr_expect_eq(poller_schedule_phase(poller_schedule_seed("jvm", "ms1"), 2 * CLOCK_S),
		     1813642718);
}

Test(poller_schedule, spreads_first_starts_evenly)
{
	enum { N = 10000, BINS = 20 };
	int bin[BINS] = { 0 };
	char name[16];

	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof name, "ms%u", i);
		bin[poller_schedule_phase(poller_schedule_seed("wls", name), BINS)]++;
	}
	for (int i = 0; i < BINS; i++)
		cr_expect(bin[i] > 400 && bin[i] < 600, "%d of 500 in bin %d", bin[i], i);
}

Test(poller_schedule, backs_off_from_the_third_failure_on)
{
	static const struct {
		int64_t interval_ns;
		unsigned failures;
		int64_t expected_ns;
	} cases[] = {
		{ 2 * CLOCK_S, 0, 2 * CLOCK_S },         { 2 * CLOCK_S, 1, 2 * CLOCK_S },
		{ 2 * CLOCK_S, 2, 2 * CLOCK_S },         { 2 * CLOCK_S, 3, 4 * CLOCK_S },
		{ 2 * CLOCK_S, 4, 8 * CLOCK_S },         { 2 * CLOCK_S, 5, 16 * CLOCK_S },
		{ 2 * CLOCK_S, 6, 16 * CLOCK_S }, /* eight intervals */
		{ 2 * CLOCK_S, UINT_MAX, 16 * CLOCK_S }, { 5 * CLOCK_S, 4, 20 * CLOCK_S },
		{ 5 * CLOCK_S, 5, 30 * CLOCK_S },  /* half a minute */
		{ 60 * CLOCK_S, 9, 60 * CLOCK_S }, /* but never less than the interval */
		{ 100 * CLOCK_MS, 9, 800 * CLOCK_MS },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_expect_eq(poller_schedule_interval(cases[i].interval_ns, cases[i].failures),
			     cases[i].expected_ns, "case %zu", i);
}

Test(poller_schedule, moves_a_round_by_a_fortieth_at_most_and_repeatably)
{
	static const int64_t expected_ns[] = { 403555, -37404413, -26773882, 17370987 };
	int64_t sum_ns = 0;

	for (uint64_t i = 0; i < 4; i++)
		cr_expect_eq(poller_schedule_jitter(42, i, 2 * CLOCK_S), expected_ns[i], "%ld",
			     (long)poller_schedule_jitter(42, i, 2 * CLOCK_S));
	for (uint64_t i = 0; i < 10000; i++) {
		const int64_t jitter_ns = poller_schedule_jitter(42, i, 2 * CLOCK_S);

		cr_assert(jitter_ns >= -50000000 && jitter_ns <= 50000000);
		sum_ns += jitter_ns / 10000;
	}
	cr_expect(sum_ns > -1000000 && sum_ns < 1000000, "mean %ld", (long)sum_ns);
}

Test(poller_schedule, counts_from_the_grid_and_leaves_out_what_is_past)
{
	const int64_t jitter_ns = poller_schedule_jitter(42, 0, 2 * CLOCK_S);
	struct target target = { .seed = 42, .base_ns = 10 * CLOCK_S };

	/* Started a little late: the next start is not. */
	poller_schedule_next(&target, 2 * CLOCK_S, 10 * CLOCK_S + 300 * CLOCK_MS);
	cr_expect_eq(target.slot_ns, 12 * CLOCK_S);
	cr_expect_eq(target.due_ns, 12 * CLOCK_S + jitter_ns);
	/* The thread was held up for a minute: one start, not thirty, and at its usual place. */
	poller_schedule_next(&target, 2 * CLOCK_S, 71 * CLOCK_S);
	cr_expect_eq(target.slot_ns, 72 * CLOCK_S);
	cr_expect_eq(target.due_ns, 72 * CLOCK_S + jitter_ns);
	/* Three failures: the double, moved by no more than before. */
	target.base_ns = 70 * CLOCK_S;
	target.failures = 3;
	poller_schedule_next(&target, 2 * CLOCK_S, 70 * CLOCK_S);
	cr_expect_eq(target.due_ns, 74 * CLOCK_S + jitter_ns);
	/* A good answer: at once back to the interval, from the round that was answered. */
	target.failures = 0;
	poller_schedule_next(&target, 2 * CLOCK_S, 70 * CLOCK_S + 400 * CLOCK_MS);
	cr_expect_eq(target.due_ns, 72 * CLOCK_S + jitter_ns);
}

Test(poller_schedule, starts_in_batches_of_a_few_milliseconds)
{
	cr_expect_eq(poller_schedule_batch(10 * CLOCK_MS, 50 * CLOCK_MS), 10 * CLOCK_MS);
	cr_expect_eq(poller_schedule_batch(10 * CLOCK_MS + 1, 50 * CLOCK_MS), 11 * CLOCK_MS);
	cr_expect_eq(poller_schedule_batch(10 * CLOCK_MS, 1024 * CLOCK_MS), 10 * CLOCK_MS);
	cr_expect_eq(poller_schedule_batch(10 * CLOCK_MS + 1, 1024 * CLOCK_MS), 12 * CLOCK_MS);
	cr_expect_eq(poller_schedule_batch(10 * CLOCK_MS, 60 * CLOCK_S), 12 * CLOCK_MS);
	cr_expect_eq(poller_schedule_batch(INT64_MAX, CLOCK_S), INT64_MAX);
}

/* Virtual time: what a thread does with its targets, all answering at once. */
enum { VIRTUAL_TARGETS = 1000 };

struct virtual_thread {
	struct target target[VIRTUAL_TARGETS];
	struct target *at[VIRTUAL_TARGETS];
	struct target_heap heap;
	int64_t shortest_ns, longest_ns;
	int bin[20]; /* starts by place in the interval */
};

static struct virtual_thread *virtual_new(int64_t interval_ns)
{
	struct virtual_thread *thread = calloc(1, sizeof *thread);
	char name[16];

	thread->heap.at = thread->at;
	for (unsigned i = 0; i < VIRTUAL_TARGETS; i++) {
		struct target *const target = thread->target + i;

		snprintf(name, sizeof name, "ms%u", i);
		target->seed = poller_schedule_seed("wls", name);
		target->slot_ns = CLOCK_S + poller_schedule_phase(target->seed, interval_ns);
		target->due_ns = target->slot_ns;
		poller_schedule_push(&thread->heap, target);
	}
	thread->shortest_ns = INT64_MAX;
	return thread;
}

/** Start what is due up to until_ns, each at its time, or at from_ns if that is later. */
static void virtual_run(struct virtual_thread *thread, int64_t interval_ns, int64_t from_ns,
			int64_t until_ns)
{
	struct target *target;

	while ((target = thread->heap.at[0])->wake_ns < until_ns) {
		const int64_t now_ns = target->due_ns > from_ns ? target->due_ns : from_ns;
		const int64_t since_ns = now_ns - target->started_ns;

		thread->bin[now_ns % interval_ns * 20 / interval_ns]++;
		if (target->started_ns > 0 && since_ns < thread->shortest_ns)
			thread->shortest_ns = since_ns;
		if (target->started_ns > 0 && since_ns > thread->longest_ns)
			thread->longest_ns = since_ns;
		target->started_ns = now_ns;
		target->round++;
		target->base_ns = target->slot_ns;
		poller_schedule_next(target, interval_ns, now_ns);
		poller_schedule_place(&thread->heap, target);
	}
}

Test(poller_schedule, neither_drifts_nor_bunches_in_a_thousand_rounds)
{
	const int64_t interval_ns = 2 * CLOCK_S;
	struct virtual_thread *thread = virtual_new(interval_ns);

	virtual_run(thread, interval_ns, 0, 1001 * interval_ns);
	cr_expect_geq(thread->shortest_ns, 1900000000);
	cr_expect_leq(thread->longest_ns, 2100000000);
	for (size_t i = 0; i < VIRTUAL_TARGETS; i++)
		cr_expect(thread->target[i].round >= 999 && thread->target[i].round <= 1001,
			  "target %zu had %lu rounds", i, (unsigned long)thread->target[i].round);
	for (size_t i = 0; i < 20; i++)
		cr_expect(thread->bin[i] > 35000 && thread->bin[i] < 65000, "%d in bin %zu",
			  thread->bin[i], i);
	free(thread);
}

Test(poller_schedule, spreads_targets_again_after_the_thread_was_held_up)
{
	const int64_t interval_ns = 2 * CLOCK_S;
	struct virtual_thread *thread = virtual_new(interval_ns);

	virtual_run(thread, interval_ns, 0, 20 * CLOCK_S);
	/* All are due, and each is started once. */
	virtual_run(thread, interval_ns, 80 * CLOCK_S, 80 * CLOCK_S);
	memset(thread->bin, 0, sizeof thread->bin);
	virtual_run(thread, interval_ns, 80 * CLOCK_S, 84 * CLOCK_S);
	for (size_t i = 0; i < 20; i++)
		cr_expect(thread->bin[i] > 60 && thread->bin[i] < 150, "%d of 100 in bin %zu",
			  thread->bin[i], i);
	free(thread);
}

Test(poller_schedule, keeps_the_earliest_target_on_top)
{
	enum { N = 500 };
	struct target *target = calloc(N, sizeof *target);
	struct target *at[N];
	struct target_heap heap = { .at = at };
	int64_t last_ns = 0;

	for (int64_t i = 0; i < N; i++) {
		target[i].due_ns = 1 + i * 7919 % N;
		poller_schedule_push(&heap, target + i);
	}
	cr_assert_eq(heap.n, N);
	for (int64_t i = 0; i < N; i++) {
		cr_assert_eq(heap.at[0]->wake_ns, last_ns + 1);
		last_ns = heap.at[0]->wake_ns;
		heap.at[0]->due_ns = INT64_MAX;
		poller_schedule_place(&heap, heap.at[0]);
	}
	cr_expect_eq(heap.at[0]->wake_ns, INT64_MAX);
	/* Under way: whichever is first, the next round or the end of our patience. */
	target[7].is_under_way = true;
	target[7].target.deadline_ns = 5 * CLOCK_S;
	poller_schedule_place(&heap, target + 7);
	cr_expect_eq(heap.at[0], target + 7);
	cr_expect_eq(target[7].wake_ns, 6 * CLOCK_S);
	target[7].due_ns = 3 * CLOCK_S;
	poller_schedule_place(&heap, target + 7);
	cr_expect_eq(target[7].wake_ns, 3 * CLOCK_S);
	free(target);
}

/** A source as configured in the scene. */
static struct source *make(struct scene *scene)
{
	struct err err;
	struct source *source = poller_source_new(scene->poller, &scene->config, scene->source,
						  &scene->first, &err);

	cr_assert_not_null(source, "%s", err.text);
	return source;
}

Test(poller_source, is_the_same_only_if_nothing_is_different)
{
	struct scene *scene = scene_new(3);
	struct config_pair number = { .name = (char *)"number", .value = (char *)"8" };
	struct config_source original;
	struct source *old, *again, *other[6];

	scene_source(scene, "wls", "fake", "good:${host}", CLOCK_S, CLOCK_S / 2);
	original = scene->source[0];
	old = make(scene);
	again = make(scene);
	scene->source[0].interval_ns++;
	other[0] = make(scene);
	scene->source[0] = original;
	scene->source[0].timeout_ns--;
	other[1] = make(scene);
	scene->source[0] = original;
	scene->source[0].n_servers--;
	other[2] = make(scene);
	scene->source[0] = original;
	scene->source[0].target = (char *)"good:agent";
	other[3] = make(scene);
	scene->source[0] = original;
	scene->source[0].options = &number;
	scene->source[0].n_options = 1;
	other[4] = make(scene);
	scene->source[0] = original;
	other[5] = poller_source_renew(old, &scene->second, NULL);
	cr_expect(poller_source_is_same(again, old));
	for (size_t i = 0; i < 6; i++) {
		cr_expect_not(poller_source_is_same(other[i], old), "other %zu", i);
		poller_source_free(other[i]);
	}
	poller_source_free(again);
	poller_source_free(old);
	scene_free(scene);
}

static void write_password(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file, "%s", path);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

Test(poller_source, is_another_one_when_a_password_in_its_file_has_changed)
{
	char path[] = "/tmp/callrouter-password-XXXXXX";
	struct scene *scene = scene_new(3);
	struct config_pair secret = { .name = (char *)"password_file", .value = path };
	struct source *old, *again, *other;
	const int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
	write_password(path, "correct horse\n");
	scene_source(scene, "wls", "fake", "good:${host}", CLOCK_S, CLOCK_S / 2);
	scene->source[0].options = &secret;
	scene->source[0].n_options = 1;
	old = make(scene);
	again = make(scene);
	write_password(path, "battery staple\n");
	other = make(scene);
	unlink(path);
	cr_expect(poller_source_is_same(again, old));
	cr_expect_not(poller_source_is_same(other, old));
	poller_source_free(other);
	poller_source_free(again);
	poller_source_free(old);
	scene_free(scene);
}

Test(poller_source, finds_servers_and_targets_by_name)
{
	struct scene *scene = scene_new(20);
	struct source *source;

	/* A server of the source's own name does not hide the shared target. */
	snprintf(scene->name[4], sizeof scene->name[4], "wls");
	scene_source(scene, "wls", "fake", "rows:", CLOCK_S, CLOCK_S / 2);
	scene_target(scene, 4, "wls", "good:${name}");
	source = make(scene);
	cr_expect_eq(source->n_servers, 20);
	cr_expect_eq(source->n_targets, 2);
	cr_expect_str_eq(poller_source_target(source, "wls", true)->endpoint, "rows:");
	cr_expect_str_eq(poller_source_target(source, "wls", false)->endpoint, "good:wls");
	cr_expect_null(poller_source_target(source, "s1", false));
	cr_expect_not(poller_source_server(source, "wls")->is_covered);
	cr_expect(poller_source_server(source, "s19")->is_covered);
	cr_expect_null(poller_source_server(source, "s20"));
	poller_source_free(source);
	scene_free(scene);
}

Test(poller_source, says_which_server_a_target_cannot_be_filled_in_for)
{
	struct scene *scene = scene_new(1);
	struct err err;

	scene_source(scene, "wls", "fake", "good:${nothing}", CLOCK_S, CLOCK_S / 2);
	cr_expect_null(poller_source_new(scene->poller, &scene->config, scene->source,
					 &scene->first, &err));
	cr_expect_str_eq(err.text, "source wls: the target cannot be filled in for server s0");
	scene_free(scene);
}
