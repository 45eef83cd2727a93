/* scenario_keys.h - the table of settings, for scenario.c only. */
#ifndef CR_SIM_SCENARIO_KEYS_H
#define CR_SIM_SCENARIO_KEYS_H

#include <stddef.h>

#include "scenario.h"

enum scenario_kind { KEY_REAL, KEY_COUNT, KEY_SERVER, KEY_LIST, KEY_CHOICE, KEY_TEXT, KEY_FLAG };

/** A setting. max of a text: its room. */
struct scenario_key {
	const char *name;
	enum scenario_kind kind;
	size_t at; /* in struct scenario */
	const char *preset;
	double min, max;
	const char *const *choices;
	const char *help;
};

static const char *const gc_kinds[] = { "none", "parallel", "g1", NULL };
static const char *const oom_kinds[] = { "victim", "crash", NULL };
static const char *const workloads[] = { "web", "theory", NULL };
static const char *const hints[] = { "none", "class", "exact", NULL };
static const char *const phases[] = { "server", "host", "sync", NULL };
static const char *const after_gcs[] = { "any", "major", NULL };
static const char *const healths[] = { "off", "aside", "all", NULL };
static const char *const gray_outcomes[] = { "failed", "timed_out", "refused", NULL };

#define AT(field) offsetof(struct scenario, field)
#define REAL(field, preset, min, max, help)                                                        \
	{                                                                                          \
#field, KEY_REAL, AT(field), preset, min, max, NULL, help                          \
	}
#define COUNT(field, preset, min, max, help)                                                       \
	{                                                                                          \
#field, KEY_COUNT, AT(field), preset, min, max, NULL, help                         \
	}
#define SERVER(field, help)                                                                        \
	{                                                                                          \
#field, KEY_SERVER, AT(field), "none", 0, 511, NULL, help                          \
	}
#define LIST(field, preset, min, max, help)                                                        \
	{                                                                                          \
#field, KEY_LIST, AT(field), preset, min, max, NULL, help                          \
	}
#define CHOICE(field, preset, choices, help)                                                       \
	{                                                                                          \
#field, KEY_CHOICE, AT(field), preset, 0, 0, choices, help                         \
	}
#define TEXT(field, preset, room, help)                                                            \
	{                                                                                          \
#field, KEY_TEXT, AT(field), preset, 0, room, NULL, help                           \
	}
#define FLAG(field, preset, help)                                                                  \
	{                                                                                          \
#field, KEY_FLAG, AT(field), preset, 0, 0, NULL, help                              \
	}

