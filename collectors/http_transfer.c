/* http_transfer.c - one GET with libcurl: how it is asked for, bounded, and judged. */
#include "http_transfer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { HEADERS_MAX = 64 * 1024 };

void http_transfer_init(struct http_transfer *transfer, const struct http_settings *settings)
{
	*transfer = (struct http_transfer){ .settings = settings };
}

static void drop_body(struct http_transfer *transfer)
{
	free(transfer->body);
	transfer->body = NULL;
	transfer->len = transfer->capacity = transfer->header_len = 0;
	transfer->is_too_big = false;
}

void http_transfer_fini(struct http_transfer *transfer)
{
	drop_body(transfer);
	curl_easy_cleanup(transfer->easy);
	free(transfer->endpoint);
	*transfer = (struct http_transfer){ 0 };
}

/*** What libcurl hands over ***/

static bool body_reserve(struct http_transfer *transfer, size_t more)
{
	size_t wanted = transfer->len + more + 1, capacity = transfer->capacity;
	char *body;

	if (wanted <= capacity)
		return true;
	if (capacity == 0)
		capacity = 4096;
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
		transfer->is_too_big = true;
		return 0;
	}
	if (!body_reserve(transfer, n))
		return 0;
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
	return transfer->header_len <= HEADERS_MAX ? n : 0;
}

/* libcurl's own sockets would be inherited by the programs that the daemon starts. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *to)
{
	(void)user, (void)purpose;
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/*** The request ***/

