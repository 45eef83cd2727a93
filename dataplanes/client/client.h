/* client.h - one call over HTTP, placed where libcallrouter says. */
#ifndef CR_CLIENT_H
#define CR_CLIENT_H

#include <curl/curl.h>

#include <callrouter/callrouter.h>

/** How a call went. */
struct client_result {
	const struct cr_server *server; /* that served it; NULL: none did */
	bool is_failover;               /* it was not the first that was asked */
	enum cr_decided decided;
	enum cr_reason reason;
	int64_t latency_ns; /* of the server that served it */
};

/** A handle for client_call(), for one thread; freed by curl_easy_cleanup(). NULL: no memory. [any]
 */
CURL *client_new(void);

/** Place one call of a service: GET http://SERVER/path, server by server until one has served it.
 * cost_bytes: the heap it is expected to take there; 0: unknown. [call] */
struct client_result client_call(struct cr_thread *thread, int service, CURL *curl,
				 const char *path, int64_t cost_bytes);

#endif
