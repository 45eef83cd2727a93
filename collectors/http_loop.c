/* http_loop.c - libcurl's sockets in one epoll descriptor, and its timers as times. */
#include "http_loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

/*** Sockets ***/

/* What is known of a descriptor, which is one; NULL without memory. */
static struct http_socket *socket_at(struct http_loop *loop, int fd)
{
	const size_t at = (size_t)fd;
	struct http_socket *grown;

	if (at < loop->n_sockets)
		return &loop->socket[at];
	grown = reallocarray(loop->socket, 2 * at + 1, sizeof *grown);
	if (!grown)
		return NULL;
	memset(&grown[loop->n_sockets], 0, (2 * at + 1 - loop->n_sockets) * sizeof *grown);
	loop->socket = grown;
	loop->n_sockets = 2 * at + 1;
	return &loop->socket[at];
}

/* Have epoll watch a socket for this, unless it does. Returns whether it does. */
static bool watch(const struct http_shard *shard, struct http_socket *socket, int what)
{
	const int fd = (int)(socket - shard->loop->socket);
	int how = socket->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	struct epoll_event event = {
		.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
			  (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0),
		.data.u64 = (uint64_t)shard->index << 32 | (uint32_t)fd,
	};

	if (what == socket->watched)
		return true;
	if (what == 0)
		how = EPOLL_CTL_DEL;
	socket->watched = 0;
	if (epoll_ctl(shard->loop->epoll_fd, how, fd, &event) < 0)
		return false;
	socket->watched = (uint8_t)what;
	return true;
}

/*
 * Something came on a kept connection that nobody asked for, or its end. libcurl 7.88 would take it
 * for the answer to the next request, and that one's for the one after: old values would pass for
 * new ones. So nothing but the end is left for it to see, and it opens a new connection.
 */
static void end_idle(const struct http_shard *shard, int fd)
{
	char bytes[4096];
	ssize_t n = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0) /* another socket by now */
		return;
	(void)watch(shard, &shard->loop->socket[fd], 0);
	if (n == 0)
		return;
	(void)shutdown(fd, SHUT_RDWR);
	for (int i = 0; i < DRAIN_ROUNDS && n > 0; i++)
		n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
}

/*** What libcurl asks for ***/

static int on_new(void *user, curl_socket_t fd, curlsocktype purpose)
{
	struct http_socket *socket = socket_at(user, fd);

	(void)purpose;
	if (!socket)
		return CURL_SOCKOPT_ERROR;
	*socket = (struct http_socket){ .is_own = true };
	return CURL_SOCKOPT_OK;
}

static int on_close(void *user, curl_socket_t fd)
{
	const struct http_loop *loop = user;

	/* closing takes it out of epoll; without memory it is not in the table */
	if ((size_t)fd < loop->n_sockets)
		loop->socket[fd] = (struct http_socket){ 0 };
	return close(fd);
}

/*
 * A connection stays watched for what is to be read, from request to request: most requests need no
 * call at all. Other sockets would be those by which libcurl's resolver wakes us, which has nothing
 * to do here: it is given addresses.
 * Where a socket cannot be watched, its transfer ends at its deadline. Were libcurl told, it would
 * end all transfers of the shard.
 */
static int on_socket_change(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
	const struct http_shard *shard = user;
	struct http_socket *socket = socket_at(shard->loop, fd);

	(void)easy, (void)known;
	if (!socket)
		return 0;
	socket->is_idle = false;
	if (what != CURL_POLL_REMOVE)
		(void)watch(shard, socket, what);
	else if (!socket->is_own)
		(void)watch(shard, socket, 0);
	else if (socket->watched != 0)
		socket->is_idle = watch(shard, socket, CURL_POLL_IN);
	return 0;
}

static int on_timer_change(CURLM *multi, long ms, void *user)
{
	struct http_shard *shard = user;

	(void)multi;
	shard->timer_ns = ms < 0 ? INT64_MAX : http_now_ns() + (int64_t)ms * 1000000;
	return 0;
}

/*** Serving it ***/

static void serve(struct http_shard *shard, int fd, uint32_t events)
{
	const int what = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
			 (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			 (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
	int unused;

	shard->is_stirred = true;
	curl_multi_socket_action(shard->multi, fd, what, &unused);
}

void http_loop_serve_sockets(struct http_loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, 0);

	/* before libcurl is called: it may begin to use one of them */
	for (int i = 0; i < n; i++) {
		const uint64_t data = events[i].data.u64;

		if (data == HTTP_LOOP_NAMES) {
			loop->has_names = true;
			events[i].events = 0;
			continue;
		}
		if (!loop->socket[(uint32_t)data].is_idle)
			continue;
		end_idle(loop->shard[data >> 32], (int)(uint32_t)data);
		events[i].events = 0;
	}
	for (int i = 0; i < n; i++) {
		const uint64_t data = events[i].data.u64;

		if (events[i].events != 0)
			serve(loop->shard[data >> 32], (int)(uint32_t)data, events[i].events);
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
	return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_new) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, shard->loop) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close) == CURLE_OK &&
	       curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, shard->loop) == CURLE_OK &&
	       curl_multi_add_handle(shard->multi, easy) == CURLM_OK;
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
	free(loop->socket);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
}
