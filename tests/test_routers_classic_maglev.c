/* test_routers_classic_maglev.c - hash with mode: maglev: the table, and what it costs to change
 * it. */
#include "hash_scene.h"

#include "../routers/maglev.h"

#define MAGLEV "mode=maglev\n"

static const struct maglev *table(void)
{
	prepare(&crowd.view);
	return prepared;
}

static void count_entries(unsigned *count)
{
	const struct maglev *maglev = table();

	memset(count, 0, crowd.view.n * sizeof *count);
	for (uint32_t i = 0; i < maglev->size; i++)
		count[maglev->entry[i]]++;
}

/*** The table ***/

static void expect_even(size_t n, double most)
{
	unsigned count[CROWD], largest = 0;

	load_hash(MAGLEV, n, NULL);
	count_entries(count);
	for (size_t i = 0; i < n; i++)
		largest = count[i] > largest ? count[i] : largest;
	cr_expect_float_eq(largest * (double)n / 65537, most, 0.00005, "%zu servers: %.4f", n,
			   largest * (double)n / 65537);
	unload();
}

/* The largest share, in means. A ring with 160 points a server has 1.10 and 1.15. */
Test(maglev, gives_equal_servers_equally_many_entries)
{
	expect_even(1, 1.0000);
	expect_even(8, 1.0001);
	expect_even(32, 1.0005);
	expect_even(64, 1.0010);
}

static void expect_entries(size_t n, const uint32_t *weight, const unsigned *want)
{
	unsigned count[CROWD];

	load_hash(MAGLEV, n, weight);
	count_entries(count);
	for (size_t i = 0; i < n; i++)
		cr_expect_eq(count[i], want[i], "server %zu of %zu: %u", i, n, count[i]);
	unload();
}

Test(maglev, gives_entries_by_weight)
{
	expect_entries(1, (uint32_t[]){ 7 }, (unsigned[]){ 65537 });
	expect_entries(2, (uint32_t[]){ 1, 2 }, (unsigned[]){ 21846, 43691 });
	expect_entries(2, (uint32_t[]){ 1, 100 }, (unsigned[]){ 648, 64889 });
	expect_entries(3, (uint32_t[]){ 2, 0, 3 }, (unsigned[]){ 26215, 0, 39322 });
	expect_entries(5, (uint32_t[]){ 1, 2, 3, 4, 5 },
		       (unsigned[]){ 4369, 8738, 13108, 17476, 21846 });
}

/* The first prime of about twice the size, when 100 entries a server are no longer there. */
Test(maglev, grows_in_steps)
{
	cr_expect_eq(maglev_size(1), 65537);
	cr_expect_eq(maglev_size(655), 65537);
	cr_expect_eq(maglev_size(656), 131101);
	cr_expect_eq(maglev_size(1311), 131101);
	cr_expect_eq(maglev_size(1312), 262217);
	cr_expect_eq(maglev_size(CR_NONE - 1), 8391377);
}

/*** Keys that move ***/

Test(maglev, moves_the_keys_of_a_removed_server_and_few_others)
{
	static uint16_t eight[KEYS], seven[KEYS];
	unsigned all, others;

	load_hash(MAGLEV, 8, NULL);
	assign(eight);
	crowd.weight[3] = 0; /* no longer of the table */
	assign(seven);
	all = moved(eight, seven, CR_NONE);
	others = moved(eight, seven, 3);
	printf("hash maglev: one of 8 removed moves %.2f %% of the keys, %.2f %% between others\n",
	       percent(all), percent(others));
	cr_expect(percent(all) > 12.4 && percent(all) < 13.0, "%g", percent(all));
	cr_expect(percent(others) > 0 && percent(others) < 0.4, "%g", percent(others));
	unload();
}

/* The same of the table's own entries: no sample of keys. */
Test(maglev, moves_few_entries_whichever_of_eight_or_of_thirty_two_is_removed)
{
	static uint16_t before[65537];

	for (size_t n = 8; n <= 32; n *= 4)
		for (uint16_t gone = 0; gone < n; gone++) {
			const uint16_t *after;
			unsigned extra = 0;

			load_hash(MAGLEV, n, NULL);
			memcpy(before, table()->entry, sizeof before);
			crowd.weight[gone] = 0;
			after = table()->entry;
			for (size_t i = 0; i < 65537; i++)
				extra += before[i] != gone && before[i] != after[i];
			cr_expect_lt(extra / 655.37, n == 8 ? 0.4 : 0.6, "%u of %zu: %g %%", gone,
				     n, extra / 655.37);
			unload();
		}
}

Test(maglev, takes_a_ninth_of_the_keys_for_a_ninth_server)
{
	static uint16_t eight[KEYS], nine[KEYS];
	unsigned all, others;

	load_hash(MAGLEV, 8, NULL);
	assign(eight);
	crowd.view.n = 9;
	assign(nine);
	all = moved(eight, nine, CR_NONE);
	others = moved(eight, nine, 8);
	cr_expect(percent(all) > 11.0 && percent(all) < 11.8, "%g", percent(all));
	cr_expect_lt(percent(others), 0.4, "%g", percent(others));
	unload();
}

