/* test_image.c - an image is believed only when everything in it stays inside. */
#include <errno.h>
#include <math.h>

#include <criterion/criterion.h>

#include "shared_files.h"

_Static_assert(IMAGE_SERVERS_MAX == COUNTERS_LINES, "every server has a line");
_Static_assert(IMAGE_SERVICES_MAX == COUNTERS_SERVICES, "every service has a line");

#define HEADER SIZE_MAX /* "in the header", where a part is expected */

/** One thing wrong: value (of len bytes) at byte `at` of a part. */
struct poke {
	const char *text; /* what image_check() says about it */
	size_t part, at;
	uint64_t value;
	size_t len;
};

#define AT(part_, type_, index_, field_)                                                           \
	offsetof(struct image_header, part_), (index_) * sizeof(type_) + offsetof(type_, field_)
#define HEAD(field_)      HEADER, offsetof(struct image_header, field_)
#define SERVER(i, f)      AT(server, struct image_server, i, f)
#define SERVICE(i, f)     AT(service, struct image_service, i, f)
#define INSTANCE(i, f)    AT(instance, struct image_instance, i, f)
#define ENTRY(part_, at_) offsetof(struct image_header, part_), at_

static const struct poke pokes[] = {
	{ "image of layout 3", HEAD(layout), 3, 4 },
	{ "wrong length", HEAD(bytes), 8, 4 },
	{ "a negative time", HEAD(taken_ns), 1ull << 63, 8 },
	{ "the server part is outside", HEAD(server.at), 4, 4 },
	{ "the server part is outside", HEAD(server.at), 0, 4 },
	{ "the server part is outside", HEAD(server.count), 16385, 4 },
	{ "the server part is outside", HEAD(server.at), 0xfffffff8, 4 },
	{ "the metric part is outside", HEAD(metric.count), 65, 4 },
	{ "the service part is outside", HEAD(service.count), 257, 4 },
	{ "the instance part is outside", HEAD(instance.count), 1025, 4 },
	{ "the row part is outside", HEAD(row.count), 0xffffffff, 4 },
	{ "the text part is outside", HEAD(text.count), 0x7fffffff, 4 },
	{ "values do not match", HEAD(value.count), 5, 4 },
	{ "values do not match", HEAD(taken.count), 7, 4 },
	{ "values do not match", HEAD(metric.count), 1, 4 },
	{ "the text has no end", ENTRY(text, 19), 'x', 1 },
	{ "a server's line or weight", SERVER(2, line), 16384, 4 },
	{ "a server's line or weight", SERVER(0, weight), 101, 4 },
	{ "a value of a negative time", ENTRY(taken, 5 * 8), 1ull << 63, 8 },
	{ "an instance of no service", INSTANCE(1, service), 2, 4 },
	{ "an instance's plugin name", INSTANCE(0, plugin), '/', 1 },
	{ "an instance's plugin name", INSTANCE(0, plugin), 0, 1 },
	{ "an instance's path or options", INSTANCE(0, path), 20, 4 },
	{ "an instance's path or options", INSTANCE(1, options), 0xfffffffe, 4 },
	{ "an instance's shared words", INSTANCE(0, shared_bank), 4, 4 },
	{ "an instance's shared words", INSTANCE(0, shared_words), 257, 4 },
	{ "a service's line or stale_after", SERVICE(0, line), 256, 4 },
	{ "a service's line or stale_after", SERVICE(0, stale_after_ns), 1ull << 63, 8 },
	{ "a duration of a service's health", SERVICE(0, health.aside_ns), 1ull << 63, 8 },
	{ "a duration of a service's health", SERVICE(1, health.aside_most_ns), -1ull, 8 },
	{ "a duration of a service's health", SERVICE(0, health.out_for_ns), -1ull, 8 },
	{ "a duration of a service's health", SERVICE(1, health.out_for_ns), 2592000000000001, 8 },
	{ "a duration of a service's health", SERVICE(0, health.slow_start_ns), -1ull, 8 },
	{ "what counts as a service's failures", SERVICE(0, health.counts), 8, 4 },
	{ "what counts as a service's failures", SERVICE(1, health.counts), 1u << 31, 4 },
	{ "a service's rows are outside", SERVICE(0, rows), 3, 4 },
	{ "a service's rows are outside", SERVICE(1, rows), 0xffffffff, 4 },
	{ "a service's rows are outside", SERVICE(1, n_rows), 3, 4 },
	{ "a service's rows are outside", SERVICE(1, n_rows), 65535, 4 },
	{ "a service's row is no server", ENTRY(row, 4), 3, 4 },
	{ "a service has a server twice", ENTRY(row, 8), 2, 4 },
	{ "a service's number of usable servers", SERVICE(0, n_usable), 3, 4 },
	{ "a service's number of usable servers", SERVICE(1, n_usable), 0, 4 },
	{ "a service's number of usable servers", SERVER(1, flags), 0, 4 },
	{ "a service's number of usable servers", SERVER(0, flags), IMAGE_SKIPPED, 4 },
	{ "a service's number of usable servers", SERVER(0, weight), 0, 4 },
	{ "a choice of an instance that is not", SERVICE(0, router.instance), 2, 4 },
	{ "a choice of an instance that is not", SERVICE(1, preset.instance), 1, 4 },
	{ "a choice for an unknown reason", SERVICE(0, router.reason), CR_REASON_COUNT, 4 },
	{ "a choice with an unknown verdict", SERVICE(0, preset.verdict), 0xffffffff, 4 },
	{ "a choice's columns are outside", SERVICE(0, router.n_columns), 9, 4 },
	{ "a choice's columns are outside", SERVICE(0, router.n_columns), 2, 4 },
	{ "a choice's columns are outside", SERVICE(0, router.column), 1, 4 },
	{ "a choice of a negative time", SERVICE(0, router.ranked_ns), 1ull << 63, 8 },
	{ "an order is outside", SERVICE(0, preset.order), 4, 4 },
	{ "an order is outside", SERVICE(1, preset.order), 0xffffffff, 4 },
	{ "an order has an entry that may not", ENTRY(order, 0), 2, 2 },
	{ "an order has an entry that may not", ENTRY(order, 2), 3, 2 },
	{ "an order has a row twice", ENTRY(order, 4), 1, 2 },
};

