/* snmp_peers.c - a hash table of endpoints. */
#include "snmp_peers.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct snmp_peer **bucket_of(struct snmp_peers *peers, const char *endpoint)
{
	uint32_t hash = 0x811c9dc5u;

	for (; *endpoint != '\0'; endpoint++)
		hash = (hash ^ (unsigned char)*endpoint) * 0x01000193u;
	return &peers->bucket[hash % SNMP_PEERS_BUCKETS];
}

struct snmp_peer *snmp_peers_join(struct snmp_peers *peers, const char *endpoint)
{
	struct snmp_peer **bucket = bucket_of(peers, endpoint), *peer;

	for (peer = *bucket; peer != NULL; peer = peer->next)
		if (strcmp(peer->endpoint, endpoint) == 0) {
			peer->n_targets++;
			return peer;
		}
	peer = calloc(1, sizeof *peer);
	if (peer == NULL)
		return NULL;
	peer->endpoint = strdup(endpoint);
	if (peer->endpoint == NULL) {
		free(peer);
		return NULL;
	}
	peer->n_targets = 1;
	TAILQ_INIT(&peer->parked);
	peer->next = *bucket;
	*bucket = peer;
	return peer;
}

void snmp_peers_leave(struct snmp_peers *peers, struct snmp_peer *peer)
{
	struct snmp_peer **at = bucket_of(peers, peer->endpoint);

	if (--peer->n_targets > 0)
		return;
	while (*at != peer)
		at = &(*at)->next;
	*at = peer->next;
	free(peer->endpoint);
	free(peer);
}
