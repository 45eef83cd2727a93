/* test_config_targets.c - what a collector says of targets, told where they were written. */
#include "config_fixture.h"

TestSuite(config_targets, .init = enter_folder, .fini = remove_folder, .timeout = 60);

/*** A collector that refuses what has "bad" in it ***/

static struct {
	size_t n, questions, targets;
	char *packed[8];
	int fails;    /* what can_poll returns */
	bool is_slow; /* it takes all the time there is */
} asked;

static int can_poll(void *arg, const char *plugin, const char *packed,
		    const struct target_list *targets, struct err *err)
{
	char text[200];

	cr_assert_str_eq(arg, "arg");
	cr_assert_leq(asked.questions, 7u);
	asked.packed[asked.questions++] = strdup(packed);
	asked.targets += targets->n;
	cr_expect(strcmp(plugin, "snmp") == 0 || strcmp(plugin, "http") == 0, "%s", plugin);
	for (size_t i = 0; i < targets->n; i++) {
		if (strstr(targets->target[i], "bad") == NULL)
			continue;
		snprintf(text, sizeof text, "it is \"%.100s\"", targets->target[i]);
		targets->bad(targets->user, i, text);
	}
	cr_expect_gt(*targets->left_ns, 0);
	if (asked.is_slow)
		*targets->left_ns = 0;
	return asked.fails < 0 ? err_set(err, asked.fails, "%s crashed", plugin) : 0;
}

static const struct config_plugins judging = { .options = find_options,
					       .arg = plugins_arg,
					       .can_poll = can_poll };

static void expect_told(const char *yaml, const char *expected)
{
	char *text;

	write_text("c.yaml", yaml, 0644);
	text = report_on("c.yaml", &judging, -EINVAL, NULL);
	cr_expect_str_eq(text, expected);
	free(text);
}

/* "HERE/" becomes the folder. */
static char *with_folder(const char *text)
{
	char *whole = NULL;

	for (const char *at; (at = strstr(text, "HERE/")) != NULL; text = at + 4) {
		char *piece = strndup(text, (size_t)(at - text));

		add(&whole, 1, piece);
		add(&whole, 1, here);
		free(piece);
	}
	add(&whole, 1, text);
	return whole;
}

static void free_asked(void)
{
	for (size_t i = 0; i < asked.questions; i++)
		free(asked.packed[i]);
}

#define SERVICES "services: [{name: s}]\n"

Test(config_targets, of_a_template_is_told_once_with_the_first_server_and_how_many_more)
{
	expect_told("servers:\n"
		    "  - { name: ms1, address: 'h1:1', vars: { p: good } }\n"
		    "  - { name: ms2, address: 'h2:1', vars: { p: bad1 } }\n"
		    "  - { name: ms3, address: 'h3:1', vars: { p: bad2 } }\n"
		    "  - { name: ms4, address: 'h4:1', vars: { p: bad3 } }\n"
		    "collectors:\n"
		    "  - { name: a, plugin: http, target: 'http://${host}/${p}' }\n"
		    "  - { name: b, plugin: http, target: 'http://${host}', servers: [ms1] }\n"
		    "  - { name: c, plugin: http, target: 'c://${p}', servers: [ms1, ms4] }\n"
		    "  - { name: d, plugin: http, target: 'd://${p}', servers: [ms1, ms2, ms3] "
		    "}\n" SERVICES,
		    "c.yaml:7:38: target cannot be polled for server \"ms2\" and 2 others: it is "
		    "\"http://h2/bad1\"\n"
		    "c.yaml:9:38: target cannot be polled for server \"ms4\": it is \"c://bad3\"\n"
		    "c.yaml:10:38: target cannot be polled for server \"ms2\" and 1 other: it is "
		    "\"d://bad1\"\n");
	free_asked();
}

Test(config_targets, of_a_server_are_told_where_they_stand_all_at_once)
{
	expect_told(
		"servers:\n"
		"  - { name: ms1, address: 'h1:1', targets: { a: 'bad ${name}', b: 'bad b' } }\n"
		"  - { name: ms2, address: 'h2:1', targets: { a: good } }\n"
		"  - { name: ms3, address: 'h3:1', targets: { a: bad } }\n"
		"collectors:\n"
		"  - { name: a, plugin: http, target: 'bad://${host}' }\n"
		"  - { name: b, plugin: http, target: 'good' }\n" SERVICES,
		"c.yaml:2:49: the target for collector \"a\" cannot be polled: it is \"bad "
		"ms1\"\n"
		"c.yaml:2:67: the target for collector \"b\" cannot be polled: it is \"bad "
		"b\"\n"
		"c.yaml:4:49: the target for collector \"a\" cannot be polled: it is \"bad\"\n");
	free_asked();
}

/* A check() that hangs is waited for once. */
Test(config_targets, are_judged_within_one_time_for_all_collectors)
{
	asked.is_slow = true;
	asked.fails = -ETIMEDOUT;
	write_text("secret", "public\n", 0600);
	expect_told(
		"servers:\n"
		"  - { name: ms1, address: 'h1:1' }\n"
		"collectors:\n"
		"  - { name: a, plugin: snmp, target: 'a', retries: 1, community_file: secret }\n"
		"  - { name: b, plugin: snmp, target: 'b', retries: 2, community_file: secret }\n"
		"  - { name: c, plugin: http, target: 'c' }\n" SERVICES,
		"c.yaml:4:38: plugin snmp crashed\n"
		"c.yaml:5:38: nobody has looked at the targets of collector \"b\" and those "
		"below it: check() of the others has taken 5 s\n");
	cr_expect_eq(asked.questions, 1u);
	free_asked();
}