/* One that is away is still of the table: its own keys go, come back, and no others move. */
Test(maglev, is_made_anew_only_when_servers_or_weights_change)
{
	static uint16_t before[KEYS], away[KEYS];
	const void *first;

	load_hash(MAGLEV, 8, NULL);
	first = table();
	assign(before);
	assign_without(5, away);
	cr_expect_eq(moved(before, away, 5), 0);
	crowd.shared->live[2].inflight = 9;
	crowd.view.generation++;
	cr_expect_eq(table(), first);
	crowd.weight[2] = 3;
	cr_expect_neq(table()->weight[2], 1);
	crowd.view.n = 7;
	cr_expect_eq(table()->n, 7);
	crowd.name[3] = "other";
	cr_expect_eq(strcmp(table()->names + 3 * sizeof "ms1", "other"), 0);
	first = table();
	crowd.name[3] = crowd.name[4]; /* two rows in the other order: the entries name rows */
	crowd.name[4] = "other";
	cr_expect_eq(strcmp(table()->names + 4 * sizeof "ms1", "other"), 0);
	unload();
}

Test(maglev, agrees_on_all_hosts_in_whatever_order_they_know_the_servers)
{
	static const uint32_t weight[] = { 1, 2, 3, 4, 5, 6 }, reversed[] = { 6, 5, 4, 3, 2, 1 };
	static uint16_t before[KEYS], after[KEYS];

	load_hash(MAGLEV, 6, weight);
	assign(before);
	set_weights(6, reversed);
	for (size_t i = 0; i < 6; i++) {
		crowd.name[i] = crowd.text[5 - i];
		crowd.id[i] = (uint32_t)(i * 7 + 3);
	}
	assign(after);
	for (unsigned k = 0; k < KEYS; k++)
		cr_assert_eq(before[k], 5 - after[k]);
	unload();
}

/* Weights that all grow alike are the same shares, and the same table. */
Test(maglev, does_not_care_for_the_scale_of_weights)
{
	static uint16_t before[KEYS], after[KEYS];

	load_hash(MAGLEV, 3, (uint32_t[]){ 1, 2, 5 });
	assign(before);
	set_weights(3, (uint32_t[]){ 20, 40, 100 });
	assign(after);
	cr_expect_eq(moved(before, after, CR_NONE), 0);
	unload();
}

/*** Lists ***/

/* The first places of the 6 rows in this order, as the core may offer them: by rank, not by row. */
static void expect_list(const char *key, const uint16_t *offered, size_t n, const char *want)
{
	uint16_t order[6];
	char text[8] = "";

	memcpy(order, offered, n * sizeof *order);
	prepare(&crowd.view);
	plugin->router.route(instance.self, &crowd.view, &(struct cr_call){ .key = text_of(key) },
			     order, n);
	for (size_t i = 0; i < n && i < 3; i++)
		text[i] = (char)('1' + order[i]);
	cr_expect_str_eq(text, want, "%s", key);
}

Test(maglev, lists_the_same_servers_whatever_order_it_is_offered)
{
	load_hash(MAGLEV, 6, NULL);
	expect_list("alice", (uint16_t[]){ 0, 1, 2, 3, 4, 5 }, 6, "345");
	expect_list("alice", (uint16_t[]){ 5, 4, 3, 2, 1, 0 }, 6, "345");
	expect_list("alice", (uint16_t[]){ 3, 0, 5, 1, 4, 2 }, 6, "345");
	expect_list("alice", (uint16_t[]){ 0, 1, 3, 4, 5 }, 5, "451");
	expect_list("alice", (uint16_t[]){ 5, 3, 4, 1, 0 }, 5, "451");
	expect_list("alice", (uint16_t[]){ 4 }, 1, "5");
	unload();
}

/* Of 64 servers one or two are there: looks into the table end, distances decide, and well. */
Test(maglev, spreads_all_keys_over_the_few_that_are_left)
{
	unsigned first[CROWD] = { 0 };

	load_hash(MAGLEV, CROWD, NULL);
	prepare(&crowd.view);
	for (unsigned k = 0; k < KEYS; k++) {
		uint16_t order[] = { 7, 50 };
		char key[20];

		snprintf(key, sizeof key, "session-%u", k);
		cr_assert_eq(plugin->router.route(instance.self, &crowd.view,
						  &(struct cr_call){ .key = text_of(key) }, order,
						  2),
			     2);
		cr_assert_neq(order[0], order[1]);
		first[order[0]]++;
	}
	cr_expect_eq(first[7] + first[50], KEYS);
	cr_expect_float_eq(percent(first[7]), 50, 1, "%g", percent(first[7]));
	unload();
}

/*** Without a table ***/

static void expect_as_consistent(size_t n, const uint32_t *weight)
{
	static uint16_t by_distance[KEYS], without[KEYS];

	load_hash("", n, weight);
	assign_without(CR_NONE, by_distance);
	unload();
	load_hash(MAGLEV, n, weight);
	prepare(&crowd.view);
	plugin->router.release(instance.self, (void *)prepared);
	prepared = crowd.view.prepared = NULL;
	assign_as_it_is(CR_NONE, without);
	cr_expect_eq(moved(by_distance, without, CR_NONE), 0);
	unload();
}

Test(maglev, does_as_consistent_does_where_nothing_is_prepared)
{
	expect_as_consistent(1, NULL);
	expect_as_consistent(8, NULL);
	expect_as_consistent(5, (uint32_t[]){ 1, 2, 3, 4, 5 });
}

Test(maglev, makes_no_table_of_nobody_and_none_for_other_modes)
{
	load_hash(MAGLEV, 2, (uint32_t[]){ 0, 0 });
	cr_expect_null(table());
	crowd.weight[1] = 1;
	cr_expect_not_null(table());
	crowd.weight[1] = 0;
	cr_expect_null(table());
	unload();
	load_hash("mode=buckets\n", 2, NULL);
	cr_expect_null(table());
	unload();
}
