/* snmp_poll.c - answers, errors and reports of agents, in the operator's words. */
#include "snmp_poll.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errno_words.h"
#include "files.h"

#define MS INT64_C(1000000)

struct snmp_poll *snmp_poll_new(const struct source *source, const struct snmp_access *access)
{
	struct snmp_poll *poll = calloc(1, sizeof *poll);

	if (poll == NULL)
		return NULL;
	poll->source = source;
	poll->access = access;
	return poll;
}

void snmp_poll_free(struct snmp_poll *poll)
{
	snmp_poll_end(poll);
	snmp_walk_fini(&poll->walk);
	free(poll);
}

void snmp_poll_end(struct snmp_poll *poll)
{
	source_sample_free(poll->sample);
	poll->sample = NULL;
	poll->target = NULL;
}

enum snmp_verdict snmp_poll_fail(struct snmp_poll *poll, enum cr_why why, const char *fmt, ...)
{
	const char *server = poll->target->is_shared ? NULL : poll->target->name;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(poll->text, sizeof poll->text, fmt, args);
	va_end(args);
	poll->why = why;
	if (poll->n_good == 0)
		return SNMP_BAD;
	for (size_t r = poll->request; r < poll->source->n_requests; r++)
		source_fail(poll->sample, r, why, poll->text);
	(void)source_end(poll->sample, server);
	return SNMP_BAD;
}

enum snmp_verdict snmp_poll_break(struct snmp_poll *poll, int code, const char *shown)
{
	const char *endpoint = poll->target->endpoint;
	char text[192];

	if (code == -ECONNREFUSED)
		return snmp_poll_fail(
			poll, CR_CONNECT,
			"nobody listens at %s%s: start the agent there or correct the target",
			endpoint, shown);
	if (code == -ECONNRESET)
		return snmp_poll_fail(poll, CR_CONNECT, "%s%s closed the connection", endpoint,
				      shown);
	if (!files_are_short(code))
		return snmp_poll_fail(poll, CR_CONNECT, "%s%s: %s", endpoint, shown,
				      errno_words(code));
	files_explain(code, text, sizeof text);
	return snmp_poll_fail(poll, CR_CONNECT, "%s", text);
}

static enum snmp_verdict start_request(struct snmp_poll *poll)
{
	const struct source_request *request = &poll->source->request[poll->request];

	poll->tries = 0;
	if (snmp_walk_start(&poll->walk, request, poll->access->version == SNMP_VERSION_1,
			    *poll->ceiling) < 0)
		return snmp_poll_fail(poll, CR_REPLY, "out of memory");
	return SNMP_PENDING;
}

enum snmp_verdict snmp_poll_start(struct snmp_poll *poll, struct cr_target *target,
				  const char *about, unsigned int *ceiling, int64_t now_ns)
{
	poll->target = target;
	poll->about = about;
	poll->ceiling = ceiling;
	poll->begun_ns = poll->step_ns = now_ns;
	poll->strays = 0;
	poll->is_discovering = poll->has_discovered = false;
	poll->n_late = 0;
	poll->is_resumed = poll->is_answered = poll->is_heard = false;
	poll->has_other_context = poll->is_alone = false;
	poll->request = poll->n_good = 0;
	poll->sample = source_sample_new(poll->source);
	if (poll->sample == NULL)
		return snmp_poll_fail(poll, CR_REPLY, "out of memory");
	if (target->is_shared && poll->source->scope == SOURCE_SERVER)
		return snmp_poll_fail(poll, CR_ABSENT,
				      "this source is about one server: write a target with "
				      "variables, such as udp:${host}:161");
	return start_request(poll);
}

/* Nothing was found: version 3 has one more place to look for it. */
static void add_context_hint(struct snmp_poll *poll)
{
	const size_t len = strlen(poll->text);

	if (poll->access->user == NULL || poll->why != CR_ABSENT || poll->sample->n_found > 0)
		return;
	if (poll->about[0] != '\0')
		(void)snprintf(poll->text + len, sizeof poll->text - len,
			       "; or is \"%.60s\" the wrong context?", poll->about);
	else
		(void)snprintf(poll->text + len, sizeof poll->text - len,
			       "; or does it want a context?");
}

