/* http_transfer.c - requests with libcurl: how they are sent, bounded, and judged. */
#include "http_transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errno_words.h"
#include "files.h"
#include "http_intake.h"
#include "http_words.h"

enum { SPARES_MAX = 64 };

static bool is_by_digest(const struct http_settings *settings)
{
	return settings->has_secret && settings->auth == SOURCE_AUTH_DIGEST;
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
	if (!settings->has_secret)
		return rc;
	if (settings->auth == SOURCE_AUTH_BEARER) {
		set(CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		set(CURLOPT_XOAUTH2_BEARER, settings->secret.text);
		return rc;
	}
	set(CURLOPT_HTTPAUTH,
	    settings->auth == SOURCE_AUTH_DIGEST ? (long)CURLAUTH_DIGEST : (long)CURLAUTH_BASIC);
	set(CURLOPT_USERNAME, settings->user);
	set(CURLOPT_PASSWORD, settings->secret.text);
	return rc;
}

/* Everything that is the same for all requests of the source. */
static CURLcode set_source(CURL *easy, struct http_transfer *transfer)
{
	const struct http_settings *settings = transfer->settings;
	CURLcode rc = CURLE_OK;

	set(CURLOPT_PROTOCOLS_STR, "http,https");
	set(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	set(CURLOPT_FOLLOWLOCATION, 0L);
	set(CURLOPT_PROXY, ""); /* also: none from the environment */
	set(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	set(CURLOPT_NOSIGNAL, 1L);
	set(CURLOPT_USERAGENT, "callrouter");
	set(CURLOPT_ACCEPT_ENCODING, "gzip");
	/* libcurl looks through all that it knows of names whenever a transfer ends. */
	set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	rc = rc ? rc : http_intake_set(easy, transfer);
	return rc ? rc : set_secrets(easy, settings);
}

static CURLcode set_page(CURL *easy, const struct source_request *request,
			 const struct http_page *page)
{
	CURLcode rc = CURLE_OK;

	set(CURLOPT_URL, page->url); /* what it says that it has asked, and asks again */
	set(CURLOPT_CURLU, page->parts);
	set(CURLOPT_HTTPHEADER, page->headers);
	if (strcmp(request->method, "POST") != 0) {
		set(CURLOPT_HTTPGET, 1L);
		return rc;
	}
	set(CURLOPT_POST, 1L);
	set(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(page->payload ? strlen(page->payload) : 0));
	set(CURLOPT_POSTFIELDS, page->payload ? page->payload : "");
	return rc;
}

void http_transfer_free(struct http_transfer *transfer)
{
	if (!transfer)
		return;
	free(transfer->body);
	curl_easy_cleanup(transfer->easy);
	free(transfer);
}

static struct http_transfer *transfer_new(const struct http_settings *settings)
{
	struct http_transfer *transfer = calloc(1, sizeof *transfer);

	if (!transfer)
		return NULL;
	transfer->settings = settings;
	transfer->easy = curl_easy_init();
	if (transfer->easy && set_source(transfer->easy, transfer) == CURLE_OK)
		return transfer;
	http_transfer_free(transfer);
	return NULL;
}

struct http_transfer *http_transfer_take(struct http_spares *spares,
					 const struct http_settings *settings)
{
	struct http_transfer *transfer = SLIST_FIRST(&spares->list);

	if (!transfer)
		return transfer_new(settings);
	SLIST_REMOVE_HEAD(&spares->list, next);
	spares->n--;
	return transfer;
}

void http_transfer_give(struct http_spares *spares, struct http_transfer **transfer)
{
	struct http_transfer *given = *transfer;

	/* another server would refuse the answer to the challenge that libcurl keeps in it */
	if (!given || is_by_digest(given->settings))
		return;
	*transfer = NULL;
	if (spares->n >= SPARES_MAX) {
		http_transfer_free(given);
		return;
	}
	SLIST_INSERT_HEAD(&spares->list, given, next);
	spares->n++;
}

void http_transfer_free_all(struct http_spares *spares)
{
	struct http_transfer *transfer;

	while ((transfer = SLIST_FIRST(&spares->list))) {
		SLIST_REMOVE_HEAD(&spares->list, next);
		http_transfer_free(transfer);
	}
	spares->n = 0;
}

int http_transfer_prepare(struct http_transfer *transfer, const struct source_request *request,
			  const struct http_page *page, int64_t timeout_ns, void *user,
			  struct http_failure *failure)
{
	CURL *easy = transfer->easy;
	CURLcode rc = CURLE_OK;

	http_intake_begin(transfer);
	transfer->request = request;
	transfer->page = page;
	if (timeout_ns < 1000000) /* libcurl takes 0 for "no limit" */
		timeout_ns = 1000000;
	transfer->timeout_ns = timeout_ns;
	set(CURLOPT_PRIVATE, user);
	set(CURLOPT_TIMEOUT_MS, (long)((timeout_ns + 999999) / 1000000));
	rc = rc ? rc : set_page(easy, request, page);
	rc = rc ? rc : http_name_set(page->name, easy, timeout_ns);
	return rc == CURLE_OK ? 0
			      : http_failure_set(failure, CR_CONNECT, "cannot set up libcurl: %s",
						 curl_easy_strerror(rc));
}

#undef set

/*** What is asked ***/

void http_page_fini(struct http_page *page)
{
	for (struct curl_slist *header = page->headers; header; header = header->next)
		explicit_bzero(header->data, strlen(header->data)); /* one may be a secret */
	curl_slist_free_all(page->headers);
	curl_url_cleanup(page->parts);
	curl_free(page->url);
	free(page->payload);
	free(page->endpoint);
	page->parts = NULL;
	page->headers = NULL;
	page->url = page->payload = page->endpoint = NULL;
}

/* What became of filling text in, for the operator. */
static int judge_fill(int rc, const char *what, struct http_failure *failure)
{
	if (rc == -ENOENT)
		return http_failure_set(failure, CR_CONNECT,
					"%s names a variable that this server does not have", what);
	return rc < 0 ? http_failure_set(failure, CR_CONNECT, "no memory for a request") : 0;
}

static int add_header(struct http_page *page, const char *name, const char *value)
{
	struct curl_slist *headers = NULL;
	char *line;

	if (asprintf(&line, "%s: %s", name, value) < 0)
		return -ENOMEM;
	headers = curl_slist_append(page->headers, line);
	explicit_bzero(line, strlen(line));
	free(line);
	if (!headers)
		return -ENOMEM;
	page->headers = headers;
	return 0;
}

static int fill_headers(struct http_page *page, const struct http_settings *settings,
			const struct source_request *request, const struct cr_target *target)
{
	char *value;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < request->n_headers; i++) {
		rc = source_fill(request->header[i].value, target, SOURCE_ESCAPE_NONE, &value);
		if (rc == 0)
			rc = add_header(page, request->header[i].name, value);
		free(value);
	}
	if (rc == 0 && *settings->secret_header)
		rc = add_header(page, settings->secret_header, settings->header_secret.text);
	return rc;
}

static int fill(struct http_page *page, const struct http_settings *settings,
		const struct source_request *request, const struct cr_target *target,
		struct http_failure *failure)
{
	char *path = NULL;
	int rc = 0;

	if (request->body)
		rc = judge_fill(
			source_fill(request->body, target, request->body_escape, &page->payload),
			"body", failure);
	if (rc == 0)
		rc = judge_fill(fill_headers(page, settings, request, target), "a header", failure);
	if (rc == 0)
		rc = judge_fill(source_fill(request->path, target, SOURCE_ESCAPE_URL, &path),
				"path or query", failure);
	if (rc < 0)
		return rc;
	page->url = http_url_make(target->endpoint, path, settings->server_name, failure);
	free(path);
	page->parts = page->url ? http_url_parts(page->url, failure) : NULL;
	return page->parts ? 0 : -EPROTO;
}

int http_page_fill(struct http_page *page, const struct http_settings *settings,
		   const struct source_request *request, const struct cr_target *target,
		   struct http_failure *failure)
{
	if (page->endpoint && strcmp(page->endpoint, target->endpoint) == 0)
		return 0;
	http_page_fini(page);
	if (fill(page, settings, request, target, failure) == 0) {
		page->endpoint = strdup(target->endpoint);
		if (page->endpoint)
			return 0;
		http_failure_set(failure, CR_CONNECT, "no memory for a request");
	}
	http_page_fini(page);
	return -EPROTO;
}

/*** The verdict ***/

static int judge_late(const struct http_transfer *transfer, struct http_failure *failure)
{
	long long ms = transfer->timeout_ns / 1000000;
	char shown[64];

	if (!http_name_is_reached(transfer->easy))
		return http_failure_set(
			failure, CR_TIMEOUT, "no connection to %.100s%s within %lld ms",
			transfer->page->endpoint,
			place_show(&transfer->page->name->place, shown, sizeof shown), ms);
	if (transfer->header_len == 0)
		return http_failure_set(failure, CR_TIMEOUT,
					"connected, but no answer within %lld ms", ms);
	return http_failure_set(failure, CR_TIMEOUT,
				"no complete answer within %lld ms, only %zu byte%s", ms,
				transfer->len, transfer->len == 1 ? "" : "s");
}

static int judge_connect(const struct http_transfer *transfer, struct http_failure *failure)
{
	const int code = transfer->page->name->code;
	long os_errno = -code;
	char shown[64];

	if (files_are_short(code)) {
		failure->why = CR_CONNECT;
		files_explain(code, failure->text, sizeof failure->text);
		return -EPROTO;
	}
	if (code == 0)
		curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &os_errno);
	return http_failure_set(failure, CR_CONNECT, "cannot connect to %.100s%s: %s",
				transfer->page->endpoint,
				place_show(&transfer->page->name->place, shown, sizeof shown),
				os_errno ? errno_words((int)os_errno) : transfer->error);
}

static int judge_code(const struct http_transfer *transfer, CURLcode code,
		      struct http_failure *failure)
{
	if (http_intake_judge(transfer, code, failure))
		return -EPROTO;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return judge_late(transfer, failure);
	if (code == CURLE_COULDNT_CONNECT)
		return judge_connect(transfer, failure);
	if (code == CURLE_COULDNT_RESOLVE_HOST)
		return http_failure_set(failure, CR_CONNECT, "no address is known for %.100s",
					transfer->page->endpoint);
	return http_words_set(code, *transfer->error ? transfer->error : curl_easy_strerror(code),
			      failure);
}

static int read_answer(const struct http_transfer *transfer, struct source_sample *sample,
		       size_t index)
{
	struct source_answer answer = { .bytes = transfer->len > 0 ? transfer->body : "",
					.len = transfer->len,
					.shown = http_settings_shown(transfer->settings) };
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

bool http_transfer_renew(struct http_transfer *transfer, CURLcode code)
{
	long status = 0;
	CURL *easy;

	if (!transfer->is_proven || code != CURLE_OK)
		return false;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status != 401)
		return false;
	transfer->is_proven = false; /* once: with a wrong password it would be an attack */
	easy = curl_easy_init();
	if (!easy || set_source(easy, transfer) != CURLE_OK) {
		curl_easy_cleanup(easy);
		return false;
	}
	curl_easy_cleanup(transfer->easy);
	transfer->easy = easy;
	http_intake_drop(transfer);
	return true;
}

/* The body with "\\0" for each NUL and "\\\\" for each "\\", or NULL without memory. */
static char *escape_nuls(const struct http_transfer *transfer)
{
	char *escaped = malloc(2 * transfer->len + 1), *to = escaped;

	for (size_t i = 0; escaped && i < transfer->len; i++) {
		const char byte = transfer->body[i];

		if (byte == '\0' || byte == '\\')
			*to++ = '\\';
		*to++ = (char)(byte == '\0' ? '0' : byte);
	}
	if (escaped)
		*to = '\0';
	return escaped;
}

void http_transfer_log(const struct http_transfer *transfer, const struct cr_host *host,
		       size_t index)
{
	const bool has_nul = transfer->len > 0 && memchr(transfer->body, '\0', transfer->len);
	char *escaped = has_nul ? escape_nuls(transfer) : NULL;
	const char *body = transfer->len > 0 ? transfer->body : "";
	char *location = NULL, *url = NULL, *type = NULL;
	long status = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &location);
	curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, &url);
	curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
	host->log(host, CR_DEBUG,
		  "answer\nrequest %zu\nstatus %ld\ntype %s\nlocation %s\nurl %s\n%s\n%s", index,
		  status, type ? type : "", location ? location : "", url ? url : "",
		  escaped ? "escaped\n" : "", escaped ? escaped : body);
	free(escaped);
}

int http_transfer_finish(struct http_transfer *transfer, CURLcode code,
			 struct source_sample *sample, size_t index)
{
	struct http_failure failure;
	int rc;

	if (code == CURLE_OK) {
		rc = read_answer(transfer, sample, index);
		transfer->is_proven = is_by_digest(transfer->settings) && rc != -ECONNABORTED;
	} else {
		judge_code(transfer, code, &failure);
		source_fail(sample, index, failure.why, failure.text);
		rc = failure.why == CR_REPLY ? -EPROTO : -ECONNABORTED;
	}
	http_intake_drop(transfer);
	return rc;
}
