/* control.c - the control socket's server: who may connect, lines in, lines out, answers put off.
 */
#include "control.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>

#include "control_socket.h"
#include "document.h"
#include "log.h"
#include "text.h"

#define CONNECTIONS_MAX 64
#define COMMANDS_MAX    64
#define IDLE_S          10
#define PAUSE_S         1          /* after accept() failed */
#define OUTPUT_MAX      (1u << 20) /* unread answers, before further requests wait */
#define LARGE_BYTES     (1u << 20)

struct connection {
	struct connection *next, *prev;
	struct control *control;
	struct bufferevent *bev;
	uid_t uid;
	struct control_request *pending; /* its answer comes later; requests after it wait */
	bool is_serving;                 /* requests are being taken from the input */
	bool has_ended;                  /* the client sends no more */
	bool is_closing;                 /* as soon as all output is out */
	bool was_large;                  /* an answer had LARGE_BYTES or more */
};

struct control {
	struct evconnlistener *listener;
	struct event *resume;
	const struct control_command *commands;
	void *arg;
	struct connection *connections;
	size_t n_connections;
	struct control_socket socket;
};

struct control_request {
	struct connection *connection; /* NULL: the client has gone */
};

static struct evbuffer *output_of(const struct connection *c)
{
	return bufferevent_get_output(c->bev);
}

static void connection_free(struct connection *c)
{
	if (c->pending != NULL)
		c->pending->connection = NULL;
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		c->control->connections = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	c->control->n_connections--;
	bufferevent_free(c->bev);
	/* A document about 10,000 servers takes tens of megabytes for a moment. */
	if (c->was_large)
		(void)malloc_trim(0);
	free(c);
}

/* Say no more than what is in the output already, then close. */
static void connection_finish(struct connection *c)
{
	c->is_closing = true;
	(void)bufferevent_disable(c->bev, EV_READ);
}

/* Takes answer; NULL: there was no memory for it. */
static void send_answer(struct connection *c, json_t *answer)
{
	char *text = answer != NULL ? json_dumps(answer, JSON_COMPACT) : NULL;

	json_decref(answer);
	c->was_large |= text != NULL && strlen(text) >= LARGE_BYTES;
	if (text == NULL || evbuffer_add(output_of(c), text, strlen(text)) < 0 ||
	    evbuffer_add(output_of(c), "\n", 1) < 0)
		connection_finish(c);
	free(text);
}

static json_t *error_answer(const struct err *err)
{
	return json_pack("{s:b,s:o,s:i}", "ok", 0, "error",
			 document_text(err->text, sizeof err->text), "code", err->code);
}

static void send_error(struct connection *c, int code, const char *text)
{
	struct err err;

	(void)err_set(&err, code, "%s", text);
	send_answer(c, error_answer(&err));
}

/* Takes members. */
static json_t *good_answer(json_t *members)
{
	json_t *answer = json_pack("{s:b}", "ok", 1);

	if (answer != NULL && json_object_update(answer, members) < 0) {
		json_decref(answer);
		answer = NULL;
	}
	json_decref(members);
	return answer;
}

static void connection_serve(struct connection *c);

void control_answer(struct control_request *request, json_t *members, const struct err *err)
{
	struct connection *c = request->connection;

	free(request);
	if (c == NULL) {
		json_decref(members);
		return;
	}
	c->pending = NULL;
	if (members != NULL)
		send_answer(c, good_answer(members));
	else if (err != NULL && err->code != 0)
		send_answer(c, error_answer(err));
	else
		send_error(c, -EIO, "callrouterd failed to answer: see its log");
	connection_serve(c);
}

static void refuse_unknown(struct connection *c, const char *name)
{
	const struct control_command *command = c->control->commands;
	const char *names[COMMANDS_MAX + 1], *near;
	struct err err;
	size_t n = 0;

	for (; command->name != NULL && n < COMMANDS_MAX; command++)
		names[n++] = command->name;
	names[n] = NULL;
	near = text_nearest(name, names);
	(void)err_set(&err, -EINVAL,
		      "callrouterd knows no command \"%.64s\"%s%s%s: is it older than this "
		      "callrouterctl?",
		      name, near != NULL ? ", did you mean \"" : "", near != NULL ? near : "",
		      near != NULL ? "\"" : "");
	send_answer(c, error_answer(&err));
}

