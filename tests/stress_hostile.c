/* stress_hostile.c - four threads route calls and end each other's while a vandal writes anything
 * into the servers' health, a daemon checks and restores, and states with other routers are
 * published: all calls end, nothing is left in progress, and afterwards every server can be
 * restored. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "data_plane.h"
#include "health.h"

#define THREADS   4
#define SERVERS   6
#define CALLS     20000
#define PUBLISHES 60
#define PARKED    64 /* tickets that the next thread that comes by ends */
#define S         INT64_C(1000000000)

static struct run run;
static struct cr *cr;
static int service;
static _Atomic int64_t now_ns = NOW_NS;
static _Atomic int faults, running = THREADS;
static _Atomic uint64_t contacts, ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cr_ticket parked[PARKED];
static size_t n_parked;

static void fail(const char *what, const char *server)
{
	(void)fprintf(stderr, "%s: %s\n", what, server);
	atomic_fetch_add(&faults, 1);
}

/*** Calls ***/

/* Gives one ticket away and gets another one; false: there was room, it was only given. */
static bool swap_ticket(struct cr_ticket *ticket, uint64_t draw)
{
	bool is_full;

	pthread_mutex_lock(&lock);
	is_full = n_parked == PARKED;
	if (is_full) {
		struct cr_ticket *other = &parked[draw % PARKED], mine = *ticket;

		*ticket = *other;
		*other = mine;
	} else {
		parked[n_parked++] = *ticket;
	}
	pthread_mutex_unlock(&lock);
	return is_full;
}

static void end_call(struct cr_thread *thread, struct cr_ticket *ticket, uint64_t *draw)
{
	while (cr_draw(draw) % 2 == 0 &&
	       cr_next(thread, ticket, (enum cr_outcome)(cr_draw(draw) % 5)) != NULL)
		atomic_fetch_add(&contacts, 1);
	cr_end(thread, ticket, (enum cr_outcome)(cr_draw(draw) % 5),
	       (int64_t)(cr_draw(draw) >> (cr_draw(draw) % 64)));
	cr_end(thread, ticket, CR_FAILED, 1);
	atomic_fetch_add(&ended, 1);
}

/* Time goes on in steps, is behind for some, and lies far off for a few. */
static int64_t time_of_call(uint64_t *draw)
{
	const int64_t now = atomic_fetch_add(&now_ns, S / 100);

	switch (cr_draw(draw) % 100) {
	case 0:
		return now + S * 86400;
	case 1:
		return (int64_t)cr_draw(draw);
	case 2:
		return atomic_fetch_add(&now_ns, 40 * S);
	default:
		return now - (int64_t)(cr_draw(draw) % S);
	}
}

