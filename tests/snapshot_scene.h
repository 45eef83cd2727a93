/* snapshot_scene.h - for the tests of the snapshot: a run directory, a writer and a reader. */
#ifndef CR_TESTS_SNAPSHOT_SCENE_H
#define CR_TESTS_SNAPSHOT_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include "shared_files.h"
#include "snapshot_file.h"

/** A run directory with a file, a writer and a reader. */
struct scene {
	struct folder folder;
	char path[128];
	struct snapshot_writer *writer;
	struct snapshot_reader *reader;
	struct err err;
};

static inline void scene_open(struct scene *s)
{
	*s = (struct scene){ .folder = folder_make() };
	folder_file(&s->folder, SNAPSHOT_FILE, s->path, sizeof s->path);
	cr_assert_eq(snapshot_create(s->folder.path, (gid_t)-1, &s->writer, &s->err), 0, "%s",
		     s->err.text);
	s->reader = snapshot_reader_new(s->folder.path);
	cr_assert_not_null(s->reader);
}

static inline void scene_close(struct scene *s)
{
	snapshot_reader_free(s->reader);
	snapshot_writer_close(s->writer);
	folder_remove(&s->folder);
}

static inline void publish(struct scene *s, uint32_t metrics_more)
{
	struct image_header *image = sample_image(metrics_more);

	cr_assert_eq(snapshot_publish(s->writer, image, &s->err), 0, "%s", s->err.text);
	free(image);
}

/* Returns what snapshot_read() returns, and the generation of what it gave (0: nothing). */
static inline int read_generation(struct scene *s, uint64_t have, uint64_t *generation)
{
	struct image_header *image = NULL;
	int code;

	s->err = (struct err){ 0 };
	code = snapshot_read(s->reader, have, &image, &s->err);
	cr_expect_eq(image != NULL, code == 1);
	*generation = image != NULL ? image->generation : 0;
	if (image != NULL)
		cr_expect_gt(walk_image(image), 0);
	free(image);
	return code;
}

static inline void expect_read(struct scene *s, uint64_t have, int code, uint64_t generation)
{
	uint64_t got;
	const int result = read_generation(s, have, &got);

	cr_expect_eq(result, code, "%d instead of %d: %s", result, code, s->err.text);
	cr_expect_eq(got, generation);
}

static inline void file_write(const char *path, off_t at, const void *bytes, size_t len)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, bytes, len, at), (ssize_t)len);
	close(fd);
}

static inline void file_flip(const char *path, off_t at, unsigned char bits)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned char byte;

	cr_assert_geq(fd, 0);
	cr_assert_eq(pread(fd, &byte, 1, at), 1);
	byte ^= bits;
	cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static inline ino_t file_inode(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	return st.st_ino;
}

#endif
