/* stress_route.c - three threads place calls while one publishes and one refreshes: every list is
 * one that was published, and at the end nothing is in progress. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "data_plane.h"

#define PUBLISHES 3000
#define CALLERS   3
#define SERVERS   6

enum kind { REVERSED, RANKED, RANDOM, GARBAGE, PREPARED, KINDS };

static struct run run;
static struct cr *cr;
static int service;
static char says[512], garbage[512], random_path[512], prepares[512];
static const uint16_t ranking[] = { 3, 1, 4, 0, 2, 5 };
static const uint16_t without_two[] = { 3, 1, 4, 0 };
static _Atomic bool is_over;
static _Atomic int failures, lists[KINDS];
static _Atomic uint64_t published, taken;

static void fail(const char *what, uint64_t generation)
{
	(void)fprintf(stderr, "%s (generation %llu)\n", what, (unsigned long long)generation);
	atomic_fetch_add(&failures, 1);
}

/*** What generation g says: each kind in turn, with ms3 and ms6 drained in every other round ***/

static enum kind kind_of(uint64_t generation)
{
	return (enum kind)(generation % KINDS);
}

static bool are_two_drained(uint64_t generation)
{
	return generation / KINDS % 2 != 0;
}

static void plan_generation(struct plan *plan, uint64_t generation)
{
	const uint16_t *order = are_two_drained(generation) ? without_two : ranking;
	struct plan_side *router = &plan->service[0].router;
	struct plan_side *preset = &plan->service[0].preset;

	/* the instances are new in every other round */
	switch (kind_of(generation)) {
	case REVERSED:
		*router = plan_route("says", says, 1000 + generation / (2 * KINDS));
		router->seq = 1;
		break;
	case RANKED:
		*router = plan_route("ranked", "/nowhere.so", 3);
		router->flags = IMAGE_HAS_RANK;
		router->verdict = 1;
		break;
	case RANDOM:
		*router = plan_route("random", random_path, 1000000 + generation / (2 * KINDS));
		router->seq = 2;
		break;
	case GARBAGE:
		*router = plan_route("garbage", garbage, 4);
		break;
	case PREPARED: /* by the default */
		*router = (struct plan_side){ .plugin = NULL };
		break;
	case KINDS:
		break;
	}
	/* one instance for four rounds, and what it has prepared for two */
	*preset = plan_route("prepares", prepares, 2000000 + generation / (4 * KINDS));
	preset->seq = 5;
	preset->order = order;
	plan->server[0].weight = generation / (2 * KINDS) % 2 != 0 ? 2 : 1;
	router->order = order;
	plan->server[2].flags = plan->server[5].flags =
		are_two_drained(generation) ? IMAGE_DRAINED : 0;
}

/*** Every list must be right for the generation that it says it is of ***/

static void check_order(const struct cr_ticket *ticket, enum cr_decided by, bool is_reversed)
{
	const bool two = are_two_drained(ticket->generation);
	const uint16_t *order = two ? without_two : ranking;
	const uint32_t n = two ? 4 : 6;

	if (ticket->n != n || ticket->decided != by) {
		fail("wrong length", ticket->generation);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		if (ticket->server[i]->name[2] != '1' + order[is_reversed ? n - 1 - i : i])
			fail("wrong order", ticket->generation);
}

static void check_set(const struct cr_ticket *ticket)
{
	unsigned seen = 0;

	for (uint32_t i = 0; i < ticket->n; i++) {
		const unsigned row = (unsigned)ticket->server[i]->name[2] - '1';

		if (row >= SERVERS || (seen & 1u << row) != 0 ||
		    (are_two_drained(ticket->generation) && (row == 2 || row == 5)))
			fail("wrong server", ticket->generation);
		seen |= 1u << row % 32;
	}
	if (ticket->n == 0 && ticket->decided != CR_REFUSED)
		fail("nobody", ticket->generation);
}

static void check_list(const struct cr_ticket *ticket)
{
	if (ticket->generation == 0)
		return;
	switch (kind_of(ticket->generation)) {
	case REVERSED:
		check_order(ticket, CR_ROUTER_DECIDED, true);
		break;
	case PREPARED:
		check_order(ticket, CR_DEFAULT_DECIDED, true);
		break;
	case RANKED:
		check_order(ticket, CR_ROUTER_DECIDED, false);
		break;
	case RANDOM:
		if (ticket->n != (are_two_drained(ticket->generation) ? 4 : 6))
			fail("wrong number", ticket->generation);
		check_set(ticket);
		break;
	case GARBAGE:
		check_set(ticket);
		break;
	case KINDS:
		break;
	}
	atomic_fetch_add(&lists[kind_of(ticket->generation)], 1);
}

/*** The threads ***/

#define OPEN_CALLS 8

/* The servers of a service keep their rows, drained or not. */
static void place_session(struct cr_thread *thread, struct cr_call *call)
{
	static const struct cr_session session = { .id = { "abc", 3 },
						   .primary = { "ms3", 3 },
						   .secondary = { "ms7", 3 } };
	const bool is_published = atomic_load(&taken) > 0;
	const int known = cr_call_session(thread, service, &session, call);

	if (call->secondary != CR_NONE || known != (call->primary != CR_NONE) ||
	    (is_published && call->primary != 2))
		fail("wrong row of a session's server", call->primary);
}

/* Calls last while views change: the oldest of eight is ended when a new one comes. */
static void *place_calls(void *arg)
{
	struct cr_thread *thread = cr_thread_new(cr);
	struct cr_ticket ticket[OPEN_CALLS];
	struct cr_call call = { .primary = CR_NONE, .secondary = CR_NONE };
	uint64_t draw = (uintptr_t)arg;

	for (unsigned i = 0; !atomic_load(&is_over) || i < OPEN_CALLS; i++) {
		struct cr_ticket *t = &ticket[i % OPEN_CALLS];

		if (i >= OPEN_CALLS) {
			while (cr_draw(&draw) % 3 == 0 &&
			       cr_next(thread, t, (enum cr_outcome)(cr_draw(&draw) % 5)) != NULL)
				continue;
			cr_end(thread, t, (enum cr_outcome)(cr_draw(&draw) % 5),
			       (int64_t)(cr_draw(&draw) % 1000));
		}
		if (i % 1000 == 0) {
			char name[32];

			(void)snprintf(name, sizeof name, "other%u", i / 1000 % 3000);
			if (cr_service(cr, name) < 0)
				fail("cr_service", i);
			cr_thread_free(thread);
			thread = cr_thread_new(cr);
		}
		cr_call_now(thread, &call);
		place_session(thread, &call);
		call.cost_bytes = (int64_t)(cr_draw(&draw) % 3 * 500);
		cr_route(thread, service, &call, t);
		check_list(t);
	}
	for (int i = 0; i < OPEN_CALLS; i++)
		cr_end(thread, &ticket[i], CR_OK, 1);
	cr_thread_free(thread);
	return NULL;
}

static void *refresh(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_over)) {
		const uint64_t generation = atomic_load(&published);

		if (cr_refresh(cr) < 0)
			fail("cr_refresh", 0);
		atomic_store(&taken, generation);
	}
	return NULL;
}

