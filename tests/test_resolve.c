/* test_resolve.c - names and their addresses, looked up beside whoever asks. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <criterion/criterion.h>

#include "clock.h"
#include "lab/fake_names.h"
#include "resolve.h"

static struct resolver *resolver;
static struct resolve_list list;
static char text[200];
static int64_t now_ns = 1000 * CLOCK_S;

static void begin(void)
{
	cr_assert_eq(setenv("RES_OPTIONS", "timeout:3 attempts:2", 1), 0); /* "patience" */
	resolver = resolver_new();
	cr_assert_not_null(resolver);
}

static void end(void)
{
	resolver_free(resolver);
}

TestSuite(resolve, .init = begin, .fini = end, .timeout = 60);

static struct resolver_name *join(const char *host)
{
	struct resolver_name *name = resolver_join(resolver, host, AF_UNSPEC);

	cr_assert_not_null(name);
	return name;
}

static int get(struct resolver_name *name)
{
	text[0] = '\0';
	return resolver_get(resolver, name, now_ns, &list, text, sizeof text);
}

/* As one who waits: asks again when told to. */
static int await(struct resolver_name *name)
{
	struct pollfd fd = { .fd = resolver_fd(resolver), .events = POLLIN };
	eventfd_t n;
	int r;

	while ((r = get(name)) == 0) {
		cr_assert_eq(poll(&fd, 1, 10000), 1, "nobody told of an answer");
		cr_assert_eq(eventfd_read(fd.fd, &n), 0);
	}
	return r;
}

/* Until the first address is this one; the lookup for it has been asked for. */
static void expect_first(struct resolver_name *name, const char *address)
{
	const int64_t until_ns = clock_now_ns() + 10 * CLOCK_S;
	char shown[64] = "";

	while (strcmp(shown, address) != 0 && clock_now_ns() < until_ns) {
		cr_assert_eq(await(name), 1, "%s", text);
		resolve_show(&list.address[0], shown, sizeof shown);
	}
	cr_expect_str_eq(shown, address);
}

/*** Addresses ***/

Test(resolve, an_address_needs_no_look_up)
{
	union resolve_address address;

	cr_expect_eq(resolve_numeric("10.1.2.3", AF_UNSPEC, &address), 0);
	cr_expect_eq(address.any.sa_family, AF_INET);
	cr_expect_eq(resolve_len(&address), sizeof address.v4);
	cr_expect_eq(resolve_numeric("[::1]", AF_UNSPEC, &address), 0);
	cr_expect_eq(address.any.sa_family, AF_INET6);
	cr_expect_eq(resolve_len(&address), sizeof address.v6);
	cr_expect_eq(resolve_numeric("fe80::1%lo", AF_INET6, &address), 0);
	cr_expect_eq(resolve_numeric("localhost", AF_UNSPEC, &address), -EINVAL);
	cr_expect_eq(resolve_numeric("10.1.2.3", AF_INET6, &address), -EINVAL);
	cr_expect_eq(fake_names_lookups(NULL), 0);
}

Test(resolve, addresses_are_the_same_whatever_their_ports)
{
	union resolve_address a, b, c;

	cr_assert_eq(resolve_numeric("10.1.2.3", AF_UNSPEC, &a), 0);
	b = a;
	resolve_set_port(&b, 161);
	cr_expect_eq(ntohs(b.v4.sin_port), 161);
	cr_expect(resolve_is_same(&a, &b));
	cr_assert_eq(resolve_numeric("10.1.2.4", AF_UNSPEC, &b), 0);
	cr_expect_not(resolve_is_same(&a, &b));
	cr_assert_eq(resolve_numeric("::1", AF_UNSPEC, &b), 0);
	cr_expect_not(resolve_is_same(&a, &b));
	c = b;
	resolve_set_port(&c, 161);
	cr_expect_eq(ntohs(c.v6.sin6_port), 161);
	cr_expect(resolve_is_same(&b, &c));
	cr_assert_eq(resolve_numeric("::2", AF_UNSPEC, &c), 0);
	cr_expect_not(resolve_is_same(&b, &c));
}

/*** Names ***/

Test(resolve, a_name_has_all_its_addresses_in_order_and_none_twice)
{
	struct resolver_name *name = join("a.test");
	char shown[64];

	fake_names_set("a.test", "10.0.0.2 ::1 10.0.0.2 10.0.0.1");
	cr_assert_eq(await(name), 1);
	cr_expect_eq(list.n, 3);
	for (size_t i = 0; i < 3; i++) {
		static const char *const expected[] = { "10.0.0.2", "::1", "10.0.0.1" };

		resolve_show(&list.address[i], shown, sizeof shown);
		cr_expect_str_eq(shown, expected[i]);
	}
}

