/* test_report_lists.c - the documents for servers, sources, plugins and processes. */
#include "health.h"
#include "report_fixture.h"

TestSuite(report_lists, .init = set_up, .fini = tear_down, .timeout = 30);

/*** Servers and sources ***/

Test(report_lists, shows_every_server_with_its_polls_and_figures)
{
	const int metric = servers_metric(source.servers, "busy_threads");
	json_t *document;

	cr_assert_eq(servers_put(source.servers, "ms1", metric, 25, NOW_NS - CLOCK_S), 0);
	cr_assert_eq(servers_put_from(source.servers, "wls", "ms1", metric, -1, NOW_NS), -EINVAL);
	servers_polled(source.servers, "wls", "ms1", NULL);
	servers_polled(source.servers, "wls", "ms1", "wls: timeout: no answer in 500 ms");
	servers_skip(source.servers, "ms2", "it says that it is AdminServer");
	line_of(MS1)->live.inflight = 4;
	line_of(MS1)->calls = 100;
	line_of(MS1)->failures = 2;
	document = report_servers(report, &source);
	cr_assert_not_null(document);
	cr_expect_str_eq(
		text_of(json_incref(json_array_get(json_object_get(document, "servers"), 0))),
		"{\"server\":\"admin\",\"address\":\"10.0.0.10:7001\",\"role\":\"admin\",\"state\":"
		"\"admin\",\"weight\":1,\"weight_set\":false,\"drained\":false,\"skipped\":null,"
		"\"inflight\":0,\"calls\":0,\"failures\":0,\"polls\":0,\"poll_failures\":0,"
		"\"error\":"
		"null,\"failing\":[],\"metrics\":{},\"absent\":[],\"inconsistent\":[],\"rejected\":"
		"{},"
		"\"rejected_by\":[],"
		"\"check\":null,\"state_for_s\":null,\"failures_in_row\":0,\"slow_start\":null}");
	cr_expect_str_eq(
		text_of(json_incref(json_array_get(json_object_get(document, "servers"), 1))),
		"{\"server\":\"ms1\",\"address\":\"10.0.0.11:7101\",\"role\":\"managed\",\"state\":"
		"\"up\",\"weight\":5,\"weight_set\":false,\"drained\":false,\"skipped\":null,"
		"\"inflight\":4,\"calls\":100,\"failures\":2,\"polls\":2,\"poll_failures\":1,"
		"\"error\":"
		"\"wls: timeout: no answer in 500 ms\",\"failing\":[{\"source\":\"wls\",\"error\":"
		"\"wls: timeout: no answer in 500 "
		"ms\",\"for_s\":0}],\"metrics\":{\"busy_threads\":{\"value\":25,"
		"\"age_s\":1,\"fresh\":true}},\"absent\":[],\"inconsistent\":[],"
		"\"rejected\":{\"negative\":1},\"rejected_by\":[{\"source\":\"wls\",\"counts\":{"
		"\"negative\":1},\"text\":\"busy_threads: -1 is negative\",\"age_s\":0}],"
		"\"check\":null,\"state_for_s\":null,\"failures_in_row\":0,\"slow_start\":null}");
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(
			json_array_get(json_object_get(document, "servers"), 2), "skipped"))),
		"\"it says that it is AdminServer\"");
	json_decref(document);
}

/* Members of a server's document: its state and health. */
static const char *health_of(size_t server)
{
	json_t *document = report_servers(report, &source);
	const json_t *entry = json_array_get(json_object_get(document, "servers"), server);
	static const char *const members[] = { "state", "state_for_s", "failures_in_row",
					       "slow_start", "check" };
	static char text[1024];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
					 text_of(json_incref(json_object_get(entry, members[i]))));
	json_decref(document);
	return text;
}

Test(report_lists, shows_what_keeps_a_server_from_calls_and_for_how_long)
{
	struct counters_line *line = line_of(MS1);

	config_service[1].health.slow_start_ns = 10 * CLOCK_S;
	cr_expect_str_eq(health_of(1), "\"up\" null 0 null null");
	line->consecutive = 4;
	cr_expect_str_eq(health_of(1), "\"up\" null 4 null null");
	line->shut = health_word(HEALTH_ASIDE, NOW_NS + 2 * CLOCK_S);
	cr_expect_str_eq(health_of(1), "\"aside\" 2 4 null null");
	line->shut = health_word(HEALTH_EJECTED, NOW_NS + 90 * CLOCK_S);
	line->consecutive = 10;
	cr_expect_str_eq(health_of(1), "\"ejected\" 90 10 null null");
	line->shut = health_word(HEALTH_TRIAL, NOW_NS + 30 * CLOCK_S);
	cr_expect_str_eq(health_of(1), "\"trial\" null 10 null null");
	line->down_until_ns = NOW_NS + CLOCK_S;
	cr_expect_str_eq(health_of(1), "\"down\" null 10 null null");
	line->shut = 0;
	line->down_until_ns = 0;
	line->consecutive = 0;
	line->live.up_since_ns = NOW_NS - 5 * CLOCK_S;
	cr_expect_str_eq(health_of(1), "\"up\" null 0 0.55 null");
	line->live.up_since_ns = NOW_NS - 11 * CLOCK_S;
	cr_expect_str_eq(health_of(1), "\"up\" null 0 null null");
	config_service[1].health.slow_start_ns = 0;
}

