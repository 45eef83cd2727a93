/* test_counters_lines.c - names keep their lines, and totals are what the ledgers say. */
#include <time.h>

#include "counters_scene.h"

/*** Lines ***/

Test(counters, a_name_keeps_its_line_and_services_have_their_own)
{
	struct scene s;

	scene_open(&s);
	cr_expect_eq(counters_line_of(s.daemon, "ms1", NULL), 0);
	cr_expect_eq(counters_line_of(s.daemon, "ms2", NULL), 1);
	cr_expect_eq(counters_line_of(s.daemon, "ms1", NULL), 0);
	cr_expect_str_eq(counters_line(s.daemon, 1)->name, "ms2");
	cr_expect_eq(atomic_load(&counters_line(s.daemon, 1)->incarnation), 1);
	cr_expect_eq(counters_service_of(s.daemon, "ms1", NULL), 0);
	cr_expect_eq(counters_service_of(s.daemon, "orders", NULL), 1);
	cr_expect_eq(counters_service_of(s.daemon, "ms1", NULL), 0);
	cr_expect_eq(counters_service_of(s.daemon, "", NULL), -EINVAL);
	scene_close(&s);
}

Test(counters, there_are_256_services)
{
	struct scene s;
	char name[64];

	scene_open(&s);
	for (int i = 0; i < 256; i++) {
		(void)snprintf(name, sizeof name, "service-%d", i);
		cr_expect_eq(counters_service_of(s.daemon, name, NULL), i);
	}
	cr_expect_eq(counters_service_of(s.daemon, "one more", NULL), -ENOSPC);
	cr_expect_eq(counters_service_of(s.daemon, "service-17", NULL), 17);
	scene_close(&s);
}

Test(counters, a_service_gets_the_line_of_one_that_nobody_has_any_more)
{
	static bool keep[COUNTERS_SERVICES];
	struct counters_service *line;
	struct scene s;
	char name[64];

	scene_open(&s);
	for (int i = 0; i < 256; i++) {
		(void)snprintf(name, sizeof name, "service-%d", i);
		cr_assert_eq(counters_service_of(s.daemon, name, keep), i);
		keep[i] = true;
	}
	cr_expect_eq(counters_service_of(s.daemon, "one more", keep), -ENOSPC);
	line = counters_service(s.daemon, 17);
	atomic_store(&line->decided[CR_ROUTER_DECIDED], 5);
	atomic_store(&line->reason[CR_REASON_STALE], 6);
	line->shared[3][255] = 7;
	keep[17] = false;
	cr_expect_eq(counters_service_of(s.daemon, "service-17", keep), 17);
	cr_expect_eq(atomic_load(&line->decided[CR_ROUTER_DECIDED]), 5u, "it is still there");
	cr_expect_eq(counters_service_of(s.daemon, "one more", keep), 17);
	cr_expect_str_eq(line->name, "one more");
	cr_expect_eq(atomic_load(&line->decided[CR_ROUTER_DECIDED]), 0u);
	cr_expect_eq(atomic_load(&line->reason[CR_REASON_STALE]), 0u);
	cr_expect_eq(line->shared[3][255], 0u);
	cr_expect_eq(counters_find_service(s.daemon, "service-17"), -ENOENT);
	cr_expect_eq(counters_find_service(s.daemon, "one more"), 17);
	scene_close(&s);
}

Test(counters, a_name_without_a_line_is_not_found)
{
	struct scene s;

	scene_open(&s);
	cr_expect_eq(counters_find_line(s.daemon, "ms1"), -ENOENT);
	cr_expect_eq(counters_find_service(s.daemon, "ms1"), -ENOENT);
	cr_assert_eq(counters_line_of(s.daemon, "ms1", NULL), 0);
	cr_expect_eq(counters_find_line(s.daemon, "ms1"), 0);
	cr_expect_eq(counters_find_service(s.daemon, "ms1"), -ENOENT);
	scene_close(&s);
}

static void use_all_lines(struct scene *s, const char *prefix, const bool *keep)
{
	char name[64];

	for (int i = 0; i < (int)COUNTERS_LINES; i++) {
		(void)snprintf(name, sizeof name, "%s-%d", prefix, i);
		cr_assert_eq(counters_line_of(s->daemon, name, keep), i);
	}
}

Test(counters, a_line_is_used_again_only_when_nobody_refers_to_it)
{
	static bool keep[COUNTERS_LINES];
	struct counters_line *line;
	struct scene s;

	scene_open(&s);
	use_all_lines(&s, "old", NULL);
	memset(keep, 1, sizeof keep);
	cr_expect_eq(counters_line_of(s.daemon, "new", keep), -ENOSPC);
	keep[7] = false;
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_add(s.plane, 7, 1);
	cr_expect_eq(counters_line_of(s.daemon, "new", keep), -ENOSPC);
	counters_hold_drop(s.plane, 7, 1);
	line = counters_line(s.daemon, 7);
	line->live.failure_ppm = 1000;
	line->live.state = CR_EJECTED;
	line->live.inflight = 1;
	atomic_store(&line->calls, 99);
	cr_expect_eq(counters_line_of(s.daemon, "new", keep), 7);
	cr_expect_str_eq(line->name, "new");
	cr_expect_eq(atomic_load(&line->incarnation), 2);
	cr_expect_eq(atomic_load(&line->calls), 0);
	cr_expect_eq(line->live.failure_ppm, 0);
	cr_expect_eq(line->live.state, 0);
	expect_totals(s.daemon, 7, 0, 0);
	keep[7] = true;
	cr_expect_eq(counters_line_of(s.daemon, "new", keep), 7);
	cr_expect_eq(counters_line_of(s.daemon, "old-7", keep), -ENOSPC);
	cr_expect_eq(counters_line_of(s.daemon, "old-8", keep), 8);
	scene_close(&s);
}

