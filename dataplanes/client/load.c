/*
 * load.c - callrouter-client: places calls until --calls, --seconds or SIGTERM, then prints one
 * line of totals; exit status 1 if a call failed, 2 if it was called wrongly.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"

#define N_THREADS_MAX 64
#define N_SEEN_MAX    64 /* servers with a figure of their own */

enum { CALLS, SECONDS, THREADS, RATE, COST, N_NUMBERS, SERVICE, RUN_DIR, PATH, VERBOSE, HELP };

static const struct option options[] = {
	{ "calls", required_argument, NULL, CALLS },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "threads", required_argument, NULL, THREADS },
	{ "rate", required_argument, NULL, RATE },
	{ "cost", required_argument, NULL, COST },
	{ "service", required_argument, NULL, SERVICE },
	{ "run-dir", required_argument, NULL, RUN_DIR },
	{ "path", required_argument, NULL, PATH },
	{ "verbose", no_argument, NULL, VERBOSE },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"usage: callrouter-client --service NAME [--run-dir DIR] [--path PATH]\n"
	"         [--calls N] [--seconds S] [--threads T] [--rate R] [--cost BYTES] [--verbose]\n"
	"Places calls (GET http://SERVER/PATH; /call) of a service: one, or N, or for S seconds, R "
	"a\n"
	"second (0: as fast as they go) from T threads. BYTES: the heap that one is expected to "
	"take.\n";

/** What all threads share. */
static struct {
	struct cr *cr;
	int service; /* from cr_service() */
	double number[N_NUMBERS];
	const char *path;
	bool is_verbose;
	struct timespec start;
	_Atomic uint64_t next; /* call to be placed */
	pthread_mutex_t lock;  /* of what follows */
	uint64_t calls, failed, failovers, decided[CR_DECIDED_COUNT], served[N_SEEN_MAX];
	const struct cr_server *seen[N_SEEN_MAX];
} load = { .number[THREADS] = 1, .path = "/call", .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_bool is_stopping; /* read by threads other than the one with the signal */

static void on_stop(int signal)
{
	(void)signal;
	atomic_store_explicit(&is_stopping, true, memory_order_relaxed);
}

static double seconds_since_start(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - load.start.tv_sec) +
	       (double)(now.tv_nsec - load.start.tv_nsec) * 1e-9;
}

/** Wait until the n-th call is due. Returns false if it is not to be placed at all. */
static bool wait_for_turn(uint64_t n)
{
	double due = load.number[RATE] > 0 ? (double)n / load.number[RATE] : 0, left;

	if (load.number[CALLS] > 0 && (double)n >= load.number[CALLS])
		return false;
	for (;;) {
		if (atomic_load_explicit(&is_stopping, memory_order_relaxed) ||
		    (load.number[SECONDS] > 0 && seconds_since_start() >= load.number[SECONDS]))
			return false;
		left = due - seconds_since_start();
		if (left <= 0)
			return true;
		left = left < 0.05 ? left : 0.05; /* so that a stop is noticed */
		nanosleep(&(struct timespec){ .tv_nsec = (long)(left * 1e9) }, NULL);
	}
}

static void count(const struct client_result *result)
{
	size_t i = 0;

	pthread_mutex_lock(&load.lock);
	load.calls++;
	load.decided[result->decided]++;
	load.failovers += result->is_failover;
	if (result->server == NULL) {
		load.failed += result->decided != CR_REFUSED;
	} else {
		while (i + 1 < N_SEEN_MAX && load.seen[i] != NULL &&
		       strcmp(load.seen[i]->name, result->server->name) != 0)
			i++;
		load.seen[i] = result->server;
		load.served[i]++;
	}
	if (load.is_verbose)
		printf("%s decided=%s reason=%s latency_ns=%" PRId64 "\n",
		       result->server != NULL ? result->server->name : "-",
		       cr_decided_words(result->decided), cr_reason_words(result->reason),
		       result->latency_ns);
	pthread_mutex_unlock(&load.lock);
}

