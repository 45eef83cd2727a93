/* servers_get.c - copies of what is known of a server, with the metrics that follow from others. */
#include "servers_internal.h"

#include <math.h>
#include <string.h>

#include "text.h"

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

/** All figures that follow from others; how: NULL, or as derive() has it, for each. */
static unsigned derive_all(size_t threads_at, double heap_max, double *value, int64_t *taken_ns,
			   const char **how)
{
	if (threads_at > 0)
		derive_threads(value + threads_at, taken_ns + threads_at,
			       how != NULL ? how + threads_at : NULL);
	return derive(value, taken_ns, heap_max, how);
}

/** Maximum and size first: beside them used and free follow from each other, while free of one
 * source and used of another come to a size that nobody has. */
static size_t backup_in_order(size_t k)
{
	static const uint8_t order[] = { HEAP_MAX, HEAP_SIZE, HEAP_USED, HEAP_FREE };

	return k < sizeof order ? order[k] : k;
}

/** Backups stand in where the others' value, or what follows from theirs and from backups that do
 * so already, is unknown or too old. value and taken_ns: as many as there are metrics at least. */
static void take_backups(const struct servers *servers, const struct server *server, double *value,
			 int64_t *taken_ns)
{
	const struct samples *backup = &server->backup;
	double known[SERVERS_METRICS_MAX];
	int64_t known_ns[SERVERS_METRICS_MAX];

	memcpy(known, value, servers->n_metrics * sizeof *known);
	memcpy(known_ns, taken_ns, servers->n_metrics * sizeof *known_ns);
	(void)derive_all(servers->threads_at, 0, known, known_ns, NULL);
	for (size_t k = 0; k < servers->n_metrics; k++) {
		const size_t i = backup_in_order(k);
		const struct sample *sample = i < backup->n ? &backup->at[i] : NULL;

		if (sample == NULL || sample->taken_ns == 0 ||
		    (!isnan(known[i]) && sample->taken_ns - known_ns[i] <= server->hold_ns))
			continue;
		value[i] = known[i] = sample->value;
		taken_ns[i] = known_ns[i] = sample->taken_ns;
		(void)derive_all(servers->threads_at, 0, known, known_ns, NULL);
	}
}

/** n: of value and taken_ns, as many as there are metrics at least. Under the lock. */
static void copy_samples(const struct servers *servers, const struct server *server, double *value,
			 int64_t *taken_ns, size_t n)
{
	const struct samples *samples = &server->sample;

	for (size_t i = 0; i < n; i++) {
		const bool is_known = i < samples->n;

		value[i] = is_known ? samples->at[i].value : NAN;
		taken_ns[i] = is_known ? samples->at[i].taken_ns : 0;
	}
	if (server->backup.n > 0)
		take_backups(servers, server, value, taken_ns);
}

static void copy_server(const struct servers *servers, const struct server *server,
			struct servers_entry *out)
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
	(void)text_copy(out->error, sizeof out->error,
			server->n_failing > 0 ? server->failing[0].told.text : "");
	out->good_ns = server->good_ns;
	copy_samples(servers, server, out->value, out->taken_ns, SERVERS_METRICS_MAX);
}

#define SCAN_BATCH 64 /* servers looked at before collectors may put again */

/** Under the lock. */
static void show(const struct servers *servers, const struct server *server, size_t n_metrics,
		 servers_scan_fn *fn, void *arg)
{
	double value[SERVERS_METRICS_MAX];
	int64_t taken_ns[SERVERS_METRICS_MAX];
	struct servers_brief brief = {
		.name = server->name,
		.address = server->address,
		.is_skipped = server->is_skipped,
		.is_drained = server->wish.is_drained,
		.weight = server->wish.weight_is_set ? server->wish.weight : server->weight,
		.n = n_metrics,
		.value = value,
		.taken_ns = taken_ns,
	};

	copy_samples(servers, server, value, taken_ns, servers->n_metrics);
	brief.max_is_assumed = server->heap_max > 0 && isnan(value[HEAP_MAX]);
	(void)derive_all(servers->threads_at, server->heap_max, value, taken_ns, NULL);
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
		show(servers, servers->server[i], n_metrics, fn, arg);
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
	size_t threads_at;
	double heap_max;

	if (index >= servers->n)
		return false;
	pthread_mutex_lock(&servers->lock);
	copy_server(servers, servers->server[index], out);
	threads_at = servers->threads_at;
	heap_max = servers->server[index]->heap_max;
	pthread_mutex_unlock(&servers->lock);

	memset(out->how, 0, sizeof out->how);
	out->contradictions = derive_all(threads_at, heap_max, out->value, out->taken_ns, out->how);
	return true;
}

bool servers_get_rejected(struct servers *servers, size_t index, size_t k,
			  struct servers_rejected *out)
{
	const struct server *server;
	bool is_there;

	if (index >= servers->n)
		return false;
	server = servers->server[index];
	pthread_mutex_lock(&servers->lock);
	is_there = k < server->n_rejects;
	if (is_there)
		*out = server->reject[k];
	pthread_mutex_unlock(&servers->lock);
	return is_there;
}
