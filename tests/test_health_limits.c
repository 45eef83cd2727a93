/* test_health_limits.c - how many servers may be kept out, and what is never contacted at all. */
#include "health_scene.h"

TestSuite(limits, .timeout = 100);
TestSuite(filter, .timeout = 100);
TestSuite(services, .timeout = 100);

/* ms1 .. are put out 40 s one after the other: ms1 is out longest. It is 1 s after the last. */
static void eject_all(struct scene *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		at(s, i * 40);
		calls_at(s, s->plan->server[i].name, 10, CR_FAILED);
		cr_expect_eq(state_of(s, s->plan->server[i].name), CR_EJECTED);
	}
	at(s, (n - 1) * 40 + 1);
}

static void refuse(struct scene *s, const char *server)
{
	calls_at(s, server, 1, CR_REFUSED_CONNECTION);
	cr_expect_eq(state_of(s, server), CR_ASIDE);
}

/*** Never more than half, never the last ***/

Test(limits, at_most_half_of_the_servers_stay_ejected_and_those_out_longest_come_back)
{
	static const char *const left[] = { "ms1", "ms1", "ms1 ms2", "ms1 ms2", "ms1 ms2 ms3" };

	for (uint32_t n = 1; n <= 5; n++) {
		struct scene s;

		scene_of_health(&s, n, usual_health);
		eject_all(&s, n);
		cr_expect_str_eq(list_now(&s), left[n - 1], "%u", n);
		for (uint32_t i = 0; i < n; i++)
			cr_expect_eq(state_of(&s, s.plan->server[i].name), CR_EJECTED);
		scene_close(&s);
	}
}

Test(limits, of_sixteen_servers_all_out_the_same_eight_are_let_in_by_every_process)
{
	struct cr_ticket ticket;
	struct scene s;
	struct cr *other;
	struct cr_thread *thread;

	scene_of_health(&s, 16, usual_health);
	for (int i = 15; i >= 0; i--) /* at the same moment: the draw decides */
		calls_at(&s, s.plan->server[i].name, 10, CR_FAILED);
	cr_route_dry(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_eq(s.ticket.n, 8);
	other = run_attach(&s.run);
	thread = cr_thread_new(other);
	cr_expect_eq(cr_refresh(other), 0); /* attaching took it */
	cr_route_dry(thread, cr_service(other, "orders"), &s.call, &ticket);
	cr_expect_eq(ticket.n, 8);
	for (uint32_t i = 0; i < 8; i++)
		cr_expect_str_eq(ticket.server[i]->name, s.ticket.server[i]->name);
	cr_thread_free(thread);
	cr_detach(other);
	scene_close(&s);
}

Test(limits, the_only_server_is_used_whatever_it_does)
{
	struct scene s;

	scene_of_health(&s, 1, usual_health);
	calls_now(&s, 10, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms1");
	scene_close(&s);
	scene_of_health(&s, 1, usual_health);
	calls_now(&s, 1, CR_REFUSED_CONNECTION);
	cr_expect_eq(state_of(&s, "ms1"), CR_ASIDE);
	cr_expect_str_eq(list_now(&s), "ms1");
	health_check_failed(s.run.counters, run_line(&s.run, "ms1"), NOW_NS + 9 * S);
	cr_expect_eq(state_of(&s, "ms1"), CR_DOWN);
	cr_expect_str_eq(list_now(&s), "ms1");
	scene_close(&s);
}

Test(limits, with_all_servers_aside_all_are_tried)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	refuse(&s, "ms1");
	refuse(&s, "ms2");
	cr_expect_str_eq(list_now(&s), "ms3");
	refuse(&s, "ms3");
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	scene_close(&s);
}

Test(limits, a_server_that_refuses_gets_no_calls_because_others_are_ejected)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	refuse(&s, "ms1");
	calls_at(&s, "ms2", 10, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms3");
	calls_at(&s, "ms3", 10, CR_FAILED);
	cr_route_dry(s.thread, s.service, &s.call, &s.ticket); /* one of the two is let in */
	cr_expect_eq(s.ticket.n, 1);
	cr_expect_neq(strcmp(s.ticket.server[0]->name, "ms1"), 0);
	scene_close(&s);
}

Test(limits, servers_aside_or_down_do_not_count_into_the_half)
{
	struct scene s;

	scene_of_health(&s, 5, usual_health);
	calls_at(&s, "ms1", 10, CR_FAILED);
	calls_at(&s, "ms2", 10, CR_FAILED);
	refuse(&s, "ms3");
	health_check_failed(s.run.counters, run_line(&s.run, "ms4"), NOW_NS + 9 * S);
	cr_expect_str_eq(list_now(&s), "ms5");
	scene_close(&s);
}

Test(limits, with_one_aside_and_the_other_out_both_are_tried)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	calls_at(&s, "ms1", 10, CR_FAILED);
	refuse(&s, "ms2");
	cr_expect_str_eq(list_now(&s), "ms1 ms2");
	scene_close(&s);
}