static void refuse_writer(struct connection *c, const char *name)
{
	struct err err;

	(void)err_set(&err, -EPERM,
		      "\"%s\" is for root and the user that callrouterd runs as (uid %ld); you are "
		      "uid %ld: try it with sudo",
		      name, (long)geteuid(), (long)c->uid);
	send_answer(c, error_answer(&err));
}

static void run_command(struct connection *c, const struct control_command *command,
			const json_t *request)
{
	struct control_request *later = calloc(1, sizeof *later);
	struct err err = { 0 };
	json_t *members;

	if (later == NULL) {
		send_error(c, -ENOMEM, "callrouterd is out of memory");
		return;
	}
	later->connection = c;
	c->pending = later;
	members = command->run(c->control->arg, request, later, &err);
	/* Put off: it may even have been answered, and freed, by now. */
	if (members == NULL && err.code == 0)
		return;
	control_answer(later, members, &err);
}

static void answer_request(struct connection *c, const json_t *request)
{
	const struct control_command *command = c->control->commands;
	const char *name = json_string_value(json_object_get(request, "command"));

	if (name == NULL) {
		send_error(c, -EINVAL,
			   "a request is a JSON object with a member \"command\" whose value is a "
			   "text");
		return;
	}
	while (command->name != NULL && strcmp(command->name, name) != 0)
		command++;
	if (command->name == NULL)
		refuse_unknown(c, name);
	else if (command->writes && c->uid != 0 && c->uid != geteuid())
		refuse_writer(c, name);
	else
		run_command(c, command, request);
}

static void answer_line(struct connection *c, const char *line, size_t len)
{
	json_error_t where;
	json_t *request;
	struct err err;
	size_t at;

	if (len == strspn(line, " \t\r"))
		return;
	request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &where);
	if (request != NULL) {
		answer_request(c, request);
		json_decref(request);
		return;
	}
	at = (size_t)where.position;
	(void)err_set(&err, -EINVAL, "the request is not JSON, at its byte %d: %s", where.position,
		      document_words(&where, at > 0 && at <= len ? line[at - 1] : -1));
	send_answer(c, error_answer(&err));
}

/* No whole line is left in the input: will there be one? */
static void check_rest(struct connection *c)
{
	const size_t rest = evbuffer_get_length(bufferevent_get_input(c->bev));

	if (rest >= CONTROL_LINE_MAX)
		send_error(c, -EMSGSIZE, "the request is longer than 65536 bytes");
	else if (c->has_ended && rest > 0)
		send_error(c, -EINVAL, "the request does not end with a newline");
	else if (!c->has_ended)
		return;
	connection_finish(c);
}

/* Answer what has arrived, as far as that can be done now. May free c. */
static void connection_serve(struct connection *c)
{
	if (c->is_serving)
		return;
	c->is_serving = true;
	while (!c->is_closing && c->pending == NULL &&
	       evbuffer_get_length(output_of(c)) < OUTPUT_MAX) {
		size_t len;
		char *line = evbuffer_readln(bufferevent_get_input(c->bev), &len, EVBUFFER_EOL_LF);

		if (line == NULL) {
			check_rest(c);
			break;
		}
		answer_line(c, line, len);
		free(line);
	}
	c->is_serving = false;
	if (c->is_closing && evbuffer_get_length(output_of(c)) == 0)
		connection_free(c);
}

static void on_input(struct bufferevent *bev, void *arg)
{
	(void)bev;
	connection_serve(arg);
}

static void on_written(struct bufferevent *bev, void *arg)
{
	(void)bev;
	connection_serve(arg);
}

