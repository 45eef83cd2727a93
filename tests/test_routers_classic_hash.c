/* test_routers_classic_hash.c - hash: which key goes where, and how many move. */
#include "hash_scene.h"

/*** Shares ***/

static void expect_shares(const char *packed, size_t n, const uint32_t *weight, double limit)
{
	unsigned first[CROWD] = { 0 };
	double chi;

	load_hash(packed, n, weight);
	for (unsigned k = 0; k < KEYS; k++)
		first[route_number(k)]++;
	chi = chi_by_weight(first, weight, n);
	cr_expect_lt(chi, limit, "%s %zu servers: %g", packed, n, chi);
	unload();
}

/* Limits are passed once in 1000 times, by degrees of freedom. */
Test(hash, gives_each_server_keys_by_weight)
{
	static const uint32_t heavy[] = { 100, 100, 100, 100, 100, 100, 100, 100 };

	for (size_t m = 0; m < MODES; m++) {
		expect_shares(modes[m], 1, (uint32_t[]){ 1 }, 1e-9);
		expect_shares(modes[m], 2, (uint32_t[]){ 1, 1 }, 10.83);
		expect_shares(modes[m], 2, (uint32_t[]){ 5, 3 }, 10.83);
		expect_shares(modes[m], 2, (uint32_t[]){ 1, 100 }, 10.83);
		expect_shares(modes[m], 3, (uint32_t[]){ 2, 0, 3 }, 10.83);
		expect_shares(modes[m], 5, (uint32_t[]){ 1, 2, 3, 4, 5 }, 18.47);
		expect_shares(modes[m], 8, heavy, 24.32);
	}
}

/* Signed remainders and absolute values have killed others on such addresses. */
Test(hash, takes_all_addresses)
{
	for (size_t m = 0; m < MODES; m++) {
		unsigned first[3] = { 0 };

		load_hash(modes[m], 3, NULL);
		for (unsigned i = 0; i < 16640; i++) {
			char client[40];

			snprintf(client, sizeof client, "10.%u.%u.%u", i % 65, i / 65, i % 7);
			first[route_client(client)]++;
		}
		cr_expect_lt(chi_by_weight(first, (uint32_t[]){ 1, 1, 1 }, 3), 13.82);
		unload();
	}
}

Test(hash, spreads_the_hosts_of_one_network)
{
	for (size_t m = 0; m < MODES; m++) {
		unsigned first[8] = { 0 };

		load_hash(modes[m], 8, NULL);
		for (unsigned i = 0; i < 256; i++) {
			char client[40];

			snprintf(client, sizeof client, "192.0.2.%u", i);
			first[route_client(client)]++;
		}
		for (size_t i = 0; i < 8; i++) /* 32, three deviations of 5.3 */
			cr_expect(first[i] > 16 && first[i] < 48, "server %zu: %u", i, first[i]);
		unload();
	}
}

/*** Keys that stay and keys that move ***/

Test(hash, keeps_a_key_where_it_is)
{
	for (size_t m = 0; m < MODES; m++) {
		uint16_t owner, second;

		load_hash(modes[m], 8, NULL);
		owner = route_key("alice");
		second = crowd.order[1];
		for (int i = 0; i < 1000; i++) {
			cr_assert_eq(route_key("alice"), owner);
			cr_assert_eq(crowd.order[1], second);
			place_one();
		}
		unload();
	}
}

/* These values stay: a new version that sends keys elsewhere empties every cache behind it. */
Test(hash, sends_known_keys_to_known_servers)
{
	static const char *const keys[] = { "alice", "bob",       "carol",      "x",
					    "",      "192.0.2.1", "2001:db8::1" };
	static const char *const want[] = { "3256158", "1244118", "3644153" };

	for (size_t m = 0; m < MODES; m++) {
		char text[8] = "";

		load_hash(modes[m], 8, NULL);
		for (size_t k = 0; k < 7; k++)
			text[k] = (char)('1' + (keys[k][0] != '\0' ? route_key(keys[k]) : 0));
		cr_expect_str_eq(text, want[m]);
		unload();
	}
}

