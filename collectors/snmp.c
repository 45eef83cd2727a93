/*
 * snmp.c - a collector that polls SNMP agents (version 2c): many at once, none of them waited for.
 *
 * A target is an agent with a socket of its own. What can be asked at once is limited (agents and
 * switches drop bursts), but a poll counts for its first moments only: agents that do not answer
 * must not hold up the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snmp_agent.h"

#define FRESH_NS    INT64_C(20000000) /* how long a poll counts as one that was just started */
#define EVENTS      64
#define BATCHES_MAX 64 /* then the host has its turn */

enum {
	OPTION_PROFILE = 0,
	OPTION_COMMUNITY_FILE,
	OPTION_STRICT_SOURCE,
	OPTION_RETRIES,
	OPTION_MAX_REPETITIONS,
	OPTION_MAX_INFLIGHT,
	OPTION_VERSION,
};

static const char *const versions[] = { "2c", NULL };

static const struct cr_option options[] = {
	[OPTION_PROFILE] = { .name = "profile",
			     .type = CR_CHOICE,
			     .choices = snmp_profile_names,
			     .help = "what the agent serves" },
	[OPTION_COMMUNITY_FILE] = { .name = "community_file",
				    .type = CR_TEXT,
				    .help = "file with the community in its first line; must not "
					    "be readable by others" },
	[OPTION_STRICT_SOURCE] = { .name = "strict_source",
				   .type = CR_BOOL,
				   .preset = "true",
				   .help = "take answers from the polled address only, and notice "
					   "at once that nobody listens; false for agents that "
					   "answer from another address" },
	[OPTION_RETRIES] = { .name = "retries",
			     .type = CR_INT,
			     .preset = "1",
			     .min = 0,
			     .max = SNMP_RETRIES_MAX,
			     .help = "how often a request is sent again; all tries share the "
				     "timeout" },
	[OPTION_MAX_REPETITIONS] = { .name = "max_repetitions",
				     .type = CR_INT,
				     .preset = "10",
				     .min = 1,
				     .max = 50,
				     .help = "rows asked for at once; halved by itself where an "
					     "agent cannot; 1: GETNEXT" },
	[OPTION_MAX_INFLIGHT] = { .name = "max_inflight",
				  .type = CR_INT,
				  .preset = "64",
				  .min = 1,
				  .max = 4096,
				  .help = "polls started at once; the others follow in order" },
	[OPTION_VERSION] = { .name = "version",
			     .type = CR_CHOICE,
			     .preset = "2c",
			     .choices = versions,
			     .help = "SNMP version" },
	{ .name = NULL },
};

TAILQ_HEAD(agents, snmp_agent);

/** One source. */
struct snmp {
	const struct cr_host *host;
	struct snmp_settings settings;
	char community[256];
	int metric[SNMP_FIELDS_MAX];
	const struct cr_round *round; /* the visit that is going on; NULL: none */
	netsnmp_large_fd_set fds;
	struct agents all;
	size_t n_all;
	struct agents waiting, suspects; /* those that did not answer last time come last */
	struct snmp_timers timers;       /* one for every target that is being polled or waits */
	size_t n_fresh;
};

/*** Opening ***/

CR_PRINTF(3, 4)
static int refuse(const struct cr_open *in, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(in->err, in->err_len, fmt, args);
	va_end(args);
	return code;
}

static const char *words(int code)
{
	const char *text = strerrordesc_np(code);

	return text != NULL ? text : "unknown error";
}

