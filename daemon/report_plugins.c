/* report_plugins.c - the document for plugins: their generations, and who has them loaded. */
#include <string.h>

#include "document.h"
#include "report_parts.h"

static json_t *generations_document(const struct report_plugin *plugin)
{
	json_t *generations = json_array();

	for (size_t i = 0; i < plugin->n_generations; i++) {
		const struct report_generation *g = &plugin->generation[i];
		json_t *generation =
			json_pack("{s:o,s:o,s:o,s:o}", "generation",
				  g->seq != 0 ? json_integer((json_int_t)g->seq) : json_null(),
				  "version", document_text_or_null(g->version, sizeof g->version),
				  "state", document_text(g->state, sizeof g->state), "note",
				  document_text(g->note, sizeof g->note));

		if (json_array_append_new(generations, generation) < 0) {
			json_decref(generations);
			return NULL;
		}
	}
	return generations;
}

static json_t *users_document(const struct report_plugin *plugin)
{
	json_t *users = json_array();

	for (size_t i = 0; plugin->used_by != NULL && plugin->used_by[i] != NULL; i++)
		if (json_array_append_new(users, document_text(plugin->used_by[i], 256)) < 0) {
			json_decref(users);
			return NULL;
		}
	return users;
}

static json_t *plugin_document(const struct report_plugin *plugin)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "plugin",
			 document_text(plugin->name, sizeof plugin->name), "kind",
			 document_text(plugin->kind, sizeof plugin->kind), "file",
			 document_text_or_null(plugin->file, sizeof plugin->file), "used_by",
			 users_document(plugin), "generations", generations_document(plugin));
}

static json_t *all_plugins(const struct report_source *source)
{
	json_t *plugins = json_array();

	for (size_t i = 0; i < source->n_plugins; i++)
		if (json_array_append_new(plugins, plugin_document(&source->plugin[i])) < 0) {
			json_decref(plugins);
			return NULL;
		}
	return plugins;
}

/*** Processes ***/

/* The generation of the plugin that an instance is made of; null if the instance is gone. */
static json_t *generation_of_key(const struct image_header *image, uint64_t key)
{
	const struct image_instance *instance;

	if (image == NULL)
		return json_null();
	instance = image_instances(image);
	for (size_t i = 0; i < image->instance.count; i++)
		if (instance[i].key == key)
			return json_integer((json_int_t)instance[i].seq);
	return json_null();
}

static json_t *process_document(const struct report_source *source,
				const struct counters_slot *slot)
{
	const uint64_t lacks = atomic_load_explicit(&slot->lacks, memory_order_acquire);
	const uint64_t generation = atomic_load_explicit(&slot->generation, memory_order_relaxed);
	json_t *lack = lacks == 0 ? json_null()
				  : json_pack("{s:o,s:o}", "generation",
					      generation_of_key(source->image, lacks), "error",
					      document_text(slot->error, sizeof slot->error));

	return json_pack("{s:i,s:o,s:I,s:o}", "pid", (int)slot->pid, "program",
			 document_text(slot->program, sizeof slot->program), "generation",
			 (json_int_t)generation, "lacks", lack);
}

static json_t *all_processes(const struct report_source *source)
{
	const uint32_t n = source->counters != NULL ? counters_slots_used(source->counters) : 0;
	json_t *processes = json_array();

	for (uint32_t i = 0; i < n && i < COUNTERS_SLOTS; i++) {
		const struct counters_slot *slot = counters_slot(source->counters, i);

		if (slot == NULL || atomic_load_explicit(&slot->state, memory_order_acquire) == 0 ||
		    !counters_is_alive(source->counters, i))
			continue;
		if (json_array_append_new(processes, process_document(source, slot)) < 0) {
			json_decref(processes);
			return NULL;
		}
	}
	return processes;
}

json_t *report_plugins(const struct report *report, const struct report_source *source)
{
	(void)report;
	return json_pack("{s:o,s:o}", "plugins", all_plugins(source), "processes",
			 all_processes(source));
}
