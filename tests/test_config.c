/* test_config.c - the configuration reader: every message, every value of a good file, every
 * default.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "config_fixture.h"
#include "source.h"

#define MS INT64_C(1000000)

TestSuite(config, .init = enter_folder, .fini = remove_folder);

/*** Mistakes ***/

/* Text with every HERE replaced; freed by the caller. */
static char *with_folder(const char *text)
{
	char *out = NULL;
	const char *at;

	add(&out, 1, "");
	while ((at = strstr(text, "HERE")) != NULL) {
		char *before = strndup(text, (size_t)(at - text));

		add(&out, 1, before);
		add(&out, 1, here);
		free(before);
		text = at + 4;
	}
	add(&out, 1, text);
	return out;
}

/* One example, cut in place: title, configuration, "==>", report. */
static void check_example(char *example)
{
	char *yaml = strchr(example, '\n') + 1, *arrow = strstr(example, "==>\n");
	char *expected, *text;

	cr_assert(arrow != NULL, "%s", example);
	yaml[-1] = '\0';
	write_bytes("c.yaml", yaml, (size_t)(arrow - yaml), 0644);
	expected = with_folder(arrow + 4);
	text = report_on("c.yaml", &plugins, -EINVAL, NULL);
	cr_expect_str_eq(text, expected, "%s:\n%s\ninstead of\n%s", example, text, expected);
	free(expected);
	free(text);
}

Test(config, tells_every_mistake_with_its_place_and_what_would_be_right)
{
	static const char begin[] = "\n=== ";
	size_t len, n = 0;
	char *data = read_data("config_mistakes.txt", &len), *at = strstr(data, begin);

	write_secrets();
	while (at != NULL) {
		char *next = strstr(at + 1, begin);

		/* The empty line between examples belongs to neither. */
		if (next != NULL)
			*next = '\0';
		check_example(at + sizeof begin - 1);
		at = next;
		if (at != NULL)
			*at = '\n';
		n++;
	}
	cr_expect_eq(n, 81, "%zu examples", n);
	free(data);
}