/* Removing and adding one of eight; the others' keys stay. An even share is 12.5 %. */
Test(hash, consistent_moves_the_keys_of_one_server_and_no_others)
{
	static uint16_t eight[KEYS], seven[KEYS], nine[KEYS];
	unsigned lost, won;

	load_hash("", 8, NULL);
	assign(eight);
	crowd.weight[3] = 0;
	assign(seven);
	crowd.weight[3] = 1;
	crowd.view.n = 9;
	assign(nine);
	lost = moved(eight, seven, CR_NONE);
	won = moved(eight, nine, CR_NONE);
	printf("hash consistent: one of 8 removed moves %.1f %% of the keys, a ninth %.1f %%\n",
	       percent(lost), percent(won));
	cr_expect(lost > KEYS * 0.119 && lost < KEYS * 0.131, "%u", lost);
	cr_expect(won > KEYS * 0.105 && won < KEYS * 0.117, "%u", won);
	cr_expect_eq(moved(eight, seven, 3), 0);
	cr_expect_eq(moved(eight, nine, 8), 0);
	unload();
}

Test(hash, consistent_moves_keys_only_to_a_server_whose_weight_grows)
{
	static uint16_t before[KEYS], after[KEYS];

	load_hash("", 4, (uint32_t[]){ 10, 10, 10, 10 });
	assign(before);
	crowd.weight[2] = 20;
	assign(after);
	cr_expect_eq(moved(before, after, 2), 0);
	for (unsigned k = 0; k < KEYS; k++)
		cr_assert(before[k] != 2 || after[k] == 2);
	/* from 1/4 to 2/5 of all */
	cr_expect(moved(before, after, CR_NONE) > KEYS * 0.14 &&
		  moved(before, after, CR_NONE) < KEYS * 0.16);
	unload();
}

/* The share of the keys that move when one of eight is removed from buckets. */
static double buckets_moved(size_t removed)
{
	static uint16_t eight[KEYS], seven[KEYS];

	load_hash("mode=buckets\n", 8, NULL);
	assign(eight);
	crowd.weight[removed] = 0;
	assign(seven);
	unload();
	return percent(moved(eight, seven, CR_NONE));
}

Test(hash, buckets_move_a_quarter_to_half_of_the_keys_when_the_service_changes)
{
	const double end = buckets_moved(0), middle = buckets_moved(4);

	printf("hash buckets: one of 8 removed moves %.1f %% (row 1) or %.1f %% (row 5)\n", end,
	       middle);
	cr_expect(end > 49 && end < 51, "%g", end);              /* 50 % */
	cr_expect(middle > 27.5 && middle < 29.5, "%g", middle); /* 28.6 % */
}

Test(hash, spreads_the_keys_of_a_server_that_is_away_over_all_others_and_no_other_keys)
{
	static const uint32_t weight[] = { 1, 2, 3, 4, 5 }, others[] = { 1, 2, 0, 4, 5 };
	static uint16_t before[KEYS], away[KEYS], back[KEYS];

	for (size_t m = 0; m < MODES; m++) {
		unsigned heir[5] = { 0 };

		load_hash(modes[m], 5, weight);
		assign(before);
		assign_without(2, away);
		assign(back);
		cr_expect_eq(moved(before, away, 2), 0, "%s", modes[m]);
		cr_expect_eq(moved(before, back, CR_NONE), 0, "%s", modes[m]);
		for (unsigned k = 0; k < KEYS; k++)
			if (before[k] == 2)
				heir[away[k]]++;
		cr_expect_lt(chi_by_weight(heir, others, 5), 16.27, "%s", modes[m]); /* 3 degrees */
		unload();
	}
}

