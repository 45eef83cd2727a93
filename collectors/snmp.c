/*
 * snmp.c - a collector that polls SNMP agents (versions 1, 2c and 3): many at once, none of them
 * waited for. What is asked and what it means is the source's to say (source.h).
 *
 * A target is an agent with a socket of its own. What can be asked at once is limited (agents and
 * switches drop bursts), but a poll counts for its first moments only: agents that do not answer
 * must not hold up the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "errno_words.h"
#include "snmp_agent.h"
#include "snmp_endpoint.h"
#include "snmp_peers.h"
#include "snmp_settings.h"

#define FRESH_NS    INT64_C(20000000) /* how long a poll counts as one that was just started */
#define EVENTS      64
#define BATCHES_MAX 64 /* then the host has its turn */

/** One source. */
struct snmp {
	const struct cr_host *host;
	struct snmp_config config;
	struct snmp_shared shared;
	int metric[SOURCE_METRICS_MAX];
	const struct cr_round *round; /* the visit that is going on; NULL: none */
	netsnmp_large_fd_set fds;
	struct snmp_agents all;
	size_t n_all;
	struct snmp_agents naming;            /* due, but their names are being looked up */
	struct snmp_agents waiting, suspects; /* those that did not answer last time come last */
	struct snmp_peers peers;
	struct snmp_timers timers; /* one for every target that is being polled or waits */
	size_t n_fresh;
};

/*** Opening ***/

/* What net-snmp has to say while this instance uses it. */
static int log_message(int major, int minor, void *server_arg, void *client_arg)
{
	const struct snmp_log_message *message = server_arg;
	const struct snmp *snmp = client_arg;

	(void)major;
	(void)minor;
	if (snmp->round != NULL && message != NULL && message->msg != NULL)
		snmp->host->log(snmp->host, CR_DEBUG, "net-snmp message text=\"%.*s\"",
				(int)strcspn(message->msg, "\n"), message->msg);
	return 0;
}

static void part_with(struct snmp *snmp, struct snmp_agent *agent)
{
	struct snmp_peer *peer = agent->peer; /* the agent looks into it to its end */

	TAILQ_REMOVE(&snmp->all, agent, all);
	snmp_agent_free(agent);
	snmp_peers_leave(&snmp->peers, peer);
}

static void source_close(void *self)
{
	struct snmp *snmp = self;
	struct snmp_agent *agent;

	while ((agent = TAILQ_FIRST(&snmp->all)) != NULL)
		part_with(snmp, agent);
	snmp_unregister_callback(SNMP_CALLBACK_LIBRARY, SNMP_CALLBACK_LOGGING, log_message, snmp,
				 1);
	snmp_timers_fini(&snmp->timers);
	netsnmp_large_fd_set_cleanup(&snmp->fds);
	if (snmp->shared.epoll >= 0)
		close(snmp->shared.epoll);
	snmp_shared_fini(&snmp->shared);
	snmp_config_fini(&snmp->config);
	free(snmp);
}

static int configure(struct snmp *snmp, const struct cr_open *in)
{
	const struct source *source;
	int code = snmp_config_read(&snmp->config, in, &snmp->shared.settings);

	if (code < 0)
		return code;
	source = snmp->config.source;
	for (size_t i = 0; i < source->n_metrics; i++) {
		snmp->metric[i] = in->host->metric(in->host, source->metric[i]);
		if (snmp->metric[i] < 0)
			return snmp_config_refuse(in, -EINVAL, "the host does not take metric %s",
						  source->metric[i]);
	}
	snmp->shared.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (snmp->shared.epoll < 0)
		return snmp_config_refuse(in, -errno, "epoll: %s", errno_words(errno));
	place_names_init(&snmp->shared.names, snmp->shared.epoll, 0);
	return 0;
}

