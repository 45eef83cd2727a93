/* test_plugin.c - the loader: what it takes, and every sentence with which it refuses a table. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define GOOD         TEST_PLUGINS_DIR "/good.so"

static struct plugin *plugin;
static struct err err;

/*** Taking ***/

Test(plugin, adopts_a_sound_router)
{
	cr_assert_eq(plugin_open(GOOD, "good", &plugin, &err), 0, "%s", err.text);
	cr_expect_eq(plugin->kind, PLUGIN_ROUTER);
	cr_expect_str_eq(plugin_name(plugin), "good");
	cr_expect_str_eq(plugin_version(plugin), "1.2.3");
	cr_expect_str_eq(plugin_options(plugin)[0].name, "mode");
	cr_expect_eq(plugin->router.state_tag, 7);
	cr_expect_null(plugin->router.rank);
	cr_expect_not_null(plugin->router.route);
	cr_expect_str_eq(plugin->path, GOOD);
	plugin_close(plugin);
}

Test(plugin, lists_needed_metrics_before_wanted_ones)
{
	cr_assert_eq(plugin_open(GOOD, NULL, &plugin, &err), 0, "%s", err.text);
	cr_expect_str_eq(plugin_metric(&plugin->router, 0), "first_metric");
	cr_expect_str_eq(plugin_metric(&plugin->router, 1), "second_metric");
	cr_expect_str_eq(plugin_metric(&plugin->router, 2), "third_metric");
	cr_expect_null(plugin_metric(&plugin->router, 3));
	cr_expect_null(plugin_metric(&plugin->router, 4));
	cr_expect_eq(plugin_count(plugin->router.wants), 2);
	cr_expect_eq(plugin_count(NULL), 0);
	plugin_close(plugin);
}

Test(plugin, copies_only_what_it_knows_of_a_longer_table)
{
	cr_assert_eq(plugin_open(TEST_PLUGINS_DIR "/longer.so", "longer", &plugin, &err), 0, "%s",
		     err.text);
	cr_expect_eq(plugin->router.size, 4096);
	cr_expect_null(plugin->collector.collect);
	plugin_close(plugin);
}

/* What is behind the end of its table is not of the table. */
Test(plugin, takes_a_router_of_abi_1_0_and_finds_no_prepare_in_it)
{
	cr_assert_eq(plugin_open(TEST_PLUGINS_DIR "/minor_0.so", "minor_0", &plugin, &err), 0, "%s",
		     err.text);
	cr_expect_eq(plugin->router.abi, 0x10000);
	cr_expect_eq(plugin->router.size, 112);
	cr_expect_not_null(plugin->router.route);
	cr_expect_null(plugin->router.prepare);
	cr_expect_null(plugin->router.release);
	plugin_close(plugin);
}

Test(plugin, unmaps_a_closed_router_and_keeps_a_closed_collector)
{
	void *handle;

	cr_assert_eq(plugin_open(GOOD, NULL, &plugin, &err), 0, "%s", err.text);
	plugin_close(plugin);
	cr_expect_null(dlopen(GOOD, RTLD_NOW | RTLD_NOLOAD));
	cr_assert_eq(plugin_open(TEST_PLUGINS_DIR "/collecting.so", "collecting", &plugin, &err), 0,
		     "%s", err.text);
	cr_expect_eq(plugin->kind, PLUGIN_COLLECTOR);
	cr_expect_str_eq(plugin_name(plugin), "collecting");
	cr_expect_str_eq(plugin_version(plugin), "1.0.0");
	cr_expect_null(plugin_options(plugin));
	plugin_close(plugin);
	handle = dlopen(TEST_PLUGINS_DIR "/collecting.so", RTLD_NOW | RTLD_NOLOAD);
	cr_expect_not_null(handle);
	dlclose(handle);
	plugin_close(NULL);
}

Test(plugin, does_not_search_the_system_for_a_path_without_slash)
{
	cr_assert_eq(chdir(TEST_PLUGINS_DIR), 0);
	cr_assert_eq(plugin_open("good.so", NULL, &plugin, &err), 0, "%s", err.text);
	cr_expect_str_eq(plugin->path, "./good.so");
	plugin_close(plugin);
	cr_expect_eq(plugin_open("libc.so.6", NULL, &plugin, &err), -ENOENT);
	cr_expect_str_eq(err.text, "libc.so.6: cannot be read: No such file or directory");
}

