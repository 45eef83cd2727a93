/* counters_quarantine.c - plugin files that crashed data planes: the list in the counters file. */
#include "counters.h"

#include <callrouter/order.h>

#include "counters_file.h"

bool counters_is_quarantined(const struct counters *c, uint64_t seq)
{
	for (uint32_t i = 0; i < COUNTERS_QUARANTINE && seq != 0; i++)
		if (atomic_load_explicit(&c->header->quarantine[i], memory_order_relaxed) == seq)
			return true;
	return false;
}

void counters_quarantine(struct counters *c, uint64_t seq)
{
	while (!c->is_read_only && seq != 0 && !counters_is_quarantined(c, seq)) {
		uint64_t least = UINT64_MAX;
		uint32_t at = 0;

		/* A free place (0), else that of the oldest file: numbers only rise. */
		for (uint32_t i = 0; i < COUNTERS_QUARANTINE; i++) {
			const uint64_t other = atomic_load_explicit(&c->header->quarantine[i],
								    memory_order_relaxed);

			if (other < least) {
				least = other;
				at = i;
			}
		}
		if (atomic_compare_exchange_strong_explicit(&c->header->quarantine[at], &least, seq,
							    memory_order_relaxed,
							    memory_order_relaxed))
			return;
	}
}

uint64_t counters_quarantine_newest(const struct counters *c)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < COUNTERS_QUARANTINE; i++) {
		const uint64_t seq =
			atomic_load_explicit(&c->header->quarantine[i], memory_order_relaxed);

		if (seq > newest)
			newest = seq;
	}
	return newest;
}

uint64_t counters_quarantine_mark(const struct counters *c)
{
	uint64_t seqs[COUNTERS_QUARANTINE];

	for (uint32_t i = 0; i < COUNTERS_QUARANTINE; i++)
		seqs[i] = atomic_load_explicit(&c->header->quarantine[i], memory_order_relaxed);
	return cr_hash64(seqs, sizeof seqs);
}

int counters_inquest(struct counters *c)
{
	int found = 0;

	for (uint32_t i = 0; i < COUNTERS_SLOTS && !c->is_read_only; i++) {
		struct counters_row *row;

		if (!counters_lock_dead(c, i))
			continue;
		if (atomic_load_explicit(&c->slots[i].is_leaving, memory_order_relaxed) == 0 &&
		    counters_map_row(c, i, &row) == 0) {
			for (uint32_t t = 0; t < COUNTERS_THREADS; t++) {
				const uint64_t seq = atomic_load_explicit(&row->running[t],
									  memory_order_relaxed);

				counters_quarantine(c, seq);
				found += seq != 0;
			}
			counters_unmap_row(row);
		}
		counters_unlock(c, i);
	}
	return found;
}
