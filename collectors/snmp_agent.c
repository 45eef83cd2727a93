/* snmp_agent.c - the life of one poll, from the first request to the verdict. */
#include "snmp_agent.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define MS           INT64_C(1000000)
#define RESOLVE_WAIT (30000 * MS)

struct snmp_agent *snmp_agent_new(const struct snmp_settings *settings)
{
	struct snmp_agent *agent = calloc(1, sizeof *agent);

	if (agent == NULL)
		return NULL;
	agent->settings = settings;
	if (settings->profile->n_keys == 0)
		return agent;
	agent->table = malloc(sizeof *agent->table);
	if (agent->table == NULL) {
		free(agent);
		return NULL;
	}
	snmp_table_init(agent->table, settings->profile, settings->max_repetitions);
	return agent;
}

void snmp_agent_free(struct snmp_agent *agent)
{
	agent->target = NULL;
	snmp_link_close(&agent->link);
	if (agent->table != NULL)
		snmp_table_fini(agent->table);
	free(agent->table);
	free(agent);
}

CR_PRINTF(3, 4)
static enum snmp_verdict bad(struct snmp_agent *agent, enum cr_why why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(agent->text, sizeof agent->text, fmt, args);
	va_end(args);
	agent->why = why;
	return SNMP_BAD;
}

static enum snmp_verdict judge_scalars(struct snmp_agent *agent, const netsnmp_pdu *pdu)
{
	const struct snmp_profile *profile = agent->settings->profile;
	size_t missing = 0;

	if (snmp_profile_answer(profile, pdu->variables, agent->found, agent->value) < 0)
		return bad(agent, CR_REPLY, "the answer is about other objects than the question");
	for (size_t i = 0; i < profile->n_fields; i++)
		missing += agent->found[i] == SNMP_MISSING;
	if (missing == profile->n_fields)
		return bad(agent, CR_ABSENT, "%s", profile->absent);
	/* The first field is what the profile is for. */
	if (agent->found[0] != SNMP_FOUND)
		return bad(agent, CR_VALUE, "the agent gives no usable %s",
			   profile->field[0].metric);
	return SNMP_GOOD;
}

static bool row_has_value(const struct snmp_row *row, size_t n_fields)
{
	for (size_t i = 0; i < n_fields; i++)
		if (!isnan(row->value[i]))
			return true;
	return false;
}

/* The walk is over: is what was looked for among the rows? */
static enum snmp_verdict judge_rows(struct snmp_agent *agent)
{
	const struct snmp_profile *profile = agent->settings->profile;
	const struct snmp_table *table = agent->table;
	const struct snmp_row *first = NULL, *own = NULL;
	size_t named = 0, usable = 0;

	for (const struct snmp_row *row = table->row; row < table->row + table->n_rows; row++) {
		if (!row->is_named)
			continue;
		if (named++ == 0)
			first = row;
		usable += row_has_value(row, profile->n_fields);
		if (strcmp(row->name, agent->target->name) == 0)
			own = row;
	}
	if (table->n_rows == 0)
		return bad(agent, CR_ABSENT, "%s", profile->absent);
	if (first == NULL)
		return bad(agent, CR_VALUE, "none of the table's %zu rows names a server",
			   table->n_rows);
	agent->own = own != NULL ? own : first;
	if (agent->target->is_shared)
		return usable > 0
			       ? SNMP_GOOD
			       : bad(agent, CR_VALUE, "no usable number in any of %zu rows", named);
	if (own == NULL && named > 1)
		return bad(agent, CR_ABSENT,
			   "none of %zu rows is of server %s (the first is of %s): is it running?",
			   named, agent->target->name, first->name);
	return row_has_value(agent->own, profile->n_fields)
		       ? SNMP_GOOD
		       : bad(agent, CR_VALUE, "no usable number in the row of %s",
			     agent->own->name);
}

static enum snmp_verdict judge_error(struct snmp_agent *agent, long error)
{
	if (error == SNMP_ERR_TOOBIG && agent->table != NULL &&
	    snmp_table_shrink(agent->table, true))
		return SNMP_PENDING;
	if (error == SNMP_ERR_NOSUCHNAME && agent->table == NULL)
		return bad(agent, CR_ABSENT, "%s", agent->settings->profile->absent);
	return bad(agent,
		   error == SNMP_ERR_AUTHORIZATIONERROR || error == SNMP_ERR_NOACCESS ? CR_AUTH
										      : CR_REPLY,
		   "the agent answered with an error: %s (%ld)",
		   snmp_errstring(error >= 0 && error <= MAX_SNMP_ERR ? (int)error : -1), error);
}

static enum snmp_verdict judge(struct snmp_agent *agent, const netsnmp_pdu *pdu)
{
	char text[sizeof agent->text];
	int code;

