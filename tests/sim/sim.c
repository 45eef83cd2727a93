/* sim.c - the events of a run. */
#include "sim.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t sim_poll_event(const struct sim *sim, uint32_t host, uint32_t server)
{
	return EVENT_SERVER + sim->scenario->servers * (1 + host) + server;
}

uint32_t sim_publish_event(const struct sim *sim, uint32_t host)
{
	return EVENT_SERVER + sim->scenario->servers * (1 + sim->scenario->hosts) + host;
}

uint32_t sim_peer_event(const struct sim *sim, uint32_t host)
{
	return sim_publish_event(sim, sim->scenario->hosts) + host;
}

uint32_t sim_check_event(const struct sim *sim, uint32_t host)
{
	return sim_peer_event(sim, sim->scenario->hosts) + host;
}

static uint32_t sim_events(const struct sim *sim)
{
	return sim_check_event(sim, sim->scenario->hosts);
}

void sim_expect_server(struct sim *sim, uint32_t server)
{
	const uint32_t event = EVENT_SERVER + server;
	const double at_s = server_next_s(&sim->server[server]);

	if (at_s < HUGE_VAL)
		queue_put(&sim->events, event, at_s > sim->now_s ? at_s : sim->now_s);
	else if (sim->event_place[event] != QUEUE_NOWHERE)
		queue_remove(&sim->events, event);
}

/*** Calls ***/

static enum cr_outcome sim_report(const struct sim *sim, enum cr_outcome outcome)
{
	return sim->scenario->report ? outcome : CR_ABANDONED;
}

static void call_free(struct sim *sim, uint32_t id)
{
	sim->free_call[sim->n_free++] = id;
}

static void call_lose(struct sim *sim, const struct call *call, enum stats_loss why)
{
	if (call->is_counted)
		sim->stats.lost[why]++;
}

/* A server has ended a call, well or not. */
static void call_ended(void *arg, uint32_t id, enum cr_outcome outcome)
{
	struct sim *sim = arg;
	struct call *call = &sim->call[id];
	const struct server *server = &sim->server[call->server];

	cr_end(sim->host[call->host].thread, &call->ticket, sim_report(sim, outcome),
	       (int64_t)((sim->now_s - call->tried_s) * 1e9));
	if (outcome != CR_OK)
		call_lose(sim, call,
			  sim->job[id].outcome == CR_OK && !server->is_down ? LOSS_MEMORY
									    : LOSS_OTHER);
	else if (call->is_counted)
		stats_good(&sim->stats, call->kind, sim->now_s - call->came_s);
	call_free(sim, id);
}

static bool call_offer(struct sim *sim, uint32_t id, uint32_t server)
{
	static const enum cr_outcome outcomes[] = {
		[GRAY_FAILED] = CR_FAILED,
		[GRAY_TIMED_OUT] = CR_TIMED_OUT,
		[GRAY_REFUSED] = CR_REFUSED_CONNECTION,
	};
	const struct scenario *s = sim->scenario;
	const bool has_faults = sim->now_s >= sim->fault_s;
	const bool is_gray =
		has_faults && server == s->gray_server && sim->call[id].gray < s->gray_share;
	bool is_taken;

	sim->call[id].server = server;
	sim->call[id].tried_s = sim->now_s;
	sim->job[id].outcome = CR_OK;
	if (is_gray && s->gray_outcome == GRAY_REFUSED)
		is_taken = false;
	else if (has_faults && server == s->hole_server)
		is_taken = server_offer_failing(&sim->server[server], id, sim->now_s, s->hole_after,
						CR_FAILED);
	else if (is_gray)
		is_taken = server_offer_failing(&sim->server[server], id, sim->now_s, s->gray_after,
						outcomes[s->gray_outcome]);
	else
		is_taken = server_offer(&sim->server[server], id, sim->now_s);
	sim_expect_server(sim, server);
	return is_taken;
}

/* Contact the servers of the ticket in turn while they refuse. */
static void call_place(struct sim *sim, uint32_t id)
{
	struct call *call = &sim->call[id];
	struct cr_thread *thread = sim->host[call->host].thread;
	const enum cr_outcome refused = sim_report(sim, CR_REFUSED_CONNECTION);
	const struct cr_server *server = cr_first(&call->ticket);

	for (uint32_t tries = 1; server != NULL; tries++) {
		/* sim_open() saw to it that a server's id is its number */
		if (call_offer(sim, id, server->id)) {
			sim->stats.second_placed[server->id]++;
			sim->stats.placed[server->id] += call->is_counted;
			return;
		}
		if (tries == sim->scenario->tries)
			break;
		server = cr_next(thread, &call->ticket, refused);
	}
	cr_end(thread, &call->ticket, refused, -1);
	call_lose(sim, call, LOSS_REFUSED);
	call_free(sim, id);
}

