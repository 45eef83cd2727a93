/* test_report.c - the document for status. */
#include "health.h"
#include "report_fixture.h"
#include "text.h"

TestSuite(report, .init = set_up, .fini = tear_down, .timeout = 30);

/* A member of the first service. Takes document. */
static const char *member_of(json_t *document, const char *member)
{
	json_t *services = json_object_get(document, "services");
	json_t *value = json_incref(json_object_get(json_array_get(services, 0), member));

	cr_assert_not_null(value);
	json_decref(document);
	return text_of(value);
}

static json_t *status(const char *service)
{
	json_t *document = report_status(report, &source, service, &err);

	cr_assert_not_null(document, "%s", err.text);
	return document;
}

Test(report, shows_everything_of_a_service)
{
	char want[4096];
	struct counters_service *counts = counters_service(counters, image_service_at(0)->line);

	counts->decided[CR_ROUTER_DECIDED] = 970;
	counts->decided[CR_DEFAULT_DECIDED] = 29;
	counts->decided[CR_REFUSED] = 1;
	counts->reason[CR_REASON_NONE] = 970;
	counts->reason[CR_REASON_STALE] = 29;
	counts->reason[CR_REASON_ROUTER_REFUSED] = 1;
	line_of(MS2)->live.inflight = 12;
	line_of(MS1)->live.up_since_ns = NOW_NS - 5 * CLOCK_S; /* of 10 s */
	line_of(MS2)->consecutive = 3;
	line_of(MS3)->shut = health_word(HEALTH_EJECTED, NOW_NS + 130 * CLOCK_S);
	image_service_at(0)->health.slow_start_ns = 10 * CLOCK_S;
	(void)snprintf(
		want, sizeof want,
		"{\"cluster\":\"test\",\"daemon\":{\"pid\":%ld,\"uptime_s\":18,\"version\":\"1.0."
		"0\"},"
		"\"services\":[{\"name\":\"orders\",\"router\":{\"plugin\":\"heap_free\","
		"\"version\":\"1.2\",\"generation\":7,\"state\":\"active\"},\"default\":"
		"\"round_robin\",\"decided\":{\"router\":970,\"default\":29,\"refused\":1,"
		"\"nobody\":0},"
		"\"fallback_reasons\":{\"router_refused\":1,\"stale\":29},"
		"\"default_decides_now\":null,\"ranked_by\":\"router\",\"stale_after_s\":10,"
		"\"ranking\":["
		"{\"position\":1,\"server\":\"ms2\",\"address\":\"10.0.0.12:7101\",\"state\":"
		"\"up\","
		"\"weight\":3,\"inflight\":12,\"share\":null,\"metrics\":{\"jvm_heap_free_bytes\":"
		"{\"value\":1500000000,\"age_s\":12.5,\"fresh\":false}},\"columns\":{},\"state_for_"
		"s\":null,"
		"\"failures_in_row\":3,\"slow_start\":null},"
		"{\"position\":2,\"server\":\"ms3\",\"address\":\"10.0.0.13:7101\",\"state\":"
		"\"ejected\",\"weight\":1,\"inflight\":0,\"share\":null,\"metrics\":{},\"columns\":"
		"{},\"state_for_s\":130,\"failures_in_row\":0,\"slow_start\":null},"
		"{\"position\":3,\"server\":\"ms1\",\"address\":\"10.0.0.11:7101\",\"state\":"
		"\"up\","
		"\"weight\":5,\"inflight\":0,\"share\":null,\"metrics\":{\"jvm_heap_free_bytes\":"
		"{\"value\":1000000000,\"age_s\":1.2,\"fresh\":true},\"jvm_heap_size_bytes\":"
		"{\"value\":2147483648,\"age_s\":1.2,\"fresh\":true}},\"columns\":{},\"state_for_"
		"s\":null,"
		"\"failures_in_row\":0,\"slow_start\":0.55}],"
		"\"not_ranked\":[{\"server\":\"ms4\",\"reason\":\"drained\"}],"
		"\"warnings\":[],\"failing\":{\"servers\":0,\"list\":[]}}],\"warnings\":[]}",
		(long)getpid());
	cr_expect_str_eq(text_of(status("orders")), want);
}

