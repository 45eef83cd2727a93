/* test_publisher.c - rounds of asking the rankers and publishing what they said. */
#include <event2/event.h>

#include "daemon_scene.h"
#include "publisher.h"
#include "smooth.h"

static struct daemon_scene scene;
static struct event_base *base;
static struct snapshot_writer *writer;
static struct publisher *publisher;
static const struct config *config = &scene_config;

/* As daemon_on_sitter() does. */
static void heard(void *arg, struct sitter *sitter, enum ranker_event event, const struct err *err)
{
	(void)arg;
	(void)err;
	if (event == RANKER_DEAD) {
		ranker_free(sitter->ranker);
		sitter->ranker = NULL;
		sitter->is_gone = true;
	}
	publisher_heard(publisher, sitter, event);
}

static void set_up(void)
{
	struct err err = { 0 };
	struct publisher_context context;

	daemon_scene_open(&scene);
	scene.seats->context.event = heard;
	scene_seat_all(&scene);
	base = event_base_new();
	cr_assert(base != NULL);
	cr_assert_eq(snapshot_create(scene.folder.path, (gid_t)-1, &writer, &err), 0);
	context = (struct publisher_context){ .base = base,
					      .writer = writer,
					      .config = &config,
					      .servers = scene.servers,
					      .counters = scene.counters,
					      .roster = (const struct roster *const *)&scene.roster,
					      .seats = &scene.seats };
	publisher = publisher_new(&context);
	cr_assert(publisher != NULL);
	/* what "most" needs is known, and fresh */
	scene_put(&scene, "ms1", 1e9, 0);
	scene_put(&scene, "ms2", 1e9, 0);
}

static void tear_down(void)
{
	publisher_free(publisher);
	snapshot_writer_close(writer);
	event_base_free(base);
	daemon_scene_close(&scene);
}

TestSuite(publisher, .init = set_up, .fini = tear_down);

static struct sitter *at(size_t seat)
{
	return scene.seats->seat[seat].now;
}

static void answer(size_t seat, int32_t verdict, const uint16_t *order)
{
	fake_ranker_answers(at(seat)->ranker, verdict, order,
			    (uint32_t)scene.seats->seat[seat].n_rows);
}

/* All but the router of "orders". */
static void answer_others(void)
{
	answer(ORDERS_DEFAULT, CR_DEFAULT, NULL);
	answer(STOCK_DEFAULT, CR_DEFAULT, NULL);
	answer(NEWS_ROUTER, CR_DEFAULT, NULL);
	answer(NEWS_DEFAULT, CR_DEFAULT, NULL);
}

static void answer_all(void)
{
	answer(ORDERS_ROUTER, 3, (const uint16_t[]){ 2, 1, 0 });
	answer_others();
}

static const struct image_choice *router(void)
{
	return &image_services(publisher_image(publisher))[0].router;
}

Test(publisher, nothing_is_published_until_all_rankers_have_answered)
{
	publisher_run(publisher);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 1u);
	cr_expect_str_eq(
		image_instances(at(NEWS_ROUTER)->ranker->image)[at(NEWS_ROUTER)->ranker->instance]
			.plugin,
		"most");
	answer_others();
	cr_expect(publisher_image(publisher) == NULL);
	answer(ORDERS_ROUTER, 3, (const uint16_t[]){ 2, 1, 0 });
	cr_assert(publisher_image(publisher) != NULL);
	cr_expect_eq(publisher_image(publisher)->generation, 1u);
	cr_expect_eq(router()->verdict, 3);
	cr_expect_eq(image_order(publisher_image(publisher), router())[0], 2u);
	cr_expect_eq(snapshot_generation(writer), 1u);
}

