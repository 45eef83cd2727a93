/* fake_ber.h - SNMP v2c messages, taken apart and put together for fake_snmp.c. */
#ifndef CR_TESTS_FAKE_BER_H
#define CR_TESTS_FAKE_BER_H

#include <stddef.h>
#include <stdint.h>

#define BER_OID_MAX   64
#define BER_BINDS_MAX 512
#define BER_MAX       65536

#define BER_GET     0xa0
#define BER_GETNEXT 0xa1
#define BER_GETBULK 0xa5

struct ber_name {
	uint32_t id[BER_OID_MAX];
	size_t n;
};

struct ber_object {
	struct ber_name name;
	uint8_t type;
	int64_t number;
	char text[64];
};

/** A request, taken apart. */
struct ber_request {
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

/** Take a message apart. Returns 0, or -1: it is none, or not of the community "public". */
int ber_read(const uint8_t *p, size_t size, struct ber_request *request);

/** Put an answer together. */
void ber_write(struct ber_writer *w, int64_t id, int64_t error, const struct ber_binds *binds);

#endif
