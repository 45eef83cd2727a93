/* test_ranker.c - rankers as real processes: this program is its own ranker. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <criterion/criterion.h>

#include "counters.h"
#include "ranker_scene.h"

#define PREPARES TEST_PLUGINS_DIR "/prepares.so"

TestSuite(ranker, .init = set_up, .fini = tear_down, .timeout = 30);

/* The number behind this word in a process's file. */
static long number_in(pid_t pid, const char *name, const char *word)
{
	char path[64], line[256];
	long number = -1;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "r");
	cr_assert(file != NULL, "%s", path);
	while (number < 0 && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, word, strlen(word)) == 0)
			number = strtol(line + strlen(word), NULL, 10);
	(void)fclose(file);
	return number;
}

/* Of this process group, whose leader has been waited for. */
static void expect_orphan_killed(pid_t group)
{
	int status = 0;

	cr_assert_gt(waitpid(-group, &status, 0), 0);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/*** Looking into a file ***/

Test(ranker, a_plugin_says_what_it_is)
{
	struct ranker_facts *facts;
	struct err err = { 0 };

	cr_assert_eq(ranker_describe(ACTS, "acts", &facts, &err), 0, "%s", err.text);
	cr_expect_eq(facts->kind, PLUGIN_ROUTER);
	cr_expect_str_eq(facts->name, "acts");
	cr_expect_str_eq(facts->version, "1.5.0");
	cr_expect_str_eq(facts->summary, "does what it is told");
	cr_expect_eq(facts->flags, (uint32_t)IMAGE_HAS_RANK);
	cr_expect_str_eq(facts->columns[0], "ranked");
	cr_expect(facts->columns[1] == NULL);
	cr_expect_eq(facts->n_columns, 1u);
	cr_expect_str_eq(facts->options[1].name, "rank");
	cr_expect_str_eq(facts->options[1].choices[8], "leave");
	cr_expect(facts->options[2].name == NULL);
	ranker_facts_free(facts);
}

Test(ranker, a_file_that_is_no_plugin_or_has_another_name_is_refused)
{
	struct ranker_facts *facts;
	struct err err = { 0 };

	cr_expect_lt(ranker_describe("/etc/hostname", NULL, &facts, &err), 0);
	cr_expect(facts == NULL);
	cr_expect_lt(ranker_describe(ACTS, "other", &facts, &err), 0);
	cr_expect(strstr(err.text, "its .name is \"acts\"") != NULL, "%s", err.text);
}

Test(ranker, a_check_opens_and_a_trial_tries)
{
	struct ranker_load load = { .path = ACTS, .plugin = "acts", .service = "orders" };
	struct err err = { 0 };

	cr_expect_eq(ranker_check(&load, false, NULL, &err), 0, "%s", err.text);
	cr_expect_eq(ranker_check(&load, true, NULL, &err), 0, "%s", err.text);
	load.options = "open=refuses\n";
	cr_expect_eq(ranker_check(&load, false, NULL, &err), -EINVAL);
	cr_expect_str_eq(err.text, "acts: open: it was told to refuse");
	load.options = "open=crashes\n";
	cr_expect_eq(ranker_check(&load, false, NULL, &err), -ECHILD);
	cr_expect(strstr(err.text, "in open()") != NULL, "%s", err.text);
	load.options = "open=loops\n";
	cr_expect_eq(ranker_check(&load, true, NULL, &err), -ETIMEDOUT);
	cr_expect_str_eq(err.text, ACTS " did not return within 2 s in open()");
	load.options = "colour=red\n";
	cr_expect_lt(ranker_check(&load, false, NULL, &err), 0);
	cr_expect(strstr(err.text, "no option \"colour\"") != NULL, "%s", err.text);
}

/* Also without anything prepared, and for other servers than those of the view before. */
Test(ranker, a_trial_prepares_as_data_planes_do)
{
	static const struct {
		const char *options, *why;
		int code;
	} cases[] = {
		{ "how=share\n", NULL, 0 },
		{ "how=anew\n", NULL, 0 },
		{ "how=nothing\n", NULL, 0 },
		{ "how=fail\n", NULL, 0 },
		{ "how=crash\n", "its process, in prepare()", -ECHILD },
		{ "how=loop\n", "did not return within 2 s in prepare()", -ETIMEDOUT },
		{ "how=crash_without\n", "its process, in route()", -ECHILD },
		{ "how=crash_at_end\n", "its process, in release()", -ECHILD },
		{ "how=keep\n", "of 2 servers: route() put a row into order", -EINVAL },
	};
	struct ranker_load load = { .path = PREPARES, .plugin = "prepares", .service = "orders" };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = { 0 };

		load.options = cases[i].options;
		cr_expect_eq(ranker_check(&load, true, NULL, &err), cases[i].code, "%s", err.text);
		cr_expect(cases[i].why == NULL || strstr(err.text, cases[i].why) != NULL, "%s: %s",
			  load.options, err.text);
	}
}

