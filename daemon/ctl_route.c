/* ctl_route.c - route: where a call would go now, and why: asked of a real, attached data plane. */
#include <callrouter/callrouter.h>

#include "ctl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "text.h"
#include "words.h"

#define COUNT_MAX  1000000
#define PARAMS_MAX 64
#define WAIT_NS    (500 * CLOCK_MS) /* for a first published state */
#define PAUSE_NS   (5 * CLOCK_MS)

/* What was asked for. */
struct question {
	const char *service;
	struct cr_call call;
	struct cr_param param[PARAMS_MAX];
	const struct cr_param *list[PARAMS_MAX];
	int64_t count; /* 0: not given: one */
};

/* What --count found: how often each server was first. */
struct tally {
	struct {
		const struct cr_server *server;
		int64_t calls;
	} * first;
	size_t n, cap;
	int64_t decided[CR_DECIDED_COUNT];
	int64_t reason[CR_REASON_COUNT];
};

static struct cr_str str_of(const char *text)
{
	return (struct cr_str){ .ptr = text, .len = strlen(text) };
}

/*** Arguments ***/

static int add_param(const struct ctl *ctl, struct question *q, const char *text)
{
	const char *equals = strchr(text, '=');
	struct cr_param *param = &q->param[q->call.n_params];

	if (equals == NULL || equals == text)
		return ctl_usage(ctl, "--param %s: NAME=VALUE is wanted", text);
	if (q->call.n_params == PARAMS_MAX)
		return ctl_usage(ctl, "more than %d --param", PARAMS_MAX);
	param->name = (struct cr_str){ .ptr = text, .len = (size_t)(equals - text) };
	param->value = str_of(equals + 1);
	q->list[q->call.n_params++] = param;
	return 0;
}

static int take_option(const struct ctl *ctl, struct question *q, int code)
{
	switch (code) {
	case 'm':
		q->call.method = str_of(optarg);
		return 0;
	case 'k':
		q->call.key = str_of(optarg);
		return 0;
	case 'c':
		q->call.client = str_of(optarg);
		return 0;
	case 'p':
		return add_param(ctl, q, optarg);
	case 'b':
		if (text_bytes(optarg, &q->call.cost_bytes) < 0)
			return ctl_usage(ctl, "--cost %s: bytes are wanted, such as 64KiB", optarg);
		return 0;
	default: /* 'n' */
		if (text_int(optarg, &q->count) < 0 || q->count < 1 || q->count > COUNT_MAX)
			return ctl_usage(ctl, "--count %s: 1 .. %d is wanted", optarg, COUNT_MAX);
		return 0;
	}
}

/* Returns as ctl_option(). */
static int take_arguments(struct ctl *ctl, int argc, char **argv, struct question *q)
{
	static const struct option options[] = { CTL_COMMON_OPTIONS,
						 CTL_JSON_OPTION,
						 { "method", required_argument, NULL, 'm' },
						 { "param", required_argument, NULL, 'p' },
						 { "key", required_argument, NULL, 'k' },
						 { "client", required_argument, NULL, 'c' },
						 { "cost", required_argument, NULL, 'b' },
						 { "count", required_argument, NULL, 'n' },
						 { 0 } };
	int code;

	while ((code = ctl_option(ctl, argc, argv, options)) > 0)
		if (take_option(ctl, q, code) != 0)
			return CTL_WRONG;
	if (code == CTL_ARGUMENTS)
		code = ctl_count(ctl, argc, 1, 1);
	if (code == CTL_ARGUMENTS)
		q->service = argv[optind];
	return code;
}

/*** Answers ***/

/* Why it was not (only) the router; NULL: it was. */
static const char *reason_of(const struct cr_ticket *ticket)
{
	return ticket->reason != CR_REASON_NONE ? words_reason(ticket->reason) : NULL;
}

/* not_listed: NULL: not asked for. */
static int print_document(const struct question *q, const struct cr_ticket *ticket,
			  json_t *not_listed, size_t flags)
{
	json_t *servers = json_array();
	json_t *document;
	int r;

	for (uint32_t i = 0; i < ticket->n; i++)
		(void)json_array_append_new(servers, json_string(ticket->server[i]->name));
	document = json_pack("{s:s,s:s,s:s?,s:o}", "service", q->service, "decided_by",
			     words_decided(ticket->decided), "reason", reason_of(ticket), "servers",
			     servers);
	if (not_listed != NULL)
		(void)json_object_set(document, "not_listed", not_listed);
	r = json_dumpf(document, stdout, flags);
	json_decref(document);
	return r;
}

