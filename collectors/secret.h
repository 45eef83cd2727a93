/*
 * secret.h - files that hold a secret (a community, a password, a token, a key): one set of rules
 * for the collectors, which read them, and for the daemon, which checks them before.
 *
 * The file is a regular one that we may read, with no permission at all for others than its owner
 * and group. Symbolic links are followed, for so do secrets of containers come; it is the opened
 * file that is judged, whoever swaps links meanwhile. The secret is its first line, without the
 * LF or CR LF at its end: 1 to SECRET_MAX bytes, none of them a control byte. Blanks belong to it.
 */
#ifndef CR_COLLECTORS_SECRET_H
#define CR_COLLECTORS_SECRET_H

#include <stddef.h>

#define SECRET_MAX 4095 /* bytes */

/** Wiped by secret_wipe() as soon as it is not needed any more. */
struct secret {
	char text[SECRET_MAX + 1];
};

/**
 * Judge the file at path, but not what is in it: for keys, whose form a library knows. option: how
 * the configuration calls it. Returns 0, or a negative errno with one line in err: option, file,
 * what is wrong and what to do. [any]
 */
int secret_check(const char *option, const char *path, char *err, size_t err_len);

/** Judge the file and read the secret. Returns as secret_check(); on failure secret is wiped. [any]
 */
int secret_read(struct secret *secret, const char *option, const char *path, char *err,
		size_t err_len);

void secret_wipe(struct secret *secret);

#endif
