/* check_list.c - which servers are checked: made anew from each configuration, what is unchanged
 * goes on. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "check_internal.h"
#include "clock.h"
#include "health.h"

void check_free(struct check *check)
{
	if (check == NULL)
		return;
	check_cancel(check);
	if (check->timer != NULL)
		event_free(check->timer);
	resolver_leave(check->checks->resolver, check->name);
	free(check->key);
	free(check->what);
	free(check->host);
	free(check->port);
	free(check->request);
	free(check);
}

static int compare_keys(const void *left, const void *right)
{
	const struct check *const *a = left, *const *b = right;

	if ((*a)->line != (*b)->line)
		return (*a)->line < (*b)->line ? -1 : 1;
	return strcmp((*a)->key, (*b)->key);
}

static struct check *checks_find(const struct checks *checks, struct check *like)
{
	struct check **found;

	if (checks->n == 0)
		return NULL;
	found = bsearch(&like, checks->check, checks->n, sizeof(struct check *), compare_keys);
	return found != NULL ? *found : NULL;
}

/* A good status each, joined: part of the key. */
static void status_text(const struct config_check *how, char *text, size_t len)
{
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < how->n_status && at < len; i++)
		at += (size_t)snprintf(text + at, len - at, " %u", how->status[i]);
}

/* Returns false without memory. */
static bool check_name(struct check *check, const struct config_check *how, const char *host_header)
{
	char status[CONFIG_STATUS_MAX * 5 + 1];
	const bool is_http = how->kind == CONFIG_CHECK_HTTP;

	if (asprintf(&check->what, is_http ? "GET http://%s:%s%s" : "tcp %s:%s%s", check->host,
		     check->port, is_http ? how->path : "") < 0)
		check->what = NULL;
	status_text(how, status, sizeof status);
	if (asprintf(&check->key,
		     "%" PRIu32 " %s as %s every %" PRId64 " within %" PRId64 " fall %" PRIu32
		     " rise %" PRIu32 " good%s",
		     check->line, check->what, host_header, how->interval_ns, how->timeout_ns,
		     how->fall, how->rise, status) < 0)
		check->key = NULL;
	if (is_http && asprintf(&check->request,
				"GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: callrouterd/%s\r\n"
				"Accept: */*\r\nConnection: close\r\n\r\n",
				how->path, host_header, CALLROUTER_VERSION) < 0)
		check->request = NULL;
	return check->what != NULL && check->key != NULL && (!is_http || check->request != NULL);
}

/* Host: what a client would write, unless the configuration says otherwise. */
static bool check_describe(struct check *check, const struct config_check *how)
{
	char *address = NULL;
	bool ok;

	if (asprintf(&address, "%s:%s", check->host, check->port) < 0)
		return false;
	ok = check_name(check, how, how->host_header != NULL ? how->host_header : address);
	free(address);
	return ok;
}

/* Where it is, or the name to ask for. Returns false without memory. */
static bool check_place(struct check *check)
{
	check->address.n = 1;
	if (resolve_numeric(check->host, AF_UNSPEC, &check->address.address[0]) == 0)
		return true;
	check->name = resolver_join(check->checks->resolver, check->host, AF_UNSPEC);
	return check->name != NULL;
}

static struct check *check_new(struct checks *checks, const struct config_server *server,
			       uint32_t line, const struct config_check *how)
{
	struct check *check = calloc(1, sizeof *check);

	if (check == NULL)
		return NULL;
	*check = (struct check){ .checks = checks,
				 .line = line,
				 .host = strdup(server->host),
				 .port = strdup(how->port != NULL ? how->port : server->port),
				 .n_status = how->n_status,
				 .interval_ns = how->interval_ns,
				 .timeout_ns = how->timeout_ns,
				 .fall = how->fall,
				 .rise = how->rise,
				 .fd = -1 };
	memcpy(check->status, how->status, sizeof check->status);
	check->timer = evtimer_new(checks->base, check_due, check);
	if (check->host == NULL || check->port == NULL || check->timer == NULL ||
	    !check_describe(check, how) || !check_place(check)) {
		check_free(check);
		return NULL;
	}
	check->seed = cr_hash64(check->key, strlen(check->key));
	return check;
}

