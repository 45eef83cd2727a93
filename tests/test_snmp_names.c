/* test_snmp_names.c - the SNMP collector with targets that are names: slow and unknown ones, hosts
 * with several addresses, hosts that move. */
#include <poll.h>

#include "lab/fake_names.h"
#include "lab/snmp_bench.h"
#include "lab/threads.h"

#define S INT64_C(1000000000)

static struct fake_snmp *second; /* the same port at another address */

static void end_names(void)
{
	fake_names_hold(NULL, false);
	end();
	fake_snmp_free(second);
}

TestSuite(snmp_names, .init = begin, .fini = end_names, .timeout = 60);

/* The agent at 127.0.0.1, with 100 bytes in use. */
static void begin_agent(void)
{
	fake = fake_snmp_new(FAKE_NORMAL);
	fake_snmp_jvm(fake, 100, 400, 1000);
}

/* One more, with 200 bytes. */
static void begin_second(enum fake_mode mode, const char *address)
{
	second = fake_snmp_new_at(mode, address, fake_snmp_port(fake));
	if (second == NULL)
		cr_skip_test("no %s:%d here", address, fake_snmp_port(fake));
	fake_snmp_jvm(second, 200, 400, 1000);
}

/* kind: "udp", "tcp", ... */
static int add(const char *kind, const char *name)
{
	char endpoint[96];

	snprintf(endpoint, sizeof endpoint, "%s:%s:%d", kind, name, fake_snmp_port(fake));
	return collector_host_add(host, "ms1", endpoint, false);
}

/* An agent, an instance, a target with a name of these addresses. */
static void setup_name(const char *addresses)
{
	begin_agent();
	fake_names_set("a.test", addresses);
	open_with(JVM, NULL, NULL);
	target = add("udp", "a.test");
}

static void setup_v3_with(const char *setting, const char *addresses)
{
	const char *more[] = { "version=3", "user=poller", setting, NULL };
	const char *err;

	begin_agent();
	fake_names_set("a.test", addresses);
	err = try_open(JVM, more);
	cr_assert_null(err, "%s", err);
	target = add("udp", "a.test");
}

static void setup_v3(const char *addresses)
{
	setup_v3_with(NULL, addresses);
}

static void expect_used(double used)
{
	expect_good();
	cr_expect_eq(value(NULL, "jvm_heap_used_bytes"), used, "%f",
		     value(NULL, "jvm_heap_used_bytes"));
}

/* Poll until it answers with this value; each poll is a good one. */
static void await_used(double used)
{
	for (int i = 0; i < 2000; i++) {
		expect_good();
		if (value(NULL, "jvm_heap_used_bytes") == used)
			return;
	}
	cr_assert_fail("still %f", value(NULL, "jvm_heap_used_bytes"));
}

/*** Names that are slow, or none ***/

/* A good target, and one of a name that hangs, which is returned. */
static int add_slow_and_target(void)
{
	int slow;

	begin_agent();
	fake_names_set("slow.test", "127.0.0.1");
	fake_names_hold(NULL, true);
	open_with(JVM, NULL, NULL);
	slow = add("udp", "slow.test");
	target = add("udp", "127.0.0.1");
	return slow;
}

Test(snmp_names, that_are_slow_fail_in_time_and_hold_up_nobody)
{
	const int slow = add_slow_and_target();

	for (int i = 0; i < 3; i++) {
		cr_assert_eq(poll_for(SHORT_MS)->state, COLLECTOR_GOOD);
		cr_expect_lt(collector_host_last(host, target)->took_ns, SHORT_MS * CH_MS);
		cr_expect_eq(collector_host_last(host, slow)->state, COLLECTOR_FAILED);
		cr_expect_eq(collector_host_last(host, slow)->why, CR_TIMEOUT);
		cr_expect_str_eq(
			collector_host_last(host, slow)->text,
			"name slow.test was not resolved in time: name server slow or down (see "
			"/etc/resolv.conf)");
	}
	cr_expect_lt(collector_host_longest_ns(host), 1000 * CH_MS);
	cr_expect_eq(fake_names_lookups(NULL), 1);
	target = slow;
	fake_names_hold(NULL, false);
	expect_used(100);
}

Test(snmp_names, that_become_known_are_polled_at_once_and_others_meanwhile)
{
	const int slow = add_slow_and_target();

	collector_host_start(host, slow, 60000 * CH_MS);
	for (int i = 0; i < 20; i++) {
		collector_host_start(host, target, LONG_MS * CH_MS);
		while (collector_host_run(host, 1 * CH_MS) > 1)
			;
		cr_assert_eq(collector_host_last(host, target)->state, COLLECTOR_GOOD);
		cr_assert_eq(collector_host_last(host, slow)->state, COLLECTOR_RUNNING);
	}
	fake_names_hold(NULL, false);
	cr_assert_eq(collector_host_run(host, 10000 * CH_MS), 0);
	cr_expect_eq(collector_host_last(host, slow)->state, COLLECTOR_GOOD);
}

