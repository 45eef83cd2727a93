/* test_http_auth.c - how the collector "http" proves who it is: basic, digest, bearer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "http_scene.h"

#define CHALLENGE                                                                                  \
	"WWW-Authenticate: Digest realm=\"ManagementRealm\", nonce=\"abc\", algorithm=MD5, "       \
	"qop=\"auth\"\r\n"
#define HEAP "{\"used\":3,\"committed\":5,\"max\":7}"

static char path[64], secret[96];

static void write_secret(const char *option, const char *text)
{
	const int fd = mkstemp(strcpy(path, "/tmp/callrouter-secret.XXXXXX"));

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(fchmod(fd, 0600), 0);
	close(fd);
	snprintf(secret, sizeof secret, "%s=%s", option, path);
}

static void end(void)
{
	close_all();
	if (path[0])
		unlink(path);
}

TestSuite(http_auth, .init = open_web, .fini = end, .timeout = 60);

static int open_target(const char *const *settings)
{
	open_host(settings);
	return collector_host_add(host, "ms1", fake_http_url(web), false);
}

Test(http_auth, answers_the_challenge_of_a_wildfly_and_keeps_it)
{
	const char *const settings[] = { "profile=wildfly", "user=poller", secret, NULL };
	int target;

	write_secret("password_file", "s3cret\n");
	fake_http_page(web, "401 Unauthorized", CHALLENGE, "");
	fake_http_when(web, "Authorization: Digest username=\"poller\"", "200 OK", "", HEAP);
	target = open_target(settings);
	cr_expect_eq(poll_once(target)->state, COLLECTOR_GOOD, "%s", poll_once(target)->text);
	cr_expect_eq(collector_host_value(host, "ms1", NULL, "jvm_heap_used_bytes"), 3);
	cr_expect_eq(fake_http_requests(web), 2, "one is refused with the challenge");
	cr_expect(was_asked("realm=\"ManagementRealm\""));
	cr_expect(was_asked("uri=\"/management/core-service/platform-mbean/type/memory?"));
	cr_expect_not(was_asked("s3cret"));
	cr_expect_eq(poll_once(target)->state, COLLECTOR_GOOD);
	cr_expect_eq(fake_http_requests(web), 3, "the challenge is known");
}

/* Each server has a challenge of its own, and one handle at a time is under way. */
Test(http_auth, answers_each_of_several_servers_with_its_own_challenge)
{
	const char *const settings[] = { "profile=wildfly", "user=poller", secret, "max_inflight=1",
					 NULL };
	struct fake_http *webs[3] = { web, fake_http_new(), fake_http_new() };
	int target[3];

	write_secret("password_file", "s3cret\n");
	open_host(settings);
	for (int i = 0; i < 3; i++) {
		char name[16], challenge[128], nonce[32];

		snprintf(name, sizeof name, "ms%d", i);
		snprintf(nonce, sizeof nonce, "realm=\"r%d\", nonce=\"n%d\"", i, i);
		snprintf(challenge, sizeof challenge,
			 "WWW-Authenticate: Digest %s, algorithm=MD5, qop=\"auth\"\r\n", nonce);
		fake_http_page(webs[i], "401 Unauthorized", challenge, "");
		fake_http_when(webs[i], nonce, "200 OK", "", HEAP);
		target[i] = collector_host_add(host, name, fake_http_url(webs[i]), false);
	}
	for (size_t round = 1; round <= 4; round++) {
		cr_assert_eq(collector_host_poll(host, 5000 * CH_MS, 20000 * CH_MS), 0);
		for (int i = 0; i < 3; i++) {
			expect_good(collector_host_last(host, target[i]));
			cr_expect_eq(fake_http_requests(webs[i]), round + 1,
				     "server %d is asked for its challenge once", i);
		}
	}
	collector_host_close(host);
	host = NULL;
	fake_http_free(webs[1]);
	fake_http_free(webs[2]);
}

#define CHALLENGE_OF(nonce, more)                                                                  \
	"WWW-Authenticate: Digest realm=\"r\", nonce=\"" nonce                                     \
	"\", algorithm=MD5, qop=\"auth\"" more "\r\n"

Test(http_auth, goes_on_within_the_poll_when_a_challenge_has_expired)
{
	const char *const settings[] = { "profile=wildfly", "user=poller", secret, NULL };
	int target;

	write_secret("password_file", "s3cret\n");
	fake_http_page(web, "401 Unauthorized", CHALLENGE_OF("n1", ""), "");
	fake_http_when(web, "nonce=\"n2\"", "200 OK", "", HEAP);
	fake_http_when(web, "nc=00000002", "401 Unauthorized", CHALLENGE_OF("n2", ", stale=true"),
		       "");
	fake_http_when(web, "nonce=\"n1\"", "200 OK", "", HEAP);
	target = open_target(settings);
	expect_good(poll_once(target));
	cr_expect_eq(fake_http_requests(web), 2);
	expect_good(poll_once(target));
	cr_expect_eq(fake_http_requests(web), 4, "the old one, then the new one");
	expect_good(poll_once(target));
	cr_expect_eq(fake_http_requests(web), 5);
	cr_expect(was_asked("nonce=\"n2\""));
}