Test(report_lists, a_server_that_can_never_be_out_is_not_called_down)
{
	/* failures: 0, and it fails all the time */
	line_of(MS3)->failures = 1000;
	line_of(MS3)->consecutive = 1000;
	cr_expect_str_eq(health_of(3), "\"up\" null 1000 null null");
}

Test(report_lists, a_drained_server_is_called_drained_whatever_else_it_is)
{
	line_of(MS2)->shut = health_word(HEALTH_EJECTED, NOW_NS + 90 * CLOCK_S);
	cr_assert_eq(servers_drain(source.servers, "ms2", true, &err), 0);
	cr_expect_str_eq(health_of(2), "\"drained\" 90 0 null null");
}

Test(report_lists, shows_what_the_check_of_a_server_says)
{
	source.checks = (const struct checks *)checked;
	checked[image_server_at(MS2)->line] = (struct check_report){
		.what = "tcp 10.0.0.12:7101",
		.is_down = true,
		.bad = 3,
		.runs = 7,
		.error = "connect: Connection refused",
	};
	cr_expect_str_eq(health_of(1), "\"up\" null 0 null null");
	cr_expect_str_eq(health_of(2),
			 "\"up\" null 0 null {\"what\":\"tcp 10.0.0.12:7101\",\"down\":true,"
			 "\"passed_in_row\":0,\"failed_in_row\":3,\"runs\":7,\"error\":\"connect: "
			 "Connection refused\"}");
}

Test(report_lists, calls_a_value_stale_by_the_strictest_service_of_its_server)
{
	const int metric = servers_metric(source.servers, "busy_threads");
	json_t *document, *servers;

	/* ms1 is in shop too, which allows 5 s; ms3 is in orders only, which allows 10 s. */
	cr_assert_eq(servers_put(source.servers, "ms1", metric, 1, NOW_NS - 6 * CLOCK_S), 0);
	cr_assert_eq(servers_put(source.servers, "ms3", metric, 1, NOW_NS - 6 * CLOCK_S), 0);
	document = report_servers(report, &source);
	servers = json_object_get(document, "servers");
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(json_array_get(servers, 1), "metrics"))),
		"{\"busy_threads\":{\"value\":1,\"age_s\":6,\"fresh\":false}}");
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(json_array_get(servers, 3), "metrics"))),
		"{\"busy_threads\":{\"value\":1,\"age_s\":6,\"fresh\":true}}");
	json_decref(document);
}

Test(report_lists, shows_every_source_with_its_failures)
{
	json_t *document;

	figures[0] = (struct poller_source){ .name = "wls",
					     .plugin = "snmp",
					     .targets = 3,
					     .in_flight = 1,
					     .polls = 100,
					     .good = 97,
					     .failed = { [CR_TIMEOUT] = 2, [CR_AUTH] = 1 },
					     .interval_ns = 2 * CLOCK_S,
					     .latency_ns = 12500000,
					     .worst_ns = CLOCK_S / 4,
					     .good_ns = NOW_NS - CLOCK_S,
					     .rejected = 5,
					     .skipped = 4,
					     .error = "no answer in 500 ms",
					     .error_ns = NOW_NS - 3 * CLOCK_S };
	figures[1] = (struct poller_source){ .name = "web", .plugin = "http" };
	n_figures = 2;
	document = report_servers(report, &source);
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(document, "sources"))),
		"[{\"source\":\"wls\",\"plugin\":\"snmp\",\"targets\":3,\"in_flight\":1,\"polls\":"
		"100,"
		"\"good\":97,\"left_out\":4,\"rejected\":5,\"failed\":{\"timeout\":2,\"auth\":1},"
		"\"interval_s\":2,\"latency_s\":0.0125,\"latency_worst_s\":0.25,\"good_age_s\":1,"
		"\"error\":\"no answer in 500 ms\",\"error_age_s\":3},"
		"{\"source\":\"web\",\"plugin\":\"http\",\"targets\":0,\"in_flight\":0,\"polls\":0,"
		"\"good\":0,\"left_out\":0,\"rejected\":0,\"failed\":{},\"interval_s\":0,"
		"\"latency_s\":null,\"latency_worst_s\":null,\"good_age_s\":null,\"error\":null,"
		"\"error_age_s\":null}]");
	json_decref(document);
}

/*** Plugins and processes ***/

