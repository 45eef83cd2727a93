/* guests.h - the router instances that live in this process: loaded once, shared by worlds, let go
 * with the last. [L3] */
#ifndef CR_CORE_GUESTS_H
#define CR_CORE_GUESTS_H

#include "counters.h"
#include "err.h"
#include "image.h"
#include "plugin.h"

/** What a router's prepare() made; views share it. */
struct guest_made {
	void *prepared;
	unsigned refs; /* views that have it */
	struct guest_made *next;
};

/** One plugin file opened for one service. Belongs to the list; a world holds a reference. */
struct guest {
	uint64_t key, seq;
	struct plugin *plugin;
	struct plugin_instance instance;
	unsigned refs;
	struct guest_made *made;         /* all of it that views still have */
	const struct guest_made *newest; /* what the newest view has; NULL: nothing */
	struct guest *next;
};

struct guests {
	struct guest *first;
	const struct cr_host *host;      /* for the plugins' log lines */
	const struct counters *counters; /* where it is noted whose code is being run; or NULL */
};

/**
 * The guest for an instance of a checked image, loaded if it is not here yet; one reference more.
 * Returns it or NULL with err. [refresh]
 */
struct guest *guests_take(struct guests *guests, const struct image_header *image,
			  const struct image_instance *instance, struct err *err);

/** One reference less; the last one closes the instance and unloads the file. NULL is fine.
 * [refresh] */
void guests_give(struct guests *guests, struct guest *guest);

/**
 * Have the guest prepare this new view: sets view->prepared. Returns 0 or < 0 with err, and
 * view->prepared is NULL then. A router without prepare() has nothing to do. [refresh]
 */
int guests_prepare(struct guests *guests, struct guest *guest, struct cr_view *view,
		   struct err *err);

/** The view ends: release what it alone has. view or guest may be NULL. Before guests_give().
 * [refresh] */
void guests_release(struct guests *guests, struct guest *guest, const struct cr_view *view);

#endif
