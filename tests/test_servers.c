/* test_servers.c - values taken and refused, derived metrics, reloads. */
#include "servers.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "clock.h"
#include "servers_scene.h"

#define GIB 1073741824.0
#define NONE                                                                                       \
	{                                                                                          \
		NAN, 0                                                                             \
	} /* never measured */

static char moved_address[] = "10.0.0.99:7101";

static bool is_readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1;
}

Test(servers, refuses_each_kind_of_bad_value_and_counts_it)
{
	static const struct {
		const char *metric;
		double value;
		int64_t ahead_ns;
		enum servers_reject why;
	} cases[] = {
		{ "jvm_heap_free_bytes", NAN, 0, SERVERS_NAN },
		{ "jvm_heap_free_bytes", INFINITY, 0, SERVERS_INFINITE },
		{ "jvm_heap_free_bytes", -INFINITY, 0, SERVERS_INFINITE },
		{ "jvm_heap_free_bytes", -1, 0, SERVERS_NEGATIVE },
		{ "jvm_heap_free_bytes", 4294967295.0, 0, SERVERS_WRAPPED },
		{ "jvm_heap_free_bytes", 1, 2 * CLOCK_S, SERVERS_FUTURE },
	};
	struct servers *servers = make(NULL);
	uint64_t expected[SERVERS_REJECTS] = { 0 };
	struct servers_entry entry;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const int metric = servers_metric(servers, cases[i].metric);
		const int64_t taken_ns = cases[i].ahead_ns ? clock_now_ns() + cases[i].ahead_ns : 0;

		cr_expect_eq(servers_put(servers, "ms1", metric, cases[i].value, taken_ns), -EINVAL,
			     "case %zu", i);
		expected[cases[i].why]++;
		entry = entry_of(servers, "ms1");
		cr_expect_eq(memcmp(entry.rejected, expected, sizeof expected), 0, "case %zu", i);
		cr_expect(isnan(entry.value[metric]), "case %zu", i);
	}
	entry = entry_of(servers, "ms2");
	cr_expect_eq(entry.rejected[SERVERS_NAN], 0);
	cr_expect_not(is_readable(servers_fd(servers)));
	servers_free(servers);
}

Test(servers, takes_the_largest_32_bit_number_where_it_is_no_size)
{
	struct servers *servers = make(NULL);
	const int metric = servers_metric(servers, "requests_total");

	cr_expect_eq(servers_put(servers, "ms1", metric, 4294967295.0, 0), 0);
	cr_expect_eq(entry_of(servers, "ms1").value[metric], 4294967295.0);
	cr_expect_eq(servers_put(servers, "ms1", 0, 4294967294.0, 0), 0);
	cr_expect_eq(entry_of(servers, "ms1").value[0], 4294967294.0);
	servers_free(servers);
}

Test(servers, takes_a_time_ahead_by_less_than_a_second_as_now)
{
	struct servers *servers = make(NULL);
	const int metric = servers_metric(servers, "busy_threads_ratio");
	const int64_t before_ns = clock_now_ns();
	int64_t taken_ns;

	cr_expect_eq(servers_put(servers, "ms1", metric, 0.5, before_ns + 900 * CLOCK_MS), 0);
	taken_ns = entry_of(servers, "ms1").taken_ns[metric];
	cr_expect(taken_ns >= before_ns && taken_ns <= clock_now_ns());
	servers_free(servers);
}

Test(servers, keeps_the_newer_of_two_values)
{
	struct servers *servers = make(NULL);
	const int metric = servers_metric(servers, "busy_threads_ratio");

	cr_expect_eq(servers_put(servers, "ms1", metric, 0.5, 2000), 0);
	cr_expect_eq(servers_put(servers, "ms1", metric, 0.25, 1000), 0);
	cr_expect_eq(entry_of(servers, "ms1").value[metric], 0.5);
	cr_expect_eq(servers_put(servers, "ms1", metric, 0.75, 3000), 0);
	cr_expect_eq(entry_of(servers, "ms1").value[metric], 0.75);
	cr_expect_eq(entry_of(servers, "ms1").taken_ns[metric], 3000);
	servers_free(servers);
}

