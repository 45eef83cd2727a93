/* snmp_endpoint.c - reads "udp:HOST:PORT" and its like; every fault has a sentence of its own. */
#include "snmp_endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "port.h"

#define DIGITS "0123456789"
#define WORD   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS ".-_"

static const struct transport {
	const char *prefix;
	bool is_stream;
	int family;
} transports[] = {
	{ "udp:", false, AF_UNSPEC },
	{ "udp6:", false, AF_INET6 },
	{ "tcp:", true, AF_UNSPEC },
	{ "tcp6:", true, AF_INET6 },
};

/* What is being read, and where to say what is wrong with it. */
struct reading {
	struct snmp_endpoint *endpoint;
	char *text;
	size_t text_len;
};

static int refuse(const struct reading *reading, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int refuse(const struct reading *reading, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(reading->text, reading->text_len, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* Also what no terminal should be shown, so nothing of it is quoted before. */
static int read_bytes(const struct reading *reading, const char *target)
{
	for (size_t i = 0; target[i] != '\0'; i++)
		if ((unsigned char)target[i] <= ' ' || target[i] == 0x7f)
			return refuse(reading,
				      "it holds a blank or control byte (0x%02x) as byte %zu; "
				      "write " SNMP_ENDPOINT_FORMS,
				      (unsigned char)target[i], i + 1);
	if (strstr(target, "://") != NULL)
		return refuse(reading, "it is a URL; write " SNMP_ENDPOINT_FORMS);
	if (strchr(target, '@') != NULL)
		return refuse(reading,
			      "it holds an @; the community belongs into community_file, a v3 "
			      "user into user; write " SNMP_ENDPOINT_FORMS);
	return 0;
}

/* Skips the transport, if one is given. */
static const char *read_transport(const struct reading *reading, const char *at)
{
	struct snmp_endpoint *endpoint = reading->endpoint;

	*endpoint = (struct snmp_endpoint){ .family = AF_UNSPEC, .port = 161 };
	for (size_t i = 0; i < sizeof transports / sizeof *transports; i++) {
		const struct transport *t = &transports[i];
		const size_t len = strlen(t->prefix);

		if (strncmp(at, t->prefix, len) != 0)
			continue;
		endpoint->is_stream = t->is_stream;
		endpoint->family = t->family;
		return at + len;
	}
	return at;
}

static int read_port(const struct reading *reading, const char *port)
{
	reading->endpoint->port = port_read(port, strlen(port));
	if (reading->endpoint->port == 0)
		return refuse(reading, "\"%.32s\" is no port; ports are 1 to 65535", port);
	return 0;
}

static int read_host(const struct reading *reading, const char *host, size_t len)
{
	if (len == 0)
		return refuse(reading, "it has no host; write " SNMP_ENDPOINT_FORMS);
	if (len >= SNMP_HOST_LEN)
		return refuse(reading, "its host is longer than %d letters; shorten it",
			      SNMP_HOST_LEN - 1);
	memcpy(reading->endpoint->host, host, len);
	reading->endpoint->host[len] = '\0';
	return 0;
}

/* "[ADDRESS]" or "[ADDRESS]:PORT"; at: behind the bracket. */
static int read_bracketed(const struct reading *reading, const char *at)
{
	const char *end = strchr(at, ']');
	char bare[SNMP_HOST_LEN];
	struct in6_addr v6;

	if (end == NULL || (end[1] != ':' && end[1] != '\0'))
		return refuse(reading, "its bracket is not closed before the port; write "
				       "udp6:[ADDRESS]:PORT");
	if (read_host(reading, at, (size_t)(end - at)) < 0)
		return -EINVAL;
	memcpy(bare, reading->endpoint->host, sizeof bare);
	bare[strcspn(bare, "%")] = '\0'; /* a zone */
	if (inet_pton(AF_INET6, bare, &v6) != 1)
		return refuse(reading,
			      "\"%.64s\" is no IPv6 address, and only those stand in brackets",
			      reading->endpoint->host);
	return end[1] == ':' ? read_port(reading, end + 2) : 0;
}

/* The system would take 1.2 for 1.0.0.2. */
static int check_host(const struct reading *reading)
{
	const char *host = reading->endpoint->host;
	const bool is_number = host[strspn(host, DIGITS ".")] == '\0';
	struct in_addr v4;

	if (host[strspn(host, WORD)] != '\0' || host[0] == '-' || host[0] == '.')
		return refuse(
			reading,
			"\"%.64s\" is no host name and no address; write " SNMP_ENDPOINT_FORMS,
			host);
	if (is_number && inet_pton(AF_INET, host, &v4) != 1)
		return refuse(reading,
			      "\"%.64s\" is no IPv4 address; write four numbers of 0 to "
			      "255",
			      host);
	if (is_number && reading->endpoint->family == AF_INET6)
		return refuse(reading,
			      "%s is an IPv4 address, which udp6 and tcp6 cannot reach; write udp: "
			      "or tcp:",
			      host);
	return 0;
}

/* at: behind the transport. Of three parts, the first is one that we do not know; of more, it may
 * be an address. */
static int refuse_colons(const struct reading *reading, const char *target, const char *at)
{
	struct in6_addr v6;
	size_t n = 0;

	for (const char *c = at; *c != '\0'; c++)
		n += *c == ':';
	if (at == target && n == 2 && strstr(at, "::") == NULL &&
	    inet_pton(AF_INET6, at, &v6) != 1 && strspn(at, WORD) > 0)
		return refuse(reading, "\"%.*s\" is no transport; write " SNMP_ENDPOINT_FORMS,
			      (int)(strcspn(at, ":") < 32 ? strcspn(at, ":") : 32), at);
	return refuse(reading, "it has too many colons; put an IPv6 address in brackets: "
			       "udp6:[ADDRESS]:PORT");
}

int snmp_endpoint_read(struct snmp_endpoint *endpoint, const char *target, char *text,
		       size_t text_len)
{
	struct reading reading = { .endpoint = endpoint, .text_len = text_len };
	const char *at, *colon;

	reading.text = text;
	if (read_bytes(&reading, target) < 0)
		return -EINVAL;
	at = read_transport(&reading, target);
	if (*at == '[')
		return read_bracketed(&reading, at + 1);
	colon = strchr(at, ':');
	if (colon != NULL && strchr(colon + 1, ':') != NULL)
		return refuse_colons(&reading, target, at);
	if (read_host(&reading, at, strcspn(at, ":")) < 0 || check_host(&reading) < 0)
		return -EINVAL;
	return colon != NULL ? read_port(&reading, colon + 1) : 0;
}