/* endpoint's base and the page's path, as a URL in curl's memory; NULL with reading */
static char *url_join(CURLU *url, const char *page, struct http_reading *reading)
{
	char *base = NULL, *query = NULL, *joined = NULL, *path = NULL;
	size_t page_len = strcspn(page, "?"), base_len;
	CURLUcode rc;

	if (curl_url_get(url, CURLUPART_QUERY, &query, 0) == CURLUE_OK) {
		http_reading_fail(reading, CR_CONNECT,
				  "the target must not hold a query (?%.60s); "
				  "use the option path",
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
		http_reading_fail(reading, CR_CONNECT, "cannot make a URL of target and path: %s",
				  curl_url_strerror(rc));
	free(path);
	curl_free(base);
	return joined;
}

static char *url_make(const char *endpoint, const char *page, struct http_reading *reading)
{
	CURLU *url = curl_url();
	char *scheme = NULL, *joined = NULL;
	CURLUcode rc = url ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;

	if (rc == CURLUE_OK)
		rc = curl_url_set(url, CURLUPART_URL, endpoint, CURLU_DISALLOW_USER);
	if (rc == CURLUE_OK)
		rc = curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
	if (rc == CURLUE_USER_NOT_ALLOWED)
		http_reading_fail(reading, CR_CONNECT,
				  "the target must not hold a user; use user and password_file");
	else if (rc != CURLUE_OK || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		http_reading_fail(reading, CR_CONNECT,
				  "\"%.100s\" is not an http:// or https:// URL", endpoint);
	else
		joined = url_join(url, page, reading);
	curl_free(scheme);
	curl_url_cleanup(url);
	return joined;
}

static CURLcode set_request(CURL *easy, struct http_transfer *transfer)
{
	const struct http_settings *settings = transfer->settings;
	CURLcode rc = CURLE_OK;

#define set(option, value) (rc = rc ? rc : curl_easy_setopt(easy, option, value))
	set(CURLOPT_PROTOCOLS_STR, "http,https");
	set(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	set(CURLOPT_FOLLOWLOCATION, 0L);
	set(CURLOPT_PROXY, ""); /* also: none from the environment */
	set(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	set(CURLOPT_NOSIGNAL, 1L);
	set(CURLOPT_QUICK_EXIT, 1L); /* or the end of a slow name lookup would be waited for */
	set(CURLOPT_HTTPHEADER, settings->headers);
	set(CURLOPT_USERAGENT, "callrouter");
	set(CURLOPT_ACCEPT_ENCODING, "gzip");
	set(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)settings->max_body);
	set(CURLOPT_SSL_VERIFYPEER, settings->verify_tls ? 1L : 0L);
	set(CURLOPT_SSL_VERIFYHOST, settings->verify_tls ? 2L : 0L);
	if (*settings->ca_file)
		set(CURLOPT_CAINFO, settings->ca_file);
	if (*settings->user) {
		set(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		set(CURLOPT_USERNAME, settings->user);
		set(CURLOPT_PASSWORD, settings->password);
	}
	set(CURLOPT_OPENSOCKETFUNCTION, on_socket);
	set(CURLOPT_WRITEFUNCTION, on_body);
	set(CURLOPT_WRITEDATA, (void *)transfer);
	set(CURLOPT_HEADERFUNCTION, on_header);
	set(CURLOPT_HEADERDATA, (void *)transfer);
	set(CURLOPT_ERRORBUFFER, transfer->error);
#undef set
	return rc;
}

/* Once per endpoint: everything that stays from poll to poll. */
static int set_up(struct http_transfer *transfer, const char *endpoint,
		  struct http_reading *reading)
{
	const struct http_settings *settings = transfer->settings;
	const char *page = *settings->path ? settings->path : settings->profile->path;
	char *url = url_make(endpoint, page, reading);
	CURLcode rc = CURLE_OUT_OF_MEMORY;

	if (!url)
		return -EPROTO;
	free(transfer->endpoint);
	transfer->endpoint = NULL;
	if (!transfer->easy)
		transfer->easy = curl_easy_init();
	if (transfer->easy)
		rc = set_request(transfer->easy, transfer);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(transfer->easy, CURLOPT_URL, url);
	curl_free(url);
	if (rc == CURLE_OK && !(transfer->endpoint = strdup(endpoint)))
		rc = CURLE_OUT_OF_MEMORY;
	return rc == CURLE_OK ? 0
			      : http_reading_fail(reading, CR_CONNECT, "cannot set up libcurl: %s",
						  curl_easy_strerror(rc));
}

int http_transfer_prepare(struct http_transfer *transfer, const char *endpoint, int64_t timeout_ns,
			  void *user, struct http_reading *reading)
{
	if (!transfer->endpoint || strcmp(transfer->endpoint, endpoint) != 0) {
		int rc = set_up(transfer, endpoint, reading);

		if (rc < 0)
			return rc;
	}
	drop_body(transfer);
	transfer->error[0] = '\0';
	if (timeout_ns < 1000000) /* libcurl takes 0 for "no limit" */
		timeout_ns = 1000000;
	transfer->timeout_ns = timeout_ns;
	if (curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, user) != CURLE_OK ||
	    curl_easy_setopt(transfer->easy, CURLOPT_TIMEOUT_MS,
			     (long)((timeout_ns + 999999) / 1000000)) != CURLE_OK)
		return http_reading_fail(reading, CR_CONNECT, "cannot set up libcurl");
	return 0;
}

/*** The verdict ***/

static int judge_late(const struct http_transfer *transfer, struct http_reading *reading)
{
	long long ms = transfer->timeout_ns / 1000000;
	curl_off_t found_us = 0, sent_us = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_NAMELOOKUP_TIME_T, &found_us);
	if (found_us == 0)
		return http_reading_fail(reading, CR_TIMEOUT,
					 "the address of %.100s was not found within %lld ms",
					 transfer->endpoint, ms);
	/* set as soon as the request can be sent, over a new connection or an old one */
	curl_easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
	if (sent_us == 0)
		return http_reading_fail(reading, CR_TIMEOUT,
					 "no connection to %.100s within %lld ms",
					 transfer->endpoint, ms);
	if (transfer->header_len == 0)
		return http_reading_fail(reading, CR_TIMEOUT,
					 "connected, but no answer within %lld ms", ms);
	return http_reading_fail(reading, CR_TIMEOUT,
				 "no complete answer within %lld ms, only %zu bytes", ms,
				 transfer->len);
}

static int judge_connect(const struct http_transfer *transfer, struct http_reading *reading)
{
	long os_errno = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &os_errno);
	return http_reading_fail(reading, CR_CONNECT, "cannot connect to %.100s: %s",
				 transfer->endpoint,
				 os_errno ? strerrordesc_np((int)os_errno) : transfer->error);
}

static int judge_too_big(const struct http_transfer *transfer, struct http_reading *reading)
{
	return http_reading_fail(reading, CR_REPLY,
				 "the answer is larger than max_body (%zu bytes)",
				 transfer->settings->max_body);
}

static int judge_code(const struct http_transfer *transfer, CURLcode code,
		      struct http_reading *reading)
{
	const char *text = *transfer->error ? transfer->error : curl_easy_strerror(code);

	if (transfer->is_too_big || code == CURLE_FILESIZE_EXCEEDED)
		return judge_too_big(transfer, reading);
	if (transfer->header_len > HEADERS_MAX)
		return http_reading_fail(reading, CR_REPLY,
					 "the answer has more than %d bytes of headers",
					 HEADERS_MAX);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return judge_late(transfer, reading);
	if (code == CURLE_COULDNT_CONNECT)
		return judge_connect(transfer, reading);
	if (code == CURLE_COULDNT_RESOLVE_HOST)
		return http_reading_fail(reading, CR_CONNECT, "no address is known for %.100s",
					 transfer->endpoint);
	if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
		return http_reading_fail(reading, CR_CONNECT,
					 "its certificate is not trusted (see ca_file): %.120s",
					 text);
	if (code == CURLE_SSL_CONNECT_ERROR)
		return http_reading_fail(reading, CR_CONNECT, "no TLS connection: %.150s", text);
	if (code == CURLE_GOT_NOTHING)
		return http_reading_fail(reading, CR_REPLY,
					 "it closed the connection without an answer");
	return http_reading_fail(reading, CR_REPLY, "no good answer: %.150s", text);
}

static int judge_status(const struct http_transfer *transfer, long status,
			struct http_reading *reading)
{
	const struct http_settings *settings = transfer->settings;
	char *url = NULL;

	if (status == 401 || status == 403)
		return http_reading_fail(reading, CR_AUTH,
					 "HTTP status %ld: check user and password_file; %s",
					 status, settings->profile->allow);
	if (status / 100 == 3) {
		curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &url);
		return http_reading_fail(reading, CR_REPLY,
					 "HTTP status %ld: redirected to %.100s; redirects are not "
					 "followed",
					 status, url ? url : "nowhere");
	}
	curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, &url);
	return http_reading_fail(reading, CR_REPLY, "HTTP status %ld for %.120s", status,
				 url ? url : transfer->endpoint);
}

/* What a stranger sent must not break a line of the log, nor be invalid UTF-8. */
static void clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

int http_transfer_finish(struct http_transfer *transfer, CURLcode code,
			 struct http_reading *reading)
{
	long status = 0;
	int rc;

	for (size_t i = 0; i < HTTP_METRICS_MAX; i++)
		reading->value[i] = (double)NAN;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (code != CURLE_OK)
		rc = judge_code(transfer, code, reading);
	else if (status != 200)
		rc = judge_status(transfer, status, reading);
	else
		rc = transfer->settings->profile->parse(transfer->body ? transfer->body : "",
							transfer->len, reading);
	if (rc < 0)
		clean(reading->text);
	drop_body(transfer);
	return rc;
}
