/* test_health_look.c - what a thread keeps of a look holds only for what it was made for. */
#include "attachment.h"
#include "health_scene.h"
#include "slow_call.h"

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
	for (int i = 0; i < 50; i++) {
		/* twice: then the addresses return that the last look was made for */
		s.orders->first = 1 - (uint32_t)i % 2;
		scene_publish(&s);
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
	s.orders->router = says(&s, "say=reversed\n");
	scene_publish(&s);
	at(&s, 3);
	cr_expect_str_eq(list_now(&s), "ms3 ms2 ms1");
	at(&s, 1);
	cr_expect_str_eq(list_now(&s), "ms3 ms2");
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
	expect_call(&s, "ms1 ms2 ms3", CR_ROUTER_DECIDED, CR_REASON_NONE);
	cr_expect_eq(atomic_load(&world->spot[0].calm),
		     atomic_load(counters_trouble(s.run.counters)));
	for (int i = 0; i < 3; i++) {
		atomic_store(&world->spot[0].calm, 0);
		expect_call(&s, "ms1 ms2 ms3", CR_ROUTER_DECIDED, CR_REASON_NONE);
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

/*** A call that others overtake between its look and its contact ***/

static const char *end_first(struct slow_call *slow)
{
	slow_call_end(slow);
	return slow->first;
}

/* ms1 and ms2 are due; ms3 is down. */
static void scene_of_overtaking(struct scene *s)
{
	scene_of_health(s, 3, usual_health);
	calls_at(s, "ms1", 10, CR_FAILED);
	calls_at(s, "ms2", 10, CR_FAILED);
	s->orders->router = probe(s, "");
	scene_publish(s);
	at(s, 200);
	health_check_failed(s->run.counters, run_line(&s->run, "ms3"), NOW_NS + 900 * S);
	cr_expect_str_eq(list_now(s), "ms1 ms2");
}

Test(look, who_is_overtaken_at_one_trial_gets_the_next)
{
	struct slow_call slow;
	struct cr_ticket trial;
	struct scene s;

	scene_of_overtaking(&s);
	slow_call_begin(&slow, &s);
	cr_assert(ticket_at(&s, "ms1", &trial));
	cr_expect_str_eq(end_first(&slow), "ms2");
	cr_end(s.thread, &trial, CR_ABANDONED, -1);
	scene_close(&s);
}

Test(look, who_is_overtaken_at_every_trial_of_his_list_gets_a_new_list)
{
	struct slow_call slow;
	struct cr_ticket trial[2];
	struct scene s;

	scene_of_overtaking(&s);
	slow_call_begin(&slow, &s);
	cr_assert(ticket_at(&s, "ms1", &trial[0]));
	cr_assert(ticket_at(&s, "ms2", &trial[1]));
	health_check_passed(s.run.counters, run_line(&s.run, "ms3"), s.call.now_ns);
	cr_expect_str_eq(end_first(&slow), "ms3");
	for (int i = 0; i < 2; i++)
		cr_end(s.thread, &trial[i], CR_ABANDONED, -1);
	scene_close(&s);
}

Test(look, who_is_overtaken_everywhere_and_has_nobody_else_is_served_all_the_same)
{
	struct slow_call slow;
	struct cr_ticket trial[2];
	struct scene s;

	scene_of_overtaking(&s);
	slow_call_begin(&slow, &s);
	cr_assert(ticket_at(&s, "ms1", &trial[0]));
	cr_assert(ticket_at(&s, "ms2", &trial[1]));
	cr_expect_str_eq(end_first(&slow), "ms1");
	cr_end(s.thread, &trial[0], CR_OK, -1); /* whose trial it still is */
	cr_expect_eq(state_of(&s, "ms1"), CR_UP);
	cr_end(s.thread, &trial[1], CR_ABANDONED, -1);
	scene_close(&s);
}

Test(look, who_is_overtaken_still_knows_who_of_the_others_was_let_in)
{
	struct slow_call slow;
	struct cr_ticket trial;
	struct scene s;

	scene_of_health(&s, 8, usual_health);
	calls_at(&s, "ms3", 10, CR_FAILED);
	at(&s, 60);
	for (int i = 4; i < 8; i++) /* five of eight: ms3 is let in */
		calls_at(&s, s.plan->server[i].name, 10, CR_FAILED);
	calls_at(&s, "ms1", 1, CR_REFUSED_CONNECTION);
	s.orders->router = probe(&s, "");
	scene_publish(&s);
	at(&s, 63);
	cr_expect_str_eq(list_now(&s), "ms1 ms2 ms3 ms4");
	slow_call_begin(&slow, &s);
	cr_assert(ticket_at(&s, "ms1", &trial));
	cr_expect_str_eq(end_first(&slow), "ms2");
	cr_expect_str_eq(slow.second, "ms3");
	cr_end(s.thread, &trial, CR_ABANDONED, -1);
	scene_close(&s);
}

Test(look, a_process_that_died_before_it_raised_trouble_is_made_good_by_the_next_failure)
{
	struct scene s;

	scene_of_health(&s, 3, usual_health);
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1"); /* calm */
	atomic_store(&run_line(&s.run, "ms1")->shut, health_word(HEALTH_EJECTED, NOW_NS + 100 * S));
	cr_expect_str_eq(call_now(&s, CR_OK), "ms1");
	cr_expect_str_eq(call_now(&s, CR_FAILED), "ms1");
	cr_expect_str_eq(call_now(&s, CR_FAILED), "ms2");
	scene_close(&s);
}
