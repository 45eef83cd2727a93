/* swap_lost.c - a router that crashed or looped: quarantine it, and have the previous one come
 * back. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "swap_internal.h"
#include "text.h"

/* Of a ranker that is killed from outside: so many in a row, each within that time of the one
 * before.
 */
#define RESTARTS_MAX 3
#define RESTARTS_NS  (600 * CLOCK_S)

/* A ranker that was killed from outside (an operator, out of memory), or found no memory, or could
 * not read what it was sent, is not the plugin's fault. */
static bool swap_is_innocent(const struct err *why)
{
	return why->code == -EINTR || why->code == -ENOMEM || why->code == -EBADMSG ||
	       why->code == -ETIME;
}

static bool swap_restart(struct swap *swap, struct sitter *sitter, const struct err *why)
{
	struct err err = { 0 };

	/* it was not even running (stopped, or starved of the processor): that is never counted */
	if (why->code == -ETIME || clock_now_ns() - sitter->restarted_ns > RESTARTS_NS)
		sitter->restarts = 0;
	if (!swap_is_innocent(why) || sitter->restarts >= RESTARTS_MAX)
		return false;
	sitter->restarts++;
	sitter->restarted_ns = clock_now_ns();
	log_warn("ranker started again", "plugin=%s service=%s reason=\"%s\"",
		 sitter->generation->plugin, sitter->seat->service_name, why->text);
	if (sitter_start(sitter, &err) < 0) {
		log_error("ranker not started", "plugin=%s error=\"%s\"",
			  sitter->generation->plugin, err.text);
		return false;
	}
	publisher_heard(swap->context.publisher, sitter, RANKER_DEAD);
	publisher_run(swap->context.publisher);
	return true;
}

static void swap_condemn(const struct swap *swap, const char *plugin,
			 const struct manifest_file *file, const char *note)
{
	struct err err = { 0 };

	log_error("plugin quarantined", "name=%s generation=%" PRIu64 " version=%s reason=\"%s\"",
		  plugin, file->seq, file->version, note);
	if (manifest_send_away(swap->context.catalogue->manifest, plugin, file,
			       MANIFEST_QUARANTINED, note, &err) < 0)
		log_error("manifest not written", "plugin=%s error=\"%s\"", plugin, err.text);
}

static struct manifest_file swap_file_of(const struct generation *generation)
{
	struct manifest_file file = { .seq = generation->seq, .digest = generation->digest };

	text_copy(file.version, sizeof file.version, generation->facts->version);
	return file;
}

static void swap_send_away(struct swap *swap, struct shelf *shelf, const char *note)
{
	const struct manifest_file file = swap_file_of(shelf->current);

	if (shelf->must_return || shelf->sent_away == file.seq)
		return;
	swap_condemn(swap, shelf->plugin, &file, note);
	shelf->sent_away = file.seq;
	shelf->must_return = true;
	swap_look_soon(swap);
}

void swap_lost_ranker(struct swap *swap, struct sitter *sitter, const struct err *err)
{
	struct shelf *shelf = catalogue_shelf(swap->context.catalogue, sitter->generation->plugin);

	ranker_free(sitter->ranker);
	sitter->ranker = NULL;
	sitter->is_late = sitter->is_void = false;
	if (swap_restart(swap, sitter, err))
		return;
	sitter->is_gone = true;
	publisher_heard(swap->context.publisher, sitter, RANKER_DEAD);
	if (shelf != NULL && shelf->current == sitter->generation)
		swap_send_away(swap, shelf, err->text);
}

/* It killed a data plane before it was in office: it never gets there. */
static void swap_condemn_coming(struct swap *swap, const char *note)
{
	const struct manifest_file file = swap_file_of(swap->coming);
	struct shelf *shelf = swap->shelf;
	struct err err = { 0 };

	err_set(&err, -ECHILD, "quarantined: %s", note);
	if (manifest_send_away(swap->context.catalogue->manifest, shelf->plugin, &file,
			       MANIFEST_QUARANTINED, note, &err) < 0)
		log_error("manifest not written", "plugin=%s error=\"%s\"", shelf->plugin,
			  err.text);
	swap_refuse(swap, &err);
	shelf->refused = (struct manifest_file){ 0 }; /* the manifest has it */
}

static void swap_condemn_previous(const struct swap *swap, const char *plugin, uint64_t seq,
				  const char *note)
{
	const struct manifest_entry *entry =
		manifest_find(swap->context.catalogue->manifest, plugin);
	struct manifest_file previous;

	if (entry == NULL || entry->previous.seq != seq)
		return;
	previous = entry->previous;
	swap_condemn(swap, plugin, &previous, note);
}

void swap_quarantine(struct swap *swap, uint64_t seq, const char *note)
{
	const struct catalogue *catalogue = swap->context.catalogue;

	counters_quarantine(swap->context.counters, seq);
	if (swap->coming != NULL && swap->coming->seq == seq) {
		swap_condemn_coming(swap, note);
		return;
	}
	for (size_t i = 0; i < catalogue->n; i++) {
		struct shelf *shelf = catalogue->shelf[i];

		if (shelf->current != NULL && shelf->current->seq == seq)
			swap_send_away(swap, shelf, note);
		else
			swap_condemn_previous(swap, shelf->plugin, seq, note);
	}
}
