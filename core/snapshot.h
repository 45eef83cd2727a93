/*
 * snapshot.h - the file through which callrouterd publishes images and data planes read them. [L2]
 *
 * RUN/snapshot.1 holds three slots; the writer fills the oldest and then flips an index. A reader
 * copies the newest slot, checks generation and checksum, and never waits: if the writer died
 * halfway or is faster than the reader, the old state stays in use. The file is made under a
 * temporary name, allocated and renamed, never resized in place; a reader notices that its file was
 * replaced and opens the new one.
 */
#ifndef CR_CORE_SNAPSHOT_H
#define CR_CORE_SNAPSHOT_H

#include <sys/types.h>

#include "err.h"
#include "image.h"

#define SNAPSHOT_FILE  "snapshot.1"
#define SNAPSHOT_SLOTS 3

struct snapshot_writer;
struct snapshot_reader;

/**
 * Make (or take over, if it is whole and of this boot) the file in run_dir. generation continues
 * after that of the file that was there. gid: group that may read it, (gid_t)-1: leave. Returns 0
 * or < 0 with err. [one thread]
 */
int snapshot_create(const char *run_dir, gid_t gid, struct snapshot_writer **out, struct err *err);
void snapshot_writer_close(struct snapshot_writer *writer);

/** The generation of the newest image in the file; the next one to publish is one more. [writer's
 * thread] */
uint64_t snapshot_generation(const struct snapshot_writer *writer);

/**
 * Publish image (image->generation is set here). If the image does not fit, the file is replaced by
 * a larger one. Returns 0 or < 0 with err, the old image then stays. [writer's thread]
 */
int snapshot_publish(struct snapshot_writer *writer, struct image_header *image, struct err *err);

/** Start reading in run_dir; no file needs to be there yet. Returns NULL only without memory. [one
 * thread] */
struct snapshot_reader *snapshot_reader_new(const char *run_dir);
void snapshot_reader_free(struct snapshot_reader *reader);

/**
 * Look for an image newer than generation have (0: any; also any from a replaced file). *image:
 * malloc'd, checked, the caller's. Returns 1 with *image, 0 if there is nothing new, -ENOENT (no
 * file yet), -EAGAIN (writer too fast or died halfway: look again later), or another negative errno
 * value with err (foreign, truncated, hostile file, other boot); what was said about a file is not
 * said again: the text is then empty. Costs two system calls if there is nothing new. Never blocks
 * and never touches memory beyond what the file really has. [one thread]
 */
int snapshot_read(struct snapshot_reader *reader, uint64_t have, struct image_header **image,
		  struct err *err);

#endif
