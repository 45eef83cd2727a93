/* test_config_bounds.c - the configuration reader on files that are long, deep, cut off or made to
 * hurt. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "config_fixture.h"

#define SERVICE "services: [{name: s}]\n"
#define SERVER  "servers: [{name: ms1, address: 'h1:1'}]\n"

TestSuite(config_bounds, .init = enter_folder, .fini = remove_folder);

static char *many_servers(size_t n, const char *more)
{
	const size_t room = n * (80 + strlen(more)) + 100;
	char *text = malloc(room);
	size_t at = (size_t)snprintf(text, room, "services: [{name: s}]\nservers:\n");

	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, room - at,
				       "  - { name: ms%zu, address: \"10.0.%zu.%zu:7001\"%s }\n", i,
				       i >> 8, i & 255, more);
	return text;
}

/* CPU time, so that a busy machine does not count. */
static double seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* Is the report on this text this one line? */
static void expect_line(const char *yaml, const char *expected)
{
	const double begin = seconds();

	expect_mistakes(yaml, expected);
	cr_expect_lt(seconds() - begin, 5.0);
}

Test(config_bounds, loads_10000_servers_in_less_than_a_second)
{
	char *yaml = many_servers(10000, ", vars: { rack: r1 }, targets: { jvm: \"${rack}\" }");
	struct config *config;
	double begin;

	add(&yaml, 1, "collectors: [{name: jvm, plugin: http, target: \"${host}/${rack}\"}]\n");
	write_text("c.yaml", yaml, 0644);
	begin = seconds();
	config = read_good("c.yaml", &plugins);
	cr_expect_lt(seconds() - begin, 1.0);
	cr_expect_eq(config->n_servers, 10000);
	cr_expect_eq(config->services[0].n_servers, 10000);
	cr_expect_str_eq(config->servers[9999].name, "ms9999");
	config_free(config);
	free(yaml);
}

Test(config_bounds, takes_16384_servers_and_no_more)
{
	char *yaml = many_servers(16384, "");
	struct config *config = read_good_text(yaml);

	cr_expect_eq(config->n_servers, 16384);
	config_free(config);
	free(yaml);
	yaml = many_servers(16385, "");
	expect_line(yaml, "c.yaml:16387:5: servers has more than 16384 entries; remove those from "
			  "here on\n");
	free(yaml);
}

/* A list of n entries, each with a number in its name. */
static char *numbered(const char *before, size_t n, const char *entry)
{
	char line[160], *text = NULL;

	add(&text, 1, before);
	for (size_t i = 0; i < n; i++) {
		snprintf(line, sizeof line, "  - { name: n%zu%s }\n", i, entry);
		add(&text, 1, line);
	}
	return text;
}

Test(config_bounds, takes_256_services_and_256_collectors_and_no_more)
{
	char *yaml = numbered(SERVER "services:\n", 256, "");

	config_free(read_good_text(yaml));
	free(yaml);
	yaml = numbered(SERVER "services:\n", 257, "");
	expect_line(yaml, "c.yaml:259:5: services has more than 256 entries; remove those from "
			  "here on\n");
	free(yaml);
	yaml = numbered(SERVER SERVICE "collectors:\n", 257, ", plugin: http, target: x");
	expect_line(yaml, "c.yaml:260:5: collectors has more than 256 entries; remove those from "
			  "here on\n");
	free(yaml);
}

Test(config_bounds, refuses_values_that_are_too_long)
{
	char *yaml = NULL;

	add(&yaml, 1, SERVER SERVICE "cluster: ");
	add(&yaml, 4096, "a");
	expect_line(yaml, "c.yaml:3:10: cluster is longer than 4095 bytes; shorten it\n");
	free(yaml);
	yaml = NULL;
	add(&yaml, 1, SERVICE "servers: [{name: a, address: '");
	add(&yaml, 126, "h");
	add(&yaml, 1, ":1'}]\n");
	expect_line(yaml, "c.yaml:2:30: address is longer than 127 letters; shorten it\n");
	free(yaml);
}

Test(config_bounds, refuses_more_than_64_vars)
{
	char *yaml = numbered("", 0, ""), line[64];

	add(&yaml, 1, SERVICE "servers:\n  - name: a\n    address: h:1\n    vars:\n");
	for (size_t i = 0; i < 66; i++) {
		snprintf(line, sizeof line, "      v%zu: x\n", i);
		add(&yaml, 1, line);
	}
	expect_line(yaml, "c.yaml:70:7: more than 64 keys in vars; remove some\n");
	free(yaml);
}

Test(config_bounds, refuses_a_file_that_is_too_large)
{
	char *yaml = NULL;

	add(&yaml, (4u << 20) + 1, "#");
	write_text("c.yaml", yaml, 0644);
	expect_report("c.yaml", -EFBIG, "c.yaml: is larger than 4 MiB; is it the configuration?\n");
	yaml[4u << 20] = '\0';
	expect_line(yaml, "c.yaml:1:1: the file is empty; a configuration has at least servers and "
			  "services\n");
	free(yaml);
}

