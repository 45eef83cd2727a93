/* catalogue.c - which plugins there are, and what they say of themselves. */
#include "catalogue.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <callrouter/order.h>

#include "log.h"
#include "option.h"
#include "plugin.h"
#include "text.h"

#define OPTIONS_MAX  128
#define ACCEPTED_MAX 4096 /* that are remembered */

int catalogue_open(struct catalogue *catalogue, const char *state_dir, char *const *dirs,
		   size_t n_dirs, struct err *err)
{
	*catalogue = (struct catalogue){ .state_dir = state_dir, .dirs = dirs, .n_dirs = n_dirs };
	if (state_dir == NULL)
		return 0;
	if (stage_open(state_dir, err) < 0)
		return err->code;
	*err = (struct err){ 0 };
	if (manifest_open(state_dir, &catalogue->manifest, err) < 0)
		return err->code;
	if (err->code != 0)
		log_warn("manifest begun anew", "reason=\"%s\"", err->text);
	/* The manifest may be lost, or older than the files: their names must not come back. */
	manifest_raise_seq(catalogue->manifest, stage_newest(state_dir));
	return 0;
}

static void shelf_free(struct shelf *shelf)
{
	generation_drop(shelf->current);
	if (shelf->loaded != NULL)
		plugin_close(shelf->loaded);
	free(shelf);
}

void catalogue_close(struct catalogue *catalogue)
{
	for (size_t i = 0; i < catalogue->n; i++)
		shelf_free(catalogue->shelf[i]);
	free(catalogue->shelf);
	manifest_close(catalogue->manifest);
	catalogue_forget_facts(catalogue);
	free(catalogue->accepted);
	*catalogue = (struct catalogue){ 0 };
}

static struct shelf *catalogue_find(const struct catalogue *catalogue, const char *plugin)
{
	for (size_t i = 0; i < catalogue->n; i++)
		if (strcmp(catalogue->shelf[i]->plugin, plugin) == 0)
			return catalogue->shelf[i];
	return NULL;
}

struct shelf *catalogue_shelf(struct catalogue *catalogue, const char *plugin)
{
	struct shelf *shelf = catalogue_find(catalogue, plugin), **grown;

	if (shelf != NULL)
		return shelf;
	grown = reallocarray(catalogue->shelf, catalogue->n + 1, sizeof(struct shelf *));
	if (grown == NULL)
		return NULL;
	catalogue->shelf = grown;
	shelf = calloc(1, sizeof *shelf);
	if (shelf == NULL)
		return NULL;
	text_copy(shelf->plugin, sizeof shelf->plugin, plugin);
	grown[catalogue->n++] = shelf;
	return shelf;
}

int catalogue_restore(struct catalogue *catalogue, struct shelf *shelf, struct err *err)
{
	const struct manifest_entry *entry = manifest_find(catalogue->manifest, shelf->plugin);
	char path[PATH_MAX];
	uint64_t digest;

	if (entry == NULL || entry->current.seq == 0)
		return 0;
	stage_path(path, catalogue->state_dir, shelf->plugin, entry->current.seq);
	if (stage_digest(path, &digest, err) < 0)
		return err->code;
	if (digest != entry->current.digest)
		return err_set(err, -EBADMSG,
			       "%s is not what was adopted: its contents were changed", path);
	shelf->current = generation_open(catalogue->state_dir, shelf->plugin, entry->current.seq,
					 digest, err);
	return shelf->current != NULL ? 0 : err->code;
}

/* The directories that were looked into, as many as buf takes, and which of them cannot be. */
static void catalogue_name_dirs(const struct catalogue *catalogue, char *buf, size_t size)
{
	size_t used = 0;

	text_copy(buf, size, catalogue->n_dirs == 0 ? "no directory" : "");
	for (size_t i = 0; i < catalogue->n_dirs; i++) {
		const char *dir = catalogue->dirs[i];
		const int code = access(dir, R_OK | X_OK) < 0 ? errno : 0;
		const int n = snprintf(buf + used, size - used, "%s%s%s%s%s", i > 0 ? ", " : "",
				       dir, code != 0 ? " (" : "", code != 0 ? err_words(code) : "",
				       code != 0 ? ")" : "");

		if (n < 0 || (size_t)n >= size - used) {
			(void)snprintf(buf + used, size - used, ", %zu more",
				       catalogue->n_dirs - i);
			return;
		}
		used += (size_t)n;
	}
}

