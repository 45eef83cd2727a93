/* route.c - the call path: decide, move on, end. No lock, no allocation, no system call. */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <callrouter/order.h>

#include "attachment.h"
#include "ticket.h"
#include "view.h"

static struct world *world_enter(struct cr_thread *thread)
{
	struct world *again = atomic_load_explicit(&thread->cr->live, memory_order_acquire);
	struct world *world;

	do {
		world = again;
		/* seq_cst, pairs with worlds_reap(): either it sees us in here, or we see its new
		 * world */
		atomic_store_explicit(&thread->in, world, memory_order_seq_cst);
		again = atomic_load_explicit(&thread->cr->live, memory_order_seq_cst);
	} while (again != world);
	return world;
}

static void world_leave(struct cr_thread *thread)
{
	/* release: all reads of the world come before worlds_reap() may free it */
	atomic_store_explicit(&thread->in, NULL, memory_order_release);
}

/*** Deciding ***/

/** One side's answer. */
struct answer {
	const uint16_t *order;
	uint32_t n;
};

static uint32_t thread_stamp(struct cr_thread *thread)
{
	if (++thread->stamp == 0) {
		memset(thread->seen, 0, CR_NONE * sizeof *thread->seen);
		thread->stamp = 1;
	}
	return thread->stamp;
}

/* The counters of a world in which this process counts, or NULL: it is a child that has not
 * refreshed, or another file took their place. */
static struct mapping *world_counted(const struct cr_thread *thread, const struct world *world)
{
	struct mapping *mapping = world->mapping;

	if (mapping == NULL ||
	    mapping->epoch != atomic_load_explicit(&thread->cr->page->epoch, memory_order_relaxed))
		return NULL;
	return mapping;
}

/* A caller's word. Threads that started one after the other do not write the same cache line; no
 * two of the first COUNTERS_LOADER share one, and none has the loader's. */
static _Atomic uint64_t *row_running(struct counters_row *row, uint32_t thread)
{
	const uint32_t i = thread % COUNTERS_LOADER;

	return &row->running[i % 16 * 8 + i / 16];
}

/* The view for a dry call: what the router adds to its words must not take turns away from calls,
 * nor count as one. Router and default have banks of their own, two each. */
static struct cr_view view_for_dry(struct cr_thread *thread, const struct side *side)
{
	struct dry_words *dry = &thread->dry[side->instance->shared_bank / 2 % 2];
	struct cr_view view = *side->view;

	if (view.shared == NULL)
		return view;
	if (dry->key != side->instance->key || dry->generation != view.generation) {
		dry->key = side->instance->key;
		dry->generation = view.generation;
		for (size_t i = 0; i < side->guest->plugin->router.shared_words; i++)
			dry->word[i] = __atomic_load_n(&view.shared[i], __ATOMIC_RELAXED);
	}
	view.shared = dry->word;
	return view;
}

