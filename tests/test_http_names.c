/* test_http_names.c - the collector "http" with targets that are names: slow and unknown ones,
 * hosts with several addresses, hosts that move. */
#include <poll.h>
#include <stdio.h>

#include "http_scene.h"
#include "lab/fake_names.h"
#include "lab/threads.h"
#include "resolve.h"

#define S INT64_C(1000000000)

static const char *const tomcat[] = { "profile=tomcat-status", NULL };
static struct fake_http *second; /* the same port at another address */
static struct fake_blackhole hole[2];
static int n_holes;
static int target;

static void serve(struct fake_http *at, int used)
{
	char page[160];

	snprintf(page, sizeof page,
		 "<status><jvm><memory free='%d' total='1000' max='1000'/></jvm></status>", used);
	fake_http_page(at, "200 OK", "", page);
}

/* The server at 127.0.0.1, with 100 bytes free. */
static void begin(void)
{
	open_web();
	serve(web, 100);
}

static void end(void)
{
	fake_names_hold(NULL, false);
	if (second)
		fake_http_free(second);
	while (n_holes > 0)
		fake_blackhole_close(&hole[--n_holes]);
	close_all();
}

TestSuite(http_names, .init = begin, .fini = end, .timeout = 60);

/* One more, with 200 bytes. */
static void begin_second(const char *address)
{
	second = fake_http_new_at(address, fake_http_port(web));
	if (!second)
		cr_skip_test("no %s:%u here", address, fake_http_port(web));
	serve(second, 200);
}

/* And one that takes no connections, nor refuses them. */
static void begin_hole(const char *address)
{
	if (fake_blackhole_open_at(&hole[n_holes++], address, fake_http_port(web)) < 0)
		cr_skip_test("no %s:%u here", address, fake_http_port(web));
}

static int add(const char *name)
{
	char endpoint[96];

	snprintf(endpoint, sizeof endpoint, "http://%s:%u", name, fake_http_port(web));
	return collector_host_add(host, "ms1", endpoint, false);
}

/* An instance, and a target with a name of these addresses. */
static void setup_name(const char *addresses)
{
	fake_names_set("a.test", addresses);
	open_host(tomcat);
	target = add("a.test");
}

static const struct collector_poll *poll_for(int64_t ms)
{
	cr_assert_eq(collector_host_poll(host, ms * CH_MS, 20000 * CH_MS), 0);
	return collector_host_last(host, target);
}

static double free_bytes(void)
{
	return collector_host_value(host, "ms1", NULL, "jvm_heap_free_bytes");
}

static void expect_free(double bytes)
{
	const struct collector_poll *poll = poll_for(5000);

	cr_assert_eq(poll->state, COLLECTOR_GOOD, "%s", poll->text);
	cr_expect_eq(free_bytes(), bytes, "%f", free_bytes());
}

/* Poll until it answers with this value; each poll is a good one. */
static void await_free(double bytes)
{
	for (int i = 0; i < 2000; i++) {
		const struct collector_poll *poll = poll_for(5000);

		cr_assert_eq(poll->state, COLLECTOR_GOOD, "%s", poll->text);
		if (free_bytes() == bytes)
			return;
	}
	cr_assert_fail("still %f", free_bytes());
}

/*** Names that are slow, or none ***/

Test(http_names, that_are_addresses_cost_no_thread_and_no_lookup)
{
	int before;

	begin_second("::1");
	before = count_threads();
	open_host(tomcat);
	target = add("127.0.0.1");
	expect_free(100);
	collector_host_forget(host, target);
	target = add("[::1]");
	expect_free(200);
	collector_host_forget(host, target);
	target = add("0x7f.1"); /* libcurl knows all ways to write them */
	expect_free(100);
	cr_expect_eq(count_threads(), before);
	cr_expect_eq(fake_names_lookups(NULL), 0);
}

Test(http_names, are_sent_to_the_server_that_is_asked_at_its_address)
{
	char header[64];

	setup_name("127.0.0.1");
	expect_free(100);
	snprintf(header, sizeof header, "\r\nHost: a.test:%u\r\n", fake_http_port(web));
	cr_expect(was_asked(header));
	expect_free(100);
	cr_expect_eq(fake_http_connections(web), 1, "the connection is kept");
	cr_expect_eq(fake_names_lookups(NULL), 1);
}

