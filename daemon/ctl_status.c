/* ctl_status.c - status: one screen per look: who decides, why not the router, and the ranking. */
#include "ctl_status.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include <callrouter/words.h>

#include "clock.h"
#include "control.h"
#include "ctl.h"
#include "ctl_watch.h"
#include "text.h"
#include "words.h"

#define LABEL           "  %-9s "
#define INTERVAL_MIN_NS (100 * CLOCK_MS)
#define N_BEFORE        9 /* columns of the table before the router's */
#define TITLE_MAX       32
#define FAILING_SHOWN   4 /* of all whose polls fail */

/* Where and how to write. */
struct page {
	FILE *out;
	bool is_coloured;
};

static const char *in_colour(const struct page *page, enum ctl_colour colour)
{
	return ctl_colour(page->is_coloured, colour);
}

/* The sentence of a reason's word. */
static const char *reason_help(const char *word)
{
	for (unsigned i = 0; i < CR_REASON_COUNT; i++)
		if (strcmp(words_reason((enum cr_reason)i), word) == 0)
			return words_reason_help((enum cr_reason)i);
	return word;
}

static void print_head(const struct page *page, const json_t *status)
{
	const json_t *daemon = json_object_get(status, "daemon");
	char up[32];

	(void)fprintf(page->out, "%s%s%s   callrouterd %s, up %s, pid %lld\n",
		      in_colour(page, CTL_BOLD), ctl_text(status, "cluster"),
		      in_colour(page, CTL_PLAIN), ctl_text(daemon, "version"),
		      text_show_seconds(up, sizeof up, ctl_number(daemon, "uptime_s")),
		      ctl_count_of(daemon, "pid"));
}

/*** One service ***/

static enum ctl_colour router_colour(const char *state)
{
	if (strcmp(state, "active") == 0 || strcmp(state, "per call") == 0)
		return CTL_GREEN;
	if (strcmp(state, "waiting for metrics") == 0 || strcmp(state, "late") == 0)
		return CTL_YELLOW;
	return CTL_RED;
}

static void print_router(const struct page *page, const json_t *service)
{
	const json_t *router = json_object_get(service, "router");
	const char *now = json_string_value(json_object_get(service, "default_decides_now"));
	const char *state = ctl_text(router, "state");

	if (!json_is_object(router)) {
		(void)fprintf(page->out, LABEL "none: the default decides every call\n", "router");
		return;
	}
	(void)fprintf(page->out, LABEL "%s", "router", ctl_text(router, "plugin"));
	if (json_is_integer(json_object_get(router, "generation")))
		(void)fprintf(page->out, " %s (generation %lld)", ctl_text(router, "version"),
			      ctl_count_of(router, "generation"));
	(void)fprintf(page->out, ": %s%s%s\n", in_colour(page, router_colour(state)), state,
		      in_colour(page, CTL_PLAIN));
	if (now != NULL)
		(void)fprintf(page->out, LABEL "%s%s%s\n", "now", in_colour(page, CTL_YELLOW),
			      reason_help(now), in_colour(page, CTL_PLAIN));
}