Test(config, tells_two_dozen_mistakes_at_once_in_the_order_of_the_file)
{
	expect_mistakes(
		"services:\n"                                               /* 1 */
		"  - name: orders\n"                                        /* 2 */
		"    servers: [ms1, msl, admin]\n"                          /* 3 */
		"    router: { plugin: sorted, option: 1 }\n"               /* 4 */
		"    default: Round-Robin\n"                                /* 5 */
		"    stale_after: 10\n"                                     /* 6 */
		"    prefer: [local]\n"                                     /* 7 */
		"collectors:\n"                                             /* 8 */
		"  - name: wls\n"                                           /* 9 */
		"    plugin: snmp\n"                                        /* 10 */
		"    target: \"udp:${hots}:161\"\n"                         /* 11 */
		"    intervall: 2s\n"                                       /* 12 */
		"    timeout: 3s\n"                                         /* 13 */
		"    retries: 6\n"                                          /* 14 */
		"    servers: [ms1, ms1, nobody]\n"                         /* 15 */
		"servers:\n"                                                /* 16 */
		"  - { name: admin, address: \"h:0\", role: admn }\n"       /* 17 */
		"  - { name: ms1, address: h, weight: 101, wieght: 1 }\n"   /* 18 */
		"  - { name: ms1, address: \"::1:1\", vars: { port: x },\n" /* 19 */
		"      targets: { wsl: x } }\n"                             /* 20 */
		"clutser: orders\n"                                         /* 21 */
		"group: no-such-group\n",                                   /* 22 */
		"c.yaml:3:20: no server has the name \"msl\"; did you mean \"ms1\"?\n"
		"c.yaml:4:13: plugin sorted: option \"order_by\" is missing, add it: what to "
		"compare\n"
		"c.yaml:4:13: plugin sorted: option \"ties\" is missing, add it: what to do with "
		"equal ones\n"
		"c.yaml:4:31: unknown key \"option\" in router; did you mean \"options\"?\n"
		"c.yaml:5:14: default \"Round-Robin\" is no plugin's name; use 1 to 31 of a-z, 0-9 "
		"and _\n"
		"c.yaml:6:18: stale_after 10 has no unit; write a duration like 500ms, 2s, 3m, 1h "
		"or 1d\n"
		"c.yaml:7:5: unknown key \"prefer\" in a service; there are: name, servers, "
		"router, "
		"default, stale_after, health, full_at, smooth\n"
		"c.yaml:9:5: plugin snmp: option \"community_file\" is missing, add it: file with "
		"the community\n"
		"c.yaml:11:13: target: ${hots} is unknown for server \"ms1\"; did you mean "
		"${host}?\n"
		"c.yaml:12:16: unknown key \"intervall\"; did you mean \"interval\"?\n"
		"c.yaml:13:14: timeout is longer than the interval (2 s); a poll has to end before "
		"the next begins\n"
		"c.yaml:14:14: plugin snmp: option \"retries\": 6 is outside of 0 .. 5\n"
		"c.yaml:15:20: server \"ms1\" is in this list twice; keep one\n"
		"c.yaml:15:25: no server has the name \"nobody\"; add it under servers or remove "
		"it "
		"here\n"
		"c.yaml:17:29: address \"h:0\" has a bad port; ports are 1 to 65535\n"
		"c.yaml:17:42: role \"admn\" is unknown; did you mean \"admin\"?\n"
		"c.yaml:18:27: address \"h\" has no port; write HOST:PORT, like \"h:7001\"\n"
		"c.yaml:18:38: weight \"101\" is out of range; write a whole number from 0 to 100\n"
		"c.yaml:18:43: unknown key \"wieght\" in a server; did you mean \"weight\"?\n"
		"c.yaml:19:5: server \"ms1\" is there twice, before on line 18; names must differ\n"
		"c.yaml:19:27: address \"::1:1\" is no HOST:PORT; put an IPv6 address in brackets: "
		"\"[ADDRESS]:PORT\"\n"
		"c.yaml:19:44: var \"port\" is there for every server already; name it otherwise\n"
		"c.yaml:20:18: no collector has the name \"wsl\"; did you mean \"wls\"?\n"
		"c.yaml:21:1: unknown key \"clutser\" in the configuration; did you mean "
		"\"cluster\"?\n"
		"c.yaml:22:8: this machine has no group \"no-such-group\"; name another, or create "
		"it: groupadd --system no-such-group\n");
}

Test(config, tells_which_bytes_are_no_text)
{
	expect_mistakes("# one\na: \x01\n", "c.yaml:2:4: not YAML: control characters are not "
					    "allowed (0x01); remove it\n");
	expect_mistakes("# \xc3\xa9\n\xc3\xa9: \xff\n",
			"c.yaml:2:4: not YAML: invalid leading UTF-8 octet (0xff); save the file "
			"as UTF-8\n");
	write_bytes("c.yaml", "a: \0\n", 5, 0644);
	expect_report("c.yaml", -EINVAL,
		      "c.yaml:1:4: not YAML: control characters are not allowed (0x00); remove "
		      "it\n");
}

/* Root may read everything. */
static void as_nobody(bool yes)
{
	if (getuid() == 0)
		cr_assert_eq(seteuid(yes ? 65534 : 0), 0);
}

Test(config, says_why_a_file_cannot_be_read)
{
	expect_report("none.yaml", -ENOENT,
		      "none.yaml: cannot be opened: No such file or directory; check the path and "
		      "its permissions\n");
	expect_report("/", -EISDIR, "/: is a folder; name the file in it\n");
	expect_report("/proc/self/mem", -EIO,
		      "/proc/self/mem: cannot be read: Input/output error\n");
	cr_assert_eq(mkfifo("fifo", 0644), 0);
	expect_report("fifo", -EINVAL, "fifo: is no regular file; name one\n");
	cr_assert_eq(chmod(".", 0755), 0);
	write_text("c.yaml", "a: b\n", 0000);
	as_nobody(true);
	expect_report("c.yaml", -EACCES,
		      "c.yaml: cannot be opened: Permission denied; check the path and its "
		      "permissions\n");
	as_nobody(false);
}

