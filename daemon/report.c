/* report.c - remembers recent calls for "share"; the documents for servers and sources. */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/plugin.h>

#include "clock.h"
#include "derive.h"
#include "document.h"
#include "report_parts.h"
#include "words.h"

#define WINDOW_NS (10 * CLOCK_S)
#define SLACK_NS  (CLOCK_S / 2) /* a tick may come late */
#define SAMPLES   11

struct sample {
	int64_t at_ns;                        /* 0: none yet */
	uint64_t calls[COUNTERS_LINES];       /* by line */
	uint32_t incarnation[COUNTERS_LINES]; /* whose calls; 0: not looked at */
};

struct report {
	size_t next; /* sample to be overwritten: the oldest */
	struct sample sample[SAMPLES];
};

struct report *report_new(void)
{
	return calloc(1, sizeof(struct report));
}

void report_free(struct report *report)
{
	free(report);
}

const struct counters_line *report_line(const struct report_source *source,
					const struct image_server *server)
{
	const struct counters_line *line = source->counters != NULL && server->line < COUNTERS_LINES
						   ? counters_line(source->counters, server->line)
						   : NULL;

	/* The line has gone to another server since this image was made. */
	if (line == NULL ||
	    atomic_load_explicit(&line->incarnation, memory_order_relaxed) != server->incarnation)
		return NULL;
	return line;
}

void report_tick(struct report *report, const struct report_source *source)
{
	struct sample *sample = &report->sample[report->next];
	const struct image_server *server;

	if (source->image == NULL || source->counters == NULL)
		return;
	server = image_servers(source->image);
	memset(sample->incarnation, 0, sizeof sample->incarnation);
	for (size_t i = 0; i < source->image->server.count; i++) {
		const struct counters_line *line = report_line(source, &server[i]);

		if (line == NULL)
			continue;
		sample->calls[server[i].line] =
			atomic_load_explicit(&line->calls, memory_order_relaxed);
		sample->incarnation[server[i].line] = server[i].incarnation;
	}
	sample->at_ns = source->now_ns;
	report->next = (report->next + 1) % SAMPLES;
}

uint64_t report_recent_calls(const struct report *report, const struct report_source *source,
			     const struct image_server *server)
{
	const struct counters_line *line = report_line(source, server);
	uint64_t now;

	if (line == NULL)
		return 0;
	now = atomic_load_explicit(&line->calls, memory_order_relaxed);
	/* From the oldest sample on: the first one that knows this server counts. */
	for (size_t i = 0; i < SAMPLES; i++) {
		const struct sample *sample = &report->sample[(report->next + i) % SAMPLES];

		if (sample->at_ns == 0 || source->now_ns - sample->at_ns > WINDOW_NS + SLACK_NS ||
		    sample->incarnation[server->line] != server->incarnation)
			continue;
		return now > sample->calls[server->line] ? now - sample->calls[server->line] : 0;
	}
	return 0;
}

json_t *report_metric(double value, int64_t age_ns, int64_t stale_after_ns)
{
	return json_pack("{s:o,s:o,s:b}", "value", document_number(value), "age_s",
			 document_seconds(age_ns), "fresh", age_ns <= stale_after_ns);
}

/*** Servers ***/

/* With how it follows from others, if it does. */
static json_t *server_metric(const struct report_source *source, const struct servers_entry *entry,
			     size_t k, int64_t stale_after_ns)
{
	json_t *metric =
		report_metric(entry->value[k], source->now_ns - entry->taken_ns[k], stale_after_ns);

	if (entry->how[k] != NULL &&
	    json_object_set_new(metric, "derived", json_string(entry->how[k])) < 0) {
		json_decref(metric);
		return NULL;
	}
	return metric;
}

static json_t *server_metrics(const struct report_source *source, const struct servers_entry *entry,
			      int64_t stale_after_ns)
{
	const size_t n = servers_metric_count(source->servers);
	json_t *metrics = json_object();

	for (size_t k = 0; k < n && k < SERVERS_METRICS_MAX; k++) {
		const char *name = servers_metric_name(source->servers, k);

		if (entry->taken_ns[k] == 0)
			continue;
		if (json_object_set_new(metrics, name,
					server_metric(source, entry, k, stale_after_ns)) < 0) {
			json_decref(metrics);
			return NULL;
		}
	}
	return metrics;
}

/* What all services say of a server. */
struct rules {
	int64_t stale_after_ns; /* of the strictest: fresh there is fresh everywhere */
	int64_t slow_start_ns;  /* of the one with the longest */
};

/* What is found out once for all servers: with thousands of them nothing may be looked for in each
 * of them again. */
