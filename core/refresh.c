/* refresh.c - take over what was published: worlds, this process's slot, the answers to the daemon.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "attachment.h"
#include "clock.h"
#include "err.h"
#include "text.h"

#define CLAIM_AGAIN_NS CLOCK_S

/* Of all attachments: a ticket of one that was detached fits no other. */
static _Atomic uint32_t last_epoch;

static void cr_warn(struct cr *cr, enum said kind, const char *fmt, ...) CR_PRINTF(3, 4);

/* A complaint that comes with every refresh is passed on once, until all is well again. */
static void cr_warn(struct cr *cr, enum said kind, const char *fmt, ...)
{
	char line[sizeof cr->said[kind]];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	if (cr->log == NULL || strcmp(line, cr->said[kind]) == 0)
		return;
	text_copy(cr->said[kind], sizeof cr->said[kind], line);
	cr->log(cr->log_arg, CR_WARN, line);
}

static void cr_is_well(struct cr *cr, enum said kind)
{
	cr->said[kind][0] = '\0';
}

/*** Worlds ***/

static bool world_is_entered(struct cr *cr, const struct world *world)
{
	/* seq_cst, pairs with cr_thread_link(): whoever entered an old world is in the list */
	struct cr_thread *thread = atomic_load_explicit(&cr->threads, memory_order_seq_cst);

	for (; thread != NULL; thread = thread->next)
		/* seq_cst, pairs with world_enter(); acquire part pairs with world_leave() */
		if (atomic_load_explicit(&thread->in, memory_order_seq_cst) == world)
			return true;
	return false;
}

void mapping_give(struct mapping *mapping)
{
	if (mapping == NULL || --mapping->refs > 0)
		return;
	counters_close(mapping->counters);
	free(mapping);
}

void worlds_reap(struct cr *cr)
{
	for (struct world **at = &cr->retired; *at != NULL;) {
		struct world *world = *at;
		struct mapping *mapping = world->mapping;

		if (world_is_entered(cr, world)) {
			at = &world->older;
			continue;
		}
		*at = world->older;
		world_free(world, &cr->guests);
		mapping_give(mapping);
	}
}

static void world_name_spots(struct cr *cr, struct world *world)
{
	for (size_t i = 0; i < cr->n_names; i++)
		atomic_store_explicit(&world->by_name[i], (int16_t)world_find(world, cr->name[i]),
				      memory_order_relaxed);
}

static void world_go_live(struct cr *cr, struct world *world)
{
	struct world *old;

	world->mapping = cr->mapping;
	if (world->mapping != NULL)
		world->mapping->refs++;
	pthread_mutex_lock(&cr->names_lock);
	world_name_spots(cr, world);
	/* seq_cst, pairs with world_enter() */
	old = atomic_exchange_explicit(&cr->live, world, memory_order_seq_cst);
	pthread_mutex_unlock(&cr->names_lock);
	if (old != NULL) {
		old->older = cr->retired;
		cr->retired = old;
	}
	worlds_reap(cr);
}

/*** The process's slot ***/

static struct counters_slot *cr_slot(const struct cr *cr)
{
	if (cr->mapping == NULL || !cr->mapping->has_slot)
		return NULL;
	return counters_slot(cr->mapping->counters,
			     (uint32_t)counters_slot_number(cr->mapping->counters));
}

static void mapping_claim(struct cr *cr, struct mapping *mapping)
{
	int got = counters_claim(mapping->counters, cr->program);

	mapping->has_slot = got >= 0;
	cr->claimed_ns = clock_now_ns();
	if (got >= 0)
		cr_is_well(cr, SAID_SLOT);
	else if (got == -EAGAIN)
		cr_warn(cr, SAID_SLOT, "calls are not counted: all process slots are taken");
	else
		cr_warn(cr, SAID_SLOT,
			"calls are not counted: no room for this process's ledger (%s)",
			err_words(got));
}

static bool mapping_is_good(const struct cr *cr)
{
	const struct mapping *mapping = cr->mapping;

	if (mapping == NULL || counters_is_replaced(mapping->counters, cr->run_dir))
		return false;
	if (mapping->has_slot)
		return counters_has_slot(mapping->counters);
	/* All slots were taken when we came: one may have become free. */
	return clock_now_ns() - cr->claimed_ns < CLAIM_AGAIN_NS;
}

static struct counters *counters_find(struct cr *cr)
{
	struct counters *counters;
	struct err err = { 0 };
	const int got = counters_open(cr->run_dir, false, &counters, &err);

	if (got < 0) {
		/* -EAGAIN: replaced at this very moment */
		if (got != -ENOENT && got != -EAGAIN)
			cr_warn(cr, SAID_COUNTERS, "counters ignored: %s", err.text);
		return NULL;
	}
	cr_is_well(cr, SAID_COUNTERS);
	return counters;
}

