/* test_config_profile.c - collectors in the source language: profiles, what is laid over them, and
 * where each mistake was made. */
#include <criterion/criterion.h>

#include <jansson.h>

#include "config_fixture.h"
#include "source.h"

static const char *const auths[] = { "none", "sha", NULL };
static const struct cr_option web_table[] = {
	{ "source", CR_TEXT, NULL, 0, 0, NULL, "made of profile" },
	{ "max_body", CR_BYTES, "1MiB", 1024, 1 << 20, NULL, "largest answer" },
	{ "password_file", CR_TEXT, "", 0, 0, NULL, "a secret" },
	{ "ca_file", CR_TEXT, "", 0, 0, NULL, "no secret" },
	{ 0 },
};
static const struct cr_option agent_table[] = {
	{ "source", CR_TEXT, NULL, 0, 0, NULL, "made of profile" },
	{ "counter64", CR_BOOL, "false", 0, 0, NULL, "of version 1" },
	{ "auth", CR_CHOICE, "none", 0, 0, auths, "an option of a name that the language has" },
	{ 0 },
};

static int find_tables(void *arg, bool want_router, const char *plugin,
		       const struct cr_option **table, struct err *err)
{
	*table = NULL;
	if (!want_router && (strcmp(plugin, "web") == 0 || strcmp(plugin, "http") == 0))
		*table = web_table;
	else if (!want_router && (strcmp(plugin, "agent") == 0 || strcmp(plugin, "snmp") == 0))
		*table = agent_table;
	else if (!want_router)
		return find_options(arg, want_router, plugin, table, err);
	return 0;
}

static struct profiles profiles;
static char packed_last[8192];
static int n_asked;

static int accept_all(void *arg, const char *plugin, const char *packed, char **lines,
		      struct err *err)
{
	(void)arg, (void)plugin, (void)err;
	*lines = NULL;
	n_asked++;
	snprintf(packed_last, sizeof packed_last, "%s", packed);
	return 0;
}

static const struct config_plugins with = {
	.options = find_tables, .arg = plugins_arg, .accepts = accept_all, .profiles = &profiles
};

static void begin(void)
{
	enter_folder();
	cr_assert_eq(profiles_add(&profiles, PROFILES), 0);
	cr_assert_eq(profiles_add(&profiles, "own"), 0);
	n_asked = 0;
}

static void end(void)
{
	profiles_fini(&profiles);
	unlink("own/jolokia.yaml");
	unlink("own/mine.yaml");
	rmdir("own");
	remove_folder();
}

TestSuite(config_profile, .init = begin, .fini = end);

/* A file with one server, these collectors, and one service. */
static void write_collectors(const char *collectors)
{
	char yaml[4096];

	snprintf(yaml, sizeof yaml,
		 "servers: [{ name: ms1, address: \"10.0.0.11:7101\" }]\n"
		 "services: [{ name: orders }]\n"
		 "collectors:\n%s",
		 collectors);
	write_text("c.yaml", yaml, 0644);
}

static const char *option_of(const struct config_source *source, const char *name)
{
	for (size_t i = 0; i < source->n_options; i++)
		if (strcmp(source->options[i].name, name) == 0)
			return source->options[i].value;
	return NULL;
}

/* The text at a path like "fields.x.select" of option "source"; "" if it is not there. */
static const char *in_source(const struct config_source *source, const char *path)
{
	static char found[256];
	json_t *root = json_loads(option_of(source, "source"), 0, NULL);
	const json_t *at = root;
	char copy[128], *rest = copy, *key;

	snprintf(copy, sizeof copy, "%s", path);
	while ((key = strsep(&rest, ".")) != NULL)
		at = json_object_get(at, key);
	snprintf(found, sizeof found, "%s", json_is_string(at) ? json_string_value(at) : "");
	json_decref(root);
	return found;
}

static void expect_with_folder(const char *expected)
{
	char *text = report_on("c.yaml", &with, -EINVAL, NULL), want[4096];
	size_t used = 0;

	for (; *expected != '\0' && used < sizeof want - 1; expected++) {
		if (strncmp(expected, "HERE", 4) == 0) {
			used += (size_t)snprintf(want + used, sizeof want - used, "%s", here);
			expected += 3;
			continue;
		}
		want[used++] = *expected;
	}
	want[used] = '\0';
	cr_expect_str_eq(text, want, "%s\ninstead of\n%s", text, want);
	free(text);
}

/*** What is good ***/

