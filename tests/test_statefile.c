/* test_statefile.c - JSON documents that outlive the daemon. */
#include <criterion/criterion.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state_folder.h"
#include "statefile.h"

TestSuite(statefile, .init = state_folder_make, .fini = state_folder_remove);

static int read_it(json_t **root, struct err *err)
{
	*err = (struct err){ 0 };
	return statefile_read(state_folder, "it.json", root, err);
}

static int write_it(json_t *root, struct err *err)
{
	int got;

	*err = (struct err){ 0 };
	got = statefile_write(state_folder, "it.json", root, err);
	json_decref(root);
	return got;
}

Test(statefile, no_file_is_no_document_and_no_error)
{
	struct err err;
	json_t *root;

	cr_assert_eq(read_it(&root, &err), 0);
	cr_assert_null(root);
	cr_assert_eq(err.code, 0);
}

Test(statefile, what_was_written_is_read)
{
	struct err err;
	json_t *root;

	cr_assert_eq(write_it(json_pack("{s:i}", "seven", 7), &err), 0);
	cr_assert_eq(read_it(&root, &err), 0);
	cr_assert_eq(json_integer_value(json_object_get(root, "seven")), 7);
	json_decref(root);
	cr_assert_eq(access(state_path("it.json.new"), F_OK), -1);
}

Test(statefile, others_may_not_read_it)
{
	struct err err;
	struct stat st;

	cr_assert_eq(write_it(json_object(), &err), 0);
	cr_assert_eq(stat(state_path("it.json"), &st), 0);
	cr_assert_eq(st.st_mode & 07777 & ~0640u, 0);
}

Test(statefile, a_torn_file_is_kept_aside)
{
	struct err err;
	json_t *root;

	state_write("it.json", "{ \"seven\": 7,\n");
	cr_assert_eq(read_it(&root, &err), 0);
	cr_assert_null(root);
	cr_assert_eq(err.code, -EBADMSG);
	state_expect(err.text, "%s/it.json was broken (line 2: string or '}' expected near end of "
			       "file): it is kept as %s/it.json.bad, and a new one begun");
	cr_assert_str_eq(state_read("it.json.bad"), "{ \"seven\": 7,\n");
	cr_assert_eq(access(state_path("it.json"), F_OK), -1);
}

Test(statefile, an_empty_file_and_a_key_twice_are_broken)
{
	struct err err;
	json_t *root;

	state_write("it.json", "");
	cr_assert_eq(read_it(&root, &err), 0);
	cr_assert_eq(err.code, -EBADMSG);
	state_write("it.json", "{ \"a\": 1, \"a\": 2 }");
	cr_assert_eq(read_it(&root, &err), 0);
	cr_assert_eq(err.code, -EBADMSG);
	cr_assert_null(root);
}

Test(statefile, a_text_with_a_nul_is_told_in_words_of_our_own)
{
	struct err err;
	json_t *root;

	state_write("it.json", "{\n \"name\": \"ms\\u00001\" }");
	cr_assert_eq(read_it(&root, &err), 0);
	cr_assert_null(root);
	state_expect(err.text,
		     "%s/it.json was broken (line 2: a text holds \\u0000, which is in no "
		     "name: take it out): it is kept as %s/it.json.bad, and a new one begun");
}

/* As after a power cut. */
Test(statefile, a_file_of_nuls_is_told_as_such)
{
	static const char nuls[64];
	struct err err;
	json_t *root;
	FILE *file = fopen(state_path("it.json"), "w");

	cr_assert_eq(fwrite(nuls, 1, sizeof nuls, file), sizeof nuls);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(read_it(&root, &err), 0);
	cr_assert_null(root);
	state_expect(err.text, "%s/it.json was broken (line 1: it holds a NUL byte): it is kept as "
			       "%s/it.json.bad, and a new one begun");
}

Test(statefile, a_broken_file_that_cannot_be_moved_is_an_error_and_stays)
{
	struct err err;
	json_t *root;

	state_write("it.json", "[");
	cr_assert_eq(mkdir(state_path("it.json.bad"), 0755), 0);
	cr_assert_eq(read_it(&root, &err), -EISDIR);
	state_expect(err.text, "%s/it.json is broken (line 1: ']' expected near end of file) and "
			       "cannot be set aside: Is a directory");
	cr_assert_str_eq(state_read("it.json"), "[");
}

Test(statefile, a_file_that_cannot_be_read_is_an_error)
{
	struct err err = { 0 };
	json_t *root;

	state_write("file", "");
	cr_assert_eq(statefile_read(state_path("file"), "it.json", &root, &err), -ENOTDIR);
	state_expect(err.text, "%s/file/it.json: Not a directory");
}

Test(statefile, what_cannot_be_written_leaves_the_old_file)
{
	struct err err;

	cr_assert_eq(write_it(json_pack("{s:i}", "a", 1), &err), 0);
	cr_assert_eq(mkdir(state_path("it.json.new"), 0755), 0);
	cr_assert_eq(write_it(json_pack("{s:i}", "a", 2), &err), -EISDIR);
	state_expect(err.text, "%s/it.json.new cannot be written: Is a directory");
	cr_assert_str_eq(state_read("it.json"), "{\n  \"a\": 1\n}");
}

Test(statefile, a_name_that_is_taken_by_a_folder_is_an_error_and_nothing_is_left)
{
	struct err err;

	cr_assert_eq(mkdir(state_path("it.json"), 0755), 0);
	cr_assert_eq(write_it(json_object(), &err), -EISDIR);
	state_expect(err.text, "%s/it.json cannot be written: Is a directory");
	cr_assert_eq(access(state_path("it.json.new"), F_OK), -1);
}

Test(statefile, a_path_that_is_too_long_is_an_error)
{
	char dir[PATH_MAX];
	struct err err = { 0 };
	json_t *root;

	memset(dir, 'x', sizeof dir - 1);
	dir[sizeof dir - 1] = '\0';
	cr_assert_eq(statefile_read(dir, "it.json", &root, &err), -ENAMETOOLONG);
	cr_assert_eq(statefile_set_aside(dir, "it.json", "torn", &err), -ENAMETOOLONG);
	root = json_object();
	cr_assert_eq(statefile_write(dir, "it.json", root, &err), -ENAMETOOLONG);
	json_decref(root);
	cr_assert_eq(strncmp(err.text, "xxxx", 4), 0);
	/* its end is cut off: the sentence is longer than an err's text */
	dir[200] = '\0';
	cr_assert_eq(statefile_read(dir, "it.json", &root, &err), 0);
}

Test(statefile, setting_aside_says_why)
{
	struct err err = { 0 };

	state_write("it.json", "{}");
	cr_assert_eq(statefile_set_aside(state_folder, "it.json", "too old", &err), 0);
	cr_assert_eq(err.code, -EBADMSG);
	state_expect(err.text, "%s/it.json was broken (too old): it is kept as %s/it.json.bad, and "
			       "a new one begun");
	cr_assert_eq(statefile_set_aside(state_folder, "it.json", "too old", &err), -ENOENT);
	state_expect(err.text, "%s/it.json is broken (too old) and cannot be set aside: No such "
			       "file or directory");
}
