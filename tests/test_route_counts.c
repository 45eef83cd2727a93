/* test_route_counts.c - what a call counts: reservations, results, and that nothing of it lands on
 * others. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "counters_file.h"
#include "route_scene.h"

TestSuite(route_counts, .timeout = 100);

static void scene_of_counts(struct scene *s)
{
	scene_open(s, 3);
	s->orders->router = says(s, "say=all\n");
	scene_attach(s);
	scene_publish(s);
}

static void expect_line(const struct scene *s, const char *server, uint64_t calls,
			uint64_t failures)
{
	const struct counters_line *line = run_line(&s->run, server);

	cr_expect_eq(atomic_load(&line->calls), calls, "%s: %llu calls", server,
		     (unsigned long long)atomic_load(&line->calls));
	cr_expect_eq(atomic_load(&line->failures), failures, "%s: %llu failures", server,
		     (unsigned long long)atomic_load(&line->failures));
}

/*** Reservations ***/

Test(route_counts, a_call_is_in_progress_at_one_server_and_moves_with_cr_next)
{
	struct scene s;

	scene_of_counts(&s);
	s.call.cost_bytes = 700;
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	expect_held(&s, "ms1", 1, 700);
	expect_held(&s, "ms2", 0, 0);
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_REFUSED_CONNECTION)->name, "ms2");
	expect_held(&s, "ms1", 0, 0);
	expect_held(&s, "ms2", 1, 700);
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_TIMED_OUT)->name, "ms3");
	expect_held(&s, "ms2", 0, 0);
	expect_held(&s, "ms3", 1, 700);
	cr_end(s.thread, &s.ticket, CR_OK, 1000);
	expect_held(&s, "ms3", 0, 0);
	expect_line(&s, "ms1", 1, 1);
	expect_line(&s, "ms2", 1, 1);
	expect_line(&s, "ms3", 1, 0);
	cr_expect_eq(count_of(&s, CR_ROUTER_DECIDED), 1);
	scene_close(&s);
}

Test(route_counts, the_end_of_a_list_gives_everything_back_before_cr_end)
{
	struct scene s;

	scene_of_counts(&s);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	for (int i = 0; i < 2; i++)
		cr_expect_not_null(cr_next(s.thread, &s.ticket, CR_FAILED));
	cr_expect_null(cr_next(s.thread, &s.ticket, CR_FAILED));
	cr_expect_null(cr_next(s.thread, &s.ticket, CR_FAILED));
	for (int i = 0; i < 3; i++) {
		expect_held(&s, s.plan->server[i].name, 0, 0);
		expect_line(&s, s.plan->server[i].name, 1, 1);
	}
	cr_end(s.thread, &s.ticket, CR_FAILED, 5);
	for (int i = 0; i < 3; i++)
		expect_line(&s, s.plan->server[i].name, 1, 1);
	scene_close(&s);
}

Test(route_counts, a_second_cr_end_has_no_effect)
{
	struct cr_ticket other;
	struct scene s;

	scene_of_counts(&s);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &other), 3);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	expect_held(&s, "ms1", 2, 0);
	cr_end(s.thread, &s.ticket, CR_FAILED, 5);
	cr_end(s.thread, &s.ticket, CR_FAILED, 5);
	cr_expect_null(cr_next(s.thread, &s.ticket, CR_FAILED));
	expect_held(&s, "ms1", 1, 0);
	expect_line(&s, "ms1", 2, 1);
	cr_end(s.thread, &other, CR_OK, 5);
	expect_held(&s, "ms1", 0, 0);
	scene_close(&s);
}

Test(route_counts, a_call_that_nobody_serves_can_be_ended)
{
	struct scene s;

	scene_of_counts(&s);
	s.orders->router = says(&s, "say=refuse\n");
	scene_publish(&s);
	expect_route(&s, "", CR_REFUSED, CR_REASON_ROUTER_REFUSED);
	cr_expect_null(cr_first(&s.ticket));
	cr_expect_null(cr_next(s.thread, &s.ticket, CR_FAILED));
	cr_end(s.thread, &s.ticket, CR_FAILED, 5);
	expect_line(&s, "ms1", 0, 0);
	scene_close(&s);
}

