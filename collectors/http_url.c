/* http_url.c - the URL of one request: the target's own, the request's path, and nothing that a
 * configuration should not be able to say. */
#include "http_url.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "port.h"

enum { TARGET_MAX = 2047, HOST_MAX = 253 /* of a name in the DNS */ };

int http_failure_set(struct http_failure *failure, enum cr_why why, const char *fmt, ...)
{
	va_list args;

	failure->why = why;
	va_start(args, fmt);
	(void)vsnprintf(failure->text, sizeof failure->text, fmt, args);
	va_end(args);
	return -EPROTO;
}

/*** The target ***/

/* Where a target's host and port stand. */
struct authority {
	const char *host, *port; /* port: behind its colon; NULL: none */
	size_t host_len, port_len;
};

/* What a terminal should not be shown, so nothing is quoted before. */
static int judge_bytes(const char *target, struct http_failure *failure)
{
	const size_t len = strlen(target);

	if (len > TARGET_MAX)
		return http_failure_set(failure, CR_CONNECT,
					"it is longer than %d bytes; "
					"shorten it",
					TARGET_MAX);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)target[i] <= ' ' || target[i] == 0x7f)
			return http_failure_set(failure, CR_CONNECT,
						"it holds a blank or control byte (0x%02x) as byte "
						"%zu; remove it",
						(unsigned char)target[i], i + 1);
	return 0;
}

/* libcurl would take what follows for a part of the host or ignore it. */
static int judge_parts(const char *rest, size_t len, struct http_failure *failure)
{
	const char *query = strpbrk(rest, "?#");

	if (memchr(rest, '@', len) != NULL)
		return http_failure_set(failure, CR_CONNECT,
					"it must not hold a user; use user and password_file");
	if (query != NULL && *query == '?')
		return http_failure_set(failure, CR_CONNECT,
					"it must not hold a query (?%.60s); use the key path",
					query + 1);
	if (query != NULL)
		return http_failure_set(failure, CR_CONNECT,
					"it must not hold a fragment (#%.60s); remove it",
					query + 1);
	return 0;
}

/* rest: behind the scheme, of which the first len bytes are host and port. */
static int find_authority(const char *rest, size_t len, struct authority *at,
			  struct http_failure *failure)
{
	const char *host_end = memchr(rest, *rest == '[' ? ']' : ':', len);

	if (*rest == '[' && host_end == NULL)
		return http_failure_set(failure, CR_CONNECT,
					"its bracket is not closed; write http://[ADDRESS]:PORT");
	if (*rest == '[')
		host_end++;
	*at = (struct authority){ .host = rest, .host_len = len };
	if (host_end == NULL || host_end == rest + len)
		return 0;
	at->host_len = (size_t)(host_end - rest);
	if (*host_end == ':') {
		at->port = host_end + 1;
		at->port_len = len - at->host_len - 1;
	}
	if (*host_end != ':' || memchr(at->port, ':', at->port_len) != NULL)
		return http_failure_set(failure, CR_CONNECT,
					"its host is unclear; put an IPv6 address in brackets: "
					"http://[ADDRESS]:PORT");
	return 0;
}

static int judge_authority(const struct authority *at, struct http_failure *failure)
{
	if (at->host_len == 0)
		return http_failure_set(failure, CR_CONNECT,
					"it has no host; write http://HOST:PORT");
	if (at->host_len > HOST_MAX)
		return http_failure_set(failure, CR_CONNECT,
					"its host is longer than %d letters; shorten it", HOST_MAX);
	if (at->port != NULL && port_read(at->port, at->port_len) == 0)
		return http_failure_set(failure, CR_CONNECT,
					"\"%.*s\" is no port; ports are 1 to 65535",
					at->port_len < 32 ? (int)at->port_len : 32, at->port);
	return 0;
}

/* Behind "http://" or "https://", or NULL. */
static const char *skip_scheme(const char *target)
{
	if (strncasecmp(target, "http://", 7) == 0)
		return target + 7;
	return strncasecmp(target, "https://", 8) == 0 ? target + 8 : NULL;
}

/* Is it one of ours? libcurl is generous: it takes http:///x for a host x, and no port for 80. */
static int judge_target(const char *target, struct http_failure *failure)
{
	struct authority at = { 0 };
	const char *rest;
	size_t len;
	int rc = judge_bytes(target, failure);

	if (rc < 0)
		return rc;
	rest = skip_scheme(target);
	if (rest == NULL)
		return http_failure_set(failure, CR_CONNECT,
					"it is not an http:// or https:// URL; write "
					"http://HOST:PORT");
	len = strcspn(rest, "/?#");
	rc = judge_parts(rest, len, failure);
	if (rc == 0)
		rc = find_authority(rest, len, &at, failure);
	return rc < 0 ? rc : judge_authority(&at, failure);
}

