/* test_snmp_v3.c - SNMP version 3 as far as it needs no key: discovery, lost engines, complaints.
 * Keys, clocks and ciphers are tried with a real agent: scenes/snmp_v3.sh. */
#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

#include "lab/snmp_bench.h"

static char password[64], auth_setting[96], priv_setting[96];

static void begin_v3(void)
{
	FILE *file;

	begin();
	snprintf(password, sizeof password, "/tmp/callrouter-snmp-v3-%d", (int)getpid());
	file = fopen(password, "w");
	cr_assert_not_null(file);
	fputs("correct horse\n", file);
	fclose(file);
	chmod(password, 0600);
	snprintf(auth_setting, sizeof auth_setting, "auth_password_file=%s", password);
	snprintf(priv_setting, sizeof priv_setting, "priv_password_file=%s", password);
}

static void end_v3(void)
{
	end();
	unlink(password);
}

TestSuite(snmp_v3, .init = begin_v3, .fini = end_v3, .timeout = 60);

/* Of the source, JVM's own if NULL. */
static const char *profile;

/* One agent, one target, a user; settings: up to three more, NULL-terminated. */
static void setup_named(const char *user, const char *const *more)
{
	const char *settings[16] = { "version=3", user }, *err;

	for (size_t i = 0; more != NULL && more[i] != NULL; i++)
		settings[2 + i] = more[i];
	if (fake == NULL) {
		fake = fake_snmp_new(FAKE_NORMAL);
		fake_snmp_jvm(fake, 100, 400, 1000);
	}
	err = try_open(profile != NULL ? profile : JVM, settings);
	cr_assert_null(err, "%s", err);
	target = collector_host_add(host, "ms1", fake_snmp_endpoint(fake), false);
}

static void setup_user(const char *const *more)
{
	setup_named("user=poller", more);
}

static void setup_context(const char *with, const char *const *more)
{
	profile = with;
	setup_user(more);
	profile = NULL;
}

/*** Discovery ***/

Test(snmp_v3, asks_who_is_there_and_then_for_the_figures)
{
	setup_user(NULL);
	expect_good();
	cr_assert_eq(value(NULL, "jvm_heap_used_bytes"), 100);
	cr_assert_eq(fake_snmp_requests(fake), 2);
	cr_assert_eq(fake_snmp_discoveries(fake), 1);
	expect_good();
	cr_assert_eq(fake_snmp_requests(fake), 3, "the engine is remembered");
}

Test(snmp_v3, asks_nobody_whose_engine_id_is_given)
{
	const char *more[] = { "engine_id=0x800000000466616B01", NULL };

	setup_user(more);
	expect_good();
	cr_assert_eq(fake_snmp_requests(fake), 1);
}

Test(snmp_v3, tells_of_a_wrong_engine_id)
{
	const char *more[] = { "engine_id=800000000466616b02", NULL };

	setup_user(more);
	expect_bad(LONG_MS, CR_AUTH, "another engine id: correct engine_id, or leave it out");
}