Test(report_lists, shows_the_generations_of_a_plugin)
{
	static const char *const users[] = { "orders router", NULL };
	static const struct report_generation generations[] = {
		{ .seq = 0,
		  .state = "refused",
		  .note = "not an ELF file: build it with cc -shared" },
		{ .seq = 7, .version = "1.2", .state = "current" },
	};
	const struct report_plugin plugin = { .name = "heap_free",
					      .kind = "router",
					      .file = "/etc/callrouter/plugins.d/heap_free.so",
					      .used_by = users,
					      .generation = generations,
					      .n_generations = 2 };

	source.plugin = &plugin;
	source.n_plugins = 1;
	cr_expect_str_eq(
		text_of(report_plugins(report, &source)),
		"{\"plugins\":[{\"plugin\":\"heap_free\",\"kind\":\"router\",\"file\":"
		"\"/etc/callrouter/plugins.d/heap_free.so\",\"used_by\":[\"orders router\"],"
		"\"generations\":[{\"generation\":null,\"version\":null,\"state\":\"refused\","
		"\"note\":"
		"\"not an ELF file: build it with cc "
		"-shared\"},{\"generation\":7,\"version\":\"1.2\","
		"\"state\":\"current\",\"note\":\"\"}]}],\"processes\":[]}");
}

Test(report_lists, shows_attached_processes_and_what_they_lack)
{
	struct counters *guest = NULL;
	struct counters_slot *slot;
	char want[512];
	int number;

	cr_assert_eq(counters_open(dir, false, &guest, &err), 0, "%s", err.text);
	number = counters_claim(guest, "worker\xff");
	cr_assert_geq(number, 0);
	slot = counters_slot(guest, (uint32_t)number);
	slot->generation = 42;
	slot->lacks = 101;
	(void)snprintf(slot->error, sizeof slot->error, "libm.so.6: cannot open");
	(void)snprintf(
		want, sizeof want,
		"{\"plugins\":[],\"processes\":[{\"pid\":%ld,\"program\":\"worker?\","
		"\"generation\":42,\"lacks\":{\"generation\":7,\"error\":\"libm.so.6: cannot "
		"open\"}}]}",
		(long)getpid());
	cr_expect_str_eq(text_of(report_plugins(report, &source)), want);
	slot->lacks = 0;
	(void)snprintf(want, sizeof want,
		       "{\"plugins\":[],\"processes\":[{\"pid\":%ld,\"program\":\"worker?\","
		       "\"generation\":42,\"lacks\":null}]}",
		       (long)getpid());
	cr_expect_str_eq(text_of(report_plugins(report, &source)), want);
	counters_close(guest);
	cr_expect_str_eq(text_of(report_plugins(report, &source)),
			 "{\"plugins\":[],\"processes\":[]}");
}

Test(report_lists, tells_what_a_server_lacks_and_what_of_it_contradicts_itself)
{
	const int used = servers_metric(source.servers, "jvm_heap_used_bytes");
	const int size = servers_metric(source.servers, "jvm_heap_size_bytes");
	json_t *document, *servers;

	cr_assert_eq(servers_put(source.servers, "ms1", used, 300, NOW_NS - CLOCK_S), 0);
	cr_assert_eq(servers_put(source.servers, "ms1", size, 200, NOW_NS - CLOCK_S), 0);
	cr_assert_eq(servers_put(source.servers, "ms2", used, 100, NOW_NS - CLOCK_S), 0);
	document = report_servers(report, &source);
	servers = json_object_get(document, "servers");
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(json_array_get(servers, 1), "inconsistent"))),
		"[\"used > size\"]");
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(json_array_get(servers, 1), "absent"))), "[]");
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(json_array_get(servers, 2), "absent"))),
		"[\"jvm_heap_free_bytes\",\"jvm_heap_size_bytes\",\"jvm_heap_available_bytes\","
		"\"jvm_heap_free_ratio\"]");
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(json_array_get(servers, 1), "metrics"))),
		"{\"jvm_heap_free_bytes\":{\"value\":0,\"age_s\":1,\"fresh\":true,"
		"\"derived\":\"size - used\"},"
		"\"jvm_heap_used_bytes\":{\"value\":300,\"age_s\":1,\"fresh\":true},"
		"\"jvm_heap_size_bytes\":{\"value\":200,\"age_s\":1,\"fresh\":true},"
		"\"jvm_heap_available_bytes\":{\"value\":0,\"age_s\":1,\"fresh\":true,"
		"\"derived\":\"size - used, for want of max\"},"
		"\"jvm_heap_free_ratio\":{\"value\":0,\"age_s\":1,\"fresh\":true,"
		"\"derived\":\"free / size, for want of max\"}}");
	cr_expect_str_eq(
		text_of(json_incref(json_object_get(json_array_get(servers, 0), "absent"))), "[]",
		"an admin server lacks nothing");
	json_decref(document);
}
