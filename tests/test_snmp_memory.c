/* test_snmp_memory.c - the SNMP collector when memory runs out, at each of its allocations. */
#include <criterion/criterion.h>

#include "lab/failing_collector.h"
#include "lab/snmp_bench.h"

TestSuite(snmp_memory, .init = begin, .fini = end, .timeout = 60);

/* Opened and polled with the n-th allocation failing; false: there are not so many. What failed
 * then is well once there is memory again. */
static bool survives(size_t n, const char *endpoint, const char *const *settings)
{
	const char *err;
	bool has_failed;

	collector_host_close(host);
	n_left = n;
	err = try_open(JVM, settings);
	has_failed = n_left == 0;
	cr_assert_eq(err != NULL, has_failed, "%zu: %s", n, err);
	if (err != NULL)
		return true;
	target = collector_host_add(host, "ms1", endpoint, false);
	(void)poll_for(LONG_MS);
	has_failed = n_left == 0;
	n_left = 0;
	cr_expect_eq(poll_for(LONG_MS)->state, COLLECTOR_GOOD, "%zu: %s", n,
		     collector_host_last(host, target)->text);
	cr_expect_null(collector_host_fault(host), "%zu: %s", n, collector_host_fault(host));
	return has_failed;
}

static void fail_each(const char *at, const char *const *settings)
{
	struct cr_collector failing = failing_collector();
	char endpoint[64];
	size_t n = 1;

	fake = fake_snmp_new(FAKE_NORMAL);
	fake_snmp_jvm(fake, 100, 400, 1000);
	(void)snprintf(endpoint, sizeof endpoint, "udp:%s%s", at,
		       strrchr(fake_snmp_endpoint(fake), ':'));
	collector = &failing;
	while (survives(n, endpoint, settings))
		n++;
	cr_expect_gt(n, 20u);
	/* closed by its own table, which ends with this function */
	collector_host_close(host);
	host = NULL;
}

Test(snmp_memory, that_is_missing_once_fails_one_poll)
{
	const char *settings[] = { community_setting, NULL };

	fail_each("127.0.0.1", settings);
}

Test(snmp_memory, that_is_missing_once_fails_one_poll_of_a_name)
{
	const char *settings[] = { community_setting, NULL };

	fail_each("localhost", settings);
}

Test(snmp_memory, that_is_missing_once_fails_one_poll_of_version_3)
{
	const char *settings[] = { "version=3", "user=poller", NULL };

	fail_each("127.0.0.1", settings);
}
