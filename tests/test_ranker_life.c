/* test_ranker_life.c - rankers' processes that are stopped, or never become rankers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include <criterion/criterion.h>

#include "ranker_scene.h"

TestSuite(ranker_life, .init = set_up, .fini = tear_down, .timeout = 30);

/* What becomes of a process before it is another program. */
static enum { EXEC_WORKS, EXEC_STOPS, EXEC_FAILS } fate;

/* In place of libc's: called by all who start a program. */
int execve(const char *path, char *const *argv, char *const *envp)
{
	if (fate == EXEC_STOPS)
		(void)raise(SIGSTOP);
	if (fate != EXEC_FAILS)
		return (int)syscall(SYS_execve, path, argv, envp);
	errno = ENFILE;
	return -1;
}

static bool is_kernel_old;

/* Likewise. */
int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!is_kernel_old)
		return (int)syscall(SYS_close_range, first, last, flags);
	errno = EPERM;
	return -1;
}

Test(ranker_life, inherits_no_descriptor_from_an_old_kernel_either)
{
	const int theirs = fcntl(STDERR_FILENO, F_DUPFD, 100); /* not closed on exec */
	struct ranker *ranker;
	char path[64];

	cr_assert_geq(theirs, 100);
	is_kernel_old = true;
	ranker = start("");
	rank(ranker);
	wait_for(1);
	cr_expect_eq(told.event[0], RANKER_RANKED);
	(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)child(), theirs);
	cr_expect_lt(access(path, F_OK), 0);
	(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)child(), STDERR_FILENO);
	cr_expect_eq(access(path, F_OK), 0);
	ranker_free(ranker);
	close(theirs);
}

/* posix_spawn() would stand still for as long as the process does. */
Test(ranker_life, that_is_stopped_before_it_runs_holds_up_nobody)
{
	const struct ranker_load load = { .path = ACTS, .plugin = "acts", .service = "orders" };
	struct err err = { 0 };
	struct ranker *ranker;

	fate = EXEC_STOPS;
	ranker = start("");
	expect_death(ranker, -ETIME,
		     "acts: its process did not run for 2 s (stopped, or no processor)");
	cr_expect_eq(ranker_check(&load, false, NULL, &err), -ETIME);
	cr_expect_str_eq(err.text, ACTS ": its process did not run for 2 s (stopped, or no "
					"processor)");
}

Test(ranker_life, that_is_stopped_in_rank_is_not_said_to_loop)
{
	struct ranker *ranker = start("rank=stop\n");

	rank(ranker);
	wait_for(2);
	cr_expect_eq(told.event[0], RANKER_LATE);
	expect_death(ranker, -ETIME,
		     "acts: its process did not run for 2 s (stopped, or no processor)");
}

Test(ranker_life, for_which_there_is_no_program_is_no_plugins_fault)
{
	const struct ranker_load load = { .path = ACTS, .plugin = "acts", .service = "orders" };
	const size_t before = count_entries("/proc/self/fd");
	struct err err = { 0 };
	struct ranker *ranker;

	fate = EXEC_FAILS;
	ranker = start("");
	expect_death(ranker, -ENOMEM, "acts: no process for it: Too many open files in system");
	cr_expect_eq(ranker_check(&load, false, NULL, &err), -ENOMEM);
	cr_expect_str_eq(err.text, ACTS ": no process for it: Too many open files in system");
	cr_expect_eq(count_entries("/proc/self/fd"), before);
}
