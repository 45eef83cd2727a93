/* test_snmp_about.c - one agent that is asked about each server by itself: by what follows the
 * community, or by the context. WebLogic's administration server is such an agent. */
#include "lab/snmp_bench.h"

#define SUFFIX  " { community_suffix: '@${name}' }"
#define CONTEXT " { context: '${name}' }"

static const char *const names[] = { "ms1", "ms2", "ms3" };

enum { SERVERS = sizeof names / sizeof *names };

TestSuite(snmp_about, .init = begin, .fini = end, .timeout = 60);

static void setup_agent(void)
{
	fake = fake_snmp_new(FAKE_NORMAL);
	fake_snmp_weblogic(fake, 1, "ServerRuntime:ms1", 100, 1000, 10);
	fake_snmp_weblogic(fake, 2, "ServerRuntime:ms2", 200, 1000, 20);
	fake_snmp_weblogic(fake, 3, "ServerRuntime:ms3", 300, 1000, 30);
}

/* Three servers at one address. */
static void setup_servers(const char *source, const char *const *more)
{
	const char *err = try_open(source, more);

	cr_assert_null(err, "%s", err);
	for (int i = 0; i < SERVERS; i++)
		cr_assert_eq(collector_host_add(host, names[i], fake_snmp_endpoint(fake), false),
			     i);
}

static void setup_suffix(const char *setting)
{
	const char *more[] = { community_setting, setting, NULL };

	setup_agent();
	setup_servers(WEBLOGIC SUFFIX, more);
}

static void setup_context(const char *setting, const char *other)
{
	const char *more[] = { "version=3", "user=poller", setting, other, NULL };

	setup_agent();
	setup_servers(WEBLOGIC CONTEXT, more);
}

static void poll_all(int64_t timeout_ms)
{
	cr_assert_eq(collector_host_poll(host, timeout_ms * CH_MS, 20000 * CH_MS), 0);
}

static void expect_server(int server, double free_bytes)
{
	const struct collector_poll *last = collector_host_last(host, server);

	cr_assert_eq(last->state, COLLECTOR_GOOD, "%s: %s", names[server], last->text);
	cr_expect_eq(collector_host_value(host, names[server], NULL, "jvm_heap_free_bytes"),
		     free_bytes);
}

static void expect_all_good(void)
{
	poll_all(LONG_MS);
	for (int i = 0; i < SERVERS; i++)
		expect_server(i, 100 * (i + 1));
}

static void expect_failed(int server, enum cr_why why, const char *text)
{
	const struct collector_poll *last = collector_host_last(host, server);

	cr_assert_eq(last->state, COLLECTOR_FAILED, "%s", names[server]);
	cr_expect_eq(last->why, why);
	cr_expect_not_null(strstr(last->text, text), "%s", last->text);
	cr_expect_null(strstr(last->text, "public"), "the secret: %s", last->text);
}

/*** Communities ***/

Test(snmp_about, each_server_is_asked_for_in_its_own_community)
{
	setup_suffix(NULL);
	expect_all_good();
	for (int i = 0; i < SERVERS; i++) {
		char about[16];

		snprintf(about, sizeof about, "@%s ", names[i]);
		cr_expect_not_null(strstr(fake_snmp_asked(fake), about), "%s in %s", about,
				   fake_snmp_asked(fake));
	}
	cr_expect_neq(fake_snmp_asked(fake)[0], ' ', "the bare community was sent");
	cr_expect_null(strstr(fake_snmp_asked(fake), "  "), "the bare community was sent");
}

