/* host.c - set up and take down simulated hosts. */
#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"
#include "words.h"

#define SERVICE "orders"

/*** The plan ***/

static int side_find(struct host_side *side, const char *name, const char *folders, struct err *err)
{
	for (const char *at = folders; *at != '\0'; at += strspn(at, ":")) {
		const size_t len = strcspn(at, ":");

		(void)snprintf(side->path, sizeof side->path, "%.*s/%s.so", (int)len, at, name);
		if (access(side->path, R_OK) == 0)
			return 0;
		at += len;
	}
	return err_set(err, -ENOENT, "no %s.so in %s: build it first", name, folders);
}

static int side_open(struct host_side *side, const char *name, const char *folders, struct err *err)
{
	if (side_find(side, name, folders, err) < 0 ||
	    plugin_open(side->path, name, &side->plugin, err) < 0)
		return err->code;
	if (side->plugin->kind != PLUGIN_ROUTER)
		return err_set(err, -EINVAL, "%s is not a router", name);
	return 0;
}

/* Is the word in a list separated by blanks? */
static bool is_listed(const char *list, const char *word)
{
	for (; *list != '\0'; list += strspn(list, " ,")) {
		const size_t len = strcspn(list, " ,");

		if (len == strlen(word) && memcmp(list, word, len) == 0)
			return true;
		list += len;
	}
	return false;
}

static bool side_wants(const struct host_side *side, const char *metric)
{
	const char *wanted;

	for (size_t k = 0; (wanted = plugin_metric(&side->plugin->router, k)) != NULL; k++)
		if (strcmp(wanted, metric) == 0)
			return true;
	return false;
}

static void plan_metrics(struct host_plan *plan)
{
	for (size_t i = 0; words_metric_names[i] != NULL; i++) {
		const char *name = words_metric_names[i];

		if (sample_index(name) < 0 || is_listed(plan->scenario->hide, name))
			continue;
		if (!side_wants(&plan->side[HOST_ROUTER], name) &&
		    !side_wants(&plan->side[HOST_PRESET], name))
			continue;
		plan->metric[plan->n_metrics] = name;
		plan->sample_index[plan->n_metrics++] = sample_index(name);
	}
	plan->is_static = plan->n_metrics == 0;
	for (size_t i = 0; i < HOST_SIDES; i++)
		plan->is_static = plan->is_static && plan->side[i].plugin->router.rank == NULL;
}

