/*
 * http_loop.h - libcurl's sockets and timers, for a host that watches one descriptor.
 *
 * libcurl looks at each connection that it keeps whenever a transfer ends, and finds a host's
 * connections in a table of 97 lists. With thousands of servers that costs more than the transfer,
 * so targets are divided among multi handles of some hundred each.
 */
#ifndef CR_COLLECTORS_HTTP_LOOP_H
#define CR_COLLECTORS_HTTP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <curl/curl.h>

#define HTTP_SHARD_TARGETS 128
#define HTTP_LOOP_NAMES    UINT64_MAX /* data of the descriptor that tells of names */

/** A multi handle with its share of the targets. */
struct http_shard {
	struct http_loop *loop;
	CURLM *multi;
	size_t n_targets;
	int64_t timer_ns; /* when libcurl wants to be called; INT64_MAX: no wish */
	uint32_t index;
	bool is_stirred; /* transfers may have ended since http_loop_ended() */
};

/** What is known of a descriptor; zero: nothing. */
struct http_socket {
	uint8_t watched; /* CURL_POLL_IN, CURL_POLL_OUT, or both; 0: epoll does not have it */
	bool is_own;     /* a connection: it is told when it is closed */
	bool is_idle;    /* a connection that libcurl keeps, and waits for nothing */
};

/** Lies still in memory from open to close. */
struct http_loop {
	struct http_shard **shard;
	size_t n;
	struct http_socket *socket; /* by descriptor */
	size_t n_sockets;
	int epoll_fd;
	size_t kept_max;   /* connections between two polls, of all shards */
	int64_t shrunk_ns; /* when that was halved */
	bool has_names;    /* names have been looked up; cleared by who takes them */
};

/** CLOCK_MONOTONIC. [any] */
int64_t http_now_ns(void);

/** loop: zero but for epoll_fd, which is -1. Returns 0 or a negative errno; http_loop_close()
 * follows in both cases. [own] */
int http_loop_open(struct http_loop *loop);
void http_loop_close(struct http_loop *loop);

/** Where a target's transfers run from now on, until it leaves; NULL without memory. [own] */
struct http_shard *http_loop_join(struct http_loop *loop);
void http_loop_leave(struct http_shard *shard);

/** Files have run out: keep half as many connections from now on, unless that was decided a moment
 * ago. [own] */
void http_loop_shrink(struct http_loop *loop, int64_t now_ns);

/** Start a transfer; take it out again, ended or not. [own] */
bool http_loop_add(struct http_shard *shard, CURL *easy);
void http_loop_remove(struct http_shard *shard, CURL *easy);

/** Serve what has happened; never waits. [own] */
void http_loop_serve_sockets(struct http_loop *loop);
void http_loop_serve_timers(struct http_loop *loop);

/** A transfer that has ended, and how; NULL: no further one. [own] */
CURL *http_loop_ended(struct http_loop *loop, CURLcode *code);

/** When the earliest timer is due; INT64_MAX: none. [own] */
int64_t http_loop_timer_ns(const struct http_loop *loop);

#endif
