/* report_status.c - the document for status: who ranks, who decided, and where every server stands.
 */
#include "report_parts.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "document.h"
#include "text.h"
#include "warnings.h"
#include "words.h"

/* One service and everything that is known of it. */
struct subject {
	const struct report *report;
	const struct report_source *source;
	const struct image_header *image;
	const struct config_service *config;
	const struct image_service *service;
	uint64_t recent_calls; /* of all its servers */
};

static const struct image_instance *instance_of(const struct subject *s,
						const struct image_choice *choice)
{
	return choice->instance != IMAGE_NONE ? &image_instances(s->image)[choice->instance] : NULL;
}

static const struct image_server *server_of(const struct subject *s, size_t row)
{
	return &image_servers(s->image)[image_rows(s->image, s->service)[row]];
}

static bool has_router(const struct subject *s)
{
	return s->service->router.instance != IMAGE_NONE || s->config->router.plugin != NULL;
}

/*** The router ***/

/* Why the default decides at this moment; CR_REASON_NONE: it does not. */
static enum cr_reason reason_now(const struct subject *s)
{
	const struct image_choice *router = &s->service->router;
	const struct image_instance *instance = instance_of(s, router);

	if (!has_router(s))
		return CR_REASON_NO_ROUTER;
	if (s->service->n_usable == 0)
		return CR_REASON_NO_SERVER;
	if (instance != NULL && s->source->counters != NULL &&
	    counters_is_quarantined(s->source->counters, instance->seq))
		return CR_REASON_QUARANTINED;
	if (router->reason != CR_REASON_NONE)
		return (enum cr_reason)router->reason;
	if (router->fresh_until_ns < s->source->now_ns)
		return CR_REASON_STALE;
	if (instance != NULL && (instance->flags & IMAGE_HAS_ROUTE) == 0) {
		if (router->verdict == CR_DEFAULT)
			return CR_REASON_ROUTER_DEFAULT;
		if (router->verdict == CR_REFUSE)
			return CR_REASON_ROUTER_REFUSED;
	}
	return CR_REASON_NONE;
}

static const char *router_state(const struct subject *s, const struct image_instance *instance)
{
	switch (reason_now(s)) {
	case CR_REASON_STALE:
		return "waiting for metrics";
	case CR_REASON_RANK_LATE:
		return "late";
	case CR_REASON_RANK_ERROR:
	case CR_REASON_RANK_BAD_ORDER:
		return "failed";
	case CR_REASON_QUARANTINED:
		return "quarantined";
	case CR_REASON_NONE:
	case CR_REASON_NO_ROUTER:
	case CR_REASON_ROUTER_DEFAULT:
	case CR_REASON_ROUTER_REFUSED:
	case CR_REASON_ROUTE_ERROR:
	case CR_REASON_UNKNOWN_SERVER:
	case CR_REASON_REPEATED_SERVER:
	case CR_REASON_NO_SERVER:
	case CR_REASON_NO_SERVICE:
	case CR_REASON_NO_SNAPSHOT:
	case CR_REASON_NOT_LOADED:
	case CR_REASON_COUNT:
		break;
	}
	if (instance == NULL)
		return "not loaded";
	return (instance->flags & IMAGE_HAS_RANK) != 0 ? "active" : "per call";
}

static json_t *router_document(const struct subject *s)
{
	const struct image_instance *instance = instance_of(s, &s->service->router);

	if (!has_router(s))
		return json_null();
	if (instance == NULL)
		return json_pack("{s:s,s:n,s:n,s:s}", "plugin", s->config->router.plugin, "version",
				 "generation", "state", router_state(s, NULL));
	return json_pack("{s:o,s:o,s:I,s:s}", "plugin",
			 document_text(instance->plugin, sizeof instance->plugin), "version",
			 document_text(instance->version, sizeof instance->version), "generation",
			 (json_int_t)instance->seq, "state", router_state(s, instance));
}

static json_t *default_name(const struct subject *s)
{
	const struct image_instance *instance = instance_of(s, &s->service->preset);

	if (instance != NULL)
		return document_text(instance->plugin, sizeof instance->plugin);
	return s->config->preset.plugin != NULL ? json_string(s->config->preset.plugin)
						: json_null();
}