#define ONE_SERVER "servers: [{name: ms1, address: 'h1:1'}]\nservices: [{name: s}]\n"

Test(config, refuses_a_secret_that_the_daemon_cannot_read)
{
	char *expected =
		with_folder("c.yaml:3:65: community_file: HERE/community cannot be opened: "
			    "Permission denied; let the daemon's user read it\n");

	cr_assert_eq(chmod(".", 0755), 0);
	write_text("community", "public\n", 0000);
	write_text("c.yaml",
		   ONE_SERVER "collectors: [{name: a, plugin: snmp, target: x, community_file: "
			      "community}]\n",
		   0644);
	as_nobody(true);
	expect_report("c.yaml", -EINVAL, expected);
	as_nobody(false);
	free(expected);
}

/* What they would refuse at the poll; a key has a form of its own. */
Test(config, judges_a_secret_as_the_collectors_will)
{
	char *text, *expected = with_folder("c.yaml:3:65: community_file: HERE/community has "
					    "nothing in its first line; write "
					    "the secret there\n"
					    "c.yaml:4:53: password_file: HERE/fifo has a control "
					    "byte (0x00) as byte 2 of its "
					    "first line; write the secret as plain text\n");

	write_text("community", "\npublic\n", 0640);
	write_bytes("fifo", "a\0b\n", 4, 0640);
	write_text("c.yaml",
		   ONE_SERVER "collectors: [{name: a, plugin: snmp, target: x, community_file: "
			      "community},\n"
			      "  {name: b, plugin: http, target: x, password_file: fifo},\n"
			      "  {name: c, plugin: http, target: x, my_key_file: fifo}]\n",
		   0644);
	text = report_on("c.yaml", NULL, -EINVAL, NULL);
	cr_expect_str_eq(text, expected);
	free(text);
	free(expected);
}

/*** Good files ***/

static void expect_server(const struct config_server *server, const char *name, const char *host,
			  const char *port, uint32_t weight)
{
	cr_expect_str_eq(server->name, name);
	cr_expect_str_eq(server->host, host);
	cr_expect_str_eq(server->port, port);
	cr_expect_eq(server->weight, weight);
}

static void expect_pair(const struct config_pair *pair, const char *name, const char *value)
{
	cr_expect_str_eq(pair->name, name);
	cr_expect_str_eq(pair->value, value);
}

static struct config *read_full(void)
{
	size_t len;
	char *yaml = read_data("config_full.yaml", &len);
	struct config *config;

	write_secrets();
	config = read_good_text(yaml);
	free(yaml);
	return config;
}

Test(config, reads_servers_with_roles_weights_vars_and_targets)
{
	struct config *config = read_full();

	cr_expect_str_eq(config->path, "c.yaml");
	cr_expect_str_eq(config->cluster, "orders");
	cr_expect_str_eq(config->group, "root");
	cr_assert_eq(config->n_servers, 4);
	expect_server(&config->servers[0], "admin", "10.0.0.10", "7001", 1);
	expect_server(&config->servers[1], "ms1", "10.0.0.11", "7101", 5);
	expect_server(&config->servers[2], "ms2", "[fe80::1%eth0]", "7102", 0);
	expect_server(&config->servers[3], "ms3", "ms3.example", "7103", 1);
	cr_expect_str_eq(config->servers[2].address, "[fe80::1%eth0]:7102");
	cr_expect(config->servers[0].is_admin);
	cr_expect(!config->servers[1].is_admin && !config->servers[3].is_admin);
	cr_assert_eq(config->servers[3].n_vars, 2);
	expect_pair(&config->servers[3].vars[0], "jmx", "9001");
	expect_pair(&config->servers[3].vars[1], "rack", "");
	cr_assert_eq(config->servers[1].n_targets, 1);
	expect_pair(&config->servers[1].targets[0], "jvm", "http://ms1.example:${jmx}");
	cr_expect_eq(config->servers[1].targets[0].line, 9);
	cr_expect_eq(config->servers[1].targets[0].column, 21);
	cr_expect_eq(config->servers[0].n_vars + config->servers[0].n_targets, 0);
	config_free(config);
}

