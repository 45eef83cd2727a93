/*
 * bench_routers.c - the whole call with each router of the build: cr_call_now(), cr_route(),
 * cr_end(), while about two other calls are in progress at every server.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "clock.h"
#include "plugin.h"
#include "text.h"

#define LATENCY_NS     (5 * CLOCK_MS)
#define KEY_BYTES      16
#define OTHERS         "random" /* the router that placed them */
#define OTHER_CALLS    1024     /* with the most servers */
#define SERVICES_MAX   (BENCH_ROUTERS_MAX * BENCH_ROUTER_SIZES + 1)
#define BIG_CALL       INT64_C(64 << 20) /* headroom: 1 % of the median heap or more */
#define ROUTER_SIZE(i) (bench_sizes[1 + (i)])

/** How a router is measured; one that is not named here is measured without options. */
struct way {
	const char *router;
	const char *more;    /* what is said of it beside its name, or NULL */
	const char *options; /* or NULL */
	const char *choice;  /* a word that an option has to offer, or NULL: else it is left out */
	int64_t cost_bytes;
};

static const struct way ways[] = {
	{ "hash", "consistent", "mode: consistent", NULL, 0 },
	{ "hash", "buckets", "mode: buckets", NULL, 0 },
	{ "hash", "maglev", "mode: maglev", "maglev", 0 },
	{ "hash", "bound", "bound: 1.25", NULL, 0 },
	{ "headroom", "small call", NULL, NULL, 0 },
	{ "headroom", "big call", NULL, NULL, BIG_CALL },
	{ "sorted", NULL, "order_by: \"-jvm_heap_free_bytes\"", NULL, 0 },
};

#define WAYS (sizeof ways / sizeof *ways)

/** One row: a router in one way. */
struct row {
	char router[32], label[64];
	struct way way;
	int service[BENCH_ROUTER_SIZES];
};

struct bench_routers {
	struct bench_stage stage;
	struct cr *cr;
	struct cr_thread *thread;
	struct row row[BENCH_ROUTERS_MAX];
	size_t n_rows;
	struct cr_ticket other[OTHER_CALLS];
};

/* Every call has a key, whoever reads it: what the bench itself does is the same for all. */
static int64_t run_call(const struct bench_subject *subject, unsigned index, unsigned n)
{
	const struct bench_routers *routers = subject->scene;
	const struct row *row = &routers->row[subject->number / BENCH_ROUTER_SIZES];
	const int service = row->service[subject->number % BENCH_ROUTER_SIZES];
	char key[KEY_BYTES] = "session-";
	struct cr_call call = { .key = { key, sizeof key },
				.cost_bytes = row->way.cost_bytes,
				.primary = CR_NONE,
				.secondary = CR_NONE };
	const int64_t start = clock_now_ns();
	struct cr_ticket ticket;

	(void)index;
	for (unsigned i = 0; i < n; i++) {
		cr_call_now(routers->thread, &call);
		memcpy(key + 8, &call.random, 8);
		cr_route(routers->thread, service, &call, &ticket);
		cr_end(routers->thread, &ticket, CR_OK, LATENCY_NS);
	}
	return clock_now_ns() - start;
}

/* A child that has not refreshed yet counts nothing, and would so do less. */
static void routers_adopt(const struct bench_subject *subject)
{
	cr_refresh(((struct bench_routers *)subject->scene)->cr);
}

/*** Which routers there are ***/

static bool has_choice(const struct cr_option *option, const char *word)
{
	if (word == NULL)
		return true;
	for (; option != NULL && option->name != NULL; option++)
		for (size_t i = 0; option->choices != NULL && option->choices[i] != NULL; i++)
			if (strcmp(option->choices[i], word) == 0)
				return true;
	return false;
}

static void add_row(struct bench_routers *routers, const char *router, const struct way *way)
{
	struct row *row = &routers->row[routers->n_rows];

	if (routers->n_rows == BENCH_ROUTERS_MAX)
		bench_die("more than %d routers", BENCH_ROUTERS_MAX);
	routers->n_rows++;
	text_copy(row->router, sizeof row->router, router);
	row->way = *way;
	if (way->more != NULL)
		snprintf(row->label, sizeof row->label, "%s, %s", router, way->more);
	else
		snprintf(row->label, sizeof row->label, "%s", router);
}

static void add_router(struct bench_routers *routers, const struct cr_router *router)
{
	bool is_named = false;

	for (size_t i = 0; i < WAYS; i++) {
		if (strcmp(ways[i].router, router->name) != 0)
			continue;
		is_named = true;
		if (has_choice(router->options, ways[i].choice))
			add_row(routers, router->name, &ways[i]);
	}
	if (!is_named)
		add_row(routers, router->name, &(struct way){ 0 });
}

static int is_plugin(const struct dirent *entry)
{
	const size_t len = strlen(entry->d_name);

	return len > 3 && strcmp(entry->d_name + len - 3, ".so") == 0;
}

