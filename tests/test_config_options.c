/* test_config_options.c - what plugins themselves say of their options, told where those stand. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "config.h"
#include "config_fixture.h"

TestSuite(config_options, .init = enter_folder, .fini = remove_folder);

/* What "sorted" itself thinks of its options. */
static int accepts(void *arg, const char *plugin, const char *packed, char **lines, struct err *err)
{
	cr_assert_str_eq(arg, "arg");
	*lines = NULL;
	if (strcmp(plugin, "sorted") != 0 || strstr(packed, "order_by=heap\n") == NULL)
		return 0;
	return err_set(err, -EINVAL, "sorted: \"heap\" is no metric");
}

Test(config_options, tells_what_only_the_plugin_itself_can_judge)
{
	static const struct config_plugins judging = { .options = find_options,
						       .arg = plugins_arg,
						       .accepts = accepts };
	size_t n;
	char *text;

	write_text("c.yaml",
		   "servers: [{name: ms1, address: 'h1:1'}]\n"
		   "services:\n"
		   "  - { name: a, router: { plugin: sorted, options: { order_by: heap, ties: x } "
		   "} }\n"
		   "  - { name: b, router: { plugin: sorted, options: { order_by: good, ties: x } "
		   "} }\n"
		   "  - { name: c, router: { plugin: sorted, options: { order_by: heap } } }\n",
		   0644);
	text = report_on("c.yaml", &judging, -EINVAL, &n);
	cr_expect_str_eq(
		text, "c.yaml:3:34: plugin sorted: \"heap\" is no metric\n"
		      "c.yaml:5:24: plugin sorted: option \"ties\" is missing, add it: what to do "
		      "with equal ones\n");
	cr_expect_eq(n, 2u);
	free(text);
}

/* What "snmp" says in open(). */
static int refuses(void *arg, const char *plugin, const char *packed, char **lines, struct err *err)
{
	(void)arg, (void)packed;
	*lines = NULL;
	if (strcmp(plugin, "snmp") != 0)
		return 0;
	*lines = strdup("retries: too many\n"
			"the weather is bad\n"
			"\n"
			"community_file: \033 is too old\n"
			"profile and retries: give one of them\n"
			"profile \"x\" is not for 7\n"
			"retriesnot\n");
	return err_set(err, -EINVAL, "snmp: open() failed: retries: too many");
}

Test(config_options, tells_all_that_open_refuses_where_it_was_written)
{
	static const struct config_plugins judging = { .options = find_options,
						       .arg = plugins_arg,
						       .accepts = refuses };
	char *text;

	write_text("secret", "public\n", 0600);
	write_text("c.yaml",
		   "servers: [{name: ms1, address: 'h1:1'}]\n"
		   "collectors:\n"
		   "  - name: a\n"
		   "    plugin: snmp\n"
		   "    target: x\n"
		   "    community_file: secret\n"
		   "    retries: 3\n"
		   "services: [{name: s}]\n",
		   0644);
	text = report_on("c.yaml", &judging, -EINVAL, NULL);
	cr_expect_str_eq(text, "c.yaml:4:13: plugin snmp: the weather is bad\n"
			       "c.yaml:4:13: plugin snmp: profile \"x\" is not for 7\n"
			       "c.yaml:4:13: plugin snmp: retriesnot\n"
			       "c.yaml:6:21: plugin snmp: community_file: ? is too old\n"
			       "c.yaml:7:14: plugin snmp: retries: too many\n"
			       "c.yaml:7:14: plugin snmp: profile and retries: give one of them\n");
	free(text);
}
