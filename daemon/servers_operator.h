/* servers_operator.h - the operator's drains and weights, by server name, in a file that survives
 * restarts. */
#ifndef CR_DAEMON_SERVERS_OPERATOR_H
#define CR_DAEMON_SERVERS_OPERATOR_H

#include <callrouter/plugin.h>

#include "err.h"

#define SERVERS_OPERATOR_FILE "operator.json"

/** What the operator wants of one server; all false: nothing. */
struct servers_wish {
	char name[64];
	bool is_drained, weight_is_set;
	uint32_t weight;
};

struct servers_operator;

/** Read dir/operator.json; a broken one is reported, and kept aside as operator.json.bad. dir NULL:
 * kept nowhere. Returns NULL only without memory. [main] */
struct servers_operator *servers_operator_new(const char *dir);
void servers_operator_free(struct servers_operator *wishes);

/** The wish for a server of this name, one for nothing if there is none. [main] */
struct servers_wish servers_operator_get(const struct servers_operator *wishes, const char *name);

/** Replace the wish for wish->name and write the file. Returns 0, or < 0 with err and the old wish
 * in force. [main] */
int servers_operator_set(struct servers_operator *wishes, const struct servers_wish *wish,
			 struct err *err);

#endif