Test(resolve, of_very_many_addresses_the_first_are_kept)
{
	fake_names_set("a.test",
		       "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7 10.0.0.8 "
		       "10.0.0.9");
	cr_assert_eq(await(join("a.test")), 1);
	cr_expect_eq(list.n, RESOLVE_MOST);
}

Test(resolve, a_family_that_is_asked_for_is_a_name_of_its_own)
{
	struct resolver_name *six = resolver_join(resolver, "a.test", AF_INET6);

	fake_names_set("a.test", "10.0.0.2 ::1");
	cr_assert_eq(await(six), 1);
	cr_expect_eq(list.n, 1);
	cr_expect_eq(list.address[0].any.sa_family, AF_INET6);
	cr_assert_eq(await(join("a.test")), 1);
	cr_expect_eq(list.n, 2);
}

Test(resolve, each_kind_of_failure_has_its_own_sentence)
{
	struct resolver_name *name = join("[none.test]"), *six;

	cr_expect_str_eq(resolver_host(name), "none.test");
	cr_expect_eq(await(name), -ENOENT);
	cr_expect_str_eq(
		text, "there is no host named none.test: correct the name, or enter it in DNS or "
		      "/etc/hosts");
	fake_names_set("four.test", "10.0.0.1");
	six = resolver_join(resolver, "four.test", AF_INET6);
	cr_expect_eq(await(six), -ENOENT);
	cr_expect_str_eq(text, "host four.test has no IPv6 address");
	fake_names_set("nowhere.test", "");
	cr_expect_eq(await(join("nowhere.test")), -ENOENT);
	cr_expect_str_eq(text, "host nowhere.test has no address that this machine can use");
	fake_names_fail(true);
	cr_expect_eq(await(join("other.test")), -ENOENT);
	cr_expect_str_eq(text, "name other.test cannot be resolved: no name server answers (see "
			       "/etc/resolv.conf)");
}

Test(resolve, a_lookup_serves_all_who_ask_for_the_name)
{
	struct resolver_name *name = join("a.test");

	fake_names_set("a.test", "10.0.0.1");
	fake_names_hold("a.test", true);
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(join("a.test"), name);
		cr_assert_eq(get(name), 0);
	}
	fake_names_hold("a.test", false);
	cr_assert_eq(await(name), 1);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(get(name), 1);
	cr_expect_eq(fake_names_lookups(NULL), 1);
}

/*** Time ***/

Test(resolve, a_known_name_is_looked_up_again_after_30_s_and_is_there_meanwhile)
{
	struct resolver_name *name = join("a.test");

	fake_names_set("a.test", "10.0.0.1");
	cr_assert_eq(await(name), 1);
	now_ns += RESOLVE_REFRESH_S * CLOCK_S - 1;
	cr_expect_eq(get(name), 1);
	cr_expect_eq(fake_names_lookups("a.test"), 1);
	fake_names_set("a.test", "10.0.0.2");
	fake_names_hold("a.test", true);
	now_ns += 1;
	cr_expect_eq(get(name), 1);
	cr_assert_eq(fake_names_await("a.test", 2), 2);
	cr_expect_eq(get(name), 1, "known while it is looked up");
	fake_names_hold("a.test", false);
	expect_first(name, "10.0.0.2");
	cr_expect_eq(fake_names_lookups("a.test"), 2);
}

Test(resolve, an_address_that_does_not_work_is_looked_up_at_once_but_not_all_the_time)
{
	struct resolver_name *name = join("a.test");

	fake_names_set("a.test", "10.0.0.1");
	cr_assert_eq(await(name), 1);
	fake_names_set("a.test", "10.0.0.2");
	for (int i = 0; i < 100; i++)
		resolver_doubt(resolver, name, now_ns);
	cr_expect_eq(get(name), 1);
	cr_expect_eq(fake_names_lookups("a.test"), 1, "it was looked up a moment ago");
	now_ns += RESOLVE_DOUBT_S * CLOCK_S;
	expect_first(name, "10.0.0.2");
	now_ns += RESOLVE_DOUBT_S * CLOCK_S;
	cr_expect_eq(get(name), 1);
	cr_expect_eq(fake_names_lookups("a.test"), 2, "nobody has doubted it again");
	resolver_doubt(resolver, name, now_ns);
	cr_expect_eq(fake_names_await("a.test", 3), 3);
}

Test(resolve, an_address_is_kept_while_later_lookups_fail)
{
	struct resolver_name *name = join("a.test");

	fake_names_set("a.test", "10.0.0.1");
	cr_assert_eq(await(name), 1);
	fake_names_set("a.test", NULL);
	for (unsigned i = 2; i < 5; i++) {
		now_ns += RESOLVE_REFRESH_S * CLOCK_S;
		while (fake_names_lookups("a.test") < i) { /* the one before may not be over */
			cr_assert_eq(get(name), 1);
			poll(NULL, 0, 1);
		}
	}
	expect_first(name, "10.0.0.1");
}