/*** What was decided ***/

static const struct counters_service *counts_of(const struct subject *s)
{
	const struct counters_service *counts =
		s->source->counters != NULL
			? counters_service(s->source->counters, s->service->line)
			: NULL;

	return counts != NULL && strncmp(counts->name, s->service->name, sizeof counts->name) == 0
		       ? counts
		       : NULL;
}

static json_int_t decided_count(const struct counters_service *counts, enum cr_decided decided)
{
	return counts != NULL ? (json_int_t)atomic_load_explicit(&counts->decided[decided],
								 memory_order_relaxed)
			      : 0;
}

static json_t *decided_document(const struct subject *s)
{
	const struct counters_service *counts = counts_of(s);

	return json_pack("{s:I,s:I,s:I,s:I}", "router", decided_count(counts, CR_ROUTER_DECIDED),
			 "default", decided_count(counts, CR_DEFAULT_DECIDED), "refused",
			 decided_count(counts, CR_REFUSED), "nobody",
			 decided_count(counts, CR_NOBODY));
}

static json_t *reasons_document(const struct subject *s)
{
	const struct counters_service *counts = counts_of(s);
	json_t *reasons = json_object();

	for (size_t i = CR_REASON_NONE + 1; counts != NULL && i < CR_REASON_COUNT; i++) {
		const uint64_t n = atomic_load_explicit(&counts->reason[i], memory_order_relaxed);

		if (n != 0 && json_object_set_new(reasons, words_reason((enum cr_reason)i),
						  json_integer((json_int_t)n)) < 0) {
			json_decref(reasons);
			return NULL;
		}
	}
	return reasons;
}

/*** The ranking ***/

/* With what the rankers were given instead, where it is smoothed. */
static json_t *metric_document(const struct subject *s, size_t k, size_t row)
{
	const uint32_t server = image_rows(s->image, s->service)[row];
	const size_t service = (size_t)(s->config - s->source->config->services);
	const double smoothed =
		smooth_get(s->source->smooth, service, image_metrics(s->image)[k].name, row);
	json_t *metric = report_metric(image_values(s->image, k)[server],
				       s->source->now_ns - image_taken(s->image, k)[server],
				       s->service->stale_after_ns);

	if (!isnan(smoothed) &&
	    json_object_set_new(metric, "smoothed", document_number(smoothed)) < 0) {
		json_decref(metric);
		return NULL;
	}
	return metric;
}

static json_t *metrics_document(const struct subject *s, size_t row)
{
	const struct image_metric *metric = image_metrics(s->image);
	const uint32_t server = image_rows(s->image, s->service)[row];
	json_t *metrics = json_object();

	for (size_t k = 0; k < s->image->metric.count; k++) {
		const int64_t taken_ns = image_taken(s->image, k)[server];

		if (taken_ns == 0)
			continue;
		if (json_object_set_new(metrics, metric[k].name, metric_document(s, k, row)) < 0) {
			json_decref(metrics);
			return NULL;
		}
	}
	return metrics;
}

/* What the router thinks of the server: its columns, as it filled them in when it last ranked. */
static json_t *columns_document(const struct subject *s, size_t row)
{
	const struct image_choice *router = &s->service->router;
	const struct image_instance *instance = instance_of(s, router);
	const struct report_source *source = s->source;
	char *const *name = NULL;
	json_t *columns = json_object();

	if (instance != NULL && source->columns != NULL)
		name = source->columns(source->columns_arg,
				       (size_t)(s->config - source->config->services),
				       instance->seq);
	for (size_t k = 0; name != NULL && name[k] != NULL; k++) {
		const double value = k < router->n_columns
					     ? image_column(s->image, s->service, router, k)[row]
					     : (double)NAN;

		if (json_object_set_new(columns, name[k], document_number(value)) < 0) {
			json_decref(columns);
			return NULL;
		}
	}
	return columns;
}

static json_t *share_of(const struct subject *s, const struct image_server *server)
{
	if (s->recent_calls == 0)
		return json_null();
	return document_number((double)report_recent_calls(s->report, s->source, server) /
			       (double)s->recent_calls);
}