static const char *who(enum cr_decided decided)
{
	switch (decided) {
	case CR_ROUTER_DECIDED:
		return "router decided";
	case CR_DEFAULT_DECIDED:
		return "default decided";
	case CR_REFUSED:
		return "router refused";
	case CR_NOBODY:
	case CR_DECIDED_COUNT:
		break;
	}
	return "nobody decided";
}

/* "ms3 (ejected, 2m10s left)" */
static void print_not_listed(const json_t *not_listed)
{
	const json_t *entry;
	char left[32];
	size_t i;

	json_array_foreach(not_listed, i, entry)
	{
		const double left_s = ctl_number(entry, "for_s");

		(void)printf("%s%s (%s", i == 0 ? "  not listed: " : ", ",
			     ctl_text(entry, "server"), ctl_text(entry, "reason"));
		if (!isnan(left_s))
			(void)printf(", %s left", ctl_show_left(left, sizeof left, left_s));
		(void)fputc(')', stdout);
	}
	(void)fputs(json_array_size(not_listed) > 0 ? "\n" : "", stdout);
}

static void print_sentence(const struct question *q, const struct cr_ticket *ticket,
			   const json_t *not_listed)
{
	(void)printf("%s: %s", q->service, who(ticket->decided));
	for (uint32_t i = 0; i < ticket->n; i++)
		(void)printf("%s%s", i == 0 ? ": " : ", ", ticket->server[i]->name);
	(void)fputc('\n', stdout);
	if (ticket->reason != CR_REASON_NONE)
		(void)printf("  because %s\n", words_reason_help(ticket->reason));
	print_not_listed(not_listed);
}

static int tally_grow(struct tally *tally)
{
	const size_t cap = tally->cap == 0 ? 64 : tally->cap * 2;
	void *more;

	if (tally->n < tally->cap)
		return 0;
	more = realloc(tally->first, cap * sizeof *tally->first);
	if (more == NULL)
		return -ENOMEM;
	tally->first = more;
	tally->cap = cap;
	return 0;
}

static int tally_add(struct tally *tally, const struct cr_ticket *ticket)
{
	const struct cr_server *first = cr_first(ticket);
	size_t i = 0;

	tally->decided[ticket->decided]++;
	tally->reason[ticket->reason]++;
	if (first == NULL)
		return 0;
	while (i < tally->n && tally->first[i].server != first)
		i++;
	if (i == tally->n) {
		if (tally_grow(tally) < 0)
			return -ENOMEM;
		tally->first[tally->n].server = first;
		tally->first[tally->n++].calls = 0;
	}
	tally->first[i].calls++;
	return 0;
}

static int tally_print(const struct tally *tally, const struct question *q)
{
	static const struct ctl_column columns[] = { { "FIRST SERVER", false },
						     { "CALLS", true },
						     { "SHARE", true } };
	struct ctl_table *table = ctl_table_new(columns, sizeof columns / sizeof *columns);
	int r;

	(void)printf("%s: %lld call%s", q->service, (long long)q->count,
		     text_s((uint64_t)q->count));
	for (unsigned i = 0; i < CR_DECIDED_COUNT; i++)
		if (tally->decided[i] > 0)
			(void)printf(", %s %lld", who((enum cr_decided)i),
				     (long long)tally->decided[i]);
	(void)fputc('\n', stdout);
	for (unsigned i = CR_REASON_NONE + 1; i < CR_REASON_COUNT; i++)
		if (tally->reason[i] > 0)
			(void)printf("  %lld because %s\n", (long long)tally->reason[i],
				     words_reason_help((enum cr_reason)i));
	for (size_t i = 0; i < tally->n; i++) {
		ctl_table_add(table, CTL_BOLD, tally->first[i].server->name);
		ctl_table_addf(table, CTL_PLAIN, "%lld", (long long)tally->first[i].calls);
		ctl_table_addf(table, CTL_PLAIN, "%.1f %%",
			       100 * (double)tally->first[i].calls / (double)q->count);
	}
	r = tally->n > 0 ? ctl_table_print(table, stdout, ctl_is_coloured(stdout), 2) : 0;
	ctl_table_free(table);
	return r;
}

