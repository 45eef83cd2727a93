/* test_config_warnings.c - configurations that are good but seldom meant so: one figure from two
 * collectors, and one figure in several ways among the servers of a service. */
#include <criterion/criterion.h>

#include "config_fixture.h"

static int find_metrics(void *arg, const char *router, const char *const **needs,
			const char *const **wants)
{
	static const char *const free_heap[] = { "jvm_heap_free_bytes", NULL };
	static const char *const all[] = { "jvm_heap_free_bytes", "jvm_heap_available_bytes",
					   "jvm_heap_free_ratio", "busy_threads_ratio", NULL };

	cr_assert_str_eq(arg, "arg");
	*needs = strcmp(router, "heap_free") == 0 ? free_heap : NULL;
	*wants = strcmp(router, "sorted") == 0 ? all : NULL;
	return strcmp(router, "round_robin") == 0 ? -ENOENT : 0;
}

static struct profiles profiles;
static struct config_plugins with = {
	.options = find_options, .arg = plugins_arg, .profiles = &profiles, .metrics = find_metrics
};
static struct config *config;

static void begin(void)
{
	enter_folder();
	cr_assert_eq(profiles_add(&profiles, PROFILES), 0);
}

static void end(void)
{
	config_free(config);
	profiles_fini(&profiles);
	remove_folder();
}

TestSuite(config_warnings, .init = begin, .fini = end);

#define COLLECTOR(name, more)                                                                      \
	"  - { name: " name ", plugin: web, target: \"h${name}\", " more " }\n"

static const char *more_servers = "";

/* Three servers and more_servers, these collectors, one service with this router. Returns the
 * warnings, a line each. */
static const char *warned(const char *collectors, const char *router)
{
	static char text[16384];
	char yaml[4096], line[CONFIG_WARNING_LEN];

	snprintf(yaml, sizeof yaml,
		 "servers:\n"
		 "  - { name: ms1, address: \"h:1\" }\n"
		 "  - { name: ms2, address: \"h:2\" }\n"
		 "  - { name: ms3, address: \"h:3\" }\n%s"
		 "services: [{ name: orders, router: %s }]\n"
		 "collectors:\n%s",
		 more_servers, router, collectors);
	write_text("c.yaml", yaml, 0644);
	config_free(config);
	config = read_good("c.yaml", &with);
	text[0] = '\0';
	for (size_t i = 0; i < config->n_warnings; i++) {
		const size_t used = strlen(text);

		config_warning_show(config, &config->warnings[i], line, sizeof line);
		snprintf(text + used, sizeof text - used, "%s\n", line);
	}
	return text;
}

#define OWN(fields) "format: json, path: /a, fields: { " fields " }"

/*** two_sources ***/

Test(config_warnings, tells_once_of_two_collectors_that_measure_the_same_of_many_servers)
{
	cr_expect_str_eq(
		warned(COLLECTOR("a",
				 OWN("busy_threads: /b, sessions: /s, jvm_heap_used_bytes: /u"))
			       COLLECTOR("b",
					 OWN("cpu_load_ratio: /c, busy_threads: /x, sessions: /y")),
		       "round_robin"),
		"c.yaml:8:5: warning: two_sources: collectors a and b both give busy_threads, "
		"sessions of ms1 and 2 others: the newer value wins, so what is known goes back "
		"and forth between the two; let them poll different servers (servers:), leave "
		"figures out, like fields: { busy_threads: ~ } in b, or let one stand in where the "
		"other has nothing fresh (backup: true)\n");
	cr_expect_eq(config->warnings[0].service, CONFIG_NO_SERVICE);
}

/* The newer of what is measured and what follows from others wins just so. */
Test(config_warnings, tells_of_a_figure_that_one_measures_and_that_follows_from_the_others)
{
	const char *said = warned(
		COLLECTOR("a", OWN("jvm_heap_free_bytes: /f"))
			COLLECTOR("b", OWN("jvm_heap_used_bytes: /u, jvm_heap_size_bytes: /s")),
		"round_robin");

	cr_expect_not_null(strstr(said, " both give jvm_heap_free_bytes of ms1 and"), "%s", said);
	cr_expect_not_null(strstr(said, "fields: { jvm_heap_free_bytes: ~ } in a, or "), "%s",
			   said);
	cr_expect_str_eq(warned(COLLECTOR("a", "profile: weblogic-rest-server, fields: { "
					       "jvm_heap_max_bytes: ~ }")
					COLLECTOR("b", OWN("jvm_heap_max_bytes: /m")),
				"round_robin"),
			 "", "what follows from both together is given by neither");
}

