/* snmp_link.c - addresses, sockets that never block, and net-snmp's sessions over them. */
#include "snmp_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "files.h"
#include "source.h"

#define LARGEST_DATAGRAM 65507
#define REFUSALS_MAX     64 /* taken at once: the others keep the socket readable */

/* What our transport needs besides its socket. */
struct wire {
	struct snmp_link *link;
	/* Where unconnected datagrams go: */
	union resolve_address to; /* AF_UNSPEC: the socket is connected */
};

void snmp_link_prepare(void)
{
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_ALARM_DONT_USE_SIG, 1);
	/* By call and not by MIBS and SNMP_PERSISTENT_DIR: setenv() races with other threads. */
	netsnmp_set_mib_directory("");
	set_persistent_directory("/dev/null/none"); /* cannot be made, so nothing is written */
	/* Messages go to callbacks; while there is none, the missing MIB files are not mentioned.
	 */
	snmp_disable_log();
	snmp_enable_calllog();
	init_snmp("callrouter");
}

static void remember(struct snmp_link *link, uint32_t id)
{
	link->id[link->n_ids++ % SNMP_LINK_IDS] = id;
}

static bool is_ours(const struct snmp_link *link, uint32_t id)
{
	for (unsigned int i = 0; i < link->n_ids && i < SNMP_LINK_IDS; i++)
		if (link->id[i] == id)
			return true;
	return false;
}

/* Is it a report about a message of this link? */
static bool is_our_report(const struct snmp_link *link, const uint8_t *buf, size_t len,
			  struct snmp_report *report)
{
	return snmp_report_read(buf, len, report) == 0 && is_ours(link, report->message);
}

static bool is_polled(const struct snmp_link *link, const union resolve_address *from)
{
	return resolve_is_same(from, &link->address) &&
	       (from->any.sa_family == AF_INET6 ? from->v6.sin6_port == link->address.v6.sin6_port
						: from->v4.sin_port == link->address.v4.sin_port);
}

/* net-snmp does not look. */
static bool is_our_community(const struct snmp_link *link, const uint8_t *buf, size_t len)
{
	const netsnmp_session *asked = snmp_sess_session(link->session);

	return snmp_report_is_from(buf, len, (uint32_t)asked->version,
				   (const char *)asked->community, asked->community_len);
}

/* Whoever cannot see what is sent cannot pass for somebody who answers it. */
static void note_stranger(struct snmp_link *link, const union resolve_address *from,
			  const uint8_t *buf, size_t len)
{
	uint32_t id;

	if (!snmp_report_id(buf, len, &id) || !is_ours(link, id) ||
	    (link->access->version != SNMP_VERSION_3 && !is_our_community(link, buf, len)))
		return;
	link->has_stranger = true;
	link->stranger = *from;
}

/* What has come from the polled address; else -1 and errno, EAGAIN: nothing. */
static ssize_t receive(struct snmp_link *link, void *buf, size_t size)
{
	union resolve_address from = { 0 };
	socklen_t from_len = sizeof from;
	const ssize_t got = recvfrom(link->fd, buf, size, MSG_DONTWAIT, &from.any, &from_len);
	const int code = errno;
	char rest[64];
	int n_left = REFUSALS_MAX;

	if (!link->is_wide || (got >= 0 && is_polled(link, &from)))
		return got;
	if (got >= 0) {
		note_stranger(link, &from, buf, (size_t)got);
		errno = EAGAIN;
		return -1;
	}
	/* that somebody refused is told twice: by the error, and here */
	while (n_left-- > 0 && recv(link->fd, rest, sizeof rest, MSG_DONTWAIT | MSG_ERRQUEUE) >= 0)
		;
	errno = code;
	return -1;
}

static int wire_receive(netsnmp_transport *transport, void *buf, int size, void **opaque, int *len)
{
	struct snmp_link *link = ((const struct wire *)transport->data)->link;
	const ssize_t got = receive(link, buf, (size_t)size);

	*opaque = NULL;
	*len = 0;
	if (got > 0 && link->access->version == SNMP_VERSION_3) {
		link->has_report = is_our_report(link, buf, (size_t)got, &link->report);
	} else if (got > 0 && !link->is_stream && !is_our_community(link, buf, (size_t)got)) {
		errno = EBADMSG;
		return -1;
	}
	return (int)got;
}

