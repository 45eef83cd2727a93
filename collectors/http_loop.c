/* http_loop.c - libcurl's sockets in one epoll descriptor, and its timer as a time. */
#include "http_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
	EVENTS_MAX = 256, /* sockets served per visit; the others keep the descriptor readable */
	CONNECTIONS_MAX = 10000, /* kept open between polls */
};

int64_t http_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int on_socket_change(CURL *easy, curl_socket_t fd, int what, void *user, void *unused)
{
	const struct http_loop *loop = user;
	struct epoll_event event = { .data.fd = fd };

	(void)easy, (void)unused;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, &event);
		return 0;
	}
	event.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
		       (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
		return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event);
	return 0;
}

static int on_timer_change(CURLM *multi, long ms, void *user)
{
	struct http_loop *loop = user;

	(void)multi;
	loop->timer_ns = ms < 0 ? INT64_MAX : http_now_ns() + (int64_t)ms * 1000000;
	return 0;
}

void http_loop_serve_sockets(const struct http_loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, 0), unused;

	for (int i = 0; i < n; i++) {
		uint32_t e = events[i].events;
		int what = (e & EPOLLIN ? CURL_CSELECT_IN : 0) |
			   (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			   (e & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

		curl_multi_socket_action(loop->multi, events[i].data.fd, what, &unused);
	}
}

void http_loop_serve_timer(struct http_loop *loop)
{
	int unused;

	if (http_now_ns() < loop->timer_ns)
		return;
	loop->timer_ns = INT64_MAX; /* before the call: it sets the next one */
	curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &unused);
}

int http_loop_open(struct http_loop *loop)
{
	loop->timer_ns = INT64_MAX;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return -errno;
	loop->multi = curl_multi_init();
	if (!loop->multi)
		return -ENOMEM;
	curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket_change);
	curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
	curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer_change);
	curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
	curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_MAX);
	return 0;
}

void http_loop_close(struct http_loop *loop)
{
	curl_multi_cleanup(loop->multi);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
}