Test(publisher, a_late_ranker_holds_nobody_up_and_is_asked_again_when_it_is_back)
{
	publisher_run(publisher);
	answer_others();
	fake_ranker_is_late(at(ORDERS_ROUTER)->ranker);
	cr_assert(publisher_image(publisher) != NULL);
	cr_expect_eq(router()->reason, CR_REASON_RANK_LATE);
	publisher_run(publisher);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 1u, "it is still at it");
	answer_others();
	cr_expect_eq(publisher_image(publisher)->generation, 2u);
	answer(ORDERS_ROUTER, 3, (const uint16_t[]){ 2, 1, 0 }); /* to a question of long ago */
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 2u);
	answer_all();
	cr_expect_eq(router()->reason, CR_REASON_NONE);
	cr_expect_eq(router()->verdict, 3);
}

Test(publisher, a_dead_ranker_holds_nobody_up)
{
	publisher_run(publisher);
	answer_others();
	fake_ranker_dies(at(ORDERS_ROUTER)->ranker);
	cr_assert(publisher_image(publisher) != NULL);
	cr_expect_eq(router()->reason, CR_REASON_QUARANTINED);
	cr_expect_eq(image_services(publisher_image(publisher))[2].router.reason, CR_REASON_NONE);
}

Test(publisher, what_changes_during_a_round_is_in_the_next_one)
{
	publisher_run(publisher);
	scene_put(&scene, "ms1", 77, 0);
	publisher_run(publisher);
	publisher_run(publisher);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 1u);
	answer_all();
	cr_expect_eq(publisher_image(publisher)->generation, 1u);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 2u);
	answer_all();
	cr_expect_eq(publisher_image(publisher)->generation, 2u);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 2u, "one round for both");
}

Test(publisher, nothing_is_asked_nor_published_while_it_is_held)
{
	publisher_hold(publisher, true);
	publisher_run(publisher);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 0u);
	publisher_hold(publisher, false);
	publisher_run(publisher);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 1u);
}

Test(publisher, what_the_operator_wants_is_published_while_rankers_are_busy_or_on_trial)
{
	struct err err = { 0 };

	publisher_run(publisher);
	answer_all();
	publisher_run(publisher);
	cr_assert_eq(servers_drain(scene.servers, "ms3", true, NULL), 0);
	cr_assert_eq(publisher_run_now(publisher, &err), 0);
	cr_expect_eq(publisher_image(publisher)->generation, 2u);
	cr_expect_eq(snapshot_generation(writer), 2u);
	cr_expect_eq(image_services(publisher_image(publisher))[0].n_usable, 2u);
	cr_expect_eq(router()->reason, CR_REASON_NONE);
	cr_expect_eq(image_order(publisher_image(publisher), router())[0], 1u);
	answer_all();
	cr_expect_eq(publisher_image(publisher)->generation, 3u);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 3u, "a round of its own follows");

	publisher_hold(publisher, true);
	cr_assert_eq(servers_drain(scene.servers, "ms3", false, NULL), 0);
	cr_assert_eq(publisher_run_now(publisher, &err), 0);
	cr_expect_eq(image_services(publisher_image(publisher))[0].n_usable, 3u);
	cr_expect_eq(snapshot_generation(writer), 4u);
}

/* A reload: the seats are others, the ranker and its answer under way are the same. */
Test(publisher, an_answer_to_a_question_of_before_is_not_taken_and_the_round_waits_for_the_next)
{
	publisher_run(publisher);
	publisher_reset(publisher);
	publisher_run(publisher);
	answer_others();
	answer(ORDERS_ROUTER, 1, (const uint16_t[]){ 0 });
	answer_others();
	cr_expect(publisher_image(publisher) == NULL);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 2u);
	answer(ORDERS_ROUTER, 3, (const uint16_t[]){ 2, 1, 0 });
	cr_assert(publisher_image(publisher) != NULL);
	cr_expect_eq(publisher_image(publisher)->generation, 1u);
	cr_expect_eq(router()->reason, CR_REASON_NONE);
	cr_expect_eq(router()->verdict, 3);
}