/* to: NULL, if the socket is connected. */
static ssize_t send_bytes(int fd, const void *buf, size_t size, const union resolve_address *to)
{
	ssize_t sent = -1;

	/* The first try may only fetch the error that an older datagram has met. */
	for (int tries = 0; tries < 2 && sent < 0; tries++) {
		sent = sendto(fd, buf, size, MSG_DONTWAIT | MSG_NOSIGNAL,
			      to != NULL ? &to->any : NULL, to != NULL ? resolve_len(to) : 0);
		if (sent < 0 && errno != ECONNREFUSED && errno != EINTR)
			break;
	}
	if (sent >= 0 && sent != (ssize_t)size) {
		errno = ENOBUFS; /* half a message in a stream: it cannot be used any more */
		return -1;
	}
	return sent;
}

static int wire_send(netsnmp_transport *transport, const void *buf, int size, void **opaque,
		     int *len) /* NOLINT(readability-non-const-parameter): net-snmp's type */
{
	const struct wire *wire = transport->data;

	(void)opaque;
	(void)len;
	return (int)send_bytes(transport->sock, buf, (size_t)size,
			       wire->to.any.sa_family != AF_UNSPEC ? &wire->to : NULL);
}

static int wire_close(netsnmp_transport *transport)
{
	if (transport->sock >= 0)
		close(transport->sock);
	transport->sock = -1;
	return 0;
}

/* A transport of net-snmp's over the socket, which it owns from now on. NULL: no memory. */
static netsnmp_transport *wire_new(struct snmp_link *link, bool is_connected)
{
	netsnmp_transport *transport = calloc(1, sizeof *transport);
	struct wire *wire = calloc(1, sizeof *wire);

	if (transport == NULL || wire == NULL) {
		free(transport);
		free(wire);
		return NULL;
	}
	wire->link = link;
	if (!is_connected)
		wire->to = link->address;
	transport->data = wire;
	transport->data_length = (int)sizeof *wire;
	transport->domain = netsnmpUDPDomain;
	transport->domain_length = (int)netsnmpUDPDomain_len;
	transport->sock = link->fd;
	transport->flags = link->is_stream ? NETSNMP_TRANSPORT_FLAG_STREAM : 0;
	transport->msgMaxSize = link->is_stream ? 0x7fffffff : LARGEST_DATAGRAM;
	transport->f_recv = wire_receive;
	transport->f_send = wire_send;
	transport->f_close = wire_close;
	return transport;
}

/* Callback of a session: of messages that nobody asked for. */
static int ignore(int op, netsnmp_session *session, int id, netsnmp_pdu *pdu, void *magic)
{
	(void)op;
	(void)session;
	(void)id;
	(void)pdu;
	(void)magic;
	return 1;
}

/* net-snmp's hook for a message that has been read, and decrypted: it passes over answers for
 * another context than the one that was asked for, and says nothing. Returns 1: go on with it. */
static int look_at_context(netsnmp_session *session, netsnmp_pdu *pdu, int failed)
{
	struct snmp_link *link = session->callback_magic;
	const char *context = pdu->contextNameLen > 0 ? pdu->contextName : "";

	if (failed != 0 || pdu->version != SNMP_VERSION_3 || pdu->command != SNMP_MSG_RESPONSE ||
	    (pdu->contextNameLen == session->contextNameLen &&
	     strncmp(context, session->contextName, pdu->contextNameLen) == 0))
		return 1;
	link->has_context = true;
	(void)snprintf(link->context, sizeof link->context, "%.*s", (int)pdu->contextNameLen,
		       context);
	for (char *at = link->context; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return 1;
}

/* A socket that is not connected hears from everybody, but not that nobody listens. */
static int hear_refusals(const struct snmp_link *link, int fd)
{
	const int on = 1;
	const int failed = link->address.any.sa_family == AF_INET6
				   ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on)
				   : setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);

	return failed < 0 ? -errno : 0;
}

