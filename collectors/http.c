/*
 * http.c - the collector "http": polls pages over HTTP and HTTPS with libcurl's multi interface,
 * whose sockets are watched by one epoll descriptor.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "http_transfer.h"

enum {
	EVENTS_MAX = 256, /* sockets served per visit; the others keep the descriptor readable */
	CONNECTIONS_MAX = 10000, /* kept open between polls */
};

TAILQ_HEAD(polls, poll);

/* A target's memory from poll to poll: target->user. In one of its source's lists. */
struct poll {
	TAILQ_ENTRY(poll) entry;
	struct polls *list;
	struct source *source; /* NULL: closed before its targets were forgotten */
	struct cr_target *target;
	struct http_transfer transfer;
	int64_t timeout_ns, deadline_ns; /* as the target came */
	bool is_slow;                    /* the last poll that was started ran into its deadline */
	bool is_missed;                  /* the last poll was never started */
};

/* One source of the configuration. */
struct source {
	struct http_settings settings;
	int metric[HTTP_METRICS_MAX]; /* the host's numbers; < 0: the host has no use for it */
	CURLM *multi;
	int epoll_fd;
	int64_t timer_ns;    /* when libcurl wants to be called; INT64_MAX: no wish */
	int64_t deadline_ns; /* no poll has to end before; INT64_MAX: none is under way */
	size_t n_running, n_running_slow;
	struct polls idle, waiting, waiting_slow, running;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void poll_move(struct poll *poll, struct polls *list)
{
	TAILQ_REMOVE(poll->list, poll, entry);
	TAILQ_INSERT_TAIL(list, poll, entry);
	poll->list = list;
}

/*** libcurl's sockets and timer ***/

static int on_socket_change(CURL *easy, curl_socket_t fd, int what, void *user, void *unused)
{
	const struct source *source = user;
	struct epoll_event event = { .data.fd = fd };

	(void)easy, (void)unused;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(source->epoll_fd, EPOLL_CTL_DEL, fd, &event);
		return 0;
	}
	event.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
		       (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
	if (epoll_ctl(source->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
		return epoll_ctl(source->epoll_fd, EPOLL_CTL_ADD, fd, &event);
	return 0;
}

static int on_timer_change(CURLM *multi, long ms, void *user)
{
	struct source *source = user;

	(void)multi;
	source->timer_ns = ms < 0 ? INT64_MAX : now_ns() + (int64_t)ms * 1000000;
	return 0;
}

static void serve_sockets(struct source *source)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(source->epoll_fd, events, EVENTS_MAX, 0), unused;

	for (int i = 0; i < n; i++) {
		uint32_t e = events[i].events;
		int what = (e & EPOLLIN ? CURL_CSELECT_IN : 0) |
			   (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			   (e & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

		curl_multi_socket_action(source->multi, events[i].data.fd, what, &unused);
	}
}

static void serve_timer(struct source *source)
{
	int unused;

	if (now_ns() < source->timer_ns)
		return;
	source->timer_ns = INT64_MAX; /* before the call: it sets the next one */
	curl_multi_socket_action(source->multi, CURL_SOCKET_TIMEOUT, 0, &unused);
}

/*** Polls ***/

static void poll_stop(struct poll *poll)
{
	struct source *source = poll->source;

	if (poll->list == &source->running) {
		curl_multi_remove_handle(source->multi, poll->transfer.easy);
		source->n_running--;
		source->n_running_slow -= poll->is_slow;
	}
	poll_move(poll, &source->idle);
}

static void poll_fail(struct poll *poll, const struct cr_round *round, enum cr_why why,
		      const char *text)
{
	poll_stop(poll);
	if (!poll->is_missed)
		poll->is_slow = why == CR_TIMEOUT;
	round->fail(round, poll->target, why, text);
}

/* Its transfer is over, with this result. */
static void poll_finish(struct poll *poll, const struct cr_round *round, CURLcode code)
{
	const struct source *source = poll->source;
	struct http_reading reading;

	if (http_transfer_finish(&poll->transfer, code, &reading) < 0) {
		poll_fail(poll, round, reading.why, reading.text);
		return;
	}
	poll_stop(poll);
	poll->is_slow = false;
	for (size_t i = 0; i < HTTP_METRICS_MAX; i++)
		if (source->metric[i] >= 0 && !isnan(reading.value[i]))
			round->put(round, poll->target, NULL, source->metric[i], reading.value[i],
				   0);
	round->done(round, poll->target);
}

static void poll_start(struct poll *poll, const struct cr_round *round)
{
	struct source *source = poll->source;
	struct http_reading reading;

	if (http_transfer_prepare(&poll->transfer, poll->target->endpoint, poll->timeout_ns, poll,
				  &reading) < 0) {
		poll_fail(poll, round, reading.why, reading.text);
		return;
	}
	if (curl_multi_add_handle(source->multi, poll->transfer.easy) != CURLM_OK) {
		poll_fail(poll, round, CR_CONNECT, "libcurl does not take one more transfer");
		return;
	}
	poll_move(poll, &source->running);
	source->n_running++;
	source->n_running_slow += poll->is_slow;
}

static void poll_expire(struct poll *poll, const struct cr_round *round)
{
	const struct source *source = poll->source;
	char text[128];

	if (poll->list == &source->running) {
		poll_finish(poll, round, CURLE_OPERATION_TIMEDOUT);
		return;
	}
	(void)snprintf(text, sizeof text,
		       "not started in time: all places were taken (max_inflight is %zu)",
		       source->settings.max_inflight);
	poll->is_missed = true;
	poll_fail(poll, round, CR_TIMEOUT, text);
}

static void poll_free(struct poll *poll)
{
	if (poll->source) {
		poll_stop(poll);
		TAILQ_REMOVE(poll->list, poll, entry);
	}
	http_transfer_fini(&poll->transfer);
	free(poll);
}

static struct poll *poll_new(struct source *source, struct cr_target *target)
{
	struct poll *poll = calloc(1, sizeof *poll);

	if (!poll)
		return NULL;
	poll->source = source;
	poll->target = target;
	http_transfer_init(&poll->transfer, &source->settings);
	poll->list = &source->idle;
	TAILQ_INSERT_TAIL(&source->idle, poll, entry);
	return poll;
}

/*** A visit of the host ***/

static void take_target(struct source *source, const struct cr_round *round,
			struct cr_target *target)
{
	struct poll *poll = target->user;

	if (target->is_shared) {
		round->fail(round, target, CR_VALUE,
			    "a page of this profile is about one server: put ${host} into target");
		return;
	}
	if (!poll)
		target->user = poll = poll_new(source, target);
	if (!poll) {
		round->fail(round, target, CR_CONNECT, "no memory for one more target");
		return;
	}
	poll->target = target;
	poll->deadline_ns = target->deadline_ns;
	poll->timeout_ns = target->deadline_ns - round->now_ns;
	if (poll->deadline_ns < source->deadline_ns)
		source->deadline_ns = poll->deadline_ns;
	poll_move(poll, poll->is_slow ? &source->waiting_slow : &source->waiting);
	if (poll->is_missed) { /* whoever went short comes first */
		TAILQ_REMOVE(poll->list, poll, entry);
		TAILQ_INSERT_HEAD(poll->list, poll, entry);
		poll->is_missed = false;
	}
}

/* Slow ones come last and get half of the places at most, so that many dead targets cannot take
 * them all. */
static struct poll *next_to_start(const struct source *source)
{
	struct poll *poll = TAILQ_FIRST(&source->waiting);

	if (source->n_running >= source->settings.max_inflight)
		return NULL;
	if (!poll && source->n_running_slow < (source->settings.max_inflight + 1) / 2)
		poll = TAILQ_FIRST(&source->waiting_slow);
	return poll;
}

static void start_waiting(struct source *source, const struct cr_round *round)
{
	struct poll *poll;

	while ((poll = next_to_start(source)))
		poll_start(poll, round);
}

static void finish_ended(struct source *source, const struct cr_round *round)
{
	const CURLMsg *message;
	int unused;

	while ((message = curl_multi_info_read(source->multi, &unused))) {
		CURLcode code = message->data.result;
		struct poll *poll = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &poll);
		poll_finish(poll, round, code);
	}
}

static void expire_list(struct source *source, struct polls *list, const struct cr_round *round)
{
	int64_t now = now_ns();
	struct poll *poll, *next;

	for (poll = TAILQ_FIRST(list); poll; poll = next) {
		next = TAILQ_NEXT(poll, entry);
		if (poll->deadline_ns <= now)
			poll_expire(poll, round);
		else if (poll->deadline_ns < source->deadline_ns)
			source->deadline_ns = poll->deadline_ns;
	}
}

/* Looks at all polls, but only when the earliest deadline of all has come. */
static void expire(struct source *source, const struct cr_round *round)
{
	if (now_ns() < source->deadline_ns)
		return;
	source->deadline_ns = INT64_MAX;
	expire_list(source, &source->waiting, round);
	expire_list(source, &source->waiting_slow, round);
	expire_list(source, &source->running, round);
}

static int64_t http_collect(void *self, const struct cr_round *round)
{
	struct source *source = self;

	serve_sockets(source);
	serve_timer(source);
	finish_ended(source, round);
	expire(source, round);
	for (size_t i = 0; i < round->n; i++)
		take_target(source, round, round->target[i]);
	start_waiting(source, round);
	/* libcurl has asked for a call "in 0 ms" for what was started: it connects now */
	serve_timer(source);
	finish_ended(source, round);
	if (next_to_start(source)) /* places became free at once */
		return now_ns();
	return source->timer_ns < source->deadline_ns ? source->timer_ns : source->deadline_ns;
}

/*** An instance ***/

static int open_multi(struct source *source)
{
	source->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (source->epoll_fd < 0)
		return -errno;
	source->multi = curl_multi_init();
	if (!source->multi)
		return -ENOMEM;
	curl_multi_setopt(source->multi, CURLMOPT_SOCKETFUNCTION, on_socket_change);
	curl_multi_setopt(source->multi, CURLMOPT_SOCKETDATA, source);
	curl_multi_setopt(source->multi, CURLMOPT_TIMERFUNCTION, on_timer_change);
	curl_multi_setopt(source->multi, CURLMOPT_TIMERDATA, source);
	curl_multi_setopt(source->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_MAX);
	return 0;
}

static void find_metrics(struct source *source, const struct cr_host *host)
{
	const char *const *name = source->settings.profile->metrics;

	for (size_t i = 0; i < HTTP_METRICS_MAX; i++)
		source->metric[i] = *name ? host->metric(host, *name++) : -1;
}

static struct source *source_new(void)
{
	struct source *source = calloc(1, sizeof *source);

	if (!source)
		return NULL;
	source->epoll_fd = -1;
	source->timer_ns = source->deadline_ns = INT64_MAX;
	TAILQ_INIT(&source->idle);
	TAILQ_INIT(&source->waiting);
	TAILQ_INIT(&source->waiting_slow);
	TAILQ_INIT(&source->running);
	return source;
}

/* Polls that nobody has forgotten yet keep their memory until forget(). */
static void let_go(struct polls *list)
{
	struct poll *poll;

	while ((poll = TAILQ_FIRST(list))) {
		poll_stop(poll);
		TAILQ_REMOVE(poll->list, poll, entry);
		poll->source = NULL;
	}
}

static void http_close(void *self)
{
	struct source *source = self;

	let_go(&source->running);
	let_go(&source->waiting);
	let_go(&source->waiting_slow);
	let_go(&source->idle);
	curl_multi_cleanup(source->multi);
	if (source->epoll_fd >= 0)
		close(source->epoll_fd);
	http_settings_fini(&source->settings);
	free(source);
	curl_global_cleanup();
}

static int http_open(const struct cr_open *in, void **self)
{
	struct source *source;
	int rc;

	/* counted, and safe in any thread since libcurl 7.84 */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		(void)snprintf(in->err, in->err_len, "libcurl cannot be initialised");
		return -EIO;
	}
	source = source_new();
	if (!source) {
		curl_global_cleanup();
		(void)snprintf(in->err, in->err_len, "no memory");
		return -ENOMEM;
	}
	rc = http_settings_init(&source->settings, in->option, in->err, in->err_len);
	if (rc < 0)
		goto close_source;
	rc = open_multi(source);
	if (rc < 0) {
		(void)snprintf(in->err, in->err_len, "no descriptor to watch sockets with: %s",
			       strerrordesc_np(-rc));
		goto close_source;
	}
	find_metrics(source, in->host);
	*self = source;
	return 0;

close_source:
	http_close(source);
	return rc;
}

static int http_fd(const void *self)
{
	const struct source *source = self;

	return source->epoll_fd;
}

/* Not by self: the instance may have been closed before. */
static void http_forget(void *self, struct cr_target *target)
{
	(void)self;
	if (target->user)
		poll_free(target->user);
	target->user = NULL;
}

CR_COLLECTOR = {
	CR_COLLECTOR_HEAD("http", "1.0", "Tomcat's status page and Jolokia, over HTTP and HTTPS"),
	.options = http_options,
	.open = http_open,
	.close = http_close,
	.fd = http_fd,
	.collect = http_collect,
	.forget = http_forget,
};
