/* check.c - when servers are checked, and what the results amount to. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "check_internal.h"
#include "clock.h"
#include "health.h"
#include "log.h"
#include "text.h"

#define LEASE_INTERVALS 3
#define LEASE_MIN_NS    CLOCK_S
#define COMPLAIN_NS     (60 * CLOCK_S) /* about our own trouble */

size_t checks_from(const struct checks *checks, uint32_t line)
{
	size_t low = 0, high = checks->n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (checks->check[mid]->line < line)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct check *checks_of(const struct checks *checks, size_t n, uint32_t line)
{
	return n < checks->n && checks->check[n]->line == line ? checks->check[n] : NULL;
}

/*** When ***/

void check_arm(struct check *check, int64_t delay_ns)
{
	struct timeval tv;

	if (delay_ns < CLOCK_MS)
		delay_ns = CLOCK_MS;
	tv = (struct timeval){ .tv_sec = delay_ns / CLOCK_S,
			       .tv_usec = delay_ns % CLOCK_S / CLOCK_US };
	event_add(check->timer, &tv);
}

/* From start to start, more or less a twentieth: checks of many servers do not fall into step. */
static void check_arm_next(struct check *check)
{
	const double factor = 0.95 + 0.1 * check_fraction(cr_mix64(check->seed + check->round));
	const int64_t now = clock_now_ns();
	const int64_t due = check->base_ns + (int64_t)(factor * (double)check->interval_ns);

	check_arm(check, due > now ? due - now : 0);
}

/*** What the results amount to ***/

struct counters_line *check_line(const struct check *check)
{
	return counters_line(check->checks->counters, check->line);
}

/* Another check says that this server is down. */
static bool check_is_overruled(const struct check *check)
{
	const struct checks *checks = check->checks;
	const struct check *other;

	for (size_t i = checks_from(checks, check->line);
	     (other = checks_of(checks, i, check->line)) != NULL; i++)
		if (other != check && other->is_down)
			return true;
	return false;
}

static void check_say_down(struct check *check)
{
	int64_t lease = LEASE_INTERVALS * check->interval_ns + check->timeout_ns;

	if (lease < LEASE_MIN_NS)
		lease = LEASE_MIN_NS;
	health_check_failed(check->checks->counters, check_line(check), clock_now_ns() + lease);
}

/* It is up again, or was never quite down: told once per recovery, so that a check that is good all
 * the time does not shorten what calls found out. */
static void check_say_passed(struct check *check)
{
	if (!check->has_failed)
		return;
	check->has_failed = check->is_down = false;
	if (!check_is_overruled(check))
		health_check_passed(check->checks->counters, check_line(check), clock_now_ns());
}

static void check_count(struct check *check, bool is_good)
{
	check->good = is_good ? check->good + 1 : 0;
	check->bad = is_good ? 0 : check->bad + 1;
	if (!is_good) {
		check->has_failed = true;
		if (check->name != NULL) /* perhaps the server has moved */
			resolver_doubt(check->checks->resolver, check->name, clock_now_ns());
	}
	if (check->bad >= check->fall)
		check->is_down = true;
	if (check->good == check->rise)
		check_say_passed(check);
}

static void check_complain(struct check *check, const char *error)
{
	const int64_t now = clock_now_ns();

	if (check->checks->complained_ns != 0 && now - check->checks->complained_ns < COMPLAIN_NS)
		return;
	check->checks->complained_ns = now;
	log_warn("check not made",
		 "what=\"%s\" error=\"%s\" remedy=\"more open files (LimitNOFILE), or longer "
		 "intervals\"",
		 check->what, error);
}

void check_over(struct check *check, enum check_end end, const char *error)
{
	switch (end) {
	case CHECK_GOOD:
	case CHECK_BAD:
		(void)text_copy(check->error, sizeof check->error, error);
		check_count(check, end == CHECK_GOOD);
		break;
	case CHECK_NOTHING:
		check_complain(check, error);
		break;
	}
	if (check->is_down)
		check_say_down(check);
	check_arm_next(check);
}

/*** Runs ***/

static void check_start(struct check *check)
{
	char error[sizeof check->error];
	int r = 1;

	check->base_ns = clock_now_ns();
	check->round++;
	if (check->name != NULL)
		r = resolver_get(check->checks->resolver, check->name, check->base_ns,
				 &check->address, error, sizeof error);
	if (r == 0) { /* the name server has yet to answer: that says nothing of the server */
		if (check->is_down)
			check_say_down(check);
		check_arm_next(check);
	} else if (r < 0) {
		check_over(check, CHECK_BAD, error);
	} else {
		check_arm(check, check->timeout_ns);
		check_run(check);
	}
}

void check_due(evutil_socket_t fd, short what, void *arg)
{
	struct check *check = arg;

	(void)fd;
	(void)what;
	if (check->fd >= 0)
		check_too_late(check);
	else
		check_start(check);
}

/*** As a whole ***/

void checks_restored(struct checks *checks, uint32_t line)
{
	struct check *check;

	for (size_t i = checks_from(checks, line); (check = checks_of(checks, i, line)) != NULL;
	     i++) {
		check->is_down = check->has_failed = false;
		check->good = check->bad = 0;
	}
}

bool checks_get(const struct checks *checks, uint32_t line, struct check_report *out)
{
	const struct check *worst = NULL, *check;

	for (size_t i = checks_from(checks, line); (check = checks_of(checks, i, line)) != NULL;
	     i++)
		if (worst == NULL || check->is_down > worst->is_down || check->bad > worst->bad)
			worst = check;
	if (worst == NULL)
		return false;
	*out = (struct check_report){ .what = worst->what,
				      .is_down = worst->is_down,
				      .good = worst->good,
				      .bad = worst->bad,
				      .runs = worst->round };
	(void)text_copy(out->error, sizeof out->error, worst->error);
	return true;
}

struct checks *checks_new(struct event_base *base, struct counters *counters)
{
	struct checks *checks = calloc(1, sizeof *checks);

	if (checks == NULL)
		return NULL;
	checks->base = base;
	checks->counters = counters;
	checks->resolver = resolver_new();
	if (checks->resolver != NULL)
		return checks;
	free(checks);
	return NULL;
}

void checks_free(struct checks *checks)
{
	if (checks == NULL)
		return;
	for (size_t i = 0; i < checks->n; i++)
		check_free(checks->check[i]);
	free(checks->check);
	resolver_free(checks->resolver);
	free(checks);
}
