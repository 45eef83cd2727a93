/* test_source_captures.c - every answer that was captured, read by the profile for it, with the
 * figures that it holds. */
#include <errno.h>

#include "source_bench.h"

TestSuite(captures, .fini = bench_end);

struct figure {
	const char *metric;
	double value; /* NaN: there, but undefined or missing */
};

struct replay {
	const char *profile, *capture;
	struct figure figure[8];
};

/* One request, one server, and all is well. */
static const struct replay good[] = {
	{ "tomcat-status",
	  "tomcat10_status.xml",
	  { { "jvm_heap_free_bytes", 48429664 },
	    { "jvm_heap_size_bytes", 64880640 },
	    { "jvm_heap_max_bytes", 259522560 },
	    { "busy_threads", 1 },
	    { "max_threads", 20 },
	    { "requests_total", 1 },
	    { "request_errors_total", 0 } } },
	{ "tomcat-status-json",
	  "tomcat10_status.json",
	  { { "jvm_heap_free_bytes", 48429664 },
	    { "jvm_heap_size_bytes", 64880640 },
	    { "jvm_heap_max_bytes", 259522560 },
	    { "busy_threads", 1 },
	    { "max_threads", 20 },
	    { "requests_total", 2 },
	    { "request_errors_total", 0 } } },
	{ "tomcat-jmxproxy",
	  "tomcat10_jmxproxy_get.txt",
	  { { "jvm_heap_used_bytes", 22956848 },
	    { "jvm_heap_size_bytes", 259522560 },
	    { "jvm_heap_max_bytes", 259522560 } } },
	{ "jolokia",
	  "jolokia_like_g1.json",
	  { { "jvm_heap_used_bytes", 4116480 },
	    { "jvm_heap_size_bytes", 35651584 },
	    { "jvm_heap_max_bytes", 134217728 } } },
	{ "jolokia",
	  "jolokia_like_serial.json",
	  { { "jvm_heap_used_bytes", 5010984 },
	    { "jvm_heap_size_bytes", 32440320 },
	    { "jvm_heap_max_bytes", 129761280 } } },
	{ "jolokia",
	  "jolokia_like_ShenandoahGC.json",
	  { { "jvm_heap_used_bytes", 5505024 },
	    { "jvm_heap_size_bytes", 33554432 },
	    { "jvm_heap_max_bytes", 134217728 } } },
	/* the second read of the bulk failed: what it would have brought is optional */
	{ "jolokia-bulk",
	  "jolokia_like_bulk.json",
	  { { "jvm_heap_used_bytes", 6091160 },
	    { "jvm_heap_size_bytes", 32440320 },
	    { "jvm_heap_max_bytes", 129761280 },
	    { "jvm_heap_used_after_gc_bytes", NAN } } },
	/* two of three pools say -1: one that may take the whole heap counts, and no sum */
	{ "micrometer",
	  "micrometer_like_g1.prom",
	  { { "jvm_heap_used_bytes", 5165056 },
	    { "jvm_heap_size_bytes", 35651584 },
	    { "jvm_heap_max_bytes", 134217728 } } },
	{ "micrometer",
	  "micrometer_like_serial.prom",
	  { { "jvm_heap_used_bytes", 5904696 },
	    { "jvm_heap_size_bytes", 32440320 },
	    { "jvm_heap_max_bytes", 129761280 } } },
	{ "micrometer",
	  "micrometer_like_ShenandoahGC.prom",
	  { { "jvm_heap_used_bytes", 5242880 },
	    { "jvm_heap_size_bytes", 33554432 },
	    { "jvm_heap_max_bytes", 134217728 } } },
	{ "simpleclient",
	  "simpleclient_like_g1.prom",
	  { { "jvm_heap_used_bytes", 5165056 },
	    { "jvm_heap_size_bytes", 35651584 },
	    { "jvm_heap_max_bytes", 134217728 } } },
	{ "node-exporter", "node_exporter.prom", { { "host_memory_free_bytes", 24284934144 } } },
};

static void expect_figures(const struct replay *replay, const char *row)
{
	for (const struct figure *f = replay->figure; f->metric != NULL; f++) {
		const double value = bench_value(row, f->metric);

		cr_expect(isnan(f->value) ? isnan(value) : value == f->value, "%s: %s is %.15g",
			  replay->capture, f->metric, value);
	}
}