/*** Refusing a table ***/

static const struct refusal {
	const char *file;
	int code;
	const char *text;
} refusals[] = {
	{ "no_table", -EPROTO,
	  "has neither cr_router_1 nor cr_collector_1: define CR_ROUTER or CR_COLLECTOR in it" },
	{ "major_2", -EPROTO,
	  "is built for plugin ABI 2, this callrouter has 1: build it again with this callrouter's "
	  "headers" },
	{ "two_tables", -EPROTO,
	  "has both cr_router_1 and cr_collector_1: make two plugins of it" },
	{ "no_head", -EPROTO,
	  "its table does not begin with CR_ROUTER_HEAD or CR_COLLECTOR_HEAD: add it and build it "
	  "again" },
	{ "too_short", -EPROTO,
	  "its table does not begin with CR_ROUTER_HEAD or CR_COLLECTOR_HEAD: add it and build it "
	  "again" },
	{ "minor_9", -EPROTO,
	  "is built for plugin ABI 1.9, this callrouter has 1.3: build it again with this "
	  "callrouter's headers, or upgrade callrouter" },
	{ "minor_4", -EPROTO,
	  "is built for plugin ABI 1.4, this callrouter has 1.3: build it again with this "
	  "callrouter's headers, or upgrade callrouter" },
	{ "no_name", -EINVAL, "its .name \"\" is not 1 to 31 of a-z, 0-9 and _: change it" },
	{ "bad_name", -EINVAL,
	  "its .name \"Not-A-Name\" is not 1 to 31 of a-z, 0-9 and _: change it" },
	{ "no_version", -EINVAL, "give it a .version of one line" },
	{ "no_summary", -EINVAL, "give it a .summary of one line" },
	{ "no_function", -EINVAL, "has neither rank() nor route(): define one" },
	{ "nobody_reads", -EINVAL,
	  "has prepare() without route(), which reads what it makes: define it, or leave prepare() "
	  "out" },
	{ "no_release", -EINVAL,
	  "has prepare() without release(): define it, to free what prepare() makes" },
	{ "many_words", -EINVAL, "wants 257 .shared_words: 256 is the most" },
	{ "bad_metric", -EINVAL, ".wants: \"Heap\" is not 1 to 63 of a-z, 0-9 and _: change it" },
	{ "many_columns", -EINVAL,
	  ".columns has more than 8 names: remove some, or add the NULL at its end" },
	{ "many_needs", -EINVAL,
	  ".needs has more than 64 names: remove some, or add the NULL at its end" },
	{ "many_metrics", -EINVAL,
	  ".needs and .wants have more than 64 names together: remove some" },
	{ "bad_options", -EINVAL,
	  "options[0]: the name \"Loud\" is not 1 to 31 of a-z, 0-9 and _" },
	{ "no_collect", -EINVAL, "has no collect(): define it" },
	{ "undefined", -ENOEXEC,
	  "needs \"undefined_function\", which nothing here defines: link the library that has it, "
	  "or define it" },
	{ "no_library", -ENOEXEC,
	  "needs the library libcallrouter_test.so, which is not here: install it, or build the "
	  "plugin without it" },
};

Test(plugin, says_what_to_do_about_each_thing_that_is_wrong)
{
	for (size_t i = 0; i < COUNT(refusals); i++) {
		char path[4096], text[400];

		snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGINS_DIR, refusals[i].file);
		snprintf(text, sizeof text, "%s.so: %s", refusals[i].file, refusals[i].text);
		cr_expect_eq(plugin_open(path, NULL, &plugin, &err), refusals[i].code, "%s", text);
		cr_expect_str_eq(err.text, text);
		cr_expect_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD), "%s stayed mapped", path);
	}
}