static json_t *entry_document(const struct subject *s, size_t position, size_t row)
{
	const struct image_server *server = server_of(s, row);
	const struct counters_line *line = report_line(s->source, server);
	const uint32_t inflight =
		line != NULL ? __atomic_load_n(&line->live.inflight, __ATOMIC_RELAXED) : 0;

	json_t *document;

	document =
		json_pack("{s:I,s:o,s:o,s:s,s:I,s:I,s:o,s:o,s:o}", "position", (json_int_t)position,
			  "server", document_text(server->name, sizeof server->name), "address",
			  document_text(server->address, sizeof server->address), "state",
			  report_state(s->source, line), "weight", (json_int_t)server->weight,
			  "inflight", (json_int_t)inflight, "share", share_of(s, server), "metrics",
			  metrics_document(s, row), "columns", columns_document(s, row));
	return report_add_health(document, s->source, line, s->service->health.slow_start_ns);
}

/* Whose order is shown: the router's if it has one of its own now. */
static bool is_router_order(const struct subject *s)
{
	const struct image_choice *router = &s->service->router;
	const struct image_instance *instance = instance_of(s, router);

	return instance != NULL && (instance->flags & IMAGE_HAS_RANK) != 0 && router->verdict > 0 &&
	       reason_now(s) == CR_REASON_NONE;
}

static json_t *ranking_document(const struct subject *s)
{
	const struct image_choice *choice =
		is_router_order(s) ? &s->service->router : &s->service->preset;
	const uint16_t *order = image_order(s->image, choice);
	json_t *ranking = json_array();

	for (size_t i = 0; i < s->service->n_usable; i++)
		if (json_array_append_new(ranking, entry_document(s, i + 1, order[i])) < 0) {
			json_decref(ranking);
			return NULL;
		}
	return ranking;
}

static const char *why_not_ranked(const struct image_server *server)
{
	if ((server->flags & IMAGE_SKIPPED) != 0)
		return "admin";
	return (server->flags & IMAGE_DRAINED) != 0 ? "drained" : "weight 0";
}

static json_t *not_ranked_document(const struct subject *s)
{
	json_t *others = json_array();

	for (size_t row = 0; row < s->service->n_rows; row++) {
		const struct image_server *server = server_of(s, row);

		if (image_is_usable(server))
			continue;
		if (json_array_append_new(
			    others, json_pack("{s:o,s:s}", "server",
					      document_text(server->name, sizeof server->name),
					      "reason", why_not_ranked(server))) < 0) {
			json_decref(others);
			return NULL;
		}
	}
	return others;
}

/*** Services ***/

