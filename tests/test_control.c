/* test_control.c - the control socket over real sockets: good, odd and hostile clients. */
#include <criterion/criterion.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control_rig.h"

TestSuite(control, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

Test(control, answers_with_the_commands_members_and_ok)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"echo\",\"say\":\"hello\"}\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":\"hello\"}");
	close(fd);
}

Test(control, answers_a_failure_with_its_sentence_and_code)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"fail\"}\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":false,\"error\":\"there is no server \\\"ms9\\\": "
				       "callrouterctl servers shows them\",\"code\":-2}");
	close(fd);
}

Test(control, answers_garbage_with_what_is_wrong_and_goes_on)
{
	static const struct {
		const char *request, *answer;
	} table[] = {
		{ "hello\n",
		  "{\"ok\":false,\"error\":\"the request is not JSON, at its byte 5: '[' or '{' "
		  "expected near 'hello'\",\"code\":-22}" },
		{ "[1]\n", "{\"ok\":false,\"error\":\"a request is a JSON object with a member "
			   "\\\"command\\\" whose value is a text\",\"code\":-22}" },
		{ "{\"command\":7}\n",
		  "{\"ok\":false,\"error\":\"a request is a JSON object with a member "
		  "\\\"command\\\" whose value is a text\",\"code\":-22}" },
		{ "{\"command\":\"ecko\"}\n",
		  "{\"ok\":false,\"error\":\"callrouterd knows no command \\\"ecko\\\", did you "
		  "mean "
		  "\\\"echo\\\": is it older than this callrouterctl?\",\"code\":-22}" },
		{ "{\"command\":\"\xff\"}\n",
		  "{\"ok\":false,\"error\":\"the request is not JSON, at its byte 12: unable to "
		  "decode byte 0xff near '\\\"'\",\"code\":-22}" },
		{ "{\"command\":\"echo\",\"command\":\"echo\"}\n",
		  "{\"ok\":false,\"error\":\"the request is not JSON, at its byte 27: duplicate "
		  "object key near '\\\"command\\\"'\",\"code\":-22}" },
		{ "{\"command\":\"echo\",\"say\":\"a\\u0000b\"}\n",
		  "{\"ok\":false,\"error\":\"the request is not JSON, at its byte 34: a text holds "
		  "\\\\u0000, which is in no name: take it out\",\"code\":-22}" },
		{ "{\"command\":\"echo\",\"s\\u0000y\":1}\n",
		  "{\"ok\":false,\"error\":\"the request is not JSON, at its byte 28: a text holds "
		  "\\\\u0000, which is in no name: take it out\",\"code\":-22}" },
	};
	const int fd = rig_client();

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		rig_say(fd, table[i].request);
		cr_expect_str_eq(rig_hear(fd), table[i].answer);
	}
	cr_assert_eq(write(fd, "{\0}\n", 4), 4);
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":false,\"error\":\"the request is not JSON, at its "
				       "byte 2: it holds a NUL byte\",\"code\":-22}");
	rig_say(fd, "\n \r\n{\"command\":\"echo\",\"say\":1}\r\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":1}");
	close(fd);
}

Test(control, waits_for_the_rest_of_a_partial_line)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"ec");
	cr_expect(rig_hears_nothing(fd));
	rig_say(fd, "ho\",\"say\":2}");
	cr_expect(rig_hears_nothing(fd));
	rig_say(fd, "\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":2}");
	close(fd);
}

Test(control, answers_several_requests_of_one_write_in_order)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"echo\",\"say\":1}\n{\"command\":\"now\"}\n"
		    "{\"command\":\"echo\",\"say\":3}\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":1}");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"when\":\"now\"}");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":3}");
	close(fd);
}

