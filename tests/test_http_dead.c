/* test_http_dead.c - targets of the collector "http" that are slow or dead, and what they cost the
 * others. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "lab/collector_host.h"
#include "lab/fake_http.h"
#include "lab/fake_names.h"
#include "lab/lab_open.h"

#define STATUS_PAGE "<status><jvm><memory free='1' total='2' max='3'/></jvm></status>"

static struct fake_http *web, *silent;
static struct fake_blackhole hole;
static struct collector_host *host;
static char refusal[64];
static int refusal_fd;

static void open_host(const char *max_inflight)
{
	const char *settings[] = { "profile=tomcat-status", max_inflight, NULL };
	char err[512];

	host = lab_open(&cr_collector_1, "src", settings, err, sizeof err);
	cr_assert(host, "%s", err);
}

static void begin(void)
{
	web = fake_http_new();
	silent = fake_http_new();
	refusal_fd = fake_refusal_open(refusal, sizeof refusal);
	cr_assert(web && silent && refusal_fd >= 0);
	cr_assert_eq(fake_blackhole_open(&hole), 0);
	fake_names_hold("slow.test", true);
	fake_http_page(web, "200 OK", "", STATUS_PAGE);
}

static void end(void)
{
	cr_expect(!collector_host_fault(host), "%s", collector_host_fault(host));
	collector_host_close(host);
	fake_blackhole_close(&hole);
	fake_refusal_close(refusal_fd);
	fake_http_free(silent);
	fake_http_free(web);
}

TestSuite(http_dead, .init = begin, .fini = end, .timeout = 100);

static int add(const char *endpoint)
{
	static int n;
	char name[32];

	snprintf(name, sizeof name, "s%d", n++);
	return collector_host_add(host, name, endpoint, false);
}

static void expect_failed(int target, enum cr_why why, const char *text)
{
	const struct collector_poll *poll = collector_host_last(host, target);

	cr_expect_eq(poll->state, COLLECTOR_FAILED);
	cr_expect_eq(poll->why, why, "%d: %s", poll->why, poll->text);
	cr_expect(strstr(poll->text, text), "\"%s\" has no \"%s\"", poll->text, text);
}

Test(http_dead, says_at_which_step_a_poll_was_late)
{
	static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<status>";
	int target[4];

	fake_http_set(web, FAKE_DRIP, page, sizeof page - 1);
	open_host(NULL);
	target[0] = add(hole.url);
	target[1] = add(fake_http_url(silent));
	target[2] = add(fake_http_url(web));
	target[3] = add("http://slow.test");
	cr_assert_eq(collector_host_poll(host, 600 * CH_MS, 20000 * CH_MS), 0);
	expect_failed(target[0], CR_TIMEOUT, "no connection to http://127.0.0.1:");
	expect_failed(target[1], CR_TIMEOUT, "connected, but no answer within 600 ms");
	expect_failed(target[2], CR_TIMEOUT, "no complete answer within 600 ms");
	expect_failed(target[3], CR_TIMEOUT,
		      "name slow.test was not resolved in time: name server slow or down");
}

Test(http_dead, knows_at_once_that_a_connection_is_refused)
{
	int target, unknown;

	open_host(NULL);
	target = add(refusal);
	unknown = add("http://unknown.test");
	cr_assert_eq(collector_host_poll(host, 30000 * CH_MS, 10000 * CH_MS), 0);
	expect_failed(target, CR_CONNECT, "cannot connect to http://127.0.0.1:");
	expect_failed(target, CR_CONNECT, ": Connection refused");
	expect_failed(unknown, CR_CONNECT, "there is no host named unknown.test");
}

Test(http_dead, never_waits_for_a_slow_name)
{
	int slow, good;

	open_host(NULL);
	slow = add("http://slow.test");
	good = add(fake_http_url(web));
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(collector_host_poll(host, 300 * CH_MS, 20000 * CH_MS), 0);
		expect_failed(slow, CR_TIMEOUT, "slow.test");
		cr_expect_eq(collector_host_last(host, good)->state, COLLECTOR_GOOD);
	}
	cr_expect_lt(collector_host_longest_ns(host), 1000 * CH_MS);
}

Test(http_dead, is_not_delayed_by_20_dead_of_200_targets)
{
	enum { TIMEOUT_MS = 3000, SOON_MS = 1500 };
	const char *const places[] = { refusal, fake_http_url(silent), hole.url };
	int target[200];

	open_host(NULL);
	for (int i = 0; i < 200; i++)
		target[i] = add(i % 10 == 0 ? places[i / 10 % 3] : fake_http_url(web));
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(collector_host_poll(host, TIMEOUT_MS * CH_MS, 20000 * CH_MS), 0);
		for (int i = 0; i < 200; i++) {
			const struct collector_poll *poll = collector_host_last(host, target[i]);

			cr_expect_eq(poll->state, i % 10 ? COLLECTOR_GOOD : COLLECTOR_FAILED);
			if (i % 10)
				cr_expect_lt(poll->took_ns, SOON_MS * CH_MS);
		}
	}
	cr_expect_eq(fake_http_requests(web), 360);
	/* of one host, in each of the two multi handles */
	cr_expect_leq(fake_http_connections(web), 2 * 64);
	cr_expect_lt(collector_host_longest_ns(host), SOON_MS * CH_MS);
}