Test(config_warnings, says_nothing_of_a_backup_but_of_two_for_the_same)
{
	const char *said = warned(COLLECTOR("a", OWN("sessions: /s"))
					  COLLECTOR("b", "backup: true, " OWN("sessions: /t")),
				  "round_robin");

	cr_expect_str_eq(said, "");
	cr_expect_not(config->sources[0].is_backup);
	cr_expect(config->sources[1].is_backup);
	said = warned(COLLECTOR("a", OWN("sessions: /s"))
			      COLLECTOR("b", "backup: true, " OWN("sessions: /t"))
				      COLLECTOR("c", "backup: true, " OWN("sessions: /u")),
		      "round_robin");
	cr_expect_not_null(strstr(said, " collectors b and c both give sessions of "), "%s", said);
	cr_expect_not_null(strstr(said,
				  ", or leave figures out, like fields: { sessions: ~ } in c; "
				  "both are backups, and none of them comes before the "
				  "other\n"),
			   "%s", said);
	cr_expect_eq(config->n_warnings, 1u);
}

Test(config_warnings, counts_the_servers_that_both_poll)
{
	const char *said =
		warned(COLLECTOR("a", "servers: [ms3, ms2], " OWN("sessions: /s"))
			       COLLECTOR("b", "servers: [ms1, ms2], " OWN("sessions: /t")),
		       "round_robin");

	cr_expect_not_null(strstr(said, " both give sessions of ms2: the newer"), "%s", said);
	said = warned(COLLECTOR("a", "servers: [ms3, ms2], " OWN("sessions: /s"))
			      COLLECTOR("b", "servers: [ms3, ms2], " OWN("sessions: /t")),
		      "round_robin");
	cr_expect_not_null(strstr(said, " both give sessions of ms2 and 1 other: "), "%s", said);
}

Test(config_warnings, says_nothing_of_other_servers_and_other_figures)
{
	cr_expect_str_eq(warned(COLLECTOR("a", "servers: [ms1], profile: jolokia")
					COLLECTOR("b", "servers: [ms2, ms3], profile: jolokia"),
				"round_robin"),
			 "");
	cr_expect_str_eq(warned(COLLECTOR("a", OWN("sessions: /s"))
					COLLECTOR("b", OWN("busy_threads: /s")),
				"round_robin"),
			 "");
	cr_expect_str_eq(warned(COLLECTOR("a", OWN("jvm_heap_size_bytes: /s"))
					COLLECTOR("b", "profile: jolokia, "
						       "fields: { jvm_heap_size_bytes: ~ }"),
				"round_robin"),
			 "", "it was left out of one");
}

Test(config_warnings, finds_figures_in_each_of_several_requests)
{
	const char *said = warned(
		COLLECTOR("a", OWN("sessions: /s")) COLLECTOR(
			"b", "format: json, requests: { x: { path: /x, fields: { busy_threads: "
			     "/b } }, y: { path: /y, fields: { sessions: /s } } }"),
		"round_robin");

	cr_expect_not_null(strstr(said, " both give sessions of "), "%s", said);
}

Test(config_warnings, lists_thirty_two_pairs_and_counts_the_others)
{
	char yaml[4096] = "";
	const char *said;

	for (int i = 0; i < 10; i++) {
		const size_t used = strlen(yaml);

		snprintf(yaml + used, sizeof yaml - used,
			 "  - { name: c%d, plugin: web, target: \"${name}\", format: json, "
			 "path: /, fields: { sessions: /s } }\n",
			 i);
	}
	said = warned(yaml, "round_robin");
	cr_expect_eq(config->n_warnings, 33u);
	cr_expect_not_null(strstr(said, "\nc.yaml: warning: two_sources: 13 more pairs of "
					"collectors give the same of the same servers\n"),
			   "%s", said);
}

/*** mixed_sources ***/

#define POOLS COLLECTOR("pools", "servers: [ms3], profile: micrometer")
#define WHOLE COLLECTOR("whole", "servers: [ms1, ms2], profile: jolokia")

/* jvm_heap_free_bytes follows from others in both. */
Test(config_warnings, tells_of_a_figure_from_pools_at_one_server_and_of_the_whole_at_others)
{
	cr_expect_str_eq(
		warned(WHOLE POOLS, "heap_free"),
		"c.yaml:5:36: warning: mixed_sources: router heap_free looks at "
		"jvm_heap_free_bytes, which the servers of service orders have from different "
		"kinds of source: 2 servers by collector whole (jolokia), 1 server by collector "
		"pools (micrometer); equal servers may then look different; use one profile for "
		"all servers of a service\n");
	cr_expect_eq(config->warnings[0].service, 0u);
}

Test(config_warnings, looks_at_a_backup_only_where_there_is_nothing_else)
{
	cr_expect_str_eq(warned(COLLECTOR("b", "backup: true, servers: [ms1], profile: micrometer")
					COLLECTOR("a", "profile: jolokia"),
				"heap_free"),
			 "");
	cr_expect_not_null(
		strstr(warned(COLLECTOR("b", "backup: true, servers: [ms1], profile: micrometer")
				      COLLECTOR("a", "servers: [ms2], profile: jolokia"),
			      "heap_free"),
		       "mixed_sources: "));
}