static int catalogue_not_found(const struct catalogue *catalogue,
			       const struct stage_listing *listing, const char *plugin,
			       struct err *err)
{
	const char **names = calloc(listing->n + 1, sizeof *names);
	const char *nearest = NULL;
	char dirs[180];

	catalogue_name_dirs(catalogue, dirs, sizeof dirs);
	for (size_t i = 0; names != NULL && i < listing->n; i++)
		names[i] = listing->file[i].plugin;
	if (names != NULL)
		nearest = text_nearest(plugin, names);
	if (nearest != NULL)
		err_set(err, -ENOENT, "there is no plugin \"%s\" in %s: did you mean \"%s\"?",
			plugin, dirs, nearest);
	else
		err_set(err, -ENOENT,
			"there is no plugin \"%s\": no %s.so in %s; put it there, or name its "
			"folder by --plugins-dir",
			plugin, plugin, dirs);
	free(names);
	return err->code;
}

struct generation *catalogue_stage(const struct catalogue *catalogue, const struct stage_file *file,
				   struct manifest_file *staged, struct err *err)
{
	struct generation *generation;
	char path[PATH_MAX];

	*staged = (struct manifest_file){ 0 };
	staged->seq = manifest_next_seq(catalogue->manifest, err);
	if (staged->seq == 0)
		return NULL;
	if (stage_copy(file, catalogue->state_dir, staged->seq, path, &staged->digest, err) < 0)
		return NULL;
	generation = generation_open(catalogue->state_dir, file->plugin, staged->seq,
				     staged->digest, err);
	if (generation != NULL)
		text_copy(staged->version, sizeof staged->version, generation->facts->version);
	else
		unlink(path);
	return generation;
}

int catalogue_adopt_first(struct catalogue *catalogue, struct shelf *shelf, struct err *err)
{
	struct stage_listing listing;
	struct manifest_file staged;
	const struct stage_file *file;

	if (stage_list(catalogue->dirs, catalogue->n_dirs, &listing) < 0)
		return err_set(err, -ENOMEM, "no memory");
	file = stage_find(&listing, shelf->plugin);
	if (file != NULL) {
		shelf->current = catalogue_stage(catalogue, file, &staged, err);
		if (shelf->current != NULL)
			shelf->seen = *file;
	} else {
		catalogue_not_found(catalogue, &listing, shelf->plugin, err);
	}
	stage_listing_free(&listing);
	if (shelf->current == NULL)
		return err->code;
	return manifest_adopt(catalogue->manifest, shelf->plugin,
			      shelf->current->facts->kind == PLUGIN_COLLECTOR, &staged, err);
}

/*** Options for config_read() ***/

/** Facts of a plugin that has no generation yet, read from the file in plugins.d. */
struct loose_facts {
	struct ranker_facts *facts;
	char plugin[32];
	char *path;
	struct loose_facts *next;
};

void catalogue_forget_facts(struct catalogue *catalogue)
{
	size_t kept = 0;

	for (size_t i = 0; i < catalogue->n_accepted; i++)
		if (!catalogue->accepted[i].is_loose)
			catalogue->accepted[kept++] = catalogue->accepted[i];
	catalogue->n_accepted = kept;
	catalogue->hung[0] = '\0';
	while (catalogue->loose != NULL) {
		struct loose_facts *loose = catalogue->loose;

		catalogue->loose = loose->next;
		ranker_facts_free(loose->facts);
		free(loose->path);
		free(loose);
	}
}

static int catalogue_describe_file(const struct catalogue *catalogue, const char *plugin,
				   struct loose_facts *loose, struct err *err)
{
	struct stage_listing listing;
	const struct stage_file *file;
	int failed;

