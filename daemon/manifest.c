/* manifest.c - keep the record of adopted and refused plugin files. */
#include "manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "document.h"
#include "statefile.h"
#include "text.h"

#define MANIFEST_LAYOUT 1

struct manifest {
	char *state_dir;
	uint64_t seq; /* last one given out */
	struct manifest_entry *entry;
	size_t n;
};

static const char *const verdict_words[] = {
	[MANIFEST_FINE] = "fine",
	[MANIFEST_ROLLED_BACK] = "rolled_back",
	[MANIFEST_QUARANTINED] = "quarantined",
};

/*** To and from JSON ***/

static json_t *file_to_json(const struct manifest_file *file)
{
	char digest[17];

	(void)snprintf(digest, sizeof digest, "%016" PRIx64, file->digest);
	return json_pack("{s:I, s:s, s:o}", "seq", (json_int_t)file->seq, "digest", digest,
			 "version", document_text(file->version, sizeof file->version));
}

static uint64_t seq_from_json(const json_t *json)
{
	const json_int_t seq = json_integer_value(json_object_get(json, "seq"));

	return seq > 0 ? (uint64_t)seq : 0;
}

static void file_from_json(struct manifest_file *file, const json_t *json)
{
	const char *digest = json_string_value(json_object_get(json, "digest"));
	const char *version = json_string_value(json_object_get(json, "version"));

	*file = (struct manifest_file){ 0 };
	if (digest == NULL || version == NULL)
		return;
	file->seq = seq_from_json(json);
	file->digest = strtoull(digest, NULL, 16);
	text_copy(file->version, sizeof file->version, version);
}

static json_t *entry_to_json(const struct manifest_entry *entry)
{
	json_t *refused = json_array();

	for (size_t i = 0; i < entry->n_refused; i++) {
		const struct manifest_refused *row = &entry->refused[i];

		if (json_array_append_new(
			    refused, json_pack("{s:o, s:s, s:o}", "file", file_to_json(&row->file),
					       "verdict", verdict_words[row->verdict], "note",
					       document_text(row->note, sizeof row->note))) == 0)
			continue;
		json_decref(refused);
		return NULL;
	}
	return json_pack("{s:s, s:b, s:o, s:o, s:o}", "plugin", entry->plugin, "is_collector",
			 (int)entry->is_collector, "current", file_to_json(&entry->current),
			 "previous", file_to_json(&entry->previous), "refused", refused);
}

static bool refused_from_json(struct manifest_refused *refused, const json_t *json)
{
	const char *verdict = json_string_value(json_object_get(json, "verdict"));
	const char *note = json_string_value(json_object_get(json, "note"));

	if (verdict == NULL)
		return false;
	file_from_json(&refused->file, json_object_get(json, "file"));
	refused->verdict =
		strcmp(verdict, "rolled_back") == 0 ? MANIFEST_ROLLED_BACK : MANIFEST_QUARANTINED;
	text_copy(refused->note, sizeof refused->note, note != NULL ? note : "");
	return true;
}

static bool entry_from_json(struct manifest_entry *entry, const json_t *json)
{
	const char *plugin = json_string_value(json_object_get(json, "plugin"));
	const json_t *refused = json_object_get(json, "refused");

	*entry = (struct manifest_entry){ 0 };
	if (plugin == NULL || !text_is_plugin_name(plugin))
		return false;
	text_copy(entry->plugin, sizeof entry->plugin, plugin);
	entry->is_collector = json_is_true(json_object_get(json, "is_collector"));
	file_from_json(&entry->current, json_object_get(json, "current"));
	file_from_json(&entry->previous, json_object_get(json, "previous"));
	for (size_t i = 0; i < json_array_size(refused) && entry->n_refused < MANIFEST_REFUSED_MAX;
	     i++)
		if (refused_from_json(&entry->refused[entry->n_refused],
				      json_array_get(refused, i)))
			entry->n_refused++;
	return true;
}

static int manifest_write(const struct manifest *manifest, struct err *err)
{
	json_t *plugins = json_array(), *root = NULL;
	int failed = 0;

	for (size_t i = 0; i < manifest->n && failed == 0; i++)
		failed = json_array_append_new(plugins, entry_to_json(&manifest->entry[i]));
	if (failed < 0)
		json_decref(plugins);
	else
		root = json_pack("{s:i, s:I, s:o}", "layout", MANIFEST_LAYOUT, "seq",
				 (json_int_t)manifest->seq, "plugins", plugins);
	failed = root != NULL ? statefile_write(manifest->state_dir, MANIFEST_FILE, root, err)
			      : err_set(err, -ENOMEM, "no memory to write %s", MANIFEST_FILE);
	json_decref(root);
	return failed;
}

/*** Opening ***/

void manifest_raise_seq(struct manifest *manifest, uint64_t seq)
{
	if (seq > manifest->seq)
		manifest->seq = seq;
}

/* Whatever the file's own number says, what it names was given out. */
static void manifest_raise_by(struct manifest *manifest, const struct manifest_entry *entry)
{
	manifest_raise_seq(manifest, entry->current.seq);
	manifest_raise_seq(manifest, entry->previous.seq);
	for (size_t i = 0; i < entry->n_refused; i++)
		manifest_raise_seq(manifest, entry->refused[i].file.seq);
}

static int manifest_take(struct manifest *manifest, const json_t *root, struct err *err)
{
	const json_t *plugins = json_object_get(root, "plugins");

	manifest_raise_seq(manifest, seq_from_json(root));
	manifest->entry = calloc(json_array_size(plugins) + 1, sizeof *manifest->entry);
	if (manifest->entry == NULL)
		return err_set(err, -ENOMEM, "no memory for the manifest");
	for (size_t i = 0; i < json_array_size(plugins); i++)
		if (entry_from_json(&manifest->entry[manifest->n], json_array_get(plugins, i)))
			manifest_raise_by(manifest, &manifest->entry[manifest->n++]);
	return 0;
}

