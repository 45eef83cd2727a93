/* test_manifest.c - what was adopted, rolled back and quarantined is remembered. */
#include "state_folder.h"

#include <errno.h>

#include "manifest.h"

TestSuite(manifest, .init = state_folder_make, .fini = state_folder_remove);

static struct err err;

static struct manifest *open_it(void)
{
	struct manifest *manifest;

	err = (struct err){ 0 };
	cr_assert_eq(manifest_open(state_folder, &manifest, &err), 0);
	cr_assert_not_null(manifest);
	return manifest;
}

/* What a restart of the daemon does. */
static struct manifest *open_again(struct manifest *manifest)
{
	manifest_close(manifest);
	return open_it();
}

static struct manifest_file file_of(uint64_t seq, uint64_t digest)
{
	struct manifest_file file = { .seq = seq, .digest = digest };

	snprintf(file.version, sizeof file.version, "%llu.0", (unsigned long long)seq);
	return file;
}

static void adopt(struct manifest *manifest, uint64_t seq, uint64_t digest)
{
	const struct manifest_file file = file_of(seq, digest);

	cr_assert_eq(manifest_adopt(manifest, "first", false, &file, &err), 0);
}

static void send_away(struct manifest *manifest, uint64_t seq, uint64_t digest,
		      enum manifest_verdict verdict)
{
	const struct manifest_file file = file_of(seq, digest);

	cr_assert_eq(manifest_send_away(manifest, "first", &file, verdict, "it crashed", &err), 0);
}

static void expect_seqs(const struct manifest *manifest, uint64_t current, uint64_t previous)
{
	const struct manifest_entry *entry = manifest_find(manifest, "first");

	cr_assert_not_null(entry);
	cr_assert_eq(entry->current.seq, current);
	cr_assert_eq(entry->previous.seq, previous);
}

/*** Numbers ***/

Test(manifest, numbers_rise_across_restarts)
{
	struct manifest *manifest = open_it();

	cr_assert_eq(manifest_next_seq(manifest, &err), 1);
	cr_assert_eq(manifest_next_seq(manifest, &err), 2);
	manifest = open_again(manifest);
	cr_assert_eq(manifest_next_seq(manifest, &err), 3);
	manifest_close(manifest);
}

Test(manifest, a_number_is_above_all_that_were_seen_elsewhere)
{
	struct manifest *manifest = open_it();

	manifest_raise_seq(manifest, 41);
	manifest_raise_seq(manifest, 7);
	cr_assert_eq(manifest_next_seq(manifest, &err), 42);
	manifest_close(manifest);
}

Test(manifest, a_number_that_could_not_be_written_is_not_given_out_and_not_again)
{
	struct manifest *manifest = open_it();

	cr_assert_eq(manifest_next_seq(manifest, &err), 1);
	cr_assert_eq(mkdir(state_path("manifest.json.new"), 0755), 0);
	cr_assert_eq(manifest_next_seq(manifest, &err), 0);
	state_expect(err.text, "%s/manifest.json.new cannot be written: Is a directory");
	cr_assert_eq(rmdir(state_path("manifest.json.new")), 0);
	cr_assert_eq(manifest_next_seq(manifest, &err), 3);
	manifest_close(manifest);
}

Test(manifest, numbers_of_files_count_even_if_the_last_one_is_wrong)
{
	struct manifest *manifest;

	state_write("manifest.json",
		    "{\"layout\":1,\"seq\":-5,\"plugins\":[{\"plugin\":\"first\",\"current\":"
		    "{\"seq\":7,\"digest\":\"a\",\"version\":\"1\"},\"previous\":{\"seq\":9,"
		    "\"digest\":\"b\",\"version\":\"1\"},\"refused\":[{\"file\":{\"seq\":11,"
		    "\"digest\":\"c\",\"version\":\"1\"},\"verdict\":\"quarantined\"}]}]}");
	manifest = open_it();
	cr_assert_eq(err.code, 0);
	expect_seqs(manifest, 7, 9);
	cr_assert_not_null(manifest_refuses(manifest, "first", 0xc));
	cr_assert_str_eq(manifest_refuses(manifest, "first", 0xc)->note, "");
	cr_assert_eq(manifest_next_seq(manifest, &err), 12);
	manifest_close(manifest);
}

/*** In office ***/

Test(manifest, the_one_before_becomes_the_previous)
{
	struct manifest *manifest = open_it();

	adopt(manifest, 1, 0xa);
	expect_seqs(manifest, 1, 0);
	adopt(manifest, 2, 0xb);
	expect_seqs(manifest, 2, 1);
	adopt(manifest, 3, 0xc);
	manifest = open_again(manifest);
	expect_seqs(manifest, 3, 2);
	cr_assert_eq(manifest_find(manifest, "first")->current.digest, 0xc);
	cr_assert_str_eq(manifest_find(manifest, "first")->previous.version, "2.0");
	manifest_close(manifest);
}

