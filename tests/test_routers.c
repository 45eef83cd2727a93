/* test_routers.c - routers with rank(), loaded as the ranker loads them, on views made by hand. */
#include <errno.h>

#include "router_scene.h"
#include "words.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static void set_metric(size_t k, size_t n, const double *value)
{
	memcpy(scene.value[k], value, n * sizeof *value);
}

/* The order of all n rows after rank(), as digits: "201" is row 2, then 0, then 1. */
static const char *ranked(void)
{
	static char text[ROWS + 1];
	double *column[1] = { scene.column[0] };
	uint16_t order[ROWS];
	int n;

	for (uint16_t i = 0; i < ROWS; i++)
		order[i] = i;
	n = plugin->router.rank(instance.self, &scene.view, order, scene.view.n, column);
	cr_assert_eq(n, (int)scene.view.n);
	for (int i = 0; i < n; i++)
		text[i] = (char)('0' + order[i]);
	text[n] = '\0';
	return text;
}

/*** heap_free ***/

Test(heap_free, puts_most_free_heap_first_and_unknown_last)
{
	static const double free_bytes[] = { 1e9, UNKNOWN, 3e9, 0, UNKNOWN, 2e9 };

	load("heap_free", "");
	set_scene(6);
	set_metric(0, 6, free_bytes);
	cr_expect_str_eq(ranked(), "250314");
	unload();
}

Test(heap_free, keeps_the_place_of_ties_behind_the_head)
{
	static const double free_bytes[] = { 1e9, 5e9, 1e9, 7e9, 1e9 };

	load("heap_free", "");
	set_scene(5);
	set_metric(0, 5, free_bytes);
	for (scene.view.generation = 0; scene.view.generation < 4; scene.view.generation++)
		cr_expect_str_eq(ranked(), "31024");
	unload();
}

Test(heap_free, gives_equal_heads_turns)
{
	static const double free_bytes[] = { 4e9, 1e9, 4e9, 4e9 };
	static const char *const want[] = { "0231", "2301", "3021", "0231" };

	load("heap_free", "");
	set_scene(4);
	set_metric(0, 4, free_bytes);
	for (size_t i = 0; i < COUNT(want); i++) {
		scene.view.generation = 300 + i;
		cr_expect_str_eq(ranked(), want[i]);
	}
	unload();
}

Test(heap_free, ranks_one_server_and_servers_of_which_nothing_is_known)
{
	load("heap_free", "");
	set_scene(1);
	cr_expect_str_eq(ranked(), "0");
	set_scene(3);
	cr_expect_str_eq(ranked(), "012");
	scene.view.generation = 1;
	cr_expect_str_eq(ranked(), "120");
	unload();
}

Test(heap_free, orders_only_the_rows_that_it_was_given)
{
	static const double free_bytes[] = { 9e9, 1e9, 8e9, 5e9 };
	uint16_t order[] = { 1, 3, 77 };

	load("heap_free", "");
	set_scene(4);
	set_metric(0, 4, free_bytes);
	cr_expect_eq(plugin->router.rank(NULL, &scene.view, order, 2, NULL), 2);
	cr_expect_eq(order[0], 3);
	cr_expect_eq(order[1], 1);
	cr_expect_eq(order[2], 77);
	unload();
}

Test(heap_free, needs_the_free_heap_and_nothing_else)
{
	load("heap_free", "");
	cr_expect_str_eq(plugin_metric(&plugin->router, 0), "jvm_heap_free_bytes");
	cr_expect_null(plugin_metric(&plugin->router, 1));
	cr_expect_null(plugin->router.route);
	unload();
}

/*** sorted ***/

static size_t metric_index(const char *name)
{
	size_t k = 0;

	while (strcmp(plugin_metric(&plugin->router, k), name) != 0)
		k++;
	return k;
}

Test(sorted, knows_every_metric_that_callrouter_knows)
{
	size_t k = 0;

	load("sorted", "order_by=weight\n");
	for (; words_metric_names[k] != NULL; k++)
		cr_expect_str_eq(plugin_metric(&plugin->router, k), words_metric_names[k]);
	cr_expect_null(plugin_metric(&plugin->router, k));
	cr_expect_eq(plugin_count(plugin->router.needs), 0);
	unload();
}

Test(sorted, sorts_by_the_first_word_and_then_by_the_next)
{
	static const double available[] = { 2e9, 5e9, 2e9, 5e9, 1e9 };
	static const uint32_t inflight[] = { 4, 9, 3, 8, 0 };

	load("sorted", "order_by=-jvm_heap_available_bytes, inflight\n");
	set_scene(5);
	set_metric(metric_index("jvm_heap_available_bytes"), 5, available);
	for (size_t i = 0; i < 5; i++)
		scene.live[i].inflight = inflight[i];
	cr_expect_str_eq(ranked(), "31204");
	scene.live[0].peer_inflight = 0;
	scene.live[2].peer_inflight = 2;
	cr_expect_str_eq(ranked(), "31024");
	unload();
}

