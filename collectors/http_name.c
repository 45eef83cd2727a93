/* http_name.c - names of HTTP targets, and which of a host's addresses libcurl connects to. */
#include "http_name.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "files.h"

/*** Where it is ***/

/* Is it an address as libcurl reads it, which looks up whatever is none? */
static bool is_address(const char *host)
{
	char bare[INET6_ADDRSTRLEN];
	struct in6_addr address;
	const size_t len = strcspn(host + (*host == '['), "%]");

	if (*host != '[')
		return inet_pton(AF_INET, host, &address) == 1;
	if (len >= sizeof bare)
		return false;
	(void)snprintf(bare, sizeof bare, "%.*s", (int)len, host + 1);
	return inet_pton(AF_INET6, bare, &address) == 1;
}

int http_name_read(struct http_name *name, struct place_names *names, const char *endpoint,
		   const char *server_name, struct http_failure *failure)
{
	struct http_host at;
	char text[192];
	bool is_renamed;
	int code;

	if (name->place.port != 0)
		return 0;
	if (http_url_host(endpoint, &at, failure) < 0)
		return -EPROTO;
	is_renamed = *server_name && strncasecmp(endpoint, "https:", 6) == 0;
	name->is_plain = is_address(at.host) && !is_renamed;
	name->place.is_stream = true;
	code = place_set(&name->place, names, at.host, AF_UNSPEC, at.port);
	if (code == 0)
		return 0;
	place_explain_unset(code, text, sizeof text);
	return http_failure_set(failure, CR_CONNECT, "%s", text);
}

/* libcurl's list, for the address in use. */
static int list_address(struct http_name *name)
{
	const bool is_v6 = name->place.address.any.sa_family == AF_INET6;
	char shown[INET6_ADDRSTRLEN], line[sizeof shown + 8];
	struct curl_slist *list;

	if (name->is_plain ||
	    (name->connect_to && resolve_is_same(&name->listed, &name->place.address)))
		return 0;
	resolve_show(&name->place.address, shown, sizeof shown);
	(void)snprintf(line, sizeof line, is_v6 ? "::[%s]:" : "::%s:", shown);
	list = curl_slist_append(NULL, line);
	if (!list)
		return -ENOMEM;
	curl_slist_free_all(name->connect_to);
	name->connect_to = list;
	name->listed = name->place.address;
	name->is_proven = false;
	return 0;
}

int http_name_find(struct http_name *name, const struct place_names *names, int64_t now_ns,
		   struct http_failure *failure)
{
	bool has_moved;
	char text[192];
	int rc;

	if (name->is_plain)
		return 1;
	rc = place_find(&name->place, names, now_ns, &has_moved, text, sizeof text);
	if (rc < 0)
		return http_failure_set(failure, CR_CONNECT, "%s", text);
	if (rc > 0 && list_address(name) < 0)
		return http_failure_set(failure, CR_CONNECT, "no memory for an address");
	return rc;
}

/*** Connecting ***/

/* libcurl's own sockets would be inherited by the programs that the daemon starts, and its list
 * knows no interface of a link-local address. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct http_name *name = user;
	const union resolve_address *at = &name->place.address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&to->addr;
	int fd;

	(void)purpose;
	if (to->family == AF_INET6 && at->any.sa_family == AF_INET6 && v6->sin6_scope_id == 0)
		v6->sin6_scope_id = at->v6.sin6_scope_id;
	fd = files_socket(to->family, to->socktype, to->protocol);
	name->code = fd < 0 ? fd : 0;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* Addresses that are tried after this one if it stays silent. One that could be reached before has
 * all of the time, and in every second poll in vain each has: it may need it. */
static unsigned int others(const struct http_name *name)
{
	return name->is_proven || name->n_silent % 2 != 0 ? 0 : place_left(&name->place);
}

CURLcode http_name_set(struct http_name *name, CURL *easy, int64_t left_ns)
{
	const unsigned int more = others(name);
	CURLcode rc = curl_easy_setopt(easy, CURLOPT_CONNECT_TO, name->connect_to);

	name->code = 0;
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
				      more > 0 ? (long)(left_ns / (more + 1) / 1000000) + 1 : 0L);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	return rc == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, (void *)name) : rc;
}

bool http_name_is_reached(CURL *easy)
{
	curl_off_t sent_us = 0;

	/* set as soon as the request can be sent, over a new connection or an old one */
	curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
	return sent_us != 0;
}

bool http_name_turn(struct http_name *name, const struct place_names *names, CURL *easy,
		    CURLcode code, int64_t now_ns)
{
	if (code == CURLE_OK || http_name_is_reached(easy)) {
		name->is_proven = true;
		return false;
	}
	if ((code != CURLE_COULDNT_CONNECT && code != CURLE_OPERATION_TIMEDOUT) || name->code < 0 ||
	    place_left(&name->place) == 0 ||
	    (code == CURLE_OPERATION_TIMEDOUT && others(name) == 0))
		return false;
	return place_turn(&name->place, names, now_ns) && list_address(name) == 0;
}

/*** What came of it ***/

void http_name_learn(struct http_name *name, const struct place_names *names, unsigned int why,
		     int64_t now_ns)
{
	if (why != CR_TIMEOUT)
		name->n_silent = 0;
	if (name->code < 0) /* our own fault, not that of the address */
		return;
	if (why == CR_TIMEOUT) {
		name->n_silent++;
		/* The next poll begins at another address, and by then the name has been looked up.
		 */
		if (place_turn(&name->place, names, now_ns))
			name->is_proven = false;
	}
	if (why == CR_TIMEOUT || why == CR_CONNECT || why == CR_AUTH)
		place_doubt(&name->place, names, now_ns);
}

void http_name_fini(struct http_name *name, const struct place_names *names)
{
	curl_slist_free_all(name->connect_to);
	place_fini(&name->place, names);
	*name = (struct http_name){ 0 };
}