static void *place_calls(void *arg)
{
	struct cr_thread *thread = cr_thread_new(cr);
	struct cr_call call = { .primary = CR_NONE, .secondary = CR_NONE };
	uint64_t draw = (uintptr_t)arg;
	struct cr_ticket ticket;

	for (int i = 0; i < CALLS; i++) {
		call.now_ns = time_of_call(&draw);
		call.random = cr_draw(&draw);
		call.cost_bytes = (int64_t)(cr_draw(&draw) % 1000);
		if (cr_draw(&draw) % 8 == 0)
			cr_route_dry(thread, service, &call, &ticket);
		if (cr_route(thread, service, &call, &ticket) == 0)
			fail("nobody", "");
		atomic_fetch_add(&contacts, 1);
		if (cr_draw(&draw) % 4 != 0 || swap_ticket(&ticket, cr_draw(&draw)))
			end_call(thread, &ticket, &draw);
	}
	cr_thread_free(thread);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

/*** The others ***/

static struct counters_line *some_line(uint64_t *draw)
{
	char name[] = "ms0";

	name[2] = (char)('1' + cr_draw(draw) % SERVERS);
	return run_line(&run, name);
}

/* Anything at all, or a time that could be. */
static uint64_t some_word(uint64_t *draw)
{
	const uint64_t any = cr_draw(draw);

	if (any % 2 == 0)
		return any >> (any >> 58);
	return (uint64_t)atomic_load(&now_ns) + any % (100 * S);
}

static void spoil(uint64_t *draw)
{
	struct counters_line *line = some_line(draw);
	const uint64_t word = some_word(draw);

	switch (cr_draw(draw) % 8) {
	case 0:
		atomic_store(&line->consecutive, (uint32_t)word);
		break;
	case 1:
		atomic_store(&line->refusals, (uint32_t)word);
		break;
	case 2:
		atomic_store(&line->down_until_ns, (int64_t)word);
		break;
	case 3:
		__atomic_store_n(&line->live.up_since_ns, (int64_t)word, __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n(&line->live.failure_ns, (int64_t)word, __ATOMIC_RELAXED);
		break;
	case 5:
		__atomic_store_n(&line->live.failure_ppm, (uint32_t)word, __ATOMIC_RELAXED);
		break;
	case 6:
		atomic_store(counters_trouble(run.counters), word);
		break;
	case 7:
		atomic_store(&line->shut, word);
		break;
	}
}

static void *vandalise(void *arg)
{
	uint64_t draw = 99;

	(void)arg;
	while (atomic_load(&running) > 0) {
		spoil(&draw);
		sched_yield();
	}
	return NULL;
}

static void *look_after_servers(void *arg)
{
	uint64_t draw = 77;

	(void)arg;
	while (atomic_load(&running) > 0) {
		const int64_t now = atomic_load(&now_ns);
		struct counters_line *line = some_line(&draw);

		switch (cr_draw(&draw) % 4) {
		case 0:
			health_check_failed(run.counters, line, now + S);
			break;
		case 1:
			health_check_passed(run.counters, line, now);
			break;
		case 2:
			health_restore(run.counters, line, now);
			break;
		case 3:
			health_begin(run.counters, line, now);
			break;
		}
		sched_yield();
	}
	return NULL;
}

/* Routers that prepare, that have shared words, and none; weights that change. */
static void publish(struct plan *plan, const char *const *path, uint64_t round)
{
	struct plan_service *orders = &plan->service[0];

	orders->router = (struct plan_side){ .plugin = NULL };
	if (round % 4 == 1) {
		orders->router = plan_route("hash", path[0], 3 + round / 8);
		orders->router.options = "mode=maglev\nkey=client\n";
		orders->router.seq = 3;
	} else if (round % 4 == 2) {
		orders->router = plan_route("least_connections", path[1], 4000 + round / 8);
		orders->router.seq = 4;
	} else if (round % 4 == 3) {
		orders->router = plan_route("round_robin", path[2], 5000 + round / 8);
		orders->router.seq = 5;
		orders->router.shared_words = 1;
	}
	plan->server[0].weight = 1 + round / 4 % 3;
	orders->health = (struct image_health){ .aside_ns = S,
						.aside_most_ns = 9 * S,
						.out_for_ns = 10 * S,
						.slow_start_ns = (int64_t)(round % 2) * 20 * S,
						.failures = 1 + (uint32_t)(round % 3),
						.counts = IMAGE_COUNTS_ALL };
	run_publish(&run, plan);
}

static void check_end(void)
{
	uint64_t calls = 0;

	for (int i = 0; i < SERVERS; i++) {
		char name[] = "ms0";
		struct counters_line *line;

		name[2] = (char)('1' + i);
		line = run_line(&run, name);
		calls += atomic_load(&line->calls);
		if (run_inflight(&run, name) != 0 || run_inflight_bytes(&run, name) != 0)
			fail("still in progress", name);
		health_restore(run.counters, line, atomic_load(&now_ns));
		if (health_state(line, atomic_load(&now_ns)) != CR_UP)
			fail("cannot be restored", name);
	}
	if (calls != atomic_load(&contacts) || atomic_load(&ended) != (uint64_t)THREADS * CALLS)
		fail("calls counted twice or not at all", "");
	printf("%llu calls, %llu contacts, %d faults\n", (unsigned long long)ended,
	       (unsigned long long)calls, atomic_load(&faults));
}

int main(void)
{
	static const char *const names[] = { "hash", "least_connections", "round_robin" };
	pthread_t thread[THREADS + 2];
	struct plan *plan = plan_new(SERVERS);
	const char *path[3];
	struct cr_thread *last;
	uint64_t draw = 1;

	run_open(&run);
	for (size_t i = 0; i < 3; i++)
		path[i] = strdup(run_stage(&run, PLUGINS_DIR, names[i], 3 + i));
	publish(plan, path, 0);
	cr = run_attach(&run);
	service = cr_service(cr, "orders");
	for (uintptr_t i = 0; i < THREADS + 2; i++)
		if (pthread_create(&thread[i], NULL,
				   i < THREADS    ? place_calls
				   : i == THREADS ? vandalise
						  : look_after_servers,
				   (void *)(i + 1)) != 0)
			return 1;
	for (uint64_t round = 1; atomic_load(&running) > 0; round++) {
		if (round < PUBLISHES)
			publish(plan, path, round);
		cr_refresh(cr);
		sched_yield();
	}
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(thread[i], NULL);
	last = cr_thread_new(cr);
	while (n_parked > 0)
		end_call(last, &parked[--n_parked], &draw);
	check_end();
	cr_detach(cr);
	for (size_t i = 0; i < 3; i++)
		free((void *)(uintptr_t)path[i]);
	free(plan);
	run_close(&run);
	return atomic_load(&faults) != 0;
}
