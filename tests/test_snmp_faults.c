/* test_snmp_faults.c - the SNMP collector with agents that answer badly, late or never, and with
 * many of them at once. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "lab/snmp_bench.h"

TestSuite(snmp_faults, .init = begin, .fini = end, .timeout = 60);

/*** Wrong, late and missing answers ***/

Test(snmp_faults, tells_of_a_dead_port_at_once)
{
	char endpoint[64];

	setup_jvm();
	snprintf(endpoint, sizeof endpoint, "%s", fake_snmp_endpoint(fake));
	fake_snmp_free(fake);
	fake = NULL;
	expect_bad(LONG_MS, CR_CONNECT, "nobody listens at udp:127.0.0.1:");
	cr_assert_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	/* And it takes no harm by it. */
	expect_bad(LONG_MS, CR_CONNECT, "nobody listens");
}

static bool is_refused_on; /* refusals come faster than anybody takes them */
static size_t n_refusals;

/* In place of libc's. */
ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	if (!is_refused_on || (flags & MSG_ERRQUEUE) == 0)
		return (ssize_t)syscall(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);
	cr_assert_lt(++n_refusals, 100000u, "nobody else had a turn");
	return 0;
}

Test(snmp_faults, leaves_a_flood_of_refusals_for_later)
{
	setup_jvm();
	fake_snmp_free(fake);
	fake = NULL;
	is_refused_on = true;
	expect_bad(LONG_MS, CR_CONNECT, "nobody listens");
	cr_expect_gt(n_refusals, 0u);
}

