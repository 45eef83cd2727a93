/* ticket.c - contacts of a call: reserve, claim, move on, note the result. No lock, no allocation,
 * no system call. */
#include "ticket.h"

#include <string.h>

#include "health.h"

#define FAILURE_GAIN 10 /* a result moves the share of failures by 1/10 */
#define LATENCY_GAIN 8

/* The line of a listed server, if it is still that server's. */
static struct counters_line *ticket_line(const struct cr_ticket *ticket,
					 const struct counters *counters, uint32_t at)
{
	struct counters_line *line;

	if (at >= ticket->n)
		return NULL;
	line = counters_line(counters, ticket->line[at]);
	if (line == NULL || atomic_load_explicit(&line->incarnation, memory_order_relaxed) !=
				    ticket->incarnation[at])
		return NULL;
	return line;
}

/*** Contacts ***/

/* May the call contact this server now? If its time is over it takes a claim, which only one call
 * gets; what was seen goes into the ticket. */
static bool ticket_contact(struct cr_ticket *ticket, const struct counters *counters, uint32_t at)
{
	struct counters_line *line = ticket_line(ticket, counters, at);
	const bool is_let_in = (ticket->let_in >> at & 1) != 0;
	uint64_t claim;

	ticket->shut = ticket->was = 0;
	if (line == NULL || ticket->rules == NULL)
		return true;
	if (health_is_down(line, ticket->contact_ns) && !is_let_in)
		return false;
	ticket->shut = atomic_load_explicit(&line->shut, memory_order_relaxed);
	if (ticket->shut == 0)
		return true;
	if (!health_is_due(ticket->shut, ticket->contact_ns))
		return is_let_in;
	claim = health_claim(counters, line, ticket->shut, ticket->contact_ns);
	if (claim == 0) {
		ticket->shut = atomic_load_explicit(&line->shut, memory_order_relaxed);
		return is_let_in;
	}
	ticket->was = ticket->shut;
	ticket->shut = claim;
	return true;
}

static void ticket_drop(struct cr_ticket *ticket, uint32_t n)
{
	ticket->n -= n;
	ticket->let_in >>= n;
	memmove(ticket->server, ticket->server + n, ticket->n * sizeof(const struct cr_server *));
	memmove(ticket->line, ticket->line + n, ticket->n * sizeof *ticket->line);
	memmove(ticket->incarnation, ticket->incarnation + n,
		ticket->n * sizeof *ticket->incarnation);
}

bool ticket_settle(struct cr_ticket *ticket, const struct counters *counters)
{
	uint32_t at = 0;

	while (at < ticket->n && !ticket_contact(ticket, counters, at))
		at++;
	if (at == ticket->n)
		return ticket->n == 0;
	if (at > 0)
		ticket_drop(ticket, at);
	return true;
}

void ticket_insist(struct cr_ticket *ticket, const struct counters *counters)
{
	ticket->let_in = UINT32_MAX;
	ticket_contact(ticket, counters, 0);
}

/* Is somebody else trying this server at the moment? */
static bool ticket_is_on_trial(const struct cr_ticket *ticket, const struct counters *counters,
			       uint32_t at)
{
	const struct counters_line *line = ticket_line(ticket, counters, at);

	return line != NULL && ticket->rules != NULL &&
	       health_kind(atomic_load_explicit(&line->shut, memory_order_relaxed)) == HEALTH_TRIAL;
}

void ticket_move_on(struct cr_ticket *ticket, const struct counters *counters, int64_t seen_ns)
{
	uint32_t last = ticket->n;

	if (seen_ns > ticket->contact_ns)
		ticket->contact_ns = seen_ns;
	for (ticket->at++; ticket->at < ticket->n; ticket->at++) {
		if (ticket_contact(ticket, counters, ticket->at))
			return;
		if (last == ticket->n && !ticket_is_on_trial(ticket, counters, ticket->at))
			last = ticket->at;
	}
	/* Shut since the list was made: better than to give up. */
	ticket->at = last;
	if (last == ticket->n)
		return;
	ticket->let_in |= 1u << last;
	ticket_contact(ticket, counters, last);
}