/* If the process dies inside route(), the word says in whose. */
static int side_run(struct cr_thread *thread, const struct world *world, const struct side *side,
		    const struct cr_call *call, size_t n)
{
	const struct mapping *mapping = world_counted(thread, world);
	struct counters_row *row = mapping != NULL ? counters_row(mapping->counters) : NULL;
	const struct cr_view *view = side->view;
	_Atomic uint64_t *running = NULL;
	struct cr_view dry;
	int got;

	if (thread->look.is_dry) {
		dry = view_for_dry(thread, side);
		view = &dry;
	}
	if (row != NULL)
		running = row_running(row, thread->number);
	if (running != NULL)
		atomic_store_explicit(running, side->instance->seq, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	got = side->guest->plugin->router.route(side->guest->instance.self, view, call,
						thread->order, n);
	atomic_signal_fence(memory_order_seq_cst);
	if (running != NULL)
		atomic_store_explicit(running, 0, memory_order_relaxed);
	return got;
}

static uint16_t row_within(uint16_t row, uint16_t n_rows)
{
	return row < n_rows ? row : CR_NONE;
}

/* The call as routers may believe it: the rows that it names may be those of an older state, and
 * routers take them for rows of their view. */
static const struct cr_call *call_within(const struct cr_call *call, uint16_t n_rows,
					 struct cr_call *copy)
{
	const uint16_t primary = row_within(call->primary, n_rows);
	const uint16_t secondary = row_within(call->secondary, n_rows);

	if (primary == call->primary && secondary == call->secondary)
		return call;
	*copy = *call;
	copy->primary = primary;
	copy->secondary = secondary;
	return copy;
}

static enum cr_reason side_route(struct cr_thread *thread, const struct world *world,
				 const struct spot *spot, const struct side *side,
				 const struct cr_call *call, struct answer *answer)
{
	const uint32_t n = look_filter(&thread->look, image_order(world->image, side->choice),
				       spot->n_usable, thread->order);
	struct cr_call copy;
	const int got = side_run(thread, world, side, call_within(call, spot->n_rows, &copy), n);

	if (got == CR_DEFAULT)
		return CR_REASON_ROUTER_DEFAULT;
	if (got == CR_REFUSE)
		return CR_REASON_ROUTER_REFUSED;
	if (got < 0 || (uint32_t)got > n)
		return CR_REASON_ROUTE_ERROR;
	switch (view_check_order(thread->order, (size_t)got, spot->n_rows, thread->look.usable,
				 thread->seen, thread_stamp(thread))) {
	case VIEW_ORDER_GOOD:
		break;
	case VIEW_ORDER_UNKNOWN:
		return CR_REASON_UNKNOWN_SERVER;
	case VIEW_ORDER_REPEATED:
		return CR_REASON_REPEATED_SERVER;
	}
	*answer = (struct answer){ thread->order, (uint32_t)got };
	return CR_REASON_NONE;
}

/* The published order, as it is or less those that are not for this call. */
static struct answer side_published(struct cr_thread *thread, const struct world *world,
				    const struct spot *spot, const struct side *side)
{
	const uint16_t *published = image_order(world->image, side->choice);

	if (thread->look.is_calm)
		return (struct answer){ published, spot->n_usable };
	return (struct answer){ thread->order, look_filter(&thread->look, published, spot->n_usable,
							   thread->order) };
}

/* What one side says to this call; CR_REASON_NONE: answer is good. */
static enum cr_reason side_ask(struct cr_thread *thread, const struct world *world,
			       const struct spot *spot, const struct side *side,
			       const struct cr_call *call, struct answer *answer)
{
	const struct image_choice *choice = side->choice;

	if (side->instance == NULL)
		return choice->reason != CR_REASON_NONE ? (enum cr_reason)choice->reason
							: CR_REASON_NO_ROUTER;
	if (side->is_quarantined)
		return CR_REASON_QUARANTINED;
	if (call->now_ns > choice->fresh_until_ns)
		return CR_REASON_STALE;
	if (choice->reason != CR_REASON_NONE)
		return (enum cr_reason)choice->reason;
	if (choice->verdict == CR_REFUSE)
		return CR_REASON_ROUTER_REFUSED;
	if (choice->verdict == CR_DEFAULT && (side->instance->flags & IMAGE_HAS_RANK) != 0)
		return CR_REASON_ROUTER_DEFAULT;
	if (side->is_asked)
		return side_route(thread, world, spot, side, call, answer);
	*answer = side_published(thread, world, spot, side);
	return CR_REASON_NONE;
}

/* Even the default may be unable to answer: then any order, but not always the same first. */
static struct answer spot_any_order(struct cr_thread *thread, const struct world *world,
				    const struct spot *spot, const struct cr_call *call)
{
	const uint32_t n =
		look_filter(&thread->look, image_order(world->image, spot->preset.choice),
			    spot->n_usable, thread->order);

	cr_order_rotate(thread->order, n, cr_below(cr_mix64(call->random), n));
	return (struct answer){ thread->order, n };
}

static void ticket_list(struct cr_ticket *ticket, const struct spot *spot, const struct look *look,
			struct answer answer)
{
	const uint32_t n = answer.n < CR_LIST_MAX ? answer.n : CR_LIST_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct place *place = &spot->place[answer.order[i]];

		ticket->server[i] = place->server;
		ticket->line[i] = place->line;
		ticket->incarnation[i] = place->incarnation;
	}
	ticket->n = n;
	for (uint32_t i = 0; i < n && !look->is_calm; i++)
		if ((look->usable[answer.order[i]] & LOOK_LET_IN) != 0)
			ticket->let_in |= 1u << i;
}

