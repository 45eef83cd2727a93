/* test_catalogue.c - plugins are asked about their options no more often than need be; who answers
 * for them is this test. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "catalogue.h"
#include "ranker.h"

static struct {
	int describes, checks, code;
} asked;

static struct catalogue catalogue;
static struct err err;

int ranker_describe(const char *path, const char *name, struct ranker_facts **out, struct err *why)
{
	(void)path, (void)name, (void)why;
	asked.describes++;
	*out = calloc(1, sizeof **out);
	(*out)->kind = PLUGIN_COLLECTOR;
	return 0;
}

void ranker_facts_free(struct ranker_facts *facts)
{
	free(facts);
}

int ranker_check(const struct ranker_load *load, bool is_trial, char **lines, struct err *why)
{
	cr_expect_not(is_trial);
	asked.checks++;
	*lines = NULL;
	return asked.code < 0 ? err_set(why, asked.code, "%s did not return", load->path) : 0;
}

int ranker_check_targets(const struct ranker_load *load, const struct target_list *targets,
			 struct err *why)
{
	(void)load, (void)targets, (void)why;
	return 0;
}

/* The file is looked into, as whoever reads a configuration does first. */
static void look(void)
{
	const struct cr_option *table;

	cr_assert_eq(catalogue_options(&catalogue, false, "collecting", &table, &err), 0, "%s",
		     err.text);
}

static void begin(void)
{
	static char dir[] = TEST_PLUGINS_DIR, *dirs[] = { dir };

	cr_assert_eq(catalogue_open(&catalogue, NULL, dirs, 1, &err), 0, "%s", err.text);
	look();
}

static void end(void)
{
	catalogue_close(&catalogue);
}

TestSuite(catalogue, .init = begin, .fini = end);

static int accepts(const char *packed)
{
	char *lines = NULL;
	const int code = catalogue_accepts(&catalogue, "collecting", packed, &lines, &err);

	cr_expect_null(lines);
	return code;
}

Test(catalogue, asks_a_plugin_once_about_the_same_options)
{
	cr_expect_eq(accepts("a=1\n"), 0);
	cr_expect_eq(accepts("a=1\n"), 0);
	cr_expect_eq(asked.checks, 1);
	cr_expect_eq(accepts("a=2\n"), 0);
	cr_expect_eq(asked.checks, 2);
	cr_expect_eq(asked.describes, 1);
}

/* 2 s for each of its sources, in which nothing is published. */
Test(catalogue, asks_a_plugin_that_hangs_once_in_a_reading)
{
	asked.code = -ETIMEDOUT;
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(accepts(i == 1 ? "a=1\n" : "a=2\n"), -ETIMEDOUT);
		cr_expect_str_eq(err.text,
				 "collecting: " TEST_PLUGINS_DIR "/collecting.so did not return");
	}
	cr_expect_eq(asked.checks, 1);
	catalogue_forget_facts(&catalogue);
	asked.code = 0;
	look();
	cr_expect_eq(accepts("a=1\n"), 0, "the next reading");
	cr_expect_eq(asked.checks, 2);
}

/* What it refuses it may take with other options. */
Test(catalogue, asks_a_plugin_that_refuses_again)
{
	asked.code = -EINVAL;
	cr_expect_eq(accepts("a=1\n"), -EINVAL);
	asked.code = 0;
	cr_expect_eq(accepts("a=2\n"), 0);
	cr_expect_eq(asked.checks, 2);
}
