/* bench_stage.c - a run directory as callrouterd would leave it, made without callrouterd. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "clock.h"
#include "plugin.h"
#include "text.h"
#include "view.h"

#define ROUTER_DEFAULT "round_robin"
#define MIB            (1024.0 * 1024)

double bench_free_bytes(unsigned i)
{
	return (double)((i + 1) * 2654435761u % 2048) * MIB;
}

/*** The configuration ***/

static void config_write_service(FILE *file, const struct bench_service *service)
{
	fprintf(file, "  - name: %s\n    default: " ROUTER_DEFAULT "\n    stale_after: 1h\n",
		service->name);
	if (service->router != NULL)
		fprintf(file, "    router: { plugin: %s, options: { %s } }\n", service->router,
			service->options != NULL ? service->options : "");
	fprintf(file, "    servers: [");
	for (unsigned i = 0; i < service->n_servers; i++)
		fprintf(file, "%sms%u", i == 0 ? "" : ", ", i);
	fprintf(file, "]\n");
}

static struct config *config_make(const char *dir, unsigned n_servers,
				  const struct bench_service *service, size_t n)
{
	struct config_report report = { 0 };
	struct config *config;
	char path[96];
	FILE *file;

	snprintf(path, sizeof path, "%s/bench.yaml", dir);
	file = fopen(path, "w");
	if (file == NULL)
		bench_die("cannot write %s", path);
	fprintf(file, "cluster: bench\nservers:\n");
	for (unsigned i = 0; i < n_servers; i++)
		fprintf(file, "  - { name: ms%u, address: \"10.0.%u.%u:7001\" }\n", i, i / 250,
			i % 250 + 1);
	fprintf(file, "services:\n");
	for (size_t i = 0; i < n; i++)
		config_write_service(file, &service[i]);
	if (fclose(file) != 0)
		bench_die("cannot write %s", path);
	if (config_read(path, NULL, &config, &report) < 0)
		bench_die("the bench's own configuration:\n%s", report.text);
	free(report.text);
	return config;
}

static void stage_put_heaps(struct bench_stage *stage)
{
	static const struct {
		const char *name;
		double factor, constant;
	} metrics[] = {
		{ "jvm_heap_free_bytes", 1, 0 },
		{ "jvm_heap_size_bytes", 0, 2048 * MIB },
		{ "jvm_heap_max_bytes", 0, 4096 * MIB },
	};

	for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
		const int metric = servers_metric(stage->servers, metrics[k].name);

		for (unsigned i = 0; i < stage->config->n_servers; i++)
			servers_put(stage->servers, stage->config->servers[i].name, metric,
				    metrics[k].factor * bench_free_bytes(i) + metrics[k].constant,
				    0);
	}
}

/*** Routers ***/

/* What callrouterd learns from a child process. */
static struct ranker_facts *facts_make(const struct cr_router *router)
{
	const size_t n_needs = plugin_count(router->needs);
	struct ranker_facts *facts = calloc(1, sizeof *facts);

	if (facts != NULL)
		facts->needs = calloc(n_needs + 1, sizeof *facts->needs);
	if (facts == NULL || facts->needs == NULL)
		bench_die("no memory");
	facts->kind = PLUGIN_ROUTER;
	text_copy(facts->name, sizeof facts->name, router->name);
	text_copy(facts->version, sizeof facts->version, router->version);
	facts->flags = (router->rank != NULL ? (uint32_t)IMAGE_HAS_RANK : 0) |
		       (router->route != NULL ? (uint32_t)IMAGE_HAS_ROUTE : 0);
	facts->state_tag = router->state_tag;
	facts->shared_words = router->shared_words;
	for (size_t i = 0; i < n_needs; i++)
		facts->needs[i] = strdup(router->needs[i]);
	return facts;
}

static struct generation *generation_make(const char *plugin, uint64_t seq)
{
	struct generation *generation = calloc(1, sizeof *generation);
	struct plugin *loaded;
	struct err err = { 0 };
	char path[4096];

	snprintf(path, sizeof path, "%s/%s.so",
		 strncmp(plugin, "bench_", 6) == 0 ? BENCH_OWN_DIR : BENCH_PLUGINS_DIR, plugin);
	if (generation == NULL)
		bench_die("no memory");
	if (plugin_open(path, plugin, &loaded, &err) < 0)
		bench_die("%s", err.text);
	text_copy(generation->plugin, sizeof generation->plugin, plugin);
	generation->seq = seq;
	generation->path = strdup(path);
	generation->facts = facts_make(&loaded->router);
	generation->refs = 1;
	plugin_close(loaded);
	return generation;
}

static struct generation *stage_generation(struct bench_stage *stage, const char *plugin)
{
	for (size_t i = 0; i < stage->n_generations; i++)
		if (strcmp(stage->generation[i]->plugin, plugin) == 0)
			return stage->generation[i];
	stage->generation = realloc(stage->generation,
				    (stage->n_generations + 1) * sizeof(struct generation *));
	if (stage->generation == NULL)
		bench_die("no memory");
	stage->generation[stage->n_generations] = generation_make(plugin, stage->n_generations + 1);
	return stage->generation[stage->n_generations++];
}

