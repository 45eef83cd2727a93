/* statefile.c - read and write the daemon's own JSON documents. */
#include "statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document.h"

static int statefile_path(char *path, const char *dir, const char *file, const char *suffix,
			  struct err *err)
{
	const int len = snprintf(path, PATH_MAX, "%s/%s%s", dir, file, suffix);

	return len > 0 && len < PATH_MAX
		       ? 0
		       : err_set(err, -ENAMETOOLONG, "%s/%s: path too long", dir, file);
}

int statefile_set_aside(const char *dir, const char *file, const char *why, struct err *err)
{
	char path[PATH_MAX], aside[PATH_MAX];

	if (statefile_path(path, dir, file, "", err) < 0 ||
	    statefile_path(aside, dir, file, ".bad", err) < 0)
		return err->code;
	if (rename(path, aside) < 0)
		return err_set(err, -errno, "%s is broken (%s) and cannot be set aside: %s", path,
			       why, err_words(errno));
	err_set(err, -EBADMSG, "%s was broken (%s): it is kept as %s, and a new one begun", path,
		why, aside);
	return 0;
}

int statefile_read(const char *dir, const char *file, json_t **root, struct err *err)
{
	char path[PATH_MAX], why[sizeof err->text];
	json_error_t fault;
	char last = ' ';
	int fd;

	*root = NULL;
	if (statefile_path(path, dir, file, "", err) < 0)
		return err->code;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, err_words(errno));
	*root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &fault);
	if (*root == NULL && fault.position > 0)
		(void)!pread(fd, &last, 1, fault.position - 1);
	close(fd);
	if (*root != NULL)
		return 0;
	(void)snprintf(why, sizeof why, "line %d: %s", fault.line, document_words(&fault, last));
	return statefile_set_aside(dir, file, why, err);
}

static int statefile_fill(int fd, const json_t *root)
{
	char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
	size_t len, done = 0;

	if (text == NULL)
		return -ENOMEM;
	len = strlen(text);
	while (done < len) {
		const ssize_t got = write(fd, text + done, len - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		done += (size_t)got;
	}
	free(text);
	if (done < len || fsync(fd) < 0)
		return errno != 0 ? -errno : -EIO;
	return 0;
}

/* The name is only safe on disk when the directory is. */
static void statefile_sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

int statefile_write(const char *dir, const char *file, const json_t *root, struct err *err)
{
	char path[PATH_MAX], fresh[PATH_MAX];
	int fd, failed;

	if (statefile_path(path, dir, file, "", err) < 0 ||
	    statefile_path(fresh, dir, file, ".new", err) < 0)
		return err->code;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	if (fd < 0)
		return err_set(err, -errno, "%s cannot be written: %s", fresh, err_words(errno));
	errno = 0;
	failed = statefile_fill(fd, root);
	if (close(fd) < 0 && failed == 0)
		failed = -errno;
	if (failed == 0 && rename(fresh, path) < 0)
		failed = -errno;
	if (failed == 0) {
		statefile_sync_dir(dir);
		return 0;
	}
	unlink(fresh);
	return err_set(err, failed, "%s cannot be written: %s", path, err_words(failed));
}
