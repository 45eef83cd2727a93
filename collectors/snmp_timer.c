/* snmp_timer.c - a binary heap whose members know their place in it. */
#include "snmp_timer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int snmp_timers_reserve(struct snmp_timers *timers, size_t n)
{
	const size_t cap = n + 1 + n / 2;
	struct snmp_timer **heap;

	if (n < timers->cap)
		return 0;
	heap = reallocarray(timers->heap, cap, sizeof(struct snmp_timer *));
	if (heap == NULL)
		return -ENOMEM;
	timers->heap = heap;
	timers->cap = cap;
	return 0;
}

static void place(const struct snmp_timers *timers, struct snmp_timer *timer, size_t at)
{
	timers->heap[at] = timer;
	timer->place = at;
}

/* Put timer where it belongs, beginning at a place that is free for it. */
static void sift(const struct snmp_timers *timers, struct snmp_timer *timer, size_t at)
{
	struct snmp_timer **heap = timers->heap;

	for (; at > 1 && heap[at / 2]->when_ns > timer->when_ns; at /= 2)
		place(timers, heap[at / 2], at);
	for (size_t child; (child = 2 * at) <= timers->n; at = child) {
		if (child < timers->n && heap[child + 1]->when_ns < heap[child]->when_ns)
			child++;
		if (heap[child]->when_ns >= timer->when_ns)
			break;
		place(timers, heap[child], at);
	}
	place(timers, timer, at);
}

void snmp_timers_set(struct snmp_timers *timers, struct snmp_timer *timer, int64_t when_ns)
{
	assert(timer->place > 0 || timers->n + 1 < timers->cap);
	timer->when_ns = when_ns;
	if (timer->place == 0)
		place(timers, timer, ++timers->n);
	sift(timers, timer, timer->place);
}

void snmp_timers_cancel(struct snmp_timers *timers, struct snmp_timer *timer)
{
	const size_t at = timer->place;
	struct snmp_timer *last;

	if (at == 0)
		return;
	timer->place = 0;
	last = timers->heap[timers->n--];
	if (last != timer)
		sift(timers, last, at);
}

struct snmp_timer *snmp_timers_first(const struct snmp_timers *timers)
{
	return timers->n > 0 ? timers->heap[1] : NULL;
}

void snmp_timers_fini(struct snmp_timers *timers)
{
	free(timers->heap);
	*timers = (struct snmp_timers){ 0 };
}
