/*
 * snmp_peers.h - which targets are the same agent: several may ask one agent, each about something
 * else, and it is not to be asked by all of them at once.
 */
#ifndef CR_COLLECTORS_SNMP_PEERS_H
#define CR_COLLECTORS_SNMP_PEERS_H

#include "snmp_agent.h"

#define SNMP_PEERS_BUCKETS 256

/** What targets with the same endpoint have in common. */
struct snmp_peer {
	struct snmp_peer *next; /* in the bucket */
	char *endpoint;
	size_t n_targets, n_polling; /* how many have it, how many of them are being polled */
	struct snmp_agents parked;   /* those that wait for it */
	struct snmp_known known;     /* what their links know */
};

/** Zeroed at first. */
struct snmp_peers {
	struct snmp_peer *bucket[SNMP_PEERS_BUCKETS];
};

/** The peer of this endpoint, made if it is new; to be left again. NULL: no memory. [own] */
struct snmp_peer *snmp_peers_join(struct snmp_peers *peers, const char *endpoint);

/** The last one to leave frees it. [own] */
void snmp_peers_leave(struct snmp_peers *peers, struct snmp_peer *peer);

#endif
