/*
 * stage.h - from a file in plugins.d to a private copy that can be loaded: which files there are,
 * whether they may be trusted, whether they are complete, and the copy under a name that was never
 * used before.
 */
#ifndef CR_DAEMON_STAGE_H
#define CR_DAEMON_STAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "err.h"

#define STAGE_DIR "plugins" /* in the state directory */

/** A file NAME.so in one of the plugin directories. */
struct stage_file {
	char plugin[32]; /* NAME */
	char path[PATH_MAX];
	dev_t dev;
	ino_t ino;
	off_t bytes;
	struct timespec mtime, ctime;
	uid_t dir_uid; /* of the directory: who may replace the file */
	gid_t dir_gid;
	mode_t dir_mode;
};

/** All of them, by name; of two with one name the one in the later directory. */
struct stage_listing {
	struct stage_file *file;
	size_t n;
};

/**
 * Look into the directories; one that is missing counts as empty. Dot files, temporary names and
 * names that cannot be a plugin's are passed over. listing: freed by stage_listing_free(). Returns
 * 0 or -ENOMEM. [main]
 */
int stage_list(char *const *dirs, size_t n_dirs, struct stage_listing *listing);
void stage_listing_free(struct stage_listing *listing);
const struct stage_file *stage_find(const struct stage_listing *listing, const char *plugin);

/** Is it the same file, untouched? [any] */
bool stage_is_same(const struct stage_file *a, const struct stage_file *b);

/** Hash of a file's contents and length. Returns 0 or < 0 with err. [main] */
int stage_digest(const char *path, uint64_t *digest, struct err *err);

/**
 * May it be trusted, and is it whole? What stage_copy() would refuse it for, found out without
 * copying. Returns 0, or < 0 with a sentence; -ENOEXEC: it is not a whole shared object, or not
 * yet. [main]
 */
int stage_check(const struct stage_file *file, struct err *err);

/**
 * Copy the file to STATE/plugins/NAME.SEQ.so. Refused with a sentence: not a regular file; the file
 * or its directory writable by others than root and our user; changed while it was copied (-EAGAIN:
 * look again); not a whole shared object for this machine (-ENOEXEC). to: at least PATH_MAX.
 * Returns 0 with *digest. [main]
 */
int stage_copy(const struct stage_file *file, const char *state_dir, uint64_t seq, char *to,
	       uint64_t *digest, struct err *err);

/** The path of a staged file. [any] */
void stage_path(char *to, const char *state_dir, const char *plugin, uint64_t seq);

/** Make STATE/plugins, 0755. Returns 0 or < 0 with err. [main] */
int stage_open(const char *state_dir, struct err *err);

/** The highest SEQ of the staged files; 0: there is none. [main] */
uint64_t stage_newest(const char *state_dir);

/** Delete staged files that keep() does not want. [main] */
void stage_sweep(const char *state_dir, bool (*keep)(void *arg, const char *plugin, uint64_t seq),
		 void *arg);

#endif