Test(http_names, that_are_slow_fail_in_time_and_hold_up_nobody)
{
	int slow;

	fake_names_set("slow.test", "127.0.0.1");
	fake_names_hold(NULL, true);
	open_host(tomcat);
	slow = add("slow.test");
	target = add("127.0.0.1");
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(poll_for(200)->state, COLLECTOR_GOOD);
		expect_failed(collector_host_last(host, slow), CR_TIMEOUT,
			      "name slow.test was not resolved in time: name server slow or down "
			      "(see /etc/resolv.conf)");
	}
	cr_expect_lt(collector_host_longest_ns(host), 1000 * CH_MS);
	cr_expect_eq(fake_names_lookups(NULL), 1);
	target = slow;
	fake_names_hold(NULL, false);
	expect_free(100);
}

Test(http_names, that_become_known_are_polled_at_once)
{
	fake_names_hold(NULL, true);
	setup_name("127.0.0.1");
	collector_host_start(host, target, 60000 * CH_MS);
	cr_assert_eq(collector_host_run(host, 50 * CH_MS), 1);
	cr_assert_eq(fake_names_await_held(1), 1);
	fake_names_hold(NULL, false);
	cr_assert_eq(collector_host_run(host, 10000 * CH_MS), 0);
	expect_good(collector_host_last(host, target));
}

/* As many dead names as there are targets, and one place for polls. */
Test(http_names, that_are_slow_take_no_place_and_no_thread_each)
{
	enum { DEAD = 60 };
	const char *const one[] = { "profile=tomcat-status", "max_inflight=1", NULL };
	const int before = count_threads();
	char name[32];

	fake_names_hold(NULL, true);
	open_host(one);
	for (int i = 0; i < DEAD; i++) {
		snprintf(name, sizeof name, "dead%d.test", i);
		add(name);
	}
	target = add("127.0.0.1");
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(poll_for(200)->state, COLLECTOR_GOOD);
		cr_expect_lt(collector_host_last(host, target)->took_ns, 200 * CH_MS);
	}
	cr_expect_leq(count_threads(), before + RESOLVE_THREADS);
}

Test(http_names, that_nobody_knows_are_told_at_once_but_not_for_ever)
{
	open_host(tomcat);
	target = add("none.test");
	expect_failed(poll_for(5000), CR_CONNECT, "there is no host named none.test");
	cr_expect_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	expect_failed(poll_for(5000), CR_CONNECT, "there is no host named none.test");
	cr_expect_eq(fake_names_lookups(NULL), 1);
	fake_names_set("none.test", "127.0.0.1");
	collector_host_pass(11 * S);
	for (int i = 0; i < 2000 && poll_for(5000)->state != COLLECTOR_GOOD; i++)
		poll(NULL, 0, 1); /* the answer is on its way */
	expect_free(100);
}

Test(http_names, say_that_no_name_server_answers)
{
	fake_names_fail(true);
	open_host(tomcat);
	target = add("other.test");
	expect_failed(poll_for(5000), CR_CONNECT,
		      "name other.test cannot be resolved: no name server answers");
}

/*** Addresses that change ***/

Test(http_names, are_followed_to_another_address_after_30_s)
{
	setup_name("127.0.0.1");
	begin_second("127.0.0.2");
	expect_free(100);
	fake_names_set("a.test", "127.0.0.2");
	collector_host_pass(29 * S);
	expect_free(100);
	cr_expect_eq(fake_names_lookups(NULL), 1);
	collector_host_pass(2 * S);
	await_free(200);
	cr_expect_eq(fake_names_lookups(NULL), 2);
}

/* The poll after the one that failed is good, once the name has been looked up. */
static void expect_found_after_failure(enum cr_why why)
{
	fake_names_set("a.test", "127.0.0.2");
	collector_host_pass(3 * S);
	cr_assert_eq(poll_for(300)->state, COLLECTOR_FAILED);
	cr_expect_eq(collector_host_last(host, target)->why, why);
	cr_assert_eq(fake_names_await("a.test", 2), 2);
	for (int i = 0; i < 2000 && poll_for(300)->state != COLLECTOR_GOOD; i++)
		poll(NULL, 0, 1); /* the answer is on its way */
	expect_free(200);
}

