/* control.h - the control socket: one JSON object in, one JSON object out, per line. */
#ifndef CR_DAEMON_CONTROL_H
#define CR_DAEMON_CONTROL_H

#include <sys/types.h>

#include <event2/event.h>
#include <jansson.h>

#include "err.h"

#define CONTROL_FILE     "control.sock"
#define CONTROL_LINE_MAX 65536

struct control;
struct control_request;

/** One command. */
struct control_command {
	const char *name; /* "status"; NULL ends the table */
	bool writes;      /* only for root, the daemon's user, and nobody else */
	/**
	 * Answer request (borrowed). Returns a new object (the members of the answer), NULL with
	 * err, or NULL with err->code 0: the answer comes later through control_answer(later, ...),
	 * which must be called exactly once. [main]
	 */
	json_t *(*run)(void *arg, const json_t *request, struct control_request *later,
		       struct err *err);
};

/**
 * Listen on RUN/control.sock, mode 0660, group gid ((gid_t)-1: leave). A stale socket is replaced,
 * a live one refused. commands: lives as long as the control. Ignores SIGPIPE for the process.
 * Returns 0 or < 0 with err. [main]
 */
int control_open(struct event_base *base, const char *run_dir, gid_t gid,
		 const struct control_command *commands, void *arg, struct control **out,
		 struct err *err);
void control_close(struct control *control);

/** The answer to a request that was put off; members NULL: err is the answer. Takes members. [main]
 */
void control_answer(struct control_request *request, json_t *members, const struct err *err);

/** The client's side: send {"command": ..., members}, wait at most timeout_ms. Returns the answer's
 * object (the caller's) or NULL with err (no daemon: says how to start it; refused; timed out; the
 * daemon's own error). Takes request. [any] */
json_t *control_ask(const char *run_dir, json_t *request, int timeout_ms, struct err *err);

#endif