Test(captures, have_the_figures_of_one_server)
{
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		bench_begin(good[i].profile, NULL);
		cr_expect_eq(bench_replay("ms1", 1, &good[i].capture), 0, "%s: %s", good[i].capture,
			     bench_sample->text);
		cr_expect_eq(bench_sample->n_rows, 1);
		cr_expect_eq(bench_sample->n_notes, 0, "%s",
			     bench_sample->n_notes > 0 ? bench_sample->note[0].text : "");
		expect_figures(&good[i], "");
	}
}

Test(captures, are_read_with_the_status_and_type_that_came_with_them)
{
	static const struct {
		const char *capture, *type;
		long status;
	} cases[] = {
		{ "tomcat10_status.xml", "text/xml;charset=utf-8", 200 },
		{ "tomcat10_status.json", "application/json;charset=utf-8", 200 },
		{ "tomcat10_jmxproxy_get.txt", "text/plain;charset=utf-8", 200 },
		{ "tomcat10_jmxproxy_error.txt", "text/plain;charset=utf-8", 200 },
		{ "tomcat_401.html", "text/html;charset=UTF-8", 401 },
		{ "jolokia_like_error.json", "", 200 },
		{ "prom_empty.json", "application/json", 200 },
		{ "prom_error_400.json", "", 400 },
		{ "prom_free.json", "application/json", 200 },
		{ "prom_inf.json", "application/json", 200 },
		{ "prom_max_filtered.json", "application/json", 200 },
		{ "prom_multi.json", "application/json", 200 },
		{ "prom_nan.json", "application/json", 200 },
		{ "prom_scalar.json", "application/json", 400 },
		{ "prom_sci.json", "application/json", 200 },
		{ "prom_up.json", "application/json", 200 },
		{ "prom_vector.json", "application/json", 200 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bench_capture capture;

		bench_load(&capture, cases[i].capture);
		cr_expect_eq(capture.status, cases[i].status, "%s", cases[i].capture);
		cr_expect_str_eq(capture.type, cases[i].type, "%s", cases[i].capture);
		free(capture.bytes);
	}
}

/* A login page with status 200: its type tells. A text may be HTML: there "ok" tells. */
Test(captures, of_pages_for_people_are_no_success_with_status_200_either)
{
	static const struct {
		const char *profile, *text;
	} cases[] = {
		{ "tomcat-status", "HTML" },
		{ "tomcat-status-json", "HTML" },
		{ "micrometer", "HTML" },
		{ "jolokia", "HTML" },
		{ "weblogic-rest", "HTML" },
		{ "prometheus-query", "HTML" },
		{ "tomcat-jmxproxy", "not a good answer: no ^OK" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bench_capture capture;
		struct source_answer answer;

		bench_begin(cases[i].profile, NULL);
		bench_load(&capture, "tomcat_401.html");
		answer = (struct source_answer){ .bytes = capture.bytes,
						 .len = capture.len,
						 .status = 200,
						 .content_type = capture.type };
		source_extract(bench_sample, 0, &answer);
		EXPECT_FAILED(source_end(bench_sample, "ms1"), CR_REPLY, cases[i].text);
		cr_expect_eq(bench_sample->n_found, 0);
		free(capture.bytes);
	}
}

Test(captures, hold_what_an_exporter_says_when_openmetrics_was_asked_for)
{
	static const char *const node[] = { "node_exporter_asked_openmetrics_got_text.prom" };
	static const char *const self[] = { "prometheus_self_asked_openmetrics_got_text.prom" };

	bench_begin("node-exporter", NULL);
	cr_expect_eq(bench_replay("ms1", 1, node), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "host_memory_free_bytes"), 24284831744);
	bench_begin(NULL, "{ format: prometheus, path: /metrics, fields: { busy_threads: "
			  "go_goroutines, sessions: { reduce: count, "
			  "select: 'prometheus_http_requests_total{code!~\"5..\"}' } } }");
	cr_expect_eq(bench_replay("ms1", 1, self), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "busy_threads"), 37);
	cr_expect_eq(bench_value("", "sessions"), 4);
}

