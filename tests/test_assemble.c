/* test_assemble.c - the image that is made of a configuration, metrics, and what routers said. */
#include "daemon_scene.h"

static struct image_header *build(struct daemon_scene *scene, uint32_t *instance)
{
	const struct assemble in = {
		.config = &scene_config,
		.servers = scene->servers,
		.counters = scene->counters,
		.roster = scene->roster,
		.seats = scene->seats,
		.now_ns = scene->now_ns,
		.generation = 5,
	};
	struct image_header *image = assemble(&in, instance);
	struct err err = { 0 };

	cr_assert(image != NULL);
	cr_assert_eq(image_check(image, image->bytes, &err), 0, "%s", err.text);
	return image;
}

/* A sitter's answer, as if its ranker had given it. */
static void said(struct sitter *sitter, int32_t verdict, const uint16_t *order)
{
	sitter->has_answer = true;
	sitter->verdict = verdict;
	sitter->reason = CR_REASON_NONE;
	sitter->n_order = verdict > 0 ? (size_t)verdict : 0;
	sitter->order = calloc(sitter->n_order + 1, sizeof *sitter->order);
	for (size_t i = 0; i < sitter->n_order; i++)
		sitter->order[i] = order[i];
}

/* "2 0 1" */
static const char *order_text(const struct image_header *image, const struct image_choice *choice,
			      size_t n)
{
	static char text[64];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i > 0 ? " " : "",
					 image_order(image, choice)[i]);
	return text;
}

Test(assemble, an_image_has_the_managed_servers_and_all_services)
{
	struct daemon_scene scene;
	struct image_header *image;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	image = build(&scene, NULL);
	cr_expect_str_eq(image->cluster, "tests");
	cr_expect_eq(image->generation, 5u);
	cr_expect_eq(image->taken_ns, 1000 * CLOCK_S);
	cr_assert_eq(image->server.count, 3u);
	cr_expect_str_eq(image_servers(image)[0].name, "ms1");
	cr_expect_str_eq(image_servers(image)[0].address, "127.0.0.1:7101");
	cr_expect_eq(image_servers(image)[0].weight, 5u);
	cr_expect_eq(image_servers(image)[0].incarnation, 1u);
	cr_expect_str_eq(image_servers(image)[2].name, "ms3");
	cr_assert_eq(image->service.count, 3u);
	cr_expect_str_eq(image_services(image)[1].name, "stock");
	cr_expect_eq(image_services(image)[1].n_rows, 2u);
	cr_expect_eq(image_rows(image, &image_services(image)[1])[0], 2u);
	cr_expect_eq(image_rows(image, &image_services(image)[1])[1], 0u);
	cr_expect_eq(image_services(image)[1].stale_after_ns, 2 * CLOCK_S);
	cr_expect_eq(image_services(image)[1].router.instance, IMAGE_NONE);
	free(image);
	daemon_scene_close(&scene);
}

Test(assemble, an_image_has_the_health_of_each_service_and_the_hosts_of_the_fleet)
{
	struct daemon_scene scene;
	struct image_header *image;
	const struct image_health *health;

	scene_config.hosts = 12;
	scene_services[0].health = (struct config_health){ .out_for_ns = 90 * CLOCK_S,
							   .aside_ns = 2 * CLOCK_S,
							   .aside_most_ns = 30 * CLOCK_S,
							   .slow_start_ns = 10 * CLOCK_S,
							   .failures = 7,
							   .counts = IMAGE_COUNTS_TIMEOUT };
	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	image = build(&scene, NULL);
	health = &image_services(image)[0].health;
	cr_expect_eq(image->hosts, 12u);
	cr_expect_eq(health->out_for_ns, 90 * CLOCK_S);
	cr_expect_eq(health->aside_ns, 2 * CLOCK_S);
	cr_expect_eq(health->aside_most_ns, 30 * CLOCK_S);
	cr_expect_eq(health->slow_start_ns, 10 * CLOCK_S);
	cr_expect_eq(health->failures, 7u);
	cr_expect_eq(health->counts, 2u);
	cr_expect_eq(image_services(image)[1].health.failures, 0u, "of another service");
	free(image);
	daemon_scene_close(&scene);
}