static void poke_image(struct image_header *image, const struct poke *poke)
{
	char *at = (char *)image;

	if (poke->part != HEADER)
		at += ((const struct image_part *)(at + poke->part))->at;
	memcpy(at + poke->at, &poke->value, poke->len); /* little or big: values fit the field */
}

Test(image, a_built_image_is_good_and_unknown_values_are_nan)
{
	struct image_header *image = sample_image(0);
	struct err err = { 0 };

	cr_expect_eq(image_check(image, image->bytes, &err), 0, "%s", err.text);
	cr_expect(isnan(image_values(image, 1)[2]));
	cr_expect_eq(image_taken(image, 1)[2], 0);
	cr_expect_eq(image_metric_index(image, "metric_1_bytes"), 1);
	cr_expect_eq(image_metric_index(image, "metric_2_bytes"), -1);
	cr_expect_eq(image->bytes % 8, 0);
	free(image);
}

Test(image, one_wrong_field_is_found_and_named)
{
	for (size_t i = 0; i < sizeof pokes / sizeof *pokes; i++) {
		struct image_header *image = sample_image(0);
		const size_t len = image->bytes;
		struct err err = { 0 };

		poke_image(image, &pokes[i]);
		cr_expect_eq(image_check(image, len, &err), -EBADMSG, "%zu: %s", i, pokes[i].text);
		cr_expect_not_null(strstr(err.text, pokes[i].text), "%zu: %s, not %s", i, err.text,
				   pokes[i].text);
		free(image);
	}
}

/* Fills a string's whole array, so that it has no end. */
static void expect_no_end(size_t part, size_t at, size_t len, const char *text)
{
	struct image_header *image = sample_image(0);
	char *to = (char *)image;
	struct err err = { 0 };

	if (part != HEADER)
		to += ((const struct image_part *)(to + part))->at;
	memset(to + at, 'a', len);
	cr_expect_eq(image_check(image, image->bytes, &err), -EBADMSG);
	cr_expect_not_null(strstr(err.text, text), "%s, not %s", err.text, text);
	free(image);
}

Test(image, a_string_without_end_is_found)
{
	expect_no_end(HEAD(cluster), 64, "the cluster's name has no end");
	expect_no_end(SERVER(2, name), 64, "a server's name or address has no end");
	expect_no_end(SERVER(2, address), 128, "a server's name or address has no end");
	expect_no_end(AT(metric, struct image_metric, 1, name), 64, "a metric's name has no end");
	expect_no_end(SERVICE(1, name), 64, "a service's name has no end");
	expect_no_end(INSTANCE(1, plugin), 32, "an instance's plugin name or version");
	expect_no_end(INSTANCE(1, version), 32, "an instance's plugin name or version");
}

