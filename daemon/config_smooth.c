/* config_smooth.c - how a service's metrics are smoothed. */
#include "config_internal.h"

#include <string.h>

#include "clock.h"
#include "text.h"
#include "words.h"

#define DEFAULT_WINDOW_NS    (10 * CLOCK_S) /* several collections of a JVM under load */
#define DEFAULT_SAMPLES      15             /* and with rare polls one of them near each peak */
#define DEFAULT_HALF_LIFE_NS (5 * CLOCK_S)
#define DEFAULT_BAND         0.1 /* peaks of one JVM at rest differ by half of that */

enum { WINDOW_MAX, WINDOW_MIN, HALF_LIFE, BAND };
static const char *const smooth_keys[] = { "window_max", "window_min", "half_life", "band", NULL };
static const struct config_range window_range = { 100 * CLOCK_MS, 3600 * CLOCK_S, "100ms to 1h" };

/* Polled every two seconds, a heap that is collected every two seconds seems to move slowly. */
static int64_t default_window_ns(const struct config *config)
{
	int64_t window_ns = DEFAULT_WINDOW_NS;

	for (size_t i = 0; i < config->n_sources; i++)
		if (config->sources[i].interval_ns > window_ns / DEFAULT_SAMPLES)
			window_ns = config->sources[i].interval_ns * DEFAULT_SAMPLES;
	return window_ns;
}

/* What falls with the garbage is judged by its peaks, what rises with it by its valleys. */
static void set_default(const struct config_reader *reader, struct config_smooth *smooth)
{
	const bool is_free = strstr(smooth->metric, "_free_") != NULL ||
			     strstr(smooth->metric, "_available_") != NULL;
	const bool is_used = strstr(smooth->metric, "_used_") != NULL;

	if (is_free || is_used) {
		smooth->window_ns = default_window_ns(reader->config);
		smooth->is_min = is_used;
	} else {
		smooth->half_life_ns = DEFAULT_HALF_LIFE_NS;
	}
	smooth->band = DEFAULT_BAND;
}

static void read_band(struct config_reader *reader, const yaml_node_t *node, double *band)
{
	const char *text = config_text(reader, node, "band", false);
	double ratio;

	if (text == NULL)
		return;
	if (text_ratio(text, &ratio) < 0)
		config_mistake(reader, node, "band \"%s\" is no part; write one like 5%% or 0.05",
			       text);
	else if (ratio < 0 || ratio > 0.5)
		config_mistake(reader, node, "band %s is out of range; it may be 0%% to 50%%",
			       text);
	else
		*band = ratio;
}

static void read_way(struct config_reader *reader, const yaml_node_t *node,
		     struct config_smooth *smooth)
{
	const yaml_node_t *slot[CONFIG_KEYS_MAX];
	const char *word;

	if (node->type == YAML_SCALAR_NODE) {
		word = config_text(reader, node, smooth->metric, false);
		if (word != NULL && strcmp(word, "default") != 0)
			config_mistake(reader, node,
				       "\"%s\" is no way to smooth; write default, or a map like "
				       "{ window_max: 10s, band: 5%% }",
				       word);
		set_default(reader, smooth);
		return;
	}
	if (!config_map(reader, node, smooth->metric, smooth_keys, false, slot))
		return;
	smooth->band = DEFAULT_BAND;
	smooth->is_min = slot[WINDOW_MIN] != NULL;
	if (slot[WINDOW_MAX] != NULL && slot[WINDOW_MIN] != NULL)
		config_mistake(reader, slot[WINDOW_MIN],
			       "there is a window_max already; keep one of them");
	config_duration(reader, slot[WINDOW_MAX], "window_max", &window_range, &smooth->window_ns);
	config_duration(reader, slot[WINDOW_MIN], "window_min", &window_range, &smooth->window_ns);
	config_duration(reader, slot[HALF_LIFE], "half_life", &window_range, &smooth->half_life_ns);
	if (slot[BAND] != NULL)
		read_band(reader, slot[BAND], &smooth->band);
}

static bool is_metric(const char *name)
{
	const size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return name[len] == '\0' && len > 0 && len <= 63 && name[0] >= 'a';
}

/* The entry for a metric, or NULL with a mistake. */
static struct config_smooth *begin(struct config_reader *reader, const yaml_node_t *node,
				   struct config_service *service)
{
	const char *name = config_text(reader, node, "a metric", false);
	struct config_smooth *smooth = &service->smooth[service->n_smooth];
	const char *nearest = NULL;

	if (name == NULL)
		return NULL;
	/* Collectors may have metrics of their own: only what is nearly right is a mistake. */
	if (text_index(name, words_metric_names) < 0)
		nearest = text_nearest(name, words_metric_names);
	for (size_t i = 0; i < service->n_smooth; i++)
		if (strcmp(service->smooth[i].metric, name) == 0) {
			config_mistake(reader, node, "metric \"%s\" is smoothed twice; keep one",
				       name);
			return NULL;
		}
	if (nearest != NULL)
		config_mistake(reader, node, "unknown metric \"%s\"; did you mean \"%s\"?", name,
			       nearest);
	else if (!is_metric(name))
		config_mistake(reader, node,
			       "\"%s\" is no metric's name; use 1 to 63 of a-z, 0-9 and _", name);
	smooth->metric = config_copy(reader, name);
	if (smooth->metric == NULL)
		return NULL;
	service->n_smooth++;
	return smooth;
}

static void read_list(struct config_reader *reader, const yaml_node_t *list,
		      struct config_service *service)
{
	const size_t n = config_list(reader, list, "smooth", CONFIG_PAIRS_MAX,
				     "name a metric, or remove the key");
	struct config_smooth *smooth;

	service->smooth = config_array(reader, n, sizeof *service->smooth);
	for (size_t i = 0; service->smooth != NULL && i < n; i++) {
		smooth = begin(reader, config_item(reader, list, i), service);
		if (smooth != NULL)
			set_default(reader, smooth);
	}
}

static void read_map(struct config_reader *reader, const yaml_node_t *map,
		     struct config_service *service)
{
	const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	const size_t n = (size_t)(map->data.mapping.pairs.top - pair);
	struct config_smooth *smooth;

	if (n == 0 || n > CONFIG_PAIRS_MAX)
		config_mistake(reader, map, "smooth names %zu metrics; it may be 1 to %d", n,
			       CONFIG_PAIRS_MAX);
	service->smooth = config_array(reader, n, sizeof *service->smooth);
	for (size_t i = 0; service->smooth != NULL && i < n && i < CONFIG_PAIRS_MAX; i++) {
		smooth = begin(reader, yaml_document_get_node(&reader->document, pair[i].key),
			       service);
		if (smooth != NULL)
			read_way(reader, yaml_document_get_node(&reader->document, pair[i].value),
				 smooth);
	}
}

void config_smooth_read(struct config_reader *reader, const yaml_node_t *node,
			struct config_service *service)
{
	if (node->type == YAML_MAPPING_NODE)
		read_map(reader, node, service);
	else
		read_list(reader, node, service);
}
