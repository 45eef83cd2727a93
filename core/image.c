/* image.c - laying out an image, and proving that one from a file can be trusted. */
#include "image.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "text.h"

/** The order and size of the parts: one table for building and for checking. */
struct part_kind {
	size_t part; /* where struct image_part lies in the header */
	uint32_t size, max;
	const char *name;
};

#define PART(field, size_, max_)                                                                   \
	{                                                                                          \
		offsetof(struct image_header, field), size_, max_, #field                          \
	}

static const struct part_kind part_kinds[] = {
	PART(server, sizeof(struct image_server), IMAGE_SERVERS_MAX),
	PART(metric, sizeof(struct image_metric), IMAGE_METRICS_MAX),
	PART(value, sizeof(double), IMAGE_SERVERS_MAX *IMAGE_METRICS_MAX),
	PART(taken, sizeof(int64_t), IMAGE_SERVERS_MAX *IMAGE_METRICS_MAX),
	PART(service, sizeof(struct image_service), IMAGE_SERVICES_MAX),
	PART(instance, sizeof(struct image_instance), IMAGE_INSTANCES_MAX),
	PART(row, sizeof(uint32_t), IMAGE_BYTES_MAX),
	PART(order, sizeof(uint16_t), IMAGE_BYTES_MAX),
	PART(column, sizeof(double), IMAGE_BYTES_MAX),
	PART(text, 1, IMAGE_BYTES_MAX),
};

#define PARTS (sizeof part_kinds / sizeof *part_kinds)

static const struct image_part *part_of(const struct image_header *image, size_t k)
{
	return (const struct image_part *)((const char *)image + part_kinds[k].part);
}

int image_metric_index(const struct image_header *image, const char *name)
{
	const struct image_metric *metrics = image_metrics(image);

	for (uint32_t i = 0; i < image->metric.count; i++)
		if (strcmp(metrics[i].name, name) == 0)
			return (int)i;
	return -1;
}

/*** Checking ***/

/** What a check needs besides the image: marks, so that each list is walked once. */
struct check {
	const struct image_header *image;
	struct err *err;
	uint32_t *server_mark; /* [servers]: last service (+ 1) that had it as a row */
	uint16_t *row_mark;    /* [servers]: last choice (+ 1) whose order had this row */
};

static int bad(struct err *err, const char *what, uint64_t index)
{
	return err_set(err, -EBADMSG, "damaged image: %s (entry %llu)", what,
		       (unsigned long long)index);
}

static bool is_string(const char *array, size_t len)
{
	return memchr(array, '\0', len) != NULL;
}

/* Do n entries from first on lie inside a part? */
static bool is_piece(const struct image_part *part, uint32_t first, uint64_t n)
{
	return first <= part->count && n <= part->count - first;
}

static int check_parts(const struct image_header *image, struct err *err)
{
	for (size_t k = 0; k < PARTS; k++) {
		const struct image_part *part = part_of(image, k);
		const uint64_t end = part->at + (uint64_t)part->count * part_kinds[k].size;

		if (part->at % 8 != 0 || part->at < sizeof *image || end > image->bytes ||
		    part->count > part_kinds[k].max)
			return err_set(err, -EBADMSG, "damaged image: the %s part is outside",
				       part_kinds[k].name);
	}
	if (image->value.count != image->metric.count * image->server.count ||
	    image->taken.count != image->value.count)
		return bad(err, "values do not match metrics and servers", image->value.count);
	if (image->text.count > 0 && *image_text(image, image->text.count - 1) != '\0')
		return bad(err, "the text has no end", image->text.count);
	return 0;
}

static int check_header(const struct image_header *image, size_t len, struct err *err)
{
	if (len < sizeof *image || len > IMAGE_BYTES_MAX || image->bytes != len)
		return bad(err, "wrong length", len);
	if (image->layout != IMAGE_LAYOUT)
		return err_set(err, -EBADMSG,
			       "image of layout %u, this program reads %u: callrouterd and "
			       "libcallrouter must be of one version",
			       image->layout, IMAGE_LAYOUT);
	if (!is_string(image->cluster, sizeof image->cluster))
		return bad(err, "the cluster's name has no end", 0);
	/* Ages are differences of times that are not negative: they cannot overflow. */
	if (image->taken_ns < 0)
		return bad(err, "a negative time", 0);
	return check_parts(image, err);
}