Test(config, reads_collectors_with_options_and_makes_secrets_absolute)
{
	struct config *config = read_full();
	char *community = with_folder("HERE/community"), *packed, *expected;
	const struct config_source *wls = &config->sources[0], *jvm = &config->sources[1];

	cr_assert_eq(config->n_sources, 2);
	cr_expect_str_eq(wls->name, "wls");
	cr_expect_str_eq(wls->plugin, "snmp");
	cr_expect_str_eq(wls->target, "udp:10.0.0.10:161");
	cr_expect_eq(wls->interval_ns, 3000 * MS);
	cr_expect_eq(wls->timeout_ns, 250 * MS);
	cr_assert_eq(wls->n_servers, 2);
	cr_expect(wls->servers[0] == 3 && wls->servers[1] == 1);
	cr_expect(wls->line == 13 && wls->column == 5);
	cr_assert_eq(wls->n_options, 2);
	expect_pair(&wls->options[0], "profile", "weblogic-mib");
	expect_pair(&wls->options[1], "community_file", community);
	cr_expect(wls->options[1].line == 17 && wls->options[1].column == 21);
	packed = config_pack(wls->options, wls->n_options);
	expected = with_folder("profile=weblogic-mib\ncommunity_file=HERE/community\n");
	cr_expect_str_eq(packed, expected);
	cr_expect_str_eq(jvm->name, "jvm");
	cr_expect_eq(jvm->interval_ns, 100 * MS);
	cr_expect_eq(jvm->timeout_ns, 100 * MS, "at most the interval");
	cr_assert_eq(jvm->n_servers, 3, "all managed ones");
	cr_expect(jvm->servers[0] == 1 && jvm->servers[1] == 2 && jvm->servers[2] == 3);
	cr_expect_eq(jvm->n_options, 0);
	free(community);
	free(packed);
	free(expected);
	config_free(config);
}

Test(config, reads_services_with_router_and_default)
{
	struct config *config = read_full();
	const struct config_service *orders = &config->services[0], *stock = &config->services[1];

	cr_assert_eq(config->n_services, 2);
	cr_expect_str_eq(orders->name, "orders");
	cr_assert_eq(orders->n_servers, 2);
	cr_expect(orders->servers[0] == 2 && orders->servers[1] == 1);
	cr_expect_str_eq(orders->router.plugin, "sorted");
	cr_assert_eq(orders->router.n_options, 2);
	expect_pair(&orders->router.options[0], "order_by", "-jvm_heap_free_bytes");
	expect_pair(&orders->router.options[1], "ties", "1%");
	cr_expect(orders->router.line == 25 && orders->router.column == 13);
	cr_expect_str_eq(orders->preset.plugin, "heap_free");
	cr_expect_eq(orders->stale_after_ns, 60000 * MS);
	cr_expect_str_eq(stock->name, "stock");
	cr_assert_eq(stock->n_servers, 3, "all managed ones");
	cr_expect(stock->servers[0] == 1 && stock->servers[2] == 3);
	cr_expect(stock->router.plugin == NULL);
	cr_expect_str_eq(stock->preset.plugin, "round_robin");
	cr_expect_eq(stock->preset.n_options, 0);
	cr_expect(stock->preset.line == 37 && stock->preset.column == 5);
	cr_expect_eq(stock->stale_after_ns, 10000 * MS);
	config_free(config);
}

Test(config, fills_in_defaults)
{
	struct config *config =
		read_good_text(ONE_SERVER "collectors: [{name: c, plugin: http, target: x}]\n");

	cr_expect_str_eq(config->cluster, "callrouter");
	cr_expect(config->group == NULL);
	cr_expect_eq(config->servers[0].weight, 1);
	cr_expect_eq(config->sources[0].interval_ns, 2000 * MS);
	cr_expect_eq(config->sources[0].timeout_ns, 500 * MS);
	config_free(config);
}

