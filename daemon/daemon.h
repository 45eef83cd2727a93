/* daemon.h - callrouterd as a whole: what is open, and the configuration in force. [main only] */
#ifndef CR_DAEMON_DAEMON_H
#define CR_DAEMON_DAEMON_H

#include <event2/event.h>

#include "assemble.h"
#include "catalogue.h"
#include "census.h"
#include "config.h"
#include "control.h"
#include "poller.h"
#include "publisher.h"
#include "report.h"
#include "swap.h"
#include "watch.h"

/** The command line. */
struct daemon_options {
	const char *config_path, *run_dir, *state_dir;
	char **plugins_dir;
	size_t n_plugins_dirs;
	struct profiles profiles;
};

struct daemon {
	struct daemon_options options;
	char *run_dir, *state_dir; /* whole paths; options point to them */
	struct event_base *base;
	int lock_fd, state_lock_fd; /* of the run and the state directory */
	gid_t gid;                  /* (gid_t)-1: the process's own */
	struct config *config;
	struct catalogue catalogue;
	struct counters *counters;
	struct snapshot_writer *writer;
	struct servers *servers;
	struct poller *poller;
	struct roster *roster;
	struct seats *seats;
	struct seats_context seats_context;
	struct publisher *publisher;
	struct watch *watch;
	struct swap *swap;
	struct census *census;
	struct control *control;
	struct report *report;
	struct image_header
		*inherited; /* what a daemon before us published, until the first publish */
	struct event *on_put, *on_hup, *on_int, *on_term, *on_second, *on_settle;
	int64_t started_ns;
	int64_t held_ns; /* since when nothing is published, see daemon_publish() */
};

/**
 * Open everything; the loop is still to be run. report: see daemon_apply(). Returns 0 or < 0 with
 * err; daemon_close() is due either way.
 */
int daemon_open(struct daemon *daemon, const struct daemon_options *options, char **report,
		struct err *err);

/** Publish, and run until a signal ends it. */
void daemon_run(struct daemon *daemon);
void daemon_close(struct daemon *daemon);

/**
 * Read the configuration file anew and apply it whole, or not at all: then err is one line and the
 * mistakes are in *report (freed by the caller; report NULL: not wanted) and in the log; the first
 * time only where they are wanted. Returns 0 or < 0.
 */
int daemon_apply(struct daemon *daemon, char **report, struct err *err);

/**
 * daemon_apply() while running, with its consequences: what is published next is the new
 * configuration. A router that was never used before follows after its trial: until then the
 * service keeps the one that it had, and a new service has none. A refusal is logged. Returns 0 or
 * < 0.
 */
int daemon_reload(struct daemon *daemon, char **report, struct err *err);

/** Make the counters and the snapshot file, once the group is known; does nothing the second time.
 * 0 or < 0 with err. */
int daemon_open_files(struct daemon *daemon, const struct config *config, struct err *err);

/** Read what a daemon before us published last, if it is of this boot: daemon->inherited. */
void daemon_inherit(struct daemon *daemon);

/** Take over its metrics, with their ages: with a short restart they never run out. Servers that it
 * skipped are skipped until they are polled. */
void daemon_inherit_metrics(struct daemon *daemon);

/** What reports are made of, but for the plugins. */
void daemon_describe(struct daemon *daemon, struct report_source *source);

/** The commands of the control socket; arg: the daemon. */
extern const struct control_command daemon_commands[];

#endif