static void spot_decide(struct cr_thread *thread, const struct world *world, struct spot *spot,
			const struct cr_call *call, struct cr_ticket *ticket)
{
	struct answer answer;

	assert(world->image != NULL); /* spots come from it */
	if (spot->n_usable == 0) {
		ticket->reason = CR_REASON_NO_SERVER;
		return;
	}
	look_take(&thread->look, world, spot, call->now_ns, world_counted(thread, world) != NULL);
	if (thread->look.n_slow > 0)
		look_start_slowly(&thread->look, world, spot, call);
	ticket->decided = CR_ROUTER_DECIDED;
	ticket->reason = side_ask(thread, world, spot, &spot->router, call, &answer);
	if (ticket->reason == CR_REASON_ROUTER_REFUSED) {
		ticket->decided = CR_REFUSED;
		return;
	}
	if (ticket->reason != CR_REASON_NONE) {
		ticket->decided = CR_DEFAULT_DECIDED;
		if (side_ask(thread, world, spot, &spot->preset, call, &answer) != CR_REASON_NONE)
			answer = spot_any_order(thread, world, spot, call);
	}
	/* not calm: then the answer lies in the thread's own order */
	if (thread->look.n_held > 0)
		answer.n = look_append_held(&thread->look, thread->order, answer.n);
	ticket_list(ticket, spot, &thread->look, answer);
}

static struct spot *world_spot(const struct world *world, int service)
{
	int16_t at;

	if (service < 0 || service >= WORLD_NAMES_MAX)
		return NULL;
	at = atomic_load_explicit(&world->by_name[service], memory_order_relaxed);
	return at < 0 ? NULL : &world->spot[at];
}

/* What happens after it can be told, too. */
static int64_t call_time_ns(const struct cr_call *call)
{
	return call->now_ns < INT64_MAX / 2 ? call->now_ns : INT64_MAX / 2;
}

static const struct spot *world_route(struct cr_thread *thread, const struct world *world,
				      int service, const struct cr_call *call,
				      struct cr_ticket *ticket)
{
	struct spot *spot;

	ticket->n = 0;
	ticket->at = 0;
	ticket->epoch = 0;
	ticket->is_held = false;
	ticket->is_clocked = thread->clock_ns != 0 && call->now_ns == thread->clock_ns;
	ticket->decided = CR_NOBODY;
	ticket->generation = 0;
	ticket->let_in = 0;
	ticket->shut = ticket->was = 0;
	ticket->contact_ns = call_time_ns(call);
	ticket->rules = NULL;
	ticket->cost_bytes = call->cost_bytes > 0 ? call->cost_bytes : 0;
	if (world->image == NULL) {
		ticket->reason = CR_REASON_NO_SNAPSHOT;
		return NULL;
	}
	ticket->generation = world->image->generation;
	spot = world_spot(world, service);
	if (spot == NULL) {
		ticket->reason = CR_REASON_NO_SERVICE;
		return NULL;
	}
	ticket->rules = spot->rules;
	spot_decide(thread, world, spot, call, ticket);
	return spot;
}

/*** Counting ***/

/* The counters that know the call, or NULL: another file took their place meanwhile, or it is a
 * call of our parent's. */
static struct counters *ticket_counters(const struct cr_ticket *ticket,
					const struct cr_thread *thread, const struct world *world)
{
	const struct mapping *mapping = world_counted(thread, world);

	return mapping != NULL && mapping->epoch == ticket->epoch ? mapping->counters : NULL;
}

static void spot_count(const struct spot *spot, const struct cr_ticket *ticket)
{
	if (spot->line == NULL)
		return;
	atomic_fetch_add_explicit(&spot->line->decided[ticket->decided], 1, memory_order_relaxed);
	if (ticket->reason != CR_REASON_NONE)
		atomic_fetch_add_explicit(&spot->line->reason[ticket->reason], 1,
					  memory_order_relaxed);
}

/* Others may have been faster with all that are listed: then the list is made once more. */
static void thread_settle(struct cr_thread *thread, const struct world *world, int service,
			  const struct cr_call *call, struct cr_ticket *ticket)
{
	if (ticket_settle(ticket, world->counters))
		return;
	world_route(thread, world, service, call, ticket);
	if (!ticket_settle(ticket, world->counters))
		ticket_insist(ticket, world->counters);
}

/*** When a contact ended ***/

