/* http_scene.h - the collector "http" and one web server: what its tests have in common. */
#ifndef CR_TESTS_HTTP_SCENE_H
#define CR_TESTS_HTTP_SCENE_H

#include <string.h>

#include <criterion/criterion.h>

#include "lab/collector_host.h"
#include "lab/fake_http.h"
#include "lab/lab_open.h"

static struct fake_http *web;
static struct collector_host *host;
static char err[512];

static inline void open_web(void)
{
	web = fake_http_new();
	cr_assert(web);
}

static inline void open_host(const char *const *settings)
{
	host = lab_open(&cr_collector_1, "src", settings, err, sizeof err);
	cr_assert(host, "%s", err);
}

/* Expects that the collector has kept the rules of the host, if it was opened. */
static inline void close_all(void)
{
	if (host)
		cr_expect(!collector_host_fault(host), "%s", collector_host_fault(host));
	collector_host_close(host);
	fake_http_free(web);
}

/* One poll that ends within its own deadline. */
static inline const struct collector_poll *poll_once(int target)
{
	cr_assert_eq(collector_host_poll(host, 5000 * CH_MS, 20000 * CH_MS), 0);
	return collector_host_last(host, target);
}

/* Does the newest request hold this text? */
static inline bool was_asked(const char *text)
{
	char head[8192];

	return strstr(fake_http_request(web, head, sizeof head), text) != NULL;
}

static inline void expect_good(const struct collector_poll *poll)
{
	cr_expect_eq(poll->state, COLLECTOR_GOOD, "%s", poll->text);
}

static inline void expect_failed(const struct collector_poll *poll, enum cr_why why,
				 const char *text)
{
	cr_expect_eq(poll->state, COLLECTOR_FAILED);
	cr_expect_eq(poll->why, why, "%d: %s", poll->why, poll->text);
	cr_expect(strstr(poll->text, text), "\"%s\" has no \"%s\"", poll->text, text);
}

#endif
