/* servers_get.c - copies of what is known of a server, with the metrics that follow from others. */
#include "servers_internal.h"

#include <math.h>
#include <string.h>

#include "text.h"

size_t servers_count(struct servers *servers)
{
	return servers->n;
}

size_t servers_metric_count(struct servers *servers)
{
	size_t n;

	pthread_mutex_lock(&servers->lock);
	n = servers->n_metrics;
	pthread_mutex_unlock(&servers->lock);
	return n;
}

const char *servers_metric_name(struct servers *servers, size_t metric)
{
	const char *name = NULL;

	pthread_mutex_lock(&servers->lock);
	if (metric < servers->n_metrics)
		name = servers->metric[metric];
	pthread_mutex_unlock(&servers->lock);
	return name;
}

/** result = max(0, whole - part), where result is missing or older than both. */
static void derive(struct servers_entry *entry, size_t result, size_t whole, size_t part)
{
	const int64_t *const taken_ns = entry->taken_ns;
	const double difference = entry->value[whole] - entry->value[part];
	int64_t oldest_ns;

	if (isnan(entry->value[whole]) || isnan(entry->value[part]))
		return;
	oldest_ns = taken_ns[whole] < taken_ns[part] ? taken_ns[whole] : taken_ns[part];
	if (!isnan(entry->value[result]) && taken_ns[result] >= oldest_ns)
		return;
	entry->value[result] = difference > 0 ? difference : 0;
	entry->taken_ns[result] = oldest_ns;
}

static void copy_samples(const struct server *server, struct servers_entry *out)
{
	for (size_t i = 0; i < SERVERS_METRICS_MAX; i++) {
		const bool is_known = i < server->n_samples;

		out->value[i] = is_known ? server->sample[i].value : NAN;
		out->taken_ns[i] = is_known ? server->sample[i].taken_ns : 0;
	}
}

static void copy_server(const struct server *server, struct servers_entry *out)
{
	const struct servers_wish *wish = &server->wish;

	(void)text_copy(out->name, sizeof out->name, server->name);
	(void)text_copy(out->address, sizeof out->address, server->address);
	out->is_admin = server->is_admin;
	out->is_skipped = server->is_skipped;
	out->is_drained = wish->is_drained;
	(void)text_copy(out->skip_text, sizeof out->skip_text, server->skip_text);
	out->weight_is_set = wish->weight_is_set;
	out->weight = wish->weight_is_set ? wish->weight : server->weight;
	memcpy(out->rejected, server->rejected, sizeof out->rejected);
	out->polls = server->polls;
	out->failures = server->failures;
	(void)text_copy(out->error, sizeof out->error, server->error);
	out->good_ns = server->good_ns;
	copy_samples(server, out);
}

bool servers_get(struct servers *servers, size_t index, struct servers_entry *out)
{
	size_t whole;

	if (index >= servers->n)
		return false;
	pthread_mutex_lock(&servers->lock);
	copy_server(servers->server[index], out);
	pthread_mutex_unlock(&servers->lock);

	derive(out, HEAP_FREE, HEAP_SIZE, HEAP_USED);
	derive(out, HEAP_USED, HEAP_SIZE, HEAP_FREE);
	whole = isnan(out->value[HEAP_MAX]) ? HEAP_SIZE : HEAP_MAX;
	derive(out, HEAP_AVAILABLE, whole, HEAP_USED);
	derive(out, HEAP_FREE_AFTER_GC, whole, HEAP_USED_AFTER_GC);
	return true;
}
