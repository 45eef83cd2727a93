/* control_socket.c - a listening socket in the run directory: private until it is ready, one owner.
 */
#include "control_socket.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "text.h"

#define NEW_FILE "control.new"
#define BACKLOG  64

static int fill_address(struct sockaddr_un *address, const char *run_dir, const char *name,
			struct err *err)
{
	const int len =
		snprintf(address->sun_path, sizeof address->sun_path, "%s/%s", run_dir, name);

	if (len < 0 || (size_t)len >= sizeof address->sun_path)
		return err_set(err, -ENAMETOOLONG,
			       "the run directory %s has a path too long for a socket: choose one "
			       "of at most %zu letters",
			       run_dir, sizeof address->sun_path - sizeof "/" CONTROL_FILE);
	return 0;
}

/* Is the name free, or taken by a socket that nobody listens on? */
static int check_name_is_free(int fd, const struct sockaddr_un *address, struct err *err)
{
	struct stat st;

	if (lstat(address->sun_path, &st) < 0)
		return errno == ENOENT ? 0
				       : err_set(err, -errno, "%s: %s", address->sun_path,
						 err_words(errno));
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, -EEXIST, "%s is not a socket: remove it", address->sun_path);
	/* EAGAIN: its queue is full, so it lives. */
	if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN)
		return err_set(err, -EADDRINUSE,
			       "another callrouterd serves this run directory: "
			       "stop it, or use another --run-dir");
	if (errno != ECONNREFUSED && errno != ENOENT)
		return err_set(err, -errno, "%s: %s", address->sun_path, err_words(errno));
	return 0;
}

/*
 * Bind under another name, and listen only once mode and group are right: nobody connects before.
 * The rename puts it in the place of a stale socket.
 */
static int bind_socket(int fd, const char *run_dir, const char *path, gid_t gid, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (fill_address(&address, run_dir, NEW_FILE, err) < 0)
		return err->code;
	(void)unlink(address.sun_path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		return err_set(err, -errno,
			       "cannot make a socket in %s: %s; it has to exist and to be writable",
			       run_dir, err_words(errno));
	if (chmod(address.sun_path, 0660) < 0 ||
	    (gid != (gid_t)-1 && lchown(address.sun_path, (uid_t)-1, gid) < 0) ||
	    listen(fd, BACKLOG) < 0 || rename(address.sun_path, path) < 0) {
		(void)err_set(err, -errno, "%s: %s", address.sun_path, err_words(errno));
		(void)unlink(address.sun_path);
		return err->code;
	}
	return 0;
}

/* Of our own socket: another one by its name is not ours to remove. */
static int remember_file(struct control_socket *s, struct err *err)
{
	struct stat st;

	if (lstat(s->path, &st) < 0)
		return err_set(err, -errno, "%s: %s", s->path, err_words(errno));
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

int control_socket_open(struct control_socket *s, const char *run_dir, gid_t gid, struct err *err)
{
	const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	const int probe = socket(AF_UNIX, type, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int r;

	s->fd = socket(AF_UNIX, type, 0);
	if (probe < 0 || s->fd < 0) {
		r = err_set(err, -errno, "socket: %s", err_words(errno));
		goto done;
	}
	r = fill_address(&address, run_dir, CONTROL_FILE, err);
	if (r < 0)
		goto done;
	(void)text_copy(s->path, sizeof s->path, address.sun_path);
	r = check_name_is_free(probe, &address, err);
	if (r == 0)
		r = bind_socket(s->fd, run_dir, s->path, gid, err);
	if (r == 0)
		r = remember_file(s, err);
done:
	if (probe >= 0)
		(void)close(probe);
	if (r < 0 && s->fd >= 0)
		(void)close(s->fd);
	return r;
}

void control_socket_close(struct control_socket *s)
{
	struct stat st;

	if (lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
		(void)unlink(s->path);
	(void)close(s->fd);
}