Test(publisher, an_answer_between_two_configurations_starts_a_round)
{
	publisher_run(publisher);
	publisher_reset(publisher);
	answer(ORDERS_ROUTER, 3, (const uint16_t[]){ 2, 1, 0 });
	cr_expect(!at(ORDERS_ROUTER)->has_answer);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 2u);
}

Test(publisher, a_service_without_servers_to_contact_is_not_asked_about)
{
	cr_assert_eq(servers_drain(scene.servers, "ms2", true, NULL), 0);
	publisher_run(publisher);
	cr_expect_eq(at(NEWS_ROUTER)->ranker->asked, 0u);
	answer(ORDERS_ROUTER, CR_DEFAULT, NULL);
	answer(ORDERS_DEFAULT, CR_DEFAULT, NULL);
	answer(STOCK_DEFAULT, CR_DEFAULT, NULL);
	cr_assert(publisher_image(publisher) != NULL);
	cr_expect_eq(image_services(publisher_image(publisher))[2].n_usable, 0u);
	cr_assert_eq(servers_drain(scene.servers, "ms2", false, NULL), 0);
	publisher_run(publisher);
	cr_expect_eq(at(NEWS_ROUTER)->ranker->asked, 1u);
}

Test(publisher, a_router_is_not_asked_without_a_fresh_value_of_what_it_needs)
{
	struct servers *servers = scene.servers;

	scene.servers = servers_new(NULL);
	cr_assert_eq(servers_configure(scene.servers, &scene_config, NULL), 0);
	publisher_free(publisher);
	publisher = publisher_new(
		&(struct publisher_context){ .base = base,
					     .writer = writer,
					     .config = &config,
					     .servers = scene.servers,
					     .counters = scene.counters,
					     .roster = (const struct roster *const *)&scene.roster,
					     .seats = &scene.seats });
	publisher_run(publisher);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 0u);
	cr_expect_eq(at(NEWS_ROUTER)->ranker->asked, 0u);
	cr_expect_eq(at(ORDERS_DEFAULT)->ranker->asked, 1u);
	scene_put(&scene, "ms2", 1e9, 0);
	answer(ORDERS_DEFAULT, CR_DEFAULT, NULL);
	answer(STOCK_DEFAULT, CR_DEFAULT, NULL);
	answer(NEWS_DEFAULT, CR_DEFAULT, NULL);
	publisher_run(publisher);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 1u);
	servers_free(servers);
}

Test(publisher, a_server_drained_since_the_question_is_not_the_routers_fault)
{
	publisher_run(publisher);
	answer_others();
	cr_assert_eq(servers_drain(scene.servers, "ms3", true, NULL), 0);
	answer(ORDERS_ROUTER, 3, (const uint16_t[]){ 2, 1, 0 });
	cr_expect_eq(router()->reason, CR_REASON_NONE);
	cr_expect_eq(image_services(publisher_image(publisher))[0].n_usable, 2u);
	cr_expect_eq(image_order(publisher_image(publisher), router())[0], 1u);
	cr_expect_eq(image_order(publisher_image(publisher), router())[1], 0u);
}

Test(publisher, a_prepared_swap_is_published_with_its_token)
{
	struct seat *seat = &scene.seats->seat[ORDERS_ROUTER];

	seat->coming = sitter_new(seat, scene.turns, seat->now, 0, NULL);
	publisher_prepare(publisher, 4711);
	publisher_run(publisher);
	answer_all();
	cr_expect_eq(publisher_image(publisher)->prepare, 4711u);
	cr_expect_eq(publisher_image(publisher)->instance.count, 6u);
	publisher_prepare(publisher, 0);
	publisher_run(publisher);
	answer_all();
	cr_expect_eq(publisher_image(publisher)->prepare, 0u);
	cr_expect_eq(publisher_image(publisher)->instance.count, 5u);
}

static double asked_free(size_t seat, const char *server)
{
	const struct image_header *image = at(seat)->ranker->image;
	const int metric = image_metric_index(image, "jvm_heap_free_bytes");

	for (uint32_t i = 0; i < image->server.count; i++)
		if (strcmp(image_servers(image)[i].name, server) == 0)
			return image_values(image, (size_t)metric)[i];
	return NAN;
}

