/* control_ask.c - the client's side of the control socket: one question, one answer. */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

#define ANSWER_MAX    (64u << 20)
#define BUSY_PAUSE_MS 20

/* One question under way. */
struct ask {
	const char *run_dir;
	int64_t deadline_ns;
	int fd;
	char *answer;
	size_t len, cap;
};

static int fail_without_daemon(const struct ask *ask, struct err *err)
{
	return err_set(err, -ECONNREFUSED,
		       "no callrouterd serves %s: start it (systemctl start callrouterd, or "
		       "callrouterd -c FILE --run-dir DIR), or name its run directory with "
		       "--run-dir DIR",
		       ask->run_dir);
}

/* Wait until fd is ready or the time is over. */
static int ask_wait(const struct ask *ask, short events, struct err *err)
{
	struct pollfd pfd = { .fd = ask->fd, .events = events };

	for (;;) {
		const int64_t left_ns = ask->deadline_ns - clock_now_ns();
		int r = 0;

		if (left_ns > 0)
			r = poll(&pfd, 1, (int)(left_ns / CLOCK_MS) + 1);
		if (r > 0)
			return 0;
		if (r == 0)
			return err_set(err, -ETIMEDOUT,
				       "callrouterd did not answer in time: see its log "
				       "(journalctl -u callrouterd) for what it is doing");
		if (errno != EINTR)
			return err_set(err, -errno, "poll: %s", err_words(errno));
	}
}

static int fail_to_connect(const struct ask *ask, int code, struct err *err)
{
	if (code == ENOENT || code == ECONNREFUSED || code == ENOTDIR)
		return fail_without_daemon(ask, err);
	if (code == EACCES || code == EPERM)
		return err_set(err, -code,
			       "%s/%s may only be used by root, callrouterd's user and its group: "
			       "try it with sudo, or join the group",
			       ask->run_dir, CONTROL_FILE);
	return err_set(err, -code, "%s/%s: %s", ask->run_dir, CONTROL_FILE, err_words(code));
}

static int ask_connect(struct ask *ask, struct err *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const int len = snprintf(to.sun_path, sizeof to.sun_path, "%s/" CONTROL_FILE, ask->run_dir);

	if (len < 0 || (size_t)len >= sizeof to.sun_path)
		return err_set(err, -ENAMETOOLONG,
			       "the run directory %s has a path too long for a socket: choose a "
			       "shorter one",
			       ask->run_dir);
	ask->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ask->fd < 0)
		return err_set(err, -errno, "socket: %s", err_words(errno));
	while (connect(ask->fd, (const struct sockaddr *)&to, sizeof to) < 0) {
		/* EAGAIN: more clients wait than the daemon has taken on yet. */
		if (errno != EAGAIN && errno != EINTR)
			return fail_to_connect(ask, errno, err);
		if (clock_now_ns() >= ask->deadline_ns)
			return err_set(
				err, -ETIMEDOUT,
				"callrouterd takes no connection: it is busy or stopped, see "
				"its log (journalctl -u callrouterd)");
		(void)poll(NULL, 0, BUSY_PAUSE_MS);
	}
	return 0;
}

static int ask_send(const struct ask *ask, const char *text, size_t len, struct err *err)
{
	while (len > 0) {
		const ssize_t n = send(ask->fd, text, len, MSG_NOSIGNAL);

		if (n >= 0) {
			text += n;
			len -= (size_t)n;
			continue;
		}
		/* It has closed already: what it had to say can still be read. */
		if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return err_set(err, -errno, "asking callrouterd: %s", err_words(errno));
		if (ask_wait(ask, POLLOUT, err) < 0)
			return err->code;
	}
	return 0;
}

static int ask_grow(struct ask *ask, struct err *err)
{
	const size_t cap = ask->cap == 0 ? 16384 : ask->cap * 2;
	char *more;

	if (ask->len < ask->cap)
		return 0;
	more = cap <= ANSWER_MAX ? realloc(ask->answer, cap) : NULL;
	if (more == NULL)
		return err_set(err, -ENOMEM,
			       "callrouterd's answer is too long for the memory here");
	ask->answer = more;
	ask->cap = cap;
	return 0;
}

/* Read up to the end of the line, or of the connection. */
static int ask_receive(struct ask *ask, struct err *err)
{
	for (;;) {
		ssize_t n;

		if (ask_grow(ask, err) < 0)
			return err->code;
		n = recv(ask->fd, ask->answer + ask->len, ask->cap - ask->len, 0);
		if (n > 0) {
			ask->len += (size_t)n;
			if (ask->answer[ask->len - 1] == '\n')
				return 0;
		} else if (n == 0 || errno == ECONNRESET) {
			return err_set(err, -ECONNRESET,
				       "callrouterd closed the connection without an answer: see "
				       "its log (journalctl -u callrouterd)");
		} else if (errno == EAGAIN) {
			if (ask_wait(ask, POLLIN, err) < 0)
				return err->code;
		} else if (errno != EINTR) {
			return err_set(err, -errno, "callrouterd's answer: %s", err_words(errno));
		}
	}
}

/* The members of a good answer; the sentence of a bad one. */
static json_t *ask_understand(const struct ask *ask, struct err *err)
{
	json_t *answer = json_loadb(ask->answer, ask->len, JSON_REJECT_DUPLICATES, NULL);
	const char *text = json_string_value(json_object_get(answer, "error"));
	const int code = (int)json_integer_value(json_object_get(answer, "code"));

	if (json_is_true(json_object_get(answer, "ok"))) {
		(void)json_object_del(answer, "ok");
		return answer;
	}
	/* -ECONNREFUSED means "no daemon" to our callers. */
	if (json_is_false(json_object_get(answer, "ok")) && text != NULL)
		(void)err_set(err, code < 0 && code != -ECONNREFUSED ? code : -EIO, "%s", text);
	else
		(void)err_set(err, -EPROTO,
			      "what answers at %s/%s is not a callrouterd of this version: restart "
			      "it, or use its own callrouterctl",
			      ask->run_dir, CONTROL_FILE);
	json_decref(answer);
	return NULL;
}

json_t *control_ask(const char *run_dir, json_t *request, int timeout_ms, struct err *err)
{
	struct ask ask = { .run_dir = run_dir,
			   .deadline_ns = clock_now_ns() + timeout_ms * CLOCK_MS,
			   .fd = -1 };
	char *text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
	json_t *answer = NULL;

	json_decref(request);
	if (text == NULL) {
		(void)err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	if (ask_connect(&ask, err) == 0 && ask_send(&ask, text, strlen(text), err) == 0 &&
	    ask_send(&ask, "\n", 1, err) == 0 && ask_receive(&ask, err) == 0)
		answer = ask_understand(&ask, err);
	if (ask.fd >= 0)
		(void)close(ask.fd);
	free(ask.answer);
	free(text);
	return answer;
}
