/* bare_snmp.c - the least that polling with net-snmp takes: one session a target, one epoll
 * descriptor, the same question as the profile jvm-mib asks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <net-snmp/net-snmp-config.h>

#include <net-snmp/library/large_fd_set.h>
#include <net-snmp/net-snmp-includes.h>

#include "bare.h"
#include "responder.h"

#define EVENTS 256

static struct bare bare;

struct session {
	struct session_list *handle;
	int fd;
	int64_t heap[3];
};

static int take(int op, netsnmp_session *unused, int id, netsnmp_pdu *pdu, void *magic)
{
	struct session *session = magic;
	size_t i = 0;

	(void)unused, (void)id;
	if (op != NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE)
		return 1;
	for (const netsnmp_variable_list *v = pdu->variables; v != NULL && i < 3;
	     v = v->next_variable)
		if (v->type == ASN_COUNTER64)
			session->heap[i++] = (int64_t)((uint64_t)v->val.counter64->high << 32 |
						       (v->val.counter64->low & 0xffffffff));
	bare.answered += i == 3;
	return 1;
}

static bool open_session(struct session *session, uint32_t index, int epoll)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = session };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(bare.port),
				  .sin_addr.s_addr = responder_address(bare.first + index) };
	const uint8_t *byte = (const uint8_t *)&to.sin_addr.s_addr;
	netsnmp_session wanted;
	char peer[64];

	snprintf(peer, sizeof peer, "udp:%u.%u.%u.%u:%u", byte[0], byte[1], byte[2], byte[3],
		 (unsigned)bare.port);
	snmp_sess_init(&wanted);
	wanted.version = SNMP_VERSION_2c;
	wanted.peername = peer;
	wanted.community = (u_char *)(uintptr_t) "public";
	wanted.community_len = 6;
	wanted.retries = 0;
	wanted.timeout = 500000;
	session->handle = snmp_sess_open(&wanted);
	if (session->handle == NULL)
		return false;
	session->fd = snmp_sess_transport(session->handle)->sock;
	return connect(session->fd, (const struct sockaddr *)&to, sizeof to) == 0 &&
	       epoll_ctl(epoll, EPOLL_CTL_ADD, session->fd, &event) == 0;
}

static void ask(struct session *session)
{
	static oid name[] = { 1, 3, 6, 1, 4, 1, 42, 2, 145, 3, 163, 1, 1, 2, 0, 0 };
	netsnmp_pdu *pdu = snmp_pdu_create(SNMP_MSG_GET);

	for (oid i = 11; i <= 13; i++) {
		name[14] = i;
		snmp_add_null_var(pdu, name, sizeof name / sizeof *name);
	}
	snmp_sess_timeout(session->handle);
	if (snmp_sess_async_send(session->handle, pdu, take, session) == 0)
		snmp_free_pdu(pdu);
	bare.asked++;
}

static void prepare(void)
{
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	netsnmp_set_mib_directory("");
	setenv("MIBS", "", 1);
	set_persistent_directory("/dev/null/none");
	snmp_disable_log();
	init_snmp("bare");
}

int main(int argc, char **argv)
{
	struct epoll_event event[EVENTS];
	netsnmp_large_fd_set fds;
	struct session *session;
	int epoll = epoll_create1(0);

	if (!bare_read(&bare, argc, argv))
		return 2;
	prepare();
	session = calloc(bare.n, sizeof *session);
	for (uint32_t i = 0; session != NULL && i < bare.n; i++)
		if (!open_session(&session[i], i, epoll)) {
			perror("bare_snmp: session");
			return 1;
		}
	netsnmp_large_fd_set_init(&fds, 1024);
	NETSNMP_LARGE_FD_ZERO(&fds);
	bare.began_ns = responder_now_ns();
	while (bare_goes_on(&bare)) {
		int64_t next;
		const int n = epoll_wait(epoll, event, EVENTS, bare_wait_ms(&bare));

		for (int i = 0; i < n; i++) {
			struct session *ready = event[i].data.ptr;

			NETSNMP_LARGE_FD_SET(ready->fd, &fds);
			snmp_sess_read2(ready->handle, &fds);
			NETSNMP_LARGE_FD_CLR(ready->fd, &fds);
		}
		while ((next = bare_next(&bare)) >= 0)
			ask(&session[next]);
	}
	return 0;
}
