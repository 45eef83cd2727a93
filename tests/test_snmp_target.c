/* test_snmp_target.c - which targets the collector "snmp" can poll; its check() and its polls read
 * them by the same code. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <criterion/criterion.h>

#include <callrouter/plugin.h>

#include "snmp_endpoint.h"

#define PORTS   " is no port; ports are 1 to 65535"
#define FORMS   "write udp:HOST:PORT, tcp:HOST:PORT or udp6:[ADDRESS]:PORT"
#define COLONS  "it has too many colons; put an IPv6 address in brackets: udp6:[ADDRESS]:PORT"
#define BRACKET "its bracket is not closed before the port; write udp6:[ADDRESS]:PORT"
#define NO_V6   " is no IPv6 address, and only those stand in brackets"
#define NO_HOST "it has no host; " FORMS

TestSuite(snmp_target, .timeout = 10);

static void expect_bad(const char *target, const char *text)
{
	struct snmp_endpoint endpoint;
	char said[300] = "", checked[300] = "";

	cr_expect_eq(snmp_endpoint_read(&endpoint, target, said, sizeof said), -EINVAL, "%s",
		     target);
	cr_expect_str_eq(said, text, "%s: %s", target, said);
	cr_expect_eq(cr_collector_1.check(NULL, target, checked, sizeof checked), -EINVAL);
	cr_expect_str_eq(checked, text);
}

Test(snmp_target, that_cannot_be_polled_is_told_what_is_wrong_with_it)
{
	static const struct {
		const char *target, *text;
	} bad[] = {
		{ "", NO_HOST },
		{ "udp:", NO_HOST },
		{ "udp::161", NO_HOST },
		{ ":161", NO_HOST },
		{ "udp6:[]:161", NO_HOST },
		{ "udp:host:99999", "\"99999\"" PORTS },
		{ "udp:host:65536", "\"65536\"" PORTS },
		{ "udp:host:0", "\"0\"" PORTS },
		{ "udp:host:", "\"\"" PORTS },
		{ "udp:host:snmp", "\"snmp\"" PORTS },
		{ "udp:host:+161", "\"+161\"" PORTS },
		{ "host:-1", "\"-1\"" PORTS },
		{ "udp6:[::1]:70000", "\"70000\"" PORTS },
		{ "udp:host:161/path", "\"161/path\"" PORTS },
		{ "ftp:host:161", "\"ftp\" is no transport; " FORMS },
		{ "dtlsudp:host:161", "\"dtlsudp\" is no transport; " FORMS },
		{ "UDP:host:161", "\"UDP\" is no transport; " FORMS },
		{ "http://host:8080/", "it is a URL; " FORMS },
		{ "ftp://x", "it is a URL; " FORMS },
		{ "udp:fe80::1:161", COLONS },
		{ "::1", COLONS },
		{ "::1:161", COLONS },
		{ "2001:db8::1", COLONS },
		{ "udp:a:1:2", COLONS },
		{ "udp6:[::1", BRACKET },
		{ "udp6:[::1]161", BRACKET },
		{ "udp6:[::g]:161", "\"::g\"" NO_V6 },
		{ "udp:[127.0.0.1]:161", "\"127.0.0.1\"" NO_V6 },
		{ "udp:[host]:161", "\"host\"" NO_V6 },
		{ "public@host:161", "it holds an @; the community belongs into community_file, a "
				     "v3 user into user; " FORMS },
		{ "udp:ho st:161", "it holds a blank or control byte (0x20) as byte 7; " FORMS },
		{ "udp:host:161 ", "it holds a blank or control byte (0x20) as byte 13; " FORMS },
		{ "udp:host\n:161", "it holds a blank or control byte (0x0a) as byte 9; " FORMS },
		{ "\x1b[2J", "it holds a blank or control byte (0x1b) as byte 1; " FORMS },
		{ "udp:h\x7f:161", "it holds a blank or control byte (0x7f) as byte 6; " FORMS },
		{ "udp:a/b", "\"a/b\" is no host name and no address; " FORMS },
		{ "udp:-h:161", "\"-h\" is no host name and no address; " FORMS },
		{ "udp:.:161", "\".\" is no host name and no address; " FORMS },
		{ "udp:1.2:161", "\"1.2\" is no IPv4 address; write four numbers of 0 to 255" },
		{ "10.0.0.256",
		  "\"10.0.0.256\" is no IPv4 address; write four numbers of 0 to 255" },
		{ "161", "\"161\" is no IPv4 address; write four numbers of 0 to 255" },
		{ "udp6:127.0.0.1:161", "127.0.0.1 is an IPv4 address, which udp6 and tcp6 cannot "
					"reach; write udp: or tcp:" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		expect_bad(bad[i].target, bad[i].text);
}

Test(snmp_target, has_a_longest_form)
{
	char target[100001] = "udp:", text[300];
	struct snmp_endpoint endpoint;

	memset(target + 4, 'h', 255);
	cr_expect_eq(snmp_endpoint_read(&endpoint, target, text, sizeof text), 0, "%s", text);
	cr_expect_eq(strlen(endpoint.host), 255u);
	memset(target + 4, 'h', 256);
	expect_bad(target, "its host is longer than 255 letters; shorten it");
	memset(target + 4, 'h', 100000 - 4);
	expect_bad(target, "its host is longer than 255 letters; shorten it");
	target[4] = '[';
	target[99999] = ']';
	expect_bad(target, "its host is longer than 255 letters; shorten it");
	memcpy(target, "udp:h:", 6);
	memset(target + 6, '1', 100000 - 6);
	expect_bad(target, "\"11111111111111111111111111111111\"" PORTS);
}

Test(snmp_target, is_taken_in_every_good_form)
{
	static const struct {
		const char *target;
		struct snmp_endpoint want;
	} good[] = {
		{ "udp:10.0.0.1:161", { false, AF_UNSPEC, "10.0.0.1", 161 } },
		{ "10.0.0.1", { false, AF_UNSPEC, "10.0.0.1", 161 } },
		{ "host:1610", { false, AF_UNSPEC, "host", 1610 } },
		{ "tcp:a-b_c.example:65535", { true, AF_UNSPEC, "a-b_c.example", 65535 } },
		{ "udp6:host", { false, AF_INET6, "host", 161 } },
		{ "udp6:[::1]:1", { false, AF_INET6, "::1", 1 } },
		{ "tcp6:[fe80::1%eth0]:161", { true, AF_INET6, "fe80::1%eth0", 161 } },
		{ "[2001:db8::1]", { false, AF_UNSPEC, "2001:db8::1", 161 } },
		{ "udp:[::1]:161", { false, AF_UNSPEC, "::1", 161 } },
		{ "udp:161host:161", { false, AF_UNSPEC, "161host", 161 } },
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct snmp_endpoint got;
		char text[300] = "";

		cr_expect_eq(snmp_endpoint_read(&got, good[i].target, text, sizeof text), 0,
			     "%s: %s", good[i].target, text);
		cr_expect_eq(got.is_stream, good[i].want.is_stream, "%s", good[i].target);
		cr_expect_eq(got.family, good[i].want.family, "%s", good[i].target);
		cr_expect_str_eq(got.host, good[i].want.host);
		cr_expect_eq(got.port, good[i].want.port, "%s", good[i].target);
		cr_expect_eq(cr_collector_1.check(NULL, good[i].target, text, sizeof text), 0);
	}
}