struct seen {
	bool metric[SERVERS_METRICS_MAX]; /* does any server have it? */
	struct rules *rules;              /* by server */
	size_t next;                      /* in the image: where the next server ought to be */
};

static struct rules *find_rules(const struct config *config)
{
	struct rules *rules = calloc(config->n_servers + 1, sizeof *rules);

	for (size_t i = 0; rules != NULL && i < config->n_services; i++) {
		const struct config_service *service = &config->services[i];

		for (size_t k = 0; k < service->n_servers; k++) {
			struct rules *of = &rules[service->servers[k]];

			if (of->stale_after_ns == 0 || service->stale_after_ns < of->stale_after_ns)
				of->stale_after_ns = service->stale_after_ns;
			if (service->health.slow_start_ns > of->slow_start_ns)
				of->slow_start_ns = service->health.slow_start_ns;
		}
	}
	for (size_t i = 0; rules != NULL && i < config->n_servers; i++)
		if (rules[i].stale_after_ns == 0)
			rules[i].stale_after_ns = 10 * CLOCK_S;
	return rules;
}

static void find_seen(const struct report_source *source, struct servers_entry *entry,
		      struct seen *seen)
{
	*seen = (struct seen){ .rules = find_rules(source->config) };
	for (size_t i = 0; entry != NULL && servers_get(source->servers, i, entry); i++)
		for (size_t k = 0; k < SERVERS_METRICS_MAX; k++)
			seen->metric[k] |= entry->taken_ns[k] != 0;
}

/* Metrics that another server has, but not this one. */
static json_t *server_absent(const struct report_source *source, const struct seen *seen,
			     const struct servers_entry *entry)
{
	const size_t n = servers_metric_count(source->servers);
	json_t *absent = json_array();

	for (size_t k = 0; k < n && k < SERVERS_METRICS_MAX; k++)
		if (entry->taken_ns[k] == 0 && seen->metric[k] && !entry->is_admin &&
		    json_array_append_new(
			    absent, json_string(servers_metric_name(source->servers, k))) < 0) {
			json_decref(absent);
			return NULL;
		}
	return absent;
}