Test(config_profile, a_profile_by_name_becomes_the_plugins_source)
{
	struct config *config;

	write_collectors(
		"- { name: j, plugin: web, profile: jolokia, target: \"http://${host}:1\" }\n");
	config = read_good("c.yaml", &with);
	cr_expect_eq(config->sources[0].n_options, 1);
	cr_expect_str_eq(in_source(&config->sources[0], "path"),
			 "/jolokia/read/java.lang:type=Memory/HeapMemoryUsage");
	cr_expect_str_eq(in_source(&config->sources[0], "ok.equals"), "200");
	cr_expect_eq(n_asked, 2, "round_robin and web: %d", n_asked);
	config_free(config);
}

Test(config_profile, maps_merge_key_by_key_and_texts_and_lists_replace)
{
	struct config *config;

	write_text("p.yaml",
		   "path: /a\nformat: json\n"
		   "ok: [{ select: /one, equals: 1 }, { select: /two, equals: 2 }]\n"
		   "fields:\n"
		   "  jvm_heap_used_bytes: { select: /used, undefined: negative }\n"
		   "  jvm_heap_size_bytes: /size\n"
		   "  jvm_heap_max_bytes: /max\n",
		   0644);
	write_collectors("- name: p\n"
			 "  plugin: web\n"
			 "  profile: ./p.yaml\n"
			 "  target: \"http://${host}\"\n"
			 "  path: /b\n"
			 "  ok: { select: /three, equals: 3 }\n"
			 "  fields:\n"
			 "    jvm_heap_used_bytes: { select: /in_use }\n"
			 "    jvm_heap_max_bytes: ~\n"
			 "    busy_threads: /busy\n");
	config = read_good("c.yaml", &with);
	cr_expect_str_eq(option_of(&config->sources[0], "source"),
			 "{\"path\":\"/b\",\"format\":\"json\","
			 "\"ok\":{\"select\":\"/three\",\"equals\":\"3\"},"
			 "\"fields\":{\"jvm_heap_used_bytes\":{\"select\":\"/in_use\","
			 "\"undefined\":\"negative\"},\"jvm_heap_size_bytes\":\"/size\","
			 "\"busy_threads\":\"/busy\"}}");
	config_free(config);
}

Test(config_profile, the_language_works_without_any_profile)
{
	struct config *config;

	write_collectors("- { name: p, plugin: web, target: \"http://${host}\", path: /x,\n"
			 "    format: json, fields: { busy_threads: /busy } }\n");
	config = read_good("c.yaml", &with);
	cr_expect_str_eq(in_source(&config->sources[0], "fields.busy_threads"), "/busy");
	config_free(config);
}

Test(config_profile, options_of_the_plugin_in_a_profile_are_presets)
{
	struct config *config;

	write_text("p.yaml",
		   "path: /a\nformat: json\nmax_body: 2KiB\nca_file: ca.pem\n"
		   "fields: { busy_threads: /busy }\n",
		   0644);
	write_collectors("- { name: p, plugin: web, profile: ./p.yaml, target: \"${host}\" }\n"
			 "- { name: q, plugin: web, profile: ./p.yaml, target: \"${host}\", "
			 "max_body: 4KiB }\n");
	config = read_good("c.yaml", &with);
	cr_expect_str_eq(option_of(&config->sources[0], "max_body"), "2KiB");
	cr_expect_str_eq(option_of(&config->sources[1], "max_body"), "4KiB");
	cr_expect_eq(config->sources[1].n_options, 3);
	cr_expect_str_eq(in_source(&config->sources[0], "max_body"), "", "it is no key of it");
	cr_expect_eq(option_of(&config->sources[0], "ca_file")[0], '/', "an absolute path");
	config_free(config);
}

Test(config_profile, a_key_that_the_plugin_has_as_an_option_is_the_option)
{
	struct config *config;

	write_collectors(
		"- { name: p, plugin: agent, target: \"${host}\", auth: sha, format: snmp-get,\n"
		"    fields: { jvm_heap_used_bytes: .1.3.6.1.0 } }\n");
	config = read_good("c.yaml", &with);
	cr_expect_str_eq(option_of(&config->sources[0], "auth"), "sha");
	cr_expect_str_eq(in_source(&config->sources[0], "auth"), "");
	config_free(config);
}

Test(config_profile, of_two_profiles_with_one_name_the_later_directory_counts)
{
	struct config *config;

	cr_assert_eq(mkdir("own", 0755), 0);
	write_text("own/jolokia.yaml", "path: /own\nformat: json\nfields: { busy_threads: /b }\n",
		   0644);
	write_collectors("- { name: j, plugin: web, profile: jolokia, target: \"${host}\" }\n");
	config = read_good("c.yaml", &with);
	cr_expect_str_eq(in_source(&config->sources[0], "path"), "/own");
	config_free(config);
}

