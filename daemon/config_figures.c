/* config_figures.c - which figures a source gives, measured or following from those, and in which
 * way. */
#include "config_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <callrouter/order.h>

#include "derive.h"

const struct config_figure *config_figure_find(const struct config_source *source,
					       const char *metric)
{
	for (size_t i = 0; i < source->n_figures; i++)
		if (strcmp(source->figures[i].metric, metric) == 0)
			return &source->figures[i];
	return NULL;
}

void config_figures_free(struct config_source *source)
{
	for (size_t i = 0; i < source->n_figures; i++)
		free(source->figures[i].metric);
	free(source->figures);
	source->figures = NULL;
	source->n_figures = 0;
}

/* What is written of a field: the same text is the same way. */
static uint64_t way_of_field(struct config_reader *reader, const json_t *field, const char *format)
{
	char *text = json_dumps(field, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	uint64_t way;

	if (text == NULL) {
		reader->is_out_of_memory = true;
		return 1;
	}
	way = cr_mix64(cr_hash64(text, strlen(text))) ^ cr_hash64(format, strlen(format));
	free(text);
	return way;
}

static void add_figure(struct config_reader *reader, struct config_source *source,
		       const char *metric, uint64_t way, bool is_derived)
{
	struct config_figure *grown;
	char *name;

	if (config_figure_find(source, metric) != NULL)
		return; /* of another request: the first one will do */
	name = config_copy(reader, metric);
	grown = reallocarray(source->figures, source->n_figures + 1, sizeof *grown);
	if (grown != NULL)
		source->figures = grown;
	if (name == NULL || grown == NULL) {
		free(name);
		reader->is_out_of_memory = true;
		return;
	}
	grown[source->n_figures++] = (struct config_figure){ name, is_derived, way };
}

/* Of one request, or of all of them: what it does not say the description says for all. */
static void add_fields(struct config_reader *reader, struct config_source *source,
		       const json_t *whole, const json_t *request)
{
	const char *format = json_string_value(json_object_get(request, "format"));
	json_t *fields = json_object_get(request, "fields"), *field;
	const char *metric;

	if (format == NULL)
		format = json_string_value(json_object_get(whole, "format"));
	json_object_foreach(fields, metric, field)
	{
		if (!json_is_null(field))
			add_figure(reader, source, metric,
				   way_of_field(reader, field, format != NULL ? format : ""),
				   false);
	}
}

/*** Figures that follow from others ***/

/* Names of metrics that are derived from each other, and by what. */
struct family {
	const char *const *name;
	size_t n;
	void (*derive)(double *value, int64_t *taken_ns, const char **how);
};

static void derive_heap(double *value, int64_t *taken_ns, const char **how)
{
	(void)derive(value, taken_ns, 0, how);
}

/* How the family's figure at index follows where these are measured; NULL: it does not. */
static const char *how_follows(const struct family *family, const bool *is_measured, size_t index)
{
	double value[HEAP_COUNT];
	int64_t taken_ns[HEAP_COUNT] = { 0 };
	const char *how[HEAP_COUNT] = { NULL };

	for (size_t i = 0; i < family->n; i++)
		value[i] = is_measured[i] ? 1 : (double)NAN;
	family->derive(value, taken_ns, how);
	return how[index];
}

/* The way of a figure that follows from others: how it does, and the ways of those. */
static uint64_t way_of_derived(const struct family *family, const struct config_source *source,
			       bool *is_measured, size_t index)
{
	const char *how = how_follows(family, is_measured, index), *without;
	uint64_t way = cr_hash64(how, strlen(how));

	for (size_t i = 0; i < family->n; i++) {
		if (!is_measured[i])
			continue;
		is_measured[i] = false;
		without = how_follows(family, is_measured, index);
		is_measured[i] = true;
		if (without == NULL || strcmp(without, how) != 0)
			way = cr_mix64(way ^ config_figure_find(source, family->name[i])->way);
	}
	return way;
}

static void add_derived(struct config_reader *reader, struct config_source *source,
			const struct family *family)
{
	bool is_measured[HEAP_COUNT];

	for (size_t i = 0; i < family->n; i++)
		is_measured[i] = config_figure_find(source, family->name[i]) != NULL;
	for (size_t i = 0; i < family->n; i++)
		if (!is_measured[i] && how_follows(family, is_measured, i) != NULL)
			add_figure(reader, source, family->name[i],
				   way_of_derived(family, source, is_measured, i), true);
}

/*** The whole ***/

static int compare_figures(const void *left, const void *right)
{
	const struct config_figure *a = left, *b = right;

	return strcmp(a->metric, b->metric);
}

void config_figures_read(struct config_reader *reader, const char *text,
			 struct config_source *source)
{
	static const struct family families[] = {
		{ derive_names, HEAP_COUNT, derive_heap },
		{ derive_threads_names, THREADS_COUNT, derive_threads },
	};
	json_t *whole = json_loads(text, 0, NULL), *request;
	json_t *requests = json_object_get(whole, "requests");
	const char *name;

	if (whole == NULL) {
		reader->is_out_of_memory = true;
		return;
	}
	add_fields(reader, source, whole, whole);
	json_object_foreach(requests, name, request)
	{
		add_fields(reader, source, whole, request);
	}
	json_decref(whole);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		add_derived(reader, source, &families[i]);
	if (source->n_figures > 1)
		qsort(source->figures, source->n_figures, sizeof *source->figures, compare_figures);
}
