/*
 * swap_drive.c - replaces a plugin file again and again, by rename, and measures how long it takes
 * until the threads of callrouter-load decide by the new one; looks at the memory of processes
 * meanwhile. Prints figures as JSON; exit status 1 if a swap did not arrive within 5 s.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS    INT64_C(1000000)
#define NS_PER_S     INT64_C(1000000000)
#define ARRIVAL_NS   (5 * NS_PER_S)
#define THREADS_MAX  64
#define VERSIONS_MAX 16
#define PIDS_MAX     8

static const char usage[] =
	"usage: swap_drive FILE CHANGES THREADS SWAPS PID,PID,... SERVER=VERSION...\n"
	"Puts the versions in FILE's place in turn, SWAPS times, and waits each time until "
	"THREADS\n"
	"threads have written to CHANGES (see load --changes) that SERVER comes first now.\n";

/** A thread of a load that was heard of since the last rename. */
struct heard {
	int pid;
	unsigned thread;
};

/** What a process uses. */
struct use {
	long rss_kib, maps, fds;
};

static struct {
	const char *file;
	char fresh[PATH_MAX];
	FILE *changes;
	long threads, swaps;
	int pid[PIDS_MAX];
	size_t n_pids;
	char *server[VERSIONS_MAX], *version[VERSIONS_MAX]; /* version: a path */
	size_t n_versions;
	uint64_t astray; /* changes to somebody else than the new server */
} drive;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void pause_ns(int64_t ns)
{
	const struct timespec pause = { ns / NS_PER_S, ns % NS_PER_S };

	nanosleep(&pause, NULL);
}

/*** Swaps ***/

static bool copy_file(const char *from, const char *to)
{
	char chunk[1 << 16];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t got = -1;

	while (in >= 0 && out >= 0 && (got = read(in, chunk, sizeof chunk)) > 0)
		if (write(out, chunk, (size_t)got) != got)
			break;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return got == 0;
}

/* One line of the changes: did it say that server comes first, later than since? */
static bool line_is_arrival(const char *line, const char *server, int64_t since, int64_t *when,
			    struct heard *who)
{
	char name[64];

	if (sscanf(line, "%" SCNd64 " %d %u %63s", when, &who->pid, &who->thread, name) != 4 ||
	    *when < since)
		return false;
	if (strcmp(name, server) == 0)
		return true;
	drive.astray++;
	return false;
}

static bool is_known(const struct heard *heard, size_t n, const struct heard *who)
{
	for (size_t i = 0; i < n; i++)
		if (heard[i].pid == who->pid && heard[i].thread == who->thread)
			return true;
	return false;
}

/* Wait for all threads; times of the first and of the last to decide by the new version. */
static bool await(const char *server, int64_t since, int64_t *first, int64_t *last)
{
	struct heard heard[THREADS_MAX], who;
	char line[256];
	size_t len = 0;
	long n = 0;
	int64_t when;

	*first = INT64_MAX;
	*last = 0;
	while (n < drive.threads) {
		/* a line that is being written may come in two parts */
		if (fgets(line + len, (int)(sizeof line - len), drive.changes) != NULL)
			len += strlen(line + len);
		if (len == 0 || (line[len - 1] != '\n' && len < sizeof line - 1)) {
			clearerr(drive.changes);
			if (now_ns() - since > ARRIVAL_NS)
				return false;
			pause_ns(NS_PER_MS / 2);
			continue;
		}
		len = 0;
		if (!line_is_arrival(line, server, since, &when, &who) ||
		    is_known(heard, (size_t)n, &who))
			continue;
		heard[n++] = who;
		*first = when < *first ? when : *first;
		*last = when > *last ? when : *last;
	}
	return true;
}

static bool swap(long i, int64_t *first_ns, int64_t *last_ns)
{
	const size_t version = (size_t)i % drive.n_versions;
	int64_t since;

	if (!copy_file(drive.version[version], drive.fresh)) {
		fprintf(stderr, "%s cannot be copied\n", drive.version[version]);
		return false;
	}
	/* not always at the same distance from the timers of daemon and data planes */
	pause_ns(i * 7 % 23 * NS_PER_MS);
	since = now_ns();
	if (rename(drive.fresh, drive.file) < 0 ||
	    !await(drive.server[version], since, first_ns, last_ns)) {
		fprintf(stderr, "swap %ld to %s did not arrive\n", i, drive.server[version]);
		return false;
	}
	*first_ns -= since;
	*last_ns -= since;
	return true;
}

