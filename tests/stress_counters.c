/* stress_counters.c - threads count calls in and out while others attach and leave and the daemon
 * reaps and audits: at the end nothing is in progress. */
#include <pthread.h>

#include "shared_files.h"

#define CALLERS 3
#define ROUNDS  100000
#define GUESTS  300

static struct folder folder;
static _Atomic int running;

static void *call(void *arg)
{
	struct counters *c = arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		counters_hold_add(c, i % 4, 5);
		counters_hold_drop(c, i % 4, 5);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void *come_and_go(void *arg)
{
	int *failures = arg;

	for (uint32_t i = 0; i < GUESTS; i++) {
		struct counters *c;
		struct err err;

		if (counters_open(folder.path, false, &c, &err) < 0) {
			++*failures;
			continue;
		}
		if (counters_claim(c, "guest") < 0)
			++*failures;
		counters_hold_add(c, i % 4, 11); /* given back by closing */
		counters_inquest(c);
		counters_close(c);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static int check_end(const struct counters *c)
{
	int failures = 0;

	for (uint32_t i = 0; i < 4; i++) {
		const struct cr_live *live = &counters_line(c, i)->live;

		printf("line %u: %u calls, %lld bytes\n", i, live->inflight,
		       (long long)live->inflight_bytes);
		failures += live->inflight != 0 || live->inflight_bytes != 0;
	}
	return failures;
}

int main(void)
{
	struct counters *daemon, *plane;
	pthread_t thread[CALLERS + 1];
	int failures = 0, guest_failures = 0, corrected = 0;
	struct err err;

	folder = folder_make();
	if (counters_create(folder.path, (gid_t)-1, &daemon, &err) < 0 ||
	    counters_open(folder.path, false, &plane, &err) < 0 ||
	    counters_claim(plane, "stress") < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (int i = 0; i < 4; i++)
		failures += counters_line_of(daemon, (const char *[]){ "a", "b", "c", "d" }[i],
					     NULL) != i;
	atomic_store(&running, CALLERS + 1);
	for (int i = 0; i < CALLERS; i++)
		failures += pthread_create(&thread[i], NULL, call, plane) != 0;
	failures += pthread_create(&thread[CALLERS], NULL, come_and_go, &guest_failures) != 0;
	if (failures > 0)
		return 1;
	while (atomic_load(&running) > 0) {
		failures += counters_reap(daemon, NULL, NULL); /* nobody dies here */
		corrected += counters_audit(daemon);
	}
	for (int i = 0; i <= CALLERS; i++)
		pthread_join(thread[i], NULL);
	/* A correction that was wrong is seen by the next audits. */
	counters_audit(daemon);
	counters_audit(daemon);
	failures += check_end(daemon) + guest_failures;
	counters_close(plane);
	counters_close(daemon);
	folder_remove(&folder);
	printf("%d corrections under load, %d failures\n", corrected, failures);
	return failures != 0;
}
