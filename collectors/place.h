/*
 * place.h - where a target is: its host's name, if it has one, and which of the host's addresses is
 * used. A name is looked up by the resolver's thread, once for all targets that have it.
 */
#ifndef CR_COLLECTORS_PLACE_H
#define CR_COLLECTORS_PLACE_H

#include "resolve.h"

/** The names of a source's targets. All sources of a plugin share a resolver, so that a source that
 * takes the place of another one knows what that one knew. */
struct place_names {
	struct resolver *resolver; /* NULL: no target has had a name yet */
	int epoll;                 /* its descriptor is in it */
	uint64_t mark;             /* with this as data */
	bool is_open;
};

/** names: zeroed. When names have been looked up, mark comes out of epoll, once. [own] */
void place_names_init(struct place_names *names, int epoll, uint64_t mark);

/** Zeroed at first. */
struct place {
	struct resolver_name *name;    /* NULL: the host is an address */
	union resolve_address address; /* in use, with its port; AF_UNSPEC: none yet */
	uint16_t port;                 /* 0: nothing has been set yet */
	bool is_stream;
	uint8_t n_known, n_tried; /* addresses of the host; those that this poll has given up */
};

/**
 * The place is this host, an address or a name to be asked for (with or without brackets), with
 * addresses of this family (AF_UNSPEC: any). port: not 0. Returns 0, or a negative errno value for
 * place_explain_unset(). [own]
 */
int place_set(struct place *place, struct place_names *names, const char *host, int family,
	      uint16_t port);

/** Why a place could not be set: a sentence for the operator. [any] */
void place_explain_unset(int code, char *text, size_t text_len);

/**
 * Choose the address to begin a poll with: that of the poll before, while the host still has it.
 * Returns 1; 0: the name has not been looked up yet (ask again when place_is_found()); or < 0 with
 * text: it cannot be. *has_moved: the address is another one than before. [own]
 */
int place_find(struct place *place, const struct place_names *names, int64_t now_ns,
	       bool *has_moved, char *text, size_t text_len);

/** Would place_find() find it, or say why not? Something has changed when names->epoll has the
 * mark. [own] */
bool place_is_found(const struct place *place);

/** It was not found in time: a sentence for the operator. [own] */
void place_explain_late(const struct place *place, char *text, size_t text_len);

/** How many addresses this poll could still try. [own] */
unsigned int place_left(const struct place *place);

/** The address in use does not work: take the host's next one, after the last the first again.
 * Returns false if there is no other. [own] */
bool place_turn(struct place *place, const struct place_names *names, int64_t now_ns);

/** A poll has failed there: perhaps the host has moved. [own] */
void place_doubt(const struct place *place, const struct place_names *names, int64_t now_ns);

/** " (ADDRESS)" if the target has a name, for the operator; else nothing. [own] */
const char *place_show(const struct place *place, char *text, size_t text_len);

/** Give the name up. [own] */
void place_fini(struct place *place, const struct place_names *names);

/** No place is in use any more. Waits for no lookup. No effect without place_names_init(). [own] */
void place_names_fini(struct place_names *names);

#endif