static int manifest_read(struct manifest *manifest, struct err *err)
{
	json_t *root = NULL;
	int failed = statefile_read(manifest->state_dir, MANIFEST_FILE, &root, err);

	if (failed < 0 || root == NULL)
		return failed;
	if (json_integer_value(json_object_get(root, "layout")) == MANIFEST_LAYOUT)
		failed = manifest_take(manifest, root, err);
	else
		failed = statefile_set_aside(manifest->state_dir, MANIFEST_FILE,
					     "not of this callrouterd's layout", err);
	json_decref(root);
	return failed;
}

int manifest_open(const char *state_dir, struct manifest **out, struct err *err)
{
	struct manifest *manifest = calloc(1, sizeof *manifest);
	int failed;

	*out = NULL;
	if (manifest == NULL || (manifest->state_dir = strdup(state_dir)) == NULL) {
		free(manifest);
		return err_set(err, -ENOMEM, "no memory for the manifest");
	}
	failed = manifest_read(manifest, err);
	if (failed < 0) {
		manifest_close(manifest);
		return failed;
	}
	*out = manifest;
	return 0;
}

void manifest_close(struct manifest *manifest)
{
	if (manifest == NULL)
		return;
	free(manifest->entry);
	free(manifest->state_dir);
	free(manifest);
}

/*** Asking and changing ***/

uint64_t manifest_next_seq(struct manifest *manifest, struct err *err)
{
	manifest->seq++;
	if (manifest_write(manifest, err) < 0)
		return 0;
	return manifest->seq;
}

static struct manifest_entry *manifest_get(const struct manifest *manifest, const char *plugin)
{
	for (size_t i = 0; i < manifest->n; i++)
		if (strcmp(manifest->entry[i].plugin, plugin) == 0)
			return &manifest->entry[i];
	return NULL;
}

const struct manifest_entry *manifest_find(const struct manifest *manifest, const char *plugin)
{
	return manifest_get(manifest, plugin);
}

const struct manifest_entry *manifest_entries(const struct manifest *manifest, size_t *n)
{
	*n = manifest->n;
	return manifest->entry;
}

static struct manifest_entry *manifest_make(struct manifest *manifest, const char *plugin)
{
	struct manifest_entry *entry = manifest_get(manifest, plugin);

	if (entry != NULL)
		return entry;
	entry = realloc(manifest->entry, (manifest->n + 1) * sizeof *entry);
	if (entry == NULL)
		return NULL;
	manifest->entry = entry;
	entry = &manifest->entry[manifest->n++];
	*entry = (struct manifest_entry){ 0 };
	text_copy(entry->plugin, sizeof entry->plugin, plugin);
	return entry;
}

static void entry_pardon(struct manifest_entry *entry, uint64_t digest)
{
	size_t kept = 0;

	for (size_t i = 0; i < entry->n_refused; i++)
		if (entry->refused[i].file.digest != digest)
			entry->refused[kept++] = entry->refused[i];
	entry->n_refused = kept;
}

static void entry_refuse(struct manifest_entry *entry, const struct manifest_refused *refused)
{
	entry_pardon(entry, refused->file.digest);
	if (entry->n_refused == MANIFEST_REFUSED_MAX)
		entry->n_refused--;
	memmove(entry->refused + 1, entry->refused, entry->n_refused * sizeof *entry->refused);
	entry->refused[0] = *refused;
	entry->n_refused++;
}

int manifest_adopt(struct manifest *manifest, const char *plugin, bool is_collector,
		   const struct manifest_file *file, struct err *err)
{
	struct manifest_entry *entry = manifest_make(manifest, plugin), before;

	if (entry == NULL)
		return err_set(err, -ENOMEM, "no memory for the manifest");
	before = *entry;
	entry->is_collector = is_collector;
	entry_pardon(entry, file->digest);
	if (entry->current.seq != file->seq) {
		entry->previous = entry->current;
		entry->current = *file;
	}
	if (manifest_write(manifest, err) < 0) {
		*entry = before;
		return err->code;
	}
	return 0;
}

int manifest_send_away(struct manifest *manifest, const char *plugin,
		       const struct manifest_file *file, enum manifest_verdict verdict,
		       const char *note, struct err *err)
{
	struct manifest_entry *entry = manifest_make(manifest, plugin), before;
	struct manifest_refused refused = { .file = *file, .verdict = verdict };

	if (entry == NULL)
		return err_set(err, -ENOMEM, "no memory for the manifest");
	before = *entry;
	text_copy(refused.note, sizeof refused.note, note);
	entry_refuse(entry, &refused);
	if (entry->current.seq == file->seq) {
		entry->current = entry->previous;
		entry->previous = (struct manifest_file){ 0 };
	} else if (entry->previous.seq == file->seq) {
		entry->previous = (struct manifest_file){ 0 };
	}
	if (manifest_write(manifest, err) < 0) {
		*entry = before;
		return err->code;
	}
	return 0;
}

const struct manifest_refused *manifest_refuses(const struct manifest *manifest, const char *plugin,
						uint64_t digest)
{
	const struct manifest_entry *entry = manifest_get(manifest, plugin);

	for (size_t i = 0; entry != NULL && i < entry->n_refused; i++)
		if (entry->refused[i].file.digest == digest)
			return &entry->refused[i];
	return NULL;
}
