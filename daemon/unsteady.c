/* unsteady.c - counts how often one server overtakes another at the head of a ranking. */
#include "unsteady.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define PART_NS (60 * CLOCK_S / UNSTEADY_PARTS)

void unsteady_fini(struct unsteady *unsteady)
{
	free(unsteady->value);
	*unsteady = (struct unsteady){ .n = 0 };
}

/* Who ranks: the router, or the default where there is none. */
static const struct image_choice *choice_of(const struct image_service *service)
{
	return service->router.instance != IMAGE_NONE ? &service->router : &service->preset;
}

static bool is_smoothed(const struct config_service *config, const char *metric)
{
	for (size_t i = 0; i < config->n_smooth; i++)
		if (strcmp(config->smooth[i].metric, metric) == 0)
			return true;
	return false;
}

const char *unsteady_metric(const struct image_header *image, const struct image_service *service,
			    const struct config_service *config)
{
	const struct image_choice *choice = choice_of(service);
	const char *metric =
		choice == &service->router ? config->router.ranks_by : config->preset.ranks_by;
	uint32_t flags;

	if (metric == NULL || choice->instance == IMAGE_NONE || is_smoothed(config, metric))
		return NULL;
	flags = image_instances(image)[choice->instance].flags;
	return (flags & (IMAGE_HAS_RANK | IMAGE_HAS_ROUTE)) == IMAGE_HAS_RANK ? metric : NULL;
}

/* Forget what is older than a minute. */
static void move_on(struct unsteady *unsteady, int64_t now_ns)
{
	const int64_t part = now_ns / PART_NS;

	if (part < unsteady->part || part >= unsteady->part + UNSTEADY_PARTS) {
		memset(unsteady->count, 0, sizeof unsteady->count);
		unsteady->part = part;
	}
	while (unsteady->part < part)
		unsteady->count[++unsteady->part % UNSTEADY_PARTS] = 0;
}

/* Has now become better than was since the last look? In which direction that is the router
 * knows; an unknown value overtakes nobody. */
static bool has_overtaken(const struct unsteady *unsteady, const double *value,
			  const uint32_t *rows, uint16_t now, uint16_t was)
{
	const double before = unsteady->value[now] - unsteady->value[was];
	const double after = value[rows[now]] - value[rows[was]];

	return (before < 0 && after > 0) || (before > 0 && after < 0);
}

/* Room for n rows; nothing is known of them. Returns false without memory. */
static bool start_afresh(struct unsteady *unsteady, size_t n)
{
	double *value = reallocarray(unsteady->value, n + 1, sizeof *value);

	if (value == NULL)
		return false;
	unsteady->value = value;
	unsteady->n = n;
	return true;
}

unsigned unsteady_look(struct unsteady *unsteady, const struct image_header *image,
		       const struct image_service *service, const struct config_service *config,
		       int64_t now_ns)
{
	const struct image_choice *choice = choice_of(service);
	const char *name = unsteady_metric(image, service, config);
	const int metric = name != NULL ? image_metric_index(image, name) : -1;
	const uint32_t *rows = image_rows(image, service);
	const double *value;
	unsigned changes = 0;
	uint16_t first;

	move_on(unsteady, now_ns);
	if (name == NULL)
		memset(unsteady->count, 0, sizeof unsteady->count);
	if (metric < 0 || service->n_usable == 0 || choice->reason != 0 || choice->verdict <= 0) {
		unsteady->n = 0;
	} else {
		value = image_values(image, (size_t)metric);
		first = image_order(image, choice)[0];
		if (unsteady->n == service->n_rows && first != unsteady->first &&
		    has_overtaken(unsteady, value, rows, first, unsteady->first))
			unsteady->count[unsteady->part % UNSTEADY_PARTS]++;
		if (unsteady->n != service->n_rows && !start_afresh(unsteady, service->n_rows))
			return 0;
		unsteady->first = first;
		for (size_t row = 0; row < unsteady->n; row++)
			unsteady->value[row] = value[rows[row]];
	}
	for (size_t i = 0; i < UNSTEADY_PARTS; i++)
		changes += unsteady->count[i];
	return changes;
}