/* As libcurl sees it; NULL with failure. */
static CURLU *open_target(const char *target, struct http_failure *failure)
{
	CURLU *url;
	CURLUcode rc;

	if (judge_target(target, failure) < 0)
		return NULL;
	url = curl_url();
	rc = url != NULL ? curl_url_set(url, CURLUPART_URL, target, CURLU_DISALLOW_USER)
			 : CURLUE_OUT_OF_MEMORY;
	if (rc == CURLUE_OK)
		return url;
	curl_url_cleanup(url);
	http_failure_set(failure, CR_CONNECT, "it is no URL: %s", curl_url_strerror(rc));
	return NULL;
}

int http_url_check(const char *target, struct http_failure *failure)
{
	CURLU *url = open_target(target, failure);

	if (url == NULL)
		return -EINVAL;
	curl_url_cleanup(url);
	return 0;
}

/* As libcurl sees an endpoint; NULL with failure. */
static CURLU *open_endpoint(const char *endpoint, struct http_failure *failure)
{
	struct http_failure fault;
	CURLU *url = open_target(endpoint, &fault);

	if (url == NULL)
		http_failure_set(failure, fault.why, "target: %s", fault.text);
	return url;
}

int http_url_host(const char *endpoint, struct http_host *at, struct http_failure *failure)
{
	CURLU *url = open_endpoint(endpoint, failure);
	char *host = NULL, *zone = NULL, *port = NULL;
	CURLUcode rc;

	if (url == NULL)
		return -EPROTO;
	rc = curl_url_get(url, CURLUPART_HOST, &host, 0);
	if (rc == CURLUE_OK)
		rc = curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
	if (rc == CURLUE_OK && curl_url_get(url, CURLUPART_ZONEID, &zone, 0) == CURLUE_OK)
		(void)snprintf(at->host, sizeof at->host, "%.*s%%%.32s]", (int)strcspn(host, "]"),
			       host, zone);
	else if (rc == CURLUE_OK)
		(void)snprintf(at->host, sizeof at->host, "%s", host);
	if (rc == CURLUE_OK)
		at->port = port_read(port, strlen(port));
	else
		http_failure_set(failure, CR_CONNECT, "target: it is no URL: %s",
				 curl_url_strerror(rc));
	curl_free(host);
	curl_free(zone);
	curl_free(port);
	curl_url_cleanup(url);
	return rc == CURLUE_OK ? 0 : -EPROTO;
}

/*** The URL of a request ***/

/* url's base and the page's path, as a URL in curl's memory; NULL with failure */
static char *url_join(CURLU *url, const char *page, struct http_failure *failure)
{
	char *base = NULL, *joined = NULL, *path = NULL;
	size_t page_len = strcspn(page, "?"), base_len;
	CURLUcode rc = curl_url_get(url, CURLUPART_PATH, &base, 0);

	if (rc == CURLUE_OK) {
		for (base_len = strlen(base); base_len && base[base_len - 1] == '/'; base_len--)
			;
		path = malloc(base_len + page_len + 1);
		rc = path ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;
	}
	if (rc == CURLUE_OK) {
		memcpy(path, base, base_len);
		memcpy(path + base_len, page, page_len);
		path[base_len + page_len] = '\0';
		rc = curl_url_set(url, CURLUPART_PATH, path, 0);
	}
	if (rc == CURLUE_OK && page[page_len])
		rc = curl_url_set(url, CURLUPART_QUERY, page + page_len + 1, 0);
	if (rc == CURLUE_OK)
		rc = curl_url_get(url, CURLUPART_URL, &joined, 0);
	if (rc != CURLUE_OK)
		http_failure_set(failure, CR_CONNECT, "cannot make a URL of target and path: %s",
				 curl_url_strerror(rc));
	free(path);
	curl_free(base);
	return joined;
}

char *http_url_make(const char *endpoint, const char *page, const char *server_name,
		    struct http_failure *failure)
{
	CURLU *url = open_endpoint(endpoint, failure);
	char *joined = NULL;

	if (url == NULL)
		return NULL;
	if (*server_name && strncasecmp(endpoint, "https:", 6) == 0 &&
	    curl_url_set(url, CURLUPART_HOST, server_name, 0) != CURLUE_OK)
		http_failure_set(failure, CR_CONNECT, "server_name: \"%.100s\" is no host name",
				 server_name);
	else
		joined = url_join(url, page, failure);
	curl_url_cleanup(url);
	return joined;
}

CURLU *http_url_parts(const char *url, struct http_failure *failure)
{
	CURLU *parts = curl_url();
	const CURLUcode rc =
		parts != NULL ? curl_url_set(parts, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;

	if (rc == CURLUE_OK)
		return parts;
	curl_url_cleanup(parts);
	http_failure_set(failure, CR_CONNECT, "cannot make a URL of target and path: %s",
			 curl_url_strerror(rc));
	return NULL;
}
