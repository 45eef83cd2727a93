/* resolve_internal.h - asking getaddrinfo(), for resolve.c and resolve_address.c. */
#ifndef CR_COLLECTORS_RESOLVE_INTERNAL_H
#define CR_COLLECTORS_RESOLVE_INTERNAL_H

#include "resolve.h"

/** Ask getaddrinfo(), which may take its time; flags: AI_... Returns 0 with one address at least,
 * or EAI_...; errno goes with EAI_SYSTEM. [any] */
int resolve_look_up(const char *host, int family, int flags, struct resolve_list *out);

/** How long this thread's lookups may wait for a name server that does not answer: one second, or
 * as long as the system says. [any] */
void resolve_hurry(bool is_hasty);

/** Where a host begins, without brackets, and how long it is. [any] */
const char *resolve_bare(const char *host, size_t *len);

#endif