/* What libyaml alone would take minutes or gigabytes for. */
Test(config_bounds, refuses_hostile_files_early)
{
	static const struct {
		size_t times;
		const char *piece, *expected;
	} cases[] = {
		{ 4u << 20, "[",
		  "c.yaml:1:17: more than 16 lists and maps inside each other; a "
		  "configuration needs 6\n" },
		{ 4u << 20, "{",
		  "c.yaml:1:17: more than 16 lists and maps inside each other; a "
		  "configuration needs 6\n" },
		{ 2u << 20, "- ",
		  "c.yaml:1:33: more than 16 lists and maps inside each other; a "
		  "configuration needs 6\n" },
		{ 500000, "- &a x\n",
		  "c.yaml:1001:3: more than 1000 anchors (&name); write values "
		  "out instead\n" },
		{ 1u << 20, "- x\n",
		  "c.yaml:1000000:3: more than 1000000 values; is this the "
		  "configuration?\n" },
		{ 200000, "%TAG !a! x\n",
		  "c.yaml:101:1: more than 100 times %TAG; tags mean nothing "
		  "here, remove them\n" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *yaml = NULL;

		add(&yaml, cases[i].times, cases[i].piece);
		expect_line(yaml, cases[i].expected);
		free(yaml);
	}
}

Test(config_bounds, lists_500_mistakes_and_counts_the_others)
{
	char *yaml = NULL, *text, *last;
	size_t n = 0, lines = 0;

	add(&yaml, 1, SERVER SERVICE);
	add(&yaml, 700, "nonsense: 1\n");
	write_text("c.yaml", yaml, 0644);
	text = report_on("c.yaml", &plugins, -EINVAL, &n);
	cr_expect_eq(n, 700);
	for (const char *at = text; *at != '\0'; at++)
		lines += *at == '\n';
	cr_expect_eq(lines, 501);
	last = strstr(text, "c.yaml: ");
	cr_expect_str_eq(last, "c.yaml: 200 more mistakes are not listed; correct these first\n");
	free(text);
	free(yaml);
}

/* A value of nine levels, each ten times the one below. */
Test(config_bounds, survives_aliases_that_multiply)
{
	char *yaml = NULL, *text, line[128];
	const double begin = seconds();

	add(&yaml, 1, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (size_t i = 1; i < 10; i++) {
		snprintf(line, sizeof line, "a%zu: &a%zu [", i, i);
		add(&yaml, 1, line);
		snprintf(line, sizeof line, "*a%zu, ", i - 1);
		add(&yaml, 10, line);
		add(&yaml, 1, "]\n");
	}
	add(&yaml, 1, "servers: *a9\nservices: *a9\ncollectors: *a9\n");
	write_text("c.yaml", yaml, 0644);
	text = report_on("c.yaml", &plugins, -EINVAL, NULL);
	cr_expect_lt(seconds() - begin, 5.0);
	free(text);
	free(yaml);
}

Test(config_bounds, survives_lists_that_contain_themselves)
{
	expect_line("servers: &a [*a, &m {name: *a, address: 'h:1', vars: *m}]\nservices: *a\n",
		    "c.yaml:1:10: a server must be a map (key: value), not a list\n"
		    "c.yaml:1:10: name must be one value, not a list\n"
		    "c.yaml:1:10: a service must be a map (key: value), not a list\n"
		    "c.yaml:1:18: vars must be one value, not a map\n"
		    "c.yaml:1:22: var \"name\" is there for every server already; name it "
		    "otherwise\n"
		    "c.yaml:1:32: unknown key \"address\" in a service; there are: name, servers, "
		    "router, default, stale_after, smooth\n"
		    "c.yaml:1:48: unknown key \"vars\" in a service; there are: name, servers, "
		    "router, default, stale_after, smooth\n");
}

Test(config_bounds, takes_values_by_alias)
{
	struct config *config = read_good_text(
		"servers: [{name: a, address: 'h:1', weight: &w 7}, {name: b, address: 'h:2', "
		"weight: *w}]\nservices: [{name: s, servers: &l [b, a]}, {name: t, servers: "
		"*l}]\n");

	cr_expect_eq(config->servers[1].weight, 7);
	cr_expect_eq(config->services[1].n_servers, 2);
	cr_expect_eq(config->services[1].servers[0], 1);
	config_free(config);
}

Test(config_bounds, survives_a_file_that_is_cut_off_anywhere)
{
	size_t len, good = 0;
	char *yaml = read_data("config_full.yaml", &len);

	write_secrets();
	for (size_t cut = 0; cut <= len; cut++) {
		struct config *config;
		struct config_report report;
		int r;

		write_bytes("c.yaml", yaml, cut, 0644);
		r = config_read("c.yaml", &plugins, &config, &report);
		cr_expect_eq(r == 0, config != NULL);
		cr_expect_eq(r == 0, report.n == 0);
		cr_expect_eq(r == 0, report.text == NULL);
		good += r == 0;
		free(report.text);
		config_free(config);
	}
	cr_expect_gt(good, 0);
	cr_expect_lt(good, len / 4);
	free(yaml);
}

/* Bytes changed, lost and repeated, from a fixed sequence. */
Test(config_bounds, survives_a_file_that_is_damaged_anywhere)
{
	size_t len;
	char *yaml = read_data("config_full.yaml", &len), *bytes = malloc(len + 1);
	uint32_t draw = 1;

	write_secrets();
	for (size_t round = 0; round < 3000; round++) {
		struct config *config;
		struct config_report report;

		memcpy(bytes, yaml, len + 1);
		for (size_t k = 0; k < 1 + round % 4; k++) {
			draw = draw * 1664525u + 1013904223u;
			bytes[(draw >> 8) % len] = "[]{}:-&*~'\"$ \n#,!ax\t"[draw >> 27 & 15];
		}
		write_bytes("c.yaml", bytes, len, 0644);
		cr_expect_eq(config_read("c.yaml", &plugins, &config, &report) == 0, report.n == 0);
		free(report.text);
		config_free(config);
	}
	free(bytes);
	free(yaml);
}
