/* poller_schedule.c - when a target is polled: arithmetic without a clock, and a heap of targets.
 */
#include "poller_internal.h"

#include <string.h>

#include <callrouter/order.h>

/** 0 <= x < 1 from 64 random bits. */
static double fraction(uint64_t bits)
{
	return (double)(bits >> 11) * 0x1p-53;
}

uint64_t poller_schedule_seed(const char *source, const char *target)
{
	/* Two sources of one server start at different times. */
	return cr_mix64(cr_hash64(target, strlen(target)) + 3 * cr_hash64(source, strlen(source)));
}

int64_t poller_schedule_phase(uint64_t seed, int64_t interval_ns)
{
	return (int64_t)(fraction(seed) * (double)interval_ns);
}

int64_t poller_schedule_interval(int64_t interval_ns, unsigned failures)
{
	int64_t limit_ns = 8 * interval_ns, ns = interval_ns;

	if (limit_ns > POLLER_PAUSE_NS)
		limit_ns = POLLER_PAUSE_NS;
	for (unsigned i = POLLER_FAILURES; i <= failures && ns < limit_ns; i++)
		ns *= 2;
	if (ns > limit_ns)
		ns = limit_ns;
	return ns > interval_ns ? ns : interval_ns;
}

int64_t poller_schedule_jitter(uint64_t seed, uint64_t round, int64_t interval_ns)
{
	return (int64_t)((0.05 * fraction(cr_mix64(seed + round)) - 0.025) * (double)interval_ns);
}

void poller_schedule_next(struct target *target, int64_t interval_ns, int64_t now_ns)
{
	const int64_t wait_ns = poller_schedule_interval(interval_ns, target->failures);
	const int64_t jitter_ns = poller_schedule_jitter(target->seed, target->round, interval_ns);
	int64_t slot_ns = target->base_ns + wait_ns;

	if (slot_ns + jitter_ns <= now_ns)
		slot_ns += ((now_ns - slot_ns - jitter_ns) / interval_ns + 1) * interval_ns;
	target->slot_ns = slot_ns;
	target->due_ns = slot_ns + jitter_ns;
	if (target->due_ns < now_ns + CLOCK_MS)
		target->due_ns = now_ns + CLOCK_MS;
}

int64_t poller_schedule_batch(int64_t at_ns, int64_t interval_ns)
{
	int64_t apart_ns = interval_ns / 512;

	if (apart_ns < CLOCK_MS)
		apart_ns = CLOCK_MS;
	if (apart_ns > 4 * CLOCK_MS)
		apart_ns = 4 * CLOCK_MS;
	if (at_ns > INT64_MAX - apart_ns)
		return INT64_MAX;
	return (at_ns + apart_ns - 1) / apart_ns * apart_ns;
}

static void put_at(struct target_heap *heap, size_t place, struct target *target)
{
	heap->at[place] = target;
	target->place = place;
}

static void sift_up(struct target_heap *heap, struct target *target)
{
	size_t place = target->place;

	while (place > 0 && heap->at[(place - 1) / 2]->wake_ns > target->wake_ns) {
		put_at(heap, place, heap->at[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	put_at(heap, place, target);
}

static void sift_down(struct target_heap *heap, struct target *target)
{
	size_t place = target->place;

	for (;;) {
		size_t child = 2 * place + 1;

		if (child + 1 < heap->n && heap->at[child + 1]->wake_ns < heap->at[child]->wake_ns)
			child++;
		if (child >= heap->n || heap->at[child]->wake_ns >= target->wake_ns)
			break;
		put_at(heap, place, heap->at[child]);
		place = child;
	}
	put_at(heap, place, target);
}

void poller_schedule_place(struct target_heap *heap, struct target *target)
{
	const int64_t limit_ns = target->target.deadline_ns + POLLER_GRACE_NS;

	target->wake_ns = target->due_ns;
	if (target->is_under_way && limit_ns < target->due_ns)
		target->wake_ns = limit_ns;
	sift_up(heap, target);
	sift_down(heap, target);
}

void poller_schedule_push(struct target_heap *heap, struct target *target)
{
	target->wake_ns = target->due_ns;
	put_at(heap, heap->n++, target);
	poller_schedule_place(heap, target);
}