Test(snmp_faults, waits_for_a_silent_agent_until_the_deadline_and_names_the_community)
{
	setup_jvm();
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer in 200 ms: wrong community");
	cr_assert_geq(collector_host_last(host, target)->took_ns, SHORT_MS * CH_MS);
	cr_assert_eq(fake_snmp_await(fake, 2), 2, "one try and one retry");
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

Test(snmp_faults, gets_no_answer_with_a_wrong_community)
{
	write_community("secret\n", 0600);
	setup_jvm();
	expect_bad(SHORT_MS, CR_TIMEOUT, "wrong community");
}

Test(snmp_faults, takes_an_answer_that_comes_after_the_retry)
{
	setup_jvm();
	fake_snmp_delay(fake, 300);
	cr_assert_eq(poll_for(590)->state, COLLECTOR_GOOD);
}

Test(snmp_faults, sends_once_only_without_retries)
{
	fake = fake_snmp_new(FAKE_SILENT);
	open_with(JVM, "retries=0", NULL);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer");
	cr_assert_eq(fake_snmp_await(fake, 1), 1);
}

Test(snmp_faults, takes_no_answer_that_fits_no_question)
{
	static const enum fake_mode modes[] = { FAKE_WRONG_ID, FAKE_TRUNCATED, FAKE_GARBAGE };

	setup_jvm();
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		fake_snmp_mode(fake, modes[i], 0);
		expect_bad(SHORT_MS, CR_TIMEOUT, "is SNMP v2c spoken there?");
	}
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

Test(snmp_faults, counts_what_is_no_answer)
{
	fake = fake_snmp_new(FAKE_WRONG_ID);
	fake_snmp_jvm(fake, 100, 400, 1000);
	open_with(JVM, "retries=0", NULL);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	expect_bad(SHORT_MS, CR_TIMEOUT, "but 1 message that is none: is SNMP v2c spoken there?");
	fake_snmp_mode(fake, FAKE_DUPLICATE, 0);
	expect_good();
	fake_snmp_mode(fake, FAKE_GARBAGE, 0);
	collector_host_close(host);
	open_with(JVM, "retries=1", NULL);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	expect_bad(SHORT_MS, CR_TIMEOUT, "but 2 messages that are none: is SNMP v2c spoken there?");
}

Test(snmp_faults, counts_an_answer_that_comes_twice_once)
{
	setup_jvm();
	fake_snmp_mode(fake, FAKE_DUPLICATE, 0);
	for (int i = 0; i < 5; i++) {
		expect_good();
		cr_assert_eq(n_values(), 3);
	}
}

/* Where somebody has answered before it is asked so from the second poll in vain on. */
Test(snmp_faults, hears_the_polled_address_only_and_names_the_other)
{
	char named[160];

	setup_jvm();
	fake_snmp_mode(fake, FAKE_OTHER_PORT, 0);
	snprintf(named, sizeof named,
		 "no answer in 200 ms from the polled address, but 127.0.0.1:%d has answered: poll "
		 "that one, or set strict_source: false",
		 fake_snmp_other_port(fake));
	expect_bad(SHORT_MS, CR_TIMEOUT, named);
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
	fake_snmp_mode(fake, FAKE_OTHER_PORT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer in 200 ms: wrong community");
	expect_bad(SHORT_MS, CR_TIMEOUT, named);
	expect_bad(SHORT_MS, CR_TIMEOUT, named);
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer in 200 ms: wrong community");
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

Test(snmp_faults, names_the_other_address_of_ipv6_too)
{
	fake = fake_snmp_new_at(FAKE_OTHER_PORT, "::1", 0);
	if (fake == NULL)
		cr_skip_test("there is no IPv6 here");
	fake_snmp_jvm(fake, 100, 400, 1000);
	open_with(JVM, NULL, NULL);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	expect_bad(SHORT_MS, CR_TIMEOUT, "from the polled address, but [::1]:");
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

/* Anybody can send us something: only who knows what was asked is named. */
Test(snmp_faults, names_nobody_who_does_not_know_the_question)
{
	setup_jvm();
	fake_snmp_mode(fake, FAKE_WRONG_FROM_OTHER_PORT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer in 200 ms: wrong community");
}

/* Who hears everybody hears no refusal by itself. */
Test(snmp_faults, tells_of_a_dead_port_where_an_agent_was_silent_before)
{
	char endpoint[64];

	setup_jvm();
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer");
	snprintf(endpoint, sizeof endpoint, "%s", fake_snmp_endpoint(fake));
	fake_snmp_free(fake);
	fake = NULL;
	for (int i = 0; i < 3; i++) {
		expect_bad(LONG_MS, CR_CONNECT, "nobody listens at udp:127.0.0.1:");
		cr_assert_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	}
}

Test(snmp_faults, hears_any_address_if_told_to)
{
	fake = fake_snmp_new(FAKE_OTHER_PORT);
	fake_snmp_jvm(fake, 100, 400, 1000);
	open_with(JVM, "strict_source=false", NULL);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 100);
}

Test(snmp_faults, tells_of_an_agents_error)
{
	setup_jvm();
	fake_snmp_mode(fake, FAKE_GENERR, 0);
	expect_bad(LONG_MS, CR_REPLY, "genError");
}

Test(snmp_faults, takes_no_answer_about_other_objects)
{
	setup_jvm();
	fake_snmp_mode(fake, FAKE_OTHER_OBJECTS, 0);
	expect_bad(LONG_MS, CR_REPLY, "other objects");
}

Test(snmp_faults, says_which_endpoints_it_understands)
{
	open_with(JVM, NULL, NULL);
	target = collector_host_add(host, "ms1", "udp:", false);
	expect_bad(LONG_MS, CR_CONNECT, "write udp:HOST:PORT");
	collector_host_forget(host, target);
	target = collector_host_add(host, "ms1", "::1:161", false);
	expect_bad(LONG_MS, CR_CONNECT, "put an IPv6 address in brackets: udp6:[ADDRESS]:PORT");
	collector_host_forget(host, target);
	target = collector_host_add(host, "ms1", "tcp:127.0.0.1:70000", false);
	expect_bad(LONG_MS, CR_CONNECT, "\"70000\" is no port; ports are 1 to 65535");
}

Test(snmp_faults, finds_a_host_by_name)
{
	char endpoint[64];

	setup_jvm();
	snprintf(endpoint, sizeof endpoint, "udp:localhost:%s",
		 strrchr(fake_snmp_endpoint(fake), ':') + 1);
	collector_host_forget(host, target);
	target = collector_host_add(host, "ms1", endpoint, false);
	expect_good(); /* whether or not it is ::1 first */
}

Test(snmp_faults, works_on_when_another_instance_comes_and_goes)
{
	struct collector_host *first, *second;

	setup_jvm();
	for (int i = 0; i < 20; i++) {
		first = host;
		open_with(JVM, NULL, NULL);
		second = host;
		host = first;
		collector_host_add(second, "ms2", fake_snmp_endpoint(fake), false);
		cr_assert_eq(collector_host_poll(second, LONG_MS * CH_MS, LONG_MS * CH_MS), 0);
		cr_assert_eq(collector_host_last(second, 0)->state, COLLECTOR_GOOD);
		expect_good();
		collector_host_close(second);
	}
	expect_good();
}

/*** The community's file ***/

static void expect_refusal(const char *text)
{
	const char *more[] = { community_setting, NULL };
	const char *err = try_open(JVM, more);

	cr_assert_not_null(err);
	cr_assert_not_null(strstr(err, text), "%s", err);
}

Test(snmp_faults, refuses_a_source_that_is_read_over_http)
{
	const char *refused = try_open("format: json\nfields: { busy_threads: /a }", NULL);

	cr_assert_not_null(refused);
	cr_assert_str_eq(refused, "this source is read over HTTP; write plugin: http");
}

Test(snmp_faults, refuses_a_community_that_others_can_read)
{
	write_community("public\n", 0644);
	expect_refusal(
		"has mode 644, so others than its owner and group can get at it; run chmod 640 "
		"/tmp/callrouter-snmp-");
}

Test(snmp_faults, refuses_a_community_that_is_empty_missing_or_too_long)
{
	char text[400];

	write_community("\npublic\n", 0600);
	expect_refusal("has nothing in its first line; write the secret there");
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	write_community(text, 0600);
	expect_refusal(" has more than 255 bytes; give agent and file a shorter one");
	unlink(community);
	expect_refusal("No such file or directory");
	snprintf(community_setting, sizeof community_setting, "community_file=/dev/null");
	expect_refusal("/dev/null is no regular file; name one");
}

Test(snmp_faults, takes_the_first_line_without_its_end_for_the_community)
{
	write_community("public\r\n# not this\n", 0600);
	setup_jvm();
	expect_good();
}

/*** Many targets ***/

#define LIVE  180
#define FAKES 18
#define DEAD  10

static struct fake_snmp *fakes[FAKES], *silent[DEAD];

static void free_many(void)
{
	for (int i = 0; i < FAKES; i++)
		fake_snmp_free(fakes[i]);
	for (int i = 0; i < DEAD; i++)
		fake_snmp_free(silent[i]);
	end();
}

/* 10 silent ones, 10 dead ports, 180 live ones, in this order: the live come last. */
static void begin_many(void)
{
	char name[32];
	struct fake_snmp *gone;

	begin();
	open_with(JVM, "max_inflight=16", NULL);
	/* Before the ports of the dead are free, which they would take. */
	for (int i = 0; i < FAKES; i++) {
		fakes[i] = fake_snmp_new(FAKE_NORMAL);
		fake_snmp_jvm(fakes[i], 100 + i, 400, 1000);
	}
	for (int i = 0; i < DEAD; i++) {
		silent[i] = fake_snmp_new(FAKE_SILENT);
		snprintf(name, sizeof name, "silent%d", i);
		collector_host_add(host, name, fake_snmp_endpoint(silent[i]), false);
	}
	for (int i = 0; i < DEAD; i++) {
		gone = fake_snmp_new(FAKE_NORMAL);
		snprintf(name, sizeof name, "dead%d", i);
		collector_host_add(host, name, fake_snmp_endpoint(gone), false);
		fake_snmp_free(gone);
	}
	for (int i = 0; i < LIVE; i++) {
		snprintf(name, sizeof name, "live%d", i);
		collector_host_add(host, name, fake_snmp_endpoint(fakes[i % FAKES]), false);
	}
}

/* Visit the collector until only the silent ones are still under way. */
static void run_to_silence(void)
{
	for (int i = 0; i < 2000; i++)
		if (collector_host_run(host, 5 * CH_MS) <= DEAD)
			break;
	for (int i = 0; i < DEAD; i++)
		cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_RUNNING);
	for (int i = 2 * DEAD; i < 2 * DEAD + LIVE; i++)
		cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_GOOD, "%d: %s", i,
			     collector_host_last(host, i)->text);
}

Test(snmp_many, does_not_let_the_dead_hold_up_the_living, .init = begin_many, .fini = free_many,
     .timeout = 60)
{
	for (int i = 0; i < 2 * DEAD + LIVE; i++)
		collector_host_start(host, i, 8000 * CH_MS);
	run_to_silence();
	for (int i = DEAD; i < 2 * DEAD; i++) {
		cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_FAILED);
		cr_assert_eq(collector_host_last(host, i)->why, CR_CONNECT);
	}
	/* The next round of the living is over too before the silent ones have failed. */
	collector_host_clear(host);
	for (int i = 2 * DEAD; i < 2 * DEAD + LIVE; i++)
		collector_host_start(host, i, 8000 * CH_MS);
	run_to_silence();
	cr_assert_eq(n_values(), 3 * LIVE);
	cr_assert_eq(collector_host_value(host, "live179", NULL, "jvm_heap_used_bytes"), 117);
}

Test(snmp_many, asks_those_last_that_were_silent_the_last_time, .init = begin_many,
     .fini = free_many, .timeout = 60)
{
	for (int i = 0; i < DEAD; i++)
		collector_host_start(host, i, SHORT_MS * CH_MS);
	cr_assert_eq(collector_host_run(host, 10000 * CH_MS), 0);
	for (int i = 0; i < DEAD; i++)
		cr_assert_eq(fake_snmp_await(silent[i], 2), 2);
	for (int i = 0; i < 2 * DEAD + LIVE; i++)
		collector_host_start(host, i, 8000 * CH_MS);
	collector_host_run(host, 0); /* nothing: only the time is over */
	run_to_silence();
}

Test(snmp_many, forgets_targets_at_any_time, .init = begin_many, .fini = free_many, .timeout = 60)
{
	for (int i = 0; i < 2 * DEAD + LIVE; i++)
		collector_host_start(host, i, 500 * CH_MS);
	collector_host_run(host, 1 * CH_MS);
	for (int i = 0; i < 2 * DEAD + LIVE; i += 3)
		collector_host_forget(host, i);
	cr_assert_eq(collector_host_run(host, 10000 * CH_MS), 0);
	for (int i = 2 * DEAD; i < 2 * DEAD + LIVE; i++)
		if (i % 3 != 0)
			cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_GOOD);
}