static int source_open(const struct cr_open *in, void **self)
{
	struct snmp *snmp = calloc(1, sizeof *snmp);
	int code;

	if (snmp == NULL)
		return snmp_config_refuse(in, -ENOMEM, "out of memory");
	snmp->host = in->host;
	snmp->shared.epoll = -1;
	TAILQ_INIT(&snmp->shared.idle);
	SLIST_INIT(&snmp->shared.polls);
	TAILQ_INIT(&snmp->all);
	TAILQ_INIT(&snmp->naming);
	TAILQ_INIT(&snmp->waiting);
	TAILQ_INIT(&snmp->suspects);
	netsnmp_large_fd_set_init(&snmp->fds, 1024);
	NETSNMP_LARGE_FD_ZERO(&snmp->fds);
	snmp_link_prepare();
	snmp_register_callback(SNMP_CALLBACK_LIBRARY, SNMP_CALLBACK_LOGGING, log_message, snmp);
	code = configure(snmp, in);
	if (code < 0) {
		source_close(snmp);
		return code;
	}
	*self = snmp;
	return 0;
}

static int source_fd(const void *self)
{
	const struct snmp *snmp = self;

	return snmp->shared.epoll;
}

/*** Polling ***/

static void unqueue(struct snmp_agent *agent)
{
	if (agent->queue != NULL)
		TAILQ_REMOVE(agent->queue, agent, queued);
	agent->queue = NULL;
}

static void enter(struct snmp_agent *agent, struct snmp_agents *queue)
{
	agent->queue = queue;
	TAILQ_INSERT_TAIL(queue, agent, queued);
}

/* Another target that is the same agent has its turn next. */
static void unpark(struct snmp *snmp, const struct snmp_peer *peer)
{
	struct snmp_agent *next = TAILQ_FIRST(&peer->parked);

	if (next == NULL)
		return;
	unqueue(next);
	next->queue = &snmp->waiting;
	TAILQ_INSERT_HEAD(next->queue, next, queued);
}

/* Its poll is over. */
static void release(struct snmp *snmp, struct snmp_agent *agent)
{
	if (!agent->is_counted)
		return;
	agent->is_counted = false;
	agent->peer->n_polling--;
	unpark(snmp, agent->peer);
}

/* It will not be polled after all; if it had its turn, the turn is another one's. */
static void give_way(struct snmp *snmp, struct snmp_agent *agent)
{
	const bool had_turn = agent->was_parked && agent->queue == &snmp->waiting;

	unqueue(agent);
	if (had_turn)
		unpark(snmp, agent->peer);
}

/* It does not count as just started any more. */
static void unfresh(struct snmp *snmp, struct snmp_agent *agent)
{
	if (agent->is_fresh)
		snmp->n_fresh--;
	agent->is_fresh = false;
}

/* What an agent says that cannot be true is told once, until it is all right again. */
static void warn_of_values(const struct snmp *snmp, struct snmp_agent *agent)
{
	const struct source_sample *sample = agent->poll->sample;

	if (sample->n_notes > 0 && !agent->is_warned)
		snmp->host->log(snmp->host, CR_WARN,
				"value not taken target=%s row=%s why=\"%s\" others=%zu",
				agent->poll->target->name,
				sample->note[0].row[0] != '\0' ? sample->note[0].row : "-",
				sample->note[0].text, sample->n_notes + sample->n_unnoted - 1);
	agent->is_warned = sample->n_notes > 0;
}

static void put_sample(const struct snmp *snmp, struct snmp_agent *agent)
{
	const struct snmp_poll *poll = agent->poll;
	const struct source_sample *sample = poll->sample;

	if (sample->why == 0 || sample->is_partial)
		warn_of_values(snmp, agent);
	/* The time of asking, so that no value is taken for younger than it is. */
	for (size_t i = 0; i < sample->n_rows; i++)
		source_put_row(sample, &sample->row[i], snmp->round, poll->target, snmp->metric,
			       poll->begun_ns);
}

/* The poll of agent, which has just been started or is under way, is over. */
static void finish(struct snmp *snmp, struct snmp_agent *agent, enum snmp_verdict verdict)
{
	const struct cr_round *round = snmp->round;
	struct snmp_poll *poll = agent->poll;

	snmp_timers_cancel(&snmp->timers, &agent->timer);
	unfresh(snmp, agent);
	release(snmp, agent);
	if (poll == NULL) {
		round->fail(round, agent->due, CR_REPLY, "out of memory");
		return;
	}
	agent->is_suspect = verdict == SNMP_BAD && poll->why == CR_TIMEOUT;
	/* A sample that was judged: if nothing of it can be used, what cannot be true is counted.
	 */
	if (verdict == SNMP_GOOD || (poll->sample != NULL && poll->sample->why != 0))
		put_sample(snmp, agent);
	if (verdict == SNMP_GOOD)
		round->done(round, poll->target);
	else
		round->fail(round, poll->target, poll->why, poll->text);
	snmp_agent_end(agent);
}

