/* swap.c - the sequence of a swap: try, prepare, flip; and the way back. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "document.h"
#include "log.h"
#include "swap_internal.h"
#include "text.h"

#define CHECK_MS         2 /* between looks for data planes' answers */
#define KEPT_GENERATIONS 8 /* staged files that stay for readers of older images */

static struct seats *swap_seats(const struct swap *swap)
{
	return *swap->context.seats;
}

static bool seat_is_for(const struct seat *seat, const char *plugin)
{
	return strcmp(seat->plugin, plugin) == 0;
}

static struct counters_service *seat_line(const struct swap *swap, const struct seat *seat)
{
	return counters_service(swap->context.counters,
				(*swap->context.roster)->service_line[seat->service]);
}

/*** The end of a swap, good or bad ***/

static void swap_drop_coming(struct swap *swap)
{
	struct seats *seats = swap_seats(swap);

	for (size_t i = 0; i < seats->n; i++) {
		sitter_free(seats->seat[i].coming);
		seats->seat[i].coming = NULL;
	}
	generation_drop(swap->coming);
	swap->coming = NULL;
}

static void swap_finish(struct swap *swap, const struct err *err)
{
	struct control_request *later = swap->later;
	json_t *members = NULL;
	const struct generation *current = swap->shelf->current;
	struct err no_memory;

	evtimer_del(swap->check);
	if (err == NULL && current != NULL)
		members = json_pack(
			"{s:s, s:I, s:o}", "plugin", swap->shelf->plugin, "generation",
			(json_int_t)current->seq, "version",
			document_text(current->facts->version, sizeof current->facts->version));
	if (err == NULL && members == NULL) {
		err_set(&no_memory, -ENOMEM, "no memory for the answer");
		err = &no_memory;
	}
	swap->phase = SWAP_IDLE;
	swap->later = NULL;
	swap->is_forced = false;
	swap->shelf = NULL;
	if (later != NULL)
		control_answer(later, members, err);
	else
		json_decref(members);
	swap_look_soon(swap);
}

void swap_note_refusal(struct swap *swap, struct shelf *shelf, const struct manifest_file *file,
		       const struct err *err)
{
	(void)swap;
	shelf->refused = *file;
	if (shelf->refused.seq == 0)
		shelf->refused.seq = UINT64_MAX; /* it was not even staged */
	text_copy(shelf->note, sizeof shelf->note, err->text);
	log_error("plugin refused", "name=%s version=%s error=\"%s\" in_use=%" PRIu64,
		  shelf->plugin, file->version[0] != '\0' ? file->version : "?", err->text,
		  shelf->current != NULL ? shelf->current->seq : 0);
}

void swap_refuse(struct swap *swap, const struct err *err)
{
	const bool was_published = swap->phase == SWAP_PREPARING;
	struct manifest_file file = { .seq = swap->coming->seq, .digest = swap->coming->digest };

	text_copy(file.version, sizeof file.version, swap->coming->facts->version);
	swap_note_refusal(swap, swap->shelf, &file, err);
	publisher_prepare(swap->context.publisher, 0);
	if (was_published) {
		publisher_reset(swap->context.publisher);
		publisher_run(swap->context.publisher);
	}
	swap_drop_coming(swap);
	swap_finish(swap, err);
}

void swap_abort(struct swap *swap, const char *why)
{
	struct err err = { 0 };

	if (swap->phase == SWAP_IDLE)
		return;
	err_set(&err, -ECANCELED, "swap of %s given up: %s", swap->shelf->plugin, why);
	swap->shelf->seen = (struct stage_file){ 0 };
	if (swap->kind == SWAP_RETURN)
		swap->shelf->must_return = true;
	publisher_prepare(swap->context.publisher, 0);
	swap_drop_coming(swap);
	swap_finish(swap, &err);
}

/*** Flip ***/

static bool swap_keeps(void *arg, const char *plugin, uint64_t seq)
{
	const struct swap *swap = arg;
	const struct manifest_entry *entry =
		manifest_find(swap->context.catalogue->manifest, plugin);
	const uint64_t newest = swap->shelf->current->seq;

	if (seq + KEPT_GENERATIONS > newest)
		return true;
	return entry != NULL && (entry->current.seq == seq || entry->previous.seq == seq);
}

