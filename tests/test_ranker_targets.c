/* test_ranker_targets.c - collectors judge targets in a process of their own: this program is its
 * own ranker. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "clock.h"
#include "ranker.h"

#define JUDGES TEST_PLUGINS_DIR "/judges.so"

/* What was refused, in order. */
static struct {
	size_t index[8];
	char text[8][256];
	size_t n;
} refused;

static struct ranker_load load = { .path = JUDGES, .plugin = "judges", .service = "check" };
static struct err err;
static int64_t *left;

static void set_up(void)
{
	/* Criterion's mark on processes of its own: our rankers would be taken for such. */
	unsetenv("BXFI_MAP");
}

/* A plugin that loops ends after 5 s. */
TestSuite(ranker_targets, .init = set_up, .timeout = 60);

static void take(void *user, size_t index, const char *text)
{
	cr_assert_str_eq(user, "user");
	if (refused.n < 8) {
		refused.index[refused.n] = index;
		snprintf(refused.text[refused.n], sizeof refused.text[0], "%s", text);
	}
	refused.n++;
}

static int check(const char *options, const char *const *target, size_t n)
{
	static char user[] = "user";
	const struct target_list list = { target, n, take, user, left };

	load.options = options;
	refused.n = 0;
	err = (struct err){ 0 };
	return ranker_check_targets(&load, &list, &err);
}

Test(ranker_targets, are_judged_one_by_one)
{
	static const char *const targets[] = { "a", "x1", "", "b", "2x" };

	cr_assert_eq(check(NULL, targets, 5), 0, "%s", err.text);
	cr_expect_eq(refused.n, 2u);
	cr_expect_eq(refused.index[0], 1u);
	cr_expect_str_eq(refused.text[0], "x1 has an x");
	cr_expect_eq(refused.index[1], 4u);
	cr_expect_str_eq(refused.text[1], "2x has an x");
	cr_assert_eq(check(NULL, targets, 0), 0, "%s", err.text);
	cr_expect_eq(refused.n, 0u);
}

Test(ranker_targets, without_or_with_too_long_a_sentence_are_told_all_the_same)
{
	static const char *const targets[] = { "x" };

	cr_assert_eq(check("check=says_nothing\n", targets, 1), 0, "%s", err.text);
	cr_expect_str_eq(refused.text[0], "Invalid argument");
	cr_assert_eq(check("check=fills\n", targets, 1), 0, "%s", err.text);
	cr_expect_gt(strlen(refused.text[0]), 100u);
	cr_expect_eq(strspn(refused.text[0], "f"), strlen(refused.text[0]));
}

/* More than one message takes: each with an end of its own, and none twice. */
Test(ranker_targets, are_judged_in_any_number)
{
	enum { MANY = 40000 };
	const char **target = calloc(MANY, sizeof *target);
	char *text = calloc(MANY, 16);
	int64_t begun = clock_now_ns();

	for (size_t i = 0; i < MANY; i++) {
		snprintf(text + 16 * i, 16, i % 10000 == 9999 ? "%zux" : "%zu", i);
		target[i] = text + 16 * i;
	}
	cr_assert_eq(check(NULL, target, MANY), 0, "%s", err.text);
	cr_expect_eq(refused.n, 4u);
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(refused.index[i], 10000 * i + 9999);
	cr_expect_str_eq(refused.text[3], "39999x has an x");
	cr_expect_lt(clock_now_ns() - begun, 15 * CLOCK_S);
	free(target);
	free(text);
}

/* 40 MiB of them. */
Test(ranker_targets, are_judged_at_any_length_that_a_list_may_have)
{
	enum { MANY = 10000 };
	const char **target = calloc(MANY, sizeof *target);
	char *text = malloc(TARGET_LIST_LEN), *bad = malloc(TARGET_LIST_LEN);

	memset(text, 'a', TARGET_LIST_LEN - 1);
	text[TARGET_LIST_LEN - 1] = '\0';
	memcpy(bad, text, TARGET_LIST_LEN);
	bad[TARGET_LIST_LEN - 2] = 'x';
	for (size_t i = 0; i < MANY; i++)
		target[i] = i == 7777 ? bad : text;
	cr_assert_eq(check(NULL, target, MANY), 0, "%s", err.text);
	cr_expect_eq(refused.n, 1u);
	cr_expect_eq(refused.index[0], 7777u);
	free(target);
	free(text);
	free(bad);
}

Test(ranker_targets, a_plugin_that_crashes_or_loops_over_one_is_told_of_and_ended)
{
	static const char *const targets[] = { "a", "x" };
	int64_t begun;

	cr_expect_eq(check("check=crashes\n", targets, 2), -ECHILD);
	cr_expect_str_eq(err.text, JUDGES " crashed, or ended its process, in check()");
	begun = clock_now_ns();
	cr_expect_eq(check("check=loops\n", targets, 2), -ETIMEDOUT);
	cr_expect_str_eq(err.text, JUDGES " did not return within 5 s in check()");
	cr_expect_lt(clock_now_ns() - begun, 15 * CLOCK_S);
	cr_expect_eq(refused.n, 0u);
	cr_expect_lt(check("open=false\n", targets, 2), 0);
	cr_expect_str_eq(err.text, "open() failed: it was told to refuse");
}