/* The first line of the open file. */
static int take_community(struct snmp *snmp, int fd, const char *path, const struct cr_open *in)
{
	struct stat status;
	ssize_t len;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return refuse(in, -EINVAL, "community_file %s: not a regular file", path);
	if ((status.st_mode & S_IRWXO) != 0)
		return refuse(in, -EACCES, "community_file %s: others can use it: chmod o= %s",
			      path, path);
	len = read(fd, snmp->community, sizeof snmp->community - 1);
	if (len < 0)
		return refuse(in, -errno, "community_file %s: %s", path, words(errno));
	snmp->community[len] = '\0';
	if (strcspn(snmp->community, "\r\n") == sizeof snmp->community - 1)
		return refuse(in, -EINVAL, "community_file %s: the first line has over 254 letters",
			      path);
	snmp->community[strcspn(snmp->community, "\r\n")] = '\0';
	if (snmp->community[0] == '\0')
		return refuse(in, -EINVAL, "community_file %s: the first line is empty", path);
	snmp->settings.access.community = snmp->community;
	snmp->settings.access.community_len = strlen(snmp->community);
	return 0;
}

static int read_community(struct snmp *snmp, const char *path, const struct cr_open *in)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int code;

	if (fd < 0)
		return refuse(in, -errno, "community_file %s: %s", path, words(errno));
	code = take_community(snmp, fd, path, in);
	close(fd);
	return code;
}

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

static void source_close(void *self)
{
	struct snmp *snmp = self;
	struct snmp_agent *agent;

	while ((agent = TAILQ_FIRST(&snmp->all)) != NULL) {
		TAILQ_REMOVE(&snmp->all, agent, all);
		snmp_agent_free(agent);
	}
	snmp_unregister_callback(SNMP_CALLBACK_LIBRARY, SNMP_CALLBACK_LOGGING, log_message, snmp,
				 1);
	snmp_timers_fini(&snmp->timers);
	netsnmp_large_fd_set_cleanup(&snmp->fds);
	if (snmp->settings.epoll >= 0)
		close(snmp->settings.epoll);
	explicit_bzero(snmp->community, sizeof snmp->community);
	free(snmp);
}

static int configure(struct snmp *snmp, const struct cr_open *in)
{
	const union cr_value *option = in->option;
	struct snmp_settings *settings = &snmp->settings;
	const struct snmp_profile *profile = &snmp_profiles[option[OPTION_PROFILE].num];

	settings->profile = profile;
	settings->access.is_strict = option[OPTION_STRICT_SOURCE].flag;
	settings->retries = (unsigned int)option[OPTION_RETRIES].num;
	settings->max_repetitions = (unsigned int)option[OPTION_MAX_REPETITIONS].num;
	settings->max_inflight = (size_t)option[OPTION_MAX_INFLIGHT].num;
	for (size_t i = 0; i < profile->n_fields; i++) {
		snmp->metric[i] = in->host->metric(in->host, profile->field[i].metric);
		if (snmp->metric[i] < 0)
			return refuse(in, -EINVAL, "the host does not take metric %s",
				      profile->field[i].metric);
	}
	settings->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (settings->epoll < 0)
		return refuse(in, -errno, "epoll: %s", words(errno));
	return read_community(snmp, option[OPTION_COMMUNITY_FILE].text, in);
}

static int source_open(const struct cr_open *in, void **self)
{
	struct snmp *snmp = calloc(1, sizeof *snmp);
	int code;

	if (snmp == NULL)
		return refuse(in, -ENOMEM, "out of memory");
	snmp->host = in->host;
	snmp->settings.epoll = -1;
	TAILQ_INIT(&snmp->all);
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

	return snmp->settings.epoll;
}

/*** Polling ***/

static void unqueue(struct snmp *snmp, struct snmp_agent *agent)
{
	if (agent->is_queued)
		TAILQ_REMOVE(agent->is_suspect ? &snmp->suspects : &snmp->waiting, agent, queued);
	agent->is_queued = false;
}

/* It does not count as just started any more. */
static void unfresh(struct snmp *snmp, struct snmp_agent *agent)
{
	if (agent->is_fresh)
		snmp->n_fresh--;
	agent->is_fresh = false;
}

static void warn_of_name(const struct snmp *snmp, struct snmp_agent *agent)
{
	const char *name = snmp_agent_foreign_row(agent);

	if (name == NULL || agent->is_warned)
		return;
	agent->is_warned = true;
	snmp->host->log(snmp->host, CR_WARN,
			"row has another name server=%s row=%s hint=\"is this the server's own "
			"agent?\"",
			agent->target->name, name);
}