/* These want keys of the user's own. */
static bool is_bare(const char *name)
{
	static const char *const bare[] = { "json", "snmp", "jrockit-mib", "prometheus-query" };

	for (size_t i = 0; i < sizeof bare / sizeof *bare; i++)
		if (strcmp(bare[i], name) == 0)
			return true;
	return false;
}

Test(config_profile, every_shipped_profile_is_one_that_the_language_understands)
{
	struct profiles_list list;

	cr_assert_eq(profiles_list(&profiles, &list), 0);
	cr_expect_geq(list.n, 20, "%zu", list.n);
	for (size_t i = 0; i < list.n; i++) {
		const bool is_agent = strstr(list.entry[i].name, "mib") != NULL;
		char entry[512];

		cr_expect(list.entry[i].summary[0] != '\0', "%s", list.entry[i].name);
		if (is_bare(list.entry[i].name))
			continue;
		snprintf(entry, sizeof entry,
			 "- { name: x, plugin: %s, profile: %s, target: \"${host}\" }\n",
			 is_agent ? "agent" : "web", list.entry[i].name);
		write_collectors(entry);
		config_free(read_good("c.yaml", &with));
	}
	profiles_list_free(&list);
}

/*** Mistakes ***/

Test(config_profile, tells_all_mistakes_of_entry_and_profile_at_once_with_their_places)
{
	write_text("p.yaml",
		   "target: x\n"
		   "format: jsn\n"
		   "foo: 3\n"
		   "max_body: 5\n"
		   "scope: srver\n",
		   0644);
	write_collectors(
		"- { name: a, plugin: web, profile: jolokya, target: \"${host}\" }\n"
		"- name: b\n"
		"  plugin: web\n"
		"  profile: ./p.yaml\n"
		"  target: \"${host}\"\n"
		"  feilds: { busy_threads: /a }\n"
		"  auth: digets\n"
		"- { name: c, plugin: web, target: x }\n"
		"- { name: d, plugin: web, profile: jolokia, target: \"http://10.0.0.1\" }\n"
		"- { name: e, plugin: web, profile: nowhere, target: \"${host}\" }\n"
		"- { name: f, plugin: web, profile: ./q.yaml, target: \"${host}\" }\n"
		"- { name: g, plugin: web, profile: jolokia, target: \"${host}\", source: x }\n");
	expect_with_folder(
		"c.yaml:4:36: no profile \"jolokya\"; did you mean \"jolokia\"?\n"
		"c.yaml:7:12: fields are missing: which metric stands where, as in fields: { "
		"jvm_heap_used_bytes: ... }\n"
		"HERE/p.yaml:1:1: \"target\" is a key of a collector's entry, not of a profile; "
		"move it there\n"
		"HERE/p.yaml:2:1: unknown word \"jsn\"; did you mean \"json\"?\n"
		"HERE/p.yaml:3:1: unknown key \"foo\"; it is neither of the source language nor "
		"an option of plugin web\n"
		"HERE/p.yaml:4:1: plugin web: option \"max_body\": 5 is outside of 1KiB .. 1MiB\n"
		"HERE/p.yaml:5:1: unknown word \"srver\"; did you mean \"server\"?\n"
		"c.yaml:9:3: unknown key \"feilds\"; did you mean \"fields\"?\n"
		"c.yaml:10:3: unknown word \"digets\"; did you mean \"digest\"?\n"
		"c.yaml:11:3: this collector has neither a profile nor fields; add profile: NAME "
		"(callrouterctl profile list shows them)\n"
		"c.yaml:12:53: target: this source asks each server by itself, so the target has "
		"to say where each is; put ${host} or another variable into it\n"
		"c.yaml:13:36: no profile \"nowhere\"; callrouterctl profile list shows them, and "
		"one of your own is written ./FILE.yaml\n"
		"c.yaml:14:36: profile HERE/q.yaml cannot be read: No such file or directory\n"
		"c.yaml:15:64: \"source\" is made of profile and the keys beside it; write "
		"those\n");
	cr_expect_eq(n_asked, 2, "only round_robin and what can be judged (d): %d", n_asked);
}

/* All else that could be said of such an entry would be about keys that are right in the other
 * one. */
