/*
 * maglev.h - a table that divides keys among servers by weight (Eisenbud et al., "Maglev: A Fast
 * and Reliable Software Network Load Balancer", 2016).
 *
 * Each server claims entries in an order of its own, made from its name, one entry for each unit of
 * its weight relative to the largest. So the shares are exact to an entry, and a server that comes
 * or goes moves its own keys and few others. Entries are taken in the order of names: all hosts
 * make the same table, in whatever order they know the servers.
 */
#ifndef CR_ROUTERS_MAGLEV_H
#define CR_ROUTERS_MAGLEV_H

#include <stdlib.h>

#include <callrouter/order.h>

#define MAGLEV_SIZE 65537u /* a prime: every step then visits all entries */
#define MAGLEV_EACH 100u   /* entries a server at least, on average */

/** A table and what it was made from. One block of memory. */
struct maglev {
	size_t n;               /* rows of the view */
	uint32_t size;          /* entries */
	const uint32_t *weight; /* [n] */
	const char *names;      /* [n], each behind the NUL of the one before */
	const uint16_t *entry;  /* [size]: the row that owns it */
};

/** A server while the table is filled. */
struct maglev_owner {
	const char *name;
	uint16_t row;
	uint32_t weight, credit;
	uint32_t at, step; /* the entry that it wants next */
};

static inline bool maglev_is_prime(uint32_t x)
{
	for (uint32_t i = 3; i * i <= x; i += 2)
		if (x % i == 0)
			return false;
	return x % 2 != 0;
}

/* In few steps, each about twice the one before: another size moves nearly all keys. */
static inline uint32_t maglev_size(size_t servers)
{
	uint32_t size = MAGLEV_SIZE;

	while (size < MAGLEV_EACH * servers)
		for (size = 2 * size + 1; !maglev_is_prime(size); size += 2)
			continue;
	return size;
}

static inline int maglev_by_name(const void *a, const void *b)
{
	return strcmp(((const struct maglev_owner *)a)->name,
		      ((const struct maglev_owner *)b)->name);
}

/* The rows that weigh something, by name. Returns how many. */
static inline size_t maglev_owners(const struct cr_view *view, struct maglev_owner *owner)
{
	size_t n = 0;
	uint32_t size;

	for (size_t i = 0; i < view->n; i++)
		if (view->weight[i] > 0)
			owner[n++] = (struct maglev_owner){ .name = view->name[i],
							    .row = (uint16_t)i,
							    .weight = view->weight[i] };
	qsort(owner, n, sizeof *owner, maglev_by_name);
	size = maglev_size(n);
	for (size_t i = 0; i < n; i++) {
		const uint64_t hash = cr_hash64(owner[i].name, strlen(owner[i].name));

		owner[i].at = (uint32_t)(hash % size);
		owner[i].step = (uint32_t)(cr_mix64(~hash) % (size - 1)) + 1;
	}
	return n;
}

static inline uint32_t maglev_after(uint32_t at, uint32_t step, uint32_t size)
{
	return at >= size - step ? at - (size - step) : at + step;
}

/* Turn by turn, each owner takes the next free entry of its order when its credit has grown to the
 * largest weight. */
static inline void maglev_fill(uint16_t *entry, uint32_t size, struct maglev_owner *owner, size_t n)
{
	uint32_t left = size, most = 0;

	for (uint32_t i = 0; i < size; i++)
		entry[i] = CR_NONE;
	for (size_t i = 0; i < n; i++)
		most = owner[i].weight > most ? owner[i].weight : most;
	for (size_t i = 0; left > 0; i = i + 1 < n ? i + 1 : 0) {
		struct maglev_owner *o = &owner[i];

		o->credit += o->weight;
		if (o->credit < most)
			continue;
		o->credit -= most;
		while (entry[o->at] != CR_NONE)
			o->at = maglev_after(o->at, o->step, size);
		entry[o->at] = o->row;
		left--;
	}
}

/* An empty table for this view, with a copy of what it is made from; NULL: no memory. */
static inline struct maglev *maglev_alloc(const struct cr_view *view, uint32_t size,
					  uint16_t **entry)
{
	size_t text = 0;
	struct maglev *table;
	uint32_t *weight;
	char *name;

	for (size_t i = 0; i < view->n; i++)
		text += strlen(view->name[i]) + 1;
	table = malloc(sizeof *table + view->n * sizeof *weight + size * sizeof **entry + text);
	if (table == NULL)
		return NULL;
	weight = (uint32_t *)(table + 1);
	*entry = (uint16_t *)(weight + view->n);
	name = (char *)(*entry + size);
	*table = (struct maglev){ view->n, size, weight, name, *entry };
	for (size_t i = 0; i < view->n; i++) {
		const size_t len = strlen(view->name[i]) + 1;

		weight[i] = view->weight[i];
		memcpy(name, view->name[i], len);
		name += len;
	}
	return table;
}

/** The table of all servers of the view that weigh something, whether they may be contacted or
 * not. *out: one block for free(), NULL if there is none. Returns 0 or -1: no memory. [view] */
static inline int maglev_new(const struct cr_view *view, struct maglev **out)
{
	struct maglev_owner *owner = malloc(view->n * sizeof *owner);
	uint16_t *entry;
	size_t n;

	*out = NULL;
	if (owner == NULL)
		return -1;
	n = maglev_owners(view, owner);
	if (n > 0) {
		*out = maglev_alloc(view, maglev_size(n), &entry);
		if (*out != NULL)
			maglev_fill(entry, (*out)->size, owner, n);
	}
	free(owner);
	return n == 0 || *out != NULL ? 0 : -1;
}

/** Is the table one of these servers, in these rows, with these weights? [view] */
static inline bool maglev_is_of(const struct maglev *table, const struct cr_view *view)
{
	const char *name = table->names;

	if (table->n != view->n ||
	    memcmp(table->weight, view->weight, view->n * sizeof *view->weight) != 0)
		return false;
	for (size_t i = 0; i < view->n; i++, name += strlen(name) + 1)
		if (strcmp(name, view->name[i]) != 0)
			return false;
	return true;
}

#endif
