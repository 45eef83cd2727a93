/* test_stage.c - from a file in plugins.d to a private copy: what is seen, trusted and copied. */
#include "state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "stage.h"

#define GOOD TEST_PLUGINS_DIR "/good.so"

static struct err err;

/* plugins.d and the staging folder of a daemon. */
static void make_folders(void)
{
	state_folder_make();
	umask(022);
	err = (struct err){ 0 };
	cr_assert_eq(mkdir(state_path("plugins.d"), 0755), 0);
	cr_assert_eq(stage_open(state_folder, &err), 0);
}

TestSuite(stage, .init = make_folders, .fini = state_folder_remove);

static void copy(const char *from, const char *name, off_t bytes)
{
	static char text[1 << 20];
	int in = open(from, O_RDONLY), out;
	ssize_t got;

	cr_assert_geq(in, 0, "%s is not built", from);
	got = read(in, text, sizeof text);
	close(in);
	if (bytes >= 0 && bytes < got)
		got = bytes;
	out = open(state_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0755);
	cr_assert_geq(out, 0);
	cr_assert_eq(write(out, text, (size_t)got), got);
	close(out);
}

static struct stage_listing list_of(const char *first, const char *second)
{
	char a[256], b[256];
	char *const dirs[] = { a, b };
	struct stage_listing listing;

	snprintf(a, sizeof a, "%s", state_path(first));
	snprintf(b, sizeof b, "%s", second != NULL ? state_path(second) : "");
	cr_assert_eq(stage_list(dirs, second != NULL ? 2 : 1, &listing), 0);
	return listing;
}

static struct stage_file file_of(const char *name)
{
	struct stage_file file = { .plugin = "good" };

	snprintf(file.path, sizeof file.path, "%s", state_path(name));
	return file;
}

static int stage(const char *name, uint64_t *digest)
{
	const struct stage_file file = file_of(name);
	char to[PATH_MAX];

	err = (struct err){ 0 };
	return stage_copy(&file, state_folder, 7, to, digest, &err);
}

/* Refused by the check and by the copy with this sentence, and nothing is left of it. */
static void expect_refusal(const char *name, int code, const char *text)
{
	const struct stage_file file = file_of(name);
	uint64_t digest;

	err = (struct err){ 0 };
	cr_assert_eq(stage_check(&file, &err), code, "%s", err.text);
	state_expect(err.text, text);
	cr_assert_eq(stage(name, &digest), code);
	state_expect(err.text, text);
	cr_assert_eq(access(state_path("plugins/good.7.so"), F_OK), -1);
}

/*** Listing ***/

Test(stage, lists_files_whose_names_are_a_plugin_s_and_passes_over_the_others)
{
	static const char *const others[] = {
		".good.so", "good.so.tmp",  "good.so~", "good-1.so",
		"Good.so",  "good.so.x7Rq", ".so",      "good.SO",
		"goo.d.so", "#good.so#",    "good",     "a_name_of_32_letters_is_too_long.so"
	};
	struct stage_listing listing;

	copy(GOOD, "plugins.d/good.so", -1);
	copy(GOOD, "plugins.d/a_name_of_31_letters_is_the_end.so", 10);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		char name[128];

		snprintf(name, sizeof name, "plugins.d/%s", others[i]);
		copy(GOOD, name, 10);
	}
	cr_assert_eq(symlink("/nowhere", state_path("plugins.d/dangling.so")), 0);
	listing = list_of("plugins.d", NULL);
	cr_assert_not_null(stage_find(&listing, "good"));
	cr_assert_not_null(stage_find(&listing, "a_name_of_31_letters_is_the_end"));
	cr_assert_eq(listing.n, 2);
	cr_assert_null(stage_find(&listing, "dangling"));
	state_expect(stage_find(&listing, "good")->path, "%s/plugins.d/good.so");
	stage_listing_free(&listing);
	cr_assert_eq(listing.n, 0);
}

Test(stage, of_two_files_with_one_name_that_in_the_later_folder_wins)
{
	struct stage_listing listing;

	cr_assert_eq(mkdir(state_path("later"), 0755), 0);
	copy(GOOD, "plugins.d/good.so", -1);
	copy(GOOD, "later/good.so", 10);
	listing = list_of("plugins.d", "later");
	cr_assert_eq(listing.n, 1);
	state_expect(stage_find(&listing, "good")->path, "%s/later/good.so");
	stage_listing_free(&listing);
	listing = list_of("later", "plugins.d");
	state_expect(stage_find(&listing, "good")->path, "%s/plugins.d/good.so");
	stage_listing_free(&listing);
}

