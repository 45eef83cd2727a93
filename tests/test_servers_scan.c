/* test_servers_scan.c - what a scan shows of the servers, and what it leaves out. */
#include <criterion/criterion.h>

#include "servers_scene.h"

struct scanned {
	size_t n, index[8];
	double size, last; /* last: of the metrics that there are */
	bool is_drained, max_is_assumed;
};

static void take_brief(void *arg, size_t index, const struct servers_brief *brief)
{
	struct scanned *scanned = arg;

	scanned->index[scanned->n++ % 8] = index;
	scanned->size = brief->value[2]; /* jvm_heap_size_bytes */
	scanned->last = brief->value[brief->n - 1];
	scanned->is_drained = brief->is_drained;
	scanned->max_is_assumed = brief->max_is_assumed;
}

Test(servers_scan, shows_a_scan_what_has_changed_since_the_last_one)
{
	struct servers *servers = make(NULL);
	const size_t n = servers_metric_count(servers);
	struct scanned scanned = { 0 };
	uint64_t since = servers_scan(servers, n, 0, take_brief, &scanned);

	cr_expect_eq(scanned.n, 3u);
	scanned.n = 0;
	cr_expect_eq(servers_scan(servers, n, since, take_brief, &scanned), since);
	cr_expect_eq(scanned.n, 0u);
	servers_put(servers, "ms2", 2, 77, 0);
	servers_polled(servers, "wls", "ms1", NULL); /* no image shows it */
	servers_put(servers, "ms1", 2, -1, 0);
	since = servers_scan(servers, n, since, take_brief, &scanned);
	cr_expect_eq(scanned.n, 1u);
	cr_expect_eq(scanned.size, 77);
	cr_expect_eq(entry_of(servers, "ms2").value[2], 77);
	scanned.n = 0;
	servers_drain(servers, "ms1", true, NULL);
	since = servers_scan(servers, n, since, take_brief, &scanned);
	cr_expect(scanned.n == 1 && scanned.is_drained);
	scanned.n = 0;
	servers_skip(servers, "ms1", "is an administration server");
	since = servers_scan(servers, n, since, take_brief, &scanned);
	cr_expect_eq(scanned.n, 1u);
	servers_free(servers);
}

Test(servers_scan, shows_what_follows_from_others)
{
	struct servers *servers = make(NULL);
	const int busy = servers_metric(servers, "busy_threads");
	struct scanned scanned = { 0 };

	servers_put(servers, "ms1", busy, 50, 0);
	servers_put(servers, "ms1", busy + 1, 200, 0);
	(void)servers_scan(servers, servers_metric_count(servers), 0, take_brief, &scanned);
	cr_expect_eq(scanned.n, 3u);
	scanned.n = 0;
	servers_put(servers, "ms1", busy, 100, 0);
	(void)servers_scan(servers, servers_metric_count(servers), 5, take_brief, &scanned);
	cr_expect_eq(scanned.last, 0.5, "busy_threads_ratio");
	servers_free(servers);
}

Test(servers_scan, tells_a_maximum_that_was_configured_from_one_that_was_measured)
{
	struct config_server one = trio[1];
	struct servers *servers = make(NULL);
	const size_t n = servers_metric_count(servers);
	struct scanned scanned = { 0 };

	one.heap_max = 4096;
	configure(servers, &one, 1);
	servers_put(servers, "ms1", 2, 1024, 0);
	(void)servers_scan(servers, n, 0, take_brief, &scanned);
	cr_expect(scanned.max_is_assumed);
	servers_put(servers, "ms1", servers_metric(servers, "jvm_heap_max_bytes"), 2048, 0);
	(void)servers_scan(servers, n, 0, take_brief, &scanned);
	cr_expect_not(scanned.max_is_assumed);
	servers_free(servers);
}

Test(servers_scan, shows_all_after_a_new_configuration)
{
	struct servers *servers = make(NULL);
	const size_t n = servers_metric_count(servers);
	struct scanned scanned = { 0 };
	uint64_t since = servers_scan(servers, n, 0, take_brief, &scanned);

	configure(servers, trio + 1, 2);
	scanned.n = 0;
	since = servers_scan(servers, n, since, take_brief, &scanned);
	cr_expect_eq(scanned.n, 2u);
	cr_expect_eq(scanned.index[1], 1u);
	servers_free(servers);
}
