/* test_http_requests.c - what the collector "http" sends for a source with several requests, bodies
 * and headers, and what it puts for answers about many servers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <criterion/criterion.h>

#include "http_scene.h"

#define MEASURED(value) "{\"measurements\":[{\"statistic\":\"VALUE\",\"value\":" value "}]}"

static const char *const actuator[] = { "profile=actuator", NULL };
static const char *const weblogic[] = { "profile=weblogic-rest", NULL };

static void begin(void)
{
	open_web();
	fake_http_page(web, "404 Not Found", "", "");
}

TestSuite(http_requests, .init = begin, .fini = close_all, .timeout = 60);

static double value(const char *row, const char *metric)
{
	return collector_host_value(host, row ? "all" : "ms1", row, metric);
}

Test(http_requests, of_one_source_go_over_one_connection_and_make_one_sample)
{
	int target;

	fake_http_when(web, "GET /b/actuator/metrics/jvm.memory.used?tag=area%3", "200 OK", "",
		       MEASURED("5"));
	fake_http_when(web, "GET /b/actuator/metrics/jvm.memory.committed?tag=area%3", "200 OK", "",
		       MEASURED("7.0E0"));
	open_host(actuator);
	snprintf(err, sizeof err, "%s/b/", fake_http_url(web));
	target = collector_host_add(host, "ms1", err, false);
	for (int i = 0; i < 3; i++)
		expect_good(poll_once(target));
	cr_expect_eq(value(NULL, "jvm_heap_used_bytes"), 5);
	cr_expect_eq(value(NULL, "jvm_heap_size_bytes"), 7);
	cr_expect_eq(fake_http_requests(web), 6);
	cr_expect_eq(fake_http_connections(web), 1);
}

Test(http_requests, that_fail_in_part_leave_the_other_values)
{
	int target;

	fake_http_when(web, "jvm.memory.committed", "200 OK", "", MEASURED("7"));
	open_host(actuator);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	expect_failed(
		poll_once(target), CR_REPLY,
		"partial: 1 of 2 requests failed; used: HTTP status 404 for http://127.0.0.1:");
	cr_expect_eq(value(NULL, "jvm_heap_size_bytes"), 7);
	cr_expect(isnan(value(NULL, "jvm_heap_used_bytes")));
}

Test(http_requests, stop_at_a_refused_password)
{
	int target;

	fake_http_when(web, "jvm.memory.used", "401 Unauthorized",
		       "WWW-Authenticate: Basic realm=\"x\"\r\n", "");
	open_host(actuator);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	expect_failed(poll_once(target), CR_AUTH, "2 of 2 requests failed; used: HTTP status 401");
	cr_expect_eq(fake_http_requests(web), 1);
}

Test(http_requests, share_one_deadline)
{
	int target;

	fake_http_when(web, "jvm.memory.used", "200 OK", "", MEASURED("5"));
	fake_http_set(web, FAKE_SILENT, "", 0);
	open_host(actuator);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	cr_assert_eq(collector_host_poll(host, 300 * CH_MS, 20000 * CH_MS), 0);
	expect_failed(
		collector_host_last(host, target), CR_TIMEOUT,
		"partial: 1 of 2 requests failed; committed: connected, but no answer within");
	cr_expect_lt(collector_host_last(host, target)->took_ns, 1500 * CH_MS);
	cr_expect_eq(value(NULL, "jvm_heap_used_bytes"), 5);
}

Test(http_requests, carry_bodies_and_headers_with_the_servers_name)
{
	static const char *const settings[] = {
		"format=json",
		"path=/s/${name}",
		"query={ q: '${name} &' }",
		"body='{\"s\":\"${name}\"}'",
		"headers={ X-Server: 'is ${name}', Content-Type: application/x }",
		"fields={ busy_threads: /n }",
		NULL
	};
	int target;

	/* libcurl writes the digits of %2F in small letters. */
	fake_http_when(web, "POST /s/ms%2f1?q=ms%2f1%20%26 HTTP/1.1\r\n", "200 OK", "",
		       "{\"n\":3}");
	open_host(settings);
	target = collector_host_add(host, "ms/1", fake_http_url(web), false);
	expect_good(poll_once(target));
	cr_expect(was_asked("\r\n\r\n{\"s\":\"ms/1\"}"));
	cr_expect(was_asked("X-Server: is ms/1\r\n"));
	cr_expect(was_asked("Content-Type: application/x\r\n"));
	cr_expect(was_asked("Content-Length: 12\r\n"));
	cr_expect(was_asked("Accept: application/json\r\n"));
	expect_good(poll_once(target));
	cr_expect_eq(fake_http_connections(web), 1);
}