	if (stage_list(catalogue->dirs, catalogue->n_dirs, &listing) < 0)
		return err_set(err, -ENOMEM, "no memory");
	file = stage_find(&listing, plugin);
	if (file == NULL) {
		failed = catalogue_not_found(catalogue, &listing, plugin, err);
		stage_listing_free(&listing);
		return failed;
	}
	/* describing it runs its code: not before it is known whose that is */
	failed = stage_check(file, err);
	if (failed == 0)
		failed = ranker_describe(file->path, plugin, &loose->facts, err);
	if (failed == 0 && (loose->path = strdup(file->path)) == NULL)
		failed = err_set(err, -ENOMEM, "no memory");
	stage_listing_free(&listing);
	return failed;
}

static int catalogue_facts(struct catalogue *catalogue, const char *plugin,
			   const struct ranker_facts **facts, struct err *err)
{
	const struct shelf *shelf = catalogue_find(catalogue, plugin);
	struct loose_facts *loose = catalogue->loose;

	*facts = shelf != NULL && shelf->current != NULL ? shelf->current->facts : NULL;
	for (; *facts == NULL && loose != NULL; loose = loose->next)
		if (strcmp(loose->plugin, plugin) == 0)
			*facts = loose->facts;
	if (*facts != NULL)
		return 0;
	loose = calloc(1, sizeof *loose);
	if (loose == NULL)
		return err_set(err, -ENOMEM, "no memory");
	if (catalogue_describe_file(catalogue, plugin, loose, err) < 0) {
		ranker_facts_free(loose->facts);
		free(loose);
		return err->code;
	}
	text_copy(loose->plugin, sizeof loose->plugin, plugin);
	loose->next = catalogue->loose;
	catalogue->loose = loose;
	*facts = loose->facts;
	return 0;
}

int catalogue_options(void *arg, bool want_router, const char *plugin,
		      const struct cr_option **table, struct err *err)
{
	const struct ranker_facts *facts = NULL;

	if (catalogue_facts(arg, plugin, &facts, err) < 0)
		return err->code;
	assert(facts != NULL); /* ranker_describe() promises it */
	if (want_router != (facts->kind == PLUGIN_ROUTER))
		return err_set(err, -EINVAL, "plugin \"%s\" is a %s, a %s is needed here", plugin,
			       want_router ? "collector" : "router",
			       want_router ? "router" : "collector");
	*table = facts->options;
	return 0;
}

int catalogue_metrics(void *arg, const char *router, const char *const **needs,
		      const char *const **wants)
{
	const struct ranker_facts *facts = NULL;
	struct err err = { 0 };

	if (catalogue_facts(arg, router, &facts, &err) < 0)
		return err.code;
	assert(facts != NULL); /* as above */
	*needs = (const char *const *)facts->needs;
	*wants = (const char *const *)facts->wants;
	return 0;
}

/* The file that would be loaded. */
static const char *catalogue_path(const struct catalogue *catalogue, const char *plugin,
				  bool *is_loose)
{
	const struct shelf *shelf = catalogue_find(catalogue, plugin);
	const struct loose_facts *loose = catalogue->loose;

	*is_loose = shelf == NULL || shelf->current == NULL;
	if (!*is_loose)
		return shelf->current->path;
	while (loose != NULL && strcmp(loose->plugin, plugin) != 0)
		loose = loose->next;
	return loose != NULL ? loose->path : NULL;
}

const char *catalogue_file(const struct catalogue *catalogue, const char *plugin)
{
	bool is_loose;

	return catalogue_path(catalogue, plugin, &is_loose);
}

/* Without memory the plugin is asked again, that is all. */
static void catalogue_note_accepted(struct catalogue *catalogue, struct accepted accepted)
{
	struct accepted *grown;

	if (catalogue->n_accepted == ACCEPTED_MAX)
		catalogue->n_accepted = 0;
	grown = reallocarray(catalogue->accepted, catalogue->n_accepted + 1, sizeof *grown);
	if (grown == NULL)
		return;
	grown[catalogue->n_accepted++] = accepted;
	catalogue->accepted = grown;
}

static bool catalogue_has_accepted(const struct catalogue *catalogue, uint64_t key)
{
	for (size_t i = 0; i < catalogue->n_accepted; i++)
		if (catalogue->accepted[i].key == key)
			return true;
	return false;
}

