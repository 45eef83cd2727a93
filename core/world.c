/* world.c - make a published image ready for calls. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "health.h"
#include "text.h"
#include "view.h"

static _Atomic uint64_t last_number;

/* "[::1]:80" and "host:80" into their halves; the configuration has checked the form. */
static void card_split(struct card *card)
{
	const char *colon = strrchr(card->address, ':');
	size_t len;

	text_copy(card->host, sizeof card->host, card->address);
	if (colon == NULL)
		return;
	text_copy(card->port, sizeof card->port, colon + 1);
	len = (size_t)(colon - card->address);
	card->host[len] = '\0';
	if (card->host[0] == '[' && len >= 2 && card->host[len - 1] == ']') {
		memmove(card->host, card->host + 1, len - 2);
		card->host[len - 2] = '\0';
	}
}

static const struct cr_server *cards_get(struct cards *cards, const struct image_server *server)
{
	struct card *card = cards->line[server->line];

	for (; card != NULL; card = card->older)
		if (strcmp(card->name, server->name) == 0 &&
		    strcmp(card->address, server->address) == 0)
			return &card->server;
	card = calloc(1, sizeof *card);
	if (card == NULL)
		return NULL;
	text_copy(card->name, sizeof card->name, server->name);
	text_copy(card->address, sizeof card->address, server->address);
	card_split(card);
	card->server = (struct cr_server){ .name = card->name,
					   .address = card->address,
					   .host = card->host,
					   .port = card->port,
					   .id = server->line };
	card->older = cards->line[server->line];
	cards->line[server->line] = card;
	return &card->server;
}

/* NULL: no memory. */
static const struct image_health *cards_rules(struct cards *cards,
					      const struct image_health *health)
{
	struct rules *rules = cards->rules;

	for (; rules != NULL; rules = rules->older)
		if (memcmp(&rules->health, health, sizeof *health) == 0)
			return &rules->health;
	rules = calloc(1, sizeof *rules);
	if (rules == NULL)
		return NULL;
	rules->health = *health;
	rules->older = cards->rules;
	cards->rules = rules;
	return &rules->health;
}

void cards_free(struct cards *cards)
{
	for (struct rules *rules = cards->rules, *older; rules != NULL; rules = older) {
		older = rules->older;
		free(rules);
	}
	cards->rules = NULL;

	for (size_t i = 0; i < COUNTERS_LINES; i++) {
		for (struct card *card = cards->line[i], *older; card != NULL; card = older) {
			older = card->older;
			free(card);
		}
		cards->line[i] = NULL;
	}
}

static void side_note_fault(struct side *side, struct world_faults *faults, const struct err *err)
{
	if (faults->lacks != 0)
		return;
	faults->lacks = side->instance->key;
	faults->lacks_err = *err;
}

/* A pure rank() router is not loaded here: its order is in the image. */
static int side_open(struct side *side, const struct world *world, const struct spot *spot,
		     const struct image_choice *choice, const struct world_parts *parts,
		     struct world_faults *faults)
{
	struct err err = { 0 };

	side->choice = choice;
	if (choice->instance == IMAGE_NONE)
		return 0;
	side->instance = &image_instances(world->image)[choice->instance];
	if (parts->counters != NULL &&
	    counters_is_quarantined(parts->counters, side->instance->seq)) {
		side->is_quarantined = true;
		return 0;
	}
	if ((side->instance->flags & IMAGE_HAS_ROUTE) == 0)
		return 0;
	side->guest = guests_take(parts->guests, world->image, side->instance, &err);
	if (side->guest == NULL) {
		side_note_fault(side, faults, &err);
		return 0;
	}
	side->view = view_new(world->image, spot->service, choice, side->instance,
			      &side->guest->plugin->router, parts->counters);
	side->is_asked = side->guest->plugin->router.route != NULL;
	if (side->view == NULL)
		return -1;
	if (guests_prepare(parts->guests, side->guest, side->view, &err) < 0 &&
	    faults->prepare_err.code == 0)
		faults->prepare_err = err;
	return 0;
}

static int spot_open(struct spot *spot, const struct world *world, const struct world_parts *parts,
		     struct world_faults *faults)
{
	const struct image_service *service = spot->service;

	spot->n_rows = (uint16_t)service->n_rows;
	spot->n_usable = (uint16_t)service->n_usable;
	/* not looked yet: an older number */
	atomic_init(&spot->calm,
		    world->trouble != NULL
			    ? atomic_load_explicit(world->trouble, memory_order_relaxed) - 1
			    : 0);
	if (!health_is_off(&service->health)) {
		spot->rules = cards_rules(parts->cards, &service->health);
		if (spot->rules == NULL)
			return -1;
	}
	if (parts->counters != NULL)
		spot->line = counters_service(parts->counters, service->line);
	if (side_open(&spot->router, world, spot, &service->router, parts, faults) < 0)
		return -1;
	return side_open(&spot->preset, world, spot, &service->preset, parts, faults);
}

