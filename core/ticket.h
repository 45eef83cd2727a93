/* ticket.h - what a call in progress holds at the server that it contacts: the reservation, what it
 * saw of the server's health, and what its result says. [L4] */
#ifndef CR_CORE_TICKET_H
#define CR_CORE_TICKET_H

#include "attachment.h"

/**
 * Whom of the list does the call contact first? Servers whose one trial call another caller got
 * are taken off the list; if nobody would be left, it stays as it is, and false is returned.
 * Not needed after a look that was calm: then all were open at the same moment. [call]
 */
bool ticket_settle(struct cr_ticket *ticket, const struct counters *counters);

/** Contact the first of a list, whether it is shut or not. [call] */
void ticket_insist(struct cr_ticket *ticket, const struct counters *counters);

/** Count the call in at its current server, and out again. [call] */
void ticket_reserve(struct cr_ticket *ticket, struct counters *counters);
void ticket_release(struct cr_ticket *ticket, struct counters *counters);

/** Go on to the next server that may be contacted; at the end of the list at is n. seen_ns: the
 * newest time that the caller's thread knows. [call] */
void ticket_move_on(struct cr_ticket *ticket, const struct counters *counters, int64_t seen_ns);

/** Is it known? One of more than a day is believed to be no time at all. [any] */
bool ticket_is_latency(int64_t latency_ns);

/** Note how the current contact ended. latency_ns < 0: unknown. [call] */
void ticket_note_result(const struct cr_ticket *ticket, struct counters *counters,
			enum cr_outcome outcome, int64_t latency_ns, int64_t seen_ns);

#endif