/* clang-format off */
static const struct scenario_key scenario_keys[] = {
	REAL(duration, "900", 1, 1e7, "virtual seconds"),
	REAL(warmup, "0.1", 0, 0.9, "share of the duration that is not counted"),

	COUNT(servers, "8", 1, 512, "N"),
	COUNT(threads, "200", 1, 1e6, "calls at work in a server"),
	COUNT(backlog, "300", 0, 1e6, "calls that wait for a thread; beyond: connection refused"),
	LIST(heap_gb, "4 4 4 4 6 6 8 8", 0.001, 1e4, "heap of each server, in turn"),
	LIST(cores, "4 8 4 8 8 4 8 4", 0.01, 1000, "cores of each server"),
	LIST(speed, "1 1 1 0.8 1 1.25 1.25 1", 0.001, 100, "speed of its cores"),
	LIST(weights, "0", 0, 100, "its weight in the configuration; 0: by cores and speed"),
	REAL(heap_scale, "1", 0.001, 1000, "all heaps times this"),
	REAL(base_live, "0.16", 0, 0.9, "share of the heap that the application itself keeps"),
	CHOICE(gc, "parallel", gc_kinds, "none, parallel, g1"),
	REAL(eden, "0.25", 0.01, 0.9, "share of the heap allocated between minor collections"),
	REAL(eden_least, "0.04", 0.001, 0.9, "and at least, however full the heap is"),
	REAL(minor_pause, "0.005", 0, 10, "seconds, and for what survives:"),
	REAL(copy_gb, "1.5", 0.001, 1000, "GB copied in a second"),
	REAL(floating, "0.01", 0, 1, "garbage promoted with what survives, as a share of it"),
	REAL(full_at, "0.67", 0.05, 1, "share of the heap in old data: full collection"),
	REAL(full_room, "0.3", 0.01, 1, "share of the free rest filled before the next one"),
	REAL(full_pause, "0.05", 0, 100, "seconds of a full collection, and"),
	REAL(full_per_gb, "0.4", 0, 100, "seconds more for each GB that lives"),
	REAL(mark_at, "0.45", 0.01, 1, "g1: share of the heap in old data that starts marking"),
	REAL(oom_at, "0.95", 0.1, 1, "share that lives after a full collection: out of memory"),
	CHOICE(oom, "victim", oom_kinds, "victim: one call fails; crash: the server dies"),
	REAL(oom_down, "30", 0, 1e6, "seconds that a crashed server is away"),

	CHOICE(workload, "web", workloads, "web; theory: exponential work of mean 1, no data"),
	REAL(rate, "650", 0.001, 1e6, "calls in a second"),
	REAL(burst_factor, "1", 1, 100, "the rate times this,"),
	REAL(burst_on, "10", 0.001, 1e6, "for so many seconds,"),
	REAL(burst_off, "30", 0.001, 1e6, "after so many without"),
	REAL(medium_share, "0.027", 0, 1, "medium calls"),
	REAL(big_share, "0.003", 0, 1, "big calls"),
	REAL(small_kb, "100", 0.001, 1e6, "median of the small ones (lognormal)"),
	REAL(small_sigma, "0.5", 0, 4, "deviation of their logarithm"),
	REAL(medium_min_mb, "1", 0.001, 1e6, "medium ones: log-uniform from here"),
	REAL(medium_max_mb, "50", 0.001, 1e6, "to here"),
	REAL(big_min_mb, "100", 0.001, 1e6, "big ones: bounded Pareto from here"),
	REAL(big_max_mb, "1024", 0.001, 1e6, "to here"),
	REAL(big_alpha, "1.1", 0.1, 10, "its exponent"),
	REAL(cpu_ms, "5", 0, 1e6, "CPU time of each call, and"),
	REAL(cpu_mb, "50", 0.001, 1e6, "MB of data made in a second of CPU time"),
	REAL(cpu_noise, "0.2", 0, 0.99, "CPU time differs by up to this share"),
	REAL(garbage, "3", 0, 100, "bytes allocated for each byte of data"),
	REAL(send_mb, "40", 0.001, 1e6, "MB sent in a second"),
	CHOICE(hint, "class", hints, "what the caller knows of a call's size: none, class, exact"),
	REAL(hint_wrong, "0", 0, 1, "share of the calls whose hint is that of another class"),
	REAL(hint_factor, "1", 1e-6, 1e6, "all hints times this"),
	COUNT(tries, "3", 1, 16, "servers tried for one call while connections are refused"),
	FLAG(report, "yes", "no: the core is not told how calls ended"),
	CHOICE(health, "all", healths, "what the core does about servers that fail: nothing (off), put "
				       "aside those that refuse, or all:"),
	REAL(aside, "2", 0.001, 1e6, "seconds aside after a refused connection, doubling"),
	REAL(aside_most, "30", 0.001, 1e6, "up to this"),
	COUNT(failures, "10", 1, 1e6, "in a row: the server is out"),
	REAL(out_for, "180", 0.001, 1e6, "for so many seconds, then one call tries it"),
	REAL(slow_start, "10", 0, 1e6, "seconds until a server that is back has its full share"),
	REAL(check, "0", 0, 1e5, "seconds between two tries of a host to connect to a server: after 3 in "
				 "vain it is down, after 2 good ones back; 0: none"),

	COUNT(hosts, "4", 1, 256, "M: hosts that route, each by itself"),
	FLAG(hosts_known, "yes", "no: nobody tells a host how many there are"),
	REAL(interval, "5", 0.01, 1e5, "T: seconds between two polls of a server"),
	REAL(jitter, "0.05", 0, 0.9, "polls differ by up to this share of the interval"),
	CHOICE(phase, "host", phases, "server: polls are spread; host: a host polls all at once; "
					"sync: all at once"),
	REAL(poll_patience, "1", 0, 1e5, "a server in a longer pause is not heard"),
	REAL(poll_loss, "0", 0, 1, "share of polls that get lost"),
	REAL(poll_noise, "0", 0, 10, "heap figures differ by up to this share"),
	REAL(stale_after, "0", 0, 1e6, "seconds; 0: 10, or three intervals if that is more"),
	REAL(hog_age, "1", 0, 1e6, "calls older than that are counted as hogging threads"),
	REAL(debounce, "0.02", 0, 1e5, "seconds from a new value to its publication"),
	REAL(tick, "0.5", 0, 1e5, "seconds between publications without news; 0: none"),
	CHOICE(after_gc, "any", after_gcs, "heap after any collection, or after a major one only"),
	REAL(peers, "0", 0, 1e5, "seconds between two exchanges of calls in progress; 0: none"),
	REAL(peer_loss, "0", 0, 1, "share of those messages that get lost"),
	SERVER(frozen_server, "its exporter repeats an old value,"),
	REAL(frozen_from, "0.3", 0, 1, "from this share of the duration on"),
	TEXT(hide, "", 256, "names of metrics that nobody measures, separated by blanks"),
	TEXT(trace, "", 256, "CSV file (t_ms,free,total,max[,after_gc][,hogs]) whose heap is "
			     "reported, beside this file"),
	TEXT(preset, "round_robin", 32, "the default that decides when the router does not"),

	REAL(from, "0.3", 0, 1, "the faults below begin at this share of the duration"),
	SERVER(slow_server, "runs at"),
	REAL(slow_speed, "0.3", 0.001, 100, "times its speed"),
	SERVER(flap_server, "changes between its speed and"),
	REAL(flap_speed, "0.15", 0.001, 100, "times its speed"),
	REAL(flap_period, "20", 0.01, 1e6, "every so many seconds"),
	SERVER(half_server, "has this share of its heap in use by other data:"),
	REAL(half_share, "0.35", 0, 0.95, "(from the start)"),
	SERVER(leak_server, "loses, in a minute,"),
	REAL(leak_per_minute, "0.05", 0, 10, "this share of its heap"),
	SERVER(hole_server, "fails every call after"),
	REAL(hole_after, "0.001", 0, 1e5, "seconds"),
	SERVER(gray_server, "fails"),
	REAL(gray_share, "0.3", 0, 1, "of its calls after"),
	REAL(gray_after, "0.001", 0, 1e5, "seconds, in this way:"),
	CHOICE(gray_outcome, "failed", gray_outcomes, "failed, timed_out, refused"),
	REAL(restart_every, "0", 0, 1e6, "the next server restarts every so many seconds; 0: none"),
	REAL(restart_down, "20", 0, 1e6, "and is away for so long"),
	REAL(restart_drain, "0", 0, 1e6, "after it was drained for so long"),
};
/* clang-format on */

#endif
