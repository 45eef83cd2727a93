/* statefile.h - JSON documents that outlive the daemon: written whole or not at all, a broken one
 * kept aside. */
#ifndef CR_DAEMON_STATEFILE_H
#define CR_DAEMON_STATEFILE_H

#include <jansson.h>

#include "err.h"

/**
 * Read dir/file. *root: a new reference, or NULL if there is no file, or a broken one: that is
 * renamed to file.bad and err says so. Returns 0, or < 0 with err (cannot be read at all: nothing
 * was changed). [main]
 */
int statefile_read(const char *dir, const char *file, json_t **root, struct err *err);

/** Rename dir/file, which is broken (why), to file.bad; err says so. Returns 0, or < 0 with err if
 * that cannot be done. [main] */
int statefile_set_aside(const char *dir, const char *file, const char *why, struct err *err);

/** Write dir/file by temporary name, fsync, rename, fsync of dir. Returns 0 or < 0 with err, the
 * old file then stays. [main] */
int statefile_write(const char *dir, const char *file, const json_t *root, struct err *err);

#endif