/* Was a slot asked for in vain once more? Then worlds and calls keep the mapping that they have:
 * with another one the results of calls in progress would be lost, each second. */
static bool mapping_is_no_better(const struct cr *cr, const struct mapping *mapping)
{
	const struct mapping *old = cr->mapping;

	return !mapping->has_slot && old != NULL && !old->has_slot &&
	       old->epoch == atomic_load_explicit(&cr->page->epoch, memory_order_relaxed) &&
	       !counters_is_replaced(old->counters, cr->run_dir);
}

/*
 * The counters file is here for the first time, or was replaced, or may have a slot for us now. A
 * mapping that worlds have is never changed: calls read it.
 */
static void mapping_renew(struct cr *cr)
{
	struct mapping *old = cr->mapping, *mapping;

	if (mapping_is_good(cr))
		return;
	mapping = calloc(1, sizeof *mapping);
	if (mapping == NULL)
		return;
	mapping->counters = counters_find(cr);
	if (mapping->counters == NULL) {
		free(mapping);
		return;
	}
	mapping->refs = 1;
	counters_inquest(mapping->counters);
	mapping_claim(cr, mapping);
	if (mapping_is_no_better(cr, mapping)) {
		counters_close(mapping->counters);
		free(mapping);
		return;
	}
	mapping->epoch = atomic_fetch_add_explicit(&last_epoch, 1, memory_order_relaxed) + 1;
	cr->mapping = mapping;
	cr->guests.counters = mapping->counters;
	cr->prepare_answered = 0;
	atomic_store_explicit(&cr->page->epoch, mapping->epoch, memory_order_relaxed);
	mapping_give(old);
}

static void slot_tell_worlds(struct cr *cr)
{
	struct counters_slot *slot = cr_slot(cr);
	const struct world *live = atomic_load_explicit(&cr->live, memory_order_relaxed);
	uint64_t oldest;

	if (slot == NULL || live->image == NULL)
		return;
	oldest = live->image->generation;
	for (const struct world *world = cr->retired; world != NULL; world = world->older)
		if (world->image != NULL && world->image->generation < oldest)
			oldest = world->image->generation;
	atomic_store_explicit(&slot->generation, live->image->generation, memory_order_relaxed);
	atomic_store_explicit(&slot->oldest, oldest, memory_order_relaxed);
}

static void slot_tell_newest(struct cr *cr, struct counters_slot *slot)
{
	uint64_t newest = 0;

	for (const struct guest *guest = cr->guests.first; guest != NULL; guest = guest->next)
		if (guest->seq > newest)
			newest = guest->seq;
	if (newest == atomic_load_explicit(&slot->loaded_seq, memory_order_relaxed))
		return;
	atomic_store_explicit(&slot->loaded_seq, newest, memory_order_relaxed);
	atomic_store_explicit(&slot->loaded_ns, clock_now_ns(), memory_order_relaxed);
}

/* Tell the daemon how loading went; the token last, so that it finds the rest complete. */
static void slot_tell_loading(struct cr *cr, const struct world *world,
			      const struct world_faults *faults)
{
	struct counters_slot *slot = cr_slot(cr);
	const uint64_t token = world->image->prepare;

	if (slot == NULL)
		return;
	slot_tell_newest(cr, slot);
	if (faults->lacks != 0)
		text_copy(slot->error, sizeof slot->error, faults->lacks_err.text);
	atomic_store_explicit(&slot->lacks, faults->lacks, memory_order_release);
	if (token == 0 || token == cr->prepare_answered)
		return;
	if (faults->coming_err.code != 0)
		text_copy(slot->error, sizeof slot->error, faults->coming_err.text);
	atomic_store_explicit(&slot->prepared_result, faults->coming_err.code,
			      memory_order_relaxed);
	/* pairs with the acquire in the daemon's look for answers */
	atomic_store_explicit(&slot->prepared, token, memory_order_release);
	cr->prepare_answered = token;
}

/*** Refreshing ***/

static uint64_t quarantine_mark(const struct cr *cr)
{
	return cr->mapping != NULL ? counters_quarantine_mark(cr->mapping->counters) : 0;
}

static void cr_complain(struct cr *cr, const struct world_faults *faults)
{
	if (faults->lacks != 0)
		cr_warn(cr, SAID_LACKS, "router not loaded, its published order is used: %s",
			faults->lacks_err.text);
	else
		cr_is_well(cr, SAID_LACKS);
	if (faults->coming_err.code != 0)
		cr_warn(cr, SAID_COMING, "coming router cannot be loaded: %s",
			faults->coming_err.text);
	else
		cr_is_well(cr, SAID_COMING);
	if (faults->prepare_err.code != 0)
		cr_warn(cr, SAID_PREPARE, "prepare() failed, route() goes on without: %s",
			faults->prepare_err.text);
	else
		cr_is_well(cr, SAID_PREPARE);
}

