/* snmp_agent.c - from the first message to the verdict. */
#include "snmp_agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "files.h"
#include "snmp_about.h"
#include "snmp_endpoint.h"

#define SILENT_MAX 3 /* polls without an answer; then version 3 asks who is there */
#define USERS_KEPT 4 /* of version 3, between polls; times max_inflight */

struct snmp_agent *snmp_agent_new(struct snmp_shared *shared)
{
	struct snmp_agent *agent = calloc(1, sizeof *agent);

	if (agent == NULL)
		return NULL;
	agent->shared = shared;
	agent->ceiling = shared->settings.max_repetitions;
	agent->link.fd = -1;
	return agent;
}

/*** Open and closed ***/

static void set_idle(struct snmp_agent *agent, bool is_idle)
{
	if (is_idle && !agent->is_idle)
		TAILQ_INSERT_TAIL(&agent->shared->idle, agent, idle);
	if (!is_idle && agent->is_idle)
		TAILQ_REMOVE(&agent->shared->idle, agent, idle);
	agent->is_idle = is_idle;
}

/* The link has been closed, or will be. */
static void closed(struct snmp_agent *agent)
{
	set_idle(agent, false);
	if (agent->is_open)
		agent->shared->n_open--;
	agent->is_open = false;
}

static void close_link(struct snmp_agent *agent)
{
	closed(agent);
	snmp_link_close(&agent->link);
}

/* The keys that were made for its engine do not work, or it has another one by now. is_refuted: it
 * says so. */
static void forget_engine(struct snmp_agent *agent, bool is_refuted)
{
	const struct snmp_access *access = &agent->shared->settings.access;

	closed(agent);
	if (access->version == SNMP_VERSION_3)
		snmp_link_forget(&agent->link, access, is_refuted);
	else
		snmp_link_close(&agent->link);
	agent->is_proven = false;
}

void snmp_agent_free(struct snmp_agent *agent)
{
	snmp_agent_end(agent);
	close_link(agent);
	place_fini(&agent->place, &agent->shared->names);
	free(agent->about);
	free(agent);
}

/*** Where it is ***/

/* Take the target apart, if that has not been done. */
static int read_place(struct snmp_agent *agent, const char *endpoint, char *text, size_t text_len)
{
	struct snmp_endpoint at;
	char fault[192];
	int code;

	if (agent->place.port != 0)
		return 0;
	code = snmp_endpoint_read(&at, endpoint, fault, sizeof fault);
	if (code < 0) {
		(void)snprintf(text, text_len, "target: %s", fault);
		return code;
	}
	agent->place.is_stream = at.is_stream;
	code = place_set(&agent->place, &agent->shared->names, at.host, at.family, at.port);
	if (code < 0)
		place_explain_unset(code, text, text_len);
	return code;
}

int snmp_agent_find(struct snmp_agent *agent, const struct cr_target *target, int64_t now_ns,
		    char *text, size_t text_len)
{
	bool has_moved;
	int code = read_place(agent, target->endpoint, text, text_len);

	if (code == 0 && agent->about == NULL)
		code = snmp_about_fill(&agent->shared->settings.access, target, &agent->about, text,
				       text_len);
	if (code < 0)
		return code;
	agent->link.about = agent->about;
	code = place_find(&agent->place, &agent->shared->names, now_ns, &has_moved, text, text_len);
	if (has_moved)
		forget_engine(agent, false);
	return code;
}

/* The address does not work: the poll begins again at the next one, unless there is none. Not in
 * the middle of an answer: two addresses may be two agents. */
static bool move(struct snmp_agent *agent, int64_t now_ns)
{
	if (agent->poll->is_heard || place_left(&agent->place) == 0 ||
	    !place_turn(&agent->place, &agent->shared->names, now_ns))
		return false;
	forget_engine(agent, false);
	agent->is_moving = true;
	return true;
}

/* The way to the agent is broken: a new poll makes a new one. If it is for want of files, neither
 * its address nor another one is at fault. */
static enum snmp_verdict broken(struct snmp_agent *agent, int code, int64_t now_ns)
{
	char shown[64];

	close_link(agent);
	if (agent->poll == NULL)
		return SNMP_PENDING;
	if (!files_are_short(code)) {
		if (move(agent, now_ns))
			return SNMP_PENDING;
		place_doubt(&agent->place, &agent->shared->names, now_ns);
	}
	return snmp_poll_break(agent->poll, code, place_show(&agent->place, shown, sizeof shown));
}