Test(report, shows_what_the_configuration_warns_of_where_it_belongs)
{
	struct config_warning warnings[] = {
		{ .word = "two_sources", .text = TEXT("a and b"), .service = CONFIG_NO_SERVICE },
		{ .word = "mixed_sources", .text = TEXT("pools"), .service = 1 },
	};

	json_t *document;

	config.warnings = warnings;
	config.n_warnings = 2;
	document = status("orders");
	cr_expect_str_eq(text_of(json_incref(json_object_get(document, "warnings"))),
			 "[{\"warning\":\"two_sources\",\"text\":\"a and b\"}]");
	json_decref(document);
	cr_expect_str_eq(member_of(status("orders"), "warnings"), "[]");
	cr_expect_str_eq(member_of(status("shop"), "warnings"),
			 "[{\"warning\":\"mixed_sources\",\"text\":\"pools\"}]");
	source.image = NULL;
	cr_expect_str_eq(member_of(status("shop"), "warnings"),
			 "[{\"warning\":\"mixed_sources\",\"text\":\"pools\"}]");
	config.n_warnings = 0;
}

Test(report, tells_which_sources_of_a_service_fail_and_lists_no_more_than_16)
{
	const char *failing;
	char name[16];
	size_t n = 0;

	servers_polled(source.servers, "wls", "ms2", "wls: auth: the agent does not know the user");
	servers_polled(source.servers, "jvm", "ms2", "jvm: connect: refused");
	cr_expect_str_eq(
		member_of(status("shop"), "failing"),
		"{\"servers\":1,\"list\":["
		"{\"source\":\"wls\",\"error\":\"wls: auth: the agent does not know the user\","
		"\"for_s\":0,\"server\":\"ms2\"},"
		"{\"source\":\"jvm\",\"error\":\"jvm: connect: refused\",\"for_s\":0,"
		"\"server\":\"ms2\"}]}");
	for (int i = 0; i < 17; i++) {
		(void)snprintf(name, sizeof name, "s%d", i);
		servers_polled(source.servers, name, "ms1", "it fails");
	}
	failing = member_of(status("orders"), "failing");
	for (const char *at = failing; (at = strstr(at, "\"source\"")) != NULL; at++)
		n++;
	cr_expect_eq(n, 16, "%s", failing);
	cr_expect_not_null(strstr(failing, "\"servers\":2,"));
}

Test(report, shows_no_router_where_there_is_none)
{
	cr_expect_str_eq(member_of(status("shop"), "router"), "null");
	cr_expect_str_eq(member_of(status("shop"), "default"), "\"random\"");
	cr_expect_str_eq(member_of(status("shop"), "default_decides_now"), "\"no_router\"");
	cr_expect_str_eq(member_of(status("shop"), "ranked_by"), "\"default\"");
}

Test(report, shows_all_services_in_the_configurations_order)
{
	json_t *document = status(NULL);
	json_t *services = json_object_get(document, "services");

	cr_expect_eq(json_array_size(services), 2);
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(services, 0), "name")),
			 "orders");
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(services, 1), "name")),
			 "shop");
	json_decref(document);
}

Test(report, refuses_an_unknown_service_and_names_the_known_ones)
{
	cr_expect_null(report_status(report, &source, "oders", &err));
	cr_expect_eq(err.code, -ENOENT);
	cr_expect_str_eq(err.text,
			 "no service \"oders\" is configured; there are these: orders, shop");
}

Test(report, says_in_words_what_the_router_does)
{
	static const struct {
		enum cr_reason reason;
		const char *state, *now;
	} table[] = {
		{ CR_REASON_NONE, "active", "null" },
		{ CR_REASON_STALE, "waiting for metrics", "\"stale\"" },
		{ CR_REASON_RANK_LATE, "late", "\"rank_late\"" },
		{ CR_REASON_RANK_ERROR, "failed", "\"rank_error\"" },
		{ CR_REASON_RANK_BAD_ORDER, "failed", "\"rank_bad_order\"" },
		{ CR_REASON_QUARANTINED, "quarantined", "\"quarantined\"" },
	};
	char want[128];

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		image_service_at(0)->router.reason = table[i].reason;
		(void)snprintf(want, sizeof want,
			       "{\"plugin\":\"heap_free\",\"version\":\"1.2\",\"generation\":7,"
			       "\"state\":\"%s\"}",
			       table[i].state);
		cr_expect_str_eq(member_of(status("orders"), "router"), want);
		cr_expect_str_eq(member_of(status("orders"), "default_decides_now"), table[i].now);
		cr_expect_str_eq(member_of(status("orders"), "ranked_by"),
				 i == 0 ? "\"router\"" : "\"default\"");
	}
}

