/* test_servers_put.c - values that are not believed, what follows from those of threads, how values
 * age, and when those of backups count. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "clock.h"
#include "servers_scene.h"

#define GIB 1073741824.0

static struct servers_rejected rejected_by(struct servers *servers, size_t k)
{
	struct servers_rejected rejected;

	cr_assert(servers_get_rejected(servers, 1, k, &rejected), "ms1 has no source %zu", k);
	return rejected;
}

Test(servers_put, counts_what_is_not_believed_by_source_with_the_last_of_each)
{
	struct servers *servers = make(NULL);
	const int free_bytes = servers_metric(servers, "jvm_heap_free_bytes");
	const int max = servers_metric(servers, "jvm_heap_max_bytes");
	struct servers_rejected rejected;

	cr_expect_eq(servers_put_from(servers, "wls", "ms1", free_bytes, -5, 0), -EINVAL);
	cr_expect_eq(servers_put_from(servers, "wls", "ms1", max, 4294967295.0, 0), -EINVAL);
	cr_expect_eq(servers_put_from(servers, "web", "ms1", max, NAN, 0), -EINVAL);
	cr_expect_eq(servers_put_from(servers, "web", "ms1", max, 7, 0), 0);
	rejected = rejected_by(servers, 0);
	cr_expect_str_eq(rejected.source, "wls");
	cr_expect_eq(rejected.count[SERVERS_NEGATIVE], 1);
	cr_expect_eq(rejected.count[SERVERS_WRAPPED], 1);
	cr_expect_eq(rejected.count[SERVERS_NAN], 0);
	cr_expect_str_eq(rejected.text,
			 "jvm_heap_max_bytes: 4294967295 is the limit of a 32-bit agent");
	rejected = rejected_by(servers, 1);
	cr_expect_str_eq(rejected.source, "web");
	cr_expect_eq(rejected.count[SERVERS_NAN], 1);
	cr_expect_str_eq(rejected.text, "jvm_heap_max_bytes: nan is not a figure");
	cr_expect(!servers_get_rejected(servers, 1, 2, &rejected));
	cr_expect(!servers_get_rejected(servers, 2, 0, &rejected), "ms2 has none");
	cr_expect(!servers_get_rejected(servers, 3, 0, &rejected), "there is no such server");
	servers_free(servers);
}

Test(servers_put, counts_by_its_word_what_a_collector_does_not_believe)
{
	static const struct {
		const char *word;
		enum servers_reject reject;
	} cases[] = {
		{ "nan", SERVERS_NAN },
		{ "infinite", SERVERS_INFINITE },
		{ "negative", SERVERS_NEGATIVE },
		{ "wrapped", SERVERS_WRAPPED },
		{ "future", SERVERS_FUTURE },
		{ "not_a_number", SERVERS_NOT_A_NUMBER },
		{ "too_large", SERVERS_TOO_LARGE },
		{ "above_one", SERVERS_ABOVE_ONE },
		{ "many", SERVERS_MANY },
		{ "twice", SERVERS_TWICE },
		{ "no_time", SERVERS_NO_TIME },
		{ "other", SERVERS_OTHER },
	};
	struct servers *servers = make(NULL);
	const int max = servers_metric(servers, "jvm_heap_max_bytes");
	uint64_t expected[SERVERS_REJECTS] = { 0 };

	cr_assert_eq(sizeof cases / sizeof *cases, SERVERS_REJECTS);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cr_expect_str_eq(servers_reject_word(cases[i].reject), cases[i].word);
		cr_expect_eq(servers_reject(servers, "wls", "ms1", max, cases[i].word, NULL), 0);
		expected[cases[i].reject]++;
		cr_expect_eq(memcmp(rejected_by(servers, 0).count, expected, sizeof expected), 0,
			     "%s", cases[i].word);
	}
	cr_expect_str_eq(rejected_by(servers, 0).text, "jvm_heap_max_bytes: other");
	cr_expect_eq(servers_reject(servers, "wls", "ms1", max, "odd", "it is odd: 7"), 0);
	cr_expect_str_eq(rejected_by(servers, 0).text, "jvm_heap_max_bytes: odd: it is odd: 7");
	cr_expect_eq(entry_of(servers, "ms1").rejected[SERVERS_OTHER], 2);
	cr_expect(isnan(entry_of(servers, "ms1").value[max]));
	cr_expect_eq(servers_reject(servers, "wls", "ms1", 99, "odd", NULL), -EINVAL);
	cr_expect_eq(servers_reject(servers, "wls", "admin", max, "odd", NULL), -ENOENT);
	cr_expect_eq(servers_reject(servers, "wls", "ms7", max, "odd", NULL), -ENOENT);
	servers_free(servers);
}

Test(servers_put, says_how_far_ahead_a_time_is)
{
	struct servers *servers = make(NULL);
	const int free_bytes = servers_metric(servers, "jvm_heap_free_bytes");

	cr_expect_eq(servers_put_from(servers, "wls", "ms1", free_bytes, 5,
				      clock_now_ns() + 90 * CLOCK_S),
		     -EINVAL);
	cr_expect_str_eq(rejected_by(servers, 0).text,
			 "jvm_heap_free_bytes: measured 90.0 s ahead of this host's clock");
	servers_free(servers);
}

Test(servers_put, counts_for_a_few_dozen_sources_and_then_only_the_sum)
{
	struct servers *servers = make(NULL);
	const int free_bytes = servers_metric(servers, "jvm_heap_free_bytes");
	struct servers_rejected rejected;
	char name[16];

	for (int i = 0; i < SERVERS_REJECTERS_MAX + 5; i++) {
		snprintf(name, sizeof name, "s%d", i);
		cr_expect_eq(servers_put_from(servers, name, "ms1", free_bytes, -1, 0), -EINVAL);
	}
	cr_expect(servers_get_rejected(servers, 1, SERVERS_REJECTERS_MAX - 1, &rejected));
	cr_expect(!servers_get_rejected(servers, 1, SERVERS_REJECTERS_MAX, &rejected));
	cr_expect_eq(entry_of(servers, "ms1").rejected[SERVERS_NEGATIVE], 37);
	servers_free(servers);
}

Test(servers_put, a_value_has_the_time_at_which_it_was_measured_not_told)
{
	struct servers *servers = make(NULL);
	const int free_bytes = servers_metric(servers, "jvm_heap_free_bytes");
	const int64_t taken_ns = clock_now_ns() - 7 * CLOCK_S;

	cr_expect_eq(servers_put_from(servers, "prom", "ms1", free_bytes, 5, taken_ns), 0);
	cr_expect_eq(entry_of(servers, "ms1").taken_ns[free_bytes], taken_ns);
	servers_free(servers);
}

Test(servers_put, a_failed_poll_and_a_rejected_value_leave_the_last_one_to_age)
{
	struct servers *servers = make(NULL);
	const int free_bytes = servers_metric(servers, "jvm_heap_free_bytes");
	const int64_t taken_ns = clock_now_ns() - CLOCK_S;
	struct servers_entry entry;

	cr_expect_eq(servers_put_from(servers, "wls", "ms1", free_bytes, 5, taken_ns), 0);
	servers_polled(servers, "wls", "ms1", "wls: absent: no row of this server in the answer");
	cr_expect_eq(servers_put_from(servers, "wls", "ms1", free_bytes, NAN, 0), -EINVAL);
	entry = entry_of(servers, "ms1");
	cr_expect_eq(entry.value[free_bytes], 5);
	cr_expect_eq(entry.taken_ns[free_bytes], taken_ns);
	servers_free(servers);
}

Test(servers_put, a_counter_that_starts_anew_is_taken_as_it_is)
{
	struct servers *servers = make(NULL);
	const int requests = servers_metric(servers, "requests_total");
	struct servers_entry entry;

	cr_expect_eq(servers_put_from(servers, "web", "ms1", requests, 5000, 0), 0);
	cr_expect_eq(servers_put_from(servers, "web", "ms1", requests, 3, 0), 0);
	entry = entry_of(servers, "ms1");
	cr_expect_eq(entry.value[requests], 3);
	cr_expect_eq(entry.contradictions, 0);
	for (size_t i = 0; i < SERVERS_REJECTS; i++)
		cr_expect_eq(entry.rejected[i], 0);
	servers_free(servers);
}

Test(servers_put, what_contradicts_is_told_of_the_values_as_they_were_measured)
{
	struct servers *servers = make(NULL);
	const int used = servers_metric(servers, "jvm_heap_used_bytes");
	const int size = servers_metric(servers, "jvm_heap_size_bytes");

	cr_expect_eq(servers_put(servers, "ms1", used, 300, 0), 0);
	cr_expect_eq(servers_put(servers, "ms1", size, 200, 0), 0);
	cr_expect_eq(entry_of(servers, "ms1").contradictions, 1, "used > size");
	cr_expect_eq(servers_put(servers, "ms1", size, 400, 0), 0);
	cr_expect_eq(entry_of(servers, "ms1").contradictions, 0);
	servers_free(servers);
}

/*** Polls ***/