static void advance(struct snmp *snmp, struct snmp_agent *agent, enum snmp_verdict verdict)
{
	int64_t when_ns;

	if (verdict != SNMP_PENDING) {
		finish(snmp, agent, verdict);
		return;
	}
	if (agent->poll == NULL)
		return;
	when_ns = snmp_agent_when_ns(agent);
	if (agent->is_fresh && agent->fresh_until_ns < when_ns)
		when_ns = agent->fresh_until_ns;
	snmp_timers_set(&snmp->timers, &agent->timer, when_ns);
}

static struct snmp_agent *agent_of(struct snmp *snmp, struct cr_target *target)
{
	struct snmp_agent *agent = target->user;

	if (agent != NULL)
		return agent;
	if (snmp_timers_reserve(&snmp->timers, snmp->n_all + 1) < 0)
		return NULL;
	agent = snmp_agent_new(&snmp->shared);
	if (agent == NULL)
		return NULL;
	agent->peer = snmp_peers_join(&snmp->peers, target->endpoint);
	if (agent->peer == NULL) {
		snmp_agent_free(agent);
		return NULL;
	}
	agent->link.known = &agent->peer->known;
	TAILQ_INSERT_TAIL(&snmp->all, agent, all);
	snmp->n_all++;
	target->user = agent;
	return agent;
}

/* A target that is due gets its place in a queue, or its poll is over. */
static void give_place(struct snmp *snmp, struct snmp_agent *agent, int64_t now_ns)
{
	char text[256];
	const int found = snmp_agent_find(agent, agent->due, now_ns, text, sizeof text);

	if (found == 0) {
		enter(agent, &snmp->naming);
	} else if (found > 0) {
		enter(agent, agent->is_suspect ? &snmp->suspects : &snmp->waiting);
	} else {
		snmp_timers_cancel(&snmp->timers, &agent->timer);
		snmp->round->fail(snmp->round, agent->due, CR_CONNECT, text);
	}
}

/* Names have been looked up. */
static void take_names(struct snmp *snmp, int64_t now_ns)
{
	struct snmp_agent *agent = TAILQ_FIRST(&snmp->naming), *next;

	for (; agent != NULL; agent = next) {
		next = TAILQ_NEXT(agent, queued);
		if (!place_is_found(&agent->place))
			continue;
		unqueue(agent);
		give_place(snmp, agent, now_ns);
	}
}

/* A target has become due. */
static void enqueue(struct snmp *snmp, struct cr_target *target)
{
	struct snmp_agent *agent = agent_of(snmp, target);

	if (agent == NULL) {
		snmp->round->fail(snmp->round, target, CR_REPLY, "out of memory");
		return;
	}
	if (agent->poll != NULL || agent->queue != NULL)
		return; /* rounds of one target never overlap: it is being polled */
	agent->due = target;
	agent->was_parked = false;
	snmp_timers_set(&snmp->timers, &agent->timer, target->deadline_ns);
	give_place(snmp, agent, snmp->round->now_ns);
}

static void start_queued(struct snmp *snmp, int64_t now_ns)
{
	const struct snmp_settings *settings = &snmp->shared.settings;
	struct snmp_agent *agent;

	while (snmp->n_fresh < settings->max_inflight &&
	       snmp->shared.n_polling < settings->max_open) {
		agent = TAILQ_FIRST(&snmp->waiting);
		if (agent == NULL)
			agent = TAILQ_FIRST(&snmp->suspects);
		if (agent == NULL)
			return;
		unqueue(agent);
		if (agent->peer->n_polling >= settings->max_per_agent) {
			enter(agent, &agent->peer->parked);
			agent->was_parked = true;
			continue;
		}
		agent->peer->n_polling++;
		agent->is_counted = agent->is_fresh = true;
		agent->fresh_until_ns = now_ns + FRESH_NS;
		snmp->n_fresh++;
		advance(snmp, agent, snmp_agent_begin(agent, agent->due, now_ns));
	}
}

