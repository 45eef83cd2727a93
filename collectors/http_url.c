/* http_url.c - the URL of one request: the target's own, the request's path, and nothing that a
 * configuration should not be able to say. */
#include "http_url.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int http_failure_set(struct http_failure *failure, enum cr_why why, const char *fmt, ...)
{
	va_list args;

	failure->why = why;
	va_start(args, fmt);
	(void)vsnprintf(failure->text, sizeof failure->text, fmt, args);
	va_end(args);
	return -EPROTO;
}

/* endpoint's base and the page's path, as a URL in curl's memory; NULL with reading */
static char *url_join(CURLU *url, const char *page, struct http_failure *failure)
{
	char *base = NULL, *query = NULL, *joined = NULL, *path = NULL;
	size_t page_len = strcspn(page, "?"), base_len;
	CURLUcode rc;

	if (curl_url_get(url, CURLUPART_QUERY, &query, 0) == CURLUE_OK) {
		http_failure_set(failure, CR_CONNECT,
				 "the target must not hold a query (?%.60s); "
				 "use the key path",
				 query);
		curl_free(query);
		return NULL;
	}
	rc = curl_url_get(url, CURLUPART_PATH, &base, 0);
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

/* Certificates are checked against server_name, while endpoint's own host is connected to. */
static CURLUcode rename_host(CURLU *url, const char *server_name, struct curl_slist **connect_to)
{
	char *host = NULL, *port = NULL, *line = NULL;
	CURLUcode rc = curl_url_get(url, CURLUPART_HOST, &host, 0);

	if (rc == CURLUE_OK)
		rc = curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
	if (rc == CURLUE_OK && asprintf(&line, "%s:%s:%s:%s", server_name, port, host, port) < 0)
		rc = CURLUE_OUT_OF_MEMORY;
	if (rc == CURLUE_OK) {
		*connect_to = curl_slist_append(NULL, line);
		free(line);
		rc = *connect_to ? curl_url_set(url, CURLUPART_HOST, server_name, 0)
				 : CURLUE_OUT_OF_MEMORY;
	}
	curl_free(host);
	curl_free(port);
	return rc;
}

char *http_url_make(const char *endpoint, const char *page, const char *server_name,
		    struct curl_slist **connect_to, struct http_failure *failure)
{
	CURLU *url = curl_url();
	char *scheme = NULL, *joined = NULL;
	CURLUcode rc = url ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;

	if (rc == CURLUE_OK)
		rc = curl_url_set(url, CURLUPART_URL, endpoint, CURLU_DISALLOW_USER);
	if (rc == CURLUE_OK)
		rc = curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
	if (rc == CURLUE_USER_NOT_ALLOWED)
		http_failure_set(failure, CR_CONNECT,
				 "the target must not hold a user; use user and password_file");
	else if (rc != CURLUE_OK || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		http_failure_set(failure, CR_CONNECT,
				 "\"%.100s\" is not an http:// or https:// URL", endpoint);
	else if (*server_name && strcmp(scheme, "https") == 0 &&
		 rename_host(url, server_name, connect_to) != CURLUE_OK)
		http_failure_set(failure, CR_CONNECT, "server_name: \"%.100s\" is no host name",
				 server_name);
	else
		joined = url_join(url, page, failure);
	curl_free(scheme);
	curl_url_cleanup(url);
	return joined;
}
