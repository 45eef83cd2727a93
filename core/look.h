/*
 * look.h - whom of a service a call may choose from, as the servers' health is at the moment. [L3]
 *
 * When all is well this is one comparison: the file's number of troubles against the one at which
 * this service was last seen calm (spot->calm, private to the process, since another process may
 * know other servers). Who changes a line raises the number afterwards (release); who looks reads
 * the number first (acquire), then the lines, and keeps that number if all of them are well. So a
 * number that was kept covers every change that was counted in it; a change that was missed is
 * counted later and makes the next call look again; an older number that a slower thread keeps
 * equals none, and costs a look.
 *
 * Trouble may last for hours (a server is down): what a thread made of the rows holds in the same
 * way until the number changes, or until the first time that it saw is over.
 */
#ifndef CR_CORE_LOOK_H
#define CR_CORE_LOOK_H

#include "counters.h"
#include "world.h"

/** What a call makes of a row; 0: it is not for this call. */
enum look_row {
	LOOK_IN = 1,      /* open, or due: then it must be claimed */
	LOOK_LET_IN = 2,  /* shut, but too few are left without it */
	LOOK_SLOW = 4,    /* and in slow start */
	LOOK_EJECTED = 8, /* while looking only */
};

/** For what the rows of a look hold. */
struct look_memo {
	uint64_t world, trouble;
	const struct spot *spot;  /* NULL: for nothing */
	int64_t from_ns, till_ns; /* now_ns in [from_ns, till_ns[ */
	uint32_t n, n_slow, n_settled;
	bool can_claim;
};

struct look {
	const uint8_t *usable; /* [n_rows]: enum look_row; where all is calm, 0 or 1 */
	uint32_t n;            /* rows that are not 0 */
	uint32_t n_slow;       /* of them in slow start */
	uint32_t n_held;       /* of these, held back from this call */
	bool is_calm;          /* every usable row, and nothing to mind */
	bool is_dry;           /* while its thread is in cr_route_dry(): its time may be any, and is
				  not to calm the calls of others */
	/* The thread's scratch. */
	uint8_t *row;    /* [CR_NONE] */
	uint64_t *until; /* [CR_NONE] */
	uint16_t *slow;  /* [CR_NONE]: the rows in slow start, n_slow of them */
	struct look_memo memo;
};

/** Storage of a thread's looks. Returns 0 or -ENOMEM; look_fini() also after that. [any] */
int look_init(struct look *look);
void look_fini(struct look *look);

/** The long way, when there was trouble. [call] */
void look_closely(struct look *look, const struct world *world, struct spot *spot, int64_t now_ns,
		  bool can_claim);

/**
 * Whom may this call choose from? At most half of the usable servers (rounded down) are kept out
 * for having been ejected, those that were ejected last; if nobody is left, all usable ones are
 * in. can_claim: false: this process counts nothing, due servers are left to others. Valid until
 * the thread's next look. [call]
 */
static inline void look_take(struct look *look, const struct world *world, struct spot *spot,
			     int64_t now_ns, bool can_claim)
{
	look->usable = spot->usable;
	look->n = spot->n_usable;
	look->n_slow = look->n_held = 0;
	look->is_calm = true;
	if (world->trouble != NULL &&
	    atomic_load_explicit(world->trouble, memory_order_relaxed) !=
		    atomic_load_explicit(&spot->calm, memory_order_relaxed))
		look_closely(look, world, spot, now_ns, can_claim);
}

/**
 * Slow start, before a router is asked: a server that has just come up is offered to a call only
 * with the chance of how far its start has come, and while it has no more calls for its weight than
 * the settled ones, less by the same share; one call it may always have. From the others it is held
 * back. No effect where nobody is settled. [call]
 */
void look_start_slowly(struct look *look, const struct world *world, const struct spot *spot,
		       const struct cr_call *call);

/** Copy those of a published order that are for this call. Returns how many. [call] */
uint32_t look_filter(const struct look *look, const uint16_t *published, uint32_t n,
		     uint16_t *order);

/** Put those that were held back behind an order that names all others: they may be needed.
 * Returns how many it has then. [call] */
uint32_t look_append_held(const struct look *look, uint16_t *order, uint32_t n);

#endif
