/* assemble.c - build an image from the daemon's state. */
#include "assemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "text.h"

/** Work in progress. */
struct draft {
	const struct assemble *in;
	struct image_header *image;
	uint32_t *instance;
	uint32_t n_instances, n_orders, n_columns, n_text, n_rows;
};

/*** Sizes ***/

static void draft_count_sitter(struct image_size *size, const struct sitter *sitter)
{
	if (sitter == NULL)
		return;
	size->instances++;
	size->text += (uint32_t)(strlen(sitter->generation->path) + strlen(sitter->options) + 2);
	size->columns += (uint32_t)(sitter->n_columns * sitter->seat->n_rows);
}

static struct image_size draft_measure(const struct assemble *in)
{
	struct image_size size = { .servers = in->roster->n_managed,
				   .metrics = (uint32_t)servers_metric_count(in->servers),
				   .services = (uint32_t)in->config->n_services,
				   .text = 1 };

	for (size_t i = 0; i < in->seats->n; i++) {
		draft_count_sitter(&size, in->seats->seat[i].now);
		if (in->with_coming)
			draft_count_sitter(&size, in->seats->seat[i].coming);
		size.orders += (uint32_t)in->seats->seat[i].n_rows;
	}
	for (size_t i = 0; i < in->config->n_services; i++)
		size.rows += (uint32_t)in->config->services[i].n_servers;
	return size;
}

/*** Servers and metrics ***/

static void draft_put_server(void *arg, size_t configured, const struct servers_brief *brief)
{
	struct draft *draft = arg;
	const struct roster *roster = draft->in->roster;
	const uint32_t n = draft->image->server.count;
	uint32_t index, line;
	struct image_server *server;
	double *value = image_edit(draft->image, draft->image->value);
	int64_t *taken = image_edit(draft->image, draft->image->taken);

	if (configured >= draft->in->config->n_servers)
		return;
	index = roster->index[configured];
	line = roster->server_line[configured];
	if (index == IMAGE_NONE)
		return;
	server = (struct image_server *)image_edit(draft->image, draft->image->server) + index;
	text_copy(server->name, sizeof server->name, brief->name);
	text_copy(server->address, sizeof server->address, brief->address);
	server->line = line;
	server->incarnation = atomic_load_explicit(
		&counters_line(draft->in->counters, line)->incarnation, memory_order_relaxed);
	server->weight = brief->weight;
	server->flags = (brief->is_drained ? (uint32_t)IMAGE_DRAINED : 0) |
			(brief->is_skipped ? (uint32_t)IMAGE_SKIPPED : 0) |
			(brief->max_is_assumed ? (uint32_t)IMAGE_ASSUMES_MAX : 0);
	for (uint32_t m = 0; m < brief->n; m++) {
		value[(size_t)m * n + index] = brief->value[m];
		taken[(size_t)m * n + index] = brief->taken_ns[m];
	}
}

static void draft_copy_part(struct draft *draft, struct image_part from, struct image_part to,
			    size_t size)
{
	memcpy(image_edit(draft->image, to), image_at(draft->in->base, from), to.count * size);
}

/* Copy all servers from the base, if it has the same. Returns whether. */
static bool draft_copy_base(struct draft *draft)
{
	const struct image_header *base = draft->in->base, *image = draft->image;

	if (base == NULL || base->server.count != image->server.count ||
	    base->metric.count != image->metric.count)
		return false;
	draft_copy_part(draft, base->server, image->server, sizeof(struct image_server));
	draft_copy_part(draft, base->value, image->value, sizeof(double));
	draft_copy_part(draft, base->taken, image->taken, sizeof(int64_t));
	return true;
}

static void draft_put_servers(struct draft *draft)
{
	struct servers *servers = draft->in->servers;
	struct image_metric *metric = image_edit(draft->image, draft->image->metric);
	const uint64_t since = draft_copy_base(draft) ? draft->in->base_seq : 0;
	uint64_t seq;

	for (uint32_t m = 0; m < draft->image->metric.count; m++)
		text_copy(metric[m].name, sizeof metric[m].name, servers_metric_name(servers, m));
	seq = servers_scan(servers, draft->image->metric.count, since, draft_put_server, draft);
	if (draft->in->seq != NULL)
		*draft->in->seq = seq;
}

/*** Instances ***/

static uint32_t draft_put_text(struct draft *draft, const char *text)
{
	const uint32_t at = draft->n_text;
	const size_t len = strlen(text) + 1;

	memcpy((char *)image_edit(draft->image, draft->image->text) + at, text, len);
	draft->n_text += (uint32_t)len;
	return at;
}

