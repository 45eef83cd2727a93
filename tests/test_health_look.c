/* test_health_look.c - what a thread keeps of a look holds only for what it was made for. */
#include "attachment.h"
#include "health_scene.h"

TestSuite(look, .timeout = 100);

static const char *list_of_service(struct scene *s, const char *name)
{
	struct cr_ticket ticket;

	cr_route_dry(s->thread, cr_service(s->cr, name), &s->call, &ticket);
	return list_of(&ticket);
}

Test(look, of_one_service_says_nothing_about_another)
{
	struct scene s;

	scene_open(&s, 6);
	s.orders->health = usual_health;
	s.orders->router = says(&s, "say=all\n");
	s.plan->service[1] = *s.orders;
	memcpy(s.plan->service[1].name, "shop", 5);
	s.plan->service[1].router = says(&s, "say=all\n");
	s.orders->n_rows = s.plan->service[1].n_rows = s.plan->service[1].first = 3;
	s.plan->n_services = 2;
	scene_attach(&s);
	scene_publish(&s);
	health_check_failed(s.run.counters, run_line(&s.run, "ms1"), NOW_NS + 9 * S);
	health_check_failed(s.run.counters, run_line(&s.run, "ms5"), NOW_NS + 9 * S);
	for (int i = 0; i < 3; i++) {
		cr_expect_str_eq(list_of_service(&s, "orders"), "ms2 ms3");
		cr_expect_str_eq(list_of_service(&s, "shop"), "ms4 ms6");
	}
	scene_close(&s);
}

Test(look, of_one_published_state_says_nothing_about_the_next)
{
	struct scene s;

	scene_of_health(&s, 4, usual_health);
	s.orders->n_rows = 3;
	health_check_failed(s.run.counters, run_line(&s.run, "ms2"), NOW_NS + 9 * S);
	for (int i = 0; i < 50; i++) { /* memory is used again: the same addresses return */
		s.orders->first = (uint32_t)i % 2;
		scene_publish(&s);
		cr_expect_str_eq(list_now(&s), i % 2 == 0 ? "ms1 ms3" : "ms3 ms4", "%d", i);
		cr_expect_str_eq(list_now(&s), i % 2 == 0 ? "ms1 ms3" : "ms3 ms4", "%d", i);
	}
	scene_close(&s);
}

Test(look, at_a_later_time_says_nothing_about_an_earlier_one)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	calls_now(&s, 1, CR_REFUSED_CONNECTION);
	at(&s, 3);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	at(&s, 1);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	scene_close(&s);
}

/* Another thread may keep an older calm number, after this one found all well. */
Test(look, that_found_all_well_is_taken_again_if_a_slower_thread_spoils_what_it_kept)
{
	struct world *world;
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	calls_now(&s, 1, CR_REFUSED_CONNECTION);
	at(&s, 3);
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	world = atomic_load(&s.cr->live);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	cr_expect_eq(atomic_load(&world->spot[0].calm),
		     atomic_load(counters_trouble(s.run.counters)));
	for (int i = 0; i < 3; i++) {
		atomic_store(&world->spot[0].calm, 0);
		cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	}
	cr_expect_eq(atomic_load(&world->spot[0].calm),
		     atomic_load(counters_trouble(s.run.counters)));
	scene_close(&s);
}

/* Neither trouble nor time moves: the rows are not looked at again. */
Test(look, is_kept_while_trouble_lasts)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	health_check_failed(s.run.counters, run_line(&s.run, "ms1"), NOW_NS + 9 * S);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	atomic_store(&run_line(&s.run, "ms1")->down_until_ns, 0); /* and nobody says so */
	at(&s, 8.999);
	cr_expect_str_eq(list_now(&s), "ms2 ms3");
	at(&s, 9);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3");
	scene_close(&s);
}
