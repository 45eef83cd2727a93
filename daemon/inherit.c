/* inherit.c - what a daemon before us published last: banks of shared words that are in use, and
 * metrics that may still be fresh, and which servers are none to be called. */
#include <math.h>
#include <string.h>

#include "daemon.h"
#include "derive.h"
#include "snapshot.h"

void daemon_inherit(struct daemon *daemon)
{
	struct snapshot_reader *reader = snapshot_reader_new(daemon->options.run_dir);
	struct err err = { 0 };

	if (reader == NULL)
		return;
	if (snapshot_read(reader, 0, &daemon->inherited, &err) <= 0)
		daemon->inherited = NULL;
	snapshot_reader_free(reader);
}

/* What was configured then is no measurement now. */
static bool inherit_is_measured(const struct image_server *server, int metric)
{
	return metric != HEAP_MAX || (server->flags & IMAGE_ASSUMES_MAX) == 0;
}

static void inherit_values(struct daemon *daemon, const struct image_header *image, uint32_t server,
			   const int *metric)
{
	const struct image_server *of = &image_servers(image)[server];
	const uint32_t n = image->metric.count;

	for (uint32_t m = 0; m < n; m++) {
		const double value = image_values(image, m)[server];
		const int64_t taken_ns = image_taken(image, m)[server];

		if (metric[m] >= 0 && taken_ns > 0 && !isnan(value) &&
		    inherit_is_measured(of, metric[m]))
			(void)servers_put(daemon->servers, of->name, metric[m], value, taken_ns);
	}
}

/* Both lists are in the order of a configuration: the search nearly always ends where it begins. */
static bool inherit_is_same(const struct config *config, const struct image_server *server,
			    size_t *from)
{
	for (size_t i = 0; i < config->n_servers; i++) {
		const struct config_server *own = &config->servers[(*from + i) % config->n_servers];

		if (strcmp(own->name, server->name) != 0)
			continue;
		*from += i + 1;
		return !own->is_admin && strcmp(own->address, server->address) == 0;
	}
	return false;
}

void daemon_inherit_metrics(struct daemon *daemon)
{
	const struct image_header *image = daemon->inherited;
	int metric[SERVERS_METRICS_MAX];
	size_t from = 0;

	if (image == NULL || image->metric.count > SERVERS_METRICS_MAX)
		return;
	for (uint32_t m = 0; m < image->metric.count; m++)
		metric[m] = servers_metric(daemon->servers, image_metrics(image)[m].name);
	for (uint32_t i = 0; i < image->server.count; i++) {
		if (!inherit_is_same(daemon->config, &image_servers(image)[i], &from))
			continue;
		if ((image_servers(image)[i].flags & IMAGE_SKIPPED) != 0)
			servers_suspect(daemon->servers, image_servers(image)[i].name,
					"an administration server, before callrouterd was "
					"restarted");
		else
			inherit_values(daemon, image, i, metric);
	}
}