#define SERVER(name, state, free)                                                                  \
	"{\"name\":\"" name "\",\"state\":\"" state "\",\"JVMRuntime\":{\"heapFreeCurrent\":" free \
	",\"heapSizeCurrent\":9,\"heapSizeMax\":-1}}"

Test(http_requests, carry_the_variables_of_their_server)
{
	static const char *const settings[] = { "format=json",
						"path=/${rack}",
						"query={ q: '${host} &', '${rack}': x }",
						"body='{\"r\":\"${rack}\"}'",
						"headers={ X-Rack: '${rack}' }",
						"fields={ busy_threads: /n }",
						NULL };
	static const struct cr_var first[] = { { "rack", "a\"/&" }, { "host", "h1" } },
				   second[] = { { "rack", "b" }, { "host", "h2" } };
	int target;

	fake_http_when(web, "POST /a%22%2f%26?q=h1%20%26&a%22%2f%26=x HTTP/1.1\r\n", "200 OK", "",
		       "{\"n\":3}");
	fake_http_when(web, "POST /b?q=h2%20%26&b=x HTTP/1.1\r\n", "200 OK", "", "{\"n\":4}");
	open_host(settings);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	collector_host_vars(host, target, first, 2);
	expect_good(poll_once(target));
	cr_expect(was_asked("\r\n\r\n{\"r\":\"a\\\"/&\"}"));
	cr_expect(was_asked("X-Rack: a\"/&\r\n"));
	target = collector_host_add(host, "ms2", fake_http_url(web), false);
	collector_host_vars(host, target, second, 2);
	expect_good(poll_once(target));
	cr_expect_eq(collector_host_value(host, "ms1", NULL, "busy_threads"), 3);
	cr_expect_eq(collector_host_value(host, "ms2", NULL, "busy_threads"), 4);
}

/* callrouterd has refused such a configuration; but another host may not. */
Test(http_requests, are_not_sent_without_a_variable_that_they_name)
{
	static const char *const path[] = { "format=json", "path=/${rack}",
					    "fields={ busy_threads: /n }", NULL };

	open_host(path);
	expect_failed(poll_once(collector_host_add(host, "ms1", fake_http_url(web), false)),
		      CR_CONNECT, "path or query names a variable that this server does not have");
	cr_expect_eq(fake_http_requests(web), 0);
}

Test(http_requests, about_a_domain_put_a_row_for_each_server)
{
	size_t n;
	int target;

	fake_http_when(web, "X-Requested-By: callrouter\r\n", "200 OK", "",
		       "{\"serverRuntimes\":{\"items\":[" SERVER("ms1", "RUNNING", "5") "," SERVER(
			       "ms2", "ADMIN",
			       "9") "," SERVER("ms3", "RUNNING",
					       "-4") ",{\"name\":\"ms4\",\"state\":\"RUNNING\","
						     "\"JVMRuntime\":null},"
						     "{\"name\":\"adm\",\"state\":\"RUNNING\","
						     "\"adminServer\":true}]}}");
	open_host(weblogic);
	target = collector_host_add(host, "all", fake_http_url(web), true);
	expect_good(poll_once(target));
	cr_expect(was_asked("POST /management/weblogic/latest/domainRuntime/search HTTP/1.1\r\n"));
	cr_expect_eq(value("ms1", "jvm_heap_free_bytes"), 5);
	cr_expect_eq(value("ms1", "jvm_heap_size_bytes"), 9);
	cr_expect_eq(value("ms3", "jvm_heap_size_bytes"), 9);
	collector_host_values(host, &n);
	cr_expect_eq(n, 4, "ms3's free is put as NaN, to be counted: %zu", n);
	cr_expect(isnan(value("ms3", "jvm_heap_free_bytes")));
	cr_expect_eq(collector_host_last(host, target)->skips, 1);
	cr_expect_str_eq(collector_host_last(host, target)->skip_row, "adm");
	cr_expect_str_eq(collector_host_last(host, target)->skip_text, "/adminServer is true");
	cr_expect_eq(collector_host_last(host, target)->absents, 1);
	cr_expect_str_eq(collector_host_last(host, target)->absent_row, "ms2");
	cr_expect_str_eq(collector_host_last(host, target)->absent_text,
			 "it is ADMIN, not RUNNING (/state)");
}