Test(limits, with_all_servers_down_all_are_tried)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	health_check_failed(s.run.counters, run_line(&s.run, "ms1"), NOW_NS + 9 * S);
	cr_expect_str_eq(list_now(&s), "ms2");
	health_check_failed(s.run.counters, run_line(&s.run, "ms2"), NOW_NS + 9 * S);
	cr_expect_str_eq(list_now(&s), "ms1 ms2");
	scene_close(&s);
}

Test(limits, a_success_of_a_server_that_was_let_in_opens_it)
{
	struct scene s;

	scene_of_health(&s, 2, usual_health);
	eject_all(&s, 2);
	cr_expect_str_eq(call_now(&s, CR_FAILED), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_expect_str_eq(list_now(&s), "ms1");
	scene_close(&s);
}

Test(limits, servers_that_are_let_in_keep_their_places_among_the_others)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	eject_all(&s, 2);
	cr_expect_str_eq(list_now(&s), "ms1 ms3");
	cr_expect_str_eq(call_now(&s, CR_ABANDONED), "ms1");
	scene_close(&s);
}

Test(limits, a_server_that_was_let_in_and_refuses_is_put_aside)
{
	struct scene s;

	scene_of_health(&s, 4, usual_health);
	eject_all(&s, 4);
	cr_expect_str_eq(call_now(&s, CR_REFUSED_CONNECTION), "ms1");
	cr_expect_eq(state_of(&s, "ms1"), CR_ASIDE);
	cr_expect_str_eq(list_now(&s), "ms2");
	scene_close(&s);
}

/*** What is never contacted ***/

