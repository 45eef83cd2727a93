/* test_http_target.c - which targets the collector "http" can poll: its check() and its polls
 * agree, for they read them by the same code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "http_scene.h"

static const char *const settings[] = { "profile=json", NULL };

TestSuite(http_target, .init = open_web, .fini = close_all, .timeout = 60);

#define PORTS   "ports are 1 to 65535"
#define NO_URL  "it is not an http:// or https:// URL; write http://HOST:PORT"
#define NO_HOST "it has no host; write http://HOST:PORT"
#define UNCLEAR "its host is unclear; put an IPv6 address in brackets: http://[ADDRESS]:PORT"
#define NO_USER "it must not hold a user; use user and password_file"

static const struct bad {
	const char *target, *text;
} bad[] = {
	{ "", NO_URL },
	{ "127.0.0.1:8080", NO_URL },
	{ "ftp://x", NO_URL },
	{ "file:///etc/passwd", NO_URL },
	{ "udp:127.0.0.1:161", NO_URL },
	{ "http:/127.0.0.1/", NO_URL },
	{ "http:127.0.0.1", NO_URL },
	{ "httpx://h/", NO_URL },
	{ "http://", NO_HOST },
	{ "http:///status", NO_HOST },
	{ "http://:8080/", NO_HOST },
	{ "https:///", NO_HOST },
	{ "http://h:99999", "\"99999\" is no port; " PORTS },
	{ "http://h:65536/a", "\"65536\" is no port; " PORTS },
	{ "http://h:0/", "\"0\" is no port; " PORTS },
	{ "http://h:00000/", "\"00000\" is no port; " PORTS },
	{ "http://h:-1/", "\"-1\" is no port; " PORTS },
	{ "http://h:+80/", "\"+80\" is no port; " PORTS },
	{ "http://h:080808/", "\"080808\" is no port; " PORTS },
	{ "http://h:/", "\"\" is no port; " PORTS },
	{ "http://h:http/", "\"http\" is no port; " PORTS },
	{ "http://[::1]:70000/", "\"70000\" is no port; " PORTS },
	{ "http://::1:8080/", UNCLEAR },
	{ "http://fe80::1/", UNCLEAR },
	{ "http://h:80:90/", UNCLEAR },
	{ "http://[::1]8080/", UNCLEAR },
	{ "http://[::1", "its bracket is not closed; write http://[ADDRESS]:PORT" },
	{ "http://u:p@h/", NO_USER },
	{ "http://u@h/", NO_USER },
	{ "http://u:p@h:99999?a", NO_USER },
	{ "http://@h/", NO_USER },
	{ "http://h/?a=b", "it must not hold a query (?a=b); use the key path" },
	{ "http://h?a=b", "it must not hold a query (?a=b); use the key path" },
	{ "http://h/#top", "it must not hold a fragment (#top); remove it" },
	{ "http://h /", "it holds a blank or control byte (0x20) as byte 9; remove it" },
	{ " http://h/", "it holds a blank or control byte (0x20) as byte 1; remove it" },
	{ "http://h/\r\nX: y", "it holds a blank or control byte (0x0d) as byte 10; remove it" },
	{ "http://h/\x1b[2J", "it holds a blank or control byte (0x1b) as byte 10; remove it" },
	{ "http://h\x7f/", "it holds a blank or control byte (0x7f) as byte 9; remove it" },
	{ "http://[127.0.0.1]/", "it is no URL: " },
	{ "http://[::g]/", "it is no URL: " },
	{ "http://a\\b/", "it is no URL: " },
	{ "http://a|b/", NULL }, /* a name that nobody has: not the form's business */
};

static void expect_bad(const char *target, const char *text)
{
	char said[300], polled[320];
	int index;

	cr_expect_lt(collector_host_check(host, target, said, sizeof said), 0, "%s", target);
	cr_expect(strncmp(said, text, strlen(text)) == 0, "%s: %s", target, said);
	snprintf(polled, sizeof polled, "target: %s", said);
	index = collector_host_add(host, "ms1", target, false);
	expect_failed(poll_once(index), CR_CONNECT, polled);
	collector_host_forget(host, index);
}

Test(http_target, that_cannot_be_polled_is_told_by_check_in_the_words_of_the_poll)
{
	open_host(settings);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (bad[i].text != NULL)
			expect_bad(bad[i].target, bad[i].text);
	cr_expect_eq(fake_http_requests(web), 0);
}

Test(http_target, is_taken_in_every_good_form)
{
	static const char *const good[] = {
		"http://h",
		"http://h:1/",
		"https://h.example.com:65535/base/path",
		"HTTP://h/",
		"http://127.0.0.1:8080",
		"http://[::1]:8080/",
		"http://[fe80::1%25eth0]/",
		"http://h/a@b:c/%20",
		"http://xn--bcher-kva.example/",
		"http://a_b-c.d/",
	};

	open_host(settings);
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect_eq(collector_host_check(host, good[i], err, sizeof err), 0, "%s: %s",
			     good[i], err);
	cr_expect_eq(fake_http_connections(web), 0, "nobody is asked");
	cr_expect_eq(collector_host_check(host, fake_http_url(web), err, sizeof err), 0);
}

static char *make(const char *begin, size_t len, const char *end)
{
	const size_t n = strlen(begin);
	char *text = malloc(n + len + strlen(end) + 1);

	memcpy(text, begin, n);
	memset(text + n, 'x', len);
	memcpy(text + n + len, end, strlen(end) + 1);
	return text;
}

Test(http_target, has_a_longest_form)
{
	static const struct {
		const char *begin;
		size_t len;
		const char *end, *text; /* NULL: good */
	} cases[] = {
		{ "http://", 253, "/", NULL },
		{ "http://", 254, "/", "its host is longer than 253 letters; shorten it" },
		{ "http://h/", 2038, "", NULL },
		{ "http://h/", 2039, "", "it is longer than 2047 bytes; shorten it" },
		{ "http://h/", 1000000, "", "it is longer than 2047 bytes; shorten it" },
		{ "http://h:", 300, "/",
		  "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" is no port; " PORTS },
	};

	open_host(settings);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *target = make(cases[i].begin, cases[i].len, cases[i].end);

		if (cases[i].text != NULL)
			expect_bad(target, cases[i].text);
		else
			cr_expect_eq(collector_host_check(host, target, err, sizeof err), 0, "%s",
				     err);
		free(target);
	}
}

/* What is said of a target may be shown, so no password is quoted. */
Test(http_target, with_a_password_is_refused_without_showing_it)
{
	static const char *const targets[] = {
		"http://bob:hunter2@h:99999/?x", "ftp://bob:hunter2@h/", "http://bob:hunter2@",
		"http://bob:hunter2@[::1/",      "bob:hunter2@h",
	};

	open_host(settings);
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		cr_expect_lt(collector_host_check(host, targets[i], err, sizeof err), 0);
		cr_expect(strstr(err, "hunter2") == NULL, "%s", err);
	}
}

Test(http_target, is_told_in_as_much_room_as_there_is)
{
	char small[8];

	open_host(settings);
	cr_expect_lt(collector_host_check(host, "ftp://x", small, sizeof small), 0);
	cr_expect_str_eq(small, "it is n");
}
