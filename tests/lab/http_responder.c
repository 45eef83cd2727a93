/*
 * http_responder.c - thousands of HTTP servers in one process with one listening socket: every
 * address of 127.0.0.0/8 answers every GET with the heap as Jolokia tells of it, and keeps the
 * connection.
 *
 *	http_responder --port P [--mute PERCENT] [--slow PERCENT] [--delay MS]
 *
 * Which targets are mute (they take connections and requests and say nothing) and which slow:
 * responder.h. "ready" on standard output when it listens; ends by a signal.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "responder.h"

#define EVENTS        256
#define REQUEST_BYTES 2048

struct connection {
	TAILQ_ENTRY(connection) late;
	int fd;
	in_addr_t address;
	int64_t due_ns; /* 0: it does not wait */
	size_t len;
	char request[REQUEST_BYTES];
};

static struct {
	struct responder_options options;
	int listener, epoll;
	TAILQ_HEAD(, connection) late; /* all are late by the same time */
} self = { .late = TAILQ_HEAD_INITIALIZER(self.late) };

static void hang_up(struct connection *connection)
{
	if (connection->due_ns != 0)
		TAILQ_REMOVE(&self.late, connection, late);
	close(connection->fd);
	free(connection);
}

static bool reply(const struct connection *connection)
{
	char body[512], page[1024];
	int len;

	len = snprintf(body, sizeof body,
		       "{\"request\":{\"mbean\":\"java.lang:type=Memory\",\"attribute\":"
		       "\"HeapMemoryUsage\",\"type\":\"read\"},\"value\":{\"init\":268435456,"
		       "\"committed\":%" PRIu64 ",\"max\":%" PRIu64 ",\"used\":%" PRIu64
		       "},\"timestamp\":1790000000,\"status\":200}",
		       RESPONDER_SIZE, RESPONDER_MAX,
		       responder_used(connection->address, responder_now_ns()));
	len = snprintf(page, sizeof page,
		       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		       "Content-Length: %d\r\n\r\n%s",
		       len, body);
	return send(connection->fd, page, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) == len;
}

/* A whole request is there. Returns false if the connection is to end. */
static bool take(struct connection *connection)
{
	const enum responder_manner manner = responder_manner(&self.options, connection->address);

	connection->len = 0;
	if (manner == RESPONDER_MUTE || connection->due_ns != 0)
		return true;
	if (manner == RESPONDER_GOOD)
		return reply(connection);
	connection->due_ns = responder_now_ns() + self.options.delay_ns;
	TAILQ_INSERT_TAIL(&self.late, connection, late);
	return true;
}

static void read_request(struct connection *connection)
{
	const ssize_t got = recv(connection->fd, connection->request + connection->len,
				 REQUEST_BYTES - 1 - connection->len, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		hang_up(connection);
		return;
	}
	connection->len += (size_t)got;
	connection->request[connection->len] = '\0';
	if (strstr(connection->request, "\r\n\r\n") != NULL) {
		if (!take(connection))
			hang_up(connection);
	} else if (connection->len == REQUEST_BYTES - 1) {
		hang_up(connection);
	}
}

static void take_connections(void)
{
	int fd;

	while ((fd = accept4(self.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *connection = calloc(1, sizeof *connection);
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };
		struct sockaddr_in here;
		socklen_t len = sizeof here;

		if (connection == NULL || getsockname(fd, (struct sockaddr *)&here, &len) < 0 ||
		    epoll_ctl(self.epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
			free(connection);
			close(fd);
			continue;
		}
		connection->fd = fd;
		connection->address = here.sin_addr.s_addr;
	}
}

static void reply_late(void)
{
	const int64_t now_ns = responder_now_ns();
	struct connection *connection;

	while ((connection = TAILQ_FIRST(&self.late)) != NULL && connection->due_ns <= now_ns) {
		TAILQ_REMOVE(&self.late, connection, late);
		connection->due_ns = 0;
		if (!reply(connection))
			hang_up(connection);
	}
}

static bool begin(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	self.listener = responder_socket(&self.options, SOCK_STREAM);
	self.epoll = epoll_create1(EPOLL_CLOEXEC);
	return self.listener >= 0 && self.epoll >= 0 && listen(self.listener, 4096) == 0 &&
	       epoll_ctl(self.epoll, EPOLL_CTL_ADD, self.listener, &event) == 0;
}

int main(int argc, char **argv)
{
	struct epoll_event event[EVENTS];

	if (!responder_options_read(&self.options, argc, argv))
		return 2;
	if (!begin())
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		const int n =
			epoll_wait(self.epoll, event, EVENTS, TAILQ_EMPTY(&self.late) ? -1 : 1);

		if (n < 0 && errno != EINTR)
			return 1;
		for (int i = 0; i < n; i++)
			if (event[i].data.ptr == NULL)
				take_connections();
			else
				read_request(event[i].data.ptr);
		reply_late();
	}
}
