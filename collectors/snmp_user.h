/* snmp_user.h - the user of SNMP v3 in whose name an agent is asked: name, protocols, keys. */
#ifndef CR_COLLECTORS_SNMP_USER_H
#define CR_COLLECTORS_SNMP_USER_H

#include <stdbool.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

#include "snmp_report.h"

#define SNMP_USER_LEN     33 /* with the NUL */
#define SNMP_PASSWORD_MIN 8

/** Words for the options "auth_protocol" and "priv_protocol", NULL-terminated; index 0 is "none".
 */
extern const char *const snmp_auth_words[];
extern const char *const snmp_priv_words[];

/** One user. Keys are made of the passwords once (1 MiB is hashed for each) and are not bound to an
 * engine yet; net-snmp does that. */
struct snmp_user {
	char name[SNMP_USER_LEN];
	size_t auth, priv; /* index into the words; 0: none */
	uint8_t auth_key[USM_AUTH_KU_LEN], priv_key[USM_PRIV_KU_LEN];
	size_t auth_key_len, priv_key_len;
};

/** "noAuthNoPriv", "authNoPriv" or "authPriv". [any] */
const char *snmp_user_level(const struct snmp_user *user);

/** Make a key of a password of at least SNMP_PASSWORD_MIN letters; user->auth is set. Returns
 * 0 or -EINVAL. [own] */
int snmp_user_make_key(struct snmp_user *user, bool is_private, const char *password);

/** Enter the user, bound to engine, into a session that is about to be added, for this context. A
 * user of this name that net-snmp knows at this engine already is forgotten: its keys may be old
 * ones. [own] */
void snmp_user_enter(const struct snmp_user *user, const struct snmp_engine *engine,
		     const char *context, netsnmp_session *session);

/** Make sure that net-snmp knows the user of this open session at this engine. [own] */
void snmp_user_renew(const struct snmp_user *user, const struct snmp_engine *engine,
		     netsnmp_session *session);

/** Make net-snmp forget the user at this engine. It looks through all users for each message, so
 * that thousands of engines would cost more than the messages do. [own] */
void snmp_user_remove(const struct snmp_user *user, const struct snmp_engine *engine);

/** The same, and what it knows of the engine's clock. [own] */
void snmp_user_forget(const struct snmp_user *user, const struct snmp_engine *engine);

#endif
