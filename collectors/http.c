/*
 * http.c - the collector "http": sends the requests of a source over HTTP and HTTPS with libcurl's
 * multi interface, whose sockets are watched by one epoll descriptor.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "errno_words.h"
#include "http_loop.h"
#include "http_transfer.h"

TAILQ_HEAD(polls, poll);

/* A target's memory from poll to poll: target->user. In one of its source's lists. */
struct poll {
	TAILQ_ENTRY(poll) entry;
	struct polls *list;
	struct web *web; /* NULL: closed before its targets were forgotten */
	struct cr_target *target;
	struct http_shard *shard;
	struct http_page *page;          /* one for each request, sent one after the other */
	size_t n, at;                    /* how many, and which of them is under way */
	struct http_transfer *transfer;  /* NULL: none is under way, and none is kept */
	struct source_sample *sample;    /* of the poll that is under way; NULL: none */
	int64_t timeout_ns, deadline_ns; /* as the target came */
	bool is_slow;                    /* the last poll that was started ran into its deadline */
	bool is_missed;                  /* the last poll was never started */
	bool has_told;                   /* the log knows that values are not as they should be */
};

/* One source of the configuration. */
struct web {
	struct http_settings settings;
	const struct cr_host *host;
	int metric[SOURCE_METRICS_MAX]; /* the host's numbers; < 0: the host has no use for it */
	struct http_loop loop;
	int64_t deadline_ns; /* no poll has to end before; INT64_MAX: none is under way */
	size_t n_running, n_running_slow;
	struct polls idle, waiting, waiting_slow, running;
	struct http_spares spares;
};

static void poll_move(struct poll *poll, struct polls *list)
{
	TAILQ_REMOVE(poll->list, poll, entry);
	TAILQ_INSERT_TAIL(list, poll, entry);
	poll->list = list;
}

/*** Polls ***/

static void poll_stop(struct poll *poll)
{
	struct web *web = poll->web;

	if (poll->list == &web->running) {
		assert(poll->transfer != NULL); /* what is running has one */
		http_loop_remove(poll->shard, poll->transfer->easy);
		web->n_running--;
		web->n_running_slow -= poll->is_slow;
	}
	http_transfer_give(&web->spares, &poll->transfer);
	source_sample_free(poll->sample);
	poll->sample = NULL;
	poll_move(poll, &web->idle);
}

static void poll_fail(struct poll *poll, const struct cr_round *round, enum cr_why why,
		      const char *text)
{
	poll_stop(poll);
	if (!poll->is_missed)
		poll->is_slow = why == CR_TIMEOUT;
	round->fail(round, poll->target, why, text);
}

/*** What came ***/

/* Once when something begins to be wrong with single values, and once when all is well again. */
static void tell_notes(struct poll *poll, const struct source_sample *sample)
{
	const struct cr_host *host = poll->web->host;
	const struct source_note *note = sample->note;
	const bool has_notes = sample->n_notes > 0;

	if (has_notes && !poll->has_told)
		host->log(host, CR_WARN, "values left out target=%s row=%s text=\"%s\" others=%zu",
			  poll->target->name, note->row[0] ? note->row : "-", note->text,
			  sample->n_notes - 1 + sample->n_unnoted);
	else if (!has_notes && poll->has_told)
		host->log(host, CR_INFO, "all values are good again target=%s", poll->target->name);
	poll->has_told = has_notes;
}

/* All requests that will be sent have been answered, or not. */
static void poll_end(struct poll *poll, const struct cr_round *round)
{
	const struct web *web = poll->web;
	struct source_sample *sample = poll->sample;
	const int rc = source_end(sample, poll->target->is_shared ? NULL : poll->target->name);

	poll->sample = NULL;
	for (size_t i = 0; i < sample->n_rows; i++)
		source_put_row(sample, &sample->row[i], round, poll->target, web->metric, 0);
	if (rc < 0) {
		poll_fail(poll, round, sample->why, sample->text);
	} else {
		tell_notes(poll, sample);
		poll_stop(poll);
		poll->is_slow = false;
		round->done(round, poll->target);
	}
	source_sample_free(sample);
}

/*** Its requests ***/

/* Send request poll->at; false: that cannot be, and the sample knows why. */
static bool poll_send(struct poll *poll)
{
	const struct http_settings *settings = &poll->web->settings;
	const struct source_request *request = &settings->source->request[poll->at];
	struct http_page *page = &poll->page[poll->at];
	const int64_t left_ns =
		poll->at == 0 ? poll->timeout_ns : poll->deadline_ns - http_now_ns();
	struct http_failure failure;

	if (http_page_fill(page, settings, request, poll->target, &failure) == 0 &&
	    http_transfer_prepare(poll->transfer, request, page, left_ns, poll, &failure) == 0) {
		if (http_loop_add(poll->shard, poll->transfer->easy))
			return true;
		http_failure_set(&failure, CR_CONNECT, "libcurl does not take one more transfer");
	}
	source_fail(poll->sample, poll->at, failure.why, failure.text);
	return false;
}