/*** Ranking ***/

Test(ranker, one_that_is_good_is_tried_ranks_and_saves)
{
	struct ranker *ranker = start("rank=reverse\n");
	const struct ranker_answer *answer;
	uint32_t saved;
	size_t len;

	ranker_try(ranker, image, 0);
	wait_for(1);
	cr_assert_eq(told.event[0], RANKER_TRIED, "%s", told.err.text);
	cr_expect(!ranker_is_busy(ranker));
	rank(ranker);
	cr_expect(ranker_is_busy(ranker));
	wait_for(1);
	cr_assert_eq(told.event[0], RANKER_RANKED);
	answer = ranker_answer(ranker);
	cr_expect_eq(answer->generation, 1u);
	cr_expect_eq(answer->verdict, 2);
	cr_expect_eq(answer->n, 2u);
	cr_expect_eq(answer->n_rows, 3u);
	cr_expect_eq(answer->order[0], 1u);
	cr_expect_eq(answer->order[1], 0u);
	cr_expect_eq(answer->n_columns, 1u);
	memcpy(&saved, ranker_saved(ranker, &len), sizeof saved);
	cr_assert_eq(len, 4u);
	cr_expect_eq(answer->column[2], saved);
	ranker_free(ranker);
}

Test(ranker, a_successor_is_opened_with_what_was_saved)
{
	const uint32_t saved = 41;
	struct ranker *ranker = start_with("", &saved, sizeof saved);

	rank(ranker); /* at once: before it has said that it is there */
	wait_for(1);
	cr_assert_eq(told.event[0], RANKER_RANKED);
	cr_expect_eq(ranker_answer(ranker)->column[0], 42);
	ranker_free(ranker);
}

