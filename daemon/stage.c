/* stage.c - list, check and copy plugin files. */
#include "stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "plugin.h"
#include "text.h"

#define STAGE_BYTES_MAX ((off_t)256 << 20)

/*** Listing ***/

/* NAME.so -> NAME; everything else (dot files, NAME.so.tmp, NAME.so~, NAME-1.so) is not a plugin's.
 */
static bool stage_name(const char *entry, char *plugin, size_t len)
{
	const size_t n = strlen(entry);

	if (n < 4 || n - 3 >= len || strcmp(entry + n - 3, ".so") != 0)
		return false;
	memcpy(plugin, entry, n - 3);
	plugin[n - 3] = '\0';
	return text_is_plugin_name(plugin);
}

static bool stage_look(struct stage_file *file, const struct stat *dir)
{
	struct stat st;

	if (stat(file->path, &st) < 0)
		return false;
	file->dir_uid = dir->st_uid;
	file->dir_gid = dir->st_gid;
	file->dir_mode = dir->st_mode;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->bytes = st.st_size;
	file->mtime = st.st_mtim;
	file->ctime = st.st_ctim;
	return true;
}

static int stage_add(struct stage_listing *listing, const struct stage_file *file)
{
	struct stage_file *grown;

	for (size_t i = 0; i < listing->n; i++)
		if (strcmp(listing->file[i].plugin, file->plugin) == 0) {
			listing->file[i] = *file;
			return 0;
		}
	grown = reallocarray(listing->file, listing->n + 1, sizeof *grown);
	if (grown == NULL)
		return -ENOMEM;
	listing->file = grown;
	grown[listing->n++] = *file;
	return 0;
}

static int stage_list_dir(const char *dir, struct stage_listing *listing)
{
	DIR *open_dir = opendir(dir);
	const struct dirent *entry;
	struct stat st;
	int failed = 0;

	if (open_dir == NULL)
		return 0;
	if (fstat(dirfd(open_dir), &st) < 0)
		st = (struct stat){ 0 };
	/* a directory stream of our own. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (failed == 0 && (entry = readdir(open_dir)) != NULL) {
		struct stage_file file = { 0 };
		const int len = snprintf(file.path, sizeof file.path, "%s/%s", dir, entry->d_name);

		if (len > 0 && (size_t)len < sizeof file.path &&
		    stage_name(entry->d_name, file.plugin, sizeof file.plugin) &&
		    stage_look(&file, &st))
			failed = stage_add(listing, &file);
	}
	closedir(open_dir);
	return failed;
}

int stage_list(char *const *dirs, size_t n_dirs, struct stage_listing *listing)
{
	*listing = (struct stage_listing){ 0 };
	for (size_t i = 0; i < n_dirs; i++)
		if (stage_list_dir(dirs[i], listing) < 0) {
			stage_listing_free(listing);
			return -ENOMEM;
		}
	return 0;
}

void stage_listing_free(struct stage_listing *listing)
{
	free(listing->file);
	*listing = (struct stage_listing){ 0 };
}

const struct stage_file *stage_find(const struct stage_listing *listing, const char *plugin)
{
	for (size_t i = 0; i < listing->n; i++)
		if (strcmp(listing->file[i].plugin, plugin) == 0)
			return &listing->file[i];
	return NULL;
}

static bool stage_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool stage_is_same(const struct stage_file *a, const struct stage_file *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->bytes == b->bytes &&
	       stage_same_time(&a->mtime, &b->mtime) && stage_same_time(&a->ctime, &b->ctime) &&
	       a->dir_uid == b->dir_uid && a->dir_gid == b->dir_gid && a->dir_mode == b->dir_mode &&
	       strcmp(a->path, b->path) == 0;
}

/*** Trust ***/

/* Whoever can write the file, or rename in its directory, decides what runs in every data plane. */
static int stage_trust(const struct stat *st, const char *path, bool is_dir, struct err *err)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return err_set(err, -EPERM,
			       "%s belongs to user %u: plugins must belong to root or to "
			       "callrouterd's user",
			       path, st->st_uid);
	/* in a sticky directory (like /tmp) others cannot replace the file */
	if ((st->st_mode & 002) != 0 && !(is_dir && (st->st_mode & S_ISVTX) != 0))
		return err_set(err, -EPERM, "others can write to %s: do chmod o-w %s", path, path);
	if ((st->st_mode & 020) != 0 && st->st_gid != 0 && st->st_gid != getegid())
		return err_set(err, -EPERM, "group %u can write to %s: do chmod g-w %s", st->st_gid,
			       path, path);
	return 0;
}