Test(manifest, adopting_the_current_file_again_keeps_the_previous)
{
	struct manifest *manifest = open_it();

	adopt(manifest, 1, 0xa);
	adopt(manifest, 2, 0xb);
	adopt(manifest, 2, 0xb);
	expect_seqs(manifest, 2, 1);
	manifest_close(manifest);
}

Test(manifest, plugins_are_kept_apart)
{
	struct manifest *manifest = open_it();
	const struct manifest_file file = file_of(2, 0xb);
	size_t n;

	adopt(manifest, 1, 0xa);
	cr_assert_eq(manifest_adopt(manifest, "http", true, &file, &err), 0);
	manifest = open_again(manifest);
	cr_assert_eq(manifest_entries(manifest, &n)[1].is_collector, true);
	cr_assert_eq(n, 2);
	expect_seqs(manifest, 1, 0);
	cr_assert_eq(manifest_find(manifest, "http")->current.seq, 2);
	cr_assert_eq(manifest_find(manifest, "first")->is_collector, false);
	cr_assert_null(manifest_find(manifest, "other"));
	cr_assert_null(manifest_refuses(manifest, "other", 0xa));
	manifest_close(manifest);
}

/*** Sent away ***/

Test(manifest, the_previous_one_comes_back_for_one_that_is_sent_away)
{
	struct manifest *manifest = open_it();
	const struct manifest_refused *refused;

	adopt(manifest, 1, 0xa);
	adopt(manifest, 2, 0xb);
	send_away(manifest, 2, 0xb, MANIFEST_ROLLED_BACK);
	manifest = open_again(manifest);
	expect_seqs(manifest, 1, 0);
	refused = manifest_refuses(manifest, "first", 0xb);
	cr_assert_not_null(refused);
	cr_assert_eq(refused->file.seq, 2);
	cr_assert_str_eq(refused->file.version, "2.0");
	cr_assert_eq(refused->verdict, MANIFEST_ROLLED_BACK);
	cr_assert_str_eq(refused->note, "it crashed");
	cr_assert_null(manifest_refuses(manifest, "first", 0xa));
	manifest_close(manifest);
}

Test(manifest, without_a_previous_one_nobody_is_in_office)
{
	struct manifest *manifest = open_it();

	adopt(manifest, 1, 0xa);
	send_away(manifest, 1, 0xa, MANIFEST_QUARANTINED);
	manifest = open_again(manifest);
	expect_seqs(manifest, 0, 0);
	cr_assert_eq(manifest_refuses(manifest, "first", 0xa)->verdict, MANIFEST_QUARANTINED);
	manifest_close(manifest);
}

Test(manifest, a_previous_one_that_is_sent_away_is_not_come_back_to)
{
	struct manifest *manifest = open_it();

	adopt(manifest, 1, 0xa);
	adopt(manifest, 2, 0xb);
	send_away(manifest, 1, 0xa, MANIFEST_QUARANTINED);
	expect_seqs(manifest, 2, 0);
	manifest_close(manifest);
}

Test(manifest, one_that_never_was_in_office_is_refused_all_the_same)
{
	struct manifest *manifest = open_it();

	adopt(manifest, 1, 0xa);
	send_away(manifest, 2, 0xb, MANIFEST_QUARANTINED);
	expect_seqs(manifest, 1, 0);
	cr_assert_not_null(manifest_refuses(manifest, "first", 0xb));
	manifest_close(manifest);
}

Test(manifest, adopting_takes_the_mark_off)
{
	struct manifest *manifest = open_it();

	adopt(manifest, 1, 0xa);
	adopt(manifest, 2, 0xb);
	send_away(manifest, 2, 0xb, MANIFEST_QUARANTINED);
	adopt(manifest, 3, 0xb);
	manifest = open_again(manifest);
	cr_assert_null(manifest_refuses(manifest, "first", 0xb));
	expect_seqs(manifest, 3, 1);
	manifest_close(manifest);
}

Test(manifest, the_oldest_marks_are_forgotten_first)
{
	struct manifest *manifest = open_it();

	for (uint64_t i = 1; i <= 33; i++)
		send_away(manifest, i, i, MANIFEST_QUARANTINED);
	manifest = open_again(manifest);
	cr_assert_eq(manifest_find(manifest, "first")->n_refused, 32);
	cr_assert_eq(manifest_find(manifest, "first")->refused[0].file.seq, 33);
	cr_assert_null(manifest_refuses(manifest, "first", 1));
	cr_assert_not_null(manifest_refuses(manifest, "first", 2));
	manifest_close(manifest);
}

