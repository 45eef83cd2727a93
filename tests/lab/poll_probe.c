/*
 * poll_probe.c - looks at a callrouterd from outside for a while: what its threads cost, how much
 * memory it has, how often it publishes, and how old the figures of the living servers are in what
 * it publishes. Asks the daemon nothing, so that looking costs it nothing.
 *
 *	poll_probe RUN_DIR PID MS [DEAD_PERCENT]
 *
 * Servers are named by a letter and their number; dead are those whose number modulo 100 is below
 * DEAD_PERCENT. Prints one JSON object.
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "snapshot.h"

#define METRIC  "jvm_heap_size_bytes"
#define LOOK_NS (50 * CLOCK_MS)

struct ages {
	int64_t oldest_ns; /* of a living server, at any look */
	double sum_s;
	uint64_t n, looks, unknown;
	uint64_t first, last; /* generations */
};

struct cpu {
	double poll_snmp, poll_http, main, rankers; /* seconds */
};

static double seconds_of(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long ns = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	fclose(file);
	return (double)ns * 1e-9;
}

static void name_of(const char *path, char *name, size_t len)
{
	FILE *file = fopen(path, "re");

	name[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(name, (int)len, file) == NULL)
		name[0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

/* Its threads, by their names. */
static struct cpu cpu_of(const char *pid)
{
	struct cpu cpu = { 0 };
	char path[300], name[64];
	const struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%s/task", pid);
	folder = opendir(path);
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		double *at = &cpu.main, s;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof path, "/proc/%s/task/%.20s/schedstat", pid, entry->d_name);
		s = seconds_of(path);
		snprintf(path, sizeof path, "/proc/%s/task/%.20s/comm", pid, entry->d_name);
		name_of(path, name, sizeof name);
		if (strcmp(name, "poll snmp") == 0)
			at = &cpu.poll_snmp;
		else if (strcmp(name, "poll http") == 0)
			at = &cpu.poll_http;
		*at += s;
	}
	if (folder != NULL)
		closedir(folder);
	return cpu;
}

/* Its children. */
static double cpu_of_rankers(const char *pid)
{
	char path[300];
	unsigned long child;
	double s = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%s/task/%s/children", pid, pid);
	file = fopen(path, "re");
	while (file != NULL && fscanf(file, "%lu", &child) == 1) {
		snprintf(path, sizeof path, "/proc/%lu/schedstat", child);
		s += seconds_of(path);
	}
	if (file != NULL)
		fclose(file);
	return s;
}

static long resident_kib(const char *pid)
{
	char path[300], line[256];
	long kib = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%s/status", pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (file != NULL)
		fclose(file);
	return kib;
}

static size_t descriptors_of(const char *pid)
{
	char path[300];
	size_t n = 0;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%s/fd", pid);
	folder = opendir(path);
	while (folder != NULL && readdir(folder) != NULL)
		n++;
	if (folder != NULL)
		closedir(folder);
	return n > 2 ? n - 2 : 0; /* without . and .. */
}

static void look(struct ages *ages, const struct image_header *image, unsigned dead)
{
	const int metric = image_metric_index(image, METRIC);
	const int64_t now_ns = clock_now_ns();

	ages->looks++;
	ages->last = image->generation;
	ages->first = ages->first == 0 ? image->generation : ages->first;
	for (uint32_t i = 0; metric >= 0 && i < image->server.count; i++) {
		const int64_t taken_ns = image_taken(image, (size_t)metric)[i];

		if (strtoul(image_servers(image)[i].name + 1, NULL, 10) % 100 < dead)
			continue;
		if (taken_ns == 0 || isnan(image_values(image, (size_t)metric)[i])) {
			ages->unknown++;
			continue;
		}
		if (now_ns - taken_ns > ages->oldest_ns)
			ages->oldest_ns = now_ns - taken_ns;
		ages->sum_s += (double)(now_ns - taken_ns) * 1e-9;
		ages->n++;
	}
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	struct snapshot_reader *reader;
	struct image_header *image = NULL, *newer;
	struct ages ages = { 0 };
	struct cpu before, after;
	double rankers, took_s;
	int64_t began_ns, until_ns;
	unsigned dead;

	if (argc < 4)
		return 2;
	dead = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
	reader = snapshot_reader_new(argv[1]);
	began_ns = clock_now_ns();
	until_ns = began_ns + strtoll(argv[3], NULL, 10) * CLOCK_MS;
	before = cpu_of(argv[2]);
	rankers = cpu_of_rankers(argv[2]);
	while (clock_now_ns() < until_ns) {
		if (snapshot_read(reader, image == NULL ? 0 : image->generation, &newer, NULL) ==
		    1) {
			free(image);
			image = newer;
		}
		if (image != NULL)
			look(&ages, image, dead);
		nanosleep(&pause, NULL);
	}
	after = cpu_of(argv[2]);
	rankers = cpu_of_rankers(argv[2]) - rankers;
	took_s = (double)(clock_now_ns() - began_ns) * 1e-9;
	printf("{\"seconds\":%.3f,\"snmp_s\":%.4f,\"http_s\":%.4f,\"main_s\":%.4f,\"rankers_s\":"
	       "%.4f,\"resident_kib\":%ld,\"descriptors\":%zu,\"published_per_s\":%.1f,\"oldest_"
	       "ms\":%.0f,"
	       "\"mean_age_ms\":%.0f,\"unknown\":%" PRIu64 "}\n",
	       took_s, after.poll_snmp - before.poll_snmp, after.poll_http - before.poll_http,
	       after.main - before.main, rankers, resident_kib(argv[2]), descriptors_of(argv[2]),
	       (double)(ages.last - ages.first) / took_s, (double)ages.oldest_ns * 1e-6,
	       ages.n > 0 ? ages.sum_s / (double)ages.n * 1e3 : 0.0, ages.unknown);
	free(image);
	snapshot_reader_free(reader);
	return 0;
}
