/* http_poll.h - one target of the collector "http" and its polls: requests one after the other,
 * and what comes of them. Whose turn it is to be polled is http.c's part. */
#ifndef CR_COLLECTORS_HTTP_POLL_H
#define CR_COLLECTORS_HTTP_POLL_H

#include <sys/queue.h>

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
	struct http_name name;           /* where its host is */
	struct http_page *page;          /* one for each request, sent one after the other */
	size_t n, at;                    /* how many, and which of them is under way */
	struct http_transfer *transfer;  /* NULL: none is under way, and none is kept */
	struct source_sample *sample;    /* of the poll that is under way; NULL: none */
	int64_t timeout_ns, deadline_ns; /* as the target came */
	bool is_begun;                   /* a request has been sent */
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
	struct place_names names;
	int64_t deadline_ns; /* no poll has to end before; INT64_MAX: none is under way */
	size_t n_running, n_running_slow;
	struct polls idle, waiting, waiting_slow, running;
	struct polls naming; /* due, but their names are being looked up */
	struct http_spares spares;
};

/** A target's memory, idle at first; NULL without memory. [own] */
struct poll *http_poll_new(struct web *web, struct cr_target *target);

/** Give up what is under way, and free it; also when web is closed. [own] */
void http_poll_free(struct poll *poll);

/** Put it at the end of another list of its source. [own] */
void http_poll_move(struct poll *poll, struct polls *list);

/** Find out where the target of a poll is. Returns 1; 0: its name is being looked up; or < 0: the
 * poll is over. [own] */
int http_poll_find(struct poll *poll, const struct cr_round *round);

/** Send the first request. [own] */
void http_poll_start(struct poll *poll, const struct cr_round *round);

/** The transfer under way is over, with this result. [own] */
void http_poll_go_on(struct poll *poll, const struct cr_round *round, CURLcode code);

/** Its deadline has come. [own] */
void http_poll_expire(struct poll *poll, const struct cr_round *round);

/** Give up what is under way, and tell nobody. [own] */
void http_poll_stop(struct poll *poll);

#endif
