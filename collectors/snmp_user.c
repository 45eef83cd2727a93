/* snmp_user.c - users and keys in net-snmp's terms. */
#include "snmp_user.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

const char *const snmp_auth_words[] = { "none",    "sha",     "sha-224", "sha-256",
					"sha-384", "sha-512", NULL };
const char *const snmp_priv_words[] = { "none", "aes", "aes-192", "aes-256", NULL };

struct protocol {
	const oid *name;
	size_t len;
};

static struct protocol auth_protocol(size_t auth)
{
	const struct protocol protocols[] = {
		{ usmNoAuthProtocol, OID_LENGTH(usmNoAuthProtocol) },
		{ usmHMACSHA1AuthProtocol, OID_LENGTH(usmHMACSHA1AuthProtocol) },
		{ usmHMAC128SHA224AuthProtocol, OID_LENGTH(usmHMAC128SHA224AuthProtocol) },
		{ usmHMAC192SHA256AuthProtocol, OID_LENGTH(usmHMAC192SHA256AuthProtocol) },
		{ usmHMAC256SHA384AuthProtocol, OID_LENGTH(usmHMAC256SHA384AuthProtocol) },
		{ usmHMAC384SHA512AuthProtocol, OID_LENGTH(usmHMAC384SHA512AuthProtocol) },
	};

	assert(auth < sizeof protocols / sizeof *protocols);
	return protocols[auth];
}

static struct protocol priv_protocol(size_t priv)
{
	const struct protocol protocols[] = {
		{ usmNoPrivProtocol, OID_LENGTH(usmNoPrivProtocol) },
		{ usmAESPrivProtocol, OID_LENGTH(usmAESPrivProtocol) },
		{ usmAES192PrivProtocol, OID_LENGTH(usmAES192PrivProtocol) },
		{ usmAES256PrivProtocol, OID_LENGTH(usmAES256PrivProtocol) },
	};

	assert(priv < sizeof protocols / sizeof *protocols);
	return protocols[priv];
}

const char *snmp_user_level(const struct snmp_user *user)
{
	if (user->priv > 0)
		return "authPriv";
	return user->auth > 0 ? "authNoPriv" : "noAuthNoPriv";
}

int snmp_user_make_key(struct snmp_user *user, bool is_private, const char *password)
{
	const struct protocol auth = auth_protocol(user->auth);
	uint8_t *key = is_private ? user->priv_key : user->auth_key;
	size_t *len = is_private ? &user->priv_key_len : &user->auth_key_len;

	*len = is_private ? sizeof user->priv_key : sizeof user->auth_key;
	/* The key of privacy is made with the hash of authentication. */
	return generate_Ku(auth.name, (u_int)auth.len, (const u_char *)password, strlen(password),
			   key, len) == SNMPERR_SUCCESS
		       ? 0
		       : -EINVAL;
}

void snmp_user_remove(const struct snmp_user *user, const struct snmp_engine *engine)
{
	struct usmUser *known = usm_get_user(engine->id, engine->len, user->name);

	if (known == NULL)
		return;
	usm_remove_user(known); /* its result is the list, not the user */
	known->next = known->prev = NULL;
	usm_free_user(known);
}

void snmp_user_renew(const struct snmp_user *user, const struct snmp_engine *engine,
		     netsnmp_session *session)
{
	if (usm_get_user(engine->id, engine->len, user->name) != NULL)
		return;
	session->flags &= ~(u_long)SNMP_FLAGS_USER_CREATED;
	(void)usm_create_user_from_session(session); /* on failure sending fails */
}

void snmp_user_forget(const struct snmp_user *user, const struct snmp_engine *engine)
{
	snmp_user_remove(user, engine);
	free_enginetime((u_char *)(uintptr_t)engine->id, engine->len);
}

void snmp_user_enter(const struct snmp_user *user, const struct snmp_engine *engine,
		     const char *context, netsnmp_session *session)
{
	const struct protocol auth = auth_protocol(user->auth), priv = priv_protocol(user->priv);

	snmp_user_remove(user, engine);
	session->version = SNMP_VERSION_3;
	session->securityModel = SNMP_SEC_MODEL_USM;
	session->securityLevel = SNMP_SEC_LEVEL_NOAUTH;
	if (user->auth > 0)
		session->securityLevel = SNMP_SEC_LEVEL_AUTHNOPRIV;
	if (user->priv > 0)
		session->securityLevel = SNMP_SEC_LEVEL_AUTHPRIV;
	/* net-snmp copies all of it, but its structure does not say const. */
	session->securityName = (char *)(uintptr_t)user->name;
	session->securityNameLen = strlen(user->name);
	session->contextName = (char *)(uintptr_t)context;
	session->contextNameLen = strlen(context);
	session->securityEngineID = (u_char *)(uintptr_t)engine->id;
	session->securityEngineIDLen = engine->len;
	session->securityAuthProto = (oid *)(uintptr_t)auth.name;
	session->securityAuthProtoLen = auth.len;
	session->securityPrivProto = (oid *)(uintptr_t)priv.name;
	session->securityPrivProtoLen = priv.len;
	memcpy(session->securityAuthKey, user->auth_key, sizeof user->auth_key);
	session->securityAuthKeyLen = user->auth_key_len;
	memcpy(session->securityPrivKey, user->priv_key, sizeof user->priv_key);
	session->securityPrivKeyLen = user->priv_key_len;
	/* Else net-snmp asks for the engine, and waits. */
	session->flags |= SNMP_FLAGS_DONT_PROBE;
}
