/* test_words.c - the tools that make texts: words, err, log, boot. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boot.h"
#include "err.h"
#include "log.h"
#include "words.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

Test(words, has_a_word_and_a_sentence_for_each_reason)
{
	static const char *const reasons[] = {
		"none",        "no_router",      "router_default",  "router_refused",
		"stale",       "rank_late",      "rank_error",      "rank_bad_order",
		"route_error", "unknown_server", "repeated_server", "quarantined",
		"no_server",   "no_service",     "no_snapshot",     "not_loaded",
	};

	cr_assert_eq(COUNT(reasons), CR_REASON_COUNT);
	for (size_t i = 0; i < CR_REASON_COUNT; i++) {
		cr_expect_str_eq(words_reason((enum cr_reason)i), reasons[i]);
		cr_expect_gt(strlen(words_reason_help((enum cr_reason)i)), 10);
	}
	cr_expect_str_eq(words_reason((enum cr_reason)CR_REASON_COUNT), "unknown");
	cr_expect_str_eq(words_reason((enum cr_reason) - 1), "unknown");
	cr_expect_str_eq(words_reason_help((enum cr_reason)99), "unknown");
}

Test(words, names_deciders_states_and_failures)
{
	static const char *const decided[] = { "nobody", "router", "default", "refused",
					       "unknown" };
	static const char *const states[] = { "unknown", "up",      "trial", "aside",
					      "ejected", "drained", "down",  "unknown" };
	static const char *const whys[] = { "unknown", "timeout", "connect", "auth",
					    "reply",   "absent",  "value",   "unknown" };

	for (size_t i = 0; i < COUNT(decided); i++)
		cr_expect_str_eq(words_decided((enum cr_decided)i), decided[i]);
	for (size_t i = 0; i < COUNT(states); i++)
		cr_expect_str_eq(words_state((enum cr_state)i), states[i]);
	for (size_t i = 0; i < COUNT(whys); i++)
		cr_expect_str_eq(words_why((enum cr_why)i), whys[i]);
}

Test(words, lists_each_metric_once_with_help_in_both_tables)
{
	size_t n = 0;

	for (; words_metrics[n].name != NULL; n++) {
		cr_expect_str_eq(words_metrics[n].name, words_metric_names[n]);
		cr_expect_gt(strlen(words_metrics[n].help), 5);
		for (size_t i = 0; i < n; i++)
			cr_expect_str_neq(words_metrics[i].name, words_metrics[n].name);
	}
	cr_expect_null(words_metric_names[n]);
	cr_expect_eq(n, 18);
}

Test(err, fills_prefixes_and_cuts_without_overflow)
{
	struct err err;
	char large[400];

	cr_expect_eq(err_set(&err, -EINVAL, "%s:%d", "file", 3), -EINVAL);
	cr_expect_eq(err.code, -EINVAL);
	cr_expect_str_eq(err.text, "file:3");
	cr_expect_eq(err_prefix(&err, "ms%d", 1), -EINVAL);
	cr_expect_str_eq(err.text, "ms1: file:3");
	memset(large, 'x', sizeof large - 1);
	large[sizeof large - 1] = '\0';
	err_prefix(&err, "%s", large);
	cr_expect_eq(strlen(err.text), sizeof err.text - 1);
	err_set(&err, -EIO, "end");
	large[sizeof err.text - 3] = '\0';
	err_prefix(&err, "%s", large);
	cr_expect_eq(strlen(err.text), sizeof err.text - 1);
	cr_expect_eq(err_set(NULL, -EIO, "nobody listens"), -EIO);
	cr_expect_eq(err_prefix(NULL, "nobody listens"), -EINVAL);
}

Test(err, has_the_systems_words_for_both_signs)
{
	cr_expect_str_eq(err_words(-ENOENT), "No such file or directory");
	cr_expect_str_eq(err_words(ENOENT), "No such file or directory");
	cr_expect_str_eq(err_words(-98765), "unknown error");
}

static void keep_line(void *arg, enum cr_level level, const char *line)
{
	snprintf(arg, 4096, "%d %s", (int)level, line);
}

Test(log, makes_one_line_of_event_and_values)
{
	char got[4096] = "", large[3000];

	log_info("nobody", "listens=%s", "yet");
	log_to(keep_line, got, CR_INFO);
	log_warn("router swapped", "name=%s n=%d", "a\nb\x1b[0m", 3);
	cr_expect_str_eq(got, "4 router swapped name=a b?[0m n=3");
	log_info("stopping", "%s", "");
	cr_expect_str_eq(got, "6 stopping");
	log_debug("less urgent", "than=%s", "asked");
	cr_expect_str_eq(got, "6 stopping");
	memset(large, 'x', sizeof large - 1);
	large[sizeof large - 1] = '\0';
	log_error("long", "text=%s", large);
	cr_expect_eq(strlen(got), 2 + 2047);
	log_to(NULL, NULL, CR_INFO);
}

/* What log_stderr() writes for a line. */
static void catch_stderr(char *buf, size_t len, const char *line)
{
	const int saved = dup(STDERR_FILENO);
	int ends[2];
	ssize_t got;

	cr_assert_eq(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	log_stderr(NULL, CR_WARN, line);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	got = read(ends[0], buf, len - 1);
	close(ends[0]);
	buf[got > 0 ? got : 0] = '\0';
}

Test(log, writes_a_priority_for_journald_and_the_time_for_people)
{
	char got[256];

	setenv("JOURNAL_STREAM", "8:1", 1);
	catch_stderr(got, sizeof got, "disk is full path=/x");
	cr_expect_str_eq(got, "<4>disk is full path=/x\n");
	unsetenv("JOURNAL_STREAM");
	catch_stderr(got, sizeof got, "disk is full path=/x");
	/* "2024-05-01 12:00:00.123 warn  disk ..." */
	cr_assert_gt(strlen(got), 24);
	cr_expect_eq(got[10], ' ');
	cr_expect_eq(got[19], '.');
	cr_expect_str_eq(got + 23, " warn  disk is full path=/x\n");
}

Test(boot, gives_the_same_mark_twice)
{
	const struct boot_mark a = boot_mark_now(), b = boot_mark_now();

	cr_expect_neq(a.boot, 0);
	cr_expect_eq(a.boot, b.boot);
	cr_expect_eq(a.offset_ns, b.offset_ns);
}
