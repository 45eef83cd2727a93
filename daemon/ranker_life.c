/* ranker_life.c - the life of a ranker's process: started so that nobody waits for it, looked at
 * when it does not answer, ended. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "ranker_internal.h"

#define DESCRIPTORS_MAX 65536 /* that are looked for, one by one */

extern char **environ;

/*** Starting ***/

static int ranker_area_fd(void)
{
	int fd = memfd_create("callrouter-ranker", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	/* sealed: a child cannot make it shorter under our feet */
	if (ftruncate(fd, sizeof(struct wire_area)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		const int failed = -errno;

		close(fd);
		return failed;
	}
	return fd;
}

/* The child's descriptors must not be overwritten by the dup2 of each other. */
static int ranker_lift(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, WIRE_AREA_FD + 1);

	close(fd);
	return high;
}

/* Kernels before 5.9 do not have close_range(), and some containers forbid it. */
static void ranker_close(int first, int last)
{
	if (close_range((unsigned int)first, (unsigned int)last, 0) == 0)
		return;
	for (int fd = first; fd <= last && fd < DESCRIPTORS_MAX; fd++)
		(void)close(fd);
}

/* From here to exec() all is shared with nobody, but half done in other threads: nothing is called
 * that takes a lock or memory. Closes all but the standard streams and the channels: libcurl does
 * not mark the descriptors that wake its multi handles as closed on exec, nor does who started us
 * mark his. */
static _Noreturn void ranker_become(char *const *argv, int sock, int area)
{
	struct wire_message message = { .op = WIRE_HELLO };
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it may never get to say so itself */
	(void)setpgid(0, 0); /* a group of its own: what the plugin forks is ended with it */
	ranker_close(STDERR_FILENO + 1, WIRE_SOCKET_FD - 1);
	/* our handlers write where the daemon reads */
	for (int signal = 1; signal < NSIG; signal++) {
		struct sigaction was;

		if (sigaction(signal, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			(void)sigaction(signal, &action, NULL);
	}
	if (dup2(sock, WIRE_SOCKET_FD) >= 0 && dup2(area, WIRE_AREA_FD) >= 0) {
		ranker_close(WIRE_AREA_FD + 1, INT_MAX);
		(void)sigemptyset(&none);
		(void)pthread_sigmask(SIG_SETMASK, &none, NULL);
		(void)execve("/proc/self/exe", argv, environ);
	}
	message.result = -errno;
	(void)send(WIRE_SOCKET_FD, &message, sizeof message, MSG_NOSIGNAL);
	_exit(EXIT_FAILURE);
}

/* Not posix_spawn(): it stands still until the child has become another program, and a child that
 * is stopped before never does. _Fork() leaves locks and handlers of others alone, and costs 2 ms
 * where the daemon has 100 MB. */
static int ranker_fork(const struct ranker_load *load, int sock, int area, pid_t *pid)
{
	char *argv[WIRE_ARGS + 1] = { 0 };
	char name[] = "callrouterd", mark[] = WIRE_ARGUMENT;
	sigset_t all, before;
	int failed;

	/* execve's argv is not const, for history's sake; nothing writes there */
	argv[0] = name;
	argv[WIRE_ARG_MARK] = mark;
	argv[WIRE_ARG_PATH] = (char *)(uintptr_t)load->path;
	argv[WIRE_ARG_PLUGIN] = (char *)(uintptr_t)(load->plugin != NULL ? load->plugin : "");
	argv[WIRE_ARG_SERVICE] = (char *)(uintptr_t)(load->service != NULL ? load->service : "");
	argv[WIRE_ARG_OPTIONS] = (char *)(uintptr_t)(load->options != NULL ? load->options : "");
	argv[WIRE_ARG_RUN_DIR] = (char *)(uintptr_t)(load->run_dir != NULL ? load->run_dir : "");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	*pid = _Fork();
	if (*pid == 0)
		ranker_become(argv, sock, area);
	failed = *pid < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

static int ranker_map(struct ranker *ranker, int area, const struct ranker_load *load)
{
	void *map = mmap(NULL, sizeof *ranker->area, PROT_READ | PROT_WRITE, MAP_SHARED, area, 0);

	if (map == MAP_FAILED)
		return -errno;
	ranker->area = map;
	if (load->saved != NULL && load->saved_len <= RANKER_SAVED_MAX) {
		memcpy(ranker->area->saved, load->saved, load->saved_len);
		ranker->area->saved_len = (uint32_t)load->saved_len;
	}
	return 0;
}

int ranker_launch(struct ranker *ranker, const struct ranker_load *load)
{
	int pair[2], area, theirs, failed;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	area = ranker_area_fd();
	if (area < 0) {
		close(pair[0]);
		close(pair[1]);
		return area;
	}
	theirs = ranker_lift(pair[1]);
	area = ranker_lift(area);
	failed = theirs < 0 || area < 0 ? -EMFILE : ranker_map(ranker, area, load);
	if (failed == 0)
		failed = ranker_fork(load, theirs, area, &ranker->pid);
	if (theirs >= 0)
		close(theirs);
	if (area >= 0)
		close(area);
	ranker->sock = pair[0];
	ranker->ran_ns = ranker_ran_ns(ranker);
	return failed;
}

/*** Looking ***/

int64_t ranker_ran_ns(const struct ranker *ranker)
{
	struct timespec ran;
	clockid_t clock;

	if (ranker->pid <= 0 || clock_getcpuclockid(ranker->pid, &clock) != 0 ||
	    clock_gettime(clock, &ran) < 0)
		return 0;
	return ran.tv_sec * CLOCK_S + ran.tv_nsec;
}

/* The letter behind its name, which may hold anything. */
static int ranker_state(pid_t pid)
{
	char path[32], text[128] = "";
	const char *behind;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof text - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	behind = strrchr(text, ')');
	return behind != NULL && behind[1] == ' ' ? (unsigned char)behind[2] : 0;
}

bool ranker_is_still(const struct ranker *ranker)
{
	const int state = ranker->pid > 0 ? ranker_state(ranker->pid) : 0;

	if (state == 'T' || state == 't')
		return true;
	return state != 0 && state != 'Z' && ranker_ran_ns(ranker) == ranker->ran_ns;
}

const char *ranker_phase_words(uint32_t phase)
{
	switch ((enum wire_phase)phase) {
	case WIRE_LOADING:
		return "while it was loaded (a constructor?)";
	case WIRE_OPENING:
		return "in open()";
	case WIRE_CHECKING:
		return "in check()";
	case WIRE_RANKING:
		return "in rank()";
	case WIRE_ROUTING:
		return "in route()";
	case WIRE_PREPARING:
		return "in prepare()";
	case WIRE_RELEASING:
		return "in release()";
	case WIRE_SAVING:
		return "in save()";
	case WIRE_CLOSING:
		return "in close()";
	case WIRE_WAITING:
		break;
	}
	return "between calls";
}

int ranker_blame(struct err *err, const char *name, uint32_t phase)
{
	return err_set(err, -EPROTO,
		       "%s broke its process's connection to callrouterd %s: it was ended; it must "
		       "not use descriptors that it did not open",
		       name, ranker_phase_words(phase));
}

int ranker_quote(struct err *err, const char *name, const struct wire_message *message)
{
	/* written before it was another program: not the plugin's fault, like want of memory */
	if (message->text[0] == '\0')
		return err_set(err, -ENOMEM, "%s: no process for it: %s", name,
			       err_words(message->result));
	return err_set(err, message->result, "%.*s", (int)sizeof message->text - 1, message->text);
}

/*** Ending ***/

void ranker_bury(struct ranker *ranker, int *status)
{
	*status = 0;
	if (ranker->pid <= 0)
		return;
	kill(-ranker->pid, SIGKILL);
	kill(ranker->pid, SIGKILL); /* it may have left its group */
	while (waitpid(ranker->pid, status, 0) < 0 && errno == EINTR)
		;
	ranker->pid = 0;
}
