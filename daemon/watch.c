/* watch.c - inotify and timers that ask for a look at the plugin directories. */
#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WATCH_EVENTS                                                                               \
	(IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_ATTRIB |        \
	 IN_MOVE_SELF | IN_DELETE_SELF | IN_MODIFY)

struct watch {
	int fd;
	char *const *dirs;
	size_t n_dirs;
	int *wd; /* of each directory; -1: not watched at the moment */
	struct event *readable, *settle, *slow;
	watch_fn *look;
	void *arg;
};

/* A directory may come, go, or be replaced by another of the same name: adding it again is
 * harmless. */
static void watch_dirs(struct watch *watch)
{
	for (size_t i = 0; i < watch->n_dirs; i++) {
		const int wd =
			inotify_add_watch(watch->fd, watch->dirs[i], WATCH_EVENTS | IN_ONLYDIR);

		if (watch->wd[i] >= 0 && wd != watch->wd[i])
			inotify_rm_watch(watch->fd, watch->wd[i]);
		watch->wd[i] = wd;
	}
}

void watch_again(struct watch *watch)
{
	const struct timeval tv = { .tv_usec = WATCH_SETTLE_MS * 1000 };

	if (!evtimer_pending(watch->settle, NULL))
		evtimer_add(watch->settle, &tv);
}

static void watch_settled(evutil_socket_t fd, short what, void *arg)
{
	struct watch *watch = arg;

	(void)fd;
	(void)what;
	watch->look(watch->arg, NULL);
}

static void watch_slow_look(evutil_socket_t fd, short what, void *arg)
{
	struct watch *watch = arg;

	(void)fd;
	(void)what;
	watch_dirs(watch);
	watch->look(watch->arg, NULL);
}

static void watch_readable(evutil_socket_t fd, short what, void *arg)
{
	struct watch *watch = arg;
	_Alignas(struct inotify_event) char buf[16384];
	ssize_t got;

	(void)what;
	while ((got = read(fd, buf, sizeof buf)) > 0) {
		const struct inotify_event *event;

		for (char *p = buf; p < buf + got; p += sizeof *event + event->len) {
			event = (const struct inotify_event *)p;
			if ((event->mask & (IN_MOVE_SELF | IN_DELETE_SELF | IN_IGNORED)) != 0)
				watch_dirs(watch);
			if ((event->mask & IN_MOVED_TO) != 0 && event->len > 0)
				watch->look(watch->arg, event->name);
		}
	}
	watch_again(watch);
}

static struct watch *watch_fail(struct watch *watch, struct err *err, int code)
{
	watch_close(watch);
	err_set(err, code, "plugin directories cannot be watched: %s", err_words(code));
	return NULL;
}

struct watch *watch_open(struct event_base *base, char *const *dirs, size_t n_dirs, watch_fn *look,
			 void *arg, struct err *err)
{
	const struct timeval slow = { .tv_sec = WATCH_SLOW_S };
	struct watch *watch = calloc(1, sizeof *watch);

	if (watch == NULL)
		return watch_fail(watch, err, -ENOMEM);
	watch->dirs = dirs;
	watch->n_dirs = n_dirs;
	watch->look = look;
	watch->arg = arg;
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0)
		return watch_fail(watch, err, -errno);
	watch->wd = malloc((n_dirs + 1) * sizeof *watch->wd);
	watch->readable = event_new(base, watch->fd, EV_READ | EV_PERSIST, watch_readable, watch);
	watch->settle = evtimer_new(base, watch_settled, watch);
	watch->slow = event_new(base, -1, EV_PERSIST, watch_slow_look, watch);
	if (watch->wd == NULL || watch->readable == NULL || watch->settle == NULL ||
	    watch->slow == NULL)
		return watch_fail(watch, err, -ENOMEM);
	memset(watch->wd, -1, (n_dirs + 1) * sizeof *watch->wd);
	watch_dirs(watch);
	event_add(watch->readable, NULL);
	event_add(watch->slow, &slow);
	return watch;
}

void watch_close(struct watch *watch)
{
	if (watch == NULL)
		return;
	if (watch->readable != NULL)
		event_free(watch->readable);
	if (watch->settle != NULL)
		event_free(watch->settle);
	if (watch->slow != NULL)
		event_free(watch->slow);
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->wd);
	free(watch);
}
