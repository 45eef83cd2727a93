/* check_run.c - one run of a check: connect, ask, read the head of the answer. Nothing waits. */
#include "check_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"

#define LATE_NS (250 * CLOCK_MS) /* of a deadline: nobody looked at the socket */

/*** The answer ***/

/* "HTTP/1.1 200 OK" */
static int parse_status(const char *line, uint32_t *status)
{
	static const char begin[] = "HTTP/1.";
	const size_t n = sizeof begin - 1;

	if (strncmp(line, begin, n) != 0 || line[n] < '0' || line[n] > '9' || line[n + 1] != ' ')
		return -EBADMSG;
	line += n + 2;
	*status = 0;
	for (size_t i = 0; i < 3; i++) {
		if (line[i] < '0' || line[i] > '9')
			return -EBADMSG;
		*status = 10 * *status + (uint32_t)(line[i] - '0');
	}
	return (line[3] == ' ' || line[3] == '\0') && *status >= 100 ? 0 : -EBADMSG;
}

/* A line is whole. Returns 1: it was the last that matters. */
static int end_line(struct check_answer *answer)
{
	size_t n = answer->n_line < sizeof answer->line ? answer->n_line : sizeof answer->line - 1;

	if (n > 0 && answer->line[n - 1] == '\r')
		n--;
	answer->line[n] = '\0';
	answer->n_line = 0;
	if (answer->status == 0)
		return parse_status(answer->line, &answer->status);
	if (n > 0)
		return 0;
	if (answer->status >= 200)
		return 1;
	answer->status = 0; /* 1xx: the real answer follows */
	return 0;
}

int check_answer_feed(struct check_answer *answer, const char *bytes, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (++answer->n > CHECK_HEADER_MAX)
			return answer->status >= 200 ? 1 : -EBADMSG;
		if (bytes[i] == '\n') {
			r = end_line(answer);
			continue;
		}
		if (answer->n_line < sizeof answer->line - 1)
			answer->line[answer->n_line] = bytes[i];
		answer->n_line++;
	}
	return r;
}

static bool is_good_status(const struct check *check, uint32_t status)
{
	for (size_t i = 0; i < check->n_status; i++)
		if (check->status[i] == status)
			return true;
	return check->n_status == 0 && status >= 200 && status < 400;
}

/*** The run ***/

void check_cancel(struct check *check)
{
	if (check->io != NULL)
		event_free(check->io);
	check->io = NULL;
	if (check->fd >= 0)
		close(check->fd);
	check->fd = -1;
}

static void end_run(struct check *check, enum check_end end, const char *error)
{
	check_cancel(check);
	check_over(check, end, error);
}

static void end_with_errno(struct check *check, const char *what, int code)
{
	char text[160];

	(void)snprintf(text, sizeof text, "%s: %s", what, err_words(code));
	end_run(check, CHECK_BAD, text);
}

/* Trouble of this machine, not of the server. */
static bool is_own_trouble(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM ||
	       code == EADDRNOTAVAIL || code == EAGAIN;
}

static void judge(struct check *check)
{
	char text[64];

	if (is_good_status(check, check->answer.status)) {
		end_run(check, CHECK_GOOD, "");
		return;
	}
	(void)snprintf(text, sizeof text, "it answered %u", check->answer.status);
	end_run(check, CHECK_BAD, text);
}

static void read_answer(struct check *check)
{
	char bytes[4096];
	const ssize_t n = recv(check->fd, bytes, sizeof bytes, 0);
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		end_with_errno(check, "answer", errno);
		return;
	}
	if (n == 0) {
		end_run(check, CHECK_BAD,
			check->answer.n == 0 ? "it closed the connection without an answer"
					     : "it closed the connection within its answer's head");
		return;
	}
	r = check_answer_feed(&check->answer, bytes, (size_t)n);
	if (r < 0)
		end_run(check, CHECK_BAD, "its answer is not HTTP");
	else if (r > 0)
		judge(check);
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_answer(arg);
}

static void wait_for(struct check *check, short what, event_callback_fn heard)
{
	if (check->io != NULL)
		event_free(check->io);
	check->io = event_new(check->checks->base, check->fd, (short)(what | (short)EV_PERSIST),
			      heard, check);
	if (check->io == NULL || event_add(check->io, NULL) < 0)
		end_run(check, CHECK_NOTHING, "no memory");
}

static void send_request(struct check *check)
{
	const char *rest = check->request + check->n_sent;
	const ssize_t n = send(check->fd, rest, strlen(rest), MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		end_with_errno(check, "request", errno);
		return;
	}
	check->n_sent += (size_t)n;
	if (check->request[check->n_sent] == '\0')
		wait_for(check, EV_READ, on_answer);
}

static void on_writable(evutil_socket_t fd, short what, void *arg);

/* Connect to the next of the host's addresses. Returns 0 if that is under way, or errno. */
static int connect_next(struct check *check)
{
	union resolve_address *to = &check->address.address[check->at++];
	int64_t port = 0;

	(void)text_int(check->port, &port);
	resolve_set_port(to, (uint16_t)port);
	check->fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (check->fd < 0)
		return errno;
	/* one that is there at once is writable at once */
	if (connect(check->fd, &to->any, resolve_len(to)) == 0 || errno == EINPROGRESS)
		return 0;
	return errno;
}

/* Address by address, until one connects; last: what was wrong with the one before. */
static void connect_some(struct check *check, int last)
{
	int code = last;

	while (check->at < check->address.n) {
		check_cancel(check);
		code = connect_next(check);
		if (code == 0) {
			wait_for(check, EV_WRITE, on_writable);
			return;
		}
		if (is_own_trouble(code))
			break;
	}
	if (is_own_trouble(code))
		end_run(check, CHECK_NOTHING, err_words(code));
	else
		end_with_errno(check, "connect", code);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct check *check = arg;
	socklen_t len = sizeof(int);
	int code = 0;

	(void)what;
	if (check->n_sent == 0) {
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len);
		if (code != 0) {
			connect_some(check, code);
			return;
		}
	}
	if (check->request == NULL)
		end_run(check, CHECK_GOOD, "");
	else
		send_request(check);
}

void check_run(struct check *check)
{
	check->at = check->n_sent = 0;
	check->answer = (struct check_answer){ 0 };
	connect_some(check, ECONNREFUSED);
}

void check_too_late(struct check *check)
{
	const bool is_asked = check->request != NULL && check->n_sent > 0;

	/* The daemon was stopped, or busy: an answer may wait to be read. */
	if (clock_now_ns() - check->base_ns > check->timeout_ns + LATE_NS) {
		end_run(check, CHECK_NOTHING, "callrouterd was busy");
		return;
	}
	end_run(check, CHECK_BAD, is_asked ? "no answer in time" : "no connection in time");
}