/* It has not been polled, and its time is over. */
static void drop(struct snmp *snmp, struct snmp_agent *agent)
{
	const bool has_no_place = agent->queue == &snmp->naming;
	const char *why = agent->was_parked
				  ? "not asked in time, the agent has not answered for other "
				    "targets yet: raise timeout or max_per_agent"
				  : "not asked in time, too many polls at once: raise "
				    "max_inflight, timeout or interval";
	char text[256];

	give_way(snmp, agent);
	snmp_timers_cancel(&snmp->timers, &agent->timer);
	if (has_no_place)
		place_explain_late(&agent->place, text, sizeof text);
	snmp->round->fail(snmp->round, agent->due, CR_TIMEOUT, has_no_place ? text : why);
}

static void run_timer(struct snmp *snmp, struct snmp_agent *agent, int64_t now_ns)
{
	if (agent->queue != NULL) {
		drop(snmp, agent);
		return;
	}
	if (agent->is_fresh && now_ns >= agent->fresh_until_ns) {
		unfresh(snmp, agent);
		/* The agent is well, but keeps silent about this target: nobody waits for that. */
		if (agent->n_silent > 0 && snmp_agent_is_alone(agent))
			release(snmp, agent);
	}
	advance(snmp, agent, snmp_agent_tick(agent, now_ns));
}

static void run_timers(struct snmp *snmp, int64_t now_ns)
{
	struct snmp_timer *timer;

	while ((timer = snmp_timers_first(&snmp->timers)) != NULL && timer->when_ns <= now_ns)
		run_timer(snmp, (struct snmp_agent *)timer, now_ns); /* its first member */
}

static void take_events(struct snmp *snmp, int64_t now_ns)
{
	struct epoll_event event[EVENTS];
	int n = EVENTS;

	for (int batch = 0; batch < BATCHES_MAX && n == EVENTS; batch++) {
		n = epoll_wait(snmp->shared.epoll, event, EVENTS, 0);
		for (int i = 0; i < n; i++) {
			struct snmp_agent *agent = event[i].data.ptr;

			if (agent == NULL)
				take_names(snmp, now_ns);
			else
				advance(snmp, agent, snmp_agent_event(agent, &snmp->fds, now_ns));
		}
	}
}

static int64_t source_collect(void *self, const struct cr_round *round)
{
	struct snmp *snmp = self;
	const struct snmp_timer *first;

	snmp->round = round;
	take_events(snmp, round->now_ns);
	for (size_t i = 0; i < round->n; i++)
		enqueue(snmp, round->target[i]);
	run_timers(snmp, round->now_ns);
	start_queued(snmp, round->now_ns);
	snmp->round = NULL;
	first = snmp_timers_first(&snmp->timers);
	return first != NULL ? first->when_ns : INT64_MAX;
}

static void source_forget(void *self, struct cr_target *target)
{
	struct snmp *snmp = self;
	struct snmp_agent *agent = target->user;

	if (agent == NULL)
		return;
	target->user = NULL;
	give_way(snmp, agent);
	unfresh(snmp, agent);
	release(snmp, agent);
	snmp_timers_cancel(&snmp->timers, &agent->timer);
	snmp->n_all--;
	part_with(snmp, agent);
}

static int source_check(void *self, const char *target, char *err, size_t err_len)
{
	struct snmp_endpoint endpoint;

	(void)self;
	return snmp_endpoint_read(&endpoint, target, err, err_len);
}

CR_COLLECTOR = {
	CR_COLLECTOR_HEAD("snmp", CALLROUTER_VERSION, "polls SNMP agents (versions 1, 2c, 3)"),
	.options = snmp_options,
	.open = source_open,
	.close = source_close,
	.fd = source_fd,
	.collect = source_collect,
	.forget = source_forget,
	.check = source_check,
};
