/* assemble.h - put everything that is known into one image: servers, metrics, services, who sits
 * where, what they said. */
#ifndef CR_DAEMON_ASSEMBLE_H
#define CR_DAEMON_ASSEMBLE_H

#include "config.h"
#include "counters.h"
#include "image.h"
#include "seats.h"
#include "servers.h"

/** Where the configuration's servers and services have their lines in the counters file. */
struct roster {
	uint32_t *server_line;  /* [n_servers]; unused for admin servers */
	uint32_t *service_line; /* [n_services] */
	uint32_t *index;        /* [n_servers]: managed server -> index in an image */
	uint32_t n_managed;
	bool own[COUNTERS_LINES];   /* lines of this roster */
	bool known[COUNTERS_LINES]; /* that these names had before this roster was made */
	bool kept[COUNTERS_LINES];  /* and of the one before: data planes may still use them */
	bool service_own[COUNTERS_SERVICES], service_kept[COUNTERS_SERVICES]; /* the same */
};

/**
 * Give every server and service its line. before: the roster until now, or NULL. Returns NULL with
 * err (no memory, more servers or services than lines). [main]
 */
struct roster *roster_new(const struct config *config, struct counters *counters,
			  const struct roster *before, struct err *err);
void roster_free(struct roster *roster);

struct assemble {
	const struct config *config;
	struct servers *servers;
	struct counters *counters;
	const struct roster *roster;
	const struct seats *seats;
	int64_t now_ns;
	uint64_t generation;
	uint64_t prepare; /* token, see image.h */
	bool with_coming; /* instances that are coming belong to it */
	/* An image of the same configuration and roster, from which servers that have not changed
	 * since are copied, and what *seq was for it. NULL: none */
	const struct image_header *base;
	uint64_t base_seq;
	uint64_t *seq; /* out: of this image; may be NULL */
};

/**
 * Build the image. instance (may be NULL): [2 * seats->n], the index of each seat's sitter in
 * office, then of each coming one, IMAGE_NONE where there is none. Returns it (the caller's), or
 * NULL: no memory, or larger than can be. [main]
 */
struct image_header *assemble(const struct assemble *in, uint32_t *instance);

#endif