Test(config, does_without_collectors_and_without_knowledge_of_plugins)
{
	struct config *config;

	config_free(read_good_text(ONE_SERVER));
	config_free(NULL);
	write_text("c.yaml",
		   ONE_SERVER "collectors: [{name: c, plugin: other, target: x, any: thing}]\n",
		   0644);
	config = read_good("c.yaml", NULL);
	expect_pair(&config->sources[0].options[0], "any", "thing");
	config_free(config);
}

Test(config, fills_targets_in_for_each_server)
{
	struct config *config = read_full();
	static const struct {
		const char *target, *expected;
	} cases[] = {
		{ "", "" },
		{ "udp:h:161", "udp:h:161" },
		{ "${host}", "10.0.0.11" },
		{ "a${port}${name}b", "a7101ms1b" },
		{ "$x $${jmx}{y}", "$x $9001{y}" },
		{ "[${rack}]", "[]" },
		{ "${nope}", NULL },
		{ "${hos}", NULL },
		{ "${hostt}", NULL },
		{ "${", NULL },
		{ "${}", NULL },
		{ "x${host", NULL },
		{ "${a${host}}", NULL },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = config_expand(cases[i].target, &config->servers[1]);

		if (cases[i].expected == NULL)
			cr_expect(text == NULL, "%s: %s", cases[i].target, text);
		else
			cr_expect_str_eq(text, cases[i].expected);
		free(text);
	}
	cr_expect(source_is_template("udp:${host}:1"));
	cr_expect(!source_is_template("udp:$host:{1}"));
	config_free(config);
}

Test(config, smoothing_is_as_written_and_else_by_what_the_metric_is)
{
	static const char yaml[] = "servers: [{ name: a, address: \"h:1\" }]\n"
				   "services:\n"
				   "  - { name: a, smooth: [jvm_heap_free_bytes, "
				   "jvm_heap_used_bytes, busy_threads] }\n"
				   "  - name: b\n"
				   "    smooth:\n"
				   "      jvm_heap_free_bytes: { window_max: 2s, band: 0.2 }\n"
				   "      busy_threads: { half_life: 3s }\n"
				   "      jvm_heap_size_bytes: { window_min: 4s, band: 0% }\n"
				   "      jvm_heap_available_bytes: default\n"
				   "  - { name: c }\n";
	static const struct config_smooth want[2][4] = {
		{ { NULL, 10000 * MS, false, 0, 0.1 },
		  { NULL, 10000 * MS, true, 0, 0.1 },
		  { NULL, 0, false, 5000 * MS, 0.1 } },
		{ { NULL, 2000 * MS, false, 0, 0.2 },
		  { NULL, 0, false, 3000 * MS, 0.1 },
		  { NULL, 4000 * MS, true, 0, 0 },
		  { NULL, 10000 * MS, false, 0, 0.1 } },
	};
	struct config *config = read_good_text(yaml);

	cr_expect_eq(config->services[0].n_smooth, 3);
	cr_expect_eq(config->services[1].n_smooth, 4);
	cr_expect_eq(config->services[2].n_smooth, 0);
	cr_expect_str_eq(config->services[0].smooth[1].metric, "jvm_heap_used_bytes");
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < config->services[i].n_smooth; k++) {
			const struct config_smooth *got = &config->services[i].smooth[k];

			cr_expect_eq(got->window_ns, want[i][k].window_ns, "%zu %zu", i, k);
			cr_expect_eq(got->is_min, want[i][k].is_min, "%zu %zu", i, k);
			cr_expect_eq(got->half_life_ns, want[i][k].half_life_ns, "%zu %zu", i, k);
			cr_expect_eq(got->band, want[i][k].band, "%zu %zu", i, k);
		}
	config_free(config);
}

Test(config, a_window_is_longer_where_polls_are_rare)
{
	struct config *config;

	write_secrets();
	config = read_good_text("servers: [{ name: a, address: \"h:1\" }]\n"
				"collectors: [{ name: x, plugin: snmp, target: t, interval: 2s, "
				"community_file: community }]\n"
				"services: [{ name: a, smooth: [jvm_heap_free_bytes] }]\n");
	cr_expect_eq(config->services[0].smooth[0].window_ns, 30000 * MS);
	config_free(config);
}
