/* swap_lost.c - a router that crashed or looped: quarantine it, and have the previous one come
 * back. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "log.h"
#include "swap_internal.h"
#include "text.h"

#define RESTARTS_MAX 3 /* of a ranker that is killed from outside, per generation */

/* A ranker that was killed from outside (out of memory, an operator) is not the plugin's fault. */
static bool swap_restart(struct swap *swap, struct sitter *sitter, const struct err *why)
{
	struct err err = { 0 };

	if (why->code != -EINTR || sitter->restarts >= RESTARTS_MAX)
		return false;
	sitter->restarts++;
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

static void swap_send_away(struct swap *swap, struct shelf *shelf, const char *note)
{
	const uint64_t seq = shelf->current->seq;
	struct err err = { 0 };

	if (shelf->must_return)
		return;
	log_error("plugin quarantined", "name=%s generation=%" PRIu64 " reason=\"%s\"",
		  shelf->plugin, seq, note);
	text_copy(shelf->note, sizeof shelf->note, note);
	if (manifest_send_away(swap->context.catalogue->manifest, shelf->plugin,
			       MANIFEST_QUARANTINED, note, &err) < 0)
		log_error("manifest not written", "plugin=%s error=\"%s\"", shelf->plugin,
			  err.text);
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

void swap_quarantine(struct swap *swap, uint64_t seq, const char *note)
{
	struct catalogue *catalogue = swap->context.catalogue;

	counters_quarantine(swap->context.counters, seq);
	for (size_t i = 0; i < catalogue->n; i++) {
		struct shelf *shelf = catalogue->shelf[i];

		if (shelf->current != NULL && shelf->current->seq == seq)
			swap_send_away(swap, shelf, note);
	}
}