Test(stage, a_folder_that_is_not_there_counts_as_empty)
{
	struct stage_listing listing = list_of("nowhere", NULL);

	cr_assert_eq(listing.n, 0);
	cr_assert_null(stage_find(&listing, "good"));
	stage_listing_free(&listing);
}

/* Has the file changed since before? Takes the listing of now. */
static bool is_same_now(const struct stage_file *before)
{
	struct stage_listing listing = list_of("plugins.d", NULL);
	const struct stage_file *now = stage_find(&listing, "good");
	bool is_same;

	cr_assert_not_null(now);
	is_same = stage_is_same(before, now);
	stage_listing_free(&listing);
	return is_same;
}

Test(stage, a_file_is_the_same_until_it_or_who_may_replace_it_changes)
{
	struct stage_listing listing;
	struct stage_file before;

	copy(GOOD, "plugins.d/good.so", -1);
	listing = list_of("plugins.d", NULL);
	before = *stage_find(&listing, "good");
	stage_listing_free(&listing);
	cr_assert(is_same_now(&before));
	copy(GOOD, "plugins.d/other.so", 10);
	cr_assert(is_same_now(&before));
	cr_assert_eq(chmod(state_path("plugins.d"), 0777), 0);
	cr_assert_not(is_same_now(&before));
	cr_assert_eq(chmod(state_path("plugins.d"), 0755), 0);
	cr_assert(is_same_now(&before));
	copy(GOOD, "plugins.d/good.so", 10);
	cr_assert_not(is_same_now(&before));
}

Test(stage, a_copy_in_its_place_is_another_file)
{
	struct stage_listing listing;
	struct stage_file before;

	copy(GOOD, "plugins.d/good.so", -1);
	listing = list_of("plugins.d", NULL);
	before = *stage_find(&listing, "good");
	stage_listing_free(&listing);
	copy(GOOD, "plugins.d/new", -1);
	cr_assert_eq(rename(state_path("plugins.d/new"), state_path("plugins.d/good.so")), 0);
	cr_assert_not(is_same_now(&before));
}

/*** Copying ***/

Test(stage, a_good_file_is_copied_under_its_number)
{
	uint64_t digest, of_file, of_copy;
	struct stat file, staged;

	copy(GOOD, "plugins.d/good.so", -1);
	cr_assert_eq(stage("plugins.d/good.so", &digest), 0, "%s", err.text);
	cr_assert_eq(stage_digest(state_path("plugins.d/good.so"), &of_file, &err), 0);
	cr_assert_eq(stage_digest(state_path("plugins/good.7.so"), &of_copy, &err), 0);
	cr_assert_eq(digest, of_file);
	cr_assert_eq(digest, of_copy);
	cr_assert_eq(stat(state_path("plugins.d/good.so"), &file), 0);
	cr_assert_eq(stat(state_path("plugins/good.7.so"), &staged), 0);
	cr_assert_eq(file.st_size, staged.st_size);
	cr_assert_eq(staged.st_mode & 07777, 0755);
}

Test(stage, a_number_that_is_taken_is_not_overwritten)
{
	uint64_t digest;

	copy(GOOD, "plugins.d/good.so", -1);
	state_write("plugins/good.7.so", "mapped by somebody");
	cr_assert_eq(stage("plugins.d/good.so", &digest), -EEXIST);
	state_expect(err.text, "%s/plugins/good.7.so cannot be written: File exists");
	cr_assert_str_eq(state_read("plugins/good.7.so"), "mapped by somebody");
}

Test(stage, without_a_staging_folder_nothing_can_be_copied)
{
	uint64_t digest;

	copy(GOOD, "plugins.d/good.so", -1);
	cr_assert_eq(rmdir(state_path("plugins")), 0);
	cr_assert_eq(stage("plugins.d/good.so", &digest), -ENOENT);
	state_expect(err.text, "%s/plugins/good.7.so cannot be written: No such file or directory");
}