Test(assemble, an_admin_server_is_nowhere_whatever_is_said_of_it)
{
	struct daemon_scene scene;
	struct image_header *image;
	const int metric = 0;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	cr_expect_eq(servers_put(scene.servers, "admin", metric, 9e9, 0), -ENOENT);
	image = build(&scene, NULL);
	for (uint32_t i = 0; i < image->server.count; i++)
		cr_expect_str_neq(image_servers(image)[i].name, "admin");
	for (uint32_t i = 0; i < image->service.count; i++)
		for (uint32_t k = 0; k < image_services(image)[i].n_rows; k++)
			cr_expect_lt(image_rows(image, &image_services(image)[i])[k], 3u);
	free(image);
	daemon_scene_close(&scene);
}

Test(assemble, instances_carry_what_a_data_plane_needs_to_load_them)
{
	struct daemon_scene scene;
	struct image_header *image;
	const struct image_instance *instance;
	uint32_t index[12];

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	image = build(&scene, index);
	cr_assert_eq(image->instance.count, 5u);
	cr_expect_eq(index[STOCK_ROUTER], IMAGE_NONE);
	cr_expect_eq(index[6 + ORDERS_ROUTER], IMAGE_NONE);
	instance = &image_instances(image)[index[ORDERS_ROUTER]];
	cr_expect_str_eq(instance->plugin, "most");
	cr_expect_str_eq(instance->version, "1.0");
	cr_expect_eq(instance->seq, 7u);
	cr_expect_eq(instance->flags, (uint32_t)IMAGE_HAS_RANK);
	cr_expect_eq(instance->service, 0u);
	cr_expect_str_eq(image_text(image, instance->path), "/state/plugins/most.7.so");
	cr_expect_str_eq(image_text(image, instance->options), "share=2\n");
	cr_expect_eq(instance->shared_bank, 0u);
	instance = &image_instances(image)[index[NEWS_DEFAULT]];
	cr_expect_str_eq(instance->plugin, "turns");
	cr_expect_eq(instance->service, 2u);
	cr_expect_eq(instance->shared_bank, 2u);
	cr_expect_eq(instance->shared_words, 1u);
	cr_expect_str_eq(image_text(image, instance->options), "");
	free(image);
	daemon_scene_close(&scene);
}

Test(assemble, who_is_coming_is_in_it_only_while_a_swap_is_prepared)
{
	struct daemon_scene scene;
	struct assemble in = { .config = &scene_config };
	struct image_header *image;
	struct seat *seat;
	uint32_t index[12];

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	seat = &scene.seats->seat[ORDERS_ROUTER];
	seat->coming = sitter_new(seat, scene.turns, seat->now, 0, NULL);
	image = build(&scene, index);
	cr_expect_eq(image->instance.count, 5u);
	cr_expect_eq(index[6 + ORDERS_ROUTER], IMAGE_NONE);
	free(image);
	in = (struct assemble){
		.config = &scene_config,
		.servers = scene.servers,
		.counters = scene.counters,
		.roster = scene.roster,
		.seats = scene.seats,
		.now_ns = 1,
		.generation = 6,
		.prepare = 77,
		.with_coming = true,
	};
	image = assemble(&in, index);
	cr_assert_eq(image_check(image, image->bytes, NULL), 0);
	cr_expect_eq(image->prepare, 77u);
	cr_assert_eq(image->instance.count, 6u);
	cr_expect_eq(image_instances(image)[index[6 + ORDERS_ROUTER]].flags,
		     (uint32_t)(IMAGE_HAS_RANK | IMAGE_HAS_ROUTE | IMAGE_IS_COMING));
	cr_expect_eq(image_services(image)[0].router.instance, index[ORDERS_ROUTER]);
	free(image);
	daemon_scene_close(&scene);
}

/*** Orders ***/

static void expect_order(const char *want, int router_n, const uint16_t *router, int default_n,
			 const uint16_t *preset)
{
	struct daemon_scene scene;
	struct image_header *image;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	if (router != NULL)
		said(scene.seats->seat[ORDERS_ROUTER].now, router_n, router);
	if (preset != NULL)
		said(scene.seats->seat[ORDERS_DEFAULT].now, default_n, preset);
	image = build(&scene, NULL);
	cr_expect_str_eq(order_text(image, &image_services(image)[0].router, 3), want);
	free(image);
	daemon_scene_close(&scene);
}