Test(report, shows_the_defaults_order_while_the_router_waits)
{
	json_t *document, *ranking;

	image_service_at(0)->router.fresh_until_ns = NOW_NS - 1;
	cr_expect_str_eq(member_of(status("orders"), "default_decides_now"), "\"stale\"");
	document = status("orders");
	ranking = json_object_get(json_array_get(json_object_get(document, "services"), 0),
				  "ranking");
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(ranking, 0), "server")),
			 "ms1");
	json_decref(document);
}

Test(report, says_per_call_of_a_router_that_has_no_ranking)
{
	image_instance_at(0)->flags = IMAGE_HAS_ROUTE;
	cr_expect_str_eq(member_of(status("orders"), "router"),
			 "{\"plugin\":\"heap_free\",\"version\":\"1.2\",\"generation\":7,\"state\":"
			 "\"per call\"}");
	cr_expect_str_eq(member_of(status("orders"), "default_decides_now"), "null");
	cr_expect_str_eq(member_of(status("orders"), "ranked_by"), "\"default\"");
}

Test(report, says_quarantined_of_a_router_that_crashed_in_a_data_plane)
{
	counters_quarantine(counters, HEAP_FREE_SEQ);
	cr_expect_str_eq(member_of(status("orders"), "router"),
			 "{\"plugin\":\"heap_free\",\"version\":\"1.2\",\"generation\":7,\"state\":"
			 "\"quarantined\"}");
}

Test(report, says_that_a_router_could_not_be_loaded)
{
	image_service_at(0)->router.instance = IMAGE_NONE;
	image_service_at(0)->router.reason = CR_REASON_NOT_LOADED;
	cr_expect_str_eq(member_of(status("orders"), "router"),
			 "{\"plugin\":\"heap_free\",\"version\":null,\"generation\":null,\"state\":"
			 "\"not loaded\"}");
	cr_expect_str_eq(member_of(status("orders"), "default_decides_now"), "\"not_loaded\"");
}

Test(report, says_when_the_router_left_it_to_the_default)
{
	image_service_at(0)->router.verdict = CR_DEFAULT;
	cr_expect_str_eq(member_of(status("orders"), "default_decides_now"), "\"router_default\"");
	image_service_at(0)->router.verdict = CR_REFUSE;
	cr_expect_str_eq(member_of(status("orders"), "default_decides_now"), "\"router_refused\"");
}

Test(report, says_why_servers_are_not_ranked)
{
	image_server_at(MS2)->flags = IMAGE_SKIPPED;
	image_server_at(MS3)->weight = 0;
	cr_expect_str_eq(
		member_of(status("orders"), "not_ranked"),
		"[{\"server\":\"ms2\",\"reason\":\"admin\"},{\"server\":\"ms3\",\"reason\":"
		"\"weight 0\"},{\"server\":\"ms4\",\"reason\":\"drained\"}]");
}

Test(report, shows_a_service_that_is_not_published_yet)
{
	source.image = NULL;
	cr_expect_str_eq(
		member_of(status("orders"), "router"),
		"{\"plugin\":\"heap_free\",\"version\":null,\"generation\":null,\"state\":\"not "
		"loaded\"}");
	cr_expect_str_eq(member_of(status("orders"), "default_decides_now"), "\"no_snapshot\"");
	cr_expect_str_eq(member_of(status("orders"), "ranking"), "[]");
	cr_expect_str_eq(member_of(status("shop"), "router"), "null");
}

Test(report, never_shows_an_age_below_zero_and_shows_unknown_as_null)
{
	json_t *document, *entry;

	set_metric(FREE, MS2, (double)NAN, -500 * CLOCK_MS);
	document = status("orders");
	entry = json_array_get(
		json_object_get(json_array_get(json_object_get(document, "services"), 0),
				"ranking"),
		0);
	cr_expect_str_eq(text_of(json_incref(json_object_get(entry, "metrics"))),
			 "{\"jvm_heap_free_bytes\":{\"value\":null,\"age_s\":0,\"fresh\":true}}");
	json_decref(document);
}

