/*
 * snapshot_writer.c - callrouterd's side of the snapshot file: fill a slot, then point to it. [L2]
 *
 * The file is written with pwrite() and never mapped: whoever truncates it causes a new file, not a
 * SIGBUS in the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "runfile.h"
#include "snapshot.h"
#include "snapshot_file.h"

#define FIRST_SLOT_BYTES (UINT64_C(64) << 10)

/** The file as it is open. */
struct opened {
	int fd; /* -1: none */
	struct stat st;
	struct snapshot_header header; /* as it was written; newest is our count, not the file's */
};

struct snapshot_writer {
	char dir[PATH_MAX], path[PATH_MAX];
	struct runfile file;
	struct opened opened;
	uint64_t generation; /* of the newest image */
};

static uint64_t opened_sequence(const struct opened *o)
{
	return atomic_load_explicit(&o->header.newest, memory_order_relaxed);
}

static void opened_close(struct opened *o)
{
	if (o->fd >= 0)
		close(o->fd);
	*o = (struct opened){ .fd = -1 };
}

/* Fill the slot that is two generations old. A reader that is still in it sees another sequence
 * afterwards, or a wrong checksum. */
static int opened_write(struct opened *o, const struct image_header *image)
{
	const uint64_t sequence = opened_sequence(o) + 1;
	const off_t at = (off_t)snapshot_slot_at(sequence, o->header.slot_bytes);
	struct snapshot_slot slot = { .length = image->bytes, .generation = image->generation };
	int code;

	/* Invalid first, and pointed to last: each call's bytes are in the file when it returns.
	 * What a reader's pread() saw in between is caught by sequence and checksum. */
	slot.checksum = snapshot_checksum(o->header.id, sequence, &slot, image);
	code = runfile_write(o->fd, &slot, sizeof slot, at);
	if (code == 0)
		code = runfile_write(o->fd, image, image->bytes, at + (off_t)sizeof slot);
	if (code == 0)
		code = runfile_write(o->fd, &sequence, sizeof sequence,
				     at + (off_t)offsetof(struct snapshot_slot, sequence));
	if (code == 0)
		code = runfile_write(o->fd, &sequence, sizeof sequence,
				     offsetof(struct snapshot_header, newest));
	if (code == 0)
		atomic_store_explicit(&o->header.newest, sequence, memory_order_relaxed);
	return code;
}

/* Somebody may have removed the file, which readers follow by its name, or cut it, also to make it
 * as long again: without its header. */
static bool opened_is_good(const struct opened *o, const char *path)
{
	char header[offsetof(struct snapshot_header, newest)];
	struct stat now;

	return !runfile_is_replaced(path, &o->st) && fstat(o->fd, &now) == 0 && now.st_nlink > 0 &&
	       now.st_size == o->st.st_size && runfile_read(o->fd, header, sizeof header, 0) == 0 &&
	       memcmp(header, &o->header, sizeof header) == 0;
}

static uint64_t random_id(void)
{
	uint64_t id;

	if (getrandom(&id, sizeof id, GRND_NONBLOCK) != (ssize_t)sizeof id)
		id = cr_mix64((uint64_t)clock_now_ns() ^ ((uint64_t)getpid() << 40));
	return id;
}

/* A new file in place of the one that is there; first: an image that it starts with, or NULL. */
static int writer_make(struct snapshot_writer *writer, uint64_t slot_bytes,
		       const struct image_header *first, struct err *err)
{
	const off_t bytes = (off_t)snapshot_file_bytes(slot_bytes);
	struct opened o = { .header = { .magic = SNAPSHOT_MAGIC,
					.layout = SNAPSHOT_LAYOUT,
					.header_bytes = SNAPSHOT_HEADER_BYTES,
					.slots = SNAPSHOT_SLOTS,
					.slot_bytes = slot_bytes,
					.mark = boot_mark_now(),
					.id = random_id() } };
	int code;

	o.fd = runfile_make(&writer->file, bytes, bytes, err);
	if (o.fd < 0)
		return o.fd;
	code = runfile_write(o.fd, &o.header, sizeof o.header, 0);
	if (code == 0 && first != NULL)
		code = opened_write(&o, first);
	if (code < 0)
		err_set(err, code, "%s: cannot write it: %s", writer->path, err_words(code));
	else
		code = runfile_commit(&writer->file, o.fd, err);
	if (code == 0 && fstat(o.fd, &o.st) < 0)
		code = err_set(err, -errno, "%s: %s", writer->path, err_words(errno));
	if (code < 0) {
		opened_close(&o);
		runfile_discard(&writer->file);
		return code;
	}
	opened_close(&writer->opened);
	writer->opened = o;
	return 0;
}

