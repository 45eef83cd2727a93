/*
 * snmp_responder.c - thousands of SNMP agents (v2c, community "public") in one process with one
 * socket: every address of 127.0.0.0/8 has the heap scalars of JVM-MANAGEMENT-MIB.
 *
 *	snmp_responder --port P [--mute PERCENT] [--slow PERCENT] [--delay MS]
 *
 * Which targets are mute and which slow: responder.h. "ready" on standard output when it listens;
 * ends by a signal.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "fake_ber.h"
#include "responder.h"

#define BATCH   64
#define BYTES   1500
#define WAITING 65536 /* answers of slow agents that are still to be sent; a power of two */

enum { SCALARS = 3, REPETITIONS_MAX = 50 };

static const uint32_t jvm_memory[] = { 1, 3, 6, 1, 4, 1, 42, 2, 145, 3, 163, 1, 1, 2 };
#define PREFIX (sizeof jvm_memory / sizeof *jvm_memory)

/** A message that came or goes, with whom it is from or for, and which of us is meant. */
struct letter {
	struct sockaddr_in peer;
	struct in_pktinfo own;
	size_t len;
	uint8_t bytes[BYTES];
};

/** An answer for later. */
struct waiting {
	int64_t due_ns;
	struct letter letter;
};

static struct {
	struct responder_options options;
	int fd;
	struct waiting *waiting; /* a ring: all are late by the same time */
	size_t first, n;
	struct ber_request request;
	struct ber_binds binds;
	struct ber_writer writer;
} self;

/* The scalar at this name (GET), or the first one after it. -1: none. */
static int find_scalar(const struct ber_name *name, bool is_next)
{
	for (int i = 0; i < SCALARS; i++) {
		uint32_t id[PREFIX + 2];
		size_t at = 0;

		memcpy(id, jvm_memory, sizeof jvm_memory);
		id[PREFIX] = 11 + (uint32_t)i;
		id[PREFIX + 1] = 0;
		while (at < name->n && at < PREFIX + 2 && name->id[at] == id[at])
			at++;
		if (!is_next && at == PREFIX + 2 && name->n == PREFIX + 2)
			return i;
		if (is_next && at < PREFIX + 2 && (at == name->n || name->id[at] < id[at]))
			return i;
	}
	return -1;
}

static void add(const struct ber_name *asked, int scalar, bool is_next, in_addr_t address)
{
	struct ber_object *object = &self.binds.object[self.binds.n++];
	const int64_t value[SCALARS] = { (int64_t)responder_used(address, responder_now_ns()),
					 (int64_t)RESPONDER_SIZE, (int64_t)RESPONDER_MAX };

	object->name = *asked;
	object->type = is_next ? 0x82 : 0x80; /* endOfMibView, noSuchObject */
	if (scalar < 0)
		return;
	memcpy(object->name.id, jvm_memory, sizeof jvm_memory);
	object->name.id[PREFIX] = 11 + (uint32_t)scalar;
	object->name.id[PREFIX + 1] = 0;
	object->name.n = PREFIX + 2;
	object->type = 0x46; /* Counter64 */
	object->number = value[scalar];
}

static void repeat(const struct ber_request *request, size_t from, int64_t times, in_addr_t address)
{
	struct ber_name at;

	for (size_t i = from; i < request->n; i++) {
		at = request->name[i];
		for (int64_t k = 0; k < times && self.binds.n < BER_BINDS_MAX; k++) {
			add(&at, find_scalar(&at, true), true, address);
			at = self.binds.object[self.binds.n - 1].name;
		}
	}
}