/* The request under way is over; the sample knows how it went. */
static enum snmp_verdict next_request(struct snmp_poll *poll)
{
	const char *server = poll->target->is_shared ? NULL : poll->target->name;

	if (++poll->request < poll->source->n_requests)
		return start_request(poll);
	if (source_end(poll->sample, server) == 0)
		return SNMP_GOOD;
	poll->why = poll->sample->why;
	(void)snprintf(poll->text, sizeof poll->text, "%s", poll->sample->text);
	add_context_hint(poll);
	return SNMP_BAD;
}

CR_PRINTF(3, 4)
static enum snmp_verdict fail_request(struct snmp_poll *poll, enum cr_why why, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	source_fail(poll->sample, poll->request, why, text);
	return next_request(poll);
}

/* Has the agent none of the scalars of the source's one request? */
static bool has_nothing(const struct snmp_poll *poll)
{
	const struct source_request *request = &poll->source->request[poll->request];

	if (request->format != SOURCE_SNMP_GET || poll->source->n_requests > 1)
		return false;
	for (size_t i = 0; i < request->n_oids; i++)
		if (poll->walk.cells.cell[i].kind != SOURCE_CELL_NONE)
			return false;
	return true;
}

/* What a step of the walk said. */
static enum snmp_verdict go_on(struct snmp_poll *poll, int code, const char *text)
{
	const struct snmp_cells *cells = &poll->walk.cells;

	if (code > 0)
		return SNMP_PENDING;
	if (code < 0)
		return fail_request(poll, CR_REPLY, "%s", text);
	if (has_nothing(poll))
		return fail_request(poll, CR_ABSENT,
				    "the agent has nothing of what was asked for%s%s",
				    poll->source->help_absent[0] != '\0' ? "; " : "",
				    poll->source->help_absent);
	if (poll->access->log_to != NULL)
		snmp_cells_log(cells, poll->access->log_to, poll->request,
			       &poll->source->request[poll->request]);
	if (source_extract_cells(poll->sample, poll->request, cells->cell, cells->n_rows) == 0)
		poll->n_good++;
	return next_request(poll);
}

static enum snmp_verdict take_error(struct snmp_poll *poll, long error, long index)
{
	const struct snmp_user *user = poll->access->user;
	char text[160];

	if (error == SNMP_ERR_TOOBIG && snmp_walk_shrink(&poll->walk)) {
		if (poll->walk.request->format == SOURCE_SNMP_TABLE)
			*poll->ceiling = poll->walk.repetitions; /* in later polls, too */
		return SNMP_PENDING;
	}
	if (error == SNMP_ERR_NOSUCHNAME)
		return go_on(poll, snmp_walk_drop(&poll->walk, index, text, sizeof text), text);
	if ((error == SNMP_ERR_AUTHORIZATIONERROR || error == SNMP_ERR_NOACCESS) && user != NULL)
		return fail_request(poll, CR_AUTH,
				    "user %s may not read this with %s: set %s, or allow it in "
				    "the agent",
				    user->name, snmp_user_level(user),
				    user->auth > 0 ? "priv_protocol" : "auth_protocol");
	return fail_request(
		poll,
		error == SNMP_ERR_AUTHORIZATIONERROR || error == SNMP_ERR_NOACCESS ? CR_AUTH
										   : CR_REPLY,
		"the agent answered with an error: %s (%ld)",
		snmp_errstring(error >= 0 && error <= MAX_SNMP_ERR ? (int)error : -1), error);
}

enum snmp_verdict snmp_poll_answer(struct snmp_poll *poll, const netsnmp_pdu *pdu)
{
	char text[160];
	int code;

