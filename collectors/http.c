/*
 * http.c - the collector "http": sends the requests of a source over HTTP and HTTPS with libcurl's
 * multi interface, whose sockets are watched by one epoll descriptor.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errno_words.h"
#include "http_poll.h"

/*** A visit of the host ***/

/* A target that is due gets its place in a list, or its poll is over. */
static void line_up(struct poll *poll, const struct cr_round *round)
{
	struct web *web = poll->web;
	const int found = http_poll_find(poll, round);

	if (found == 0)
		http_poll_move(poll, &web->naming);
	if (found <= 0)
		return;
	http_poll_move(poll, poll->is_slow ? &web->waiting_slow : &web->waiting);
	if (poll->is_missed) { /* whoever went short comes first */
		TAILQ_REMOVE(poll->list, poll, entry);
		TAILQ_INSERT_HEAD(poll->list, poll, entry);
		poll->is_missed = false;
	}
}

/* Names have been looked up. */
static void take_names(struct web *web, const struct cr_round *round)
{
	struct poll *poll, *next;

	if (!web->loop.has_names)
		return;
	web->loop.has_names = false;
	for (poll = TAILQ_FIRST(&web->naming); poll; poll = next) {
		next = TAILQ_NEXT(poll, entry);
		if (place_is_found(&poll->name.place))
			line_up(poll, round);
	}
}

static void take_target(struct web *web, const struct cr_round *round, struct cr_target *target)
{
	struct poll *poll = target->user;

	if (target->is_shared && web->settings.source->scope == SOURCE_SERVER) {
		round->fail(round, target, CR_VALUE,
			    "a page of this source is about one server: put ${host} into target");
		return;
	}
	if (!poll)
		target->user = poll = http_poll_new(web, target);
	if (!poll) {
		round->fail(round, target, CR_CONNECT, "no memory for one more target");
		return;
	}
	poll->target = target;
	poll->deadline_ns = target->deadline_ns;
	poll->timeout_ns = target->deadline_ns - round->now_ns;
	if (poll->deadline_ns < web->deadline_ns)
		web->deadline_ns = poll->deadline_ns;
	line_up(poll, round);
}

/* Slow ones come last and get half of the places at most, so that many dead targets cannot take
 * them all. */
static struct poll *next_to_start(const struct web *web)
{
	struct poll *poll = TAILQ_FIRST(&web->waiting);

	if (web->n_running >= web->settings.max_inflight)
		return NULL;
	if (!poll && web->n_running_slow < (web->settings.max_inflight + 1) / 2)
		poll = TAILQ_FIRST(&web->waiting_slow);
	return poll;
}

static void start_waiting(struct web *web, const struct cr_round *round)
{
	struct poll *poll;

	while ((poll = next_to_start(web)))
		http_poll_start(poll, round);
}

static void finish_ended(struct web *web, const struct cr_round *round)
{
	CURLcode code;
	CURL *easy;

	while ((easy = http_loop_ended(&web->loop, &code))) {
		struct poll *poll = NULL;

		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &poll);
		http_poll_go_on(poll, round, code);
	}
}

static void expire_list(struct web *web, struct polls *list, const struct cr_round *round)
{
	struct poll *poll, *next;

	for (poll = TAILQ_FIRST(list); poll; poll = next) {
		next = TAILQ_NEXT(poll, entry);
		if (poll->deadline_ns <= round->now_ns)
			http_poll_expire(poll, round);
		else if (poll->deadline_ns < web->deadline_ns)
			web->deadline_ns = poll->deadline_ns;
	}
}

/* Looks at all polls, but only when the earliest deadline of all has come. */
static void expire(struct web *web, const struct cr_round *round)
{
	if (round->now_ns < web->deadline_ns)
		return;
	web->deadline_ns = INT64_MAX;
	expire_list(web, &web->naming, round);
	expire_list(web, &web->waiting, round);
	expire_list(web, &web->waiting_slow, round);
	expire_list(web, &web->running, round);
}