/* Turn a question into its answer. Returns false if it is none. */
static bool answer(struct letter *letter)
{
	struct ber_request *request = &self.request;
	const in_addr_t address = letter->own.ipi_addr.s_addr;
	struct ber_answer head = { .tag = BER_RESPONSE, .community = "public" };
	size_t single;

	if (ber_read(letter->bytes, letter->len, request) < 0 || request->version != BER_V2C)
		return false;
	self.binds.n = 0;
	head.id = request->id;
	single = request->n;
	if (request->tag == BER_GETBULK && request->a < (int64_t)single)
		single = request->a > 0 ? (size_t)request->a : 0;
	for (size_t i = 0; i < single; i++)
		add(&request->name[i], find_scalar(&request->name[i], request->tag != BER_GET),
		    request->tag != BER_GET, address);
	if (request->tag == BER_GETBULK)
		repeat(request, single, request->b < REPETITIONS_MAX ? request->b : REPETITIONS_MAX,
		       address);
	ber_write(&self.writer, request, &head, &self.binds);
	letter->len = BER_MAX - self.writer.at;
	if (letter->len > BYTES)
		return false;
	memcpy(letter->bytes, self.writer.buf + self.writer.at, letter->len);
	return true;
}

/*** Sockets ***/

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

static void send_letter(struct letter *letter)
{
	union control control = { 0 };
	struct iovec part = { .iov_base = letter->bytes, .iov_len = letter->len };
	struct msghdr message = { .msg_name = &letter->peer,
				  .msg_namelen = sizeof letter->peer,
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof control.bytes };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	const struct in_pktinfo own = { .ipi_spec_dst = letter->own.ipi_addr };

	/* From the address that was asked: others are not listened to. */
	head->cmsg_level = IPPROTO_IP;
	head->cmsg_type = IP_PKTINFO;
	head->cmsg_len = CMSG_LEN(sizeof own);
	memcpy(CMSG_DATA(head), &own, sizeof own);
	(void)sendmsg(self.fd, &message, 0);
}

static void take(struct letter *letter)
{
	const enum responder_manner manner =
		responder_manner(&self.options, letter->own.ipi_addr.s_addr);
	struct waiting *later;

	if (manner == RESPONDER_MUTE || !answer(letter))
		return;
	if (manner == RESPONDER_GOOD) {
		send_letter(letter);
		return;
	}
	if (self.n == WAITING)
		return;
	later = &self.waiting[(self.first + self.n++) % WAITING];
	later->due_ns = responder_now_ns() + self.options.delay_ns;
	later->letter = *letter;
}

static bool receive(void)
{
	static struct letter letter;
	union control control;
	struct iovec part = { .iov_base = letter.bytes, .iov_len = sizeof letter.bytes };
	struct msghdr message = { .msg_name = &letter.peer,
				  .msg_namelen = sizeof letter.peer,
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof control.bytes };
	const ssize_t got = recvmsg(self.fd, &message, MSG_DONTWAIT);

	if (got < 0)
		return false;
	letter.len = (size_t)got;
	for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head != NULL;
	     head = CMSG_NXTHDR(&message, head))
		if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_PKTINFO) {
			memcpy(&letter.own, CMSG_DATA(head), sizeof letter.own);
			take(&letter);
		}
	return true;
}

static void send_late(void)
{
	const int64_t now_ns = responder_now_ns();

	while (self.n > 0 && self.waiting[self.first].due_ns <= now_ns) {
		send_letter(&self.waiting[self.first].letter);
		self.first = (self.first + 1) % WAITING;
		self.n--;
	}
}

int main(int argc, char **argv)
{
	const int on = 1;

	if (!responder_options_read(&self.options, argc, argv))
		return 2;
	self.fd = responder_socket(&self.options, SOCK_DGRAM);
	self.waiting = calloc(WAITING, sizeof *self.waiting);
	if (self.fd < 0 || self.waiting == NULL ||
	    setsockopt(self.fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct pollfd ready = { .fd = self.fd, .events = POLLIN };
		int budget = BATCH;

		if (poll(&ready, 1, self.n > 0 ? 1 : -1) < 0 && errno != EINTR)
			return 1;
		while (budget-- > 0 && receive())
			;
		send_late();
	}
}
