/* health_log.c - what was last told of each line, and what there is to tell now. */
#include "health_log.h"

#include <stdlib.h>

#include "clock.h"
#include "health.h"
#include "log.h"
#include "text.h"
#include "words.h"

/** What was told of a line. */
struct told {
	uint32_t incarnation; /* 0: nothing */
	enum cr_state state;  /* CR_UP, CR_ASIDE, CR_EJECTED or CR_DOWN: a trial is no news */
	int64_t since_ns;
	int64_t until_ns; /* of an ejection: another one is news */
};

struct health_log {
	struct health_log_context context;
	struct event *look;
	struct told told[COUNTERS_LINES];
};

/*** Sentences ***/

static void tell_ejected(const struct config_server *server, int64_t left_ns)
{
	char text[32];

	log_warn("server ejected",
		 "name=%s address=%s reason=\"too many failures in a row\" for=\"%s\"",
		 server->name, server->address,
		 text_show_seconds(text, sizeof text, (double)left_ns / 1e9));
}

static void tell_aside(const struct config_server *server, int64_t left_ns)
{
	char text[32];

	log_warn("server aside", "name=%s address=%s reason=\"it refuses connections\" for=\"%s\"",
		 server->name, server->address,
		 text_show_seconds(text, sizeof text, (double)left_ns / 1e9));
}

static void tell_down(const struct health_log *log, const struct config_server *server,
		      uint32_t line)
{
	struct check_report check;

	if (log->context.checks != NULL && checks_get(log->context.checks, line, &check))
		log_warn("server down", "name=%s check=\"%s\" error=\"%s\"", server->name,
			 check.what, check.error);
	else
		log_warn("server down", "name=%s", server->name);
}

static void tell_back(const struct config_server *server, const struct told *told, int64_t now_ns)
{
	char text[32];

	log_info("server back", "name=%s address=%s was=%s after=\"%s\"", server->name,
		 server->address, words_state(told->state),
		 text_show_seconds(text, sizeof text, (double)(now_ns - told->since_ns) / 1e9));
}

/*** Looking ***/

/* Is it something else than what was told last? */
static bool is_news(const struct told *told, enum cr_state state, int64_t until_ns)
{
	return state != told->state || (state == CR_EJECTED && until_ns > told->until_ns);
}

static void look_at(struct health_log *log, const struct config_server *server, uint32_t number,
		    int64_t now_ns)
{
	const struct counters_line *line = counters_line(log->context.counters, number);
	const uint32_t incarnation = atomic_load_explicit(&line->incarnation, memory_order_relaxed);
	const enum cr_state state = health_state(line, now_ns);
	const int64_t until_ns = health_until_ns(line, now_ns);
	struct told *told = &log->told[number];

	if (told->incarnation != incarnation)
		*told = (struct told){ .incarnation = incarnation, .state = CR_UP };
	if (!is_news(told, state, until_ns))
		return;
	switch (state) {
	case CR_EJECTED:
		tell_ejected(server, health_left_ns(line, now_ns));
		break;
	case CR_ASIDE:
		tell_aside(server, health_left_ns(line, now_ns));
		break;
	case CR_DOWN:
		tell_down(log, server, number);
		break;
	case CR_UP:
		tell_back(server, told, now_ns);
		break;
	case CR_TRIAL: /* no news: what comes of it is */
	case CR_DRAINED:
		return;
	}
	if (told->state == CR_UP)
		told->since_ns = now_ns;
	told->state = state;
	told->until_ns = until_ns;
}

void health_log_look(struct health_log *log, int64_t now_ns)
{
	const struct config *config = *log->context.config;
	const struct roster *roster = *log->context.roster;

	for (size_t i = 0; i < config->n_servers; i++)
		if (!config->servers[i].is_admin)
			look_at(log, &config->servers[i], roster->server_line[i], now_ns);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	health_log_look(arg, clock_now_ns());
}

struct health_log *health_log_new(struct event_base *base, const struct health_log_context *context)
{
	const struct timeval look = { .tv_usec = HEALTH_LOG_MS * 1000L };
	struct health_log *log = calloc(1, sizeof *log);

	if (log == NULL)
		return NULL;
	log->context = *context;
	if (base == NULL)
		return log;
	log->look = event_new(base, -1, EV_PERSIST, on_look, log);
	if (log->look != NULL) {
		event_add(log->look, &look);
		return log;
	}
	free(log);
	return NULL;
}

void health_log_free(struct health_log *log)
{
	if (log == NULL)
		return;
	if (log->look != NULL)
		event_free(log->look);
	free(log);
}
