/* port.h - ports in targets. The system's own readers are generous: getaddrinfo() takes 70000 for
 * 4464. */
#ifndef CR_COLLECTORS_PORT_H
#define CR_COLLECTORS_PORT_H

#include <stddef.h>
#include <stdint.h>

/** The port that len bytes of text name in digits, 1 to 65535; 0: they name none. [any] */
static inline uint16_t port_read(const char *text, size_t len)
{
	unsigned int port = 0;

	if (len > sizeof "65535" - 1)
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		port = port * 10 + (unsigned int)(text[i] - '0');
	}
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

#endif
