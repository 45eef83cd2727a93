/*
 * snmp_report.h - the outside of SNMP messages, read and written by hand: in v3 the question for an
 * agent's engine, and the reports in which agents say what they do not like. net-snmp would block
 * for the first, and drops those of the second that come from an engine it does not know. And to
 * whom and to what an answer belongs, which it does not look at.
 */
#ifndef CR_COLLECTORS_SNMP_REPORT_H
#define CR_COLLECTORS_SNMP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNMP_ENGINE_MAX   32
#define SNMP_DISCOVER_LEN 64 /* bytes of the question, at most */

/** Who an agent is. */
struct snmp_engine {
	uint8_t id[SNMP_ENGINE_MAX];
	size_t len; /* 0: not known */
};

/** What a report is about: the last but one number of its object, below usmStats. */
enum snmp_complaint {
	SNMP_UNSUPPORTED_LEVEL = 1,
	SNMP_NOT_IN_TIME,
	SNMP_UNKNOWN_USER,
	SNMP_UNKNOWN_ENGINE,
	SNMP_WRONG_DIGEST,
	SNMP_CANNOT_DECRYPT,
};

struct snmp_report {
	uint32_t message; /* the id of the message that it is about */
	struct snmp_engine engine;
	enum snmp_complaint complaint;
};

/** Write the question "who are you?" with this message id (31 bits). Returns its length. [any] */
size_t snmp_report_ask(uint8_t out[SNMP_DISCOVER_LEN], uint32_t message);

/** Take a message apart. Returns 0, or -EBADMSG: no report that can be read without a key. [any] */
int snmp_report_read(const uint8_t *in, size_t len, struct snmp_report *report);

/** The id by which an answer or a report belongs to a message: that of the message in version 3, of
 * the request in others. Returns false: it is none. [any] */
bool snmp_report_id(const uint8_t *in, size_t len, uint32_t *id);

/** Is it a message of this version (as on the wire: 0, 1) and community? net-snmp does not look.
 * [any] */
bool snmp_report_is_from(const uint8_t *in, size_t len, uint32_t version, const char *community,
			 size_t community_len);

#endif
