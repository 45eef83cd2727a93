/* scenario.h - one scenario: "key = value" lines, variants of routers, and limits. */
#ifndef CR_SIM_SCENARIO_H
#define CR_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

#define SCENARIO_LIST_MAX 64 /* entries of a list; servers beyond it start again at its begin */
#define SCENARIO_NOBODY   UINT32_MAX

/** A list of numbers, used cyclically. */
struct scenario_list {
	uint32_t n;
	double value[SCENARIO_LIST_MAX];
};

enum scenario_workload { WORKLOAD_WEB, WORKLOAD_THEORY };
enum scenario_hint { HINT_NONE, HINT_CLASS, HINT_EXACT };
enum scenario_phase { PHASE_SERVER, PHASE_HOST, PHASE_SYNC };
enum scenario_after_gc { AFTER_ANY, AFTER_MAJOR };
enum scenario_oom { OOM_VICTIM, OOM_CRASH };
enum scenario_health { HEALTH_OFF, HEALTH_ASIDE_ONLY, HEALTH_ALL };
enum scenario_gray { GRAY_FAILED, GRAY_TIMED_OUT, GRAY_REFUSED };

/** A router to be tried. */
struct scenario_router {
	char label[64]; /* in the CSV */
	char plugin[32];
	char options[512]; /* packed: "name=value\n" */
	char with[512];    /* settings of this variant: "key=value key=value" */
	struct scenario_router *next;
};

/** What has to hold: one line, judged by judge.awk. */
struct scenario_limit {
	char text[256];
	struct scenario_limit *next;
};

/** All settings; the table in scenario.c says what they mean. Seconds, bytes and shares. */
struct scenario {
	char name[64];
	double duration, warmup;

	uint32_t servers, threads, backlog;
	struct scenario_list heap_gb, cores, speed, weights;
	double heap_scale, base_live;
	uint32_t gc;
	double eden, eden_least, minor_pause, copy_gb, floating, full_at, full_room, full_pause,
		full_per_gb, mark_at, oom_at;
	uint32_t oom;
	double oom_down;

	uint32_t workload;
	double rate, burst_factor, burst_on, burst_off;
	double medium_share, big_share, small_kb, small_sigma, medium_min_mb, medium_max_mb,
		big_min_mb, big_max_mb, big_alpha;
	double cpu_ms, cpu_mb, cpu_noise, garbage, send_mb;
	uint32_t hint;
	double hint_wrong, hint_factor;
	uint32_t tries;
	bool report;
	uint32_t health;
	double aside, aside_most, out_for, slow_start, check;
	uint32_t failures;

	uint32_t hosts, phase, after_gc;
	bool hosts_known;
	double interval, jitter, poll_patience, poll_loss, poll_noise, stale_after, hog_age;
	double debounce, tick;
	double peers, peer_loss;
	uint32_t frozen_server;
	double frozen_from;
	char hide[256], trace[256], preset[32];

	double from; /* when the faults below begin: share of the duration */
	uint32_t slow_server;
	double slow_speed;
	uint32_t flap_server;
	double flap_speed, flap_period;
	uint32_t half_server;
	double half_share;
	uint32_t leak_server;
	double leak_per_minute;
	uint32_t hole_server;
	double hole_after;
	uint32_t gray_server, gray_outcome;
	double gray_share, gray_after;
	double restart_every, restart_down, restart_drain;

	struct scenario_router *routers; /* in order */
	struct scenario_limit *limits;
};

/** All settings at their defaults. */
void scenario_init(struct scenario *scenario);
void scenario_fini(struct scenario *scenario);

/** Read a file over what is there. Returns 0 or < 0 with "file:line: what, and what would be
 * right". */
int scenario_read(struct scenario *scenario, const char *path, struct err *err);

/** One setting. Returns 0 or -EINVAL. */
int scenario_set(struct scenario *scenario, const char *name, const char *value, struct err *err);

/** Are the settings possible together? Returns 0 or -EINVAL. */
int scenario_check(const struct scenario *scenario, struct err *err);

/**
 * A router by name: a label of the file, or "plugin", "plugin:option=value:option=value"; "+peers"
 * and "+blind" (nothing is reported to the core) may follow. Returns 0 or < 0 with err.
 */
int scenario_router(const struct scenario *scenario, const char *name,
		    struct scenario_router *router, struct err *err);

/** The settings that a router's variant wants. Returns 0 or -EINVAL. */
int scenario_apply(struct scenario *scenario, const struct scenario_router *router,
		   struct err *err);

/** Entry of a list for server i. */
static inline double scenario_at(const struct scenario_list *list, uint32_t i)
{
	return list->value[i % list->n];
}

/** How old values may get, in seconds. */
double scenario_stale_after(const struct scenario *scenario);

/** Print all keys with their meaning and default. */
void scenario_help(void);

#endif