Test(stage, digests_differ_by_contents_and_by_length)
{
	uint64_t a, b, c;

	state_write("a", "text");
	state_write("b", "texu");
	copy("/dev/zero", "c", 1 << 20);
	cr_assert_eq(stage_digest(state_path("a"), &a, &err), 0);
	cr_assert_eq(stage_digest(state_path("b"), &b, &err), 0);
	cr_assert_neq(a, b);
	cr_assert_eq(stage_digest(state_path("c"), &c, &err), 0);
	cr_assert_eq(truncate(state_path("c"), (1 << 20) + 1), 0);
	cr_assert_eq(stage_digest(state_path("c"), &a, &err), 0);
	cr_assert_neq(a, c);
}

Test(stage, a_digest_of_what_cannot_be_read_is_an_error)
{
	uint64_t digest;

	cr_assert_eq(stage_digest(state_path("nothing"), &digest, &err), -ENOENT);
	state_expect(err.text, "%s/nothing: No such file or directory");
	cr_assert_eq(stage_digest(state_path("plugins.d"), &digest, &err), -EISDIR);
	state_expect(err.text, "%s/plugins.d: Is a directory");
}

/*** Refusals ***/

Test(stage, a_file_that_is_gone_is_refused)
{
	expect_refusal("plugins.d/good.so", -ENOENT,
		       "%s/plugins.d/good.so cannot be read: No such file or directory");
}

Test(stage, folders_and_pipes_are_refused)
{
	cr_assert_eq(mkdir(state_path("plugins.d/good.so"), 0755), 0);
	expect_refusal("plugins.d/good.so", -EINVAL, "%s/plugins.d/good.so is not a regular file");
	cr_assert_eq(rmdir(state_path("plugins.d/good.so")), 0);
	cr_assert_eq(mkfifo(state_path("plugins.d/good.so"), 0644), 0);
	expect_refusal("plugins.d/good.so", -EINVAL, "%s/plugins.d/good.so is not a regular file");
}

Test(stage, what_is_larger_than_any_plugin_is_refused)
{
	uint64_t digest;

	copy(GOOD, "plugins.d/good.so", -1);
	cr_assert_eq(truncate(state_path("plugins.d/good.so"), (off_t)(256 << 20) + 1), 0);
	expect_refusal("plugins.d/good.so", -EFBIG, "%s/plugins.d/good.so is larger than 256 MiB");
	cr_assert_eq(stage_digest(state_path("plugins.d/good.so"), &digest, &err), -EFBIG);
	state_expect(err.text, "%s/plugins.d/good.so: File too large");
}

Test(stage, a_file_that_others_can_write_is_refused)
{
	copy(GOOD, "plugins.d/good.so", -1);
	cr_assert_eq(chmod(state_path("plugins.d/good.so"), 0757), 0);
	expect_refusal("plugins.d/good.so", -EPERM,
		       "others can write to %s/plugins.d/good.so: do chmod o-w "
		       "%s/plugins.d/good.so");
}

Test(stage, a_folder_in_which_others_can_write_is_refused_unless_it_is_sticky)
{
	uint64_t digest;

	copy(GOOD, "plugins.d/good.so", -1);
	cr_assert_eq(chmod(state_path("plugins.d"), 0777), 0);
	expect_refusal("plugins.d/good.so", -EPERM,
		       "others can write to %s/plugins.d: do chmod o-w %s/plugins.d");
	cr_assert_eq(chmod(state_path("plugins.d"), 01777), 0);
	cr_assert_eq(stage("plugins.d/good.so", &digest), 0, "%s", err.text);
}

Test(stage, a_link_is_followed_and_its_target_s_folder_must_be_trusted_too)
{
	uint64_t digest;

	cr_assert_eq(mkdir(state_path("elsewhere"), 0755), 0);
	copy(GOOD, "elsewhere/good.so", -1);
	cr_assert_eq(symlink("../elsewhere/good.so", state_path("plugins.d/good.so")), 0);
	cr_assert_eq(stage("plugins.d/good.so", &digest), 0, "%s", err.text);
	cr_assert_eq(unlink(state_path("plugins/good.7.so")), 0);
	cr_assert_eq(chmod(state_path("elsewhere"), 0777), 0);
	expect_refusal("plugins.d/good.so", -EPERM,
		       "others can write to %s/elsewhere: do chmod o-w %s/elsewhere");
}

