/* test_http_memory.c - the collector "http" when there is no memory, here or in the kernel. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "http_scene.h"
#include "lab/failing_collector.h"

#define STATUS_PAGE                                                                                \
	"<status><jvm><memory free='100' total='200' max='300'/></jvm><connector><threadInfo "     \
	"maxThreads='20' currentThreadsBusy='3'/><requestInfo requestCount='9' errorCount='1'/>"   \
	"</connector></status>"

static const char *const tomcat[] = { "profile=tomcat-status", NULL };

TestSuite(http_memory, .init = open_web, .fini = close_all, .timeout = 60);

/*** Here ***/

/* Opened and polled with the n-th allocation failing; false: there are not so many. What failed
 * then is well once there is memory again. */
static bool survives(size_t n, const struct cr_collector *collector, const char *endpoint)
{
	bool has_failed;

	collector_host_close(host);
	n_left = n;
	host = lab_open(collector, "src", tomcat, err, sizeof err);
	has_failed = n_left == 0;
	cr_assert_eq(host == NULL, has_failed, "%zu: %s", n, err);
	if (host == NULL)
		return true;
	collector_host_add(host, "ms1", endpoint, false);
	(void)poll_once(0);
	has_failed = n_left == 0;
	n_left = 0;
	cr_expect_eq(poll_once(0)->state, COLLECTOR_GOOD, "%zu: %s", n,
		     collector_host_last(host, 0)->text);
	cr_expect_null(collector_host_fault(host), "%zu: %s", n, collector_host_fault(host));
	return has_failed;
}

static void fail_each(const char *endpoint)
{
	const struct cr_collector failing = failing_collector();
	size_t n = 1;

	fake_http_page(web, "200 OK", "Content-Type: text/xml\r\n", STATUS_PAGE);
	while (survives(n, &failing, endpoint))
		n++;
	cr_expect_gt(n, 100u);
	collector_host_close(host); /* while its table is there */
	host = NULL;
}

Test(http_memory, that_is_missing_once_fails_one_poll)
{
	fail_each(fake_http_url(web));
}

Test(http_memory, that_is_missing_once_fails_one_poll_of_a_name)
{
	char endpoint[64];

	(void)snprintf(endpoint, sizeof endpoint, "http://localhost%s",
		       strrchr(fake_http_url(web), ':'));
	fail_each(endpoint);
}

/*** In the kernel ***/

static size_t n_until_unwatched = SIZE_MAX; /* sockets; 0: from then on none can be watched */

/* In place of libc's. */
int epoll_ctl(int epoll_fd, int how, int fd, struct epoll_event *event)
{
	if (how != EPOLL_CTL_ADD || n_until_unwatched > 0) {
		n_until_unwatched -= how == EPOLL_CTL_ADD;
		return (int)syscall(SYS_epoll_ctl, epoll_fd, how, fd, event);
	}
	errno = ENOSPC;
	return -1;
}

/* libcurl takes an error of ours for one of all that it has under way. */
Test(http_memory, to_watch_a_socket_is_missed_by_its_poll_alone)
{
	static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 72\r\n\r\n<status><jvm>"
				   "<memory free='1' total='2' max='3'/></jvm></status>        ";
	int target[2];

	fake_http_set(web, FAKE_DRIP, page, sizeof page - 1);
	open_host(tomcat);
	for (size_t i = 0; i < 2; i++)
		target[i] = collector_host_add(host, "ms1", fake_http_url(web), false);
	n_until_unwatched = 1;
	cr_assert_eq(collector_host_poll(host, 5000 * CH_MS, 20000 * CH_MS), 0);
	expect_good(collector_host_last(host, target[0]));
	expect_failed(collector_host_last(host, target[1]), CR_TIMEOUT, "within 5000 ms");
	n_until_unwatched = SIZE_MAX;
	fake_http_page(web, "200 OK", "Content-Type: text/xml\r\n", STATUS_PAGE);
	cr_assert_eq(collector_host_poll(host, 5000 * CH_MS, 20000 * CH_MS), 0);
	for (size_t i = 0; i < 2; i++)
		expect_good(collector_host_last(host, target[i]));
}