/* "wls: timeout; jvm: refused": what the failing sources of ms1 say, in their order. */
static const char *failing(struct servers *servers)
{
	struct servers_failing found;
	static char text[512];
	size_t k = 0;

	text[0] = '\0';
	for (; servers_get_failing(servers, 1, k, &found); k++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
			       k > 0 ? "; " : "", found.text);
	return text;
}

Test(servers_put, keeps_what_each_source_says_that_fails_until_it_is_good_again)
{
	struct servers *servers = make(NULL);
	struct servers_failing found;
	int64_t since_ns;

	cr_expect_str_empty(failing(servers));
	servers_polled(servers, "jvm", "ms1", "jvm: connect: refused");
	servers_polled(servers, "wls", "ms1", "wls: timeout: late");
	cr_assert(servers_get_failing(servers, 1, 0, &found));
	since_ns = found.since_ns;
	servers_polled(servers, "jvm", "ms1", "jvm: auth: wrong password");
	servers_polled(servers, "host", "ms1", NULL);
	cr_expect_str_eq(failing(servers), "jvm: auth: wrong password; wls: timeout: late");
	cr_expect_str_eq(entry_of(servers, "ms1").error, "jvm: auth: wrong password");
	cr_assert(servers_get_failing(servers, 1, 0, &found));
	cr_expect_str_eq(found.source, "jvm");
	cr_expect_eq(found.since_ns, since_ns, "it has failed since its first failure in a row");
	servers_polled(servers, "jvm", "ms1", NULL);
	cr_expect_str_eq(failing(servers), "wls: timeout: late");
	servers_polled(servers, "wls", "ms1", NULL);
	cr_expect_str_empty(failing(servers));
	cr_expect_not(servers_get_failing(servers, 99, 0, &found));
	servers_free(servers);
}