Test(snmp_about, a_suffix_holds_the_variables_of_its_server)
{
	static const struct cr_var vars[] = { { "host", "10.0.0.11" }, { "wls", "M\xc3\xa4 1" } };
	const char *more[] = { community_setting, NULL };

	setup_agent();
	setup_servers(WEBLOGIC " { community_suffix: '@${wls}-${host}', scope: server }", more);
	for (int i = 0; i < SERVERS; i++)
		collector_host_vars(host, i, vars, i == 2 ? 1 : 2);
	poll_all(LONG_MS);
	expect_server(0, 100);
	cr_expect_eq(strncmp(fake_snmp_asked(fake), "@M\xc3\xa4 1-10.0.0.11 ", 17), 0, "%s",
		     fake_snmp_asked(fake));
	expect_failed(2, CR_CONNECT,
		      "\"@${wls}-${host}\" names a variable that this server does not have");
}

Test(snmp_about, the_secret_before_the_suffix_holds_no_variables)
{
	write_community("public@${name}\n", 0600);
	setup_suffix("max_per_agent=3");
	expect_all_good();
	cr_expect_not_null(strstr(fake_snmp_asked(fake), "@${name}@ms2 "), "%s",
			   fake_snmp_asked(fake));
}

Test(snmp_about, a_suffix_without_variables_may_ask_about_all_of_a_domain)
{
	const char *more[] = { community_setting, NULL };
	const char *err;

	setup_agent();
	err = try_open(WEBLOGIC " { community_suffix: '@mydomain' }", more);
	cr_assert_null(err, "%s", err);
	target = collector_host_add(host, "domain", fake_snmp_endpoint(fake), true);
	expect_good();
	cr_expect_eq(collector_host_value(host, "domain", "ms2", "jvm_heap_free_bytes"), 200);
	cr_expect_eq(strncmp(fake_snmp_asked(fake), "@mydomain ", 10), 0);
}

Test(snmp_about, no_answer_counts_that_comes_in_another_community)
{
	setup_suffix("max_per_agent=3");
	fake_snmp_mode(fake, FAKE_BARE_COMMUNITY, 0);
	poll_all(SHORT_MS);
	for (int i = 0; i < SERVERS; i++)
		expect_failed(i, CR_TIMEOUT, "messages that are none: is SNMP v2c spoken there?");
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_all_good();
}

Test(snmp_about, a_server_that_the_agent_keeps_silent_about_is_told_from_a_dead_agent)
{
	setup_suffix("max_per_agent=3");
	fake_snmp_deaf(fake, "@ms3");
	for (int round = 0; round < 3; round++) {
		poll_all(SHORT_MS);
		expect_server(0, 100);
		expect_server(1, 200);
		expect_failed(2, CR_TIMEOUT,
			      "no answer in 200 ms, but the agent answers for other servers: this "
			      "one is down or slow, or community_suffix \"@ms3\" is wrong");
	}
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	poll_all(SHORT_MS); /* others were answered since the one before */
	poll_all(SHORT_MS);
	for (int i = 0; i < SERVERS; i++)
		expect_failed(i, CR_TIMEOUT,
			      "no answer in 200 ms: wrong community, or "
			      "community_suffix \"@ms");
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	fake_snmp_deaf(fake, NULL);
	expect_all_good();
}

Test(snmp_about, a_server_that_the_agent_keeps_silent_about_holds_up_no_other)
{
	setup_suffix("max_per_agent=1");
	fake_snmp_deaf(fake, "@ms1");
	poll_all(SHORT_MS);
	expect_failed(0, CR_TIMEOUT, "no answer in 200 ms");
	poll_all(SHORT_MS); /* now it comes last */
	expect_server(1, 200);
	expect_server(2, 300);
	collector_host_start(host, 0, 3000 * CH_MS);
	collector_host_run(host, 10 * CH_MS);
	collector_host_start(host, 1, 2500 * CH_MS);
	collector_host_start(host, 2, 2500 * CH_MS);
	cr_assert_eq(collector_host_run(host, 20000 * CH_MS), 0);
	expect_server(1, 200);
	expect_server(2, 300);
	expect_failed(0, CR_TIMEOUT, "but the agent answers for other servers");
}

