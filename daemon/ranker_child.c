/* ranker_child.c - the ranker's own process: load one router, then answer the daemon until it hangs
 * up. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counters.h"
#include "log.h"
#include "ranker_wire.h"
#include "text.h"
#include "view.h"

/* No plugin needs more, and one that leaks ends before the host does. A sanitizer's shadow is
 * terabytes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHILD_MEMORY_MAX RLIM_INFINITY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHILD_MEMORY_MAX RLIM_INFINITY
#endif
#endif
#ifndef CHILD_MEMORY_MAX
#define CHILD_MEMORY_MAX ((rlim_t)4 << 30)
#endif

/** All that the process knows. */
struct child {
	char **argv;
	struct wire_area *area;
	struct counters *counters; /* NULL: none yet */
	struct plugin *plugin;
	struct plugin_instance instance;
	bool is_open;
	uint16_t *order;
	uint32_t *seen, stamp;
};

static void child_log(const struct cr_host *host, enum cr_level level, const char *fmt, ...)
	CR_PRINTF(3, 4);

static void child_log(const struct cr_host *host, enum cr_level level, const char *fmt, ...)
{
	char line[512];
	va_list args;

	(void)host;
	va_start(args, fmt);
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	log_line(level, "plugin", "%s", line);
}

static int child_metric(const struct cr_host *host, const char *name)
{
	(void)host;
	(void)name;
	return 0; /* a collector on trial: its values go nowhere */
}

static const struct cr_host child_host = { child_log, child_metric };

static bool child_send(uint32_t op, int result, const struct err *err)
{
	struct wire_message message = { .op = op, .result = result };

	if (result < 0)
		text_copy(message.text, sizeof message.text, err->text);
	return send(WIRE_SOCKET_FD, &message, sizeof message, MSG_NOSIGNAL) ==
	       (ssize_t)sizeof message;
}

static int child_map(struct child *child, struct err *err)
{
	void *area = mmap(NULL, sizeof *child->area, PROT_READ | PROT_WRITE, MAP_SHARED,
			  WIRE_AREA_FD, 0);

	if (area == MAP_FAILED)
		return err_set(err, -errno, "no memory to talk to callrouterd: %s",
			       err_words(errno));
	child->area = area;
	close(WIRE_AREA_FD); /* before a plugin can write into it */
	child->order = calloc(CR_NONE, sizeof *child->order);
	child->seen = calloc(CR_NONE, sizeof *child->seen);
	return child->order != NULL && child->seen != NULL ? 0 : err_set(err, -ENOMEM, "no memory");
}

static int child_load(struct child *child, struct err *err)
{
	const char *name = child->argv[WIRE_ARG_PLUGIN];

	assert(child->area != NULL);
	child->area->phase = WIRE_LOADING;
	if (plugin_open(child->argv[WIRE_ARG_PATH], name[0] != '\0' ? name : NULL, &child->plugin,
			err) < 0)
		return err->code;
	if (ranker_facts_write(child->plugin, child->area->facts, sizeof child->area->facts) < 0)
		return err_set(err, -EMSGSIZE,
			       "its tables of options and names are longer than 256 KiB");
	child->area->phase = WIRE_WAITING;
	return 0;
}

static int child_open_router(struct child *child, struct err *err)
{
	const uint32_t saved_len = child->area->saved_len;
	int failed;

	if (child->is_open)
		return 0;
	child->area->phase = WIRE_OPENING;
	failed = plugin_instance_open(
		child->plugin, &child_host, child->argv[WIRE_ARG_SERVICE],
		child->argv[WIRE_ARG_OPTIONS], saved_len > 0 ? child->area->saved : NULL,
		saved_len <= RANKER_SAVED_MAX ? saved_len : 0, &child->instance, err);
	child->area->phase = WIRE_WAITING;
	child->is_open = failed == 0;
	return failed;
}

/* The file may appear or be replaced after we were started. */
static void child_map_counters(struct child *child)
{
	const char *run_dir = child->argv[WIRE_ARG_RUN_DIR];

	if (run_dir[0] == '\0')
		return;
	if (child->counters != NULL && !counters_is_replaced(child->counters, run_dir))
		return;
	if (child->counters != NULL)
		counters_close(child->counters);
	child->counters = NULL;
	/* a plugin that writes into any descriptor must not reach what all share */
	if (counters_open(run_dir, false, &child->counters, NULL) == 0)
		counters_close_files(child->counters);
}

static const struct image_header *child_image(const struct child *child, struct err *err)
{
	const struct image_header *image = (const struct image_header *)child->area->image;

	return image_check(image, image->bytes, err) == 0 ? image : NULL;
}

/* A collector is opened and closed, and perhaps asked about targets: more cannot be tried. */
static int child_try_collector(struct child *child, bool with_targets, struct err *err)
{
	const struct collector_trial trial = { .plugin = child->plugin,
					       .host = &child_host,
					       .source = child->argv[WIRE_ARG_SERVICE],
					       .options = child->argv[WIRE_ARG_OPTIONS],
					       .area = child->area };

	return ranker_try_collector(&trial, with_targets, err);
}

