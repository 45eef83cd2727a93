/* http_loop.c - libcurl's sockets in one epoll descriptor, and its timers as times. */
#include "http_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "files.h"

enum {
	DRAIN_ROUNDS = 64,
	EVENTS_MAX = 256, /* sockets served per visit; the others keep the descriptor readable */
	CONNECTIONS_MAX = 2 * HTTP_SHARD_TARGETS, /* kept open between polls */
	HOST_CONNECTIONS_MAX = 64, /* where many targets are at one host, such as a Prometheus */
};

#define SHRINK_NS INT64_C(2000000000) /* until then the surplus has been closed */

int64_t http_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*** Connections between two requests ***/

/* In an event's data: libcurl keeps the socket, and waits for nothing. */
#define IDLE (UINT64_C(1) << 63)

/*
 * Something came on a kept connection that nobody asked for, or its end. libcurl 7.88 would take it
 * for the answer to the next request, and that one's for the one after: old values would pass for
 * new ones. So nothing but the end is left for it to see, and it opens a new connection.
 */
static void end_idle(int epoll_fd, int fd)
{
	char bytes[4096];
	ssize_t n = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0) /* another socket by now */
		return;
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	if (n == 0)
		return;
	(void)shutdown(fd, SHUT_RDWR);
	for (int i = 0; i < DRAIN_ROUNDS && n > 0; i++)
		n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
}

/*** What libcurl asks for ***/

static int on_socket_change(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
	struct http_shard *shard = user;
	const int epoll_fd = shard->loop->epoll_fd;
	struct epoll_event event = { .data.u64 = (uint64_t)shard->index << 32 | (uint32_t)fd };

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		/* closing it takes it out */
		event.data.u64 |= IDLE;
		event.events = EPOLLIN;
		epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event);
		return 0;
	}
	event.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
		       (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
	if (known)
		return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event);
	curl_multi_assign(shard->multi, fd, shard);
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return errno == EEXIST ? epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) : -1;
}

static int on_timer_change(CURLM *multi, long ms, void *user)
{
	struct http_shard *shard = user;

	(void)multi;
	shard->timer_ns = ms < 0 ? INT64_MAX : http_now_ns() + (int64_t)ms * 1000000;
	return 0;
}

/*** Serving it ***/

void http_loop_serve_sockets(struct http_loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, 0), unused;

	for (int i = 0; i < n; i++) {
		const uint64_t data = events[i].data.u64;
		struct http_shard *shard;
		uint32_t e = events[i].events;
		int what = (e & EPOLLIN ? CURL_CSELECT_IN : 0) |
			   (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			   (e & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

		if (data == HTTP_LOOP_NAMES) {
			loop->has_names = true;
			continue;
		}
		if (data & IDLE) {
			end_idle(loop->epoll_fd, (int)(uint32_t)data);
			continue;
		}
		shard = loop->shard[data >> 32];
		shard->is_stirred = true;
		curl_multi_socket_action(shard->multi, (curl_socket_t)(uint32_t)data, what,
					 &unused);
	}
}

void http_loop_serve_timers(struct http_loop *loop)
{
	const int64_t now = http_now_ns();
	int unused;

	for (size_t i = 0; i < loop->n; i++) {
		struct http_shard *shard = loop->shard[i];

		if (now < shard->timer_ns)
			continue;
		shard->timer_ns = INT64_MAX; /* before the call: it sets the next one */
		shard->is_stirred = true;
		curl_multi_socket_action(shard->multi, CURL_SOCKET_TIMEOUT, 0, &unused);
	}
}

CURL *http_loop_ended(struct http_loop *loop, CURLcode *code)
{
	const CURLMsg *message;
	int unused;

	for (size_t i = 0; i < loop->n; i++) {
		if (!loop->shard[i]->is_stirred)
			continue;
		while ((message = curl_multi_info_read(loop->shard[i]->multi, &unused))) {
			if (message->msg != CURLMSG_DONE)
				continue;
			*code = message->data.result;
			return message->easy_handle;
		}
		loop->shard[i]->is_stirred = false;
	}
	return NULL;
}

int64_t http_loop_timer_ns(const struct http_loop *loop)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < loop->n; i++)
		if (loop->shard[i]->timer_ns < first)
			first = loop->shard[i]->timer_ns;
	return first;
}

/*** Shards ***/

/* Each gets its share of the connections that are kept. */
static void share_connections(const struct http_loop *loop)
{
	size_t each = loop->kept_max / loop->n;

	if (each > CONNECTIONS_MAX)
		each = CONNECTIONS_MAX;
	for (size_t i = 0; i < loop->n; i++)
		curl_multi_setopt(loop->shard[i]->multi, CURLMOPT_MAXCONNECTS,
				  each > 0 ? (long)each : 1L);
}

void http_loop_shrink(struct http_loop *loop, int64_t now_ns)
{
	if (loop->shrunk_ns != 0 && now_ns - loop->shrunk_ns < SHRINK_NS)
		return;
	loop->shrunk_ns = now_ns;
	loop->kept_max /= 2;
	share_connections(loop);
}

static struct http_shard *shard_new(struct http_loop *loop)
{
	struct http_shard **grown =
		reallocarray(loop->shard, loop->n + 1, sizeof(struct http_shard *));
	struct http_shard *shard = calloc(1, sizeof *shard);

	if (grown)
		loop->shard = grown;
	if (grown && shard)
		shard->multi = curl_multi_init();
	if (!grown || !shard || !shard->multi) {
		free(shard);
		return NULL;
	}
	shard->loop = loop;
	shard->timer_ns = INT64_MAX;
	shard->index = (uint32_t)loop->n;
	curl_multi_setopt(shard->multi, CURLMOPT_SOCKETFUNCTION, on_socket_change);
	curl_multi_setopt(shard->multi, CURLMOPT_SOCKETDATA, shard);
	curl_multi_setopt(shard->multi, CURLMOPT_TIMERFUNCTION, on_timer_change);
	curl_multi_setopt(shard->multi, CURLMOPT_TIMERDATA, shard);
	curl_multi_setopt(shard->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)HOST_CONNECTIONS_MAX);
	loop->shard[loop->n++] = shard;
	share_connections(loop);
	return shard;
}

struct http_shard *http_loop_join(struct http_loop *loop)
{
	struct http_shard *shard = NULL;

	for (size_t i = 0; i < loop->n && !shard; i++)
		if (loop->shard[i]->n_targets < HTTP_SHARD_TARGETS)
			shard = loop->shard[i];
	if (!shard)
		shard = shard_new(loop);
	if (shard)
		shard->n_targets++;
	return shard;
}

void http_loop_leave(struct http_shard *shard)
{
	shard->n_targets--;
}

bool http_loop_add(struct http_shard *shard, CURL *easy)
{
	shard->is_stirred = true;
	return curl_multi_add_handle(shard->multi, easy) == CURLM_OK;
}

void http_loop_remove(struct http_shard *shard, CURL *easy)
{
	curl_multi_remove_handle(shard->multi, easy);
}

int http_loop_open(struct http_loop *loop)
{
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return -errno;
	loop->kept_max = files_limit() / 4 * 3;
	return shard_new(loop) ? 0 : -ENOMEM;
}

void http_loop_close(struct http_loop *loop)
{
	for (size_t i = 0; i < loop->n; i++) {
		curl_multi_cleanup(loop->shard[i]->multi);
		free(loop->shard[i]);
	}
	free(loop->shard);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
}