Test(resolve, a_name_that_was_not_found_is_tried_again_sooner)
{
	struct resolver_name *name = join("a.test");

	cr_assert_eq(await(name), -ENOENT);
	fake_names_set("a.test", "10.0.0.1");
	now_ns += RESOLVE_RETRY_S * CLOCK_S - 1;
	cr_expect_eq(get(name), -ENOENT);
	cr_expect_eq(fake_names_lookups("a.test"), 1);
	now_ns += 1;
	cr_expect_eq(get(name), -ENOENT);
	while (get(name) < 0)
		poll(NULL, 0, 1);
	expect_first(name, "10.0.0.1");
}

/* One lookup that hangs has the thread; behind it, what nobody knows comes before what is known,
 * and what was not found comes last. */
Test(resolve, names_that_nobody_knows_come_first_and_bad_ones_last)
{
	struct resolver_name *bad = join("bad.test"), *good = join("good.test"), *gate, *fresh;

	fake_names_set("good.test", "10.0.0.1");
	fake_names_set("fresh.test", "10.0.0.1");
	cr_assert_eq(await(bad), -ENOENT);
	cr_assert_eq(await(good), 1);
	fake_names_hold(NULL, true);
	gate = join("gate.test");
	fresh = join("fresh.test");
	now_ns += RESOLVE_REFRESH_S * CLOCK_S;
	cr_assert_eq(get(gate), 0);
	cr_assert_eq(fake_names_await_held(1), 1);
	(void)get(bad);
	(void)get(good);
	cr_assert_eq(get(fresh), 0);
	fake_names_hold("bad.test", true);
	fake_names_hold("good.test", true);
	fake_names_hold(NULL, false);
	cr_expect_eq(await(fresh), 1);
	cr_expect_eq(fake_names_await("good.test", 2), 2);
	cr_expect_eq(fake_names_lookups("bad.test"), 1);
	fake_names_hold("good.test", false);
	cr_expect_eq(fake_names_await("bad.test", 2), 2);
	fake_names_hold("bad.test", false);
}

Test(resolve, lookups_that_hang_do_not_hold_up_the_others)
{
	struct resolver_name *hanging[RESOLVE_THREADS - 1];
	char host[32];

	for (int i = 0; i < RESOLVE_THREADS - 1; i++) {
		snprintf(host, sizeof host, "h%d.test", i);
		fake_names_hold(host, true);
		hanging[i] = join(host);
		cr_assert_eq(get(hanging[i]), 0);
	}
	fake_names_set("a.test", "10.0.0.1");
	while (get(join("a.test")) == 0)
		poll(NULL, 0, 5);
	cr_expect_eq(list.n, 1);
	cr_expect_eq(fake_names_await_held(0), RESOLVE_THREADS - 1);
	cr_expect_eq(get(hanging[0]), 0);
	for (int i = 0; i < RESOLVE_THREADS - 1; i++)
		fake_names_hold(resolver_host(hanging[i]), false);
	for (int i = 0; i < RESOLVE_THREADS - 1; i++)
		cr_expect_eq(await(hanging[i]), -ENOENT);
}

/* Else one dead zone would make the first lookups of all names take minutes. */
Test(resolve, a_name_server_that_does_not_answer_in_a_second_is_asked_again_with_patience)
{
	struct resolver_name *name = join("a.test");

	fake_names_set("a.test", "10.0.0.1");
	fake_names_fail(true);
	fake_names_hold("a.test", true);
	cr_assert_eq(get(name), 0);
	cr_assert_eq(fake_names_await_held(1), 1);
	cr_expect(fake_names_was_hasty());
	fake_names_hold("a.test", false);
	cr_assert_eq(await(name), -ENOENT, "one answer after both of them");
	cr_expect_eq(fake_names_lookups("a.test"), 2);
	cr_expect_not(fake_names_was_hasty());
	fake_names_fail(false);
	now_ns += RESOLVE_RETRY_S * CLOCK_S;
	while (get(name) < 0)
		poll(NULL, 0, 1);
	expect_first(name, "10.0.0.1");
	cr_expect_not(fake_names_was_hasty(), "it has been slow");
	now_ns += RESOLVE_REFRESH_S * CLOCK_S;
	cr_expect_eq(get(name), 1);
	cr_expect_eq(fake_names_await("a.test", 4), 4);
	cr_expect(fake_names_was_hasty(), "it is quick again");
}