/* The transfer under way is over, with this result. */
static void poll_go_on(struct poll *poll, const struct cr_round *round, CURLcode code)
{
	int rc;

	http_loop_remove(poll->shard, poll->transfer->easy);
	if (poll->web->settings.log_answers && code == CURLE_OK)
		http_transfer_log(poll->transfer, poll->web->host, poll->at);
	if (http_transfer_renew(poll->transfer, code)) {
		if (!poll_send(poll))
			poll_end(poll, round);
		return;
	}
	rc = http_transfer_finish(poll->transfer, code, poll->sample, poll->at);
	if (rc != -ECONNABORTED && poll->at + 1 < poll->n) {
		poll->at++;
		if (poll_send(poll))
			return;
	}
	poll_end(poll, round);
}

static void poll_start(struct poll *poll, const struct cr_round *round)
{
	struct web *web = poll->web;

	poll->at = 0;
	poll->sample = source_sample_new(web->settings.source);
	if (!poll->transfer)
		poll->transfer = http_transfer_take(&web->spares, &web->settings);
	if (!poll->sample || !poll->transfer) {
		poll_fail(poll, round, CR_CONNECT, "no memory for one more poll");
		return;
	}
	if (!poll_send(poll)) {
		poll_end(poll, round);
		return;
	}
	poll_move(poll, &web->running);
	web->n_running++;
	web->n_running_slow += poll->is_slow;
}

static void poll_expire(struct poll *poll, const struct cr_round *round)
{
	const struct web *web = poll->web;
	char text[128];

	if (poll->list == &web->running) {
		poll_go_on(poll, round, CURLE_OPERATION_TIMEDOUT);
		return;
	}
	(void)snprintf(text, sizeof text,
		       "not started in time: all places were taken (max_inflight is %zu)",
		       web->settings.max_inflight);
	poll->is_missed = true;
	poll_fail(poll, round, CR_TIMEOUT, text);
}

static void poll_free(struct poll *poll)
{
	if (poll->web) {
		poll_stop(poll);
		TAILQ_REMOVE(poll->list, poll, entry);
		http_loop_leave(poll->shard);
	}
	for (size_t i = 0; i < poll->n; i++)
		http_page_fini(&poll->page[i]);
	http_transfer_free(poll->transfer);
	free(poll->page);
	free(poll);
}

static struct poll *poll_new(struct web *web, struct cr_target *target)
{
	const struct source *source = web->settings.source;
	struct poll *poll = calloc(1, sizeof *poll);

	if (!poll)
		return NULL;
	poll->page = calloc(source->n_requests, sizeof *poll->page);
	poll->shard = poll->page ? http_loop_join(&web->loop) : NULL;
	if (!poll->shard) {
		free(poll->page);
		free(poll);
		return NULL;
	}
	poll->web = web;
	poll->target = target;
	poll->n = source->n_requests;
	poll->list = &web->idle;
	TAILQ_INSERT_TAIL(&web->idle, poll, entry);
	return poll;
}

/*** A visit of the host ***/

static void take_target(struct web *web, const struct cr_round *round, struct cr_target *target)
{
	struct poll *poll = target->user;

	if (target->is_shared && web->settings.source->scope == SOURCE_SERVER) {
		round->fail(round, target, CR_VALUE,
			    "a page of this source is about one server: put ${host} into target");
		return;
	}
	if (!poll)
		target->user = poll = poll_new(web, target);
	if (!poll) {
		round->fail(round, target, CR_CONNECT, "no memory for one more target");
		return;
	}
	poll->target = target;
	poll->deadline_ns = target->deadline_ns;
	poll->timeout_ns = target->deadline_ns - round->now_ns;
	if (poll->deadline_ns < web->deadline_ns)
		web->deadline_ns = poll->deadline_ns;
	poll_move(poll, poll->is_slow ? &web->waiting_slow : &web->waiting);
	if (poll->is_missed) { /* whoever went short comes first */
		TAILQ_REMOVE(poll->list, poll, entry);
		TAILQ_INSERT_HEAD(poll->list, poll, entry);
		poll->is_missed = false;
	}
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
		poll_start(poll, round);
}

static void finish_ended(struct web *web, const struct cr_round *round)
{
	CURLcode code;
	CURL *easy;

	while ((easy = http_loop_ended(&web->loop, &code))) {
		struct poll *poll = NULL;

		curl_easy_getinfo(easy, CURLINFO_PRIVATE, &poll);
		poll_go_on(poll, round, code);
	}
}

static void expire_list(struct web *web, struct polls *list, const struct cr_round *round)
{
	int64_t now = http_now_ns();
	struct poll *poll, *next;

	for (poll = TAILQ_FIRST(list); poll; poll = next) {
		next = TAILQ_NEXT(poll, entry);
		if (poll->deadline_ns <= now)
			poll_expire(poll, round);
		else if (poll->deadline_ns < web->deadline_ns)
			web->deadline_ns = poll->deadline_ns;
	}
}

/* Looks at all polls, but only when the earliest deadline of all has come. */
static void expire(struct web *web, const struct cr_round *round)
{
	if (http_now_ns() < web->deadline_ns)
		return;
	web->deadline_ns = INT64_MAX;
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
	return web;
}

/* Polls that nobody has forgotten yet keep their memory until forget(). */
static void let_go(struct polls *list)
{
	struct poll *poll;

	while ((poll = TAILQ_FIRST(list))) {
		poll_stop(poll);
		http_transfer_free(poll->transfer);
		poll->transfer = NULL;
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
	let_go(&web->idle);
	http_transfer_free_all(&web->spares);
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
		poll_free(target->user);
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