static double percent(long long part, long long whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void print_decided(const struct page *page, const json_t *service)
{
	const json_t *decided = json_object_get(service, "decided");
	const long long router = ctl_count_of(decided, "router");
	const long long preset = ctl_count_of(decided, "default");
	const long long refused = ctl_count_of(decided, "refused");
	const long long nobody = ctl_count_of(decided, "nobody");
	const long long all = router + preset + refused + nobody;

	if (all == 0) {
		(void)fprintf(page->out, LABEL "none yet\n", "calls");
		return;
	}
	(void)fprintf(page->out, LABEL "%lld: %.1f %% by the router, %.1f %% by the default",
		      "calls", all, percent(router, all), percent(preset, all));
	if (refused > 0)
		(void)fprintf(page->out, ", %lld refused", refused);
	if (nobody > 0)
		(void)fprintf(page->out, ", %s%lld without any server%s", in_colour(page, CTL_RED),
			      nobody, in_colour(page, CTL_PLAIN));
	(void)fputc('\n', page->out);
}

/* Why calls were not decided by the router. */
static void print_reasons(const struct page *page, json_t *reasons)
{
	const char *label = "fell back";
	const char *word;
	json_t *count;

	json_object_foreach(reasons, word, count)
	{
		if (strcmp(word, words_reason(CR_REASON_NO_ROUTER)) == 0)
			continue;
		(void)fprintf(page->out, LABEL "%lld: %s\n", label,
			      (long long)json_integer_value(count), reason_help(word));
		label = "";
	}
}

/* What the operator should hear of without asking. */
static void print_warnings(const struct page *page, const json_t *warnings)
{
	for (size_t i = 0; i < json_array_size(warnings); i++) {
		const json_t *warning = json_array_get(warnings, i);

		(void)fprintf(page->out, LABEL "%s%s: %s%s\n", "warning",
			      in_colour(page, CTL_YELLOW), ctl_text(warning, "warning"),
			      ctl_text(warning, "text"), in_colour(page, CTL_PLAIN));
	}
}

/* "ms1 for 2m10s: jvm: auth: ..." */
static void print_failing(const struct page *page, const json_t *failing)
{
	const json_t *list = json_object_get(failing, "list");
	const long long n = ctl_count_of(failing, "servers");
	const char *label = "polls";
	char since[32], text[256];
	size_t shown = 0;

	for (; shown < json_array_size(list) && shown < FAILING_SHOWN; shown++, label = "") {
		const json_t *entry = json_array_get(list, shown);

		(void)fprintf(page->out, LABEL "%s%s fails for %s: %s%s\n", label,
			      in_colour(page, CTL_YELLOW), ctl_text(entry, "server"),
			      text_show_seconds(since, sizeof since, ctl_number(entry, "for_s")),
			      ctl_clean(text, sizeof text, ctl_text(entry, "error")),
			      in_colour(page, CTL_PLAIN));
	}
	if (json_array_size(list) > shown)
		(void)fprintf(page->out, LABEL "%lld servers in all: see callrouterctl servers\n",
			      label, n);
}

/*** The ranking ***/

/* Of the heap's figures; of all if there are none of the heap. */
static double oldest_age_s(json_t *metrics, bool only_heap)
{
	double oldest_s = (double)NAN;
	const char *name;
	json_t *metric;

	json_object_foreach(metrics, name, metric)
	{
		const double age_s = ctl_number(metric, "age_s");

		if (only_heap && strncmp(name, "jvm_heap_", strlen("jvm_heap_")) != 0)
			continue;
		if (isnan(oldest_s) || age_s > oldest_s)
			oldest_s = age_s;
	}
	return oldest_s;
}

static void add_age(struct ctl_table *table, json_t *metrics, double stale_after_s)
{
	double age_s = ctl_number(json_object_get(metrics, "jvm_heap_free_bytes"), "age_s");
	bool is_stale;
	char text[32];

	if (isnan(age_s))
		age_s = oldest_age_s(metrics, true);
	if (isnan(age_s))
		age_s = oldest_age_s(metrics, false);
	is_stale = age_s > stale_after_s;
	ctl_table_addf(table, is_stale ? CTL_YELLOW : CTL_PLAIN, "%s%s",
		       text_show_seconds(text, sizeof text, age_s), is_stale ? " stale" : "");
}

static void add_share(struct ctl_table *table, const json_t *entry)
{
	const double share = ctl_number(entry, "share");

	if (isnan(share))
		ctl_table_add(table, CTL_PLAIN, "-");
	else
		ctl_table_addf(table, CTL_PLAIN, "%.0f %%", 100 * share);
}

/* The titles of the table: ours, the router's columns, the address. */
struct titles {
	struct ctl_column column[N_BEFORE + CR_COLUMNS_MAX + 1];
	char name[CR_COLUMNS_MAX][TITLE_MAX];
	size_t n;
};

static void fill_titles(struct titles *titles, json_t *columns)
{
	static const struct ctl_column before[N_BEFORE] = {
		{ "#", true },         { "SERVER", false },   { "STATE", false },
		{ "HEAP FREE", true }, { "HEAP SIZE", true }, { "AGE", true },
		{ "INFLIGHT", true },  { "SHARE", true },     { "WEIGHT", true },
	};
	const char *name;
	json_t *value;
	size_t k = 0;

	memcpy(titles->column, before, sizeof before);
	json_object_foreach(columns, name, value)
	{
		if (k == CR_COLUMNS_MAX)
			break;
		(void)text_copy(titles->name[k], TITLE_MAX, name);
		for (char *c = titles->name[k]; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
		titles->column[N_BEFORE + k] = (struct ctl_column){ titles->name[k], true };
		k++;
	}
	titles->column[N_BEFORE + k] = (struct ctl_column){ "ADDRESS", false };
	titles->n = N_BEFORE + k + 1;
}

/* As many cells as there are titles. */
static void add_columns(struct ctl_table *table, json_t *columns, size_t n)
{
	void *at = json_object_iter(columns);

	for (size_t k = 0; k < n; k++, at = json_object_iter_next(columns, at)) {
		const json_t *value = json_object_iter_value(at);

		if (json_is_number(value))
			ctl_table_addf(table, CTL_PLAIN, "%.6g", json_number_value(value));
		else
			ctl_table_add(table, CTL_PLAIN, "-");
	}
}

static void add_entry(struct ctl_table *table, const json_t *entry, double stale_after_s,
		      size_t n_columns)
{
	json_t *metrics = json_object_get(entry, "metrics");

	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(entry, "position"));
	ctl_table_add(table, CTL_BOLD, ctl_text(entry, "server"));
	ctl_add_state(table, ctl_text(entry, "state"), entry);
	ctl_table_add_bytes(table, json_object_get(metrics, "jvm_heap_free_bytes"));
	ctl_table_add_bytes(table, json_object_get(metrics, "jvm_heap_size_bytes"));
	add_age(table, metrics, stale_after_s);
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(entry, "inflight"));
	add_share(table, entry);
	ctl_table_addf(table, CTL_PLAIN, "%lld", ctl_count_of(entry, "weight"));
	add_columns(table, json_object_get(entry, "columns"), n_columns);
	ctl_table_add(table, CTL_PLAIN, ctl_text(entry, "address"));
}