Test(snmp_names, that_nobody_knows_are_told_at_once)
{
	begin_agent();
	open_with(JVM, NULL, NULL);
	target = add("udp", "none.test");
	expect_bad(LONG_MS, CR_CONNECT, "there is no host named none.test");
	cr_expect_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	expect_bad(LONG_MS, CR_CONNECT, "there is no host named none.test");
	cr_expect_eq(fake_names_lookups(NULL), 1);
	/* but not for ever */
	fake_names_set("none.test", "127.0.0.1");
	collector_host_pass(11 * S);
	expect_bad(LONG_MS, CR_CONNECT, "there is no host named none.test");
	for (int i = 0; i < 2000 && poll_for(LONG_MS)->state != COLLECTOR_GOOD; i++)
		poll(NULL, 0, 1); /* the answer is on its way */
	expect_used(100);
}

Test(snmp_names, say_what_is_wrong_with_the_name_server_or_the_family)
{
	begin_agent();
	open_with(JVM, NULL, NULL);
	fake_names_set("four.test", "127.0.0.1");
	target = add("udp6", "four.test");
	expect_bad(LONG_MS, CR_CONNECT, "host four.test has no IPv6 address");
	collector_host_forget(host, target);
	fake_names_fail(true);
	target = add("udp", "other.test");
	expect_bad(LONG_MS, CR_CONNECT,
		   "name other.test cannot be resolved: no name server answers");
}

Test(snmp_names, cost_nothing_where_there_are_none)
{
	int before;

	begin_agent();
	before = count_threads();
	open_with(JVM, NULL, NULL);
	target = add("udp", "127.0.0.1");
	expect_used(100);
	cr_expect_eq(count_threads(), before);
	cr_expect_eq(fake_names_lookups(NULL), 0);
}

/*** Addresses that change ***/

Test(snmp_names, are_followed_to_another_address_after_30_s)
{
	setup_name("127.0.0.1");
	begin_second(FAKE_NORMAL, "127.0.0.2");
	expect_used(100);
	fake_names_set("a.test", "127.0.0.2");
	collector_host_pass(29 * S);
	expect_used(100);
	cr_expect_eq(fake_names_lookups(NULL), 1);
	collector_host_pass(2 * S);
	await_used(200);
	cr_expect_eq(fake_names_lookups(NULL), 2);
}

/* The old address is silent, or refuses: the poll after the one that failed is good. */
static void expect_found_after_failure(enum cr_why why)
{
	fake_names_set("a.test", "127.0.0.2");
	collector_host_pass(3 * S);
	cr_assert_eq(poll_for(SHORT_MS)->state, COLLECTOR_FAILED);
	cr_expect_eq(collector_host_last(host, target)->why, why);
	cr_assert_eq(fake_names_await("a.test", 2), 2);
	for (int i = 0; i < 2000 && poll_for(SHORT_MS)->state != COLLECTOR_GOOD; i++)
		poll(NULL, 0, 1); /* the answer is on its way */
	expect_used(200);
}

Test(snmp_names, are_followed_at_once_when_the_old_address_refuses)
{
	setup_name("127.0.0.1");
	begin_second(FAKE_NORMAL, "127.0.0.2");
	expect_used(100);
	fake_snmp_free(fake);
	fake = NULL;
	expect_found_after_failure(CR_CONNECT);
}

Test(snmp_names, are_followed_at_once_when_the_old_address_is_silent)
{
	setup_name("127.0.0.1");
	begin_second(FAKE_NORMAL, "127.0.0.2");
	expect_used(100);
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	expect_found_after_failure(CR_TIMEOUT);
}

Test(snmp_names, of_version_3_ask_who_is_there_at_the_new_address)
{
	setup_v3("127.0.0.1");
	begin_second(FAKE_NORMAL, "127.0.0.2");
	fake_snmp_engine(second, 2);
	expect_used(100);
	fake_names_set("a.test", "127.0.0.2");
	collector_host_pass(31 * S);
	await_used(200);
	cr_expect_eq(fake_snmp_discoveries(second), 1);
	cr_expect_eq(fake_snmp_requests(second), 2, "the question, and the poll; no complaint");
	expect_used(200);
	cr_expect_eq(fake_snmp_discoveries(second), 1);
}