/* Add what the configuration warns of. Takes list; returns it, or NULL without memory. */
static json_t *add_config_warnings(json_t *list, const struct config *config, size_t service)
{
	for (size_t i = 0; list != NULL && i < config->n_warnings; i++) {
		const struct config_warning *warning = &config->warnings[i];

		if (warning->service == service &&
		    json_array_append_new(list, json_pack("{s:s,s:s}", "warning", warning->word,
							  "text", warning->text)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static size_t index_of(const struct report_source *source, const struct config_service *config)
{
	return (size_t)(config - source->config->services);
}

static json_t *service_warnings(const struct subject *s)
{
	json_t *list =
		s->source->warnings != NULL
			? warnings_document(s->source->warnings, s->service, s->source->now_ns)
			: json_array();

	return add_config_warnings(list, s->source->config, index_of(s->source, s->config));
}

static json_t *service_document(struct subject *s)
{
	const enum cr_reason reason = reason_now(s);

	s->recent_calls = 0;
	for (size_t row = 0; row < s->service->n_rows; row++)
		s->recent_calls += report_recent_calls(s->report, s->source, server_of(s, row));
	return json_pack(
		"{s:s,s:o,s:o,s:o,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o}", "name", s->config->name,
		"router", router_document(s), "default", default_name(s), "decided",
		decided_document(s), "fallback_reasons", reasons_document(s), "default_decides_now",
		reason == CR_REASON_NONE ? json_null() : json_string(words_reason(reason)),
		"ranked_by", is_router_order(s) ? "router" : "default", "stale_after_s",
		document_seconds(s->service->stale_after_ns), "ranking", ranking_document(s),
		"not_ranked", not_ranked_document(s), "warnings", service_warnings(s), "failing",
		report_service_failing(s->source, s->config));
}

/* A service that has not been published yet. */
static json_t *bare_document(const struct report_source *source,
			     const struct config_service *config)
{
	json_t *warnings =
		add_config_warnings(json_array(), source->config, index_of(source, config));
	json_t *router = config->router.plugin == NULL
				 ? json_null()
				 : json_pack("{s:s,s:n,s:n,s:s}", "plugin", config->router.plugin,
					     "version", "generation", "state", "not loaded");

	return json_pack(
		"{s:s,s:o,s:s?,s:{s:i,s:i,s:i,s:i},s:{},s:s,s:s,s:o,s:[],s:[],s:o,s:o}", "name",
		config->name, "router", router, "default", config->preset.plugin, "decided",
		"router", 0, "default", 0, "refused", 0, "nobody", 0, "fallback_reasons",
		"default_decides_now", words_reason(CR_REASON_NO_SNAPSHOT), "ranked_by", "default",
		"stale_after_s", document_seconds(config->stale_after_ns), "ranking", "not_ranked",
		"warnings", warnings, "failing", report_service_failing(source, config));
}

static const struct image_service *find_service(const struct image_header *image, const char *name)
{
	const struct image_service *service;

	if (image == NULL)
		return NULL;
	service = image_services(image);
	for (size_t i = 0; i < image->service.count; i++)
		if (strcmp(service[i].name, name) == 0)
			return &service[i];
	return NULL;
}

static json_t *any_service_document(const struct report *report, const struct report_source *source,
				    const struct config_service *config)
{
	struct subject s = { .report = report,
			     .source = source,
			     .image = source->image,
			     .config = config,
			     .service = find_service(source->image, config->name) };

	return s.service != NULL ? service_document(&s) : bare_document(source, config);
}

/* "no service x; there are orders, shop" */
static int fail_with_names(const struct config *config, const char *name, struct err *err)
{
	char names[160];
	size_t used = 0;

	names[0] = '\0';
	for (size_t i = 0; i < config->n_services && used < sizeof names; i++) {
		(void)text_copy(names + used, sizeof names - used, i > 0 ? ", " : "");
		used += strlen(names + used);
		(void)text_copy(names + used, sizeof names - used, config->services[i].name);
		used += strlen(names + used);
		if (used + 1 == sizeof names)
			break;
	}
	return err_set(err, -ENOENT, "no service \"%.64s\" is configured; there %s: %s", name,
		       config->n_services == 1 ? "is one" : "are these", names);
}

static bool is_wanted(const struct config_service *config, const char *name)
{
	return name == NULL || strcmp(config->name, name) == 0;
}

json_t *report_status(const struct report *report, const struct report_source *source,
		      const char *service, struct err *err)
{
	const struct config *config = source->config;
	json_t *services = json_array();
	const int64_t uptime_s = (source->now_ns - source->started_ns) / CLOCK_S;

	for (size_t i = 0; i < config->n_services; i++) {
		if (!is_wanted(&config->services[i], service))
			continue;
		if (json_array_append_new(services, any_service_document(report, source,
									 &config->services[i])) < 0)
			goto no_memory;
	}
	if (service != NULL && json_array_size(services) == 0) {
		(void)fail_with_names(config, service, err);
		json_decref(services);
		return NULL;
	}
	return json_pack("{s:s,s:{s:I,s:I,s:s},s:o,s:o}", "cluster", config->cluster, "daemon",
			 "pid", (json_int_t)getpid(), "uptime_s", (json_int_t)uptime_s, "version",
			 CALLROUTER_VERSION, "services", services, "warnings",
			 add_config_warnings(json_array(), config, CONFIG_NO_SERVICE));

no_memory:
	json_decref(services);
	(void)err_set(err, -ENOMEM, "callrouterd is out of memory");
	return NULL;
}
