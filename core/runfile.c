/* runfile.c - files of the run directory: opened without trust, made aside and renamed. */
#include "runfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int runfile_path(const char *dir, const char *name, char *path, size_t len, struct err *err)
{
	const int n = snprintf(path, len, "%s/%s", dir, name);

	if (n < 0 || (size_t)n >= len)
		return err_set(err, -ENAMETOOLONG,
			       "the run directory's name is too long: use a shorter one");
	return 0;
}

/* One name only: there is one daemon per run directory, and so at most one leftover. */
static int temporary_path(const struct runfile *file, char *path, size_t len, struct err *err)
{
	char name[64];

	(void)snprintf(name, sizeof name, ".%s.new", file->name);
	return runfile_path(file->dir, name, path, len, err);
}

int runfile_open(const char *path, int access, struct stat *st, struct err *err)
{
	/* O_NONBLOCK: a FIFO of this name must not make anybody wait. */
	const int fd = open(path, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		const int code = -errno;

		if (code == -EACCES)
			return err_set(err, code,
				       "%s: permission denied: this process must belong to the "
				       "file's group",
				       path);
		return err_set(err, code, "%s: %s", path, err_words(code));
	}
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return err_set(err, -EBADMSG, "%s: not a regular file: remove it", path);
}

int runfile_read(int fd, void *to, size_t len, off_t at)
{
	while (len > 0) {
		const ssize_t n = pread(fd, to, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		to = (char *)to + n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

int runfile_write(int fd, const void *from, size_t len, off_t at)
{
	while (len > 0) {
		const ssize_t n = pwrite(fd, from, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		from = (const char *)from + n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

int runfile_allocate(int fd, off_t at, off_t len)
{
	int code;

	do
		code = posix_fallocate(fd, at, len);
	while (code == EINTR);
	return -code;
}

int runfile_make(const struct runfile *file, off_t size, off_t allocated, struct err *err)
{
	char path[PATH_MAX];
	int fd, code;

	if (temporary_path(file, path, sizeof path, err) < 0)
		return -ENAMETOOLONG;
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(err, -errno, "%s: cannot remove it: %s", path, err_words(errno));
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set(err, -errno, "%s: cannot make it: %s", path, err_words(errno));
	code = ftruncate(fd, size) < 0 ? -errno : runfile_allocate(fd, 0, allocated);
	if (code == 0)
		return fd;
	err_set(err, code, "%s: no room for %lld bytes: %s", path, (long long)allocated,
		err_words(code));
	close(fd);
	unlink(path);
	return code;
}

int runfile_own(const struct runfile *file, int fd, struct err *err)
{
	if (file->gid != (gid_t)-1 && fchown(fd, (uid_t)-1, file->gid) < 0)
		return err_set(err, -errno, "%s/%s: cannot give it to group %u: %s", file->dir,
			       file->name, (unsigned)file->gid, err_words(errno));
	if (fchmod(fd, file->mode) < 0)
		return err_set(err, -errno, "%s/%s: cannot set its mode: %s", file->dir, file->name,
			       err_words(errno));
	return 0;
}

int runfile_commit(const struct runfile *file, int fd, struct err *err)
{
	char from[PATH_MAX], to[PATH_MAX];
	int code;

	if (runfile_path(file->dir, file->name, to, sizeof to, err) < 0 ||
	    temporary_path(file, from, sizeof from, err) < 0)
		return -ENAMETOOLONG;
	code = runfile_own(file, fd, err);
	if (code < 0)
		return code;
	if (rename(from, to) < 0)
		return err_set(err, -errno, "%s: cannot put the new file there: %s", to,
			       err_words(errno));
	return 0;
}

void runfile_discard(const struct runfile *file)
{
	char path[PATH_MAX];

	if (temporary_path(file, path, sizeof path, NULL) == 0)
		unlink(path);
}

bool runfile_is_replaced(const char *path, const struct stat *st)
{
	struct stat now;

	return lstat(path, &now) < 0 || now.st_dev != st->st_dev || now.st_ino != st->st_ino;
}
