/* test_config_vars.c - variables in what is sent to a server: which a source names, and which
 * servers lack them. */
#include <criterion/criterion.h>

#include "config_fixture.h"

static struct profiles profiles;

static const struct config_plugins with = { .options = find_options,
					    .arg = plugins_arg,
					    .profiles = &profiles };

TestSuite(config_vars, .init = enter_folder, .fini = remove_folder);

/* Two servers, of which the second has no var "zone", and one collector. */
static void write_collector(const char *target, const char *keys)
{
	char yaml[2048];

	snprintf(yaml, sizeof yaml,
		 "servers:\n"
		 "- { name: ms1, address: \"10.0.0.11:7101\", vars: { rack: a, zone: z } }\n"
		 "- { name: ms2, address: \"10.0.0.12:7102\", vars: { rack: 'b \"c' } }\n"
		 "services: [{ name: orders }]\n"
		 "collectors:\n"
		 "- name: p\n"
		 "  plugin: web\n"
		 "  target: \"%s\"\n%s",
		 target, keys);
	write_text("c.yaml", yaml, 0644);
}

static void expect_told(const char *expected)
{
	char *text = report_on("c.yaml", &with, -EINVAL, NULL);

	cr_expect_str_eq(text, expected, "%s\ninstead of\n%s", text, expected);
	free(text);
}

Test(config_vars, of_path_query_headers_and_body_are_those_of_each_server)
{
	struct config *config;
	struct cr_var *vars;
	size_t n;

	write_collector("http://10.0.0.1", "  format: json\n"
					   "  path: \"/${name}\"\n"
					   "  query: { h: \"${host}\" }\n"
					   "  headers: { X-R: \"${rack}\" }\n"
					   "  body: \"${port} ${rack}\"\n"
					   "  fields: { busy_threads: /b }\n");
	config = read_good("c.yaml", &with);
	cr_expect(config_asks_each(&config->sources[0]), "its target names none");
	vars = config_vars(&config->sources[0], &config->servers[1], &n);
	cr_assert_eq(n, 4);
	cr_expect_str_eq(vars[0].name, "name");
	cr_expect_str_eq(vars[0].value, "ms2");
	cr_expect_str_eq(vars[1].name, "host");
	cr_expect_str_eq(vars[1].value, "10.0.0.12");
	cr_expect_str_eq(vars[2].name, "port");
	cr_expect_str_eq(vars[2].value, "7102");
	cr_expect_str_eq(vars[3].name, "rack");
	cr_expect_str_eq(vars[3].value, "b \"c");
	free(vars);
	config_free(config);
}

Test(config_vars, that_a_server_lacks_are_told_with_their_place)
{
	write_collector("http://${host}", "  format: json\n"
					  "  path: \"/${zone}\"\n"
					  "  headers: { X-R: \"${rak}\" }\n"
					  "  requests:\n"
					  "    one: { body: \"${nothing.like.it}\", fields: { "
					  "busy_threads: /b } }\n");
	expect_told(
		"c.yaml:10:3: path: ${zone} is unknown for server \"ms2\"; there are ${host}, "
		"${port}, ${name} and the server's vars\n"
		"c.yaml:11:14: headers/X-R: ${rak} is unknown for server \"ms1\" and 1 other; did "
		"you mean ${rack}?\n"
		"c.yaml:13:12: requests/one/body: ${nothing.like.it} is unknown for server \"ms1\" "
		"and 1 other; there are ${host}, ${port}, ${name} and the server's vars\n");
}

Test(config_vars, of_a_profile_are_told_with_its_place)
{
	char expected[512];

	write_text("p.yaml", "format: json\npath: /${zone}\nfields: { busy_threads: /b }\n", 0644);
	write_collector("http://${host}", "  profile: ./p.yaml\n");
	snprintf(expected, sizeof expected,
		 "%s/p.yaml:2:1: path: ${zone} is unknown for server \"ms2\"; there are ${host}, "
		 "${port}, ${name} and the server's vars\n",
		 here);
	expect_told(expected);
}

Test(config_vars, of_one_server_cannot_stand_in_a_question_about_all)
{
	static const char keys[] = "  format: json\n"
				   "  path: \"/${name}/${rack}\"\n"
				   "  rows: /*\n"
				   "  key: /n\n"
				   "  fields: { busy_threads: /b }\n";

	write_collector("http://10.0.0.1", keys);
	expect_told("c.yaml:10:3: path: ${name} is another one for each server, but one poll "
		    "answers for all servers of this collector; write what it stands for\n"
		    "c.yaml:10:3: path: ${rack} is another one for each server, but one poll "
		    "answers for all servers of this collector; write what it stands for\n");
	write_collector("http://${host}", keys);
	config_free(read_good("c.yaml", &with));
}

Test(config_vars, that_are_no_names_are_told)
{
	write_collector("http://${host}", "  format: json\n"
					  "  path: \"/${zone\"\n"
					  "  fields: { busy_threads: /b }\n");
	expect_told("c.yaml:10:3: \"${zone\" is no variable; write ${NAME}, closed by }\n");
}

#define TABLE                                                                                      \
	"  format: snmp-table\n"                                                                   \
	"  key: .1.3.6.1\n"                                                                        \
	"  fields: { busy_threads: .1.3.6.2 }\n"

