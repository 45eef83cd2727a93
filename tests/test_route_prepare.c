/* test_route_prepare.c - what routers prepare for their views: when they are asked, what is shared,
 * and that all of it is released once, before the router is closed. */
#include <fcntl.h>

#include "other_process.h"
#include "slow_call.h"

TestSuite(route_prepare, .timeout = 100);

/** A scene whose router is prepares.c, that writes down what it is asked. */
struct desk {
	struct scene s;
	char path[512], options[64];
	int from, to;
};

static struct plan_side prepares(struct desk *d, const char *how)
{
	struct plan_side side = plan_route("prepares", d->path, ++d->s.last_key);

	(void)snprintf(d->options, sizeof d->options, "how=%s\nreport_to=%d\n", how, d->to);
	side.seq = 3;
	side.options = d->options;
	return side;
}

static void desk_open(struct desk *d, const char *how)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	d->from = fds[0];
	d->to = fds[1];
	scene_open(&d->s, 3);
	(void)snprintf(d->path, sizeof d->path, "%s",
		       run_stage(&d->s.run, TEST_PLUGINS_DIR, "prepares", 3));
	d->s.orders->router = prepares(d, how);
}

/* What it was asked since the last time: o opened, p prepared anew, s shared, r released, c closed.
 */
static void expect_asked(const struct desk *d, const char *want)
{
	char text[256];
	const ssize_t len = read(d->from, text, sizeof text - 1);

	text[len > 0 ? len : 0] = '\0';
	cr_expect_str_eq(text, want);
}

static void desk_close(struct desk *d, const char *want)
{
	scene_close(&d->s);
	expect_asked(d, want);
	close(d->from);
	close(d->to);
}

static void expect_prepared(struct desk *d, bool is_prepared)
{
	expect_call(&d->s, is_prepared ? "ms3 ms2 ms1" : "ms1 ms2 ms3", CR_ROUTER_DECIDED,
		    CR_REASON_NONE);
}

static void publish_weight(struct desk *d, uint32_t weight)
{
	d->s.plan->server[0].weight = weight;
	scene_publish(&d->s);
}

/*** When, and how often ***/

Test(route_prepare, a_new_view_is_prepared_and_an_old_one_released)
{
	struct desk d;

	desk_open(&d, "anew");
	scene_attach(&d.s);
	scene_publish(&d.s);
	expect_asked(&d, "op");
	expect_prepared(&d, true);
	scene_publish(&d.s);
	expect_asked(&d, "pr");
	cr_expect_eq(cr_refresh(d.s.cr), 0);
	expect_asked(&d, ""); /* nothing new */
	expect_prepared(&d, true);
	desk_close(&d, "rc");
}

Test(route_prepare, what_is_handed_on_is_released_with_the_last_view_that_has_it)
{
	struct desk d;

	desk_open(&d, "share");
	scene_attach(&d.s);
	scene_publish(&d.s);
	for (int i = 0; i < 5; i++)
		scene_publish(&d.s);
	expect_asked(&d, "opsssss");
	publish_weight(&d, 2);
	expect_asked(&d, "pr");
	expect_prepared(&d, true);
	publish_weight(&d, 2);
	expect_asked(&d, "s");
	desk_close(&d, "rc");
}

/* Each instance has its own, though the file is one and the servers are the same. */
Test(route_prepare, instances_share_nothing_and_a_replaced_one_releases_all_before_it_is_closed)
{
	struct desk d;

	desk_open(&d, "share");
	d.s.plan->n_services = 2;
	d.s.plan->service[1] = *d.s.orders;
	(void)snprintf(d.s.plan->service[1].name, sizeof d.s.plan->service[1].name, "stock");
	d.s.plan->service[1].router.key = 5000;
	scene_attach(&d.s);
	scene_publish(&d.s);
	expect_asked(&d, "opop");
	scene_publish(&d.s);
	expect_asked(&d, "ss");
	d.s.orders->router = prepares(&d, "share"); /* a swap */
	scene_publish(&d.s);
	expect_asked(&d, "opsrc");
	expect_prepared(&d, true);
	d.s.plan->n_services = 1;
	scene_publish(&d.s);
	expect_asked(&d, "src");
	desk_close(&d, "rc");
}

