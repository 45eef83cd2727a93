/*
 * watch.h - says "look again" when something happens in the plugin directories. inotify is only a
 * hint (it knows nothing of network file systems, and events get lost): a slow look comes anyway.
 */
#ifndef CR_DAEMON_WATCH_H
#define CR_DAEMON_WATCH_H

#include <event2/event.h>

#include "err.h"

#define WATCH_SLOW_S    2   /* seconds between looks without a hint */
#define WATCH_SETTLE_MS 20L /* between two looks at a file that is written in place */

/** look: by_rename: the file name (without a directory) that arrived whole, by rename; NULL:
 * anything may have happened. */
typedef void watch_fn(void *arg, const char *by_rename);

struct watch;

/** Watch these directories (they need not exist yet). Returns NULL with err. [main] */
struct watch *watch_open(struct event_base *base, char *const *dirs, size_t n_dirs, watch_fn *look,
			 void *arg, struct err *err);
void watch_close(struct watch *watch);

/** Ask for another look in WATCH_SETTLE_MS. [main] */
void watch_again(struct watch *watch);

#endif