Test(route_counts, bytes_of_calls_add_up_and_an_unknown_cost_is_none)
{
	static const int64_t costs[] = { 5, 0, -7, 1000000, INT64_MIN };
	struct cr_ticket tickets[5];
	struct scene s;

	scene_of_counts(&s);
	for (int i = 0; i < 5; i++) {
		s.call.cost_bytes = costs[i];
		cr_assert_eq(cr_route(s.thread, s.service, &s.call, &tickets[i]), 3);
	}
	expect_held(&s, "ms1", 5, 1000005);
	cr_end(s.thread, &tickets[0], CR_OK, 1);
	expect_held(&s, "ms1", 4, 1000000);
	for (int i = 1; i < 5; i++)
		cr_end(s.thread, &tickets[i], CR_OK, 1);
	expect_held(&s, "ms1", 0, 0);
	s.call.cost_bytes = INT64_MAX; /* taken for 64 GiB: sums stay far from overflow */
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	expect_held(&s, "ms1", 1, INT64_C(1) << 36);
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	expect_held(&s, "ms1", 0, 0);
	scene_close(&s);
}

/*** Results ***/

static void end_call(struct scene *s, enum cr_outcome outcome, int64_t latency_ns)
{
	cr_assert_eq(cr_route(s->thread, s->service, &s->call, &s->ticket), 3);
	cr_end(s->thread, &s->ticket, outcome, latency_ns);
}

Test(route_counts, failures_and_latency_are_decaying_means)
{
	const struct cr_live *live;
	struct scene s;

	scene_of_counts(&s);
	live = &run_line(&s.run, "ms1")->live;
	end_call(&s, CR_OK, 8000);
	cr_expect_eq(live->latency_ns, 8000);
	cr_expect_eq(live->failure_ppm, 0);
	end_call(&s, CR_OK, 16000);
	cr_expect_eq(live->latency_ns, 9000);
	end_call(&s, CR_FAILED, 1); /* a fast failure is not a fast server */
	cr_expect_eq(live->latency_ns, 9000);
	cr_expect_eq(live->failure_ppm, 100000);
	end_call(&s, CR_TIMED_OUT, -1);
	cr_expect_eq(live->failure_ppm, 190000);
	end_call(&s, CR_REFUSED_CONNECTION, -1);
	cr_expect_eq(live->failure_ppm, 271000);
	end_call(&s, CR_ABANDONED, 77);
	cr_expect_eq(live->failure_ppm, 271000);
	cr_expect_eq(live->latency_ns, 9000);
	end_call(&s, CR_OK, -1); /* unknown latency */
	cr_expect_eq(live->latency_ns, 9000);
	cr_expect_eq(live->failure_ppm, 243900);
	for (int i = 0; i < 200; i++)
		end_call(&s, CR_OK, 9000);
	cr_expect_eq(live->failure_ppm, 0);
	expect_line(&s, "ms1", 207, 3);
	scene_close(&s);
}

Test(route_counts, failures_fade_between_results)
{
	const struct cr_live *live;
	struct scene s;

	scene_of_counts(&s);
	live = &run_line(&s.run, "ms1")->live;
	end_call(&s, CR_FAILED, -1);
	cr_expect_eq(live->failure_ppm, 100000);
	cr_expect_eq(live->failure_ns, NOW_NS);
	s.call.now_ns += INT64_C(10000000000);
	end_call(&s, CR_OK, 5); /* 36792 are left, and a tenth of those goes */
	cr_expect_eq(live->failure_ppm, 33113);
	cr_expect_eq(live->failure_ns, NOW_NS + INT64_C(10000000005));
	s.call.now_ns += INT64_C(200000000000);
	end_call(&s, CR_FAILED, -1);
	cr_expect_eq(live->failure_ppm, 100000);
	scene_close(&s);
}

Test(route_counts, figures_that_somebody_spoiled_are_left_behind_by_new_ones)
{
	struct cr_live *live;
	struct scene s;

	scene_of_counts(&s);
	live = &run_line(&s.run, "ms1")->live;
	__atomic_store_n(&live->latency_ns, INT64_MIN, __ATOMIC_RELAXED);
	__atomic_store_n(&live->failure_ppm, UINT32_MAX, __ATOMIC_RELAXED);
	end_call(&s, CR_OK, 500);
	cr_expect_eq(live->latency_ns, 500);
	for (int i = 0; i < 300; i++)
		end_call(&s, CR_OK, 500);
	cr_expect_eq(live->failure_ppm, 0);
	__atomic_store_n(&live->latency_ns, INT64_MAX, __ATOMIC_RELAXED);
	for (int i = 0; i < 500; i++)
		end_call(&s, CR_OK, INT64_MAX);
	cr_expect_gt(live->latency_ns, 0);
	scene_close(&s);
}

