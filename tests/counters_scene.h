/* counters_scene.h - for the tests of the counters: a run directory and other processes in it. */
#ifndef CR_TESTS_COUNTERS_SCENE_H
#define CR_TESTS_COUNTERS_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <criterion/criterion.h>

#include "counters_file.h"
#include "shared_files.h"

/** A run directory with a file, the daemon's mapping and a data plane's. */
struct scene {
	struct folder folder;
	char path[128];
	struct counters *daemon, *plane;
	struct err err;
};

static inline void scene_open(struct scene *s)
{
	*s = (struct scene){ .folder = folder_make() };
	folder_file(&s->folder, COUNTERS_FILE, s->path, sizeof s->path);
	cr_assert_eq(counters_create(s->folder.path, (gid_t)-1, &s->daemon, &s->err), 0, "%s",
		     s->err.text);
	cr_assert_eq(counters_open(s->folder.path, false, &s->plane, &s->err), 0, "%s",
		     s->err.text);
}

static inline void scene_close(struct scene *s)
{
	counters_close(s->plane);
	counters_close(s->daemon);
	folder_remove(&s->folder);
}

static inline uint32_t inflight(const struct counters *c, uint32_t line)
{
	return __atomic_load_n(&counters_line(c, line)->live.inflight, __ATOMIC_RELAXED);
}

static inline int64_t inflight_bytes(const struct counters *c, uint32_t line)
{
	return __atomic_load_n(&counters_line(c, line)->live.inflight_bytes, __ATOMIC_RELAXED);
}

static inline void expect_totals(const struct counters *c, uint32_t line, uint32_t calls,
				 int64_t bytes)
{
	cr_expect_eq(inflight(c, line), calls, "line %u: %u calls, not %u", line, inflight(c, line),
		     calls);
	cr_expect_eq(inflight_bytes(c, line), bytes, "line %u: %lld bytes, not %lld", line,
		     (long long)inflight_bytes(c, line), (long long)bytes);
}

/** Another process: it claims a slot, does something, says so, and waits to be killed. */
struct other {
	pid_t pid;   /* whom to kill */
	pid_t child; /* whom to wait for: it, or the parent that it has in this namespace */
	int slot;    /* -1: it could not */
};

typedef void other_fn(struct counters *c);

static inline void other_live(const struct scene *s, int said, other_fn *act)
{
	struct counters *c;
	int slot = -1;

	if (counters_open(s->folder.path, false, &c, NULL) == 0) {
		slot = counters_claim(c, "other");
		act(c);
	}
	if (write(said, &slot, sizeof slot) != (ssize_t)sizeof slot)
		_exit(1);
	for (;;)
		pause();
}

/* In a pid namespace of its own: a child of a child, since the first one stays outside. */
static inline void other_live_apart(const struct scene *s, int slot_said, int pid_said,
				    other_fn *act)
{
	const pid_t pid = unshare(CLONE_NEWPID) < 0 ? -1 : fork();

	if (pid != 0 && write(pid_said, &pid, sizeof pid) != (ssize_t)sizeof pid)
		_exit(1);
	if (pid == 0)
		other_live(s, slot_said, act);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	_exit(0);
}

static inline struct other other_start(const struct scene *s, other_fn *act)
{
	struct other other = { .slot = -1 };
	int said[2];

	cr_assert_eq(pipe2(said, O_CLOEXEC), 0);
	other.pid = other.child = fork();
	cr_assert_geq(other.pid, 0);
	if (other.pid == 0)
		other_live(s, said[1], act);
	close(said[1]);
	cr_assert_eq(read(said[0], &other.slot, sizeof other.slot), sizeof other.slot);
	close(said[0]);
	cr_assert_geq(other.slot, 0);
	return other;
}

/* slot -1: not allowed here. */
static inline struct other other_start_apart(const struct scene *s, other_fn *act)
{
	struct other other = { .slot = -1 };
	int slot_said[2], pid_said[2];

	cr_assert_eq(pipe2(slot_said, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(pid_said, O_CLOEXEC), 0);
	other.child = fork();
	cr_assert_geq(other.child, 0);
	if (other.child == 0)
		other_live_apart(s, slot_said[1], pid_said[1], act);
	close(slot_said[1]);
	close(pid_said[1]);
	cr_assert_eq(read(pid_said[0], &other.pid, sizeof other.pid), sizeof other.pid);
	if (other.pid > 0)
		cr_assert_eq(read(slot_said[0], &other.slot, sizeof other.slot), sizeof other.slot);
	close(slot_said[0]);
	close(pid_said[0]);
	return other;
}

static inline void other_kill(const struct other *other)
{
	kill(other->pid, SIGKILL);
	waitpid(other->child, NULL, 0);
}

static inline void act_hold(struct counters *c)
{
	counters_hold_add(c, 3, 1000);
	counters_hold_add(c, 3, 500);
	counters_hold_add(c, 16383, 0);
}

#endif
