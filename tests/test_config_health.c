/* test_config_health.c - a service's key health, full_at, and the fleet's hosts. */
#include <criterion/criterion.h>

#include "clock.h"
#include "config.h"
#include "config_fixture.h"
#include "image.h"

TestSuite(config_health, .init = enter_folder, .fini = remove_folder);

#define SERVERS "servers: [{name: ms1, address: 'h1:1'}]\n"

/* The configuration whose one service has this health; freed by the caller. */
static struct config *with_health(const char *health)
{
	char yaml[1024];

	(void)snprintf(yaml, sizeof yaml, SERVERS "services: [{name: s, health: %s}]\n", health);
	return read_good_text(yaml);
}

static void expect_health_mistakes(const char *health, const char *expected)
{
	char yaml[1024];

	(void)snprintf(yaml, sizeof yaml, SERVERS "services: [{name: s, health: %s}]\n", health);
	expect_mistakes(yaml, expected);
}

static void expect_preset(const struct config_health *health)
{
	cr_expect_eq(health->failures, 10u);
	cr_expect_eq(health->out_for_ns, 180 * CLOCK_S);
	cr_expect_eq(health->counts, 7u);
	cr_expect_eq(health->aside_ns, 2 * CLOCK_S);
	cr_expect_eq(health->aside_most_ns, 30 * CLOCK_S);
	cr_expect_eq(health->slow_start_ns, 10 * CLOCK_S);
	cr_expect_eq(health->check.kind, CONFIG_CHECK_NONE);
}

Test(config_health, is_on_without_a_check_for_a_service_that_says_nothing)
{
	struct config *config = read_good_text(SERVERS "services: [{name: s}]\n");

	expect_preset(&config->services[0].health);
	cr_expect_eq(config->services[0].full_at, 0u);
	cr_expect_eq(config->hosts, 0u);
	config_free(config);
}

Test(config_health, on_is_the_same_as_nothing)
{
	struct config *config = with_health("on");

	expect_preset(&config->services[0].health);
	config_free(config);
}

Test(config_health, off_keeps_no_server_from_calls)
{
	static const char *const words[] = { "off", "false", "no" };

	for (size_t i = 0; i < 3; i++) {
		struct config *config = with_health(words[i]);
		const struct config_health *health = &config->services[0].health;

		cr_expect_eq(health->failures, 0u);
		cr_expect_eq(health->aside_ns, 0);
		cr_expect_eq(health->slow_start_ns, 0);
		cr_expect_eq(health->check.kind, CONFIG_CHECK_NONE);
		config_free(config);
	}
}

Test(config_health, reads_every_key)
{
	size_t len;
	char *yaml = read_data("config_full.yaml", &len);
	struct config *config;
	const struct config_health *health;

	write_secrets();
	config = read_good_text(yaml);
	health = &config->services[0].health;
	cr_expect_eq(config->services[0].full_at, 40u);
	cr_expect_eq(health->failures, 5u);
	cr_expect_eq(health->out_for_ns, 90 * CLOCK_S);
	cr_expect_eq(health->counts, (uint32_t)IMAGE_COUNTS_TIMEOUT | IMAGE_COUNTS_FAILED);
	cr_expect_eq(health->aside_ns, CLOCK_S);
	cr_expect_eq(health->aside_most_ns, 60 * CLOCK_S);
	cr_expect_eq(health->slow_start_ns, 0);
	cr_expect_eq(health->check.kind, CONFIG_CHECK_HTTP);
	cr_expect_str_eq(health->check.path, "/up?deep=1");
	cr_expect_eq(health->check.n_status, 2u);
	cr_expect_eq(health->check.status[0], 200u);
	cr_expect_eq(health->check.status[1], 204u);
	cr_expect_eq(health->check.interval_ns, CLOCK_S);
	cr_expect_eq(health->check.timeout_ns, 200 * CLOCK_MS);
	cr_expect_eq(health->check.fall, 2u);
	cr_expect_eq(health->check.rise, 4u);
	cr_expect_str_eq(health->check.port, "8080");
	cr_expect_str_eq(health->check.host_header, "shop.example");
	config_free(config);
	free(yaml);
}

