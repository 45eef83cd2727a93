/* callrouter/words.h - who decided, why, and how a call ended: one list each, for code, JSON and
 * documents. */
#ifndef CALLROUTER_WORDS_H
#define CALLROUTER_WORDS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Who decided about a call. */
enum cr_decided {
	CR_NOBODY = 0, /* there was nobody to choose from */
	CR_ROUTER_DECIDED,
	CR_DEFAULT_DECIDED,
	CR_REFUSED, /* the router refused the call */
	CR_DECIDED_COUNT,
};

/** Why the router's order was not used (or nobody's). The words are in core/words.c. */
enum cr_reason {
	CR_REASON_NONE = 0,
	CR_REASON_NO_ROUTER,       /* the service has no router, only a default */
	CR_REASON_ROUTER_DEFAULT,  /* the router said "the default decides" */
	CR_REASON_ROUTER_REFUSED,  /* the router said "nobody" */
	CR_REASON_STALE,           /* no fresh value of a metric that the router needs */
	CR_REASON_RANK_LATE,       /* rank() was past its deadline */
	CR_REASON_RANK_ERROR,      /* rank() returned an error */
	CR_REASON_RANK_BAD_ORDER,  /* rank() returned an unknown or repeated server */
	CR_REASON_ROUTE_ERROR,     /* route() returned an error */
	CR_REASON_UNKNOWN_SERVER,  /* route() returned a server that may not be contacted */
	CR_REASON_REPEATED_SERVER, /* route() returned a server twice */
	CR_REASON_QUARANTINED,     /* the router crashed here and is not asked again */
	CR_REASON_NO_SERVER,       /* no server of the service may be contacted */
	CR_REASON_NO_SERVICE,      /* no such service is published */
	CR_REASON_NO_SNAPSHOT,     /* nothing has been published yet */
	CR_REASON_NOT_LOADED,      /* the service's router could not be loaded, or not yet */
	CR_REASON_COUNT,
};

/** How a contact with a server, or a call, ended. */
enum cr_outcome {
	CR_OK = 0,
	CR_REFUSED_CONNECTION, /* nobody listens: the server is inactive */
	CR_TIMED_OUT,
	CR_FAILED,    /* connected, but no good answer (reset, 5xx) */
	CR_ABANDONED, /* the caller went away: says nothing about the server */
};

#ifdef __cplusplus
}
#endif
#endif