/* Else it would look as if so short a time were all that it may take. */
Test(snmp_about, a_poll_that_came_late_to_its_turn_says_what_was_left)
{
	setup_suffix("max_per_agent=1");
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	collector_host_start(host, 0, 100 * CH_MS);
	collector_host_start(host, 1, 400 * CH_MS);
	cr_assert_eq(collector_host_run(host, 20000 * CH_MS), 0);
	expect_failed(0, CR_TIMEOUT, "no answer in 100 ms: wrong community");
	expect_failed(1, CR_TIMEOUT, "no answer in the last ");
	expect_failed(1, CR_TIMEOUT, " of 400 ms: wrong community, or community_suffix \"@ms2\"");
}

/* Servers have odd variables; the daemon refuses most of them when it reads its configuration. */
Test(snmp_about, what_no_community_can_hold_fails_at_its_own_server_alone)
{
	static const struct {
		const char *value, *text;
	} odd[] = {
		{ "a\nb",
		  "community_suffix cannot be sent for this server: it holds a control byte "
		  "(0x0a) as byte 3; remove it" },
		{ "\x7f", "it holds a control byte (0x7f) as byte 2" },
		{ "\x1b[2J", "it holds a control byte (0x1b) as byte 2" },
	};
	const char *more[] = { community_setting, NULL };
	struct cr_var var = { "x", "good" };
	struct cr_var bad = { "x", NULL };

	setup_agent();
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		setup_servers(WEBLOGIC " { community_suffix: '@${x}' }", more);
		bad.value = odd[i].value;
		collector_host_vars(host, 0, &var, 1);
		collector_host_vars(host, 1, &bad, 1);
		collector_host_vars(host, 2, &var, 1);
		poll_all(LONG_MS);
		expect_server(0, 100);
		expect_failed(1, CR_CONNECT, odd[i].text);
		expect_server(2, 300);
		collector_host_close(host);
		host = NULL;
	}
}

/* Of 255 bytes it has 250. */
static void write_long_community(void)
{
	char secret[252];

	memset(secret, 's', 250);
	memcpy(secret + 250, "\n", 2);
	write_community(secret, 0600);
}

Test(snmp_about, a_community_that_is_too_long_with_its_suffix_is_not_sent_in_part)
{
	static const struct {
		const char *name;
		bool is_sent;
	} cases[] = { { "ms1x", true }, { "ms1xx", false } };
	const char *more[] = { community_setting, NULL };
	const char *err;

	write_long_community();
	setup_agent();
	err = try_open(WEBLOGIC SUFFIX, more);
	cr_assert_null(err, "%s", err);
	for (size_t i = 0; i < 2; i++) {
		const int at =
			collector_host_add(host, cases[i].name, fake_snmp_endpoint(fake), false);
		const struct collector_poll *last;

		poll_all(SHORT_MS);
		last = collector_host_last(host, at);
		cr_assert_eq(last->state, COLLECTOR_FAILED);
		cr_expect_null(strstr(last->text, "sss"), "%s", last->text);
		cr_expect_eq(last->why, cases[i].is_sent ? CR_TIMEOUT : CR_CONNECT, "%s",
			     last->text);
		if (!cases[i].is_sent)
			cr_expect_str_eq(
				last->text,
				"community_suffix cannot be sent for this server: the community "
				"has more than 255 bytes with it; shorten one of them");
	}
}

Test(snmp_about, a_suffix_without_variables_that_is_too_long_is_told_at_once)
{
	const char *more[] = { community_setting, NULL };
	const char *err;

	write_long_community();
	err = try_open(WEBLOGIC " { community_suffix: '@dom12' }", more);
	cr_assert_not_null(err);
	cr_expect_str_eq(err, "community_suffix: the community has more than 255 bytes with it; "
			      "shorten one of them");
	err = try_open(WEBLOGIC " { community_suffix: '@dom1' }", more);
	cr_expect_null(err, "%s", err);
}