static int print_ranking(const struct page *page, const json_t *service)
{
	const json_t *ranking = json_object_get(service, "ranking");
	struct ctl_table *table;
	struct titles titles;
	int r;

	if (json_array_size(ranking) == 0) {
		(void)fprintf(page->out, "  %sno server may be contacted%s\n",
			      in_colour(page, CTL_RED), in_colour(page, CTL_PLAIN));
		return 0;
	}
	fill_titles(&titles, json_object_get(json_array_get(ranking, 0), "columns"));
	table = ctl_table_new(titles.column, titles.n);
	for (size_t i = 0; i < json_array_size(ranking); i++)
		add_entry(table, json_array_get(ranking, i), ctl_number(service, "stale_after_s"),
			  titles.n - N_BEFORE - 1);
	r = ctl_table_print(table, page->out, page->is_coloured, 2);
	ctl_table_free(table);
	return r;
}

/* What the rankers were given of a metric, server by server, if it is not what was measured. */
static void print_smoothed_metric(const struct page *page, const json_t *ranking, const char *name)
{
	const size_t len = strlen(name);
	const bool is_bytes = len > 6 && strcmp(name + len - 6, "_bytes") == 0;
	bool is_first = true;
	char text[32];

	for (size_t i = 0; i < json_array_size(ranking); i++) {
		const json_t *entry = json_array_get(ranking, i);
		const json_t *metric = json_object_get(json_object_get(entry, "metrics"), name);
		const double value = ctl_number(metric, "smoothed");

		if (isnan(value))
			continue;
		if (is_bytes)
			(void)text_show_bytes(text, sizeof text, value);
		else
			(void)snprintf(text, sizeof text, "%.6g", value);
		(void)fprintf(page->out, "%s%s%s %s %s", is_first ? "  smoothed " : "",
			      is_first ? name : ",", is_first ? ":" : "", ctl_text(entry, "server"),
			      text);
		is_first = false;
	}
	(void)fputs(is_first ? "" : "\n", page->out);
}

static void print_smoothed(const struct page *page, const json_t *ranking)
{
	json_t *metrics = json_object_get(json_array_get(ranking, 0), "metrics"), *metric;
	const char *name;

	json_object_foreach(metrics, name, metric)
	{
		print_smoothed_metric(page, ranking, name);
	}
}

static void print_not_ranked(const struct page *page, const json_t *others)
{
	for (size_t i = 0; i < json_array_size(others); i++) {
		const json_t *other = json_array_get(others, i);

		(void)fprintf(page->out, "%s%s (%s)", i == 0 ? "  not ranked: " : ", ",
			      ctl_text(other, "server"), ctl_text(other, "reason"));
	}
	(void)fputs(json_array_size(others) > 0 ? "\n" : "", page->out);
}

/* Whose order the table shows, where it is not the router's. */
static void print_order(const struct page *page, const json_t *service)
{
	const json_t *router = json_object_get(service, "router");
	const bool is_per_call = strcmp(ctl_text(router, "state"), "per call") == 0;

	if (!json_is_object(router) || strcmp(ctl_text(service, "ranked_by"), "router") == 0 ||
	    json_array_size(json_object_get(service, "ranking")) == 0)
		return;
	(void)fprintf(page->out, LABEL "the default's%s\n", "order",
		      is_per_call ? ": the router chooses anew for each call" : "");
}

