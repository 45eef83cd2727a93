/* snmp_queue.c - two queues, and at each endpoint one for those who would be too many there. */
#include "snmp_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** An endpoint, and who is there: most have one target, a domain's agent may have hundreds. */
struct snmp_place {
	char *endpoint;
	size_t n_agents, n_fresh;
	struct snmp_agents held;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct snmp_place *)a)->endpoint,
		      ((const struct snmp_place *)b)->endpoint);
}

static void place_free(struct snmp_place *place)
{
	free(place->endpoint);
	free(place);
}

static struct snmp_place *place_new(const char *endpoint)
{
	struct snmp_place *place = calloc(1, sizeof *place);

	if (place == NULL)
		return NULL;
	TAILQ_INIT(&place->held);
	place->endpoint = strdup(endpoint);
	if (place->endpoint != NULL)
		return place;
	free(place);
	return NULL;
}

void snmp_queue_init(struct snmp_queue *queue)
{
	TAILQ_INIT(&queue->waiting);
	TAILQ_INIT(&queue->suspects);
}

static void free_node(void *place)
{
	place_free(place);
}

void snmp_queue_fini(struct snmp_queue *queue)
{
	tdestroy(queue->places, free_node);
	queue->places = NULL;
}

int snmp_queue_join(struct snmp_queue *queue, struct snmp_agent *agent, const char *endpoint)
{
	struct snmp_place *const fresh = place_new(endpoint);
	struct snmp_place **found;

	if (fresh == NULL)
		return -ENOMEM;
	found = tsearch(fresh, &queue->places, compare);
	if (found == NULL || *found != fresh)
		place_free(fresh);
	if (found == NULL)
		return -ENOMEM;
	agent->place = *found;
	agent->place->n_agents++;
	return 0;
}

void snmp_queue_leave(struct snmp_queue *queue, struct snmp_agent *agent)
{
	struct snmp_place *const place = agent->place;

	snmp_queue_remove(agent);
	snmp_queue_unfresh(queue, agent);
	agent->place = NULL;
	if (place == NULL || --place->n_agents > 0)
		return;
	tdelete(place, &queue->places, compare);
	place_free(place);
}

static void put_into(struct snmp_agents *list, struct snmp_agent *agent, bool is_first)
{
	snmp_queue_remove(agent);
	if (is_first)
		TAILQ_INSERT_HEAD(list, agent, queued);
	else
		TAILQ_INSERT_TAIL(list, agent, queued);
	agent->queue = list;
}

void snmp_queue_push(struct snmp_queue *queue, struct snmp_agent *agent)
{
	put_into(agent->is_suspect ? &queue->suspects : &queue->waiting, agent, false);
}

void snmp_queue_remove(struct snmp_agent *agent)
{
	if (agent->queue != NULL)
		TAILQ_REMOVE(agent->queue, agent, queued);
	agent->queue = NULL;
}

/* The first one whose endpoint is not busy; those before it are held there. */
static struct snmp_agent *first_of(struct snmp_agents *list, size_t max_per_agent)
{
	struct snmp_agent *agent;

	while ((agent = TAILQ_FIRST(list)) != NULL && agent->place->n_fresh >= max_per_agent)
		put_into(&agent->place->held, agent, false);
	return agent;
}

struct snmp_agent *snmp_queue_take(struct snmp_queue *queue, const struct snmp_settings *settings,
				   int64_t now_ns)
{
	struct snmp_agent *agent;

	if (queue->n_fresh >= settings->max_inflight)
		return NULL;
	agent = first_of(&queue->waiting, settings->max_per_agent);
	if (agent == NULL)
		agent = first_of(&queue->suspects, settings->max_per_agent);
	if (agent == NULL)
		return NULL;
	snmp_queue_remove(agent);
	agent->is_fresh = true;
	agent->fresh_until_ns = now_ns + SNMP_FRESH_NS;
	agent->place->n_fresh++;
	queue->n_fresh++;
	return agent;
}

void snmp_queue_unfresh(struct snmp_queue *queue, struct snmp_agent *agent)
{
	struct snmp_agent *next;

	if (!agent->is_fresh)
		return;
	agent->is_fresh = false;
	queue->n_fresh--;
	agent->place->n_fresh--;
	next = TAILQ_FIRST(&agent->place->held);
	if (next != NULL)
		put_into(next->is_suspect ? &queue->suspects : &queue->waiting, next, true);
}