/*** Tickets that wander ***/

struct handed {
	struct cr *cr;
	struct cr_ticket *ticket;
};

static void *end_elsewhere(void *arg)
{
	struct handed *handed = arg;
	struct cr_thread *thread = cr_thread_new(handed->cr);

	cr_next(thread, handed->ticket, CR_FAILED);
	cr_end(thread, handed->ticket, CR_OK, 10);
	cr_thread_free(thread);
	return NULL;
}

Test(route_counts, a_ticket_may_be_ended_by_another_thread)
{
	struct handed handed;
	pthread_t other;
	struct scene s;

	scene_of_counts(&s);
	s.call.cost_bytes = 3;
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	handed = (struct handed){ s.cr, &s.ticket };
	cr_assert_eq(pthread_create(&other, NULL, end_elsewhere, &handed), 0);
	pthread_join(other, NULL);
	expect_held(&s, "ms1", 0, 0);
	expect_held(&s, "ms2", 0, 0);
	expect_line(&s, "ms1", 1, 1);
	expect_line(&s, "ms2", 1, 0);
	scene_close(&s);
}

Test(route_counts, a_ticket_outlives_the_view_that_made_it)
{
	struct scene s;

	scene_of_counts(&s);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	cr_expect_eq(s.ticket.generation, 1);
	s.plan->server[0].flags = IMAGE_DRAINED;
	s.orders->n_rows = 1;
	s.orders->router = says(&s, "say=refuse\n");
	scene_publish(&s);
	scene_publish(&s);
	expect_held(&s, "ms1", 1, 0);
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_FAILED)->name, "ms2");
	expect_held(&s, "ms1", 0, 0);
	expect_held(&s, "ms2", 1, 0);
	scene_publish(&s);
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	expect_held(&s, "ms2", 0, 0);
	expect_line(&s, "ms1", 1, 1);
	scene_close(&s);
}

Test(route_counts, a_ticket_does_nothing_to_the_new_owner_of_a_server_s_line)
{
	static const uint16_t second_first[] = { 1, 0, 2 };
	struct counters_line *line;
	struct cr_ticket newer;
	struct scene s;

	scene_of_counts(&s);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	/* ms2, not held by anybody, gives its line to another server */
	line = run_line(&s.run, "ms2");
	atomic_fetch_add(&line->incarnation, 1);
	s.orders->router.order = second_first;
	scene_publish(&s);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &newer), 3);
	expect_held(&s, "ms2", 1, 0);
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_FAILED)->name, "ms2");
	expect_held(&s, "ms2", 1, 0);
	cr_end(s.thread, &s.ticket, CR_FAILED, 9);
	expect_held(&s, "ms2", 1, 0);
	expect_line(&s, "ms2", 1, 0);
	cr_expect_eq(line->live.failure_ppm, 0);
	expect_held(&s, "ms1", 0, 0);
	expect_line(&s, "ms1", 1, 1);
	cr_end(s.thread, &newer, CR_OK, 1);
	expect_held(&s, "ms2", 0, 0);
	scene_close(&s);
}

/* The daemon lost its file, or was reinstalled: another one takes its place. */
static void replace_counters(struct scene *s)
{
	cr_assert_eq(unlink(run_file(&s->run, COUNTERS_FILE)), 0);
	run_stop_daemon(&s->run);
	run_start_daemon(&s->run);
}

