/* test_route.c - the contract: what becomes of each answer that a router can give. */
#include "route_scene.h"

static const uint16_t router_order[] = { 3, 0, 1 }, preset_order[] = { 1, 3, 0 };

/* ms3 is drained. The router's order is ms4 ms1 ms2, the default's ms2 ms4 ms1. */
static void scene_of_contract(struct scene *s)
{
	scene_open(s, 4);
	s->plan->server[2].flags = IMAGE_DRAINED;
	s->orders->preset = says(s, "say=all\n");
	s->orders->preset.order = preset_order;
	s->orders->router = says(s, "say=all\n");
	s->orders->router.order = router_order;
	run_publish(&s->run, s->plan);
	scene_attach(s);
}

/* Nothing but this was counted. */
static void expect_counts(const struct scene *s, enum cr_decided decided, enum cr_reason reason,
			  uint64_t n)
{
	for (int i = 0; i < CR_DECIDED_COUNT; i++)
		cr_expect_eq(count_of(s, (enum cr_decided)i), i == (int)decided ? n : 0,
			     "decided[%d] is %llu", i,
			     (unsigned long long)count_of(s, (enum cr_decided)i));
	for (int i = 0; i < CR_REASON_COUNT; i++)
		cr_expect_eq(reason_count(s, (enum cr_reason)i),
			     i == (int)reason && reason != CR_REASON_NONE ? n : 0,
			     "reason[%d] is %llu", i,
			     (unsigned long long)reason_count(s, (enum cr_reason)i));
}

/*** What route() returns ***/

