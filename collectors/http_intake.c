/* http_intake.c - takes an answer in, and counts what it costs. */
#include "http_intake.h"

#include <stdlib.h>
#include <string.h>

enum {
	HEADERS_MAX = 64 * 1024,
	BODY_FIRST = 4096,
	BODY_KEPT = 64 * 1024, /* a larger one is not kept for the next answer */
	VISITS_FREE = 16,      /* libcurl's looks at a transfer before its bytes are counted */
};

/* Bytes behind the headers, as they came: packed, in chunks, with what the chunks say of
 * themselves. An answer in good faith has no more of those than of its body. */
static size_t raw_max(const struct http_transfer *transfer)
{
	return 2 * transfer->settings->max_body + HEADERS_MAX;
}

static bool body_reserve(struct http_transfer *transfer, size_t more)
{
	size_t wanted = transfer->len + more + 1, capacity = transfer->capacity;
	char *body;

	if (wanted <= capacity)
		return true;
	if (capacity == 0)
		capacity = BODY_FIRST;
	while (capacity < wanted)
		capacity *= 2;
	body = realloc(transfer->body, capacity);
	if (!body)
		return false;
	transfer->body = body;
	transfer->capacity = capacity;
	return true;
}

/* Sees decoded bytes, so that a small answer that unfolds into a large one is noticed. */
static size_t on_body(const char *bytes, size_t one, size_t n, void *user)
{
	struct http_transfer *transfer = user;

	(void)one;
	if (n > transfer->settings->max_body - transfer->len) {
		transfer->cut = HTTP_CUT_BODY;
		return 0;
	}
	if (!body_reserve(transfer, n)) {
		transfer->cut = HTTP_CUT_MEMORY;
		return 0;
	}
	memcpy(transfer->body + transfer->len, bytes, n);
	transfer->len += n;
	transfer->body[transfer->len] = '\0';
	return n;
}

static size_t on_header(const char *bytes, size_t one, size_t n, void *user)
{
	struct http_transfer *transfer = user;

	(void)bytes, (void)one;
	transfer->header_len += n;
	if (transfer->header_len <= HEADERS_MAX)
		return n;
	transfer->cut = HTTP_CUT_HEADERS;
	return 0;
}

/* The header of a chunk, that of gzip's data and blocks without data in it can go on for ever, and
 * no callback sees them but the one for people who look for faults. It makes libcurl write many
 * texts, and so it is switched on only if an answer comes in many pieces.
 * The type is libcurl's. NOLINTNEXTLINE(readability-non-const-parameter) */
static int on_raw(CURL *easy, curl_infotype type, char *bytes, size_t n, void *user)
{
	struct http_transfer *transfer = user;

	(void)easy, (void)bytes;
	if (type == CURLINFO_DATA_IN)
		transfer->raw_len += n;
	return 0;
}

/* After each of libcurl's looks at a transfer, which reads 1.6 MB at most. */
static int on_visit(void *user, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
		    curl_off_t up)
{
	struct http_transfer *transfer = user;

	(void)down_all, (void)down, (void)up_all, (void)up;
	if (++transfer->n_visits == VISITS_FREE)
		curl_easy_setopt(transfer->easy, CURLOPT_VERBOSE, 1L);
	if (transfer->raw_len <= raw_max(transfer))
		return 0;
	transfer->cut = HTTP_CUT_RAW;
	return 1;
}

#define set(option, value) (rc = rc ? rc : curl_easy_setopt(easy, option, value))

CURLcode http_intake_set(CURL *easy, struct http_transfer *transfer)
{
	void *user = transfer;
	CURLcode rc = CURLE_OK;

	set(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)transfer->settings->max_body);
	set(CURLOPT_WRITEFUNCTION, on_body);
	set(CURLOPT_WRITEDATA, user);
	set(CURLOPT_HEADERFUNCTION, on_header);
	set(CURLOPT_HEADERDATA, user);
	set(CURLOPT_DEBUGFUNCTION, on_raw);
	set(CURLOPT_DEBUGDATA, user);
	set(CURLOPT_XFERINFOFUNCTION, on_visit);
	set(CURLOPT_XFERINFODATA, user);
	set(CURLOPT_NOPROGRESS, 0L);
	set(CURLOPT_ERRORBUFFER, transfer->error);
	return rc;
}

#undef set

void http_intake_drop(struct http_transfer *transfer)
{
	if (transfer->capacity > BODY_KEPT) {
		free(transfer->body);
		transfer->body = NULL;
		transfer->capacity = 0;
	}
	transfer->len = 0;
}

void http_intake_begin(struct http_transfer *transfer)
{
	http_intake_drop(transfer);
	if (transfer->n_visits >= VISITS_FREE)
		curl_easy_setopt(transfer->easy, CURLOPT_VERBOSE, 0L);
	transfer->header_len = transfer->raw_len = 0;
	transfer->n_visits = 0;
	transfer->cut = HTTP_CUT_NONE;
	transfer->error[0] = '\0';
}

/* libcurl takes no line of more than 100 KiB, and says that it has no memory for it. */
static bool is_long_line(const struct http_transfer *transfer, CURLcode code)
{
	curl_off_t began_us = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_STARTTRANSFER_TIME_T, &began_us);
	return code == CURLE_OUT_OF_MEMORY && began_us > 0;
}

bool http_intake_judge(const struct http_transfer *transfer, CURLcode code,
		       struct http_failure *failure)
{
	enum http_cut cut = transfer->cut;

	if (code == CURLE_FILESIZE_EXCEEDED)
		cut = HTTP_CUT_BODY;
	else if (is_long_line(transfer, code))
		cut = HTTP_CUT_HEADERS;
	switch (cut) {
	case HTTP_CUT_NONE:
		return false;
	case HTTP_CUT_BODY:
		http_failure_set(failure, CR_REPLY,
				 "the answer is larger than max_body (%zu bytes)",
				 transfer->settings->max_body);
		break;
	case HTTP_CUT_HEADERS:
		http_failure_set(failure, CR_REPLY, "the answer has more than %d bytes of headers",
				 HEADERS_MAX);
		break;
	case HTTP_CUT_RAW:
		http_failure_set(
			failure, CR_REPLY,
			"broken off: more than %zu bytes came, and only %zu of them are "
			"the answer's body (a chunk's header, or packed data, without end)",
			raw_max(transfer), transfer->len);
		break;
	case HTTP_CUT_MEMORY:
		http_failure_set(failure, CR_CONNECT, "no memory for the answer");
		break;
	}
	return true;
}