static int64_t coarse_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts); /* reads memory: no system call */
	return (int64_t)ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* The newest time that is known. A thread that waits for each answer has routed nothing since the
 * contact began, however long that took; who has a time of his own (a simulator) is left to it. */
static int64_t thread_seen_ns(const struct cr_thread *thread, const struct cr_ticket *ticket)
{
	const int64_t clock_ns = ticket->is_clocked ? coarse_now_ns() : 0;

	return clock_ns > thread->now_ns ? clock_ns : thread->now_ns;
}

/*** The public functions ***/

int cr_route(struct cr_thread *thread, int service, const struct cr_call *call,
	     struct cr_ticket *ticket)
{
	const struct world *world = world_enter(thread);
	const struct spot *spot = world_route(thread, world, service, call, ticket);
	const struct mapping *mapping = world_counted(thread, world);

	thread->now_ns = ticket->contact_ns;
	if (mapping != NULL && spot != NULL) {
		if (!thread->look.is_calm)
			thread_settle(thread, world, service, call, ticket);
		spot_count(spot, ticket);
		ticket->epoch = mapping->epoch;
		ticket_reserve(ticket, mapping->counters);
	}
	world_leave(thread);
	return (int)ticket->n;
}

int cr_route_dry(struct cr_thread *thread, int service, const struct cr_call *call,
		 struct cr_ticket *ticket)
{
	const struct world *world = world_enter(thread);

	thread->look.is_dry = true;
	world_route(thread, world, service, call, ticket);
	thread->look.is_dry = false;
	world_leave(thread);
	return (int)ticket->n;
}

const struct cr_server *cr_next(struct cr_thread *thread, struct cr_ticket *ticket,
				enum cr_outcome outcome)
{
	struct counters *counters;
	int64_t seen_ns;

	if (ticket->at >= ticket->n)
		return NULL;
	counters = ticket_counters(ticket, thread, world_enter(thread));
	if (counters != NULL) {
		seen_ns = thread_seen_ns(thread, ticket);
		ticket_release(ticket, counters);
		ticket_note_result(ticket, counters, outcome, -1, seen_ns);
		ticket_move_on(ticket, counters, seen_ns);
		ticket_reserve(ticket, counters);
	} else {
		ticket->at++;
	}
	world_leave(thread);
	return ticket->at < ticket->n ? ticket->server[ticket->at] : NULL;
}

void cr_end(struct cr_thread *thread, struct cr_ticket *ticket, enum cr_outcome outcome,
	    int64_t latency_ns)
{
	struct counters *counters;
	int64_t seen_ns = thread->now_ns;

	if (ticket->at >= ticket->n)
		return;
	counters = ticket_counters(ticket, thread, world_enter(thread));
	if (counters != NULL) {
		/* of a success of an open server nobody asks when it was */
		if (!ticket_is_latency(latency_ns) && (outcome != CR_OK || ticket->shut != 0))
			seen_ns = thread_seen_ns(thread, ticket);
		ticket_release(ticket, counters);
		ticket_note_result(ticket, counters, outcome, latency_ns, seen_ns);
	}
	ticket->at = ticket->n;
	world_leave(thread);
}

/* The row of the server of this name, or CR_NONE. */
static uint16_t spot_find(const struct spot *spot, struct cr_str name)
{
	for (uint16_t row = 0; row < spot->n_rows && name.len > 0; row++) {
		const char *own = spot->place[row].server->name;

		if (own[0] == name.ptr[0] && strlen(own) == name.len &&
		    memcmp(own, name.ptr, name.len) == 0)
			return row;
	}
	return CR_NONE;
}

int cr_call_session(struct cr_thread *thread, int service, const struct cr_session *session,
		    struct cr_call *call)
{
	const struct spot *spot;

	call->primary = call->secondary = CR_NONE;
	if (session == NULL)
		return 0;
	call->key = session->id;
	spot = world_spot(world_enter(thread), service);
	if (spot != NULL) {
		call->primary = spot_find(spot, session->primary);
		call->secondary = spot_find(spot, session->secondary);
	}
	world_leave(thread);
	return (call->primary != CR_NONE) + (call->secondary != CR_NONE);
}

void cr_call_now(struct cr_thread *thread, struct cr_call *call)
{
	call->now_ns = thread->clock_ns = coarse_now_ns();
	call->random = cr_draw(&thread->draw);
}
