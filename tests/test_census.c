/* test_census.c - who is to blame when attached processes end. */
#include "census.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "counters_scene.h"

#define LOADED_SEQ 7

/** What the census said. */
struct verdicts {
	uint64_t seq[8];
	size_t n;
	char note[200];
};

static void convict(void *arg, uint64_t seq, const char *note)
{
	struct verdicts *verdicts = arg;

	if (verdicts->n < 8)
		verdicts->seq[verdicts->n++] = seq;
	strncpy(verdicts->note, note, sizeof verdicts->note - 1);
}

static void load(struct counters *c, int64_t ago_ns)
{
	struct counters_slot *slot = counters_slot(c, (uint32_t)counters_slot_number(c));

	atomic_store_explicit(&slot->loaded_ns, clock_now_ns() - ago_ns, memory_order_relaxed);
	atomic_store_explicit(&slot->loaded_seq, LOADED_SEQ, memory_order_relaxed);
}

static void act_load(struct counters *c)
{
	load(c, 0);
}

static void act_load_long_ago(struct counters *c)
{
	load(c, (CENSUS_LOADED_S + 1) * CLOCK_S);
}

static void act_load_and_leave(struct counters *c)
{
	load(c, 0);
	atomic_store_explicit(&counters_row(c)->running[0], LOADED_SEQ, memory_order_relaxed);
	counters_leave(c);
}

static void act_run_two(struct counters *c)
{
	load(c, 0);
	atomic_store_explicit(&counters_row(c)->running[0], 5, memory_order_relaxed);
	atomic_store_explicit(&counters_row(c)->running[1], 6, memory_order_relaxed);
	atomic_store_explicit(&counters_row(c)->running[2], 5, memory_order_relaxed);
}

/* n processes do this and are killed; then the census looks. */
static void die(struct scene *s, size_t n, other_fn *act)
{
	for (size_t i = 0; i < n; i++) {
		struct other other = other_start(s, act);

		cr_assert_geq(other.slot, 0);
		other_kill(&other);
	}
}

static void look(struct event_base *base)
{
	const struct timeval tv = { .tv_usec = (CENSUS_MS + CENSUS_MS / 2) * 1000 };

	event_base_loopexit(base, &tv);
	event_base_dispatch(base);
}

static struct verdicts judge(struct scene *s, size_t n, other_fn *act)
{
	struct event_base *base = event_base_new();
	struct verdicts verdicts = { 0 };
	struct census *census = census_new(base, s->daemon, s->folder.path, convict, &verdicts);

	cr_assert_not_null(census);
	die(s, n, act);
	look(base);
	census_free(census);
	event_base_free(base);
	return verdicts;
}

Test(census, three_deaths_soon_after_loading_convict_the_file)
{
	struct scene s;
	struct verdicts got;

	scene_open(&s);
	got = judge(&s, 3, act_load);
	cr_assert_eq(got.n, 1);
	cr_expect_eq(got.seq[0], 7);
	cr_expect_str_eq(got.note, "3 processes died within 60 s of loading it");
	scene_close(&s);
}

Test(census, two_deaths_do_not)
{
	struct scene s;

	scene_open(&s);
	cr_expect_eq(judge(&s, 2, act_load).n, 0);
	scene_close(&s);
}

Test(census, deaths_long_after_loading_do_not)
{
	struct scene s;

	scene_open(&s);
	cr_expect_eq(judge(&s, 4, act_load_long_ago).n, 0);
	scene_close(&s);
}

Test(census, processes_that_end_in_good_order_blame_nobody)
{
	struct scene s;

	scene_open(&s);
	cr_expect_eq(judge(&s, 4, act_load_and_leave).n, 0);
	cr_expect_not(counters_is_quarantined(s.daemon, LOADED_SEQ));
	scene_close(&s);
}

Test(census, a_process_that_has_run_the_file_for_long_acquits_it)
{
	struct scene s;
	struct other witness;

	scene_open(&s);
	witness = other_start(&s, act_load_long_ago);
	cr_expect_eq(judge(&s, 4, act_load).n, 0);
	other_kill(&witness);
	scene_close(&s);
}

Test(census, every_router_that_ran_at_a_death_is_convicted_as_the_data_planes_refuse_it)
{
	struct scene s;
	struct verdicts got;

	scene_open(&s);
	got = judge(&s, 1, act_run_two);
	cr_assert_eq(got.n, 2);
	cr_expect_eq(got.seq[0], 5);
	cr_expect_eq(got.seq[1], 6);
	cr_expect(counters_is_quarantined(s.daemon, 5));
	cr_expect(counters_is_quarantined(s.daemon, 6));
	scene_close(&s);
}
