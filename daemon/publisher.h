/*
 * publisher.h - from what is known to what is published: build the image, have the rankers rank it,
 * publish. A ranker that is late or dead holds nobody up.
 */
#ifndef CR_DAEMON_PUBLISHER_H
#define CR_DAEMON_PUBLISHER_H

#include "assemble.h"
#include "seats.h"
#include "snapshot.h"

#define PUBLISHER_DEBOUNCE_MS                                                                      \
	20 /* after the first put of a round: the others are then usually there */
#define PUBLISHER_SHARE    50   /* with many servers rounds take one part in so many of the time */
#define PUBLISHER_PAUSE_MS 250  /* but never wait longer than this, however long a round took */
#define PUBLISHER_TICK_MS  500L /* a publish at least that often: ages and fresh_until move on */

struct publisher;
struct smooth;

/** Where the publisher finds everything; the pointers behind may change between runs (reload). */
struct publisher_context {
	struct event_base *base;
	struct snapshot_writer *writer;
	const struct config *const *config;
	struct servers *servers;
	struct counters *counters;
	const struct roster *const *roster;
	struct seats *const *seats;
};

struct publisher *publisher_new(const struct publisher_context *context);
void publisher_free(struct publisher *publisher);

/** Something was put: publish soon, see publisher_pause_ns(). [main] */
void publisher_touch(struct publisher *publisher);

/** How long after the first put the next round begins, if the last one cost this much: the
 * debounce, or as long as keeps rounds within their share. [any] */
int64_t publisher_pause_ns(int64_t cost_ns);

/** Publish as soon as the rankers have answered. [main] */
void publisher_run(struct publisher *publisher);

/**
 * Publish at once, with the latest answers, then start a round: what the operator wants waits for
 * no ranker, and for no trial. Returns 0 or < 0 with err. [main]
 */
int publisher_run_now(struct publisher *publisher, struct err *err);

/** Start no round until it is let go: the first routers are still on trial. [main] */
void publisher_hold(struct publisher *publisher, bool is_held);

/** From now on images carry the coming instances and this token (0: no longer), see image.h. [main]
 */
void publisher_prepare(struct publisher *publisher, uint64_t token);

/** Seats or configuration are about to change: forget what rankers were asked. publisher_run() is
 * due after it. [main] */
void publisher_reset(struct publisher *publisher);

/** RANKED and LATE of a sitter in office. [main] */
void publisher_heard(struct publisher *publisher, struct sitter *sitter, enum ranker_event event);

/** The image published last, NULL before the first. Valid until the next. [main] */
const struct image_header *publisher_image(const struct publisher *publisher);

/** What rankers were given instead of what was measured; NULL: nothing yet. Borrowed. [main] */
const struct smooth *publisher_smoothed(const struct publisher *publisher);

#endif