Test(plugin, calls_it_by_the_expected_name_in_messages)
{
	cr_expect_eq(plugin_open(GOOD, "better", &plugin, &err), -EINVAL);
	cr_expect_str_eq(
		err.text,
		"better.so: its .name is \"good\": rename the file to good.so, or the plugin");
	cr_expect_eq(plugin_open(TEST_PLUGINS_DIR "/no_table.so", "better", &plugin, &err),
		     -EPROTO);
	cr_expect_str_eq(err.text, "better.so: has neither cr_router_1 nor cr_collector_1: define "
				   "CR_ROUTER or CR_COLLECTOR in it");
}

Test(plugin, refuses_a_path_that_is_too_long)
{
	char path[5000];

	memset(path, 'x', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	cr_expect_eq(plugin_open(path, "long", &plugin, &err), -ENAMETOOLONG);
	cr_expect_str_eq(err.text, "long.so: its path is too long: move it");
}

/*** Instances ***/

static void open_good(void)
{
	cr_assert_eq(plugin_open(GOOD, "good", &plugin, &err), 0, "%s", err.text);
}

static void close_good(void)
{
	plugin_close(plugin);
}

static int open_instance(const char *packed, struct plugin_instance *instance)
{
	return plugin_instance_open(plugin, NULL, "orders", packed, NULL, 0, instance, &err);
}

Test(instance, gets_parsed_options_source_and_saved_bytes, .init = open_good, .fini = close_good)
{
	struct plugin_instance instance;
	char buf[64] = "";

	cr_assert_eq(plugin_instance_open(plugin, NULL, "orders", "level=7\nmode=ok\n", "abc", 3,
					  &instance, &err),
		     0, "%s", err.text);
	plugin->router.save(instance.self, buf, sizeof buf);
	cr_expect_str_eq(buf, "ok 7 3 orders");
	plugin_instance_close(&instance);
	cr_expect_null(instance.self);
	plugin_instance_close(&instance); /* closing twice harms nobody */
	cr_assert_eq(open_instance("mode=x\n", &instance), 0);
	plugin->router.save(instance.self, buf, sizeof buf);
	cr_expect_str_eq(buf, "x 3 0 orders");
	plugin_instance_close(&instance);
}

Test(instance, is_refused_with_the_plugins_name_and_a_reason, .init = open_good, .fini = close_good)
{
	static const struct refusal cases[] = {
		{ "level=7\n", -EINVAL, "good: option \"mode\" must be given: what open() does" },
		{ "mode=ok\nlevel=11\n", -ERANGE,
		  "good: option \"level\": 11 is outside of 1 .. 10" },
		{ "mode=ok\nlevle=1\n", -ENOENT,
		  "good: no option \"levle\"; did you mean \"level\"?" },
		{ "mode=ok", -EINVAL, "good: its options are not \"name=value\" lines" },
		{ "mode=explain\n", -EDOM, "good: mode: it was asked to fail" },
		{ "mode=mute\n", -EIO, "good: Input/output error" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct plugin_instance instance;

		cr_expect_eq(open_instance(cases[i].file, &instance), cases[i].code, "%s",
			     cases[i].text);
		cr_expect_str_eq(err.text, cases[i].text);
		cr_expect_null(instance.values);
	}
}

Test(instance, ends_a_message_that_the_plugin_did_not_end, .init = open_good, .fini = close_good)
{
	struct plugin_instance instance;

	cr_expect_eq(open_instance("mode=overlong\n", &instance), -EDOM);
	cr_expect_eq(strlen(err.text), sizeof err.text - 1);
	cr_expect_eq(strncmp(err.text, "good: xxx", 9), 0);
}

Test(instance, needs_no_open_function)
{
	struct plugin_instance instance;

	cr_assert_eq(plugin_open(TEST_PLUGINS_DIR "/collecting.so", NULL, &plugin, &err), 0);
	cr_assert_eq(open_instance("", &instance), 0);
	cr_expect_null(instance.self);
	plugin_instance_close(&instance);
	cr_expect_eq(open_instance("a=b\n", &instance), -ENOENT);
	cr_expect_str_eq(err.text, "collecting: no option \"a\": this plugin has none; remove it");
	plugin_close(plugin);
}
