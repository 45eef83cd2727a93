/* smooth.c - windows, decaying means and bands over the samples of a service's servers. */
#include "smooth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define SLICES 16 /* of a window: it ends up to a sixteenth of its length early */

/** One server's figure. */
struct figure {
	char server[64];
	int64_t taken_ns;      /* of the newest sample; 0: none yet */
	int64_t slice[SLICES]; /* which part of time, counted in parts of the window */
	double best[SLICES];   /* the largest or smallest sample of each */
	double mean, given;    /* NaN: not known */
	bool is_stale;         /* the newest sample has run out: nobody is measured by it */
};

/** One metric of one service. */
struct series {
	const struct config_smooth *how; /* the configuration's */
	char service[64], metric[64];
	struct config_smooth was; /* a copy of its numbers, for the next configuration */
	size_t service_index;
	struct figure *figure; /* by row */
	size_t *order;         /* rows, for sorting */
	double *before;        /* what rows were given, while new values are made */
	size_t n;
};

struct smooth {
	struct series *series;
	size_t n;
};

struct smooth *smooth_new(void)
{
	return calloc(1, sizeof(struct smooth));
}

static void free_series(struct series *series, size_t n)
{
	for (size_t i = 0; series != NULL && i < n; i++) {
		free(series[i].figure);
		free(series[i].order);
		free(series[i].before);
	}
	free(series);
}

void smooth_free(struct smooth *smooth)
{
	if (smooth == NULL)
		return;
	free_series(smooth->series, smooth->n);
	free(smooth);
}

/*** From one configuration to the next ***/

static bool is_same_way(const struct config_smooth *a, const struct config_smooth *b)
{
	return a->window_ns == b->window_ns && a->is_min == b->is_min &&
	       a->half_life_ns == b->half_life_ns;
}

static const struct series *find_old(const struct smooth *smooth, const struct series *series)
{
	for (size_t i = 0; i < smooth->n; i++) {
		const struct series *old = &smooth->series[i];

		if (strcmp(old->service, series->service) == 0 &&
		    strcmp(old->metric, series->metric) == 0 && is_same_way(&old->was, series->how))
			return old;
	}
	return NULL;
}

static int compare_servers(const void *left, const void *right)
{
	const struct figure *const *a = left, *const *b = right;

	return strcmp((*a)->server, (*b)->server);
}

/* What is known of the same servers. Without memory they start afresh. */
static void inherit(struct series *series, const struct series *old)
{
	const struct figure **sorted = calloc(old->n + 1, sizeof(const struct figure *));

	for (size_t i = 0; sorted != NULL && i < old->n; i++)
		sorted[i] = &old->figure[i];
	if (sorted != NULL)
		qsort(sorted, old->n, sizeof(const struct figure *), compare_servers);
	for (size_t i = 0; sorted != NULL && i < series->n; i++) {
		const struct figure *key = &series->figure[i];
		const struct figure *const *found = bsearch(
			&key, sorted, old->n, sizeof(const struct figure *), compare_servers);

		if (found != NULL)
			series->figure[i] = **found;
	}
	free(sorted);
}

static void forget(struct figure *figure)
{
	figure->taken_ns = 0;
	figure->mean = figure->given = NAN;
	for (size_t i = 0; i < SLICES; i++)
		figure->slice[i] = -1;
}

static bool fill_series(struct series *series, const struct config *config, size_t service,
			const struct config_smooth *how)
{
	const struct config_service *from = &config->services[service];

	series->how = how;
	series->was = *how;
	series->was.metric = NULL;
	series->service_index = service;
	series->n = from->n_servers;
	(void)text_copy(series->service, sizeof series->service, from->name);
	(void)text_copy(series->metric, sizeof series->metric, how->metric);
	series->figure = calloc(series->n + 1, sizeof *series->figure);
	series->order = calloc(series->n + 1, sizeof *series->order);
	series->before = calloc(series->n + 1, sizeof *series->before);
	if (series->figure == NULL || series->order == NULL || series->before == NULL)
		return false;
	for (size_t row = 0; row < series->n; row++) {
		struct figure *figure = &series->figure[row];

		(void)text_copy(figure->server, sizeof figure->server,
				config->servers[from->servers[row]].name);
		forget(figure);
	}
	return true;
}

