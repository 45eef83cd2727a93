/* http_poll.c - polls of the collector "http", from the first request to the last value. */
#include "http_poll.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

void http_poll_move(struct poll *poll, struct polls *list)
{
	TAILQ_REMOVE(poll->list, poll, entry);
	TAILQ_INSERT_TAIL(list, poll, entry);
	poll->list = list;
}

/*** Polls ***/

void http_poll_stop(struct poll *poll)
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
	http_poll_move(poll, &web->idle);
}

/* What was under way is over, and failed. */
static void poll_fail(struct poll *poll, const struct cr_round *round, enum cr_why why,
		      const char *text)
{
	http_name_learn(&poll->name, &poll->web->names, why, round->now_ns);
	http_poll_stop(poll);
	poll->is_slow = why == CR_TIMEOUT;
	round->fail(round, poll->target, why, text);
}

/* It could not even be started. */
static void poll_drop(struct poll *poll, const struct cr_round *round, enum cr_why why,
		      const char *text)
{
	http_poll_stop(poll);
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
		http_name_learn(&poll->name, &web->names, 0, round->now_ns);
		http_poll_stop(poll);
		poll->is_slow = false;
		round->done(round, poll->target);
	}
	source_sample_free(sample);
}

/*** Its requests ***/

/* Send request poll->at; false: that cannot be, and the sample knows why. */
static bool poll_send(struct poll *poll, int64_t now_ns)
{
	const struct http_settings *settings = &poll->web->settings;
	const struct source_request *request = &settings->source->request[poll->at];
	struct http_page *page = &poll->page[poll->at];
	const int64_t left_ns = poll->is_begun ? poll->deadline_ns - now_ns : poll->timeout_ns;
	struct http_failure failure;

	poll->is_begun = true;
	if (http_page_fill(page, settings, request, poll->target, &failure) == 0 &&
	    http_transfer_prepare(poll->transfer, request, page, left_ns, poll, &failure) == 0) {
		if (http_loop_add(poll->shard, poll->transfer->easy))
			return true;
		http_failure_set(&failure, CR_CONNECT, "libcurl does not take one more transfer");
	}
	source_fail(poll->sample, poll->at, failure.why, failure.text);
	return false;
}

/* Has the first request ended for want of a connection, and is it sent to another address? Not in
 * the middle of a poll: two addresses may be two servers. */
static bool poll_turn(struct poll *poll, CURLcode code, int64_t now_ns)
{
	return poll->at == 0 && !poll->name.is_plain && now_ns < poll->deadline_ns &&
	       http_name_turn(&poll->name, &poll->web->names, poll->transfer->easy, code, now_ns);
}

void http_poll_go_on(struct poll *poll, const struct cr_round *round, CURLcode code)
{
	int rc;

	http_loop_remove(poll->shard, poll->transfer->easy);
	if (poll->web->settings.log_answers && code == CURLE_OK)
		http_transfer_log(poll->transfer, poll->web->host, poll->at);
	if (poll_turn(poll, code, round->now_ns) || http_transfer_renew(poll->transfer, code)) {
		if (!poll_send(poll, round->now_ns))
			poll_end(poll, round);
		return;
	}
	if (code != CURLE_OK && files_are_short(poll->name.code))
		http_loop_shrink(&poll->web->loop, round->now_ns);
	rc = http_transfer_finish(poll->transfer, code, poll->sample, poll->at);
	if (rc != -ECONNABORTED && poll->at + 1 < poll->n) {
		poll->at++;
		if (poll_send(poll, round->now_ns))
			return;
	}
	poll_end(poll, round);
}

void http_poll_start(struct poll *poll, const struct cr_round *round)
{
	struct web *web = poll->web;

	poll->at = 0;
	poll->is_begun = false;
	poll->sample = source_sample_new(web->settings.source);
	if (!poll->transfer)
		poll->transfer = http_transfer_take(&web->spares, &web->settings);
	if (!poll->sample || !poll->transfer) {
		poll_drop(poll, round, CR_CONNECT, "no memory for one more poll");
		return;
	}
	if (!poll_send(poll, round->now_ns)) {
		poll_end(poll, round);
		return;
	}
	http_poll_move(poll, &web->running);
	web->n_running++;
	web->n_running_slow += poll->is_slow;
}

void http_poll_expire(struct poll *poll, const struct cr_round *round)
{
	const struct web *web = poll->web;
	char text[192];

	if (poll->list == &web->running) {
		http_poll_go_on(poll, round, CURLE_OPERATION_TIMEDOUT);
		return;
	}
	if (poll->list == &web->naming) {
		place_explain_late(&poll->name.place, text, sizeof text);
	} else {
		(void)snprintf(text, sizeof text,
			       "not started in time: all places were taken (max_inflight is %zu)",
			       web->settings.max_inflight);
		poll->is_missed = true;
	}
	poll_drop(poll, round, CR_TIMEOUT, text);
}

int http_poll_find(struct poll *poll, const struct cr_round *round)
{
	struct web *web = poll->web;
	struct http_failure failure;
	int found = http_name_read(&poll->name, &web->names, poll->target->endpoint,
				   web->settings.server_name, &failure);

	if (found == 0)
		found = http_name_find(&poll->name, &web->names, round->now_ns, &failure);
	if (found < 0)
		poll_drop(poll, round, failure.why, failure.text);
	return found;
}

void http_poll_free(struct poll *poll)
{
	if (poll->web) {
		http_poll_stop(poll);
		TAILQ_REMOVE(poll->list, poll, entry);
		http_loop_leave(poll->shard);
		http_name_fini(&poll->name, &poll->web->names);
	}
	for (size_t i = 0; i < poll->n; i++)
		http_page_fini(&poll->page[i]);
	http_transfer_free(poll->transfer);
	free(poll->page);
	free(poll);
}

struct poll *http_poll_new(struct web *web, struct cr_target *target)
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
	for (size_t i = 0; i < poll->n; i++)
		poll->page[i].name = &poll->name;
	poll->list = &web->idle;
	TAILQ_INSERT_TAIL(&web->idle, poll, entry);
	return poll;
}
