/* memory.h - what a router remembers of each server from one rank() to the next, by server name. */
#ifndef CR_ROUTERS_MEMORY_H
#define CR_ROUTERS_MEMORY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#define MEMORY_FORGET_NS INT64_C(600000000000) /* a server not seen for so long is forgotten */

/** What every record begins with; key 0: an empty slot. */
struct memory_head {
	uint64_t key;
	int64_t seen_ns;
};

/** Records of equal size without pointers, in an open table; all zero to begin with. */
struct memory {
	size_t record_bytes; /* a multiple of 8 */
	size_t n_slots;      /* a power of two, or 0 */
	size_t n_used;
	char *slots;
};

static inline struct memory_head *memory_slot(const struct memory *memory, size_t i)
{
	return (struct memory_head *)(void *)(memory->slots + i * memory->record_bytes);
}

/* The slot that has this key or would take it. There is always an empty one. */
static inline struct memory_head *memory_probe(const struct memory *memory, uint64_t key)
{
	size_t i = (size_t)cr_mix64(key) & (memory->n_slots - 1);

	while (memory_slot(memory, i)->key != 0 && memory_slot(memory, i)->key != key)
		i = (i + 1) & (memory->n_slots - 1);
	return memory_slot(memory, i);
}

/**
 * Make room for n servers, forgetting those not seen for long: until the next call the records stay
 * where they are. Returns 0 or -ENOMEM. [rank]
 */
static inline int memory_reserve(struct memory *memory, size_t n, int64_t now_ns)
{
	struct memory old = *memory;
	size_t slots = 16;

	if (2 * (old.n_used + n) <= old.n_slots)
		return 0;
	while (slots < 4 * (old.n_used + n))
		slots *= 2;
	memory->slots = calloc(slots, old.record_bytes);
	if (memory->slots == NULL) {
		*memory = old;
		return -ENOMEM;
	}
	memory->n_slots = slots;
	memory->n_used = 0;
	for (size_t i = 0; i < old.n_slots; i++) {
		const struct memory_head *head = memory_slot(&old, i);

		if (head->key == 0 || now_ns - head->seen_ns > MEMORY_FORGET_NS)
			continue;
		memcpy(memory_probe(memory, head->key), head, old.record_bytes);
		memory->n_used++;
	}
	free(old.slots);
	return 0;
}

/**
 * The record of the server with this name, blank if it is new. By name, not by id: what a trial on
 * made-up servers leaves behind must not take the place of real ones. [rank]
 */
static inline void *memory_get(struct memory *memory, const char *name, int64_t now_ns)
{
	const uint64_t key = cr_hash64(name, strlen(name)) | 1;
	struct memory_head *head = memory_probe(memory, key);

	memory->n_used += head->key == 0;
	head->key = key;
	head->seen_ns = now_ns;
	return head;
}

/** Write as many records as fit into cap bytes, the freshest if not all do. Returns the bytes.
 * [rank] */
static inline size_t memory_save(const struct memory *memory, char *buf, size_t cap)
{
	const size_t bytes = memory->record_bytes;
	int64_t newest_ns = 0;
	size_t len = 0;

	for (size_t i = 0; i < memory->n_slots; i++)
		if (memory_slot(memory, i)->key != 0 && memory_slot(memory, i)->seen_ns > newest_ns)
			newest_ns = memory_slot(memory, i)->seen_ns;
	for (int is_old = 0; is_old < 2; is_old++)
		for (size_t i = 0; i < memory->n_slots && len + bytes <= cap; i++) {
			const struct memory_head *head = memory_slot(memory, i);

			if (head->key == 0 || (head->seen_ns < newest_ns) != (is_old == 1))
				continue;
			memcpy(buf + len, head, bytes);
			len += bytes;
		}
	return len;
}

/** Take over what memory_save() wrote. Returns 0, -EINVAL or -ENOMEM. [rank] */
static inline int memory_load(struct memory *memory, const char *buf, size_t len)
{
	const size_t n = len / memory->record_bytes;

	if (len % memory->record_bytes != 0)
		return -EINVAL;
	if (memory_reserve(memory, n, 0) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct memory_head head;
		struct memory_head *slot;

		memcpy(&head, buf + i * memory->record_bytes, sizeof head);
		if (head.key == 0)
			return -EINVAL;
		slot = memory_probe(memory, head.key);
		memory->n_used += slot->key == 0;
		memcpy(slot, buf + i * memory->record_bytes, memory->record_bytes);
	}
	return 0;
}

/** What the log was told last, and what it may have to be told soon. */
struct news {
	uint32_t told, coming;
	int64_t since_ns;
};

/** Is this to be logged now? Once, and only if it lasts: a trial is over at once. [rank] */
static inline bool news_is_due(struct news *news, uint32_t now, int64_t now_ns, int64_t lasts_ns)
{
	if (now == news->told) {
		news->coming = now;
		return false;
	}
	if (now != news->coming)
		news->since_ns = now_ns;
	news->coming = now;
	if (now_ns - news->since_ns < lasts_ns)
		return false;
	news->told = now;
	return true;
}

#endif