/* It knows nothing of the challenge that it gave, and does not say that it has expired. */
Test(http_auth, goes_on_with_a_server_that_has_started_again)
{
	const char *const settings[] = { "profile=wildfly", "user=poller", secret, NULL };
	int target;

	write_secret("password_file", "s3cret\n");
	fake_http_page(web, "401 Unauthorized", CHALLENGE_OF("old", ""), "");
	fake_http_when(web, "nonce=\"new\"", "200 OK", "", HEAP);
	fake_http_when(web, "nc=00000002", "401 Unauthorized", CHALLENGE_OF("new", ""), "");
	fake_http_when(web, "nonce=\"old\"", "200 OK", "", HEAP);
	target = open_target(settings);
	expect_good(poll_once(target));
	fake_http_page(web, "401 Unauthorized", CHALLENGE_OF("new", ""), "");
	expect_good(poll_once(target));
	cr_expect_eq(fake_http_requests(web), 2u + 3, "the old one, none, the new one");
	expect_good(poll_once(target));
	expect_good(poll_once(target));
	cr_expect_eq(fake_http_requests(web), 5u + 2);
}

/* An account is not to be locked by us: one more try in the poll that finds it changed, and then
 * one a poll, each after a request without. */
Test(http_auth, tries_a_password_that_has_been_changed_once_more_and_then_once_a_poll)
{
	const char *const settings[] = { "profile=wildfly", "user=poller", secret, NULL };
	int target;

	write_secret("password_file", "s3cret\n");
	fake_http_page(web, "401 Unauthorized", CHALLENGE_OF("a", ""), "");
	fake_http_when(web, "nc=00000002", "401 Unauthorized", CHALLENGE_OF("b", ""), "");
	fake_http_when(web, "nonce=\"b\"", "401 Unauthorized", CHALLENGE_OF("b", ""), "");
	fake_http_when(web, "nonce=\"a\"", "200 OK", "", HEAP);
	target = open_target(settings);
	expect_good(poll_once(target));
	cr_expect_eq(fake_http_requests(web), 2);
	fake_http_page(web, "401 Unauthorized", CHALLENGE_OF("b", ""), "");
	expect_failed(poll_once(target), CR_AUTH, "HTTP status 401");
	cr_expect_eq(fake_http_requests(web), 2u + 3);
	for (size_t i = 1; i <= 3; i++) {
		expect_failed(poll_once(target), CR_AUTH, "HTTP status 401");
		cr_expect_leq(fake_http_requests(web), 5 + 2 * i, "%zu", fake_http_requests(web));
	}
}

Test(http_auth, never_sends_a_digest_password_to_a_server_that_wants_it_plain)
{
	const char *const settings[] = { "profile=wildfly", "user=poller", secret, NULL };

	write_secret("password_file", "s3cret\n");
	fake_http_page(web, "401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n", "");
	cr_expect_eq(poll_once(open_target(settings))->why, CR_AUTH);
	cr_expect_not(was_asked("Authorization"));
}

Test(http_auth, sends_a_bearer_token)
{
	const char *const settings[] = { "profile=micrometer", secret, NULL };

	write_secret("token_file", "tok.en-1\nsecond line\n");
	fake_http_page(web, "401 Unauthorized", "", "");
	fake_http_when(web, "Authorization: Bearer tok.en-1\r\n", "200 OK", "",
		       "jvm_memory_used_bytes{area=\"heap\"} 3\n"
		       "jvm_memory_committed_bytes{area=\"heap\"} 5\n");
	cr_expect_eq(poll_once(open_target(settings))->state, COLLECTOR_GOOD);
}

Test(http_auth, keeps_the_secret_when_it_is_sent_elsewhere)
{
	const char *const settings[] = { "profile=json", "user=poller", secret, NULL };

	write_secret("password_file", "s3cret\n");
	fake_http_page(web, "302 Found", "Location: http://127.0.0.1:9/\r\n", "");
	cr_expect_eq(poll_once(open_target(settings))->why, CR_REPLY);
	cr_expect_eq(fake_http_requests(web), 1);
}

