/*
 * load.c - callrouter-load: several threads decide about calls through libcallrouter, check every
 * decision, and note when the server that comes first changes. Prints totals as JSON at the end;
 * exit status 1 if a decision was wrong, 2 if it was called wrongly.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <callrouter/callrouter.h>

#include "words.h"

#define THREADS_MAX 32
#define SERVERS_MAX 64
#define NS_PER_S    INT64_C(1000000000)

static const char usage[] =
	"usage: load --service NAME --run-dir DIR --servers S1,S2,... [--threads N] [--rate R]\n"
	"            [--seconds S] [--allow router,default,refused,nobody] [--changes FILE]\n"
	"Decides R times a second in each thread (0: as fast as it goes) until --seconds or "
	"SIGTERM.\n"
	"--servers: those that may be named. --allow: who may decide, preset: router.\n"
	"--changes: gets a line \"NS PID THREAD WHO GENERATION\" whenever WHO decides changes: "
	"the\n"
	"first server of the router's list, or who else decided and why (default:stale).\n";

/** The command line. */
static struct {
	const char *service, *run_dir, *changes;
	char *server[SERVERS_MAX];
	size_t n_servers;
	long threads, rate, seconds;
	bool is_allowed[CR_DECIDED_COUNT];
} options = { .threads = 1 };

/** One thread and what it has seen. */
struct worker {
	pthread_t thread;
	struct cr_thread *cr_thread;
	unsigned number;
	uint64_t draw;
	uint64_t calls, failed, failovers;
	uint64_t first[SERVERS_MAX], decided[CR_DECIDED_COUNT], reason[CR_REASON_COUNT];
	uint64_t generation; /* of the latest decision */
	int64_t last_ns;     /* when it was made */
	int64_t pause_ns;    /* the longest between two of them, waiting for one's turn left out */
	int64_t decision_ns; /* the longest cr_route() */
	char who[64], wrong[160]; /* latest; the first thing that was wrong */
};

static struct cr *cr;
static int service, changes_fd = -1;
static atomic_bool is_over;

static void on_end(int signal)
{
	(void)signal;
	atomic_store_explicit(&is_over, true, memory_order_relaxed);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static uint64_t draw(struct worker *worker)
{
	worker->draw ^= worker->draw << 13;
	worker->draw ^= worker->draw >> 7;
	worker->draw ^= worker->draw << 17;
	return worker->draw;
}

/*** Checks ***/

static void wrong(struct worker *worker, const char *what, const struct cr_ticket *ticket)
{
	worker->failed++;
	if (worker->wrong[0] == '\0')
		snprintf(worker->wrong, sizeof worker->wrong,
			 "%s (call %" PRIu64 ": n=%u decided=%s reason=%s generation=%" PRIu64 ")",
			 what, worker->calls, ticket->n, words_decided(ticket->decided),
			 words_reason(ticket->reason), ticket->generation);
}

static int server_index(const struct cr_server *server)
{
	for (size_t i = 0; i < options.n_servers; i++)
		if (strcmp(options.server[i], server->name) == 0)
			return (int)i;
	return -1;
}

static bool list_is_sound(struct worker *worker, const struct cr_ticket *ticket)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < ticket->n; i++) {
		const int index = server_index(ticket->server[i]);

		if (index < 0 || (seen & UINT64_C(1) << index) != 0) {
			wrong(worker, index < 0 ? "unknown server" : "server twice", ticket);
			return false;
		}
		seen |= UINT64_C(1) << index;
	}
	return true;
}

static bool is_sound(struct worker *worker, const struct cr_ticket *ticket, int n)
{
	const bool has_servers =
		ticket->decided == CR_ROUTER_DECIDED || ticket->decided == CR_DEFAULT_DECIDED;

	if (n != (int)ticket->n || ticket->n > CR_LIST_MAX || (ticket->n > 0) != has_servers)
		wrong(worker, "wrong number of servers", ticket);
	else if ((unsigned)ticket->decided >= CR_DECIDED_COUNT ||
		 !options.is_allowed[ticket->decided])
		wrong(worker, "decided by one who may not", ticket);
	else if (ticket->generation < worker->generation)
		wrong(worker, "an older state came back", ticket);
	else
		return list_is_sound(worker, ticket);
	return false;
}

/*** Calls ***/