Test(servers_put, forgets_after_a_reload_what_a_source_said_that_polls_the_server_no_more)
{
	size_t both[] = { 1, 2 }, second[] = { 2 };
	struct config_source sources[] = {
		{ .name = (char[]){ "wls" }, .servers = both, .n_servers = 2 },
		{ .name = (char[]){ "jvm" }, .servers = second, .n_servers = 1 },
	};
	const struct config config = {
		.servers = trio, .n_servers = 3, .sources = sources, .n_sources = 2
	};
	struct servers *servers = make(NULL);
	struct err err = { 0 };

	servers_polled(servers, "jvm", "ms1", "jvm: late");
	servers_polled(servers, "gone", "ms1", "gone: late");
	servers_polled(servers, "wls", "ms1", "wls: late");
	cr_assert_eq(servers_configure(servers, &config, &err), 0);
	cr_expect_str_eq(failing(servers), "wls: late");
	servers_free(servers);
}

Test(servers_put, has_the_figures_of_threads_once_one_of_them_is_asked_for)
{
	struct servers *servers = make(NULL);
	const size_t before = servers_metric_count(servers);
	const int max = servers_metric(servers, "max_threads");
	const int busy = servers_metric(servers, "busy_threads");
	const size_t ratio = (size_t)servers_metric(servers, "busy_threads_ratio");

	cr_expect_eq(servers_metric_count(servers), before + 3);
	servers_put(servers, "ms1", busy, 50, 20);
	cr_expect(isnan(entry_of(servers, "ms1").value[ratio]));
	servers_put(servers, "ms1", max, 200, 10);
	cr_expect_eq(entry_of(servers, "ms1").value[ratio], 0.25);
	cr_expect_eq(entry_of(servers, "ms1").taken_ns[ratio], 10);
	cr_expect_str_eq(entry_of(servers, "ms1").how[ratio], "busy threads / max threads");
	cr_expect_null(entry_of(servers, "ms1").how[max]);
	servers_put(servers, "ms1", (int)ratio, 0.3, 20);
	cr_expect_eq(entry_of(servers, "ms1").value[ratio], 0.3, "it is measured, and newer");
	cr_expect_null(entry_of(servers, "ms1").how[ratio]);
	servers_free(servers);
}