Test(snmp_v3, does_not_wait_while_nobody_answers_the_discovery)
{
	setup_user(NULL);
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer to the discovery of SNMP v3 in 200 ms");
	cr_assert_eq(fake_snmp_await(fake, 2), 2, "one try and one retry");
	cr_assert_lt(collector_host_longest_ns(host), 100 * CH_MS);
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

Test(snmp_v3, discovers_again_when_the_question_was_lost)
{
	setup_user(NULL);
	fake_snmp_mode(fake, FAKE_DROP_FIRST, 0);
	cr_assert_eq(poll_for(1000)->state, COLLECTOR_GOOD, "%s",
		     collector_host_last(host, target)->text);
	cr_assert_eq(fake_snmp_requests(fake), 4);
}

Test(snmp_v3, takes_no_discovery_that_fits_no_question)
{
	static const enum fake_mode modes[] = { FAKE_TRUNCATED, FAKE_GARBAGE };

	setup_user(NULL);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		fake_snmp_mode(fake, modes[i], 0);
		expect_bad(SHORT_MS, CR_TIMEOUT, "is SNMP v3 spoken there?");
	}
	fake_snmp_mode(fake, FAKE_OTHER_PORT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer in 200 ms from the polled address, but");
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

Test(snmp_v3, names_who_answers_in_the_place_of_an_agent_that_it_knows)
{
	setup_user(NULL);
	expect_good();
	fake_snmp_mode(fake, FAKE_OTHER_PORT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer to user poller");
	expect_bad(SHORT_MS, CR_TIMEOUT,
		   "has answered: poll that one, or set strict_source: false");
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

Test(snmp_v3, tells_of_a_dead_port_at_once)
{
	setup_user(NULL);
	expect_good();
	fake_snmp_free(fake);
	fake = NULL;
	expect_bad(LONG_MS, CR_CONNECT, "nobody listens at udp:127.0.0.1:");
	expect_bad(LONG_MS, CR_CONNECT, "nobody listens at udp:127.0.0.1:");
	cr_assert_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
}

Test(snmp_v3, finds_an_agent_that_has_another_engine_since_its_restart_in_the_same_poll)
{
	setup_user(NULL);
	expect_good();
	for (uint8_t engine = 2; engine < 5; engine++) {
		fake_snmp_engine(fake, engine);
		expect_good();
	}
	cr_assert_eq(fake_snmp_discoveries(fake), 4);
}

Test(snmp_v3, asks_who_is_there_after_three_polls_without_an_answer)
{
	setup_user(NULL);
	expect_good();
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	for (int i = 0; i < 3; i++)
		expect_bad(SHORT_MS, CR_TIMEOUT, "no answer to user poller in 200 ms");
	cr_assert_eq(fake_snmp_discoveries(fake), 1);
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
	cr_assert_eq(fake_snmp_discoveries(fake), 2);
}

Test(snmp_v3, keeps_the_engine_of_an_agent_that_was_silent_once)
{
	setup_user(NULL);
	expect_good();
	for (int i = 0; i < 4; i++) {
		fake_snmp_mode(fake, FAKE_SILENT, 0);
		expect_bad(SHORT_MS, CR_TIMEOUT, "no answer to user poller");
		fake_snmp_mode(fake, FAKE_NORMAL, 0);
		expect_good();
	}
	cr_assert_eq(fake_snmp_discoveries(fake), 1);
}

/*** Many ***/

#define ENGINES 12

static struct fake_snmp *engines[ENGINES];

static void free_engines(void)
{
	for (int i = 0; i < ENGINES; i++)
		fake_snmp_free(engines[i]);
}

static void expect_all_good(void)
{
	cr_assert_eq(collector_host_poll(host, LONG_MS * CH_MS, 20000 * CH_MS), 0);
	for (int i = 0; i <= ENGINES; i++)
		cr_assert_eq(collector_host_last(host, i)->state, COLLECTOR_GOOD, "%d: %s", i,
			     collector_host_last(host, i)->text);
}

static void setup_engines(const char *const *more)
{
	setup_user(more);
	for (int i = 0; i < ENGINES; i++) {
		engines[i] = fake_snmp_new(FAKE_NORMAL);
		fake_snmp_engine(engines[i], (uint8_t)(10 + i));
		fake_snmp_jvm(engines[i], 100, 400, 1000);
		collector_host_add(host, "ms1", fake_snmp_endpoint(engines[i]), false);
	}
	expect_all_good();
}

Test(snmp_v3, keeps_to_itself_what_happens_to_one_of_many_engines, .fini = free_engines)
{
	setup_engines(NULL);
	for (int i = 0; i < 3 * ENGINES; i++) {
		/* The first, the last, and those between lose their state in turn. */
		fake_snmp_engine(engines[i * 5 % ENGINES], (uint8_t)(60 + i));
		expect_all_good();
		cr_assert_eq(n_values(), 3 * (ENGINES + 1));
	}
	for (int i = 0; i < ENGINES; i++)
		cr_assert_eq(fake_snmp_discoveries(engines[i]), 4, "one, and three for new ones");
}

static size_t count_users(void)
{
	size_t n = 0;

	for (const struct usmUser *user = usm_get_userList(); user != NULL; user = user->next)
		n++;
	return n;
}

Test(snmp_v3, keeps_few_users_in_mind_where_there_are_many_engines, .fini = free_engines)
{
	const char *more[] = { "max_inflight=1", NULL };

	setup_engines(more);
	for (int i = 0; i < 5; i++) {
		expect_all_good();
		cr_assert_leq(count_users(), 6);
	}
	for (int i = 0; i < ENGINES; i++)
		cr_assert_eq(fake_snmp_discoveries(engines[i]), 1);
	collector_host_close(host);
	host = NULL;
	cr_assert_eq(count_users(), 0);
}

/* The key that net-snmp holds for the user at the fake's engine. */
static void read_key(u_char key[USM_AUTH_KU_LEN])
{
	static const u_char engine[] = { 0x80, 0, 0, 0, 4, 'f', 'a', 'k', 1 };
	const struct usmUser *user = usm_get_user(engine, sizeof engine, "poller");

	cr_assert_not_null(user);
	cr_assert_eq(user->authKeyLen, 20);
	memcpy(key, user->authKey, 20);
}

Test(snmp_v3, uses_a_corrected_password_at_an_engine_that_it_knows_already)
{
	const char *more[] = { "auth_protocol=sha", auth_setting, NULL };
	u_char old[USM_AUTH_KU_LEN], new[USM_AUTH_KU_LEN];
	FILE *file;

	setup_user(more);
	poll_for(SHORT_MS);
	collector_host_start(host, target, SHORT_MS * CH_MS);
	collector_host_run(host, 20 * CH_MS);
	read_key(old);
	collector_host_close(host);
	file = fopen(password, "w");
	cr_assert_not_null(file);
	fputs("battery staple\n", file);
	fclose(file);
	setup_user(more);
	collector_host_start(host, target, SHORT_MS * CH_MS);
	collector_host_run(host, 20 * CH_MS);
	read_key(new);
	cr_assert_arr_neq(new, old, 20);
}

/*** Complaints ***/

static void expect_complaint(unsigned int complaint, const char *text)
{
	fake_snmp_complain(fake, complaint);
	expect_bad(LONG_MS, CR_AUTH, text);
	cr_assert_lt(collector_host_last(host, target)->took_ns, 1000 * CH_MS);
}

Test(snmp_v3, says_in_clear_words_what_the_agent_does_not_like)
{
	setup_user(NULL);
	expect_complaint(
		1,
		"does not offer noAuthNoPriv to user poller: set auth_protocol and priv_protocol");
	expect_complaint(3, "knows no user poller");
	expect_complaint(5, "refuses the key of user poller: wrong auth_password_file");
	expect_complaint(6, "cannot decrypt what user poller says: wrong priv_password_file");
	fake_snmp_complain(fake, 0);
	expect_good();
}

Test(snmp_v3, gives_up_on_a_clock_that_never_fits)
{
	setup_user(NULL);
	fake_snmp_complain(fake, 2);
	expect_bad(SHORT_MS, CR_AUTH, "not in time window");
	cr_assert_leq(fake_snmp_requests(fake), 6, "two tries, each sent once more");
	fake_snmp_complain(fake, 0);
	expect_good();
}

Test(snmp_v3, tells_of_an_unknown_user)
{
	setup_named("user=nobody", NULL);
	expect_bad(LONG_MS, CR_AUTH, "the agent knows no user nobody");
}

Test(snmp_v3, tells_a_wrong_key_of_privacy_from_a_dead_agent)
{
	const char *more[] = { "auth_protocol=sha-256", auth_setting, "priv_protocol=aes",
			       priv_setting, NULL };

	setup_user(more);
	fake_snmp_mode(fake, FAKE_MUTE_USER, 0);
	expect_bad(SHORT_MS, CR_AUTH, "does not answer what user poller encrypts");
	expect_bad(SHORT_MS, CR_AUTH, "wrong priv_password_file");
	fake_snmp_mode(fake, FAKE_SILENT, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT, "no answer to the discovery");
}

Test(snmp_v3, takes_no_open_answer_to_an_encrypted_question)
{
	/* The fake answers without a key what was asked with one. */
	const char *more[] = { "auth_protocol=sha", auth_setting, NULL };

	setup_user(more);
	expect_bad(SHORT_MS, CR_TIMEOUT, "is SNMP v3 spoken there?");
}

/*** Settings ***/

static void expect_refusal(const char *const *more, const char *text)
{
	const char *settings[16] = { "version=3" }, *err;

	for (size_t i = 0; more[i] != NULL; i++)
		settings[1 + i] = more[i];
	err = try_open(JVM, settings);
	cr_assert_not_null(err, "%s", text);
	cr_assert_not_null(strstr(err, text), "%s", err);
}

Test(snmp_v3, says_which_settings_do_not_go_together)
{
	expect_refusal((const char *[]){ NULL }, "version 3 needs a user");
	expect_refusal((const char *[]){ "user=a", "priv_protocol=aes", NULL },
		       "priv_protocol needs auth_protocol");
	expect_refusal((const char *[]){ "user=a", "auth_protocol=sha", NULL },
		       "auth_protocol is set, so auth_password_file must be given");
	expect_refusal((const char *[]){ "user=a", "auth_protocol=sha", auth_setting,
					 "priv_protocol=aes", NULL },
		       "priv_protocol is set, so priv_password_file must be given");
	expect_refusal((const char *[]){ "user=012345678901234567890123456789012", NULL },
		       "user: more than 32 letters");
	expect_refusal((const char *[]){ "user=a", "engine_id=80000000", NULL },
		       "write 5 to 32 bytes in hexadecimal");
	expect_refusal((const char *[]){ "user=a", "engine_id=800000000g", NULL },
		       "write 5 to 32 bytes in hexadecimal");
	expect_refusal((const char *[]){ "user=a", "auth_protocol=md5", NULL }, "sha-256");
}

Test(snmp_v3, refuses_a_password_that_is_too_short_or_open_to_others)
{
	FILE *file = fopen(password, "w");

	cr_assert_not_null(file);
	fputs("horse\n", file);
	fclose(file);
	expect_refusal((const char *[]){ "user=a", "auth_protocol=sha", auth_setting, NULL },
		       " has less than 8 letters, which SNMP does not allow");
	chmod(password, 0604);
	expect_refusal((const char *[]){ "user=a", "auth_protocol=sha", auth_setting, NULL },
		       "so others than its owner and group can get at it; run chmod 640 ");
}

static void expect_community_refusal(const char *with, const char *text)
{
	const char *more[] = { community_setting, NULL };
	const char *err = try_open(with, more);

	cr_assert_not_null(err, "%s", text);
	cr_expect_str_eq(err, text);
}

/* A password that nobody uses is one that somebody believes in. */
Test(snmp_v3, refuses_secrets_and_names_that_it_would_not_use)
{
	const struct {
		const char *setting, *text;
	} cases[] = {
		{ "user=poller", "user: set version to 3, or leave it out" },
		{ "auth_protocol=sha", "auth_protocol: set version to 3, or leave it out" },
		{ auth_setting, "auth_password_file: set version to 3, or leave it out" },
		{ "priv_protocol=aes", "priv_protocol: set version to 3, or leave it out" },
		{ priv_setting, "priv_password_file: set version to 3, or leave it out" },
		{ "engine_id=0102030405", "engine_id: set version to 3, or leave it out" },
	};

	expect_refusal((const char *[]){ "user=a", auth_setting, NULL },
		       "auth_password_file: not used without auth_protocol; set that as in the "
		       "agent (sha-256, say), or leave it out");
	expect_refusal(
		(const char *[]){ "user=a", "auth_protocol=sha", auth_setting, priv_setting, NULL },
		"priv_password_file: not used without priv_protocol; set that as in the "
		"agent (aes, say), or leave it out");
	expect_refusal((const char *[]){ "user=a", community_setting, NULL },
		       "community_file: version 3 has a user instead; leave it out, or set version "
		       "to 2c");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *more[] = { community_setting, cases[i].setting, NULL };
		const char *err = try_open(JVM, more);

		cr_assert_not_null(err, "%s", cases[i].setting);
		cr_expect_str_eq(err, cases[i].text);
	}
	expect_community_refusal(JVM " context: ms1",
				 "context: set version to 3, or leave it out; versions 1 and 2c "
				 "have a community_suffix");
}

/*** Contexts ***/

Test(snmp_v3, says_what_to_do_about_a_context_that_the_agent_does_not_have)
{
	setup_context(JVM " context: mydomain@ms1", NULL);
	expect_good();
	fake_snmp_mode(fake, FAKE_NO_CONTEXT, 0);
	expect_bad(LONG_MS, CR_ABSENT,
		   "the agent has no context \"mydomain@ms1\": correct context");
	fake_snmp_mode(fake, FAKE_OTHER_CONTEXT, 0);
	expect_bad(
		SHORT_MS, CR_REPLY,
		"answers for context \"other\" when it is asked for \"mydomain@ms1\": set context "
		"to one that it has");
	fake_snmp_mode(fake, FAKE_NORMAL, 0);
	expect_good();
}

Test(snmp_v3, says_what_to_do_about_a_context_that_is_missing)
{
	setup_user(NULL);
	fake_snmp_mode(fake, FAKE_NO_CONTEXT, 0);
	expect_bad(LONG_MS, CR_ABSENT, "the agent wants a context: set context");
	fake_snmp_mode(fake, FAKE_OTHER_CONTEXT, 0);
	expect_bad(SHORT_MS, CR_REPLY, "when it is asked without one: set context to one");
}

/* As snmpd does. */
Test(snmp_v3, thinks_of_the_context_when_an_agent_is_silent)
{
	const char *encrypted[] = { "auth_protocol=sha-256", auth_setting, "priv_protocol=aes",
				    priv_setting, NULL };

	setup_context(JVM " context: ms1", NULL);
	fake_snmp_mode(fake, FAKE_MUTE_USER, 0);
	expect_bad(SHORT_MS, CR_TIMEOUT,
		   "does not answer user poller in 200 ms: busy, or it has no context \"ms1\" "
		   "(option context)");
	collector_host_close(host);
	setup_context(JVM " context: ms1", encrypted);
	expect_bad(SHORT_MS, CR_AUTH, "or it has no context \"ms1\" (option context)");
}

Test(snmp_v3, thinks_of_the_context_where_nothing_is_found)
{
	fake = fake_snmp_new(FAKE_NORMAL); /* it has nothing */
	setup_context(JVM " context: ms1", NULL);
	expect_bad(LONG_MS, CR_ABSENT, "or is \"ms1\" the wrong context?");
	collector_host_close(host);
	setup_user(NULL);
	expect_bad(LONG_MS, CR_ABSENT, "or does it want a context?");
}