Test(http_names, are_followed_at_once_when_the_old_address_refuses)
{
	setup_name("127.0.0.3"); /* nobody is there */
	begin_second("127.0.0.2");
	expect_failed(poll_for(5000), CR_CONNECT, " (127.0.0.3): Connection refused");
	expect_found_after_failure(CR_CONNECT);
}

Test(http_names, are_followed_at_once_when_the_old_address_is_silent)
{
	setup_name("127.0.0.1");
	begin_second("127.0.0.2");
	expect_free(100);
	fake_http_set(web, FAKE_SILENT, "", 0);
	expect_found_after_failure(CR_TIMEOUT);
}

Test(http_names, are_followed_when_a_stranger_has_the_old_address)
{
	setup_name("127.0.0.1");
	begin_second("127.0.0.2");
	expect_free(100);
	fake_http_page(web, "401 Unauthorized", "", "who are you?");
	expect_found_after_failure(CR_AUTH);
}

Test(http_names, keep_their_addresses_while_the_name_server_is_away)
{
	setup_name("127.0.0.1");
	expect_free(100);
	fake_names_fail(true);
	for (unsigned i = 2; i < 5; i++) {
		collector_host_pass(31 * S);
		while (fake_names_lookups("a.test") < i)
			expect_free(100);
	}
	expect_free(100);
}

/*** Several addresses ***/

Test(http_names, with_an_address_that_refuses_are_asked_at_the_next_one_in_the_same_poll)
{
	setup_name("127.0.0.3 ::1 127.0.0.1");
	expect_free(100);
	cr_expect_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	expect_free(100);
	cr_expect_eq(fake_http_connections(web), 1);
}

Test(http_names, with_an_ipv6_address_are_asked_there)
{
	begin_second("::1");
	setup_name("::1 127.0.0.1");
	expect_free(200);
	cr_expect_eq(fake_http_requests(web), 0);
}

Test(http_names, of_whose_addresses_none_takes_it_fail_at_once)
{
	setup_name("127.0.0.3 127.0.0.4 127.0.0.5");
	expect_failed(poll_for(5000), CR_CONNECT, " (127.0.0.5): Connection refused");
	cr_expect_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
	expect_failed(poll_for(5000), CR_CONNECT, "cannot connect to http://a.test:");
}

Test(http_names, with_a_silent_address_are_asked_at_the_next_one_in_the_same_poll)
{
	begin_hole("127.0.0.2");
	setup_name("127.0.0.2 127.0.0.1");
	cr_expect_eq(poll_for(1000)->state, COLLECTOR_GOOD, "%s",
		     collector_host_last(host, target)->text);
	cr_expect_eq(free_bytes(), 100);
	cr_expect_geq(collector_host_last(host, target)->took_ns, 450 * CH_MS);
	expect_free(100);
	cr_expect_lt(collector_host_last(host, target)->took_ns, 450 * CH_MS,
		     "it begins with the one that answered");
}

/* A share of the time may not be enough: every second poll in vain is one address's alone. The text
 * has the address that was tried last. */
Test(http_names, whose_addresses_are_all_silent_have_all_of_the_time_in_every_second_poll)
{
	begin_hole("127.0.0.2");
	begin_hole("127.0.0.3");
	setup_name("127.0.0.2 127.0.0.3");
	expect_failed(poll_for(300), CR_TIMEOUT, " (127.0.0.3) within ");
	expect_failed(poll_for(300), CR_TIMEOUT, " (127.0.0.2) within ");
	expect_failed(poll_for(300), CR_TIMEOUT, " (127.0.0.2) within ");
	expect_failed(poll_for(300), CR_TIMEOUT, " (127.0.0.3) within ");
}

/* Two addresses may be two servers. */
Test(http_names, do_not_change_the_server_in_the_middle_of_a_poll)
{
	static const char *const actuator[] = { "profile=actuator", NULL };
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 51\r\n\r\n"
				     "{\"measurements\":[{\"statistic\":\"VALUE\",\"value\":55}]}";

	begin_second("127.0.0.2");
	fake_http_set(web, FAKE_ANSWER_AND_LEAVE, answer, sizeof answer - 1);
	fake_names_set("a.test", "127.0.0.1 127.0.0.2");
	open_host(actuator);
	target = add("a.test");
	expect_failed(poll_for(5000), CR_CONNECT, "partial: 1 of 2 requests failed");
	cr_expect_eq(fake_http_requests(web), 1);
	cr_expect_eq(fake_http_requests(second), 0);
	expect_failed(poll_for(5000), CR_REPLY, "bad JSON");
	cr_expect_eq(fake_http_requests(second), 2, "the next poll begins there");
}