/* The poll of agent is over. */
static void finish(struct snmp *snmp, struct snmp_agent *agent, enum snmp_verdict verdict)
{
	const struct cr_round *round = snmp->round;
	struct cr_target *target = agent->target;

	snmp_timers_cancel(&snmp->timers, &agent->timer);
	unfresh(snmp, agent);
	agent->is_suspect = verdict == SNMP_BAD && agent->why == CR_TIMEOUT;
	if (verdict == SNMP_GOOD) {
		warn_of_name(snmp, agent);
		snmp_agent_put(agent, round, snmp->metric);
	}
	agent->target = NULL;
	if (verdict == SNMP_GOOD)
		round->done(round, target);
	else
		round->fail(round, target, agent->why, agent->text);
}

static void advance(struct snmp *snmp, struct snmp_agent *agent, enum snmp_verdict verdict)
{
	int64_t when_ns;

	if (agent->target == NULL)
		return;
	if (verdict != SNMP_PENDING) {
		finish(snmp, agent, verdict);
		return;
	}
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
	agent = snmp_agent_new(&snmp->settings);
	if (agent == NULL)
		return NULL;
	TAILQ_INSERT_TAIL(&snmp->all, agent, all);
	snmp->n_all++;
	target->user = agent;
	return agent;
}

/* A target has become due: it gets its place in the queue. */
static void enqueue(struct snmp *snmp, struct cr_target *target)
{
	struct snmp_agent *agent = agent_of(snmp, target);

	if (agent == NULL) {
		snmp->round->fail(snmp->round, target, CR_REPLY, "out of memory");
		return;
	}
	if (agent->target != NULL || agent->is_queued)
		return; /* rounds of one target never overlap: it is being polled */
	agent->due = target;
	agent->is_queued = true;
	TAILQ_INSERT_TAIL(agent->is_suspect ? &snmp->suspects : &snmp->waiting, agent, queued);
	snmp_timers_set(&snmp->timers, &agent->timer, target->deadline_ns);
}

static void start_queued(struct snmp *snmp, int64_t now_ns)
{
	struct snmp_agent *agent;

	while (snmp->n_fresh < snmp->settings.max_inflight) {
		agent = TAILQ_FIRST(&snmp->waiting);
		if (agent == NULL)
			agent = TAILQ_FIRST(&snmp->suspects);
		if (agent == NULL)
			return;
		unqueue(snmp, agent);
		agent->is_fresh = true;
		agent->fresh_until_ns = now_ns + FRESH_NS;
		snmp->n_fresh++;
		advance(snmp, agent, snmp_agent_begin(agent, agent->due, now_ns));
	}
}

static void run_timer(struct snmp *snmp, struct snmp_agent *agent, int64_t now_ns)
{
	if (agent->is_queued) {
		unqueue(snmp, agent);
		snmp_timers_cancel(&snmp->timers, &agent->timer);
		snmp->round->fail(snmp->round, agent->due, CR_TIMEOUT,
				  "not asked in time, too many polls at once: raise max_inflight, "
				  "timeout or interval");
		return;
	}
	if (agent->is_fresh && now_ns >= agent->fresh_until_ns)
		unfresh(snmp, agent);
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
		n = epoll_wait(snmp->settings.epoll, event, EVENTS, 0);
		for (int i = 0; i < n; i++) {
			struct snmp_agent *agent = event[i].data.ptr;

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
	unqueue(snmp, agent);
	unfresh(snmp, agent);
	snmp_timers_cancel(&snmp->timers, &agent->timer);
	TAILQ_REMOVE(&snmp->all, agent, all);
	snmp->n_all--;
	snmp_agent_free(agent);
}

CR_COLLECTOR = {
	CR_COLLECTOR_HEAD("snmp", CALLROUTER_VERSION, "polls SNMP agents (version 2c)"),
	.options = options,
	.open = source_open,
	.close = source_close,
	.fd = source_fd,
	.collect = source_collect,
	.forget = source_forget,
};
