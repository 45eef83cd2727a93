/* fake_http.c - one poll() loop over all connections, with raw sockets so that it can misbehave. */
#include "fake_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECTIONS = 512,
	HEAD_MAX = 8192,
	DRIP_MS = 5,
	PIECE = 1024, /* bytes that a piece has */
	REPEAT = 960, /* bytes that an endless answer repeats: a multiple of 2, 3, 5 */
	RULES = 16,
};

struct connection {
	int fd;
	enum fake_manner manner;
	char head[HEAD_MAX]; /* of the request that is coming in */
	size_t head_len;
	char *bytes; /* of the answer that is going out; NULL: none */
	size_t len, sent;
};

/* What is answered to requests that hold this text. */
struct rule {
	char *text, *bytes;
	size_t len;
};

struct fake_http {
	pthread_mutex_t lock; /* for what is below, up to connection[] */
	enum fake_manner manner;
	char *bytes;
	size_t len, requests, accepted, sent;
	char last[HEAD_MAX];
	struct rule rule[RULES];
	size_t n_rules;

	struct connection *connection[CONNECTIONS]; /* the thread's own */
	size_t n;
	int listener, stop[2];
	bool has_left; /* nobody listens any more */
	pthread_t thread;
	char url[64];
};

/*** Connections ***/

static void hang_up(struct fake_http *web, size_t i)
{
	struct connection *c = web->connection[i];

	close(c->fd);
	free(c->bytes);
	free(c);
	web->connection[i] = web->connection[--web->n];
}

