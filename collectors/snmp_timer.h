/* snmp_timer.h - which of thousands of polls wants attention next: a heap of points in time. */
#ifndef CR_COLLECTORS_SNMP_TIMER_H
#define CR_COLLECTORS_SNMP_TIMER_H

#include <stddef.h>
#include <stdint.h>

/** Part of whatever wants attention; zeroed at first. */
struct snmp_timer {
	int64_t when_ns; /* CLOCK_MONOTONIC */
	size_t place;    /* in the heap, from 1; 0: not set */
};

struct snmp_timers {
	struct snmp_timer **heap; /* from 1; zeroed at first */
	size_t n, cap;
};

/** Make room for n timers, so that setting one never fails. Returns 0 or -ENOMEM. [own] */
int snmp_timers_reserve(struct snmp_timers *timers, size_t n);

/** Set, move or cancel a timer. [own] */
void snmp_timers_set(struct snmp_timers *timers, struct snmp_timer *timer, int64_t when_ns);
void snmp_timers_cancel(struct snmp_timers *timers, struct snmp_timer *timer);

/** The earliest one, or NULL. [own] */
struct snmp_timer *snmp_timers_first(const struct snmp_timers *timers);

/** Free the heap; the timers are their owners'. [own] */
void snmp_timers_fini(struct snmp_timers *timers);

#endif