static int check_servers(const struct image_header *image, struct err *err)
{
	const struct image_server *servers = image_servers(image);
	const struct image_metric *metrics = image_metrics(image);
	const int64_t *taken = image_at(image, image->taken);

	for (uint32_t i = 0; i < image->server.count; i++) {
		if (!is_string(servers[i].name, sizeof servers[i].name) ||
		    !is_string(servers[i].address, sizeof servers[i].address))
			return bad(err, "a server's name or address has no end", i);
		if (servers[i].line >= COUNTERS_LINES || servers[i].weight > 100)
			return bad(err, "a server's line or weight is too large", i);
	}
	for (uint32_t i = 0; i < image->metric.count; i++)
		if (!is_string(metrics[i].name, sizeof metrics[i].name))
			return bad(err, "a metric's name has no end", i);
	for (uint32_t i = 0; i < image->taken.count; i++)
		if (taken[i] < 0)
			return bad(err, "a value of a negative time", i);
	return 0;
}

static bool is_text(const struct image_header *image, uint32_t at)
{
	return at == IMAGE_NONE || at < image->text.count;
}

static int check_instances(const struct image_header *image, struct err *err)
{
	const struct image_instance *instances = image_instances(image);

	for (uint32_t i = 0; i < image->instance.count; i++) {
		const struct image_instance *instance = &instances[i];

		if (instance->service >= image->service.count)
			return bad(err, "an instance of no service", i);
		if (!is_string(instance->plugin, sizeof instance->plugin) ||
		    !text_is_plugin_name(instance->plugin) ||
		    !is_string(instance->version, sizeof instance->version))
			return bad(err, "an instance's plugin name or version", i);
		if (!is_text(image, instance->path) || !is_text(image, instance->options))
			return bad(err, "an instance's path or options", i);
		if (instance->shared_bank >= COUNTERS_BANKS ||
		    instance->shared_words > CR_SHARED_WORDS_MAX)
			return bad(err, "an instance's shared words", i);
	}
	return 0;
}

/* The rows of service s: inside, none twice, and as many usable ones as it says. */
static int check_rows(const struct check *check, uint32_t s)
{
	const struct image_header *image = check->image;
	const struct image_service *service = &image_services(image)[s];
	const uint32_t *rows = image_rows(image, service);
	uint32_t usable = 0;

	if (service->n_rows >= CR_NONE || !is_piece(&image->row, service->rows, service->n_rows))
		return bad(check->err, "a service's rows are outside", s);
	for (uint32_t i = 0; i < service->n_rows; i++) {
		if (rows[i] >= image->server.count)
			return bad(check->err, "a service's row is no server", s);
		if (check->server_mark[rows[i]] == s + 1)
			return bad(check->err, "a service has a server twice", s);
		check->server_mark[rows[i]] = s + 1;
		usable += image_is_usable(&image_servers(image)[rows[i]]);
	}
	if (usable != service->n_usable)
		return bad(check->err, "a service's number of usable servers", s);
	return 0;
}

/* An order is each usable row once: as many entries, all usable, none twice. */
static int check_order(const struct check *check, uint32_t s, const struct image_choice *choice,
		       uint16_t mark)
{
	const struct image_header *image = check->image;
	const struct image_service *service = &image_services(image)[s];
	const uint32_t *rows = image_rows(image, service);
	const uint16_t *order = image_order(image, choice);

	if (!is_piece(&image->order, choice->order, service->n_usable))
		return bad(check->err, "an order is outside", s);
	for (uint32_t i = 0; i < service->n_usable; i++) {
		if (order[i] >= service->n_rows ||
		    !image_is_usable(&image_servers(image)[rows[order[i]]]))
			return bad(check->err, "an order has an entry that may not be contacted",
				   s);
		if (check->row_mark[order[i]] == mark)
			return bad(check->err, "an order has a row twice", s);
		check->row_mark[order[i]] = mark;
	}
	return 0;
}

