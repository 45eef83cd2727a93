/* guests.c - load and let go of router instances. */
#include "guests.h"

#include <errno.h>
#include <stdlib.h>

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