Test(route_counts, a_ticket_does_nothing_to_counters_that_took_the_place_of_its_own)
{
	struct scene s;

	scene_of_counts(&s);
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	replace_counters(&s);
	/* another server has the line of ms1 there */
	cr_assert_eq(counters_line_of(s.run.counters, "stranger", NULL), 0);
	cr_assert_eq(counters_line_of(s.run.counters, "another", NULL), 1);
	scene_publish(&s);
	cr_expect_str_eq(cr_next(s.thread, &s.ticket, CR_FAILED)->name, "ms2");
	cr_end(s.thread, &s.ticket, CR_FAILED, 1);
	expect_line(&s, "stranger", 0, 0);
	expect_line(&s, "another", 0, 0);
	expect_held(&s, "stranger", 0, 0);
	expect_held(&s, "another", 0, 0);
	/* and new calls are counted there */
	cr_assert_eq(cr_route(s.thread, s.service, &s.call, &s.ticket), 3);
	expect_held(&s, "ms1", 1, 0);
	cr_end(s.thread, &s.ticket, CR_OK, 1);
	expect_held(&s, "ms1", 0, 0);
	expect_line(&s, "ms1", 1, 0);
	scene_close(&s);
}

Test(route_counts, new_counters_are_used_as_soon_as_the_snapshot_can_be_read_again)
{
	struct scene s;
	char aside[512];

	scene_of_counts(&s);
	(void)snprintf(aside, sizeof aside, "%s", run_file(&s.run, "aside"));
	cr_assert_eq(rename(run_file(&s.run, SNAPSHOT_FILE), aside), 0);
	cr_assert_eq(unlink(run_file(&s.run, COUNTERS_FILE)), 0);
	counters_close(s.run.counters);
	cr_assert_eq(counters_create(s.run.dir, (gid_t)-1, &s.run.counters, NULL), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(counters_line_of(s.run.counters, s.plan->server[i].name, NULL), i);
	/* no snapshot at this moment: the old view goes on, uncounted */
	cr_expect_eq(cr_refresh(s.cr), 0);
	cr_expect_eq(cr_refresh(s.cr), 0);
	expect_call(&s, "ms1 ms2 ms3", CR_ROUTER_DECIDED, CR_REASON_NONE);
	expect_line(&s, "ms1", 0, 0);
	cr_assert_eq(rename(aside, run_file(&s.run, SNAPSHOT_FILE)), 0);
	cr_expect_eq(cr_refresh(s.cr), 1);
	expect_call(&s, "ms1 ms2 ms3", CR_ROUTER_DECIDED, CR_REASON_NONE);
	expect_line(&s, "ms1", 1, 0);
	scene_close(&s);
}

/*** Without a slot ***/

/* Somebody who is alive has all slots. Returns the descriptor that holds the locks. */
static int take_all_slots(const struct scene *s)
{
	struct flock all = { .l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = COUNTERS_LOCK_AT,
			     .l_len = COUNTERS_SLOTS };
	const int fd = open(run_file(&s->run, COUNTERS_FILE), O_RDWR | O_CLOEXEC);

	cr_assert_eq(fcntl(fd, F_OFD_SETLK, &all), 0);
	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++)
		atomic_store(&counters_slot(s->run.counters, i)->state, COUNTERS_USED);
	return fd;
}

Test(route_counts, a_process_without_a_slot_routes_and_says_so_and_gets_one_that_becomes_free)
{
	bool is_counted = false;
	struct scene s;
	int fd;

	scene_open(&s, 2);
	s.orders->router = says(&s, "say=all\n");
	run_publish(&s.run, s.plan);
	fd = take_all_slots(&s);
	scene_attach(&s);
	cr_expect_eq(s.run.n_said, 1);
	cr_expect_str_eq(s.run.said[0], "calls are not counted: all process slots are taken");
	expect_route(&s, "ms1 ms2", CR_ROUTER_DECIDED, CR_REASON_NONE);
	expect_held(&s, "ms1", 0, 0);
	expect_line(&s, "ms1", 1, 0);
	close(fd);
	atomic_store(&counters_slot(s.run.counters, 5)->state, COUNTERS_FREE);
	while (!is_counted) { /* it asks once a second */
		struct cr_ticket ticket;

		cr_refresh(s.cr);
		cr_route(s.thread, s.service, &s.call, &ticket);
		is_counted = run_inflight(&s.run, "ms1") > 0;
		if (is_counted) {
			/* what was not counted is not given back either */
			cr_end(s.thread, &s.ticket, CR_FAILED, 1);
			expect_held(&s, "ms1", 1, 0);
		}
		cr_end(s.thread, &ticket, CR_OK, 1);
	}
	expect_held(&s, "ms1", 0, 0);
	cr_expect_eq(s.run.n_said, 1);
	scene_close(&s);
}