Test(assemble, a_short_order_is_completed_in_the_defaults_order_then_by_row)
{
	expect_order("2 0 1", 3, (const uint16_t[]){ 2, 0, 1 }, 3, (const uint16_t[]){ 0, 1, 2 });
	expect_order("1 2 0", 1, (const uint16_t[]){ 1 }, 3, (const uint16_t[]){ 2, 1, 0 });
	expect_order("2 1 0", 1, (const uint16_t[]){ 2 }, 1, (const uint16_t[]){ 1 });
	expect_order("2 0 1", 1, (const uint16_t[]){ 2 }, 0, NULL);
	expect_order("2 1 0", 0, NULL, 3, (const uint16_t[]){ 2, 1, 0 });
	expect_order("0 1 2", 0, NULL, 0, NULL);
}

Test(assemble, an_order_has_none_that_was_drained_since_skipped_or_has_weight_0)
{
	struct daemon_scene scene;
	struct image_header *image;
	const struct image_service *orders;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	said(scene.seats->seat[ORDERS_ROUTER].now, 3, (const uint16_t[]){ 2, 0, 1 });
	cr_assert_eq(servers_drain(scene.servers, "ms3", true, NULL), 0);
	image = build(&scene, NULL);
	orders = &image_services(image)[0];
	cr_expect_eq(orders->n_rows, 3u);
	cr_expect_eq(orders->n_usable, 2u);
	cr_expect_str_eq(order_text(image, &orders->router, 2), "0 1");
	cr_expect_eq(image_servers(image)[2].flags, (uint32_t)IMAGE_DRAINED);
	free(image);
	cr_assert_eq(servers_weight(scene.servers, "ms1", 0, NULL), 0);
	servers_skip(scene.servers, "ms2", "an admin server");
	image = build(&scene, NULL);
	cr_expect_eq(image_services(image)[0].n_usable, 0u);
	cr_expect_eq(image_servers(image)[0].weight, 0u);
	cr_expect_eq(image_servers(image)[1].flags, (uint32_t)IMAGE_SKIPPED);
	free(image);
	daemon_scene_close(&scene);
}

Test(assemble, columns_come_with_the_order)
{
	struct daemon_scene scene;
	struct sitter *sitter;
	struct image_header *image;
	const struct image_service *orders;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	sitter = scene.seats->seat[ORDERS_ROUTER].now;
	said(sitter, 3, (const uint16_t[]){ 2, 0, 1 });
	sitter->n_columns = 2;
	sitter->column = malloc(6 * sizeof(double));
	memcpy(sitter->column, (const double[]){ 1, 2, 3, 10, 20, NAN }, 6 * sizeof(double));
	image = build(&scene, NULL);
	orders = &image_services(image)[0];
	cr_assert_eq(orders->router.n_columns, 2u);
	cr_expect_eq(image_column(image, orders, &orders->router, 0)[2], 3);
	cr_expect_eq(image_column(image, orders, &orders->router, 1)[1], 20);
	cr_expect(isnan(image_column(image, orders, &orders->router, 1)[2]));
	cr_expect_eq(orders->preset.n_columns, 0u);
	free(image);
	daemon_scene_close(&scene);
}

/*** Reasons ***/

Test(assemble, a_router_that_said_nothing_good_has_a_reason)
{
	struct daemon_scene scene;
	struct sitter *sitter;
	struct image_header *image;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	sitter = scene.seats->seat[ORDERS_ROUTER].now;
	image = build(&scene, NULL);
	cr_expect_eq(image_services(image)[0].router.reason, CR_REASON_RANK_LATE, "no answer yet");
	free(image);
	said(sitter, 3, (const uint16_t[]){ 0, 1, 2 });
	image = build(&scene, NULL);
	cr_expect_eq(image_services(image)[0].router.reason, CR_REASON_NONE);
	cr_expect_eq(image_services(image)[0].router.verdict, 3);
	free(image);
	sitter->is_late = true;
	image = build(&scene, NULL);
	cr_expect_eq(image_services(image)[0].router.reason, CR_REASON_RANK_LATE);
	free(image);
	sitter->is_gone = true;
	image = build(&scene, NULL);
	cr_expect_eq(image_services(image)[0].router.reason, CR_REASON_QUARANTINED);
	free(image);
	sitter->is_late = sitter->is_gone = false;
	sitter->reason = CR_REASON_RANK_BAD_ORDER;
	image = build(&scene, NULL);
	cr_expect_eq(image_services(image)[0].router.reason, CR_REASON_RANK_BAD_ORDER);
	cr_expect_str_eq(order_text(image, &image_services(image)[0].router, 3), "0 1 2");
	free(image);
	sitter->reason = CR_REASON_NONE;
	sitter->verdict = CR_REFUSE;
	image = build(&scene, NULL);
	cr_expect_eq(image_services(image)[0].router.reason, CR_REASON_NONE);
	cr_expect_eq(image_services(image)[0].router.verdict, CR_REFUSE);
	free(image);
	daemon_scene_close(&scene);
}

