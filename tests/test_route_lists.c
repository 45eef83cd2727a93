/* test_route_lists.c - what can be in a list: only servers that may be contacted, whatever a router
 * returns. */
#include "plugins/garbage.h"
#include "route_scene.h"

TestSuite(route_lists, .timeout = 100);

/*** Garbage ***/

#define ROUNDS 250
#define CALLS  40
#define ROWS   24

/** What has to become of one answer. */
struct expected {
	enum cr_decided decided;
	enum cr_reason reason;
	uint16_t row[ROWS];
	int n;
};

/* The contract in its plainest words. */
static struct expected judge(const struct plan *plan, const uint16_t *answer, int got,
			     const uint16_t *usable, int n)
{
	struct expected e = { .decided = CR_DEFAULT_DECIDED };

	if (got == CR_REFUSE)
		return (struct expected){ .decided = CR_REFUSED,
					  .reason = CR_REASON_ROUTER_REFUSED };
	e.n = n;
	memcpy(e.row, usable, (size_t)n * sizeof *usable);
	e.reason = CR_REASON_ROUTER_DEFAULT;
	if (got == CR_DEFAULT)
		return e;
	e.reason = CR_REASON_ROUTE_ERROR;
	if (got < 0 || got > n)
		return e;
	for (int i = 0; i < got; i++) {
		e.reason = CR_REASON_UNKNOWN_SERVER;
		if (answer[i] >= plan->n_servers || !image_is_usable(&plan->server[answer[i]]))
			return e;
		e.reason = CR_REASON_REPEATED_SERVER;
		for (int j = 0; j < i; j++)
			if (answer[j] == answer[i])
				return e;
	}
	e.n = got;
	memcpy(e.row, answer, (size_t)got * sizeof *answer);
	e.decided = CR_ROUTER_DECIDED;
	e.reason = CR_REASON_NONE;
	return e;
}

static void route_garbage(struct scene *s, const uint16_t *usable, int n)
{
	uint16_t order[ROWS];
	struct expected e;
	int got;

	memcpy(order, usable, (size_t)n * sizeof *usable);
	got = garbage_answer(s->call.random, ROWS, order, (size_t)n);
	e = judge(s->plan, order, got, usable, n);
	if (e.n > CR_LIST_MAX)
		e.n = CR_LIST_MAX;
	cr_assert_eq(cr_route(s->thread, s->service, &s->call, &s->ticket), e.n);
	cr_assert_eq(s->ticket.decided, e.decided);
	cr_assert_eq(s->ticket.reason, e.reason);
	for (int i = 0; i < e.n; i++)
		cr_assert_str_eq(s->ticket.server[i]->name, s->plan->server[e.row[i]].name);
	cr_end(s->thread, &s->ticket, CR_OK, 1);
}

static int draw_usable(struct plan *plan, uint64_t *state, uint16_t *usable)
{
	int n = 0;

	for (uint16_t i = 0; i < ROWS; i++) {
		const uint32_t kind = cr_below(cr_draw(state), 8);

		plan->server[i].weight = kind == 0 ? 0 : kind;
		plan->server[i].flags = kind < 3 ? kind : 0; /* IMAGE_DRAINED, IMAGE_SKIPPED */
		if (image_is_usable(&plan->server[i]))
			usable[n++] = i;
	}
	return n;
}

Test(route_lists, whatever_a_router_returns_only_usable_servers_are_listed_and_each_once)
{
	uint64_t state = 20; /* fixed: a failure can be repeated */
	struct scene s;

	scene_open(&s, ROWS);
	s.orders->router =
		plan_route("garbage", run_stage(&s.run, TEST_PLUGINS_DIR, "garbage", 7), 7);
	s.orders->preset = says(&s, "say=all\n");
	scene_attach(&s);
	for (int round = 0; round < ROUNDS; round++) {
		uint16_t usable[ROWS];
		const int n = draw_usable(s.plan, &state, usable);

		if (n == 0)
			continue;
		scene_publish(&s);
		for (int i = 0; i < CALLS; i++) {
			s.call.random = cr_draw(&state);
			route_garbage(&s, usable, n);
		}
	}
	/* each reason was met often */
	cr_expect_gt(count_of(&s, CR_ROUTER_DECIDED), 1000);
	cr_expect_gt(reason_count(&s, CR_REASON_ROUTE_ERROR), 500);
	cr_expect_gt(reason_count(&s, CR_REASON_UNKNOWN_SERVER), 500);
	cr_expect_gt(reason_count(&s, CR_REASON_REPEATED_SERVER), 100);
	cr_expect_gt(reason_count(&s, CR_REASON_ROUTER_DEFAULT), 10);
	for (uint32_t i = 0; i < ROWS; i++)
		expect_held(&s, s.plan->server[i].name, 0, 0);
	scene_close(&s);
}

/*** Lengths ***/

