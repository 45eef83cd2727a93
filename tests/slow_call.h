/* slow_call.h - a thread whose call stays in route() of a router with a gate (plugins/gate.h) until
 * it may go, and is given up then, at one server after the other. */
#ifndef CR_TESTS_SLOW_CALL_H
#define CR_TESTS_SLOW_CALL_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "plugins/gate.h"
#include "route_scene.h"

struct slow_call {
	struct scene *s;
	struct gate gate;
	pthread_t thread;
	/* Once it is over. */
	int listed;                 /* servers; -1: it was not the router that decided */
	char first[64], second[64]; /* who was contacted; "": nobody */
};

static inline void *slow_call_run(void *arg)
{
	struct slow_call *slow = arg;
	struct cr_thread *thread = cr_thread_new(slow->s->cr);
	struct cr_call call = slow->s->call;
	const struct cr_server *server;
	struct cr_ticket ticket;

	call.method = (struct cr_str){ "wait", 4 };
	call.key = (struct cr_str){ (const char *)&slow->gate, sizeof slow->gate };
	cr_route(thread, slow->s->service, &call, &ticket);
	slow->listed = ticket.decided == CR_ROUTER_DECIDED ? (int)ticket.n : -1;
	server = cr_first(&ticket);
	(void)snprintf(slow->first, sizeof slow->first, "%s", server != NULL ? server->name : "");
	server = cr_next(thread, &ticket, CR_ABANDONED);
	(void)snprintf(slow->second, sizeof slow->second, "%s", server != NULL ? server->name : "");
	cr_end(thread, &ticket, CR_ABANDONED, -1);
	cr_thread_free(thread);
	return NULL;
}

/* Returns when the call is in route(). */
static inline void slow_call_begin(struct slow_call *slow, struct scene *s)
{
	*slow = (struct slow_call){ .s = s };
	cr_assert_eq(pthread_create(&slow->thread, NULL, slow_call_run, slow), 0);
	while (atomic_load(&slow->gate.n_inside) == 0)
		sched_yield();
}

static inline void slow_call_end(struct slow_call *slow)
{
	atomic_store(&slow->gate.may_go, 1);
	pthread_join(slow->thread, NULL);
}

#endif
