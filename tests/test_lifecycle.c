/* test_lifecycle.c - worlds and routers come and go: everything is let go of exactly when nobody
 * uses it any more. */
#include <fcntl.h>
#include <unistd.h>

#include "plugins/probe.h"
#include "slow_call.h"

TestSuite(lifecycle, .timeout = 100);

/** A scene whose probes report to a pipe when they are opened and closed. */
struct reports {
	int from, to;
	unsigned opened, closed;
	char options[32];
};

static void reports_open(struct reports *r)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	*r = (struct reports){ .from = fds[0], .to = fds[1] };
	(void)snprintf(r->options, sizeof r->options, "report_to=%d\n", r->to);
}

static void reports_close(const struct reports *r)
{
	close(r->from);
	close(r->to);
}

static void expect_reports(struct reports *r, unsigned opened, unsigned closed)
{
	char letter;

	while (read(r->from, &letter, 1) == 1) {
		r->opened += letter == 'o';
		r->closed += letter == 'c';
	}
	cr_expect_eq(r->opened, opened, "%u opened, not %u", r->opened, opened);
	cr_expect_eq(r->closed, closed, "%u closed, not %u", r->closed, closed);
}

/* Another version of the probe: another file, another instance. */
static void scene_swap(struct scene *s, const struct reports *r, uint64_t seq)
{
	(void)snprintf(s->probe, sizeof s->probe, "%s",
		       run_stage(&s->run, TEST_PLUGINS_DIR, "probe", seq));
	s->orders->router = probe(s, r->options);
	s->orders->router.seq = seq;
	scene_publish(s);
}

/*** Loading and unloading ***/