Test(config_vars, behind_a_community_are_those_of_each_server)
{
	struct config *config;
	struct cr_var *vars;
	size_t n;

	write_collector("udp:10.0.0.1", TABLE "  community_suffix: \"@${name}/${rack}\"\n");
	config = read_good("c.yaml", &with);
	cr_expect(config_asks_each(&config->sources[0]), "one agent, and each server");
	vars = config_vars(&config->sources[0], &config->servers[1], &n);
	cr_assert_eq(n, 2);
	cr_expect_str_eq(vars[0].value, "ms2");
	cr_expect_str_eq(vars[1].value, "b \"c");
	free(vars);
	config_free(config);
}

Test(config_vars, in_a_context_are_told_like_all_others)
{
	write_collector("udp:10.0.0.1", TABLE "  context: \"${zone}\"\n");
	expect_told("c.yaml:12:3: context: ${zone} is unknown for server \"ms2\"; there are "
		    "${host}, ${port}, ${name} and the server's vars\n");
	write_collector("udp:10.0.0.1", TABLE "  scope: group\n  context: \"${name}\"\n");
	expect_told("c.yaml:13:3: context: ${name} is another one for each server, but one poll "
		    "answers for all servers of this collector; write what it stands for\n");
	write_collector("http://10.0.0.1", "  format: json\n"
					   "  context: \"${name}\"\n"
					   "  fields: { busy_threads: /b }\n");
	expect_told("c.yaml:10:3: context is for SNMP; remove it from an HTTP source\n");
}

/* Of the second server only, and as long as its name is. */
Test(config_vars, that_make_a_community_too_long_are_told_with_the_server)
{
	char keys[512], text[251];

	memset(text, 's', 250);
	text[250] = '\0';
	snprintf(keys, sizeof keys, TABLE "  community_suffix: \"@%s${rack}\"\n", text);
	write_collector("udp:10.0.0.1", keys);
	config_free(read_good("c.yaml", &with));
	snprintf(keys, sizeof keys, TABLE "  community_suffix: \"@%sx${rack}\"\n", text);
	write_collector("udp:10.0.0.1", keys);
	expect_told("c.yaml:12:3: community_suffix cannot be sent for server \"ms2\": it has 256 "
		    "bytes, and SNMP takes at most 255; shorten it\n");
	snprintf(keys, sizeof keys, TABLE "  context: \"@%s${name}${rack}\"\n", text);
	write_collector("udp:10.0.0.1", keys);
	expect_told("c.yaml:12:3: context cannot be sent for server \"ms2\": it has 258 bytes, "
		    "and SNMP takes at most 255; shorten it\n");
	snprintf(keys, sizeof keys, TABLE "  context: \"%s${name}${name}${rack}\"\n", text);
	write_collector("udp:10.0.0.1", keys);
	expect_told("c.yaml:12:3: context cannot be sent for server \"ms1\" and 1 other: it has "
		    "257 bytes, and SNMP takes at most 255; shorten it\n");
}

Test(config_vars, that_leave_a_context_empty_are_told)
{
	write_text("c.yaml",
		   "servers: [{ name: a, address: \"h:1\", vars: { x: \"\" } }]\n"
		   "services: [{ name: s }]\n"
		   "collectors:\n"
		   "- name: p\n"
		   "  plugin: web\n"
		   "  target: udp:h\n" TABLE "  context: ${x}\n",
		   0644);
	expect_told("c.yaml:10:3: context cannot be sent for server \"a\": it is empty once it is "
		    "filled in; look at its vars\n");
}

static int find_agent(void *arg, bool want_router, const char *plugin,
		      const struct cr_option **table, struct err *err)
{
	static const struct cr_option options[] = {
		{ "source", CR_TEXT, NULL, 0, 0, NULL, "made of profile" },
		{ "community_file", CR_TEXT, "", 0, 0, NULL, "file with the community" },
		{ 0 },
	};

	if (strcmp(plugin, "web") != 0)
		return find_options(arg, want_router, plugin, table, err);
	*table = options;
	return 0;
}

/* Of 255 bytes the community has 249. */
Test(config_vars, that_make_a_community_too_long_with_the_secret_are_told_without_it)
{
	const struct config_plugins agent = { .options = find_agent,
					      .arg = plugins_arg,
					      .profiles = &profiles };
	static const char keys[] = TABLE "  community_file: community\n"
					 "  community_suffix: \"@${rack}${name}\"\n";
	char text[256], *report;

	memset(text, 's', 249);
	memcpy(text + 249, "\n", 2);
	write_text("community", text, 0640);
	write_collector("udp:10.0.0.1", keys);
	report = report_on("c.yaml", &agent, -EINVAL, NULL);
	cr_expect_str_eq(report,
			 "c.yaml:13:3: community_suffix cannot be sent for server \"ms2\": the "
			 "community has more than 255 bytes with it; shorten one of them\n");
	free(report);
	write_text("community", text + 1, 0640);
	report = report_on("c.yaml", &agent, -EINVAL, NULL);
	cr_expect_not_null(strstr(report, "\"ms2\""));
	free(report);
	write_text("community", text + 3, 0640);
	config_free(read_good("c.yaml", &agent));
}

/* Into a header they would bring another one. */
Test(config_vars, hold_no_line_breaks)
{
	write_text("c.yaml",
		   "servers: [{ name: a, address: \"h:1\", vars: { x: \"1\\r\\nY: 2\" } }]\n"
		   "services: [{ name: s }]\n",
		   0644);
	expect_told("c.yaml:1:49: x holds a control character (a line break, a tab); remove it\n");
}
