/* other_process.h - for the tests of data planes as processes: one that does something, says
 * numbers, and ends or is killed. */
#ifndef CR_TESTS_OTHER_PROCESS_H
#define CR_TESTS_OTHER_PROCESS_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "route_scene.h"

#define HOLD_FOR_EVER (-1) /* an act's result: the process then waits to be killed */

/** Another process. What it does says numbers, that the test compares. */
struct other {
	pid_t pid;
	int from;
};

/* The process's side: no assertion works there. */
static int said_to;

static inline void say(int64_t number)
{
	if (write(said_to, &number, sizeof number) != (ssize_t)sizeof number)
		_exit(2);
}

typedef int act_fn(struct scene *s);

static inline struct other other_start(struct scene *s, act_fn *act)
{
	struct other other;
	int pipe_fds[2];

	cr_assert_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	other.pid = fork();
	cr_assert_geq(other.pid, 0);
	if (other.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* of the test, should it fail */
		said_to = pipe_fds[1];
		if (act(s) == HOLD_FOR_EVER)
			for (;;)
				pause();
		_exit(0);
	}
	close(pipe_fds[1]);
	other.from = pipe_fds[0];
	return other;
}

static inline int64_t hear(const struct other *other)
{
	int64_t number = INT64_MIN;

	cr_expect_eq(read(other->from, &number, sizeof number), (ssize_t)sizeof number,
		     "the other process is gone");
	return number;
}

static inline void expect_said(const struct other *other, int64_t a, int64_t b, int64_t c,
			       int64_t d)
{
	cr_expect_eq(hear(other), a);
	cr_expect_eq(hear(other), b);
	cr_expect_eq(hear(other), c);
	cr_expect_eq(hear(other), d);
}

static inline void other_end(struct other *other, bool kill_it)
{
	int status = 0;

	if (kill_it)
		kill(other->pid, SIGKILL);
	waitpid(other->pid, &status, 0);
	if (!kill_it)
		cr_expect_eq(status, 0, "it ended with %d", status);
	close(other->from);
}

static inline void scene_of_forks(struct scene *s, bool attach)
{
	scene_open(s, 2);
	s->orders->router = says(s, "say=all\n");
	run_publish(&s->run, s->plan);
	if (attach)
		scene_attach(s);
}

#endif