/*** Routing ***/

/* The sentence for a call that got nobody because there is nothing to choose from. */
static int explain_nobody(const struct ctl *ctl, const struct question *q,
			  const struct cr_ticket *ticket)
{
	if (ticket->reason == CR_REASON_NO_SNAPSHOT)
		return ctl_fail(CTL_USAGE,
				"nothing is published in %s: start callrouterd, or name its run "
				"directory with --run-dir DIR",
				ctl->run_dir);
	if (ticket->reason == CR_REASON_NO_SERVICE)
		return ctl_fail(CTL_REFUSED,
				"no service \"%s\" is published: callrouterctl status shows those "
				"that are",
				q->service);
	return CTL_GOOD;
}

static int route_many(const struct ctl *ctl, struct question *q, struct cr_thread *thread,
		      int service)
{
	struct tally tally = { .n = 0 };
	struct cr_ticket ticket;
	int r = 0;

	if (ctl->is_json)
		(void)fputs("[\n", stdout);
	for (int64_t i = 0; i < q->count && r == 0; i++) {
		cr_call_now(thread, &q->call);
		(void)cr_route_dry(thread, service, &q->call, &ticket);
		if (!ctl->is_json) {
			r = tally_add(&tally, &ticket);
			continue;
		}
		(void)fputs(i > 0 ? ",\n" : "", stdout);
		r = print_document(q, &ticket, NULL, JSON_COMPACT);
	}
	if (ctl->is_json)
		(void)fputs("\n]\n", stdout);
	else if (r == 0)
		r = tally_print(&tally, q);
	free(tally.first);
	return r == 0 ? CTL_GOOD : ctl_fail(CTL_REFUSED, "out of memory");
}

/* A state is taken over at once if there is one; a writer at work may take a moment. */
static void route_when_ready(const struct question *q, struct cr *cr, struct cr_thread *thread,
			     int service, struct cr_ticket *ticket)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const int64_t deadline_ns = clock_now_ns() + WAIT_NS;

	for (;;) {
		(void)cr_refresh(cr);
		(void)cr_route_dry(thread, service, &q->call, ticket);
		if (ticket->reason != CR_REASON_NO_SNAPSHOT || clock_now_ns() >= deadline_ns)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

static int route(const struct ctl *ctl, struct question *q, struct cr *cr, struct cr_thread *thread)
{
	const int service = cr_service(cr, q->service);
	struct cr_ticket ticket;
	json_t *not_listed;
	int status;

	if (service < 0)
		return ctl_fail(CTL_REFUSED, "\"%s\" cannot be a service's name", q->service);
	cr_call_now(thread, &q->call);
	route_when_ready(q, cr, thread, service, &ticket);
	status = explain_nobody(ctl, q, &ticket);
	if (status != CTL_GOOD)
		return status;
	if (q->count > 0)
		return route_many(ctl, q, thread, service);
	not_listed = ctl_not_listed(ctl, q->service, &ticket);
	if (!ctl->is_json)
		print_sentence(q, &ticket, not_listed);
	else if (print_document(q, &ticket, not_listed, JSON_INDENT(2)) < 0)
		status = ctl_fail(CTL_REFUSED, "out of memory");
	else
		(void)fputc('\n', stdout);
	json_decref(not_listed);
	return status;
}

static void show_message(void *arg, enum cr_level level, const char *line)
{
	(void)arg;
	if (level <= CR_WARN)
		(void)ctl_fail(CTL_REFUSED, "%s", line);
}

int ctl_route(struct ctl *ctl, int argc, char **argv)
{
	struct question q = { .call = { .primary = CR_NONE, .secondary = CR_NONE } };
	const int code = take_arguments(ctl, argc, argv, &q);
	const struct cr_config config = { .run_dir = ctl->run_dir,
					  .program = "callrouterctl",
					  .log = show_message };
	struct cr_thread *thread;
	struct cr *cr;
	char err[320];
	int status;

	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	q.call.param = q.list;
	if (cr_attach(&config, &cr, err, sizeof err) < 0)
		return ctl_fail(CTL_USAGE, "%s", err);
	thread = cr_thread_new(cr);
	status = thread != NULL ? route(ctl, &q, cr, thread)
				: ctl_fail(CTL_REFUSED, "out of memory");
	cr_thread_free(thread);
	cr_detach(cr);
	return status;
}