	poll->tries = 0; /* answers to the other tries come too late now */
	if (pdu->errstat != SNMP_ERR_NOERROR)
		return take_error(poll, pdu->errstat, pdu->errindex);
	code = snmp_walk_answer(&poll->walk, pdu->variables, text, sizeof text);
	return go_on(poll, code, text);
}

/*** Version 3 ***/

enum snmp_verdict snmp_poll_complain(struct snmp_poll *poll, const struct snmp_report *report)
{
	const struct snmp_user *user = poll->access->user;

	switch (report->complaint) {
	case SNMP_UNSUPPORTED_LEVEL:
		return snmp_poll_fail(
			poll, CR_AUTH,
			"the agent does not offer %s to user %s: set auth_protocol and "
			"priv_protocol as in the agent",
			snmp_user_level(user), user->name);
	case SNMP_UNKNOWN_USER:
		return snmp_poll_fail(poll, CR_AUTH, "the agent knows no user %s", user->name);
	case SNMP_WRONG_DIGEST:
		return snmp_poll_fail(
			poll, CR_AUTH,
			"the agent refuses the key of user %s: wrong "
			"auth_password_file, or auth_protocol is another than in the agent",
			user->name);
	case SNMP_CANNOT_DECRYPT:
		return snmp_poll_fail(
			poll, CR_AUTH,
			"the agent cannot decrypt what user %s says: wrong "
			"priv_password_file, or priv_protocol is another than in the agent",
			user->name);
	case SNMP_UNKNOWN_ENGINE:
		return snmp_poll_fail(poll, CR_AUTH,
				      "the agent has another engine id: correct engine_id, or "
				      "leave it out");
	case SNMP_NOT_IN_TIME:
		break;
	}
	return snmp_poll_fail(poll, CR_AUTH,
			      "not in time window: the agent's clock of version 3 has gone "
			      "backwards, it is learned anew");
}

enum snmp_verdict snmp_poll_report(struct snmp_poll *poll, const netsnmp_pdu *pdu)
{
	static const oid unknown_contexts[] = { 1, 3, 6, 1, 6, 3, 12, 1, 5 };
	const netsnmp_variable_list *about = pdu->variables;
	const char *context = poll->about;

	if (about == NULL || about->name_length < OID_LENGTH(unknown_contexts) ||
	    memcmp(about->name, unknown_contexts, sizeof unknown_contexts) != 0)
		return SNMP_PENDING;
	return snmp_poll_fail(poll, CR_ABSENT,
			      context[0] != '\0'
				      ? "the agent has no context \"%.60s\": correct context"
				      : "the agent wants a context%s: set context",
			      context);
}

/* Its answers are about something else than was asked for. */
static enum snmp_verdict give_up_context(struct snmp_poll *poll)
{
	const char *context = poll->about;
	char asked[80];

	(void)snprintf(asked, sizeof asked, context[0] != '\0' ? "for \"%.60s\"" : "without one",
		       context);
	return snmp_poll_fail(poll, CR_REPLY,
			      "the agent answers for context \"%s\" when it is asked %s: "
			      "set context to one that it has",
			      poll->other_context, asked);
}

/* Agents keep silent when they are asked about a context that they do not have. */
static const char *context_hint(const struct snmp_poll *poll, char *text, size_t len)
{
	text[0] = '\0';
	if (poll->about[0] != '\0')
		(void)snprintf(text, len, ", or it has no context \"%.60s\" (option context)",
			       poll->about);
	return text;
}

static enum snmp_verdict give_up_user(struct snmp_poll *poll, long long ms)
{
	const struct snmp_user *user = poll->access->user;
	char hint[112];

