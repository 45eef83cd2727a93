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

/** The values of one server, by metric. */
struct values {
	double *value;
	int64_t *taken_ns;
};

/** result = max(0, whole - part), where result is missing or older than both. */
static void derive(struct values v, size_t result, size_t whole, size_t part)
{
	const double difference = v.value[whole] - v.value[part];
	int64_t oldest_ns;

	if (isnan(v.value[whole]) || isnan(v.value[part]))
		return;
	oldest_ns = v.taken_ns[whole] < v.taken_ns[part] ? v.taken_ns[whole] : v.taken_ns[part];
	if (!isnan(v.value[result]) && v.taken_ns[result] >= oldest_ns)
		return;
	v.value[result] = difference > 0 ? difference : 0;
	v.taken_ns[result] = oldest_ns;
}

static void derive_all(struct values v)
{
	size_t whole;

	derive(v, HEAP_FREE, HEAP_SIZE, HEAP_USED);
	derive(v, HEAP_USED, HEAP_SIZE, HEAP_FREE);
	whole = isnan(v.value[HEAP_MAX]) ? HEAP_SIZE : HEAP_MAX;
	derive(v, HEAP_AVAILABLE, whole, HEAP_USED);
	derive(v, HEAP_FREE_AFTER_GC, whole, HEAP_USED_AFTER_GC);
}

static void copy_samples(const struct server *server, struct values v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const bool is_known = i < server->n_samples;

		v.value[i] = is_known ? server->sample[i].value : NAN;
		v.taken_ns[i] = is_known ? server->sample[i].taken_ns : 0;
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
	copy_samples(server, (struct values){ out->value, out->taken_ns }, SERVERS_METRICS_MAX);
}

#define SCAN_BATCH 64 /* servers looked at before collectors may put again */

/** Under the lock. */
static void show(const struct server *server, size_t n_metrics, servers_scan_fn *fn, void *arg)
{
	double value[SERVERS_METRICS_MAX];
	int64_t taken_ns[SERVERS_METRICS_MAX];
	const struct values v = { value, taken_ns };
	const struct servers_brief brief = {
		.name = server->name,
		.address = server->address,
		.is_skipped = server->is_skipped,
		.is_drained = server->wish.is_drained,
		.weight = server->wish.weight_is_set ? server->wish.weight : server->weight,
		.n = n_metrics,
		.value = value,
		.taken_ns = taken_ns,
	};

	copy_samples(server, v, n_metrics > HEAP_COUNT ? n_metrics : HEAP_COUNT);
	derive_all(v);
	fn(arg, server->index, &brief);
}

uint64_t servers_scan(struct servers *servers, size_t n_metrics, uint64_t since,
		      servers_scan_fn *fn, void *arg)
{
	size_t n_shown = 0;
	uint64_t seq;

	pthread_mutex_lock(&servers->lock);
	seq = servers->seq;
	for (size_t i = 0; i < servers->n; i++) {
		if (servers->changed[i] <= since)
			continue;
		show(servers->server[i], n_metrics, fn, arg);
		if (++n_shown % SCAN_BATCH != 0)
			continue;
		pthread_mutex_unlock(&servers->lock);
		pthread_mutex_lock(&servers->lock);
	}
	pthread_mutex_unlock(&servers->lock);
	return seq;
}

bool servers_get(struct servers *servers, size_t index, struct servers_entry *out)
{
	if (index >= servers->n)
		return false;
	pthread_mutex_lock(&servers->lock);
	copy_server(servers->server[index], out);
	pthread_mutex_unlock(&servers->lock);
	derive_all((struct values){ out->value, out->taken_ns });
	return true;
}
