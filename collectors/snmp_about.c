/* snmp_about.c - fills in what follows the community, or the context, and judges what comes of it.
 */
#include "snmp_about.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

static int judge(const struct snmp_access *access, const char *about, char *text, size_t text_len)
{
	const bool has_user = access->version == SNMP_VERSION_3;
	char why[128];

	if (access->about[0] == '\0') /* it speaks of itself */
		return 0;
	if (source_about_check(about, has_user ? NULL : access->community, why, sizeof why) == 0)
		return 0;
	(void)snprintf(text, text_len, "%s cannot be sent for this server: %s",
		       has_user ? "context" : "community_suffix", why);
	return -EINVAL;
}

int snmp_about_fill(const struct snmp_access *access, const struct cr_target *target, char **about,
		    char *text, size_t text_len)
{
	int code = source_fill(access->about, target, SOURCE_ESCAPE_NONE, about);

	if (code == 0)
		code = judge(access, *about, text, text_len);
	else if (code == -ENOENT)
		(void)snprintf(text, text_len,
			       "\"%.60s\" names a variable that this server does not have",
			       access->about);
	else
		(void)snprintf(text, text_len, "out of memory");
	if (code < 0) {
		free(*about);
		*about = NULL;
	}
	return code;
}
