/* test_snapshot.c - what is published is read, in files old and new. */
#include <sched.h>
#include <sys/mount.h>

#include "snapshot_scene.h"

/* One that does not fit into the first file's slots. */
static struct image_header *large_image(void)
{
	const struct image_size size = { .text = 300000 };
	struct image_header *image = image_new(&size);

	cr_assert_not_null(image);
	memcpy(image->cluster, "test", 5);
	return image;
}

Test(snapshot, an_image_is_read_as_it_was_published)
{
	struct scene s;
	struct image_header *image = sample_image(0), *got = NULL;

	scene_open(&s);
	cr_assert_eq(snapshot_publish(s.writer, image, &s.err), 0);
	cr_assert_eq(snapshot_read(s.reader, 0, &got, &s.err), 1, "%s", s.err.text);
	cr_expect_eq(image->generation, 1);
	cr_expect_eq(snapshot_generation(s.writer), 1);
	cr_expect_eq(got->bytes, image->bytes);
	cr_expect_eq(memcmp(got, image, image->bytes), 0);
	free(got);
	free(image);
	scene_close(&s);
}

Test(snapshot, only_what_is_newer_is_given)
{
	struct scene s;

	scene_open(&s);
	expect_read(&s, 0, 0, 0); /* nothing published yet */
	for (uint64_t g = 1; g <= 7; g++) {
		publish(&s, 0);
		expect_read(&s, g - 1, 1, g);
		expect_read(&s, g, 0, 0);
		expect_read(&s, g - 1, 1, g); /* the caller could not use it and asks again */
	}
	expect_read(&s, 0, 1, 7);
	expect_read(&s, 8, 0, 0);
	scene_close(&s);
}

Test(snapshot, a_reader_may_come_before_the_file_and_stay_after_it)
{
	struct folder folder = folder_make();
	struct scene s = { .folder = folder };

	folder_file(&folder, SNAPSHOT_FILE, s.path, sizeof s.path);
	s.reader = snapshot_reader_new(folder.path);
	expect_read(&s, 0, -ENOENT, 0);
	cr_assert_eq(snapshot_create(folder.path, (gid_t)-1, &s.writer, &s.err), 0);
	publish(&s, 0);
	expect_read(&s, 0, 1, 1);
	cr_assert_eq(unlink(s.path), 0);
	expect_read(&s, 1, -ENOENT, 0);
	publish(&s, 0); /* the writer makes the file again */
	expect_read(&s, 1, 1, 2);
	scene_close(&s);
}