static void welcome(struct fake_http *web)
{
	int fd = accept4(web->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct connection *c;

	if (fd < 0)
		return;
	c = web->n < CONNECTIONS ? calloc(1, sizeof *c) : NULL;
	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	web->connection[web->n++] = c;
	pthread_mutex_lock(&web->lock);
	web->accepted++;
	pthread_mutex_unlock(&web->lock);
}

/* A whole request is there: note it, and take the answer of this moment. */
static void begin_answer(struct fake_http *web, struct connection *c)
{
	const char *bytes;

	pthread_mutex_lock(&web->lock);
	web->requests++;
	memcpy(web->last, c->head, c->head_len + 1);
	c->manner = web->manner;
	if (c->manner == FAKE_ANSWER_AND_LEAVE) {
		web->has_left = true;
		(void)shutdown(web->listener, SHUT_RDWR);
	}
	bytes = web->bytes;
	c->len = web->len;
	c->sent = 0;
	for (size_t i = web->n_rules; i-- > 0;)
		if (strstr(c->head, web->rule[i].text)) {
			c->manner = FAKE_ANSWER;
			bytes = web->rule[i].bytes;
			c->len = web->rule[i].len;
		}
	if (c->manner != FAKE_SILENT && c->manner != FAKE_HANG_UP) {
		c->bytes = malloc(c->len + 1);
		if (c->bytes)
			memcpy(c->bytes, bytes, c->len);
	}
	pthread_mutex_unlock(&web->lock);
	c->head_len = 0;
}

/* Has all of it come, its body too? */
static bool is_whole(const struct connection *c)
{
	const char *end = strstr(c->head, "\r\n\r\n"), *length;

	if (!end)
		return false;
	length = strcasestr(c->head, "\r\nContent-Length: ");
	return !length || length > end ||
	       (size_t)(c->head + c->head_len - end - 4) >= strtoul(length + 18, NULL, 10);
}

/* false: the connection is over */
static bool receive(struct fake_http *web, struct connection *c)
{
	ssize_t n = recv(c->fd, c->head + c->head_len, HEAD_MAX - 1 - c->head_len, 0);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	c->head_len += (size_t)n;
	c->head[c->head_len] = '\0';
	if (!is_whole(c))
		return c->head_len < HEAD_MAX - 1;
	begin_answer(web, c);
	return c->manner != FAKE_HANG_UP;
}

/* false: the connection is over */
static bool answer(struct fake_http *web, struct connection *c)
{
	const size_t left = c->len - c->sent;
	size_t want = left;
	ssize_t n;

	if (c->manner == FAKE_DRIP && left > 0)
		want = 1;
	else if (c->manner == FAKE_PIECES && left > PIECE)
		want = PIECE;
	n = send(c->fd, c->bytes + c->sent, want, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->sent += (size_t)n;
	pthread_mutex_lock(&web->lock);
	web->sent += (size_t)n;
	pthread_mutex_unlock(&web->lock);
	if (c->sent < c->len)
		return true;
	if (c->manner == FAKE_ENDLESS) {
		c->sent = c->len - (c->len < REPEAT ? c->len : REPEAT);
		return true;
	}
	free(c->bytes);
	c->bytes = NULL;
	return c->manner != FAKE_ANSWER_AND_CLOSE && c->manner != FAKE_ANSWER_AND_LEAVE;
}

/*** The thread ***/

static int watch(struct fake_http *web, struct pollfd *fds)
{
	int timeout = -1;

	fds[0] = (struct pollfd){ .fd = web->stop[0], .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = web->has_left ? -1 : web->listener, .events = POLLIN };
	for (size_t i = 0; i < web->n; i++) {
		struct connection *c = web->connection[i];

		fds[i + 2] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
		if (c->bytes && (c->manner == FAKE_DRIP || c->manner == FAKE_PIECES))
			timeout = DRIP_MS;
		else if (c->bytes)
			fds[i + 2].events |= POLLOUT;
	}
	return timeout;
}

static void *serve(void *user)
{
	struct fake_http *web = user;
	struct pollfd fds[CONNECTIONS + 2];

	for (;;) {
		int timeout = watch(web, fds);
		size_t n = web->n;

		poll(fds, n + 2, timeout);
		if (fds[0].revents)
			return NULL;
		for (size_t i = n; i-- > 0;) { /* downward: hang_up() moves the last one here */
			struct connection *c = web->connection[i];
			bool goes_on = true;

			if (fds[i + 2].revents & (POLLIN | POLLHUP | POLLERR))
				goes_on = receive(web, c);
			if (goes_on && c->bytes)
				goes_on = answer(web, c);
			if (!goes_on)
				hang_up(web, i);
		}
		if (fds[1].revents)
			welcome(web);
	}
}

/*** For the test ***/

/* backlog < 0: bound only. */
static int listen_at(const char *address, unsigned port, int backlog, char *url, size_t len)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = { 0 };
	socklen_t size = sizeof at;
	const bool is_v6 = strchr(address, ':') != NULL;
	int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	at.any.sa_family = is_v6 ? AF_INET6 : AF_INET; /* ports are in the same place in both */
	at.v4.sin_port = htons((uint16_t)port);
	inet_pton(at.any.sa_family, address,
		  is_v6 ? (void *)&at.v6.sin6_addr : (void *)&at.v4.sin_addr);
	if (fd < 0 || bind(fd, &at.any, is_v6 ? sizeof at.v6 : sizeof at.v4) < 0 ||
	    (backlog >= 0 && listen(fd, backlog) < 0) || getsockname(fd, &at.any, &size) < 0) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	(void)snprintf(url, len, is_v6 ? "http://[%s]:%u" : "http://%s:%u", address,
		       (unsigned)ntohs(at.v4.sin_port));
	return fd;
}

struct fake_http *fake_http_new_at(const char *address, unsigned port)
{
	struct fake_http *web = calloc(1, sizeof *web);

	if (!web)
		return NULL;
	pthread_mutex_init(&web->lock, NULL);
	web->manner = FAKE_SILENT;
	web->listener = listen_at(address, port, CONNECTIONS, web->url, sizeof web->url);
	if (web->listener < 0)
		goto free_web;
	if (pipe2(web->stop, O_CLOEXEC) < 0)
		goto close_listener;
	if (pthread_create(&web->thread, NULL, serve, web) != 0)
		goto close_stop;
	return web;

close_stop:
	close(web->stop[0]);
	close(web->stop[1]);
close_listener:
	close(web->listener);
free_web:
	free(web);
	return NULL;
}

struct fake_http *fake_http_new(void)
{
	return fake_http_new_at("127.0.0.1", 0);
}

void fake_http_free(struct fake_http *web)
{
	close(web->stop[1]);
	pthread_join(web->thread, NULL);
	while (web->n)
		hang_up(web, 0);
	for (size_t i = 0; i < web->n_rules; i++) {
		free(web->rule[i].text);
		free(web->rule[i].bytes);
	}
	close(web->stop[0]);
	close(web->listener);
	pthread_mutex_destroy(&web->lock);
	free(web->bytes);
	free(web);
}

unsigned fake_http_port(const struct fake_http *web)
{
	return (unsigned)strtoul(strrchr(web->url, ':') + 1, NULL, 10);
}

const char *fake_http_url(const struct fake_http *web)
{
	return web->url;
}

void fake_http_set(struct fake_http *web, enum fake_manner manner, const void *bytes, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		abort();
	if (len)
		memcpy(copy, bytes, len);
	pthread_mutex_lock(&web->lock);
	free(web->bytes);
	web->bytes = copy;
	web->len = len;
	web->manner = manner;
	pthread_mutex_unlock(&web->lock);
}

void fake_http_page_bytes(struct fake_http *web, const char *status, const char *headers,
			  const void *body, size_t len)
{
	char *page = NULL;
	int head = asprintf(&page, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status, headers,
			    len);
	char *whole = head < 0 ? NULL : realloc(page, (size_t)head + len + 1);

	if (!whole)
		abort();
	memcpy(whole + head, body, len);
	fake_http_set(web, FAKE_ANSWER, whole, (size_t)head + len);
	free(whole);
}

void fake_http_page(struct fake_http *web, const char *status, const char *headers,
		    const char *body)
{
	fake_http_page_bytes(web, status, headers, body, strlen(body));
}

void fake_http_when(struct fake_http *web, const char *text, const char *status,
		    const char *headers, const char *body)
{
	struct rule rule = { .text = strdup(text) };
	int len = asprintf(&rule.bytes, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status,
			   headers, strlen(body), body);

	if (!rule.text || len < 0)
		abort();
	rule.len = (size_t)len;
	pthread_mutex_lock(&web->lock);
	if (web->n_rules == RULES)
		abort();
	web->rule[web->n_rules++] = rule;
	pthread_mutex_unlock(&web->lock);
}

static size_t get(struct fake_http *web, const size_t *number)
{
	size_t n;

	pthread_mutex_lock(&web->lock);
	n = *number;
	pthread_mutex_unlock(&web->lock);
	return n;
}

size_t fake_http_requests(struct fake_http *web)
{
	return get(web, &web->requests);
}

size_t fake_http_connections(struct fake_http *web)
{
	return get(web, &web->accepted);
}

size_t fake_http_sent(struct fake_http *web)
{
	return get(web, &web->sent);
}

char *fake_http_request(struct fake_http *web, char *buf, size_t len)
{
	pthread_mutex_lock(&web->lock);
	(void)snprintf(buf, len, "%s", web->last);
	pthread_mutex_unlock(&web->lock);
	return buf;
}

/*** Where nobody answers ***/

/* Bound, so that nobody else gets the port, but not listening. */
int fake_refusal_open(char *url, size_t len)
{
	return listen_at("127.0.0.1", 0, -1, url, len);
}

void fake_refusal_close(int fd)
{
	close(fd);
}

static int try_connect(const struct fake_blackhole *hole, int *fd)
{
	struct sockaddr_in at;
	socklen_t size = sizeof at;
	struct pollfd done;

	if (getsockname(hole->listener, (struct sockaddr *)&at, &size) < 0)
		return -1;
	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return -1;
	if (connect(*fd, (struct sockaddr *)&at, sizeof at) < 0 && errno != EINPROGRESS)
		return -1;
	done = (struct pollfd){ .fd = *fd, .events = POLLOUT };
	return poll(&done, 1, 100); /* 0: still connecting */
}

int fake_blackhole_open_at(struct fake_blackhole *hole, const char *address, unsigned port)
{
	hole->n = 0;
	hole->listener = listen_at(address, port, 0, hole->url, sizeof hole->url);
	while (hole->listener >= 0 && hole->n < sizeof hole->filler / sizeof *hole->filler) {
		int connected = try_connect(hole, &hole->filler[hole->n]);

		if (connected < 0)
			break;
		hole->n++;
		if (connected == 0)
			return 0;
	}
	return -1;
}

int fake_blackhole_open(struct fake_blackhole *hole)
{
	return fake_blackhole_open_at(hole, "127.0.0.1", 0);
}

void fake_blackhole_close(struct fake_blackhole *hole)
{
	while (hole->n)
		close(hole->filler[--hole->n]);
	close(hole->listener);
}