Test(snmp_names, of_version_3_are_followed_at_once_after_failures)
{
	setup_v3("127.0.0.1");
	begin_second(FAKE_NORMAL, "127.0.0.2");
	fake_snmp_engine(second, 2);
	expect_used(100);
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	expect_found_after_failure(CR_TIMEOUT);
	cr_expect_eq(fake_snmp_discoveries(second), 1);
}

Test(snmp_names, of_version_3_are_followed_when_a_stranger_has_the_old_address)
{
	setup_v3("127.0.0.1");
	begin_second(FAKE_NORMAL, "127.0.0.2");
	expect_used(100);
	fake_snmp_complain(fake, 3); /* unknown user */
	expect_found_after_failure(CR_AUTH);
}

/*** Several addresses ***/

Test(snmp_names, with_an_address_that_refuses_are_asked_at_the_next_one_in_the_same_poll)
{
	setup_name("127.0.0.3 ::1 127.0.0.1");
	expect_used(100);
	cr_expect_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	expect_used(100);
	cr_expect_eq(fake_snmp_requests(fake), 2);
}

Test(snmp_names, of_version_3_with_an_address_that_refuses_are_asked_at_the_next_one)
{
	setup_v3("127.0.0.3 ::1 127.0.0.1");
	expect_used(100);
	cr_expect_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	cr_expect_eq(fake_snmp_requests(fake), 2);
}

Test(snmp_names, with_an_ipv6_address_are_asked_there)
{
	setup_name("::1 127.0.0.1");
	begin_second(FAKE_NORMAL, "::1");
	expect_used(200);
	cr_expect_eq(fake_snmp_requests(fake), 0);
}

Test(snmp_names, of_whose_addresses_none_takes_it_fail_at_once)
{
	setup_name("127.0.0.3 127.0.0.4 127.0.0.5");
	expect_bad(LONG_MS, CR_CONNECT, " (127.0.0.5): start the agent there or correct");
	cr_expect_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	expect_bad(LONG_MS, CR_CONNECT, "nobody listens at udp:a.test:");
}

static void expect_silent_one_left(const char *retries)
{
	begin_agent();
	begin_second(FAKE_SILENT, "127.0.0.2");
	fake_names_set("a.test", "127.0.0.2 127.0.0.1");
	open_with(JVM, retries, NULL);
	target = add("udp", "a.test");
	cr_assert_eq(poll_for(800)->state, COLLECTOR_GOOD);
	cr_expect_eq(value(NULL, "jvm_heap_used_bytes"), 100);
	cr_expect_eq(fake_snmp_requests(second), 1);
	expect_used(100);
	cr_expect_eq(fake_snmp_requests(second), 1, "it begins with the one that answered");
}

Test(snmp_names, with_a_silent_address_are_asked_at_the_next_one_in_the_same_poll)
{
	expect_silent_one_left(NULL);
}

Test(snmp_names, with_a_silent_address_are_asked_at_the_next_one_without_retries_too)
{
	expect_silent_one_left("retries=0");
}

Test(snmp_names, of_version_3_with_a_silent_address_are_asked_at_the_next_one)
{
	setup_v3("127.0.0.2 127.0.0.1");
	begin_second(FAKE_SILENT, "127.0.0.2");
	cr_assert_eq(poll_for(800)->state, COLLECTOR_GOOD);
	cr_expect_eq(value(NULL, "jvm_heap_used_bytes"), 100);
	cr_expect_eq(fake_snmp_requests(second), 1);
}

/* A share of the time is not enough for it: some polls are one address's alone. */
Test(snmp_names, of_a_slow_agent_are_found_beside_a_silent_address)
{
	begin_agent();
	begin_second(FAKE_SILENT, "127.0.0.2");
	fake_snmp_delay(fake, 300);
	fake_names_set("a.test", "127.0.0.2 127.0.0.1");
	open_with(JVM, "retries=0", NULL);
	target = add("udp", "a.test");
	for (int i = 0; i < 8 && poll_for(450)->state != COLLECTOR_GOOD; i++)
		;
	cr_expect_eq(collector_host_last(host, target)->state, COLLECTOR_GOOD);
	cr_expect_eq(poll_for(450)->state, COLLECTOR_GOOD, "and it is known from then on");
}

/* Two addresses may be two agents: no half of a poll from each. */
Test(snmp_names, do_not_change_the_agent_in_the_middle_of_a_poll)
{
	setup_v3_with("retries=0", "127.0.0.2 127.0.0.1");
	begin_second(FAKE_MUTE_USER, "127.0.0.2");
	expect_bad(SHORT_MS, CR_TIMEOUT, "the agent is there, but does not answer");
	cr_expect_eq(fake_snmp_requests(fake), 0);
	cr_expect_eq(fake_snmp_requests(second), 2, "who is there, and the poll, once");
	expect_used(100); /* the next one begins at the other address */
}

