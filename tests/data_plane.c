/* data_plane.c - the daemon's side of a run directory, played by the test. */
#include "data_plane.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 512

static _Noreturn void die(const char *what, const char *detail)
{
	(void)fprintf(stderr, "data_plane: %s: %s\n", what, detail);
	abort();
}

/*** The run directory ***/

void run_open_empty(struct run *run)
{
	*run = (struct run){ .dir = "/tmp/callrouter-test-XXXXXX" };
	pthread_mutex_init(&run->said_lock, NULL);
	if (mkdtemp(run->dir) == NULL)
		die("mkdtemp", run->dir);
}

void run_start_daemon(struct run *run)
{
	struct err err = { 0 };

	if (counters_create(run->dir, (gid_t)-1, &run->counters, &err) < 0 ||
	    snapshot_create(run->dir, (gid_t)-1, &run->writer, &err) < 0)
		die("daemon", err.text);
}

void run_stop_daemon(struct run *run)
{
	counters_close(run->counters);
	snapshot_writer_close(run->writer);
	run->counters = NULL;
	run->writer = NULL;
}

void run_open(struct run *run)
{
	run_open_empty(run);
	run_start_daemon(run);
}

const char *run_file(const struct run *run, const char *name)
{
	static _Thread_local char path[PATH_BYTES];

	(void)snprintf(path, sizeof path, "%s/%s", run->dir, name);
	return path;
}

void run_close(struct run *run)
{
	struct dirent *entry;
	DIR *dir;

	if (run->counters != NULL)
		run_stop_daemon(run);
	dir = opendir(run->dir);
	if (dir == NULL)
		die("opendir", run->dir);
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
			unlink(run_file(run, entry->d_name));
	closedir(dir);
	if (rmdir(run->dir) < 0)
		die("rmdir", run->dir);
	pthread_mutex_destroy(&run->said_lock);
}

const char *run_stage(const struct run *run, const char *folder, const char *name, uint64_t seq)
{
	static _Thread_local char path[PATH_BYTES];
	struct stat st;
	int from, to;

	(void)snprintf(path, sizeof path, "%s/%s.so", folder, name);
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0)
		die("no such plugin", path);
	(void)snprintf(path, sizeof path, "%s/%s.%llu.so", run->dir, name, (unsigned long long)seq);
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (to < 0 || sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size)
		die("cannot copy to", path);
	close(to);
	close(from);
	return path;
}

/*** Publishing ***/

struct plan *plan_new(uint32_t n)
{
	struct plan *plan = calloc(1, sizeof *plan);

	if (plan == NULL || n > PLAN_SERVERS)
		die("plan", "too large");
	plan->n_servers = n;
	for (uint32_t i = 0; i < n; i++) {
		struct image_server *server = &plan->server[i];

		(void)snprintf(server->name, sizeof server->name, "ms%u", i + 1);
		(void)snprintf(server->address, sizeof server->address, "10.0.%u.%u:7001", i / 256,
			       i % 256);
		server->weight = 1;
	}
	plan->n_services = 1;
	(void)snprintf(plan->service[0].name, sizeof plan->service[0].name, "orders");
	plan->service[0].n_rows = n;
	return plan;
}

struct plan_side plan_route(const char *plugin, const char *path, uint64_t key)
{
	return (struct plan_side){
		.plugin = plugin,
		.path = path,
		.key = key,
		.seq = key,
		.flags = IMAGE_HAS_ROUTE,
		.fresh_until_ns = INT64_MAX,
	};
}

/** An image being filled: what was given out of it so far. */
struct filling {
	const struct plan *plan;
	struct image_header *image;
	uint32_t instances, rows, orders, columns, text;
};

static uint32_t fill_text(struct filling *f, const char *text)
{
	const uint32_t at = f->text;

	if (text == NULL)
		return IMAGE_NONE;
	memcpy((char *)image_edit(f->image, f->image->text) + at, text, strlen(text) + 1);
	f->text += (uint32_t)strlen(text) + 1;
	return at;
}

static uint32_t fill_instance(struct filling *f, const struct plan_side *side, uint32_t service)
{
	struct image_instance *instance = image_edit(f->image, f->image->instance);

	if (side->plugin == NULL)
		return IMAGE_NONE;
	instance += f->instances;
	*instance = (struct image_instance){
		.key = side->key,
		.seq = side->seq,
		.flags = side->flags,
		.service = service,
		.version = "1",
		.path = fill_text(f, side->path),
		.options = fill_text(f, side->options),
		.shared_bank = side->bank,
		.shared_words = side->shared_words,
	};
	(void)snprintf(instance->plugin, sizeof instance->plugin, "%s", side->plugin);
	return f->instances++;
}

static struct image_choice fill_choice(struct filling *f, const struct plan_side *side, uint32_t s)
{
	const struct plan_service *service = &f->plan->service[s];
	struct image_choice choice = {
		.instance = fill_instance(f, side, s),
		.reason = side->reason,
		.verdict = side->verdict,
		.n_columns = side->n_columns,
		.order = f->orders,
		.column = f->columns,
		.fresh_until_ns = side->fresh_until_ns,
	};
	uint16_t *order = (uint16_t *)image_edit(f->image, f->image->order) + f->orders;
	double *column = (double *)image_edit(f->image, f->image->column) + f->columns;
	uint32_t n = 0;

	for (uint32_t i = 0; i < service->n_rows; i++) {
		if (!image_is_usable(&f->plan->server[service->first + i]))
			continue;
		order[n] = side->order != NULL ? side->order[n] : (uint16_t)i;
		n++;
	}
	f->orders += n;
	for (uint32_t k = 0; k < side->n_columns; k++)
		for (uint32_t i = 0; i < service->n_rows; i++)
			column[k * service->n_rows + i] = 100 * k + i;
	f->columns += side->n_columns * service->n_rows;
	return choice;
}

