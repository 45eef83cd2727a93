/* test_http_hostile.c - answers to the collector "http" that end with a reason which says what is
 * wrong with them, and that cost no more than an answer may. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "http_scene.h"
#include "http_words.h"

#define OK   "HTTP/1.1 200 OK\r\n"
#define HEAP "{\"value\":{\"used\":30,\"committed\":50,\"max\":-1},\"status\":200}"

TestSuite(http_hostile, .init = open_web, .fini = close_all, .timeout = 60);

static int add_target(const char *setting)
{
	const char *settings[] = { "profile=jolokia", setting, NULL };

	open_host(settings);
	return collector_host_add(host, "ms1", fake_http_url(web), false);
}

/*** What is neither header nor body ***/

/* begin, and then unit, whose length divides 960, for ever. */
static void answer_endlessly(const void *begin, size_t begin_len, const char *unit, size_t unit_len)
{
	char bytes[2048];

	memcpy(bytes, begin, begin_len);
	for (size_t at = 0; at < 960; at++)
		bytes[begin_len + at] = unit[at % unit_len];
	fake_http_set(web, FAKE_ENDLESS, bytes, begin_len + 960);
}

/* Each would go on for all of the poll's time, and for gigabytes. */
static void expect_broken_off(int target)
{
	const size_t before = fake_http_sent(web);

	expect_failed(poll_once(target), CR_REPLY,
		      "broken off: more than 196608 bytes came, and only 0 of them are the "
		      "answer's body");
	/* what was read at once before anybody counted, and what the sockets hold */
	cr_expect_lt(fake_http_sent(web) - before, (size_t)64 << 20);
}

Test(http_hostile, the_header_of_a_chunk_without_end_is_broken_off)
{
	static const char begin[] = OK "Transfer-Encoding: chunked\r\n\r\n5;";
	const int target = add_target("max_body=64KiB");

	answer_endlessly(begin, sizeof begin - 1, "a", 1);
	for (int i = 0; i < 2; i++)
		expect_broken_off(target);
	cr_expect_eq(fake_http_connections(web), 2);
	fake_http_page(web, "200 OK", "", HEAP);
	expect_good(poll_once(target));
}

Test(http_hostile, packed_data_that_unpack_to_nothing_are_broken_off)
{
	static const char name[] =
		OK "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\0\0\0\0\0\x03";
	static const char data[] = OK "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03";
	static const char empty_block[] = { 0, 0, 0, (char)0xff, (char)0xff };
	const int target = add_target("max_body=64KiB");

	answer_endlessly(name, sizeof name - 1, "a", 1);
	expect_broken_off(target);
	answer_endlessly(data, sizeof data - 1, empty_block, sizeof empty_block);
	expect_broken_off(target);
}

/* 30 KiB in chunks, each poll's beside those before it over one connection. */
Test(http_hostile, an_answer_in_many_pieces_is_counted_by_itself)
{
	enum { CHUNKS = 2000 };
	const int target = add_target("max_body=32KiB");
	char *page = calloc(1, CHUNKS * 32 + 512), *at = page;

	at += sprintf(at, OK "Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n", strlen(HEAP), HEAP);
	for (int i = 0; i < CHUNKS; i++)
		at += sprintf(at, "f;a=%08d\r\n               \r\n", i);
	at += sprintf(at, "0\r\n\r\n");
	fake_http_set(web, FAKE_PIECES, page, (size_t)(at - page));
	for (int i = 0; i < 4; i++)
		expect_good(poll_once(target));
	cr_expect_eq(fake_http_connections(web), 1);
	cr_expect_gt(fake_http_sent(web), 200000); /* more than one answer may have: 131072 */
	free(page);
}

/*** What libcurl says of an answer, and we say otherwise ***/

Test(http_hostile, what_is_wrong_with_an_answer_is_said_in_words_of_our_own)
{
	static const struct {
		const char *answer, *text;
	} bad[] = {
		{ "220 mail.example ESMTP\r\n", "what answers there does not speak HTTP" },
		{ OK "Content-Length: 900\r\n\r\n{",
		  "it closed the connection in the middle of its answer" },
		{ OK "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
		  "it closed the connection in the middle of its answer" },
		{ OK "Content-Length: some\r\n\r\n{}",
		  "the answer's Content-Length is no number of bytes" },
		{ OK "Content-Encoding: gzip\r\n\r\n{\"value\": 1}",
		  "the answer cannot be unpacked: " },
		{ OK "Content-Encoding: pack200\r\n\r\n{}",
		  "the answer is packed in a way that was not asked for; gzip is taken" },
		{ OK "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
		  "no good answer: Illegal or missing hexadecimal sequence in chunked-encoding" },
		{ OK "a line without a name\r\n\r\n{}", "no good answer: Header without colon" },
	};
	const int target = add_target(NULL);

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		fake_http_set(web, FAKE_ANSWER_AND_CLOSE, bad[i].answer, strlen(bad[i].answer));
		expect_failed(poll_once(target), CR_REPLY, bad[i].text);
	}
}

