/* bench_calls.c - what a decision costs: cr_route() alone, and with all that belongs to a call. */
#include <stdio.h>
#include <stdlib.h>

#include <callrouter/order.h>

#include "bench.h"
#include "clock.h"

#define LATENCY_NS (5 * CLOCK_MS)

/** A way to decide, and what has to come of it. */
static const struct way {
	const char *variant, *router; /* router NULL: the service has only its default */
	bool is_dry, is_whole;        /* that is measured, too */
} ways[] = {
	{ "rank-only", "heap_free", true, true },
	{ "round_robin", "round_robin", false, true },
	{ "two choices", "bench_two", false, false },
	{ "default", NULL, false, false },
};

#define WAYS (sizeof ways / sizeof *ways)

struct bench_calls {
	struct bench_stage stage;
	struct cr *cr;
	struct cr_thread *thread[BENCH_THREADS];
	int service[WAYS][BENCH_SIZES];
};

/* Reservations are given back outside the measured time. */
static int64_t run_route(const struct bench_subject *subject, unsigned index, unsigned n)
{
	static _Thread_local struct cr_ticket ticket[BENCH_BATCH];
	struct cr_thread *thread = ((struct bench_calls *)subject->scene)->thread[index];
	struct cr_call call = { .primary = CR_NONE, .secondary = CR_NONE };
	int64_t start, end;

	cr_call_now(thread, &call);
	start = clock_now_ns();
	for (unsigned i = 0; i < n; i++) {
		call.random = cr_draw(&call.random);
		cr_route(thread, subject->number, &call, &ticket[i]);
	}
	end = clock_now_ns();
	for (unsigned i = 0; i < n; i++)
		cr_end(thread, &ticket[i], CR_OK, LATENCY_NS);
	return end - start;
}

/* Decides and counts nothing. */
static int64_t run_dry(const struct bench_subject *subject, unsigned index, unsigned n)
{
	struct cr_thread *thread = ((struct bench_calls *)subject->scene)->thread[index];
	struct cr_call call = { .primary = CR_NONE, .secondary = CR_NONE };
	struct cr_ticket ticket;
	int64_t start;

	cr_call_now(thread, &call);
	start = clock_now_ns();
	for (unsigned i = 0; i < n; i++) {
		call.random = cr_draw(&call.random);
		cr_route_dry(thread, subject->number, &call, &ticket);
	}
	return clock_now_ns() - start;
}

static int64_t run_whole(const struct bench_subject *subject, unsigned index, unsigned n)
{
	struct cr_thread *thread = ((struct bench_calls *)subject->scene)->thread[index];
	struct cr_call call = { .primary = CR_NONE, .secondary = CR_NONE };
	const int64_t start = clock_now_ns();
	struct cr_ticket ticket;

	for (unsigned i = 0; i < n; i++) {
		cr_call_now(thread, &call);
		cr_route(thread, subject->number, &call, &ticket);
		cr_end(thread, &ticket, CR_OK, LATENCY_NS);
	}
	return clock_now_ns() - start;
}

/* A child that has not refreshed yet counts nothing, and would so do less. */
static void calls_adopt(const struct bench_subject *subject)
{
	cr_refresh(((struct bench_calls *)subject->scene)->cr);
}

/* The wrong thing is soon measured: each service has to be decided as it is meant to be. */
static void calls_check(const struct bench_calls *calls, size_t way, size_t size)
{
	const uint32_t want = bench_sizes[size] < CR_LIST_MAX ? bench_sizes[size] : CR_LIST_MAX;
	const enum cr_decided decided =
		ways[way].router != NULL ? CR_ROUTER_DECIDED : CR_DEFAULT_DECIDED;
	struct cr_call call = { .primary = CR_NONE, .secondary = CR_NONE };
	struct cr_ticket ticket;

	cr_call_now(calls->thread[0], &call);
	cr_route_dry(calls->thread[0], calls->service[way][size], &call, &ticket);
	if (ticket.decided != decided || ticket.n != want)
		bench_die("%s with %u servers: decided=%d reason=%d servers=%u", ways[way].variant,
			  bench_sizes[size], (int)ticket.decided, (int)ticket.reason, ticket.n);
}

static void calls_add(struct bench_calls *calls, size_t way, size_t size, struct bench_list *list)
{
	struct bench_subject subject = { .what = "cr_route",
					 .variant = ways[way].variant,
					 .servers = bench_sizes[size],
					 .batch = BENCH_BATCH,
					 .threads_max = BENCH_THREADS,
					 .run = run_route,
					 .scene = calls,
					 .number = calls->service[way][size],
					 .adopt = calls_adopt };

	calls_check(calls, way, size);
	bench_add(list, &subject);
	subject.what = "cr_route_dry";
	subject.run = run_dry;
	if (ways[way].is_dry)
		bench_add(list, &subject);
	subject.what = "whole call";
	subject.run = run_whole;
	if (ways[way].is_whole)
		bench_add(list, &subject);
}

struct bench_calls *bench_calls_new(struct bench_list *list)
{
	struct bench_calls *calls = calloc(1, sizeof *calls);
	struct bench_service service[WAYS * BENCH_SIZES];
	struct image_header *image;

	if (calls == NULL)
		bench_die("no memory");
	for (size_t i = 0; i < WAYS * BENCH_SIZES; i++) {
		service[i].router = ways[i / BENCH_SIZES].router;
		service[i].options = NULL;
		service[i].n_servers = bench_sizes[i % BENCH_SIZES];
		snprintf(service[i].name, sizeof service[i].name, "service%zu", i);
	}
	bench_stage_open(&calls->stage, bench_sizes[BENCH_SIZES - 1], service, WAYS * BENCH_SIZES);
	image = bench_stage_assemble(&calls->stage);
	bench_stage_publish(&calls->stage, image);
	free(image);
	calls->cr = bench_stage_attach(&calls->stage);
	for (unsigned t = 0; t < BENCH_THREADS; t++)
		calls->thread[t] = cr_thread_new(calls->cr);
	for (size_t i = 0; i < WAYS * BENCH_SIZES; i++) {
		calls->service[i / BENCH_SIZES][i % BENCH_SIZES] =
			cr_service(calls->cr, service[i].name);
		calls_add(calls, i / BENCH_SIZES, i % BENCH_SIZES, list);
	}
	return calls;
}

void bench_calls_free(struct bench_calls *calls)
{
	for (unsigned t = 0; t < BENCH_THREADS; t++)
		cr_thread_free(calls->thread[t]);
	cr_detach(calls->cr);
	bench_stage_close(&calls->stage);
	free(calls);
}