Test(sorted, puts_unknown_values_last_in_either_direction)
{
	static const double busy[] = { UNKNOWN, 7, UNKNOWN, 2 };

	load("sorted", "order_by=busy_threads\n");
	set_scene(4);
	set_metric(metric_index("busy_threads"), 4, busy);
	cr_expect_str_eq(ranked(), "3102");
	unload();
	load("sorted", "order_by=-busy_threads\n");
	cr_expect_str_eq(ranked(), "1302");
	unload();
}

Test(sorted, reads_each_live_figure)
{
	static const struct {
		const char *packed, *order;
	} cases[] = {
		{ "order_by=inflight\n", "120" },       { "order_by=-inflight\n", "021" },
		{ "order_by=inflight_bytes\n", "201" }, { "order_by=latency\n", "210" },
		{ "order_by=failure_ratio\n", "102" },  { "order_by=-weight\n", "021" },
	};

	set_scene(3);
	scene.live[0] = (struct cr_live){
		.inflight = 9, .inflight_bytes = 5, .latency_ns = 3, .failure_ppm = 20
	};
	scene.live[1] = (struct cr_live){
		.inflight = 1, .inflight_bytes = 6, .latency_ns = 2, .failure_ppm = 10
	};
	scene.live[2] = (struct cr_live){
		.inflight = 2, .inflight_bytes = -4, .latency_ns = 1, .failure_ppm = 30
	};
	scene.weight[0] = 100;
	scene.weight[2] = 50;
	for (size_t i = 0; i < COUNT(cases); i++) {
		load("sorted", cases[i].packed);
		cr_expect_str_eq(ranked(), cases[i].order, "%s", cases[i].packed);
		unload();
	}
}

Test(sorted, gives_equal_heads_turns)
{
	static const char *const want[] = { "012", "120", "201" };

	load("sorted", "order_by=weight\n");
	set_scene(3);
	for (scene.view.generation = 0; scene.view.generation < 3; scene.view.generation++)
		cr_expect_str_eq(ranked(), want[scene.view.generation]);
	unload();
}

Test(sorted, takes_commas_spaces_and_tabs_between_words)
{
	static const char *const good[] = { "order_by=inflight\n", "order_by= -inflight \n",
					    "order_by=inflight,weight\n",
					    "order_by=\tinflight -weight,\n" };

	for (size_t i = 0; i < COUNT(good); i++) {
		load("sorted", good[i]);
		set_scene(2);
		cr_expect_eq(strlen(ranked()), 2);
		unload();
	}
}

Test(sorted, says_which_word_it_does_not_know)
{
	static const struct {
		const char *packed, *word;
	} cases[] = {
		{ "order_by=jvm_heap_fre_bytes\n", "jvm_heap_fre_bytes" },
		{ "order_by=-jvm_heap_free_bytes, -free\n", "-free" },
		{ "order_by=inflight, - weight\n", "-" },
		{ "order_by=--inflight\n", "--inflight" },
		{ "order_by=Inflight\n", "Inflight" },
		{ "order_by=\n", "" },
		{ "order_by= , ,\n", "" },
	};
	char text[400];

	cr_assert_eq(plugin_open(PLUGINS_DIR "/sorted.so", "sorted", &plugin, &err), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(text, sizeof text,
			 "sorted: order_by: \"%s\" is no metric, nor inflight, inflight_bytes, "
			 "latency, failure_ratio, weight",
			 cases[i].word);
		cr_expect_eq(plugin_instance_open(plugin, NULL, "orders", cases[i].packed, NULL, 0,
						  &instance, &err),
			     -EINVAL);
		cr_expect_str_eq(err.text, text);
	}
	cr_expect_eq(plugin_instance_open(plugin, NULL, "orders", "", NULL, 0, &instance, &err),
		     -EINVAL);
	cr_expect_str_eq(err.text, "sorted: option \"order_by\" must be given: what to sort by; "
				   "\"-\": larger first");
	plugin_close(plugin);
}

/*** plugins.d/example.c ***/

Test(example, puts_the_largest_free_share_first_and_nearly_full_servers_last)
{
	static const double available[] = { 1 * GIB, 0.05 * GIB, 3 * GIB, UNKNOWN, 0.02 * GIB };
	static const double max[] = { 2 * GIB, 1 * GIB, 8 * GIB, 4 * GIB, 1 * GIB };
	static const double score[] = { 0.5, -1, 0.375, -1, -1 };

	load_from(TEST_PLUGINS_DIR, "example", "");
	set_scene(5);
	set_metric(0, 5, available);
	set_metric(1, 5, max);
	cr_expect_str_eq(ranked(), "02134");
	for (size_t i = 0; i < 5; i++)
		cr_expect_eq(scene.column[0][i], score[i], "column of row %zu: %g", i,
			     scene.column[0][i]);
	unload();
	load_from(TEST_PLUGINS_DIR, "example", "min_free=1%\n");
	cr_expect_str_eq(ranked(), "02143");
	unload();
}
