/* fake_ber.h - SNMP messages (v1, v2c, v3 as far as it needs no key), taken apart and put together
 * for fake_snmp.c. */
#ifndef CR_TESTS_FAKE_BER_H
#define CR_TESTS_FAKE_BER_H

#include <stddef.h>
#include <stdint.h>

#define BER_OID_MAX   128
#define BER_BINDS_MAX 512
#define BER_MAX       65536

#define BER_GET      0xa0
#define BER_GETNEXT  0xa1
#define BER_GETBULK  0xa5
#define BER_RESPONSE 0xa2
#define BER_REPORT   0xa8

#define BER_V1  0
#define BER_V2C 1
#define BER_V3  3

struct ber_name {
	uint32_t id[BER_OID_MAX];
	size_t n;
};

struct ber_object {
	struct ber_name name;
	uint8_t type;
	int64_t number;
	char text[64];
	size_t len; /* of text; 0: up to its NUL */
};

/** A request, taken apart. */
struct ber_request {
	int64_t version;
	int64_t message; /* v3: from here */
	uint8_t flags;
	uint8_t engine[32];
	size_t engine_len;
	char user[33];  /* if it is encrypted nothing else is set, to here */
	char about[65]; /* what follows "public"; v3: the context */
	uint8_t tag;
	int64_t id, a, b; /* GETBULK: non-repeaters, max-repetitions */
	struct ber_name name[BER_BINDS_MAX];
	size_t n;
};

/** An answer in the making. */
struct ber_binds {
	struct ber_object object[BER_BINDS_MAX];
	size_t n;
};

/** An answer as bytes: buf[at ...]. Written from its end, so that lengths are known. */
struct ber_writer {
	uint8_t buf[BER_MAX];
	size_t at;
};

/** What an answer says besides its objects. */
struct ber_answer {
	uint8_t tag;
	int64_t id, error, index;
	const char *community;
	const uint8_t *engine; /* v3: [engine_len], and how often and how long it has run */
	size_t engine_len;
	int64_t boots, time;
	const char *context;
};

/** < 0, 0 or > 0, in the order of names. */
int ber_compare(const struct ber_name *a, const struct ber_name *b);

/** A name from ".1.3.6.1". */
struct ber_name ber_read_name(const char *text);

/** Take a message apart. Returns 0, or -1: it is none, or its community is neither "public" nor
 * "public@" and more. */
int ber_read(const uint8_t *p, size_t size, struct ber_request *request);

/** Put an answer to request together. */
void ber_write(struct ber_writer *w, const struct ber_request *request,
	       const struct ber_answer *answer, const struct ber_binds *binds);

#endif