Test(image, any_length_but_its_own_is_refused)
{
	struct image_header *image = sample_image(0);
	const size_t bytes = image->bytes;

	for (size_t len = 0; len < bytes; len++) {
		/* A copy of just that length: reading beyond it is seen by the sanitizer. */
		struct image_header *piece = malloc(len == 0 ? 1 : len);

		cr_assert_not_null(piece);
		memcpy(piece, image, len);
		cr_expect_eq(image_check(piece, len, NULL), -EBADMSG);
		free(piece);
	}
	free(image);
}

Test(image, any_word_may_be_hostile_and_what_is_accepted_can_be_read)
{
	static const uint32_t values[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
	struct image_header *image = sample_image(0);
	const size_t bytes = image->bytes;
	size_t refused = 0, walked = 0;

	for (size_t at = 0; at + 4 <= bytes; at += 4) {
		for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
			struct image_header *copy = malloc(bytes);
			int code;

			cr_assert_not_null(copy);
			memcpy(copy, image, bytes);
			memcpy((char *)copy + at, &values[v], 4);
			code = image_check(copy, bytes, NULL);
			cr_expect(code == 0 || code == -EBADMSG);
			if (code == 0)
				walked += walk_image(copy) > 0;
			else
				refused++;
			free(copy);
		}
	}
	cr_expect_gt(refused, 100);
	cr_expect_gt(walked, 100);
	free(image);
}

Test(image, random_damage_never_leads_outside)
{
	struct image_header *image = sample_image(0);
	const size_t bytes = image->bytes;
	uint64_t state = 42;

	for (int round = 0; round < 20000; round++) {
		unsigned char *copy = malloc(bytes);

		cr_assert_not_null(copy);
		memcpy(copy, image, bytes);
		for (int i = 0; i < 1 + round % 4; i++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			copy[(state >> 33) % bytes] = (unsigned char)(state >> 25);
		}
		if (image_check((struct image_header *)copy, bytes, NULL) == 0)
			cr_expect_geq(walk_image((struct image_header *)copy), 0);
		free(copy);
	}
	free(image);
}

Test(image, a_service_without_router_needs_no_order_for_it)
{
	struct image_header *image = sample_image(0);
	struct image_service *stock = (struct image_service *)image_edit(image, image->service) + 1;

	stock->router.order = 4000;
	cr_expect_eq(image_check(image, image->bytes, NULL), 0);
	stock->router.verdict = 1;
	cr_expect_eq(image_check(image, image->bytes, NULL), -EBADMSG);
	free(image);
}

Test(image, more_than_the_limits_is_not_built)
{
	static const struct image_size too_large[] = {
		{ .servers = IMAGE_SERVERS_MAX + 1 },
		{ .metrics = IMAGE_METRICS_MAX + 1 },
		{ .services = IMAGE_SERVICES_MAX + 1 },
		{ .instances = IMAGE_INSTANCES_MAX + 1 },
		{ .rows = UINT32_MAX },
		{ .columns = IMAGE_BYTES_MAX / 8 },
		{ .text = IMAGE_BYTES_MAX },
	};

	for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++)
		cr_expect_null(image_new(&too_large[i]), "%zu", i);
}

Test(image, the_largest_state_is_built_and_good)
{
	const struct image_size size = { .servers = IMAGE_SERVERS_MAX,
					 .metrics = IMAGE_METRICS_MAX,
					 .services = 1,
					 .rows = IMAGE_SERVERS_MAX,
					 .orders = IMAGE_SERVERS_MAX };
	struct image_header *image = image_new(&size);
	struct image_server *server;
	struct image_service *service;
	struct err err = { 0 };

	cr_assert_not_null(image);
	server = image_edit(image, image->server);
	service = image_edit(image, image->service);
	for (uint32_t i = 0; i < size.servers; i++) {
		sample_server(&server[i], "ms", i, 1, 0);
		((uint32_t *)image_edit(image, image->row))[i] = i;
		((uint16_t *)image_edit(image, image->order))[i] = (uint16_t)(size.servers - 1 - i);
	}
	service->n_rows = service->n_usable = size.servers;
	service->router.instance = service->preset.instance = IMAGE_NONE;
	cr_expect_eq(image_check(image, image->bytes, &err), 0, "%s", err.text);
	free(image);
}
