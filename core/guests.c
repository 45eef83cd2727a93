/* guests.c - load and let go of router instances, and have them prepare views. */
#include "guests.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Several services may use one file: it is mapped once. */
static struct plugin *guests_find_plugin(const struct guests *guests, uint64_t seq)
{
	for (const struct guest *guest = guests->first; guest != NULL; guest = guest->next)
		if (guest->seq == seq)
			return guest->plugin;
	return NULL;
}

static struct guest *guests_find(const struct guests *guests, uint64_t key)
{
	for (struct guest *guest = guests->first; guest != NULL; guest = guest->next)
		if (guest->key == key)
			return guest;
	return NULL;
}

/* A plugin's own code runs: if the process dies before it says 0 again, the word says in whose. */
static void guests_run(const struct guests *guests, uint64_t seq)
{
	struct counters_row *row = guests->counters != NULL ? counters_row(guests->counters) : NULL;

	atomic_signal_fence(memory_order_seq_cst);
	if (row != NULL)
		atomic_store_explicit(&row->running[COUNTERS_LOADER], seq, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

static struct guest *guests_load(struct guests *guests, const struct image_header *image,
				 const struct image_instance *instance, struct err *err)
{
	struct guest *guest = calloc(1, sizeof *guest);
	const char *options =
		instance->options == IMAGE_NONE ? "" : image_text(image, instance->options);
	const char *service = image_services(image)[instance->service].name;
	struct plugin *plugin;

	if (guest == NULL) {
		err_set(err, -ENOMEM, "%s: no memory to load it", instance->plugin);
		return NULL;
	}
	plugin = guests_find_plugin(guests, instance->seq);
	if (plugin == NULL && instance->path == IMAGE_NONE) {
		err_set(err, -EINVAL, "%s: the image names no file of it", instance->plugin);
		goto free_guest;
	}
	if (plugin == NULL &&
	    plugin_open(image_text(image, instance->path), instance->plugin, &plugin, err) < 0)
		goto free_guest;
	*guest = (struct guest){
		.key = instance->key, .seq = instance->seq, .plugin = plugin, .refs = 1
	};
	if (plugin->kind != PLUGIN_ROUTER) {
		err_set(err, -EINVAL, "%s: is a collector, not a router", instance->plugin);
		goto close_plugin;
	}
	if (plugin_instance_open(plugin, guests->host, service, options, NULL, 0, &guest->instance,
				 err) < 0)
		goto close_plugin;
	guest->next = guests->first;
	guests->first = guest;
	return guest;

close_plugin:
	if (guests_find_plugin(guests, instance->seq) == NULL)
		plugin_close(plugin);
free_guest:
	free(guest);
	return NULL;
}

struct guest *guests_take(struct guests *guests, const struct image_header *image,
			  const struct image_instance *instance, struct err *err)
{
	struct guest *guest = guests_find(guests, instance->key);

	if (guest != NULL) {
		guest->refs++;
		return guest;
	}
	guests_run(guests, instance->seq);
	guest = guests_load(guests, image, instance, err);
	guests_run(guests, 0);
	return guest;
}

void guests_give(struct guests *guests, struct guest *guest)
{
	struct guest **at = &guests->first;

	if (guest == NULL || --guest->refs > 0)
		return;
	while (*at != guest)
		at = &(*at)->next;
	*at = guest->next;
	guests_run(guests, guest->seq);
	plugin_instance_close(&guest->instance);
	if (guests_find_plugin(guests, guest->seq) == NULL)
		plugin_close(guest->plugin);
	guests_run(guests, 0);
	free(guest);
}

/*** Views ***/

static struct guest_made **guest_find_made(struct guest *guest, const void *prepared)
{
	struct guest_made **at = &guest->made;

	while (*at != NULL && (*at)->prepared != prepared)
		at = &(*at)->next;
	return at;
}

/* A new one, or one that views have already: the router may hand out its own again. */
static void guest_share(struct guest *guest, struct guest_made *fresh, const void *prepared)
{
	struct guest_made *made = *guest_find_made(guest, prepared);

	if (made == NULL) {
		/* const was for route(): who made it may change it when nobody reads it any more */
		memcpy(&fresh->prepared, &prepared, sizeof prepared);
		fresh->next = guest->made;
		guest->made = made = fresh;
	} else {
		free(fresh);
	}
	made->refs++;
	guest->newest = made;
}

int guests_prepare(struct guests *guests, struct guest *guest, struct cr_view *view,
		   struct err *err)
{
	const struct cr_router *router = &guest->plugin->router;
	const void *previous = guest->newest != NULL ? guest->newest->prepared : NULL;
	const void *out = NULL;
	struct guest_made *fresh; /* before there is something that it would be missing for */
	int got;

	if (router->prepare == NULL)
		return 0;
	guest->newest = NULL;
	fresh = calloc(1, sizeof *fresh);
	if (fresh == NULL)
		return err_set(err, -ENOMEM, "%s: no memory", router->name);
	guests_run(guests, guest->seq);
	got = router->prepare(guest->instance.self, view, previous, &out);
	guests_run(guests, 0);
	if (got < 0 || out == NULL) {
		free(fresh);
		return got < 0 ? err_set(err, got, "%s: %s", router->name, err_words(got)) : 0;
	}
	guest_share(guest, fresh, out);
	view->prepared = out;
	return 0;
}

void guests_release(struct guests *guests, struct guest *guest, const struct cr_view *view)
{
	struct guest_made **at, *made;

	if (guest == NULL || view == NULL || view->prepared == NULL)
		return;
	at = guest_find_made(guest, view->prepared);
	made = *at;
	assert(made != NULL); /* only guests_prepare() sets it */
	if (--made->refs > 0)
		return;
	*at = made->next;
	if (guest->newest == made)
		guest->newest = NULL;
	guests_run(guests, guest->seq);
	guest->plugin->router.release(guest->instance.self, made->prepared);
	guests_run(guests, 0);
	free(made);
}
