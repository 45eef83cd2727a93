/* view.c - build a router's view of one service. */
#include "view.h"

#include <math.h>
#include <stdlib.h>

#include "plugin.h"

static const struct cr_live nobody_alive = { .state = CR_UP };

/** The view and all its arrays: where each begins in the one block. */
struct view_layout {
	size_t metrics, columns, n;
	size_t name, id, weight, metric, metric_taken, column, live, value, taken, blank, words,
		bytes;
};

static size_t view_place(size_t *at, size_t bytes)
{
	const size_t here = *at;

	*at += (bytes + 7) & ~(size_t)7;
	return here;
}

static struct view_layout view_lay_out(size_t n, const struct cr_router *router)
{
	const size_t metrics = plugin_count(router->needs) + plugin_count(router->wants);
	const size_t columns = plugin_count(router->columns);
	struct view_layout lay = { .n = n, .metrics = metrics, .columns = columns };
	size_t at = 0;

	view_place(&at, sizeof(struct cr_view));
	lay.name = view_place(&at, n * sizeof(char *));
	lay.id = view_place(&at, n * sizeof(uint32_t));
	lay.weight = view_place(&at, n * sizeof(uint32_t));
	lay.metric = view_place(&at, metrics * sizeof(double *));
	lay.metric_taken = view_place(&at, metrics * sizeof(int64_t *));
	lay.column = view_place(&at, columns * sizeof(double *));
	lay.live = view_place(&at, n * sizeof(struct cr_live *));
	lay.value = view_place(&at, metrics * n * sizeof(double));
	lay.taken = view_place(&at, metrics * n * sizeof(int64_t));
	lay.blank = view_place(&at, columns > 0 ? n * sizeof(double) : 0);
	lay.words = view_place(&at, router->shared_words * sizeof(uint64_t));
	lay.bytes = at;
	return lay;
}

static void view_fill_rows(char *block, const struct view_layout *lay,
			   const struct image_header *image, const uint32_t *rows,
			   const struct counters *counters)
{
	const struct image_server *servers = image_servers(image);
	const char **name = (const char **)(block + lay->name);
	uint32_t *id = (uint32_t *)(block + lay->id);
	uint32_t *weight = (uint32_t *)(block + lay->weight);
	const struct cr_live **live = (const struct cr_live **)(block + lay->live);

	for (size_t i = 0; i < lay->n; i++) {
		const struct image_server *server = &servers[rows[i]];
		struct counters_line *line = NULL;

		if (counters != NULL)
			line = counters_line(counters, server->line);
		name[i] = server->name;
		id[i] = server->line;
		weight[i] = server->weight;
		live[i] = line != NULL ? &line->live : &nobody_alive;
	}
}

/* A value that is too old, or from a time to come, is as good as none. */
static bool view_is_fresh(const struct image_header *image, int64_t taken_ns,
			  int64_t stale_after_ns)
{
	return taken_ns != 0 && image->taken_ns - taken_ns <= stale_after_ns &&
	       taken_ns - image->taken_ns <= INT64_C(1000000000);
}

static void view_fill_metrics(char *block, const struct view_layout *lay,
			      const struct image_header *image, const struct image_service *service,
			      const struct cr_router *router)
{
	const uint32_t *rows = image_rows(image, service);
	const double **metric = (const double **)(block + lay->metric);
	const int64_t **metric_taken = (const int64_t **)(block + lay->metric_taken);

	for (size_t k = 0; k < lay->metrics; k++) {
		double *value = (double *)(block + lay->value) + k * lay->n;
		int64_t *taken = (int64_t *)(block + lay->taken) + k * lay->n;
		const int m = image_metric_index(image, plugin_metric(router, k));

		for (size_t i = 0; i < lay->n; i++) {
			const int64_t at = m < 0 ? 0 : image_taken(image, (size_t)m)[rows[i]];

			taken[i] = at;
			value[i] = view_is_fresh(image, at, service->stale_after_ns)
					   ? image_values(image, (size_t)m)[rows[i]]
					   : NAN;
		}
		metric[k] = value;
		metric_taken[k] = taken;
	}
}

static uint64_t *view_shared(const struct image_service *service,
			     const struct image_instance *instance, const struct counters *counters)
{
	struct counters_service *line;

	if (instance == NULL || instance->shared_words == 0 || counters == NULL)
		return NULL;
	line = counters_service(counters, service->line);
	return line != NULL ? line->shared[instance->shared_bank] : NULL;
}

/* route() reads its columns without asking: where rank() has not filled them yet they are NaN. */
static void view_fill_columns(char *block, const struct view_layout *lay,
			      const struct image_header *image, const struct image_service *service,
			      const struct image_choice *choice)
{
	const double **column = (const double **)(block + lay->column);
	double *blank = (double *)(block + lay->blank);

	for (size_t i = 0; lay->columns > 0 && i < lay->n; i++)
		blank[i] = NAN;
	for (size_t k = 0; k < lay->columns; k++)
		column[k] = choice != NULL && k < choice->n_columns
				    ? image_column(image, service, choice, k)
				    : blank;
}

struct cr_view *view_new(const struct image_header *image, const struct image_service *service,
			 const struct image_choice *choice, const struct image_instance *instance,
			 const struct cr_router *router, const struct counters *counters)
{
	const struct view_layout lay = view_lay_out(service->n_rows, router);
	char *block = calloc(1, lay.bytes);
	struct cr_view *view = (struct cr_view *)block;
	uint64_t *shared;

	if (block == NULL)
		return NULL;
	view_fill_rows(block, &lay, image, image_rows(image, service), counters);
	view_fill_metrics(block, &lay, image, service, router);
	view_fill_columns(block, &lay, image, service, choice);
	shared = view_shared(service, instance, counters);
	/* A router that wants words always has some: without counters they are this view's alone.
	 */
	if (shared == NULL && router->shared_words > 0)
		shared = (uint64_t *)(block + lay.words);
	*view = (struct cr_view){
		.generation = image->generation,
		.taken_ns = image->taken_ns,
		.n = service->n_rows,
		.name = (const char *const *)(block + lay.name),
		.id = (const uint32_t *)(block + lay.id),
		.weight = (const uint32_t *)(block + lay.weight),
		.metric = (const double *const *)(block + lay.metric),
		.metric_taken_ns = (const int64_t *const *)(block + lay.metric_taken),
		.column = (const double *const *)(block + lay.column),
		.live = (const struct cr_live *const *)(block + lay.live),
		.shared = shared,
		.hosts = image->hosts,
	};
	return view;
}

void view_free(struct cr_view *view)
{
	free(view);
}

size_t view_usable(const struct image_header *image, const struct image_service *service,
		   uint16_t *order)
{
	const struct image_server *servers = image_servers(image);
	const uint32_t *rows = image_rows(image, service);
	size_t n = 0;

	for (uint32_t i = 0; i < service->n_rows; i++)
		if (image_is_usable(&servers[rows[i]]))
			order[n++] = (uint16_t)i;
	return n;
}

enum view_order_fault view_check_order(const uint16_t *order, size_t n, size_t n_rows,
				       const uint8_t *usable, uint32_t *seen, uint32_t stamp)
{
	for (size_t i = 0; i < n; i++) {
		const uint16_t row = order[i];

		if (row >= n_rows || usable[row] == 0)
			return VIEW_ORDER_UNKNOWN;
		if (seen[row] == stamp)
			return VIEW_ORDER_REPEATED;
		seen[row] = stamp;
	}
	return VIEW_ORDER_GOOD;
}