	if (pdu->errstat != SNMP_ERR_NOERROR)
		return judge_error(agent, pdu->errstat);
	if (agent->table == NULL)
		return judge_scalars(agent, pdu);
	code = snmp_table_answer(agent->table, pdu->variables, text, sizeof text);
	if (code < 0)
		return bad(agent, CR_REPLY, "%s", text);
	return code > 0 ? SNMP_PENDING : judge_rows(agent);
}

/* net-snmp's callback: an answer, or the end of a request that nobody waits for any more. Copies
 * what it needs, acts later: net-snmp is in the middle of something. */
static int take_answer(int op, netsnmp_session *session, int id, netsnmp_pdu *pdu, void *magic)
{
	struct snmp_agent *agent = magic;
	bool is_asked = false;

	(void)session;
	for (unsigned int i = 0; i < agent->tries; i++)
		is_asked |= agent->request[i] == id;
	if (op != NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE || agent->target == NULL || !is_asked ||
	    pdu->command != SNMP_MSG_RESPONSE)
		return 1;
	agent->tries = 0; /* answers to the other tries come too late now */
	agent->is_answered = true;
	agent->verdict = judge(agent, pdu);
	return 1;
}

/* The way to the agent is broken: a new poll makes a new one. */
static enum snmp_verdict broken(struct snmp_agent *agent, int code)
{
	const char *words = strerrordesc_np(-code);

	snmp_link_close(&agent->link);
	if (agent->target == NULL)
		return SNMP_PENDING;
	if (code == -ECONNREFUSED)
		return bad(agent, CR_CONNECT,
			   "nobody listens at %s: start the agent there or correct the target",
			   agent->target->endpoint);
	if (code == -ECONNRESET)
		return bad(agent, CR_CONNECT, "%s closed the connection", agent->target->endpoint);
	return bad(agent, CR_CONNECT, "%s: %s", agent->target->endpoint,
		   words != NULL ? words : "cannot be reached");
}

static enum snmp_verdict send_request(struct snmp_agent *agent, int64_t now_ns)
{
	netsnmp_pdu *pdu = agent->table != NULL ? snmp_table_request(agent->table)
						: snmp_profile_request(agent->settings->profile);
	long id;

	if (pdu == NULL)
		return bad(agent, CR_REPLY, "out of memory");
	id = snmp_link_send(&agent->link, pdu, agent->target->deadline_ns - now_ns, take_answer,
			    agent);
	/* A full send buffer loses this try, like the network might. */
	if (id < 0 && (agent->link.is_stream || (id != -EAGAIN && id != -ENOBUFS)))
		return broken(agent, (int)id);
	agent->request[agent->tries++] = id;
	return SNMP_PENDING;
}

static enum snmp_verdict ask(struct snmp_agent *agent, int64_t now_ns)
{
	agent->step_ns = now_ns;
	agent->tries = 0;
	return send_request(agent, now_ns);
}

/* See to it that there is a socket and a session. */
static enum snmp_verdict open_link(struct snmp_agent *agent, int64_t now_ns)
{
	struct epoll_event event = { .data.ptr = agent };
	int code;

	if (agent->link.address_len == 0 && now_ns < agent->resolve_after_ns)
		return SNMP_BAD; /* with the words of the last time */
	if (agent->link.address_len == 0) {
		code = snmp_link_resolve(&agent->link, agent->target->endpoint, agent->text,
					 sizeof agent->text);
		agent->why = CR_CONNECT;
		agent->resolve_after_ns = now_ns + RESOLVE_WAIT;
		if (code < 0)
			return SNMP_BAD;
	}
	if (agent->link.session != NULL)
		return SNMP_PENDING;
	code = snmp_link_open(&agent->link, &agent->settings->access);
	if (code < 0)
		return broken(agent, code);
	event.events = agent->link.is_connecting ? EPOLLOUT : EPOLLIN;
	if (epoll_ctl(agent->settings->epoll, EPOLL_CTL_ADD, snmp_link_fd(&agent->link), &event) <
	    0)
		return broken(agent, -errno);
	return SNMP_PENDING;
}

enum snmp_verdict snmp_agent_begin(struct snmp_agent *agent, struct cr_target *target,
				   int64_t now_ns)
{
	agent->target = target;
	agent->begun_ns = agent->step_ns = now_ns;
	agent->tries = agent->strays = 0;
	agent->is_answered = false;
	if (target->is_shared && agent->table == NULL)
		return bad(agent, CR_ABSENT,
			   "profile %s is about one server: write a target with variables, such as "
			   "udp:${host}:161",
			   agent->settings->profile->name);
	if (open_link(agent, now_ns) == SNMP_BAD)
		return SNMP_BAD;
	snmp_link_expire(&agent->link); /* tries of older polls that were never answered */
	if (agent->table != NULL)
		snmp_table_start(agent->table);
	return agent->link.is_connecting ? SNMP_PENDING : ask(agent, now_ns);
}