static int open_socket(struct snmp_agent *agent)
{
	struct snmp_shared *shared = agent->shared;
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = agent };
	struct snmp_agent *oldest = TAILQ_FIRST(&shared->idle);
	/* Nobody answers there: does somebody elsewhere? */
	const bool is_wide = !agent->is_proven || agent->n_silent > 0;
	int code;

	if (shared->n_open >= shared->settings.max_open && oldest != NULL)
		close_link(oldest);
	code = snmp_link_open(&agent->link, &agent->place, &shared->settings.access, is_wide);
	oldest = TAILQ_FIRST(&shared->idle);
	if (files_are_short(code) && oldest != NULL) {
		close_link(oldest);
		code = snmp_link_open(&agent->link, &agent->place, &shared->settings.access,
				      is_wide);
	}
	if (code < 0)
		return code;
	agent->is_proven |= snmp_link_is_proven(&agent->link);
	agent->is_open = true;
	shared->n_open++;
	if (agent->link.is_connecting)
		event.events = EPOLLOUT;
	return epoll_ctl(shared->epoll, EPOLL_CTL_ADD, agent->link.fd, &event) < 0 ? -errno : 0;
}

static enum snmp_verdict open_link(struct snmp_agent *agent, int64_t now_ns)
{
	int code;

	set_idle(agent, false);
	if (agent->link.fd >= 0)
		return SNMP_PENDING;
	code = open_socket(agent);
	return code < 0 ? broken(agent, code, now_ns) : SNMP_PENDING;
}

/*** Asking ***/

/* net-snmp's callback: an answer, or the end of a request that nobody waits for any more. Copies
 * what it needs, acts later: net-snmp is in the middle of something. */
static int take_answer(int op, netsnmp_session *session, int id, netsnmp_pdu *pdu, void *magic)
{
	struct snmp_poll *poll = ((struct snmp_agent *)magic)->poll;
	bool is_asked = false;

	(void)session;
	if (op != NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE || poll == NULL)
		return 1;
	if (pdu->command == SNMP_MSG_REPORT) {
		poll->verdict = snmp_poll_report(poll, pdu);
		poll->is_answered = poll->verdict == SNMP_BAD;
		return 1;
	}
	for (unsigned int i = 0; i < poll->tries; i++)
		is_asked |= poll->id[i] == id;
	if (!is_asked || pdu->command != SNMP_MSG_RESPONSE)
		return 1;
	poll->is_answered = true;
	poll->verdict = snmp_poll_answer(poll, pdu);
	return 1;
}

static enum snmp_verdict send_message(struct snmp_agent *agent, int64_t now_ns)
{
	struct snmp_poll *poll = agent->poll;
	netsnmp_pdu *pdu = snmp_walk_message(&poll->walk);
	long id;

	if (pdu == NULL)
		return snmp_poll_fail(poll, CR_REPLY, "out of memory");
	id = snmp_link_send(&agent->link, pdu, poll->target->deadline_ns - now_ns, take_answer,
			    agent);
	/* A full send buffer loses this try, like the network might. */
	if (id < 0 && (agent->link.is_stream || (id != -EAGAIN && id != -ENOBUFS)))
		return broken(agent, (int)id, now_ns);
	poll->id[poll->tries++] = id;
	return SNMP_PENDING;
}

static enum snmp_verdict discover(struct snmp_agent *agent, int64_t now_ns)
{
	const int code = snmp_link_discover(&agent->link);

	if (code < 0 && (agent->link.is_stream || (code != -EAGAIN && code != -ENOBUFS)))
		return broken(agent, code, now_ns);
	agent->poll->is_discovering = true;
	agent->poll->tries++;
	return SNMP_PENDING;
}

/* Send the first try of the next message. */
static enum snmp_verdict ask(struct snmp_agent *agent, int64_t now_ns)
{
	agent->poll->step_ns = now_ns;
	agent->poll->tries = 0;
	return agent->link.session == NULL ? discover(agent, now_ns) : send_message(agent, now_ns);
}

/* Open the link if need be, and send what comes next, or wait for the connection. */
static enum snmp_verdict go(struct snmp_agent *agent, int64_t now_ns)
{
	agent->poll->is_discovering = agent->poll->has_discovered = false;
	agent->poll->step_ns = now_ns;
	agent->poll->tries = 0;
	if (open_link(agent, now_ns) == SNMP_BAD)
		return SNMP_BAD;
	if (agent->is_moving || agent->link.is_connecting)
		return SNMP_PENDING;
	snmp_link_expire(&agent->link); /* tries of older polls that were never answered */
	return ask(agent, now_ns);
}

