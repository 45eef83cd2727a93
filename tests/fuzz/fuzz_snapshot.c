/* fuzz_snapshot.c - a snapshot file, whole or with any of its bytes changed, read twice. The bytes
 * of an input are the image; the end of them says what is changed. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "boot.h"
#include "fuzz.h"
#include "snapshot_file.h"

#include "../shared_files.h"

enum { SLOT_BYTES = 16384, FILE_BYTES = SNAPSHOT_HEADER_BYTES + SNAPSHOT_SLOTS * SLOT_BYTES };

/** Bytes of the file to be changed, and where it is cut off. */
struct change {
	uint32_t at;
	uint8_t byte;
};

static _Alignas(64) char file[FILE_BYTES];

/* A file in which the image is the newest. */
static void fill(const void *bytes, size_t len, uint64_t sequence)
{
	struct snapshot_header *header = (struct snapshot_header *)file;
	struct snapshot_slot *slot;
	struct image_header *image;

	memset(file, 0, sizeof file);
	*header = (struct snapshot_header){ .magic = SNAPSHOT_MAGIC,
					    .layout = SNAPSHOT_LAYOUT,
					    .header_bytes = SNAPSHOT_HEADER_BYTES,
					    .slots = SNAPSHOT_SLOTS,
					    .slot_bytes = SLOT_BYTES,
					    .mark = boot_mark_now(),
					    .id = 7,
					    .newest = sequence };
	slot = (struct snapshot_slot *)(file + snapshot_slot_at(sequence, SLOT_BYTES));
	image = (struct image_header *)(slot + 1);
	if (len > SLOT_BYTES - sizeof *slot)
		len = SLOT_BYTES - sizeof *slot;
	if (len > 0)
		memcpy(image, bytes, len);
	if (len >= sizeof *image) {
		image->layout = IMAGE_LAYOUT;
		image->bytes = (uint32_t)len;
		image->generation = 5;
	}
	slot->sequence = sequence;
	slot->length = len;
	slot->generation = 5;
	slot->checksum = snapshot_checksum(header->id, sequence, slot, image);
}

static void read_file(struct snapshot_reader *reader, uint64_t have)
{
	struct image_header *image = NULL;
	struct err err = { 0 };
	const int rc = snapshot_read(reader, have, &image, &err);

	fuzz_expect((rc == 1) == (image != NULL), "an image, or not");
	fuzz_expect_line(err.text, "what is wrong is no line");
	if (rc == 1)
		(void)walk_image(image);
	free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	struct snapshot_reader *reader;
	size_t len = FILE_BYTES, n;
	struct change change[8];
	char *bytes;

	for (uint8_t i = 0; i < how % 8; i++)
		change[i] = (struct change){ fuzz_below(&in, i % 2 == 0 ? 512 : FILE_BYTES),
					     fuzz_byte(&in) };
	if (how >= 248)
		len = fuzz_below(&in, FILE_BYTES);
	bytes = fuzz_rest(&in, &n);
	fill(bytes, n, 1 + how / 8 % 4);
	free(bytes);
	for (uint8_t i = 0; i < how % 8; i++)
		file[change[i].at] = (char)change[i].byte;
	(void)remove(fuzz_path(SNAPSHOT_FILE));
	fuzz_write(SNAPSHOT_FILE, file, len);
	reader = snapshot_reader_new(fuzz_folder());
	read_file(reader, 0);
	/* Torn or cut off under the reader's hands. */
	if (how % 16 >= 8)
		fuzz_write(SNAPSHOT_FILE, file, len / 2);
	read_file(reader, how % 32 >= 16 ? 4 : 0);
	snapshot_reader_free(reader);
	return 0;
}
