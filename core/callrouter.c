/* callrouter.c - attach, refresh, detach: everything of a data plane that is not on the call path.
 */
#include <callrouter/callrouter.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "attachment.h"
#include "err.h"
#include "text.h"
#include "words.h"

#define REFRESH_MS      10
#define DEFAULT_RUN_DIR "/run/callrouter"

/*** The library's own thread ***/

static void *cr_run(void *arg)
{
	struct cr *cr = arg;
	struct pollfd stop = { .fd = cr->stop_fd, .events = POLLIN };

	while (poll(&stop, 1, REFRESH_MS) == 0)
		cr_refresh(cr);
	return NULL;
}

int cr_start_thread(struct cr *cr)
{
	sigset_t all, old;
	int failed;

	cr->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (cr->stop_fd < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	failed = pthread_create(&cr->thread, NULL, cr_run, cr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed != 0) {
		close(cr->stop_fd);
		cr->stop_fd = -1;
		return -failed;
	}
	cr->has_thread = true;
	return 0;
}

static void cr_stop_thread(struct cr *cr)
{
	const uint64_t one = 1;

	if (cr->has_thread && write(cr->stop_fd, &one, sizeof one) == (ssize_t)sizeof one)
		pthread_join(cr->thread, NULL);
	cr->has_thread = false;
	if (cr->stop_fd >= 0)
		close(cr->stop_fd);
	cr->stop_fd = -1;
}

/*** Forking ***/

#define FORK_WAIT_S 1

/*
 * A child that never refreshes must not keep its parent's slot looking alive: its copy of the
 * lock's descriptor is closed in the child at once. The list is all that can lead the handler
 * there.
 */
static pthread_mutex_t attached_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cr *attached;

static void attached_before_fork(void)
{
	struct timespec until;

	pthread_mutex_lock(&attached_lock);
	/* Half a refresh is of no use to the child. But a refresh may hang in somebody's open(), or
	 * in a log callback that waits for what the thread that forks has locked. */
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += FORK_WAIT_S;
	for (struct cr *cr = attached; cr != NULL; cr = cr->next)
		cr->is_held_for_fork =
			pthread_mutex_clocklock(&cr->refreshing, CLOCK_MONOTONIC, &until) == 0;
}

static void attached_in_parent(void)
{
	for (struct cr *cr = attached; cr != NULL; cr = cr->next)
		if (cr->is_held_for_fork)
			pthread_mutex_unlock(&cr->refreshing);
	pthread_mutex_unlock(&attached_lock);
}

static void attached_in_child(void)
{
	for (struct cr *cr = attached; cr != NULL; cr = cr->next)
		cr_leave_parent(cr);
	pthread_mutex_init(&attached_lock, NULL);
}

static void attached_watch_forks(void)
{
	pthread_atfork(attached_before_fork, attached_in_parent, attached_in_child);
}

static void attached_add(struct cr *cr)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, attached_watch_forks);
	pthread_mutex_lock(&attached_lock);
	cr->next = attached;
	attached = cr;
	pthread_mutex_unlock(&attached_lock);
}

static void attached_remove(const struct cr *cr)
{
	pthread_mutex_lock(&attached_lock);
	for (struct cr **at = &attached; *at != NULL; at = &(*at)->next)
		if (*at == cr) {
			*at = cr->next;
			break;
		}
	pthread_mutex_unlock(&attached_lock);
}

/* exit() without cr_detach(). Held for good: no refresh is to take another slot now. */
__attribute__((destructor)) static void attached_at_exit(void)
{
	attached_before_fork();
	for (const struct cr *cr = attached; cr != NULL; cr = cr->next)
		if (cr->mapping != NULL &&
		    atomic_load_explicit(&cr->page->is_own, memory_order_relaxed) != 0)
			counters_leave(cr->mapping->counters);
	pthread_mutex_unlock(&attached_lock);
}

/*** Attaching ***/

/** The log that plugins see, with the way back to the attachment. */
struct cr_plugin_host {
	struct cr_host host;
	struct cr *cr;
};