Test(route_prepare, a_router_that_is_the_default_prepares_too)
{
	struct desk d;

	desk_open(&d, "share");
	d.s.orders->preset = d.s.orders->router;
	d.s.orders->router.plugin = NULL;
	scene_attach(&d.s);
	scene_publish(&d.s);
	expect_asked(&d, "op");
	expect_call(&d.s, "ms3 ms2 ms1", CR_DEFAULT_DECIDED, CR_REASON_NO_ROUTER);
	desk_close(&d, "rc");
}

Test(route_prepare, a_coming_router_prepares_when_it_has_come)
{
	struct desk d;

	desk_open(&d, "share");
	d.s.plan->coming = d.s.orders->router;
	d.s.plan->coming.flags |= IMAGE_IS_COMING;
	d.s.orders->router = says(&d.s, "say=all\n");
	scene_attach(&d.s);
	scene_publish(&d.s);
	expect_asked(&d, "o");
	d.s.orders->router = d.s.plan->coming;
	d.s.orders->router.flags &= ~(uint32_t)IMAGE_IS_COMING;
	d.s.plan->coming.plugin = NULL;
	scene_publish(&d.s);
	expect_asked(&d, "p");
	expect_prepared(&d, true);
	desk_close(&d, "rc");
}

/* It stays loaded, and no view has what was prepared: there is nothing to hand on. */
Test(route_prepare, a_router_that_leaves_office_and_comes_again_prepares_anew)
{
	struct desk d;
	struct plan_side router;

	desk_open(&d, "share");
	router = d.s.orders->router;
	scene_attach(&d.s);
	scene_publish(&d.s);
	expect_asked(&d, "op");
	d.s.orders->router.plugin = NULL;
	d.s.plan->coming = router;
	d.s.plan->coming.flags |= IMAGE_IS_COMING;
	scene_publish(&d.s);
	expect_asked(&d, "r");
	d.s.orders->router = router;
	d.s.plan->coming.plugin = NULL;
	scene_publish(&d.s);
	expect_asked(&d, "p");
	expect_prepared(&d, true);
	desk_close(&d, "rc");
}

/*** Nothing prepared ***/

Test(route_prepare, a_view_without_anything_is_routed_without)
{
	struct desk d;

	desk_open(&d, "nothing");
	scene_attach(&d.s);
	scene_publish(&d.s);
	scene_publish(&d.s);
	expect_prepared(&d, false);
	cr_expect_eq(d.s.run.n_said, 0);
	desk_close(&d, "oc");
}

Test(route_prepare, a_failure_is_told_once_and_the_router_is_asked_all_the_same)
{
	struct desk d;

	desk_open(&d, "fail");
	scene_attach(&d.s);
	for (int i = 0; i < 3; i++)
		scene_publish(&d.s);
	expect_prepared(&d, false);
	cr_expect_eq(d.s.run.n_said, 1);
	cr_expect_str_eq(d.s.run.said[0], "prepare() failed, route() goes on without: prepares: No "
					  "space left on device");
	publish_weight(&d, 2); /* well again */
	expect_prepared(&d, true);
	publish_weight(&d, 1);
	expect_prepared(&d, false);
	cr_expect_eq(d.s.run.n_said, 2);
	expect_asked(&d, "opbr");
	desk_close(&d, "c");
}

/*** Threads, forks, quarantine ***/

static void end_listed(struct slow_call *slow)
{
	slow_call_end(slow);
	cr_expect_eq(slow->listed, 3);
}