static int print_service(const struct page *page, const json_t *service)
{
	int r;

	(void)fprintf(page->out, "\n%s%s%s\n", in_colour(page, CTL_BOLD), ctl_text(service, "name"),
		      in_colour(page, CTL_PLAIN));
	print_router(page, service);
	(void)fprintf(page->out, LABEL "%s\n", "default", ctl_text(service, "default"));
	print_decided(page, service);
	print_reasons(page, json_object_get(service, "fallback_reasons"));
	print_warnings(page, json_object_get(service, "warnings"));
	print_failing(page, json_object_get(service, "failing"));
	print_order(page, service);
	r = print_ranking(page, service);
	print_smoothed(page, json_object_get(service, "ranking"));
	print_not_ranked(page, json_object_get(service, "not_ranked"));
	return r;
}

int ctl_status_print(const json_t *status, FILE *out, bool is_coloured)
{
	const struct page page = { .out = out, .is_coloured = is_coloured };
	const json_t *services = json_object_get(status, "services");
	int r = 0;

	print_head(&page, status);
	print_warnings(&page, json_object_get(status, "warnings"));
	for (size_t i = 0; i < json_array_size(services) && r == 0; i++)
		r = print_service(&page, json_array_get(services, i));
	return r;
}

/*** The command ***/

/* What a look needs. */
struct look {
	const struct ctl *ctl;
	const char *service; /* NULL: all */
};

static json_t *request_of(const struct look *look)
{
	return look->service != NULL
		       ? json_pack("{s:s,s:s}", "command", "status", "service", look->service)
		       : json_pack("{s:s}", "command", "status");
}

static int look_once(const struct look *look)
{
	json_t *answer;
	int status = ctl_ask(look->ctl, request_of(look), CTL_ASK_MS, &answer);

	if (status != CTL_GOOD)
		return status;
	if (look->ctl->is_json)
		status = ctl_print_json(answer, stdout);
	else if (ctl_status_print(answer, stdout, ctl_is_coloured(stdout)) < 0)
		status = ctl_fail(CTL_REFUSED, "out of memory");
	json_decref(answer);
	return status;
}

/* A page of --watch: an error is part of the page, for the daemon may come back. */
static int look_again(void *arg, FILE *out, bool is_coloured)
{
	const struct look *look = arg;
	struct err err = { 0 };
	json_t *answer = control_ask(look->ctl->run_dir, request_of(look), CTL_ASK_MS, &err);
	char text[sizeof err.text];

	if (answer == NULL && look->ctl->is_json)
		(void)fprintf(stderr, "callrouterctl: %s\n", err.text);
	else if (answer == NULL)
		(void)fprintf(out, "%s%s%s\n", ctl_colour(is_coloured, CTL_RED),
			      ctl_clean(text, sizeof text, err.text),
			      ctl_colour(is_coloured, CTL_PLAIN));
	else if (look->ctl->is_json)
		(void)json_dumpf(answer, out, JSON_COMPACT | JSON_REAL_PRECISION(15));
	else
		(void)ctl_status_print(answer, out, is_coloured);
	(void)fputs(answer != NULL || !look->ctl->is_json ? "\n" : "", out);
	json_decref(answer);
	return answer != NULL ? CTL_GOOD : CTL_REFUSED;
}

/* "2" and "2s" are both two seconds. */
static int parse_interval(const char *text, int64_t *out_ns)
{
	double seconds;

	if (text_real(text, &seconds) == 0 && seconds >= 0 && seconds < 1e6)
		*out_ns = (int64_t)(seconds * 1e9);
	else if (text_duration(text, out_ns) < 0)
		return -EINVAL;
	return *out_ns >= INTERVAL_MIN_NS ? 0 : -EINVAL;
}

int ctl_status(struct ctl *ctl, int argc, char **argv)
{
	static const struct option options[] = { CTL_COMMON_OPTIONS,
						 CTL_JSON_OPTION,
						 { "watch", no_argument, NULL, 'w' },
						 { "interval", required_argument, NULL, 'i' },
						 { 0 } };
	struct look look = { .ctl = ctl };
	int64_t interval_ns = CLOCK_S;
	bool is_watching = false;
	int code;

	while ((code = ctl_option(ctl, argc, argv, options)) > 0) {
		if (code == 'i' && parse_interval(optarg, &interval_ns) < 0)
			return ctl_usage(ctl, "--interval %s: a time from 100ms on, such as 2s",
					 optarg);
		is_watching = true; /* --interval means --watch */
	}
	if (code == CTL_ARGUMENTS)
		code = ctl_count(ctl, argc, 0, 1);
	if (code != CTL_ARGUMENTS)
		return ctl_leave(code);
	look.service = argv[optind]; /* NULL after the last */
	return is_watching ? ctl_watch(look_again, &look, interval_ns, !ctl->is_json)
			   : look_once(&look);
}
