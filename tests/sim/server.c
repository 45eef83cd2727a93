/* server.c - a server as a fluid: everything is linear between two events. */
#include "server.h"

#include <math.h>

#define NO_JOB UINT32_MAX

void server_init(struct server *server, const struct server_rules *rules, struct job *job,
		 uint32_t *place)
{
	server->rules = rules;
	server->job = job;
	server->first = server->last = NO_JOB;
	server->next_s = HUGE_VAL;
	queue_init(&server->running, place);
	queue_init(&server->sending, place);
}

void server_fini(struct server *server)
{
	queue_fini(&server->running);
	queue_fini(&server->sending);
}

/*** Figures ***/

/* CPU time that each running call gets in a second. */
static double server_rate(const struct server *server)
{
	const double n = server->running.n;

	return server->cores < n ? server->speed * (server->cores / n) : server->speed;
}

static double server_calls_live(const struct server *server)
{
	const double live = server->slope * server->share - server->offset + server->sending_bytes;

	return live > 0 ? live : 0;
}

double server_live(const struct server *server)
{
	return server->jvm.base + server_calls_live(server);
}

uint32_t server_calls(const struct server *server)
{
	return server->running.n + server->sending.n + server->waiting;
}

static uint32_t queue_hogs(const struct queue *queue, const struct job *job, double came_before_s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < queue->n; i++)
		n += job[queue->entry[i].id].came_s < came_before_s;
	return n;
}

uint32_t server_hogs(const struct server *server, double older_than_s)
{
	const double before_s = server->now_s - older_than_s;

	return queue_hogs(&server->running, server->job, before_s) +
	       queue_hogs(&server->sending, server->job, before_s);
}

/*** Time ***/

void server_advance(struct server *server, double now_s)
{
	const double dt_s = now_s - server->now_s;
	double share;

	server->now_s = now_s;
	if (server->is_down || dt_s <= 0)
		return;
	server->up_s += dt_s;
	if (server->is_paused)
		return;
	server->jvm.base += server->leak_per_s * dt_s;
	if (server->running.n == 0)
		return;
	share = dt_s * server_rate(server);
	server->share += share;
	server->jvm.young += server->rules->garbage * server->slope * share;
	server->busy_s +=
		dt_s * (server->running.n < server->cores ? server->running.n : server->cores);
}

static void server_expect(struct server *server, double after_s, enum server_event event)
{
	const double at_s = server->now_s + (after_s > 0 ? after_s : 0);

	if (at_s >= server->next_s)
		return;
	server->next_s = at_s;
	server->next = event;
}

static void server_plan(struct server *server)
{
	const struct queue_entry *ran = queue_first(&server->running);
	const struct queue_entry *sent = queue_first(&server->sending);
	const double rate = ran != NULL ? server_rate(server) : 0;

	server->next = SERVER_NOTHING;
	server->next_s = HUGE_VAL;
	if (server->is_down || server->is_paused) {
		server->next = server->is_down ? SERVER_RESTARTS : SERVER_RESUMES;
		server->next_s = server->until_s;
	}
	if (sent != NULL && !server->is_down)
		server_expect(server, sent->key - server->up_s, SERVER_CALL_SENT);
	if (server->is_down || server->is_paused)
		return;
	if (ran != NULL && rate > 0)
		server_expect(server, (ran->key - server->share) / rate, SERVER_CALL_RAN);
	if (server->slope > 0 && rate > 0 && server->rules->garbage > 0)
		server_expect(server,
			      jvm_room(&server->jvm) /
				      (server->rules->garbage * server->slope * rate),
			      SERVER_COLLECTS);
}

double server_next_s(const struct server *server)
{
	return server->next_s;
}

/*** Calls ***/

static void server_begin(struct server *server, uint32_t id)
{
	struct job *job = &server->job[id];

	job->began = server->share;
	job->phase = JOB_RUNNING;
	server->slope += job->bytes / job->work_s;
	server->offset += job->bytes / job->work_s * server->share;
	queue_put(&server->running, id, server->share + job->work_s);
}

static void server_stop_running(struct server *server, uint32_t id)
{
	const struct job *job = &server->job[id];

	queue_remove(&server->running, id);
	server->slope -= job->bytes / job->work_s;
	server->offset -= job->bytes / job->work_s * job->began;
	if (server->running.n == 0)
		server->slope = server->offset = 0;
}

static void server_stop_sending(struct server *server, uint32_t id)
{
	queue_remove(&server->sending, id);
	server->sending_bytes -= server->job[id].phase == JOB_SENDING ? server->job[id].bytes : 0;
	if (server->sending.n == 0)
		server->sending_bytes = 0;
}

/* What of its data the last collection moved to the old part: garbage there from now on. */
static void server_forget_promoted(struct server *server, const struct job *job)
{
	const double run = server->share_at_gc - job->began;

	if ((job->phase != JOB_RUNNING && job->phase != JOB_SENDING) || run <= 0)
		return;
	server->jvm.promoted -= run < job->work_s ? job->bytes * (run / job->work_s) : job->bytes;
	if (server->jvm.promoted < 0)
		server->jvm.promoted = 0;
}

static uint32_t server_take_waiting(struct server *server)
{
	const uint32_t id = server->first;

	server->first = server->job[id].next;
	server->waiting--;
	if (server->waiting == 0)
		server->first = server->last = NO_JOB;
	return id;
}

