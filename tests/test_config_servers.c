/* test_config_servers.c - what a server has from its collectors and services. */
#include <criterion/criterion.h>

#include "config.h"
#include "config_fixture.h"

#define MS INT64_C(1000000)

TestSuite(config_servers, .init = enter_folder, .fini = remove_folder);

Test(config_servers, a_heap_has_the_maximum_of_its_server_and_else_of_a_collector_that_polls_it)
{
	struct config *config = read_good_text(
		"servers:\n"
		"  - { name: admin, address: 'h:1', role: admin }\n"
		"  - { name: a, address: 'h:1', heap_max: 1536MiB }\n"
		"  - { name: b, address: 'h:1' }\n"
		"  - { name: c, address: 'h:1' }\n"
		"collectors:\n"
		"  - { name: one, plugin: http, target: x, servers: [a, b], heap_max: 8GiB }\n"
		"  - { name: two, plugin: http, target: x }\n"
		"services: [{ name: s }]\n");

	cr_expect_eq(config->servers[0].heap_max, 0);
	cr_expect_eq(config->servers[1].heap_max, INT64_C(1610612736));
	cr_expect_eq(config->servers[2].heap_max, INT64_C(8589934592));
	cr_expect_eq(config->servers[3].heap_max, 0);
	config_free(config);
}

Test(config_servers, a_server_knows_the_strictest_stale_after_of_its_services)
{
	struct config *config = read_good_text("servers:\n"
					       "  - { name: a, address: 'h:1' }\n"
					       "  - { name: b, address: 'h:1' }\n"
					       "  - { name: c, address: 'h:1' }\n"
					       "services:\n"
					       "  - { name: s, servers: [a, b] }\n"
					       "  - { name: t, servers: [b], stale_after: 4s }\n"
					       "  - { name: u, servers: [b], stale_after: 5s }\n");

	cr_expect_eq(config->servers[0].stale_after_ns, 10000 * MS);
	cr_expect_eq(config->servers[1].stale_after_ns, 4000 * MS);
	cr_expect_eq(config->servers[2].stale_after_ns, 0);
	config_free(config);
}
