/*
 * snmp_place.h - where an agent is: its target taken apart, and which of its host's addresses is
 * used. A name is looked up by the resolver's thread, once for all targets that have it.
 */
#ifndef CR_COLLECTORS_SNMP_PLACE_H
#define CR_COLLECTORS_SNMP_PLACE_H

#include "resolve.h"

/** The names of a source's targets. */
struct snmp_names {
	struct resolver *resolver; /* NULL: no target has had a name yet */
	int epoll;                 /* its descriptor is in it, with data NULL */
};

/** Zeroed at first. */
struct snmp_place {
	struct resolver_name *name;    /* NULL: the host is an address */
	union resolve_address address; /* in use, with its port; AF_UNSPEC: none yet */
	uint16_t port;                 /* 0: nothing has been read yet */
	bool is_stream;
	uint8_t n_known, n_tried; /* addresses of the host; those that this poll has given up */
};

/**
 * Take "udp:HOST:PORT" apart, if that has not been done. Returns 0, or with text: -EINVAL (it is no
 * such thing), or another negative errno value (no memory, no descriptor). [own]
 */
int snmp_place_read(struct snmp_place *place, struct snmp_names *names, const char *endpoint,
		    char *text, size_t text_len);

/**
 * Choose the address to begin a poll with: that of the poll before, while the host still has it.
 * Returns 1; 0: the name has not been looked up yet (ask again when the epoll's descriptor has been
 * readable); or < 0 with text: it cannot be. *has_moved: the address is another one than before.
 * [own]
 */
int snmp_place_find(struct snmp_place *place, const struct snmp_names *names, int64_t now_ns,
		    bool *has_moved, char *text, size_t text_len);

/** How many addresses this poll could still try. [own] */
unsigned int snmp_place_left(const struct snmp_place *place);

/** The address in use does not work: take the host's next one, after the last the first again.
 * Returns false if there is no other. [own] */
bool snmp_place_turn(struct snmp_place *place, const struct snmp_names *names, int64_t now_ns);

/** A poll has failed there: perhaps the host has moved. [own] */
void snmp_place_doubt(const struct snmp_place *place, const struct snmp_names *names,
		      int64_t now_ns);

/** " (ADDRESS)" if the target has a name, for the operator; else nothing. [own] */
const char *snmp_place_show(const struct snmp_place *place, char *text, size_t text_len);

/** Give the name up. [own] */
void snmp_place_fini(struct snmp_place *place, const struct snmp_names *names);

/** No place is in use any more. Waits for no lookup. [own] */
void snmp_names_fini(struct snmp_names *names);

#endif
