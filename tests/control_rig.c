/* control_rig.c - a control socket in a folder of its own, and clients for it. */
#include "control_rig.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The daemon's part: an event loop in a folder of its own, run by rig_pump(). */
char rig_dir[64];
struct event_base *rig_base;
struct control *rig_control;
struct control_request *rig_put_off;

static json_t *run_echo(void *arg, const json_t *request, struct control_request *later,
			struct err *err)
{
	(void)arg;
	(void)later;
	(void)err;
	return json_pack("{s:O}", "said", json_object_get(request, "say"));
}

static json_t *run_fail(void *arg, const json_t *request, struct control_request *later,
			struct err *err)
{
	(void)arg;
	(void)request;
	(void)later;
	(void)err_set(err, -ENOENT, "there is no server \"ms9\": callrouterctl servers shows them");
	return NULL;
}

static json_t *run_later(void *arg, const json_t *request, struct control_request *later,
			 struct err *err)
{
	(void)arg;
	(void)request;
	(void)err;
	rig_put_off = later;
	return NULL;
}

/* Answers "later" requests before it returns. */
static json_t *run_now(void *arg, const json_t *request, struct control_request *later,
		       struct err *err)
{
	(void)arg;
	(void)request;
	(void)err;
	control_answer(later, json_pack("{s:s}", "when", "now"), NULL);
	return NULL;
}

static json_t *run_big(void *arg, const json_t *request, struct control_request *later,
		       struct err *err)
{
	const size_t len = 3000000;
	char *text = malloc(len);
	json_t *members;

	(void)arg;
	(void)request;
	(void)later;
	(void)err;
	memset(text, 'x', len);
	members = json_pack("{s:s#}", "text", text, (int)len);
	free(text);
	return members;
}

const struct control_command rig_commands[] = {
	{ "echo", false, run_echo }, { "fail", false, run_fail }, { "later", false, run_later },
	{ "now", false, run_now },   { "big", false, run_big },   { "change", true, run_echo },
	{ NULL, false, NULL },
};

void rig_set_up(void)
{
	struct err err = { 0 };

	(void)snprintf(rig_dir, sizeof rig_dir, "/tmp/control.XXXXXX");
	cr_assert_not_null(mkdtemp(rig_dir));
	rig_base = event_base_new();
	cr_assert_eq(
		control_open(rig_base, rig_dir, (gid_t)-1, rig_commands, NULL, &rig_control, &err),
		0, "%s", err.text);
	rig_put_off = NULL;
}

static void empty_dir(void)
{
	DIR *d = opendir(rig_dir);
	struct dirent *entry;
	char path[400];

	while (d != NULL && (entry = readdir(d)) != NULL) {
		(void)snprintf(path, sizeof path, "%s/%s", rig_dir, entry->d_name);
		(void)unlink(path);
	}
	closedir(d);
	cr_assert_eq(rmdir(rig_dir), 0);
}

void rig_tear_down(void)
{
	control_close(rig_control);
	event_base_free(rig_base);
	empty_dir();
}

void rig_pump(void)
{
	(void)event_base_loop(rig_base, EVLOOP_NONBLOCK);
}

int rig_connect(const char *in)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(to.sun_path, sizeof to.sun_path, "%s/control.sock", in);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
		close(fd);
		return -errno;
	}
	return fd;
}

int rig_client(void)
{
	const int fd = rig_connect(rig_dir);

	cr_assert_geq(fd, 0);
	rig_pump();
	return fd;
}

void rig_say(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	rig_pump();
}

/* One line of an answer, without its newline; "" if the connection is closed. */
const char *rig_hear(int fd)
{
	static char line[4096];
	size_t len = 0;

	for (;;) {
		const ssize_t n = recv(fd, line + len, 1, MSG_DONTWAIT);

		if (n == 1 && line[len] == '\n')
			break;
		if (n == 1) {
			cr_assert_lt(++len, sizeof line - 1);
		} else if (n == 0 || errno == ECONNRESET) {
			break;
		} else {
			struct pollfd pfd = { .fd = fd, .events = POLLIN };

			rig_pump();
			(void)poll(&pfd, 1, 10);
		}
	}
	line[len] = '\0';
	return line;
}

/* Has nothing been sent to this client? */
bool rig_hears_nothing(int fd)
{
	char byte;

	rig_pump();
	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

bool rig_is_closed(int fd)
{
	return strcmp(rig_hear(fd), "") == 0;
}