Test(manifest, the_same_contents_are_marked_once)
{
	struct manifest *manifest = open_it();

	send_away(manifest, 1, 0xa, MANIFEST_QUARANTINED);
	send_away(manifest, 2, 0xa, MANIFEST_ROLLED_BACK);
	cr_assert_eq(manifest_find(manifest, "first")->n_refused, 1);
	cr_assert_eq(manifest_refuses(manifest, "first", 0xa)->file.seq, 2);
	manifest_close(manifest);
}

/*** Trouble ***/

Test(manifest, what_cannot_be_written_changes_nothing)
{
	const struct manifest_file file = file_of(3, 0xc), current = file_of(2, 0xb);
	struct manifest *manifest = open_it();

	adopt(manifest, 1, 0xa);
	adopt(manifest, 2, 0xb);
	cr_assert_eq(mkdir(state_path("manifest.json.new"), 0755), 0);
	cr_assert_eq(manifest_adopt(manifest, "first", false, &file, &err), -EISDIR);
	state_expect(err.text, "%s/manifest.json.new cannot be written: Is a directory");
	cr_assert_eq(
		manifest_send_away(manifest, "first", &current, MANIFEST_QUARANTINED, "", &err),
		-EISDIR);
	expect_seqs(manifest, 2, 1);
	cr_assert_null(manifest_refuses(manifest, "first", 0xb));
	manifest_close(manifest);
}

Test(manifest, a_torn_one_is_kept_aside_and_a_new_one_begun)
{
	struct manifest *manifest;

	state_write("manifest.json", "{\"layout\":1,\"seq\":12,");
	manifest = open_it();
	cr_assert_eq(err.code, -EBADMSG);
	state_expect(err.text, "%s/manifest.json was broken (line 1: string or '}' expected near "
			       "end of file): it is kept as %s/manifest.json.bad, and a new one "
			       "begun");
	cr_assert_str_eq(state_read("manifest.json.bad"), "{\"layout\":1,\"seq\":12,");
	cr_assert_eq(manifest_next_seq(manifest, &err), 1);
	manifest_close(manifest);
}

Test(manifest, one_of_another_layout_is_kept_aside)
{
	static const char *const others[] = { "{\"layout\":2,\"seq\":12,\"plugins\":[]}", "{}",
					      "[]" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		state_write("manifest.json", others[i]);
		manifest_close(open_it());
		cr_assert_eq(err.code, -EBADMSG);
		state_expect(err.text, "%s/manifest.json was broken (not of this callrouterd's "
				       "layout): it is kept as %s/manifest.json.bad, and a new "
				       "one begun");
		cr_assert_str_eq(state_read("manifest.json.bad"), others[i]);
	}
}

Test(manifest, entries_that_make_no_sense_are_passed_over)
{
	struct manifest *manifest;
	size_t n;

	state_write("manifest.json",
		    "{\"layout\":1,\"seq\":3,\"plugins\":[7,{},{\"plugin\":\"../../etc\"},"
		    "{\"plugin\":\"first\",\"current\":5,\"refused\":[{},{\"verdict\":1}]}]}");
	manifest = open_it();
	manifest_entries(manifest, &n);
	cr_assert_eq(n, 1);
	expect_seqs(manifest, 0, 0);
	cr_assert_eq(manifest_find(manifest, "first")->n_refused, 0);
	manifest_close(manifest);
}

Test(manifest, a_folder_that_cannot_be_read_is_an_error)
{
	struct manifest *manifest;

	state_write("file", "");
	cr_assert_eq(manifest_open(state_path("file"), &manifest, &err), -ENOTDIR);
	state_expect(err.text, "%s/file/manifest.json: Not a directory");
	cr_assert_null(manifest);
}

Test(manifest, a_version_that_is_not_utf_8_loses_no_entry)
{
	struct manifest *manifest = open_it();
	struct manifest_file file = { 1, 0xa, "1.\xc3" };

	cr_assert_eq(manifest_adopt(manifest, "first", false, &file, &err), 0);
	cr_assert_eq(manifest_send_away(manifest, "first", &file, MANIFEST_QUARANTINED,
					"\xff crashed", &err),
		     0);
	manifest = open_again(manifest);
	cr_assert_eq(err.code, 0);
	cr_assert_not_null(manifest_refuses(manifest, "first", 0xa));
	cr_assert_str_eq(manifest_refuses(manifest, "first", 0xa)->file.version, "1.?");
	cr_assert_str_eq(manifest_refuses(manifest, "first", 0xa)->note, "? crashed");
	manifest_close(manifest);
}
