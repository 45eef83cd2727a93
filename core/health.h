/*
 * health.h - which servers a call should not be sent to now: put aside, out, on trial, in slow
 *start. [L2]
 *
 * A server's health is one for all services and processes of the host: it lies in its line of the
 * counters file, and whoever reports a result writes it, so that the next call anywhere sees it.
 * Three things keep a server from calls:
 *
 *	aside    its connection was refused: for aside_ns, twice as long each time it is refused
 *again ejected  it failed so many calls in a row: for out_for_ns down     an active check of the
 *daemon says so, for as long as that goes on saying it
 *
 * When a time is over, ONE call claims the server (a lease of 30 s): its result brings the server
 * back, or shuts it again. Nothing here is final: who reads decides whether enough servers are
 *left.
 */
#ifndef CR_CORE_HEALTH_H
#define CR_CORE_HEALTH_H

#include <callrouter/plugin.h>
#include <callrouter/words.h>

#include "counters.h"
#include "image.h"

#define HEALTH_LEASE_NS INT64_C(30000000000) /* of the one trial call */

/** What shuts a line, as one atomic word: until when (ns, cut to a multiple of 4) and the lowest
 * two bits why. 0: open. */
enum health_kind { HEALTH_OPEN = 0, HEALTH_ASIDE, HEALTH_EJECTED, HEALTH_TRIAL };

/**
 * Has any server been in trouble since this service was last seen calm? One comparison: with no
 * trouble a call looks at no line. Slow starts count as trouble. [call]
 */
bool health_is_calm(const struct counters *c, const struct counters_service *service);

/** The state of a line for people and status: CR_UP, CR_TRIAL, CR_ASIDE, CR_EJECTED or CR_DOWN
 * (drained is not its matter). [any] */
enum cr_state health_state(const struct counters_line *line, int64_t now_ns);

/** When it may be tried again, CLOCK_MONOTONIC; 0: it is open. [any] */
int64_t health_until_ns(const struct counters_line *line, int64_t now_ns);

/** How far the slow start of this line has come, 0.1 .. 1 (1: it is over). [any] */
double health_ramp(const struct counters_line *line, int64_t slow_start_ns, int64_t now_ns);

/*** The daemon ***/

/** A server that is new, or has a new address: forget its health; slow start from now on (0: it was
 * here all the time). [daemon] */
void health_begin(struct counters *c, struct counters_line *line, int64_t up_since_ns);

/** An active check failed often enough: down until until_ns, unless it is said again. Kept to the
 * lease of the daemon, so that a daemon that dies takes nobody out for good. [daemon] */
void health_check_failed(struct counters *c, struct counters_line *line, int64_t until_ns);

/** An active check passed often enough: no longer down; an aside ends, the trial of an ejected
 * server is due at once; slow start where it had been down or aside. [daemon] */
void health_check_passed(struct counters *c, struct counters_line *line, int64_t now_ns);

/** The operator says that it is well: open at once. [daemon] */
void health_restore(struct counters *c, struct counters_line *line, int64_t now_ns);

#endif