int cr_take_image(struct cr *cr, struct image_header *image)
{
	const struct world_parts parts = { .guests = &cr->guests,
					   .cards = &cr->cards,
					   .counters = cr->mapping != NULL ? cr->mapping->counters
									   : NULL };
	const uint64_t mark = quarantine_mark(cr);
	struct world_faults faults;
	struct world *world;

	world = world_new(image, &parts, &faults);
	if (world == NULL)
		return -ENOMEM;
	cr->quarantine_mark = mark;
	cr_complain(cr, &faults);
	world_go_live(cr, world);
	if (image != NULL)
		slot_tell_loading(cr, world, &faults);
	return 1;
}

static int cr_refresh_locked(struct cr *cr)
{
	const struct world *live = atomic_load_explicit(&cr->live, memory_order_relaxed);
	uint64_t have = live->image != NULL ? live->image->generation : 0;
	struct image_header *image = NULL;
	struct err err = { 0 };
	int got;

	mapping_renew(cr);
	/* asked until it was done: the snapshot may be unreadable at the moment */
	if (live->mapping != cr->mapping || quarantine_mark(cr) != cr->quarantine_mark)
		have = 0;
	got = snapshot_read(cr->reader, have, &image, &err);
	if (got >= 0)
		cr_is_well(cr, SAID_SNAPSHOT);
	else if (got != -ENOENT && got != -EAGAIN && err.text[0] != '\0')
		cr_warn(cr, SAID_SNAPSHOT, "snapshot ignored: %s", err.text);
	if (got > 0)
		got = cr_take_image(cr, image);
	worlds_reap(cr);
	slot_tell_worlds(cr);
	return got == -ENOENT || got == -EAGAIN ? 0 : got;
}

/*** Forked children ***/

static void world_disown(const struct world *world)
{
	if (world->mapping != NULL)
		counters_disown(world->mapping->counters);
}

void cr_leave_parent(struct cr *cr)
{
	const struct world *live = atomic_load_explicit(&cr->live, memory_order_relaxed);

	/* Its threads are not here, and children do not draw the same numbers. */
	for (struct cr_thread *t = atomic_load_explicit(&cr->threads, memory_order_relaxed);
	     t != NULL; t = t->next) {
		uint64_t draw;

		atomic_store_explicit(&t->in, NULL, memory_order_relaxed);
		if (getrandom(&draw, sizeof draw, GRND_NONBLOCK) == (ssize_t)sizeof draw)
			t->draw = draw;
	}
	pthread_mutex_init(&cr->names_lock, NULL);
	cr_init_refreshing(cr);
	world_disown(live);
	for (const struct world *world = cr->retired; world != NULL; world = world->older)
		world_disown(world);
	if (cr->mapping != NULL) {
		counters_disown(cr->mapping->counters);
		cr->mapping->has_slot = false;
	}
	cr->claimed_ns = -CLAIM_AGAIN_NS; /* the next look finds a slot of our own */
	cr->has_thread = false;
	if (cr->stop_fd >= 0)
		close(cr->stop_fd);
	cr->stop_fd = -1;
	atomic_store_explicit(&cr->page->has_left, 1, memory_order_relaxed);
}

static void cr_begin_child(struct cr *cr)
{
	int failed;

	/* not when the fork was a bare system call */
	if (atomic_load_explicit(&cr->page->has_left, memory_order_relaxed) == 0)
		cr_leave_parent(cr);
	atomic_store_explicit(&cr->page->is_own, 1, memory_order_relaxed);
	failed = cr->start_thread ? cr_start_thread(cr) : 0;
	if (failed < 0)
		cr_warn(cr, SAID_THREAD, "no refreshing thread in this child: %s",
			err_words(failed));
}

void cr_init_refreshing(struct cr *cr)
{
	pthread_mutexattr_t attr;

	/* a thread that forks out of a refresh, say from the log callback, must not wait for it */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&cr->refreshing, &attr);
	pthread_mutexattr_destroy(&attr);
}

int cr_refresh(struct cr *cr)
{
	int got;

	if (atomic_load_explicit(&cr->page->is_own, memory_order_relaxed) == 0)
		cr_begin_child(cr);
	if (pthread_mutex_trylock(&cr->refreshing) != 0)
		return 0;
	got = cr_refresh_locked(cr);
	pthread_mutex_unlock(&cr->refreshing);
	return got;
}