Test(stage, files_of_other_users_and_groups_are_refused)
{
	if (geteuid() != 0)
		cr_skip_test("only root can give files away");
	copy(GOOD, "plugins.d/good.so", -1);
	cr_assert_eq(chown(state_path("plugins.d/good.so"), 12345, 0), 0);
	expect_refusal("plugins.d/good.so", -EPERM,
		       "%s/plugins.d/good.so belongs to user 12345: plugins must belong to root "
		       "or to callrouterd's user");
	cr_assert_eq(chown(state_path("plugins.d/good.so"), 0, 12345), 0);
	cr_assert_eq(chmod(state_path("plugins.d/good.so"), 0775), 0);
	expect_refusal("plugins.d/good.so", -EPERM,
		       "group 12345 can write to %s/plugins.d/good.so: do chmod g-w "
		       "%s/plugins.d/good.so");
}

Test(stage, what_is_no_whole_object_is_refused)
{
	state_write("plugins.d/good.so", "#!/bin/sh\n");
	expect_refusal("plugins.d/good.so", -ENOEXEC,
		       "%s/plugins.d/good.so: is not a shared object (no ELF header): build it "
		       "with cc -shared -fPIC");
	copy(GOOD, "plugins.d/good.so", 0);
	expect_refusal("plugins.d/good.so", -ENOEXEC,
		       "%s/plugins.d/good.so: the file is empty: copy it again, whole");
	copy(GOOD, "plugins.d/good.so", 4096);
	expect_refusal("plugins.d/good.so", -ENOEXEC,
		       "%s/plugins.d/good.so: the file is cut off after 4096 bytes, its code or "
		       "data is missing: copy it again, whole");
}

Test(stage, a_file_that_changes_while_it_is_copied_is_to_be_looked_at_again)
{
	struct stage_file file = { .plugin = "good", .path = "/proc/self/status" };
	char to[PATH_MAX];
	uint64_t digest;

	/* its size is 0, and then there is more */
	cr_assert_eq(stage_copy(&file, state_folder, 7, to, &digest, &err), -EAGAIN);
	cr_assert_str_eq(err.text, "/proc/self/status is still being written");
	cr_assert_eq(access(state_path("plugins/good.7.so"), F_OK), -1);
}

/*** The staging folder ***/

Test(stage, the_folder_is_made_once)
{
	struct stat st;

	cr_assert_eq(stage_open(state_folder, &err), 0);
	cr_assert_eq(stat(state_path("plugins"), &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0755);
}

Test(stage, a_folder_that_cannot_be_made_is_an_error)
{
	char long_dir[PATH_MAX];

	state_write("file", "");
	cr_assert_eq(stage_open(state_path("file"), &err), -ENOTDIR);
	state_expect(err.text, "%s/file/plugins cannot be made: Not a directory");
	memset(long_dir, 'x', sizeof long_dir);
	long_dir[PATH_MAX - 70] = '\0';
	cr_assert_eq(stage_open(long_dir, &err), -ENAMETOOLONG);
}

Test(stage, the_newest_number_is_found_among_all_plugins)
{
	cr_assert_eq(stage_newest(state_folder), 0);
	cr_assert_eq(stage_newest("/nowhere"), 0);
	state_write("plugins/good.9.so", "");
	state_write("plugins/other.10.so", "");
	state_write("plugins/good.77.so.tmp", "");
	state_write("plugins/good.so", "");
	state_write("plugins/.78.so", "");
	cr_assert_eq(stage_newest(state_folder), 78);
	cr_assert_eq(unlink(state_path("plugins/.78.so")), 0);
	cr_assert_eq(stage_newest(state_folder), 10);
}

static bool keep_even(void *arg, const char *plugin, uint64_t seq)
{
	int *asked = arg;

	++*asked;
	return seq % 2 == 0 || strcmp(plugin, "other") == 0;
}

Test(stage, sweeping_deletes_what_is_not_kept_and_nothing_else)
{
	static const char *const stay[] = { "plugins/good.2.so", "plugins/other.3.so",
					    "plugins/notes.txt", "plugins/good.so",
					    "plugins/good.5.so.new" };
	int asked = 0;

	for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
		state_write(stay[i], "");
	state_write("plugins/good.1.so", "");
	state_write("plugins/good.5.so", "");
	stage_sweep(state_folder, keep_even, &asked);
	cr_assert_eq(asked, 4);
	for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
		cr_assert_eq(access(state_path(stay[i]), F_OK), 0, "%s", stay[i]);
	cr_assert_eq(access(state_path("plugins/good.1.so"), F_OK), -1);
	cr_assert_eq(access(state_path("plugins/good.5.so"), F_OK), -1);
	stage_sweep("/nowhere", keep_even, &asked);
	cr_assert_eq(asked, 4);
}