int smooth_configure(struct smooth *smooth, const struct config *config)
{
	struct smooth next = { .n = 0 };
	size_t n = 0;
	bool is_good;

	for (size_t i = 0; i < config->n_services; i++)
		n += config->services[i].n_smooth;
	next.series = calloc(n + 1, sizeof *next.series);
	is_good = next.series != NULL;
	for (size_t i = 0; is_good && i < config->n_services; i++)
		for (size_t k = 0; is_good && k < config->services[i].n_smooth; k++) {
			struct series *series = &next.series[next.n++];
			const struct series *old;

			is_good = fill_series(series, config, i, &config->services[i].smooth[k]);
			old = is_good ? find_old(smooth, series) : NULL;
			if (old != NULL)
				inherit(series, old);
		}
	free_series(smooth->series, smooth->n);
	*smooth = next;
	if (is_good)
		return 0;
	free_series(smooth->series, smooth->n);
	*smooth = (struct smooth){ .n = 0 };
	return -ENOMEM;
}

/*** Samples ***/

/* The best of the window that ends with this sample. */
static double window(const struct series *series, struct figure *figure, double value,
		     int64_t taken_ns)
{
	const int64_t length_ns = series->how->window_ns / SLICES + 1, now = taken_ns / length_ns;
	const bool is_min = series->how->is_min;
	const size_t at = (size_t)(now % SLICES);
	double best = value;

	if (figure->slice[at] != now)
		figure->best[at] = value;
	figure->slice[at] = now;
	if (is_min ? value < figure->best[at] : value > figure->best[at])
		figure->best[at] = value;
	for (size_t i = 0; i < SLICES; i++) {
		if (figure->slice[i] <= now - SLICES || figure->slice[i] > now)
			continue;
		if (is_min ? figure->best[i] < best : figure->best[i] > best)
			best = figure->best[i];
	}
	return best;
}

static void take_sample(const struct series *series, struct figure *figure, double value,
			int64_t taken_ns)
{
	const double passed_ns = (double)(taken_ns - figure->taken_ns);
	const int64_t half_life_ns = series->how->half_life_ns;
	double keep = 0;

	if (series->how->window_ns > 0)
		value = window(series, figure, value, taken_ns);
	if (half_life_ns > 0 && !isnan(figure->mean))
		keep = exp2(-passed_ns / (double)half_life_ns);
	figure->mean = keep > 0 ? keep * figure->mean + (1 - keep) * value : value;
	figure->taken_ns = taken_ns;
}

/*** Bands ***/

static double level(const struct figure *figure)
{
	return figure->is_stale ? (double)NAN : figure->mean;
}

/* Largest first, unknown last, else by row. */
static int compare_rows(const void *left, const void *right, void *arg)
{
	const struct figure *figure = arg;
	const size_t a = *(const size_t *)left, b = *(const size_t *)right;
	const double mean_a = level(&figure[a]), mean_b = level(&figure[b]);

	if (isnan(mean_a) || isnan(mean_b)) {
		if (isnan(mean_a) != isnan(mean_b))
			return isnan(mean_a) ? 1 : -1;
	} else if (mean_a != mean_b) {
		return mean_a > mean_b ? -1 : 1;
	}
	return (a > b) - (a < b);
}

/* Is it near enough to the group's first to be taken for equal? */
static bool is_equal(const struct series *series, size_t first, size_t row)
{
	const struct figure *figure = series->figure;
	const bool was_equal = series->before[first] == series->before[row];
	const bool is_new = isnan(series->before[first]) || isnan(series->before[row]);
	const double band = series->how->band * (was_equal || is_new ? 1 : 0.5);

	return figure[first].mean - figure[row].mean <= band * fabs(figure[first].mean);
}