/*** Counting ***/

void ticket_reserve(struct cr_ticket *ticket, struct counters *counters)
{
	struct counters_line *line = ticket_line(ticket, counters, ticket->at);

	if (line == NULL)
		return;
	ticket->is_held = true;
	counters_hold_add(counters, ticket->line[ticket->at], ticket->cost_bytes);
	/* its last write was in the cache line of this one */
	atomic_fetch_add_explicit(&line->calls, 1, memory_order_relaxed);
}

void ticket_release(struct cr_ticket *ticket, struct counters *counters)
{
	if (ticket->is_held)
		counters_hold_drop(counters, ticket->line[ticket->at], ticket->cost_bytes);
	ticket->is_held = false;
}

/*** Results ***/

/* Racing updates may lose one another: these are decaying means, not sums. */
static void line_note_failure(struct counters_line *line, bool failed, int64_t now_ns)
{
	const uint32_t ppm = __atomic_load_n(&line->live.failure_ppm, __ATOMIC_RELAXED);
	const int64_t then_ns = __atomic_load_n(&line->live.failure_ns, __ATOMIC_RELAXED);
	int64_t next;

	if (failed)
		atomic_fetch_add_explicit(&line->failures, 1, memory_order_relaxed);
	else if (ppm == 0)
		return;
	next = (int64_t)cr_fade_between(ppm, then_ns, now_ns);
	next += ((failed ? 1000000 : 0) - next) / FAILURE_GAIN;
	if (now_ns > then_ns || health_ahead_ns(then_ns, now_ns) > (uint64_t)HEALTH_CONTACT_NS)
		__atomic_store_n(&line->live.failure_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&line->live.failure_ppm, (uint32_t)(next < FAILURE_GAIN ? 0 : next),
			 __ATOMIC_RELAXED);
}

static void line_note_latency(struct counters_line *line, int64_t latency_ns)
{
	const int64_t mean = __atomic_load_n(&line->live.latency_ns, __ATOMIC_RELAXED);

	__atomic_store_n(&line->live.latency_ns,
			 mean <= 0 ? latency_ns : mean + (latency_ns - mean) / LATENCY_GAIN,
			 __ATOMIC_RELAXED);
}

bool ticket_is_latency(int64_t latency_ns)
{
	return latency_ns >= 0 && latency_ns <= HEALTH_CONTACT_NS;
}

/* When the contact ended. */
static int64_t ticket_now_ns(const struct cr_ticket *ticket, int64_t latency_ns, int64_t seen_ns)
{
	int64_t now_ns = ticket->contact_ns;

	if (ticket_is_latency(latency_ns))
		now_ns += latency_ns;
	return now_ns > seen_ns ? now_ns : seen_ns;
}

static void ticket_report(const struct cr_ticket *ticket, struct counters *counters,
			  struct counters_line *line, enum cr_outcome outcome, int64_t now_ns)
{
	const struct health_contact contact = { .shut = ticket->shut,
						.was = ticket->was,
						.at_ns = ticket->contact_ns,
						.salt = ticket->line[ticket->at] };

	health_result(counters, line, ticket->rules, &contact, outcome, now_ns);
}

void ticket_note_result(const struct cr_ticket *ticket, struct counters *counters,
			enum cr_outcome outcome, int64_t latency_ns, int64_t seen_ns)
{
	struct counters_line *line = ticket_line(ticket, counters, ticket->at);
	const int64_t now_ns = ticket_now_ns(ticket, latency_ns, seen_ns);

	if (line == NULL)
		return;
	/* what an abandoned call would have become nobody knows */
	if (outcome != CR_ABANDONED)
		line_note_failure(line, outcome != CR_OK, now_ns);
	/* a fast failure is not a fast server: its time says nothing */
	if (outcome == CR_OK && ticket_is_latency(latency_ns))
		line_note_latency(line, latency_ns);
	if (ticket->rules != NULL && health_is_news(line, ticket->shut, outcome))
		ticket_report(ticket, counters, line, outcome, now_ns);
}
