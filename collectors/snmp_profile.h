/*
 * snmp_profile.h - what is read from an SNMP agent, as data: which objects, which metric each of
 * them is, in which unit, and when its value means "undefined".
 */
#ifndef CR_COLLECTORS_SNMP_PROFILE_H
#define CR_COLLECTORS_SNMP_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/net-snmp-includes.h>

#define SNMP_ROOT_MAX   16 /* numbers in a profile's root */
#define SNMP_FIELDS_MAX 4
#define SNMP_KEYS_MAX   2
#define SNMP_NAME_LEN   64 /* of a row, with the NUL: more than any server's name */

/** One number per server. */
struct snmp_field {
	const char *metric;
	oid column; /* below the root; a scalar's instance is column.0 */
	double unit;
	double max;             /* a greater raw value is nonsense; 0: unbounded */
	bool zero_is_undefined; /* the agent writes 0 where the JVM says "unknown" */
};

/** The column of a table that tells which server a row is about. */
struct snmp_key {
	oid column;
	char after; /* the name follows this letter; 0: the whole text is the name */
};

struct snmp_profile {
	const char *name;
	oid root[SNMP_ROOT_MAX]; /* of the table's entry, or of the group of scalars */
	size_t root_len;
	struct snmp_key key[SNMP_KEYS_MAX]; /* tried in this order */
	size_t n_keys;                      /* 0: scalars, about one server */
	struct snmp_field field[SNMP_FIELDS_MAX];
	size_t n_fields;
	const char *absent; /* what to do about an agent that has none of it */
};

/** Names for the option "profile", NULL-terminated; snmp_profiles[] has the same order. */
extern const char *const snmp_profile_names[];
extern const struct snmp_profile snmp_profiles[];

/** What a variable holds. */
enum snmp_found {
	SNMP_FOUND = 0,
	SNMP_UNDEFINED, /* it is there, but holds no usable number */
	SNMP_MISSING,   /* the agent has no such object */
};

/**
 * The number that var holds for field, in the metric's unit. Takes every type in which agents send
 * sizes: INTEGER, Gauge32, Counter32, TimeTicks, Counter64, 64-bit Opaque, decimal text. *out is
 * set only for SNMP_FOUND. [own]
 */
enum snmp_found snmp_profile_number(const struct snmp_field *field,
				    const netsnmp_variable_list *var, double *out);

/**
 * The server's name that var holds for key: 1 .. 63 printable letters without blanks. Returns false
 * and leaves name alone if there is none. [own]
 */
bool snmp_profile_name(const struct snmp_key *key, const netsnmp_variable_list *var,
		       char name[SNMP_NAME_LEN]);

/** A new request for all scalars of a profile, or NULL (no memory). [own] */
netsnmp_pdu *snmp_profile_request(const struct snmp_profile *profile);

/**
 * Take the answer to snmp_profile_request() apart: found[i] and value[i] for field i. Returns 0, or
 * -EPROTO if it is about other objects than were asked for. [own]
 */
int snmp_profile_answer(const struct snmp_profile *profile, const netsnmp_variable_list *vars,
			enum snmp_found *found, double *value);

#endif