Test(snmp_many, gives_up_what_never_had_its_turn, .init = begin, .fini = free_many, .timeout = 60)
{
	const struct collector_poll *poll;

	open_with(JVM, "max_inflight=1", NULL);
	for (int i = 0; i < DEAD; i++) {
		silent[i] = fake_snmp_new(FAKE_SILENT);
		collector_host_add(host, "x", fake_snmp_endpoint(silent[i]), false);
		collector_host_start(host, i, 30 * CH_MS); /* time for two */
	}
	cr_assert_eq(collector_host_run(host, 10000 * CH_MS), 0);
	poll = collector_host_last(host, DEAD - 1);
	cr_assert_eq(poll->state, COLLECTOR_FAILED);
	cr_assert_eq(poll->why, CR_TIMEOUT);
	cr_assert_not_null(strstr(poll->text, "raise max_inflight"), "%s", poll->text);
	cr_assert_eq(fake_snmp_requests(silent[DEAD - 1]), 0);
}

Test(snmp_many, is_told_that_files_have_run_out_and_not_that_the_agent_is_dead, .init = begin,
     .fini = end, .timeout = 60)
{
	const struct rlimit few = { 64, 64 };
	int last = -1, fd;

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	setup_jvm();
	while ((fd = fcntl(0, F_DUPFD_CLOEXEC, 3)) >= 0)
		last = fd;
	expect_bad(LONG_MS, CR_CONNECT,
		   "no file left for a connection: let callrouterd open more than 64 "
		   "(LimitNOFILE=, ulimit -n) or lower max_inflight");
	for (fd = last; fd > last - 20; fd--)
		close(fd);
	expect_good();
}

Test(snmp_many, works_with_descriptors_above_1024, .init = begin, .fini = end, .timeout = 60)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < 1200)
		cr_skip_test("no more than %lu descriptors here", (unsigned long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (fcntl(0, F_DUPFD_CLOEXEC, 3) < 1100)
		;
	setup_jvm();
	expect_good();
	expect_good();
}
