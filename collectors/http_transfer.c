/* http_transfer.c - one request with libcurl: how it is sent, bounded, and judged. */
#include "http_transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { HEADERS_MAX = 64 * 1024 };

void http_transfer_init(struct http_transfer *transfer, const struct http_settings *settings,
			const struct source_request *request)
{
	*transfer = (struct http_transfer){ .settings = settings, .request = request };
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
	curl_slist_free_all(transfer->headers);
	curl_slist_free_all(transfer->connect_to);
	free(transfer->payload);
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

#define set(option, value) (rc = rc ? rc : curl_easy_setopt(easy, option, value))

static CURLcode set_secrets(CURL *easy, const struct http_settings *settings)
{
	CURLcode rc = CURLE_OK;

	set(CURLOPT_SSL_VERIFYPEER, settings->verify_tls ? 1L : 0L);
	set(CURLOPT_SSL_VERIFYHOST, settings->verify_tls ? 2L : 0L);
	if (*settings->ca_file)
		set(CURLOPT_CAINFO, settings->ca_file);
	if (*settings->cert_file)
		set(CURLOPT_SSLCERT, settings->cert_file);
	if (*settings->key_file)
		set(CURLOPT_SSLKEY, settings->key_file);
	if (!settings->secret)
		return rc;
	if (settings->auth == SOURCE_AUTH_BEARER) {
		set(CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		set(CURLOPT_XOAUTH2_BEARER, settings->secret);
		return rc;
	}
	set(CURLOPT_HTTPAUTH,
	    settings->auth == SOURCE_AUTH_DIGEST ? (long)CURLAUTH_DIGEST : (long)CURLAUTH_BASIC);
	set(CURLOPT_USERNAME, settings->user);
	set(CURLOPT_PASSWORD, settings->secret);
	return rc;
}

static CURLcode set_payload(CURL *easy, const struct http_transfer *transfer)
{
	const struct source_request *request = transfer->request;
	CURLcode rc = CURLE_OK;

	set(CURLOPT_HTTPHEADER, transfer->headers);
	set(CURLOPT_CONNECT_TO, transfer->connect_to);
	if (strcmp(request->method, "POST") != 0)
		return rc;
	set(CURLOPT_POST, 1L);
	set(CURLOPT_POSTFIELDSIZE_LARGE,
	    (curl_off_t)(transfer->payload ? strlen(transfer->payload) : 0));
	set(CURLOPT_POSTFIELDS, transfer->payload ? transfer->payload : "");
	return rc;
}

static CURLcode set_request(CURL *easy, struct http_transfer *transfer)
{
	const struct http_settings *settings = transfer->settings;
	CURLcode rc = CURLE_OK;

	set(CURLOPT_PROTOCOLS_STR, "http,https");
	set(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	set(CURLOPT_FOLLOWLOCATION, 0L);
	set(CURLOPT_PROXY, ""); /* also: none from the environment */
	set(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	set(CURLOPT_NOSIGNAL, 1L);
	set(CURLOPT_QUICK_EXIT, 1L); /* or the end of a slow name lookup would be waited for */
	set(CURLOPT_USERAGENT, "callrouter");
	set(CURLOPT_ACCEPT_ENCODING, "gzip");
	set(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)settings->max_body);
	set(CURLOPT_OPENSOCKETFUNCTION, on_socket);
	set(CURLOPT_WRITEFUNCTION, on_body);
	set(CURLOPT_WRITEDATA, (void *)transfer);
	set(CURLOPT_HEADERFUNCTION, on_header);
	set(CURLOPT_HEADERDATA, (void *)transfer);
	set(CURLOPT_ERRORBUFFER, transfer->error);
	if (rc == CURLE_OK)
		rc = set_secrets(easy, settings);
	return rc ? rc : set_payload(easy, transfer);
}

#undef set

/* What is sent, with the server's name in it. */
static bool fill(struct http_transfer *transfer, const char *server)
{
	const struct source_request *request = transfer->request;
	struct curl_slist *headers;
	char *value, *line;

	curl_slist_free_all(transfer->headers);
	transfer->headers = NULL;
	free(transfer->payload);
	transfer->payload = request->body ? source_fill(request->body, server, false) : NULL;
	if (request->body && !transfer->payload)
		return false;
	for (size_t i = 0; i < request->n_headers; i++) {
		value = source_fill(request->header[i].value, server, false);
		if (!value || asprintf(&line, "%s: %s", request->header[i].name, value) < 0) {
			free(value);
			return false;
		}
		headers = curl_slist_append(transfer->headers, line);
		free(value);
		free(line);
		if (!headers)
			return false;
		transfer->headers = headers;
	}
	return true;
}

static char *make_url(struct http_transfer *transfer, const struct cr_target *target,
		      struct http_failure *failure)
{
	char *page = source_fill(transfer->request->path, target->name, true), *url = NULL;

	curl_slist_free_all(transfer->connect_to);
	transfer->connect_to = NULL;
	if (page && fill(transfer, target->name))
		url = http_url_make(target->endpoint, page, transfer->settings->server_name,
				    &transfer->connect_to, failure);
	else
		http_failure_set(failure, CR_CONNECT, "no memory for a request");
	free(page);
	return url;
}

/* Once per endpoint: everything that stays from poll to poll. */
static int set_up(struct http_transfer *transfer, const struct cr_target *target,
		  struct http_failure *failure)
{
	CURLcode rc = CURLE_OUT_OF_MEMORY;
	char *url;

	/* First: what the handle knows of the old one is gone even if this fails. */
	free(transfer->endpoint);
	transfer->endpoint = NULL;
	url = make_url(transfer, target, failure);
	if (!url)
		return -EPROTO;
	if (!transfer->easy)
		transfer->easy = curl_easy_init();
	if (transfer->easy)
		rc = set_request(transfer->easy, transfer);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(transfer->easy, CURLOPT_URL, url);
	curl_free(url);
	if (rc == CURLE_OK && !(transfer->endpoint = strdup(target->endpoint)))
		rc = CURLE_OUT_OF_MEMORY;
	return rc == CURLE_OK ? 0
			      : http_failure_set(failure, CR_CONNECT, "cannot set up libcurl: %s",
						 curl_easy_strerror(rc));
}

int http_transfer_prepare(struct http_transfer *transfer, const struct cr_target *target,
			  int64_t timeout_ns, void *user, struct http_failure *failure)
{
	if (!transfer->endpoint || strcmp(transfer->endpoint, target->endpoint) != 0) {
		int rc = set_up(transfer, target, failure);

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
		return http_failure_set(failure, CR_CONNECT, "cannot set up libcurl");
	return 0;
}

/*** The verdict ***/

static int judge_late(const struct http_transfer *transfer, struct http_failure *failure)
{
	long long ms = transfer->timeout_ns / 1000000;
	curl_off_t found_us = 0, sent_us = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_NAMELOOKUP_TIME_T, &found_us);
	if (found_us == 0)
		return http_failure_set(failure, CR_TIMEOUT,
					"the address of %.100s was not found within %lld ms",
					transfer->endpoint, ms);
	/* set as soon as the request can be sent, over a new connection or an old one */
	curl_easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
	if (sent_us == 0)
		return http_failure_set(failure, CR_TIMEOUT,
					"no connection to %.100s within %lld ms",
					transfer->endpoint, ms);
	if (transfer->header_len == 0)
		return http_failure_set(failure, CR_TIMEOUT,
					"connected, but no answer within %lld ms", ms);
	return http_failure_set(failure, CR_TIMEOUT,
				"no complete answer within %lld ms, only %zu bytes", ms,
				transfer->len);
}

static int judge_connect(const struct http_transfer *transfer, struct http_failure *failure)
{
	long os_errno = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &os_errno);
	return http_failure_set(failure, CR_CONNECT, "cannot connect to %.100s: %s",
				transfer->endpoint,
				os_errno ? strerrordesc_np((int)os_errno) : transfer->error);
}

static int judge_too_big(const struct http_transfer *transfer, struct http_failure *failure)
{
	return http_failure_set(failure, CR_REPLY, "the answer is larger than max_body (%zu bytes)",
				transfer->settings->max_body);
}

static int judge_code(const struct http_transfer *transfer, CURLcode code,
		      struct http_failure *failure)
{
	const char *text = *transfer->error ? transfer->error : curl_easy_strerror(code);

	if (transfer->is_too_big || code == CURLE_FILESIZE_EXCEEDED)
		return judge_too_big(transfer, failure);
	if (transfer->header_len > HEADERS_MAX)
		return http_failure_set(failure, CR_REPLY,
					"the answer has more than %d bytes of headers",
					HEADERS_MAX);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return judge_late(transfer, failure);
	if (code == CURLE_COULDNT_CONNECT)
		return judge_connect(transfer, failure);
	if (code == CURLE_COULDNT_RESOLVE_HOST)
		return http_failure_set(failure, CR_CONNECT, "no address is known for %.100s",
					transfer->endpoint);
	if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
		return http_failure_set(failure, CR_CONNECT,
					"its certificate is not trusted (see ca_file): %.120s",
					text);
	if (code == CURLE_SSL_CONNECT_ERROR)
		return http_failure_set(failure, CR_CONNECT, "no TLS connection: %.150s", text);
	if (code == CURLE_GOT_NOTHING)
		return http_failure_set(failure, CR_REPLY,
					"it closed the connection without an answer");
	return http_failure_set(failure, CR_REPLY, "no good answer: %.150s", text);
}

static int read_answer(const struct http_transfer *transfer, struct source_sample *sample,
		       size_t index)
{
	struct source_answer answer = { .bytes = transfer->body ? transfer->body : "",
					.len = transfer->len };
	char *location = NULL, *url = NULL, *type = NULL;
	int rc;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &answer.status);
	curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &location);
	curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, &url);
	curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
	answer.location = location;
	answer.url = url;
	answer.content_type = type;
	rc = source_extract(sample, index, &answer);
	/* Another try with the same password might lock the account. */
	return answer.status == 401 || answer.status == 403 ? -ECONNABORTED : rc;
}

void http_transfer_log(const struct http_transfer *transfer, const struct cr_host *host,
		       size_t index)
{
	char *location = NULL, *url = NULL, *type = NULL;
	long status = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &location);
	curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, &url);
	curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
	host->log(host, CR_DEBUG,
		  "answer\nrequest %zu\nstatus %ld\ntype %s\nlocation %s\nurl %s\n\n%.*s", index,
		  status, type ? type : "", location ? location : "", url ? url : "",
		  (int)transfer->len, transfer->body ? transfer->body : "");
}

int http_transfer_finish(struct http_transfer *transfer, CURLcode code,
			 struct source_sample *sample, size_t index)
{
	struct http_failure failure;
	int rc;

	if (code == CURLE_OK) {
		rc = read_answer(transfer, sample, index);
	} else {
		judge_code(transfer, code, &failure);
		source_fail(sample, index, failure.why, failure.text);
		rc = failure.why == CR_REPLY ? -EPROTO : -ECONNABORTED;
	}
	drop_body(transfer);
	return rc;
}
