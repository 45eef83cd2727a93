/* test_http.c - the collector "http" against servers that answer well, badly, late or never. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "http_scene.h"

#define STATUS_PAGE                                                                                \
	"<status><jvm><memory free='100' total='200' max='300'/></jvm><connector><threadInfo "     \
	"maxThreads='20' currentThreadsBusy='3'/><requestInfo requestCount='9' errorCount='1'/>"   \
	"</connector></status>"
#define HEAP_ANSWER "{\"value\":{\"used\":30,\"committed\":50,\"max\":-1},\"status\":200}"

static const char *const tomcat[] = { "profile=tomcat-status", NULL };
static const char *const jolokia[] = { "profile=jolokia", NULL };

static void begin(void)
{
	open_web();
	fake_http_page(web, "200 OK", "Content-Type: text/xml\r\n", STATUS_PAGE);
}

TestSuite(http, .init = begin, .fini = close_all, .timeout = 60);

static const struct collector_poll *poll_endpoint(const char *endpoint)
{
	return poll_once(collector_host_add(host, "ms1", endpoint, false));
}

static double value(const char *metric)
{
	return collector_host_value(host, "ms1", NULL, metric);
}

/*** What is asked, what is put ***/

Test(http, puts_the_figures_of_a_tomcat)
{
	size_t n;

	open_host(tomcat);
	expect_good(poll_endpoint(fake_http_url(web)));
	cr_expect_eq(value("jvm_heap_free_bytes"), 100);
	cr_expect_eq(value("jvm_heap_size_bytes"), 200);
	cr_expect_eq(value("jvm_heap_max_bytes"), 300);
	cr_expect_eq(value("busy_threads"), 3);
	cr_expect_eq(value("max_threads"), 20);
	cr_expect_eq(value("requests_total"), 9);
	cr_expect_eq(value("request_errors_total"), 1);
	collector_host_values(host, &n);
	cr_expect_eq(n, 7);
	cr_expect(was_asked("GET /manager/status?XML=true HTTP/1.1\r\n"));
	cr_expect(was_asked("Accept: text/xml\r\n"));
	cr_expect_not(was_asked("Authorization"));
}

Test(http, puts_the_figures_of_jolokia_but_no_undefined_maximum)
{
	size_t n;

	fake_http_page(web, "200 OK", "", HEAP_ANSWER);
	open_host(jolokia);
	expect_good(poll_endpoint(fake_http_url(web)));
	cr_expect_eq(value("jvm_heap_used_bytes"), 30);
	cr_expect_eq(value("jvm_heap_size_bytes"), 50);
	collector_host_values(host, &n);
	cr_expect_eq(n, 2);
	cr_expect(
		was_asked("GET /jolokia/read/java.lang:type=Memory/HeapMemoryUsage HTTP/1.1\r\n"));
	cr_expect(was_asked("Accept: application/json\r\n"));
}

Test(http, puts_the_page_behind_the_path_of_the_target)
{
	char endpoint[128];

	open_host(tomcat);
	snprintf(endpoint, sizeof endpoint, "%s/tools/a/", fake_http_url(web));
	expect_good(poll_endpoint(endpoint));
	cr_expect(was_asked("GET /tools/a/manager/status?XML=true HTTP/1.1\r\n"));
}

Test(http, asks_for_the_path_of_the_option_instead)
{
	static const char *const settings[] = { "profile=tomcat-status", "path=/status.xml?a=b%20c",
						NULL };
	char endpoint[128];

	open_host(settings);
	snprintf(endpoint, sizeof endpoint, "%s/base", fake_http_url(web));
	expect_good(poll_endpoint(endpoint));
	cr_expect(was_asked("GET /base/status.xml?a=b%20c HTTP/1.1\r\n"));
}

Test(http, keeps_the_connection_from_poll_to_poll)
{
	int target;

	open_host(tomcat);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	for (int i = 0; i < 5; i++)
		expect_good(poll_once(target));
	cr_expect_eq(fake_http_requests(web), 5);
	cr_expect_eq(fake_http_connections(web), 1);
}

#define HEAP_OF(used_) "{\"value\":{\"used\":" used_ ",\"committed\":50,\"max\":-1},\"status\":200}"