/* All places of all spots in one block, so that a world is a handful of allocations. */
static int world_lay_places(struct world *world, struct cards *cards)
{
	const struct image_server *servers = image_servers(world->image);
	size_t rows = 0;
	struct place *place;
	uint8_t *usable;

	for (size_t s = 0; s < world->n_spots; s++)
		rows += world->spot[s].service->n_rows;
	world->block = calloc(rows + 1, sizeof(struct place) + 1);
	if (world->block == NULL)
		return -1;
	place = (struct place *)world->block;
	usable = (uint8_t *)(place + rows);
	for (size_t s = 0; s < world->n_spots; s++) {
		struct spot *spot = &world->spot[s];
		const uint32_t *row = image_rows(world->image, spot->service);

		spot->place = place;
		spot->usable = usable;
		for (uint32_t i = 0; i < spot->service->n_rows; i++, place++) {
			const struct image_server *server = &servers[row[i]];

			*place = (struct place){ cards_get(cards, server), server->line,
						 server->incarnation };
			*usable++ = image_is_usable(server);
			if (place->server == NULL)
				return -1;
		}
	}
	return 0;
}

/* Once it has killed a process, no other one is to load it. */
static struct guest *world_take_coming(const struct world *world,
				       const struct image_instance *instance,
				       const struct world_parts *parts, struct err *err)
{
	if (parts->counters == NULL || !counters_is_quarantined(parts->counters, instance->seq))
		return guests_take(parts->guests, world->image, instance, err);
	err_set(err, -EPERM, "%s: is quarantined", instance->plugin);
	return NULL;
}

static int world_load_coming(struct world *world, const struct world_parts *parts,
			     struct world_faults *faults)
{
	const struct image_instance *instances = image_instances(world->image);
	struct err err = { 0 };

	world->kept = calloc(world->image->instance.count + 1, sizeof(struct guest *));
	if (world->kept == NULL)
		return -1;
	for (uint32_t i = 0; i < world->image->instance.count; i++) {
		struct guest *guest;

		if ((instances[i].flags & (IMAGE_IS_COMING | IMAGE_HAS_ROUTE)) !=
		    (IMAGE_IS_COMING | IMAGE_HAS_ROUTE))
			continue;
		guest = world_take_coming(world, &instances[i], parts, &err);
		if (guest != NULL)
			world->kept[world->n_kept++] = guest;
		else if (faults->coming_err.code == 0)
			faults->coming_err = err;
	}
	return 0;
}

struct world *world_new(struct image_header *image, const struct world_parts *parts,
			struct world_faults *faults)
{
	struct world *world = calloc(1, sizeof *world);

	*faults = (struct world_faults){ 0 };
	if (world == NULL) {
		free(image);
		return NULL;
	}
	world->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
	world->image = image;
	world->counters = parts->counters;
	if (world->counters != NULL)
		world->trouble = counters_trouble(world->counters);
	for (size_t i = 0; i < WORLD_NAMES_MAX; i++)
		atomic_init(&world->by_name[i], -1);
	if (image == NULL)
		return world;
	world->spot = calloc(image->service.count + 1, sizeof *world->spot);
	if (world->spot == NULL)
		goto free_world;
	world->n_spots = image->service.count;
	for (size_t s = 0; s < world->n_spots; s++)
		world->spot[s].service = &image_services(image)[s];
	if (world_lay_places(world, parts->cards) < 0)
		goto free_world;
	for (size_t s = 0; s < world->n_spots; s++)
		if (spot_open(&world->spot[s], world, parts, faults) < 0)
			goto free_world;
	if (world_load_coming(world, parts, faults) < 0)
		goto free_world;
	return world;

free_world:
	world_free(world, parts->guests);
	return NULL;
}

static void side_close(struct side *side, struct guests *guests)
{
	guests_release(guests, side->guest, side->view);
	view_free(side->view);
	guests_give(guests, side->guest);
}

void world_free(struct world *world, struct guests *guests)
{
	for (size_t s = 0; s < world->n_spots; s++) {
		side_close(&world->spot[s].router, guests);
		side_close(&world->spot[s].preset, guests);
	}
	for (size_t i = 0; i < world->n_kept; i++)
		guests_give(guests, world->kept[i]);
	free(world->kept);
	free(world->spot);
	free(world->block);
	free(world->image);
	free(world);
}

int world_find(const struct world *world, const char *name)
{
	for (size_t s = 0; s < world->n_spots; s++)
		if (strcmp(world->spot[s].service->name, name) == 0)
			return (int)s;
	return -1;
}
