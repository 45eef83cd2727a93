/* daemon.c - open all parts of callrouterd in order, run, close them in reverse. */
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

#define LOCK_FILE        "lock"
#define FIRST_PUBLISH_MS 3000 /* however long the trials take */
#define SETTLE_MS        10
#define SEQ_MAX          (UINT64_C(1) << 48) /* of plugin files: more than anybody ever adopts */

/*** Folders and files ***/

static int daemon_make_dir(const char *path, struct err *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s cannot be made: %s", path, err_words(errno));
	if (access(path, W_OK | X_OK) < 0)
		return err_set(err, -errno, "%s cannot be written: %s", path, err_words(errno));
	return 0;
}

/* Data planes load plugins by the paths that we publish, from folders of their own: only whole
 * paths will do. */
static int daemon_take_dir(const char **path, char **whole, struct err *err)
{
	if (daemon_make_dir(*path, err) < 0)
		return err->code;
	*whole = realpath(*path, NULL);
	if (*whole == NULL)
		return err_set(err, -errno, "%s: %s", *path, err_words(errno));
	*path = *whole;
	return 0;
}

/* One daemon per folder: two would undo what the other writes there. */
static int daemon_lock(const char *dir, const char *option, int *fd, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[PATH_MAX];

	(void)snprintf(path, sizeof path, "%s/" LOCK_FILE, dir);
	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (*fd < 0)
		return err_set(err, -errno, "%s cannot be opened: %s", path, err_words(errno));
	if (fcntl(*fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	if (errno != EAGAIN && errno != EACCES)
		return err_set(err, -errno, "%s cannot be locked: %s", path, err_words(errno));
	return err_set(err, -EBUSY, "another callrouterd serves %s: stop it, or give %s", dir,
		       option);
}

static int daemon_find_gid(const char *group, gid_t *gid, struct err *err)
{
	struct group entry, *found = NULL;
	char buf[4096];

	*gid = (gid_t)-1;
	if (group == NULL)
		return 0;
	if (getgrnam_r(group, &entry, buf, sizeof buf, &found) != 0 || found == NULL)
		return err_set(err, -ENOENT, "group %s does not exist", group);
	*gid = found->gr_gid;
	return 0;
}

/* The state directory may be new, but processes may still have loaded, or refuse, files of before:
 * their names and numbers must not come back. */
static void daemon_raise_seq(struct daemon *daemon)
{
	const struct image_header *image = daemon->inherited;
	const uint64_t quarantined = counters_quarantine_newest(daemon->counters);

	for (uint32_t i = 0; image != NULL && i < image->instance.count; i++)
		manifest_raise_seq(daemon->catalogue.manifest, image_instances(image)[i].seq);
	/* others may write there: a number out of this world is none of ours */
	if (quarantined < SEQ_MAX)
		manifest_raise_seq(daemon->catalogue.manifest, quarantined);
}

int daemon_open_files(struct daemon *daemon, const struct config *config, struct err *err)
{
	gid_t gid;

	if (daemon_find_gid(config->group, &gid, err) < 0)
		return err->code;
	if (daemon->counters != NULL) {
		if (gid != daemon->gid)
			log_warn("group not changed",
				 "reason=\"the files are there already\" remedy=\"restart "
				 "callrouterd\"");
		return 0;
	}
	daemon->gid = gid;
	daemon_inherit(daemon);
	if (counters_create(daemon->options.run_dir, daemon->gid, &daemon->counters, err) < 0)
		return err->code;
	daemon->checks = checks_new(daemon->base, daemon->counters);
	if (daemon->checks == NULL)
		return err_set(err, -ENOMEM, "no memory to check servers");
	daemon_raise_seq(daemon);
	return snapshot_create(daemon->options.run_dir, daemon->gid, &daemon->writer, err);
}

/*** Publishing begins, or goes on with another configuration ***/

/* Has every router had its trial? Of a plugin whose file is missing or was refused there is none to
 * wait for. */
static bool daemon_is_settled(struct daemon *daemon)
{
	const char *moving = swap_plugin(daemon->swap);

	for (size_t i = 0; i < daemon->seats->n; i++) {
		const struct seat *seat = &daemon->seats->seat[i];
		const struct shelf *shelf;

		if (seat->plugin[0] == '\0' || seat->now != NULL)
			continue;
		shelf = catalogue_shelf(&daemon->catalogue, seat->plugin);
		if (shelf != NULL && !shelf->is_gone &&
		    (shelf->seen.path[0] == '\0' ||
		     (moving != NULL && strcmp(moving, seat->plugin) == 0)))
			return false;
	}
	return true;
}

static void daemon_settle(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval again = { .tv_usec = SETTLE_MS * 1000L };
	struct daemon *daemon = arg;

	(void)fd;
	(void)what;
	if (!daemon_is_settled(daemon) &&
	    clock_now_ns() - daemon->held_ns < FIRST_PUBLISH_MS * CLOCK_MS) {
		evtimer_add(daemon->on_settle, &again);
		return;
	}
	publisher_hold(daemon->publisher, false);
	publisher_run(daemon->publisher);
	free(daemon->inherited);
	daemon->inherited = NULL;
}

/* What is published next has its routers: no data plane sees a service without one. */
static void daemon_publish(struct daemon *daemon)
{
	publisher_hold(daemon->publisher, true);
	daemon->held_ns = clock_now_ns();
	swap_look(daemon->swap, NULL);
	daemon_settle(-1, 0, daemon);
}

int daemon_reload(struct daemon *daemon, char **report, struct err *err)
{
	if (daemon_apply(daemon, report, err) < 0) {
		log_error("reload refused",
			  "error=\"%s\" consequence=\"the old configuration stays\"", err->text);
		return err->code;
	}
	swap_look(daemon->swap, NULL);
	publisher_run(daemon->publisher);
	return 0;
}

/*** Events ***/

static void daemon_on_put(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *daemon = arg;

	(void)fd;
	(void)what;
	publisher_touch(daemon->publisher); /* the round clears servers_fd() */
}

static void daemon_on_hup(evutil_socket_t fd, short what, void *arg)
{
	struct err err = { 0 };

	(void)fd;
	(void)what;
	(void)daemon_reload(arg, NULL, &err); /* it has logged why */
}

static void daemon_on_end(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *daemon = arg;

	(void)what;
	log_info("stopping", "signal=%s", sigabbrev_np((int)fd));
	event_base_loopbreak(daemon->base);
}

/* An image has figures, not names: those are the sitter's, if the image is about that sitter. */
static char *const *daemon_columns(const void *arg, size_t service, uint64_t seq)
{
	const struct seats *seats = arg;
	const struct sitter *sitter = seats->seat[2 * service].now;

	return sitter != NULL && sitter->generation->seq == seq ? sitter->generation->facts->columns
								: NULL;
}

void daemon_describe(struct daemon *daemon, struct report_source *source)
{
	*source = (struct report_source){ .config = daemon->config,
					  .image = publisher_image(daemon->publisher),
					  .counters = daemon->counters,
					  .servers = daemon->servers,
					  .poller = daemon->poller,
					  .checks = daemon->checks,
					  .warnings = daemon->warnings,
					  .columns = daemon_columns,
					  .columns_arg = daemon->seats,
					  .smooth = publisher_smoothed(daemon->publisher),
					  .now_ns = clock_now_ns(),
					  .started_ns = daemon->started_ns };
}

static void daemon_on_second(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *daemon = arg;
	struct report_source source;

	(void)fd;
	(void)what;
	daemon_describe(daemon, &source);
	report_tick(daemon->report, &source);
}

static void daemon_on_sample(evutil_socket_t fd, short what, void *arg)
{
	struct daemon *daemon = arg;
	struct report_source source;

	(void)fd;
	(void)what;
	daemon_describe(daemon, &source);
	warnings_tick(daemon->warnings, &source);
}

static void daemon_on_sitter(void *arg, struct sitter *sitter, enum ranker_event event,
			     const struct err *err)
{
	struct daemon *daemon = arg;

	if (sitter->seat->coming == sitter || event == RANKER_DEAD || event == RANKER_TRIED) {
		swap_heard(daemon->swap, sitter, event, err);
		return;
	}
	if (event == RANKER_LATE)
		log_warn("rank late", "plugin=%s service=%s error=\"%s\"",
			 sitter->generation->plugin, sitter->seat->service_name, err->text);
	publisher_heard(daemon->publisher, sitter, event);
}

static void daemon_on_convict(void *arg, uint64_t seq, const char *note)
{
	struct daemon *daemon = arg;

	swap_quarantine(daemon->swap, seq, note);
}

static int daemon_add_events(struct daemon *daemon, struct err *err)
{
	const struct timeval second = { .tv_sec = 1 }, sample = { .tv_usec = WARNINGS_MS * 1000 };

	daemon->on_put = event_new(daemon->base, servers_fd(daemon->servers),
				   EV_READ | EV_PERSIST | EV_ET, daemon_on_put, daemon);
	daemon->on_hup = evsignal_new(daemon->base, SIGHUP, daemon_on_hup, daemon);
	daemon->on_int = evsignal_new(daemon->base, SIGINT, daemon_on_end, daemon);
	daemon->on_term = evsignal_new(daemon->base, SIGTERM, daemon_on_end, daemon);
	daemon->on_second = event_new(daemon->base, -1, EV_PERSIST, daemon_on_second, daemon);
	daemon->on_sample = event_new(daemon->base, -1, EV_PERSIST, daemon_on_sample, daemon);
	daemon->on_settle = evtimer_new(daemon->base, daemon_settle, daemon);
	if (daemon->on_sample == NULL || daemon->on_settle == NULL || daemon->on_put == NULL ||
	    daemon->on_hup == NULL || daemon->on_int == NULL || daemon->on_term == NULL ||
	    daemon->on_second == NULL)
		return err_set(err, -ENOMEM, "no memory for events");
	event_add(daemon->on_put, NULL);
	event_add(daemon->on_hup, NULL);
	event_add(daemon->on_int, NULL);
	event_add(daemon->on_term, NULL);
	event_add(daemon->on_second, &second);
	event_add(daemon->on_sample, &sample);
	return 0;
}

/*** Opening ***/

/* The generations that the manifest calls current, whether used now or not: a reload may want them.
 */
static void daemon_restore(struct daemon *daemon)
{
	size_t n;
	const struct manifest_entry *entry = manifest_entries(daemon->catalogue.manifest, &n);

	for (size_t i = 0; i < n; i++) {
		struct shelf *shelf = catalogue_shelf(&daemon->catalogue, entry[i].plugin);
		struct err err = { 0 };

		if (shelf != NULL && catalogue_restore(&daemon->catalogue, shelf, &err) < 0)
			log_warn("adopted plugin not usable any more", "name=%s error=\"%s\"",
				 entry[i].plugin, err.text);
	}
}

static int daemon_open_state(struct daemon *daemon, struct err *err)
{
	struct daemon_options *options = &daemon->options;

	if (daemon_take_dir(&options->run_dir, &daemon->run_dir, err) < 0 ||
	    daemon_take_dir(&options->state_dir, &daemon->state_dir, err) < 0 ||
	    daemon_lock(options->run_dir, "--run-dir", &daemon->lock_fd, err) < 0 ||
	    daemon_lock(options->state_dir, "--state-dir", &daemon->state_lock_fd, err) < 0)
		return err->code;
	if (catalogue_open(&daemon->catalogue, options->state_dir, options->plugins_dir,
			   options->n_plugins_dirs, err) < 0)
		return err->code;
	daemon_restore(daemon);
	daemon->base = event_base_new();
	daemon->servers = servers_new(options->state_dir);
	daemon->poller = daemon->servers != NULL ? poller_new(daemon->servers) : NULL;
	daemon->report = report_new();
	daemon->warnings = warnings_new();
	if (daemon->base == NULL || daemon->poller == NULL || daemon->report == NULL ||
	    daemon->warnings == NULL)
		return err_set(err, -ENOMEM, "no memory to start");
	daemon->seats_context =
		(struct seats_context){ daemon->base, options->run_dir, daemon_on_sitter, daemon };
	return 0;
}

/* daemon->config and so on are the addresses of what a reload replaces. */
static int daemon_open_publisher(struct daemon *daemon, struct err *err)
{
	const struct publisher_context context = {
		.base = daemon->base,
		.writer = daemon->writer,
		.config = (const struct config *const *)&daemon->config,
		.servers = daemon->servers,
		.counters = daemon->counters,
		.roster = (const struct roster *const *)&daemon->roster,
		.seats = &daemon->seats,
	};

	daemon->publisher = publisher_new(&context);
	return daemon->publisher != NULL ? 0 : err_set(err, -ENOMEM, "no memory to publish");
}

static int daemon_open_swap(struct daemon *daemon, struct err *err)
{
	const struct swap_context context = {
		.base = daemon->base,
		.catalogue = &daemon->catalogue,
		.config = (const struct config *const *)&daemon->config,
		.seats = &daemon->seats,
		.roster = (const struct roster *const *)&daemon->roster,
		.counters = daemon->counters,
		.publisher = daemon->publisher,
		.poller = daemon->poller,
		.watch = &daemon->watch,
		.run_dir = daemon->options.run_dir,
	};

	daemon->swap = swap_new(&context);
	daemon->census = census_new(daemon->base, daemon->counters, daemon->options.run_dir,
				    daemon_on_convict, daemon);
	if (daemon->swap == NULL || daemon->census == NULL)
		return err_set(err, -ENOMEM, "no memory to start");
	daemon->watch = watch_open(daemon->base, daemon->options.plugins_dir,
				   daemon->options.n_plugins_dirs, swap_look, daemon->swap, err);
	return daemon->watch != NULL ? 0 : err->code;
}

static int daemon_open_health(struct daemon *daemon, struct err *err)
{
	const struct health_log_context context = {
		.counters = daemon->counters,
		.checks = daemon->checks,
		.config = (const struct config *const *)&daemon->config,
		.roster = (const struct roster *const *)&daemon->roster,
	};

	daemon->health_log = health_log_new(daemon->base, &context);
	return daemon->health_log != NULL ? 0 : err_set(err, -ENOMEM, "no memory to start");
}

int daemon_open(struct daemon *daemon, const struct daemon_options *options, char **report,
		struct err *err)
{
	*daemon = (struct daemon){ .options = *options,
				   .lock_fd = -1,
				   .state_lock_fd = -1,
				   .gid = (gid_t)-1,
				   .started_ns = clock_now_ns() };
	if (daemon_open_state(daemon, err) < 0 || daemon_apply(daemon, report, err) < 0 ||
	    daemon_open_publisher(daemon, err) < 0 || daemon_open_swap(daemon, err) < 0 ||
	    daemon_open_health(daemon, err) < 0 || daemon_add_events(daemon, err) < 0)
		return err->code;
	return control_open(daemon->base, daemon->options.run_dir, daemon->gid, daemon_commands,
			    daemon, &daemon->control, err);
}

/*** Running and closing ***/

/* main() holds SIGHUP back until its handler is there. */
static void daemon_let_reloads_in(void)
{
	sigset_t hup;

	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	pthread_sigmask(SIG_UNBLOCK, &hup, NULL);
}

void daemon_run(struct daemon *daemon)
{
	log_info("started", "version=%s cluster=%s run_dir=%s", CALLROUTER_VERSION,
		 daemon->config->cluster, daemon->options.run_dir);
	daemon_inherit_metrics(daemon);
	daemon_publish(daemon);
	daemon_let_reloads_in();
	event_base_dispatch(daemon->base);
	log_info("stopped", "consequence=\"data planes go on with what was published last\"");
}

static void daemon_free_event(struct event *event)
{
	if (event != NULL)
		event_free(event);
}

void daemon_close(struct daemon *daemon)
{
	control_close(daemon->control);
	daemon_free_event(daemon->on_put);
	daemon_free_event(daemon->on_hup);
	daemon_free_event(daemon->on_int);
	daemon_free_event(daemon->on_term);
	daemon_free_event(daemon->on_second);
	daemon_free_event(daemon->on_sample);
	daemon_free_event(daemon->on_settle);
	watch_close(daemon->watch);
	health_log_free(daemon->health_log);
	checks_free(daemon->checks);
	census_free(daemon->census);
	seats_free(daemon->seats);
	swap_free(daemon->swap);
	publisher_free(daemon->publisher);
	poller_free(daemon->poller);
	servers_free(daemon->servers);
	report_free(daemon->report);
	warnings_free(daemon->warnings);
	roster_free(daemon->roster);
	config_free(daemon->config);
	catalogue_close(&daemon->catalogue);
	snapshot_writer_close(daemon->writer);
	if (daemon->counters != NULL)
		counters_close(daemon->counters);
	free(daemon->inherited);
	if (daemon->base != NULL)
		event_base_free(daemon->base);
	if (daemon->lock_fd >= 0)
		close(daemon->lock_fd);
	if (daemon->state_lock_fd >= 0)
		close(daemon->state_lock_fd);
	free(daemon->run_dir);
	free(daemon->state_dir);
}
