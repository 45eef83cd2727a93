/* test_http_files.c - the collector "http" where this process may open too few files. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "http_scene.h"
#include "lab/fake_names.h"

#define S INT64_C(1000000000)

static const char page[] = "<status><jvm><memory free='1' total='2' max='3'/></jvm></status>";
static pid_t apart; /* the server's process */

static void end(void)
{
	if (apart > 0)
		kill(apart, SIGKILL);
	close_all();
}

TestSuite(http_files, .init = open_web, .fini = end, .timeout = 60);

#define NO_FILE                                                                                    \
	"no file left for a connection: let callrouterd open more than 64 (LimitNOFILE=, ulimit "  \
	"-n) or lower max_inflight"

enum { FEW_FILES = 64, MANY_TARGETS = 100 };

/* A server that has its files in a process of its own. Returns its port. */
static unsigned serve_apart(void)
{
	unsigned port = 0;
	int ready[2];

	cr_assert_eq(pipe(ready), 0);
	apart = fork();
	cr_assert_geq(apart, 0);
	if (apart == 0) {
		struct fake_http *own;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		own = fake_http_new();
		fake_http_page(own, "200 OK", "", page);
		port = fake_http_port(own);
		if (write(ready[1], &port, sizeof port) == sizeof port)
			for (;;)
				pause();
		_exit(1);
	}
	cr_assert_eq(read(ready[0], &port, sizeof port), sizeof port);
	close(ready[0]);
	close(ready[1]);
	return port;
}

static void open_many(const char *max_inflight)
{
	const unsigned port = serve_apart();
	const char *const settings[] = { "profile=tomcat-status", max_inflight, NULL };
	const struct rlimit few = { FEW_FILES, 1024 };
	char name[64];

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	open_host(settings);
	for (int i = 0; i < MANY_TARGETS; i++) { /* each with a connection of its own */
		snprintf(name, sizeof name, "http://n%d.many.test:%u", i, port);
		collector_host_add(host, "ms1", name, false);
	}
}

/* How many polls of a round were good; all others say that files have run out. */
static int count_good(void)
{
	int good = 0;

	cr_assert_eq(collector_host_poll(host, 5000 * CH_MS, 20000 * CH_MS), 0);
	for (int i = 0; i < MANY_TARGETS; i++)
		if (collector_host_last(host, i)->state == COLLECTOR_GOOD)
			good++;
		else
			expect_failed(collector_host_last(host, i), CR_CONNECT, NO_FILE);
	return good;
}

Test(http_files, that_run_out_are_told_and_no_living_server_is_told_off)
{
	const struct rlimit enough = { 1024, 1024 };

	open_many("max_inflight=256");
	for (int i = 0; i < 3; i++) {
		const int good = count_good();

		cr_expect_gt(good, 0);
		cr_expect_lt(good, MANY_TARGETS);
		collector_host_pass(3 * S);
	}
	cr_expect_eq(fake_names_lookups(NULL), MANY_TARGETS, "nobody doubts the addresses");
	if (setrlimit(RLIMIT_NOFILE, &enough) == 0)
		cr_expect_eq(count_good(), MANY_TARGETS);
}

Test(http_files, that_run_out_leave_fewer_connections_kept)
{
	int good = 0;

	open_many("max_inflight=4");
	cr_expect_lt(count_good(), MANY_TARGETS, "as many connections as can be are kept");
	for (int i = 0; i < 50 && good < MANY_TARGETS; i++) {
		collector_host_pass(3 * S);
		good = count_good();
	}
	cr_expect_eq(good, MANY_TARGETS);
}