static uint32_t draft_put_instance(struct draft *draft, const struct sitter *sitter, uint32_t flags)
{
	const uint32_t index = draft->n_instances++;
	struct image_instance *instance =
		(struct image_instance *)image_edit(draft->image, draft->image->instance) + index;
	const struct ranker_facts *facts = sitter->generation->facts;

	instance->key = sitter->key;
	instance->seq = sitter->generation->seq;
	instance->flags = facts->flags | flags;
	instance->service = (uint32_t)sitter->seat->service;
	text_copy(instance->plugin, sizeof instance->plugin, sitter->generation->plugin);
	text_copy(instance->version, sizeof instance->version, facts->version);
	instance->path = draft_put_text(draft, sitter->generation->path);
	instance->options = draft_put_text(draft, sitter->options);
	instance->shared_bank = sitter->bank;
	instance->shared_words = facts->shared_words;
	return index;
}

static void draft_put_instances(struct draft *draft)
{
	const struct seats *seats = draft->in->seats;

	for (size_t i = 0; i < seats->n; i++) {
		const struct seat *seat = &seats->seat[i];

		draft->instance[i] =
			seat->now != NULL ? draft_put_instance(draft, seat->now, 0) : IMAGE_NONE;
		draft->instance[seats->n + i] =
			seat->coming != NULL && draft->in->with_coming
				? draft_put_instance(draft, seat->coming, IMAGE_IS_COMING)
				: IMAGE_NONE;
	}
}

/*** Rankings ***/

/** Marks of rows while an order is put together. */
struct marks {
	uint8_t *usable, *taken;
};

static size_t order_append(uint16_t *order, size_t n, const struct marks *marks,
			   const uint16_t *from, size_t n_from)
{
	for (size_t i = 0; i < n_from; i++) {
		const uint16_t row = from[i];

		if (marks->usable[row] == 0 || marks->taken[row] != 0)
			continue;
		marks->taken[row] = 1;
		order[n++] = row;
	}
	return n;
}

static bool sitter_has_order(const struct sitter *sitter)
{
	return sitter != NULL && sitter->has_answer && sitter->verdict > 0 &&
	       sitter->reason == CR_REASON_NONE;
}

/* The sitter's own order, completed in the default's, completed by row: all usable rows, each once.
 */
static uint32_t draft_put_order(struct draft *draft, const struct sitter *sitter,
				const struct sitter *preset, const struct marks *marks,
				size_t n_rows)
{
	const uint32_t at = draft->n_orders;
	uint16_t *order = (uint16_t *)image_edit(draft->image, draft->image->order) + at;
	size_t n = 0;

	memset(marks->taken, 0, n_rows);
	if (sitter_has_order(sitter))
		n = order_append(order, n, marks, sitter->order, sitter->n_order);
	if (sitter_has_order(preset))
		n = order_append(order, n, marks, preset->order, preset->n_order);
	for (size_t row = 0; row < n_rows; row++) {
		const uint16_t one = (uint16_t)row;

		n = order_append(order, n, marks, &one, 1);
	}
	draft->n_orders += (uint32_t)n_rows;
	return at;
}

static uint32_t draft_put_columns(struct draft *draft, const struct sitter *sitter, size_t n_rows)
{
	const uint32_t at = draft->n_columns;
	const size_t n = sitter->n_columns * n_rows;

	if (n > 0)
		memcpy((double *)image_edit(draft->image, draft->image->column) + at,
		       sitter->column, n * sizeof(double));
	draft->n_columns += (uint32_t)n;
	return at;
}

/* When the last value of the neediest metric runs out: max over the servers that may be contacted,
 * min over metrics. */
static int64_t draft_fresh_until(const struct draft *draft, const struct image_service *service,
				 const struct marks *marks, const struct ranker_facts *facts)
{
	const uint32_t *rows = image_rows(draft->image, service);
	int64_t until = INT64_MAX;

	for (size_t k = 0; facts->needs != NULL && facts->needs[k] != NULL; k++) {
		const int m = image_metric_index(draft->image, facts->needs[k]);
		int64_t newest = 0;

		for (uint32_t i = 0; m >= 0 && i < service->n_rows; i++) {
			const int64_t taken = image_taken(draft->image, (size_t)m)[rows[i]];

			if (marks->usable[i] != 0 && taken > newest &&
			    !isnan(image_values(draft->image, (size_t)m)[rows[i]]))
				newest = taken;
		}
		newest = newest == 0 ? 0 : newest + service->stale_after_ns;
		if (newest < until)
			until = newest;
	}
	return until;
}