Test(config_targets, of_an_agent_for_all_is_asked_about_once_and_told_without_a_server)
{
	expect_told("servers:\n"
		    "  - { name: ms1, address: 'h1:1' }\n"
		    "  - { name: ms2, address: 'h2:1' }\n"
		    "collectors:\n"
		    "  - { name: a, plugin: http, target: 'bad agent' }\n" SERVICES,
		    "c.yaml:5:38: target cannot be polled: it is \"bad agent\"\n");
	cr_expect_eq(asked.targets, 1u);
	free_asked();
}

Test(config_targets, come_with_all_other_mistakes_but_none_is_told_twice)
{
	char *expected = with_folder(
		"c.yaml:2:27: address \"h1\" has no port; write HOST:PORT, like \"h1:7001\"\n"
		"c.yaml:4:49: the target for collector \"a\" is empty; write it or remove the "
		"line\n"
		"c.yaml:4:53: no collector has the name \"nobody\"; targets are COLLECTOR: "
		"TARGET, with the names under collectors\n"
		"c.yaml:7:38: target: ${v} is unknown for server \"ms1\" and 1 other; there are "
		"${host}, ${port}, ${name} and the server's vars\n"
		"c.yaml:7:38: target cannot be polled for server \"ms4\": it is \"x://bad\"\n"
		"c.yaml:8:59: community_file: HERE/open has mode 644, so others than its owner and "
		"group can get at it; run chmod 640 HERE/open\n"
		"c.yaml:9:5: this collector has no target; add target: with what the plugin "
		"polls, like \"udp:${host}:161\"\n");

	write_secrets();
	expect_told("servers:\n"
		    "  - { name: ms1, address: 'h1' }\n"
		    "  - { name: ms2, address: 'h2:1' }\n"
		    "  - { name: ms3, address: 'h3:1', targets: { a: '', nobody: bad } }\n"
		    "  - { name: ms4, address: 'h4:1', vars: { v: bad } }\n"
		    "collectors:\n"
		    "  - { name: a, plugin: http, target: 'x://${v}' }\n"
		    "  - { name: b, plugin: snmp, target: bad, community_file: open }\n"
		    "  - { name: c, plugin: http }\n" SERVICES,
		    expected);
	free(expected);
	free_asked();
}

Test(config_targets, of_sources_with_the_same_options_are_one_question)
{
	struct config *config;

	write_secrets();
	write_text("c.yaml",
		   "servers:\n"
		   "  - { name: ms1, address: 'h1:1' }\n"
		   "  - { name: ms2, address: 'h2:1' }\n"
		   "collectors:\n"
		   "  - { name: a, plugin: http, target: '${host}' }\n"
		   "  - { name: b, plugin: snmp, target: '${host}', community_file: community }\n"
		   "  - { name: c, plugin: http, target: 'one' }\n"
		   "  - { name: d, plugin: snmp, target: 'two', community_file: community }\n"
		   "  - { name: e, plugin: snmp, target: 'three', community_file: community, "
		   "retries: 3 }\n" SERVICES,
		   0644);
	config = read_good("c.yaml", &judging);
	cr_expect_eq(asked.questions, 3u);
	cr_expect_eq(asked.targets, 7u);
	cr_expect_str_eq(asked.packed[0], "");
	cr_expect(strstr(asked.packed[2], "retries=3\n") != NULL, "%s", asked.packed[2]);
	config_free(config);
	free_asked();
}

Test(config_targets, that_nobody_can_judge_are_a_mistake)
{
	asked.fails = -ECHILD;
	expect_told("servers: [{ name: ms1, address: 'h1:1' }]\n"
		    "collectors:\n"
		    "  - { name: a, plugin: http, target: '${host}' }\n" SERVICES,
		    "c.yaml:3:38: plugin http crashed\n");
	free_asked();
}

/* Ten thousand servers, all of them wrong: one line for the template, and 500 mistakes at most. */
Test(config_targets, are_told_in_bounds)
{
	char *yaml = NULL, *text;
	char line[160];
	size_t n;

	add(&yaml, 1, "servers:\n");
	for (int i = 0; i < 10000; i++) {
		snprintf(line, sizeof line, "  - { name: ms%d, address: 'h%d:1'%s }\n", i, i,
			 i % 10 == 0 ? ", targets: { a: bad }" : "");
		add(&yaml, 1, line);
	}
	add(&yaml, 1,
	    "collectors:\n  - { name: a, plugin: http, target: 'bad://${host}' }\n" SERVICES);
	write_text("c.yaml", yaml, 0644);
	text = report_on("c.yaml", &judging, -EINVAL, &n);
	cr_expect_eq(n, 1001u);
	cr_expect_eq(asked.targets, 10000u);
	cr_expect(strstr(text, "c.yaml: 501 more mistakes are not listed") != NULL, "%s", text);
	free(text);
	free(yaml);
	free_asked();
}

Test(config_targets, longer_than_can_be_asked_about_are_told)
{
	char *yaml = NULL;

	add(&yaml, 1, "servers: [{ name: ms1, address: 'h1:1', vars: { v: '");
	add(&yaml, 4000, "v");
	add(&yaml, 1,
	    "' } }]\ncollectors:\n  - { name: a, plugin: http, target: '${v}${v}' }\n" SERVICES);
	expect_told(yaml, "c.yaml:3:38: target cannot be polled for server \"ms1\": it is longer "
			  "than 4095 bytes once it is filled in; shorten it\n");
	cr_expect_eq(asked.questions, 0u);
	free(yaml);
}