Test(captures, of_actuator_make_one_sample_of_two_requests)
{
	static const char *const used_twice[] = { "actuator_like_used_g1.json",
						  "actuator_like_used_g1.json" };
	static const char *const sum_of_minus_one[] = { "actuator_like_max_g1.json" };

	bench_begin("actuator", NULL);
	cr_expect_str_eq(bench_source->request[0].path,
			 "/actuator/metrics/jvm.memory.used?tag=area%3Aheap");
	cr_expect_eq(bench_replay("ms1", 2, used_twice), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 5165056);
	cr_expect_eq(bench_value("", "jvm_heap_size_bytes"), 5165056);

	/* What Actuator calls the maximum is two bytes too small with G1, and nobody can tell: that
	 * is why the profile does not ask for it. E-notation is no trouble. */
	bench_begin(NULL, "{ format: json, fields: { jvm_heap_max_bytes: "
			  "'/measurements/[statistic=VALUE]/value' } }");
	cr_expect_eq(bench_replay("ms1", 1, sum_of_minus_one), 0);
	cr_expect_eq(bench_value("", "jvm_heap_max_bytes"), 134217726);
}

Test(captures, of_jmxproxy_come_in_three_forms)
{
	static const char *const key[] = { "tomcat10_jmxproxy_get_key.txt" };
	static const char *const query[] = { "tomcat10_jmxproxy_qry.txt" };

	bench_begin(NULL,
		    "{ format: text, ok: '^OK', fields: { jvm_heap_used_bytes: ' = ([0-9]+)$' } }");
	cr_expect_eq(bench_replay("ms1", 1, key), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 23382784);
	bench_begin(NULL, "{ format: text, ok: '^OK', fields: { jvm_heap_used_bytes: "
			  "'^HeapMemoryUsage: .*[ {]used=([0-9]+)', jvm_heap_max_bytes: "
			  "{ select: '^NonHeapMemoryUsage: .*[ {]max=(-?[0-9]+)', undefined: "
			  "negative } } }");
	cr_expect_eq(bench_replay("ms1", 1, query), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 23382784);
	cr_expect_eq(bench_state("", "jvm_heap_max_bytes"), SOURCE_UNDEFINED);
}

Test(captures, of_a_domain_have_a_row_for_each_server_but_skip_the_administration_server)
{
	static const char *const capture[] = { "weblogic_rest_like.json" };

	bench_begin("weblogic-rest", NULL);
	cr_expect_eq(bench_source->scope, SOURCE_GROUP);
	cr_expect_eq(bench_replay(NULL, 1, capture), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_sample->n_rows, 2);
	cr_expect(bench_row("AdminServer")->is_skipped);
	cr_expect_str_eq(bench_row("AdminServer")->why, "/adminServer is true");
	cr_expect_not(bench_row("ms1")->is_skipped);
	cr_expect_eq(bench_value("ms1", "jvm_heap_free_bytes"), 26349160);
	cr_expect_eq(bench_value("ms1", "jvm_heap_size_bytes"), 32440320);
	cr_expect_eq(bench_value("ms1", "jvm_heap_max_bytes"), 129761280);
	cr_expect_float_eq(bench_value("ms1", "jvm_heap_free_ratio"), 0.95, 1e-12);
	cr_expect_eq(bench_sample->n_found, 4);
}

static const char one_query[] = "{ format: promql, key: server, fields: { jvm_heap_free_bytes: "
				"value }, sample_time: time }";
static const char no_key[] = "{ format: promql, fields: { jvm_heap_free_bytes: value } }";

static int replay_query(const char *description, const char *server, const char *capture)
{
	bench_begin(NULL, description);
	return bench_replay(server, 1, &capture);
}

