/* polls.c - what hosts learn: polls of servers, publications, messages of peers, checks. */
#include <math.h>

#include "health.h"
#include "sim.h"

#define CHECKS_FALL 3
#define CHECKS_RISE 2

#define PEER_FORGOTTEN_S 3

static struct outlook *sim_outlook(const struct sim *sim, uint32_t host, uint32_t server)
{
	return &sim->outlook[(size_t)host * sim->scenario->servers + server];
}

/*** Polls ***/

static void polls_expect(struct sim *sim, uint32_t host, uint32_t server, double at_s)
{
	queue_put(&sim->events, sim_poll_event(sim, host, server), at_s);
}

static void polls_plan_next(struct sim *sim, uint32_t host, uint32_t server)
{
	const struct scenario *s = sim->scenario;
	struct outlook *outlook = sim_outlook(sim, host, server);
	const double off = s->phase == PHASE_SYNC ? 0 : s->jitter;

	outlook->due_s += s->interval * (1 + off * (2 * dice_even(&sim->poll) - 1));
	/* an answer that came after the next poll was due: one round is left out */
	while (outlook->due_s <= sim->now_s)
		outlook->due_s += s->interval;
	polls_expect(sim, host, server, outlook->due_s);
}

/* "bytes" as a noisy exporter tells it. */
static double polls_noisy(struct sim *sim, double bytes, double heap)
{
	const double noisy =
		bytes * (1 + sim->scenario->poll_noise * (2 * dice_even(&sim->noise) - 1));

	return noisy < heap ? noisy : heap;
}

static struct sample polls_sample(struct sim *sim, struct outlook *outlook, uint32_t server)
{
	struct server *of = &sim->server[server];
	struct sample sample;
	double passed_s;

	server_advance(of, sim->now_s);
	passed_s = sim->now_s - outlook->at_s;
	sample = (struct sample){
		.heap = of->jvm.heap,
		.used = jvm_used(&of->jvm),
		.after_gc = sim->scenario->after_gc == AFTER_MAJOR ? of->jvm.after_major
								   : of->jvm.after_gc,
		.calls = server_calls(of),
		.threads = of->rules->threads,
		.hogs = server_hogs(of, sim->scenario->hog_age),
		.ended = (double)of->ended,
		.failed = (double)of->failed,
		.cpu = passed_s > 0 ? (of->busy_s - outlook->busy_s) / (passed_s * of->cores) : 0,
	};
	if (sim->trace.n > 0)
		trace_apply(&sim->trace, sim->now_s + sim->trace_at_s[server], &sample);
	if (sim->scenario->poll_noise > 0) {
		sample.used = polls_noisy(sim, sample.used, sample.heap);
		sample.after_gc = polls_noisy(sim, sample.after_gc, sample.heap);
	}
	outlook->busy_s = of->busy_s;
	outlook->at_s = sim->now_s;
	return sample;
}

static void polls_answer(struct sim *sim, uint32_t host, uint32_t server)
{
	const struct scenario *s = sim->scenario;
	struct outlook *outlook = sim_outlook(sim, host, server);
	const bool is_frozen = server == s->frozen_server &&
			       sim->now_s >= s->frozen_from * sim->end_s && outlook->at_s > 0;

	if (!is_frozen)
		outlook->last = polls_sample(sim, outlook, server);
	host_take(&sim->host[host], server, &outlook->last, sim->now_s);
	polls_touch(sim, host);
}

void polls_step(struct sim *sim, uint32_t host, uint32_t server)
{
	const struct scenario *s = sim->scenario;
	const struct server *of = &sim->server[server];
	struct outlook *outlook = sim_outlook(sim, host, server);
	const bool is_lost =
		!outlook->is_answering && s->poll_loss > 0 && dice_even(&sim->poll) < s->poll_loss;

	if (!outlook->is_answering && of->is_paused && !is_lost &&
	    of->until_s - sim->now_s <= s->poll_patience) {
		outlook->is_answering = true;
		polls_expect(sim, host, server, of->until_s);
		return;
	}
	if (!of->is_down && !is_lost && (outlook->is_answering || !of->is_paused))
		polls_answer(sim, host, server);
	outlook->is_answering = false;
	polls_plan_next(sim, host, server);
}

void polls_begin(struct sim *sim)
{
	const struct scenario *s = sim->scenario;

	if (sim->plan->is_static)
		return;
	for (uint32_t h = 0; h < s->hosts; h++) {
		double phase_s = s->phase == PHASE_HOST ? dice_even(&sim->poll) * s->interval : 0;

		for (uint32_t i = 0; i < s->servers; i++) {
			if (s->phase == PHASE_SERVER)
				phase_s = dice_even(&sim->poll) * s->interval;
			sim_outlook(sim, h, i)->due_s = phase_s;
			polls_expect(sim, h, i, phase_s);
		}
		if (s->tick > 0)
			queue_put(&sim->events, sim_publish_event(sim, h), s->tick);
	}
}