/* A source that knew the maximum may have given way to one that does not. */
Test(servers_put, another_heap_max_takes_the_place_of_what_was_measured_until_it_is_measured_again)
{
	struct config_server next[] = { trio[0], trio[1], trio[2] };
	struct servers *servers = make(NULL);
	const int used = servers_metric(servers, "jvm_heap_used_bytes");
	const int max = servers_metric(servers, "jvm_heap_max_bytes");
	const size_t available = (size_t)servers_metric(servers, "jvm_heap_available_bytes");
	struct servers_entry entry;

	servers_put(servers, "ms1", max, 4 * GIB, 10);
	servers_put(servers, "ms1", used, 1 * GIB, 20);
	next[1].heap_max = (int64_t)(8 * GIB);
	configure(servers, next, 3);
	entry = entry_of(servers, "ms1");
	cr_expect_eq(entry.value[max], 8 * GIB);
	cr_expect_eq(entry.value[available], 7 * GIB);
	cr_expect_eq(entry.taken_ns[available], 20);
	cr_expect_eq(entry.polls, 0, "nobody was polled");
	cr_expect(isnan(entry_of(servers, "ms2").value[max]));

	servers_put(servers, "ms1", max, 4 * GIB, 15);
	configure(servers, next, 3);
	entry = entry_of(servers, "ms1");
	cr_expect_eq(entry.value[max], 4 * GIB, "measured, and the heap_max is the same");
	cr_expect_eq(entry.taken_ns[available], 15);
	servers_free(servers);
}

/*** Backups ***/

#define MS INT64_C(1000000)

/* ms1, polled by "jvm" and its backup "snmp"; a router looks no further back than a second. */
static struct servers *with_backup(void)
{
	static char jvm[] = "jvm", snmp[] = "snmp";
	struct config_server list[] = { trio[0], trio[1], trio[2] };
	struct config_source sources[] = { { .name = jvm }, { .name = snmp, .is_backup = true } };
	const struct config config = {
		.servers = list, .n_servers = 3, .sources = sources, .n_sources = 2
	};
	struct servers *servers = servers_new(NULL);

	list[1].stale_after_ns = 1000 * MS;
	cr_assert_eq(servers_configure(servers, &config, NULL), 0);
	return servers;
}

static void expect_figure(struct servers *servers, const char *metric, double value,
			  int64_t taken_ns)
{
	const int at = servers_metric(servers, metric);
	const struct servers_entry entry = entry_of(servers, "ms1");

	cr_expect_eq(entry.value[at], value, "%s is %g, not %g", metric, entry.value[at], value);
	cr_expect_eq(entry.taken_ns[at], taken_ns, "%s", metric);
}