/* What is known to be slow has half of the threads at most. */
Test(resolve, slow_names_never_have_all_threads)
{
	struct resolver_name *name[RESOLVE_THREADS + 1];
	const int64_t until_ns = clock_now_ns() + 3 * CLOCK_S;
	char host[32];

	for (int i = 0; i <= RESOLVE_THREADS; i++) {
		snprintf(host, sizeof host, "n%d.test", i);
		name[i] = join(host);
		cr_assert_eq(await(name[i]), -ENOENT);
		fake_names_hold(host, true);
	}
	now_ns += RESOLVE_RETRY_S * CLOCK_S;
	while (clock_now_ns() < until_ns) {
		struct resolver_name *fresh;

		for (int i = 0; i <= RESOLVE_THREADS; i++)
			(void)get(name[i]);
		fresh = join("fresh.test");
		while (get(fresh) == 0)
			poll(NULL, 0, 5);
		resolver_leave(resolver, fresh);
		cr_assert_leq(fake_names_await_held(0), RESOLVE_THREADS / 2 + 1);
	}
	for (int i = 0; i <= RESOLVE_THREADS; i++)
		fake_names_hold(resolver_host(name[i]), false);
}

/*** Waiting for nothing ***/

Test(resolve, is_freed_while_a_lookup_hangs)
{
	struct resolver_name *name = join("a.test");

	fake_names_hold(NULL, true);
	cr_assert_eq(get(name), 0);
	cr_assert_eq(fake_names_await_held(1), 1);
	resolver_leave(resolver, name);
	resolver_free(resolver); /* or it never comes back */
	resolver = NULL;
	cr_expect_eq(fake_names_await_held(0), 1);
	fake_names_hold(NULL, false);
}

Test(resolve, a_name_that_all_have_left_is_forgotten_even_in_its_lookup)
{
	struct resolver_name *name = join("a.test");

	fake_names_set("a.test", "10.0.0.1");
	fake_names_hold(NULL, true);
	cr_assert_eq(get(name), 0);
	cr_assert_eq(fake_names_await_held(1), 1);
	resolver_leave(resolver, name);
	name = join("a.test");
	cr_expect_eq(get(name), 0);
	resolver_leave(resolver, join("b.test"));
	fake_names_hold(NULL, false);
	cr_assert_eq(await(name), 1);
	cr_expect_eq(fake_names_lookups("a.test"), 2);
	cr_expect_eq(fake_names_lookups("b.test"), 0);
}

Test(resolve, an_address_is_kept_for_who_comes_after_all_have_left)
{
	struct resolver_name *name = join("a.test");

	fake_names_set("a.test", "10.0.0.1");
	cr_assert_eq(await(name), 1);
	resolver_leave(resolver, name);
	fake_names_hold("a.test", true);
	name = join("a.test");
	cr_expect_eq(get(name), 1);
	now_ns += RESOLVE_REFRESH_S * CLOCK_S;
	cr_expect_eq(get(name), 1);
	cr_assert_eq(fake_names_await("a.test", 2), 2, "and looked up as before");
	resolver_leave(resolver, name); /* in the middle of it */
	name = join("a.test");
	fake_names_set("a.test", "10.0.0.2");
	fake_names_hold("a.test", false);
	expect_first(name, "10.0.0.2");
	cr_expect_eq(fake_names_lookups("a.test"), 2);
}

Test(resolve, of_very_many_names_that_all_have_left_the_first_are_forgotten)
{
	enum { KEPT = 16384 };
	struct resolver_name *name;
	char host[32];

	for (int i = 0; i <= KEPT; i++) {
		snprintf(host, sizeof host, "n%d.many.test", i);
		name = join(host);
		cr_assert_eq(await(name), 1);
		resolver_leave(resolver, name);
	}
	cr_expect_eq(get(join("n0.many.test")), 0);
	cr_expect_eq(get(join("n1.many.test")), 1);
	cr_expect_eq(get(join(host)), 1);
}

/* Else 10,000 names that are looked up again would wake their owner 300 times a second. */
Test(resolve, tells_only_those_who_wait)
{
	struct resolver_name *name = join("a.test");
	struct pollfd fd = { .fd = resolver_fd(resolver), .events = POLLIN };

	fake_names_set("a.test", "10.0.0.1");
	cr_assert_eq(await(name), 1);
	cr_expect(resolver_has_answer(name));
	fake_names_set("a.test", "10.0.0.2");
	now_ns += RESOLVE_REFRESH_S * CLOCK_S;
	expect_first(name, "10.0.0.2");
	cr_expect_eq(poll(&fd, 1, 0), 0);
}

Test(resolve, its_thread_takes_no_signals_and_its_descriptor_is_not_inherited)
{
	struct resolver_name *name = join("a.test");

	cr_expect(fcntl(resolver_fd(resolver), F_GETFD) & FD_CLOEXEC);
	cr_expect_eq(await(name), -ENOENT);
	cr_expect_eq(fake_names_open_signals(), 0);
}
