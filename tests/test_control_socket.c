/* test_control_socket.c - the socket's file, and the client's side of it. */
#include <criterion/criterion.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_rig.h"

TestSuite(control_socket, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

Test(control_socket, makes_a_socket_that_only_user_and_group_may_use)
{
	struct stat st;
	char path[128];

	(void)snprintf(path, sizeof path, "%s/control.sock", rig_dir);
	cr_assert_eq(lstat(path, &st), 0);
	cr_expect(S_ISSOCK(st.st_mode));
	cr_expect_eq(st.st_mode & 07777, 0660);
}

Test(control_socket, refuses_a_run_directory_that_another_one_serves)
{
	struct control *second = NULL;
	struct err err = { 0 };
	int fd;

	cr_expect_eq(control_open(rig_base, rig_dir, (gid_t)-1, rig_commands, NULL, &second, &err),
		     -EADDRINUSE);
	cr_expect_str_eq(err.text, "another callrouterd serves this run directory: stop it, or use "
				   "another --run-dir");
	fd = rig_client();
	rig_say(fd, "{\"command\":\"echo\",\"say\":1}\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":1}");
	close(fd);
}

Test(control_socket, replaces_a_socket_that_nobody_listens_on)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int dead = socket(AF_UNIX, SOCK_STREAM, 0);
	struct err err = { 0 };
	int fd;

	control_close(rig_control);
	(void)snprintf(at.sun_path, sizeof at.sun_path, "%s/control.sock", rig_dir);
	cr_assert_eq(bind(dead, (struct sockaddr *)&at, sizeof at), 0);
	close(dead);
	cr_assert_eq(
		control_open(rig_base, rig_dir, (gid_t)-1, rig_commands, NULL, &rig_control, &err),
		0, "%s", err.text);
	fd = rig_client();
	rig_say(fd, "{\"command\":\"echo\",\"say\":1}\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":1}");
	close(fd);
}

Test(control_socket, refuses_to_replace_what_is_no_socket)
{
	char path[128], want[256];
	struct err err = { 0 };
	FILE *file;

	control_close(rig_control);
	rig_control = NULL;
	(void)snprintf(path, sizeof path, "%s/control.sock", rig_dir);
	file = fopen(path, "w");
	cr_assert_not_null(file);
	fclose(file);
	cr_expect_eq(
		control_open(rig_base, rig_dir, (gid_t)-1, rig_commands, NULL, &rig_control, &err),
		-EEXIST);
	(void)snprintf(want, sizeof want, "%s is not a socket: remove it", path);
	cr_expect_str_eq(err.text, want);
	cr_expect_eq(access(path, F_OK), 0);
}

Test(control_socket, says_that_a_run_directory_is_missing)
{
	struct control *other = NULL;
	struct err err = { 0 };

	cr_expect_eq(control_open(rig_base, "/nowhere/at/all", (gid_t)-1, rig_commands, NULL,
				  &other, &err),
		     -ENOENT);
	cr_expect_str_eq(err.text, "cannot make a socket in /nowhere/at/all: No such file or "
				   "directory; it has to exist and to be writable");
}

Test(control_socket, says_that_a_path_is_too_long_for_a_socket)
{
	struct control *other = NULL;
	struct err err = { 0 };
	char path[201], want[400];

	memset(path, 'a', sizeof path - 1);
	path[0] = '/';
	path[sizeof path - 1] = '\0';
	cr_expect_eq(control_open(rig_base, path, (gid_t)-1, rig_commands, NULL, &other, &err),
		     -ENAMETOOLONG);
	(void)snprintf(want, sizeof want,
		       "the run directory %s has a path too long for a socket: choose one of at "
		       "most 94 letters",
		       path);
	cr_expect_str_eq(err.text, want);
	cr_expect_null(control_ask(path, json_pack("{s:s}", "command", "echo"), 100, &err));
	cr_expect_eq(err.code, -ENAMETOOLONG);
}