static int swap_record(struct swap *swap, struct err *err)
{
	const struct generation *coming = swap->coming;
	struct manifest *manifest = swap->context.catalogue->manifest;
	struct manifest_file file = { .seq = coming->seq, .digest = coming->digest };

	text_copy(file.version, sizeof file.version, coming->facts->version);
	switch (swap->kind) {
	case SWAP_ADOPT:
		return manifest_adopt(manifest, coming->plugin,
				      coming->facts->kind == PLUGIN_COLLECTOR, &file, err);
	case SWAP_ROLLBACK:
		file = manifest_find(manifest, coming->plugin)->current;
		return manifest_send_away(manifest, coming->plugin, &file, MANIFEST_ROLLED_BACK,
					  "rolled back by the operator", err);
	case SWAP_RETURN:
		return 0;
	}
	return 0;
}

static const char *swap_kind_words(enum swap_kind kind)
{
	switch (kind) {
	case SWAP_ADOPT:
		return "adopted";
	case SWAP_ROLLBACK:
		return "rolled back";
	case SWAP_RETURN:
		return "returned";
	}
	return "?";
}

static void swap_log_flip(const struct swap *swap, const struct generation *old)
{
	const int64_t now = clock_now_ns();

	log_info("plugin swapped",
		 "name=%s how=\"%s\" from=%" PRIu64 " to=%" PRIu64 " version=%s trial_ms=%" PRId64
		 " prepare_ms=%" PRId64,
		 swap->coming->plugin, swap_kind_words(swap->kind), old != NULL ? old->seq : 0,
		 swap->coming->seq, swap->coming->facts->version,
		 (swap->tried_ns - swap->began_ns) / CLOCK_MS, (now - swap->tried_ns) / CLOCK_MS);
}

/* The generation is now the shelf's; its file and marks are settled. */
static void swap_install(struct swap *swap)
{
	struct shelf *shelf = swap->shelf;

	swap_log_flip(swap, shelf->current);
	generation_drop(shelf->current);
	shelf->current = swap->coming;
	swap->coming = NULL;
	shelf->refused = (struct manifest_file){ 0 };
	shelf->note[0] = '\0';
	shelf->must_return = false;
	stage_sweep(swap->context.catalogue->state_dir, swap_keeps, swap);
}

static void swap_flip(struct swap *swap)
{
	struct seats *seats = swap_seats(swap);
	struct err err = { 0 };

	if (swap_record(swap, &err) < 0) {
		swap_refuse(swap, &err);
		return;
	}
	publisher_prepare(swap->context.publisher, 0);
	publisher_reset(swap->context.publisher);
	for (size_t i = 0; i < seats->n; i++) {
		struct seat *seat = &seats->seat[i];

		if (seat->coming == NULL)
			continue;
		sitter_free(seat->now);
		seat->now = seat->coming;
		seat->coming = NULL;
		if (!sitter_ranks(seat->now)) {
			ranker_free(seat->now->ranker);
			seat->now->ranker = NULL;
		}
	}
	swap_install(swap);
	publisher_run(swap->context.publisher);
	swap_finish(swap, NULL);
}

/*** Prepare ***/

/*
 * How many data planes have not answered; err: the first who cannot load it. One that died is
 * waited for, too: the census is about to find out whether it died of what it was to load.
 */
static uint32_t swap_count_missing(struct swap *swap, struct err *err)
{
	uint32_t missing = 0;

	for (uint32_t i = 0; i < COUNTERS_SLOTS; i++) {
		const struct counters_slot *slot = counters_slot(swap->context.counters, i);

		if (atomic_load_explicit(&slot->state, memory_order_acquire) == 0)
			continue;
		/* pairs with the release in slot_tell_loading(): result and text are complete */
		if (atomic_load_explicit(&slot->prepared, memory_order_acquire) != swap->token)
			missing++;
		else if (atomic_load_explicit(&slot->prepared_result, memory_order_relaxed) < 0 &&
			 err->code == 0)
			err_set(err, -ENOEXEC, "process %d (%.*s) cannot load it: %.*s", slot->pid,
				(int)sizeof slot->program - 1, slot->program,
				(int)sizeof slot->error - 1, slot->error);
	}
	return missing;
}