static int stage_trust_dir(const char *file, struct err *err)
{
	const char *slash = strrchr(file, '/');
	char dir[PATH_MAX] = ".";
	struct stat st;

	if (slash != NULL && slash - file < PATH_MAX) {
		const size_t len = slash > file ? (size_t)(slash - file) : 1; /* "/x.so" */

		memcpy(dir, file, len);
		dir[len] = '\0';
	}
	if (stat(dir, &st) < 0)
		return err_set(err, -errno, "%s: %s", dir, err_words(errno));
	return stage_trust(&st, dir, true, err);
}

/* Through a symbolic link: whoever can replace the file that it names is in charge, too. */
static int stage_trust_dirs(const char *path, struct err *err)
{
	char *target;
	int failed = stage_trust_dir(path, err);

	if (failed < 0)
		return failed;
	target = realpath(path, NULL);
	if (target == NULL)
		return err_set(err, -errno, "%s: %s", path, err_words(errno));
	failed = stage_trust_dir(target, err);
	free(target);
	return failed;
}

static int stage_trust_file(int fd, const char *path, struct stat *st, struct err *err)
{
	if (fstat(fd, st) < 0)
		return err_set(err, -errno, "%s: %s", path, err_words(errno));
	if (!S_ISREG(st->st_mode))
		return err_set(err, -EINVAL, "%s is not a regular file", path);
	if (st->st_size > STAGE_BYTES_MAX)
		return err_set(err, -EFBIG, "%s is larger than 256 MiB", path);
	if (stage_trust(st, path, false, err) < 0)
		return err->code;
	return stage_trust_dirs(path, err);
}

static int stage_open_file(const struct stage_file *file, struct err *err)
{
	/* O_NONBLOCK: a fifo named like a plugin must not hang us */
	const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_set(err, -errno, "%s cannot be read: %s", file->path, err_words(errno));
	return fd;
}

int stage_check(const struct stage_file *file, struct err *err)
{
	struct stat st;
	int fd = stage_open_file(file, err), failed;

	if (fd < 0)
		return fd;
	failed = stage_trust_file(fd, file->path, &st, err);
	if (failed == 0)
		failed = plugin_check_elf(fd, file->path, err);
	close(fd);
	return failed;
}

/*** Copying ***/

/** Reads in, hashes, and writes to to (-1: only hashes). */
static int stage_pump(int from, int to, uint64_t *digest, off_t *bytes)
{
	static char chunk[1 << 16];
	uint64_t hash = 0;

	*bytes = 0;
	for (;;) {
		ssize_t got = pread(from, chunk, sizeof chunk, *bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		hash = cr_mix64(hash ^ cr_hash64(chunk, (size_t)got));
		if (to >= 0 && pwrite(to, chunk, (size_t)got, *bytes) != got)
			return -ENOSPC;
		*bytes += got;
		if (*bytes > STAGE_BYTES_MAX)
			return -EFBIG;
	}
	*digest = cr_mix64(hash ^ (uint64_t)*bytes);
	return 0;
}

int stage_digest(const char *path, uint64_t *digest, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failed;
	off_t bytes;

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, err_words(errno));
	failed = stage_pump(fd, -1, digest, &bytes);
	close(fd);
	return failed == 0 ? 0 : err_set(err, failed, "%s: %s", path, err_words(failed));
}

