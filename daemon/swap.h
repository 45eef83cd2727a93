/*
 * swap.h - put one generation of a plugin in the place of another while calls flow: stage, try,
 * prepare, flip. One swap at a time; any failure before the flip leaves everything as it was. [main
 * only]
 */
#ifndef CR_DAEMON_SWAP_H
#define CR_DAEMON_SWAP_H

#include "catalogue.h"
#include "control.h"
#include "poller.h"
#include "publisher.h"
#include "watch.h"

#define SWAP_PREPARE_MS 1000 /* then data planes that have not answered are left behind */

struct swap;

/** Where the swap finds everything; what the double pointers point to may change (reload), but not
 * during a swap. */
struct swap_context {
	struct event_base *base;
	struct catalogue *catalogue;
	const struct config *const *config;
	struct seats *const *seats;
	const struct roster *const *roster;
	struct counters *counters;
	struct publisher *publisher;
	struct poller *poller;
	struct watch *const *watch;
	const char *run_dir;
};

struct swap *swap_new(const struct swap_context *context);
void swap_free(struct swap *swap);

/** Look at the plugin directories (the watch's callback; arg: the swap). */
void swap_look(void *arg, const char *by_rename);

/** A ranker's event that concerns swaps: TRIED and DEAD of those who are coming, DEAD of those in
 * office. */
void swap_heard(struct swap *swap, struct sitter *sitter, enum ranker_event event,
		const struct err *err);

/** A data plane died in route() of this plugin file, or keeps dying since it loaded it. */
void swap_quarantine(struct swap *swap, uint64_t seq, const char *note);

/**
 * The operator's wishes. later: answered when it is done. Return 0 (later will be answered), or < 0
 * with err. is_forced: data planes that cannot load it do not stop it.
 */
int swap_rollback(struct swap *swap, const char *plugin, struct control_request *later,
		  struct err *err);
int swap_adopt(struct swap *swap, const char *path, bool is_forced, struct control_request *later,
	       struct err *err);

/** Give up the swap under way, if any: seats are about to change. Rescans after it start it anew.
 */
void swap_abort(struct swap *swap, const char *why);

/** Is a swap under way? Of which plugin (NULL: none)? */
const char *swap_plugin(const struct swap *swap);

#endif