static int open_socket(struct snmp_link *link, bool is_connected)
{
	const int type = link->is_stream ? SOCK_STREAM : SOCK_DGRAM;
	const int fd = files_socket(link->address.any.sa_family, type | SOCK_NONBLOCK, 0);
	int code;

	link->is_connecting = false;
	if (fd < 0)
		return fd;
	if (link->is_wide && (code = hear_refusals(link, fd)) < 0) {
		close(fd);
		return code;
	}
	if (!is_connected || connect(fd, &link->address.any, resolve_len(&link->address)) == 0)
		return fd;
	if (errno == EINPROGRESS) {
		link->is_connecting = true;
		return fd;
	}
	code = -errno;
	close(fd);
	return code;
}

static bool is_connected(const struct snmp_link *link)
{
	return link->is_stream || (link->access->is_strict && !link->is_wide);
}

static int open_session(struct snmp_link *link)
{
	const struct snmp_access *access = link->access;
	netsnmp_transport *transport = wire_new(link, is_connected(link));
	char community[SOURCE_ABOUT_MAX + 1] = "";
	netsnmp_session wanted;

	if (transport == NULL)
		return -ENOMEM;
	snmp_sess_init(&wanted);
	wanted.version = access->version;
	wanted.retries = 0; /* the plugin sends again by itself */
	wanted.callback = ignore;
	wanted.callback_magic = link;
	if (access->version == SNMP_VERSION_3) {
		snmp_user_enter(access->user, &link->engine, link->about, &wanted);
	} else {
		(void)snprintf(community, sizeof community, "%s%s", access->community, link->about);
		wanted.community = (unsigned char *)community;
		wanted.community_len = strlen(community);
	}
	link->session = snmp_sess_add_ex(&wanted, transport, NULL, NULL, look_at_context, NULL,
					 NULL, NULL, NULL); /* on failure it frees */
	explicit_bzero(community, sizeof community);
	explicit_bzero(wanted.securityAuthKey, sizeof wanted.securityAuthKey);
	explicit_bzero(wanted.securityPrivKey, sizeof wanted.securityPrivKey);
	if (link->session != NULL)
		return 0;
	link->fd = -1;
	return -ENOMEM;
}

/* Whose engine it is, if anybody knows. */
static void take_engine(struct snmp_link *link)
{
	const struct snmp_known *known = link->known;

	if (link->access->engine.len > 0)
		link->engine = link->access->engine;
	else if (link->engine.len == 0 && known->engine.len > 0 &&
		 resolve_is_same(&known->address, &link->address))
		link->engine = known->engine;
}

int snmp_link_open(struct snmp_link *link, const struct place *place,
		   const struct snmp_access *access, bool is_wide)
{
	int fd, code = 0;

	link->address = place->address;
	link->is_stream = place->is_stream;
	link->access = access;
	link->is_wide = is_wide && access->is_strict && !link->is_stream;
	link->has_stranger = false;
	fd = open_socket(link, is_connected(link));
	if (fd < 0)
		return fd;
	link->fd = fd;
	link->n_ids = 0;
	link->has_report = false;
	take_engine(link);
	if (access->version != SNMP_VERSION_3 || link->engine.len > 0)
		code = open_session(link);
	if (code < 0)
		snmp_link_close(link);
	return code;
}

/* Does another link wait for an answer? It could not be read without the user and the clock. */
static bool is_in_use(const struct snmp_link *link)
{
	return link->known->n_busy > (link->is_busy ? 1 : 0);
}

void snmp_link_begin(struct snmp_link *link)
{
	link->is_busy = true;
	link->known->n_busy++;
}

void snmp_link_end(struct snmp_link *link)
{
	if (link->is_busy)
		link->known->n_busy--;
	link->is_busy = false;
}

void snmp_link_prove(const struct snmp_link *link, int64_t now_ns)
{
	link->known->heard_ns = now_ns;
	link->known->n_silent = 0;
	link->known->engine = link->engine;
	link->known->address = link->address;
}

static bool is_same_engine(const struct snmp_engine *a, const struct snmp_engine *b)
{
	return a->len == b->len && memcmp(a->id, b->id, a->len) == 0;
}

bool snmp_link_is_proven(const struct snmp_link *link)
{
	return link->engine.len > 0 && is_same_engine(&link->engine, &link->known->engine) &&
	       resolve_is_same(&link->address, &link->known->address);
}

