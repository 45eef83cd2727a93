/* guests.h - the router instances that live in this process: loaded once, shared by worlds, let go
 * with the last. [L3] */
#ifndef CR_CORE_GUESTS_H
#define CR_CORE_GUESTS_H

#include "counters.h"
#include "err.h"
#include "image.h"
#include "plugin.h"

/** One plugin file opened for one service. Belongs to the list; a world holds a reference. */
struct guest {
	uint64_t key, seq;
	struct plugin *plugin;
	struct plugin_instance instance;
	unsigned refs;
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

#endif