static void *caller(void *arg)
{
	struct cr_thread *thread = cr_thread_new(load.cr);
	CURL *curl = client_new();
	struct client_result result;

	(void)arg;
	while (thread != NULL && curl != NULL &&
	       wait_for_turn(atomic_fetch_add_explicit(&load.next, 1, memory_order_relaxed))) {
		result = client_call(thread, load.service, curl, load.path,
				     (int64_t)load.number[COST]);
		count(&result);
		if (result.server == NULL) /* nobody to contact: do not spin */
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	curl_easy_cleanup(curl);
	cr_thread_free(thread);
	return NULL;
}

static int run_threads(void)
{
	pthread_t thread[N_THREADS_MAX];
	size_t i, n = (size_t)load.number[THREADS];

	clock_gettime(CLOCK_MONOTONIC, &load.start);
	for (i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, caller, NULL) != 0)
			break;
	if (i < n)
		(void)fputs("callrouter-client: not all threads could be started\n", stderr);
	n = i;
	for (i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return n > 0 ? 0 : -EAGAIN;
}

static void print_totals(void)
{
	printf("calls=%" PRIu64 " failed=%" PRIu64 " failovers=%" PRIu64 " router=%" PRIu64
	       " default=%" PRIu64 " refused=%" PRIu64 " nobody=%" PRIu64,
	       load.calls, load.failed, load.failovers, load.decided[CR_ROUTER_DECIDED],
	       load.decided[CR_DEFAULT_DECIDED], load.decided[CR_REFUSED], load.decided[CR_NOBODY]);
	for (size_t i = 0; i < N_SEEN_MAX && load.seen[i] != NULL; i++)
		printf(" %s=%" PRIu64, load.seen[i]->name, load.served[i]);
	printf(" seconds=%.2f\n", seconds_since_start());
}

/** One option that is a number; false if it is none. */
static bool take_number(int option, const char *text)
{
	char *end;

	errno = 0;
	load.number[option] = strtod(text, &end);
	return errno == 0 && end != text && *end == '\0' && load.number[option] >= 0 &&
	       load.number[option] < 1e15 &&
	       (option != THREADS ||
		(load.number[option] >= 1 && load.number[option] <= N_THREADS_MAX));
}

static void show_help(void)
{
	(void)fputs(usage, stdout);
	exit(0); /* no thread runs yet. NOLINT(concurrency-mt-unsafe) */
}

/** Returns the service's name, or NULL (called wrongly). --help ends the program. */
static const char *take_options(int argc, char **argv, struct cr_config *config)
{
	const char *service = NULL;
	int option;

	/* No thread runs yet. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == SERVICE)
			service = optarg;
		else if (option == RUN_DIR)
			config->run_dir = optarg;
		else if (option == PATH)
			load.path = optarg;
		else if (option == VERBOSE)
			load.is_verbose = true;
		else if (option == HELP)
			show_help();
		else if (option >= N_NUMBERS || !take_number(option, optarg))
			return NULL;
	}
	if (load.number[CALLS] <= 0 && load.number[SECONDS] <= 0)
		load.number[CALLS] = 1;
	return optind == argc ? service : NULL;
}

int main(int argc, char **argv)
{
	struct cr_config config = { .program = "callrouter-client", .start_thread = true };
	const char *service = take_options(argc, argv, &config);
	struct sigaction stop = { .sa_handler = on_stop };
	char err[320];

	if (service == NULL) {
		(void)fputs(usage, stderr);
		return 2;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (cr_attach(&config, &load.cr, err, sizeof err) < 0) {
		(void)fprintf(stderr, "callrouter-client: %s\n", err);
		return 1;
	}
	load.service = cr_service(load.cr, service);
	if (load.service < 0 || run_threads() < 0) {
		(void)fprintf(stderr, "callrouter-client: \"%s\" cannot be a service's name\n",
			      service);
		return 1;
	}
	print_totals();
	cr_detach(load.cr);
	curl_global_cleanup();
	return load.failed > 0 || load.calls == 0;
}