static const char *const kind_names[] = { "small", "medium", "big" };

static int sim_call(struct sim *sim)
{
	const struct arrival *arrival = &sim->arrival;
	struct cr_call asked = { .now_ns = host_ns(sim->now_s),
				 .random = arrival->random,
				 .cost_bytes = arrival->hint_bytes,
				 .primary = CR_NONE,
				 .secondary = CR_NONE };
	struct call *call;
	uint32_t id;

	if (sim->n_free == 0)
		return err_set(&sim->err, -ENOSPC,
			       "more than %u calls in progress at %.1f s: the cluster is "
			       "overloaded for good",
			       SIM_CALLS_MAX, sim->now_s);
	id = sim->free_call[--sim->n_free];
	call = &sim->call[id];
	sim->job[id] = (struct job){ .work_s = arrival->work_s,
				     .bytes = arrival->bytes,
				     .send_s = arrival->send_s };
	call->came_s = sim->now_s;
	call->gray = arrival->gray;
	call->host = arrival->host;
	call->kind = arrival->kind;
	call->is_counted = sim->now_s >= sim->warm_s;
	if (arrival->hint_bytes > 0)
		asked.method = (struct cr_str){ kind_names[arrival->kind],
						strlen(kind_names[arrival->kind]) };
	cr_route(sim->host[call->host].thread, sim->host[call->host].service, &asked,
		 &call->ticket);
	sim->stats.calls += call->is_counted;
	sim->stats.by_default += call->is_counted && call->ticket.decided == CR_DEFAULT_DECIDED;
	call_place(sim, id);
	sim->arrival = workload_next(&sim->workload);
	queue_put(&sim->events, EVENT_CALL, sim->arrival.at_s);
	return 0;
}

/*** Faults ***/

static double sim_speed(const struct sim *sim, uint32_t server)
{
	const struct scenario *s = sim->scenario;
	double speed = scenario_at(&s->speed, server);

	if (server == s->slow_server && sim->now_s >= sim->fault_s)
		speed *= s->slow_speed;
	if (server == s->flap_server && sim->is_flapped)
		speed *= s->flap_speed;
	return speed;
}

static void sim_set_speed(struct sim *sim, uint32_t server)
{
	if (server == SCENARIO_NOBODY)
		return;
	server_set_speed(&sim->server[server], sim->now_s, sim_speed(sim, server));
	sim_expect_server(sim, server);
}

static void sim_fault(struct sim *sim)
{
	const struct scenario *s = sim->scenario;

	queue_remove(&sim->events, EVENT_FAULT);
	sim_set_speed(sim, s->slow_server);
	if (s->leak_server != SCENARIO_NOBODY) {
		struct server *server = &sim->server[s->leak_server];

		server_advance(server, sim->now_s);
		server->leak_per_s = s->leak_per_minute / 60 * server->jvm.heap;
	}
}

static void sim_flap(struct sim *sim)
{
	sim->is_flapped = !sim->is_flapped;
	sim_set_speed(sim, sim->scenario->flap_server);
	queue_put(&sim->events, EVENT_FLAP, sim->now_s + sim->scenario->flap_period);
}

static void sim_drain(struct sim *sim, uint32_t server, bool is_drained)
{
	for (uint32_t h = 0; h < sim->scenario->hosts; h++) {
		host_drain(&sim->host[h], server, is_drained);
		polls_touch(sim, h);
	}
}

/* In turn: drained, away, back. */
static void sim_restart(struct sim *sim)
{
	const struct scenario *s = sim->scenario;
	const uint32_t server = sim->restarts % s->servers;
	double wait_s = 0;

	switch (sim->restart_phase) {
	case 0:
		if (s->restart_drain > 0 && s->servers > 1)
			sim_drain(sim, server, true);
		wait_s = s->restart_drain;
		break;
	case 1:
		server_kill(&sim->server[server], sim->now_s, sim->now_s + s->restart_down);
		sim_expect_server(sim, server);
		wait_s = s->restart_down;
		break;
	default:
		if (s->restart_drain > 0 && s->servers > 1)
			sim_drain(sim, server, false);
		wait_s = s->restart_every - s->restart_drain - s->restart_down;
		sim->restarts++;
		break;
	}
	sim->restart_phase = (sim->restart_phase + 1) % 3;
	queue_put(&sim->events, EVENT_RESTART, sim->now_s + wait_s);
}

/*** Events ***/

