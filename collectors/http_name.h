/*
 * http_name.h - where a target's host is, for libcurl: it is given addresses only, since it would
 * start a thread for each name that it has to look up.
 */
#ifndef CR_COLLECTORS_HTTP_NAME_H
#define CR_COLLECTORS_HTTP_NAME_H

#include <curl/curl.h>

#include "http_url.h"
#include "place.h"

/** A target's; zeroed at first. */
struct http_name {
	struct place place;
	bool is_plain; /* the URL's host is an address, and libcurl connects to it by itself */
	struct curl_slist *connect_to; /* in its place; NULL: none yet, or none is needed */
	union resolve_address listed;  /* the address in there */
	bool is_proven;                /* a request could be sent to the address in use */
	unsigned int n_silent;         /* polls in a row that ran into their deadline */
	int code; /* why the newest socket could not be opened: a negative errno value, or 0 */
};

/** Take endpoint apart, if that has not been done. server_name: "" or the name that https asks for.
 * Returns 0, or -EPROTO with failure. [own] */
int http_name_read(struct http_name *name, struct place_names *names, const char *endpoint,
		   const char *server_name, struct http_failure *failure);

/** Choose the address to begin a poll with. Returns 1; 0: the name is being looked up, ask again
 * when place_is_found(); or < 0 with failure. [own] */
int http_name_find(struct http_name *name, const struct place_names *names, int64_t now_ns,
		   struct http_failure *failure);

/** Have a transfer connect there, in its share of left_ns. The name stays where it is until the
 * transfer is over. [own] */
CURLcode http_name_set(struct http_name *name, CURL *easy, int64_t left_ns);

/** The poll's first request ended with this code: is it to be sent again, to another address? If
 * there is no memory for that the failure stands. [own] */
bool http_name_turn(struct http_name *name, const struct place_names *names, CURL *easy,
		    CURLcode code, int64_t now_ns);

/** A request could be sent: what the transfer says of it. [own] */
bool http_name_is_reached(CURL *easy);

/** The poll is over: it was good (why 0), or not. [own] */
void http_name_learn(struct http_name *name, const struct place_names *names, unsigned int why,
		     int64_t now_ns);

/** Give it up. [own] */
void http_name_fini(struct http_name *name, const struct place_names *names);

#endif