static int64_t http_collect(void *self, const struct cr_round *round)
{
	struct web *web = self;
	int64_t timer_ns;

	http_loop_serve_sockets(&web->loop);
	http_loop_serve_timers(&web->loop);
	take_names(web, round);
	finish_ended(web, round);
	expire(web, round);
	for (size_t i = 0; i < round->n; i++)
		take_target(web, round, round->target[i]);
	start_waiting(web, round);
	/* libcurl has asked for a call "in 0 ms" for what was started: it connects now */
	http_loop_serve_timers(&web->loop);
	finish_ended(web, round);
	if (next_to_start(web)) /* places became free at once */
		return http_now_ns();
	timer_ns = http_loop_timer_ns(&web->loop);
	return timer_ns < web->deadline_ns ? timer_ns : web->deadline_ns;
}

/*** An instance ***/

static void find_metrics(struct web *web, const struct cr_host *host)
{
	const struct source *source = web->settings.source;

	web->host = host;
	for (size_t i = 0; i < source->n_metrics; i++)
		web->metric[i] = host->metric(host, source->metric[i]);
}

static struct web *web_new(void)
{
	struct web *web = calloc(1, sizeof *web);

	if (!web)
		return NULL;
	web->loop.epoll_fd = -1;
	web->deadline_ns = INT64_MAX;
	TAILQ_INIT(&web->idle);
	TAILQ_INIT(&web->waiting);
	TAILQ_INIT(&web->waiting_slow);
	TAILQ_INIT(&web->running);
	TAILQ_INIT(&web->naming);
	return web;
}

/* Polls that nobody has forgotten yet keep their memory until forget(). */
static void let_go(struct polls *list)
{
	struct poll *poll;

	while ((poll = TAILQ_FIRST(list))) {
		http_poll_stop(poll);
		http_transfer_free(poll->transfer);
		poll->transfer = NULL;
		http_name_fini(&poll->name, &poll->web->names);
		TAILQ_REMOVE(poll->list, poll, entry);
		poll->web = NULL;
	}
}

static void http_close(void *self)
{
	struct web *web = self;

	let_go(&web->running);
	let_go(&web->waiting);
	let_go(&web->waiting_slow);
	let_go(&web->naming);
	let_go(&web->idle);
	http_transfer_free_all(&web->spares);
	place_names_fini(&web->names);
	http_loop_close(&web->loop);
	http_settings_fini(&web->settings);
	free(web);
	curl_global_cleanup();
}

static int http_open(const struct cr_open *in, void **self)
{
	struct web *web;
	int rc;

	/* counted, and safe in any thread since libcurl 7.84 */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		(void)snprintf(in->err, in->err_len, "libcurl cannot be initialised");
		return -EIO;
	}
	web = web_new();
	if (!web) {
		curl_global_cleanup();
		(void)snprintf(in->err, in->err_len, "no memory");
		return -ENOMEM;
	}
	rc = http_settings_init(&web->settings, in->option, in->err, in->err_len);
	if (rc < 0)
		goto close_web;
	rc = http_loop_open(&web->loop);
	if (rc < 0) {
		(void)snprintf(in->err, in->err_len, "no descriptor to watch sockets with: %s",
			       errno_words(rc));
		goto close_web;
	}
	place_names_init(&web->names, web->loop.epoll_fd, HTTP_LOOP_NAMES);
	find_metrics(web, in->host);
	*self = web;
	return 0;

close_web:
	http_close(web);
	return rc;
}

static int http_fd(const void *self)
{
	const struct web *web = self;

	return web->loop.epoll_fd;
}

/* Not by self: the instance may have been closed before. */
static void http_forget(void *self, struct cr_target *target)
{
	(void)self;
	if (target->user)
		http_poll_free(target->user);
	target->user = NULL;
}

static int http_check(void *self, const char *target, char *err, size_t err_len)
{
	struct http_failure failure;
	const int rc = http_url_check(target, &failure);

	(void)self;
	if (rc < 0)
		(void)snprintf(err, err_len, "%s", failure.text);
	return rc;
}

CR_COLLECTOR = {
	CR_COLLECTOR_HEAD("http", "2.0",
			  "pages in JSON, XML, Prometheus' format or text, over HTTP and HTTPS"),
	.options = http_options,
	.open = http_open,
	.close = http_close,
	.fd = http_fd,
	.collect = http_collect,
	.forget = http_forget,
	.check = http_check,
};