/* The one that loops has that many seconds; so few that on a busy machine it may not get to run. */
static void expect_late(const char *seconds)
{
	static const char *const targets[] = { "a", "x" };
	char loops[256], waits[256];
	const int code = check("check=loops\n", targets, 2);

	snprintf(loops, sizeof loops, "%s did not return within %s s in check()", JUDGES, seconds);
	snprintf(waits, sizeof waits,
		 "%s: its process did not run for %s s (stopped, or no processor)", JUDGES,
		 seconds);
	cr_expect_str_eq(err.text, code == -ETIME ? waits : loops);
	cr_expect(code == -ETIME || code == -ETIMEDOUT, "%d", code);
}

/* Those of a configuration: whoever comes first may take it all, and no more. */
Test(ranker_targets, have_one_time_for_all_lists)
{
	static const char *const targets[] = { "a", "x" };
	int64_t left_ns = 50 * CLOCK_MS, before_ns;

	left = &left_ns;
	expect_late("0.05");
	cr_expect_eq(left_ns, 0);
	expect_late("0.001");
	before_ns = left_ns = 60 * CLOCK_S;
	cr_expect_eq(check(NULL, targets, 2), 0, "%s", err.text);
	cr_expect_lt(left_ns, before_ns);
	cr_expect_gt(left_ns, 0);
}

/* It would have answered. */
Test(ranker_targets, a_process_that_is_stopped_is_not_called_a_plugin_that_hangs)
{
	static const char *const targets[] = { "x" };

	cr_expect_eq(check("check=stops\n", targets, 1), -ETIME);
	cr_expect_str_eq(err.text, JUDGES ": its process did not run for 5 s (stopped, or no "
					  "processor)");
}

/* Of a collector that sleeps the processor is not the excuse. */
Test(ranker_targets, a_plugin_that_sleeps_is_one_that_hangs)
{
	static const char *const targets[] = { "x" };

	cr_expect_eq(check("check=sleeps\n", targets, 1), -ETIMEDOUT);
	cr_expect_str_eq(err.text, JUDGES " did not return within 5 s in check()");
}

/* A whole message, but the answer to another question: that it was opened, say. */
Test(ranker_targets, a_plugin_that_answers_for_its_process_is_not_believed)
{
	static const char *const targets[] = { "x" };

	cr_expect_eq(check("check=answers\n", targets, 1), -EPROTO, "%s", err.text);
	cr_expect_str_eq(err.text,
			 JUDGES " broke its process's connection to callrouterd in "
				"check(): it was ended; it must not use descriptors that it "
				"did not open");
}

/* As it was written: for whoever knows where options stand. */
Test(ranker_targets, a_plugin_that_cannot_be_opened_is_asked_for_all_that_it_has_to_say)
{
	char *lines;

	load.options = "open=false\ncheck=fills\n";
	cr_expect_eq(ranker_check(&load, false, &lines, &err), -1);
	cr_expect_str_eq(err.text, "open() failed: it was told to refuse");
	cr_assert_not_null(lines);
	cr_expect_str_eq(lines, "it was told to refuse\ncheck: \"fills\" is refused, too");
	free(lines);
	load.options = "open=false\ncheck=says_nothing\n";
	cr_expect_eq(ranker_check(&load, false, &lines, &err), -1);
	cr_expect_null(lines, "empty ones would be told nowhere");
	cr_expect_str_eq(err.text, "open() failed: Operation not permitted");
	load.options = "open=true\n";
	cr_expect_eq(ranker_check(&load, false, &lines, &err), 0);
	cr_expect_null(lines);
	load.options = "colour=red\n";
	cr_expect_lt(ranker_check(&load, false, &lines, &err), 0);
	cr_expect_null(lines, "it was never asked");
}

/* Built before there was a check(), it takes any target until it is polled. */
Test(ranker_targets, are_all_good_for_a_plugin_of_an_older_abi)
{
	static const char *const targets[] = { "x" };

	load.path = TEST_PLUGINS_DIR "/made_for_1_2.so";
	load.plugin = "made_for_1_2";
	cr_expect_eq(check(NULL, targets, 1), 0, "%s", err.text);
	cr_expect_eq(refused.n, 0u);
}

/* Criterion has the main(): glibc hands its arguments to constructors, too. */
__attribute__((constructor)) static void be_a_ranker(int argc, char **argv)
{
	if (ranker_is_me(argc, argv))
		_exit(ranker_main(argc, argv));
}
