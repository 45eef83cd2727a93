/* bare_http.c - the least that polling with libcurl takes: one handle a target, its multi interface
 * with socket_action and one epoll descriptor, the question of the profile jolokia. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <curl/curl.h>

#include "bare.h"
#include "responder.h"

#define EVENTS 256

static struct bare bare;
static int epoll;

/** A multi handle with its share of the pages. */
struct share {
	CURLM *multi;
	int64_t timer_ns;
};

static struct share *share;
static uint32_t n_shares;

struct page {
	struct share *share;
	CURL *easy;
	size_t len;
	char bytes[1024];
};

static size_t on_body(const char *bytes, size_t one, size_t n, void *user)
{
	struct page *page = user;

	(void)one;
	if (n > sizeof page->bytes - page->len)
		return 0;
	memcpy(page->bytes + page->len, bytes, n);
	page->len += n;
	return n;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
	struct share *own = user;
	struct epoll_event event = { .data.u64 = (uint64_t)(own - share) << 32 | (uint32_t)fd };

	(void)easy;
	if (what == CURL_POLL_REMOVE)
		return (int)(epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event) & 0);
	event.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) |
		       (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
	if (known == NULL)
		curl_multi_assign(own->multi, fd, own);
	return epoll_ctl(epoll, known == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0 ? -1
											       : 0;
}

static int on_timer(CURLM *multi, long ms, void *user)
{
	struct share *own = user;

	(void)multi;
	own->timer_ns = ms < 0 ? INT64_MAX : responder_now_ns() + (int64_t)ms * 1000000;
	return 0;
}

static bool open_page(struct page *page, uint32_t index)
{
	const uint32_t address = responder_address(bare.first + index);
	const uint8_t *byte = (const uint8_t *)&address;
	char url[160];

	snprintf(url, sizeof url,
		 "http://%u.%u.%u.%u:%u/jolokia/read/java.lang:type=Memory/HeapMemoryUsage",
		 byte[0], byte[1], byte[2], byte[3], (unsigned)bare.port);
	page->share = &share[bare.share > 0 ? index / bare.share : 0];
	page->easy = curl_easy_init();
	if (bare.share > 0)
		curl_easy_setopt(page->easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	return page->easy != NULL && curl_easy_setopt(page->easy, CURLOPT_URL, url) == CURLE_OK &&
	       curl_easy_setopt(page->easy, CURLOPT_PROXY, "") == CURLE_OK &&
	       curl_easy_setopt(page->easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(page->easy, CURLOPT_TIMEOUT_MS, 500L) == CURLE_OK &&
	       curl_easy_setopt(page->easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
	       curl_easy_setopt(page->easy, CURLOPT_WRITEDATA, page) == CURLE_OK;
}

static void ask(struct page *page)
{
	page->len = 0;
	curl_multi_add_handle(page->share->multi, page->easy);
	bare.asked++;
}

static void reap(CURLM *multi)
{
	const CURLMsg *message;
	int unused;

	while ((message = curl_multi_info_read(multi, &unused)) != NULL) {
		CURL *easy = message->easy_handle;

		bare.answered += message->data.result == CURLE_OK;
		curl_multi_remove_handle(multi, easy);
	}
}

static bool prepare(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	epoll = epoll_create1(0);
	n_shares = bare.share > 0 ? (bare.n + bare.share - 1) / bare.share : 1;
	share = calloc(n_shares, sizeof *share);
	for (uint32_t i = 0; share != NULL && i < n_shares; i++) {
		CURLM *multi = curl_multi_init();

		share[i] = (struct share){ .multi = multi, .timer_ns = INT64_MAX };
		curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
		curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &share[i]);
		curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
		curl_multi_setopt(multi, CURLMOPT_TIMERDATA, &share[i]);
		curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)bare.n + 16);
	}
	return share != NULL;
}

static int wait_ms(void)
{
	const int ms = bare_wait_ms(&bare);
	int64_t first_ns = INT64_MAX, left_ns;

	for (uint32_t i = 0; i < n_shares; i++)
		if (share[i].timer_ns < first_ns)
			first_ns = share[i].timer_ns;
	left_ns = first_ns - responder_now_ns();
	if (first_ns == INT64_MAX || left_ns / 1000000 >= ms)
		return ms;
	return left_ns <= 0 ? 0 : (int)(left_ns / 1000000) + 1;
}

static void serve(const struct epoll_event *event, int n)
{
	int unused;

	for (int i = 0; i < n; i++) {
		CURLM *multi = share[event[i].data.u64 >> 32].multi;

		curl_multi_socket_action(
			multi, (curl_socket_t)(uint32_t)event[i].data.u64,
			(event[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
				(event[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0),
			&unused);
		reap(multi);
	}
}

static void serve_timers(void)
{
	const int64_t now_ns = responder_now_ns();
	int unused;

	for (uint32_t i = 0; i < n_shares; i++) {
		if (share[i].timer_ns > now_ns)
			continue;
		share[i].timer_ns = INT64_MAX;
		curl_multi_socket_action(share[i].multi, CURL_SOCKET_TIMEOUT, 0, &unused);
		reap(share[i].multi);
	}
}

int main(int argc, char **argv)
{
	struct epoll_event event[EVENTS];
	struct page *page;

	if (!bare_read(&bare, argc, argv))
		return 2;
	page = calloc(bare.n, sizeof *page);
	if (page == NULL || !prepare())
		return 1;
	for (uint32_t i = 0; i < bare.n; i++)
		if (!open_page(&page[i], i))
			return 1;
	bare.began_ns = responder_now_ns();
	while (bare_goes_on(&bare)) {
		int64_t next;

		serve(event, epoll_wait(epoll, event, EVENTS, wait_ms()));
		while ((next = bare_next(&bare)) >= 0)
			ask(&page[next]);
		serve_timers();
	}
	return 0;
}