Test(captures, of_prometheus_have_a_row_for_each_series)
{
	cr_expect_eq(replay_query(one_query, NULL, "prom_free.json"), 0, "%s", bench_sample->text);
	cr_expect_eq(bench_value("ms1", "jvm_heap_free_bytes"), 62761048);
	cr_expect_eq(bench_value("ms2", "jvm_heap_free_bytes"), 30486528);
	cr_expect_eq(bench_row("ms1")->taken_ns / 1000000, 1795977803686);
	cr_expect_eq(replay_query(one_query, NULL, "prom_max_filtered.json"), 0);
	cr_expect_eq(bench_value("ms1", "jvm_heap_free_bytes"), 129761280);
	cr_expect_eq(bench_value("ms2", "jvm_heap_free_bytes"), 134217728);
	cr_expect_eq(replay_query(one_query, "ms2", "prom_vector.json"), 0);
	cr_expect_eq(bench_value("", "jvm_heap_free_bytes"), 5165056);
	cr_expect_eq(replay_query(one_query, "ms7", "prom_vector.json"), -EPROTO);
	EXPECT_FAILED(-1, CR_ABSENT, "no row of this server in the answer");
}

Test(captures, of_prometheus_with_a_nameless_series_say_so)
{
	cr_expect_eq(replay_query("{ format: promql, key: server, fields: { running: value } }",
				  NULL, "prom_up.json"),
		     0);
	cr_expect_eq(bench_sample->n_rows, 3);
	cr_expect_eq(bench_value("ms9", "running"), 0);
	cr_expect(bench_has_note("", "row 4 has no label server"));
}

Test(captures, of_several_series_of_one_server_are_no_single_value)
{
	cr_expect_lt(replay_query(no_key, "ms1", "prom_multi.json"), 0);
	EXPECT_FAILED(-1, CR_VALUE, "jvm_heap_free_bytes: many: 6 at value: several values match");
	cr_expect_eq(replay_query("{ format: promql, fields: { jvm_heap_used_bytes: { select: "
				  "value, reduce: sum } } }",
				  "ms1", "prom_multi.json"),
		     0);
	cr_expect_eq(bench_value("", "jvm_heap_used_bytes"), 10528680);
}

Test(captures, of_what_cannot_be_true_fail_with_a_word)
{
	static const struct {
		const char *capture;
		enum cr_why why;
		const char *text;
	} bad[] = {
		{ "prom_nan.json", CR_VALUE, "jvm_heap_free_bytes: nan: NaN: " },
		{ "prom_inf.json", CR_VALUE, "jvm_heap_free_bytes: infinite: +Inf: " },
		{ "prom_sci.json", CR_VALUE,
		  "jvm_heap_free_bytes: too_large: 134217728000000000000: " },
		{ "prom_empty.json", CR_ABSENT, "the query has no result" },
		{ "prom_error_400.json", CR_REPLY,
		  "Prometheus says bad_data: invalid parameter \"query\": 1:7: parse error" },
		{ "prom_scalar.json", CR_REPLY,
		  "Prometheus says bad_data: invalid parameter \"query\": 1:8: parse error" },
		{ "prom_timeout.json", CR_REPLY, "Prometheus says bad_data: invalid parameter" },
		{ "prom_range.json", CR_REPLY, "the query's result is a \"matrix\"" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const int rc = replay_query(no_key, "ms1", bad[i].capture);

		EXPECT_FAILED(rc, bad[i].why, bad[i].text);
		cr_expect_eq(bench_sample->n_found, 0, "%s", bad[i].capture);
	}
}

Test(captures, of_errors_with_status_200_fail)
{
	static const char *const jolokia[] = { "jolokia_like_error.json" };
	static const char *const proxy[] = { "tomcat10_jmxproxy_error.txt" };
	static const char *const login[] = { "tomcat_401.html" };

	bench_begin("jolokia", NULL);
	EXPECT_FAILED(bench_replay("ms1", 1, jolokia), CR_REPLY,
		      "/status is \"404\", not \"200\": "
		      "javax.management.InstanceNotFoundException : no.such:type=X");
	bench_begin("tomcat-jmxproxy", NULL);
	EXPECT_FAILED(bench_replay("ms1", 1, proxy), CR_REPLY,
		      "no ^OK - : javax.management.InstanceNotFoundException: java.lang:type=Nope");
	bench_begin("tomcat-status", NULL);
	EXPECT_FAILED(bench_replay("ms1", 1, login), CR_AUTH,
		      "HTTP status 401: check user and password_file; the role manager-status is "
		      "needed");
}
