/* ctl_servers.c - servers: every server's polls and figures, and every source's. */
#include "ctl.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

static const json_t *metric_of(const json_t *server, const char *name)
{
	return json_object_get(json_object_get(server, "metrics"), name);
}

static void add_age(struct ctl_table *table, const json_t *metric)
{
	const bool is_stale = json_is_false(json_object_get(metric, "fresh"));
	char text[32];

	ctl_table_addf(table, is_stale ? CTL_YELLOW : CTL_PLAIN, "%s%s",
		       text_show_seconds(text, sizeof text, ctl_number(metric, "age_s")),
		       is_stale ? " stale" : "");
}

/* What an operator would want to know first. */
static const char *state_of(const json_t *server)
{
	if (json_is_string(json_object_get(server, "skipped")))
		return "admin found";
	if (json_is_true(json_object_get(server, "drained")))
		return "drained";
	return ctl_text(server, "state");
}

static void add_server(struct ctl_table *table, const json_t *server)
{
	const char *skipped = json_string_value(json_object_get(server, "skipped"));
	const char *error = json_string_value(json_object_get(server, "error"));
	const json_t *free_bytes = metric_of(server, "jvm_heap_free_bytes");
	const json_t *check = json_object_get(server, "check");

	if (error == NULL && json_is_true(json_object_get(check, "down")))
		error = json_string_value(json_object_get(check, "error"));
	ctl_table_add(table, CTL_BOLD, ctl_text(server, "server"));
	ctl_table_add(table, CTL_PLAIN, ctl_text(server, "role"));
	ctl_add_state(table, state_of(server), server);
	ctl_table_addf(table, CTL_PLAIN, "%lld%s", ctl_count_of(server, "weight"),
		       json_is_true(json_object_get(server, "weight_set")) ? " (set)" : "");
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(server, "inflight"));
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(server, "calls"));
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(server, "failures"));
	ctl_table_add_bytes(table, free_bytes);
	add_age(table, free_bytes);
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(server, "polls"));
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(server, "poll_failures"));
	ctl_table_add(table, CTL_PLAIN, ctl_text(server, "address"));
	ctl_table_add(table, CTL_RED, skipped != NULL ? skipped : error != NULL ? error : "");
}

static int print_servers(const json_t *servers, bool is_coloured)
{
	static const struct ctl_column columns[] = {
		{ "SERVER", false },     { "ROLE", false },     { "STATE", false },
		{ "WEIGHT", true },      { "INFLIGHT", true },  { "CALLS", true },
		{ "FAILURES", true },    { "HEAP FREE", true }, { "AGE", true },
		{ "POLLS", true },       { "FAILED", true },    { "ADDRESS", false },
		{ "LAST ERROR", false },
	};
	struct ctl_table *table = ctl_table_new(columns, sizeof columns / sizeof *columns);
	int r;

	for (size_t i = 0; i < json_array_size(servers); i++)
		add_server(table, json_array_get(servers, i));
	r = ctl_table_print(table, stdout, is_coloured, 0);
	ctl_table_free(table);
	return r;
}

/* "timeout 12, auth 1" */
static void add_failed(struct ctl_table *table, json_t *failed)
{
	char text[160] = "";
	const char *why;
	size_t used = 0;
	json_t *count;

	json_object_foreach(failed, why, count)
	{
		const int n =
			snprintf(text + used, sizeof text - used, "%s%s %lld", used > 0 ? ", " : "",
				 why, (long long)json_integer_value(count));

		if (n < 0 || (size_t)n >= sizeof text - used)
			break;
		used += (size_t)n;
	}
	ctl_table_add(table, used > 0 ? CTL_YELLOW : CTL_PLAIN, used > 0 ? text : "0");
}