static void note_change(struct worker *worker, const struct cr_ticket *ticket, int64_t now)
{
	char who[sizeof worker->who], line[160];
	int len;

	if (ticket->decided == CR_ROUTER_DECIDED)
		snprintf(who, sizeof who, "%s", ticket->server[0]->name);
	else
		snprintf(who, sizeof who, "%s:%s", words_decided(ticket->decided),
			 words_reason(ticket->reason));
	if (strcmp(who, worker->who) == 0)
		return;
	memcpy(worker->who, who, sizeof who);
	len = snprintf(line, sizeof line, "%" PRId64 " %d %u %s %" PRIu64 "\n", now, getpid(),
		       worker->number, who, ticket->generation);
	if (changes_fd >= 0 && write(changes_fd, line, (size_t)len) != len)
		wrong(worker, "the change could not be written", ticket);
}

/* The walk along the list: most calls succeed at once, some fail over, a few to the end. */
static void contact(struct worker *worker, struct cr_ticket *ticket)
{
	const struct cr_server *server = cr_first(ticket);
	enum cr_outcome outcome = CR_OK;
	uint32_t at = 0;

	while (server != NULL && draw(worker) % 16 == 0) {
		outcome = (enum cr_outcome)(CR_REFUSED_CONNECTION + draw(worker) % 4);
		server = cr_next(worker->cr_thread, ticket, outcome);
		worker->failovers++;
		if (server != (++at < ticket->n ? ticket->server[at] : NULL)) {
			wrong(worker, "cr_next() left the list", ticket);
			break;
		}
	}
	cr_end(worker->cr_thread, ticket, server != NULL ? CR_OK : outcome, 1000);
}

static void decide(struct worker *worker)
{
	static const struct cr_param amount = { { "amount", 6 }, { "17", 2 } };
	static const struct cr_param *const params[] = { &amount };
	struct cr_call call = { .method = { "Shop.order", 10 },
				.param = params,
				.n_params = 1,
				.primary = CR_NONE,
				.secondary = CR_NONE,
				.cost_bytes = (int64_t)(draw(worker) % 4096) };
	const int64_t before = now_ns();
	struct cr_ticket ticket;
	int64_t after;
	int n;

	cr_call_now(worker->cr_thread, &call);
	n = cr_route(worker->cr_thread, service, &call, &ticket);
	after = now_ns();
	worker->calls++;
	if (after - before > worker->decision_ns)
		worker->decision_ns = after - before;
	if (worker->last_ns != 0 && after - worker->last_ns > worker->pause_ns)
		worker->pause_ns = after - worker->last_ns;
	if (is_sound(worker, &ticket, n)) {
		worker->decided[ticket.decided]++;
		worker->reason[ticket.reason]++;
		worker->generation = ticket.generation;
		if (ticket.n > 0)
			worker->first[server_index(ticket.server[0])]++;
		note_change(worker, &ticket, after);
	}
	contact(worker, &ticket);
	worker->last_ns = now_ns();
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	const int64_t step = options.rate > 0 ? NS_PER_S / options.rate : 0;
	int64_t due = now_ns();

	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		decide(worker);
		if (step == 0)
			continue;
		due += step;
		if (due > now_ns()) {
			const struct timespec until = { due / NS_PER_S, due % NS_PER_S };

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
			worker->last_ns = now_ns();
		} else if (now_ns() - due > NS_PER_S / 10) {
			due = now_ns(); /* too far behind: no rush to catch up */
		}
	}
	return NULL;
}

/*** Totals ***/

static void print_words(const char *title, const uint64_t *n, size_t count,
			const char *(*word)(size_t))
{
	const char *comma = "";

	printf("\"%s\":{", title);
	for (size_t i = 0; i < count; i++) {
		if (n[i] == 0)
			continue;
		printf("%s\"%s\":%" PRIu64, comma, word(i), n[i]);
		comma = ",";
	}
	printf("},");
}

static const char *word_of_server(size_t i)
{
	return options.server[i];
}

static const char *word_of_decided(size_t i)
{
	return words_decided((enum cr_decided)i);
}

static const char *word_of_reason(size_t i)
{
	return words_reason((enum cr_reason)i);
}

static void add_up(struct worker *sum, const struct worker *worker)
{
	sum->calls += worker->calls;
	sum->failed += worker->failed;
	sum->failovers += worker->failovers;
	for (size_t i = 0; i < SERVERS_MAX; i++)
		sum->first[i] += worker->first[i];
	for (size_t i = 0; i < CR_DECIDED_COUNT; i++)
		sum->decided[i] += worker->decided[i];
	for (size_t i = 1; i < CR_REASON_COUNT; i++)
		sum->reason[i] += worker->reason[i];
	if (worker->pause_ns > sum->pause_ns)
		sum->pause_ns = worker->pause_ns;
	if (worker->decision_ns > sum->decision_ns)
		sum->decision_ns = worker->decision_ns;
	if (sum->wrong[0] == '\0')
		memcpy(sum->wrong, worker->wrong, sizeof sum->wrong);
}