/*** What processes use ***/

static long count_lines(int pid, const char *what, const char *key)
{
	char path[64], line[512];
	long n = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (key == NULL)
			n++;
		else if (strncmp(line, key, strlen(key)) == 0)
			n = strtol(line + strlen(key), NULL, 10);
	}
	if (file != NULL)
		fclose(file);
	return n;
}

static long count_fds(int pid)
{
	char path[64];
	long n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		closedir(dir);
	return n;
}

static void look(struct use *use)
{
	pause_ns(300 * NS_PER_MS); /* what was replaced is let go at the next refresh */
	for (size_t i = 0; i < drive.n_pids; i++)
		use[i] = (struct use){ count_lines(drive.pid[i], "status", "VmRSS:"),
				       count_lines(drive.pid[i], "maps", NULL),
				       count_fds(drive.pid[i]) };
}

/*** Figures ***/

static int compare(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double quantile_ms(const int64_t *sorted, long n, double q)
{
	return (double)sorted[(long)((double)(n - 1) * q)] / (double)NS_PER_MS;
}

static void print_times(const char *name, int64_t *ns)
{
	qsort(ns, (size_t)drive.swaps, sizeof *ns, compare);
	printf("\"%s\":{\"p50\":%.1f,\"p90\":%.1f,\"p99\":%.1f,\"max\":%.1f},", name,
	       quantile_ms(ns, drive.swaps, 0.5), quantile_ms(ns, drive.swaps, 0.9),
	       quantile_ms(ns, drive.swaps, 0.99), quantile_ms(ns, drive.swaps, 1));
}

static void print_use(const struct use *early, const struct use *late)
{
	printf("\"processes\":[");
	for (size_t i = 0; i < drive.n_pids; i++)
		printf("%s{\"pid\":%d,\"rss_kib\":[%ld,%ld],\"maps\":[%ld,%ld],\"fds\":[%ld,%ld]}",
		       i > 0 ? "," : "", drive.pid[i], early[i].rss_kib, late[i].rss_kib,
		       early[i].maps, late[i].maps, early[i].fds, late[i].fds);
	printf("]}\n");
}

static bool take_arguments(int argc, char **argv)
{
	char *rest = NULL;

	if (argc < 8)
		return false;
	drive.file = argv[1];
	snprintf(drive.fresh, sizeof drive.fresh, "%.*s.drive",
		 (int)(strrchr(argv[1], '/') - argv[1]) + 1, argv[1]);
	drive.changes = fopen(argv[2], "r");
	drive.threads = strtol(argv[3], NULL, 10);
	drive.swaps = strtol(argv[4], NULL, 10);
	for (char *pid = strtok_r(argv[5], ",", &rest); pid != NULL && drive.n_pids < PIDS_MAX;
	     pid = strtok_r(NULL, ",", &rest))
		drive.pid[drive.n_pids++] = (int)strtol(pid, NULL, 10);
	for (int i = 6; i < argc && drive.n_versions < VERSIONS_MAX; i++) {
		char *equals = strchr(argv[i], '=');

		if (equals == NULL)
			return false;
		*equals = '\0';
		drive.server[drive.n_versions] = argv[i];
		drive.version[drive.n_versions++] = equals + 1;
	}
	return drive.changes != NULL && drive.threads > 0 && drive.threads <= THREADS_MAX &&
	       drive.swaps > 0;
}

int main(int argc, char **argv)
{
	struct use early[PIDS_MAX] = { 0 }, late[PIDS_MAX] = { 0 };
	int64_t *first, *last;

	if (!take_arguments(argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	first = calloc((size_t)drive.swaps, sizeof *first);
	last = calloc((size_t)drive.swaps, sizeof *last);
	if (first == NULL || last == NULL)
		return EXIT_FAILURE;
	for (long i = 0; i < drive.swaps; i++) {
		if (!swap(i, &first[i], &last[i]))
			return EXIT_FAILURE;
		if (i == drive.swaps / 10)
			look(early);
	}
	look(late);
	printf("{\"swaps\":%ld,\"astray\":%" PRIu64 ",", drive.swaps, drive.astray);
	print_times("first_ms", first);
	print_times("last_ms", last);
	print_use(early, late);
	free(first);
	free(last);
	fclose(drive.changes);
	return EXIT_SUCCESS;
}