/* Or the surplus one would be the answer to the next question, and that one's to the one after. */
Test(http, takes_one_answer_to_one_question_and_gives_up_a_connection_with_more)
{
	struct fake_http *silent = fake_http_new();
	char two[512];
	int target, other, len;

	cr_assert_not_null(silent);
	len = snprintf(two, sizeof two,
		       "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s"
		       "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
		       strlen(HEAP_OF("30")), HEAP_OF("30"), strlen(HEAP_OF("31")), HEAP_OF("31"));
	fake_http_set(web, FAKE_DRIP, two, (size_t)len);
	open_host(jolokia);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	expect_good(poll_once(target));
	cr_expect_eq(value("jvm_heap_used_bytes"), 30);
	/* the second answer comes while something else is polled */
	other = collector_host_add(host, "ms2", fake_http_url(silent), false);
	collector_host_start(host, other, 1000 * CH_MS);
	cr_assert_eq(collector_host_run(host, 20000 * CH_MS), 0);
	collector_host_forget(host, other);
	fake_http_page(web, "200 OK", "", HEAP_OF("40"));
	for (int i = 0; i < 2; i++) {
		expect_good(poll_once(target));
		cr_expect_eq(value("jvm_heap_used_bytes"), 40);
	}
	cr_expect_eq(fake_http_connections(web), 2);
	fake_http_free(silent);
}

Test(http, connects_anew_when_the_server_ended_the_connection)
{
	static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<not-a-status/>";
	int target;

	fake_http_set(web, FAKE_ANSWER_AND_CLOSE, page, sizeof page - 1);
	open_host(tomcat);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	for (int i = 0; i < 3; i++)
		expect_failed(poll_once(target), CR_ABSENT, "nothing at /status/jvm/memory@free");
	cr_expect_eq(fake_http_connections(web), 3);
}

Test(http, asks_no_proxy_of_the_environment)
{
	char url[64];
	int fd = fake_refusal_open(url, sizeof url);

	setenv("http_proxy", url, 1);
	setenv("ALL_PROXY", url, 1);
	open_host(tomcat);
	expect_good(poll_endpoint(fake_http_url(web)));
	fake_refusal_close(fd);
}

Test(http, sends_back_no_cookie)
{
	int target;

	fake_http_page(web, "200 OK", "Set-Cookie: JSESSIONID=A.ms1; Path=/\r\n", STATUS_PAGE);
	open_host(tomcat);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	expect_good(poll_once(target));
	expect_good(poll_once(target));
	cr_expect_not(was_asked("Cookie"));
}