/* The connection is made, or not. */
static enum snmp_verdict take_connection(struct snmp_agent *agent, int64_t now_ns)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = agent };
	int code = snmp_link_connected(&agent->link);

	if (code == 0 && epoll_ctl(agent->settings->epoll, EPOLL_CTL_MOD,
				   snmp_link_fd(&agent->link), &event) < 0)
		code = -errno;
	if (code < 0)
		return broken(agent, code);
	return agent->target != NULL ? ask(agent, now_ns) : SNMP_PENDING;
}

enum snmp_verdict snmp_agent_event(struct snmp_agent *agent, netsnmp_large_fd_set *fds,
				   int64_t now_ns)
{
	int code;

	if (agent->link.session == NULL)
		return SNMP_PENDING;
	if (agent->link.is_connecting)
		return take_connection(agent, now_ns);
	code = snmp_link_read(&agent->link, fds);
	if (code < 0 && code != -EBADMSG)
		return broken(agent, code);
	if (!agent->is_answered) {
		agent->strays++;
		return SNMP_PENDING;
	}
	agent->is_answered = false;
	return agent->verdict == SNMP_PENDING ? ask(agent, now_ns) : agent->verdict;
}

/* When the request is sent once more: the time up to the deadline is shared evenly by the tries. */
int64_t snmp_agent_when_ns(const struct snmp_agent *agent)
{
	const int64_t deadline_ns = agent->target->deadline_ns;
	const int64_t share_ns = (deadline_ns - agent->step_ns) / (agent->settings->retries + 1);

	/* A connection repeats what gets lost by itself. */
	if (agent->link.is_stream || agent->tries == 0 || agent->tries > agent->settings->retries)
		return deadline_ns;
	return agent->step_ns + share_ns * agent->tries;
}

static enum snmp_verdict give_up(struct snmp_agent *agent)
{
	const long long ms =
		(long long)((agent->target->deadline_ns - agent->begun_ns + MS / 2) / MS);
	const unsigned int strays = agent->strays;
	const bool is_connecting = agent->link.is_connecting;

	/* A connected socket keeps the local address that it was given: take a new one. */
	snmp_link_close(&agent->link);
	if (is_connecting)
		return bad(agent, CR_TIMEOUT, "no connection in %lld ms: host down or firewall",
			   ms);
	if (strays > 0)
		return bad(agent, CR_TIMEOUT,
			   "no valid answer in %lld ms, but %u messages that are none: is SNMP v2c "
			   "spoken there?",
			   ms, strays);
	return bad(
		agent, CR_TIMEOUT,
		"no answer in %lld ms: wrong community (agents then keep silent), agent down, or "
		"firewall",
		ms);
}

enum snmp_verdict snmp_agent_tick(struct snmp_agent *agent, int64_t now_ns)
{
	if (now_ns >= agent->target->deadline_ns)
		return give_up(agent);
	if (now_ns < snmp_agent_when_ns(agent))
		return SNMP_PENDING;
	/* Perhaps the answer was too long for the way: ask for less. */
	if (agent->table != NULL)
		snmp_table_shrink(agent->table, false);
	return send_request(agent, now_ns);
}

const char *snmp_agent_foreign_row(const struct snmp_agent *agent)
{
	if (agent->table == NULL || agent->target->is_shared ||
	    strcmp(agent->own->name, agent->target->name) == 0)
		return NULL;
	return agent->own->name;
}

static void put_row(const struct snmp_agent *agent, const struct cr_round *round,
		    const struct snmp_row *row, const char *name, const int *metric)
{
	for (size_t i = 0; i < agent->settings->profile->n_fields; i++)
		if (!isnan(row->value[i]))
			round->put(round, agent->target, name, metric[i], row->value[i],
				   agent->begun_ns);
}

void snmp_agent_put(const struct snmp_agent *agent, const struct cr_round *round, const int *metric)
{
	const struct snmp_table *table = agent->table;

	/* The time of asking, so that no value is taken for younger than it is. */
	if (table == NULL) {
		for (size_t i = 0; i < agent->settings->profile->n_fields; i++)
			if (agent->found[i] == SNMP_FOUND)
				round->put(round, agent->target, NULL, metric[i], agent->value[i],
					   agent->begun_ns);
	} else if (!agent->target->is_shared) {
		put_row(agent, round, agent->own,
			snmp_agent_foreign_row(agent) != NULL ? NULL : agent->own->name, metric);
	} else {
		for (size_t i = 0; i < table->n_rows; i++)
			if (table->row[i].is_named)
				put_row(agent, round, &table->row[i], table->row[i].name, metric);
	}
}
