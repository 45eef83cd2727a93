/* polls.c - what hosts learn: polls of servers, publications, messages of peers. */
#include <math.h>

#include "sim.h"

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

/* What this host says it has in progress; too old: nothing. */
static void polls_tell(struct sim *sim, uint32_t host)
{
	const bool is_heard =
		sim->scenario->peer_loss <= 0 || dice_even(&sim->peer) >= sim->scenario->peer_loss;
	const bool is_old = sim->now_s - sim->told_s[host] > PEER_FORGOTTEN_S;

	if (is_heard)
		sim->told_s[host] = sim->now_s;
	for (uint32_t i = 0; i < sim->scenario->servers; i++) {
		const struct cr_live *live = host_live(&sim->host[host], i);
		struct outlook *outlook = sim_outlook(sim, host, i);

		if (is_heard) {
			outlook->told_calls = __atomic_load_n(&live->inflight, __ATOMIC_RELAXED);
			outlook->told_bytes =
				__atomic_load_n(&live->inflight_bytes, __ATOMIC_RELAXED);
		} else if (is_old) {
			outlook->told_calls = 0;
			outlook->told_bytes = 0;
		}
	}
}

void polls_tell_peers(struct sim *sim)
{
	const struct scenario *s = sim->scenario;

	for (uint32_t h = 0; h < s->hosts; h++)
		polls_tell(sim, h);
	for (uint32_t i = 0; i < s->servers; i++) {
		uint32_t calls = 0;
		int64_t bytes = 0;

		for (uint32_t h = 0; h < s->hosts; h++) {
			calls += sim_outlook(sim, h, i)->told_calls;
			bytes += sim_outlook(sim, h, i)->told_bytes;
		}
		for (uint32_t h = 0; h < s->hosts; h++) {
			const struct outlook *own = sim_outlook(sim, h, i);
			struct cr_live *live = host_live(&sim->host[h], i);

			__atomic_store_n(&live->peer_inflight, calls - own->told_calls,
					 __ATOMIC_RELAXED);
			__atomic_store_n(&live->peer_bytes, bytes - own->told_bytes,
					 __ATOMIC_RELAXED);
		}
	}
	queue_put(&sim->events, EVENT_PEERS, sim->now_s + s->peers);
}
