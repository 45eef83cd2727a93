/*
 * fake_snmp.h - an SNMP agent in a thread of the test: answers GET, GETNEXT and GETBULK over a
 * table of objects on a free UDP port of 127.0.0.1, well or in one of many wrong ways. Its
 * communities are "public" and "public@" with anything; to others it is silent. In version 1 it has
 * no Counter64. Of version 3 it knows what needs no key: the user "poller" without a password,
 * discovery, and complaints.
 */
#ifndef CR_TESTS_FAKE_SNMP_H
#define CR_TESTS_FAKE_SNMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** How it answers. */
enum fake_mode {
	FAKE_NORMAL = 0,
	FAKE_SILENT,     /* takes requests, never answers */
	FAKE_WRONG_ID,   /* the request id is another one */
	FAKE_DUPLICATE,  /* each answer comes twice */
	FAKE_TRUNCATED,  /* half of the answer */
	FAKE_GARBAGE,    /* bytes that are no BER */
	FAKE_SAME_OID,   /* GETNEXT and GETBULK give the asked objects themselves */
	FAKE_ENDLESS,    /* every column goes on for ever */
	FAKE_TOO_BIG,    /* error tooBig if more than `limit` objects would be in the answer */
	FAKE_SHORT,      /* stops after `limit` objects, in the middle of a row if need be */
	FAKE_OTHER_PORT, /* answers from another socket */
	FAKE_WRONG_FROM_OTHER_PORT, /* the same, with another request id */
	FAKE_GENERR,                /* error genErr */
	FAKE_OTHER_OBJECTS,         /* answers about sysUpTime */
	FAKE_DROP_FIRST,            /* every odd request is lost */
	FAKE_COMMUNITY,             /* answers with another community */
	FAKE_BARE_COMMUNITY,        /* answers "public@ms1" with "public" */
	FAKE_BAD_INDEX,             /* error noSuchName about object 99 */
	FAKE_ONE_OBJECT,            /* one object per answer, of however many were asked for */
	FAKE_NO_OBJECTS,            /* answers without any */
	FAKE_BACKWARDS,             /* GETNEXT and GETBULK give the object before */
	FAKE_MUTE_USER,             /* version 3: answers discovery, and nothing else */
	FAKE_OTHER_CONTEXT,         /* version 3: answers are of the context "other" */
	FAKE_NO_CONTEXT,            /* version 3: complains that it has no such context */
	FAKE_MUTATED,               /* some bytes of each answer are others, each time */
	FAKE_FLOOD,                 /* each answer comes 500 times, with wrong request ids */
};

enum fake_type {
	FAKE_INTEGER = 0x02,
	FAKE_STRING = 0x04,
	FAKE_NULL = 0x05,
	FAKE_COUNTER = 0x41,
	FAKE_GAUGE = 0x42,
	FAKE_COUNTER64 = 0x46,
	FAKE_NO_OBJECT = 0x80,
	FAKE_NO_INSTANCE = 0x81,
	FAKE_END = 0x82,
};

struct fake_snmp;

/** Start an agent without objects. Ends the process if it cannot. Freed by fake_snmp_free(). */
struct fake_snmp *fake_snmp_new(enum fake_mode mode);
void fake_snmp_free(struct fake_snmp *fake);

/** The same at another address of this machine (127.0.0.2, ::1) and this port (0: a free one).
 * NULL: that cannot be had. */
struct fake_snmp *fake_snmp_new_at(enum fake_mode mode, const char *address, int port);

/** "udp:127.0.0.1:PORT", and the port; lives as long as the agent. */
const char *fake_snmp_endpoint(const struct fake_snmp *fake);
int fake_snmp_port(const struct fake_snmp *fake);

/** From which FAKE_OTHER_PORT answers. */
int fake_snmp_other_port(const struct fake_snmp *fake);

/** From now on: another mode; its limit; a delay before each answer. */
void fake_snmp_mode(struct fake_snmp *fake, enum fake_mode mode, unsigned int limit);
void fake_snmp_delay(struct fake_snmp *fake, unsigned int ms);

/** Version 3: from now on it is another engine, that of this number (1 at first); it answers
 * everything from users with a complaint of this number (.1.3.6.1.6.3.15.1.1.N), 0: none. */
void fake_snmp_engine(struct fake_snmp *fake, uint8_t engine);
void fake_snmp_complain(struct fake_snmp *fake, unsigned int complaint);

/** From now on it is silent about this: "@ms1" behind the community, or a context. NULL: about
 * nothing. text: borrowed. */
void fake_snmp_deaf(struct fake_snmp *fake, const char *text);

/** What it has been asked about so far, in order, each followed by a blank: "@ms1 @ms2 @ms1 ";
 * discoveries left out. Cut short if there is much. Read when nothing is under way. */
const char *fake_snmp_asked(const struct fake_snmp *fake);

/** Set an object, new or known: ".1.3.6.1..." with a number, or with a text of up
 * to 63 bytes. */
void fake_snmp_number(struct fake_snmp *fake, const char *oid, enum fake_type type, int64_t value);
void fake_snmp_text(struct fake_snmp *fake, const char *oid, const char *text);

/** The same with up to 64 bytes of any value. */
void fake_snmp_bytes(struct fake_snmp *fake, const char *oid, const void *bytes, size_t len);

/** A row of WebLogic's jvmRuntimeTable, with index row; percent < 0: without that column. */
void fake_snmp_weblogic(struct fake_snmp *fake, unsigned int row, const char *parent, int64_t free,
			int64_t size, int percent);

/** The memory group of the JVM MIB. */
void fake_snmp_jvm(struct fake_snmp *fake, int64_t used, int64_t committed, int64_t max);

/** Wait until n requests have been received, for 2 s at most; returns how many there were. */
unsigned int fake_snmp_await(struct fake_snmp *fake, unsigned int n);

/** Requests received so far, discoveries among them, objects in the greatest answer. */
unsigned int fake_snmp_requests(struct fake_snmp *fake);
unsigned int fake_snmp_discoveries(struct fake_snmp *fake);
unsigned int fake_snmp_largest(struct fake_snmp *fake);

/** The request id of the last one. */
uint32_t fake_snmp_last_id(struct fake_snmp *fake);

#endif