static void find_routers(struct bench_routers *routers)
{
	struct dirent **entry;
	const int n = scandir(BENCH_PLUGINS_DIR, &entry, is_plugin, alphasort);
	struct plugin *plugin;
	struct err err = { 0 };
	char path[4096];

	if (n < 0)
		bench_die("cannot read %s", BENCH_PLUGINS_DIR);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/%s", BENCH_PLUGINS_DIR, entry[i]->d_name);
		if (plugin_open(path, NULL, &plugin, &err) < 0)
			bench_die("%s", err.text);
		if (plugin->kind == PLUGIN_ROUTER)
			add_router(routers, &plugin->router);
		plugin_close(plugin);
		free(entry[i]);
	}
	free(entry);
}

/*** The scene ***/

/* The wrong thing is soon measured: each service has to be decided by its router. */
static void row_check(const struct bench_routers *routers, const struct row *row, size_t size)
{
	struct cr_call call = { .cost_bytes = row->way.cost_bytes,
				.primary = CR_NONE,
				.secondary = CR_NONE };
	struct cr_ticket ticket;

	cr_call_now(routers->thread, &call);
	cr_route_dry(routers->thread, row->service[size], &call, &ticket);
	if (ticket.decided != CR_ROUTER_DECIDED || ticket.n < 8)
		bench_die("%s with %u servers: decided=%d reason=%d servers=%u", row->label,
			  ROUTER_SIZE(size), (int)ticket.decided, (int)ticket.reason, ticket.n);
}

static void row_add_subjects(struct bench_routers *routers, size_t r, struct bench_list *list)
{
	struct row *row = &routers->row[r];

	for (size_t i = 0; i < BENCH_ROUTER_SIZES; i++) {
		struct bench_subject subject = { .what = BENCH_ROUTER,
						 .variant = row->label,
						 .servers = ROUTER_SIZE(i),
						 .batch = BENCH_BATCH,
						 .threads_max = 1,
						 .run = run_call,
						 .scene = routers,
						 .number = (int)(r * BENCH_ROUTER_SIZES + i),
						 .adopt = routers_adopt };
		char name[32];

		snprintf(name, sizeof name, "service%zu", r * BENCH_ROUTER_SIZES + i);
		row->service[i] = cr_service(routers->cr, name);
		row_check(routers, row, i);
		bench_add(list, &subject);
	}
}

static void stage_routers(struct bench_routers *routers)
{
	static struct bench_service service[SERVICES_MAX];
	const size_t n = routers->n_rows * BENCH_ROUTER_SIZES;
	struct image_header *image;

	for (size_t i = 0; i < n; i++) {
		const struct row *row = &routers->row[i / BENCH_ROUTER_SIZES];

		service[i].router = row->router;
		service[i].options = row->way.options;
		service[i].n_servers = ROUTER_SIZE(i % BENCH_ROUTER_SIZES);
		snprintf(service[i].name, sizeof service[i].name, "service%zu", i);
	}
	service[n].router = OTHERS;
	service[n].n_servers = bench_sizes[BENCH_SIZES - 1];
	snprintf(service[n].name, sizeof service[n].name, "others");
	bench_stage_open(&routers->stage, bench_sizes[BENCH_SIZES - 1], service, n + 1);
	image = bench_stage_assemble(&routers->stage);
	bench_stage_publish(&routers->stage, image);
	free(image);
}

/* Counters of servers that have nothing to do are all alike: that is neither usual nor the
 * cheapest. */
static void place_others(struct bench_routers *routers)
{
	const int service = cr_service(routers->cr, "others");
	struct cr_call call = { .primary = CR_NONE, .secondary = CR_NONE };

	for (size_t i = 0; i < OTHER_CALLS; i++) {
		cr_call_now(routers->thread, &call);
		if (cr_route(routers->thread, service, &call, &routers->other[i]) <= 0)
			bench_die("nobody takes the other calls");
	}
}

struct bench_routers *bench_routers_new(struct bench_list *list)
{
	struct bench_routers *routers = calloc(1, sizeof *routers);

	if (routers == NULL)
		bench_die("no memory");
	find_routers(routers);
	stage_routers(routers);
	routers->cr = bench_stage_attach(&routers->stage);
	routers->thread = cr_thread_new(routers->cr);
	place_others(routers);
	for (size_t r = 0; r < routers->n_rows; r++)
		row_add_subjects(routers, r, list);
	return routers;
}

void bench_routers_free(struct bench_routers *routers)
{
	for (size_t i = 0; i < OTHER_CALLS; i++)
		cr_end(routers->thread, &routers->other[i], CR_ABANDONED, -1);
	cr_thread_free(routers->thread);
	cr_detach(routers->cr);
	bench_stage_close(&routers->stage);
	free(routers);
}
