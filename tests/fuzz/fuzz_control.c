/* fuzz_control.c - a client of the control socket that sends any bytes, in pieces: every line gets
 * one line of JSON, or the connection ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "fuzz.h"

enum { HEARD_MAX = 1 << 18 };

static struct event_base *base;
static struct control *control;
static struct control_request *put_off;
static char heard[HEARD_MAX + 1];
static size_t n_heard;

static json_t *run_echo(void *arg, const json_t *request, struct control_request *later,
			struct err *err)
{
	(void)arg;
	(void)later;
	if (json_object_get(request, "say") == NULL) {
		(void)err_set(err, -EINVAL, "say \"what\"?");
		return NULL;
	}
	return json_pack("{s:O}", "said", json_object_get(request, "say"));
}

static json_t *run_later(void *arg, const json_t *request, struct control_request *later,
			 struct err *err)
{
	(void)arg;
	(void)request;
	(void)err;
	put_off = later;
	return NULL;
}

static const struct control_command commands[] = {
	{ "echo", false, run_echo },
	{ "later", false, run_later },
	{ "drain", true, run_echo },
	{ NULL, false, NULL },
};

static void close_all(void)
{
	control_close(control);
	event_base_free(base);
}

static void set_up(void)
{
	struct err err = { 0 };

	base = event_base_new();
	if (base == NULL ||
	    control_open(base, fuzz_folder(), (gid_t)-1, commands, NULL, &control, &err) < 0)
		abort();
	(void)atexit(close_all);
}

static int dial(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(to.sun_path, sizeof to.sun_path, "%s", fuzz_path(CONTROL_FILE));
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		abort();
	return fd;
}

/* Let the daemon do what it can do, answer what it put off, and hear what it says. */
static void pump(int fd)
{
	ssize_t got;

	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	if (put_off != NULL) {
		struct control_request *request = put_off;

		put_off = NULL;
		control_answer(request, json_pack("{s:s}", "when", "now"), NULL);
	}
	got = recv(fd, heard + n_heard, HEARD_MAX - n_heard, 0);
	n_heard += got > 0 ? (size_t)got : 0;
}

static void expect_answers(void)
{
	char *at = heard, *end;

	heard[n_heard] = '\0';
	for (; (end = strchr(at, '\n')) != NULL; at = end + 1) {
		json_t *answer = json_loadb(at, (size_t)(end - at), 0, NULL);

		fuzz_expect(json_is_boolean(json_object_get(answer, "ok")),
			    "an answer that is none");
		json_decref(answer);
	}
	fuzz_expect(*at == '\0' || n_heard == HEARD_MAX, "half an answer");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	const size_t piece = how < 128 ? in.left + 1 : 1u + how % 64u;
	int fd;

	if (base == NULL)
		set_up();
	n_heard = 0;
	fd = dial();
	for (int i = 0; in.left > 0 && i < 64; i++) {
		const ssize_t n = send(fd, in.at, in.left < piece ? in.left : piece, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			break;
		in.at += n > 0 ? n : 0;
		in.left -= n > 0 ? (size_t)n : 0;
		pump(fd);
	}
	if (how % 2 == 0)
		(void)shutdown(fd, SHUT_WR);
	for (int i = 0; i < 4; i++)
		pump(fd);
	expect_answers();
	(void)close(fd);
	pump(-1);
	return 0;
}
