/* test_config_memory.c - the configuration reader when memory runs out, at each of its allocations.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "config_fixture.h"
#include "lab/failing_memory.h"

static const struct config_plugins *using = &plugins;

TestSuite(config_memory, .init = enter_folder, .fini = remove_folder);

/* Reads c.yaml with the n-th allocation failing. Returns what config_read() does. */
static int read_with_failure(size_t n, bool goes_on)
{
	struct config *config = NULL;
	struct config_report report;
	int r;

	n_until_failure = n;
	fails_on = goes_on;
	r = config_read("c.yaml", using, &config, &report);
	n_until_failure = 0;
	cr_expect_eq(r == 0, config != NULL);
	cr_expect_eq(r == 0, report.n == 0);
	if (r == -ENOMEM && report.text != NULL)
		cr_expect_str_eq(report.text, "not enough memory to read the configuration\n");
	free(report.text);
	config_free(config);
	return r;
}

/* Every allocation is missed once; returns how many there are. */
static size_t fail_each(int want, bool goes_on)
{
	size_t n = 1;

	while (read_with_failure(n, goes_on) == -ENOMEM)
		n++;
	cr_expect_eq(read_with_failure(n, goes_on), want);
	return n - 1;
}

Test(config_memory, says_so_and_gives_all_back)
{
	size_t len;
	char *yaml = read_data("config_full.yaml", &len);

	write_secrets();
	write_bytes("c.yaml", yaml, len, 0644);
	cr_expect_gt(fail_each(0, false), 50);
	cr_expect_gt(fail_each(0, true), 50);
	free(yaml);
}

static const struct cr_option web_table[] = {
	{ "source", CR_TEXT, NULL, 0, 0, NULL, "made of profile" },
	{ "max_body", CR_BYTES, "1MiB", 1024, 1 << 20, NULL, "largest answer" },
	{ 0 },
};

static int find_web(void *arg, bool want_router, const char *plugin, const struct cr_option **table,
		    struct err *err)
{
	if (want_router)
		return find_options(arg, want_router, plugin, table, err);
	*table = web_table;
	return 0;
}

/* What has a question mark in it cannot be polled. */
static int can_poll(void *arg, const char *plugin, const char *packed,
		    const struct target_list *targets, struct err *err)
{
	(void)arg;
	(void)plugin;
	(void)packed;
	(void)err;
	for (size_t i = 0; i < targets->n; i++)
		if (strchr(targets->target[i], '?') != NULL)
			targets->bad(targets->user, i, "it is a question");
	return 0;
}

static const struct config_plugins with_web = { .options = find_web,
						.arg = plugins_arg,
						.can_poll = can_poll };

Test(config_memory, says_so_in_the_middle_of_a_profile)
{
	write_text("community", /* its name does not matter */
		   "path: /a/${host}\nformat: json\nmax_body: 2KiB\n"
		   "ok: [{ select: /one, equals: 1 }]\n"
		   "fields: { busy_threads: /b, jvm_heap_used_bytes: { select: /u, unit: kib } }\n",
		   0644);
	write_text("c.yaml",
		   "servers: [{ name: a, address: \"h:1\" }]\n"
		   "services: [{ name: s, smooth: [busy_threads] }]\n"
		   "collectors: [{ name: c, plugin: web, profile: ./community, target: "
		   "\"${host}\", fields: { busy_threads: /c } }, { name: d, plugin: web, profile: "
		   "./community, target: \"${host}\" }]\n",
		   0644);
	using = &with_web;
	cr_expect_gt(fail_each(0, false), 50);
	cr_expect_gt(fail_each(0, true), 50);
}

Test(config_memory, says_so_in_the_middle_of_targets_that_cannot_be_polled)
{
	write_text("c.yaml",
		   "servers: [{ name: a, address: \"h:1\", targets: { c: \"?\" } },\n"
		   "  { name: b, address: \"h:2\" }]\n"
		   "services: [{ name: s }]\n"
		   "collectors: [{ name: c, plugin: web, target: \"${host}?\",\n"
		   "  path: \"/${nope}\", format: json, fields: { busy_threads: /c } },\n"
		   "  { name: d, plugin: web, target: \"${host}\",\n"
		   "  path: /a, format: json, fields: { busy_threads: /c } }]\n",
		   0644);
	using = &with_web;
	cr_expect_gt(fail_each(-EINVAL, false), 50);
	cr_expect_gt(fail_each(-EINVAL, true), 50);
}

Test(config_memory, keeps_to_the_mistakes_if_there_is_enough)
{
	write_text("c.yaml",
		   "group: none-such\n"
		   "servers: [{name: a, address: 'h:1', vars: {a: x}}, {name: a, address: x}]\n"
		   "collectors: [{name: c, plugin: http, target: '${b}'}]\n"
		   "services: [{name: s, servers: [b, a], router: {plugin: x, options: {a: b}}}]\n",
		   0644);
	cr_expect_gt(fail_each(-EINVAL, false), 20);
	cr_expect_gt(fail_each(-EINVAL, true), 20);
}
