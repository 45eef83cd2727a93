/* test_routers_lives.c - a million calls live and die at random, with every router of the build:
 * when the last is over, nothing is in progress anywhere. */
#include <callrouter/order.h>

#include "data_plane.h"
#include "routers_found.h"

#define LIVES   1000000
#define SERVERS 8
#define OPEN    32 /* calls in progress at most */

/** A data plane with one router. */
struct life {
	struct run run;
	struct plan *plan;
	struct cr *cr;
	struct cr_thread *thread;
	struct cr_ticket ticket[OPEN];
	bool is_open[OPEN];
	int service;
	uint64_t draw;
	unsigned n_lives, n_decided;
};

static void publish(struct life *life)
{
	for (uint32_t i = 0; i < SERVERS; i++)
		life->plan->server[i].flags = cr_draw(&life->draw) % 4 == 0 ? IMAGE_DRAINED : 0;
	life->plan->server[0].flags = 0;
	run_publish(&life->run, life->plan);
	cr_assert_eq(cr_refresh(life->cr), 1);
}

static void life_open(struct life *life, const struct found *one)
{
	struct plan_side *router;

	*life = (struct life){ .plan = plan_new(SERVERS), .draw = 1 };
	run_open(&life->run);
	router = &life->plan->service[0].router;
	*router = plan_route(one->name, NULL, 1);
	router->path = strdup(run_stage(&life->run, PLUGINS_DIR, one->name, 1));
	router->options = one->packed;
	router->shared_words = one->shared_words;
	router->n_columns = one->n_columns;
	router->flags = (one->has_rank ? (uint32_t)IMAGE_HAS_RANK : 0) |
			(one->has_route ? (uint32_t)IMAGE_HAS_ROUTE : 0);
	router->verdict = SERVERS;
	life->cr = run_attach(&life->run);
	life->thread = cr_thread_new(life->cr);
	life->service = cr_service(life->cr, "orders");
	cr_assert_not_null(life->thread);
	publish(life);
}

static void life_close(struct life *life)
{
	cr_thread_free(life->thread);
	cr_detach(life->cr);
	run_close(&life->run);
	free((char *)life->plan->service[0].router.path);
	free(life->plan);
}

static void begin_call(struct life *life, unsigned i)
{
	struct cr_call call = { .now_ns = NOW_NS,
				.random = cr_draw(&life->draw),
				.cost_bytes = (int64_t)(cr_draw(&life->draw) % 3) << 25,
				.primary = CR_NONE,
				.secondary = CR_NONE };

	cr_route(life->thread, life->service, &call, &life->ticket[i]);
	cr_assert_gt(life->ticket[i].n, 0);
	life->n_decided += life->ticket[i].decided == CR_ROUTER_DECIDED;
	life->is_open[i] = true;
	life->n_lives++;
}

/* It goes on to the next server, or ends well, badly, given up, or twice. */
static void go_on(struct life *life, unsigned i)
{
	const uint64_t draw = cr_draw(&life->draw);
	const enum cr_outcome outcome = (enum cr_outcome)(draw >> 8) % 5;

	if (draw % 3 == 0 &&
	    cr_next(life->thread, &life->ticket[i], (enum cr_outcome)((draw >> 16) % 5)) != NULL)
		return;
	cr_end(life->thread, &life->ticket[i], outcome, (int64_t)(draw >> 40));
	if (draw % 5 == 0)
		cr_end(life->thread, &life->ticket[i], outcome, 1);
	life->is_open[i] = false;
}

static void live(struct life *life, unsigned lives)
{
	for (unsigned step = 0; life->n_lives < lives; step++) {
		const unsigned i = (unsigned)(cr_draw(&life->draw) % OPEN);

		(life->is_open[i] ? go_on : begin_call)(life, i);
		if (step % 10000 == 9999)
			publish(life);
	}
	for (unsigned i = 0; i < OPEN; i++)
		while (life->is_open[i])
			go_on(life, i);
}

static void expect_nothing(const struct life *life, const char *name)
{
	for (unsigned i = 0; i < SERVERS; i++) {
		const char *server = life->plan->server[i].name;

		cr_expect_eq(run_inflight(&life->run, server), 0, "%s: %s has %u", name, server,
			     run_inflight(&life->run, server));
		cr_expect_eq(run_inflight_bytes(&life->run, server), 0, "%s: %s", name, server);
	}
}

Test(all_routers, leave_nothing_in_progress_after_a_million_lives, .timeout = 100)
{
	static struct life life;
	unsigned n_lives = 0;

	find_routers();
	for (size_t r = 0; r < n_found; r++) {
		life_open(&life, &found[r]);
		live(&life, LIVES / (unsigned)n_found + 1);
		expect_nothing(&life, found[r].name);
		cr_expect_eq(life.n_decided, life.n_lives, "%s %s decided %u of %u", found[r].name,
			     found[r].packed, life.n_decided, life.n_lives);
		n_lives += life.n_lives;
		life_close(&life);
	}
	cr_expect_geq(n_lives, LIVES);
}

/* A connection is refused by every server: each is tried once, none a second time, and then it
 * ends. */
Test(all_routers, lead_a_retry_to_each_other_server_once_and_then_end)
{
	static struct life life;

	find_routers();
	for (size_t r = 0; r < n_found; r++) {
		life_open(&life, &found[r]);
		for (unsigned i = 0; i < SERVERS; i++)
			life.plan->server[i].flags = 0;
		run_publish(&life.run, life.plan);
		cr_refresh(life.cr);
		for (unsigned k = 0; k < 100; k++) {
			const struct cr_server *server;
			unsigned tried = 0, n = 1;

			begin_call(&life, 0);
			server = cr_first(&life.ticket[0]);
			tried |= 1u << (server->name[2] - '1');
			for (; n <= SERVERS; n++) {
				server = cr_next(life.thread, &life.ticket[0],
						 CR_REFUSED_CONNECTION);
				if (server == NULL)
					break;
				cr_assert_eq(tried & 1u << (server->name[2] - '1'), 0, "%s: %s",
					     found[r].name, server->name);
				tried |= 1u << (server->name[2] - '1');
			}
			cr_expect_eq(n, SERVERS, "%s: %u", found[r].name, n);
			cr_expect_eq(tried, 0xff);
			cr_end(life.thread, &life.ticket[0], CR_REFUSED_CONNECTION, -1);
		}
		expect_nothing(&life, found[r].name);
		life_close(&life);
	}
}