static void add_source(struct ctl_table *table, const json_t *source)
{
	const char *error = json_string_value(json_object_get(source, "error"));
	char text[32];

	ctl_table_add(table, CTL_BOLD, ctl_text(source, "source"));
	ctl_table_add(table, CTL_PLAIN, ctl_text(source, "plugin"));
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(source, "targets"));
	ctl_table_add(table, CTL_PLAIN,
		      text_show_seconds(text, sizeof text, ctl_number(source, "interval_s")));
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(source, "polls"));
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(source, "good"));
	add_failed(table, json_object_get(source, "failed"));
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(source, "rejected"));
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(source, "in_flight"));
	ctl_table_add(table, CTL_PLAIN,
		      text_show_seconds(text, sizeof text, ctl_number(source, "latency_s")));
	ctl_table_add(table, CTL_PLAIN,
		      text_show_seconds(text, sizeof text, ctl_number(source, "latency_worst_s")));
	ctl_table_add(table, CTL_PLAIN,
		      text_show_seconds(text, sizeof text, ctl_number(source, "good_age_s")));
	if (error != NULL)
		ctl_table_addf(
			table, CTL_PLAIN, "%s ago: %s",
			text_show_seconds(text, sizeof text, ctl_number(source, "error_age_s")),
			error);
	else
		ctl_table_add(table, CTL_PLAIN, "");
}

static int print_sources(const json_t *sources, bool is_coloured)
{
	static const struct ctl_column columns[] = {
		{ "SOURCE", false },     { "PLUGIN", false },  { "TARGETS", true },
		{ "EVERY", true },       { "POLLS", true },    { "GOOD", true },
		{ "FAILED", false },     { "REJECTED", true }, { "UNDER WAY", true },
		{ "ANSWERS IN", true },  { "WORST", true },    { "LAST GOOD", true },
		{ "LAST ERROR", false },
	};
	struct ctl_table *table = ctl_table_new(columns, sizeof columns / sizeof *columns);
	int r;

	for (size_t i = 0; i < json_array_size(sources); i++)
		add_source(table, json_array_get(sources, i));
	r = ctl_table_print(table, stdout, is_coloured, 0);
	ctl_table_free(table);
	return r;
}

static int print_all(const json_t *answer)
{
	const json_t *sources = json_object_get(answer, "sources");
	const bool is_coloured = ctl_is_coloured(stdout);
	int r = print_servers(json_object_get(answer, "servers"), is_coloured);

	if (json_array_size(sources) == 0) {
		(void)printf("\nno collectors are configured: routers see no metrics\n");
	} else if (r == 0) {
		(void)fputc('\n', stdout);
		r = print_sources(sources, is_coloured);
	}
	return r == 0 ? CTL_GOOD : ctl_fail(CTL_REFUSED, "out of memory");
}

/* The entry of this name, or NULL after saying that there is none. */
static const json_t *find_server(const json_t *answer, const char *name)
{
	const json_t *servers = json_object_get(answer, "servers");
	const size_t n = json_array_size(servers);
	const char **words = calloc(n + 1, sizeof *words);
	const char *nearest = NULL;

	for (size_t i = 0; words != NULL && i < n; i++) {
		words[i] = ctl_text(json_array_get(servers, i), "server");
		if (strcmp(words[i], name) == 0) {
			free(words);
			return json_array_get(servers, i);
		}
	}
	if (words != NULL)
		nearest = text_nearest(name, words);
	if (nearest != NULL)
		(void)ctl_fail(CTL_REFUSED, "no server \"%s\"; did you mean \"%s\"?", name,
			       nearest);
	else
		(void)ctl_fail(CTL_REFUSED, "no server \"%s\"; callrouterctl servers lists them",
			       name);
	free(words);
	return NULL;
}

static int print_one(const struct ctl *ctl, const json_t *answer, const char *name)
{
	const json_t *server = find_server(answer, name);

	if (server == NULL)
		return CTL_REFUSED;
	return ctl->is_json ? ctl_print_json(server, stdout) : ctl_server_print(server);
}

int ctl_servers(struct ctl *ctl, int argc, char **argv)
{
	const int code = ctl_arguments(ctl, argc, argv, 0, 1);
	json_t *answer;
	int status;

	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	status = ctl_ask(ctl, json_pack("{s:s}", "command", "servers"), CTL_ASK_MS, &answer);
	if (status != CTL_GOOD)
		return status;
	if (optind < argc)
		status = print_one(ctl, answer, argv[optind]);
	else
		status = ctl->is_json ? ctl_print_json(answer, stdout) : print_all(answer);
	json_decref(answer);
	return status;
}