Test(report, shows_text_that_is_not_utf_8_with_question_marks)
{
	(void)snprintf(image_instance_at(0)->version, 32, "1.2-\xff");
	cr_expect_str_eq(
		member_of(status("orders"), "router"),
		"{\"plugin\":\"heap_free\",\"version\":\"1.2-?\",\"generation\":7,\"state\":"
		"\"active\"}");
}

/*** Columns ***/

static char *columns_of_heap_free[] = { TEXT("price"), TEXT("basis"), NULL };

static char *const *columns_of(const void *arg, size_t service, uint64_t seq)
{
	cr_expect_eq(arg, (const void *)&source);
	cr_expect_eq(service, 0);
	return seq == HEAP_FREE_SEQ ? columns_of_heap_free : NULL;
}

/* The columns of ms2, which is first, and of ms3. */
static const char *columns_shown(void)
{
	static char text[256];
	json_t *document = status("orders");
	json_t *ranking = json_object_get(json_array_get(json_object_get(document, "services"), 0),
					  "ranking");

	text[0] = '\0';
	for (size_t i = 0; i < 2; i++) {
		json_t *columns =
			json_incref(json_object_get(json_array_get(ranking, i), "columns"));
		const size_t used = strlen(text);

		(void)text_copy(text + used, sizeof text - used, text_of(columns));
	}
	json_decref(document);
	return text;
}

Test(report, shows_what_the_router_wrote_into_its_columns_by_their_names)
{
	const double price[] = { 1, 0.25, (double)NAN, 4 }; /* ms1 .. ms4 */

	source.columns = columns_of;
	source.columns_arg = &source;
	memcpy(image_edit(image, image->column), price, sizeof price);
	cr_expect_str_eq(columns_shown(), "{\"price\":null,\"basis\":null}"
					  "{\"price\":null,\"basis\":null}");
	image_service_at(0)->router.n_columns = 1;
	cr_expect_str_eq(columns_shown(), "{\"price\":0.25,\"basis\":null}"
					  "{\"price\":null,\"basis\":null}");
	/* of another file than the image is about, nobody knows the names */
	image_instance_at(0)->seq++;
	cr_expect_str_eq(columns_shown(), "{}{}");
}

/*** Shares ***/

static const char *share_of(const char *service, size_t position)
{
	json_t *document = status(service);
	json_t *ranking = json_object_get(json_array_get(json_object_get(document, "services"), 0),
					  "ranking");
	json_t *share = json_incref(json_object_get(json_array_get(ranking, position), "share"));

	json_decref(document);
	return text_of(share);
}

static void tick(int64_t seconds)
{
	source.now_ns = NOW_NS + seconds * CLOCK_S;
	report_tick(report, &source);
}

Test(report, shares_the_calls_of_the_last_ten_seconds)
{
	line_of(MS1)->calls = 1000;
	line_of(MS2)->calls = 5000;
	image_service_at(0)->router.fresh_until_ns = INT64_MAX;
	for (int64_t s = 0; s <= 10; s++)
		tick(s);
	cr_expect_str_eq(share_of("orders", 0), "null");
	line_of(MS1)->calls += 25;
	line_of(MS2)->calls += 75;
	cr_expect_str_eq(share_of("orders", 0), "0.75");
	cr_expect_str_eq(share_of("orders", 1), "0");
	cr_expect_str_eq(share_of("orders", 2), "0.25");
	/* Ten seconds later they are history. */
	for (int64_t s = 11; s <= 21; s++)
		tick(s);
	cr_expect_str_eq(share_of("orders", 0), "null");
}

Test(report, counts_no_calls_of_another_server_that_had_the_line_before)
{
	tick(0);
	line_of(MS1)->incarnation++;
	line_of(MS1)->calls += 50;
	line_of(MS2)->calls += 50;
	image_server_at(MS1)->incarnation++;
	cr_expect_str_eq(share_of("shop", 0), "0");
	cr_expect_str_eq(share_of("shop", 1), "1");
}

Test(report, counts_figures_that_fell_as_no_calls)
{
	line_of(MS1)->calls = 1000;
	tick(0);
	line_of(MS1)->calls = 3;
	line_of(MS2)->calls = 1;
	cr_expect_str_eq(share_of("shop", 0), "0");
	cr_expect_str_eq(share_of("shop", 1), "1");
}