/* The call has left its queue: tell, and let the next one in. */
static void server_end_call(struct server *server, uint32_t id, enum cr_outcome outcome)
{
	server_forget_promoted(server, &server->job[id]);
	server->job[id].phase = JOB_FREE;
	server->ended++;
	server->failed += outcome != CR_OK;
	server->rules->ended(server->rules->arg, id, outcome);
	if (server->waiting > 0 && !server->is_down)
		server_begin(server, server_take_waiting(server));
}

bool server_offer(struct server *server, uint32_t id, double now_s)
{
	struct job *job = &server->job[id];

	server_advance(server, now_s);
	if (server->is_down)
		return false;
	if (server->running.n + server->sending.n >= server->rules->threads) {
		if (server->waiting >= server->rules->backlog)
			return false;
		job->phase = JOB_WAITING;
		job->next = NO_JOB;
		if (server->waiting++ == 0)
			server->first = id;
		else
			server->job[server->last].next = id;
		server->last = id;
	} else {
		server_begin(server, id);
	}
	job->came_s = now_s;
	server_plan(server);
	return true;
}

bool server_offer_failing(struct server *server, uint32_t id, double now_s, double after_s,
			  enum cr_outcome outcome)
{
	server_advance(server, now_s);
	if (server->is_down)
		return false;
	server->job[id].phase = JOB_FAILING;
	server->job[id].outcome = (uint32_t)outcome;
	server->job[id].came_s = now_s;
	queue_put(&server->sending, id, server->up_s + after_s);
	server_plan(server);
	return true;
}

/*** Events ***/

static void server_call_ran(struct server *server)
{
	const uint32_t id = queue_first(&server->running)->id;
	struct job *job = &server->job[id];

	server_stop_running(server, id);
	if (job->send_s <= 0) {
		server_end_call(server, id, CR_OK);
		return;
	}
	job->phase = JOB_SENDING;
	server->sending_bytes += job->bytes;
	queue_put(&server->sending, id, server->up_s + job->send_s);
}

static void server_call_sent(struct server *server)
{
	const uint32_t id = queue_first(&server->sending)->id;
	const struct job *job = &server->job[id];

	server_stop_sending(server, id);
	server_end_call(server, id,
			job->phase == JOB_FAILING ? (enum cr_outcome)job->outcome : CR_OK);
}

static void server_collect(struct server *server)
{
	server->share_at_gc = server->share;
	server->until_s = server->now_s + jvm_collect(&server->jvm, server_calls_live(server));
	server->gc_s += server->until_s - server->now_s;
	server->is_paused = true;
}

/* The one whose allocation fails: drawn by how much each allocates. */
static uint32_t server_victim(struct server *server)
{
	double left = dice_even(&server->victim) * server->slope;

	for (uint32_t i = 0; i < server->running.n; i++) {
		const struct job *job = &server->job[server->running.entry[i].id];

		left -= job->bytes / job->work_s;
		if (left < 0)
			return server->running.entry[i].id;
	}
	return server->running.n > 0 ? server->running.entry[0].id : NO_JOB;
}

static void server_resume(struct server *server)
{
	uint32_t victim;

	server->is_paused = false;
	if (!server->jvm.is_out)
		return;
	server->jvm.is_out = false;
	if (server->rules->dies) {
		server_kill(server, server->now_s, server->now_s + server->rules->down_s);
		return;
	}
	while (server_live(server) > server->rules->jvm.out_at * server->jvm.heap &&
	       (victim = server_victim(server)) != NO_JOB) {
		server->oom_calls++;
		server_stop_running(server, victim);
		server_end_call(server, victim, CR_FAILED);
	}
}

void server_step(struct server *server, double now_s)
{
	server_advance(server, now_s);
	switch (server->next) {
	case SERVER_NOTHING:
		break;
	case SERVER_CALL_RAN:
		server_call_ran(server);
		break;
	case SERVER_CALL_SENT:
		server_call_sent(server);
		break;
	case SERVER_COLLECTS:
		server_collect(server);
		break;
	case SERVER_RESUMES:
		server_resume(server);
		break;
	case SERVER_RESTARTS:
		server->is_down = false;
		break;
	}
	server_plan(server);
}

void server_set_speed(struct server *server, double now_s, double speed)
{
	server_advance(server, now_s);
	server->speed = speed;
	server_plan(server);
}

static void server_fail_all(struct server *server)
{
	while (server->running.n > 0) {
		const uint32_t id = queue_first(&server->running)->id;

		server_stop_running(server, id);
		server_end_call(server, id, CR_FAILED);
	}
	while (server->sending.n > 0) {
		const uint32_t id = queue_first(&server->sending)->id;

		server_stop_sending(server, id);
		server_end_call(server, id, CR_FAILED);
	}
	while (server->waiting > 0)
		server_end_call(server, server_take_waiting(server), CR_FAILED);
}

void server_kill(struct server *server, double now_s, double until_s)
{
	server_advance(server, now_s);
	server->is_down = true;
	server->is_paused = false;
	server->deaths++;
	server_fail_all(server);
	server->until_s = until_s;
	jvm_restart(&server->jvm);
	server_plan(server);
}
