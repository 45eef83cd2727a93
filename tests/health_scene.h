/* health_scene.h - for the tests of servers' health: a service whose calls put servers aside and
 * out, and calls at chosen times. Its router takes the servers by name, so that the first of a list
 * is ms1 unless something keeps it away. */
#ifndef CR_TESTS_HEALTH_SCENE_H
#define CR_TESTS_HEALTH_SCENE_H

#include "health.h"
#include <callrouter/order.h>

#include "route_scene.h"

#define S         INT64_C(1000000000)
#define OUT_MOST  198 /* seconds: 3 minutes and a tenth */
#define OUT_LEAST 162

static const struct image_health usual_health = {
	.aside_ns = 2 * S,
	.aside_most_ns = 30 * S,
	.out_for_ns = 180 * S,
	.failures = 10,
	.counts = IMAGE_COUNTS_ALL,
};

static inline void scene_of_health(struct scene *s, uint32_t n, struct image_health health)
{
	scene_open(s, n);
	s->orders->router = says(s, "say=all\n");
	s->orders->health = health;
	scene_attach(s);
	scene_publish(s);
}

static inline void at(struct scene *s, double seconds)
{
	s->call.now_ns = NOW_NS + (int64_t)(seconds * 1e9);
}

/** The list that a call gets now; it changes nothing. */
static inline const char *list_now(struct scene *s)
{
	struct cr_ticket ticket;

	cr_route_dry(s->thread, s->service, &s->call, &ticket);
	return list_of(&ticket);
}

/** A call now, whose first server ends it so. Returns that server. */
static inline const char *call_now(struct scene *s, enum cr_outcome outcome)
{
	const char *first;

	cr_route(s->thread, s->service, &s->call, &s->ticket);
	first = s->ticket.n > 0 ? s->ticket.server[0]->name : "";
	cr_end(s->thread, &s->ticket, outcome, -1);
	return first;
}

static inline void calls_now(struct scene *s, int n, enum cr_outcome outcome)
{
	while (n-- > 0)
		call_now(s, outcome);
}

/** A call of this server's in whatever state it is: tickets are copied, and made to begin with it.
 */
static inline bool ticket_at(struct scene *s, const char *server, struct cr_ticket *ticket)
{
	cr_route(s->thread, s->service, &s->call, ticket);
	while (ticket->at < ticket->n && strcmp(ticket->server[ticket->at]->name, server) != 0)
		cr_next(s->thread, ticket, CR_ABANDONED);
	return ticket->at < ticket->n;
}

/** n calls that this server does so with: others are passed over. */
static inline void calls_at(struct scene *s, const char *server, int n, enum cr_outcome outcome)
{
	struct cr_ticket ticket;

	while (n-- > 0) {
		cr_assert(ticket_at(s, server, &ticket), "%s is in no list", server);
		cr_end(s->thread, &ticket, outcome, -1);
	}
}

static inline enum cr_state state_of(const struct scene *s, const char *server)
{
	const struct counters_line *line = run_line(&s->run, server);

	/* what routers read says the same at the moment of a change */
	return health_state(line, s->call.now_ns);
}

static inline uint32_t shown_state(const struct scene *s, const char *server)
{
	return __atomic_load_n(&run_line(&s->run, server)->live.state, __ATOMIC_RELAXED);
}

#endif
