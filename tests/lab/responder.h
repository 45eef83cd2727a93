/*
 * responder.h - what the lab's two responders share: one port on all of 127.0.0.0/8, so that each
 * address is another target, and which of these answer late or never.
 */
#ifndef CR_TESTS_RESPONDER_H
#define CR_TESTS_RESPONDER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

/** How a target behaves. */
enum responder_manner { RESPONDER_GOOD = 0, RESPONDER_SLOW, RESPONDER_MUTE };

struct responder_options {
	uint16_t port;
	unsigned mute, slow; /* percent of the targets: of each hundred the first, and the next */
	int64_t delay_ns;    /* of the slow ones */
};

/** Parse "--port P [--mute PERCENT] [--slow PERCENT] [--delay MS]"; says on stderr what is wrong.
 */
bool responder_options_read(struct responder_options *options, int argc, char **argv);

/** Target 0 is 127.1.0.1, 250 are in 127.x.y.0/24, 62500 in 127.x.0.0/16. Network byte order. */
uint32_t responder_address(uint32_t index);

/** How the target at this address behaves. */
enum responder_manner responder_manner(const struct responder_options *options, in_addr_t address);

/** A heap that changes all the time: bytes in use of 512 MiB. */
uint64_t responder_used(in_addr_t address, int64_t now_ns);

#define RESPONDER_SIZE (UINT64_C(512) << 20)
#define RESPONDER_MAX  (UINT64_C(1) << 30)

/** A socket of this type bound to the port on the loopback device alone; -1 with words on stderr.
 */
int responder_socket(const struct responder_options *options, int type);

/** CLOCK_MONOTONIC. */
int64_t responder_now_ns(void);

#endif