static int stage_copy_fd(const struct stage_file *file, int from, const char *to, uint64_t *digest,
			 struct err *err)
{
	struct stat before, after;
	off_t bytes;
	int fd, failed;

	if (stage_trust_file(from, file->path, &before, err) < 0)
		return err->code;
	fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return err_set(err, -errno, "%s cannot be written: %s", to, err_words(errno));
	failed = stage_pump(from, fd, digest, &bytes);
	if (failed < 0)
		err_set(err, failed, "%s cannot be copied to %s: %s", file->path, to,
			err_words(failed));
	else if (fstat(from, &after) < 0 || bytes != before.st_size ||
		 after.st_size != before.st_size ||
		 !stage_same_time(&after.st_mtim, &before.st_mtim))
		failed = err_set(err, -EAGAIN, "%s is still being written", file->path);
	else if ((failed = plugin_check_elf(fd, file->path, err)) == 0 && fsync(fd) < 0)
		failed = err_set(err, -errno, "%s cannot be written: %s", to, err_words(errno));
	close(fd);
	if (failed < 0)
		unlink(to);
	return failed;
}

int stage_copy(const struct stage_file *file, const char *state_dir, uint64_t seq, char *to,
	       uint64_t *digest, struct err *err)
{
	int from = stage_open_file(file, err), failed;

	if (from < 0)
		return from;
	stage_path(to, state_dir, file->plugin, seq);
	failed = stage_copy_fd(file, from, to, digest, err);
	close(from);
	return failed;
}

/*** The staging directory ***/

void stage_path(char *to, const char *state_dir, const char *plugin, uint64_t seq)
{
	(void)snprintf(to, PATH_MAX, "%s/" STAGE_DIR "/%s.%" PRIu64 ".so", state_dir, plugin, seq);
}

int stage_open(const char *state_dir, struct err *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/" STAGE_DIR, state_dir) >= (int)sizeof path - 64)
		return err_set(err, -ENAMETOOLONG, "%s: path too long", state_dir);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s cannot be made: %s", path, err_words(errno));
	return 0;
}

static bool stage_parse(const char *entry, char *plugin, size_t len, uint64_t *seq)
{
	const char *dot = strchr(entry, '.');
	char *end;

	if (dot == NULL || (size_t)(dot - entry) >= len)
		return false;
	memcpy(plugin, entry, (size_t)(dot - entry));
	plugin[dot - entry] = '\0';
	*seq = strtoull(dot + 1, &end, 10);
	return end != dot + 1 && strcmp(end, ".so") == 0;
}

uint64_t stage_newest(const char *state_dir)
{
	char dir[PATH_MAX], plugin[32];
	const struct dirent *entry;
	uint64_t seq, newest = 0;
	DIR *open_dir;

	(void)snprintf(dir, sizeof dir, "%s/" STAGE_DIR, state_dir);
	open_dir = opendir(dir);
	/* a directory stream of our own. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (open_dir != NULL && (entry = readdir(open_dir)) != NULL)
		if (stage_parse(entry->d_name, plugin, sizeof plugin, &seq) && seq > newest)
			newest = seq;
	if (open_dir != NULL)
		closedir(open_dir);
	return newest;
}

void stage_sweep(const char *state_dir, bool (*keep)(void *arg, const char *plugin, uint64_t seq),
		 void *arg)
{
	char dir[PATH_MAX], path[PATH_MAX], plugin[32];
	const struct dirent *entry;
	DIR *open_dir;
	uint64_t seq;

	(void)snprintf(dir, sizeof dir, "%s/" STAGE_DIR, state_dir);
	open_dir = opendir(dir);
	/* a directory stream of our own. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (open_dir != NULL && (entry = readdir(open_dir)) != NULL) {
		if (!stage_parse(entry->d_name, plugin, sizeof plugin, &seq) ||
		    keep(arg, plugin, seq))
			continue;
		stage_path(path, state_dir, plugin, seq);
		unlink(path);
	}
	if (open_dir != NULL)
		closedir(open_dir);
}
