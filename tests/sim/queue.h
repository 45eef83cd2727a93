/* queue.h - what comes next: a binary heap of numbered things by key, equal keys by number. */
#ifndef CR_SIM_QUEUE_H
#define CR_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_NOWHERE UINT32_MAX

struct queue_entry {
	double key;
	uint32_t id;
};

struct queue {
	struct queue_entry *entry; /* [n], the first is the next */
	uint32_t *place;           /* [id]: where it stands, or QUEUE_NOWHERE; the owner's */
	uint32_t n, room;
};

/** place: outlives the queue, all QUEUE_NOWHERE; queues may share it if an id is in one at a time.
 */
void queue_init(struct queue *queue, uint32_t *place);
void queue_fini(struct queue *queue);

/** Put id in, or move it, to key. Ends the process without memory. */
void queue_put(struct queue *queue, uint32_t id, double key);

/** Take id out; it must be in. */
void queue_remove(struct queue *queue, uint32_t id);

/** The entry with the least key, NULL: there is none. */
static inline const struct queue_entry *queue_first(const struct queue *queue)
{
	return queue->n > 0 ? queue->entry : NULL;
}

#endif
