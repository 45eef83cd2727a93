/* publish.c - the daemon's part of a host: values into the image, rank() asked as a ranker does,
 * the image published. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "view.h"

void host_take(struct host *host, uint32_t server, const struct sample *sample, double now_s)
{
	const uint32_t n = host->image->server.count;
	double *value = image_edit(host->image, host->image->value);
	int64_t *taken = image_edit(host->image, host->image->taken);

	for (uint32_t k = 0; k < host->plan->n_metrics; k++) {
		value[k * n + server] = sample_value(sample, host->plan->sample_index[k]);
		taken[k * n + server] = host_ns(now_s);
	}
}

void host_drain(struct host *host, uint32_t server, bool is_drained)
{
	struct image_server *servers = image_edit(host->image, host->image->server);
	struct image_service *service = image_edit(host->image, host->image->service);

	servers[server].flags = is_drained ? IMAGE_DRAINED : 0;
	service->n_usable = 0;
	for (uint32_t i = 0; i < service->n_rows; i++)
		service->n_usable += image_is_usable(&servers[i]);
}

/* When the last value of the neediest metric runs out, as the daemon reckons it. */
static int64_t choice_fresh_until(const struct host *host, const struct cr_router *router)
{
	const struct image_service *service = image_services(host->image);
	int64_t until = INT64_MAX;

	for (size_t k = 0; k < plugin_count(router->needs); k++) {
		const int m = image_metric_index(host->image, router->needs[k]);
		int64_t newest = 0;

		for (uint32_t i = 0; m >= 0 && i < service->n_rows; i++) {
			const int64_t taken = image_taken(host->image, (size_t)m)[i];

			if (image_is_usable(&image_servers(host->image)[i]) && taken > newest &&
			    !isnan(image_values(host->image, (size_t)m)[i]))
				newest = taken;
		}
		newest = newest == 0 ? 0 : newest + service->stale_after_ns;
		if (newest < until)
			until = newest;
	}
	return until;
}

/* The router's own order of got rows first, then the others by row: each usable row once. */
static enum cr_reason choice_take_order(struct host *host, struct image_choice *choice, int got)
{
	const struct image_server *servers = image_servers(host->image);
	const uint32_t n = host->image->server.count;
	uint16_t *order = (uint16_t *)image_edit(host->image, host->image->order) + choice->order;
	uint32_t at = 0;

	memset(host->mark, 0, n);
	for (int i = 0; i < got; i++) {
		const uint16_t row = host->order[i];

		if (row >= n || host->mark[row] != 0 || !image_is_usable(&servers[row]))
			return CR_REASON_RANK_BAD_ORDER;
		host->mark[row] = 1;
		order[at++] = row;
	}
	for (uint32_t row = 0; row < n; row++)
		if (host->mark[row] == 0 && image_is_usable(&servers[row]))
			order[at++] = (uint16_t)row;
	return CR_REASON_NONE;
}

static int choice_rank(struct host *host, uint32_t side, const struct image_choice *choice,
		       struct err *err)
{
	const struct cr_router *router = &host->plan->side[side].plugin->router;
	const struct image_service *service = image_services(host->image);
	struct cr_view *view;
	double *column[CR_COLUMNS_MAX];
	int got;

	view = view_new(host->image, service, NULL, &image_instances(host->image)[side], router,
			host->counters);
	if (view == NULL)
		return err_set(err, -ENOMEM, "no memory for a view");
	for (size_t k = 0; k < CR_COLUMNS_MAX; k++)
		column[k] = (double *)image_edit(host->image, host->image->column) +
			    choice->column + k * view->n;
	got = router->rank(host->ranker[side].self, view, host->order,
			   view_usable(host->image, service, host->order), column);
	view_free(view);
	return got;
}

static int choice_update(struct host *host, uint32_t side, double now_s, struct err *err)
{
	struct image_service *service = image_edit(host->image, host->image->service);
	struct image_choice *choice = side == HOST_ROUTER ? &service->router : &service->preset;
	const struct cr_router *router = &host->plan->side[side].plugin->router;
	int got = 0;

	choice->reason = CR_REASON_NONE;
	choice->verdict = CR_DEFAULT;
	choice->fresh_until_ns = choice_fresh_until(host, router);
	err->code = 0;
	if (router->rank != NULL && service->n_usable > 0) {
		got = choice_rank(host, side, choice, err);
		if (err->code < 0)
			return err->code;
		choice->verdict = got;
		choice->ranked_ns = host_ns(now_s);
		if (got < 0 && got != CR_REFUSE)
			choice->reason = CR_REASON_RANK_ERROR;
		else if (got > (int)service->n_usable)
			choice->reason = CR_REASON_RANK_BAD_ORDER;
	}
	if (choice->reason == CR_REASON_NONE)
		choice->reason = (uint32_t)choice_take_order(host, choice, got > 0 ? got : 0);
	if (choice->reason != CR_REASON_NONE) {
		choice->verdict = CR_DEFAULT;
		choice_take_order(host, choice, 0);
	}
	return 0;
}

int host_publish(struct host *host, double now_s, struct err *err)
{
	host->image->taken_ns = host_ns(now_s);
	host->image->generation = snapshot_generation(host->writer) + 1;
	for (uint32_t side = 0; side < HOST_SIDES; side++)
		if (choice_update(host, side, now_s, err) < 0)
			return err->code;
	if (snapshot_publish(host->writer, host->image, err) < 0)
		return err->code;
	if (cr_refresh(host->cr) != 1)
		return err_set(err, -EPROTO, "the data plane did not take what was published");
	return 0;
}
