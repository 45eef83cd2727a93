/* snmp_about.h - whom an agent is asked about: what follows the community, or the context, of one
 * target. */
#ifndef CR_COLLECTORS_SNMP_ABOUT_H
#define CR_COLLECTORS_SNMP_ABOUT_H

#include <callrouter/plugin.h>

#include "snmp_link.h"

/**
 * Fill target's variables into access->about. Returns 0 with *about malloc'd; < 0 with text: it
 * cannot be sent, and *about is NULL. [own]
 */
int snmp_about_fill(const struct snmp_access *access, const struct cr_target *target, char **about,
		    char *text, size_t text_len);

#endif