static void fill_service(struct filling *f, struct run *run, uint32_t s)
{
	const struct plan_service *from = &f->plan->service[s];
	struct image_service *to = image_edit(f->image, f->image->service);
	uint32_t *row = (uint32_t *)image_edit(f->image, f->image->row) + f->rows;

	to += s;
	memcpy(to->name, from->name, sizeof to->name);
	to->rows = f->rows;
	to->n_rows = from->n_rows;
	to->line = (uint32_t)counters_service_of(run->counters, from->name, NULL);
	to->stale_after_ns = 10 * INT64_C(1000000000);
	to->health = from->health;
	for (uint32_t i = 0; i < from->n_rows; i++) {
		row[i] = from->first + i;
		to->n_usable += image_is_usable(&f->plan->server[row[i]]);
	}
	f->rows += from->n_rows;
	to->router = fill_choice(f, &from->router, s);
	to->preset = fill_choice(f, &from->preset, s);
}

static void fill_servers(const struct filling *f, struct run *run)
{
	struct image_server *server = image_edit(f->image, f->image->server);
	struct image_metric *metric = image_edit(f->image, f->image->metric);
	double *value = image_edit(f->image, f->image->value);
	int64_t *taken = image_edit(f->image, f->image->taken);
	const struct plan *plan = f->plan;

	memcpy(server, plan->server, plan->n_servers * sizeof *server);
	for (uint32_t i = 0; i < plan->n_servers && !plan->has_wrong_lines; i++) {
		server[i].line = (uint32_t)counters_line_of(run->counters, server[i].name, NULL);
		server[i].incarnation = atomic_load_explicit(
			&counters_line(run->counters, server[i].line)->incarnation,
			memory_order_relaxed);
	}
	for (uint32_t k = 0; k < plan->n_metrics; k++) {
		(void)snprintf(metric[k].name, sizeof metric[k].name, "%s", plan->metric[k]);
		for (uint32_t i = 0; i < plan->n_servers; i++) {
			value[k * plan->n_servers + i] = plan->value[k][i];
			taken[k * plan->n_servers + i] = plan->taken_ns[k][i];
		}
	}
}

struct image_header *run_image(struct run *run, const struct plan *plan)
{
	struct image_size size = { .servers = plan->n_servers,
				   .metrics = plan->n_metrics,
				   .services = plan->n_services,
				   .instances = plan->coming.plugin != NULL,
				   .text = 8192 };
	struct filling f = { .plan = plan };
	struct err err = { 0 };

	for (uint32_t s = 0; s < plan->n_services; s++) {
		const struct plan_service *service = &plan->service[s];

		size.instances += service->router.plugin != NULL;
		size.instances += service->preset.plugin != NULL;
		size.rows += service->n_rows;
		size.orders += 2 * service->n_rows;
		size.columns +=
			service->n_rows * (service->router.n_columns + service->preset.n_columns);
	}
	f.image = image_new(&size);
	if (f.image == NULL)
		die("image_new", "NULL");
	f.image->taken_ns = NOW_NS;
	f.image->prepare = plan->prepare;
	f.image->hosts = plan->hosts;
	fill_servers(&f, run);
	for (uint32_t s = 0; s < plan->n_services; s++)
		fill_service(&f, run, s);
	fill_instance(&f, &plan->coming, 0);
	if (image_check(f.image, f.image->bytes, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		free(f.image);
		return NULL;
	}
	return f.image;
}

void run_publish(struct run *run, const struct plan *plan)
{
	struct image_header *image = run_image(run, plan);
	struct err err = { 0 };

	if (image == NULL)
		die("the plan makes no valid image", run->dir);
	if (snapshot_publish(run->writer, image, &err) < 0)
		die("publish", err.text);
	free(image);
}

/*** Data planes ***/

static void keep_line(void *arg, enum cr_level level, const char *line)
{
	struct run *run = arg;

	(void)level;
	pthread_mutex_lock(&run->said_lock);
	if (run->n_said < sizeof run->said / sizeof *run->said)
		(void)snprintf(run->said[run->n_said], sizeof *run->said, "%s", line);
	run->n_said++;
	pthread_mutex_unlock(&run->said_lock);
}

struct cr *run_attach_with(struct run *run, const char *program, bool start_thread)
{
	const struct cr_config config = { .run_dir = run->dir,
					  .program = program,
					  .start_thread = start_thread,
					  .log = keep_line,
					  .log_arg = run };
	struct cr *cr;
	char text[256];

	if (cr_attach(&config, &cr, text, sizeof text) < 0)
		die("attach", text);
	return cr;
}

struct cr *run_attach(struct run *run)
{
	return run_attach_with(run, "test", false);
}

struct counters_line *run_line(const struct run *run, const char *server)
{
	return counters_line(run->counters,
			     (uint32_t)counters_line_of(run->counters, server, NULL));
}

struct counters_service *run_service(const struct run *run, const char *service)
{
	return counters_service(run->counters,
				(uint32_t)counters_service_of(run->counters, service, NULL));
}

uint32_t run_inflight(const struct run *run, const char *server)
{
	return __atomic_load_n(&run_line(run, server)->live.inflight, __ATOMIC_RELAXED);
}

int64_t run_inflight_bytes(const struct run *run, const char *server)
{
	return __atomic_load_n(&run_line(run, server)->live.inflight_bytes, __ATOMIC_RELAXED);
}

unsigned count_mappings(const char *text)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned n = 0;
	char line[1024];

	if (maps == NULL)
		die("fopen", "/proc/self/maps");
	while (fgets(line, sizeof line, maps) != NULL)
		n += strstr(line, text) != NULL;
	(void)fclose(maps);
	return n;
}
