/*
 * world.h - one published state, made ready for calls: private to the process, immutable, swapped
 * by one pointer. [L3]
 *
 * A calling thread announces the world it is in (a hazard pointer) for the time of one decision; a
 * world that was replaced is freed when nobody announces it. So a decision never waits and a swap
 * never waits for a decision.
 */
#ifndef CR_CORE_WORLD_H
#define CR_CORE_WORLD_H

#include <stdatomic.h>

#include <callrouter/callrouter.h>

#include "counters.h"
#include "guests.h"
#include "image.h"

#define WORLD_NAMES_MAX 4096 /* service names that a process may ask for */

/** A server as callers see it, kept until the process detaches: tickets point to it. */
struct card {
	struct cr_server server;
	struct card *older; /* of the same line */
	char name[64], address[128], host[128], port[8];
};

/** When calls of a service shut a server; kept like cards, and for the same reason. */
struct rules {
	struct image_health health;
	struct rules *older;
};

/** One card per line of the counters file, older ones chained; and each set of rules once. */
struct cards {
	struct card *line[COUNTERS_LINES];
	struct rules *rules;
};

/** A row that may be put into a ticket. */
struct place {
	const struct cr_server *server;
	uint32_t line, incarnation;
};

/** A router or default of one service. */
struct side {
	const struct image_choice *choice;
	const struct image_instance *instance; /* NULL: there is none */
	struct guest *guest;                   /* loaded here; NULL: its published order is used */
	struct cr_view *view;                  /* for guest->route() */
	bool is_quarantined;
	bool is_asked; /* its route() is called */
};

/** One service, ready to be routed. */
struct spot {
	const struct image_service *service;
	struct counters_service *line; /* NULL: decisions are not counted */
	uint16_t n_rows, n_usable;
	const struct place *place;        /* [n_rows] */
	const uint8_t *usable;            /* [n_rows]: 0 or 1 */
	const struct image_health *rules; /* NULL: the service has no health of its own */
	struct side router, preset;
	_Atomic uint64_t calm; /* world.trouble when all usable rows were last seen well */
};

struct mapping; /* the counters file and this process's slot in it; see attachment.h */

struct world {
	uint64_t number;                 /* in this process: addresses come back */
	struct image_header *image;      /* NULL: nothing published yet */
	struct mapping *mapping;         /* one reference */
	const struct counters *counters; /* the mapping's; NULL: none */
	const _Atomic uint64_t *trouble; /* theirs; see look.h */
	struct spot *spot;
	size_t n_spots;
	void *block;                              /* places and usable bytes of all spots */
	_Atomic int16_t by_name[WORLD_NAMES_MAX]; /* service number -> spot, -1: no such service */
	struct guest **kept;                      /* loaded ahead of a swap */
	size_t n_kept;
	struct world *older; /* replaced, not yet free */
};

/** What building a world needs besides the image. */
struct world_parts {
	struct guests *guests;
	struct cards *cards;
	const struct counters *counters; /* NULL: none */
};

/** What went wrong while building, the world is good all the same. */
struct world_faults {
	uint64_t lacks; /* key of the first instance in use that could not be loaded; 0: none */
	struct err lacks_err;
	struct err coming_err; /* of the first instance that is coming and could not be loaded */
};

/** Build a world from image (taken, also on failure). NULL: no memory. [refresh] */
struct world *world_new(struct image_header *image, const struct world_parts *parts,
			struct world_faults *faults);

/** Free it and give back its guests. Nobody may be in it. [refresh] */
void world_free(struct world *world, struct guests *guests);

/** The index of the spot of this name, or -1. [any] */
int world_find(const struct world *world, const char *name);

void cards_free(struct cards *cards);

#endif