Test(http, reads_chunks_and_gzip)
{
	static const char chunks[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				     "8\r\n{\"value\"\r\n3e\r\n:{\"used\":30,\"committed\":50,"
				     "\"max\":-1},\"status\":200,\"x\":\"yyyyy\"}\r\n0\r\n\r\n";
	char packed[512];
	FILE *gzip = popen("printf %s '" HEAP_ANSWER "' | gzip -c", "r");
	size_t n = fread(packed, 1, sizeof packed, gzip);
	int target;

	cr_assert_eq(pclose(gzip), 0);
	open_host(jolokia);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	fake_http_page_bytes(web, "200 OK", "Content-Encoding: gzip\r\n", packed, n);
	expect_good(poll_once(target));
	cr_expect_eq(value("jvm_heap_size_bytes"), 50);
	fake_http_set(web, FAKE_ANSWER, chunks, sizeof chunks - 1);
	expect_good(poll_once(target));
	cr_expect_eq(value("jvm_heap_used_bytes"), 30);
}

/*** Refused answers ***/

Test(http, says_how_a_status_other_than_200_is_to_be_cured)
{
	int target;

	open_host(tomcat);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	fake_http_page(web, "401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n", "no");
	expect_failed(poll_once(target), CR_AUTH,
		      "HTTP status 401: set user and password_file; the role manager-status is "
		      "needed");
	fake_http_page(web, "403 Forbidden", "", "no");
	expect_failed(poll_once(target), CR_AUTH,
		      "HTTP status 403: this may not be read without a user, or not by this host; "
		      "the role manager-status is needed");
	fake_http_page(web, "302 Found", "Location: /login\r\n", "");
	expect_failed(poll_once(target), CR_REPLY,
		      "HTTP status 302: redirected to http://127.0.0.1:");
	expect_failed(poll_once(target), CR_REPLY, "/login; redirects are not followed");
	fake_http_page(web, "404 Not Found", "", "<html/>");
	expect_failed(poll_once(target), CR_REPLY, "HTTP status 404 for http://127.0.0.1:");
	fake_http_page(web, "500 Internal Server Error", "", STATUS_PAGE);
	expect_failed(poll_once(target), CR_REPLY, "HTTP status 500 for ");
	fake_http_page(web, "503 Service Unavailable", "", STATUS_PAGE);
	expect_failed(poll_once(target), CR_REPLY, "HTTP status 503 for ");
	fake_http_page(web, "200 OK", "", "<html><form action='j_security_check'/></html>");
	expect_failed(poll_once(target), CR_REPLY, "looks like HTML (login page?)");
}

Test(http, tells_broken_answers_apart)
{
	static const char cut[] = "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n<status>";
	static const char other[] = "SSH-2.0-OpenSSH_9.2\r\n";
	int target;

	open_host(tomcat);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	fake_http_set(web, FAKE_HANG_UP, "", 0);
	expect_failed(poll_once(target), CR_REPLY, "it closed the connection without an answer");
	fake_http_set(web, FAKE_ANSWER_AND_CLOSE, cut, sizeof cut - 1);
	expect_failed(poll_once(target), CR_REPLY,
		      "it closed the connection in the middle of its answer");
	fake_http_set(web, FAKE_ANSWER_AND_CLOSE, other, sizeof other - 1);
	expect_failed(poll_once(target), CR_REPLY,
		      "what answers there does not speak HTTP; is it the right port, or https://?");
	fake_http_page(web, "200 OK", "", "");
	expect_failed(poll_once(target), CR_REPLY, "bad XML in line 1");
}

Test(http, lets_no_stranger_write_into_the_log)
{
	fake_http_page(web, "200 OK", "",
		       "{\"status\":500,\"error\":\"a\\nservers lost\\u001b[2J \\u00e4\"}");
	open_host(jolokia);
	expect_failed(poll_endpoint(fake_http_url(web)), CR_REPLY,
		      "/status is \"500\", not \"200\": a?servers lost?[2J ??");
}

Test(http, breaks_off_when_the_body_is_too_large)
{
	static const char *const settings[] = { "profile=tomcat-status", "max_body=64KiB", NULL };
	static const char endless[] = "HTTP/1.1 200 OK\r\n\r\n<status>";
	char *large = calloc(1, 70000);
	int target;

	memset(large, ' ', 69999);
	open_host(settings);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	fake_http_set(web, FAKE_ENDLESS, endless, sizeof endless - 1);
	expect_failed(poll_once(target), CR_REPLY,
		      "the answer is larger than max_body (65536 bytes)");
	fake_http_page(web, "200 OK", "", large);
	expect_failed(poll_once(target), CR_REPLY, "the answer is larger than max_body");
	free(large);
}

Test(http, counts_the_unpacked_bytes_of_a_gzip_bomb)
{
	FILE *gzip = popen("head -c 67108864 /dev/zero | gzip -c", "r");
	char *bomb = malloc(262144);
	size_t n = fread(bomb, 1, 262144, gzip);

	cr_assert_eq(pclose(gzip), 0);
	cr_assert_lt(n, 100000);
	fake_http_page_bytes(web, "200 OK", "Content-Encoding: gzip\r\n", bomb, n);
	open_host(tomcat);
	expect_failed(poll_endpoint(fake_http_url(web)), CR_REPLY,
		      "the answer is larger than max_body (1048576 bytes)");
	free(bomb);
}

Test(http, breaks_off_at_too_many_headers)
{
	size_t size = 1 << 20, used = 0;
	char *headers = calloc(1, size + 1);
	int target;

	for (int i = 0; i < 1600; i++)
		used += (size_t)snprintf(headers + used, size - used, "X-%05d: %050d\r\n", i, 0);
	open_host(tomcat);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	fake_http_page(web, "200 OK", headers, STATUS_PAGE);
	expect_failed(poll_once(target), CR_REPLY,
		      "the answer has more than 65536 bytes of headers");
	headers[used / 2] = '\0';
	fake_http_page(web, "200 OK", headers, STATUS_PAGE);
	expect_good(poll_once(target));
	memset(headers, 'x', size); /* one line */
	fake_http_page(web, "200 OK", headers, STATUS_PAGE);
	expect_failed(poll_once(target), CR_REPLY,
		      "the answer has more than 65536 bytes of headers");
	free(headers);
}

Test(http, takes_http_and_https_urls_only)
{
	static const struct {
		const char *endpoint, *text;
	} bad[] = {
		{ "file:///etc/passwd", "target: it is not an http:// or https:// URL" },
		{ "http://127.0.0.1:99999/", "target: \"99999\" is no port" },
		{ "http://u:p@127.0.0.1/", "must not hold a user; use user and password_file" },
		{ "http://127.0.0.1/?a=b", "must not hold a query (?a=b); use the key path" },
	};

	open_host(tomcat);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int target = collector_host_add(host, "ms1", bad[i].endpoint, false);

		expect_failed(poll_once(target), CR_CONNECT, bad[i].text);
		collector_host_forget(host, target);
	}
}

Test(http, answers_for_one_server_only)
{
	open_host(tomcat);
	expect_failed(poll_once(collector_host_add(host, "all", fake_http_url(web), true)),
		      CR_VALUE,
		      "a page of this source is about one server: put ${host} into target");
	cr_expect_eq(fake_http_requests(web), 0);
}

/*** Giving up ***/

Test(http, can_be_closed_and_forget_while_polls_are_under_way)
{
	int target;

	fake_http_set(web, FAKE_SILENT, "", 0);
	open_host(tomcat);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	collector_host_add(host, "ms2", fake_http_url(web), false);
	cr_assert_eq(collector_host_poll(host, 60000 * CH_MS, 50 * CH_MS), 2);
	collector_host_forget(host, target);
}

