/*
 * check.h - the daemon's own look at servers: a TCP connection or an HTTP GET at an interval, on
 * the main loop. What it says goes into the server's line in the counters file, and holds a few
 * intervals: a daemon that dies leaves nobody out.
 */
#ifndef CR_DAEMON_CHECK_H
#define CR_DAEMON_CHECK_H

#include <event2/event.h>

#include "assemble.h"
#include "config.h"
#include "counters.h"

#define CHECK_HEADER_MAX 16384u /* bytes of an answer that are read */

struct checks;

/** What is known of a server by its check; with several, by the worst of them. */
struct check_report {
	const char *what; /* "GET http://10.0.0.1:80/health", "tcp 10.0.0.1:80"; borrowed */
	bool is_down;
	uint32_t good, bad; /* results in a row; one of them is 0 */
	uint64_t runs;
	char error[160]; /* of the last run; "" if it was good or there was none */
};

/** NULL: no memory. [main] */
struct checks *checks_new(struct event_base *base, struct counters *counters);
void checks_free(struct checks *checks);

/**
 * Check what a configuration wants checked. Checks that it has unchanged go on where they are,
 * others are ended, and what they said ends with them. A new check of a server that is down goes on
 * from there. Returns 0, or < 0 with err and all as before. [main]
 */
int checks_apply(struct checks *checks, const struct config *config, const struct roster *roster,
		 struct err *err);

/** The operator says that the server of this line is well: it takes as many failures as ever to
 * take it out again. [main] */
void checks_restored(struct checks *checks, uint32_t line);

/** False: the server of this line is not checked. [main] */
bool checks_get(const struct checks *checks, uint32_t line, struct check_report *out);

#endif
