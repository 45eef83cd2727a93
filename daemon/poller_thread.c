/* poller_thread.c - the thread of one plugin: takes orders, visits its sources, sleeps until the
 * next one is due. */
#include "poller_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

#define SHORT_SLEEP_NS (100 * CLOCK_MS) /* where a descriptor cannot be watched */

/*** The thread's side [own] ***/

/** Open all or none. */
static int open_all(struct poll_thread *thread, struct poller_command *command)
{
	for (size_t i = 0; i < command->n; i++) {
		const int rc = poller_round_open(thread, command->source[i], &command->err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static void close_all(struct poll_thread *thread, const struct poller_command *command)
{
	for (size_t i = 0; i < command->n; i++)
		poller_round_close(thread, command->source[i]);
}

/** A running source of that name; not a retiring one. */
static struct source *running(const struct poll_thread *thread, const char *name)
{
	struct source *source = thread->source;

	while (source != NULL && (source->is_retiring || strcmp(source->name, name) != 0))
		source = source->next;
	return source;
}

/** The source that takes the place of old, or NULL. */
static const struct source *successor_of(const struct source *old,
					 const struct poller_command *command)
{
	for (size_t i = 0; i < command->n; i++)
		if (strcmp(command->source[i]->name, old->name) == 0)
			return command->source[i];
	return NULL;
}

/** Close what is no longer wanted; let end what has a successor. */
static void sweep(struct poll_thread *thread, const struct poller_command *command)
{
	struct source **link = &thread->source;

	while (*link != NULL) {
		struct source *const source = *link;
		const struct source *successor = successor_of(source, command);

		if (source->is_listed) {
			link = &source->next;
		} else if (successor != NULL) {
			poller_round_retire(source, successor);
			link = &source->next;
		} else {
			*link = source->next;
			poller_round_close(thread, source);
		}
	}
}

static void commit(struct poll_thread *thread, const struct poller_command *command)
{
	const int64_t now_ns = clock_now_ns();

	for (struct source *source = thread->source; source != NULL; source = source->next)
		source->is_listed = false;
	for (size_t i = 0; i < command->n; i++) {
		struct source *const source = command->source[i];

		source->is_listed = true;
		if (source->is_running)
			continue;
		poller_round_start(source, running(thread, source->name), now_ns);
		source->next = thread->source;
		thread->source = source;
	}
	sweep(thread, command);
}

/** Close those that have retired and have nothing under way any more. */
static void bury(struct poll_thread *thread)
{
	struct source **link = &thread->source;

	while (*link != NULL) {
		struct source *const source = *link;

		if (!source->is_retiring || source->n_under_way > 0) {
			link = &source->next;
			continue;
		}
		*link = source->next;
		poller_round_close(thread, source);
	}
}

static struct poller_command *take_command(struct poll_thread *thread)
{
	struct poller_command *command;

	pthread_mutex_lock(&thread->poller->lock);
	command = thread->first;
	if (command != NULL)
		thread->first = command->next;
	if (thread->first == NULL)
		thread->last = NULL;
	pthread_mutex_unlock(&thread->poller->lock);
	return command;
}

/** Tell who waits, or clean up if nobody does any more. */
static void answer(struct poll_thread *thread, struct poller_command *command)
{
	bool is_orphan;

	pthread_mutex_lock(&thread->poller->lock);
	command->is_done = true;
	is_orphan = command->is_orphan;
	pthread_cond_broadcast(&thread->poller->answered);
	pthread_mutex_unlock(&thread->poller->lock);
	if (!is_orphan)
		return;
	if (command->order == POLLER_OPEN)
		close_all(thread, command);
	free(command);
}

/** Carry out all orders. Returns false when the thread is to end. */
static bool obey(struct poll_thread *thread)
{
	struct poller_command *command;
	bool goes_on = true;

	while (goes_on && (command = take_command(thread)) != NULL) {
		switch (command->order) {
		case POLLER_OPEN:
			(void)open_all(thread, command);
			break;
		case POLLER_DROP:
			close_all(thread, command);
			break;
		case POLLER_COMMIT:
			commit(thread, command);
			break;
		case POLLER_QUIT:
			goes_on = false;
			break;
		}
		answer(thread, command);
	}
	return goes_on;
}

/** Have room for every descriptor. Returns false without memory. */
static bool make_room(struct poll_thread *thread)
{
	struct pollfd *grown;
	size_t n = 1;

	for (const struct source *source = thread->source; source != NULL; source = source->next)
		n++;
	if (n <= thread->n_pollfd)
		return true;
	grown = reallocarray(thread->pollfd, n, sizeof *grown);
	if (grown == NULL)
		return false;
	thread->pollfd = grown;
	thread->n_pollfd = n;
	return true;
}

/** After poll(): who has something to read? */
static void note_readable(struct poll_thread *thread)
{
	size_t i = 1;

	for (struct source *source = thread->source; source != NULL && i < thread->n_pollfd;
	     source = source->next, i++) {
		const short events = thread->pollfd[i].revents;

		source->is_readable = events != 0;
		if ((events & POLLNVAL) == 0)
			continue;
		log_error("collector closed its descriptor", "source=%s plugin=%s", source->name,
			  source->plugin);
		source->fd = -1;
	}
}

/** Sleep until wake_ns, an order, or something to read. */
static void nap(struct poll_thread *thread, int64_t wake_ns)
{
	const int64_t now_ns = clock_now_ns();
	struct timespec timeout;
	eventfd_t count;
	size_t n = 1;

	if (!make_room(thread) && wake_ns > now_ns + SHORT_SLEEP_NS)
		wake_ns = now_ns + SHORT_SLEEP_NS;
	if (thread->n_pollfd == 0) { /* never had any memory */
		timeout = (struct timespec){ .tv_nsec = (long)SHORT_SLEEP_NS };
		(void)nanosleep(&timeout, NULL);
		return;
	}
	thread->pollfd[0] = (struct pollfd){ .fd = thread->wake_fd, .events = POLLIN };
	for (const struct source *source = thread->source; source != NULL && n < thread->n_pollfd;
	     source = source->next)
		thread->pollfd[n++] =
			(struct pollfd){ .fd = source->rest_until_ns > now_ns ? -1 : source->fd,
					 .events = POLLIN };

	/* Whole milliseconds: what collectors wait for is handled a handful at a time, too. */
	if (wake_ns > now_ns && wake_ns < INT64_MAX - CLOCK_MS)
		wake_ns = (wake_ns / CLOCK_MS + 1) * CLOCK_MS;
	wake_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
	timeout = (struct timespec){ .tv_sec = wake_ns / CLOCK_S, .tv_nsec = wake_ns % CLOCK_S };
	if (ppoll(thread->pollfd, n, &timeout, NULL) <= 0)
		return;
	if (thread->pollfd[0].revents != 0)
		(void)eventfd_read(thread->wake_fd, &count);
	note_readable(thread);
}

static void *run(void *arg)
{
	struct poll_thread *const thread = arg;

	while (obey(thread)) {
		const int64_t now_ns = clock_now_ns();
		int64_t wake_ns = INT64_MAX;

		for (struct source *source = thread->source;
		     source != NULL && !poller_is_abandoned(thread->poller);
		     source = source->next) {
			const int64_t at_ns = poller_round_visit(thread, source, now_ns);

			wake_ns = at_ns < wake_ns ? at_ns : wake_ns;
		}
		bury(thread);
		nap(thread, wake_ns);
	}
	while (thread->source != NULL) {
		struct source *const source = thread->source;

		thread->source = source->next;
		poller_round_close(thread, source);
	}
	pthread_mutex_lock(&thread->poller->lock);
	thread->has_ended = true;
	pthread_cond_broadcast(&thread->poller->answered);
	pthread_mutex_unlock(&thread->poller->lock);
	return NULL;
}

/*** Main's side [main] ***/

/** A thread that gets none of the daemon's signals. */
static int create(struct poll_thread *thread)
{
	char name[16];
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread->id, NULL, run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		return -rc;
	(void)snprintf(name, sizeof name, "poll %.10s", thread->plugin);
	(void)pthread_setname_np(thread->id, name);
	return 0;
}

struct poll_thread *poller_thread_start(struct poller *poller, const char *plugin, struct err *err)
{
	struct poll_thread *thread = calloc(1, sizeof *thread);
	int rc = -ENOMEM;

	if (thread == NULL)
		goto fail;
	thread->poller = poller;
	(void)text_copy(thread->plugin, sizeof thread->plugin, plugin);
	thread->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (thread->wake_fd < 0) {
		rc = -errno;
		goto free_thread;
	}
	rc = create(thread);
	if (rc == 0)
		return thread;
	close(thread->wake_fd);
free_thread:
	free(thread);
fail:
	(void)err_set(err, rc, "plugin %s: no thread for its sources: %s", plugin, err_words(rc));
	return NULL;
}

void poller_thread_post(struct poll_thread *thread, struct poller_command *command)
{
	pthread_mutex_lock(&thread->poller->lock);
	command->next = NULL;
	if (thread->last != NULL)
		thread->last->next = command;
	else
		thread->first = command;
	thread->last = command;
	pthread_mutex_unlock(&thread->poller->lock);
	(void)eventfd_write(thread->wake_fd, 1);
}

bool poller_thread_wait(struct poller *poller, int64_t until_ns)
{
	const struct timespec until = { .tv_sec = until_ns / CLOCK_S,
					.tv_nsec = until_ns % CLOCK_S };

	return pthread_cond_timedwait(&poller->answered, &poller->lock, &until) != ETIMEDOUT;
}

bool poller_thread_join(struct poll_thread *thread, int64_t until_ns)
{
	struct poller *const poller = thread->poller;
	bool has_ended;

	pthread_mutex_lock(&poller->lock);
	while (!thread->has_ended && poller_thread_wait(poller, until_ns))
		;
	has_ended = thread->has_ended;
	pthread_mutex_unlock(&poller->lock);
	if (!has_ended)
		return false;
	pthread_join(thread->id, NULL);
	close(thread->wake_fd);
	free(thread->pollfd);
	free(thread);
	return true;
}
