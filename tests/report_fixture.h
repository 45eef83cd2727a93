/* report_fixture.h - an image, counters, servers and a configuration made by hand, for the tests of
 * reports. */
#ifndef CR_TESTS_REPORT_FIXTURE_H
#define CR_TESTS_REPORT_FIXTURE_H

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "report.h"

#define NOW_NS        (20 * CLOCK_S) /* before the real clock's time: servers refuse the future */
#define MS1           0
#define MS2           1
#define MS3           2
#define MS4           3
#define FREE          0 /* metric */
#define SIZE          1
#define HEAP_FREE_SEQ 7

/* Two services: orders (ms1 .. ms4, router heap_free), shop (ms1, ms2, only a default). */
static char dir[64];
static struct err err;
static struct counters *counters;
static struct image_header *image;
static struct report *report;
static struct report_source source;
static struct poller_source figures[2];
static size_t n_figures;

/* Stands in for the poller: what it would say is in figures. */
bool poller_get(struct poller *poller, size_t index, struct poller_source *out)
{
	cr_assert_eq((void *)poller, (void *)figures);
	if (index >= n_figures)
		return false;
	*out = figures[index];
	return true;
}

/* Stands in for the checks: what they would say of the server of a line is in checked. */
static struct check_report checked[COUNTERS_LINES];

bool checks_get(const struct checks *checks, uint32_t line, struct check_report *out)
{
	cr_assert_eq((const void *)checks, (const void *)checked);
	*out = checked[line];
	return checked[line].what != NULL;
}

/*** The configuration ***/

#define TEXT(text_) ((char[]){ text_ }) /* configurations own their texts */

static struct config_server config_server[] = {
	{ .name = TEXT("admin"), .address = TEXT("10.0.0.10:7001"), .is_admin = true, .weight = 1 },
	{ .name = TEXT("ms1"), .address = TEXT("10.0.0.11:7101"), .weight = 5 },
	{ .name = TEXT("ms2"), .address = TEXT("10.0.0.12:7101"), .weight = 3 },
	{ .name = TEXT("ms3"), .address = TEXT("10.0.0.13:7101"), .weight = 1 },
	{ .name = TEXT("ms4"), .address = TEXT("10.0.0.14:7101"), .weight = 1 },
};
static size_t orders_servers[] = { 1, 2, 3, 4 }, shop_servers[] = { 1, 2 };
static struct config_service config_service[] = {
	{ .name = TEXT("orders"),
	  .servers = orders_servers,
	  .n_servers = 4,
	  .router = { .plugin = TEXT("heap_free") },
	  .preset = { .plugin = TEXT("round_robin") },
	  .stale_after_ns = 10 * CLOCK_S },
	{ .name = TEXT("shop"),
	  .servers = shop_servers,
	  .n_servers = 2,
	  .preset = { .plugin = TEXT("random") },
	  .stale_after_ns = 5 * CLOCK_S },
};
static struct config config = { .cluster = TEXT("test"),
				.servers = config_server,
				.n_servers = 5,
				.services = config_service,
				.n_services = 2 };

/*** The image ***/

static inline struct image_server *image_server_at(size_t i)
{
	return (struct image_server *)image_edit(image, image->server) + i;
}

static inline struct image_service *image_service_at(size_t i)
{
	return (struct image_service *)image_edit(image, image->service) + i;
}

static inline struct image_instance *image_instance_at(size_t i)
{
	return (struct image_instance *)image_edit(image, image->instance) + i;
}

static inline void set_metric(size_t metric, size_t server, double value, int64_t age_ns)
{
	((double *)image_edit(image, image->value))[metric * 4 + server] = value;
	((int64_t *)image_edit(image, image->taken))[metric * 4 + server] = NOW_NS - age_ns;
}

static inline void fill_servers(void)
{
	for (size_t i = 0; i < 4; i++) {
		struct image_server *server = image_server_at(i);
		const struct config_server *from = &config_server[i + 1];
		const int line = counters_line_of(counters, from->name, NULL);

		cr_assert_geq(line, 0);
		(void)snprintf(server->name, sizeof server->name, "%s", from->name);
		(void)snprintf(server->address, sizeof server->address, "%s", from->address);
		server->line = (uint32_t)line;
		server->incarnation = counters_line(counters, server->line)->incarnation;
		server->weight = from->weight;
	}
	image_server_at(MS4)->flags = IMAGE_DRAINED;
}