Test(control, refuses_a_line_that_is_too_long_and_closes)
{
	const int fd = rig_client();
	char *text = malloc(CONTROL_LINE_MAX + 1);

	memset(text, ' ', CONTROL_LINE_MAX);
	text[CONTROL_LINE_MAX] = '\0';
	rig_say(fd, text);
	free(text);
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":false,\"error\":\"the request is longer than 65536 "
				       "bytes\",\"code\":-90}");
	cr_expect(rig_is_closed(fd));
	close(fd);
}

Test(control, answers_what_came_before_the_client_stopped_sending)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"echo\",\"say\":1}\n{\"command\":");
	(void)shutdown(fd, SHUT_WR);
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":1}");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":false,\"error\":\"the request does not end with a "
				       "newline\",\"code\":-22}");
	cr_expect(rig_is_closed(fd));
	close(fd);
}

Test(control, keeps_later_requests_waiting_behind_an_answer_that_was_put_off)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"later\"}\n{\"command\":\"echo\",\"say\":2}\n");
	cr_expect(rig_hears_nothing(fd));
	cr_assert_not_null(rig_put_off);
	control_answer(rig_put_off, json_pack("{s:i}", "n", 1), NULL);
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"n\":1}");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":2}");
	close(fd);
}

Test(control, answers_a_request_that_was_put_off_with_an_error)
{
	struct err err;
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"later\"}\n");
	(void)err_set(&err, -EIO, "the trial failed");
	control_answer(rig_put_off, NULL, &err);
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":false,\"error\":\"the trial failed\",\"code\":-5}");
	close(fd);
}

Test(control, answers_late_to_a_client_that_only_stopped_sending)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"later\"}\n");
	(void)shutdown(fd, SHUT_WR);
	rig_pump();
	control_answer(rig_put_off, json_pack("{s:i}", "n", 1), NULL);
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"n\":1}");
	cr_expect(rig_is_closed(fd));
	close(fd);
}

Test(control, forgets_an_answer_whose_client_has_gone)
{
	int fd = rig_client();

	rig_say(fd, "{\"command\":\"later\"}\n");
	close(fd);
	rig_pump();
	control_answer(rig_put_off, json_pack("{s:i}", "n", 1), NULL);
	fd = rig_client();
	rig_say(fd, "{\"command\":\"echo\",\"say\":1}\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":1}");
	close(fd);
}

Test(control, frees_an_answer_that_comes_after_the_end)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"later\"}\n");
	control_close(rig_control);
	rig_control = NULL;
	control_answer(rig_put_off, json_pack("{s:i}", "n", 1), NULL);
	cr_expect(rig_is_closed(fd));
	close(fd);
}

Test(control, turns_away_the_65th_client_and_serves_the_next_when_one_has_gone)
{
	int fds[CLIENTS_MAX], more;

	for (int i = 0; i < CLIENTS_MAX; i++)
		fds[i] = rig_client();
	more = rig_client();
	cr_expect_str_eq(rig_hear(more),
			 "{\"ok\":false,\"error\":\"callrouterd's control socket has too "
			 "many clients (64): try again\",\"code\":-11}");
	cr_expect(rig_is_closed(more));
	close(more);
	for (int i = 0; i < CLIENTS_MAX; i++) {
		rig_say(fds[i], "{\"command\":\"echo\",\"say\":1}\n");
		cr_expect_str_eq(rig_hear(fds[i]), "{\"ok\":true,\"said\":1}");
	}
	close(fds[0]);
	rig_pump();
	more = rig_client();
	rig_say(more, "{\"command\":\"echo\",\"say\":2}\n");
	cr_expect_str_eq(rig_hear(more), "{\"ok\":true,\"said\":2}");
	close(more);
	for (int i = 1; i < CLIENTS_MAX; i++)
		close(fds[i]);
}