Test(snmp_names, do_not_change_the_agent_when_it_ends_in_the_middle_of_a_poll)
{
	setup_v3("127.0.0.2 127.0.0.1");
	begin_second(FAKE_MUTE_USER, "127.0.0.2");
	collector_host_start(host, target, 1000 * CH_MS);
	for (int i = 0; i < 2000 && fake_snmp_requests(second) < 2; i++)
		cr_assert_eq(collector_host_run(host, 1 * CH_MS), 1);
	fake_snmp_free(second);
	second = NULL;
	cr_assert_eq(collector_host_run(host, 10000 * CH_MS), 0);
	cr_expect_eq(collector_host_last(host, target)->why, CR_CONNECT);
	cr_expect_eq(fake_snmp_requests(fake), 0);
}

/* Name servers give several addresses in turns. */
Test(snmp_names, keep_to_an_address_as_long_as_the_host_has_it)
{
	setup_name("127.0.0.1 127.0.0.2");
	begin_second(FAKE_NORMAL, "127.0.0.2");
	expect_used(100);
	for (unsigned i = 2; i < 6; i++) {
		fake_names_set("a.test",
			       i % 2 == 0 ? "127.0.0.2 127.0.0.1" : "127.0.0.1 127.0.0.2");
		collector_host_pass(31 * S);
		while (fake_names_lookups("a.test") < i)
			expect_used(100);
		expect_used(100);
	}
	cr_expect_eq(fake_snmp_requests(second), 0);
}

Test(snmp_names, over_tcp_go_on_at_the_next_address_too)
{
	setup_name("127.0.0.3 127.0.0.4");
	collector_host_forget(host, target);
	target = add("tcp", "a.test");
	expect_bad(LONG_MS, CR_CONNECT, " (127.0.0.4)");
	fake_names_set("a.test", "127.0.0.3");
	collector_host_pass(3 * S);
	expect_bad(LONG_MS, CR_CONNECT, "nobody listens at tcp:a.test:");
}

/*** Many, and the end ***/

Test(snmp_names, of_10000_targets_are_looked_up_once_each)
{
	enum { TARGETS = 10000, NAMES = 4 };
	char name[32];

	begin_agent();
	fake_names_hold(NULL, true);
	open_with(JVM, "max_per_agent=64", NULL);
	for (int i = 0; i < TARGETS; i++) {
		snprintf(name, sizeof name, "n%d.test", i % NAMES);
		fake_names_set(name, "127.0.0.1");
		add("udp", name);
	}
	cr_assert_eq(collector_host_poll(host, 1000 * CH_MS, 20000 * CH_MS), 0);
	for (int i = 0; i < TARGETS; i++)
		cr_assert_eq(collector_host_last(host, i)->why, CR_TIMEOUT);
	cr_expect_leq(fake_names_lookups(NULL), NAMES);
	fake_names_hold(NULL, false);
	cr_assert_eq(collector_host_poll(host, 40000 * CH_MS, 50000 * CH_MS), 0);
	for (int i = 0; i < TARGETS; i++)
		cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_GOOD, "%s",
			     collector_host_last(host, i)->text);
	cr_expect_eq(fake_names_lookups(NULL), NAMES);
}

Test(snmp_names, of_10000_hosts_are_all_found_and_no_visit_takes_long)
{
	enum { TARGETS = 10000 };
	char name[32];

	begin_agent();
	open_with(JVM, NULL, NULL);
	for (int i = 0; i < TARGETS; i++) {
		snprintf(name, sizeof name, "n%d.many.test", i);
		add("udp", name);
	}
	cr_assert_eq(collector_host_poll(host, 40000 * CH_MS, 50000 * CH_MS), 0);
	for (int i = 0; i < TARGETS; i++)
		cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_GOOD, "%s",
			     collector_host_last(host, i)->text);
	cr_expect_eq(fake_names_lookups(NULL), TARGETS);
	cr_expect_lt(collector_host_longest_ns(host), 1000 * CH_MS);
}

Test(snmp_names, are_waited_for_by_nobody_who_leaves)
{
	begin_agent();
	fake_names_hold(NULL, true);
	open_with(JVM, NULL, NULL);
	for (int i = 0; i < 3; i++)
		collector_host_start(host, add("udp", i == 2 ? "b.test" : "a.test"), 60000 * CH_MS);
	cr_assert_eq(collector_host_run(host, 50 * CH_MS), 3);
	cr_assert_eq(fake_names_await_held(1), 1);
	collector_host_forget(host, 0);
	collector_host_forget(host, 2);
	collector_host_close(host); /* or it never comes back */
	host = NULL;
	cr_expect_eq(fake_names_await_held(0), 1);
}
