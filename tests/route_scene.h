/* route_scene.h - for the tests of cr_route(): a plan, an attached data plane, one call. */
#ifndef CR_TESTS_ROUTE_SCENE_H
#define CR_TESTS_ROUTE_SCENE_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_plane.h"

/** A run directory in which one data plane routes calls of the service "orders". */
struct scene {
	struct run run;
	struct plan *plan;
	struct plan_service *orders; /* of plan */
	struct cr *cr;
	struct cr_thread *thread;
	int service;
	struct cr_call call;
	struct cr_ticket ticket;
	uint64_t last_key;
	char says[512], probe[512]; /* files of these plugins */
};

/** A daemon with a plan of n servers; nothing is published, nobody attached. */
static inline void scene_open(struct scene *s, uint32_t n)
{
	*s = (struct scene){ .plan = plan_new(n), .last_key = 100 };
	run_open(&s->run);
	s->orders = &s->plan->service[0];
	s->call = (struct cr_call){
		.now_ns = NOW_NS, .random = 1, .primary = CR_NONE, .secondary = CR_NONE
	};
	(void)snprintf(s->says, sizeof s->says, "%s",
		       run_stage(&s->run, TEST_PLUGINS_DIR, "says", 1));
	(void)snprintf(s->probe, sizeof s->probe, "%s",
		       run_stage(&s->run, TEST_PLUGINS_DIR, "probe", 2));
}

static inline void scene_attach(struct scene *s)
{
	s->cr = run_attach(&s->run);
	s->thread = cr_thread_new(s->cr);
	s->service = cr_service(s->cr, "orders");
	cr_assert_not_null(s->thread);
	cr_assert_geq(s->service, 0);
}

static inline void scene_detach(struct scene *s)
{
	cr_thread_free(s->thread);
	cr_detach(s->cr);
	s->cr = NULL;
}

static inline void scene_close(struct scene *s)
{
	if (s->cr != NULL)
		scene_detach(s);
	run_close(&s->run);
	free(s->plan);
}

/** Publish the plan and have the data plane take it. */
static inline void scene_publish(struct scene *s)
{
	run_publish(&s->run, s->plan);
	cr_assert_eq(cr_refresh(s->cr), 1);
}

/** A router that answers so (says.c), a new instance each time. say: static memory, "say=...\n". */
static inline struct plan_side says(struct scene *s, const char *say)
{
	struct plan_side side = plan_route("says", s->says, ++s->last_key);

	side.seq = 1;
	side.options = say;
	return side;
}

/** A router that has only rank(); its file does not even exist. */
static inline struct plan_side ranked(struct scene *s, const uint16_t *order)
{
	struct plan_side side = plan_route("ranked", "/nowhere/ranked.9.so", ++s->last_key);

	side.flags = IMAGE_HAS_RANK;
	side.verdict = 1;
	side.order = order;
	return side;
}

static inline struct plan_side probe(struct scene *s, const char *options)
{
	struct plan_side side = plan_route("probe", s->probe, ++s->last_key);

	side.seq = 2;
	side.options = options;
	return side;
}

/** The servers of a ticket, "ms2 ms1", in static memory. */
static inline const char *list_of(const struct cr_ticket *ticket)
{
	static char text[CR_LIST_MAX * 16];
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < ticket->n; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i > 0 ? " " : "",
				       ticket->server[i]->name);
	return text;
}

/** Route the call: these servers, decided so, for this reason. The ticket stays open. */
static inline void expect_route(struct scene *s, const char *list, enum cr_decided decided,
				enum cr_reason reason)
{
	const int n = cr_route(s->thread, s->service, &s->call, &s->ticket);

	cr_expect_eq(n, (int)s->ticket.n);
	cr_expect_str_eq(list_of(&s->ticket), list);
	cr_expect_eq(s->ticket.decided, decided, "decided by %d, not %d", (int)s->ticket.decided,
		     (int)decided);
	cr_expect_eq(s->ticket.reason, reason, "reason %d, not %d", (int)s->ticket.reason,
		     (int)reason);
}

/** The same, and end the call as abandoned. */
static inline void expect_call(struct scene *s, const char *list, enum cr_decided decided,
			       enum cr_reason reason)
{
	expect_route(s, list, decided, reason);
	cr_end(s->thread, &s->ticket, CR_ABANDONED, -1);
}

static inline void expect_held(const struct scene *s, const char *server, uint32_t calls,
			       int64_t bytes)
{
	cr_expect_eq(run_inflight(&s->run, server), calls, "%s: %u calls, not %u", server,
		     run_inflight(&s->run, server), calls);
	cr_expect_eq(run_inflight_bytes(&s->run, server), bytes, "%s: %lld bytes, not %lld", server,
		     (long long)run_inflight_bytes(&s->run, server), (long long)bytes);
}

static inline uint64_t count_of(const struct scene *s, enum cr_decided decided)
{
	return atomic_load(&run_service(&s->run, "orders")->decided[decided]);
}

static inline uint64_t reason_count(const struct scene *s, enum cr_reason reason)
{
	return atomic_load(&run_service(&s->run, "orders")->reason[reason]);
}

#endif