static void sim_second(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->scenario->servers; i++)
		server_advance(&sim->server[i], sim->now_s);
	stats_second(&sim->stats, sim->server, sim->scenario->servers, sim->now_s >= sim->warm_s);
	if (sim->series != NULL)
		series_print(sim->series, &sim->server[0], sim->scenario->hog_age);
	queue_put(&sim->events, EVENT_SECOND, sim->now_s + 1);
}

static int sim_step_other(struct sim *sim, uint32_t event)
{
	const uint32_t n = sim->scenario->servers, first = sim_publish_event(sim, 0);

	if (event >= sim_check_event(sim, 0)) {
		polls_check(sim, event - sim_check_event(sim, 0));
		return 0;
	}
	if (event >= sim_peer_event(sim, 0)) {
		polls_tell_peers(sim, event - sim_peer_event(sim, 0));
		return 0;
	}
	if (event >= first)
		return polls_publish(sim, event - first);
	event -= EVENT_SERVER;
	if (event >= n) {
		polls_step(sim, event / n - 1, event % n);
	} else {
		server_step(&sim->server[event], sim->now_s);
		sim_expect_server(sim, event);
	}
	return 0;
}

static int sim_step(struct sim *sim, uint32_t event)
{
	switch (event) {
	case EVENT_CALL:
		return sim_call(sim);
	case EVENT_SECOND:
		sim_second(sim);
		return 0;
	case EVENT_FAULT:
		sim_fault(sim);
		return 0;
	case EVENT_FLAP:
		sim_flap(sim);
		return 0;
	case EVENT_RESTART:
		sim_restart(sim);
		return 0;
	default:
		return sim_step_other(sim, event);
	}
}

int sim_run(struct sim *sim, const volatile int *stop, struct err *err)
{
	int code = 0;

	while (code == 0 && *stop == 0) {
		const struct queue_entry first = *queue_first(&sim->events);

		if (first.key >= sim->end_s)
			return 0;
		sim->now_s = first.key;
		code = sim_step(sim, first.id);
	}
	if (code == 0)
		return err_set(err, -EINTR, "interrupted");
	*err = sim->err;
	return code;
}

/*** Setting up ***/

static void sim_open_server(struct sim *sim, uint32_t i, uint64_t seed)
{
	const struct scenario *s = sim->scenario;
	struct server *server = &sim->server[i];
	const double heap = scenario_at(&s->heap_gb, i) * s->heap_scale * JVM_GB;

	server->cores = scenario_at(&s->cores, i);
	server->speed = scenario_at(&s->speed, i);
	server->victim = dice_new(seed + i, DICE_VICTIM);
	server_init(server, &sim->rules, sim->job, sim->job_place);
	server->jvm = jvm_new(&sim->rules.jvm, heap);
	if (i == s->half_server)
		server->jvm.base += s->half_share * heap;
	sim->trace_at_s[i] = 0;
	if (sim->trace.n > 0) {
		struct dice dice = dice_new(seed + i, DICE_TRACE);

		sim->trace_at_s[i] = dice_even(&dice) * 1000;
	}
}

static struct server_rules sim_rules(const struct scenario *s, struct sim *sim)
{
	return (struct server_rules){
		.jvm = { .kind = s->gc,
			 .eden = s->eden,
			 .eden_least = s->eden_least,
			 .minor_pause_s = s->minor_pause,
			 .copy_bytes_per_s = s->copy_gb * JVM_GB,
			 .floating = s->floating,
			 .full_at = s->full_at,
			 .full_room = s->full_room,
			 .full_pause_s = s->full_pause,
			 .full_pause_per_gb = s->full_per_gb,
			 .mark_at = s->mark_at,
			 .out_at = s->oom_at,
			 .base = s->base_live },
		.threads = s->threads,
		.backlog = s->backlog,
		.garbage = s->garbage,
		.dies = s->oom == OOM_CRASH,
		.down_s = s->oom_down,
		.ended = call_ended,
		.arg = sim,
	};
}

