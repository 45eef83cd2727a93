/* gate.h - a gate in route() of test routers: call->method is "wait" and call->key.ptr points to
 * one. */
#ifndef CR_TESTS_GATE_H
#define CR_TESTS_GATE_H

#include <sched.h>
#include <stdatomic.h>

struct gate {
	_Atomic int n_inside, may_go;
};

/* In route(): say that it is in, and stay until it may go. */
static inline void gate_wait(struct gate *gate)
{
	atomic_fetch_add(&gate->n_inside, 1);
	while (atomic_load(&gate->may_go) == 0)
		sched_yield();
	atomic_fetch_sub(&gate->n_inside, 1);
}

#endif