static void swap_arm_check(struct swap *swap)
{
	const struct timeval tv = { .tv_usec = CHECK_MS * INT64_C(1000) };

	evtimer_add(swap->check, &tv);
}

static void swap_check(evutil_socket_t fd, short what, void *arg)
{
	struct swap *swap = arg;
	const int64_t now = clock_now_ns();
	struct err err = { 0 };
	uint32_t missing;

	(void)fd;
	(void)what;
	missing = swap_count_missing(swap, &err);
	if (err.code < 0 && !swap->is_forced) {
		swap_refuse(swap, &err);
		return;
	}
	if (missing > 0 && now - swap->prepare_ns < SWAP_PREPARE_MS * CLOCK_MS) {
		swap_arm_check(swap);
		return;
	}
	if (missing > 0)
		log_warn("data planes did not answer in time",
			 "plugin=%s missing=%u consequence=\"they use the published order until "
			 "they do\"",
			 swap->coming->plugin, missing);
	swap_flip(swap);
}

/* Data planes load only what has a route(); without any there is nothing to wait for. */
static void swap_prepare(struct swap *swap)
{
	swap->tried_ns = swap->prepare_ns = clock_now_ns();
	if ((swap->coming->facts->flags & IMAGE_HAS_ROUTE) == 0 || swap->shelf->current == NULL ||
	    counters_slots_used(swap->context.counters) == 0) {
		swap_flip(swap);
		return;
	}
	swap->phase = SWAP_PREPARING;
	/* of this attempt alone: the same file may be prepared again */
	swap->token = swap->coming->seq << 32 | (uint32_t)(swap->prepare_ns / CLOCK_US) | 1;
	publisher_prepare(swap->context.publisher, swap->token);
	publisher_run(swap->context.publisher);
	swap_arm_check(swap);
}

/*** Try ***/

/* An instance of the same service in the published image, so that the trial sees the real servers.
 */
static uint32_t swap_stand_in(const struct image_header *image, const struct seat *seat)
{
	for (uint32_t i = 0; image != NULL && i < image->instance.count; i++)
		if (image_instances(image)[i].service == seat->service)
			return i;
	return IMAGE_NONE;
}

/* What a generation that crashed left behind may be what it crashed of: who follows starts cold. */
static struct sitter *swap_seat_sitter(const struct swap *swap, struct seat *seat)
{
	struct counters_service *line = seat_line(swap, seat);
	uint32_t bank = seat_bank(seat);

	if (seat->now != NULL && swap->kind != SWAP_RETURN && !seat->now->is_gone)
		return sitter_new(seat, swap->coming, seat->now, bank, line);
	if (seat->now != NULL)
		bank = seat->now->bank ^ 1;
	seat_clear_bank(line, bank);
	return sitter_new(seat, swap->coming, NULL, bank, line);
}

static int swap_try_seat(struct swap *swap, struct seat *seat, struct err *err)
{
	const struct image_header *image = publisher_image(swap->context.publisher);
	const uint32_t stand_in = swap_stand_in(image, seat);

	if (catalogue_check_options(swap->coming, seat->options, err) < 0)
		return err->code;
	seat->coming = swap_seat_sitter(swap, seat);
	if (seat->coming == NULL)
		return err_set(err, -ENOMEM, "no memory for the swap");
	if (sitter_start(seat->coming, err) < 0)
		return err->code;
	ranker_try(seat->coming->ranker, stand_in != IMAGE_NONE ? image : NULL, stand_in);
	swap->n_trying++;
	return 0;
}

static int swap_try_router(struct swap *swap, struct err *err)
{
	struct seats *seats = swap_seats(swap);

	swap->n_trying = 0;
	for (size_t i = 0; i < seats->n; i++)
		if (seat_is_for(&seats->seat[i], swap->coming->plugin) &&
		    swap_try_seat(swap, &seats->seat[i], err) < 0)
			return err->code;
	return swap->n_trying > 0
		       ? 0
		       : err_set(err, -ENOENT, "no service uses %s", swap->coming->plugin);
}

/*** Collectors: their instances are replaced, in one go ***/

static int swap_try_source(const struct swap *swap, const struct config_source *source,
			   struct err *err)
{
	char *packed = config_pack(source->options, source->n_options);
	const struct ranker_load load = { .path = swap->coming->path,
					  .plugin = swap->coming->plugin,
					  .service = source->name,
					  .options = packed };
	int failed = packed != NULL ? catalogue_check_options(swap->coming, packed, err)
				    : err_set(err, -ENOMEM, "no memory");

