/* report.h - what status, servers and plugins show, as JSON documents. */
#ifndef CR_DAEMON_REPORT_H
#define CR_DAEMON_REPORT_H

#include <jansson.h>

#include "config.h"
#include "counters.h"
#include "image.h"
#include "poller.h"
#include "servers.h"
#include "smooth.h"

/** One generation of a plugin, for people. */
struct report_generation {
	uint64_t seq; /* 0: none */
	char version[32];
	char state[24]; /* "current" "previous" "trying" "preparing" "rolled back" "quarantined"
			   "refused" */
	char note[320]; /* why, in a sentence; or "" */
};

/** One plugin name. */
struct report_plugin {
	char name[32], kind[12]; /* "router" or "collector" */
	char file[256];          /* in plugins.d; "" if it was removed */
	const char *const
		*used_by; /* "orders router", "orders default", source names; NULL-terminated */
	const struct report_generation *generation; /* newest first */
	size_t n_generations;
};

/** All that a report is made of; borrowed. */
struct report_source {
	const struct config *config;
	const struct image_header *image; /* as published last; NULL: nothing yet */
	const struct counters *counters;
	struct servers *servers;
	struct poller *poller;
	const struct report_plugin *plugin;
	size_t n_plugins;
	/** The names of the columns of a service's router, NULL-terminated, or NULL: none. service:
	 * index in config; seq: of the router's file. Borrowed. NULL: nobody knows. */
	char *const *(*columns)(const void *arg, size_t service, uint64_t seq);
	const void *columns_arg;
	const struct smooth *smooth; /* what rankers were given; NULL: what was measured */
	int64_t now_ns, started_ns;
};

struct report; /* remembers the last 10 seconds of calls per server, for "share" */

struct report *report_new(void);
void report_free(struct report *report);

/** Take a sample of the calls of all lines; wanted once a second. [main] */
void report_tick(struct report *report, const struct report_source *source);

/**
 * The documents (members of the answer; new references, NULL without memory). service NULL: all; an
 * unknown one gives NULL with err and the known names. [main]
 *
 * All members are described in docs/callrouterctl.1.scd:
 *   report_status   {"cluster", "daemon", "services": [...]}
 *   report_servers  {"servers": [...], "sources": [...]}
 *   report_plugins  {"plugins": [...], "processes": [...]}
 */
json_t *report_status(const struct report *report, const struct report_source *source,
		      const char *service, struct err *err);
json_t *report_servers(const struct report *report, const struct report_source *source);
json_t *report_plugins(const struct report *report, const struct report_source *source);

#endif