Test(control_socket, removes_its_socket_and_not_a_successors)
{
	char path[128], old[128];
	struct stat st;
	struct err err = { 0 };
	struct control *first = rig_control;

	(void)snprintf(path, sizeof path, "%s/control.sock", rig_dir);
	(void)snprintf(old, sizeof old, "%s/old", rig_dir);
	cr_assert_eq(rename(path, old), 0);
	cr_assert_eq(
		control_open(rig_base, rig_dir, (gid_t)-1, rig_commands, NULL, &rig_control, &err),
		0);
	control_close(first);
	cr_expect_eq(lstat(path, &st), 0);
	control_close(rig_control);
	rig_control = NULL;
	cr_expect_eq(lstat(path, &st), -1);
}

/*** The client's side ***/

TestSuite(control_ask, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

/* Asks in a thread while the loop runs here. */
struct asking {
	pthread_t thread;
	json_t *request, *answer;
	struct err err;
	int timeout_ms;
	_Atomic bool is_done;
};

static void *ask_main(void *arg)
{
	struct asking *asking = arg;

	asking->answer = control_ask(rig_dir, asking->request, asking->timeout_ms, &asking->err);
	asking->is_done = true;
	return NULL;
}

static void ask(struct asking *asking, json_t *request, int timeout_ms)
{
	*asking = (struct asking){ .request = request, .timeout_ms = timeout_ms };
	cr_assert_eq(pthread_create(&asking->thread, NULL, ask_main, asking), 0);
	while (!asking->is_done) {
		rig_pump();
		(void)poll(NULL, 0, 1);
	}
	(void)pthread_join(asking->thread, NULL);
}

Test(control_ask, asks_and_gets_the_members_alone)
{
	struct asking asking;
	char *text;

	ask(&asking, json_pack("{s:s,s:s}", "command", "echo", "say", "hello"), 5000);
	text = json_dumps(asking.answer, JSON_COMPACT);
	cr_expect_str_eq(text, "{\"said\":\"hello\"}");
	free(text);
	json_decref(asking.answer);
}

Test(control_ask, asks_and_gets_a_long_answer)
{
	struct asking asking;

	ask(&asking, json_pack("{s:s}", "command", "big"), 20000);
	cr_assert_not_null(asking.answer, "%s", asking.err.text);
	cr_expect_eq(json_string_length(json_object_get(asking.answer, "text")), 3000000);
	json_decref(asking.answer);
}

Test(control_ask, asks_and_gets_the_daemons_error)
{
	struct asking asking;

	ask(&asking, json_pack("{s:s}", "command", "fail"), 5000);
	cr_expect_null(asking.answer);
	cr_expect_eq(asking.err.code, -ENOENT);
	cr_expect_str_eq(asking.err.text,
			 "there is no server \"ms9\": callrouterctl servers shows them");
}

Test(control_ask, asks_and_gives_up_when_the_time_is_over)
{
	struct asking asking;

	ask(&asking, json_pack("{s:s}", "command", "later"), 50);
	cr_expect_null(asking.answer);
	cr_expect_eq(asking.err.code, -ETIMEDOUT);
	cr_expect_str_eq(asking.err.text, "callrouterd did not answer in time: see its log "
					  "(journalctl -u callrouterd) for what it is doing");
	control_answer(rig_put_off, json_object(), NULL);
}

Test(control_ask, asks_and_is_told_to_come_back_by_a_full_daemon)
{
	struct asking asking;
	int fds[CLIENTS_MAX];

	for (int i = 0; i < CLIENTS_MAX; i++)
		fds[i] = rig_client();
	ask(&asking, json_pack("{s:s}", "command", "echo"), 5000);
	cr_expect_eq(asking.err.code, -EAGAIN);
	cr_expect_str_eq(asking.err.text,
			 "callrouterd's control socket has too many clients (64): try again");
	for (int i = 0; i < CLIENTS_MAX; i++)
		close(fds[i]);
}

Test(control_ask, asks_and_says_how_to_start_a_daemon_that_is_not_there)
{
	struct err err = { 0 };
	char want[512];

	control_close(rig_control);
	rig_control = NULL;
	cr_expect_null(control_ask(rig_dir, json_pack("{s:s}", "command", "echo"), 100, &err));
	cr_expect_eq(err.code, -ECONNREFUSED);
	(void)snprintf(want, sizeof want,
		       "no callrouterd serves %s: start it (systemctl start callrouterd, or "
		       "callrouterd -c FILE --run-dir DIR), or name its run directory with "
		       "--run-dir DIR",
		       rig_dir);
	cr_expect_str_eq(err.text, want);
}
