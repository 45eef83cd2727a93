/* fake_snmp.c - an SNMP agent in a thread, BER by hand: no library helps it to be wrong. */
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

#define ERROR_TOO_BIG  1
#define ERROR_NO_NAME  2
#define ERROR_GENERAL  5
#define UNKNOWN_USER   3
#define UNKNOWN_ENGINE 4
#define NO_CONTEXT     100 /* of our own: not one of usmStats */

struct fake_snmp {
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	int socket, other_socket, stop, port, other_port;
	char endpoint[64];
	enum fake_mode mode;
	unsigned int limit, delay_ms, requests, discoveries, largest, complaint, seed;
	uint32_t last_id;
	uint8_t engine[9];
	const char *deaf; /* whom it is silent about; NULL: nobody */
	char asked[512];
	struct ber_object *object; /* in the order of their names */
	size_t n_objects;
};

static void *check(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

/*** The agent's mind ***/

static struct ber_object get(const struct fake_snmp *fake, const struct ber_name *name)
{
	for (size_t i = 0; i < fake->n_objects; i++)
		if (ber_compare(&fake->object[i].name, name) == 0)
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
		if (ber_compare(&fake->object[i].name, name) > 0)
			return fake->object[i];
	return (struct ber_object){ .name = *name, .type = FAKE_END };
}

/* The object before; an agent that counts the wrong way. */
static struct ber_object get_before(const struct fake_snmp *fake, const struct ber_name *name)
{
	for (size_t i = fake->n_objects; i-- > 0;)
		if (ber_compare(&fake->object[i].name, name) < 0)
			return fake->object[i];
	return (struct ber_object){ .name = *name, .type = FAKE_END };
}

static bool is_full(const struct fake_snmp *fake, const struct ber_binds *binds)
{
	return binds->n == BER_BINDS_MAX || (fake->mode == FAKE_SHORT && binds->n == fake->limit) ||
	       (fake->mode == FAKE_ONE_OBJECT && binds->n == 1) || fake->mode == FAKE_NO_OBJECTS;
}

static struct ber_object look_up(const struct fake_snmp *fake, uint8_t tag, bool is_version_1,
				 const struct ber_name *name)
{
	struct ber_object object;

	if (tag == BER_GET)
		object = get(fake, name);
	else if (fake->mode == FAKE_BACKWARDS)
		object = get_before(fake, name);
	else
		object = get_next(fake, name);

	while (is_version_1 && object.type == FAKE_COUNTER64)
		object = tag == BER_GET
				 ? (struct ber_object){ .name = *name, .type = FAKE_NO_OBJECT }
				 : get_next(fake, &object.name);
	return object;
}

/* The objects of the answer; returns 0, or (version 1) the number of the one that is not there. */
static int64_t think(const struct fake_snmp *fake, const struct ber_request *request,
		     struct ber_binds *binds)
{
	static const struct ber_name up_time = { { 1, 3, 6, 1, 2, 1, 1, 3, 0 }, 9 };
	const int64_t repetitions = request->tag == BER_GETBULK ? request->b : 1;
	const bool is_version_1 = request->version == BER_V1;
	struct ber_name at[BER_BINDS_MAX];

	binds->n = 0;
	memcpy(at, request->name, request->n * sizeof *at);
	for (int64_t r = 0; r < repetitions; r++)
		for (size_t i = 0; i < request->n && !is_full(fake, binds); i++) {
			struct ber_object *object = &binds->object[binds->n++];

			*object = look_up(fake, request->tag, is_version_1, &at[i]);
			if (is_version_1 && object->type >= FAKE_NO_OBJECT)
				return (int64_t)i + 1;
			at[i] = object->name;
			if (fake->mode == FAKE_OTHER_OBJECTS)
				object->name = up_time;
		}
	return 0;
}

/* What version 3 has to complain about, or 0. */
static unsigned int complaint(struct fake_snmp *fake, const struct ber_request *request)
{
	if (request->version != BER_V3)
		return 0;
	if (request->engine_len == 0)
		fake->discoveries++;
	if (request->engine_len != sizeof fake->engine ||
	    memcmp(request->engine, fake->engine, sizeof fake->engine) != 0)
		return UNKNOWN_ENGINE;
	if (strcmp(request->user, "poller") != 0)
		return UNKNOWN_USER;
	return fake->mode == FAKE_NO_CONTEXT ? NO_CONTEXT : fake->complaint;
}

static void complain(unsigned int about, struct ber_answer *answer, struct ber_binds *binds)
{
	const struct ber_name stats = { { 1, 3, 6, 1, 6, 3, 15, 1, 1, about, 0 }, 11 };
	const struct ber_name unknown_contexts = { { 1, 3, 6, 1, 6, 3, 12, 1, 5, 0 }, 10 };
	const struct ber_name name = about == NO_CONTEXT ? unknown_contexts : stats;

	answer->tag = BER_REPORT;
	binds->n = 1;
	binds->object[0] = (struct ber_object){ .name = name, .type = FAKE_COUNTER, .number = 7 };
}

/* Change one to three bytes; the same ones in each run of the test. */
static void mutate(struct fake_snmp *fake, uint8_t *bytes, size_t len)
{
	for (unsigned int i = 0; i <= fake->requests % 3; i++) {
		fake->seed = fake->seed * 1103515245 + 12345;
		bytes[(fake->seed >> 16) % len] = (uint8_t)(fake->seed >> 8);
	}
}

static void send_answer(struct fake_snmp *fake, struct ber_writer *w, const struct sockaddr_in6 *to)
{
	const bool is_other =
		fake->mode == FAKE_OTHER_PORT || fake->mode == FAKE_WRONG_FROM_OTHER_PORT;
	size_t len = BER_MAX - w->at;

	if (fake->mode == FAKE_MUTATED)
		mutate(fake, w->buf + w->at, len);

	if (fake->mode == FAKE_TRUNCATED)
		len /= 2;
	if (fake->mode == FAKE_GARBAGE)
		memset(w->buf + w->at, 0xff, len);
	for (int i = 0; i < (fake->mode == FAKE_DUPLICATE ? 2 : 1); i++)
		sendto(is_other ? fake->other_socket : fake->socket, w->buf + w->at, len, 0,
		       (const struct sockaddr *)to,
		       to->sin6_family == AF_INET6 ? sizeof *to : sizeof(struct sockaddr_in));
}

static const char *community_of(const struct fake_snmp *fake, const struct ber_request *request)
{
	static _Thread_local char community[6 + sizeof request->about];

	if (fake->mode == FAKE_COMMUNITY)
		return "private";
	snprintf(community, sizeof community, "public%s",
		 fake->mode == FAKE_BARE_COMMUNITY ? "" : request->about);
	return community;
}

static void note_asked(struct fake_snmp *fake, const struct ber_request *request)
{
	const size_t len = strlen(fake->asked);

	if (request->version != BER_V3 || request->engine_len > 0)
		snprintf(fake->asked + len, sizeof fake->asked - len, "%s ", request->about);
}

static void answer(struct fake_snmp *fake, const struct ber_request *request,
		   const struct sockaddr_in6 *to)
{
	static _Thread_local struct ber_writer w;
	static _Thread_local struct ber_binds binds;
	struct ber_answer answer = {
		.tag = BER_RESPONSE,
		.id = request->id + (fake->mode == FAKE_WRONG_ID || fake->mode == FAKE_FLOOD ||
				     fake->mode == FAKE_WRONG_FROM_OTHER_PORT),
		.community = community_of(fake, request),
		.engine = fake->engine,
		.engine_len = sizeof fake->engine,
		.boots = 1,
		.time = 1,
		.context = fake->mode == FAKE_OTHER_CONTEXT ? "other" : request->about
	};
	const unsigned int about = complaint(fake, request);

	if (about != 0) {
		complain(about, &answer, &binds);
	} else if (fake->mode == FAKE_MUTE_USER || (request->flags & 2) != 0) {
		return;
	} else {
		answer.index = think(fake, request, &binds);
		answer.error = answer.index != 0 ? ERROR_NO_NAME : 0;
	}
	if (fake->mode == FAKE_GENERR)
		answer.error = ERROR_GENERAL;
	if (fake->mode == FAKE_TOO_BIG && binds.n > fake->limit)
		answer.error = ERROR_TOO_BIG;
	if (fake->mode == FAKE_BAD_INDEX) {
		answer.error = ERROR_NO_NAME;
		answer.index = 99;
	}
	if (answer.error != 0)
		binds.n = 0;
	if (binds.n > fake->largest)
		fake->largest = (unsigned int)binds.n;
	for (int i = 0; i < (fake->mode == FAKE_FLOOD ? 500 : 1); i++) {
		ber_write(&w, request, &answer, &binds);
		send_answer(fake, &w, to);
	}
}

static void take_request(struct fake_snmp *fake)
{
	static _Thread_local uint8_t buf[BER_MAX];
	static _Thread_local struct ber_request request;
	struct sockaddr_in6 from; /* or the shorter sockaddr_in */
	socklen_t from_len = sizeof from;
	const ssize_t size = recvfrom(fake->socket, buf, sizeof buf, MSG_DONTWAIT,
				      (struct sockaddr *)&from, &from_len);
	struct pollfd stop = { .fd = fake->stop, .events = POLLIN };
	unsigned int delay_ms;
	bool is_deaf;

	if (size < 0 || ber_read(buf, (size_t)size, &request) < 0)
		return;
	pthread_mutex_lock(&fake->lock);
	fake->requests++;
	fake->last_id = (uint32_t)request.id;
	note_asked(fake, &request);
	is_deaf = fake->deaf != NULL && strcmp(fake->deaf, request.about) == 0;
	delay_ms = fake->delay_ms;
	pthread_mutex_unlock(&fake->lock);
	if (is_deaf)
		return;
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

/* Ports are in the same place in both families. Returns the socket, or -1. */
static int bind_socket(const char *address, int port, int *bound)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	const bool is_six = inet_pton(AF_INET6, address, &six.sin6_addr) == 1;
	struct sockaddr *any = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t len = is_six ? sizeof six : sizeof four;
	const int fd = socket(any->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || (!is_six && inet_pton(AF_INET, address, &four.sin_addr) != 1))
		abort();
	six.sin6_port = four.sin_port = htons((uint16_t)port);
	if (bind(fd, any, len) < 0 || getsockname(fd, any, &len) < 0) {
		close(fd);
		return -1;
	}
	*bound = ntohs(is_six ? six.sin6_port : four.sin_port);
	return fd;
}

struct fake_snmp *fake_snmp_new_at(enum fake_mode mode, const char *address, int port)
{
	struct fake_snmp *fake = check(calloc(1, sizeof *fake));
	const bool is_six = strchr(address, ':') != NULL;

	fake->socket = bind_socket(address, port, &fake->port);
	if (fake->socket < 0) {
		free(fake);
		return NULL;
	}
	fake->mode = mode;
	memcpy(fake->engine, (const uint8_t[]){ 0x80, 0, 0, 0, 4, 'f', 'a', 'k', 1 },
	       sizeof fake->engine);
	pthread_mutex_init(&fake->lock, NULL);
	fake->other_socket = bind_socket(address, 0, &fake->other_port);
	fake->stop = eventfd(0, EFD_CLOEXEC);
	snprintf(fake->endpoint, sizeof fake->endpoint, "udp:%s%s%s:%d", is_six ? "[" : "", address,
		 is_six ? "]" : "", fake->port);
	if (fake->stop < 0 || fake->other_socket < 0 ||
	    pthread_create(&fake->thread, NULL, run, fake) != 0)
		abort();
	return fake;
}

struct fake_snmp *fake_snmp_new(enum fake_mode mode)
{
	return check(fake_snmp_new_at(mode, "127.0.0.1", 0));
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

int fake_snmp_port(const struct fake_snmp *fake)
{
	return fake->port;
}

int fake_snmp_other_port(const struct fake_snmp *fake)
{
	return fake->other_port;
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

void fake_snmp_engine(struct fake_snmp *fake, uint8_t engine)
{
	pthread_mutex_lock(&fake->lock);
	fake->engine[sizeof fake->engine - 1] = engine;
	pthread_mutex_unlock(&fake->lock);
}

void fake_snmp_complain(struct fake_snmp *fake, unsigned int complaint)
{
	pthread_mutex_lock(&fake->lock);
	fake->complaint = complaint;
	pthread_mutex_unlock(&fake->lock);
}

void fake_snmp_deaf(struct fake_snmp *fake, const char *text)
{
	pthread_mutex_lock(&fake->lock);
	fake->deaf = text;
	pthread_mutex_unlock(&fake->lock);
}

const char *fake_snmp_asked(const struct fake_snmp *fake)
{
	return fake->asked;
}

/* Put the object in its place, instead of one of the same name. */
static void set(struct fake_snmp *fake, const struct ber_object *object)
{
	size_t i = 0;

	pthread_mutex_lock(&fake->lock);
	while (i < fake->n_objects && ber_compare(&fake->object[i].name, &object->name) < 0)
		i++;
	if (i == fake->n_objects || ber_compare(&fake->object[i].name, &object->name) != 0) {
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
	struct ber_object object = { .name = ber_read_name(oid), .number = value };

	object.type = (uint8_t)type;
	set(fake, &object);
}

void fake_snmp_bytes(struct fake_snmp *fake, const char *oid, const void *bytes, size_t len)
{
	struct ber_object object = { .name = ber_read_name(oid), .type = FAKE_STRING };

	object.len = len < sizeof object.text ? len : sizeof object.text;
	memcpy(object.text, bytes, object.len);
	set(fake, &object);
}

/* A number of the agent's own, read under its lock. */
static unsigned int count(struct fake_snmp *fake, const unsigned int *number)
{
	unsigned int value;

	pthread_mutex_lock(&fake->lock);
	value = *number;
	pthread_mutex_unlock(&fake->lock);
	return value;
}

unsigned int fake_snmp_requests(struct fake_snmp *fake)
{
	return count(fake, &fake->requests);
}

unsigned int fake_snmp_discoveries(struct fake_snmp *fake)
{
	return count(fake, &fake->discoveries);
}

uint32_t fake_snmp_last_id(struct fake_snmp *fake)
{
	return count(fake, &fake->last_id);
}

unsigned int fake_snmp_await(struct fake_snmp *fake, unsigned int n)
{
	for (int i = 0; i < 2000 && fake_snmp_requests(fake) < n; i++)
		poll(NULL, 0, 1);
	return fake_snmp_requests(fake);
}

unsigned int fake_snmp_largest(struct fake_snmp *fake)
{
	return count(fake, &fake->largest);
}