Test(config_health, a_check_has_the_documented_defaults)
{
	struct config *config = with_health("{ check: { tcp: true } }");
	const struct config_check *check = &config->services[0].health.check;

	expect_preset(&(struct config_health){ .failures = config->services[0].health.failures,
					       .out_for_ns = 180 * CLOCK_S,
					       .counts = 7,
					       .aside_ns = 2 * CLOCK_S,
					       .aside_most_ns = 30 * CLOCK_S,
					       .slow_start_ns = 10 * CLOCK_S });
	cr_expect_eq(check->kind, CONFIG_CHECK_TCP);
	cr_expect_eq(check->interval_ns, 2 * CLOCK_S);
	cr_expect_eq(check->timeout_ns, CLOCK_S);
	cr_expect_eq(check->fall, 3u);
	cr_expect_eq(check->rise, 2u);
	cr_expect_eq(check->n_status, 0u);
	cr_expect(check->port == NULL);
	cr_expect(check->host_header == NULL);
	config_free(config);
}

Test(config_health, a_short_interval_shortens_the_timeout_that_was_not_given)
{
	struct config *config = with_health("{ check: { tcp: true, interval: 300ms } }");

	cr_expect_eq(config->services[0].health.check.timeout_ns, 300 * CLOCK_MS);
	config_free(config);
}

Test(config_health, a_long_aside_raises_the_longest_that_was_not_given)
{
	struct config *config = with_health("{ aside: 1m }");

	cr_expect_eq(config->services[0].health.aside_most_ns, 60 * CLOCK_S);
	config_free(config);
}

Test(config_health, failures_of_zero_and_aside_of_zero_are_allowed)
{
	struct config *config = with_health("{ failures: 0, aside: 0s, slow_start: 0s }");

	cr_expect_eq(config->services[0].health.failures, 0u);
	cr_expect_eq(config->services[0].health.aside_ns, 0);
	config_free(config);
}

Test(config_health, hosts_of_the_fleet_are_read)
{
	struct config *config = read_good_text("hosts: 12\n" SERVERS "services: [{name: s}]\n");

	cr_expect_eq(config->hosts, 12u);
	config_free(config);
	expect_mistakes("hosts: many\n" SERVERS "services: [{name: s, full_at: -1}]\n",
			"c.yaml:1:8: hosts \"many\" is out of range; write a whole number from 0 "
			"to 65536\n"
			"c.yaml:3:31: full_at \"-1\" is out of range; write a whole number from 0 "
			"to 1000000\n");
}

Test(config_health, a_word_that_is_neither_on_nor_off_is_refused)
{
	expect_health_mistakes("maybe",
			       "c.yaml:2:30: health \"maybe\" is neither on nor off; write "
			       "one of them, or a map of failures, out_for, counts, aside, "
			       "aside_most, slow_start, check\n");
	expect_health_mistakes("[on]", "c.yaml:2:30: health must be a map (key: value), not a "
				       "list\n");
	expect_health_mistakes("~", "c.yaml:2:30: health has no value; give it one or remove it\n");
}

Test(config_health, tells_all_mistakes_of_a_map_at_once)
{
	expect_health_mistakes(
		"{ failure: 3, failures: few, out_for: 10, counts: [timeouts, 404], aside: 2h, "
		"slow_start: fast }",
		"c.yaml:2:32: unknown key \"failure\" in health; did you mean \"failures\"?\n"
		"c.yaml:2:54: failures \"few\" is out of range; write a whole number from 0 to "
		"1000000\n"
		"c.yaml:2:68: out_for 10 has no unit; write a duration like 500ms, 2s, 3m, 1h or "
		"1d\n"
		"c.yaml:2:81: unknown word \"timeouts\" in counts; did you mean \"timeout\"?\n"
		"c.yaml:2:91: unknown word \"404\" in counts; there are: connect, timeout, 5xx\n"
		"c.yaml:2:104: aside 2h is out of range; it may be 0s to 1h\n"
		"c.yaml:2:120: slow_start \"fast\" is no duration; write one like 500ms, 2s, 3m, "
		"1h "
		"or 1d\n");
}

