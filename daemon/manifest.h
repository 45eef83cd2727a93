/*
 * manifest.h - what was adopted, rolled back and quarantined, kept in STATE/manifest.json, so that
 * neither a restart nor a rescan brings back what was sent away. Written by temporary name, fsync
 * and rename at every change.
 */
#ifndef CR_DAEMON_MANIFEST_H
#define CR_DAEMON_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define MANIFEST_FILE        "manifest.json"
#define MANIFEST_REFUSED_MAX 32 /* per plugin; the oldest is forgotten first */

/** A staged file. */
struct manifest_file {
	uint64_t seq; /* 0: none */
	uint64_t digest;
	char version[32];
};

/** Why a file is not taken by itself. */
enum manifest_verdict {
	MANIFEST_FINE = 0,
	MANIFEST_ROLLED_BACK,
	MANIFEST_QUARANTINED,
};

/** A file that is not taken by itself any more, by its contents. */
struct manifest_refused {
	struct manifest_file file;
	enum manifest_verdict verdict;
	char note[200];
};

struct manifest_entry {
	char plugin[32];
	bool is_collector;
	struct manifest_file current, previous;
	struct manifest_refused refused[MANIFEST_REFUSED_MAX]; /* newest first */
	size_t n_refused;
};

struct manifest;

/**
 * Read STATE/manifest.json, or start afresh where there is none; a broken one, or one of another
 * layout, is kept aside as manifest.json.bad and reported in err, *out is good all the same.
 * Returns 0 or < 0 (state_dir cannot be used). [main]
 */
int manifest_open(const char *state_dir, struct manifest **out, struct err *err);
void manifest_close(struct manifest *manifest);

/** A sequence number that was never given out before, already on disk. Returns 0 with err if it
 * could not be written. [main] */
uint64_t manifest_next_seq(struct manifest *manifest, struct err *err);

/** seq is in use somewhere: numbers given out from now on are above it. [main] */
void manifest_raise_seq(struct manifest *manifest, uint64_t seq);

/** The entry of a plugin, or NULL. Valid until the next change. [main] */
const struct manifest_entry *manifest_find(const struct manifest *manifest, const char *plugin);

/** All entries. [main] */
const struct manifest_entry *manifest_entries(const struct manifest *manifest, size_t *n);

/**
 * file is now in office; the one before becomes the previous. The digest's mark, if any, is taken
 * off. Returns 0 or < 0 with err: not written, and nothing changed. [main]
 */
int manifest_adopt(struct manifest *manifest, const char *plugin, bool is_collector,
		   const struct manifest_file *file, struct err *err);

/**
 * A file is sent away, by its seq: if it is the current one, the previous one is in office again,
 * and there is no previous any more; if it is the previous one, there is none any more; one that
 * was only on its way is remembered. Returns 0 or < 0 with err: not written, and nothing changed.
 * [main]
 */
int manifest_send_away(struct manifest *manifest, const char *plugin,
		       const struct manifest_file *file, enum manifest_verdict verdict,
		       const char *note, struct err *err);

/** Is a file of these contents refused? Returns its row, or NULL. [main] */
const struct manifest_refused *manifest_refuses(const struct manifest *manifest, const char *plugin,
						uint64_t digest);

#endif