static enum cr_reason sitter_reason(const struct sitter *sitter)
{
	if (!sitter_ranks(sitter))
		return CR_REASON_NONE;
	if (sitter->is_gone)
		return CR_REASON_QUARANTINED;
	if (sitter->is_late || !sitter->has_answer)
		return CR_REASON_RANK_LATE;
	return sitter->reason;
}

static void draft_put_choice(struct draft *draft, struct image_service *service,
			     struct image_choice *choice, size_t seat, const struct marks *marks)
{
	const struct seat *at = &draft->in->seats->seat[seat];
	const struct sitter *sitter = at->now;
	const struct sitter *preset = draft->in->seats->seat[seat | 1].now;

	choice->instance = draft->instance[seat];
	choice->order = draft_put_order(draft, sitter, preset, marks, service->n_rows);
	choice->fresh_until_ns = INT64_MAX;
	choice->column = draft->n_columns;
	if (sitter == NULL) {
		choice->reason = at->plugin[0] != '\0' ? CR_REASON_NOT_LOADED : CR_REASON_NONE;
		return;
	}
	choice->reason = sitter_reason(sitter);
	/* an error is told by its reason: a verdict is one of those that data planes know */
	choice->verdict =
		sitter_ranks(sitter) && sitter->has_answer && sitter->reason == CR_REASON_NONE
			? sitter->verdict
			: CR_DEFAULT;
	choice->n_columns = (uint32_t)sitter->n_columns;
	choice->column = draft_put_columns(draft, sitter, service->n_rows);
	choice->fresh_until_ns =
		draft_fresh_until(draft, service, marks, sitter->generation->facts);
	choice->ranked_ns = sitter->ranked_ns;
}

static struct image_health health_of(const struct config_health *from)
{
	return (struct image_health){
		.aside_ns = from->aside_ns,
		.aside_most_ns = from->aside_most_ns,
		.out_for_ns = from->out_for_ns,
		.slow_start_ns = from->slow_start_ns,
		.failures = from->failures,
		.counts = from->counts,
	};
}

static int draft_put_service(struct draft *draft, size_t index)
{
	const struct assemble *in = draft->in;
	const struct config_service *from = &in->config->services[index];
	struct image_service *service =
		(struct image_service *)image_edit(draft->image, draft->image->service) + index;
	uint32_t *rows = (uint32_t *)image_edit(draft->image, draft->image->row) + draft->n_rows;
	struct marks marks = { calloc(from->n_servers + 1, 1), calloc(from->n_servers + 1, 1) };
	const bool ok = marks.usable != NULL && marks.taken != NULL;

	text_copy(service->name, sizeof service->name, from->name);
	service->rows = draft->n_rows;
	service->n_rows = (uint32_t)from->n_servers;
	service->line = in->roster->service_line[index];
	service->stale_after_ns = from->stale_after_ns;
	service->health = health_of(&from->health);
	for (size_t i = 0; ok && i < from->n_servers; i++) {
		rows[i] = in->roster->index[from->servers[i]];
		marks.usable[i] = image_is_usable(&image_servers(draft->image)[rows[i]]);
		service->n_usable += marks.usable[i];
	}
	draft->n_rows += service->n_rows;
	if (ok) {
		draft_put_choice(draft, service, &service->router, 2 * index, &marks);
		draft_put_choice(draft, service, &service->preset, 2 * index + 1, &marks);
	}
	free(marks.usable);
	free(marks.taken);
	return ok ? 0 : -1;
}

/* The draft writes there. NOLINTNEXTLINE(readability-non-const-parameter) */
struct image_header *assemble(const struct assemble *in, uint32_t *instance)
{
	const struct image_size size = draft_measure(in);
	uint32_t *own = instance == NULL ? calloc(2 * in->seats->n + 1, sizeof *own) : NULL;
	struct draft draft = { .in = in, .instance = instance != NULL ? instance : own };

	draft.image = draft.instance != NULL ? image_new(&size) : NULL;
	if (draft.image == NULL)
		goto free_own;
	draft.image->generation = in->generation;
	draft.image->taken_ns = in->now_ns;
	draft.image->prepare = in->prepare;
	draft.image->hosts = in->config->hosts;
	text_copy(draft.image->cluster, sizeof draft.image->cluster, in->config->cluster);
	draft_put_servers(&draft);
	draft_put_instances(&draft);
	for (size_t i = 0; i < in->config->n_services; i++)
		if (draft_put_service(&draft, i) < 0) {
			free(draft.image);
			draft.image = NULL;
			break;
		}

free_own:
	free(own);
	return draft.image;
}
