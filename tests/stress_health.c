/* stress_health.c - two processes of four threads route calls to servers that fail, refuse and come
 * back, while a daemon checks and restores them: nothing is left in progress, every failure is
 * counted once, no trial has two callers, and at the end all servers come back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "data_plane.h"
#include "health.h"

#define PROCESSES 2
#define THREADS   4
#define SERVERS   6
#define CALLS     30000
#define MS        INT64_C(1000000)

/** What all processes add up to. */
struct sums {
	_Atomic uint64_t calls[SERVERS], failures[SERVERS], ended;
	_Atomic int faults;
	_Atomic int64_t now_ns;        /* virtual: each call takes a little of it */
	_Atomic int on_trial[SERVERS]; /* callers that hold a claim whose lease is not over */
};

static struct sums *sums;
static struct run run;
static struct cr *cr;
static int service;

static void fail(const char *what, const char *server)
{
	(void)fprintf(stderr, "%s: %s\n", what, server);
	atomic_fetch_add(&sums->faults, 1);
}

static int row_of(const struct cr_ticket *ticket)
{
	return ticket->server[ticket->at]->name[2] - '1';
}

/* Whoever holds a claim is the only one: leases of 30 s do not run out here. */
static void contact_begin(const struct cr_ticket *ticket)
{
	const int row = row_of(ticket);

	atomic_fetch_add(&sums->calls[row], 1);
	if (ticket->was != 0 && atomic_fetch_add(&sums->on_trial[row], 1) != 0)
		fail("two trials", ticket->server[ticket->at]->name);
}

static void contact_end(const struct cr_ticket *ticket, enum cr_outcome outcome)
{
	const int row = row_of(ticket);

	if (ticket->was != 0)
		atomic_fetch_sub(&sums->on_trial[row], 1);
	if (outcome != CR_OK && outcome != CR_ABANDONED)
		atomic_fetch_add(&sums->failures[row], 1);
}

/* Half of the servers are bad at a time. */
static enum cr_outcome outcome_of(const struct cr_ticket *ticket, int64_t now_ns, uint64_t *draw)
{
	const bool is_bad = (row_of(ticket) + now_ns / (500 * MS)) % 2 == 0;

	if (is_bad)
		return (enum cr_outcome)(1 + cr_draw(draw) % 4);
	return cr_draw(draw) % 50 == 0 ? CR_FAILED : CR_OK;
}

static void call_once(struct cr_thread *thread, struct cr_call *call, uint64_t *draw)
{
	struct cr_ticket ticket;
	enum cr_outcome outcome;

	call->now_ns = atomic_fetch_add(&sums->now_ns, MS / 10);
	call->random = cr_draw(draw);
	if (cr_route(thread, service, call, &ticket) == 0) {
		fail("nobody", "");
		return;
	}
	contact_begin(&ticket);
	outcome = outcome_of(&ticket, call->now_ns, draw);
	while (outcome != CR_OK && outcome != CR_ABANDONED) {
		contact_end(&ticket, outcome);
		if (cr_next(thread, &ticket, outcome) == NULL)
			break;
		contact_begin(&ticket);
		outcome = outcome_of(&ticket, call->now_ns, draw);
	}
	if (ticket.at < ticket.n)
		contact_end(&ticket, outcome);
	cr_end(thread, &ticket, outcome, MS);
	atomic_fetch_add(&sums->ended, 1);
}

static void *place_calls(void *arg)
{
	struct cr_thread *thread = cr_thread_new(cr);
	struct cr_call call = { .primary = CR_NONE, .secondary = CR_NONE };
	uint64_t draw = (uintptr_t)arg + (uint64_t)getpid();

	for (int i = 0; i < CALLS; i++)
		call_once(thread, &call, &draw);
	cr_thread_free(thread);
	return NULL;
}

static int run_process(void)
{
	pthread_t thread[THREADS];

	cr = run_attach(&run);
	service = cr_service(cr, "orders");
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, place_calls, (void *)(i + 1)) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	cr_detach(cr);
	return 0;
}

/* The daemon's side, meanwhile. Its checks do not touch trials. */
static void look_after_servers(void)
{
	uint64_t draw = 1;
	int status, running = PROCESSES;

	while (running > 0) {
		const int64_t now_ns = atomic_load(&sums->now_ns);
		char name[] = "ms0";

		name[2] = (char)('1' + cr_draw(&draw) % SERVERS);
		if (cr_draw(&draw) % 2 == 0)
			health_check_failed(run.counters, run_line(&run, name), now_ns + 20 * MS);
		else
			health_check_passed(run.counters, run_line(&run, name), now_ns);
		usleep(1000);
		if (waitpid(-1, &status, WNOHANG) <= 0)
			continue;
		running--;
		if (status != 0)
			fail("a process ended badly", "");
	}
}

static void check_end(void)
{
	const int64_t late_ns = atomic_load(&sums->now_ns) + 3600 * 1000 * MS;
	uint64_t calls = 0;

	for (int i = 0; i < SERVERS; i++) {
		char name[] = "ms0";
		const struct counters_line *line;

		name[2] = (char)('1' + i);
		line = run_line(&run, name);
		calls += atomic_load(&line->calls);
		if (run_inflight(&run, name) != 0)
			fail("still in progress", name);
		if (atomic_load(&line->calls) != atomic_load(&sums->calls[i]))
			fail("calls", name);
		if (atomic_load(&line->failures) != atomic_load(&sums->failures[i]))
			fail("failures", name);
		if (health_state(line, late_ns) != CR_UP && health_state(line, late_ns) != CR_TRIAL)
			fail("out for ever", name);
	}
	if (atomic_load(&sums->ended) != PROCESSES * THREADS * CALLS || calls < sums->ended)
		fail("calls that never ended", "");
	if (atomic_load(counters_trouble(run.counters)) < 100)
		fail("there was no trouble", "");
	printf("%llu calls, %llu contacts, %llu troubles, %d faults\n",
	       (unsigned long long)sums->ended, (unsigned long long)calls,
	       (unsigned long long)*counters_trouble(run.counters), atomic_load(&sums->faults));
}

static void publish(void)
{
	struct plan *plan = plan_new(SERVERS);
	struct plan_side *router = &plan->service[0].router;

	*router = plan_route("random", run_stage(&run, PLUGINS_DIR, "random", 2), 2);
	plan->service[0].health = (struct image_health){ .aside_ns = 20 * MS,
							 .aside_most_ns = 100 * MS,
							 .out_for_ns = 100 * MS,
							 .slow_start_ns = 50 * MS,
							 .failures = 3,
							 .counts = IMAGE_COUNTS_ALL };
	run_publish(&run, plan);
	free(plan);
}

int main(void)
{
	int faults;

	sums = mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sums == MAP_FAILED)
		return 1;
	atomic_store(&sums->now_ns, NOW_NS);
	run_open(&run);
	publish();
	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0)
			_exit(run_process());
	look_after_servers();
	check_end();
	faults = atomic_load(&sums->faults);
	run_close(&run);
	return faults != 0;
}
