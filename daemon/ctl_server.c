/* ctl_server.c - all that is known of one server: every metric, and what was not believed. */
#include "ctl.h"

#include <math.h>
#include <string.h>

#include "text.h"

static void add_value(struct ctl_table *table, const char *name, double value)
{
	char text[32];

	if (isnan(value))
		ctl_table_add(table, CTL_PLAIN, "-");
	else if (text_ends_in(name, "_bytes"))
		ctl_table_add(table, CTL_PLAIN, text_show_bytes(text, sizeof text, value));
	else
		ctl_table_addf(table, CTL_PLAIN, "%.6g", value);
}

static void add_metric(struct ctl_table *table, const char *name, const json_t *metric)
{
	const bool is_fresh = json_is_true(json_object_get(metric, "fresh"));
	const char *how = json_string_value(json_object_get(metric, "derived"));
	char text[32];

	ctl_table_add(table, CTL_PLAIN, name);
	add_value(table, name, ctl_number(metric, "value"));
	ctl_table_add(table, CTL_PLAIN,
		      text_show_seconds(text, sizeof text, ctl_number(metric, "age_s")));
	ctl_table_add(table, is_fresh ? CTL_GREEN : CTL_YELLOW,
		      metric == NULL ? "absent"
		      : is_fresh     ? "fresh"
				     : "stale");
	ctl_table_add(table, CTL_PLAIN, metric == NULL ? "-" : how != NULL ? how : "measured");
}

static int print_metrics(const json_t *server, bool is_coloured)
{
	static const struct ctl_column columns[] = { { "METRIC", false },
						     { "VALUE", true },
						     { "AGE", true },
						     { "STATE", false },
						     { "HOW", false } };
	struct ctl_table *table = ctl_table_new(columns, sizeof columns / sizeof *columns);
	const json_t *absent = json_object_get(server, "absent");
	const char *name;
	json_t *metric;
	int r;

	json_object_foreach(json_object_get(server, "metrics"), name, metric)
	{
		add_metric(table, name, metric);
	}
	for (size_t i = 0; i < json_array_size(absent); i++)
		add_metric(table, json_string_value(json_array_get(absent, i)), NULL);
	r = ctl_table_print(table, stdout, is_coloured, 0);
	ctl_table_free(table);
	return r;
}

/* "negative 2, wrapped 1" */
static void print_counts(json_t *counts)
{
	const char *why, *before = "";
	json_t *count;

	json_object_foreach(counts, why, count)
	{
		(void)printf("%s%s %lld", before, why, (long long)json_integer_value(count));
		before = ", ";
	}
}

static void print_rejected(const json_t *server)
{
	const json_t *list = json_object_get(server, "rejected_by");
	char text[256], age[32];

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);

		(void)printf("not taken from %s: ",
			     ctl_clean(text, sizeof text, ctl_text(entry, "source")));
		print_counts(json_object_get(entry, "counts"));
		(void)printf("; the last, %s ago: %s\n",
			     text_show_seconds(age, sizeof age, ctl_number(entry, "age_s")),
			     ctl_clean(text, sizeof text, ctl_text(entry, "text")));
	}
}

/* "check GET http://10.0.0.11:7101/health: down, failed 4 in a row: it answered 503" */
static void print_check(const json_t *server)
{
	const json_t *check = json_object_get(server, "check");
	const char *error = json_string_value(json_object_get(check, "error"));
	const long long passed = ctl_count_of(check, "passed_in_row");
	const long long failed = ctl_count_of(check, "failed_in_row");
	char text[256];

	if (!json_is_object(check))
		return;
	(void)printf("check %s: %s", ctl_clean(text, sizeof text, ctl_text(check, "what")),
		     json_is_true(json_object_get(check, "down")) ? "down" : "not down");
	if (failed > 0)
		(void)printf(", failed %lld in a row", failed);
	else if (passed > 0)
		(void)printf(", passed %lld in a row", passed);
	(void)printf("%s%s\n", error != NULL ? ": " : "",
		     error != NULL ? ctl_clean(text, sizeof text, error) : "");
}

/* What each source says that cannot poll it now. */
static void print_failing(const json_t *failing)
{
	char since[32], text[256];

	for (size_t i = 0; i < json_array_size(failing); i++) {
		const json_t *entry = json_array_get(failing, i);

		(void)printf("fails for %s: %s\n",
			     text_show_seconds(since, sizeof since, ctl_number(entry, "for_s")),
			     ctl_clean(text, sizeof text, ctl_text(entry, "error")));
	}
}

static void print_facts(const json_t *server)
{
	const bool is_drained = json_is_true(json_object_get(server, "drained"));
	const json_t *inconsistent = json_object_get(server, "inconsistent");
	const char *state = ctl_text(server, "state");
	char text[256];

	(void)printf("%s  %s  %s, %s, weight %lld%s%s\n", ctl_text(server, "server"),
		     ctl_text(server, "address"), ctl_text(server, "role"),
		     ctl_show_state(text, sizeof text, state, server),
		     ctl_count_of(server, "weight"),
		     json_is_true(json_object_get(server, "weight_set")) ? " (set)" : "",
		     is_drained && strcmp(state, "drained") != 0 ? ", drained" : "");
	(void)printf("calls %lld, of which %lld failed; %lld in progress\n",
		     ctl_count_of(server, "calls"), ctl_count_of(server, "failures"),
		     ctl_count_of(server, "inflight"));
	print_check(server);
	(void)printf("polls %lld, of which %lld failed\n", ctl_count_of(server, "polls"),
		     ctl_count_of(server, "poll_failures"));
	print_failing(json_object_get(server, "failing"));
	if (json_is_string(json_object_get(server, "skipped")))
		(void)printf("administration server: %s\n",
			     ctl_clean(text, sizeof text, ctl_text(server, "skipped")));
	for (size_t i = 0; i < json_array_size(inconsistent); i++)
		(void)printf("inconsistent: %s\n",
			     json_string_value(json_array_get(inconsistent, i)));
}

int ctl_server_print(const json_t *server)
{
	print_facts(server);
	print_rejected(server);
	if (json_object_size(json_object_get(server, "metrics")) == 0 &&
	    json_array_size(json_object_get(server, "absent")) == 0)
		return CTL_GOOD;
	(void)fputc('\n', stdout);
	return print_metrics(server, ctl_is_coloured(stdout)) == 0
		       ? CTL_GOOD
		       : ctl_fail(CTL_REFUSED, "out of memory");
}
