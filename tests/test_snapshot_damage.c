/* test_snapshot_damage.c - an image is read whole or not at all, whatever happens to the file. */
#include <signal.h>
#include <sys/wait.h>

#include "snapshot_scene.h"

Test(snapshot, a_writer_that_died_halfway_leaves_the_old_image)
{
	const uint64_t none = 0, junk = 0x4141414141414141;
	struct scene s;
	off_t next;

	scene_open(&s);
	publish(&s, 0);
	/* The next image's slot: begun, half filled, never announced. */
	next = (off_t)snapshot_slot_at(2, 65536);
	file_write(s.path, next, &none, sizeof none);
	file_write(s.path, next + 64, &junk, sizeof junk);
	expect_read(&s, 0, 1, 1);
	expect_read(&s, 1, 0, 0);
	snapshot_writer_close(s.writer);
	cr_assert_eq(snapshot_create(s.folder.path, (gid_t)-1, &s.writer, &s.err), 0);
	publish(&s, 0);
	expect_read(&s, 1, 1, 2);
	scene_close(&s);
}

Test(snapshot, a_slot_that_is_being_written_is_looked_at_later)
{
	const uint64_t none = 0;
	struct scene s;

	scene_open(&s);
	publish(&s, 0);
	publish(&s, 0);
	file_write(s.path, (off_t)snapshot_slot_at(2, 65536), &none, sizeof none);
	expect_read(&s, 0, -EAGAIN, 0);
	publish(&s, 0);
	expect_read(&s, 0, 1, 3);
	scene_close(&s);
}

Test(snapshot, a_flipped_bit_in_the_image_or_its_head_is_found)
{
	const off_t slot = (off_t)snapshot_slot_at(1, 65536);
	struct image_header *image = sample_image(0);
	const off_t end = slot + 64 + image->bytes;
	struct scene s;

	scene_open(&s);
	publish(&s, 0);
	for (off_t at = slot; at < end; at++) {
		const bool is_spare = at >= slot + 32 && at < slot + 64;

		file_flip(s.path, at, 0x10);
		expect_read(&s, 0, is_spare ? 1 : -EBADMSG, is_spare ? 1 : 0);
		file_flip(s.path, at, 0x10);
		/* What was bad once is not looked at again: another reader. */
		snapshot_reader_free(s.reader);
		s.reader = snapshot_reader_new(s.folder.path);
		expect_read(&s, 0, 1, 1);
	}
	free(image);
	scene_close(&s);
}

Test(snapshot, a_flipped_bit_in_the_files_header_is_found)
{
	struct scene s;

	scene_open(&s);
	publish(&s, 0);
	for (off_t at = 0; at < (off_t)sizeof(struct snapshot_header); at++) {
		const bool is_newest = at >= (off_t)offsetof(struct snapshot_header, newest) &&
				       at < (off_t)offsetof(struct snapshot_header, newest) + 8;
		const bool is_mark = at >= (off_t)offsetof(struct snapshot_header, mark) &&
				     at < (off_t)offsetof(struct snapshot_header, id);
		const bool is_spare = (at >= 20 && at < 24) || (at >= 56 && at < 64) || at >= 72;
		uint64_t got;
		int code;

		file_flip(s.path, at, 0x10);
		snapshot_reader_free(s.reader);
		s.reader = snapshot_reader_new(s.folder.path);
		code = read_generation(&s, 0, &got);
		if (is_newest)
			cr_expect(code == -EBADMSG || code == -EAGAIN, "%d: %d", (int)at, code);
		else if (is_mark)
			cr_expect_eq(code, -ESTALE, "%d: %d", (int)at, code);
		else
			cr_expect_eq(code, is_spare ? 1 : -EBADMSG, "%d: %d", (int)at, code);
		file_flip(s.path, at, 0x10);
	}
	scene_close(&s);
}

