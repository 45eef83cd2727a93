/* config_fixture.h - what the tests of the configuration reader share: a folder, files in it,
 * plugins that the reader is told of. */
#ifndef CR_TESTS_CONFIG_FIXTURE_H
#define CR_TESTS_CONFIG_FIXTURE_H

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

static char folder[] = "/tmp/callrouter-config-XXXXXX";
static char *here; /* the same without symbolic links */

static inline void enter_folder(void)
{
	cr_assert(mkdtemp(folder) != NULL);
	cr_assert_eq(chdir(folder), 0);
	here = realpath(".", NULL);
}

static inline void remove_folder(void)
{
	static const char *const files[] = { "c.yaml", "p.yaml", "q.yaml", "r.yaml",
					     "secret", "open",   "fifo",   "community" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		unlink(files[i]);
	free(here);
	cr_expect_eq(rmdir(folder), 0);
}

/*** Plugins as the reader is told of them ***/

static const struct cr_option snmp_table[] = {
	{ "profile", CR_TEXT, "weblogic-mib", 0, 0, NULL, "which table to read" },
	{ "community_file", CR_TEXT, NULL, 0, 0, NULL, "file with the community" },
	{ "retries", CR_INT, "0", 0, 5, NULL, "how often to ask again" },
	{ 0 },
};
static const struct cr_option sorted_table[] = {
	{ "order_by", CR_TEXT, NULL, 0, 0, NULL, "what to compare" },
	{ "ties", CR_TEXT, NULL, 0, 0, NULL, "what to do with equal ones" },
	{ 0 },
};
static const struct cr_option source_table[] = {
	{ "source", CR_TEXT, NULL, 0, 0, NULL, "made of profile" },
	{ 0 },
};

static inline int find_options(void *arg, bool want_router, const char *plugin,
			       const struct cr_option **table, struct err *err)
{
	static const struct {
		bool is_router;
		const char *name;
		const struct cr_option *table;
	} plugins[] = {
		{ false, "snmp", snmp_table },  { false, "http", NULL },
		{ false, "web", source_table }, { true, "round_robin", NULL },
		{ true, "heap_free", NULL },    { true, "sorted", sorted_table },
	};

	cr_assert_str_eq(arg, "arg");
	for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++) {
		*table = plugins[i].table;
		if (plugins[i].is_router == want_router && strcmp(plugins[i].name, plugin) == 0)
			return 0;
	}
	*table = NULL;
	return err_set(err, -ENOENT, "no %s \"%s\"", want_router ? "router" : "collector", plugin);
}

static char plugins_arg[] = "arg";
static const struct config_plugins plugins = { .options = find_options, .arg = plugins_arg };

/*** Tools ***/

static inline void write_bytes(const char *name, const void *bytes, size_t len, mode_t mode)
{
	FILE *file = fopen(name, "w");

	cr_assert(file != NULL);
	cr_assert_eq(fwrite(bytes, 1, len, file), len);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(chmod(name, mode), 0);
}

static inline void write_text(const char *name, const char *text, mode_t mode)
{
	write_bytes(name, text, strlen(text), mode);
}

static inline void write_secrets(void)
{
	write_text("community", "public\n", 0640);
	write_text("open", "public\n", 0644);
}

/* The report on a file that must be refused; freed by the caller. */
static inline char *report_on(const char *path, const struct config_plugins *with, int want,
			      size_t *n)
{
	struct config *config = (struct config *)1;
	struct config_report report;
	const int r = config_read(path, with, &config, &report);

	cr_expect_eq(r, want, "%s: %d", path, r);
	cr_expect(config == NULL);
	cr_assert(report.text != NULL);
	if (n != NULL)
		*n = report.n;
	return report.text;
}

static inline void expect_report(const char *path, int want, const char *expected)
{
	char *text = report_on(path, &plugins, want, NULL);

	cr_expect_str_eq(text, expected);
	free(text);
}

/* yaml must be refused with exactly this report. */
static inline void expect_mistakes(const char *yaml, const char *expected)
{
	write_text("c.yaml", yaml, 0644);
	expect_report("c.yaml", -EINVAL, expected);
}

static inline struct config *read_good(const char *path, const struct config_plugins *with)
{
	struct config *config = NULL;
	struct config_report report;
	const int r = config_read(path, with, &config, &report);

	cr_assert_eq(r, 0, "%s", report.text);
	cr_assert_eq(report.n, 0);
	cr_assert(report.text == NULL);
	cr_assert(config != NULL);
	return config;
}

static inline struct config *read_good_text(const char *yaml)
{
	write_text("c.yaml", yaml, 0644);
	return read_good("c.yaml", &plugins);
}

static inline char *read_data(const char *name, size_t *len)
{
	char path[4096], *bytes;
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", TEST_DATA, name);
	file = fopen(path, "r");
	cr_assert(file != NULL, "%s", path);
	bytes = calloc(1, 1 << 16);
	*len = fread(bytes, 1, (1 << 16) - 1, file);
	fclose(file);
	return bytes;
}

/* Grows a text; the first call has *text NULL. */
static inline void add(char **text, size_t times, const char *piece)
{
	const size_t old = *text != NULL ? strlen(*text) : 0, len = strlen(piece);

	*text = realloc(*text, old + times * len + 1);
	for (size_t i = 0; i < times; i++)
		memcpy(*text + old + i * len, piece, len);
	(*text)[old + times * len] = '\0';
}

#endif
