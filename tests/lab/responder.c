/* responder.c - options, addresses and manners of the lab's responders. */
#include "responder.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_BYTES = 8 << 20 };

int64_t responder_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

bool responder_options_read(struct responder_options *options, int argc, char **argv)
{
	static const struct option known[] = { { "port", required_argument, NULL, 'p' },
					       { "mute", required_argument, NULL, 'm' },
					       { "slow", required_argument, NULL, 's' },
					       { "delay", required_argument, NULL, 'd' },
					       { NULL, 0, NULL, 0 } };
	int option;

	*options = (struct responder_options){ .delay_ns = 300000000 };
	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		const long value = optarg != NULL ? strtol(optarg, NULL, 10) : -1;

		if (value < 0)
			return false;
		if (option == 'p')
			options->port = (uint16_t)value;
		else if (option == 'm')
			options->mute = (unsigned)value;
		else if (option == 's')
			options->slow = (unsigned)value;
		else if (option == 'd')
			options->delay_ns = value * 1000000;
	}
	if (options->port > 0 && optind == argc && options->mute + options->slow <= 100)
		return true;
	fprintf(stderr, "usage: %s --port P [--mute PERCENT] [--slow PERCENT] [--delay MS]\n",
		argv[0]);
	return false;
}

uint32_t responder_address(uint32_t index)
{
	return htonl(0x7f000000u | (1 + index / 62500) << 16 | index / 250 % 250 << 8 |
		     (1 + index % 250));
}

static uint32_t index_of(in_addr_t address)
{
	const uint32_t host = ntohl(address);

	return ((host >> 16 & 0xff) - 1) * 62500 + (host >> 8 & 0xff) * 250 + (host & 0xff) - 1;
}

enum responder_manner responder_manner(const struct responder_options *options, in_addr_t address)
{
	const uint32_t place = index_of(address) % 100;

	if (place < options->mute)
		return RESPONDER_MUTE;
	return place < options->mute + options->slow ? RESPONDER_SLOW : RESPONDER_GOOD;
}

uint64_t responder_used(in_addr_t address, int64_t now_ns)
{
	const uint64_t ms = (uint64_t)now_ns / 1000000;

	return (UINT64_C(64) << 20) +
	       (ntohl(address) * UINT64_C(7919) + ms * 1021) % (RESPONDER_SIZE / 2);
}

int responder_socket(const struct responder_options *options, int type)
{
	const struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(options->port) };
	const int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
	const int bytes = BUFFER_BYTES;

	if (fd < 0)
		goto fail;
	/* Not beyond the machine, although all of 127.0.0.0/8 cannot be bound by name. */
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
	    bind(fd, (const struct sockaddr *)&here, sizeof here) < 0)
		goto fail;
	if (type == SOCK_DGRAM &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	return fd;

fail:
	perror("responder: socket");
	if (fd >= 0)
		close(fd);
	return -1;
}