/*** Publications ***/

void polls_touch(struct sim *sim, uint32_t host)
{
	if (sim->is_due[host])
		return;
	sim->is_due[host] = true;
	queue_put(&sim->events, sim_publish_event(sim, host), sim->now_s + sim->scenario->debounce);
}

int polls_publish(struct sim *sim, uint32_t host)
{
	const uint32_t event = sim_publish_event(sim, host);

	sim->is_due[host] = false;
	if (sim->scenario->tick > 0 && !sim->plan->is_static)
		queue_put(&sim->events, event, sim->now_s + sim->scenario->tick);
	else
		queue_remove(&sim->events, event);
	return host_publish(&sim->host[host], sim->now_s, &sim->err);
}

/*** Peers ***/

/* All others hear what this host now has in progress, by how much it changed. */
static void polls_spread(struct sim *sim, uint32_t host, uint32_t server, uint32_t calls,
			 int64_t bytes)
{
	struct outlook *outlook = sim_outlook(sim, host, server);

	for (uint32_t h = 0; h < sim->scenario->hosts; h++) {
		struct cr_live *live = host_live(&sim->host[h], server);

		if (h == host)
			continue;
		__atomic_fetch_add(&live->peer_inflight, calls - outlook->told_calls,
				   __ATOMIC_RELAXED);
		__atomic_fetch_add(&live->peer_bytes, bytes - outlook->told_bytes,
				   __ATOMIC_RELAXED);
	}
	outlook->told_calls = calls;
	outlook->told_bytes = bytes;
}

void polls_tell_peers(struct sim *sim, uint32_t host)
{
	const struct scenario *s = sim->scenario;
	const bool is_heard = s->peer_loss <= 0 || dice_even(&sim->peer) >= s->peer_loss;
	const bool is_old = sim->now_s - sim->told_s[host] > PEER_FORGOTTEN_S;

	if (is_heard)
		sim->told_s[host] = sim->now_s;
	for (uint32_t i = 0; i < s->servers; i++) {
		const struct cr_live *live = host_live(&sim->host[host], i);

		if (is_heard)
			polls_spread(sim, host, i,
				     __atomic_load_n(&live->inflight, __ATOMIC_RELAXED),
				     __atomic_load_n(&live->inflight_bytes, __ATOMIC_RELAXED));
		else if (is_old)
			polls_spread(sim, host, i, 0, 0);
	}
	queue_put(&sim->events, sim_peer_event(sim, host), sim->now_s + s->peers);
}

void polls_begin_peers(struct sim *sim)
{
	const struct scenario *s = sim->scenario;

	if (s->peers <= 0 || s->hosts < 2)
		return;
	for (uint32_t h = 0; h < s->hosts; h++)
		queue_put(&sim->events, sim_peer_event(sim, h), dice_even(&sim->peer) * s->peers);
}

/*** Checks ***/

/* As callrouterd does: what has failed often enough is said again with each check while it lasts;
 * good ones say something only after that. */
static void polls_check_server(struct sim *sim, uint32_t host, uint32_t server)
{
	struct counters *counters = sim->host[host].counters;
	struct counters_line *line = counters_line(counters, server);
	struct outlook *outlook = sim_outlook(sim, host, server);
	const uint32_t enough = outlook->is_down ? CHECKS_RISE : CHECKS_FALL;

	outlook->checks = sim->server[server].is_down != outlook->is_down ? outlook->checks + 1 : 0;
	if (outlook->checks >= enough) {
		outlook->checks = 0;
		outlook->is_down = !outlook->is_down;
		if (!outlook->is_down)
			health_check_passed(counters, line, host_ns(sim->now_s));
	}
	if (outlook->is_down)
		health_check_failed(counters, line, host_ns(sim->now_s + 3 * sim->scenario->check));
}

void polls_check(struct sim *sim, uint32_t host)
{
	for (uint32_t i = 0; i < sim->scenario->servers; i++)
		polls_check_server(sim, host, i);
	queue_put(&sim->events, sim_check_event(sim, host), sim->now_s + sim->scenario->check);
}

void polls_begin_checks(struct sim *sim)
{
	const struct scenario *s = sim->scenario;

	for (uint32_t h = 0; s->check > 0 && s->health != HEALTH_OFF && h < s->hosts; h++)
		queue_put(&sim->events, sim_check_event(sim, h), (h + 1) * s->check / s->hosts);
}