Test(publisher, only_the_rankers_of_a_service_that_smooths_see_smoothed_metrics)
{
	struct config_smooth how = { .metric = free_bytes, .window_ns = 10 * CLOCK_S };
	const uint32_t ms2 = scene.roster->index[2];
	int metric;

	scene_services[0].smooth = &how;
	scene_services[0].n_smooth = 1;
	publisher_run(publisher);
	answer_all();
	scene_put(&scene, "ms2", 1e8, 0);
	publisher_run(publisher);
	cr_expect_eq(asked_free(ORDERS_ROUTER, "ms2"), 1e9, "the largest of the window");
	cr_expect_eq(asked_free(ORDERS_DEFAULT, "ms2"), 1e9);
	cr_expect_eq(asked_free(NEWS_ROUTER, "ms2"), 1e8, "news does not smooth");
	answer_all();
	metric = image_metric_index(publisher_image(publisher), free_bytes);
	cr_expect_eq(image_values(publisher_image(publisher), (size_t)metric)[ms2], 1e8,
		     "data planes see what was measured");
	cr_expect_eq(smooth_get(publisher_smoothed(publisher), 0, free_bytes, 1), 1e9);
	publisher_reset(publisher);
	cr_expect(publisher_smoothed(publisher) == NULL, "until the new configuration's round");
	scene_services[0].n_smooth = 0;
}

static void stop_waiting(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

/* Turn the loop until the router of "orders" was asked n times; false after 5 s. */
static bool asked_in_time(unsigned n)
{
	const struct timeval limit = { .tv_sec = 5 };
	struct event *timer = evtimer_new(base, stop_waiting, base);
	const int64_t until = clock_now_ns() + 5 * CLOCK_S;

	evtimer_add(timer, &limit);
	while (at(ORDERS_ROUTER)->ranker->asked < n && clock_now_ns() < until)
		event_base_loop(base, EVLOOP_ONCE);
	event_free(timer);
	return at(ORDERS_ROUTER)->ranker->asked >= n;
}

Test(publisher, a_touch_starts_a_round_soon_and_many_start_one)
{
	const int64_t began = clock_now_ns();

	for (int i = 0; i < 100; i++)
		publisher_touch(publisher);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 0u);
	cr_expect(asked_in_time(1));
	cr_expect_geq(clock_now_ns() - began, PUBLISHER_DEBOUNCE_MS * CLOCK_MS - CLOCK_MS);
	cr_expect_eq(at(ORDERS_ROUTER)->ranker->asked, 1u);
}

Test(publisher, with_many_servers_rounds_take_their_share_of_the_time_and_no_more)
{
	cr_expect_eq(publisher_pause_ns(0), 20 * CLOCK_MS);
	cr_expect_eq(publisher_pause_ns(CLOCK_MS / 4), 20 * CLOCK_MS);
	cr_expect_eq(publisher_pause_ns(2 * CLOCK_MS), 100 * CLOCK_MS);
	/* a machine that has other things to do */
	cr_expect_eq(publisher_pause_ns(100 * CLOCK_MS), 250 * CLOCK_MS);
}

Test(publisher, a_value_that_comes_between_two_rounds_is_in_the_next_image)
{
	const int metric = servers_metric(scene.servers, "jvm_heap_free_bytes");

	publisher_run(publisher);
	answer_all();
	for (int i = 1; i <= 3; i++) {
		cr_assert_eq(servers_put(scene.servers, "ms1", metric, 100 * i, 0), 0);
		publisher_run(publisher);
		answer_all();
		cr_expect_eq(image_values(publisher_image(publisher), (size_t)metric)[0], 100 * i);
	}
}

Test(publisher, without_any_touch_there_is_a_round_for_every_tick)
{
	cr_expect(asked_in_time(1));
	answer_all();
	cr_expect(asked_in_time(2));
}