static void cr_plugin_log(const struct cr_host *host, enum cr_level level, const char *fmt, ...)
	CR_PRINTF(3, 4);

static void cr_plugin_log(const struct cr_host *host, enum cr_level level, const char *fmt, ...)
{
	const struct cr *cr = ((const struct cr_plugin_host *)host)->cr;
	char line[512];
	va_list args;

	if (cr->log == NULL)
		return;
	va_start(args, fmt);
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	cr->log(cr->log_arg, level, line);
}

static int cr_no_metric(const struct cr_host *host, const char *name)
{
	(void)host;
	(void)name;
	return -ENOTSUP; /* routers get their metrics in the view */
}

static const struct cr_host *cr_new_host(struct cr *cr)
{
	struct cr_plugin_host *host = calloc(1, sizeof *host);

	if (host == NULL)
		return NULL;
	*host = (struct cr_plugin_host){ { cr_plugin_log, cr_no_metric }, cr };
	return &host->host;
}

static struct own_page *own_page_new(void)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (madvise(page, bytes, MADV_WIPEONFORK) < 0) {
		munmap(page, bytes);
		return NULL;
	}
	atomic_store_explicit(&((struct own_page *)page)->is_own, 1, memory_order_relaxed);
	return page;
}

static void cr_free(struct cr *cr)
{
	struct world *live = atomic_load_explicit(&cr->live, memory_order_relaxed);

	if (live != NULL) {
		live->older = cr->retired;
		cr->retired = live;
	}
	worlds_reap(cr);
	mapping_give(cr->mapping);
	for (struct cr_thread *t = atomic_load_explicit(&cr->threads, memory_order_acquire), *next;
	     t != NULL; t = next) {
		next = t->next;
		free(t->order);
		free(t->seen);
		look_fini(&t->look);
		free(t);
	}
	for (size_t i = 0; i < cr->n_names; i++)
		free(cr->name[i]);
	cards_free(&cr->cards);
	snapshot_reader_free(cr->reader);
	pthread_mutex_destroy(&cr->names_lock);
	pthread_mutex_destroy(&cr->refreshing);
	if (cr->page != NULL)
		munmap(cr->page, (size_t)sysconf(_SC_PAGESIZE));
	free((void *)(uintptr_t)cr->guests.host);
	free(cr->run_dir);
	free(cr);
}

static int cr_set_up(struct cr *cr, const struct cr_config *config)
{
	const char *program =
		config->program != NULL ? config->program : program_invocation_short_name;

	pthread_mutex_init(&cr->names_lock, NULL);
	cr_init_refreshing(cr);
	cr->stop_fd = -1;
	cr->start_thread = config->start_thread;
	cr->log = config->log;
	cr->log_arg = config->log_arg;
	text_copy(cr->program, sizeof cr->program, program);
	cr->run_dir = strdup(config->run_dir != NULL ? config->run_dir : DEFAULT_RUN_DIR);
	cr->page = own_page_new();
	cr->guests.host = cr_new_host(cr);
	if (cr->run_dir == NULL || cr->page == NULL || cr->guests.host == NULL)
		return -ENOMEM;
	cr->reader = snapshot_reader_new(cr->run_dir);
	if (cr->reader == NULL || cr_take_image(cr, NULL) < 0)
		return -ENOMEM;
	attached_add(cr); /* before there is anything of which a child must let go */
	cr_refresh(cr);
	return config->start_thread ? cr_start_thread(cr) : 0;
}

int cr_attach(const struct cr_config *config, struct cr **out, char *err, size_t err_len)
{
	struct cr *cr = calloc(1, sizeof *cr);
	int failed = -ENOMEM;

	*out = NULL;
	if (cr != NULL)
		failed = cr_set_up(cr, config);
	if (failed < 0) {
		if (cr != NULL) {
			attached_remove(cr);
			cr_free(cr);
		}
		if (err != NULL)
			(void)snprintf(err, err_len, "cannot attach to callrouter: %s",
				       err_words(failed));
		return failed;
	}
	*out = cr;
	return 0;
}