Test(config_profile, of_the_other_transport_is_told_with_the_plugin_that_it_wants)
{
	write_text("p.yaml", "format: snmp-get\nfields: { busy_threads: .1.3.6.1.0 }\n", 0644);
	write_collectors("- { name: a, plugin: snmp, profile: json, target: \"${host}\" }\n"
			 "- name: b\n"
			 "  plugin: http\n"
			 "  profile: jvm-mib\n"
			 "  target: \"${host}\"\n"
			 "  counter64: true\n"
			 "- { name: c, plugin: http, profile: snmp, target: \"${host}\" }\n"
			 "- { name: d, plugin: http, profile: ./p.yaml, target: \"${host}\" }\n"
			 "- { name: e, plugin: http, profile: ./p.yaml, target: \"${host}\", "
			 "transport: http, format: json, fields: { busy_threads: /a } }\n"
			 "- { name: f, plugin: agent, profile: jolokia, target: \"${host}\" }\n"
			 "- { name: g, plugin: snmp, profile: ./p.yaml, target: \"${host}\" }\n");
	expect_with_folder(
		"c.yaml:4:37: profile json speaks HTTP, and plugin snmp does not: write plugin: "
		"http, or another profile\n"
		"c.yaml:7:12: profile jvm-mib speaks SNMP, and plugin http does not: write "
		"plugin: snmp, or another profile\n"
		"c.yaml:10:37: profile snmp speaks SNMP, and plugin http does not: write plugin: "
		"snmp, or another profile\n"
		"c.yaml:11:37: profile ./p.yaml speaks SNMP, and plugin http does not: write "
		"plugin: snmp, or another profile\n");
}

Test(config_profile, that_leaves_its_format_to_its_requests_or_to_the_entry_is_of_either_transport)
{
	write_text("p.yaml", "requests:\n  a: { format: snmp-get, fields: { sessions: .1.3.0 } }\n",
		   0644);
	write_text("q.yaml", "fields: { sessions: .1.3.0 }\n", 0644);
	write_text("r.yaml", "format: snmp-get\nfields: { sessions: .1.3.0 }\n", 0644);
	write_collectors("- { name: a, plugin: snmp, profile: ./p.yaml, target: \"${host}\" }\n"
			 "- { name: b, plugin: snmp, profile: ./q.yaml, target: \"${host}\", "
			 "format: snmp-get }\n"
			 "- { name: c, plugin: http, profile: ./r.yaml, target: \"${host}\", "
			 "format: json, fields: { sessions: /a } }\n"
			 "- { name: d, plugin: http, profile: ./p.yaml, target: \"${host}\" }\n");
	expect_with_folder("c.yaml:7:37: profile ./p.yaml speaks SNMP, and plugin http does not: "
			   "write plugin: snmp, or another profile\n");
}

Test(config_profile, a_unit_alone_over_a_selector_alone_is_told_how_to_be_written)
{
	write_text("p.yaml", "format: json\nfields: { jvm_heap_used_bytes: /used }\n", 0644);
	write_collectors("- name: p\n"
			 "  plugin: web\n"
			 "  profile: ./p.yaml\n"
			 "  target: \"${host}\"\n"
			 "  fields: { jvm_heap_used_bytes: { unit: kib } }\n");
	expect_with_folder("c.yaml:8:34: the profile has a selector alone here; write it whole: "
			   "{ select: '/used', unit: kib }\n");
}

Test(config_profile, a_profile_that_is_no_yaml_is_told_with_its_line)
{
	write_text("p.yaml", "path: /a\nformat: [json\n", 0644);
	write_collectors("- { name: p, plugin: web, profile: ./p.yaml, target: \"${host}\" }\n");
	expect_with_folder("HERE/p.yaml:3:1: not YAML: did not find expected ',' or ']'\n");
}

Test(config_profile, a_profile_used_twice_is_told_once)
{
	write_text("p.yaml", "path: a\nformat: json\nfields: { busy_threads: /b }\n", 0644);
	write_collectors("- { name: p, plugin: web, profile: ./p.yaml, target: \"${host}\" }\n"
			 "- { name: q, plugin: web, profile: ./p.yaml, target: \"${host}\" }\n");
	expect_with_folder("HERE/p.yaml:1:1: path \"a\" has to begin with \"/\"\n");
}

Test(config_profile, a_secret_in_a_profile_is_as_guarded_as_one_in_the_entry)
{
	write_secrets();
	write_text("p.yaml",
		   "path: /a\nformat: json\nfields: { busy_threads: /b }\npassword_file: open\n",
		   0644);
	write_collectors("- { name: p, plugin: web, profile: ./p.yaml, target: \"${host}\" }\n");
	expect_with_folder(
		"HERE/p.yaml:4:1: password_file: HERE/open has mode 644, so others than its owner "
		"and group can get at it; run chmod 640 HERE/open\n");
}

Test(config_profile, a_mistake_that_quotes_line_breaks_stays_one_line)
{
	write_collectors("- { name: j, plugin: web, profile: jolokia, target: \"${host}\",\n"
			 "    \"a\\nb\\t\\e[2J\": x }\n");
	expect_with_folder(
		"c.yaml:5:5: a key holds a control character (a line break, a tab); remove it\n"
		"c.yaml:5:5: unknown key \"a?b??[2J\"; it is neither of the source language nor "
		"an option of plugin web\n");
}