Test(route_lists, a_list_holds_the_first_16_of_a_long_order)
{
	uint16_t order[512];
	struct scene s;

	for (uint16_t i = 0; i < 512; i++)
		order[i] = (uint16_t)(511 - i);
	scene_open(&s, 512);
	s.orders->router = ranked(&s, order);
	s.orders->preset = says(&s, "say=all\n");
	scene_attach(&s);
	scene_publish(&s);
	expect_call(&s,
		    "ms512 ms511 ms510 ms509 ms508 ms507 ms506 ms505 ms504 ms503 ms502 ms501 "
		    "ms500 ms499 ms498 ms497",
		    CR_ROUTER_DECIDED, CR_REASON_NONE);
	s.orders->router = says(&s, "say=reversed\n");
	s.orders->router.order = order;
	scene_publish(&s);
	expect_call(&s, "ms1 ms2 ms3 ms4 ms5 ms6 ms7 ms8 ms9 ms10 ms11 ms12 ms13 ms14 ms15 ms16",
		    CR_ROUTER_DECIDED, CR_REASON_NONE);
	s.orders->router = says(&s, "say=repeated\n"); /* in the last of 512 places */
	scene_publish(&s);
	expect_call(&s, "ms1 ms2 ms3 ms4 ms5 ms6 ms7 ms8 ms9 ms10 ms11 ms12 ms13 ms14 ms15 ms16",
		    CR_DEFAULT_DECIDED, CR_REASON_REPEATED_SERVER);
	scene_close(&s);
}

Test(route_lists, one_server_is_a_list_too)
{
	static const char *const answers[] = { "say=all\n",   "say=reversed\n", "say=default\n",
					       "say=error\n", "say=forged\n",   "say=unusable\n",
					       "say=excess\n" };
	struct scene s;

	scene_open(&s, 1);
	scene_attach(&s);
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		s.orders->router = says(&s, answers[i]);
		scene_publish(&s);
		cr_expect_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 1);
		cr_expect_str_eq(cr_first(&s.ticket)->name, "ms1");
		cr_expect_null(cr_next(s.thread, &s.ticket, CR_FAILED));
		cr_end(s.thread, &s.ticket, CR_FAILED, -1);
	}
	expect_held(&s, "ms1", 0, 0);
	scene_close(&s);
}

