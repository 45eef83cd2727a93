/* test_route_guests.c - routers as the library hosts them: which are loaded, what they see, and
 * what becomes of a call where one cannot be loaded. */
#include <math.h>
#include <unistd.h>

#include "plugins/probe.h"
#include "route_scene.h"

static const uint16_t router_order[] = { 2, 0, 1 };

static struct counters_slot *slot_of(const struct scene *s)
{
	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++)
		if (atomic_load(&counters_slot(s->run.counters, i)->state) != 0)
			return counters_slot(s->run.counters, i);
	cr_assert(false, "nobody has a slot");
	return NULL;
}

/*** Loading ***/

Test(route_guests, a_router_that_only_ranks_is_not_loaded)
{
	struct scene s;

	scene_open(&s, 3);
	s.orders->router = ranked(&s, router_order);
	s.orders->router.path = run_stage(&s.run, PLUGINS_DIR, "heap_free", 5);
	s.orders->router.plugin = "heap_free";
	scene_attach(&s);
	scene_publish(&s);
	expect_call(&s, "ms3 ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(count_mappings("heap_free.5.so"), 0);
	cr_expect_eq(atomic_load(&slot_of(&s)->loaded_seq), 0);
	s.orders->router = says(&s, "say=all\n");
	scene_publish(&s);
	cr_expect_gt(count_mappings("says.1.so"), 0);
	cr_expect_eq(atomic_load(&slot_of(&s)->loaded_seq), 1);
	scene_close(&s);
	cr_expect_eq(count_mappings("says.1.so"), 0);
}

/* The router is published but cannot be had here. */
static void expect_lack(struct scene *s, const struct plan_side *router, const char *word)
{
	s->orders->router = *router;
	s->orders->router.order = router_order;
	s->run.n_said = 0;
	scene_publish(s);
	expect_call(s, "ms3 ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(atomic_load(&slot_of(s)->lacks), router->key);
	cr_expect(strstr(slot_of(s)->error, word) != NULL, "\"%s\" in: %s", word,
		  slot_of(s)->error);
	cr_expect_eq(s->run.n_said, 1);
	cr_expect(strstr(s->run.said[0], slot_of(s)->error) != NULL, "%s", s->run.said[0]);
}

Test(route_guests, the_published_order_is_used_where_a_router_cannot_be_loaded)
{
	struct plan_side side;
	struct scene s;

	scene_open(&s, 3);
	scene_attach(&s);
	side = says(&s, "say=reversed\n");
	side.path = "/nowhere/says.77.so";
	side.seq = 77;
	expect_lack(&s, &side, "cannot be read");
	side = says(&s, "say=reversed\n");
	side.path = NULL;
	side.seq = 78;
	expect_lack(&s, &side, "names no file");
	side = says(&s, "say=reversed\n");
	side.path = s.run.dir;
	side.seq = 79;
	expect_lack(&s, &side, "says.so");
	side = says(&s, "say=nonsense\n");
	expect_lack(&s, &side, "nonsense");
	side = says(&s, "no line of an option");
	expect_lack(&s, &side, "lines");
	side = plan_route("http", run_stage(&s.run, TEST_PLUGINS_DIR, "collecting", 80), 80);
	expect_lack(&s, &side, "collecting");
	side.plugin = "collecting";
	side.key = side.seq = 81;
	side.path = run_stage(&s.run, TEST_PLUGINS_DIR, "collecting", 81);
	expect_lack(&s, &side, "not a router");
	side = says(&s, "say=reversed\n");
	s.orders->router = side;
	scene_publish(&s);
	cr_expect_eq(atomic_load(&slot_of(&s)->lacks), 0);
	expect_call(&s, "ms3 ms2 ms1", CR_ROUTER_DECIDED, CR_REASON_NONE);
	scene_close(&s);
}

Test(route_guests, a_coming_router_is_loaded_ahead_and_the_answer_is_given_under_its_token)
{
	struct counters_slot *slot;
	struct scene s;

	scene_open(&s, 3);
	s.orders->router = ranked(&s, router_order);
	scene_attach(&s);
	scene_publish(&s);
	slot = slot_of(&s);
	cr_expect_eq(atomic_load(&slot->prepared), 0);
	s.plan->coming = says(&s, "say=reversed\n");
	s.plan->coming.flags |= IMAGE_IS_COMING;
	s.plan->prepare = 11;
	scene_publish(&s);
	cr_expect_eq(atomic_load(&slot->prepared), 11);
	cr_expect_eq(atomic_load(&slot->prepared_result), 0);
	cr_expect_gt(count_mappings("says.1.so"), 0);
	expect_call(&s, "ms3 ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE); /* not in use yet */
	s.plan->coming.path = "/nowhere/says.12.so";
	s.plan->coming.key = s.plan->coming.seq = 12;
	s.plan->prepare = 12;
	scene_publish(&s);
	cr_expect_eq(atomic_load(&slot->prepared), 12);
	cr_expect_eq(atomic_load(&slot->prepared_result), -ENOENT);
	cr_expect(strstr(slot->error, "cannot be read") != NULL, "%s", slot->error);
	cr_expect_eq(count_mappings("says.1.so"), 0); /* nobody wants it any more */
	s.plan->prepare = 0;
	scene_publish(&s);
	cr_expect_eq(atomic_load(&slot->prepared), 12);
	scene_close(&s);
}

Test(route_guests, a_quarantined_file_is_not_asked_whoever_put_it_on_the_list)
{
	struct scene s;

	scene_open(&s, 3);
	s.orders->router = says(&s, "say=refuse\n");
	s.orders->preset = probe(&s, "");
	scene_attach(&s);
	scene_publish(&s);
	expect_call(&s, "", CR_REFUSED, CR_REASON_ROUTER_REFUSED);
	counters_quarantine(s.run.counters, 1);
	/* nothing was published, and it is noticed */
	cr_expect_eq(cr_refresh(s.cr), 1);
	expect_call(&s, "ms1 ms2 ms3", CR_DEFAULT_DECIDED, CR_REASON_QUARANTINED);
	cr_expect_eq(count_mappings("says.1.so"), 0);
	cr_expect_eq(cr_refresh(s.cr), 0);
	scene_close(&s);
}

/*** What route() sees ***/

static void plan_metrics(struct scene *s)
{
	static const char *const metrics[] = { "busy_ratio", "free_bytes" };

	s->plan->n_metrics = 2;
	for (uint32_t k = 0; k < 2; k++)
		s->plan->metric[k] = metrics[k];
	for (uint32_t i = 0; i < 4; i++) {
		s->plan->value[0][i] = 0.25 * i;
		s->plan->taken_ns[0][i] = NOW_NS - 5;
		s->plan->value[1][i] = 1000 + i;
	}
	/* as old as allowed, older, never measured, from a time to come */
	s->plan->taken_ns[1][0] = NOW_NS - 10 * INT64_C(1000000000);
	s->plan->taken_ns[1][1] = NOW_NS - 10 * INT64_C(1000000000) - 1;
	s->plan->taken_ns[1][2] = 0;
	s->plan->taken_ns[1][3] = NOW_NS + INT64_C(1000000001);
}

static void look(struct scene *s, struct probe_look *seen)
{
	*seen = (struct probe_look){ .n = 0 };
	s->call.method = (struct cr_str){ "look", 4 };
	s->call.key = (struct cr_str){ (const char *)seen, sizeof *seen };
	cr_assert_gt(cr_route(s->thread, s->service, &s->call, &s->ticket), 0);
}

Test(route_guests, a_view_has_all_rows_and_fresh_metrics_and_names_the_usable_rows)
{
	static const uint16_t usable[] = { 3, 0, 2 };
	struct probe_look seen;
	struct scene s;

	scene_open(&s, 4);
	s.plan->hosts = 5;
	plan_metrics(&s);
	s.plan->server[1].flags = IMAGE_DRAINED;
	s.plan->server[2].weight = 7;
	s.orders->router = probe(&s, "");
	s.orders->router.order = usable;
	s.orders->router.n_columns = 1; /* of two: rank() is older than route() */
	scene_attach(&s);
	scene_publish(&s);
	look(&s, &seen);
	cr_expect_eq(seen.generation, 1);
	cr_expect_eq(seen.hosts, 5);
	cr_expect_eq(seen.taken_ns, NOW_NS);
	cr_expect_eq(seen.n, 4);
	cr_expect_eq(seen.n_order, 3);
	cr_expect_eq(seen.order[0], 3);
	cr_expect_str_eq(seen.name[1], "ms2");
	cr_expect_eq(seen.id[3], s.ticket.server[0]->id);
	cr_expect_eq(seen.weight[2], 7);
	cr_expect_eq(seen.metric[0][0], 1000); /* its first need: free_bytes */
	for (int i = 1; i < 4; i++)
		cr_expect(isnan(seen.metric[0][i]), "row %d", i);
	cr_expect_eq(seen.metric_taken_ns[0][1], NOW_NS - 10 * INT64_C(1000000000) - 1);
	cr_expect_eq(seen.metric[1][3], 0.75);
	cr_expect(isnan(seen.metric[2][0])); /* nobody has it */
	cr_expect_eq(seen.column[0][2], 2);
	cr_expect(isnan(seen.column[1][2]));
	scene_close(&s);
}

Test(route_guests, a_view_shows_live_figures_of_all_calls_and_words_that_last)
{
	struct cr_ticket other;
	struct probe_look seen;
	struct scene s;

	scene_open(&s, 2);
	s.orders->router = probe(&s, "");
	s.orders->router.shared_words = 1;
	s.orders->router.bank = 3;
	scene_attach(&s);
	scene_publish(&s);
	s.call.cost_bytes = 1000;
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &other), 2);
	cr_expect_str_eq(cr_next(s.thread, &other, CR_FAILED)->name, "ms2");
	look(&s, &seen);
	cr_expect_eq(seen.inflight[0], 0);
	cr_expect_eq(seen.inflight[1], 1);
	cr_expect_eq(seen.inflight_bytes[1], 1000);
	cr_expect_float_eq(seen.failures[0], 0.1, 1e-9);
	cr_expect_eq(seen.word, 0);
	cr_end(s.thread, &s.ticket, CR_ABANDONED, -1);
	cr_end(s.thread, &other, CR_ABANDONED, -1);
	scene_publish(&s); /* another view, the same words */
	look(&s, &seen);
	cr_expect_eq(seen.word, 1);
	cr_end(s.thread, &s.ticket, CR_ABANDONED, -1);
	cr_expect_eq(run_service(&s.run, "orders")->shared[3][0], 2);
	scene_close(&s);
}

Test(route_guests, a_router_has_words_and_figures_also_without_a_counters_file)
{
	struct probe_look seen;
	struct scene s;

	scene_open(&s, 2);
	s.orders->router = probe(&s, "");
	s.orders->router.shared_words = 1;
	run_publish(&s.run, s.plan);
	cr_assert_eq(unlink(run_file(&s.run, COUNTERS_FILE)), 0);
	scene_attach(&s);
	look(&s, &seen);
	cr_expect_eq(seen.word, 0);
	cr_expect_eq(seen.inflight[0], 0);
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	look(&s, &seen);
	cr_expect_eq(seen.word, 1);
	scene_close(&s);
}