/* Who is known need not look for a wrong password. */
Test(http_auth, says_what_to_do_about_what_was_shown)
{
	static const struct {
		const char *option, *with; /* the file, and what goes with it */
		const char *at_401, *at_403;
	} cases[] = {
		{ "password_file", "user=poller",
		  "HTTP status 401: check user and password_file; let the endpoint prometheus",
		  "HTTP status 403: this user may not read this, or this host may not; let the" },
		{ "token_file", "auth=bearer", "HTTP status 401: check token_file; let the",
		  "HTTP status 403: this user may not read this, or this host may not; let the" },
		{ "secret_header_file", "secret_header=X-Api-Key",
		  "HTTP status 401: check secret_header and secret_header_file; let the",
		  "HTTP status 403: this user may not read this, or this host may not; let the" },
		{ NULL, "auth=bearer", "HTTP status 401: set token_file; let the",
		  "HTTP status 403: this may not be read without a user, or not by this host" },
		{ NULL, "auth=basic", "HTTP status 401: set user and password_file; let the",
		  "HTTP status 403: this may not be read without a user, or not by this host" },
	};
	int target;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const settings[] = { "profile=micrometer", cases[i].with,
						 cases[i].option ? secret : NULL, NULL };

		if (cases[i].option)
			write_secret(cases[i].option, "s3cret\n");
		target = open_target(settings);
		fake_http_page(web, "401 Unauthorized", "", "no");
		expect_failed(poll_once(target), CR_AUTH, cases[i].at_401);
		fake_http_page(web, "403 Forbidden", "", "no");
		expect_failed(poll_once(target), CR_AUTH, cases[i].at_403);
		collector_host_close(host);
		host = NULL;
		unlink(path);
	}
}

static void expect_refused(const char *const *settings, const char *text)
{
	cr_assert_null(lab_open(&cr_collector_1, "src", settings, err, sizeof err));
	cr_expect(strstr(err, text), "\"%s\" has no \"%s\"", err, text);
}

Test(http_auth, sends_a_secret_in_a_header_of_ones_own_and_shows_it_to_nobody)
{
	const char *const settings[] = { "format=json",
					 "fields={ busy_threads: /n }",
					 "log_answers=true",
					 "secret_header=X-Api-Key",
					 "headers={ X-B: c }",
					 secret,
					 NULL };
	int target;

	write_secret("secret_header_file", "k3y of mine\nsecond line\n");
	fake_http_page(web, "401 Unauthorized", "", "");
	target = open_target(settings);
	expect_failed(poll_once(target), CR_AUTH, "HTTP status 401");
	cr_expect_null(strstr(collector_host_last(host, target)->text, "k3y"));
	fake_http_when(web, "X-Api-Key: k3y of mine\r\n", "200 OK", "", "{\"n\":3}");
	expect_good(poll_once(target));
	cr_expect(was_asked("X-B: c\r\n"));
	cr_expect(collector_host_logged(host, "answer\nrequest 0"));
	cr_expect_null(collector_host_logged(host, "k3y"));
}

/* As some want it: Authorization: ApiKey ... */
Test(http_auth, leaves_the_header_authorization_to_the_operator_but_not_to_two)
{
	const char *const settings[] = { "format=json", "fields={ busy_threads: /n }",
					 "secret_header=authorization", secret, NULL };
	const char *const twice[] = { "profile=json", "secret_header=authorization",
				      "user=poller",  "password_file=/x",
				      secret,         NULL };
	const char *const also[] = { "profile=json", "secret_header=x-b", "headers={ X-B: c }",
				     secret, NULL };
	const char *const bad[] = { "profile=json", "secret_header=X Y", secret, NULL };
	const char *const host_header[] = { "profile=json", "secret_header=host", secret, NULL };
	const char *const alone[] = { "profile=json", secret, NULL };
	const char *const no_file[] = { "profile=json", "secret_header=X-A", NULL };

	write_secret("secret_header_file", "ApiKey abc\n");
	fake_http_page(web, "401 Unauthorized", "", "");
	fake_http_when(web, "authorization: ApiKey abc\r\n", "200 OK", "", "{\"n\":3}");
	expect_good(poll_once(open_target(settings)));
	expect_refused(twice, "secret_header: authorization is made of user or token_file already");
	expect_refused(also, "secret_header: x-b stands in headers, too; keep one of them");
	expect_refused(bad, "secret_header: \"X Y\" is no name of a header");
	expect_refused(host_header, "secret_header: Host is not yours to set");
	expect_refused(alone, "secret_header and secret_header_file: give both or none");
	expect_refused(no_file, "secret_header and secret_header_file: give both or none");
	cr_assert_eq(chmod(path, 0644), 0);
	expect_refused(settings, "secret_header_file");
}

Test(http_auth, refuses_secrets_that_do_not_fit)
{
	const char *const bearer[] = { "profile=json", "auth=bearer", "user=poller", secret, NULL };
	const char *const basic[] = { "profile=json", "auth=basic", secret, NULL };
	const char *const both[] = { "profile=json", "user=poller", "password_file=/x", secret,
				     NULL };
	const char *const key[] = { "profile=json", "key_file=/dev/null", NULL };
	const char *const cert[] = { "profile=json", "cert_file=/nonexistent.pem", NULL };
	const char *const none[] = { "profile=json", secret, NULL };

	write_secret("password_file", "x\n");
	expect_refused(bearer, "auth: bearer needs token_file, and no user");
	unlink(path);
	write_secret("token_file", "x\n");
	expect_refused(basic, "token_file needs auth: bearer");
	expect_refused(both, "token_file and password_file: give one of them");
	expect_refused(key, "key_file needs cert_file");
	expect_refused(cert, "cert_file /nonexistent.pem: No such file or directory");
	unlink(path);
	write_secret("token_file", "\nx");
	expect_refused(none, "has nothing in its first line; write the secret there");
}