/* One server answers for many targets: it is not asked everything at once. */
Test(http_dead, asks_one_server_no_more_than_64_questions_at_a_time)
{
	enum { TARGETS = 120 };

	open_host("max_inflight=4096");
	for (int i = 0; i < TARGETS; i++)
		add(fake_http_url(web));
	cr_assert_eq(collector_host_poll(host, 10000 * CH_MS, 20000 * CH_MS), 0);
	for (int i = 0; i < TARGETS; i++)
		cr_expect_eq(collector_host_last(host, i)->state, COLLECTOR_GOOD, "%d: %s", i,
			     collector_host_last(host, i)->text);
	cr_expect_eq(fake_http_requests(web), TARGETS);
	cr_expect_leq(fake_http_connections(web), 64, "%zu", fake_http_connections(web));
}

Test(http_dead, starts_those_first_that_were_not_slow)
{
	int dead[8], good[4];

	open_host("max_inflight=4");
	for (int i = 0; i < 8; i++)
		dead[i] = add(hole.url);
	for (int i = 0; i < 4; i++)
		good[i] = add(fake_http_url(web));
	/* the dead take all places, and whoever got none is told so */
	cr_assert_eq(collector_host_poll(host, 300 * CH_MS, 20000 * CH_MS), 0);
	expect_failed(dead[0], CR_TIMEOUT, "no connection to ");
	expect_failed(good[0], CR_TIMEOUT,
		      "not started in time: all places were taken (max_inflight is 4)");
	/* those that were late come last from now on, and keep two places free */
	for (int i = 0; i < 2; i++)
		collector_host_poll(host, 300 * CH_MS, 20000 * CH_MS);
	for (int round = 0; round < 3; round++) {
		cr_assert_eq(collector_host_poll(host, 300 * CH_MS, 20000 * CH_MS), 0);
		for (int i = 0; i < 4; i++)
			cr_expect_eq(collector_host_last(host, good[i])->state, COLLECTOR_GOOD);
	}
}

Test(http_dead, tries_a_recovered_target_again)
{
	int target[6];
	int recovered = 0;

	open_host("max_inflight=2");
	for (int i = 0; i < 6; i++)
		target[i] = add(fake_http_url(silent));
	for (int round = 0; round < 4; round++)
		collector_host_poll(host, 200 * CH_MS, 20000 * CH_MS);
	fake_http_page(silent, "200 OK", "", STATUS_PAGE);
	collector_host_poll(host, 5000 * CH_MS, 20000 * CH_MS);
	for (int i = 0; i < 6; i++)
		recovered += collector_host_last(host, target[i])->state == COLLECTOR_GOOD;
	cr_expect_eq(recovered, 6);
}
