/* http_transfer.h - one target's requests: a libcurl handle that is kept, the answer's body, and
 * what became of it. */
#ifndef CR_COLLECTORS_HTTP_TRANSFER_H
#define CR_COLLECTORS_HTTP_TRANSFER_H

#include <curl/curl.h>

#include "http_settings.h"
#include "http_url.h"

struct http_transfer {
	const struct http_settings *settings;
	const struct source_request *request;
	CURL *easy;
	char *endpoint; /* for which easy is set up; its own copy */
	char *payload;  /* the request's body, its variables filled in; NULL: none */
	struct curl_slist *headers, *connect_to;
	char *body; /* body[len] is NUL; NULL: nothing has come yet */
	size_t len, capacity, header_len;
	bool is_too_big; /* the reason why we broke off */
	int64_t timeout_ns;
	char error[CURL_ERROR_SIZE];
};

/** Make an empty transfer, to be ended by http_transfer_fini(). */
void http_transfer_init(struct http_transfer *transfer, const struct http_settings *settings,
			const struct source_request *request);

/** Frees what init and prepare took. The handle must be in no multi handle any more. */
void http_transfer_fini(struct http_transfer *transfer);

/**
 * Get the handle ready for one request to target's endpoint that takes at most timeout_ns; user
 * comes back as CURLINFO_PRIVATE. Returns 0, or < 0 with failure (no URL that we take, no memory).
 */
int http_transfer_prepare(struct http_transfer *transfer, const struct cr_target *target,
			  int64_t timeout_ns, void *user, struct http_failure *failure);

/** It ended with this code: what came goes into sample as the answer to request index, or why
 * nothing did. The body is freed. Returns 0, -EPROTO (no good answer), or -ECONNABORTED: it makes
 * no sense to send this server another request now. */
int http_transfer_finish(struct http_transfer *transfer, CURLcode code,
			 struct source_sample *sample, size_t index);

#endif
