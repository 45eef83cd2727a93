/* ctl_plugins.c - plugins: every generation of every plugin, and which processes lack one. */
#include "ctl.h"

#include <string.h>

static enum ctl_colour colour_of(const char *state)
{
	if (strcmp(state, "current") == 0)
		return CTL_GREEN;
	if (strcmp(state, "quarantined") == 0 || strcmp(state, "refused") == 0)
		return CTL_RED;
	if (strcmp(state, "trying") == 0 || strcmp(state, "preparing") == 0)
		return CTL_YELLOW;
	return CTL_PLAIN;
}

/* "orders router, shop default" */
static void join(char *buf, size_t len, const json_t *texts)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < json_array_size(texts); i++) {
		const int n = snprintf(buf + used, len - used, "%s%s", i > 0 ? ", " : "",
				       json_string_value(json_array_get(texts, i)));

		if (n < 0 || (size_t)n >= len - used)
			return;
		used += (size_t)n;
	}
}

static void add_generation(struct ctl_table *table, const json_t *plugin, size_t index,
			   const json_t *generation)
{
	const char *state = ctl_text(generation, "state");
	const bool is_first = index == 0;
	char users[256];

	join(users, sizeof users, json_object_get(plugin, "used_by"));
	ctl_table_add(table, CTL_BOLD, is_first ? ctl_text(plugin, "plugin") : "");
	ctl_table_add(table, CTL_PLAIN, is_first ? ctl_text(plugin, "kind") : "");
	if (json_is_integer(json_object_get(generation, "generation")))
		ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(generation, "generation"));
	else
		ctl_table_add(table, CTL_PLAIN, "-");
	ctl_table_add(table, CTL_PLAIN, ctl_text(generation, "version"));
	ctl_table_add(table, colour_of(state), state);
	ctl_table_add(table, CTL_PLAIN, !is_first ? "" : users[0] != '\0' ? users : "-");
	ctl_table_add(table, CTL_PLAIN, is_first ? ctl_text(plugin, "file") : "");
	ctl_table_add(table, CTL_PLAIN, ctl_text(generation, "note"));
}

static int print_plugins(const json_t *plugins, bool is_coloured)
{
	static const struct ctl_column columns[] = {
		{ "PLUGIN", false },  { "KIND", false },  { "GENERATION", true },
		{ "VERSION", false }, { "STATE", false }, { "USED BY", false },
		{ "FILE", false },    { "NOTE", false },
	};
	struct ctl_table *table = ctl_table_new(columns, sizeof columns / sizeof *columns);
	int r;

	for (size_t i = 0; i < json_array_size(plugins); i++) {
		const json_t *plugin = json_array_get(plugins, i);
		const json_t *generations = json_object_get(plugin, "generations");

		for (size_t k = 0; k < json_array_size(generations); k++)
			add_generation(table, plugin, k, json_array_get(generations, k));
	}
	r = ctl_table_print(table, stdout, is_coloured, 0);
	ctl_table_free(table);
	return r;
}

static int print_processes(const json_t *processes, bool is_coloured)
{
	static const struct ctl_column columns[] = {
		{ "PID", true },
		{ "PROGRAM", false },
		{ "STATE SEEN", true },
		{ "LACKS", false },
	};
	struct ctl_table *table = ctl_table_new(columns, sizeof columns / sizeof *columns);
	int r;

	for (size_t i = 0; i < json_array_size(processes); i++) {
		const json_t *process = json_array_get(processes, i);
		const json_t *lacks = json_object_get(process, "lacks");

		ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(process, "pid"));
		ctl_table_add(table, CTL_PLAIN, ctl_text(process, "program"));
		ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(process, "generation"));
		if (json_is_object(lacks))
			ctl_table_addf(table, CTL_RED, "generation %lld: %s",
				       ctl_count_of(lacks, "generation"), ctl_text(lacks, "error"));
		else
			ctl_table_add(table, CTL_PLAIN, "-");
	}
	r = ctl_table_print(table, stdout, is_coloured, 0);
	ctl_table_free(table);
	return r;
}

static int print_all(const json_t *answer)
{
	const json_t *plugins = json_object_get(answer, "plugins");
	const json_t *processes = json_object_get(answer, "processes");
	const bool is_coloured = ctl_is_coloured(stdout);
	int r = 0;

	if (json_array_size(plugins) == 0)
		(void)printf("no plugins are loaded: drop a NAME.so into plugins.d\n");
	else
		r = print_plugins(plugins, is_coloured);
	if (json_array_size(processes) == 0) {
		(void)printf("\nno data plane is attached\n");
	} else if (r == 0) {
		(void)printf("\ndata planes attached:\n");
		r = print_processes(processes, is_coloured);
	}
	return r == 0 ? CTL_GOOD : ctl_fail(CTL_REFUSED, "out of memory");
}

int ctl_plugins(struct ctl *ctl, int argc, char **argv)
{
	const int code = ctl_arguments(ctl, argc, argv, 0, 0);
	json_t *answer;
	int status;

	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	status = ctl_ask(ctl, json_pack("{s:s}", "command", "plugins"), CTL_ASK_MS, &answer);
	if (status != CTL_GOOD)
		return status;
	status = ctl->is_json ? ctl_print_json(answer, stdout) : print_all(answer);
	json_decref(answer);
	return status;
}