static void print_totals(const struct worker *sum)
{
	printf("{\"calls\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"failovers\":%" PRIu64 ",",
	       sum->calls, sum->failed, sum->failovers);
	print_words("first", sum->first, options.n_servers, word_of_server);
	print_words("decided", sum->decided, CR_DECIDED_COUNT, word_of_decided);
	print_words("reasons", sum->reason, CR_REASON_COUNT, word_of_reason);
	printf("\"max_pause_ms\":%.3f,\"max_decision_ms\":%.3f,\"wrong\":\"%s\"}\n",
	       (double)sum->pause_ns / 1e6, (double)sum->decision_ns / 1e6, sum->wrong);
}

/*** Starting ***/

static void take_list(char *text)
{
	char *rest = NULL;

	for (char *name = strtok_r(text, ",", &rest);
	     name != NULL && options.n_servers < SERVERS_MAX; name = strtok_r(NULL, ",", &rest))
		options.server[options.n_servers++] = name;
}

static bool take_allowed(char *text)
{
	char *rest = NULL;

	for (char *word = strtok_r(text, ",", &rest); word != NULL;
	     word = strtok_r(NULL, ",", &rest)) {
		unsigned i = 0;

		while (i < CR_DECIDED_COUNT && strcmp(words_decided((enum cr_decided)i), word) != 0)
			i++;
		if (i == CR_DECIDED_COUNT)
			return false;
		options.is_allowed[i] = true;
	}
	return true;
}

static bool take_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "service", required_argument, NULL, 's' },
		{ "run-dir", required_argument, NULL, 'd' },
		{ "servers", required_argument, NULL, 'n' },
		{ "threads", required_argument, NULL, 't' },
		{ "rate", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 'S' },
		{ "allow", required_argument, NULL, 'a' },
		{ "changes", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	bool ok = true, has_allowed = false;
	int code;

	while ((code = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (code) {
		case 's':
			options.service = optarg;
			break;
		case 'd':
			options.run_dir = optarg;
			break;
		case 'n':
			take_list(optarg);
			break;
		case 't':
			options.threads = strtol(optarg, NULL, 10);
			break;
		case 'r':
			options.rate = strtol(optarg, NULL, 10);
			break;
		case 'S':
			options.seconds = strtol(optarg, NULL, 10);
			break;
		case 'a':
			has_allowed = true;
			ok = ok && take_allowed(optarg);
			break;
		case 'c':
			options.changes = optarg;
			break;
		default:
			return false;
		}
	}
	if (!has_allowed)
		options.is_allowed[CR_ROUTER_DECIDED] = true;
	return ok && optind == argc && options.service != NULL && options.run_dir != NULL &&
	       options.n_servers > 0 && options.threads >= 1 && options.threads <= THREADS_MAX;
}

static void say(void *arg, enum cr_level level, const char *line)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "%s\n", line);
}

static int start(void)
{
	const struct cr_config config = {
		.run_dir = options.run_dir, .program = "load", .start_thread = true, .log = say
	};
	char err[200];

	if (options.changes != NULL) {
		changes_fd = open(options.changes, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		if (changes_fd < 0) {
			perror(options.changes);
			return -1;
		}
	}
	if (cr_attach(&config, &cr, err, sizeof err) < 0) {
		fprintf(stderr, "%s\n", err);
		return -1;
	}
	service = cr_service(cr, options.service);
	return service;
}

static void run(struct worker *workers)
{
	for (long i = 0; i < options.threads; i++) {
		struct worker *worker = &workers[i];

		worker->number = (unsigned)i;
		worker->draw = (uint64_t)now_ns() | 1;
		worker->cr_thread = cr_thread_new(cr);
		if (worker->cr_thread == NULL ||
		    pthread_create(&worker->thread, NULL, work, worker) != 0) {
			fprintf(stderr, "no thread\n");
			exit(EXIT_FAILURE);
		}
	}
	for (long i = 0; i < options.threads; i++) {
		pthread_join(workers[i].thread, NULL);
		cr_thread_free(workers[i].cr_thread);
	}
}

int main(int argc, char **argv)
{
	const struct sigaction end = { .sa_handler = on_end };
	struct worker *workers = calloc(THREADS_MAX + 1, sizeof *workers), *sum = workers;
	int status;

	if (workers == NULL || !take_options(argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGALRM, &end, NULL);
	if (start() < 0)
		return EXIT_FAILURE;
	alarm((unsigned)options.seconds);
	run(workers + 1);
	for (long i = 1; i <= options.threads; i++)
		add_up(sum, &workers[i]);
	print_totals(sum);
	cr_detach(cr);
	status = sum->failed == 0 && sum->calls > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	free(workers);
	return status;
}
