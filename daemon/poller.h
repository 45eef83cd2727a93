/*
 * poller.h - polls sources on time: one thread per collector plugin, one instance per source,
 * starts spread over the interval, rounds of one target never overlap, a dead target costs nobody
 * else anything.
 */
#ifndef CR_DAEMON_POLLER_H
#define CR_DAEMON_POLLER_H

#include "config.h"
#include "err.h"
#include "plugin.h"
#include "servers.h"

struct poller;

/** A copy of one source's figures. */
struct poller_source {
	char name[64], plugin[32];
	size_t targets, in_flight;
	uint64_t polls, good, failed[8]; /* by enum cr_why */
	int64_t interval_ns, latency_ns; /* decaying mean of good polls */
	int64_t worst_ns;                /* the slowest good one of the last minute; 0: none */
	int64_t good_ns;                 /* when the last good one ended; 0: never */
	uint64_t rejected;               /* values that cannot be true */
	char error[160];                 /* the last failure, "target: why: text"; or that the
					    collector has not returned for long */
	int64_t error_ns;                /* and its time; 0: none yet */
	uint64_t skipped;                /* polls left out: the one before was still under way */
};

/** servers: outlives the poller. Returns NULL only without memory. [main] */
struct poller *poller_new(struct servers *servers);

/** Stops all threads, gives up what is under way. A collector that does not return within 5 s is
 * left behind with its thread, which touches nothing of ours any more. [main] */
void poller_free(struct poller *poller);

/**
 * Poll what this configuration says from now on, with these loaded plugins (borrowed until they are
 * replaced or the poller is freed; looked up by name). Whole or not at all: all new instances are
 * opened first, and if one cannot be, the old ones go on. Unchanged sources keep instance and
 * schedule, unchanged targets of changed sources their schedule. Waits at most 10 s, for collectors
 * that do not return. Returns 0 or < 0 with err. [main]
 */
int poller_apply(struct poller *poller, const struct config *config, struct plugin *const *plugins,
		 size_t n_plugins, struct err *err);

/**
 * A new version of a loaded plugin: open all its instances anew, then change over; the old object
 * stays mapped (its struct plugin may go). What is under way ends at the old instance, then that is
 * closed. Returns 0, or < 0 with err and the old instances polling on. [main]
 */
int poller_replace(struct poller *poller, struct plugin *plugin, struct err *err);

/** Copy a source's figures; false if index is out of range. [main] */
bool poller_get(struct poller *poller, size_t index, struct poller_source *out);

#endif