static inline void fill_instances(void)
{
	static const struct image_instance instances[] = {
		{ .key = 101,
		  .seq = HEAP_FREE_SEQ,
		  .flags = IMAGE_HAS_RANK,
		  .service = 0,
		  .plugin = "heap_free",
		  .version = "1.2" },
		{ .key = 102,
		  .seq = 3,
		  .flags = IMAGE_HAS_ROUTE,
		  .service = 0,
		  .plugin = "round_robin",
		  .version = "1.0" },
		{ .key = 103,
		  .seq = 4,
		  .flags = IMAGE_HAS_ROUTE,
		  .service = 1,
		  .plugin = "random",
		  .version = "1.0" },
	};

	memcpy(image_edit(image, image->instance), instances, sizeof instances);
}

static inline void fill_services(void)
{
	static const uint32_t rows[] = { MS1, MS2, MS3, MS4, MS1, MS2 };
	/* orders by its router, orders by row, shop by row */
	static const uint16_t order[] = { 1, 2, 0, 0, 1, 2, 0, 1 };
	const struct image_service orders = {
		.name = "orders",
		.rows = 0,
		.n_rows = 4,
		.n_usable = 3,
		.line = (uint32_t)counters_service_of(counters, "orders", NULL),
		.stale_after_ns = 10 * CLOCK_S,
		.router = { .instance = 0,
			    .verdict = 3,
			    .order = 0,
			    .fresh_until_ns = NOW_NS + CLOCK_S },
		.preset = { .instance = 1, .verdict = 3, .order = 3, .fresh_until_ns = INT64_MAX },
	};
	const struct image_service shop = {
		.name = "shop",
		.rows = 4,
		.n_rows = 2,
		.n_usable = 2,
		.line = (uint32_t)counters_service_of(counters, "shop", NULL),
		.stale_after_ns = 5 * CLOCK_S,
		.router = { .instance = IMAGE_NONE,
			    .reason = CR_REASON_NO_ROUTER,
			    .order = 6,
			    .fresh_until_ns = INT64_MAX },
		.preset = { .instance = 2, .verdict = 2, .order = 6, .fresh_until_ns = INT64_MAX },
	};

	memcpy(image_edit(image, image->row), rows, sizeof rows);
	memcpy(image_edit(image, image->order), order, sizeof order);
	*image_service_at(0) = orders;
	*image_service_at(1) = shop;
}

static inline void fill_image(void)
{
	const struct image_size size = { .servers = 4,
					 .metrics = 2,
					 .services = 2,
					 .instances = 3,
					 .rows = 6,
					 .orders = 8,
					 .columns = 8,
					 .text = 1 };
	struct image_metric *metric;

	image = image_new(&size);
	cr_assert_not_null(image);
	image->generation = 1;
	metric = image_edit(image, image->metric);
	(void)snprintf(metric[FREE].name, sizeof metric[FREE].name, "jvm_heap_free_bytes");
	(void)snprintf(metric[SIZE].name, sizeof metric[SIZE].name, "jvm_heap_size_bytes");
	fill_servers();
	fill_instances();
	fill_services();
	for (size_t i = 0; i < 3; i++)
		((struct image_instance *)image_edit(image, image->instance))[i].path = 0;
	set_metric(FREE, MS1, 1e9, 1200 * CLOCK_MS);
	set_metric(SIZE, MS1, 2147483648.0, 1200 * CLOCK_MS);
	set_metric(FREE, MS2, 1.5e9, 12500 * CLOCK_MS);
	cr_assert_eq(image_check(image, image->bytes, &err), 0, "%s", err.text);
}

/*** Set-up ***/

static inline void set_up(void)
{
	err = (struct err){ 0 };
	(void)snprintf(dir, sizeof dir, "/tmp/report.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(counters_create(dir, (gid_t)-1, &counters, &err), 0, "%s", err.text);
	fill_image();
	report = report_new();
	source = (struct report_source){ .config = &config,
					 .image = image,
					 .counters = counters,
					 .poller = (struct poller *)figures,
					 .now_ns = NOW_NS,
					 .started_ns = 2 * CLOCK_S };
	source.servers = servers_new(NULL);
	cr_assert_eq(servers_configure(source.servers, &config, &err), 0, "%s", err.text);
	n_figures = 0;
}

static inline void tear_down(void)
{
	DIR *d;
	struct dirent *entry;
	char path[400];

	servers_free(source.servers);
	report_free(report);
	free(image);
	counters_close(counters);
	d = opendir(dir);
	while (d != NULL && (entry = readdir(d)) != NULL) {
		(void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
		(void)unlink(path);
	}
	closedir(d);
	cr_assert_eq(rmdir(dir), 0);
}

/* Takes document. In a buffer of its own. */
static inline const char *text_of(json_t *document)
{
	static char buf[16384];
	char *text = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

	cr_assert_not_null(text);
	(void)snprintf(buf, sizeof buf, "%s", text);
	free(text);
	json_decref(document);
	return buf;
}

static inline struct counters_line *line_of(size_t server)
{
	return counters_line(counters, image_server_at(server)->line);
}

#endif
