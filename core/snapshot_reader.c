/*
 * snapshot_reader.c - the side of the snapshot file that data planes use: copies, then believes.
 * [L2]
 *
 * The file is read with pread() and never mapped: whoever truncates it under a reader causes a
 * short read, not a SIGBUS in the process that carries the calls. What is read is a private copy;
 * sequence and checksum prove that it is one whole image, image_check() that it can be used.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "runfile.h"
#include "snapshot.h"
#include "snapshot_file.h"

#define SLOT_BYTES_MAX (2 * (uint64_t)IMAGE_BYTES_MAX) /* slots grow by doubling */
#define TRIES          4 /* copies of a slot that the writer has begun anew meanwhile */

struct snapshot_reader {
	char path[PATH_MAX];
	int fd;                         /* -1: no file */
	struct stat st;                 /* of fd */
	struct snapshot_header header;  /* as it was when the file was opened */
	int refused;                    /* why fd is not used at all, or 0 */
	bool had_file;                  /* a good one, ever */
	bool wants_any;                 /* fd came after another file: its numbers say nothing */
	uint64_t seen, seen_generation; /* newest sequence that was read from fd */
	uint64_t bad;                   /* sequence in fd that was no good, and why */
	int bad_code;

	/* the last complaint with its text, so that it is not repeated every 20 ms */
	int told;
	dev_t told_dev;
	ino_t told_ino;
};

int snapshot_check_header(const struct snapshot_header *header, uint64_t file_bytes,
			  const char *path, struct err *err)
{
	const struct boot_mark now = boot_mark_now();

	if (header->magic != SNAPSHOT_MAGIC || header->layout != SNAPSHOT_LAYOUT ||
	    header->header_bytes != SNAPSHOT_HEADER_BYTES || header->slots != SNAPSHOT_SLOTS)
		return err_set(err, -EBADMSG,
			       "%s: not a snapshot file of this version: restart callrouterd, it "
			       "makes a new one",
			       path);
	if (header->slot_bytes < SNAPSHOT_HEADER_BYTES || header->slot_bytes > SLOT_BYTES_MAX ||
	    header->slot_bytes % SNAPSHOT_HEADER_BYTES != 0 ||
	    file_bytes != snapshot_file_bytes(header->slot_bytes))
		return err_set(err, -EBADMSG,
			       "%s: its size is not what its header says: restart callrouterd, it "
			       "makes a new one",
			       path);
	if (header->mark.boot != now.boot || header->mark.offset_ns != now.offset_ns)
		return err_set(err, -ESTALE,
			       "%s: written before this boot or in another time namespace: it is "
			       "not used; start callrouterd here",
			       path);
	return 0;
}

/* The text of a failed read of a slot; the path is put before it by those who know it. */
static int slot_error(int code, struct err *err)
{
	if (code == -ENODATA)
		return err_set(err, -EBADMSG, "the file was truncated: restart callrouterd");
	return err_set(err, code, "cannot read: %s", err_words(code));
}

static int slot_check(const struct snapshot_slot *slot, uint64_t sequence, uint64_t slot_bytes,
		      struct err *err)
{
	const uint64_t found = atomic_load_explicit(&slot->sequence, memory_order_relaxed);

	if (found == 0)
		return err_set(err, -EAGAIN, "the newest image is being written");
	if (found != sequence)
		return err_set(err, -EBADMSG,
			       "damaged: a slot holds image %" PRIu64 " instead of %" PRIu64, found,
			       sequence);
	if (slot->length < sizeof(struct image_header) || slot->length > IMAGE_BYTES_MAX ||
	    slot->length > slot_bytes - sizeof *slot)
		return err_set(err, -EBADMSG, "damaged: an image of %" PRIu64 " bytes",
			       slot->length);
	return 0;
}

int snapshot_load(int fd, const struct snapshot_header *header, uint64_t sequence,
		  struct image_header **image, struct err *err)
{
	const off_t at = (off_t)snapshot_slot_at(sequence, header->slot_bytes);
	struct snapshot_slot slot;
	struct image_header *copy;
	int code = runfile_read(fd, &slot, sizeof slot, at);

	if (code < 0)
		return slot_error(code, err);
	code = slot_check(&slot, sequence, header->slot_bytes, err);
	if (code < 0)
		return code;
	copy = malloc(slot.length);
	if (copy == NULL)
		return err_set(err, -ENOMEM, "no memory for an image of %" PRIu64 " bytes",
			       slot.length);
	code = runfile_read(fd, copy, slot.length, at + (off_t)sizeof slot);
	if (code < 0)
		code = slot_error(code, err);
	else if (snapshot_checksum(header->id, sequence, &slot, copy) != slot.checksum ||
		 copy->generation != slot.generation || copy->bytes != slot.length)
		code = err_set(err, -EBADMSG, "damaged: the newest image's checksum is wrong");
	if (code == 0)
		*image = copy;
	else
		free(copy);
	return code;
}

struct snapshot_reader *snapshot_reader_new(const char *run_dir)
{
	/* not calloc(): the header in it is aligned to a cache line */
	struct snapshot_reader *reader =
		aligned_alloc(_Alignof(struct snapshot_reader), sizeof *reader);