static int check_choice(const struct check *check, uint32_t s, const struct image_choice *choice,
			uint16_t mark)
{
	const struct image_header *image = check->image;
	const struct image_service *service = &image_services(image)[s];

	if (choice->instance != IMAGE_NONE &&
	    (choice->instance >= image->instance.count ||
	     image_instances(image)[choice->instance].service != s))
		return bad(check->err, "a choice of an instance that is not the service's", s);
	if (choice->reason >= CR_REASON_COUNT)
		return bad(check->err, "a choice for an unknown reason", s);
	if (choice->verdict < 0 && choice->verdict != CR_REFUSE)
		return bad(check->err, "a choice with an unknown verdict", s);
	if (choice->n_columns > CR_COLUMNS_MAX ||
	    !is_piece(&image->column, choice->column,
		      (uint64_t)choice->n_columns * service->n_rows))
		return bad(check->err, "a choice's columns are outside", s);
	if (choice->ranked_ns < 0)
		return bad(check->err, "a choice of a negative time", s);
	/* Without a router there is nothing to order; everything else has an order. */
	if (choice == &service->router && choice->instance == IMAGE_NONE && choice->verdict <= 0)
		return 0;
	return check_order(check, s, choice, mark);
}

static bool is_duration(int64_t ns)
{
	return ns >= 0 && ns <= IMAGE_HEALTH_NS_MAX;
}

static int check_health(const struct check *check, uint32_t s)
{
	const struct image_health *health = &image_services(check->image)[s].health;

	if (!is_duration(health->aside_ns) || !is_duration(health->aside_most_ns) ||
	    !is_duration(health->out_for_ns) || !is_duration(health->slow_start_ns))
		return bad(check->err, "a duration of a service's health", s);
	if ((health->counts & ~(uint32_t)IMAGE_COUNTS_ALL) != 0)
		return bad(check->err, "what counts as a service's failures", s);
	return 0;
}

static int check_services(const struct check *check)
{
	const struct image_header *image = check->image;
	const struct image_service *services = image_services(image);
	int code = 0;

	for (uint32_t s = 0; s < image->service.count && code == 0; s++) {
		const struct image_service *service = &services[s];
		const uint16_t mark = (uint16_t)(2 * s + 1);

		if (!is_string(service->name, sizeof service->name))
			return bad(check->err, "a service's name has no end", s);
		if (service->line >= COUNTERS_SERVICES || service->stale_after_ns < 0)
			return bad(check->err, "a service's line or stale_after", s);
		code = check_health(check, s);
		if (code == 0)
			code = check_rows(check, s);
		if (code == 0)
			code = check_choice(check, s, &service->router, mark);
		if (code == 0)
			code = check_choice(check, s, &service->preset, (uint16_t)(mark + 1));
	}
	return code;
}

int image_check(const struct image_header *image, size_t len, struct err *err)
{
	struct check check = { .image = image, .err = err };
	int code = check_header(image, len, err);

	if (code == 0)
		code = check_servers(image, err);
	if (code == 0)
		code = check_instances(image, err);
	if (code < 0)
		return code;
	/* + 1: none is still an answer of calloc() that is not NULL. */
	check.server_mark = calloc(image->server.count + 1, sizeof *check.server_mark);
	check.row_mark = calloc(image->server.count + 1, sizeof *check.row_mark);
	if (check.server_mark != NULL && check.row_mark != NULL)
		code = check_services(&check);
	else
		code = err_set(err, -ENOMEM, "no memory to check the image");
	free(check.server_mark);
	free(check.row_mark);
	return code;
}

/*** Building ***/

struct image_header *image_new(const struct image_size *size)
{
	const uint64_t values = (uint64_t)size->metrics * size->servers;
	const uint64_t counts[PARTS] = { size->servers,  size->metrics,   values,     values,
					 size->services, size->instances, size->rows, size->orders,
					 size->columns,  size->text };
	uint64_t at = sizeof(struct image_header);
	struct image_part parts[PARTS];
	struct image_header *image;
	double *value;

	for (size_t k = 0; k < PARTS; k++) {
		if (counts[k] > part_kinds[k].max)
			return NULL;
		parts[k] = (struct image_part){ (uint32_t)at, (uint32_t)counts[k] };
		at += (counts[k] * part_kinds[k].size + 7) / 8 * 8;
		if (at > IMAGE_BYTES_MAX)
			return NULL;
	}
	image = calloc(1, at);
	if (image == NULL)
		return NULL;
	image->layout = IMAGE_LAYOUT;
	image->bytes = (uint32_t)at;
	for (size_t k = 0; k < PARTS; k++)
		memcpy((char *)image + part_kinds[k].part, &parts[k], sizeof parts[k]);
	value = image_edit(image, image->value);
	for (uint64_t i = 0; i < values; i++)
		value[i] = NAN;
	return image;
}