static json_t *server_inconsistent(const struct servers_entry *entry)
{
	json_t *list = json_array();

	for (size_t i = 0; i < DERIVE_FAULTS; i++)
		if ((entry->contradictions & (1u << i)) != 0 &&
		    json_array_append_new(list, json_string(derive_fault_words(i))) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *reject_counts(const uint64_t *count)
{
	json_t *rejected = json_object();

	for (unsigned i = 0; i < SERVERS_REJECTS; i++)
		if (count[i] != 0 &&
		    json_object_set_new(rejected, servers_reject_word((enum servers_reject)i),
					json_integer((json_int_t)count[i])) < 0) {
			json_decref(rejected);
			return NULL;
		}
	return rejected;
}

/* What happened since the report was begun is just now. */
static json_t *age_of(const struct report_source *source, int64_t at_ns)
{
	return document_seconds(at_ns < source->now_ns ? source->now_ns - at_ns : 0);
}

/* By source, with what was said of the last one. */
static json_t *server_rejected_by(const struct report_source *source, size_t index)
{
	struct servers_rejected rejected;
	json_t *list = json_array();

	for (size_t k = 0; servers_get_rejected(source->servers, index, k, &rejected); k++)
		if (json_array_append_new(
			    list, json_pack("{s:o,s:o,s:o,s:o}", "source",
					    document_text(rejected.source, sizeof rejected.source),
					    "counts", reject_counts(rejected.count), "text",
					    document_text(rejected.text, sizeof rejected.text),
					    "age_s", age_of(source, rejected.at_ns))) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* NULL: not published. Servers come in the image's order: each is where the one before ended. */
static const struct image_server *published(const struct report_source *source, struct seen *seen,
					    const char *name)
{
	const size_t n = source->image != NULL ? source->image->server.count : 0;
	const struct image_server *server = n > 0 ? image_servers(source->image) : NULL;

	for (size_t i = 0; i < n; i++) {
		const size_t at = (seen->next + i) % n;

		if (strcmp(server[at].name, name) != 0)
			continue;
		seen->next = at + 1;
		return &server[at];
	}
	return NULL;
}

static const char *server_state(const struct report_source *source,
				const struct servers_entry *entry, const struct counters_line *line)
{
	if (entry->is_admin)
		return "admin";
	return entry->is_drained ? words_state(CR_DRAINED) : report_state(source, line);
}

static json_int_t count_of(const _Atomic uint64_t *count)
{
	return count != NULL ? (json_int_t)atomic_load_explicit(count, memory_order_relaxed) : 0;
}

static json_t *server_document(const struct report_source *source, struct seen *seen, size_t index,
			       const struct servers_entry *entry)
{
	const struct rules *rules = &seen->rules[index];
	const struct image_server *server = published(source, seen, entry->name);
	const struct counters_line *line = server != NULL ? report_line(source, server) : NULL;
	json_t *document = json_pack(
		"{s:o,s:o,s:s,s:s,s:I,s:b,s:b,s:o,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,"
		"s:o}",
		"server", document_text(entry->name, sizeof entry->name), "address",
		document_text(entry->address, sizeof entry->address), "role",
		entry->is_admin ? "admin" : "managed", "state", server_state(source, entry, line),
		"weight", (json_int_t)entry->weight, "weight_set", entry->weight_is_set, "drained",
		entry->is_drained, "skipped",
		entry->is_skipped ? document_text(entry->skip_text, sizeof entry->skip_text)
				  : json_null(),
		"inflight",
		(json_int_t)(line ? __atomic_load_n(&line->live.inflight, __ATOMIC_RELAXED) : 0),
		"calls", count_of(line ? &line->calls : NULL), "failures",
		count_of(line ? &line->failures : NULL), "polls", (json_int_t)entry->polls,
		"poll_failures", (json_int_t)entry->failures, "error",
		document_text_or_null(entry->error, sizeof entry->error), "failing",
		report_failing(source, index), "metrics",
		server_metrics(source, entry, rules->stale_after_ns), "absent",
		server_absent(source, seen, entry), "inconsistent", server_inconsistent(entry),
		"rejected", reject_counts(entry->rejected), "rejected_by",
		server_rejected_by(source, index), "check", report_check(source, server));

	return report_add_health(document, source, line, rules->slow_start_ns);
}

static json_t *all_servers(const struct report_source *source)
{
	struct servers_entry *entry = malloc(sizeof *entry); /* 2 KiB: not for the stack */
	json_t *servers = json_array();
	struct seen seen;

	find_seen(source, entry, &seen);
	if (entry == NULL || seen.rules == NULL) {
		json_decref(servers);
		servers = NULL;
	}
	for (size_t i = 0; servers != NULL && servers_get(source->servers, i, entry); i++)
		if (json_array_append_new(servers, server_document(source, &seen, i, entry)) < 0) {
			json_decref(servers);
			servers = NULL;
		}
	free(seen.rules);
	free(entry);
	return servers;
}

/*** Sources ***/

static json_t *source_failures(const struct poller_source *figures)
{
	const size_t n = sizeof figures->failed / sizeof *figures->failed;
	json_t *failed = json_object();

	for (size_t why = CR_TIMEOUT; why < n; why++)
		if (figures->failed[why] != 0 &&
		    json_object_set_new(failed, words_why((enum cr_why)why),
					json_integer((json_int_t)figures->failed[why])) < 0) {
			json_decref(failed);
			return NULL;
		}
	return failed;
}

static json_t *source_document(const struct report_source *source,
			       const struct poller_source *figures)
{
	const bool has_failed = figures->error_ns != 0;

	return json_pack(
		"{s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "source",
		document_text(figures->name, sizeof figures->name), "plugin",
		document_text(figures->plugin, sizeof figures->plugin), "targets",
		(json_int_t)figures->targets, "in_flight", (json_int_t)figures->in_flight, "polls",
		(json_int_t)figures->polls, "good", (json_int_t)figures->good, "left_out",
		(json_int_t)figures->skipped, "rejected", (json_int_t)figures->rejected, "failed",
		source_failures(figures), "interval_s", document_seconds(figures->interval_ns),
		"latency_s",
		figures->good > 0 ? document_number((double)figures->latency_ns / 1e9)
				  : json_null(),
		"latency_worst_s",
		figures->worst_ns > 0 ? document_number((double)figures->worst_ns / 1e9)
				      : json_null(),
		"good_age_s", figures->good_ns > 0 ? age_of(source, figures->good_ns) : json_null(),
		"error",
		has_failed ? document_text(figures->error, sizeof figures->error) : json_null(),
		"error_age_s",
		has_failed ? document_seconds(source->now_ns - figures->error_ns) : json_null());
}

static json_t *all_sources(const struct report_source *source)
{
	struct poller_source figures;
	json_t *sources = json_array();

	for (size_t i = 0; source->poller != NULL && poller_get(source->poller, i, &figures); i++)
		if (json_array_append_new(sources, source_document(source, &figures)) < 0) {
			json_decref(sources);
			return NULL;
		}
	return sources;
}

json_t *report_servers(const struct report *report, const struct report_source *source)
{
	(void)report;
	return json_pack("{s:o,s:o}", "servers", all_servers(source), "sources",
			 all_sources(source));
}