/* Has the client closed the socket (and not only its sending half)? */
static bool has_gone(struct connection *c)
{
	struct pollfd pfd = { .fd = bufferevent_getfd(c->bev) };

	return poll(&pfd, 1, 0) > 0 && (pfd.revents & (POLLHUP | POLLERR)) != 0;
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct connection *c = arg;
	const bool is_reading = (what & BEV_EVENT_READING) != 0;

	if ((what & BEV_EVENT_EOF) != 0 && !has_gone(c)) {
		c->has_ended = true;
		connection_serve(c);
		return;
	}
	/* It is not idle: it waits for us. */
	if ((what & BEV_EVENT_TIMEOUT) != 0 && is_reading &&
	    (c->pending != NULL || evbuffer_get_length(output_of(c)) > 0)) {
		(void)bufferevent_enable(bev, EV_READ);
		return;
	}
	connection_free(c);
}

static int connection_new(struct control *control, int fd, uid_t uid)
{
	const struct timeval idle = { .tv_sec = IDLE_S };
	struct event_base *base = evconnlistener_get_base(control->listener);
	struct connection *c = calloc(1, sizeof *c);

	if (c == NULL)
		return -ENOMEM;
	c->bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (c->bev == NULL) {
		free(c);
		return -ENOMEM;
	}
	c->control = control;
	c->uid = uid;
	c->next = control->connections;
	if (c->next != NULL)
		c->next->prev = c;
	control->connections = c;
	control->n_connections++;
	bufferevent_setcb(c->bev, on_input, on_written, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, CONTROL_LINE_MAX);
	(void)bufferevent_set_timeouts(c->bev, &idle, &idle);
	if (bufferevent_enable(c->bev, EV_READ | EV_WRITE) < 0)
		connection_free(c);
	return 0;
}

static void turn_away(int fd)
{
	static const char text[] =
		"{\"ok\":false,\"error\":\"callrouterd's control socket has too many clients (64): "
		"try again\",\"code\":-11}\n";

	(void)send(fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)close(fd);
}

static void on_connect(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
		       int from_len, void *arg)
{
	struct control *control = arg;
	struct ucred peer;
	socklen_t len = sizeof peer;

	(void)listener;
	(void)from;
	(void)from_len;
	if (control->n_connections >= CONNECTIONS_MAX) {
		turn_away(fd);
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    connection_new(control, fd, peer.uid) < 0)
		(void)close(fd);
}

/* Without a free descriptor accept() would fail again at once, for ever. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	const int code = EVUTIL_SOCKET_ERROR();
	const struct timeval pause = { .tv_sec = PAUSE_S };
	struct control *control = arg;

	log_warn("control socket cannot accept", "error=\"%s\"", err_words(code));
	(void)evconnlistener_disable(listener);
	(void)event_add(control->resume, &pause);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct control *control = arg;

	(void)fd;
	(void)what;
	(void)evconnlistener_enable(control->listener);
}

static int start_listening(struct control *control, struct event_base *base)
{
	control->listener = evconnlistener_new(base, on_connect, control, LEV_OPT_CLOSE_ON_EXEC, 0,
					       control->socket.fd);
	if (control->listener == NULL)
		return -ENOMEM;
	evconnlistener_set_error_cb(control->listener, on_accept_error);
	control->resume = event_new(base, -1, 0, on_resume, control);
	return control->resume != NULL ? 0 : -ENOMEM;
}

/* NOLINTNEXTLINE(readability-function-size): the callbacks are one argument, in two parts. */
int control_open(struct event_base *base, const char *run_dir, gid_t gid,
		 const struct control_command *commands, void *arg, struct control **out,
		 struct err *err)
{
	struct control *control = calloc(1, sizeof *control);

	if (control == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	control->commands = commands;
	control->arg = arg;
	if (control_socket_open(&control->socket, run_dir, gid, err) < 0) {
		free(control);
		return err->code;
	}
	if (start_listening(control, base) < 0) {
		control_close(control);
		return err_set(err, -ENOMEM, "out of memory");
	}
	/* libevent writes with writev(): a client that has gone would end the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	*out = control;
	return 0;
}

void control_close(struct control *control)
{
	if (control == NULL)
		return;
	for (struct connection *c = control->connections, *next; c != NULL; c = next) {
		next = c->next;
		connection_free(c);
	}
	if (control->resume != NULL)
		event_free(control->resume);
	if (control->listener != NULL)
		evconnlistener_free(control->listener);
	control_socket_close(&control->socket);
	free(control);
}