/* A call that was refused by its first server and the calls that come later agree on the next. */
Test(hash, falls_back_to_the_server_that_takes_over)
{
	static uint16_t away[KEYS];

	for (size_t m = 0; m < MODES; m++) {
		load_hash(modes[m], 6, (uint32_t[]){ 3, 1, 4, 1, 5, 9 });
		assign_without(4, away);
		for (unsigned k = 0; k < KEYS; k++)
			if (route_number(k) == 4)
				cr_assert_eq(crowd.order[1], away[k]);
		unload();
	}
}

Test(hash, consistent_agrees_on_all_hosts_in_whatever_order_they_know_the_servers)
{
	static uint16_t before[KEYS], after[KEYS];

	load_hash("", 6, NULL);
	assign(before);
	for (size_t i = 0; i < 6; i++) {
		crowd.name[i] = crowd.text[5 - i];
		crowd.id[i] = (uint32_t)(i * 7 + 3);
	}
	assign(after);
	for (unsigned k = 0; k < KEYS; k++)
		cr_assert_eq(before[k], 5 - after[k]);
	unload();
}

static void note_keys(unsigned worker)
{
	for (unsigned k = 0; k < CROWD * 16; k++) {
		char key[20];
		uint16_t order[CROWD];

		snprintf(key, sizeof key, "session-%u", k);
		plugin->router.route(instance.self, &crowd.view,
				     &(struct cr_call){ .random = worker, .key = text_of(key) },
				     order, usable(order));
		crowd.shared->first[worker][k % CROWD] =
			crowd.shared->first[worker][k % CROWD] * 8 + order[0];
	}
}

Test(hash, is_the_same_in_four_threads_of_two_processes)
{
	for (size_t m = 0; m < MODES; m++) {
		load_hash(modes[m], 8, NULL);
		prepare(&crowd.view);
		run_everywhere(note_keys);
		for (size_t w = 1; w < WORKERS; w++)
			cr_expect_eq(memcmp(crowd.shared->first[0], crowd.shared->first[w],
					    sizeof crowd.shared->first[0]),
				     0);
		unload();
	}
}

/*** Where the key comes from ***/

static const struct cr_param customer = { { "customer", 8 }, { "carol", 5 } };
static const struct cr_param other = { { "custom", 6 }, { "dave", 4 } };
static const struct cr_param *const params[] = { &other, &customer };

static const struct cr_call full_call = { .method = { "GET /cart", 9 },
					  .key = { "alice", 5 },
					  .client = { "192.0.2.7", 9 },
					  .param = params,
					  .n_params = 2 };

/* The order of 8 servers for a call, as digits. */
static const char *routed(const struct cr_call *call)
{
	static char text[2][CROWD + 1];
	static unsigned turn;
	char *at = text[turn++ % 2];

	ask(call);
	for (int i = 0; i < crowd.n; i++)
		at[i] = (char)('0' + crowd.order[i]);
	at[crowd.n] = '\0';
	return at;
}

static void expect_key(const char *packed, const struct cr_call *call, const char *key)
{
	load_hash(packed, 8, NULL);
	cr_expect_str_eq(routed(call), routed(&(struct cr_call){ .key = text_of(key) }), "%s %s",
			 packed, key);
	unload();
}

Test(hash, takes_the_key_from_where_the_option_says)
{
	struct cr_call no_param = full_call, no_key = full_call, no_method = full_call;

	no_param.n_params = 1;
	no_key.key.len = 0;
	no_method.method.len = 0;
	expect_key("", &full_call, "alice");
	expect_key("key=auto\n", &no_key, "192.0.2.7");
	expect_key("key=method\n", &full_call, "GET /cart");
	expect_key("key=method\n", &no_method, "alice");
	expect_key("key=param:customer\n", &full_call, "carol");
	expect_key("key=param:customer\n", &no_param, "alice");
	no_param.key.len = 0;
	expect_key("key=param:customer\n", &no_param, "192.0.2.7");
	load_hash("key=client\n", 8, NULL);
	cr_expect_str_eq(routed(&full_call),
			 routed(&(struct cr_call){ .client = text_of("192.0.2.7") }));
	unload();
}

