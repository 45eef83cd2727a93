/* fake_snmp.c - an SNMP v2c agent in a thread, BER by hand: no library helps it to be wrong. */
#include "fake_snmp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_ber.h"

#define ERROR_TOO_BIG 1
#define ERROR_GENERAL 5

struct fake_snmp {
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	int socket, other_socket, stop;
	char endpoint[64];
	enum fake_mode mode;
	unsigned int limit, delay_ms, requests, largest;
	struct ber_object *object; /* in the order of their names */
	size_t n_objects;
};

static void *check(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static int compare(const struct ber_name *a, const struct ber_name *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (a->id[i] != b->id[i])
			return a->id[i] < b->id[i] ? -1 : 1;
	return a->n < b->n ? -1 : a->n > b->n;
}

static struct ber_name read_name(const char *text)
{
	struct ber_name name = { .n = 0 };
	char *end;

	for (; *text == '.' && name.n < BER_OID_MAX; text = end)
		name.id[name.n++] = (uint32_t)strtoul(text + 1, &end, 10);
	return name;
}

/*** The agent's mind ***/

static struct ber_object get(const struct fake_snmp *fake, const struct ber_name *name)
{
	for (size_t i = 0; i < fake->n_objects; i++)
		if (compare(&fake->object[i].name, name) == 0)
			return fake->object[i];
	return (struct ber_object){ .name = *name, .type = FAKE_NO_INSTANCE };
}

static struct ber_object get_next(const struct fake_snmp *fake, const struct ber_name *name)
{
	if (fake->mode == FAKE_SAME_OID)
		return (struct ber_object){ .name = *name, .type = FAKE_INTEGER, .number = 1 };
	if (fake->mode == FAKE_ENDLESS) {
		struct ber_object next = { .name = *name,
					   .type = FAKE_STRING,
					   .text = "x:endless" };

		if (name->n == 11) /* a column: its first row */
			next.name.id[next.name.n++] = 0;
		next.name.id[next.name.n - 1]++;
		return next;
	}
	for (size_t i = 0; i < fake->n_objects; i++)
		if (compare(&fake->object[i].name, name) > 0)
			return fake->object[i];
	return (struct ber_object){ .name = *name, .type = FAKE_END };
}

static bool is_full(const struct fake_snmp *fake, const struct ber_binds *binds)
{
	return binds->n == BER_BINDS_MAX || (fake->mode == FAKE_SHORT && binds->n == fake->limit);
}

static void think(const struct fake_snmp *fake, const struct ber_request *request,
		  struct ber_binds *binds)
{
	static const struct ber_name up_time = { { 1, 3, 6, 1, 2, 1, 1, 3, 0 }, 9 };
	const int64_t repetitions = request->tag == BER_GETBULK ? request->b : 1;
	struct ber_name at[BER_BINDS_MAX];

	binds->n = 0;
	memcpy(at, request->name, request->n * sizeof *at);
	for (int64_t r = 0; r < repetitions; r++)
		for (size_t i = 0; i < request->n && !is_full(fake, binds); i++) {
			struct ber_object *object = &binds->object[binds->n++];

			*object = request->tag == BER_GET ? get(fake, &at[i])
							  : get_next(fake, &at[i]);
			at[i] = object->name;
			if (fake->mode == FAKE_OTHER_OBJECTS)
				object->name = up_time;
		}
}

static void answer(struct fake_snmp *fake, const struct ber_request *request,
		   const struct sockaddr_in *to)
{
	static _Thread_local struct ber_writer w;
	static _Thread_local struct ber_binds binds;
	int64_t error = 0;
	size_t len;

	think(fake, request, &binds);
	if (fake->mode == FAKE_GENERR)
		error = ERROR_GENERAL;
	if (fake->mode == FAKE_TOO_BIG && binds.n > fake->limit)
		error = ERROR_TOO_BIG;
	if (error != 0)
		binds.n = 0;
	if (binds.n > fake->largest)
		fake->largest = (unsigned int)binds.n;
	ber_write(&w, request->id + (fake->mode == FAKE_WRONG_ID), error, &binds);
	len = BER_MAX - w.at;
	if (fake->mode == FAKE_TRUNCATED)
		len /= 2;
	if (fake->mode == FAKE_GARBAGE)
		memset(w.buf + w.at, 0xff, len);
	for (int i = 0; i < (fake->mode == FAKE_DUPLICATE ? 2 : 1); i++)
		sendto(fake->mode == FAKE_OTHER_PORT ? fake->other_socket : fake->socket,
		       w.buf + w.at, len, 0, (const struct sockaddr *)to, sizeof *to);
}

static void take_request(struct fake_snmp *fake)
{
	static _Thread_local uint8_t buf[BER_MAX];
	static _Thread_local struct ber_request request;
	struct sockaddr_in from;
	socklen_t from_len = sizeof from;
	const ssize_t size = recvfrom(fake->socket, buf, sizeof buf, MSG_DONTWAIT,
				      (struct sockaddr *)&from, &from_len);
	struct pollfd stop = { .fd = fake->stop, .events = POLLIN };
	unsigned int delay_ms;

	if (size < 0 || ber_read(buf, (size_t)size, &request) < 0)
		return;
	pthread_mutex_lock(&fake->lock);
	fake->requests++;
	delay_ms = fake->delay_ms;
	pthread_mutex_unlock(&fake->lock);
	if (delay_ms > 0 && poll(&stop, 1, (int)delay_ms) > 0)
		return;
	pthread_mutex_lock(&fake->lock);
	if (fake->mode != FAKE_SILENT && (fake->mode != FAKE_DROP_FIRST || fake->requests % 2 == 0))
		answer(fake, &request, &from);
	pthread_mutex_unlock(&fake->lock);
}

static void *run(void *arg)
{
	struct fake_snmp *fake = arg;
	struct pollfd fd[2] = { { .fd = fake->stop, .events = POLLIN },
				{ .fd = fake->socket, .events = POLLIN } };

	while (poll(fd, 2, -1) >= 0 && fd[0].revents == 0)
		if (fd[1].revents != 0)
			take_request(fake);
	return NULL;
}

/*** For the tests ***/

static int bind_socket(struct sockaddr_in *address)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof *address;

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)address, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)address, &len) < 0)
		abort();
	return fd;
}