/* Name servers give several addresses in turns. */
Test(http_names, keep_to_an_address_as_long_as_the_host_has_it)
{
	setup_name("127.0.0.1 127.0.0.2");
	begin_second("127.0.0.2");
	expect_free(100);
	for (unsigned i = 2; i < 6; i++) {
		fake_names_set("a.test",
			       i % 2 == 0 ? "127.0.0.2 127.0.0.1" : "127.0.0.1 127.0.0.2");
		collector_host_pass(31 * S);
		while (fake_names_lookups("a.test") < i)
			expect_free(100);
		expect_free(100);
	}
	cr_expect_eq(fake_http_requests(second), 0);
}

/*** Many, and the end ***/

Test(http_names, of_400_hosts_are_all_found_and_no_visit_takes_long)
{
	enum { TARGETS = 400 };
	const int before = count_threads();
	char name[32];

	open_host(tomcat);
	for (int i = 0; i < TARGETS; i++) {
		snprintf(name, sizeof name, "n%d.many.test", i);
		add(name);
	}
	cr_assert_eq(collector_host_poll(host, 40000 * CH_MS, 50000 * CH_MS), 0);
	for (int i = 0; i < TARGETS; i++)
		expect_good(collector_host_last(host, i));
	cr_expect_eq(fake_names_lookups(NULL), TARGETS);
	cr_expect_leq(count_threads(), before + RESOLVE_THREADS);
	cr_expect_lt(collector_host_longest_ns(host), 2000 * CH_MS);
}

/*** Several sources ***/

static struct collector_host *other;

static void open_other(void)
{
	other = lab_open(&cr_collector_1, "other", tomcat, err, sizeof err);
	cr_assert(other, "%s", err);
}

static int add_to_other(void)
{
	char endpoint[96];

	snprintf(endpoint, sizeof endpoint, "http://a.test:%u", fake_http_port(web));
	return collector_host_add(other, "ms1", endpoint, false);
}

Test(http_names, that_two_sources_wait_for_are_told_to_both)
{
	int its;

	fake_names_hold(NULL, true);
	setup_name("127.0.0.1");
	open_other();
	its = add_to_other();
	collector_host_start(host, target, 60000 * CH_MS);
	collector_host_start(other, its, 60000 * CH_MS);
	cr_assert_eq(collector_host_run(host, 10 * CH_MS), 1);
	cr_assert_eq(collector_host_run(other, 10 * CH_MS), 1);
	fake_names_hold(NULL, false);
	cr_assert_eq(collector_host_run(host, 10000 * CH_MS), 0);
	cr_assert_eq(collector_host_run(other, 10000 * CH_MS), 0);
	expect_good(collector_host_last(host, target));
	expect_good(collector_host_last(other, its));
	cr_expect_eq(fake_names_lookups(NULL), 1);
	collector_host_close(other);
}

/* As when its settings have changed. */
Test(http_names, of_a_source_are_known_to_the_one_that_takes_its_place)
{
	setup_name("127.0.0.1");
	expect_free(100);
	fake_names_hold(NULL, true);
	open_other();
	collector_host_close(host);
	host = other;
	target = add_to_other();
	expect_free(100);
	cr_expect_eq(fake_names_lookups(NULL), 1);
}

Test(http_names, are_waited_for_by_nobody_who_leaves)
{
	fake_names_hold(NULL, true);
	open_host(tomcat);
	for (int i = 0; i < 3; i++)
		collector_host_start(host, add(i == 2 ? "b.test" : "a.test"), 60000 * CH_MS);
	cr_assert_eq(collector_host_run(host, 50 * CH_MS), 3);
	cr_assert_eq(fake_names_await_held(1), 1);
	collector_host_forget(host, 0);
	collector_host_forget(host, 2);
	collector_host_close(host); /* or it never comes back */
	host = NULL;
	cr_expect_eq(fake_names_await_held(0), 1);
}