Test(ranker, what_rank_returns_is_told_as_it_is)
{
	static const struct {
		const char *options;
		int32_t verdict;
	} cases[] = { { "rank=default\n", CR_DEFAULT },
		      { "rank=refuse\n", CR_REFUSE },
		      { "rank=fail\n", -EIO },
		      { "rank=twice\n", 2 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ranker *ranker = start(cases[i].options);

		rank(ranker);
		wait_for(1);
		cr_expect_eq(told.event[0], RANKER_RANKED);
		cr_expect_eq(ranker_answer(ranker)->verdict, cases[i].verdict, "%s",
			     cases[i].options);
		cr_expect_eq(ranker_answer(ranker)->n_rows, 3u);
		ranker_free(ranker);
	}
}

Test(ranker, a_slow_rank_is_late_and_its_answer_comes_all_the_same)
{
	struct ranker *ranker = start("rank=slow\n");
	const int64_t began_ns = clock_now_ns();

	rank(ranker);
	wait_for(1);
	cr_assert_eq(told.event[0], RANKER_LATE);
	cr_expect_geq(clock_now_ns() - began_ns, 500 * CLOCK_MS);
	cr_expect_eq(told.err.code, -ETIME);
	cr_expect_str_eq(told.err.text, "acts: rank() is past its deadline of 500 ms");
	cr_expect(ranker_is_busy(ranker));
	wait_for(2);
	cr_expect_eq(told.event[1], RANKER_RANKED);
	cr_expect_eq(ranker_answer(ranker)->verdict, 2);
	ranker_free(ranker);
}

/*** Ends ***/

Test(ranker, one_that_refuses_to_open_says_why)
{
	struct ranker *ranker = start("open=refuses\n");

	ranker_try(ranker, NULL, 0);
	expect_death(ranker, -EINVAL, "acts: open: it was told to refuse");
}

Test(ranker, nonsense_does_not_pass_a_trial_on_the_real_servers)
{
	struct ranker *ranker = start("rank=twice\n");

	ranker_try(ranker, NULL, 0);
	wait_for(1);
	cr_expect_eq(told.event[0], RANKER_TRIED, "it behaves on made-up ones");
	told.n = 0;
	ranker_try(ranker, image, 0);
	expect_death(ranker, -EINVAL, "rank() listed a server twice: each row may come once");
}

Test(ranker, one_that_crashes_in_rank_is_told_with_its_signal)
{
	struct ranker *ranker = start("rank=crash\n");

	rank(ranker);
	expect_death(ranker, -ECHILD, "acts crashed in rank() (signal 6, SIGABRT)");
}

Test(ranker, one_that_ends_its_process_is_told)
{
	struct ranker *ranker = start("rank=leave\n");

	rank(ranker);
	expect_death(ranker, -ECHILD, "acts ended its process in rank()");
}

Test(ranker, one_that_loops_is_late_and_then_ended)
{
	struct ranker *ranker = start("rank=loop\n");
	const int64_t began_ns = clock_now_ns();

	rank(ranker);
	wait_for(1);
	cr_expect_eq(told.event[0], RANKER_LATE);
	wait_for(2);
	cr_expect_geq(clock_now_ns() - began_ns, 2 * CLOCK_S);
	expect_death(ranker, -ETIMEDOUT, "acts did not return within 2 s in rank(): it was ended");
}

Test(ranker, one_that_is_killed_from_outside_is_not_called_a_crash)
{
	struct ranker *ranker = start("");

	rank(ranker);
	wait_for(1);
	told.n = 0;
	cr_assert_gt(child(), 0);
	kill(child(), SIGKILL);
	expect_death(ranker, -EINTR, "acts: its process was killed from outside");
}

#define BROKE                                                                                      \
	"acts broke its process's connection to callrouterd in rank(): it was ended; it must not " \
	"use descriptors that it did not open"

Test(ranker, one_that_writes_into_what_is_open_is_told_and_harms_no_figure)
{
	const struct folder folder = folder_make();
	const struct ranker_load load = { .path = ACTS,
					  .plugin = "acts",
					  .service = "orders",
					  .options = "rank=write\n",
					  .run_dir = folder.path };
	struct counters *counters, *other;
	struct err err = { 0 };
	struct ranker *ranker;

	cr_assert_eq(counters_create(folder.path, (gid_t)-1, &counters, &err), 0, "%s", err.text);
	ranker = ranker_start(base, &load, heard, NULL, &err);
	cr_assert(ranker != NULL, "%s", err.text);
	rank(ranker);
	expect_death(ranker, -EPROTO, BROKE);
	cr_expect_eq(counters_open(folder.path, true, &other, &err), 0, "%s", err.text);
	counters_close(other);
	counters_close(counters);
	folder_remove(&folder);
}

Test(ranker, one_that_closes_what_is_open_is_told)
{
	struct ranker *ranker = start("rank=hang_up\n");

	rank(ranker);
	expect_death(ranker, -EPROTO, BROKE);
}

Test(ranker, what_one_forked_is_ended_with_it)
{
	struct ranker *ranker = start("rank=fork\n");
	pid_t group;

	rank(ranker);
	wait_for(1);
	cr_expect_eq(told.event[0], RANKER_RANKED);
	cr_expect_eq(ranker_answer(ranker)->verdict, 0);
	group = child();
	cr_assert_gt(group, 0);
	cr_expect_eq(getpgid(group), group);
	cr_expect_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	ranker_free(ranker);
	/* the orphan is ours now: it ends by that signal, which nobody else sends */
	expect_orphan_killed(group);
}

/* Sanitizers need more memory than a plugin may have. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

Test(ranker, a_crash_is_told_also_when_what_it_forked_keeps_the_socket_open)
{
	struct ranker *ranker = start("rank=fork_crash\n");

	rank(ranker);
	wait_for(2);
	cr_expect_eq(told.event[0], RANKER_LATE);
	expect_death(ranker, -ECHILD, "acts crashed in rank() (signal 6, SIGABRT)");
}

Test(ranker, one_is_confined)
{
	struct ranker *ranker = start(IS_SANITIZED ? "rank=fail\n" : "rank=greedy\n");

	rank(ranker);
	wait_for(1);
	cr_expect_eq(told.event[0], RANKER_RANKED);
	cr_expect_eq(ranker_answer(ranker)->verdict, IS_SANITIZED ? -EIO : -ENOMEM, "5 GiB");
	cr_expect_eq(number_in(child(), "oom_score_adj", ""), 500);
	cr_expect_eq(number_in(child(), "status", "NoNewPrivs:"), 1);
	ranker_free(ranker);
}

Test(ranker, fifty_of_them_leave_no_process_and_no_descriptor_behind)
{
	const size_t before = count_entries("/proc/self/fd");

	for (int i = 0; i < 50; i++) {
		struct ranker *ranker = start(i % 2 == 0 ? "" : "rank=crash\n");

		rank(ranker);
		if (i % 3 != 0) /* else: freed while it is at it */
			wait_for(1);
		ranker_free(ranker);
	}
	cr_expect_eq(count_entries("/proc/self/fd"), before);
}