/* Five answers are 15 MB: more than the socket and our buffer for a client take. */
Test(control, holds_back_for_a_client_that_does_not_read_and_serves_others_meanwhile)
{
	const int slow = rig_client(), quick = rig_client();
	static char sink[65536];
	size_t total = 0, lines = 0;

	rig_say(slow, "{\"command\":\"big\"}\n{\"command\":\"big\"}\n{\"command\":\"big\"}\n"
		      "{\"command\":\"big\"}\n{\"command\":\"big\"}\n");
	rig_say(quick, "{\"command\":\"echo\",\"say\":1}\n");
	cr_expect_str_eq(rig_hear(quick), "{\"ok\":true,\"said\":1}");
	while (lines < 5) {
		const ssize_t n = recv(slow, sink, sizeof sink, MSG_DONTWAIT);

		rig_pump();
		for (ssize_t i = 0; i < n; i++)
			lines += sink[i] == '\n';
		total += n > 0 ? (size_t)n : 0;
	}
	/* {"ok":true,"text":"xxx"} and a newline */
	cr_expect_eq(total, 5 * (size_t)(3000000 + 22));
	close(slow);
	close(quick);
}

Test(control, closes_an_idle_connection_and_not_one_that_waits_for_its_answer)
{
	const int idle = rig_client(), waiting = rig_client();
	struct pollfd pfd = { .fd = idle, .events = POLLIN };
	int rounds = 0;

	rig_say(waiting, "{\"command\":\"later\"}\n");
	/* Its idle time is over a moment before the other's. */
	while (poll(&pfd, 1, 0) == 0 && rounds++ < 3000) {
		rig_pump();
		(void)poll(NULL, 0, 5);
	}
	cr_expect(rig_is_closed(idle));
	for (rounds = 0; rounds < 40; rounds++) {
		rig_pump();
		(void)poll(NULL, 0, 5);
	}
	control_answer(rig_put_off, json_pack("{s:i}", "n", 1), NULL);
	cr_expect_str_eq(rig_hear(waiting), "{\"ok\":true,\"n\":1}");
	close(idle);
	close(waiting);
}

Test(control, lets_its_own_user_change_things)
{
	const int fd = rig_client();

	rig_say(fd, "{\"command\":\"change\",\"say\":1}\n");
	cr_expect_str_eq(rig_hear(fd), "{\"ok\":true,\"said\":1}");
	close(fd);
}

/* Only root can become somebody else to try it. */
Test(control, lets_another_user_look_but_not_change)
{
	char path[128];
	int ready[2], fd = -1;
	pid_t child;

	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	(void)snprintf(path, sizeof path, "%s/control.sock", rig_dir);
	cr_assert_eq(chmod(rig_dir, 0755), 0);
	cr_assert_eq(chmod(path, 0666), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ready), 0);
	child = fork();
	if (child == 0) {
		/* The credentials are those at the time of connect(). */
		char wait;

		if (setuid(65534) < 0 || (fd = rig_connect(rig_dir)) < 0 ||
		    send(fd, "{\"command\":\"change\"}\n{\"command\":\"fail\"}\n", 41,
			 MSG_NOSIGNAL) != 41)
			_exit(1);
		(void)!write(ready[1], "x", 1);
		for (int lines = 0; lines < 2;) {
			char byte;

			if (read(fd, &byte, 1) != 1 || write(ready[1], &byte, 1) != 1)
				_exit(2);
			lines += byte == '\n';
		}
		(void)!read(ready[1], &wait, 1);
		_exit(0);
	}
	cr_assert_eq(read(ready[0], path, 1), 1);
	rig_pump();
	cr_expect_str_eq(rig_hear(ready[0]),
			 "{\"ok\":false,\"error\":\"\\\"change\\\" is for root and the user that "
			 "callrouterd runs as (uid 0); you are uid 65534: try it with "
			 "sudo\",\"code\":-1}");
	cr_expect_str_eq(rig_hear(ready[0]),
			 "{\"ok\":false,\"error\":\"there is no server \\\"ms9\\\": "
			 "callrouterctl servers shows them\",\"code\":-2}");
	cr_assert_eq(write(ready[0], "x", 1), 1);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	close(ready[0]);
	close(ready[1]);
}
