/* http_loop.h - libcurl's sockets and timer, for a host that watches one descriptor. */
#ifndef CR_COLLECTORS_HTTP_LOOP_H
#define CR_COLLECTORS_HTTP_LOOP_H

#include <stdint.h>

#include <curl/curl.h>

/** Lies still in memory from open to close. */
struct http_loop {
	CURLM *multi;
	int epoll_fd;
	int64_t timer_ns; /* when libcurl wants to be called; INT64_MAX: no wish */
};

/** CLOCK_MONOTONIC. [any] */
int64_t http_now_ns(void);

/** loop: zero but for epoll_fd, which is -1. Returns 0 or a negative errno; http_loop_close()
 * follows in both cases. */
int http_loop_open(struct http_loop *loop);
void http_loop_close(struct http_loop *loop);

/** Serve what has happened; never waits. */
void http_loop_serve_sockets(const struct http_loop *loop);
void http_loop_serve_timer(struct http_loop *loop);

#endif