Test(snapshot, the_file_has_mode_0640_and_the_given_group_whatever_the_umask)
{
	struct folder folder = folder_make();
	const gid_t gid = geteuid() == 0 ? 4 : getegid();
	struct snapshot_writer *writer;
	struct scene s = { .folder = folder };
	struct stat st;

	folder_file(&folder, SNAPSHOT_FILE, s.path, sizeof s.path);
	umask(0077);
	cr_assert_eq(snapshot_create(folder.path, gid, &writer, NULL), 0);
	cr_assert_eq(stat(s.path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_expect_eq(st.st_gid, gid);
	cr_expect_geq(st.st_blocks * 512, st.st_size, "it must have room before it is used");
	snapshot_writer_close(writer);
	/* Taken over: the same again. */
	cr_assert_eq(chmod(s.path, 0666), 0);
	cr_assert_eq(snapshot_create(folder.path, gid, &writer, NULL), 0);
	cr_assert_eq(stat(s.path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	snapshot_writer_close(writer);
	folder_remove(&folder);
}

Test(snapshot, a_restarted_writer_goes_on_in_the_same_file)
{
	struct scene s;
	ino_t inode;

	scene_open(&s);
	publish(&s, 0);
	publish(&s, 0);
	expect_read(&s, 0, 1, 2);
	inode = file_inode(s.path);
	snapshot_writer_close(s.writer);
	cr_assert_eq(snapshot_create(s.folder.path, (gid_t)-1, &s.writer, &s.err), 0);
	cr_expect_eq(file_inode(s.path), inode);
	cr_expect_eq(snapshot_generation(s.writer), 2);
	expect_read(&s, 2, 0, 0);
	publish(&s, 0);
	expect_read(&s, 2, 1, 3);
	scene_close(&s);
}

Test(snapshot, a_larger_image_replaces_the_file_and_the_reader_follows)
{
	struct image_header *large = large_image();
	struct scene s;
	struct stat st;
	ino_t inode;

	scene_open(&s);
	publish(&s, 0);
	expect_read(&s, 0, 1, 1);
	inode = file_inode(s.path);
	cr_assert_eq(snapshot_publish(s.writer, large, &s.err), 0, "%s", s.err.text);
	cr_expect_neq(file_inode(s.path), inode);
	cr_assert_eq(stat(s.path, &st), 0);
	cr_expect_eq(st.st_size, 4096 + 3 * 524288);
	cr_expect_eq(st.st_mode & 07777, 0640);
	expect_read(&s, 1, 1, 2);
	expect_read(&s, 2, 0, 0);
	publish(&s, 0);
	expect_read(&s, 2, 1, 3);
	free(large);
	scene_close(&s);
}

Test(snapshot, too_large_or_too_small_an_image_is_not_published)
{
	struct image_header *image = sample_image(0);
	struct scene s;

	scene_open(&s);
	publish(&s, 0);
	image->bytes = IMAGE_BYTES_MAX + 1;
	cr_expect_eq(snapshot_publish(s.writer, image, &s.err), -EFBIG);
	cr_expect_not_null(strstr(s.err.text, "name fewer servers"), "%s", s.err.text);
	image->bytes = 8;
	cr_expect_eq(snapshot_publish(s.writer, image, &s.err), -EFBIG);
	expect_read(&s, 0, 1, 1);
	free(image);
	scene_close(&s);
}

Test(snapshot, without_room_the_old_image_stays)
{
	struct image_header *large = large_image();
	struct folder folder = folder_make();
	struct scene s = { .folder = folder };

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", folder.path, "tmpfs", 0, "size=400k") < 0) {
		free(large);
		folder_remove(&folder);
		cr_skip_test("needs root: a small file system of its own");
	}
	folder_file(&folder, SNAPSHOT_FILE, s.path, sizeof s.path);
	cr_assert_eq(snapshot_create(folder.path, (gid_t)-1, &s.writer, &s.err), 0);
	s.reader = snapshot_reader_new(folder.path);
	publish(&s, 0);
	cr_expect_eq(snapshot_publish(s.writer, large, &s.err), -ENOSPC);
	cr_expect_not_null(strstr(s.err.text, "no room for 1576960 bytes"), "%s", s.err.text);
	cr_expect_eq(snapshot_generation(s.writer), 1);
	expect_read(&s, 0, 1, 1);
	publish(&s, 0); /* a small one still fits, and nothing is left of the attempt */
	expect_read(&s, 1, 1, 2);
	folder_file(&folder, ".snapshot.1.new", s.path, sizeof s.path);
	cr_expect_neq(access(s.path, F_OK), 0);
	snapshot_reader_free(s.reader);
	snapshot_writer_close(s.writer);
	free(large);
	cr_expect_eq(umount2(folder.path, MNT_DETACH), 0);
	folder_remove(&folder);
}

Test(snapshot, a_folder_that_is_not_there_is_named)
{
	struct snapshot_writer *writer;
	struct err err = { 0 };
	char longer[5000];

	cr_expect_eq(snapshot_create("/tmp/callrouter-no-such-folder", (gid_t)-1, &writer, &err),
		     -ENOENT);
	cr_expect_not_null(strstr(err.text, "/tmp/callrouter-no-such-folder/.snapshot.1.new"));
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	cr_expect_eq(snapshot_create(longer, (gid_t)-1, &writer, &err), -ENAMETOOLONG);
}

Test(snapshot, a_leftover_of_a_dead_writer_is_removed)
{
	struct folder folder = folder_make();
	struct snapshot_writer *writer;
	char path[128];

	folder_file(&folder, ".snapshot.1.new", path, sizeof path);
	cr_assert_eq(symlink("/etc/passwd", path), 0);
	cr_assert_eq(snapshot_create(folder.path, (gid_t)-1, &writer, NULL), 0);
	cr_expect_neq(access(path, F_OK), 0);
	snapshot_writer_close(writer);
	folder_remove(&folder);
}
