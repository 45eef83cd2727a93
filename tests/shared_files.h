/* shared_files.h - for the tests of image, snapshot and counters: a folder, a small valid image,
 * and a walk through all that a reader would use of one. */
#ifndef CR_TESTS_SHARED_FILES_H
#define CR_TESTS_SHARED_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "image.h"
#include "snapshot.h"

/** A run directory of one test. */
struct folder {
	char path[64];
};

static inline struct folder folder_make(void)
{
	struct folder folder = { "/tmp/callrouter-test-XXXXXX" };

	if (mkdtemp(folder.path) == NULL)
		abort();
	return folder;
}

static inline void folder_file(const struct folder *folder, const char *name, char *path,
			       size_t len)
{
	if (snprintf(path, len, "%s/%s", folder->path, name) >= (int)len)
		abort();
}

static inline void folder_remove(const struct folder *folder)
{
	static const char *const names[] = { SNAPSHOT_FILE, ".snapshot.1.new", COUNTERS_FILE,
					     ".counters.1.new" };
	char path[128];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		folder_file(folder, names[i], path, sizeof path);
		if (remove(path) < 0)
			continue;
	}
	if (rmdir(folder->path) < 0)
		perror(folder->path);
}

static inline void sample_server(struct image_server *server, const char *name, uint32_t line,
				 uint32_t weight, uint32_t flags)
{
	(void)snprintf(server->name, sizeof server->name, "%s", name);
	(void)snprintf(server->address, sizeof server->address, "127.0.0.1:%u", 7100 + line);
	server->line = line;
	server->incarnation = 1;
	server->weight = weight;
	server->flags = flags;
}

static inline void sample_instance(struct image_instance *instance, const char *plugin,
				   uint64_t key, uint32_t bank)
{
	(void)snprintf(instance->plugin, sizeof instance->plugin, "%s", plugin);
	(void)snprintf(instance->version, sizeof instance->version, "1.0");
	instance->key = key;
	instance->seq = 10 * key;
	instance->flags = IMAGE_HAS_RANK;
	instance->path = 0;
	instance->options = 12;
	instance->shared_bank = bank;
	instance->shared_words = 1;
}

static inline void sample_services(struct image_header *image)
{
	struct image_service *orders = image_edit(image, image->service), *stock = orders + 1;

	(void)snprintf(orders->name, sizeof orders->name, "orders");
	orders->rows = 0;
	orders->n_rows = 3;
	orders->n_usable = 2; /* rows 0 (ms3) and 1 (ms1): ms2 is drained */
	orders->line = 0;
	orders->stale_after_ns = 10000000000;
	orders->router = (struct image_choice){ .instance = 0,
						.verdict = 2,
						.n_columns = 1,
						.order = 0,
						.column = 0,
						.ranked_ns = 900 };
	orders->preset = (struct image_choice){
		.instance = 1, .verdict = 2, .order = 2, .fresh_until_ns = INT64_MAX
	};
	(void)snprintf(stock->name, sizeof stock->name, "stock");
	stock->rows = 3;
	stock->n_rows = 2;
	stock->n_usable = 1; /* row 1 (ms1) */
	stock->line = 1;
	stock->stale_after_ns = 10000000000;
	stock->router = (struct image_choice){ .instance = IMAGE_NONE };
	stock->preset = (struct image_choice){ .instance = IMAGE_NONE, .verdict = 1, .order = 4 };
}

/** Three servers (ms2 is drained), two metrics, two services. metrics_more: as many metrics more
 * make the image larger. The caller frees it. */
static inline struct image_header *sample_image(uint32_t metrics_more)
{
	static const uint32_t rows[] = { 2, 0, 1, 1, 0 };
	static const uint16_t orders[] = { 1, 0, 0, 1, 1 };
	const struct image_size size = { .servers = 3,
					 .metrics = 2 + metrics_more,
					 .services = 2,
					 .instances = 2,
					 .rows = 5,
					 .orders = 5,
					 .columns = 3,
					 .text = 20 };
	struct image_header *image = image_new(&size);
	struct image_server *server;
	struct image_metric *metric;
	struct image_instance *instance;

	if (image == NULL)
		abort();
	image->generation = 1;
	image->taken_ns = 1000;
	(void)snprintf(image->cluster, sizeof image->cluster, "test");
	server = image_edit(image, image->server);
	sample_server(&server[0], "ms1", 0, 5, 0);
	sample_server(&server[1], "ms2", 1, 5, IMAGE_DRAINED);
	sample_server(&server[2], "ms3", 2, 3, 0);
	metric = image_edit(image, image->metric);
	for (uint32_t i = 0; i < size.metrics; i++)
		(void)snprintf(metric[i].name, sizeof metric[i].name, "metric_%u_bytes", i);
	instance = image_edit(image, image->instance);
	sample_instance(&instance[0], "heap_free", 1, 0);
	sample_instance(&instance[1], "round_robin", 2, 1);
	memcpy(image_edit(image, image->row), rows, sizeof rows);
	memcpy(image_edit(image, image->order), orders, sizeof orders);
	memcpy(image_edit(image, image->text), "/x/y.1.so\0\0\0min=1\n", 19);
	sample_services(image);
	return image;
}

static inline size_t walk_choice(const struct image_header *image,
				 const struct image_service *service,
				 const struct image_choice *choice)
{
	size_t sum = 0;

	if (choice->instance != IMAGE_NONE)
		sum += strlen(image_instances(image)[choice->instance].plugin);
	for (uint32_t k = 0; k < choice->n_columns; k++)
		for (uint32_t i = 0; i < service->n_rows; i++)
			sum += image_column(image, service, choice, k)[i] > 0;
	if (choice == &service->router && choice->instance == IMAGE_NONE && choice->verdict <= 0)
		return sum;
	for (uint32_t i = 0; i < service->n_usable; i++) {
		const uint32_t row = image_rows(image, service)[image_order(image, choice)[i]];

		sum += strlen(image_servers(image)[row].address);
	}
	return sum;
}

/** Touch everything that a reader of a checked image may touch. */
static inline size_t walk_image(const struct image_header *image)
{
	size_t sum = strlen(image->cluster);

	for (uint32_t i = 0; i < image->server.count; i++)
		sum += strlen(image_servers(image)[i].name);
	for (uint32_t k = 0; k < image->metric.count; k++) {
		sum += strlen(image_metrics(image)[k].name);
		for (uint32_t i = 0; i < image->server.count; i++)
			sum += image_values(image, k)[i] > 0 &&
			       image->taken_ns - image_taken(image, k)[i] > 0;
	}
	for (uint32_t i = 0; i < image->instance.count; i++) {
		const struct image_instance *instance = &image_instances(image)[i];

		sum += strlen(instance->version);
		if (instance->path != IMAGE_NONE)
			sum += strlen(image_text(image, instance->path));
		if (instance->options != IMAGE_NONE)
			sum += strlen(image_text(image, instance->options));
	}
	for (uint32_t s = 0; s < image->service.count; s++) {
		const struct image_service *service = &image_services(image)[s];

		sum += walk_choice(image, service, &service->router);
		sum += walk_choice(image, service, &service->preset);
	}
	return sum;
}

#endif
