/*
 * heapd.c - the lab's application server: answers calls, and has a heap of real, touched memory
 * with a collector of garbage, so that its free memory moves as a JVM's does.
 *
 *   heapd --port P --name N [--heap BYTES] [--values FILE]
 *
 * GET /call...?bytes=B&ms=M   hold B bytes for M ms; answers "served by N"; 503 if they do not fit
 * GET /lab/keep?mb=X          retain X MiB; ?free=1 drops all
 * GET /lab/free               drop what was retained, and collect
 * GET /lab/nul                a page as of Jolokia, with a NUL and more behind it
 * GET /jolokia/read/java.lang:type=Memory/HeapMemoryUsage
 *
 * What a call held stays in use as garbage until the heap is COLLECT_PERCENT full. The paths of
 * tomcat.sh (/load/call.jsp, /load/keep.jsp) work too. With --values, FILE always holds one line
 * "NAME free size percent". Port 0 lets the system choose; "ready port P" tells it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <microhttpd.h>

enum {
	COLLECT_PERCENT = 70,
	WRITE_GAP_MS = 50,
	CALL_BYTES = 32 * 1024, /* what a call costs that names no size */
	MS_MAX = 60 * 1000,
};

#define MIB       ((size_t)1 << 20)
#define HEAPD_MAX ((size_t)4096 * MIB)

struct block {
	struct block *next;
	size_t size; /* of bytes[] */
	unsigned char bytes[];
};

/* Blocks of calls in progress belong to their call; the lists here own the others. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* is_dirty or is_stopping: for the writer */
	pthread_cond_t ending;  /* is_stopping: for those who pause */
	size_t size, used;
	struct block *garbage, *kept;
	bool is_stopping, is_dirty;
} heap = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .changed = PTHREAD_COND_INITIALIZER,
	   .size = 64 * MIB };

static const char *name = "heapd";
static const char *values_file;

/*** The heap ***/

static void drop(struct block **list)
{
	struct block *block;

	while ((block = *list)) {
		*list = block->next;
		heap.used -= block->size;
		free(block);
	}
}

static void tell(void)
{
	heap.is_dirty = true;
	pthread_cond_signal(&heap.changed);
}

/* NULL: it does not fit even when all garbage is gone. The memory is touched outside the lock. */
static struct block *take(size_t size)
{
	struct block *block = NULL;
	bool fits;

	pthread_mutex_lock(&heap.lock);
	if ((heap.used + size) / COLLECT_PERCENT >= heap.size / 100)
		drop(&heap.garbage);
	fits = size <= heap.size - heap.used;
	if (fits)
		heap.used += size;
	tell();
	pthread_mutex_unlock(&heap.lock);
	if (fits)
		block = malloc(sizeof *block + size);
	if (block) {
		block->size = size;
		memset(block->bytes, 0xca, size);
	} else if (fits) {
		pthread_mutex_lock(&heap.lock);
		heap.used -= size;
		pthread_mutex_unlock(&heap.lock);
	}
	return block;
}

static void leave(struct block *block, struct block **list)
{
	pthread_mutex_lock(&heap.lock);
	block->next = *list;
	*list = block;
	pthread_mutex_unlock(&heap.lock);
}

static void drop_all(void)
{
	pthread_mutex_lock(&heap.lock);
	drop(&heap.kept);
	drop(&heap.garbage);
	tell();
	pthread_mutex_unlock(&heap.lock);
}

static size_t used_now(void)
{
	size_t used;

	pthread_mutex_lock(&heap.lock);
	used = heap.used;
	pthread_mutex_unlock(&heap.lock);
	return used;
}

/* Until at least ms have gone or heapd is to end. Holds the lock. */
static void pause_ms(long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (!heap.is_stopping)
		if (pthread_cond_timedwait(&heap.ending, &heap.lock, &until) == ETIMEDOUT)
			break;
}

/*** The file of values ***/

