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
	if (index >= servers->n)
		return false;
	pthread_mutex_lock(&servers->lock);
	copy_server(servers->server[index], out);
	pthread_mutex_unlock(&servers->lock);

	out->contradictions = derive(out->value, out->taken_ns, NULL);
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
