/* swap_look.c - what starts a swap: a file in plugins.d, a quarantined router, the operator. */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "swap_internal.h"
#include "text.h"

#define SETTLE_NS (WATCH_SETTLE_MS * CLOCK_MS)
#define UNFINISHED_NS                                                                              \
	(500 * CLOCK_MS) /* an incomplete file that has not changed for so long is refused */

bool swap_is_used(const struct swap *swap, const char *plugin)
{
	const struct seats *seats = *swap->context.seats;
	const struct config *config = *swap->context.config;

	for (size_t i = 0; i < seats->n; i++)
		if (strcmp(seats->seat[i].plugin, plugin) == 0)
			return true;
	for (size_t i = 0; i < config->n_sources; i++)
		if (strcmp(config->sources[i].plugin, plugin) == 0)
			return true;
	return false;
}

/*** Files ***/

/* Incomplete, but perhaps still being written: by our own clock, a file's times may be anything. */
static bool may_be_unfinished(const struct shelf *shelf, const struct err *err)
{
	return err->code == -ENOEXEC && clock_now_ns() - shelf->look_ns < UNFINISHED_NS;
}

/* Put there again, or touched? A change of its mode alone asks for no answer. */
static bool is_put_again(const struct stage_file *file, const struct stage_file *seen)
{
	return file->dev != seen->dev || file->ino != seen->ino || file->bytes != seen->bytes ||
	       file->mtime.tv_sec != seen->mtime.tv_sec ||
	       file->mtime.tv_nsec != seen->mtime.tv_nsec || strcmp(file->path, seen->path) != 0;
}

/* Trouble that is not the plugin's, and passes: the slow look tries again. */
static bool swap_must_wait(struct shelf *shelf, const struct err *err)
{
	switch (-err->code) {
	case ENOSPC:
	case EDQUOT:
	case EROFS:
	case EIO:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		break;
	default:
		return false;
	}
	if (strcmp(shelf->note, err->text) != 0)
		log_error("plugin file not taken yet",
			  "name=%s error=\"%s\" remedy=\"it is tried again\"", shelf->plugin,
			  err->text);
	text_copy(shelf->note, sizeof shelf->note, err->text);
	return true;
}

static void swap_take_file(struct swap *swap, struct shelf *shelf, const struct stage_file *file)
{
	struct manifest_file staged;
	struct err err = { 0 };
	struct generation *coming = catalogue_stage(swap->context.catalogue, file, &staged, &err);

	if (coming == NULL && err.code == -EAGAIN) {
		watch_again(*swap->context.watch);
		return;
	}
	if (coming == NULL && swap_must_wait(shelf, &err))
		return;
	shelf->seen = *file;
	if (coming == NULL)
		swap_note_refusal(swap, shelf, &staged, &err);
	else
		(void)swap_begin(swap, shelf, coming, SWAP_ADOPT, &err); /* it has logged why */
}

/* Was this file sent away, or is it the one in use? Then there is nothing to do but to say so. */
static bool swap_knows(const struct swap *swap, struct shelf *shelf, const struct stage_file *file,
		       uint64_t digest)
{
	const struct manifest_refused *refused =
		manifest_refuses(swap->context.catalogue->manifest, shelf->plugin, digest);
	const bool is_first = shelf->seen.path[0] == '\0';
	const bool is_again = is_put_again(file, &shelf->seen);

	if (refused != NULL) {
		if (is_first || is_again)
			log_info("plugin file not taken",
				 "name=%s file=%s reason=\"%s: %s\" "
				 "remedy=\"callrouterctl adopt %s\"",
				 shelf->plugin, file->path,
				 refused->verdict == MANIFEST_ROLLED_BACK ? "rolled back"
									  : "quarantined",
				 refused->note, file->path);
		return true;
	}
	if (shelf->current != NULL && digest == shelf->current->digest) {
		if (is_again && !is_first)
			log_info("plugin file unchanged",
				 "name=%s version=%s consequence=\"generation %" PRIu64
				 " stays in use\"",
				 shelf->plugin, shelf->current->facts->version,
				 shelf->current->seq);
		shelf->refused = (struct manifest_file){ 0 };
		shelf->note[0] = '\0';
		return true;
	}
	/* A chmod after a refusal: the same contents would fail the same way. */
	return !is_again && shelf->refused.digest == digest && digest != 0;
}

