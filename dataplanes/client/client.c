/* client.c - one call over HTTP, placed where libcallrouter says: how a program embeds it. */
#include "client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The type is libcurl's. NOLINTNEXTLINE(readability-non-const-parameter) */
static size_t ignore(char *data, size_t size, size_t n, void *arg)
{
	(void)data;
	(void)arg;
	return size * n;
}

CURL *client_new(void)
{
	CURL *curl = curl_easy_init();

	if (curl == NULL)
		return NULL;
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, 1000L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 5000L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
	return curl;
}

/** One request to one server. The outcome is what others want to know about that server: a 4xx is
 * the caller's fault, not the server's. */
static enum cr_outcome contact(CURL *curl, const struct cr_server *server, const char *path)
{
	char url[1024];
	long status = 0;
	CURLcode code;

	(void)snprintf(url, sizeof url, "http://%s%s", server->address, path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	code = curl_easy_perform(curl);
	if (code == CURLE_COULDNT_CONNECT)
		return CR_REFUSED_CONNECTION;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return CR_TIMED_OUT;
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return code == CURLE_OK && status < 500 ? CR_OK : CR_FAILED;
}

struct client_result client_call(struct cr_thread *thread, int service, CURL *curl,
				 const char *path, int64_t cost_bytes)
{
	struct cr_call call = { .method = { path, strlen(path) },
				.cost_bytes = cost_bytes,
				.primary = CR_NONE,
				.secondary = CR_NONE };
	struct client_result result = { .latency_ns = -1 };
	enum cr_outcome outcome = CR_ABANDONED;
	const struct cr_server *server;
	struct cr_ticket ticket;
	int64_t began_ns = 0;

	cr_call_now(thread, &call);
	cr_route(thread, service, &call, &ticket);
	for (server = cr_first(&ticket); server != NULL;
	     server = cr_next(thread, &ticket, outcome)) {
		began_ns = now_ns();
		outcome = contact(curl, server, path);
		if (outcome == CR_OK)
			break;
	}
	if (server != NULL)
		result.latency_ns = now_ns() - began_ns;
	cr_end(thread, &ticket, outcome, result.latency_ns);
	result.server = server;
	result.is_failover = server != NULL && server != cr_first(&ticket);
	result.decided = ticket.decided;
	result.reason = ticket.reason;
	return result;
}