static void write_values(size_t used)
{
	char temp[4096];
	size_t free_bytes = heap.size - used;
	FILE *f;

	if (snprintf(temp, sizeof temp, "%s.%ld", values_file, (long)getpid()) >= (int)sizeof temp)
		return;
	f = fopen(temp, "we");
	if (!f)
		return;
	fprintf(f, "%s %zu %zu %zu\n", name, free_bytes, heap.size, free_bytes * 100 / heap.size);
	if (fclose(f) == 0)
		rename(temp, values_file);
}

static void *writer_main(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&heap.lock);
	while (!heap.is_stopping) {
		size_t used = heap.used;

		if (!heap.is_dirty) {
			pthread_cond_wait(&heap.changed, &heap.lock);
			continue;
		}
		heap.is_dirty = false;
		pthread_mutex_unlock(&heap.lock);
		write_values(used);
		pthread_mutex_lock(&heap.lock);
		pause_ms(WRITE_GAP_MS);
	}
	pthread_mutex_unlock(&heap.lock);
	return NULL;
}

/*** Answers ***/

static enum MHD_Result answer_bytes(struct MHD_Connection *c, unsigned status, const char *type,
				    const char *bytes, size_t len)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		len, (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "X-Served-By", name);
	result = MHD_queue_response(c, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type,
			      const char *text)
{
	return answer_bytes(c, status, type, text, strlen(text));
}

/* The query's number; preset if it is not there; < 0 if it is no number up to max. */
static int64_t number(struct MHD_Connection *c, const char *key, int64_t preset, int64_t max)
{
	const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, key);
	char *end;
	long long n;

	if (!text)
		return preset;
	errno = 0;
	n = strtoll(text, &end, 10);
	return errno || end == text || *end || n < 0 || n > max ? -1 : n;
}

static enum MHD_Result serve_call(struct MHD_Connection *c)
{
	int64_t bytes = number(c, "bytes", CALL_BYTES, (int64_t)HEAPD_MAX);
	int64_t ms = number(c, "ms", 0, MS_MAX);
	struct block *block;
	char text[128];

	if (bytes < 0 || ms < 0)
		return answer(c, 400, "text/plain", "bytes and ms are numbers\n");
	block = take((size_t)bytes);
	if (!block)
		return answer(c, 503, "text/plain", "out of memory\n");
	pthread_mutex_lock(&heap.lock);
	if (ms)
		pause_ms((long)ms);
	pthread_mutex_unlock(&heap.lock);
	leave(block, &heap.garbage);
	(void)snprintf(text, sizeof text, "served by %s\n", name);
	return answer(c, 200, "text/plain", text);
}

static enum MHD_Result serve_keep(struct MHD_Connection *c)
{
	int64_t mb = number(c, "mb", 0, (int64_t)(HEAPD_MAX / MIB));

	if (MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "free"))
		drop_all();
	if (mb < 0)
		return answer(c, 400, "text/plain", "mb is a number\n");
	for (; mb > 0; mb--) {
		struct block *block = take(MIB);

		if (!block)
			return answer(c, 503, "text/plain", "out of memory\n");
		leave(block, &heap.kept);
	}
	return answer(c, 200, "text/plain", "kept\n");
}

static enum MHD_Result serve_free(struct MHD_Connection *c)
{
	drop_all();
	return answer(c, 200, "text/plain", "dropped\n");
}

static enum MHD_Result serve_jolokia(struct MHD_Connection *c)
{
	char text[512];

	(void)snprintf(
		text, sizeof text,
		"{\"request\":{\"mbean\":\"java.lang:type=Memory\",\"attribute\":"
		"\"HeapMemoryUsage\",\"type\":\"read\"},\"value\":{\"init\":%zu,\"committed\":%zu,"
		"\"max\":%zu,\"used\":%zu},\"status\":200,\"timestamp\":%lld}",
		heap.size, heap.size, heap.size, used_now(), (long long)time(NULL));
	return answer(c, 200, "application/json", text);
}

