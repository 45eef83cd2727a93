/* test_servers_operator.c - the operator's drains and weights, and the file that keeps them. */
#include "servers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "servers_scene.h"

/** A state directory of a test's own. */
static void make_dir(char *dir, size_t len)
{
	snprintf(dir, len, "%s/test_servers.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	cr_assert_not_null(mkdtemp(dir));
}

static void file_in(char *path, size_t len, const char *dir, const char *file)
{
	snprintf(path, len, "%s/%s", dir, file);
}

static void remove_dir(const char *dir)
{
	static const char *const files[] = { "operator.json", "operator.json.bad",
					     "operator.json.new" };
	char path[256];

	for (size_t i = 0; i < 3; i++) {
		file_in(path, sizeof path, dir, files[i]);
		unlink(path);
	}
	cr_expect_eq(rmdir(dir), 0, "something else was left in %s", dir);
}

static void write_text(const char *dir, const char *text)
{
	char path[256];
	FILE *file;

	file_in(path, sizeof path, dir, "operator.json");
	file = fopen(path, "w");
	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
}

Test(servers_operator, keeps_the_operators_wishes_over_a_restart)
{
	char dir[128];
	struct servers *servers;
	struct servers_entry entry;
	struct err err;

	make_dir(dir, sizeof dir);
	servers = make(dir);
	cr_expect_eq(entry_of(servers, "ms1").weight, 5);
	cr_expect_eq(servers_drain(servers, "ms1", true, &err), 0);
	cr_expect_eq(servers_weight(servers, "ms2", 0, &err), 0);
	servers_free(servers);

	servers = make(dir);
	entry = entry_of(servers, "ms1");
	cr_expect(entry.is_drained);
	cr_expect_not(entry.weight_is_set);
	cr_expect_eq(entry.weight, 5);
	entry = entry_of(servers, "ms2");
	cr_expect_not(entry.is_drained);
	cr_expect(entry.weight_is_set);
	cr_expect_eq(entry.weight, 0);
	cr_expect_eq(servers_drain(servers, "ms1", false, &err), 0);
	servers_free(servers);

	servers = make(dir);
	cr_expect_not(entry_of(servers, "ms1").is_drained);
	cr_expect_eq(entry_of(servers, "ms2").weight, 0);
	servers_free(servers);
	remove_dir(dir);
}

Test(servers_operator, keeps_a_wish_for_a_server_that_is_away_for_a_while)
{
	char dir[128];
	struct servers *servers;
	struct err err;

	make_dir(dir, sizeof dir);
	servers = make(dir);
	cr_expect_eq(servers_drain(servers, "ms1", true, &err), 0);
	configure(servers, trio + 2, 1);
	cr_expect_eq(servers_weight(servers, "ms2", 7, &err), 0);
	servers_free(servers);
	servers = servers_new(dir);
	configure(servers, trio + 2, 1);
	cr_expect_eq(entry_of(servers, "ms2").weight, 7);
	configure(servers, trio, 3);
	cr_expect(entry_of(servers, "ms1").is_drained);
	servers_free(servers);
	remove_dir(dir);
}

Test(servers_operator, goes_back_to_the_configurations_weight_when_the_operators_is_taken_back)
{
	char dir[64];
	struct servers *servers;
	struct err err;

	make_dir(dir, sizeof dir);
	servers = make(dir);
	cr_expect_eq(servers_weight(servers, "ms2", 7, &err), 0);
	cr_expect_eq(servers_weight(servers, "ms2", SERVERS_WEIGHT_UNSET, &err), 0);
	cr_expect_not(entry_of(servers, "ms2").weight_is_set);
	cr_expect_eq(entry_of(servers, "ms2").weight, 3);
	servers_free(servers);
	remove_dir(dir);
}

Test(servers_operator, keeps_a_broken_operator_file_aside_and_starts_afresh)
{
	static const char *const broken[] = {
		"",
		"{\"version\": 1, \"servers\": {\"ms1\": {\"drain",
		"[]",
		"{\"version\": 2, \"servers\": {}}",
		"{\"version\": 1}",
		"{\"version\": 1, \"servers\": {\"ms1\": {\"drained\": 1}}}",
		"{\"version\": 1, \"servers\": {\"ms1\": {\"weight\": 101}}}",
		"{\"version\": 1, \"servers\": {\"ms1\": {\"weight\": -1}}}",
		"{\"version\": 1, \"servers\": {\"a\": {\"drained\": true}, \"ms1\": 3}}",
		"{\"version\": 1, \"servers\": {\"../x\": {\"drained\": true}}}",
		"{\"version\": 1, \"servers\": {\"ms1\": {}, \"ms1\": {}}}",
	};

	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		char dir[128], aside[256], path[256], text[128] = "";
		struct servers *servers;
		struct err err;
		FILE *file;

		make_dir(dir, sizeof dir);
		write_text(dir, broken[i]);
		servers = make(dir);
		cr_expect_not(entry_of(servers, "ms1").is_drained);
		file_in(aside, sizeof aside, dir, "operator.json.bad");
		file = fopen(aside, "r");
		cr_assert_not_null(file, "case %zu was not kept", i);
		(void)!fread(text, 1, sizeof text - 1, file);
		fclose(file);
		cr_expect_str_eq(text, broken[i]);
		file_in(path, sizeof path, dir, "operator.json");
		cr_expect_neq(access(path, F_OK), 0, "case %zu", i);
		cr_expect_eq(servers_drain(servers, "ms1", true, &err), 0);
		servers_free(servers);
		servers = make(dir);
		cr_expect(entry_of(servers, "ms1").is_drained, "case %zu", i);
		servers_free(servers);
		remove_dir(dir);
	}
}

Test(servers_operator, does_not_do_what_it_cannot_write)
{
	char dir[128];
	struct servers *servers;
	struct err err = { 0 };

	make_dir(dir, sizeof dir);
	servers = make(dir);
	cr_assert_eq(servers_weight(servers, "ms1", 9, &err), 0);
	remove_dir(dir);
	cr_expect_eq(servers_drain(servers, "ms1", true, &err), -ENOENT);
	cr_expect_not_null(strstr(err.text, "would not outlive a restart"), "%s", err.text);
	cr_expect_not_null(strstr(err.text, dir), "%s", err.text);
	cr_expect_not(entry_of(servers, "ms1").is_drained);
	cr_expect_lt(servers_weight(servers, "ms1", 10, &err), 0);
	configure(servers, trio, 3);
	cr_expect_not(entry_of(servers, "ms1").is_drained);
	cr_expect_eq(entry_of(servers, "ms1").weight, 9);
	servers_free(servers);
}

Test(servers_operator, refuses_wishes_that_make_no_sense_with_a_sentence)
{
	struct servers *servers = make(NULL);
	struct err err;

	cr_expect_eq(servers_drain(servers, "ms9", true, &err), -ENOENT);
	cr_expect_str_eq(err.text, "no server \"ms9\" in the configuration; callrouterctl servers "
				   "lists them");
	cr_expect_eq(servers_drain(servers, "admin", true, &err), -EINVAL);
	cr_expect_str_eq(err.text, "admin is an administration server: no call goes there anyway");
	cr_expect_eq(servers_weight(servers, "ms1", 101, &err), -ERANGE);
	cr_expect_str_eq(err.text, "weight 101 is not in 0 .. 100");
	cr_expect_eq(servers_weight(servers, "ms9", 1, NULL), -ENOENT);
	cr_expect_eq(servers_weight(servers, "ms1", 100, NULL), 0);
	cr_expect_eq(entry_of(servers, "ms1").weight, 100);
	servers_free(servers);
}