Test(http_hostile, libcurls_words_are_kept_where_they_help)
{
	static const struct {
		CURLcode code;
		enum cr_why why;
		const char *text, *words;
	} table[] = {
		{ CURLE_PEER_FAILED_VERIFICATION, CR_CONNECT,
		  "SSL certificate problem: certificate has expired",
		  "its certificate has expired: it needs a new one, or the clock here is wrong" },
		{ CURLE_PEER_FAILED_VERIFICATION, CR_CONNECT,
		  "SSL certificate problem: certificate is not yet valid",
		  "its certificate is not valid yet: one of the two clocks is wrong" },
		{ CURLE_PEER_FAILED_VERIFICATION, CR_CONNECT,
		  "SSL: certificate subject name 'a' does not match target host name 'b'",
		  "its certificate is for another host (see server_name): SSL: certificate subject "
		  "name 'a' does not match target host name 'b'" },
		{ CURLE_PEER_FAILED_VERIFICATION, CR_CONNECT,
		  "SSL certificate problem: unable to get local issuer certificate",
		  "its certificate is not trusted (see ca_file): SSL certificate problem: unable "
		  "to get local issuer certificate" },
		{ CURLE_SSL_CERTPROBLEM, CR_CONNECT, "could not load PEM client certificate from a",
		  "cert_file cannot be used: could not load PEM client certificate from a" },
		{ CURLE_SSL_CONNECT_ERROR, CR_CONNECT,
		  "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to a:1 ",
		  "no TLS connection: it hung up; does it speak TLS, or want cert_file?" },
		{ CURLE_SSL_CONNECT_ERROR, CR_CONNECT,
		  "OpenSSL SSL_connect: Connection reset by peer in connection to a:1 ",
		  "no TLS connection: it hung up; does it speak TLS, or want cert_file?" },
		{ CURLE_SSL_CONNECT_ERROR, CR_CONNECT, "error:0A000102: unsupported protocol",
		  "no TLS connection: error:0A000102: unsupported protocol" },
		{ CURLE_RECV_ERROR, CR_CONNECT, "OpenSSL SSL_read: tlsv1 alert unknown ca, errno 0",
		  "it refuses our certificate (cert_file): OpenSSL SSL_read: tlsv1 alert unknown "
		  "ca, errno 0" },
		{ CURLE_RECV_ERROR, CR_REPLY,
		  "OpenSSL SSL_read: Connection reset by peer, errno 104",
		  "it broke off the connection: OpenSSL SSL_read: Connection reset by peer, errno "
		  "104" },
		{ CURLE_RECV_ERROR, CR_REPLY, "Recv failure: Connection reset by peer",
		  "it broke off the connection (does it want https://?): Recv failure: Connection "
		  "reset by peer" },
		{ CURLE_SEND_ERROR, CR_REPLY, "Send failure: Broken pipe",
		  "it broke off the connection before it had the request: Send failure: Broken "
		  "pipe" },
		{ CURLE_WEIRD_SERVER_REPLY, CR_REPLY, "Nul byte in header",
		  "no good answer: Nul byte in header" },
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct http_failure failure = { 0 };

		cr_expect_eq(http_words_set(table[i].code, table[i].text, &failure), -EPROTO);
		cr_expect_eq(failure.why, table[i].why, "%s", table[i].text);
		cr_expect_str_eq(failure.text, table[i].words);
	}
}

Test(http_hostile, a_long_header_behind_the_chunks_is_no_want_of_memory)
{
	const int target = add_target(NULL);
	char *page = calloc(1, 16384);
	int len =
		sprintf(page, OK "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: %08000d", 0);

	fake_http_set(web, FAKE_ANSWER_AND_CLOSE, page, (size_t)len);
	expect_failed(poll_once(target), CR_REPLY,
		      "a header behind the answer's chunks is too long");
	free(page);
}

/* Another member, or anything else: libcurl unpacks the first one alone. */
Test(http_hostile, what_follows_packed_data_is_refused_as_such)
{
	static const char *const behind[] = { "printf junk", "printf x | gzip -c" };
	const int target = add_target(NULL);

	for (size_t i = 0; i < 2; i++) {
		char command[256], packed[512];
		FILE *pipe;
		size_t n;

		(void)snprintf(command, sizeof command, "printf %%s '" HEAP "' | gzip -c; %s",
			       behind[i]);
		pipe = popen(command, "r");
		n = fread(packed, 1, sizeof packed, pipe);
		cr_assert_eq(pclose(pipe), 0);
		fake_http_page_bytes(web, "200 OK", "Content-Encoding: gzip\r\n", packed, n);
		expect_failed(poll_once(target), CR_REPLY,
			      "something follows the end of the answer's packed data; one gzip "
			      "member is taken");
	}
}

/* A text for the log ends at a NUL, and who tries a source reads the answer there. */
Test(http_hostile, an_answer_with_nuls_is_logged_as_a_whole)
{
	static const char body[] = HEAP "\0\\0 junk";
	const int target = add_target("log_answers=true");

	fake_http_page_bytes(web, "200 OK", "", body, sizeof body - 1);
	expect_failed(poll_once(target), CR_REPLY, "it holds a NUL byte");
	cr_expect(collector_host_logged(host, "escaped\n\n" HEAP "\\0\\\\0 junk"), "%s",
		  collector_host_logged(host, ""));
}