/* Seven in a row are published without a look at anybody; each of the last ones is used. */
static void wait_for_others(uint64_t generation)
{
	const _Atomic int *used = &lists[kind_of(generation)];
	const int before = atomic_load(used);

	while (generation % 7 == 0 && atomic_load(&taken) < generation)
		sched_yield();
	while (generation > PUBLISHES - KINDS && atomic_load(used) == before)
		sched_yield();
}

static void *publish(void *arg)
{
	struct plan *plan = plan_new(SERVERS);

	(void)arg;
	for (uint64_t generation = 1; generation <= PUBLISHES; generation++) {
		plan_generation(plan, generation);
		run_publish(&run, plan);
		atomic_store(&published, generation);
		wait_for_others(generation);
	}
	free(plan);
	atomic_store(&is_over, true);
	return NULL;
}

static void check_end(void)
{
	static const char *const names[SERVERS] = { "ms1", "ms2", "ms3", "ms4", "ms5", "ms6" };

	for (int i = 0; i < SERVERS; i++)
		if (run_inflight(&run, names[i]) != 0 || run_inflight_bytes(&run, names[i]) != 0)
			fail(names[i], run_inflight(&run, names[i]));
	for (int i = 0; i < KINDS; i++)
		if (atomic_load(&lists[i]) == 0)
			fail("a kind was never met", (uint64_t)i);
	if (run.n_said > 0)
		fail(run.said[0], 0);
}

int main(void)
{
	void *(*const task[])(void *) = { publish, refresh, place_calls, place_calls, place_calls };
	pthread_t thread[sizeof task / sizeof *task];

	run_open(&run);
	(void)snprintf(says, sizeof says, "%s", run_stage(&run, TEST_PLUGINS_DIR, "says", 1));
	(void)snprintf(random_path, sizeof random_path, "%s",
		       run_stage(&run, PLUGINS_DIR, "random", 2));
	(void)snprintf(garbage, sizeof garbage, "%s",
		       run_stage(&run, TEST_PLUGINS_DIR, "garbage", 4));
	(void)snprintf(prepares, sizeof prepares, "%s",
		       run_stage(&run, TEST_PLUGINS_DIR, "prepares", 5));
	cr = run_attach(&run);
	service = cr_service(cr, "orders");
	for (size_t i = 0; i < sizeof task / sizeof *task; i++)
		if (pthread_create(&thread[i], NULL, task[i], (void *)(uintptr_t)(i + 1)) != 0)
			return 1;
	for (size_t i = 0; i < sizeof task / sizeof *task; i++)
		pthread_join(thread[i], NULL);
	check_end();
	cr_detach(cr);
	if (count_mappings(run.dir) != 1) /* the daemon's counters */
		fail("something is still mapped", count_mappings(run.dir));
	printf("%d published, lists: %d reversed, %d ranked, %d random, %d garbage, %d prepared; "
	       "%d failures\n",
	       PUBLISHES, lists[REVERSED], lists[RANKED], lists[RANDOM], lists[GARBAGE],
	       lists[PREPARED], atomic_load(&failures));
	run_close(&run);
	return atomic_load(&failures) != 0;
}
