/* counters_file.h - the layout of the counters file and the mapping of it, for counters*.c only.
 * [L2] */
#ifndef CR_CORE_COUNTERS_FILE_H
#define CR_CORE_COUNTERS_FILE_H

#include <sys/stat.h>

#include "boot.h"
#include "counters.h"

#define COUNTERS_MAGIC  UINT64_C(0x31746e756f437243) /* "CrCount1" */
#define COUNTERS_LAYOUT 2u

/* Rows are mapped one by one: they start on a page, whatever the page's size is. */
#define COUNTERS_ALIGN     UINT64_C(65536)
#define COUNTERS_ROUND(n_) (((n_) + COUNTERS_ALIGN - 1) / COUNTERS_ALIGN * COUNTERS_ALIGN)

#define COUNTERS_LINES_AT    UINT64_C(4096)
#define COUNTERS_SERVICES_AT (COUNTERS_LINES_AT + COUNTERS_LINES * sizeof(struct counters_line))
#define COUNTERS_SLOTS_AT                                                                          \
	(COUNTERS_SERVICES_AT + COUNTERS_SERVICES * sizeof(struct counters_service))
#define COUNTERS_ROWS_AT                                                                           \
	COUNTERS_ROUND(COUNTERS_SLOTS_AT + COUNTERS_SLOTS * sizeof(struct counters_slot))
#define COUNTERS_ROW_STRIDE COUNTERS_ROUND(sizeof(struct counters_row))
#define COUNTERS_FILE_BYTES (COUNTERS_ROWS_AT + COUNTERS_SLOTS * COUNTERS_ROW_STRIDE)

#define COUNTERS_LOCK_AT (INT64_C(1) << 40) /* + slot: the byte whose lock says "alive" */

enum counters_state { COUNTERS_FREE = 0, COUNTERS_USED = 1 };

/** What two programs must agree on to share the file. No padding: compared as bytes. */
struct counters_shape {
	uint64_t magic;
	uint32_t layout, spare;
	uint32_t lines, line_bytes;
	uint32_t services, service_bytes;
	uint32_t slots, slot_bytes;
	uint32_t threads, banks;
	uint64_t rows_at, row_stride;
};

/** The file's first page. */
struct counters_header {
	struct counters_shape shape;
	struct boot_mark mark;
	_Atomic uint64_t quarantine[COUNTERS_QUARANTINE]; /* plugin files' seqs; 0: unused */
	/* Each call reads it: nothing that changes is beside it. */
	_Alignas(64) _Atomic uint64_t trouble;
	uint64_t spare[7];
};

_Static_assert(sizeof(struct cr_live) == 64, "live figures are one cache line");
_Static_assert(sizeof(struct counters_line) == 192, "a server's line is three cache lines");
_Static_assert(offsetof(struct counters_line, calls) == offsetof(struct cr_live, calls),
	       "calls are one figure");
_Static_assert(offsetof(struct counters_line, shut) == 64 &&
		       offsetof(struct counters_line, name) == 128,
	       "what calls read is one cache line");
_Static_assert(sizeof(struct counters_service) % 64 == 0, "services do not share cache lines");
_Static_assert(sizeof(struct counters_slot) == 512, "slots do not share cache lines");
_Static_assert(sizeof(struct counters_header) <= COUNTERS_LINES_AT, "the header is one page");
_Static_assert(sizeof(((struct counters_service *)NULL)->reason) / sizeof(uint64_t) >=
		       CR_REASON_COUNT,
	       "every reason is counted");

struct counters_daemon; /* what only the daemon keeps; see counters_daemon.c */

struct counters {
	int fd;
	/* Opened once more, for the slot's lock, and never mapped: a mapping that a forked child
	 * inherits would hold the lock after its parent's death. -1: not needed, no slot. */
	int lock_fd;
	bool is_read_only;
	struct stat st; /* of fd */
	/* The file without its rows. */
	struct counters_header *header;
	struct counters_line *line;
	struct counters_service *service;
	struct counters_slot *slots;
	/* This process's slot. */
	int slot;                 /* -1: none */
	uint32_t epoch;           /* of the slot, when it was claimed */
	struct counters_row *row; /* NULL: none */
	struct counters_daemon *daemon;
};

/** The shape that this program writes and reads. [any] */
static inline struct counters_shape counters_shape(void)
{
	return (struct counters_shape){
		.magic = COUNTERS_MAGIC,
		.layout = COUNTERS_LAYOUT,
		.lines = COUNTERS_LINES,
		.line_bytes = sizeof(struct counters_line),
		.services = COUNTERS_SERVICES,
		.service_bytes = sizeof(struct counters_service),
		.slots = COUNTERS_SLOTS,
		.slot_bytes = sizeof(struct counters_slot),
		.threads = COUNTERS_THREADS,
		.banks = COUNTERS_BANKS,
		.rows_at = COUNTERS_ROWS_AT,
		.row_stride = COUNTERS_ROW_STRIDE,
	};
}

/** An object without a file, NULL: no memory; and away with it, whatever it has by then. [any] */
struct counters *counters_alloc(void);
void counters_free(struct counters *c);

/** Is the open file of this program's shape, size and boot? Returns 0, -EBADMSG or -ESTALE with
 * err. [any] */
int counters_check(const struct counters *c, const char *path, struct err *err);

/** Map the open file without its rows. Returns 0 or < 0 with err. [any] */
int counters_map(struct counters *c, const char *path, struct err *err);

/** Map a slot's row, after making sure that it has room. Returns 0, -ENOSPC or negative errno.
 * [any] */
int counters_map_row(const struct counters *c, uint32_t slot, struct counters_row **row);
void counters_unmap_row(struct counters_row *row);

/**
 * If the slot is used and its process is dead: take its lock, so that nobody else looks after it or
 * claims it meanwhile, and return true. [any]
 */
bool counters_lock_dead(const struct counters *c, uint32_t slot);
void counters_unlock(const struct counters *c, uint32_t slot);

/** Take at most n from a figure, never below 0; returns what was taken. [any] */
uint32_t counters_take_calls(uint32_t *figure, uint32_t n);
int64_t counters_take_bytes(int64_t *figure, int64_t n);

/** Give back all that a row holds and empty its running words. Returns the number of calls. [any]
 */
uint32_t counters_give_back(const struct counters *c, struct counters_row *row);

/** Free what counters_daemon.c keeps. [daemon] */
void counters_daemon_free(struct counters_daemon *daemon);

#endif