struct image_header *bench_stage_assemble(struct bench_stage *stage)
{
	const struct assemble in = { .config = stage->config,
				     .servers = stage->servers,
				     .counters = stage->counters,
				     .roster = stage->roster,
				     .seats = stage->seats,
				     .now_ns = clock_now_ns(),
				     .generation = snapshot_generation(stage->writer) + 1 };
	struct image_header *image = assemble(&in, NULL);

	if (image == NULL)
		bench_die("cannot assemble an image");
	return image;
}

/* What its ranker would do. */
static void sitter_rank(struct bench_stage *stage, struct sitter *sitter,
			const struct image_header *image)
{
	const struct image_service *service = &image_services(image)[sitter->seat->service];
	double *column[CR_COLUMNS_MAX];
	struct plugin_instance instance;
	struct plugin *plugin;
	struct cr_view *view;
	struct err err = { 0 };

	if (plugin_open(sitter->generation->path, NULL, &plugin, &err) < 0 ||
	    plugin_instance_open(plugin, NULL, sitter->seat->service_name, sitter->options, NULL, 0,
				 &instance, &err) < 0)
		bench_die("%s", err.text);
	view = view_new(image, service, NULL, NULL, &plugin->router, stage->counters);
	sitter->n_columns = plugin_count(plugin->router.columns);
	sitter->order = calloc(service->n_rows, sizeof *sitter->order);
	sitter->column = calloc(sitter->n_columns * service->n_rows + 1, sizeof(double));
	if (view == NULL || sitter->order == NULL || sitter->column == NULL)
		bench_die("no memory");
	for (size_t k = 0; k < sitter->n_columns; k++)
		column[k] = sitter->column + k * view->n;
	sitter->n_order = view_usable(image, service, sitter->order);
	sitter->verdict =
		plugin->router.rank(instance.self, view, sitter->order, sitter->n_order, column);
	sitter->has_answer = true;
	sitter->ranked_ns = clock_now_ns();
	view_free(view);
	plugin_instance_close(&instance);
	plugin_close(plugin);
}

static void stage_fill_seats(struct bench_stage *stage)
{
	struct image_header *image;

	for (size_t i = 0; i < stage->seats->n; i++) {
		struct seat *seat = &stage->seats->seat[i];

		if (seat->plugin[0] == '\0')
			continue;
		seat->now = sitter_new(seat, stage_generation(stage, seat->plugin), NULL,
				       seat_bank(seat), NULL);
		if (seat->now == NULL)
			bench_die("no memory");
	}
	image = bench_stage_assemble(stage);
	for (size_t i = 0; i < stage->seats->n; i++)
		if (stage->seats->seat[i].now != NULL && sitter_ranks(stage->seats->seat[i].now))
			sitter_rank(stage, stage->seats->seat[i].now, image);
	free(image);
}

/*** The stage ***/

/* Run directories are in memory, as /run is. */
static void stage_make_dir(struct bench_stage *stage)
{
	const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	snprintf(stage->dir, sizeof stage->dir, "%s/callrouter-bench-XXXXXX", parent);
	if (mkdtemp(stage->dir) == NULL)
		bench_die("cannot make a folder in %s", parent);
}

void bench_stage_open(struct bench_stage *stage, unsigned n_servers,
		      const struct bench_service *service, size_t n)
{
	struct err err = { 0 };

	*stage = (struct bench_stage){ .servers = servers_new(NULL) };
	stage_make_dir(stage);
	stage->config = config_make(stage->dir, n_servers, service, n);
	if (stage->servers == NULL || servers_configure(stage->servers, stage->config, &err) < 0 ||
	    counters_create(stage->dir, (gid_t)-1, &stage->counters, &err) < 0 ||
	    snapshot_create(stage->dir, (gid_t)-1, &stage->writer, &err) < 0)
		bench_die("%s", err.text);
	stage_put_heaps(stage);
	stage->roster = roster_new(stage->config, stage->counters, NULL, &err);
	stage->seats = seats_new(stage->config, &(struct seats_context){ .run_dir = stage->dir });
	if (stage->roster == NULL || stage->seats == NULL)
		bench_die("no memory");
	stage_fill_seats(stage);
}

static void folder_remove(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir != NULL)
		closedir(dir);
	rmdir(path);
}

void bench_stage_close(struct bench_stage *stage)
{
	seats_free(stage->seats);
	for (size_t i = 0; i < stage->n_generations; i++)
		generation_drop(stage->generation[i]);
	free(stage->generation);
	roster_free(stage->roster);
	snapshot_writer_close(stage->writer);
	counters_close(stage->counters);
	servers_free(stage->servers);
	config_free(stage->config);
	folder_remove(stage->dir);
}

void bench_stage_publish(struct bench_stage *stage, struct image_header *image)
{
	struct err err = { 0 };

	if (snapshot_publish(stage->writer, image, &err) < 0)
		bench_die("%s", err.text);
}

static void say(void *arg, enum cr_level level, const char *line)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "bench: %s\n", line);
}

struct cr *bench_stage_attach(const struct bench_stage *stage)
{
	const struct cr_config config = { .run_dir = stage->dir, .program = "bench", .log = say };
	char text[256];
	struct cr *cr;

	if (cr_attach(&config, &cr, text, sizeof text) < 0)
		bench_die("%s", text);
	return cr;
}