Test(snapshot, a_file_cut_at_any_length_is_refused_and_replaced)
{
	struct scene s;

	scene_open(&s);
	publish(&s, 0);
	publish(&s, 0);
	expect_read(&s, 0, 1, 2);
	for (off_t len = 200703; len >= 0; len -= len < 5000 ? 97 : 9973) {
		struct snapshot_reader *late = snapshot_reader_new(s.folder.path);
		struct image_header *image;

		cr_assert_eq(truncate(s.path, len), 0);
		cr_expect_eq(snapshot_read(late, 0, &image, &s.err), -EBADMSG, "%d", (int)len);
		cr_expect_not_null(strstr(s.err.text, "restart callrouterd"), "%s", s.err.text);
		snapshot_reader_free(late);
	}
	expect_read(&s, 1, -EBADMSG, 0); /* the reader that had it open before */
	cr_expect_not_null(strstr(s.err.text, "truncated"), "%s", s.err.text);
	snapshot_writer_close(s.writer);
	cr_assert_eq(snapshot_create(s.folder.path, (gid_t)-1, &s.writer, &s.err), 0);
	publish(&s, 0);
	expect_read(&s, 2, 1, 1); /* a replaced file: any generation is news */
	scene_close(&s);
}

Test(snapshot, a_file_that_is_cut_between_two_images_is_made_again)
{
	static const off_t cuts[] = { 0, 1, 71, 4095, 4096, 4097, 69632, 135168, 200703 };
	struct scene s;
	uint64_t g = 1;

	scene_open(&s);
	publish(&s, 0);
	expect_read(&s, 0, 1, 1);
	for (size_t i = 0; i < 2 * (sizeof cuts / sizeof *cuts); i++) {
		const ino_t inode = file_inode(s.path);
		const bool is_grown = i % 2 == 1;

		cr_assert_eq(truncate(s.path, cuts[i / 2]), 0);
		if (is_grown)
			cr_assert_eq(truncate(s.path, 200704), 0);
		publish(&s, 0);
		expect_read(&s, g, 1, g + 1);
		g++;
		/* as long as before, and its header is still there: it can go on */
		cr_expect_eq(file_inode(s.path) == inode, is_grown && cuts[i / 2] >= 64, "%zu", i);
		publish(&s, 0); /* and goes on */
		expect_read(&s, g, 1, g + 1);
		g++;
	}
	scene_close(&s);
}

