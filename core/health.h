/*
 * health.h - which servers a call should not be sent to now: put aside, out, on trial, in slow
 * start. [L2]
 *
 * A server's health is one for all services and processes of the host: it lies in its line of the
 * counters file, and whoever reports a result writes it, so that the next call anywhere sees it.
 * Three things keep a server from calls:
 *
 *	aside    its connection was refused: for aside_ns, twice as long each time in a row
 *	ejected  it failed so many calls in a row: for out_for_ns
 *	down     an active check of the daemon says so, for as long as it goes on saying it
 *
 * When a time is over, ONE call claims the server (a lease of 30 s): its result brings the server
 * back, or shuts it again. Nothing here is final: who reads decides whether enough servers are
 * left (look.h).
 *
 * A service without any health of its own (no aside, no failures, no slow start) neither writes
 * nor obeys what shuts a server; only down holds for it, too.
 *
 * Times are the calls' own (CLOCK_MONOTONIC, or a simulator's), never asked for here.
 */
#ifndef CR_CORE_HEALTH_H
#define CR_CORE_HEALTH_H

#include <callrouter/plugin.h>
#include <callrouter/words.h>

#include "counters.h"
#include "image.h"

#define HEALTH_LEASE_NS INT64_C(30000000000)      /* of the one trial call */
#define HEALTH_FAR_NS   (2 * IMAGE_HEALTH_NS_MAX) /* a longer time is nobody's: it is over */
#define HEALTH_LATE_NS  INT64_C(3600000000000)    /* a lease that ends later is nobody's */
/* No contact takes longer: a time that is later than its end by more is nobody's. */
#define HEALTH_CONTACT_NS INT64_C(86400000000000)

/** What shuts a line, as one atomic word: until when (ns, cut to a multiple of 4) and the lowest
 * two bits why. 0: open. */
enum health_kind { HEALTH_OPEN = 0, HEALTH_ASIDE, HEALTH_EJECTED, HEALTH_TRIAL };

static inline uint64_t health_word(enum health_kind kind, int64_t until_ns)
{
	return (((uint64_t)until_ns | 3) ^ 3) | (uint64_t)kind;
}

static inline enum health_kind health_kind(uint64_t shut)
{
	return (enum health_kind)(shut & 3);
}

static inline int64_t health_end_ns(uint64_t shut)
{
	return (int64_t)((shut | 3) ^ 3);
}

/** By how much a time is later than now_ns, whatever the two are; 0: it is not. [any] */
static inline uint64_t health_ahead_ns(int64_t time_ns, int64_t now_ns)
{
	return time_ns > now_ns ? (uint64_t)time_ns - (uint64_t)now_ns : 0;
}

/** Is the time of what shuts a line over, so that the next call may claim it? [any] */
static inline bool health_is_due(uint64_t shut, int64_t now_ns)
{
	const uint64_t left_ns = health_ahead_ns(health_end_ns(shut), now_ns);
	const int64_t far_ns = health_kind(shut) == HEALTH_TRIAL ? HEALTH_LEASE_NS + HEALTH_LATE_NS
								 : HEALTH_FAR_NS;

	return left_ns == 0 || left_ns > (uint64_t)far_ns;
}

/** Does an active check keep calls from this line now? [any] */
static inline bool health_is_down(const struct counters_line *line, int64_t now_ns)
{
	const uint64_t left_ns = health_ahead_ns(
		atomic_load_explicit(&line->down_until_ns, memory_order_relaxed), now_ns);

	return left_ns > 0 && left_ns <= (uint64_t)HEALTH_FAR_NS;
}

/** The state of a line for people and status: CR_UP, CR_TRIAL (its time is over: the next call
 * tries it, or does so now), CR_ASIDE, CR_EJECTED or CR_DOWN (drained is not its matter). [any] */
enum cr_state health_state(const struct counters_line *line, int64_t now_ns);

/** When it may be tried again (or the lease of who tries it is over), CLOCK_MONOTONIC; 0: it is
 * open. [any] */
int64_t health_until_ns(const struct counters_line *line, int64_t now_ns);

/** How long until then; 0: now, or it is open. [any] */
int64_t health_left_ns(const struct counters_line *line, int64_t now_ns);

/** How far the slow start of this line has come, 0.1 .. 1 (1: it is over), and the same in
 * thousandths, 100 .. 1000. [any] */
double health_ramp(const struct counters_line *line, int64_t slow_start_ns, int64_t now_ns);
uint32_t health_ramp_permille(const struct counters_line *line, int64_t slow_start_ns,
			      int64_t now_ns);

/*** Calls ***/

/** What a call saw when it was sent to a server. */
struct health_contact {
	uint64_t shut; /* the word that it claimed, or did not mind; 0: open */
	uint64_t was;  /* the word before it was claimed; 0: it was not */
	int64_t at_ns; /* when */
	uint32_t salt; /* the line's number: servers that fail together come back one by one */
};

/** Has this service no health of its own? It then writes none either. [any] */
static inline bool health_is_off(const struct image_health *rules)
{
	return rules->aside_ns == 0 && rules->failures == 0 && rules->slow_start_ns == 0;
}

/**
 * Claim a line whose time is over: exactly one caller gets it, for the lease. shut: the word that
 * was seen, due at now_ns. Returns the word that says so, 0: somebody else was faster. [call]
 */
uint64_t health_claim(const struct counters *c, struct counters_line *line, uint64_t shut,
		      int64_t now_ns);

/** Has health_result() anything to do? Not for a success where all is well. [call] */
static inline bool health_is_news(const struct counters_line *line, uint64_t shut,
				  enum cr_outcome outcome)
{
	return outcome != CR_OK || shut != 0 ||
	       (atomic_load_explicit(&line->consecutive, memory_order_relaxed) |
		atomic_load_explicit(&line->refusals, memory_order_relaxed)) != 0;
}

/** A contact ended at now_ns: shut the line, open it, or count, as the service's rules say. [call]
 */
void health_result(struct counters *c, struct counters_line *line, const struct image_health *rules,
		   const struct health_contact *contact, enum cr_outcome outcome, int64_t now_ns);

/*** The daemon ***/

/** A server that is new, or has a new address: forget its health; slow start from now on (0: it was
 * here all the time). [daemon] */
void health_begin(struct counters *c, struct counters_line *line, int64_t up_since_ns);

/** An active check failed often enough: down until until_ns, unless it is said again. Kept to the
 * lease of the daemon, so that a daemon that dies takes nobody out for good. [daemon] */
void health_check_failed(struct counters *c, struct counters_line *line, int64_t until_ns);

/** An active check passed often enough: no longer down; an aside ends, the trial of an ejected
 * server is due at once; slow start where it had been down or aside. Nothing is written where all
 * is well. [daemon] */
void health_check_passed(struct counters *c, struct counters_line *line, int64_t now_ns);

/** The operator says that it is well: open at once, with a slow start if it was not. [daemon] */
void health_restore(struct counters *c, struct counters_line *line, int64_t now_ns);

#endif