Test(http, leaves_no_socket_to_other_programs)
{
	int open_to_all = 0;

	open_host(tomcat);
	for (int fd = 3; fd < 1024; fd++)
		open_to_all -= fcntl(fd, F_GETFD) == 0;
	expect_good(poll_endpoint(fake_http_url(web)));
	for (int fd = 3; fd < 1024; fd++)
		open_to_all += fcntl(fd, F_GETFD) == 0;
	cr_expect_eq(open_to_all, 0);
}

/*** Options ***/

static void expect_no_open(const char *const *settings, const char *text)
{
	cr_assert_null(lab_open(&cr_collector_1, "src", settings, err, sizeof err));
	cr_expect(strstr(err, text), "\"%s\" has no \"%s\"", err, text);
}

static void write_password(char *path, const char *text, mode_t mode)
{
	int fd;

	snprintf(path, 64, "/tmp/callrouter-password.XXXXXX");
	fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(fchmod(fd, mode), 0);
	close(fd);
}

Test(http, says_all_that_is_wrong_with_its_options)
{
	static const char *const settings[] = { "profile=jolokia",
						"user=a:b",
						"password_file=/nonexistent/password",
						"secret_header=Host",
						"ca_file=/nonexistent/ca.pem",
						"key_file=/nonexistent/key",
						NULL };

	expect_no_open(settings,
		       "user: \"a:b\" must not hold a colon\n"
		       "secret_header and secret_header_file: give both or none\n"
		       "ca_file /nonexistent/ca.pem: No such file or directory\n"
		       "key_file needs cert_file\n"
		       "key_file: /nonexistent/key cannot be opened: No such file or directory; "
		       "create it, with mode 640, or correct the path\n"
		       "password_file: /nonexistent/password cannot be opened: No such file or "
		       "directory; create it, with mode 640, or correct the path");
}

Test(http, sends_the_user_and_the_first_line_of_the_password_file)
{
	char path[64], file[96];
	const char *settings[] = { "profile=tomcat-status", "user=poller", file, NULL };

	write_password(path, "s3cret\nsecond line\n", 0640);
	snprintf(file, sizeof file, "password_file=%s", path);
	open_host(settings);
	unlink(path);
	expect_good(poll_endpoint(fake_http_url(web)));
	cr_expect(was_asked("Authorization: Basic cG9sbGVyOnMzY3JldA==\r\n"));
}

Test(http, refuses_settings_that_cannot_work)
{
	char path[64], file[96];
	const char *settings[] = { "profile=tomcat-status", "user=poller", file, NULL };
	const char *alone[] = { "profile=tomcat-status", file, NULL };
	const char *colon[] = { "profile=tomcat-status", "user=a:b", file, NULL };
	static const char *const user[] = { "profile=tomcat-status", "user=poller", NULL };
	static const char *const page[] = { "profile=jolokia", "path=status", NULL };
	static const char *const blank[] = { "profile=jolokia", "path=/a b", NULL };
	static const char *const ca[] = { "profile=jolokia", "ca_file=/nonexistent/ca.pem", NULL };
	static const char *const none[] = { NULL };
	static const char *const snmp[] = { "format=snmp-get", "fields={ busy_threads: .1.3.6.1 }",
					    NULL };

	snprintf(file, sizeof file, "password_file=/nonexistent/password");
	expect_no_open(settings,
		       "password_file: /nonexistent/password cannot be opened: No such file or "
		       "directory; create it, with mode 640, or correct the path");
	expect_no_open(alone, "user and password_file: give both or none");
	expect_no_open(user, "user and password_file: give both or none");
	expect_no_open(colon, "user: \"a:b\" must not hold a colon");
	expect_no_open(page, "path \"status\" has to begin with \"/\", at /path");
	expect_no_open(blank, "path: letter 3 cannot stand in a URL");
	expect_no_open(ca, "ca_file /nonexistent/ca.pem: No such file or directory");
	expect_no_open(none, "source");
	expect_no_open(snmp, "this source is read over SNMP; write plugin: snmp");
	snprintf(file, sizeof file, "password_file=/tmp");
	expect_no_open(settings, "password_file: /tmp is no regular file; name one");
	write_password(path, "s3cret", 0644);
	snprintf(file, sizeof file, "password_file=%s", path);
	expect_no_open(settings,
		       "has mode 644, so others than its owner and group can get at it; run "
		       "chmod 640 /tmp/callrouter-password.");
	unlink(path);
	write_password(path, "\n", 0600);
	snprintf(file, sizeof file, "password_file=%s", path);
	expect_no_open(settings, "has nothing in its first line; write the secret there");
	unlink(path);
}
