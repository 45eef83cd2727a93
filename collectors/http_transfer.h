/* http_transfer.h - what a target is asked, and one request under way: a libcurl handle, the
 * answer's body, and what became of it. */
#ifndef CR_COLLECTORS_HTTP_TRANSFER_H
#define CR_COLLECTORS_HTTP_TRANSFER_H

#include <sys/queue.h>

#include <curl/curl.h>

#include "http_name.h"
#include "http_settings.h"
#include "http_url.h"

/** One request to one target, its variables filled in: kept from poll to poll. Zeroed at first
 * but for name. */
struct http_page {
	char *endpoint; /* for which it is filled in; its own copy; NULL: not yet */
	char *url;
	CURLU *parts;  /* of url, which libcurl would take apart in each poll */
	char *payload; /* the request's body; NULL: none */
	struct curl_slist *headers;
	struct http_name *name; /* where its host is; the target's, set before */
};

/** Why we broke an answer off. */
enum http_cut {
	HTTP_CUT_NONE = 0,
	HTTP_CUT_BODY,    /* its body is too large */
	HTTP_CUT_HEADERS, /* there are too many headers */
	HTTP_CUT_RAW,     /* too many bytes came for the body that they made */
	HTTP_CUT_MEMORY,
};

/** Any request: handles are dear, and only as many are kept as there are polls at once. */
struct http_transfer {
	SLIST_ENTRY(http_transfer) next;
	const struct http_settings *settings;
	const struct source_request *request;
	const struct http_page *page; /* of the request under way */
	CURL *easy;
	char *body; /* of len bytes and a NUL, if len is not 0 */
	size_t len, capacity, header_len;
	size_t n_visits, raw_len; /* libcurl's looks at it; bytes behind the headers, if counted */
	enum http_cut cut;
	bool is_proven; /* digest: the server has taken an answer to the challenge in the handle */
	int64_t timeout_ns;
	char error[CURL_ERROR_SIZE];
};

/** Fill page in for target, unless it is. Returns 0, or < 0 with failure (no URL that we take, no
 * memory). [own] */
int http_page_fill(struct http_page *page, const struct http_settings *settings,
		   const struct source_request *request, const struct cr_target *target,
		   struct http_failure *failure);

/** Free what it holds. [own] */
void http_page_fini(struct http_page *page);

/** Transfers that nobody uses; zeroed at first. */
struct http_spares {
	SLIST_HEAD(http_transfers, http_transfer) list;
	size_t n;
};

/** One of them, or a new one; NULL without memory. [own] */
struct http_transfer *http_transfer_take(struct http_spares *spares,
					 const struct http_settings *settings);

/** Takes *transfer (NULL: none), which is in no multi handle, for the next one; *transfer is NULL
 * afterwards. But one that has logged on by digest stays where it is. [own] */
void http_transfer_give(struct http_spares *spares, struct http_transfer **transfer);

/** The handle must be in no multi handle. [own] */
void http_transfer_free(struct http_transfer *transfer);
void http_transfer_free_all(struct http_spares *spares);

/**
 * Get the handle ready to send page, which is the source's request, once, in at most timeout_ns;
 * user comes back as CURLINFO_PRIVATE. page: unchanged until the transfer is used for another.
 * Returns 0, or < 0 with failure. [own]
 */
int http_transfer_prepare(struct http_transfer *transfer, const struct source_request *request,
			  const struct http_page *page, int64_t timeout_ns, void *user,
			  struct http_failure *failure);

/** Log at level debug what came, if anything did: lines "request 0", "status 200", "type ...",
 * "location ...", "url ...", an empty one, and the body. A text ends at a NUL: if there is one in
 * the body, a line "escaped" stands before the empty one, each NUL is a "\\0" and each "\\" a
 * "\\\\". */
void http_transfer_log(const struct http_transfer *transfer, const struct cr_host *host,
		       size_t index);

/**
 * It ended with this code. Has the server refused an answer to a challenge that it took before, and
 * not said that it has expired? So does one that has started again. Returns true if the request is
 * to be sent once more: the handle is a new one that knows no challenge. [own]
 */
bool http_transfer_renew(struct http_transfer *transfer, CURLcode code);

/** It ended with this code: what came goes into sample as the answer to request index, or why
 * nothing did. The body is freed. Returns 0, -EPROTO (no good answer), or -ECONNABORTED: it makes
 * no sense to send this server another request now. [own] */
int http_transfer_finish(struct http_transfer *transfer, CURLcode code,
			 struct source_sample *sample, size_t index);

#endif