/* What came of a step. As long as addresses are refused at once, the next one is tried at once. */
static enum snmp_verdict settle(struct snmp_agent *agent, enum snmp_verdict verdict, int64_t now_ns)
{
	while (verdict == SNMP_PENDING && agent->is_moving) {
		agent->is_moving = false;
		verdict = go(agent, now_ns);
	}
	return verdict;
}

enum snmp_verdict snmp_agent_begin(struct snmp_agent *agent, struct cr_target *target,
				   int64_t now_ns)
{
	agent->poll = snmp_shared_take_poll(agent->shared);
	if (agent->poll == NULL)
		return SNMP_BAD;
	agent->poll->due_ns = agent->due_ns;
	snmp_link_begin(&agent->link);
	if (snmp_poll_start(agent->poll, target, agent->about, &agent->ceiling, now_ns) == SNMP_BAD)
		return SNMP_BAD;
	return settle(agent, go(agent, now_ns), now_ns);
}

void snmp_agent_end(struct snmp_agent *agent)
{
	struct snmp_shared *shared = agent->shared;
	struct snmp_poll *poll = agent->poll;

	if (poll == NULL)
		return;
	agent->poll = NULL;
	snmp_link_end(&agent->link);
	if (agent->link.is_wide && agent->is_proven && agent->n_silent == 0)
		close_link(agent); /* the next one hears its address only */
	if (shared->n_open > USERS_KEPT * shared->settings.max_inflight)
		snmp_link_rest(&agent->link);
	set_idle(agent, agent->is_open);
	snmp_shared_give_poll(shared, poll);
}

/*** Hearing ***/

/* The connection is made, or not. */
static enum snmp_verdict take_connection(struct snmp_agent *agent, int64_t now_ns)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = agent };
	int code = snmp_link_connected(&agent->link);

	if (code == 0 && epoll_ctl(agent->shared->epoll, EPOLL_CTL_MOD, agent->link.fd, &event) < 0)
		code = -errno;
	if (code < 0)
		return broken(agent, code, now_ns);
	return agent->poll != NULL ? ask(agent, now_ns) : SNMP_PENDING;
}

/* The answer to "who are you?" */
static enum snmp_verdict take_engine(struct snmp_agent *agent, int64_t now_ns)
{
	const int code = snmp_link_learn(&agent->link);

	if (code == -EBADMSG && agent->poll != NULL)
		agent->poll->strays++;
	if (code == 0 || code == -EBADMSG)
		return SNMP_PENDING;
	if (code < 0)
		return broken(agent, code, now_ns);
	if (agent->poll == NULL)
		return SNMP_PENDING;
	agent->poll->is_discovering = false;
	agent->poll->has_discovered = agent->poll->is_heard = true;
	return ask(agent, now_ns);
}

/* The agent says that it has another engine than the one our keys are bound to: it has lost its
 * state, and was started again. */
static enum snmp_verdict resume(struct snmp_agent *agent, int64_t now_ns)
{
	forget_engine(agent, true);
	agent->poll->is_resumed = true;
	return go(agent, now_ns);
}

static enum snmp_verdict take_report(struct snmp_agent *agent, int64_t now_ns)
{
	const struct snmp_report *report = &agent->link.report;
	enum snmp_verdict verdict;

	agent->poll->is_heard = true;
	if (report->complaint == SNMP_NOT_IN_TIME) {
		agent->poll->n_late++; /* net-snmp sends it again, once */
		return SNMP_PENDING;
	}
	if (report->complaint == SNMP_UNKNOWN_ENGINE && !agent->poll->is_resumed &&
	    agent->shared->settings.access.engine.len == 0)
		return resume(agent, now_ns);
	verdict = snmp_poll_complain(agent->poll, report);
	place_doubt(&agent->place, &agent->shared->names, now_ns);
	forget_engine(agent, true);
	return verdict;
}

/* The message was an answer, but for another context. */
static void note_context(struct snmp_agent *agent)
{
	if (!agent->link.has_context)
		return;
	agent->poll->has_other_context = true;
	memcpy(agent->poll->other_context, agent->link.context, sizeof agent->link.context);
}

