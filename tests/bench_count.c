/*
 * bench_count.c - what a call does besides computing, counted while it runs: allocations by
 * standing before malloc(), system calls by tracing a child process.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define BATCHES 200 /* that are counted */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_COUNT 0 /* the sanitizer stands before malloc() itself */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_COUNT 0
#endif
#endif
#ifndef CAN_COUNT
#define CAN_COUNT 1
#endif

/*** Allocations: glibc lets a program have functions of these names, plugins and libraries use them
 * too ***/

static _Thread_local uint64_t n_allocations;

#if CAN_COUNT
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
	n_allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	n_allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
	n_allocations++;
	return __libc_realloc(at, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	n_allocations++;
	return __libc_memalign(align, size);
}

int posix_memalign(void **at, size_t align, size_t size)
{
	n_allocations++;
	*at = __libc_memalign(align, size);
	return *at != NULL ? 0 : ENOMEM;
}
#endif

static void run_batches(const struct bench_subject *subject)
{
	for (unsigned i = 0; i < BATCHES; i++)
		subject->run(subject, 0, subject->batch);
}

static double per_call(const struct bench_subject *subject, uint64_t n)
{
	return (double)n / ((double)BATCHES * subject->batch);
}

static double count_allocations(const struct bench_subject *subject)
{
	uint64_t before;

	if (CAN_COUNT == 0)
		return -1;
	subject->run(subject, 0, subject->batch);
	before = n_allocations;
	run_batches(subject);
	return per_call(subject, n_allocations - before);
}

/*** System calls ***/

/* A system call that nothing else makes here: what comes between two of them is counted. */
static void mark(void)
{
	syscall(SYS_getppid);
}

static _Noreturn void child_run(const struct bench_subject *subject)
{
	if (subject->adopt != NULL)
		subject->adopt(subject);
	subject->run(subject, 0, subject->batch);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(1);
	raise(SIGSTOP);
	mark();
	run_batches(subject);
	mark();
	_exit(0);
}

/* Lets the child go on to its next system call: 1 with its number, 0: it has ended, < 0: failed. */
static int child_step(pid_t child, uint64_t *number)
{
	struct __ptrace_syscall_info info;
	int status;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) < 0)
			return -1;
		if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
			return 0;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) < 0)
			return -1;
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		*number = info.entry.nr;
		return 1;
	}
}

/* Returns how many came between the two marks, < 0: that cannot be said. */
static int64_t child_watch(pid_t child)
{
	int64_t n = 0;
	int marks = 0, got;
	uint64_t number;

	if (ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD)) < 0)
		return -1;
	while ((got = child_step(child, &number)) > 0) {
		if (number == SYS_getppid)
			marks++;
		else if (marks == 1)
			n++;
	}
	return got == 0 && marks == 2 ? n : -1;
}

static double count_system_calls(const struct bench_subject *subject)
{
	const pid_t child = fork();
	int64_t n = -1;
	int status;

	if (child < 0)
		return -1;
	if (child == 0)
		child_run(subject);
	if (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		n = child_watch(child);
		/* If tracing failed it may stand still: a child that has ended is not hit. */
		if (n < 0 && waitpid(child, &status, WNOHANG) == 0) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
		}
	}
	return n < 0 ? -1 : per_call(subject, (uint64_t)n);
}

struct bench_counts bench_count(const struct bench_subject *subject)
{
	return (struct bench_counts){ count_allocations(subject), count_system_calls(subject) };
}

/*** Does the counting work? ***/

static int64_t run_control(const struct bench_subject *subject, unsigned index, unsigned n)
{
	(void)subject;
	(void)index;
	for (unsigned i = 0; i < n; i++) {
		void *volatile at = malloc(100);

		free(at);
		syscall(SYS_getuid);
	}
	return 0;
}

const struct bench_subject bench_control = { .what = "control",
					     .variant = "control",
					     .batch = BENCH_BATCH,
					     .threads_max = 1,
					     .run = run_control };