static const struct {
	const char *say, *list;
	enum cr_decided decided;
	enum cr_reason reason;
} answers[] = {
	{ "say=all\n", "ms4 ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE },
	{ "say=reversed\n", "ms2 ms1 ms4", CR_ROUTER_DECIDED, CR_REASON_NONE },
	{ "say=two\n", "ms4 ms1", CR_ROUTER_DECIDED, CR_REASON_NONE },
	{ "say=default\n", "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_ROUTER_DEFAULT },
	{ "say=refuse\n", "", CR_REFUSED, CR_REASON_ROUTER_REFUSED },
	{ "say=error\n", "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_ROUTE_ERROR },
	{ "say=excess\n", "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_ROUTE_ERROR },
	{ "say=forged\n", "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_UNKNOWN_SERVER },
	{ "say=nobody\n", "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_UNKNOWN_SERVER },
	{ "say=unusable\n", "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_UNKNOWN_SERVER },
	{ "say=repeated\n", "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_REPEATED_SERVER },
};

Test(route, every_answer_of_a_router_is_used_or_replaced_by_the_default_with_its_reason)
{
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct scene s;

		scene_of_contract(&s);
		s.orders->router = says(&s, answers[i].say);
		s.orders->router.order = router_order;
		scene_publish(&s);
		expect_call(&s, answers[i].list, answers[i].decided, answers[i].reason);
		expect_call(&s, answers[i].list, answers[i].decided, answers[i].reason);
		expect_counts(&s, answers[i].decided, answers[i].reason, 2);
		scene_close(&s);
	}
}

Test(route, the_default_may_give_the_same_wrong_answers_and_the_call_still_gets_servers)
{
	static const char *const wrong[] = { "say=default\n",  "say=refuse\n",  "say=error\n",
					     "say=excess\n",   "say=forged\n",  "say=nobody\n",
					     "say=unusable\n", "say=repeated\n" };
	struct scene s;

	scene_of_contract(&s);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		unsigned first[4] = { 0 };

		s.orders->router = says(&s, "say=error\n");
		s.orders->preset = says(&s, wrong[i]);
		s.orders->preset.order = preset_order;
		scene_publish(&s);
		for (uint64_t draw = 0; draw < 300; draw++) {
			s.call.random = draw;
			cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
			cr_assert_eq(s.ticket.decided, CR_DEFAULT_DECIDED);
			cr_assert_eq(s.ticket.reason, CR_REASON_ROUTE_ERROR);
			first[s.ticket.server[0]->name[2] - '1']++;
			cr_end(s.thread, &s.ticket, CR_ABANDONED, -1);
		}
		/* any order, but not always the same server first, and never the drained one */
		cr_expect_gt(first[0], 50);
		cr_expect_gt(first[1], 50);
		cr_expect_eq(first[2], 0);
		cr_expect_gt(first[3], 50);
	}
	scene_close(&s);
}

Test(route, a_default_that_is_stale_or_missing_or_has_failed_to_rank_still_gives_servers)
{
	struct scene s;

	scene_of_contract(&s);
	s.orders->router = says(&s, "say=default\n");
	s.orders->preset.fresh_until_ns = NOW_NS - 1;
	scene_publish(&s);
	cr_expect_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	cr_expect_eq(s.ticket.decided, CR_DEFAULT_DECIDED);
	s.orders->preset.fresh_until_ns = INT64_MAX;
	s.orders->preset.reason = CR_REASON_RANK_LATE;
	scene_publish(&s);
	cr_expect_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	s.orders->preset = (struct plan_side){ .plugin = NULL, .order = preset_order };
	scene_publish(&s);
	cr_expect_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	cr_expect_eq(s.ticket.reason, CR_REASON_ROUTER_DEFAULT);
	scene_close(&s);
}

/*** What rank() has said ***/

Test(route, a_ranking_alone_is_used_as_it_was_published)
{
	struct scene s;

	scene_of_contract(&s);
	s.orders->router = ranked(&s, router_order);
	scene_publish(&s);
	expect_call(&s, "ms4 ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	expect_counts(&s, CR_ROUTER_DECIDED, CR_REASON_NONE, 1);
	scene_close(&s);
}

Test(route, a_ranking_that_failed_is_replaced_by_the_default_and_route_is_not_asked)
{
	static const enum cr_reason reasons[] = { CR_REASON_RANK_LATE, CR_REASON_RANK_ERROR,
						  CR_REASON_RANK_BAD_ORDER, CR_REASON_QUARANTINED,
						  CR_REASON_STALE };

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		struct scene s;

		scene_of_contract(&s);
		/* it would refuse, if it were asked */
		s.orders->router = says(&s, "say=refuse\n");
		s.orders->router.flags |= IMAGE_HAS_RANK;
		s.orders->router.reason = reasons[i];
		scene_publish(&s);
		expect_call(&s, "ms2 ms4 ms1", CR_DEFAULT_DECIDED, reasons[i]);
		expect_counts(&s, CR_DEFAULT_DECIDED, reasons[i], 1);
		scene_close(&s);
	}
}

Test(route, rank_may_leave_it_to_the_default_or_refuse_without_route_being_asked)
{
	struct scene s;

	scene_of_contract(&s);
	s.orders->router = says(&s, "say=reversed\n");
	s.orders->router.flags |= IMAGE_HAS_RANK;
	s.orders->router.order = router_order;
	s.orders->router.verdict = CR_DEFAULT;
	scene_publish(&s);
	expect_call(&s, "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_ROUTER_DEFAULT);
	s.orders->router.verdict = CR_REFUSE;
	scene_publish(&s);
	expect_call(&s, "", CR_REFUSED, CR_REASON_ROUTER_REFUSED);
	s.orders->router.verdict = 2;
	scene_publish(&s);
	expect_call(&s, "ms2 ms1 ms4", CR_ROUTER_DECIDED, CR_REASON_NONE);
	scene_close(&s);
}

/*** Needs ***/

Test(route, a_router_whose_metrics_are_out_of_date_is_not_asked_from_that_nanosecond_on)
{
	struct scene s;

	scene_of_contract(&s);
	s.orders->router.fresh_until_ns = NOW_NS + 5;
	scene_publish(&s);
	s.call.now_ns = NOW_NS + 5;
	expect_call(&s, "ms4 ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	s.call.now_ns = NOW_NS + 6;
	expect_call(&s, "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_STALE);
	s.orders->router = ranked(&s, router_order);
	s.orders->router.fresh_until_ns = NOW_NS + 5;
	scene_publish(&s);
	expect_call(&s, "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_STALE);
	cr_expect_eq(reason_count(&s, CR_REASON_STALE), 2);
	scene_close(&s);
}

Test(route, a_router_without_needs_goes_on_where_another_one_is_out_of_date)
{
	struct scene s;

	scene_of_contract(&s);
	s.plan->n_services = 2;
	s.plan->service[1] = *s.orders;
	(void)snprintf(s.plan->service[1].name, sizeof s.plan->service[1].name, "stock");
	s.plan->service[1].router = says(&s, "say=reversed\n");
	s.plan->service[1].router.order = router_order;
	s.plan->service[1].preset = says(&s, "say=all\n");
	s.orders->router.fresh_until_ns = NOW_NS;
	scene_publish(&s);
	s.call.now_ns = NOW_NS + 3600 * INT64_C(1000000000);
	expect_call(&s, "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_STALE);
	s.service = cr_service(s.cr, "stock");
	expect_call(&s, "ms2 ms1 ms4", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(atomic_load(&run_service(&s.run, "stock")->decided[CR_ROUTER_DECIDED]), 1);
	scene_close(&s);
}

/*** Nobody ***/

Test(route, nobody_decides_before_anything_is_published)
{
	struct scene s;

	scene_open(&s, 2);
	scene_attach(&s);
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SNAPSHOT);
	s.orders->router = says(&s, "say=all\n");
	scene_publish(&s);
	expect_call(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	scene_close(&s);
}

Test(route, nobody_decides_about_a_service_that_is_not_published)
{
	struct scene s;

	scene_of_contract(&s);
	s.service = cr_service(s.cr, "nowhere");
	cr_expect_eq(s.service, 1);
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SERVICE);
	s.service = -ENOENT;
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SERVICE);
	s.service = 4095;
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SERVICE);
	s.service = 4096;
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SERVICE);
	expect_counts(&s, CR_NOBODY, CR_REASON_NONE, 0);
	scene_close(&s);
}

Test(route, a_service_keeps_its_number_while_it_comes_and_goes)
{
	struct scene s;

	scene_of_contract(&s);
	(void)snprintf(s.orders->name, sizeof s.orders->name, "stock");
	scene_publish(&s);
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SERVICE);
	cr_expect_eq(cr_service(s.cr, "orders"), s.service);
	(void)snprintf(s.orders->name, sizeof s.orders->name, "orders");
	scene_publish(&s);
	expect_call(&s, "ms4 ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	scene_close(&s);
}

Test(route, nobody_decides_where_no_server_may_be_contacted)
{
	struct scene s;

	scene_of_contract(&s);
	s.plan->server[0].flags = IMAGE_SKIPPED;
	s.plan->server[1].weight = 0;
	s.plan->server[3].flags = IMAGE_DRAINED | IMAGE_SKIPPED;
	s.orders->router = says(&s, "say=refuse\n");
	s.orders->preset = says(&s, "say=all\n");
	scene_publish(&s);
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SERVER);
	expect_counts(&s, CR_NOBODY, CR_REASON_NO_SERVER, 1);
	s.orders->n_rows = 0;
	scene_publish(&s);
	expect_call(&s, "", CR_NOBODY, CR_REASON_NO_SERVER);
	scene_close(&s);
}

Test(route, a_service_without_a_router_is_decided_by_its_default)
{
	struct scene s;

	scene_of_contract(&s);
	s.orders->router = (struct plan_side){ .plugin = NULL };
	scene_publish(&s);
	expect_call(&s, "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_NO_ROUTER);
	expect_counts(&s, CR_DEFAULT_DECIDED, CR_REASON_NO_ROUTER, 1);
	scene_close(&s);
}

Test(route, a_service_whose_router_is_not_loaded_is_decided_by_its_default_for_that_reason)
{
	struct scene s;

	scene_of_contract(&s);
	s.orders->router = (struct plan_side){ .plugin = NULL, .reason = CR_REASON_NOT_LOADED };
	scene_publish(&s);
	expect_call(&s, "ms2 ms4 ms1", CR_DEFAULT_DECIDED, CR_REASON_NOT_LOADED);
	expect_counts(&s, CR_DEFAULT_DECIDED, CR_REASON_NOT_LOADED, 1);
	cr_expect_str_eq(cr_decided_words(s.ticket.decided), "default");
	cr_expect_str_eq(cr_reason_words(s.ticket.reason), "not_loaded");
	scene_close(&s);
}