	(void)context_hint(poll, hint, sizeof hint);
	if (poll->is_discovering)
		return snmp_poll_fail(poll, CR_TIMEOUT,
				      "no answer to the discovery of SNMP v3 in %lld ms: agent "
				      "down, no v3 there, or firewall",
				      ms);
	if (user->priv > 0 && (poll->has_discovered || poll->n_late > 0))
		return snmp_poll_fail(poll, CR_AUTH,
				      "the agent is there, but does not answer what user %s "
				      "encrypts: wrong priv_password_file, or priv_protocol is "
				      "another than in the agent%s",
				      user->name, hint);
	if (poll->has_discovered)
		return snmp_poll_fail(poll, CR_TIMEOUT,
				      "the agent is there, but does not answer user %s in %lld ms: "
				      "busy%s",
				      user->name, ms, hint);
	return snmp_poll_fail(
		poll, CR_TIMEOUT, "no answer to user %s in %lld ms: agent down, or firewall%s%s",
		user->name, ms, poll->access->engine.len > 0 ? ", or wrong engine_id" : "", hint);
}

static enum snmp_verdict give_up_community(struct snmp_poll *poll, long long ms)
{
	if (poll->about[0] == '\0')
		return snmp_poll_fail(poll, CR_TIMEOUT,
				      "no answer in %lld ms: wrong community (agents then keep "
				      "silent), agent down, or firewall",
				      ms);
	return snmp_poll_fail(poll, CR_TIMEOUT,
			      "no answer in %lld ms: wrong community, or community_suffix "
			      "\"%.60s\" (agents then keep silent), agent down, or firewall",
			      ms, poll->about);
}

/* Others are asked about something else, and answered. */
static enum snmp_verdict give_up_alone(struct snmp_poll *poll, long long ms)
{
	return snmp_poll_fail(
		poll, CR_TIMEOUT,
		"no answer in %lld ms, but the agent answers for other servers: this one is down "
		"or slow, or %s \"%.60s\" is wrong",
		ms, poll->access->version == SNMP_VERSION_3 ? "context" : "community_suffix",
		poll->about);
}

/* An agent with several addresses, or somebody who knows what was asked. */
static enum snmp_verdict give_up_stranger(struct snmp_poll *poll, long long ms,
					  const union resolve_address *stranger)
{
	const bool is_v6 = stranger->any.sa_family == AF_INET6;
	char shown[INET6_ADDRSTRLEN];

	resolve_show(stranger, shown, sizeof shown);
	return snmp_poll_fail(poll, CR_TIMEOUT,
			      "no answer in %lld ms from the polled address, but %s%s%s:%u has "
			      "answered: poll that one, or set strict_source: false",
			      ms, is_v6 ? "[" : "", shown, is_v6 ? "]" : "",
			      ntohs(is_v6 ? stranger->v6.sin6_port : stranger->v4.sin_port));
}

enum snmp_verdict snmp_poll_give_up(struct snmp_poll *poll, bool is_connecting, bool is_proven,
				    const union resolve_address *stranger)
{
	static const struct snmp_report late = { .complaint = SNMP_NOT_IN_TIME };
	const long long ms =
		(long long)((poll->target->deadline_ns - poll->begun_ns + MS / 2) / MS);

	if (is_connecting)
		return snmp_poll_fail(poll, CR_TIMEOUT,
				      "no connection in %lld ms: host down or firewall", ms);
	/* One is how a clock is learned. */
	if (poll->n_late > (is_proven ? 0 : 1))
		return snmp_poll_complain(poll, &late);
	if (poll->has_other_context)
		return give_up_context(poll);
	if (poll->strays > 0)
		return snmp_poll_fail(poll, CR_TIMEOUT,
				      "no valid answer in %lld ms, but %u %s: "
				      "is SNMP v%s spoken there?",
				      ms, poll->strays,
				      poll->strays == 1 ? "message that is none"
							: "messages that are none",
				      poll->access->version == SNMP_VERSION_3   ? "3"
				      : poll->access->version == SNMP_VERSION_1 ? "1"
										: "2c");
	if (stranger != NULL)
		return give_up_stranger(poll, ms, stranger);
	if (poll->is_alone && strstr(poll->access->about, "${") != NULL)
		return give_up_alone(poll, ms);
	if (poll->access->version == SNMP_VERSION_3)
		return give_up_user(poll, ms);
	return give_up_community(poll, ms);
}