Test(route_prepare, what_a_thread_is_routing_with_stays_and_other_views_are_released)
{
	struct slow_call first, second;
	struct desk d;

	desk_open(&d, "share");
	scene_attach(&d.s);
	scene_publish(&d.s);
	slow_call_begin(&first, &d.s);
	publish_weight(&d, 2);
	slow_call_begin(&second, &d.s);
	publish_weight(&d, 3);
	publish_weight(&d, 4);
	expect_asked(&d, "oppppr"); /* the third is gone; two are in use */
	end_listed(&second);
	cr_refresh(d.s.cr);
	expect_asked(&d, "r");
	d.s.orders->router = says(&d.s, "say=all\n");
	scene_publish(&d.s);
	expect_asked(&d, "r"); /* the instance lives on for the first thread */
	end_listed(&first);
	cr_refresh(d.s.cr);
	expect_asked(&d, "rc");
	desk_close(&d, "");
}

/* What a view further back has is not handed on, though it is still there. */
Test(route_prepare, a_view_after_a_failure_is_prepared_from_nothing)
{
	struct slow_call slow;
	struct desk d;

	desk_open(&d, "fail");
	scene_attach(&d.s);
	publish_weight(&d, 2);
	slow_call_begin(&slow, &d.s);
	publish_weight(&d, 1);
	publish_weight(&d, 2);
	expect_asked(&d, "opbp");
	end_listed(&slow);
	desk_close(&d, "rrc");
}

/* The child's copy is its own: it shares, makes and releases without a look at its parent. */
static int act_refresh_and_detach(struct scene *s)
{
	say(cr_refresh(s->cr));
	say(cr_route(s->thread, s->service, &s->call, &s->ticket));
	scene_detach(s);
	return 0;
}

Test(route_prepare, a_forked_child_releases_its_own_copy_and_its_parent_keeps_what_it_has)
{
	struct other other;
	struct desk d;

	desk_open(&d, "share");
	scene_attach(&d.s);
	scene_publish(&d.s);
	publish_weight(&d, 2);
	expect_asked(&d, "oppr");
	d.s.plan->server[0].weight = 3;
	run_publish(&d.s.run, d.s.plan);
	other = other_start(&d.s, act_refresh_and_detach);
	cr_expect_eq(hear(&other), 1);
	cr_expect_eq(hear(&other), 3);
	other_end(&other, false);
	expect_asked(&d, "prrc"); /* the child's */
	expect_prepared(&d, true);
	scene_publish(&d.s);
	expect_asked(&d, "pr");
	desk_close(&d, "rc");
}

Test(route_prepare, a_router_that_is_quarantined_releases_what_it_made)
{
	struct desk d;

	desk_open(&d, "share");
	scene_attach(&d.s);
	scene_publish(&d.s);
	counters_quarantine(d.s.run.counters, 3);
	cr_expect_eq(cr_refresh(d.s.cr), 1);
	expect_asked(&d, "oprc");
	desk_close(&d, "");
}

static int act_attach(struct scene *s)
{
	scene_attach(s);
	cr_refresh(s->cr);
	scene_detach(s);
	return 0;
}

static void keep_death(void *arg, const struct counters_death *death)
{
	*(struct counters_death *)arg = *death;
}

/* Whoever attaches next does not load it: it is known whose code was running. */
static void expect_blame(const char *how)
{
	struct counters_death death = { 0 };
	struct other other;
	struct desk d;

	desk_open(&d, how);
	d.s.orders->preset = says(&d.s, "say=reversed\n");
	run_publish(&d.s.run, d.s.plan);
	other = other_start(&d.s, act_attach);
	waitpid(other.pid, NULL, 0);
	close(other.from);
	cr_assert_eq(counters_reap(d.s.run.counters, keep_death, &death), 1, "%s", how);
	cr_expect_eq(death.running_seq[0], 3);
	cr_expect(death.was_loading);
	expect_asked(&d, strcmp(how, "crash") == 0 ? "o" : "op");
	scene_attach(&d.s);
	expect_call(&d.s, "ms3 ms2 ms1", CR_DEFAULT_DECIDED, CR_REASON_QUARANTINED);
	desk_close(&d, "");
}

Test(route_prepare, a_crash_while_preparing_or_releasing_is_blamed_on_the_router)
{
	expect_blame("crash");
	expect_blame("crash_at_end");
}