/* Where a daemon or a check before us left it. */
static void check_begin(struct check *check)
{
	if (health_state(check_line(check), clock_now_ns()) == CR_DOWN)
		check->is_down = check->has_failed = true;
	check_arm(check, (int64_t)(check_fraction(check->seed) * (double)check->interval_ns));
}

/** A list of checks that is being made. */
struct checks_list {
	struct check **check;
	size_t n;
};

static void list_free(struct checks_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		check_free(list->check[i]);
	free(list->check);
}

static size_t count_wanted(const struct config *config)
{
	size_t n = 0;

	for (size_t i = 0; i < config->n_services; i++)
		if (config->services[i].health.check.kind != CONFIG_CHECK_NONE)
			n += config->services[i].n_servers;
	return n;
}

static int list_add_service(struct checks_list *list, struct checks *checks,
			    const struct config *config, const struct config_service *service,
			    const struct roster *roster)
{
	if (service->health.check.kind == CONFIG_CHECK_NONE)
		return 0;
	for (size_t i = 0; i < service->n_servers; i++) {
		const size_t server = service->servers[i];

		list->check[list->n] =
			check_new(checks, &config->servers[server], roster->server_line[server],
				  &service->health.check);
		if (list->check[list->n] == NULL)
			return -ENOMEM;
		list->n++;
	}
	return 0;
}

/* Services that want the same of a server share one check. */
static void list_sort(struct checks_list *list)
{
	size_t kept = 0;

	if (list->n > 0)
		qsort(list->check, list->n, sizeof(struct check *), compare_keys);
	for (size_t i = 0; i < list->n; i++) {
		if (kept > 0 && compare_keys(&list->check[kept - 1], &list->check[i]) == 0)
			check_free(list->check[i]);
		else
			list->check[kept++] = list->check[i];
	}
	list->n = kept;
}

static int list_make(struct checks_list *list, struct checks *checks, const struct config *config,
		     const struct roster *roster)
{
	*list = (struct checks_list){ calloc(count_wanted(config) + 1, sizeof(struct check *)), 0 };
	if (list->check == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < config->n_services; i++)
		if (list_add_service(list, checks, config, &config->services[i], roster) < 0) {
			list_free(list);
			return -ENOMEM;
		}
	list_sort(list);
	return 0;
}

/* Unchanged ones move to the new list. */
static void list_adopt(struct checks_list *list, struct checks *checks)
{
	for (size_t i = 0; i < list->n; i++) {
		struct check *old = checks_find(checks, list->check[i]);

		if (old == NULL) {
			check_begin(list->check[i]);
			continue;
		}
		check_free(list->check[i]);
		list->check[i] = old;
	}
}

static bool has_line(const struct checks *checks, uint32_t line)
{
	return checks_of(checks, checks_from(checks, line), line) != NULL;
}

/* The last check of a server ended: what it said is over, and not in some intervals. */
static void check_retire(struct check *check, const struct roster *roster)
{
	if (check->is_down && roster->own[check->line] && !has_line(check->checks, check->line))
		health_check_passed(check->checks->counters, check_line(check), clock_now_ns());
	check_free(check);
}

int checks_apply(struct checks *checks, const struct config *config, const struct roster *roster,
		 struct err *err)
{
	const struct checks_list old = { checks->check, checks->n };
	struct checks_list list;

	if (list_make(&list, checks, config, roster) < 0)
		return err_set(err, -ENOMEM, "no memory for the checks of servers");
	list_adopt(&list, checks);
	checks->check = list.check;
	checks->n = list.n;
	for (size_t i = 0; i < old.n; i++)
		if (checks_find(checks, old.check[i]) != old.check[i])
			check_retire(old.check[i], roster);
	free(old.check);
	return 0;
}
