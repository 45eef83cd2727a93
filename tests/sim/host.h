/*
 * host.h - one simulated host: a run directory with the real counters and snapshot, the daemon's
 * part (values in, rank(), publish) and a data plane that is attached to it.
 */
#ifndef CR_SIM_HOST_H
#define CR_SIM_HOST_H

#include <callrouter/callrouter.h>

#include "counters.h"
#include "image.h"
#include "plugin.h"
#include "sample.h"
#include "scenario.h"
#include "snapshot.h"

/* Virtual time 0: not 0 of the clock, which means "never". */
#define HOST_EPOCH_NS INT64_C(1000000000000)

static inline int64_t host_ns(double now_s)
{
	return HOST_EPOCH_NS + (int64_t)(now_s * 1e9);
}

/** The router and its default: the plugin, its options and what of it goes into images. */
struct host_side {
	const char *options; /* packed; borrowed */
	char path[4096];
	struct plugin *plugin;
};

enum { HOST_ROUTER, HOST_PRESET, HOST_SIDES };

/** What the hosts of a simulation have in common. */
struct host_plan {
	const struct scenario *scenario;
	struct host_side side[HOST_SIDES];
	const char
		*metric[IMAGE_METRICS_MAX]; /* those that the routers want, if they are measured */
	int sample_index[IMAGE_METRICS_MAX];
	uint32_t n_metrics;
	bool is_static; /* nothing that is published changes with time: polls change nothing */
	char dir[160];  /* folder of the run directories */
};

/** Load the plugins from one of the folders (colon-separated). Returns 0 or < 0 with err. */
int host_plan_open(struct host_plan *plan, const struct scenario *scenario,
		   const struct scenario_router *router, const char *folders, struct err *err);
void host_plan_close(struct host_plan *plan);

struct host {
	const struct host_plan *plan;
	char dir[192];
	struct counters *counters;
	struct snapshot_writer *writer;
	struct image_header *image;
	struct plugin_instance ranker[HOST_SIDES];
	uint16_t *order; /* [servers], scratch */
	uint8_t *mark;   /* [servers] */
	struct cr *cr;
	struct cr_thread *thread;
	int service;
};

/** Make the run directory, publish the first image, attach. Returns 0 or < 0 with err. */
int host_open(struct host *host, const struct host_plan *plan, uint32_t number, struct err *err);
void host_close(struct host *host);

/** A server has answered: its values count from the next publication on. */
void host_take(struct host *host, uint32_t server, const struct sample *sample, double now_s);

/** An operator drains a server, or takes that back. */
void host_drain(struct host *host, uint32_t server, bool is_drained);

/** Rank, publish, and let the data plane take it over. Returns 0 or < 0 with err. */
int host_publish(struct host *host, double now_s, struct err *err);

/** The live figures of a server on this host. */
struct cr_live *host_live(const struct host *host, uint32_t server);

#endif
