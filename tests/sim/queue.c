/* queue.c - an indexed binary heap. */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>

void queue_init(struct queue *queue, uint32_t *place)
{
	*queue = (struct queue){ 0 };
	queue->place = place;
}

void queue_fini(struct queue *queue)
{
	free(queue->entry);
	*queue = (struct queue){ 0 };
}

static bool is_before(const struct queue_entry *a, const struct queue_entry *b)
{
	return a->key < b->key || (a->key <= b->key && a->id < b->id);
}

static void queue_set(struct queue *queue, uint32_t at, struct queue_entry entry)
{
	queue->entry[at] = entry;
	queue->place[entry.id] = at;
}

static void queue_rise(struct queue *queue, uint32_t at)
{
	const struct queue_entry moving = queue->entry[at];

	while (at > 0 && is_before(&moving, &queue->entry[(at - 1) / 2])) {
		queue_set(queue, at, queue->entry[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	queue_set(queue, at, moving);
}

static void queue_sink(struct queue *queue, uint32_t at)
{
	const struct queue_entry moving = queue->entry[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < queue->n &&
		    is_before(&queue->entry[child + 1], &queue->entry[child]))
			child++;
		if (child >= queue->n || !is_before(&queue->entry[child], &moving))
			break;
		queue_set(queue, at, queue->entry[child]);
		at = child;
	}
	queue_set(queue, at, moving);
}

static void queue_grow(struct queue *queue)
{
	queue->room = queue->room > 0 ? 2 * queue->room : 64;
	queue->entry = realloc(queue->entry, queue->room * sizeof *queue->entry);
	if (queue->entry == NULL) {
		(void)fprintf(stderr, "routesim: no memory\n");
		abort();
	}
}

void queue_put(struct queue *queue, uint32_t id, double key)
{
	uint32_t at = queue->place[id];
	bool rises = true;

	if (at == QUEUE_NOWHERE) {
		if (queue->n == queue->room)
			queue_grow(queue);
		at = queue->n++;
	} else {
		rises = key < queue->entry[at].key;
	}
	queue->entry[at] = (struct queue_entry){ key, id };
	if (rises)
		queue_rise(queue, at);
	else
		queue_sink(queue, at);
}

void queue_remove(struct queue *queue, uint32_t id)
{
	const uint32_t at = queue->place[id];
	const struct queue_entry last = queue->entry[--queue->n];

	queue->place[id] = QUEUE_NOWHERE;
	if (at == queue->n)
		return;
	queue->entry[at] = last;
	queue_rise(queue, at);
	queue_sink(queue, queue->place[last.id]);
}
