/* snmp_profile.c - the profiles, and how the numbers and names in an agent's answer are read. */
#include "snmp_profile.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

const char *const snmp_profile_names[] = { "weblogic-mib", "jvm-mib", NULL };

const struct snmp_profile snmp_profiles[] = {
	/* BEA-WEBLOGIC-MIB, jvmRuntimeTable: one row per running server. */
	{
		.name = "weblogic-mib",
		.root = { 1, 3, 6, 1, 4, 1, 140, 625, 340, 1 },
		.root_len = 10,
		/* Parent is "ServerRuntime:ms1"; Name is the server's name in older versions. */
		.key = { { .column = 20, .after = ':' }, { .column = 15 } },
		.n_keys = 2,
		.field = {
			{ .metric = "jvm_heap_free_bytes", .column = 25, .unit = 1 },
			{ .metric = "jvm_heap_size_bytes", .column = 30, .unit = 1,
			  .zero_is_undefined = true },
			/* Of the maximum, not of the size. Old versions do not have it. */
			{ .metric = "jvm_heap_free_ratio", .column = 52, .unit = 0.01, .max = 100 },
		},
		.n_fields = 3,
		.absent = "no jvmRuntimeTable (.1.3.6.1.4.1.140.625.340): enable the SNMP agent in "
			  "WebLogic, or use the community PREFIX@DOMAIN for all servers",
	},
	/* JVM-MANAGEMENT-MIB, jvmMemory: "undefined" is written as 0 there, and no heap uses 0. */
	{
		.name = "jvm-mib",
		.root = { 1, 3, 6, 1, 4, 1, 42, 2, 145, 3, 163, 1, 1, 2 },
		.root_len = 14,
		.field = {
			{ .metric = "jvm_heap_used_bytes", .column = 11, .unit = 1,
			  .zero_is_undefined = true },
			{ .metric = "jvm_heap_size_bytes", .column = 12, .unit = 1,
			  .zero_is_undefined = true },
			{ .metric = "jvm_heap_max_bytes", .column = 13, .unit = 1,
			  .zero_is_undefined = true },
		},
		.n_fields = 3,
		.absent = "no JVM memory group (.1.3.6.1.4.1.42.2.145.3.163.1.1.2): start the JVM "
			  "with -Dcom.sun.management.snmp.port (JDK 8) or an SNMP subagent",
	},
};

/* A whole number in decimal, blanks around it allowed. */
static bool read_text(const unsigned char *text, size_t len, double *out)
{
	double number = 0;
	size_t digits = 0;

	while (len > 0 && text[len - 1] == ' ')
		len--;
	for (; len > 0 && *text == ' '; len--)
		text++;
	for (; len > 0 && *text >= '0' && *text <= '9'; len--, digits++)
		number = number * 10 + (*text++ - '0');
	if (len > 0 || digits == 0 || digits > 20)
		return false;
	*out = number;
	return true;
}

static double read_counter64(const struct counter64 *counter)
{
	/* The halves are unsigned long: mask what a 64-bit machine leaves above. */
	return (double)((uint64_t)(counter->high & 0xffffffffu) << 32 |
			(counter->low & 0xffffffffu));
}

/* The raw number; false: it holds none. */
static bool read_number(const netsnmp_variable_list *var, double *out)
{
	switch (var->type) {
	case ASN_INTEGER:
		*out = (double)*var->val.integer;
		return true;
	case ASN_GAUGE: /* is Unsigned32 too */
	case ASN_COUNTER:
	case ASN_TIMETICKS:
	case ASN_UINTEGER:
		*out = (double)(*var->val.integer & 0xffffffff);
		return true;
	case ASN_COUNTER64:
	case ASN_OPAQUE_COUNTER64:
	case ASN_OPAQUE_U64:
		*out = read_counter64(var->val.counter64);
		return true;
	case ASN_OPAQUE_I64:
		*out = read_counter64(var->val.counter64);
		return (var->val.counter64->high & 0x80000000u) == 0;
	case ASN_OCTET_STR:
		return read_text(var->val.string, var->val_len, out);
	default: /* somebody else's data: any type may come */
		return false;
	}
}

enum snmp_found snmp_profile_number(const struct snmp_field *field,
				    const netsnmp_variable_list *var, double *out)
{
	double raw;

	if (var->type == SNMP_NOSUCHOBJECT || var->type == SNMP_NOSUCHINSTANCE ||
	    var->type == SNMP_ENDOFMIBVIEW)
		return SNMP_MISSING;
	if (var->val_len == 0 || !read_number(var, &raw))
		return SNMP_UNDEFINED;
	/* Below 0: the JVM's -1, or a 32-bit agent's overflow. Neither is a size. */
	if (raw < 0 || (raw == 0 && field->zero_is_undefined) ||
	    (field->max > 0 && raw > field->max))
		return SNMP_UNDEFINED;
	*out = raw * field->unit;
	return SNMP_FOUND;
}

bool snmp_profile_name(const struct snmp_key *key, const netsnmp_variable_list *var,
		       char name[SNMP_NAME_LEN])
{
	const unsigned char *text = var->val.string, *cut;
	size_t len = var->val_len;

	if (var->type != ASN_OCTET_STR || len == 0)
		return false;
	if (key->after != 0) {
		cut = memchr(text, key->after, len);
		if (cut == NULL)
			return false;
		len -= (size_t)(cut + 1 - text);
		text = cut + 1;
	}
	if (len == 0 || len >= SNMP_NAME_LEN)
		return false;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 127)
			return false;
	memcpy(name, text, len);
	name[len] = '\0';
	return true;
}

netsnmp_pdu *snmp_profile_request(const struct snmp_profile *profile)
{
	netsnmp_pdu *pdu = snmp_pdu_create(SNMP_MSG_GET);
	oid name[SNMP_ROOT_MAX + 2];
	const size_t len = profile->root_len;

	if (pdu == NULL)
		return NULL;
	memcpy(name, profile->root, len * sizeof *name);
	name[len + 1] = 0;
	for (size_t i = 0; i < profile->n_fields; i++) {
		name[len] = profile->field[i].column;
		if (snmp_add_null_var(pdu, name, len + 2) == NULL) {
			snmp_free_pdu(pdu);
			return NULL;
		}
	}
	return pdu;
}

int snmp_profile_answer(const struct snmp_profile *profile, const netsnmp_variable_list *vars,
			enum snmp_found *found, double *value)
{
	const size_t len = profile->root_len;
	size_t i = 0;

	for (; vars != NULL && i < profile->n_fields; vars = vars->next_variable, i++) {
		if (vars->name_length != len + 2 || vars->name[len + 1] != 0 ||
		    vars->name[len] != profile->field[i].column ||
		    snmp_oid_compare(vars->name, len, profile->root, len) != 0)
			return -EPROTO;
		found[i] = snmp_profile_number(&profile->field[i], vars, &value[i]);
	}
	return vars == NULL && i == profile->n_fields ? 0 : -EPROTO;
}