Test(config_health, counts_of_connect_alone_is_refused_where_it_would_count_nothing)
{
	expect_health_mistakes("{ counts: [connect] }",
			       "c.yaml:2:40: counts has only connect, which puts servers aside "
			       "instead: add timeout or 5xx, or write aside: 0s, or failures: 0\n");
	expect_health_mistakes("{ counts: [connect, connect], aside: 1ms }",
			       "c.yaml:2:40: counts has only connect, which puts servers aside "
			       "instead: add timeout or 5xx, or write aside: 0s, or failures: 0\n");
	config_free(read_good_text(SERVERS
				   "services:\n"
				   " - {name: s, health: {counts: [connect], aside: 0s}}\n"
				   " - {name: t, health: {counts: [connect], failures: 0}}\n"
				   " - {name: u, health: {counts: [connect, 5xx]}}\n"));
}

Test(config_health, counts_without_a_word_and_a_longest_aside_below_the_first_are_refused)
{
	expect_health_mistakes("{ counts: [] }",
			       "c.yaml:2:40: counts is an empty list; name some of connect, "
			       "timeout, 5xx, or write failures: 0\n");
	expect_health_mistakes("{ aside: 5s, aside_most: 2s }",
			       "c.yaml:2:55: aside_most 2s is shorter than aside; make it at least "
			       "as long\n");
}

Test(config_health, a_check_is_of_one_kind)
{
	expect_health_mistakes("{ check: { interval: 1s } }",
			       "c.yaml:2:39: the check does nothing; add http: /PATH, or tcp: "
			       "true\n");
	expect_health_mistakes("{ check: { tcp: false } }",
			       "c.yaml:2:39: the check does nothing; add http: /PATH, or tcp: "
			       "true\n");
	expect_health_mistakes("{ check: { tcp: true, http: /up } }",
			       "c.yaml:2:46: the check has both tcp and http; keep one\n");
	expect_health_mistakes("{ check: { tcp: maybe } }",
			       "c.yaml:2:46: tcp \"maybe\" is neither true nor false\n");
	expect_health_mistakes("{ check: { tcp: true, status: [200], host_header: h } }",
			       "c.yaml:2:60: status means nothing to a tcp check; remove it, or "
			       "check with http: /PATH\n"
			       "c.yaml:2:80: host_header means nothing to a tcp check; remove it, "
			       "or check with http: /PATH\n");
}

Test(config_health, tells_all_mistakes_of_a_check_at_once)
{
	expect_health_mistakes(
		"{ check: { http: up, status: [99, ok], interval: 1s, timeout: 2s, fall: 0, "
		"rise: 101, port: 0, host_headr: h } }",
		"c.yaml:2:47: http \"up\" does not begin with \"/\"; write the path alone, such as "
		"/health\n"
		"c.yaml:2:60: a status \"99\" is out of range; write a whole number from 200 to "
		"599\n"
		"c.yaml:2:64: a status \"ok\" is out of range; write a whole number from 200 to "
		"599\n"
		"c.yaml:2:92: timeout 2s is longer than the interval: checks would overlap; "
		"shorten it\n"
		"c.yaml:2:102: fall \"0\" is out of range; write a whole number from 1 to 100\n"
		"c.yaml:2:111: rise \"101\" is out of range; write a whole number from 1 to 100\n"
		"c.yaml:2:122: port \"0\" is out of range; write a whole number from 1 to 65535\n"
		"c.yaml:2:125: unknown key \"host_headr\" in check; did you mean "
		"\"host_header\"?\n");
}

Test(config_health, a_request_cannot_be_smuggled_into_a_path_or_a_header)
{
	expect_health_mistakes("{ check: { http: '/up HTTP/1.1', host_header: 'a b' } }",
			       "c.yaml:2:47: http \"/up HTTP/1.1\" holds a space or a letter that "
			       "is not ASCII; write it as %20 and the like\n"
			       "c.yaml:2:76: host_header \"a b\" holds a space or a letter that is "
			       "not ASCII; write it as %20 and the like\n");
	expect_health_mistakes("{ check: { http: \"/up\\r\\nX: y\" } }",
			       "c.yaml:2:47: http holds a control character (a line break, a tab); "
			       "remove it\n");
}
