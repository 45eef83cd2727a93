/* snmp_endpoint.h - a target in words becomes transport, host and port: the form alone, nobody is
 * asked. */
#ifndef CR_COLLECTORS_SNMP_ENDPOINT_H
#define CR_COLLECTORS_SNMP_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNMP_ENDPOINT_FORMS "udp:HOST:PORT, tcp:HOST:PORT or udp6:[ADDRESS]:PORT"
#define SNMP_HOST_LEN       256 /* with the NUL */

/** Where an agent is. */
struct snmp_endpoint {
	bool is_stream;           /* TCP */
	int family;               /* AF_UNSPEC or AF_INET6 */
	char host[SNMP_HOST_LEN]; /* a name, an IPv4 address, or an IPv6 address (no brackets) */
	uint16_t port;            /* 161 if it is not given */
};

/**
 * Read SNMP_ENDPOINT_FORMS, also tcp6:, also without transport (udp) and without port (161).
 * Returns 0, or -EINVAL with one line in text: what is wrong and what to write. [any]
 */
int snmp_endpoint_read(struct snmp_endpoint *endpoint, const char *target, char *text,
		       size_t text_len);

#endif