Test(lifecycle, a_replaced_router_is_closed_and_unloaded_with_the_last_world_that_used_it)
{
	unsigned mappings = 0;
	struct reports r;
	struct scene s;

	reports_open(&r);
	scene_open(&s, 2);
	scene_attach(&s);
	for (unsigned i = 1; i <= 200; i++) {
		char name[32];

		scene_swap(&s, &r, 1000 + i);
		expect_call(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
		expect_reports(&r, i, i - 1);
		(void)snprintf(name, sizeof name, "probe.%u.so", 1000 + i);
		cr_expect_gt(count_mappings(name), 0);
		(void)snprintf(name, sizeof name, "probe.%u.so", 1000 + i - 1);
		cr_expect_eq(count_mappings(name), 0);
		cr_assert_eq(unlink(s.probe), 0);
		if (i == 10)
			mappings = count_mappings("");
	}
	cr_expect_leq(count_mappings(""), mappings + 2, "%u mappings, %u before",
		      count_mappings(""), mappings);
	scene_close(&s);
	expect_reports(&r, 200, 200);
	cr_expect_eq(count_mappings("probe."), 0);
	reports_close(&r);
}

Test(lifecycle, an_instance_that_is_published_again_is_not_opened_again)
{
	struct reports r;
	struct scene s;

	reports_open(&r);
	scene_open(&s, 2);
	scene_attach(&s);
	scene_swap(&s, &r, 2);
	for (int i = 0; i < 20; i++)
		scene_publish(&s);
	expect_reports(&r, 1, 0);
	s.orders->router.key++; /* other options, say: another instance of the same file */
	scene_publish(&s);
	expect_reports(&r, 2, 1);
	/* two services, two instances, one file; and as a default */
	s.plan->n_services = 2;
	s.plan->service[1] = *s.orders;
	(void)snprintf(s.plan->service[1].name, sizeof s.plan->service[1].name, "stock");
	s.plan->service[1].router.key = 5000;
	s.plan->service[1].preset = s.plan->service[1].router;
	s.plan->service[1].preset.key = 5001;
	scene_publish(&s);
	expect_reports(&r, 4, 1);
	s.plan->n_services = 1;
	scene_publish(&s);
	expect_reports(&r, 4, 3);
	cr_expect_gt(count_mappings("probe.2.so"), 0);
	s.plan->n_services = 0;
	scene_publish(&s);
	expect_reports(&r, 4, 4);
	cr_expect_eq(count_mappings("probe.2.so"), 0);
	scene_close(&s);
	reports_close(&r);
}

static void end_listed(struct slow_call *slow)
{
	slow_call_end(slow);
	cr_expect_eq(slow->listed, 2);
}

static struct counters_slot *own_slot(const struct scene *s)
{
	uint32_t i = 0;

	while (atomic_load(&counters_slot(s->run.counters, i)->state) == 0)
		i++;
	return counters_slot(s->run.counters, i);
}

Test(lifecycle, a_world_lives_while_a_thread_is_in_its_router_and_not_longer)
{
	struct slow_call first, second;
	struct reports r;
	struct scene s;

	reports_open(&r);
	scene_open(&s, 2);
	scene_attach(&s);
	scene_swap(&s, &r, 11);
	slow_call_begin(&first, &s);
	scene_swap(&s, &r, 12);
	slow_call_begin(&second, &s);
	scene_swap(&s, &r, 13);
	for (int i = 0; i < 50; i++)
		scene_publish(&s); /* the worlds between are freed, those two are not */
	expect_reports(&r, 3, 0);
	cr_expect_eq(atomic_load(&own_slot(&s)->generation), 53);
	cr_expect_eq(atomic_load(&own_slot(&s)->oldest), 1);
	expect_call(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	end_listed(&first);
	cr_expect_eq(cr_refresh(s.cr), 0);
	expect_reports(&r, 3, 1);
	cr_expect_eq(count_mappings("probe.11.so"), 0);
	cr_expect_gt(count_mappings("probe.12.so"), 0);
	cr_expect_eq(atomic_load(&own_slot(&s)->oldest), 2);
	end_listed(&second);
	cr_expect_eq(cr_refresh(s.cr), 0);
	expect_reports(&r, 3, 2);
	cr_expect_eq(atomic_load(&own_slot(&s)->oldest), 53);
	scene_close(&s);
	expect_reports(&r, 3, 3);
	reports_close(&r);
}

Test(lifecycle, detaching_lets_go_of_worlds_that_were_replaced_too)
{
	struct slow_call slow;
	struct reports r;
	struct scene s;

	reports_open(&r);
	scene_open(&s, 2);
	scene_attach(&s);
	scene_swap(&s, &r, 11);
	slow_call_begin(&slow, &s);
	scene_swap(&s, &r, 12);
	end_listed(&slow);
	expect_reports(&r, 2, 0);
	scene_detach(&s);
	expect_reports(&r, 2, 2);
	cr_expect_eq(count_mappings("probe."), 0);
	cr_expect_eq(counters_slots_used(s.run.counters), 0);
	scene_close(&s);
	reports_close(&r);
}

Test(lifecycle, detaching_gives_back_what_is_in_progress)
{
	struct scene s;

	scene_open(&s, 2);
	s.orders->router = says(&s, "say=all\n");
	run_publish(&s.run, s.plan);
	for (int i = 0; i < 20; i++) {
		scene_attach(&s);
		s.call.cost_bytes = 10;
		cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 2);
		expect_held(&s, "ms1", 1, 10);
		scene_detach(&s);
		expect_held(&s, "ms1", 0, 0);
	}
	scene_close(&s);
}

Test(lifecycle, two_attachments_of_one_process_are_two_data_planes)
{
	struct scene s;
	struct cr *second;
	struct cr_thread *thread;
	struct cr_ticket ticket;

	scene_open(&s, 2);
	s.orders->router = says(&s, "say=all\n");
	run_publish(&s.run, s.plan);
	scene_attach(&s);
	second = run_attach_with(&s.run, "second", false);
	thread = cr_thread_new(second);
	cr_expect_eq(cr_route(thread, cr_service(second, "orders"), &s.call, &ticket), 2);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 2);
	expect_held(&s, "ms1", 2, 0);
	cr_detach(second);
	expect_held(&s, "ms1", 1, 0);
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	expect_held(&s, "ms1", 0, 0);
	scene_close(&s);
}

Test(lifecycle, the_library_s_thread_follows_what_is_published)
{
	struct reports r;
	struct scene s;

	reports_open(&r);
	scene_open(&s, 2);
	s.cr = run_attach_with(&s.run, "test", true);
	s.thread = cr_thread_new(s.cr);
	s.service = cr_service(s.cr, "orders");
	s.orders->router = probe(&s, r.options);
	run_publish(&s.run, s.plan);
	do
		cr_route_dry(s.thread, s.service, &s.call, &s.ticket);
	while (s.ticket.generation == 0);
	expect_reports(&r, 1, 0);
	cr_expect_str_eq(list_of(&s.ticket), "ms1 ms2");
	scene_close(&s);
	expect_reports(&r, 1, 1);
	reports_close(&r);
}