/* What would be loaded of a plugin, and the key under which its consent is remembered. */
static int catalogue_prepare(const struct catalogue *catalogue, const char *plugin,
			     const char *packed, struct ranker_load *load,
			     struct accepted *accepted, struct err *err)
{
	*load = (struct ranker_load){
		.path = catalogue_path(catalogue, plugin, &accepted->is_loose),
		.plugin = plugin,
		.service = "check",
		.options = packed,
	};
	if (load->path == NULL)
		return err_set(err, -ENOENT, "its file is gone");
	accepted->key = cr_mix64(cr_hash64(load->path, strlen(load->path))) ^
			cr_hash64(packed, strlen(packed));
	return 0;
}

/* Its sentence may be about the file; the plugin's name comes first in any case. */
static int catalogue_blame(const char *plugin, struct err *err)
{
	return strncmp(err->text, plugin, strlen(plugin)) == 0 ? err->code
							       : err_prefix(err, "%s", plugin);
}

/* Whoever hangs holds up the reading once. Returns code. */
static int catalogue_note_hung(struct catalogue *catalogue, const char *plugin, int code,
			       const struct err *err)
{
	if (code != -ETIMEDOUT && code != -ETIME)
		return code;
	(void)text_copy(catalogue->hung, sizeof catalogue->hung, plugin);
	catalogue->hung_why = *err;
	return code;
}

int catalogue_accepts(void *arg, const char *plugin, const char *packed, char **lines,
		      struct err *err)
{
	struct catalogue *catalogue = arg;
	struct accepted accepted = { 0 };
	struct ranker_load load;

	*lines = NULL;
	if (catalogue_prepare(catalogue, plugin, packed, &load, &accepted, err) < 0)
		return err->code;
	if (catalogue_has_accepted(catalogue, accepted.key))
		return 0;
	if (strcmp(catalogue->hung, plugin) == 0)
		return err_set(err, catalogue->hung_why.code, "%s", catalogue->hung_why.text);
	if (ranker_check(&load, false, lines, err) < 0)
		return catalogue_note_hung(catalogue, plugin, catalogue_blame(plugin, err), err);
	catalogue_note_accepted(catalogue, accepted);
	return 0;
}

/** Bad targets on their way to who has asked. */
struct refusals {
	const struct target_list *list;
	size_t n;
};

static void catalogue_refuse(void *user, size_t index, const char *text)
{
	struct refusals *refusals = user;

	refusals->n++;
	refusals->list->bad(refusals->list->user, index, text);
}

int catalogue_can_poll(void *arg, const char *plugin, const char *packed,
		       const struct target_list *targets, struct err *err)
{
	struct catalogue *catalogue = arg;
	struct refusals refusals = { targets, 0 };
	const struct target_list told = { targets->target, targets->n, catalogue_refuse, &refusals,
					  targets->left_ns };
	struct accepted accepted = { 0 };
	struct ranker_load load;

	if (catalogue_prepare(catalogue, plugin, packed, &load, &accepted, err) < 0)
		return err->code;
	for (size_t i = 0; i < targets->n; i++)
		accepted.key = cr_mix64(accepted.key ^
					cr_hash64(targets->target[i], strlen(targets->target[i])));
	if (catalogue_has_accepted(catalogue, accepted.key))
		return 0;
	if (ranker_check_targets(&load, &told, err) < 0)
		return catalogue_blame(plugin, err);
	if (refusals.n == 0)
		catalogue_note_accepted(catalogue, accepted);
	return 0;
}

int catalogue_check_options(const struct generation *generation, const char *packed,
			    struct err *err)
{
	const struct cr_option *table = generation->facts->options;
	struct option_text given[OPTIONS_MAX];
	union cr_value *values = calloc(option_count(table) + 1, sizeof *values);
	char *copy = strdup(packed);
	int n = copy != NULL && values != NULL ? option_unpack(copy, given, OPTIONS_MAX) : -ENOMEM;

	if (n < 0)
		err_set(err, n, "%s: its options cannot be read", generation->plugin);
	else if ((n = option_parse(table, given, (size_t)n, values, err)) < 0)
		err_prefix(err, "%s %s", generation->plugin, generation->facts->version);
	free(copy);
	free(values);
	return n < 0 ? n : 0;
}