Test(snapshot, a_writer_is_not_harmed_by_a_file_that_shrinks_and_grows)
{
	struct scene s;
	pid_t child;

	scene_open(&s);
	publish(&s, 0);
	child = fork();
	cr_assert_geq(child, 0);
	while (child == 0)
		if ((truncate(s.path, 0) < 0 || truncate(s.path, 200704) < 0) && errno != ENOENT)
			_exit(1);
	for (int i = 0; i < 300; i++)
		publish(&s, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	publish(&s, 0);
	expect_read(&s, 0, 1, 302);
	scene_close(&s);
}

Test(snapshot, a_file_that_shrinks_and_grows_while_it_is_read_harms_nobody)
{
	struct scene s;
	int good = 0;
	pid_t child;

	scene_open(&s);
	publish(&s, 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		uint64_t state = 1;

		for (;;) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			if (truncate(s.path, (off_t)((state >> 33) % 200704)) < 0 ||
			    truncate(s.path, 200704) < 0)
				_exit(1);
		}
	}
	for (int i = 0; i < 3000; i++) {
		struct snapshot_reader *reader =
			i % 2 == 0 ? snapshot_reader_new(s.folder.path) : s.reader;
		struct image_header *image;

		if (snapshot_read(reader, 0, &image, NULL) == 1) {
			good++;
			cr_expect_eq(image->generation, 1);
			free(image);
		}
		if (reader != s.reader)
			snapshot_reader_free(reader);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cr_log_info("%d of 3000 reads found it whole", good);
	scene_close(&s);
}

Test(snapshot, what_was_said_about_a_file_is_not_said_again)
{
	struct scene s;

	scene_open(&s);
	publish(&s, 0);
	file_flip(s.path, 0, 1);
	expect_read(&s, 0, -EBADMSG, 0);
	cr_expect_not_null(strstr(s.err.text, "not a snapshot file of this version"));
	expect_read(&s, 0, -EBADMSG, 0);
	cr_expect_str_eq(s.err.text, "");
	snapshot_writer_close(s.writer);
	cr_assert_eq(snapshot_create(s.folder.path, (gid_t)-1, &s.writer, &s.err), 0);
	publish(&s, 0);
	expect_read(&s, 0, 1, 1);
	/* Damaged again, so said again; then the next image heals it. */
	file_flip(s.path, (off_t)snapshot_slot_at(1, 65536) + 100, 1);
	expect_read(&s, 0, -EBADMSG, 0);
	cr_expect_not_null(strstr(s.err.text, "checksum is wrong"), "%s", s.err.text);
	expect_read(&s, 0, -EBADMSG, 0);
	cr_expect_str_eq(s.err.text, "");
	publish(&s, 0);
	expect_read(&s, 0, 1, 2);
	scene_close(&s);
}

Test(snapshot, a_file_of_another_boot_is_ignored_and_replaced_and_numbers_go_on)
{
	struct scene s;
	ino_t inode;

	scene_open(&s);
	publish(&s, 0);
	publish(&s, 0);
	inode = file_inode(s.path);
	file_flip(s.path, offsetof(struct snapshot_header, mark.boot), 1);
	expect_read(&s, 0, -ESTALE, 0);
	cr_expect_not_null(strstr(s.err.text, "before this boot"), "%s", s.err.text);
	snapshot_writer_close(s.writer);
	cr_assert_eq(snapshot_create(s.folder.path, (gid_t)-1, &s.writer, &s.err), 0);
	cr_expect_neq(file_inode(s.path), inode);
	cr_expect_eq(snapshot_generation(s.writer), 2);
	expect_read(&s, 2, 0, 0); /* nothing in the new file yet */
	publish(&s, 0);
	expect_read(&s, 2, 1, 3);
	scene_close(&s);
}

Test(snapshot, a_foreign_file_is_refused_and_replaced)
{
	static const char text[] = "services:\n";
	struct folder folder = folder_make();
	struct scene s = { .folder = folder };
	const char *const kinds[] = { "empty", "text", "fifo", "link" };

	folder_file(&folder, SNAPSHOT_FILE, s.path, sizeof s.path);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		int made = 0;

		(void)remove(s.path);
		if (i < 2) {
			made = open(s.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
			if (i == 1)
				cr_assert_gt(write(made, text, sizeof text), 0);
			close(made);
		} else {
			made = i == 2 ? mkfifo(s.path, 0640) : symlink("/etc/passwd", s.path);
		}
		cr_assert_geq(made, 0);
		s.reader = snapshot_reader_new(folder.path);
		cr_expect_lt(snapshot_read(s.reader, 0, &(struct image_header *){ NULL }, &s.err),
			     0, "%s", kinds[i]);
		cr_expect_neq(s.err.text[0], '\0', "%s", kinds[i]);
		cr_assert_eq(snapshot_create(folder.path, (gid_t)-1, &s.writer, &s.err), 0, "%s",
			     kinds[i]);
		publish(&s, 0);
		expect_read(&s, 0, 1, 1);
		snapshot_reader_free(s.reader);
		snapshot_writer_close(s.writer);
	}
	folder_remove(&folder);
}

Test(snapshot, a_valid_checksum_over_a_hostile_image_is_not_enough)
{
	struct image_header *image = sample_image(0);
	struct scene s;

	scene_open(&s);
	((struct image_server *)image_edit(image, image->server))->line = 1000000;
	cr_assert_eq(snapshot_publish(s.writer, image, &s.err), 0);
	expect_read(&s, 0, -EBADMSG, 0);
	cr_expect_not_null(strstr(s.err.text, "damaged image"), "%s", s.err.text);
	/* It says that it is longer than its slot's content. */
	image->layout = IMAGE_LAYOUT;
	image->server.at = image->bytes;
	cr_assert_eq(snapshot_publish(s.writer, image, &s.err), 0);
	expect_read(&s, 0, -EBADMSG, 0);
	free(image);
	scene_close(&s);
}

Test(snapshot, an_impossible_count_of_images_is_damage)
{
	const uint64_t newest = UINT64_MAX;
	struct scene s;

	scene_open(&s);
	publish(&s, 0);
	file_write(s.path, offsetof(struct snapshot_header, newest), &newest, sizeof newest);
	expect_read(&s, 0, -EBADMSG, 0);
	snapshot_writer_close(s.writer);
	cr_assert_eq(snapshot_create(s.folder.path, (gid_t)-1, &s.writer, &s.err), 0);
	publish(&s, 0);
	expect_read(&s, 0, 1, 1);
	scene_close(&s);
}