	if (reader == NULL)
		return NULL;
	memset(reader, 0, sizeof *reader);
	reader->fd = -1;
	/* A name that is too long leaves an empty path, which is never found. */
	if (runfile_path(run_dir, SNAPSHOT_FILE, reader->path, sizeof reader->path, NULL) < 0)
		reader->path[0] = '\0';
	return reader;
}

static void reader_drop(struct snapshot_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	reader->fd = -1;
}

void snapshot_reader_free(struct snapshot_reader *reader)
{
	if (reader == NULL)
		return;
	reader_drop(reader);
	free(reader);
}

/* A complaint about the file st: with its text the first time, and then without. */
static int reader_tell(struct snapshot_reader *reader, const struct stat *st, int code,
		       struct err *err)
{
	const bool is_known = reader->told == code && reader->told_dev == st->st_dev &&
			      reader->told_ino == st->st_ino;

	reader->told = code;
	reader->told_dev = st->st_dev;
	reader->told_ino = st->st_ino;
	return is_known ? err_set(err, code, "%s", "") : code;
}

/* A refused file stays open: its inode's number cannot come back while it is remembered. */
static int reader_open(struct snapshot_reader *reader, struct err *err)
{
	const int fd = runfile_open(reader->path, O_RDONLY, &reader->st, err);
	int code;

	if (fd < 0)
		return fd;
	reader->fd = fd;
	reader->seen = reader->seen_generation = reader->bad = 0;
	code = runfile_read(fd, &reader->header, sizeof reader->header, 0);
	if (code == -ENODATA)
		err_set(err, -EBADMSG, "%s: too short for a snapshot file: restart callrouterd",
			reader->path);
	else if (code < 0)
		err_set(err, code, "%s: cannot read: %s", reader->path, err_words(code));
	else
		code = snapshot_check_header(&reader->header, (uint64_t)reader->st.st_size,
					     reader->path, err);
	reader->refused = code == -ENODATA ? -EBADMSG : code;
	if (code == 0) {
		reader->wants_any = reader->had_file;
		reader->had_file = true;
	}
	return reader->refused;
}

/* Have the file open that is there now. Costs one lstat() when it is still the same. */
static int reader_follow(struct snapshot_reader *reader, struct err *err)
{
	struct stat now;
	int code;

	if (lstat(reader->path, &now) < 0) {
		code = -errno;
		reader_drop(reader);
		now = (struct stat){ .st_ino = 0 };
		err_set(err, code, "%s: %s", reader->path, err_words(code));
		return reader_tell(reader, &now, code, err);
	}
	if (reader->fd >= 0 && now.st_dev == reader->st.st_dev && now.st_ino == reader->st.st_ino)
		return reader->refused == 0 ? 0 : reader_tell(reader, &now, reader->refused, err);
	reader_drop(reader);
	code = reader_open(reader, err);
	return code == 0 ? 0 : reader_tell(reader, &now, code, err);
}

static int reader_newest(const struct snapshot_reader *reader, uint64_t *newest, struct err *err)
{
	const int code = runfile_read(reader->fd, newest, sizeof *newest,
				      offsetof(struct snapshot_header, newest));

	if (code < 0)
		return slot_error(code, err);
	if (*newest > SNAPSHOT_SEQUENCE_MAX)
		return err_set(err, -EBADMSG, "damaged: impossible number of the newest image");
	return 0;
}

/* Load the newest image; *newest follows the writer if it is faster than the copy. */
static int reader_load(const struct snapshot_reader *reader, uint64_t *newest,
		       struct image_header **image, struct err *err)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t now;
		int code = snapshot_load(reader->fd, &reader->header, *newest, image, err);

		if (code == 0)
			return 0;
		/* What looks wrong may only be old: the writer is in this slot again. */
		if (reader_newest(reader, &now, err) < 0 || now == *newest || now == 0)
			return code;
		*newest = now;
	}
	return err_set(err, -EAGAIN, "the writer is faster than this reader");
}

static int reader_take(struct snapshot_reader *reader, uint64_t newest, uint64_t have,
		       struct image_header **image, struct err *err)
{
	struct image_header *copy = NULL;
	int code = reader_load(reader, &newest, &copy, err);

	if (copy != NULL)
		code = image_check(copy, copy->bytes, err);
	if (code == -EBADMSG) {
		reader->bad = newest;
		reader->bad_code = code;
	}
	if (copy == NULL || code < 0) {
		free(copy);
		return code;
	}
	reader->seen = newest;
	reader->seen_generation = copy->generation;
	reader->told = 0;
	if (copy->generation <= have && !reader->wants_any) {
		free(copy);
		return 0;
	}
	reader->wants_any = false;
	*image = copy;
	return 1;
}

int snapshot_read(struct snapshot_reader *reader, uint64_t have, struct image_header **image,
		  struct err *err)
{
	uint64_t newest;
	int code = reader_follow(reader, err);

	*image = NULL;
	if (code < 0)
		return code;
	code = reader_newest(reader, &newest, err);
	if (code == 0 && newest == 0)
		return 0;
	if (code == 0 && newest == reader->seen && reader->seen_generation <= have && have != 0)
		return 0;
	if (code == 0 && newest == reader->bad)
		return err_set(err, reader->bad_code, "%s", "");
	if (code == 0)
		code = reader_take(reader, newest, have, image, err);
	if (code >= 0 || code == -EAGAIN)
		return code;
	err_prefix(err, "%s", reader->path);
	return reader_tell(reader, &reader->st, code, err);
}