Test(limits, weight_0_and_drained_stay_away_even_when_all_others_are_shut)
{
	struct scene s;

	scene_of_health(&s, 4, usual_health);
	s.plan->server[2].weight = 0;
	s.plan->server[3].flags = IMAGE_DRAINED;
	scene_publish(&s);
	calls_at(&s, "ms1", 10, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms2");
	refuse(&s, "ms2");
	cr_expect_str_eq(list_now(&s), "ms1 ms2");
	at(&s, 40);
	calls_at(&s, "ms2", 1, CR_OK);
	calls_at(&s, "ms2", 10, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms1"); /* half of two stays out, not of four */
	scene_close(&s);
}

Test(limits, a_router_cannot_name_a_drained_server_even_when_all_others_are_shut)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	s.plan->server[2].flags = IMAGE_DRAINED;
	scene_publish(&s);
	refuse(&s, "ms1");
	refuse(&s, "ms2");
	s.orders->router = says(&s, "say=unusable\n");
	scene_publish(&s);
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_eq(s.ticket.reason, CR_REASON_UNKNOWN_SERVER);
	cr_expect_eq(s.ticket.n, 2);
	cr_end(s.thread, &s.ticket, CR_ABANDONED, -1);
	scene_close(&s);
}

/*** Everybody's order is filtered before it is asked ***/

Test(filter, the_next_server_of_an_ejected_one_gets_no_double_share)
{
	unsigned count[4] = { 0 };
	struct scene s;

	scene_of_health(&s, 4, usual_health);
	calls_at(&s, "ms2", 10, CR_FAILED);
	s.orders->router =
		plan_route("round_robin", run_stage(&s.run, PLUGINS_DIR, "round_robin", 50), 50);
	s.orders->router.shared_words = 1;
	scene_publish(&s);
	for (int i = 0; i < 3000; i++)
		count[call_now(&s, CR_OK)[2] - '1']++;
	cr_expect_eq(count[1], 0);
	cr_expect_eq(count[0], 1000);
	cr_expect_eq(count[2], 1000);
	cr_expect_eq(count[3], 1000);
	scene_close(&s);
}

Test(filter, a_router_sees_only_servers_for_this_call_and_cannot_name_others)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	calls_at(&s, "ms1", 10, CR_FAILED);
	s.orders->router = says(&s, "say=two\n");
	scene_publish(&s);
	expect_call(&s, "ms2 ms3", CR_ROUTER_DECIDED, CR_REASON_NONE);
	s.orders->router = says(&s, "say=unusable\n"); /* a row that it was not given */
	scene_publish(&s);
	cr_route(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_eq(s.ticket.reason, CR_REASON_UNKNOWN_SERVER);
	cr_expect_eq(s.ticket.n, 2);
	cr_end(s.thread, &s.ticket, CR_ABANDONED, -1);
	scene_close(&s);
}

Test(filter, a_published_order_and_the_default_are_filtered_too)
{
	static const uint16_t order[] = { 2, 0, 1 };
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	calls_at(&s, "ms1", 10, CR_FAILED);
	s.orders->router = ranked(&s, order);
	s.orders->router.fresh_until_ns = INT64_MAX;
	scene_publish(&s);
	cr_expect_str_eq(list_now(&s), "ms3 ms2");
	s.orders->preset = s.orders->router;
	s.orders->router = says(&s, "say=default\n");
	scene_publish(&s);
	cr_expect_str_eq(list_now(&s), "ms3 ms2");
	s.orders->preset = (struct plan_side){ .plugin = NULL };
	scene_publish(&s);
	for (int i = 0; i < 20; i++) {
		s.call.random = cr_mix64((uint64_t)i);
		cr_route_dry(s.thread, s.service, &s.call, &s.ticket);
		cr_expect_eq(s.ticket.n, 2);
		cr_expect_null(strstr(list_of(&s.ticket), "ms1"));
	}
	scene_close(&s);
}

/*** Services that share servers ***/

static void scene_of_two(struct scene *s, struct image_health other)
{
	scene_of_health(s, 3, usual_health);
	s->plan->service[1] = *s->orders;
	memcpy(s->plan->service[1].name, "shop", 5);
	s->plan->service[1].router = says(s, "say=all\n");
	s->plan->service[1].health = other;
	s->plan->n_services = 2;
	scene_publish(s);
}

static const char *list_of_shop(struct scene *s)
{
	struct cr_ticket ticket;

	cr_route_dry(s->thread, cr_service(s->cr, "shop"), &s->call, &ticket);
	return list_of(&ticket);
}

Test(services, a_server_shut_by_one_service_is_shut_for_the_others)
{
	struct scene s;

	scene_of_two(&s, (struct image_health){ .aside_ns = S, .aside_most_ns = S });
	calls_at(&s, "ms1", 10, CR_FAILED);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	cr_expect_str_eq(list_of_shop(&s), "ms2 ms3");
	scene_close(&s);
}

Test(services, one_without_any_health_of_its_own_neither_obeys_nor_reports)
{
	struct cr_ticket ticket;
	struct scene s;
	uint64_t trouble;

	scene_of_two(&s, (struct image_health){ 0 });
	calls_at(&s, "ms1", 10, CR_FAILED);
	refuse(&s, "ms2");
	cr_expect_str_eq(list_of_shop(&s), "ms1 ms2 ms3");
	trouble = *counters_trouble(s.run.counters);
	for (int i = 0; i < 100; i++) {
		cr_route(s.thread, cr_service(s.cr, "shop"), &s.call, &ticket);
		while (cr_next(s.thread, &ticket, (enum cr_outcome)(i % 5)) != NULL)
			continue;
		cr_end(s.thread, &ticket, CR_OK, 1);
	}
	cr_expect_eq(*counters_trouble(s.run.counters), trouble);
	cr_expect_eq(run_line(&s.run, "ms3")->consecutive, 0);
	cr_expect_eq(state_of(&s, "ms1"), CR_EJECTED);
	cr_expect_eq(state_of(&s, "ms2"), CR_ASIDE);
	cr_expect_eq(state_of(&s, "ms3"), CR_UP);
	scene_close(&s);
}

Test(services, a_server_that_is_down_is_so_for_all)
{
	struct scene s;

	scene_of_two(&s, (struct image_health){ 0 });
	health_check_failed(s.run.counters, run_line(&s.run, "ms2"), NOW_NS + 9 * S);
	cr_expect_str_eq(list_now(&s), "ms1 ms3");
	cr_expect_str_eq(list_of_shop(&s), "ms1 ms3");
	at(&s, 9);
	cr_expect_str_eq(list_of_shop(&s), "ms1 ms2 ms3");
	scene_close(&s);
}

Test(services, a_trial_that_fails_by_another_s_rules_is_shut_for_that_one_s_time)
{
	struct image_health other = usual_health;
	struct cr_ticket ticket;
	struct scene s;

	other.out_for_ns = 10 * S;
	scene_of_two(&s, other);
	calls_at(&s, "ms1", 10, CR_FAILED);
	at(&s, 200);
	cr_route(s.thread, cr_service(s.cr, "shop"), &s.call, &ticket);
	cr_expect_str_eq(ticket.server[0]->name, "ms1");
	cr_end(s.thread, &ticket, CR_FAILED, -1);
	at(&s, 211);
	cr_expect_eq(state_of(&s, "ms1"), CR_TRIAL);
	scene_close(&s);
}