static int sim_allocate(struct sim *sim)
{
	const struct scenario *s = sim->scenario;
	const uint32_t events = sim_events(sim);

	sim->server = calloc(s->servers, sizeof *sim->server);
	sim->trace_at_s = calloc(s->servers, sizeof *sim->trace_at_s);
	sim->job = calloc(SIM_CALLS_MAX, sizeof *sim->job);
	sim->job_place = malloc(SIM_CALLS_MAX * sizeof *sim->job_place);
	sim->call = calloc(SIM_CALLS_MAX, sizeof *sim->call);
	sim->free_call = calloc(SIM_CALLS_MAX, sizeof *sim->free_call);
	sim->host = calloc(s->hosts, sizeof *sim->host);
	sim->outlook = calloc((size_t)s->hosts * s->servers, sizeof *sim->outlook);
	sim->told_s = calloc(s->hosts, sizeof *sim->told_s);
	sim->is_due = calloc(s->hosts, sizeof *sim->is_due);
	sim->event_place = malloc(events * sizeof *sim->event_place);
	if (sim->server == NULL || sim->trace_at_s == NULL || sim->job == NULL ||
	    sim->job_place == NULL || sim->call == NULL || sim->free_call == NULL ||
	    sim->host == NULL || sim->outlook == NULL || sim->told_s == NULL ||
	    sim->is_due == NULL || sim->event_place == NULL ||
	    stats_init(&sim->stats, s->servers) < 0)
		return -ENOMEM;
	memset(sim->job_place, 0xff, SIM_CALLS_MAX * sizeof *sim->job_place);
	memset(sim->event_place, 0xff, events * sizeof *sim->event_place);
	queue_init(&sim->events, sim->event_place);
	for (uint32_t i = 0; i < SIM_CALLS_MAX; i++)
		sim->free_call[i] = SIM_CALLS_MAX - 1 - i;
	sim->n_free = SIM_CALLS_MAX;
	return 0;
}

static void sim_begin(struct sim *sim)
{
	const struct scenario *s = sim->scenario;

	sim->arrival = workload_next(&sim->workload);
	queue_put(&sim->events, EVENT_CALL, sim->arrival.at_s);
	queue_put(&sim->events, EVENT_SECOND, 1);
	queue_put(&sim->events, EVENT_FAULT, sim->fault_s);
	if (s->flap_server != SCENARIO_NOBODY)
		queue_put(&sim->events, EVENT_FLAP, sim->fault_s);
	if (s->restart_every > 0)
		queue_put(&sim->events, EVENT_RESTART, sim->fault_s);
	polls_begin(sim);
	polls_begin_peers(sim);
	polls_begin_checks(sim);
}

static int sim_open_hosts(struct sim *sim, struct err *err)
{
	for (uint32_t h = 0; h < sim->scenario->hosts; h++)
		if (host_open(&sim->host[h], sim->plan, h, err) < 0)
			return err->code;
	/* a new counters file gives its lines in order: calls find their server by it */
	for (uint32_t i = 0; i < sim->scenario->servers; i++)
		if (image_servers(sim->host[0].image)[i].line != i)
			return err_set(err, -EPROTO, "server %u has another line", i);
	return 0;
}

int sim_open(struct sim *sim, const struct scenario *scenario, const struct host_plan *plan,
	     uint64_t seed, struct err *err)
{
	memset(sim, 0, sizeof *sim);
	sim->scenario = scenario;
	sim->plan = plan;
	sim->end_s = scenario->duration;
	sim->warm_s = scenario->warmup * scenario->duration;
	sim->fault_s = scenario->from * scenario->duration;
	sim->rules = sim_rules(scenario, sim);
	sim->poll = dice_new(seed, DICE_POLL);
	sim->noise = dice_new(seed, DICE_NOISE);
	sim->peer = dice_new(seed, DICE_PEER);
	workload_init(&sim->workload, scenario, seed);
	if (sim_allocate(sim) < 0) {
		err_set(err, -ENOMEM, "no memory");
		goto close_sim;
	}
	if (scenario->trace[0] != '\0' && trace_read(&sim->trace, scenario->trace, err) < 0)
		goto close_sim;
	for (uint32_t i = 0; i < scenario->servers; i++)
		sim_open_server(sim, i, seed);
	if (sim_open_hosts(sim, err) < 0)
		goto close_sim;
	sim_begin(sim);
	return 0;

close_sim:
	sim_close(sim);
	return err->code;
}

void sim_close(struct sim *sim)
{
	for (uint32_t h = 0; sim->host != NULL && h < sim->scenario->hosts; h++)
		if (sim->host[h].plan != NULL)
			host_close(&sim->host[h]);
	for (uint32_t i = 0; sim->server != NULL && i < sim->scenario->servers; i++)
		server_fini(&sim->server[i]);
	queue_fini(&sim->events);
	trace_fini(&sim->trace);
	stats_fini(&sim->stats);
	free(sim->server);
	free(sim->trace_at_s);
	free(sim->job);
	free(sim->job_place);
	free(sim->call);
	free(sim->free_call);
	free(sim->host);
	free(sim->outlook);
	free(sim->told_s);
	free(sim->is_due);
	free(sim->event_place);
	memset(sim, 0, sizeof *sim);
}
