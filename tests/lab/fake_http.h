/*
 * fake_http.h - an HTTP server in a thread of the test that says exactly what it is told to, good
 * or bad, and places where nobody answers.
 *
 *	web = fake_http_new();
 *	fake_http_page(web, "200 OK", "Content-Type: text/xml\r\n", "<status/>");
 *	... poll fake_http_url(web) ...
 *	cr_assert_eq(fake_http_requests(web), 1);
 *	fake_http_free(web);
 */
#ifndef CR_TESTS_FAKE_HTTP_H
#define CR_TESTS_FAKE_HTTP_H

#include <stddef.h>

struct fake_http;

/** What happens when a request has arrived. */
enum fake_manner {
	FAKE_ANSWER = 0,       /* the bytes; the connection stays open */
	FAKE_ANSWER_AND_CLOSE, /* the bytes, then the end of the connection */
	FAKE_ANSWER_AND_LEAVE, /* the same, and nobody listens any more */
	FAKE_SILENT,           /* nothing, for ever */
	FAKE_HANG_UP,          /* the end of the connection */
	FAKE_DRIP,             /* the bytes, one each 5 ms */
	FAKE_PIECES,           /* the bytes, 1024 each 5 ms */
	FAKE_ENDLESS,          /* the bytes, and then their last 960 again and again */
};

/** Listens on a free port of 127.0.0.1; silent at first. NULL: no socket or no memory. */
struct fake_http *fake_http_new(void);

/** The same at this address of this machine, of IPv4 or IPv6; port 0: a free one. */
struct fake_http *fake_http_new_at(const char *address, unsigned port);

/** Ends the thread and closes all connections. */
void fake_http_free(struct fake_http *web);

/** "http://127.0.0.1:PORT" */
const char *fake_http_url(const struct fake_http *web);
unsigned fake_http_port(const struct fake_http *web);

/** From the next request on: these bytes (copied). */
void fake_http_set(struct fake_http *web, enum fake_manner manner, const void *bytes, size_t len);

/** The same for a page with its length in a header; headers: lines with CRLF, or "". */
void fake_http_page(struct fake_http *web, const char *status, const char *headers,
		    const char *body);
void fake_http_page_bytes(struct fake_http *web, const char *status, const char *headers,
			  const void *body, size_t len);

/** From now on, requests that hold text ("GET /a ") get this page instead; of several such rules,
 * the first that fits. At most 16. */
void fake_http_when(struct fake_http *web, const char *text, const char *status,
		    const char *headers, const char *body);

/** Whole requests, accepted connections and bytes sent so far. */
size_t fake_http_requests(struct fake_http *web);
size_t fake_http_connections(struct fake_http *web);
size_t fake_http_sent(struct fake_http *web);

/** The newest request's lines, cut to fit; returns buf. */
char *fake_http_request(struct fake_http *web, char *buf, size_t len);

/** A port of 127.0.0.1 that refuses connections until fake_refusal_close(). url: at least 32 bytes.
 * Returns a descriptor, or -1. */
int fake_refusal_open(char *url, size_t len);
void fake_refusal_close(int fd);

/** A listener whose backlog is full: connecting to it takes for ever. */
struct fake_blackhole {
	int listener, filler[64];
	size_t n;
	char url[64];
};

/** Returns 0, or -1 if connections are taken in spite of all. */
int fake_blackhole_open(struct fake_blackhole *hole);
int fake_blackhole_open_at(struct fake_blackhole *hole, const char *address, unsigned port);
void fake_blackhole_close(struct fake_blackhole *hole);

#endif