static void give(struct series *series)
{
	struct figure *figure = series->figure;

	for (size_t row = 0; row < series->n; row++) {
		series->before[row] = figure[row].given;
		series->order[row] = row;
		figure[row].given = NAN;
	}
	qsort_r(series->order, series->n, sizeof *series->order, compare_rows, figure);
	for (size_t i = 0; i < series->n; i++) {
		const size_t first = series->order[i];

		if (isnan(level(&figure[first])))
			break;
		if (!isnan(figure[first].given))
			continue;
		figure[first].given = figure[first].mean;
		for (size_t k = i + 1; k < series->n; k++) {
			const size_t row = series->order[k];

			if (isnan(level(&figure[row])) ||
			    figure[first].mean - figure[row].mean >
				    series->how->band * fabs(figure[first].mean))
				break;
			if (isnan(figure[row].given) && is_equal(series, first, row))
				figure[row].given = figure[first].mean;
		}
	}
}

/*** Images ***/

static void update_series(struct series *series, const struct image_header *image)
{
	const struct image_service *service = &image_services(image)[series->service_index];
	const uint32_t *rows = image_rows(image, service);
	const int metric = image_metric_index(image, series->metric);
	bool is_changed = false;

	for (size_t row = 0; metric >= 0 && row < series->n && row < service->n_rows; row++) {
		struct figure *figure = &series->figure[row];
		const double value = image_values(image, (size_t)metric)[rows[row]];
		const int64_t taken_ns = image_taken(image, (size_t)metric)[rows[row]];
		const bool is_stale = image->taken_ns - taken_ns > service->stale_after_ns;

		is_changed |= is_stale != figure->is_stale;
		figure->is_stale = is_stale;
		if (taken_ns == figure->taken_ns)
			continue;
		is_changed = true;
		/* another address, or measured anew by a clock that was set back */
		if (isnan(value) || taken_ns < figure->taken_ns)
			forget(figure);
		if (!isnan(value))
			take_sample(series, figure, value, taken_ns);
	}
	if (is_changed)
		give(series);
}

void smooth_update(struct smooth *smooth, const struct image_header *image)
{
	for (size_t i = 0; i < smooth->n; i++)
		if (smooth->series[i].service_index < image->service.count)
			update_series(&smooth->series[i], image);
}

bool smooth_is_used(const struct smooth *smooth, size_t service)
{
	for (size_t i = 0; i < smooth->n; i++)
		if (smooth->series[i].service_index == service)
			return true;
	return false;
}

/* The figures of one metric into the service's rows. */
static void patch(const struct series *series, struct image_header *image)
{
	const struct image_service *service = &image_services(image)[series->service_index];
	const uint32_t *rows = image_rows(image, service);
	const int metric = image_metric_index(image, series->metric);
	double *value = image_edit(image, image->value);

	if (metric < 0)
		return;
	value += (size_t)metric * image->server.count;
	for (size_t row = 0; row < series->n && row < service->n_rows; row++)
		if (!isnan(value[rows[row]]) && !isnan(series->figure[row].given))
			value[rows[row]] = series->figure[row].given;
}

struct image_header *smooth_image(const struct smooth *smooth, const struct image_header *image,
				  size_t service)
{
	struct image_header *copy = malloc(image->bytes);

	if (copy == NULL)
		return NULL;
	memcpy(copy, image, image->bytes);
	for (size_t i = 0; i < smooth->n; i++)
		if (smooth->series[i].service_index == service && service < image->service.count)
			patch(&smooth->series[i], copy);
	return copy;
}

double smooth_get(const struct smooth *smooth, size_t service, const char *metric, size_t row)
{
	for (size_t i = 0; smooth != NULL && i < smooth->n; i++) {
		const struct series *series = &smooth->series[i];

		if (series->service_index == service && strcmp(series->metric, metric) == 0)
			return row < series->n ? series->figure[row].given : (double)NAN;
	}
	return NAN;
}