/* A good answer, and a NUL and more behind it. */
static enum MHD_Result serve_nul(struct MHD_Connection *c)
{
	static const char page[] = "{\"value\":{\"used\":\"a\\\\b\",\"committed\":5,\"max\":-1},"
				   "\"status\":200}\0\\0 junk";

	return answer_bytes(c, 200, "application/json", page, sizeof page - 1);
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static enum MHD_Result serve(void *unused, struct MHD_Connection *c, const char *url,
			     const char *method, const char *version, const char *body,
			     size_t *body_len, void **seen)
{
	(void)unused, (void)version, (void)body;
	if (!*seen || *body_len) { /* the headers first, then the body, which is of no interest */
		*seen = &heap;
		*body_len = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 &&
	    strcmp(method, "POST") != 0)
		return answer(c, 405, "text/plain", "GET, HEAD, POST\n");
	if (starts(url, "/call") || starts(url, "/load/call"))
		return serve_call(c);
	if (starts(url, "/lab/keep") || starts(url, "/load/keep"))
		return serve_keep(c);
	if (starts(url, "/lab/free"))
		return serve_free(c);
	if (starts(url, "/lab/nul"))
		return serve_nul(c);
	if (strcmp(url, "/jolokia/read/java.lang:type=Memory/HeapMemoryUsage") == 0)
		return serve_jolokia(c);
	return answer(c, 404, "text/plain", "no such page\n");
}

/*** Start and end ***/

static void usage(void)
{
	fputs("usage: heapd --port P --name N [--heap BYTES] [--values FILE]\n", stderr);
	exit(2);
}

static size_t argument(const char *text, size_t max)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || n > max)
		usage();
	return (size_t)n;
}

static uint16_t parse(int argc, char **argv)
{
	uint16_t port = 0;

	if (argc % 2 == 0)
		usage();
	for (int i = 1; i < argc; i += 2) {
		if (strcmp(argv[i], "--port") == 0)
			port = (uint16_t)argument(argv[i + 1], UINT16_MAX);
		else if (strcmp(argv[i], "--name") == 0)
			name = argv[i + 1];
		else if (strcmp(argv[i], "--heap") == 0)
			heap.size = argument(argv[i + 1], HEAPD_MAX);
		else if (strcmp(argv[i], "--values") == 0)
			values_file = argv[i + 1];
		else
			usage();
	}
	if (heap.size < MIB)
		usage();
	return port;
}

static struct MHD_Daemon *start(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
					MHD_USE_POLL,
				port, NULL, NULL, serve, NULL, MHD_OPTION_SOCK_ADDR,
				(struct sockaddr *)&at, MHD_OPTION_CONNECTION_LIMIT, 2000u,
				MHD_OPTION_THREAD_STACK_SIZE, (size_t)128 * 1024, MHD_OPTION_END);
}

static void stop_pauses(void)
{
	pthread_mutex_lock(&heap.lock);
	heap.is_stopping = true;
	pthread_cond_broadcast(&heap.changed);
	pthread_cond_broadcast(&heap.ending);
	pthread_mutex_unlock(&heap.lock);
}

int main(int argc, char **argv)
{
	uint16_t port = parse(argc, argv);
	pthread_condattr_t monotonic;
	struct MHD_Daemon *daemon;
	pthread_t writer;
	sigset_t ends;
	int got;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&heap.ending, &monotonic);
	daemon = start(port);
	if (!daemon) {
		perror("heapd: cannot listen");
		return 1;
	}
	if (values_file) {
		write_values(0);
		pthread_create(&writer, NULL, writer_main, NULL);
	}
	printf("ready port %u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	sigwait(&ends, &got);
	stop_pauses();
	MHD_stop_daemon(daemon);
	if (values_file)
		pthread_join(writer, NULL);
	drop_all();
	return 0;
}