Test(servers_put, a_backup_counts_once_the_others_value_is_older_by_half_of_stale_after)
{
	struct servers *servers = with_backup();
	const int busy = servers_metric(servers, "busy_threads");

	servers_put_from(servers, "snmp", "ms1", busy, 7, 1000 * MS);
	expect_figure(servers, "busy_threads", 7, 1000 * MS);
	servers_put_from(servers, "jvm", "ms1", busy, 50, 900 * MS);
	expect_figure(servers, "busy_threads", 50, 900 * MS);
	servers_put_from(servers, "snmp", "ms1", busy, 8, 1400 * MS);
	expect_figure(servers, "busy_threads", 50, 900 * MS);
	servers_put_from(servers, "snmp", "ms1", busy, 9, 1401 * MS);
	expect_figure(servers, "busy_threads", 9, 1401 * MS);
	servers_put_from(servers, "jvm", "ms1", busy, 60, 1300 * MS);
	expect_figure(servers, "busy_threads", 60, 1300 * MS);
	servers_free(servers);
}

Test(servers_put, a_backup_does_not_count_beside_what_follows_from_the_others_values)
{
	struct servers *servers = with_backup();
	const int free_at = servers_metric(servers, "jvm_heap_free_bytes");
	const int threads_max = servers_metric(servers, "max_threads");

	servers_put_from(servers, "jvm", "ms1", servers_metric(servers, "jvm_heap_used_bytes"), 70,
			 1000 * MS);
	servers_put_from(servers, "jvm", "ms1", servers_metric(servers, "jvm_heap_size_bytes"), 100,
			 1000 * MS);
	servers_put_from(servers, "snmp", "ms1", free_at, 44, 1200 * MS);
	servers_put_from(servers, "snmp", "ms1", threads_max, 200, 1200 * MS);
	expect_figure(servers, "jvm_heap_free_bytes", 30, 1000 * MS);
	expect_figure(servers, "max_threads", 200, 1200 * MS);
	servers_put_from(servers, "snmp", "ms1", free_at, 45, 1600 * MS);
	expect_figure(servers, "jvm_heap_free_bytes", 45, 1600 * MS);
	servers_free(servers);
}

/* Its used and free are of another moment than the other's: the two would take turns, or come to a
 * size that nobody has. */
Test(servers_put, a_backup_fills_gaps_of_the_heap_but_says_nothing_twice)
{
	struct servers *servers = with_backup();
	const int used = servers_metric(servers, "jvm_heap_used_bytes");
	const int free_at = servers_metric(servers, "jvm_heap_free_bytes");
	const int size = servers_metric(servers, "jvm_heap_size_bytes");

	servers_put_from(servers, "jvm", "ms1", used, 70, 1000 * MS);
	servers_put_from(servers, "snmp", "ms1", free_at, 44, 1200 * MS);
	servers_put_from(servers, "snmp", "ms1", size, 100, 1200 * MS);
	expect_figure(servers, "jvm_heap_used_bytes", 70, 1000 * MS);
	expect_figure(servers, "jvm_heap_size_bytes", 100, 1200 * MS);
	expect_figure(servers, "jvm_heap_free_bytes", 30, 1000 * MS);
	servers_put_from(servers, "snmp", "ms1", free_at, 45, 1600 * MS);
	servers_put_from(servers, "snmp", "ms1", size, 101, 1600 * MS);
	expect_figure(servers, "jvm_heap_used_bytes", 56, 1600 * MS);
	expect_figure(servers, "jvm_heap_free_bytes", 45, 1600 * MS);
	servers_free(servers);
}

Test(servers_put, what_a_backup_says_is_judged_and_counted_as_any_value)
{
	struct servers *servers = with_backup();
	const int busy = servers_metric(servers, "busy_threads");

	cr_expect_eq(servers_put_from(servers, "snmp", "ms1", busy, -1, 0), -EINVAL);
	cr_expect_str_eq(rejected_by(servers, 0).source, "snmp");
	cr_expect_eq(servers_put_from(servers, "snmp", "ms1", busy, 5, 2000 * MS), 0);
	cr_expect_eq(servers_put_from(servers, "snmp", "ms1", busy, 4, 1000 * MS), 0);
	expect_figure(servers, "busy_threads", 5, 2000 * MS);
	servers_free(servers);
}