Test(hash, knows_an_ipv4_client_at_an_ipv6_socket)
{
	load_hash("", CROWD, NULL);
	cr_expect_eq(route_client("::ffff:192.0.2.7"), route_client("192.0.2.7"));
	cr_expect_eq(route_client("::ffff:198.51.100.9"), route_client("198.51.100.9"));
	cr_expect_neq(route_client("::ffff:c000:207"), route_client("c000:207"));
	cr_expect_neq(route_client("2001:db8::1"), route_client("2001:db8::2"));
	cr_expect_lt(route_client("::ffff:"), CROWD);
	unload();
}

Test(hash, sends_calls_without_a_key_anywhere_by_weight)
{
	static const uint32_t weight[] = { 1, 2, 3, 4 };
	unsigned first[4];

	for (size_t m = 0; m < MODES; m++) {
		load_hash(modes[m], 4, weight);
		count_first(20000, first);
		cr_expect_lt(chi_by_weight(first, weight, 4), 16.27); /* 3 degrees of freedom */
		unload();
	}
}

/*** The bound ***/

static void expect_one_hot_key(const char *packed, size_t n, const uint32_t *weight, int calls,
			       uint32_t most)
{
	uint32_t seen = 0;

	load_hash(packed, n, weight);
	for (int i = 0; i < calls; i++)
		crowd.shared->live[route_key("alice")].inflight++;
	for (size_t i = 0; i < n; i++)
		if (crowd.shared->live[i].inflight > seen)
			seen = crowd.shared->live[i].inflight;
	cr_expect_eq(seen, most, "%s: %u", packed, seen);
	unload();
}

Test(hash, bound_keeps_one_hot_key_from_overloading_its_server)
{
	static const uint32_t weight[] = { 1, 3, 1 };

	expect_one_hot_key("", 8, NULL, 800, 800);
	expect_one_hot_key("bound=1.25\n", 8, NULL, 800, 125);
	expect_one_hot_key("bound=1\n", 8, NULL, 800, 100);
	expect_one_hot_key("bound=1.25\nmode=buckets\n", 8, NULL, 800, 125);
	expect_one_hot_key("bound=1.25\nmode=maglev\n", 8, NULL, 800, 125);
	expect_one_hot_key("bound=1\nmode=maglev\n", 3, weight, 500, 300);
	expect_one_hot_key("bound=2\n", 1, NULL, 50, 50);
	expect_one_hot_key("bound=1\n", 3, weight, 500, 300);
}

/* A bound that leaves out the arriving call would be 0 for all. */
Test(hash, bound_lets_an_idle_service_keep_its_keys)
{
	static uint16_t free_keys[KEYS], bound_keys[KEYS];

	for (size_t m = 0; m < MODES; m++) {
		char packed[60];

		load_hash(modes[m], 8, NULL);
		assign(free_keys);
		unload();
		snprintf(packed, sizeof packed, "%sbound=1.25\n", modes[m]);
		load_hash(packed, 8, NULL);
		assign(bound_keys);
		cr_expect_eq(moved(free_keys, bound_keys, CR_NONE), 0);
		unload();
	}
}

/* To the next of each key's own order, not all to the one beside the full server. */
Test(hash, bound_passes_the_keys_of_a_full_server_to_all_others)
{
	static const uint32_t even[] = { 1, 1, 0, 1, 1 };

	for (size_t m = 0; m < MODES; m++) {
		unsigned heir[5] = { 0 };
		char packed[60];

		snprintf(packed, sizeof packed, "%sbound=1.25\n", modes[m]);
		load_hash(packed, 5, NULL);
		for (unsigned k = 0; k < KEYS; k++) {
			const uint16_t owner = route_number(k);

			crowd.shared->live[2].inflight = 8;
			if (owner == 2)
				heir[route_number(k)]++;
			else
				cr_assert_eq(route_number(k), owner);
			crowd.shared->live[2].inflight = 0;
		}
		cr_expect_lt(chi_by_weight(heir, even, 5), 16.27); /* 3 degrees of freedom */
		unload();
	}
}
