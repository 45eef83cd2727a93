/* http_words.c - libcurl's own words, where they say what a server does wrong, and ours where they
 * would send somebody the wrong way. */
#include "http_words.h"

#include <stdbool.h>
#include <string.h>

/* The first row counts whose code it is and whose part libcurl's text has; is_quoted: the text
 * follows. */
static const struct {
	CURLcode code;
	bool is_quoted;
	enum cr_why why;
	const char *part, *words;
} table[] = {
	/* TLS */
	{ CURLE_PEER_FAILED_VERIFICATION, true, CR_CONNECT, "subject name",
	  "its certificate is for another host (see server_name)" },
	{ CURLE_PEER_FAILED_VERIFICATION, true, CR_CONNECT, "does not match",
	  "its certificate is for another host (see server_name)" },
	{ CURLE_PEER_FAILED_VERIFICATION, false, CR_CONNECT, "certificate has expired",
	  "its certificate has expired: it needs a new one, or the clock here is wrong" },
	{ CURLE_PEER_FAILED_VERIFICATION, false, CR_CONNECT, "certificate is not yet valid",
	  "its certificate is not valid yet: one of the two clocks is wrong" },
	{ CURLE_PEER_FAILED_VERIFICATION, true, CR_CONNECT, "",
	  "its certificate is not trusted (see ca_file)" },
	{ CURLE_SSL_CACERT_BADFILE, true, CR_CONNECT, "", "ca_file holds no certificate in PEM" },
	{ CURLE_SSL_CERTPROBLEM, true, CR_CONNECT, "private key file",
	  "the key is not that of cert_file (see key_file)" },
	{ CURLE_SSL_CERTPROBLEM, true, CR_CONNECT, "", "cert_file cannot be used" },
	{ CURLE_SSL_CONNECT_ERROR, false, CR_CONNECT, "wrong version number",
	  "no TLS connection: it does not speak TLS; write http://, or another port" },
	{ CURLE_SSL_CONNECT_ERROR, false, CR_CONNECT, "SSL_ERROR_SYSCALL",
	  "no TLS connection: it hung up; does it speak TLS, or want cert_file?" },
	{ CURLE_SSL_CONNECT_ERROR, false, CR_CONNECT, "SSL_connect: Connection reset",
	  "no TLS connection: it hung up; does it speak TLS, or want cert_file?" },
	{ CURLE_SSL_CONNECT_ERROR, true, CR_CONNECT, "", "no TLS connection" },
	{ CURLE_RECV_ERROR, false, CR_CONNECT, "alert certificate required",
	  "it wants a certificate of ours: set cert_file and key_file" },
	{ CURLE_RECV_ERROR, true, CR_CONNECT, "alert", "it refuses our certificate (cert_file)" },
	/* what is no HTTP, or no whole answer */
	{ CURLE_UNSUPPORTED_PROTOCOL, false, CR_REPLY, "Received HTTP/0.9",
	  "what answers there does not speak HTTP; is it the right port, or https://?" },
	{ CURLE_GOT_NOTHING, false, CR_REPLY, "", "it closed the connection without an answer" },
	{ CURLE_PARTIAL_FILE, false, CR_REPLY, "",
	  "it closed the connection in the middle of its answer" },
	{ CURLE_RECV_ERROR, true, CR_REPLY, "Recv failure",
	  "it broke off the connection (does it want https://?)" },
	{ CURLE_RECV_ERROR, true, CR_REPLY, "SSL_read", "it broke off the connection" },
	{ CURLE_SEND_ERROR, true, CR_REPLY, "",
	  "it broke off the connection before it had the request" },
	{ CURLE_RECV_ERROR, false, CR_REPLY, "Out of memory in chunked",
	  "a header behind the answer's chunks is too long" },
	{ CURLE_WEIRD_SERVER_REPLY, false, CR_REPLY, "Invalid Content-Length",
	  "the answer's Content-Length is no number of bytes" },
	/* what is packed */
	{ CURLE_BAD_CONTENT_ENCODING, false, CR_REPLY, "Unrecognized content encoding type",
	  "the answer is packed in a way that was not asked for; gzip is taken" },
	{ CURLE_BAD_CONTENT_ENCODING, true, CR_REPLY, "", "the answer cannot be unpacked" },
	/* all other reasons for it have been found already: it is what zlib does not want */
	{ CURLE_WRITE_ERROR, false, CR_REPLY, "",
	  "something follows the end of the answer's packed data; one gzip member is taken" },
};

int http_words_set(CURLcode code, const char *text, struct http_failure *failure)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (table[i].code != code || !strstr(text, table[i].part))
			continue;
		if (table[i].is_quoted)
			return http_failure_set(failure, table[i].why, "%s: %.120s", table[i].words,
						text);
		return http_failure_set(failure, table[i].why, "%s", table[i].words);
	}
	return http_failure_set(failure, CR_REPLY, "no good answer: %.150s", text);
}
