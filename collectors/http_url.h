/* http_url.h - the URL of one request, and failures in words. */
#ifndef CR_COLLECTORS_HTTP_URL_H
#define CR_COLLECTORS_HTTP_URL_H

#include <curl/curl.h>

#include <callrouter/plugin.h>

/** Why a transfer cannot be, or has failed. */
struct http_failure {
	enum cr_why why;
	char text[224];
};

/** Fill why and text; returns -EPROTO. [any] */
int http_failure_set(struct http_failure *failure, enum cr_why why, const char *fmt, ...)
	CR_PRINTF(3, 4);

/** Is it a target that http_url_make() takes? Returns 0, or -EINVAL with failure, whose text begins
 * with "it" and quotes no password. [any] */
int http_url_check(const char *target, struct http_failure *failure);

/** What an endpoint says of where it is. */
struct http_host {
	char host[320]; /* a name, an IPv4 address, or [IPv6 address] */
	uint16_t port;
};

/** Returns 0, or -EPROTO with failure: it is no target. [any] */
int http_url_host(const char *endpoint, struct http_host *at, struct http_failure *failure);

/**
 * endpoint's URL with page (path and query; may be "") behind its path; NULL with failure. Freed by
 * curl_free(). server_name: "" or what https has to find in the certificate: then it is the URL's
 * host. [any]
 */
char *http_url_make(const char *endpoint, const char *page, const char *server_name,
		    struct http_failure *failure);

/** The parts of a URL that http_url_make() made; NULL with failure. Freed by curl_url_cleanup().
 * [any] */
CURLU *http_url_parts(const char *url, struct http_failure *failure);

#endif