Test(config_warnings, takes_one_profile_in_two_places_for_one_kind)
{
	cr_expect_str_eq(warned(WHOLE COLLECTOR("more", "servers: [ms3], profile: jolokia, "
							"path: /elsewhere, interval: 5s"),
				"heap_free"),
			 "");
	cr_expect_str_eq(warned(WHOLE COLLECTOR("more", "servers: [ms3], profile: jolokia, fields: "
							"{ jvm_heap_max_bytes: ~ }"),
				"heap_free"),
			 "", "the maximum is no part of it");
}

Test(config_warnings, tells_of_what_follows_in_another_way_for_want_of_a_maximum)
{
	const char *said =
		warned(WHOLE COLLECTOR("more", "servers: [ms3], profile: jolokia, fields: { "
					       "jvm_heap_max_bytes: ~ }"),
		       "{ plugin: sorted, options: { order_by: \"-jvm_heap_available_bytes\", "
		       "ties: x } }");

	cr_expect_not_null(strstr(said, "router sorted looks at jvm_heap_available_bytes, which"),
			   "%s", said);
}

Test(config_warnings, asks_a_router_that_is_told_what_to_look_at_for_that_alone)
{
	static const char *const calm[] = { "inflight", "-busy_threads_ratio", "weight" };
	char router[128];
	const char *said;

	for (size_t i = 0; i < sizeof calm / sizeof *calm; i++) {
		snprintf(router, sizeof router,
			 "{ plugin: sorted, options: { order_by: \"%s\", ties: x } }", calm[i]);
		cr_expect_str_eq(warned(WHOLE POOLS, router), "", "%s", calm[i]);
	}
	said = warned(WHOLE POOLS, "{ plugin: sorted, options: { order_by: \"inflight, "
				   "-jvm_heap_free_bytes -jvm_heap_free_ratio\", ties: x } }");
	cr_expect_not_null(strstr(said, "router sorted looks at jvm_heap_free_bytes, "
					"jvm_heap_free_ratio, which"),
			   "%s", said);
}

Test(config_warnings, says_nothing_of_figures_that_no_router_looks_at)
{
	cr_expect_str_eq(warned(WHOLE POOLS, "round_robin"), "");
	cr_expect_str_eq(
		warned(WHOLE COLLECTOR("threads", "servers: [ms3], " OWN("busy_threads: /b")),
		       "heap_free"),
		"", "ms3 has none");
	with.metrics = NULL;
	cr_expect_str_eq(warned(WHOLE POOLS, "heap_free"), "", "nobody knows");
	with.metrics = find_metrics;
}

Test(config_warnings, names_three_kinds_and_counts_the_servers_of_others)
{
	const char *said;

	more_servers = "  - { name: ms4, address: \"h:4\" }\n";
	said = warned(
		COLLECTOR("a", "servers: [ms1], " OWN("jvm_heap_free_bytes: /a"))
			COLLECTOR("b", "servers: [ms2], " OWN("jvm_heap_free_bytes: /b")) COLLECTOR(
				"c", "servers: [ms3], " OWN("jvm_heap_free_bytes: /c"))
				COLLECTOR("d", "servers: [ms4], " OWN("jvm_heap_free_bytes: /d")),
		"heap_free");
	cr_expect_not_null(strstr(said, ": 1 server by collector a, 1 server by collector b, 1 "
					"server by collector c, 1 in other ways; equal"),
			   "%s", said);
}

/*** What a router ranks by: see unsteady.h ***/

static const char *ranked_by(const char *router)
{
	(void)warned(COLLECTOR("a", OWN("sessions: /s")), router);
	return config->services[0].router.ranks_by;
}

Test(config_warnings, a_router_ranks_by_the_heap_figure_that_it_needs_or_its_options_name_first)
{
	cr_expect_str_eq(ranked_by("heap_free"), "jvm_heap_free_bytes");
	cr_expect_str_eq(ranked_by("{ plugin: sorted, options: { order_by: "
				   "\"-jvm_heap_available_bytes, inflight\", ties: x } }"),
			 "jvm_heap_available_bytes");
	cr_expect_null(ranked_by("{ plugin: sorted, options: { order_by: "
				 "\"inflight, -jvm_heap_free_bytes\", ties: x } }"));
	cr_expect_null(ranked_by("{ plugin: sorted, options: { order_by: "
				 "\"busy_threads_ratio\", ties: x } }"));
	cr_expect_null(ranked_by("round_robin"));
	cr_expect_null(config->services[0].preset.ranks_by);
}