Test(counters, names_are_found_after_every_line_changed_its_server_and_the_daemon_restarted)
{
	struct scene s;

	scene_open(&s);
	use_all_lines(&s, "old", NULL);
	use_all_lines(&s, "new", NULL);
	use_all_lines(&s, "newer", NULL);
	cr_expect_eq(counters_line_of(s.daemon, "newer-16000", NULL), 16000);
	counters_close(s.daemon);
	cr_assert_eq(counters_create(s.folder.path, (gid_t)-1, &s.daemon, NULL), 0);
	cr_expect_eq(counters_line_of(s.daemon, "newer-16000", NULL), 16000);
	cr_expect_eq(atomic_load(&counters_line(s.daemon, 16000)->incarnation), 3);
	cr_expect_eq(counters_line_of(s.daemon, "newest", NULL), 0);
	scene_close(&s);
}

Test(counters, names_without_end_are_ended_when_the_daemon_takes_over)
{
	struct scene s;
	char longer[65] = { 0 };

	scene_open(&s);
	cr_assert_eq(counters_line_of(s.daemon, "ms1", NULL), 0);
	cr_assert_eq(counters_service_of(s.daemon, "orders", NULL), 0);
	memset(counters_line(s.plane, 0)->name, 'a', 64);
	memset(counters_service(s.plane, 0)->name, 'a', 64);
	counters_close(s.daemon);
	cr_assert_eq(counters_create(s.folder.path, (gid_t)-1, &s.daemon, NULL), 0);
	cr_expect_eq(strlen(counters_line(s.daemon, 0)->name), 63);
	cr_expect_eq(strlen(counters_service(s.daemon, 0)->name), 63);
	memset(longer, 'a', 64);
	cr_expect_eq(counters_line_of(s.daemon, longer, NULL), -ENAMETOOLONG);
	cr_expect_eq(counters_line_of(s.daemon, "ms1", NULL), 1);
	scene_close(&s);
}

/*** Totals against ledgers ***/

Test(counters, a_difference_is_corrected_when_two_audits_see_it)
{
	struct scene s;

	scene_open(&s);
	cr_assert_eq(counters_line_of(s.daemon, "ms1", NULL), 0);
	cr_assert_eq(counters_line_of(s.daemon, "ms2", NULL), 1);
	cr_assert_geq(counters_claim(s.plane, "test"), 0);
	counters_hold_add(s.plane, 0, 10);
	counters_hold_add(s.plane, 1, 10);
	s.daemon->line[0].live.inflight = 6; /* 5 and 90 too much */
	s.daemon->line[0].live.inflight_bytes = 100;
	s.daemon->line[1].live.inflight = 0; /* 1 and 10 too little */
	s.daemon->line[1].live.inflight_bytes = 0;
	cr_expect_eq(counters_audit(s.daemon), 0);
	expect_totals(s.daemon, 0, 6, 100);
	cr_expect_eq(counters_audit(s.daemon), 2);
	expect_totals(s.daemon, 0, 1, 10);
	expect_totals(s.daemon, 1, 1, 10);
	cr_expect_eq(counters_audit(s.daemon), 0);
	scene_close(&s);
}

Test(counters, a_difference_that_changes_is_not_corrected)
{
	struct scene s;

	scene_open(&s);
	cr_assert_eq(counters_line_of(s.daemon, "ms1", NULL), 0);
	for (uint32_t i = 1; i < 6; i++) {
		s.daemon->line[0].live.inflight = i;
		cr_expect_eq(counters_audit(s.daemon), 0);
	}
	s.daemon->line[0].live.inflight = 0;
	cr_expect_eq(counters_audit(s.daemon), 0);
	s.daemon->line[0].live.inflight = 5;
	cr_expect_eq(counters_audit(s.daemon), 0);
	cr_expect_eq(counters_audit(s.daemon), 1);
	expect_totals(s.daemon, 0, 0, 0);
	scene_close(&s);
}

/* Somebody wrote the same name into all of them: the daemon is not to look at each for each. */
Test(counters, lines_of_one_name_are_taken_over_at_once)
{
	struct counters *c;
	struct scene s;
	clock_t start; /* of the processor's time: the machine may be busy */

	scene_open(&s);
	for (uint32_t i = 0; i < COUNTERS_LINES; i++) {
		atomic_store(&s.daemon->line[i].incarnation, 1);
		s.daemon->line[i].name[0] = 'x';
	}
	start = clock();
	cr_assert_eq(counters_create(s.folder.path, (gid_t)-1, &c, &s.err), 0, "%s", s.err.text);
	cr_expect_lt(clock() - start, CLOCKS_PER_SEC);
	cr_expect_eq(counters_find_line(c, "x"), 0);
	cr_expect_eq(counters_find_line(c, "y"), -ENOENT);
	counters_close(c);
	scene_close(&s);
}
