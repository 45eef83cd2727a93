/* snapshot_file.h - the layout of the snapshot file, for its writer and its reader only. [L2] */
#ifndef CR_CORE_SNAPSHOT_FILE_H
#define CR_CORE_SNAPSHOT_FILE_H

#include <stdatomic.h>

#include <callrouter/order.h>

#include "boot.h"
#include "snapshot.h"

#define SNAPSHOT_MAGIC        UINT64_C(0x31746f6873706143) /* "Capshot1" */
#define SNAPSHOT_LAYOUT       1u
#define SNAPSHOT_HEADER_BYTES 4096u

/* A sequence beyond this was not counted, it was made up. */
#define SNAPSHOT_SEQUENCE_MAX (UINT64_MAX >> 2)

/** The file's first page. All but newest is constant once the file has its name. */
struct snapshot_header {
	uint64_t magic;
	uint32_t layout, header_bytes;
	uint32_t slots, spare;
	uint64_t slot_bytes; /* distance of the slots: their head and the image's room */
	struct boot_mark mark;
	uint64_t id; /* random: a slot copied from another file does not fit this one */
	uint64_t spare2;
	_Alignas(64) _Atomic uint64_t newest; /* sequence of the newest whole slot; 0: none */
};

/** The head of a slot; the image follows. Sequence s lives in slot s % SNAPSHOT_SLOTS. */
struct snapshot_slot {
	_Atomic uint64_t sequence; /* 0: being written */
	uint64_t length;           /* bytes of the image */
	uint64_t generation;       /* of the image */
	uint64_t checksum;
	uint64_t spare[4];
};

_Static_assert(sizeof(struct snapshot_header) <= SNAPSHOT_HEADER_BYTES, "the header is one page");
_Static_assert(sizeof(struct snapshot_slot) == 64, "images start on a cache line");

/** Offset of the slot of a sequence. [any] */
static inline uint64_t snapshot_slot_at(uint64_t sequence, uint64_t slot_bytes)
{
	return SNAPSHOT_HEADER_BYTES + sequence % SNAPSHOT_SLOTS * slot_bytes;
}

/** Size of a file of such slots. [any] */
static inline uint64_t snapshot_file_bytes(uint64_t slot_bytes)
{
	return SNAPSHOT_HEADER_BYTES + SNAPSHOT_SLOTS * slot_bytes;
}

/** Checksum over an image and all that says which image it is. [any] */
static inline uint64_t snapshot_checksum(uint64_t id, uint64_t sequence,
					 const struct snapshot_slot *slot, const void *image)
{
	const uint64_t key[4] = { id, sequence, slot->length, slot->generation };

	return cr_mix64(cr_hash64(key, sizeof key) + cr_hash64(image, slot->length));
}

/**
 * Is this the header of a file of this layout, size and boot? Returns 0, -EBADMSG (foreign or
 * damaged) or -ESTALE (another boot or time namespace), with err. [any]
 */
int snapshot_check_header(const struct snapshot_header *header, uint64_t file_bytes,
			  const char *path, struct err *err);

/**
 * Read the slot of a sequence into memory of one's own. *image: malloc'd, the caller's; the
 * checksum is right, image_check() was not done. Returns 0, -EAGAIN (being written), -ENOMEM, or
 * < 0 with err. [any]
 */
int snapshot_load(int fd, const struct snapshot_header *header, uint64_t sequence,
		  struct image_header **image, struct err *err);

#endif