void snmp_link_rest(const struct snmp_link *link)
{
	if (link->session != NULL && link->access->version == SNMP_VERSION_3 && !is_in_use(link))
		snmp_user_remove(link->access->user, &link->engine);
}

void snmp_link_close(struct snmp_link *link)
{
	snmp_link_rest(link);
	if (link->session != NULL)
		snmp_sess_close(link->session); /* and the socket with it */
	else if (link->fd >= 0)
		close(link->fd);
	link->session = NULL;
	link->fd = -1;
	link->is_connecting = false;
}

void snmp_link_forget(struct snmp_link *link, const struct snmp_access *access, bool is_refuted)
{
	snmp_link_close(link);
	if (is_refuted && is_same_engine(&link->engine, &link->known->engine))
		link->known->engine.len = 0;
	if (link->engine.len > 0 && (is_refuted || !is_in_use(link)))
		snmp_user_forget(access->user, &link->engine);
	link->engine.len = 0;
}

int snmp_link_connected(struct snmp_link *link)
{
	int code = 0;
	socklen_t len = sizeof code;

	link->is_connecting = false;
	if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
		return -errno;
	return -code;
}

/* net-snmp counts its ids up from the time of day: too easy to guess. 0: none to be had. */
static uint32_t random_id(void)
{
	uint32_t random;

	if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
		return 0;
	return random >> 1 | 1;
}

int snmp_link_discover(struct snmp_link *link)
{
	uint8_t question[SNMP_DISCOVER_LEN];
	const uint32_t id = random_id();
	const size_t len = snmp_report_ask(question, id);

	remember(link, id);
	if (send_bytes(link->fd, question, len, is_connected(link) ? NULL : &link->address) < 0)
		return -errno;
	return 0;
}

int snmp_link_learn(struct snmp_link *link)
{
	uint8_t buf[1500]; /* the report has about 100 bytes */
	const ssize_t got = receive(link, buf, sizeof buf);
	struct snmp_report report;
	int code;

	if (got < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (got == 0 && link->is_stream)
		return -ECONNRESET;
	if (!is_our_report(link, buf, (size_t)got, &report) ||
	    report.complaint != SNMP_UNKNOWN_ENGINE)
		return -EBADMSG;
	link->engine = report.engine;
	code = open_session(link);
	return code < 0 ? code : 1;
}

long snmp_link_send(struct snmp_link *link, netsnmp_pdu *pdu, int64_t timeout_ns,
		    netsnmp_callback callback, void *magic)
{
	netsnmp_session *session = snmp_sess_session(link->session);
	const uint32_t random = random_id();
	long id;

	if (random != 0)
		pdu->reqid = pdu->msgid = (long)random;
	id = pdu->reqid;
	remember(link, (uint32_t)pdu->msgid);
	session->timeout = (long)(timeout_ns / 1000) + 1;
	session->s_errno = 0;
	if (link->access->version == SNMP_VERSION_3)
		snmp_user_renew(link->access->user, &link->engine, session);
	session->s_snmp_errno = 0; /* it takes what an older answer left there for this one's */
	if (snmp_sess_async_send(link->session, pdu, callback, magic) != 0)
		return id;
	snmp_free_pdu(pdu);
	return session->s_snmp_errno == SNMPERR_BAD_SENDTO && session->s_errno != 0
		       ? -session->s_errno
		       : -EIO;
}

int snmp_link_read(struct snmp_link *link, netsnmp_large_fd_set *fds)
{
	netsnmp_session *session = snmp_sess_session(link->session);
	int code;

	link->has_report = link->has_context = false;
	NETSNMP_LARGE_FD_SET(link->fd, fds);
	code = snmp_sess_read2(link->session, fds);
	NETSNMP_LARGE_FD_CLR(link->fd, fds);
	if (snmp_sess_transport(link->session)->sock < 0)
		return -ECONNRESET;
	if (code == 0)
		return 0;
	if (session->s_snmp_errno != SNMPERR_BAD_RECVFROM)
		return -EBADMSG;
	return -session->s_errno;
}

void snmp_link_expire(struct snmp_link *link)
{
	if (link->session != NULL)
		snmp_sess_timeout(link->session);
}
