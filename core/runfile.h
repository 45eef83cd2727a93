/* runfile.h - files of the run directory: opened without trust, made aside and renamed. [L1] */
#ifndef CR_CORE_RUNFILE_H
#define CR_CORE_RUNFILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "err.h"

/** Where a file is made: dir/name. Both strings are borrowed. */
struct runfile {
	const char *dir, *name;
	gid_t gid;   /* group of a new file, (gid_t)-1: leave */
	mode_t mode; /* of a new file, whatever the umask says */
};

/** Put dir/name into path[len]. Returns 0 or -ENAMETOOLONG with err. [any] */
int runfile_path(const char *dir, const char *name, char *path, size_t len, struct err *err);

/**
 * Open an existing file for reading or for both (O_RDONLY, O_RDWR); never follows a link, never
 * waits, never creates. *st: what was opened, a regular file. Returns a descriptor, -ENOENT, or < 0
 * with err. [any]
 */
int runfile_open(const char *path, int access, struct stat *st, struct err *err);

/** Read exactly len bytes at an offset. Returns 0, -ENODATA (the file ends before), or < 0. [any]
 */
int runfile_read(int fd, void *to, size_t len, off_t at);

/** Write exactly len bytes at an offset. Returns 0 or negative errno. [any] */
int runfile_write(int fd, const void *from, size_t len, off_t at);

/** Make sure that len bytes at an offset have room, so that writing them, also through a mapping,
 * cannot fail. Returns 0 or negative errno. [any] */
int runfile_allocate(int fd, off_t at, off_t len);

/**
 * Start a file under a temporary name (one that a dead predecessor left is removed): size bytes
 * long, the first `allocated` of them with room. Returns a descriptor or < 0 with err. [writer]
 */
int runfile_make(const struct runfile *file, off_t size, off_t allocated, struct err *err);

/** Give a file that was made, or taken over, its mode and group. Returns 0 or < 0 with err.
 * [writer] */
int runfile_own(const struct runfile *file, int fd, struct err *err);

/** Put the file that runfile_make() started in its place. Returns 0 or < 0 with err. [writer] */
int runfile_commit(const struct runfile *file, int fd, struct err *err);

/** Remove the temporary name after a failure. [writer] */
void runfile_discard(const struct runfile *file);

/** Is dir/name another file than st, or gone? [any] */
bool runfile_is_replaced(const char *path, const struct stat *st);

#endif