static int child_try(struct child *child, uint32_t instance, struct err *err)
{
	const struct trial trial = { child->plugin, &child->instance, child->counters,
				     &child->area->phase };
	const struct image_header *image = NULL;

	if (child->plugin->kind == PLUGIN_COLLECTOR)
		return child_try_collector(child, false, err);
	if (child_open_router(child, err) < 0)
		return err->code;
	if (instance != IMAGE_NONE && (image = child_image(child, err)) == NULL)
		return err->code;
	return ranker_trial(&trial, image, instance, err);
}

static void child_answer(struct child *child, const struct image_header *image,
			 const struct cr_view *view, int got)
{
	struct wire_area *area = child->area;

	area->generation = image->generation;
	area->verdict = got;
	area->n_rows = (uint32_t)view->n;
	area->n_columns = (uint32_t)plugin_count(child->plugin->router.columns);
	area->n = got > 0 && (size_t)got <= view->n ? (uint32_t)got : 0;
	memcpy(area->order, child->order, area->n * sizeof *area->order);
}

/* After each rank(): a successor, or the next ranker after a crash, goes on from there. */
static void child_save(struct child *child)
{
	const struct cr_router *router = &child->plugin->router;
	size_t len;

	if (router->save == NULL)
		return;
	child->area->phase = WIRE_SAVING;
	len = router->save(child->instance.self, child->area->saved, RANKER_SAVED_MAX);
	child->area->saved_len = len <= RANKER_SAVED_MAX ? (uint32_t)len : 0;
	child->area->phase = WIRE_WAITING;
}

static int child_rank(struct child *child, uint32_t instance, struct err *err)
{
	const struct cr_router *router = &child->plugin->router;
	const struct image_header *image = child_image(child, err);
	const struct image_instance *row;
	const struct image_service *service;
	double *column[CR_COLUMNS_MAX];
	struct cr_view *view;
	int got = 0;

	if (image == NULL || child_open_router(child, err) < 0)
		return err->code;
	if (instance >= image->instance.count || router->rank == NULL)
		return err_set(err, -EINVAL, "it has no rank()");
	row = &image_instances(image)[instance];
	service = &image_services(image)[row->service];
	view = view_new(image, service, NULL, row, router, child->counters);
	if (view == NULL)
		return err_set(err, -ENOMEM, "no memory for the view");
	for (size_t k = 0; k < CR_COLUMNS_MAX; k++)
		column[k] = child->area->column + k * view->n;
	child->area->phase = WIRE_RANKING;
	got = router->rank(child->instance.self, view, child->order,
			   view_usable(image, service, child->order), column);
	child->area->phase = WIRE_WAITING;
	child_answer(child, image, view, got);
	view_free(view);
	child_save(child);
	return 0;
}

static int child_serve(struct child *child, const struct wire_message *message, struct err *err)
{
	assert(child->plugin != NULL);
	child_map_counters(child);
	switch ((enum wire_op)message->op) {
	case WIRE_OPEN:
		return child->plugin->kind == PLUGIN_COLLECTOR
			       ? child_try_collector(child, false, err)
			       : child_open_router(child, err);
	case WIRE_TARGETS:
		if (child->plugin->kind == PLUGIN_COLLECTOR)
			return child_try_collector(child, true, err);
		break;
	case WIRE_TRY:
		return child_try(child, message->instance, err);
	case WIRE_RANK:
		return child_rank(child, message->instance, err);
	case WIRE_HELLO:
		break;
	}
	return err_set(err, -EINVAL, "unknown request %u", message->op);
}

bool ranker_is_me(int argc, char **argv)
{
	return argc == WIRE_ARGS && strcmp(argv[WIRE_ARG_MARK], WIRE_ARGUMENT) == 0;
}

/* What a terminal or systemd sends to all of us is for callrouterd: our end follows from its end.
 */
static void child_ignore_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		(void)signal(signals[i], SIG_IGN);
}

/* Never more than there was. */
static void child_limit(__rlimit_resource_t resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return;
	limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
	limit.rlim_cur = limit.rlim_cur < most ? limit.rlim_cur : most;
	(void)setrlimit(resource, &limit);
}

/* As far as the system lets us: a plugin runs here whose author may be careless. */
static void child_confine(void)
{
	static const char first_to_go[] = "500";
	const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, first_to_go, sizeof first_to_go - 1);
		close(fd);
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	child_limit(RLIMIT_CORE, 0);
	child_limit(RLIMIT_AS, CHILD_MEMORY_MAX);
}

int ranker_main(int argc, char **argv)
{
	struct child child = { .argv = argv };
	struct wire_message message;
	struct err err = { 0 };
	int failed;

	(void)argc;
	child_ignore_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "cr-ranker");
	child_confine();
	log_to(log_stderr, NULL, CR_INFO);
	failed = child_map(&child, &err);
	if (failed == 0)
		failed = child_load(&child, &err);
	if (!child_send(WIRE_HELLO, failed, &err) || failed < 0)
		_exit(EXIT_FAILURE);
	while (recv(WIRE_SOCKET_FD, &message, sizeof message, 0) == (ssize_t)sizeof message) {
		failed = child_serve(&child, &message, &err);
		if (!child_send(message.op, failed, &err))
			_exit(EXIT_FAILURE);
	}
	/* not exit(): a plugin's destructors are nobody's business here */
	_exit(EXIT_SUCCESS);
}