Test(http_requests, about_a_domain_serve_a_target_of_one_server_too)
{
	int ms1, ms3;

	fake_http_when(web, "POST ", "200 OK", "",
		       "{\"serverRuntimes\":{\"items\":[" SERVER("ms1", "RUNNING", "5") "]}}");
	open_host(weblogic);
	ms1 = collector_host_add(host, "ms1", fake_http_url(web), false);
	ms3 = collector_host_add(host, "ms3", fake_http_url(web), false);
	expect_good(poll_once(ms1));
	cr_expect_eq(value(NULL, "jvm_heap_free_bytes"), 5);
	expect_failed(collector_host_last(host, ms3), CR_ABSENT,
		      "no row of this server in the answer; is this the administration server");
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t taken_ns(const char *row)
{
	size_t n;
	const struct collector_value *values = collector_host_values(host, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(values[i].row, row) == 0)
			return values[i].taken_ns;
	return -1;
}

Test(http_requests, to_prometheus_say_how_old_its_values_are)
{
	static const char *const settings[] = { "profile=prometheus-query", NULL };
	static const char vector[] =
		"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
		"{\"metric\":{\"server\":\"ms1\"},\"value\":[1.5,\"%.3f\"]},"
		"{\"metric\":{\"server\":\"ms2\"},\"value\":[1.5,\"%.3f\"]}]}}";
	const double now = (double)now_ns(CLOCK_REALTIME) / 1e9;
	char bytes[512], times[512];
	int64_t age;

	snprintf(bytes, sizeof bytes, vector, 11.0, 12.0);
	snprintf(times, sizeof times, vector, now - 30, now + 60);
	fake_http_when(web, "timestamp", "200 OK", "", times);
	fake_http_when(web, "query=sum%20by%20%28server%29", "200 OK", "", bytes);
	open_host(settings);
	expect_good(poll_once(collector_host_add(host, "all", fake_http_url(web), true)));
	cr_expect_eq(value("ms1", "jvm_heap_used_bytes"), 11);
	age = now_ns(CLOCK_MONOTONIC) - taken_ns("ms1");
	cr_expect(age > 29000 * CH_MS && age < 40000 * CH_MS, "%lld", (long long)age);
	age = taken_ns("ms2") - now_ns(CLOCK_MONOTONIC);
	cr_expect(age <= 60000 * CH_MS && age > 0, "a clock ahead of ours: %lld", (long long)age);
}

Test(http_requests, tell_the_log_once_when_values_go_bad_and_once_when_they_are_good)
{
	static const char *const settings[] = { "profile=jolokia", NULL };
	int target;

	fake_http_page(
		web, "200 OK", "",
		"{\"status\":200,\"value\":{\"used\":3,\"committed\":5,\"max\":4294967295}}");
	open_host(settings);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	expect_good(poll_once(target));
	fake_http_page(
		web, "200 OK", "",
		"{\"status\":200,\"value\":{\"used\":3,\"committed\":5,\"max\":2147483647}}");
	expect_good(poll_once(target));
	cr_expect_null(collector_host_logged(host, "2147483647"));
	cr_expect(collector_host_logged(host, "values left out target=ms1 row=- "
					      "text=\"jvm_heap_max_bytes: wrapped: 4294967295: "));
	cr_expect_null(collector_host_logged(host, "all values are good again"));
	fake_http_page(web, "200 OK", "",
		       "{\"status\":200,\"value\":{\"used\":3,\"committed\":5,\"max\":7}}");
	expect_good(poll_once(target));
	cr_expect(collector_host_logged(host, "all values are good again target=ms1"));
}

static void expect_rejected(size_t i, const char *metric, const char *word, const char *text)
{
	size_t n;
	const struct collector_value *values = collector_host_values(host, &n);

	cr_assert_lt(i, n);
	cr_expect_str_eq(values[i].metric, metric);
	cr_expect_str_eq(values[i].reject, word);
	cr_expect(strncmp(values[i].text, text, strlen(text)) == 0, "%s", values[i].text);
	cr_expect(isnan(values[i].value));
}

Test(http_requests, say_of_each_value_that_cannot_be_true_why)
{
	static const char *const settings[] = { "profile=jolokia", NULL };
	size_t n;
	int target;

	open_host(settings);
	target = collector_host_add(host, "ms1", fake_http_url(web), false);
	fake_http_page(
		web, "200 OK", "",
		"{\"status\":200,\"value\":{\"used\":3,\"committed\":5,\"max\":4294967295}}");
	expect_good(poll_once(target));
	collector_host_values(host, &n);
	cr_expect_eq(n, 3);
	expect_rejected(2, "jvm_heap_max_bytes", "wrapped", "4294967295: this is the limit");

	/* Nothing can be used, and still it is told. */
	fake_http_page(web, "200 OK", "",
		       "{\"status\":200,\"value\":{\"used\":\"NaN\",\"committed\":1e300,"
		       "\"max\":\"much\"}}");
	expect_failed(poll_once(target), CR_VALUE, "jvm_heap_used_bytes: nan: NaN: ");
	collector_host_values(host, &n);
	cr_expect_eq(n, 3);
	expect_rejected(0, "jvm_heap_used_bytes", "nan", "NaN: the server says");
	expect_rejected(1, "jvm_heap_size_bytes", "too_large",
			"1.0000000000000001e+300: 2^53 or more");
	expect_rejected(2, "jvm_heap_max_bytes", "not_a_number", "much: this is no number");
}

Test(http_requests, say_of_each_row_of_a_domain_why_a_value_cannot_be_true)
{
	static const char body[] =
		"{\"serverRuntimes\":{\"items\":["
		"{\"name\":\"ms1\",\"state\":\"RUNNING\",\"JVMRuntime\":{\"heapFreeCurrent\":-5,"
		"\"heapSizeCurrent\":9,\"heapFreePercent\":101}},"
		"{\"name\":\"ms2\",\"state\":\"RUNNING\",\"JVMRuntime\":{\"heapFreeCurrent\":4,"
		"\"heapSizeCurrent\":9}}]}}";
	const struct collector_value *values;
	size_t n, n_rejected = 0;

	open_host(weblogic);
	fake_http_page(web, "200 OK", "", body);
	expect_good(poll_once(collector_host_add(host, "all", fake_http_url(web), true)));
	values = collector_host_values(host, &n);
	for (size_t i = 0; i < n; i++)
		if (values[i].reject[0] != '\0') {
			n_rejected++;
			cr_expect_str_eq(values[i].row, "ms1");
		}
	cr_expect_eq(n_rejected, 2);
	expect_rejected(0, "jvm_heap_free_bytes", "negative", "-5: if the server means");
	expect_rejected(2, "jvm_heap_free_ratio", "above_one", "1.01: more than all");
	cr_expect_eq(value("ms2", "jvm_heap_free_bytes"), 4);
}

/* Handles are shared by targets that are polled one after the other. */
Test(http_requests, asks_each_target_for_its_own_page_with_a_handle_that_served_another)
{
	static const char *const settings[] = { "profile=jolokia", "max_inflight=1", NULL };
	struct fake_http *other = fake_http_new();
	char head[8192], expected[64];
	int first, second;

	cr_assert(other);
	fake_http_page(other, "404 Not Found", "", "");
	open_host(settings);
	first = collector_host_add(host, "ms1", fake_http_url(web), false);
	second = collector_host_add(host, "ms2", fake_http_url(other), false);
	for (size_t round = 1; round <= 2; round++) {
		cr_assert_eq(collector_host_poll(host, 5000 * CH_MS, 20000 * CH_MS), 0);
		expect_failed(collector_host_last(host, first), CR_REPLY, "404");
		expect_failed(collector_host_last(host, second), CR_REPLY, "404");
		cr_expect_eq(fake_http_requests(web), round);
		cr_expect_eq(fake_http_requests(other), round);
	}
	snprintf(expected, sizeof expected, "Host: %s\r\n", fake_http_url(web) + strlen("http://"));
	cr_expect(was_asked(expected));
	snprintf(expected, sizeof expected, "Host: %s\r\n",
		 fake_http_url(other) + strlen("http://"));
	cr_expect(strstr(fake_http_request(other, head, sizeof head), expected));
	cr_expect_eq(fake_http_connections(web), 1);
	fake_http_free(other);
}
