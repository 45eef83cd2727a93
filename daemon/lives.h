/* lives.h - when a server's health begins afresh: new servers, new addresses, undrained ones. */
#ifndef CR_DAEMON_LIVES_H
#define CR_DAEMON_LIVES_H

#include "assemble.h"
#include "config.h"
#include "counters.h"
#include "image.h"

/** Who was there until now: a configuration with its roster, or what a daemon before us published;
 * all NULL: nobody knows. */
struct lives_before {
	const struct config *config;
	const struct roster *roster;
	const struct image_header *image;
};

/**
 * A configuration comes into force. A server that is new, or has a new address, begins afresh, with
 * a slow start where others were there before it; all others keep their health and ejections. But
 * where no service has health switched on any more, nothing of it is left to be shown. Without
 * memory all keep it. [main]
 */
void lives_begin(struct counters *counters, const struct config *config,
		 const struct roster *roster, const struct lives_before *before);

/** The operator gives a drained server calls again: as a new one, unless a check says that it is
 * down. [main] */
void lives_undrained(struct counters *counters, uint32_t line);

#endif