/* A file that is new or changed, and no longer being written: is it one to be taken? */
static void swap_consider(struct swap *swap, struct shelf *shelf, const struct stage_file *file)
{
	struct err err = { 0 };
	uint64_t digest;

	if (stage_digest(file->path, &digest, &err) == 0 && swap_knows(swap, shelf, file, digest)) {
		shelf->seen = *file;
		return;
	}
	if (err.code == 0 && stage_check(file, &err) == 0) {
		swap_take_file(swap, shelf, file);
		return;
	}
	if (may_be_unfinished(shelf, &err)) {
		watch_again(*swap->context.watch);
		return;
	}
	shelf->seen = *file;
	swap_note_refusal(swap, shelf, &(struct manifest_file){ 0 }, &err);
}

static void swap_note_gone(struct shelf *shelf)
{
	if (!shelf->is_gone && shelf->current != NULL && shelf->seen.path[0] != '\0')
		log_warn("plugin file removed",
			 "name=%s consequence=\"the loaded generation runs on\"", shelf->plugin);
	shelf->is_gone = true;
}

/* Arrived by rename: taken at once. Written in place: when two looks agree. */
static bool swap_is_steady(struct swap *swap, struct shelf *shelf, const struct stage_file *file,
			   const char *by_rename)
{
	const size_t len = strlen(shelf->plugin);
	const int64_t now = clock_now_ns();

	if (!stage_is_same(file, &shelf->look)) {
		shelf->look = *file;
		shelf->look_ns = now;
	}
	if (by_rename != NULL && strncmp(by_rename, shelf->plugin, len) == 0 &&
	    strcmp(by_rename + len, ".so") == 0)
		return true;
	if (now - shelf->look_ns >= SETTLE_NS)
		return true;
	watch_again(*swap->context.watch);
	return false;
}

static void swap_look_at(struct swap *swap, struct shelf *shelf,
			 const struct stage_listing *listing, const char *by_rename)
{
	const struct stage_file *file = stage_find(listing, shelf->plugin);

	if (file == NULL) {
		swap_note_gone(shelf);
		return;
	}
	shelf->is_gone = false;
	if (stage_is_same(file, &shelf->seen) || !swap_is_used(swap, shelf->plugin))
		return;
	if (swap_is_steady(swap, shelf, file, by_rename))
		swap_consider(swap, shelf, file);
}

/*** The way back ***/

static void swap_return(struct swap *swap, struct shelf *shelf)
{
	const struct catalogue *catalogue = swap->context.catalogue;
	const struct manifest_entry *entry = manifest_find(catalogue->manifest, shelf->plugin);
	struct generation *previous;
	struct err err = { 0 };

	shelf->must_return = false;
	if (entry == NULL || entry->current.seq == 0) {
		log_error("no previous generation to return to",
			  "name=%s consequence=\"the default algorithm decides\" remedy=\"put a "
			  "good %s.so "
			  "into the plugin directory\"",
			  shelf->plugin, shelf->plugin);
		return;
	}
	previous = generation_open(catalogue->state_dir, shelf->plugin, entry->current.seq,
				   entry->current.digest, &err);
	if (previous == NULL)
		log_error("previous generation not usable", "name=%s error=\"%s\"", shelf->plugin,
			  err.text);
	else
		(void)swap_begin(swap, shelf, previous, SWAP_RETURN, &err); /* it has logged why */
}