Test(assemble, a_router_that_is_configured_but_not_loaded_has_that_reason)
{
	struct daemon_scene scene;
	struct image_header *image;

	daemon_scene_open(&scene);
	image = build(&scene, NULL);
	cr_expect_eq(image_services(image)[0].router.instance, IMAGE_NONE);
	cr_expect_eq(image_services(image)[0].router.reason, CR_REASON_NOT_LOADED);
	cr_expect_eq(image_services(image)[0].preset.reason, CR_REASON_NOT_LOADED);
	cr_expect_eq(image_services(image)[1].router.reason, CR_REASON_NONE, "it has no router");
	free(image);
	daemon_scene_close(&scene);
}

/*** Metrics and freshness ***/

Test(assemble, values_come_with_their_times_and_unknown_ones_are_nan)
{
	const int64_t now = clock_now_ns();
	struct daemon_scene scene;
	struct image_header *image;
	int metric;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	scene_put(&scene, "ms2", 4096, now - CLOCK_S);
	image = build(&scene, NULL);
	metric = image_metric_index(image, "jvm_heap_free_bytes");
	cr_assert_geq(metric, 0);
	cr_expect_eq(image_values(image, (size_t)metric)[1], 4096);
	cr_expect_eq(image_taken(image, (size_t)metric)[1], now - CLOCK_S);
	cr_expect(isnan(image_values(image, (size_t)metric)[0]));
	cr_expect_eq(image_taken(image, (size_t)metric)[0], 0);
	free(image);
	daemon_scene_close(&scene);
}

static int64_t fresh_until(struct daemon_scene *scene, size_t service, bool of_router)
{
	struct image_header *image = build(scene, NULL);
	const struct image_service *at = &image_services(image)[service];
	const int64_t until = of_router ? at->router.fresh_until_ns : at->preset.fresh_until_ns;

	free(image);
	return until;
}

Test(assemble, a_service_is_fresh_until_its_newest_needed_value_runs_out)
{
	const int64_t now = clock_now_ns();
	struct daemon_scene scene;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	cr_expect_eq(fresh_until(&scene, 0, true), 0, "no value at all");
	cr_expect_eq(fresh_until(&scene, 0, false), INT64_MAX, "it needs none");
	scene_put(&scene, "ms1", 1, now - 3 * CLOCK_S);
	cr_expect_eq(fresh_until(&scene, 0, true), now + 7 * CLOCK_S);
	cr_expect_eq(fresh_until(&scene, 2, true), 0, "ms1 is not of this service");
	scene_put(&scene, "ms2", 1, now - 2 * CLOCK_S);
	cr_expect_eq(fresh_until(&scene, 0, true), now + 8 * CLOCK_S);
	cr_expect_eq(fresh_until(&scene, 2, true), now + 8 * CLOCK_S);
	cr_assert_eq(servers_drain(scene.servers, "ms2", true, NULL), 0);
	cr_expect_eq(fresh_until(&scene, 0, true), now + 7 * CLOCK_S, "ms2 may not be contacted");
	daemon_scene_close(&scene);
}

/*** Lines in the counters file ***/