Test(route_lists, a_server_is_known_by_name_address_host_and_port_and_keeps_its_card)
{
	const struct cr_server *first;
	struct scene s;

	scene_open(&s, 2);
	(void)snprintf(s.plan->server[0].address, sizeof s.plan->server[0].address,
		       "[fe80::1]:7001");
	s.orders->router = says(&s, "say=all\n");
	scene_attach(&s);
	scene_publish(&s);
	expect_call(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	first = s.ticket.server[0];
	cr_expect_str_eq(first->address, "[fe80::1]:7001");
	cr_expect_str_eq(first->host, "fe80::1");
	cr_expect_str_eq(first->port, "7001");
	cr_expect_str_eq(s.ticket.server[1]->host, "10.0.0.1");
	scene_publish(&s);
	expect_call(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(s.ticket.server[0], first);
	(void)snprintf(s.plan->server[0].address, sizeof s.plan->server[0].address, "other:80");
	scene_publish(&s);
	expect_call(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_str_eq(s.ticket.server[0]->host, "other");
	cr_expect_eq(s.ticket.server[0]->id, first->id);
	cr_expect_str_eq(first->host, "fe80::1"); /* a ticket may still point to it */
	scene_close(&s);
}

/*** Calls that are not counted, and names ***/

Test(route_lists, a_dry_call_decides_the_same_and_counts_nothing)
{
	struct scene s;

	scene_open(&s, 2);
	s.orders->router = says(&s, "say=reversed\n");
	scene_attach(&s);
	scene_publish(&s);
	cr_expect_eq(cr_route_dry(s.thread, s.service, &s.call, &s.ticket), 2);
	cr_expect_str_eq(list_of(&s.ticket), "ms2 ms1");
	cr_expect_eq(s.ticket.decided, CR_ROUTER_DECIDED);
	expect_held(&s, "ms2", 0, 0);
	cr_expect_eq(atomic_load(&run_line(&s.run, "ms2")->calls), 0);
	cr_expect_eq(count_of(&s, CR_ROUTER_DECIDED), 0);
	scene_close(&s);
}

/* A shadow must not take turns away from calls; among themselves its calls take turns, too. */
Test(route_lists, a_dry_call_leaves_the_words_of_its_router_alone)
{
	static const char *const lists[] = { "ms1 ms2 ms3", "ms2 ms3 ms1", "ms3 ms1 ms2" };
	struct scene s;
	char path[512];

	scene_open(&s, 3);
	(void)snprintf(path, sizeof path, "%s", run_stage(&s.run, PLUGINS_DIR, "round_robin", 3));
	s.orders->router = plan_route("round_robin", path, 9);
	s.orders->router.shared_words = 1;
	scene_attach(&s);
	scene_publish(&s);
	run_service(&s.run, "orders")->shared[0][0] = 3;
	for (unsigned call = 0; call < 6; call++) {
		expect_call(&s, lists[call % 3], CR_ROUTER_DECIDED, CR_REASON_NONE);
		run_publish(&s.run, s.plan); /* the shadow sees it as it is now */
		cr_refresh(s.cr);
		for (unsigned dry = 1; dry < 8; dry++) {
			cr_route_dry(s.thread, s.service, &s.call, &s.ticket);
			cr_expect_str_eq(list_of(&s.ticket), lists[(call + dry) % 3]);
		}
	}
	cr_expect_eq(run_service(&s.run, "orders")->shared[0][0], 3 + 6);
	scene_close(&s);
}

/* Its answer must be the next call's to show anything, with other routers in between, too. */
Test(route_lists, a_dry_call_of_one_service_does_not_play_with_the_words_of_another)
{
	struct scene s;
	char path[512];

	scene_open(&s, 3);
	(void)snprintf(path, sizeof path, "%s", run_stage(&s.run, PLUGINS_DIR, "round_robin", 3));
	s.orders->router = plan_route("round_robin", path, 9);
	s.orders->router.shared_words = 1;
	s.plan->n_services = 2;
	s.plan->service[1] = *s.orders;
	s.plan->service[1].router.key = 10;
	s.plan->service[1].router.seq = s.orders->router.seq;
	(void)snprintf(s.plan->service[1].name, sizeof s.plan->service[1].name, "stock");
	scene_attach(&s);
	scene_publish(&s);
	run_service(&s.run, "orders")->shared[0][0] = 3;
	run_service(&s.run, "stock")->shared[0][0] = 5;
	cr_route_dry(s.thread, s.service, &s.call, &s.ticket);
	cr_expect_str_eq(list_of(&s.ticket), "ms1 ms2 ms3");
	cr_route_dry(s.thread, cr_service(s.cr, "stock"), &s.call, &s.ticket);
	cr_expect_str_eq(list_of(&s.ticket), "ms3 ms1 ms2");
	cr_expect_eq(run_service(&s.run, "orders")->shared[0][0], 3);
	cr_expect_eq(run_service(&s.run, "stock")->shared[0][0], 5);
	scene_close(&s);
}

/* The pool of one that a gate closed to all calls because its only metric was old. */
Test(route_lists, the_only_server_is_listed_though_all_that_is_known_of_it_is_stale)
{
	struct scene s;

	scene_open(&s, 1);
	scene_attach(&s);
	s.orders->router = ranked(&s, NULL);
	s.orders->router.fresh_until_ns = NOW_NS - 1;
	s.orders->preset = s.orders->router;
	scene_publish(&s);
	expect_call(&s, "ms1", CR_DEFAULT_DECIDED, CR_REASON_STALE);
	scene_close(&s);
}

Test(route_lists, services_have_4096_numbers_and_names_of_63_letters)
{
	char name[80];
	struct scene s;

	scene_open(&s, 1);
	scene_attach(&s);
	for (int i = 1; i < 4096; i++) {
		(void)snprintf(name, sizeof name, "service%d", i);
		cr_assert_eq(cr_service(s.cr, name), i);
	}
	cr_expect_eq(cr_service(s.cr, "one more"), -ENOSPC);
	cr_expect_eq(cr_service(s.cr, "service4095"), 4095);
	memset(name, 'x', sizeof name);
	name[64] = '\0';
	cr_expect_eq(cr_service(s.cr, name), -ENAMETOOLONG);
	s.orders->router = says(&s, "say=all\n");
	(void)snprintf(s.orders->name, sizeof s.orders->name, "service4095");
	s.service = 4095;
	scene_publish(&s);
	expect_call(&s, "ms1", CR_ROUTER_DECIDED, CR_REASON_NONE);
	scene_close(&s);
}

Test(route_lists, now_and_random_come_from_the_library)
{
	struct cr_thread *other;
	struct cr_call a = { .now_ns = 0 }, b = { .now_ns = 0 };
	struct timespec ts;
	struct scene s;

	scene_open(&s, 1);
	scene_attach(&s);
	other = cr_thread_new(s.cr);
	cr_call_now(s.thread, &a);
	cr_call_now(other, &b);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	cr_expect_leq(a.now_ns, b.now_ns);
	cr_expect_lt(ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec - a.now_ns, INT64_C(10000000000));
	cr_expect_neq(a.random, b.random);
	cr_call_now(s.thread, &b);
	cr_expect_neq(a.random, b.random);
	cr_thread_free(other);
	cr_expect_eq(cr_thread_new(s.cr), other); /* records are used again */
	cr_expect_str_eq(cr_version(), CALLROUTER_VERSION);
	scene_close(&s);
}
