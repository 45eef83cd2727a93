/*
 * unsteady.h - is the first place of a ranking passed on by garbage collections alone? Looked at
 * where a router only ranks, by a figure of the heap that is not smoothed: one that also chooses
 * for each call, or rotates equal servers, changes places on purpose.
 *
 * A change counts if the server that comes first has overtaken the one before it in that figure
 * since the last look. One that was drained, or that left for another reason, was not overtaken.
 */
#ifndef CR_DAEMON_UNSTEADY_H
#define CR_DAEMON_UNSTEADY_H

#include "config.h"
#include "image.h"

#define UNSTEADY_CHANGES 10 /* in a minute: more than load does to servers */
#define UNSTEADY_PARTS   12 /* of that minute: it is counted in five seconds each */

/** What is remembered of one service; zeroed at first. */
struct unsteady {
	size_t n;       /* rows of the last look; 0: none yet */
	uint16_t first; /* the row that came first then */
	double *value;  /* [n] what rows had then */
	unsigned count[UNSTEADY_PARTS];
	int64_t part; /* the newest one */
};

void unsteady_fini(struct unsteady *unsteady);

/** The figure by which this service is ranked, not smoothed; NULL: it is not looked at. [main] */
const char *unsteady_metric(const struct image_header *image, const struct image_service *service,
			    const struct config_service *config);

/** Look at what is published now. Returns the changes that count within the last minute. [main] */
unsigned unsteady_look(struct unsteady *unsteady, const struct image_header *image,
		       const struct image_service *service, const struct config_service *config,
		       int64_t now_ns);

#endif