Test(roster, names_keep_their_lines_and_the_lines_of_before_stay_reserved)
{
	struct daemon_scene scene;
	struct roster *next;
	struct err err = { 0 };
	struct config fewer = scene_config;

	daemon_scene_open(&scene);
	cr_expect_eq(scene.roster->index[0], IMAGE_NONE);
	cr_expect_eq(scene.roster->n_managed, 3u);
	cr_expect_eq(scene.roster->server_line[1], 0u);
	cr_expect_eq(scene.roster->server_line[3], 2u);
	cr_expect_eq(scene.roster->service_line[2], 2u);
	fewer.servers = scene_servers + 2;
	fewer.n_servers = 2;
	fewer.n_services = 0;
	next = roster_new(&fewer, scene.counters, scene.roster, &err);
	cr_assert(next != NULL);
	cr_expect_eq(next->server_line[0], 1u);
	cr_expect_eq(next->index[0], 0u);
	cr_expect(!next->own[0]);
	cr_expect(next->kept[0]);
	cr_expect(next->service_kept[2]);
	roster_free(scene.roster);
	scene.roster = roster_new(&fewer, scene.counters, next, &err);
	roster_free(next);
	cr_expect(!scene.roster->kept[0], "nobody has an image with ms1 any more");
	cr_expect(!scene.roster->service_kept[2]);
	daemon_scene_close(&scene);
}

/* All lines were used once, and the lines of this configuration's own servers are idle. */
Test(roster, no_new_name_gets_the_line_of_a_server_that_comes_later_in_the_same_file)
{
	static char names[COUNTERS_LINES][16];
	static struct config_server servers[4];
	struct config config = { .servers = servers, .n_servers = 4 };
	struct daemon_scene scene;
	struct roster *roster;
	struct err err = { 0 };

	daemon_scene_open(&scene);
	for (uint32_t i = 3; i < COUNTERS_LINES; i++) {
		(void)snprintf(names[i], sizeof names[i], "old-%u", i);
		cr_assert_eq(counters_line_of(scene.counters, names[i], NULL), (int)i);
	}
	servers[0].name = (char[]){ "new-1" };
	servers[1].name = (char[]){ "new-2" };
	servers[2].name = (char[]){ "ms1" };
	servers[3].name = names[3];
	roster = roster_new(&config, scene.counters, NULL, &err);
	cr_assert(roster != NULL);
	cr_expect_eq(roster->server_line[2], 0u);
	cr_expect_eq(roster->server_line[3], 3u);
	cr_expect_eq(roster->server_line[0], 1u, "ms2's, which is in no configuration");
	cr_expect_eq(roster->server_line[1], 2u);
	roster_free(roster);
	daemon_scene_close(&scene);
}

Test(assemble, what_has_changed_since_the_base_is_new_and_all_else_is_the_same)
{
	static const int64_t taken_ns[] = { 1000, 2000 };
	struct daemon_scene scene;
	uint32_t index[12];
	uint64_t seq = 0, later = 0;
	struct assemble in;
	struct image_header *base, *next, *whole;
	int metric;

	daemon_scene_open(&scene);
	scene_seat_all(&scene);
	metric = servers_metric(scene.servers, "jvm_heap_size_bytes");
	servers_put(scene.servers, "ms1", metric, 100, taken_ns[0]);
	servers_put(scene.servers, "ms2", metric, 200, taken_ns[0]);
	in = (struct assemble){
		.config = &scene_config,
		.servers = scene.servers,
		.counters = scene.counters,
		.roster = scene.roster,
		.seats = scene.seats,
		.seq = &seq,
	};
	base = assemble(&in, index);
	/* what the base says of ms1 is not looked up again: a mark shows it */
	((struct image_server *)image_edit(base, base->server))[0].weight = 77;
	servers_put(scene.servers, "ms2", metric, 300, taken_ns[1]);
	cr_assert_eq(servers_drain(scene.servers, "ms3", true, NULL), 0);
	in.base = base;
	in.base_seq = seq;
	in.seq = &later;
	next = assemble(&in, index);
	cr_assert_eq(image_check(next, next->bytes, NULL), 0);
	cr_expect_gt(later, seq);
	cr_expect_eq(image_servers(next)[0].weight, 77u);
	cr_expect_eq(image_values(next, (size_t)metric)[0], 100);
	cr_expect_eq(image_values(next, (size_t)metric)[1], 300);
	cr_expect_eq(image_taken(next, (size_t)metric)[1], 2000);
	cr_expect_eq(image_servers(next)[2].flags, (uint32_t)IMAGE_DRAINED);
	/* with one more metric there is nothing to copy from */
	(void)servers_metric(scene.servers, "one_more");
	whole = assemble(&in, index);
	cr_expect_neq(image_servers(whole)[0].weight, 77u);
	cr_expect_eq(image_values(whole, (size_t)metric)[1], 300);
	free(base);
	free(next);
	free(whole);
	daemon_scene_close(&scene);
}