int host_plan_open(struct host_plan *plan, const struct scenario *scenario,
		   const struct scenario_router *router, const char *folders, struct err *err)
{
	/* one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	const char *tmp = getenv("TMPDIR");

	*plan = (struct host_plan){ .scenario = scenario };
	plan->side[HOST_ROUTER].options = router->options;
	plan->side[HOST_PRESET].options = "";
	if (side_open(&plan->side[HOST_ROUTER], router->plugin, folders, err) < 0 ||
	    side_open(&plan->side[HOST_PRESET], scenario->preset, folders, err) < 0)
		goto close_plan;
	plan_metrics(plan);
	if ((size_t)snprintf(plan->dir, sizeof plan->dir, "%s/routesim-XXXXXX",
			     tmp != NULL ? tmp : "/tmp") >= sizeof plan->dir ||
	    mkdtemp(plan->dir) == NULL) {
		err_set(err, -EIO, "cannot make %s: %s", plan->dir, err_words(errno));
		plan->dir[0] = '\0';
		goto close_plan;
	}
	return 0;

close_plan:
	host_plan_close(plan);
	return err->code;
}

void host_plan_close(struct host_plan *plan)
{
	if (plan->dir[0] != '\0')
		(void)rmdir(plan->dir);
	for (size_t i = 0; i < HOST_SIDES; i++) {
		plugin_close(plan->side[i].plugin);
		plan->side[i].plugin = NULL;
	}
	plan->dir[0] = '\0';
}

/*** The image ***/

static uint32_t image_say(struct image_header *image, uint32_t *used, const char *text)
{
	const uint32_t at = *used;

	memcpy((char *)image_edit(image, image->text) + at, text, strlen(text) + 1);
	*used += (uint32_t)strlen(text) + 1;
	return at;
}

static double server_power(const struct scenario *s, uint32_t i)
{
	return scenario_at(&s->cores, i) * scenario_at(&s->speed, i);
}

/* As configured, or what its cores can do: 100 for the strongest. */
static uint32_t server_weight(const struct scenario *s, uint32_t i)
{
	double weight = scenario_at(&s->weights, i), most = 0;

	for (uint32_t k = 0; k < s->servers; k++)
		most = server_power(s, k) > most ? server_power(s, k) : most;
	if (weight <= 0)
		weight = 100 * server_power(s, i) / most + 0.5;
	return weight < 1 ? 1 : (uint32_t)weight;
}

static void image_fill_servers(const struct host *host)
{
	const struct scenario *s = host->plan->scenario;
	struct image_server *server = image_edit(host->image, host->image->server);
	struct image_metric *metric = image_edit(host->image, host->image->metric);
	uint32_t *row = image_edit(host->image, host->image->row);

	for (uint32_t i = 0; i < s->servers; i++) {
		(void)snprintf(server[i].name, sizeof server[i].name, "ms%u", i);
		(void)snprintf(server[i].address, sizeof server[i].address, "10.0.%u.%u:7001",
			       i / 256, i % 256);
		server[i].line = (uint32_t)counters_line_of(host->counters, server[i].name, NULL);
		server[i].incarnation = atomic_load_explicit(
			&counters_line(host->counters, server[i].line)->incarnation,
			memory_order_relaxed);
		server[i].weight = server_weight(s, i);
		row[i] = i;
	}
	for (uint32_t k = 0; k < host->plan->n_metrics; k++)
		text_copy(metric[k].name, sizeof metric[k].name, host->plan->metric[k]);
}

static void image_fill_side(const struct host *host, uint32_t number, uint32_t *text)
{
	const struct host_side *side = &host->plan->side[number];
	const struct cr_router *router = &side->plugin->router;
	struct image_instance *instance = image_edit(host->image, host->image->instance);
	struct image_service *service = image_edit(host->image, host->image->service);
	struct image_choice *choice = number == HOST_ROUTER ? &service->router : &service->preset;

	instance[number] = (struct image_instance){
		.key = number + 1,
		.seq = number + 1,
		.flags = (router->rank != NULL ? (uint32_t)IMAGE_HAS_RANK : 0) |
			 (router->route != NULL ? (uint32_t)IMAGE_HAS_ROUTE : 0),
		.path = image_say(host->image, text, side->path),
		.options = image_say(host->image, text, side->options),
		.shared_bank = 2 * number,
		.shared_words = router->shared_words,
	};
	text_copy(instance[number].plugin, sizeof instance->plugin, router->name);
	text_copy(instance[number].version, sizeof instance->version, router->version);
	choice->instance = number;
	choice->order = number * host->plan->scenario->servers;
	choice->n_columns = (uint32_t)plugin_count(router->columns);
	choice->column = number * CR_COLUMNS_MAX * host->plan->scenario->servers;
}

static struct image_health plan_health(const struct scenario *s)
{
	struct image_health health = { 0 };

	if (s->health == HEALTH_OFF)
		return health;
	health.aside_ns = (int64_t)(1e9 * s->aside);
	health.aside_most_ns = (int64_t)(1e9 * s->aside_most);
	if (s->health == HEALTH_ASIDE_ONLY)
		return health;
	health.failures = s->failures;
	health.out_for_ns = (int64_t)(1e9 * s->out_for);
	health.slow_start_ns = (int64_t)(1e9 * s->slow_start);
	health.counts = IMAGE_COUNTS_ALL;
	return health;
}

static int host_lay_image(struct host *host, struct err *err)
{
	const struct host_plan *plan = host->plan;
	const uint32_t n = plan->scenario->servers;
	struct image_size size = { .servers = n,
				   .metrics = plan->n_metrics,
				   .services = 1,
				   .instances = HOST_SIDES,
				   .rows = n,
				   .orders = HOST_SIDES * n,
				   .columns = HOST_SIDES * CR_COLUMNS_MAX * n,
				   .text = 1 };
	struct image_service *service;
	uint32_t text = 0;

	for (uint32_t i = 0; i < HOST_SIDES; i++)
		size.text +=
			(uint32_t)(strlen(plan->side[i].path) + strlen(plan->side[i].options) + 2);
	host->image = image_new(&size);
	if (host->image == NULL)
		return err_set(err, -ENOMEM, "no memory for an image");
	text_copy(host->image->cluster, sizeof host->image->cluster, "routesim");
	host->image->hosts = plan->scenario->hosts_known ? plan->scenario->hosts : 0;
	image_fill_servers(host);
	service = image_edit(host->image, host->image->service);
	text_copy(service->name, sizeof service->name, SERVICE);
	service->n_rows = n;
	service->n_usable = n;
	service->line = (uint32_t)counters_service_of(host->counters, SERVICE, NULL);
	service->stale_after_ns = (int64_t)(1e9 * scenario_stale_after(plan->scenario));
	service->health = plan_health(plan->scenario);
	for (uint32_t i = 0; i < HOST_SIDES; i++)
		image_fill_side(host, i, &text);
	return 0;
}

/*** Hosts ***/

static void host_log(void *arg, enum cr_level level, const char *line)
{
	(void)arg;
	(void)level;
	(void)fprintf(stderr, "routesim: data plane: %s\n", line);
}

static void ranker_log(const struct cr_host *of, enum cr_level level, const char *fmt, ...)
{
	(void)of;
	(void)level;
	(void)fmt;
}

static int ranker_metric(const struct cr_host *of, const char *name)
{
	(void)of;
	(void)name;
	return -ENOTSUP;
}

static int host_open_rankers(struct host *host, struct err *err)
{
	static const struct cr_host ranker = { ranker_log, ranker_metric };

	for (size_t i = 0; i < HOST_SIDES; i++) {
		const struct host_side *side = &host->plan->side[i];

		if (side->plugin->router.rank != NULL &&
		    plugin_instance_open(side->plugin, &ranker, SERVICE, side->options, NULL, 0,
					 &host->ranker[i], err) < 0)
			return err->code;
	}
	return 0;
}

static int host_attach(struct host *host, struct err *err)
{
	const struct cr_config config = { .run_dir = host->dir,
					  .program = "routesim",
					  .log = host_log };
	const int code = cr_attach(&config, &host->cr, err->text, sizeof err->text);

	if (code < 0)
		return err->code = code;
	host->thread = cr_thread_new(host->cr);
	if (host->thread == NULL)
		return err_set(err, -ENOMEM, "no memory for a thread");
	host->service = cr_service(host->cr, SERVICE);
	return host->service >= 0 ? 0 : err_set(err, host->service, "no service");
}

static int host_set_up(struct host *host, struct err *err)
{
	const uint32_t n = host->plan->scenario->servers;

	if (mkdir(host->dir, 0700) < 0)
		return err_set(err, -errno, "cannot make %s: %s", host->dir, err_words(errno));
	host->order = calloc(n, sizeof *host->order);
	host->mark = calloc(n, sizeof *host->mark);
	if (host->order == NULL || host->mark == NULL)
		return err_set(err, -ENOMEM, "no memory for a host");
	if (counters_create(host->dir, (gid_t)-1, &host->counters, err) < 0 ||
	    snapshot_create(host->dir, (gid_t)-1, &host->writer, err) < 0 ||
	    host_lay_image(host, err) < 0 || host_open_rankers(host, err) < 0 ||
	    host_attach(host, err) < 0)
		return err->code;
	return host_publish(host, 0, err);
}

int host_open(struct host *host, const struct host_plan *plan, uint32_t number, struct err *err)
{
	*host = (struct host){ .plan = plan };
	(void)snprintf(host->dir, sizeof host->dir, "%s/host%u", plan->dir, number);
	if (host_set_up(host, err) == 0)
		return 0;
	host_close(host);
	return err->code;
}

void host_close(struct host *host)
{
	static const char *const files[] = { COUNTERS_FILE, SNAPSHOT_FILE };
	char path[sizeof host->dir + 32];

	cr_thread_free(host->thread);
	cr_detach(host->cr);
	for (size_t i = 0; i < HOST_SIDES; i++)
		plugin_instance_close(&host->ranker[i]);
	free(host->image);
	free(host->order);
	free(host->mark);
	if (host->writer != NULL)
		snapshot_writer_close(host->writer);
	if (host->counters != NULL)
		counters_close(host->counters);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", host->dir, files[i]);
		(void)unlink(path);
	}
	(void)rmdir(host->dir);
	*host = (struct host){ 0 };
}

struct cr_live *host_live(const struct host *host, uint32_t server)
{
	const struct image_server *servers = image_servers(host->image);

	return &counters_line(host->counters, servers[server].line)->live;
}