/*
 * Can the open file go on? Its newest generation is continued even if it cannot, so that numbers
 * do not run backwards for those who saw them.
 */
static bool writer_inspect(struct snapshot_writer *writer, struct opened *o)
{
	struct snapshot_header *header = &o->header;
	struct image_header *image = NULL;
	int code;

	if (runfile_read(o->fd, header, sizeof *header, 0) < 0)
		return false;
	code = snapshot_check_header(header, (uint64_t)o->st.st_size, writer->path, NULL);
	if ((code < 0 && code != -ESTALE) || opened_sequence(o) > SNAPSHOT_SEQUENCE_MAX)
		return false;
	if (opened_sequence(o) > 0) {
		if (snapshot_load(o->fd, header, opened_sequence(o), &image, NULL) < 0)
			return false;
		if (image->generation <= SNAPSHOT_SEQUENCE_MAX)
			writer->generation = image->generation;
		free(image);
	}
	/* Somebody else's file can be truncated by somebody else. */
	return code == 0 && o->st.st_uid == geteuid();
}

/* Go on with the file that is there. Whatever is wrong with it: a new one replaces it. */
static bool writer_take_over(struct snapshot_writer *writer)
{
	struct opened o = { 0 };

	o.fd = runfile_open(writer->path, O_RDWR, &o.st, NULL);
	if (o.fd < 0)
		return false;
	if (!writer_inspect(writer, &o) || runfile_allocate(o.fd, 0, o.st.st_size) < 0 ||
	    runfile_own(&writer->file, o.fd, NULL) < 0) {
		opened_close(&o);
		return false;
	}
	writer->opened = o;
	return true;
}

int snapshot_create(const char *run_dir, gid_t gid, struct snapshot_writer **out, struct err *err)
{
	/* not calloc(): the header in it is aligned to a cache line */
	struct snapshot_writer *writer =
		aligned_alloc(_Alignof(struct snapshot_writer), sizeof *writer);
	int code;

	if (writer == NULL)
		return err_set(err, -ENOMEM, "no memory for the snapshot");
	memset(writer, 0, sizeof *writer);
	writer->opened.fd = -1;
	code = runfile_path(run_dir, SNAPSHOT_FILE, writer->path, sizeof writer->path, err);
	if (code == 0) {
		memcpy(writer->dir, run_dir, strlen(run_dir) + 1);
		writer->file = (struct runfile){ writer->dir, SNAPSHOT_FILE, gid, 0640 };
		if (!writer_take_over(writer))
			code = writer_make(writer, FIRST_SLOT_BYTES, NULL, err);
	}
	if (code < 0) {
		free(writer);
		return code;
	}
	*out = writer;
	return 0;
}

void snapshot_writer_close(struct snapshot_writer *writer)
{
	if (writer == NULL)
		return;
	opened_close(&writer->opened);
	free(writer);
}

uint64_t snapshot_generation(const struct snapshot_writer *writer)
{
	return writer->generation;
}

int snapshot_publish(struct snapshot_writer *writer, struct image_header *image, struct err *err)
{
	struct opened *o = &writer->opened;
	const uint64_t need = sizeof(struct snapshot_slot) + (uint64_t)image->bytes;
	uint64_t slot_bytes = o->header.slot_bytes;

	if (image->bytes < sizeof *image || image->bytes > IMAGE_BYTES_MAX)
		return err_set(err, -EFBIG,
			       "cannot publish a state of %u bytes: at most %u; name fewer servers "
			       "or services",
			       image->bytes, IMAGE_BYTES_MAX);
	image->generation = writer->generation + 1;
	while (slot_bytes < need)
		slot_bytes *= 2;
	/* Also when writing fails: it may have been cut at this moment. */
	if (slot_bytes > o->header.slot_bytes || !opened_is_good(o, writer->path) ||
	    opened_write(o, image) < 0) {
		const int code = writer_make(writer, slot_bytes, image, err);

		if (code < 0)
			return code;
	}
	writer->generation = image->generation;
	return 0;
}