void cr_detach(struct cr *cr)
{
	if (cr == NULL)
		return;
	attached_remove(cr);
	/* a child that never refreshed: slot, calls and thread are its parent's */
	if (atomic_load_explicit(&cr->page->is_own, memory_order_relaxed) == 0)
		cr_leave_parent(cr);
	cr_stop_thread(cr);
	cr_free(cr);
}

/*** Services and threads ***/

static int cr_find_name(const struct cr *cr, const char *name)
{
	for (size_t i = 0; i < cr->n_names; i++)
		if (strcmp(cr->name[i], name) == 0)
			return (int)i;
	return -ENOENT;
}

static int cr_add_name(struct cr *cr, const char *name)
{
	struct world *live = atomic_load_explicit(&cr->live, memory_order_acquire);

	if (cr->n_names == WORLD_NAMES_MAX)
		return -ENOSPC;
	cr->name[cr->n_names] = strdup(name);
	if (cr->name[cr->n_names] == NULL)
		return -ENOMEM;
	atomic_store_explicit(&live->by_name[cr->n_names], (int16_t)world_find(live, name),
			      memory_order_relaxed);
	return (int)cr->n_names++;
}

int cr_service(struct cr *cr, const char *name)
{
	int number;

	if (strlen(name) > TEXT_NAME_MAX)
		return -ENAMETOOLONG;
	/* the live world cannot be replaced, and so not freed, while the names are locked */
	pthread_mutex_lock(&cr->names_lock);
	number = cr_find_name(cr, name);
	if (number < 0)
		number = cr_add_name(cr, name);
	pthread_mutex_unlock(&cr->names_lock);
	return number;
}

static struct cr_thread *cr_thread_reuse(struct cr *cr)
{
	struct cr_thread *t = atomic_load_explicit(&cr->threads, memory_order_acquire);

	for (; t != NULL; t = t->next) {
		bool expected = false;

		if (atomic_compare_exchange_strong_explicit(&t->is_used, &expected, true,
							    memory_order_acquire,
							    memory_order_relaxed))
			return t;
	}
	return NULL;
}

static void cr_thread_link(struct cr *cr, struct cr_thread *thread)
{
	/* acquire, here and on failure: pairs with the exchange below, first's number is read */
	struct cr_thread *first = atomic_load_explicit(&cr->threads, memory_order_acquire);

	do {
		thread->next = first;
		thread->number = first != NULL ? first->number + 1 : 0;
		/* seq_cst, pairs with world_is_entered(): before its thread enters a world, it is
		 * in the list */
	} while (!atomic_compare_exchange_weak_explicit(
		&cr->threads, &first, thread, memory_order_seq_cst, memory_order_acquire));
}

struct cr_thread *cr_thread_new(struct cr *cr)
{
	struct cr_thread *thread = cr_thread_reuse(cr);

	if (thread != NULL)
		return thread;
	thread = aligned_alloc(64, sizeof *thread);
	if (thread == NULL)
		return NULL;
	*thread = (struct cr_thread){ .cr = cr };
	thread->order = calloc(CR_NONE, sizeof *thread->order);
	thread->seen = calloc(CR_NONE, sizeof *thread->seen);
	if (thread->order == NULL || thread->seen == NULL || look_init(&thread->look) < 0 ||
	    getrandom(&thread->draw, sizeof thread->draw, 0) < 0) {
		free(thread->order);
		free(thread->seen);
		look_fini(&thread->look);
		free(thread);
		return NULL;
	}
	atomic_init(&thread->is_used, true);
	cr_thread_link(cr, thread);
	return thread;
}

void cr_thread_free(struct cr_thread *thread)
{
	if (thread != NULL)
		atomic_store_explicit(&thread->is_used, false, memory_order_release);
}

const char *cr_reason_words(enum cr_reason reason)
{
	return words_reason(reason);
}

const char *cr_decided_words(enum cr_decided decided)
{
	return words_decided(decided);
}

const char *cr_version(void)
{
	return CALLROUTER_VERSION;
}