/* A poll without a context would be answered, and well: by the figures of the agent itself. */
Test(snmp_about, a_context_that_comes_to_nothing_is_not_left_out)
{
	static const struct cr_var var = { "x", "" };
	const char *more[] = { "version=3", "user=poller", NULL };

	setup_agent();
	setup_servers(WEBLOGIC " { context: '${x}' }", more);
	for (int i = 0; i < SERVERS; i++)
		collector_host_vars(host, i, &var, 1);
	poll_all(LONG_MS);
	expect_failed(0, CR_CONNECT,
		      "context cannot be sent for this server: it is empty once it "
		      "is filled in; look at its vars");
	cr_expect_eq(fake_snmp_requests(fake), 0);
}

Test(snmp_about, version_3_takes_no_suffix)
{
	const char *more[] = { "version=3", "user=poller", NULL };
	const char *err = try_open(WEBLOGIC SUFFIX, more);

	cr_assert_not_null(err);
	cr_expect_str_eq(err, "community_suffix: version 3 has a context instead; leave it out, or "
			      "set version to 2c");
}

/*** Contexts ***/

Test(snmp_about, each_server_is_asked_for_in_its_own_context)
{
	setup_context(NULL, NULL);
	expect_all_good();
	for (int i = 0; i < SERVERS; i++)
		cr_expect_not_null(strstr(fake_snmp_asked(fake), names[i]), "%s",
				   fake_snmp_asked(fake));
	fake_snmp_mode(fake, FAKE_OTHER_CONTEXT, 0);
	poll_all(SHORT_MS);
	expect_failed(1, CR_REPLY, "answers for context \"other\" when it is asked for \"ms2\"");
}

Test(snmp_about, one_agent_is_asked_once_who_it_is)
{
	setup_context("max_per_agent=1", NULL);
	expect_all_good();
	expect_all_good();
	cr_expect_eq(fake_snmp_discoveries(fake), 1);
}

Test(snmp_about, an_agent_that_has_another_engine_is_found_by_all_in_the_same_poll)
{
	setup_context(NULL, NULL);
	for (uint8_t engine = 2; engine < 6; engine++) {
		expect_all_good();
		fake_snmp_engine(fake, engine);
	}
	expect_all_good();
}

Test(snmp_about, an_agent_that_was_silent_for_long_is_asked_again_who_it_is)
{
	unsigned int n;

	setup_context("max_per_agent=3", NULL);
	expect_all_good();
	n = fake_snmp_discoveries(fake);
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	for (int i = 0; i < 3; i++)
		poll_all(SHORT_MS);
	cr_expect_eq(fake_snmp_discoveries(fake), n);
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_all_good();
	cr_expect_gt(fake_snmp_discoveries(fake), n);
}

/* The user and the clock of the engine are the same for all: who gives up leaves them to the
 * others, which wait for answers. */
Test(snmp_about, a_context_that_is_not_answered_costs_the_others_nothing)
{
	setup_context("max_per_agent=3", "retries=0");
	expect_all_good();
	fake_snmp_deaf(fake, "ms3");
	fake_snmp_delay(fake, 50);
	for (int round = 0; round < 5; round++) {
		collector_host_start(host, 0, LONG_MS * CH_MS);
		collector_host_start(host, 1, LONG_MS * CH_MS);
		collector_host_start(host, 2, 20 * CH_MS);
		cr_assert_eq(collector_host_run(host, 20000 * CH_MS), 0);
		expect_server(0, 100);
		expect_server(1, 200);
		cr_expect_eq(collector_host_last(host, 2)->state, COLLECTOR_FAILED);
	}
	fake_snmp_delay(fake, 0);
	poll_all(SHORT_MS);
	expect_failed(2, CR_TIMEOUT,
		      "for other servers: this one is down or slow, or context \"ms3\" is wrong");
	fake_snmp_deaf(fake, NULL);
	expect_all_good();
}