Test(servers, derives_heap_figures_in_the_fixed_order)
{
	/* value and time of free, used, size, max; NaN: not measured. Then what comes out. */
	static const struct {
		const char *what;
		struct {
			double value;
			int64_t taken_ns;
		} in[4], free, used, available;
	} cases[] = {
		{ "nothing known", { NONE, NONE, NONE, NONE }, NONE, NONE, NONE },
		{ "free from size and used, oldest time",
		  { NONE, { 3 * GIB, 20 }, { 4 * GIB, 10 }, { 8 * GIB, 30 } },
		  { 1 * GIB, 10 },
		  { 3 * GIB, 20 },
		  { 5 * GIB, 20 } },
		{ "used from size and free",
		  { { 1 * GIB, 20 }, NONE, { 4 * GIB, 30 }, NONE },
		  { 1 * GIB, 20 },
		  { 3 * GIB, 20 },
		  { 1 * GIB, 20 } },
		{ "available from max",
		  { { 1 * GIB, 20 }, NONE, { 4 * GIB, 30 }, { 6 * GIB, 5 } },
		  { 1 * GIB, 20 },
		  { 3 * GIB, 20 },
		  { 3 * GIB, 5 } },
		{ "used ran past size: nothing free, not less",
		  { NONE, { 5 * GIB, 10 }, { 4 * GIB, 10 }, NONE },
		  { 0, 10 },
		  { 5 * GIB, 10 },
		  { 0, 10 } },
		{ "free above size: nothing used",
		  { { 5 * GIB, 10 }, NONE, { 4 * GIB, 10 }, NONE },
		  { 5 * GIB, 10 },
		  { 0, 10 },
		  { 4 * GIB, 10 } },
		{ "a measured value as new as its parts stays",
		  { { 2 * GIB, 10 }, { 3 * GIB, 20 }, { 4 * GIB, 10 }, NONE },
		  { 2 * GIB, 10 },
		  { 3 * GIB, 20 },
		  { 1 * GIB, 10 } },
		{ "a measured value older than its parts goes",
		  { { 2 * GIB, 9 }, { 3 * GIB, 20 }, { 4 * GIB, 10 }, NONE },
		  { 1 * GIB, 10 },
		  { 3 * GIB, 20 },
		  { 1 * GIB, 10 } },
		{ "size alone says nothing",
		  { NONE, NONE, { 4 * GIB, 10 }, { 8 * GIB, 10 } },
		  NONE,
		  NONE,
		  NONE },
		{ "max and used need no size",
		  { NONE, { 3 * GIB, 10 }, NONE, { 8 * GIB, 12 } },
		  NONE,
		  { 3 * GIB, 10 },
		  { 5 * GIB, 10 } },
	};
	static const char *const names[] = { "jvm_heap_free_bytes", "jvm_heap_used_bytes",
					     "jvm_heap_size_bytes", "jvm_heap_max_bytes" };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct servers *servers = make(NULL);
		const size_t free_at = (size_t)servers_metric(servers, names[0]);
		const size_t used_at = (size_t)servers_metric(servers, names[1]);
		const size_t available_at =
			(size_t)servers_metric(servers, "jvm_heap_available_bytes");
		struct servers_entry entry;

		for (size_t k = 0; k < 4; k++)
			if (!isnan(cases[i].in[k].value))
				servers_put(servers, "ms1", servers_metric(servers, names[k]),
					    cases[i].in[k].value, cases[i].in[k].taken_ns);
		entry = entry_of(servers, "ms1");
#define EXPECT(member)                                                                             \
	do {                                                                                       \
		const double want = cases[i].member.value;                                         \
		const double got = entry.value[member##_at];                                       \
                                                                                                   \
		cr_expect(isnan(want) ? isnan(got) : got == want, "%s: " #member " is %g",         \
			  cases[i].what, got);                                                     \
		cr_expect_eq(entry.taken_ns[member##_at], cases[i].member.taken_ns,                \
			     "%s: time of " #member, cases[i].what);                               \
	} while (0)
		EXPECT(free);
		EXPECT(used);
		EXPECT(available);
#undef EXPECT
		servers_free(servers);
	}
}

Test(servers, derives_what_is_free_after_a_collection_from_the_maximum_and_else_the_size)
{
	struct servers *servers = make(NULL);
	const int size = servers_metric(servers, "jvm_heap_size_bytes");
	const int max = servers_metric(servers, "jvm_heap_max_bytes");
	const int kept = servers_metric(servers, "jvm_heap_used_after_gc_bytes");
	const size_t free_at = (size_t)servers_metric(servers, "jvm_heap_free_after_gc_bytes");

	servers_put(servers, "ms1", kept, 1 * GIB, 20);
	cr_expect(isnan(entry_of(servers, "ms1").value[free_at]));
	servers_put(servers, "ms1", size, 4 * GIB, 10);
	cr_expect_eq(entry_of(servers, "ms1").value[free_at], 3 * GIB);
	servers_put(servers, "ms1", max, 8 * GIB, 30);
	cr_expect_eq(entry_of(servers, "ms1").value[free_at], 7 * GIB);
	cr_expect_eq(entry_of(servers, "ms1").taken_ns[free_at], 20);
	servers_free(servers);
}

Test(servers, knows_a_metric_by_its_name_once)
{
	struct servers *servers = make(NULL);
	const size_t before = servers_metric_count(servers);
	const int metric = servers_metric(servers, "sessions");

	cr_expect_eq(metric, (int)before);
	cr_expect_eq(servers_metric(servers, "sessions"), metric);
	cr_expect_eq(servers_metric_count(servers), before + 1);
	cr_expect_str_eq(servers_metric_name(servers, before), "sessions");
	cr_expect_null(servers_metric_name(servers, before + 1));
	servers_free(servers);
}

Test(servers, refuses_bad_and_too_many_metric_names)
{
	static const char *const bad[] = {
		"",
		"Heap",
		"heap free",
		"9lives",
		"_x",
		"heap-free",
		"a234567890123456789012345678901234567890123456789012345678901234",
	};
	struct servers *servers = make(NULL);
	char name[16];
	int i = 0;

	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		cr_expect_eq(servers_metric(servers, bad[k]), -EINVAL, "\"%s\"", bad[k]);
	while (servers_metric_count(servers) < SERVERS_METRICS_MAX) {
		snprintf(name, sizeof name, "m%d", i++);
		cr_assert_geq(servers_metric(servers, name), 0);
	}
	cr_expect_eq(servers_metric(servers, "one_more"), -ENOSPC);
	cr_expect_eq(servers_metric(servers, "busy_threads"), -ENOSPC);
	cr_expect_eq(servers_metric(servers, "m0"), SERVERS_METRICS_MAX - i);
	cr_expect_eq(servers_put(servers, "ms1", 64, 1, 0), -EINVAL);
	cr_expect_eq(servers_put(servers, "ms1", -1, 1, 0), -EINVAL);
	cr_expect_eq(servers_put(servers, "ms1", 63, 1, 0), 0);
	servers_free(servers);
}

Test(servers, never_takes_values_of_admin_and_unknown_servers)
{
	struct servers *servers = make(NULL);
	struct servers_entry entry;

	cr_expect_eq(servers_put(servers, "admin", 0, 1, 0), -ENOENT);
	cr_expect_eq(servers_put(servers, "ms3", 0, 1, 0), -ENOENT);
	servers_polled(servers, "wls", "admin", "wls: timeout: late");
	servers_polled(servers, "wls", "ms3", NULL);
	servers_skip(servers, "admin", "is an administration server");
	entry = entry_of(servers, "admin");
	cr_expect(isnan(entry.value[0]));
	cr_expect(entry.is_admin);
	cr_expect_not(entry.is_skipped);
	cr_expect_eq(entry.polls, 0);
	cr_expect_not(is_readable(servers_fd(servers)));
	servers_free(servers);
}

Test(servers, counts_polls_and_keeps_the_last_error_until_a_good_one)
{
	struct servers *servers = make(NULL);
	struct servers_entry entry;

	servers_polled(servers, "wls", "ms1", "wls: timeout: no answer in 500 ms");
	servers_polled(servers, "wls", "ms1", "wls: connect: refused");
	entry = entry_of(servers, "ms1");
	cr_expect_str_eq(entry.error, "wls: connect: refused");
	cr_expect_eq(entry.polls, 2);
	cr_expect_eq(entry.failures, 2);
	cr_expect_eq(entry.good_ns, 0);
	servers_polled(servers, "wls", "ms1", NULL);
	entry = entry_of(servers, "ms1");
	cr_expect_str_empty(entry.error);
	cr_expect_eq(entry.polls, 3);
	cr_expect_eq(entry.failures, 2);
	cr_expect(entry.good_ns > 0);
	servers_free(servers);
}

Test(servers, rings_once_for_a_batch)
{
	struct servers *servers = make(NULL);
	uint64_t count = 0;

	servers_put(servers, "ms1", 0, 1, 0);
	servers_put(servers, "ms2", 0, 1, 0);
	servers_put(servers, "ms1", 1, 1, 0);
	cr_assert_eq(read(servers_fd(servers), &count, sizeof count), (ssize_t)sizeof count);
	cr_expect_eq(count, 1);
	servers_put(servers, "ms1", 0, 2, 0);
	cr_expect_not(is_readable(servers_fd(servers)));
	servers_clear(servers);
	servers_put(servers, "ms1", 0, 3, 0);
	cr_expect(is_readable(servers_fd(servers)));
	servers_clear(servers);
	cr_expect_not(is_readable(servers_fd(servers)));
	servers_skip(servers, "ms2", "is an administration server");
	cr_expect(is_readable(servers_fd(servers)));
	servers_free(servers);
}

Test(servers, skips_over_a_reload_until_a_poll_turns_out_good)
{
	struct servers *servers = make(NULL);
	struct servers_entry entry;

	cr_expect_not(servers_is_skipped(servers, "ms1"));
	servers_skip(servers, "ms1", "this is AdminServer");
	cr_expect(servers_is_skipped(servers, "ms1"));
	cr_expect(servers_is_skipped(servers, "admin"));
	cr_expect_not(servers_is_skipped(servers, "nobody"));
	entry = entry_of(servers, "ms1");
	cr_expect(entry.is_skipped);
	cr_expect_str_eq(entry.skip_text, "this is AdminServer");
	cr_expect_eq(servers_put(servers, "ms1", 0, 1, 0), -ENOENT);
	servers_polled(servers, "wls", "ms1", NULL); /* the end of the poll that skipped it */
	cr_expect(entry_of(servers, "ms1").is_skipped);

	configure(servers, trio, 3);
	entry = entry_of(servers, "ms1");
	cr_expect(entry.is_skipped);
	cr_expect_str_eq(entry.skip_text, "this is AdminServer");
	cr_expect_not(servers_is_skipped(servers, "ms1"), "it is polled again");
	servers_polled(servers, "wls", "ms1", "wls: timeout: late");
	cr_expect(entry_of(servers, "ms1").is_skipped);
	servers_skip(servers, "ms1", "this is AdminServer");
	servers_polled(servers, "wls", "ms1", NULL);
	cr_expect(servers_is_skipped(servers, "ms1"));

	configure(servers, trio, 3);
	servers_polled(servers, "wls", "ms1", NULL);
	entry = entry_of(servers, "ms1");
	cr_expect_not(entry.is_skipped);
	cr_expect_str_empty(entry.skip_text);
	servers_free(servers);
}

Test(servers, believes_no_good_poll_before_every_source_has_had_a_turn)
{
	struct config_source source = { .interval_ns = 3600 * CLOCK_S, .timeout_ns = CLOCK_S };
	const struct config config = {
		.servers = trio, .n_servers = 3, .sources = &source, .n_sources = 1
	};
	struct servers *servers = make(NULL);
	struct err err = { 0 };

	servers_skip(servers, "ms1", "this is AdminServer");
	cr_assert_eq(servers_configure(servers, &config, &err), 0);
	servers_polled(servers, "wls", "ms1", NULL);
	cr_expect(entry_of(servers, "ms1").is_skipped);
	servers_free(servers);
}

Test(servers, forgets_that_it_skips_a_server_that_has_moved)
{
	static char elsewhere[] = "10.0.0.99:7101";
	struct config_server next[] = { trio[0], trio[1], trio[2] };
	struct servers *servers = make(NULL);

	servers_skip(servers, "ms1", "this is AdminServer");
	next[1].address = elsewhere;
	configure(servers, next, 3);
	cr_expect_not(entry_of(servers, "ms1").is_skipped);
	servers_free(servers);
}

Test(servers, skips_what_was_skipped_before_a_restart_but_has_it_polled)
{
	struct servers *servers = make(NULL);

	servers_suspect(servers, "ms1", "before the restart");
	servers_suspect(servers, "admin", "before the restart");
	cr_expect(entry_of(servers, "ms1").is_skipped);
	cr_expect_str_eq(entry_of(servers, "ms1").skip_text, "before the restart");
	cr_expect_not(servers_is_skipped(servers, "ms1"));
	cr_expect_not(entry_of(servers, "admin").is_skipped);
	servers_skip(servers, "ms2", "this is AdminServer");
	servers_suspect(servers, "ms2", "before the restart");
	cr_expect(servers_is_skipped(servers, "ms2"), "a poll was faster");
	servers_polled(servers, "wls", "ms1", NULL);
	cr_expect_not(entry_of(servers, "ms1").is_skipped);
	servers_free(servers);
}

/* The other source answers, but knows nothing of administration servers. */
Test(servers, clears_nobody_while_polls_of_another_source_fail)
{
	struct servers *servers = make(NULL);

	servers_suspect(servers, "ms1", "before the restart");
	servers_polled(servers, "wls", "ms1", "connect: refused");
	servers_polled(servers, "host", "ms1", NULL);
	cr_expect(entry_of(servers, "ms1").is_skipped);
	cr_expect_str_eq(entry_of(servers, "ms1").skip_text, "before the restart");
	servers_polled(servers, "wls", "ms1", NULL);
	cr_expect_not(entry_of(servers, "ms1").is_skipped);
	servers_free(servers);
}

Test(servers, keeps_what_it_knows_over_a_reload)
{
	struct config_server next[] = { trio[2], trio[1] };
	struct servers *servers = make(NULL);
	struct servers_entry entry;

	servers_put(servers, "ms1", 0, 7, 1000);
	servers_polled(servers, "wls", "ms1", NULL);
	next[1].weight = 9;
	configure(servers, next, 2);
	cr_expect_not(servers_get(servers, 2, &entry));
	cr_assert(servers_get(servers, 0, &entry));
	cr_expect_str_eq(entry.name, "ms2");
	cr_assert(servers_get(servers, 1, &entry));
	cr_expect_str_eq(entry.name, "ms1");
	cr_expect_eq(entry.value[0], 7);
	cr_expect_eq(entry.taken_ns[0], 1000);
	cr_expect_eq(entry.polls, 1);
	cr_expect_eq(entry.weight, 9);
	cr_expect_not(servers_get(servers, 2, &entry));
	servers_free(servers);
}

Test(servers, starts_afresh_with_a_new_address_or_role)
{
	struct config_server next[] = { trio[0], trio[1], trio[2] };
	struct servers *servers = make(NULL);
	struct servers_entry entry;

	servers_put(servers, "ms1", 0, 7, 1000);
	servers_put(servers, "ms2", 0, 8, 1000);
	next[1].address = moved_address;
	next[2].is_admin = true;
	configure(servers, next, 3);
	entry = entry_of(servers, "ms1");
	cr_expect_str_eq(entry.address, "10.0.0.99:7101");
	cr_expect(isnan(entry.value[0]));
	entry = entry_of(servers, "ms2");
	cr_expect(entry.is_admin);
	cr_expect(isnan(entry.value[0]));
	servers_free(servers);
}

Test(servers, serves_ten_thousand_servers)
{
	enum { N = 10000, PUTS = 100000 };
	struct config_server *list = calloc(N, sizeof *list);
	struct servers *servers = servers_new(NULL);
	struct servers_entry entry;
	char name[32];
	clock_t spent;

	for (size_t i = 0; i < N; i++) {
		/* Not in the order of their names. */
		snprintf(name, sizeof name, "server-%zu", i * 7919 % N);
		list[i] = (struct config_server){ .name = strdup(name), .address = strdup("h:1") };
	}
	configure(servers, list, N);
	spent = clock();
	for (size_t i = 0; i < PUTS; i++)
		cr_assert_eq(servers_put(servers, list[i % N].name, 0, (double)i, 0), 0);
	spent = clock() - spent;
	cr_expect_lt((double)spent / CLOCKS_PER_SEC, 2.0, "a second's worth of puts took a fifth");
	for (size_t i = 0; i < N; i++) {
		cr_assert(servers_get(servers, i, &entry));
		cr_assert_str_eq(entry.name, list[i].name);
		cr_assert_eq(entry.value[0], (double)(PUTS - N + i));
	}
	servers_free(servers);
	for (size_t i = 0; i < N; i++) {
		free(list[i].name);
		free(list[i].address);
	}
	free(list);
}