struct fake_snmp *fake_snmp_new(enum fake_mode mode)
{
	struct fake_snmp *fake = check(calloc(1, sizeof *fake));
	struct sockaddr_in address;

	fake->mode = mode;
	pthread_mutex_init(&fake->lock, NULL);
	fake->other_socket = bind_socket(&address);
	fake->socket = bind_socket(&address);
	fake->stop = eventfd(0, EFD_CLOEXEC);
	snprintf(fake->endpoint, sizeof fake->endpoint, "udp:127.0.0.1:%d",
		 ntohs(address.sin_port));
	if (fake->stop < 0 || pthread_create(&fake->thread, NULL, run, fake) != 0)
		abort();
	return fake;
}

void fake_snmp_free(struct fake_snmp *fake)
{
	if (fake == NULL)
		return;
	if (eventfd_write(fake->stop, 1) < 0)
		abort();
	pthread_join(fake->thread, NULL);
	close(fake->socket);
	close(fake->other_socket);
	close(fake->stop);
	pthread_mutex_destroy(&fake->lock);
	free(fake->object);
	free(fake);
}

const char *fake_snmp_endpoint(const struct fake_snmp *fake)
{
	return fake->endpoint;
}

void fake_snmp_mode(struct fake_snmp *fake, enum fake_mode mode, unsigned int limit)
{
	pthread_mutex_lock(&fake->lock);
	fake->mode = mode;
	fake->limit = limit;
	pthread_mutex_unlock(&fake->lock);
}

void fake_snmp_delay(struct fake_snmp *fake, unsigned int ms)
{
	pthread_mutex_lock(&fake->lock);
	fake->delay_ms = ms;
	pthread_mutex_unlock(&fake->lock);
}

/* Put the object in its place, instead of one of the same name. */
static void set(struct fake_snmp *fake, const struct ber_object *object)
{
	size_t i = 0;

	pthread_mutex_lock(&fake->lock);
	while (i < fake->n_objects && compare(&fake->object[i].name, &object->name) < 0)
		i++;
	if (i == fake->n_objects || compare(&fake->object[i].name, &object->name) != 0) {
		fake->object =
			check(realloc(fake->object, (fake->n_objects + 1) * sizeof *fake->object));
		memmove(&fake->object[i + 1], &fake->object[i],
			(fake->n_objects++ - i) * sizeof *fake->object);
	}
	fake->object[i] = *object;
	pthread_mutex_unlock(&fake->lock);
}

void fake_snmp_number(struct fake_snmp *fake, const char *oid, enum fake_type type, int64_t value)
{
	const struct ber_object object = { .name = read_name(oid),
					   .type = (uint8_t)type,
					   .number = value };

	set(fake, &object);
}

void fake_snmp_text(struct fake_snmp *fake, const char *oid, const char *text)
{
	struct ber_object object = { .name = read_name(oid), .type = FAKE_STRING };

	snprintf(object.text, sizeof object.text, "%s", text);
	set(fake, &object);
}

void fake_snmp_weblogic(struct fake_snmp *fake, unsigned int row, const char *parent, int64_t free,
			int64_t size, int percent)
{
	char oid[96];

	snprintf(oid, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.20.%u", row);
	fake_snmp_text(fake, oid, parent);
	snprintf(oid, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.25.%u", row);
	fake_snmp_number(fake, oid, free < 0 ? FAKE_INTEGER : FAKE_COUNTER64, free);
	snprintf(oid, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.30.%u", row);
	fake_snmp_number(fake, oid, size < 0 ? FAKE_INTEGER : FAKE_COUNTER64, size);
	snprintf(oid, sizeof oid, ".1.3.6.1.4.1.140.625.340.1.52.%u", row);
	if (percent >= 0)
		fake_snmp_number(fake, oid, FAKE_INTEGER, percent);
}

void fake_snmp_jvm(struct fake_snmp *fake, int64_t used, int64_t committed, int64_t max)
{
	fake_snmp_number(fake, ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.11.0", FAKE_COUNTER64, used);
	fake_snmp_number(fake, ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.12.0", FAKE_COUNTER64, committed);
	fake_snmp_number(fake, ".1.3.6.1.4.1.42.2.145.3.163.1.1.2.13.0", FAKE_COUNTER64, max);
}

unsigned int fake_snmp_requests(struct fake_snmp *fake)
{
	unsigned int requests;

	pthread_mutex_lock(&fake->lock);
	requests = fake->requests;
	pthread_mutex_unlock(&fake->lock);
	return requests;
}

unsigned int fake_snmp_await(struct fake_snmp *fake, unsigned int n)
{
	for (int i = 0; i < 2000 && fake_snmp_requests(fake) < n; i++)
		poll(NULL, 0, 1);
	return fake_snmp_requests(fake);
}

unsigned int fake_snmp_largest(struct fake_snmp *fake)
{
	unsigned int largest;

	pthread_mutex_lock(&fake->lock);
	largest = fake->largest;
	pthread_mutex_unlock(&fake->lock);
	return largest;
}