void swap_look(void *arg, const char *by_rename)
{
	struct swap *swap = arg;
	struct catalogue *catalogue = swap->context.catalogue;
	struct stage_listing listing;

	if (swap->phase != SWAP_IDLE)
		return; /* the end of the swap looks again */
	for (size_t i = 0; i < catalogue->n && swap->phase == SWAP_IDLE; i++)
		if (catalogue->shelf[i]->must_return)
			swap_return(swap, catalogue->shelf[i]);
	if (stage_list(catalogue->dirs, catalogue->n_dirs, &listing) < 0)
		return;
	for (size_t i = 0; i < catalogue->n && swap->phase == SWAP_IDLE; i++)
		swap_look_at(swap, catalogue->shelf[i], &listing, by_rename);
	stage_listing_free(&listing);
}

/*** The operator ***/

static int swap_is_free(const struct swap *swap, struct err *err)
{
	if (swap->phase == SWAP_IDLE)
		return 0;
	return err_set(err, -EBUSY, "a swap of %s is under way: try again in a second",
		       swap->shelf->plugin);
}

static int swap_begin_for(struct swap *swap, struct shelf *shelf, struct generation *coming,
			  enum swap_kind kind, struct control_request *later, struct err *err)
{
	swap->later = later;
	return swap_begin(swap, shelf, coming, kind, err);
}

int swap_rollback(struct swap *swap, const char *plugin, struct control_request *later,
		  struct err *err)
{
	const struct catalogue *catalogue = swap->context.catalogue;
	const struct manifest_entry *entry = manifest_find(catalogue->manifest, plugin);
	struct generation *previous;

	if (swap_is_free(swap, err) < 0)
		return err->code;
	if (entry == NULL || entry->current.seq == 0)
		return err_set(err, -ENOENT,
			       "no plugin \"%s\" is in use: see callrouterctl plugins", plugin);
	if (entry->previous.seq == 0)
		return err_set(err, -ENOENT, "%s has no previous generation to go back to", plugin);
	if (!swap_is_used(swap, plugin))
		return err_set(err, -ENOENT,
			       "%s is used by no service and no collector at the moment", plugin);
	previous = generation_open(catalogue->state_dir, plugin, entry->previous.seq,
				   entry->previous.digest, err);
	if (previous == NULL)
		return err->code;
	return swap_begin_for(swap, catalogue_shelf(swap->context.catalogue, plugin), previous,
			      SWAP_ROLLBACK, later, err);
}

static int swap_file_at(const char *path, struct stage_file *file, struct err *err)
{
	char *copy = strdup(path);
	const char *base = copy != NULL ? basename(copy) : "";
	const size_t len = strlen(base);

	*file = (struct stage_file){ 0 };
	if (len > 3 && len - 3 < sizeof file->plugin && strcmp(base + len - 3, ".so") == 0)
		memcpy(file->plugin, base, len - 3);
	free(copy);
	if (path[0] != '/' || !text_copy(file->path, sizeof file->path, path))
		return err_set(err, -EINVAL, "%s: give the whole path of the file", path);
	if (!text_is_plugin_name(file->plugin))
		return err_set(err, -EINVAL,
			       "%s: a plugin's file is called NAME.so, NAME of a-z, 0-9 and _",
			       path);
	return 0;
}

int swap_adopt(struct swap *swap, const char *path, bool is_forced, struct control_request *later,
	       struct err *err)
{
	struct manifest_file staged;
	struct stage_file file;
	struct generation *coming;
	struct shelf *shelf;

	if (swap_is_free(swap, err) < 0 || swap_file_at(path, &file, err) < 0)
		return err->code;
	if (!swap_is_used(swap, file.plugin))
		return err_set(err, -ENOENT,
			       "%s is used by no service and no collector: name it in the "
			       "configuration first",
			       file.plugin);
	shelf = catalogue_shelf(swap->context.catalogue, file.plugin);
	coming = shelf != NULL ? catalogue_stage(swap->context.catalogue, &file, &staged, err)
			       : NULL;
	if (coming == NULL)
		return err->code;
	swap->is_forced = is_forced;
	return swap_begin_for(swap, shelf, coming, SWAP_ADOPT, later, err);
}
