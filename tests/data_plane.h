/*
 * data_plane.h - for the tests of libcallrouter: a run directory, the daemon's side of it, and what
 * it publishes. Whatever cannot be set up ends the process: no test framework is needed.
 */
#ifndef CR_TESTS_DATA_PLANE_H
#define CR_TESTS_DATA_PLANE_H

#include <pthread.h>
#include <sys/types.h>

#include <callrouter/callrouter.h>

#include "counters.h"
#include "image.h"
#include "snapshot.h"

#define PLAN_SERVERS  600
#define PLAN_SERVICES 3
#define PLAN_METRICS  4
#define NOW_NS        INT64_C(1000000000000) /* what calls and images of a plan take for now */

/** A router or a default, as the daemon would publish it. */
struct plan_side {
	const char *plugin; /* NULL: there is none */
	const char *path;   /* NULL: the image has none */
	const char *options;
	uint64_t key, seq;
	uint32_t flags; /* enum image_instance_flag */
	uint32_t shared_words, bank;
	enum cr_reason reason;
	int32_t verdict; /* of rank(): CR_DEFAULT, CR_REFUSE or > 0 */
	int64_t fresh_until_ns;
	const uint16_t *order; /* every usable row once; NULL: by row */
	uint32_t n_columns;    /* column k has 100 * k + i at row i */
};

/** A service of the servers first .. first + n_rows - 1, in this order. */
struct plan_service {
	char name[64];
	uint32_t first, n_rows;
	struct image_health health; /* all 0: it has none */
	struct plan_side router, preset;
};

/** One state to be published. */
struct plan {
	uint32_t n_servers;
	struct image_server server[PLAN_SERVERS]; /* line and incarnation are filled in */
	uint32_t n_metrics;
	const char *metric[PLAN_METRICS];
	double value[PLAN_METRICS][PLAN_SERVERS];
	int64_t taken_ns[PLAN_METRICS][PLAN_SERVERS]; /* 0: never */
	uint32_t n_services;
	struct plan_service service[PLAN_SERVICES];
	struct plan_side coming; /* plugin NULL: none; of the first service */
	uint64_t prepare;
	uint32_t hosts;
	bool has_wrong_lines; /* line and incarnation are the plan's, not the counters' */
};

/** The run directory and its daemon. */
struct run {
	char dir[64];
	struct counters *counters;
	struct snapshot_writer *writer;
	pthread_mutex_t said_lock;
	unsigned n_said;
	char said[16][320]; /* the first lines that data planes logged */
};

void run_open(struct run *run);
void run_close(struct run *run); /* and remove the directory with all that is in it */

/** Only the directory: as if no daemon had ever run. */
void run_open_empty(struct run *run);
void run_start_daemon(struct run *run);
void run_stop_daemon(struct run *run);

/** dir/name in static memory of the calling thread. */
const char *run_file(const struct run *run, const char *name);

/** Copy folder/name.so to dir/name.seq.so, as the daemon does. Returns the path in static memory of
 * the calling thread. */
const char *run_stage(const struct run *run, const char *folder, const char *name, uint64_t seq);

/** A plan of n servers ms1 ... of weight 1, and one service "orders" of all, without a router. The
 * caller frees it. */
struct plan *plan_new(uint32_t n);

/** A router with route() and without rank(), of a file that exists; key and seq as given. */
struct plan_side plan_route(const char *plugin, const char *path, uint64_t key);

/** Lay out the image; malloc'd. NULL: image_check() would refuse it. */
struct image_header *run_image(struct run *run, const struct plan *plan);
void run_publish(struct run *run, const struct plan *plan);

/** Attach to the run directory; lines are kept in run->said. */
struct cr *run_attach(struct run *run);
struct cr *run_attach_with(struct run *run, const char *program, bool start_thread);

/** The server's line in the counters. */
struct counters_line *run_line(const struct run *run, const char *server);
struct counters_service *run_service(const struct run *run, const char *service);
uint32_t run_inflight(const struct run *run, const char *server);
int64_t run_inflight_bytes(const struct run *run, const char *server);

/** How many lines of /proc/self/maps hold this text ("": all lines). */
unsigned count_mappings(const char *text);

#endif