static enum snmp_verdict take_event(struct snmp_agent *agent, netsnmp_large_fd_set *fds,
				    int64_t now_ns)
{
	struct snmp_poll *poll = agent->poll;
	int code;

	if (agent->link.fd < 0)
		return SNMP_PENDING;
	if (agent->link.is_connecting)
		return take_connection(agent, now_ns);
	if (agent->link.session == NULL)
		return take_engine(agent, now_ns);
	code = snmp_link_read(&agent->link, fds);
	if (code == -EAGAIN)
		return SNMP_PENDING;
	if (code < 0 && code != -EBADMSG)
		return broken(agent, code, now_ns);
	if (poll == NULL)
		return SNMP_PENDING;
	if (!poll->is_answered && agent->link.has_report)
		return take_report(agent, now_ns);
	if (!poll->is_answered) {
		poll->strays++;
		note_context(agent);
		return SNMP_PENDING;
	}
	poll->is_answered = false;
	poll->is_heard = agent->is_proven = true;
	agent->n_silent = 0;
	agent->heard_ns = now_ns;
	snmp_link_prove(&agent->link, now_ns);
	return poll->verdict == SNMP_PENDING ? ask(agent, now_ns) : poll->verdict;
}

enum snmp_verdict snmp_agent_event(struct snmp_agent *agent, netsnmp_large_fd_set *fds,
				   int64_t now_ns)
{
	return settle(agent, take_event(agent, fds, now_ns), now_ns);
}

/*** Time ***/

/* Addresses that are tried after this one if it stays silent. One that has answered before is asked
 * again: the message may have got lost. Every second poll in vain is one address's alone, each in
 * turn: it may need all of the time. */
static unsigned int others(const struct snmp_agent *agent)
{
	if (agent->poll->is_heard || agent->is_proven || agent->n_silent % 2 != 0)
		return 0;
	return place_left(&agent->place);
}

/* When the message is sent once more, or to another address: the time up to the deadline is shared
 * evenly by all tries. */
int64_t snmp_agent_when_ns(const struct snmp_agent *agent)
{
	const struct snmp_poll *poll = agent->poll;
	const int64_t deadline_ns = poll->target->deadline_ns;
	const unsigned int places = others(agent);
	unsigned int more = agent->shared->settings.retries, tries = poll->tries;

	/* A connection repeats what gets lost by itself. */
	if (agent->place.is_stream) {
		more = agent->link.is_connecting ? places : 0;
		tries = 1;
	}
	if (more < places)
		more = places;
	if (tries == 0 || tries > more)
		return deadline_ns;
	return poll->step_ns + (deadline_ns - poll->step_ns) / (more + 1) * tries;
}

bool snmp_agent_is_alone(const struct snmp_agent *agent)
{
	const int64_t heard_ns = agent->link.known->heard_ns;
	const int64_t since_ns = agent->n_silent > 0 ? agent->silent_ns : agent->poll->begun_ns;

	return heard_ns >= since_ns && heard_ns > agent->heard_ns &&
	       agent->heard_ns < agent->poll->begun_ns;
}

/* Has nobody been answered for long? Then nobody knows who is there. */
static void note_silence(struct snmp_agent *agent)
{
	agent->poll->is_alone = snmp_agent_is_alone(agent);
	agent->silent_ns = agent->poll->begun_ns;
	if (++agent->link.known->n_silent >= SILENT_MAX)
		agent->link.known->engine.len = 0;
}

static enum snmp_verdict give_up(struct snmp_agent *agent, int64_t now_ns)
{
	const struct snmp_link *link = &agent->link;
	enum snmp_verdict verdict;
	/* The next poll begins at another address, and by then the name has been looked up. */
	const bool has_turned = place_turn(&agent->place, &agent->shared->names, now_ns);

	note_silence(agent);
	verdict = snmp_poll_give_up(agent->poll, link->is_connecting, agent->is_proven,
				    link->has_stranger ? &link->stranger : NULL);
	place_doubt(&agent->place, &agent->shared->names, now_ns);
	/* A connected socket keeps the local address that it was given: take a new one. */
	if (++agent->n_silent >= SILENT_MAX || !agent->is_proven || agent->poll->n_late > 0 ||
	    has_turned)
		forget_engine(agent, agent->poll->n_late > 0);
	else
		close_link(agent);
	return verdict;
}

enum snmp_verdict snmp_agent_tick(struct snmp_agent *agent, int64_t now_ns)
{
	struct snmp_poll *poll = agent->poll;

	if (now_ns >= poll->target->deadline_ns)
		return give_up(agent, now_ns);
	if (now_ns < snmp_agent_when_ns(agent))
		return SNMP_PENDING;
	if (others(agent) > 0 && move(agent, now_ns))
		return settle(agent, SNMP_PENDING, now_ns);
	if (poll->is_discovering)
		return settle(agent, discover(agent, now_ns), now_ns);
	/* Perhaps the answer was too long for the way: ask for less. */
	if (poll->walk.request->format == SOURCE_SNMP_TABLE)
		snmp_walk_shrink(&poll->walk);
	return settle(agent, send_message(agent, now_ns), now_ns);
}
