/* snapshot_writer.c - callrouterd's side of the snapshot file: fill a slot, then point to it. [L2]
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "runfile.h"
#include "snapshot.h"
#include "snapshot_file.h"

#define FIRST_SLOT_BYTES (UINT64_C(64) << 10)

/** The file as it is mapped. */
struct mapped {
	int fd;
	struct stat st;
	struct snapshot_header *header;
	uint64_t slot_bytes, bytes, id;
	uint64_t sequence; /* of the newest image: our own count, the file's is for readers */
};

struct snapshot_writer {
	char dir[PATH_MAX], path[PATH_MAX];
	struct runfile file;
	struct mapped mapped;
	uint64_t generation; /* of the newest image */
};

static int mapped_map(struct mapped *m, const char *path, struct err *err)
{
	void *at;

	m->bytes = snapshot_file_bytes(m->slot_bytes);
	at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (at == MAP_FAILED)
		return err_set(err, -errno, "%s: cannot map it: %s", path, err_words(errno));
	m->header = at;
	return 0;
}

static void mapped_close(struct mapped *m)
{
	if (m->header != NULL)
		munmap(m->header, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct mapped){ .fd = -1 };
}

/* Fill the slot that is two generations old. A reader that is still in it sees another sequence
 * afterwards, or a wrong checksum. */
static void mapped_write(struct mapped *m, const struct image_header *image)
{
	const uint64_t sequence = m->sequence + 1;
	struct snapshot_slot *slot =
		(struct snapshot_slot *)((char *)m->header +
					 snapshot_slot_at(sequence, m->slot_bytes));

	/* Invalid first: acquire keeps the copy behind it. Readers are other processes' pread()s:
	 * what they saw in between is caught by sequence and checksum. */
	(void)atomic_exchange_explicit(&slot->sequence, 0, memory_order_acq_rel);
	slot->length = image->bytes;
	slot->generation = image->generation;
	memcpy(slot + 1, image, image->bytes);
	slot->checksum = snapshot_checksum(m->id, sequence, slot, image);
	atomic_store_explicit(&slot->sequence, sequence, memory_order_release);
	atomic_store_explicit(&m->header->newest, sequence, memory_order_release);
	m->sequence = sequence;
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
	struct mapped m = { .slot_bytes = slot_bytes, .id = random_id() };
	const off_t bytes = (off_t)snapshot_file_bytes(slot_bytes);
	int code;

	m.fd = runfile_make(&writer->file, bytes, bytes, err);
	if (m.fd < 0)
		return m.fd;
	code = mapped_map(&m, writer->path, err);
	if (m.header == NULL)
		goto discard;
	*m.header = (struct snapshot_header){
		.magic = SNAPSHOT_MAGIC,
		.layout = SNAPSHOT_LAYOUT,
		.header_bytes = SNAPSHOT_HEADER_BYTES,
		.slots = SNAPSHOT_SLOTS,
		.slot_bytes = slot_bytes,
		.mark = boot_mark_now(),
		.id = m.id,
	};
	if (first != NULL)
		mapped_write(&m, first);
	code = runfile_commit(&writer->file, m.fd, err);
	if (code == 0 && fstat(m.fd, &m.st) < 0)
		code = err_set(err, -errno, "%s: %s", writer->path, err_words(errno));
	if (code < 0)
		goto discard;
	mapped_close(&writer->mapped);
	writer->mapped = m;
	return 0;

discard:
	mapped_close(&m);
	runfile_discard(&writer->file);
	return code;
}

/*
 * Can the open file go on? Its newest generation is continued even if it cannot, so that numbers
 * do not run backwards for those who saw them.
 */
static bool writer_inspect(struct snapshot_writer *writer, struct mapped *m)
{
	struct snapshot_header header;
	struct image_header *image = NULL;
	int code;

	if (runfile_read(m->fd, &header, sizeof header, 0) < 0)
		return false;
	code = snapshot_check_header(&header, (uint64_t)m->st.st_size, writer->path, NULL);
	if (code < 0 && code != -ESTALE)
		return false;
	m->slot_bytes = header.slot_bytes;
	m->id = header.id;
	m->sequence = atomic_load_explicit(&header.newest, memory_order_relaxed);
	if (m->sequence > SNAPSHOT_SEQUENCE_MAX)
		return false;
	if (m->sequence > 0) {
		if (snapshot_load(m->fd, &header, m->sequence, &image, NULL) < 0)
			return false;
		if (image->generation <= SNAPSHOT_SEQUENCE_MAX)
			writer->generation = image->generation;
		free(image);
	}
	/* Somebody else's file can be truncated by somebody else. */
	return code == 0 && m->st.st_uid == geteuid();
}

/* Go on with the file that is there. Whatever is wrong with it: a new one replaces it. */
static bool writer_take_over(struct snapshot_writer *writer)
{
	struct mapped m = { 0 };

	m.fd = runfile_open(writer->path, O_RDWR, &m.st, NULL);
	if (m.fd < 0)
		return false;
	if (!writer_inspect(writer, &m) || runfile_allocate(m.fd, 0, m.st.st_size) < 0 ||
	    runfile_own(&writer->file, m.fd, NULL) < 0 || mapped_map(&m, writer->path, NULL) < 0) {
		mapped_close(&m);
		return false;
	}
	writer->mapped = m;
	return true;
}

int snapshot_create(const char *run_dir, gid_t gid, struct snapshot_writer **out, struct err *err)
{
	struct snapshot_writer *writer = calloc(1, sizeof *writer);
	int code;

	if (writer == NULL)
		return err_set(err, -ENOMEM, "no memory for the snapshot");
	writer->mapped.fd = -1;
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
	mapped_close(&writer->mapped);
	free(writer);
}

uint64_t snapshot_generation(const struct snapshot_writer *writer)
{
	return writer->generation;
}

int snapshot_publish(struct snapshot_writer *writer, struct image_header *image, struct err *err)
{
	struct mapped *m = &writer->mapped;
	const uint64_t need = sizeof(struct snapshot_slot) + (uint64_t)image->bytes;
	uint64_t slot_bytes = m->slot_bytes;
	int code;

	if (image->bytes < sizeof *image || image->bytes > IMAGE_BYTES_MAX)
		return err_set(err, -EFBIG,
			       "cannot publish a state of %u bytes: at most %u; name fewer servers "
			       "or services",
			       image->bytes, IMAGE_BYTES_MAX);
	image->generation = writer->generation + 1;
	while (slot_bytes < need)
		slot_bytes *= 2;
	/* Also when somebody has removed the file: readers follow its name. */
	if (slot_bytes > m->slot_bytes || runfile_is_replaced(writer->path, &m->st)) {
		code = writer_make(writer, slot_bytes, image, err);
		if (code < 0)
			return code;
	} else {
		mapped_write(m, image);
	}
	writer->generation = image->generation;
	return 0;
}