	if (failed == 0)
		failed = ranker_check(&load, true, NULL, err);
	free(packed);
	return failed;
}

static int swap_collector(struct swap *swap, struct err *err)
{
	const struct config *config = *swap->context.config;
	struct plugin *plugin, *old = swap->shelf->loaded;

	for (size_t i = 0; i < config->n_sources; i++)
		if (strcmp(config->sources[i].plugin, swap->coming->plugin) == 0 &&
		    swap_try_source(swap, &config->sources[i], err) < 0)
			return err->code;
	swap->tried_ns = clock_now_ns();
	if (plugin_open(swap->coming->path, swap->coming->plugin, &plugin, err) < 0)
		return err->code;
	/* Either object stays mapped: their threads may have left keys behind. */
	if (old != NULL && poller_replace(swap->context.poller, plugin, err) < 0) {
		plugin_close(plugin);
		return err->code;
	}
	if (old != NULL)
		plugin_close(old);
	if (swap_record(swap, err) < 0)
		log_error("manifest not written", "plugin=%s error=\"%s\"", swap->coming->plugin,
			  err->text);
	swap->shelf->loaded = plugin;
	swap_install(swap);
	return 0;
}

/*** The start ***/

static int swap_start(struct swap *swap, struct err *err)
{
	const bool is_collector = swap->coming->facts->kind == PLUGIN_COLLECTOR;
	const bool was_collector = swap->shelf->current != NULL &&
				   swap->shelf->current->facts->kind == PLUGIN_COLLECTOR;

	if (swap->shelf->current != NULL && is_collector != was_collector)
		return err_set(err, -EINVAL, "%s was a %s and is a %s now: give it another name",
			       swap->coming->plugin, was_collector ? "collector" : "router",
			       is_collector ? "collector" : "router");
	if (!is_collector)
		return swap_try_router(swap, err);
	if (swap_collector(swap, err) < 0)
		return err->code;
	swap_finish(swap, NULL);
	return 0;
}

int swap_begin(struct swap *swap, struct shelf *shelf, struct generation *coming,
	       enum swap_kind kind, struct err *err)
{
	swap->phase = SWAP_TRYING;
	swap->kind = kind;
	swap->shelf = shelf;
	swap->coming = coming;
	swap->began_ns = swap->tried_ns = clock_now_ns();
	if (swap_start(swap, err) == 0)
		return 0;
	swap->later = NULL; /* the caller answers */
	swap_refuse(swap, err);
	return err->code;
}

/*** Events ***/

void swap_heard(struct swap *swap, struct sitter *sitter, enum ranker_event event,
		const struct err *err)
{
	const bool is_coming = sitter->seat->coming == sitter;

	if (event == RANKER_DEAD && is_coming)
		swap_refuse(swap, err);
	else if (event == RANKER_DEAD)
		swap_lost_ranker(swap, sitter, err);
	else if (event == RANKER_TRIED && is_coming && --swap->n_trying == 0)
		swap_prepare(swap);
}

const char *swap_plugin(const struct swap *swap)
{
	return swap->phase != SWAP_IDLE ? swap->shelf->plugin : NULL;
}

static void swap_look_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	swap_look(arg, NULL);
}

void swap_look_soon(struct swap *swap)
{
	const struct timeval now = { 0 };

	evtimer_add(swap->soon, &now);
}

struct swap *swap_new(const struct swap_context *context)
{
	struct swap *swap = calloc(1, sizeof *swap);

	if (swap == NULL)
		return NULL;
	swap->context = *context;
	swap->check = evtimer_new(context->base, swap_check, swap);
	swap->soon = evtimer_new(context->base, swap_look_due, swap);
	if (swap->check == NULL || swap->soon == NULL) {
		swap_free(swap);
		return NULL;
	}
	return swap;
}

void swap_free(struct swap *swap)
{
	if (swap == NULL)
		return;
	generation_drop(swap->coming);
	if (swap->check != NULL)
		event_free(swap->check);
	if (swap->soon != NULL)
		event_free(swap->soon);
	free(swap);
}
