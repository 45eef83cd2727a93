/*
 * snmp_bench.h - what the tests of the SNMP collector have in common: one instance, one agent, one
 * target, and a file with the community.
 */
#ifndef CR_TESTS_SNMP_BENCH_H
#define CR_TESTS_SNMP_BENCH_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector_host.h"
#include "fake_snmp.h"
#include "lab_profile.h"

#define SHORT_MS 200
#define LONG_MS  5000 /* never reached by a poll that goes well */
#define JVM      "jvm-mib"
#define WEBLOGIC "weblogic-mib"
#define USED     ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.11.0"

static char community[64], community_setting[96];
static struct collector_host *host;
static struct fake_snmp *fake;
static int target;
static const struct cr_collector *collector = &cr_collector_1;

static inline void write_community(const char *text, mode_t mode)
{
	FILE *file = fopen(community, "w");

	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(chmod(community, mode), 0);
}

static inline void begin(void)
{
	int fd;

	snprintf(community, sizeof community, "/tmp/callrouter-snmp-XXXXXX");
	fd = mkstemp(community);
	cr_assert_geq(fd, 0);
	close(fd);
	write_community("public\n", 0600);
	snprintf(community_setting, sizeof community_setting, "community_file=%s", community);
}

static inline void end(void)
{
	if (host != NULL)
		cr_expect_null(collector_host_fault(host), "%s", collector_host_fault(host));
	collector_host_close(host);
	fake_snmp_free(fake);
	unlink(community);
}

/* Open an instance for a profile, for keys in YAML ("format: ..."), or for "PROFILE KEYS", with
 * settings more. Returns what it says if it does not open, else NULL. */
static inline const char *try_open(const char *profile, const char *const *more)
{
	static char err[512];
	const char *settings[LAB_SETTINGS_MAX + 16] = { NULL };
	const size_t len = strcspn(profile, " :");
	const bool has_name = profile[len] != ':';
	char name[64];
	struct lab_profile *known;
	size_t n = 0;

	snprintf(name, sizeof name, "%.*s", (int)len, profile);
	known = lab_profile_new(&cr_collector_1, has_name ? name : NULL,
				profile[len] == '\0' ? NULL
				: has_name           ? profile + len + 1
						     : profile,
				err, sizeof err);
	if (known == NULL)
		return err;
	for (; n < LAB_SETTINGS_MAX && known->setting[n] != NULL; n++)
		settings[n] = known->setting[n];
	for (size_t i = 0; more != NULL && more[i] != NULL && n < LAB_SETTINGS_MAX + 15; i++)
		settings[n++] = more[i];
	host = collector_host_open(collector, "test", settings, err, sizeof err);
	lab_profile_free(known);
	return host != NULL ? NULL : err;
}

/* The same with the community, and one or two settings more or NULL. */
static inline void open_with(const char *profile, const char *setting, const char *other)
{
	const char *more[] = { community_setting, setting, other, NULL };
	const char *err = try_open(profile, more);

	cr_assert_null(err, "%s", err);
}

/* An agent, an instance, a target. */
static inline void setup(const char *profile, const char *name, bool is_shared)
{
	fake = fake_snmp_new(FAKE_NORMAL);
	open_with(profile, NULL, NULL);
	target = collector_host_add(host, name, fake_snmp_endpoint(fake), is_shared);
}

static inline void setup_jvm(void)
{
	setup(JVM, "ms1", false);
	fake_snmp_jvm(fake, 100, 400, 1000);
}

static inline const struct collector_poll *poll_for(int64_t timeout_ms)
{
	cr_assert_eq(collector_host_poll(host, timeout_ms * CH_MS, 20000 * CH_MS), 0);
	return collector_host_last(host, target);
}

static inline void expect_good(void)
{
	const struct collector_poll *poll = poll_for(LONG_MS);

	cr_assert_eq(poll->state, COLLECTOR_GOOD, "%s", poll->text);
}

static inline void expect_bad(int64_t timeout_ms, enum cr_why why, const char *text)
{
	const struct collector_poll *poll = poll_for(timeout_ms);
	size_t n;

	cr_assert_eq(poll->state, COLLECTOR_FAILED);
	cr_assert_eq(poll->why, why, "%s", poll->text);
	cr_assert_not_null(strstr(poll->text, text), "%s", poll->text);
	collector_host_values(host, &n);
	cr_assert_eq(n, 0, "a poll that failed puts nothing");
}

static inline double value(const char *row, const char *metric)
{
	return collector_host_value(host, "ms1", row, metric);
}

static inline size_t n_values(void)
{
	size_t n;

	collector_host_values(host, &n);
	return n;
}

#endif
