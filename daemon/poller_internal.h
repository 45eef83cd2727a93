/*
 * poller_internal.h - sources at work, and the threads that run them. Main builds a source, hands
 * it over to the thread of its plugin and from then on only reads what never changes.
 */
#ifndef CR_DAEMON_POLLER_INTERNAL_H
#define CR_DAEMON_POLLER_INTERNAL_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "clock.h"
#include "option.h"
#include "poller.h"

#define POLLER_GRACE_NS      (1 * CLOCK_S)  /* past the deadline: then we fail the target */
#define POLLER_PATIENCE_NS   (5 * CLOCK_S)  /* with a collector that does not return */
#define POLLER_PAUSE_NS      (30 * CLOCK_S) /* the longest pause of a failing target */
#define POLLER_FAILURES      3              /* in a row, then the pauses grow */
#define POLLER_SOON_NS       (1 * CLOCK_S)  /* in which all that may work now are tried */
#define POLLER_SLICE_NS      (10 * CLOCK_S)
#define POLLER_SLICES        6
#define POLLER_LINES         20 /* of one kind that a source's targets may write in a minute */
#define POLLER_DROPPED_NAMED 64 /* rows of a source that are logged */

/** A target with its schedule. [own] but for what target says of names. */
struct target {
	struct cr_target target; /* first: what the collector sees */
	char *name, *endpoint;   /* target's own, ours to free */
	struct cr_var *vars;     /* likewise */
	uint64_t seed, round;
	unsigned failures; /* in a row */
	bool is_under_way, was_started;
	bool is_told;               /* the log knows that it fails */
	int64_t base_ns;            /* the last round's place in the grid */
	int64_t slot_ns;            /* the next round's place in the grid */
	int64_t due_ns, started_ns; /* CLOCK_MONOTONIC */
	int64_t wake_ns;            /* when something is to be done about it */
	size_t place;               /* in the heap */
};

/** A server of a source. */
struct source_server {
	char *name;
	bool is_covered; /* by the shared target; once retired: and by the successor's */
	uint64_t seen;   /* the shared poll in which it last had a row */
	uint64_t told;   /* the one in which the collector last said why it had none that counts */
};

/** Targets by wake_ns, the earliest first. */
struct target_heap {
	struct target **at;
	size_t n;
};

/** Lines of one kind about a source's targets: the first ones of a minute are written, the others
 * counted. Zeroed at first. */
struct poller_lines {
	size_t written, others;
	int64_t since_ns; /* the first one of this minute */
	int64_t tell_ns;  /* when to tell of the others */
};

/** The slowest good polls, by tens of seconds. */
struct poller_worst {
	int64_t slice[POLLER_SLICES]; /* which ten seconds */
	int64_t latency_ns[POLLER_SLICES];
};

/** A source's figures; those of a changed source go on with its successor. Under the poller's lock.
 */
struct figures {
	unsigned users;
	struct poller_source now; /* but for name, plugin, interval_ns, targets, worst_ns */
	struct poller_worst worst;
};

/** A source at work: one instance of a collector and its targets. */
struct source {
	struct cr_host host; /* first: what the collector calls */
	struct poller *poller;
	/* Never changed. */
	char *name, *plugin, *packed;
	int64_t interval_ns, timeout_ns;
	struct cr_collector table; /* a copy: the plugin may be replaced meanwhile */
	struct source_server *server;
	size_t n_servers; /* sorted by name */
	struct target **target;
	size_t n_targets;        /* sorted by name */
	char *unpacked;          /* the options' texts */
	union cr_value *value;   /* and values */
	uint64_t files;          /* changes with the files that options name */
	struct figures *figures; /* set before it is handed over */
	bool is_fresh;           /* [main] not handed over yet */
	/* [own] */
	struct source *next;
	void *self;
	bool is_open, is_running, is_listed, is_retiring, is_readable, is_failing, was_rowless;
	int fd;                /* -1: none */
	int64_t next_ns;       /* when collect() wants to be called */
	int64_t rest_until_ns; /* after an error: fd is not looked at before */
	size_t n_under_way;
	uint64_t shared_poll; /* counts polls of the shared target */
	struct target_heap heap;
	struct cr_target **due; /* room for all targets */
	uint64_t dropped[POLLER_DROPPED_NAMED];
	size_t n_dropped; /* rows logged as not configured */
	size_t n_told;    /* targets that the log knows to fail */
	struct poller_lines fails, answers;
	struct poller_lines warnings, remarks; /* of the collector itself */
};

/** What main asks a thread to do. */
enum poller_order {
	POLLER_OPEN = 1, /* open these sources, all or none */
	POLLER_DROP,     /* close and free these opened sources */
	POLLER_COMMIT,   /* run these sources and no others */
	POLLER_QUIT,     /* close all and end */
};

/** An order; under the poller's lock while in a queue. */
struct poller_command {
	struct poller_command *next;
	enum poller_order order;
	bool is_done;
	bool is_orphan; /* nobody waits: the thread frees it, and what it opened for it */
	struct err err;
	size_t n;
	struct source *source[];
};

/** The thread of one plugin. */
struct poll_thread {
	struct poll_thread *next; /* [main] */
	struct poller *poller;
	char plugin[32];
	pthread_t id;
	int wake_fd;
	struct poller_command *order;        /* [main] of the change under way */
	bool is_ending;                      /* [main] QUIT was sent */
	bool has_ended;                      /* under the lock */
	struct poller_command *first, *last; /* under the lock */
	_Atomic int64_t entered_ns;          /* when the collector was entered; 0: it is not */
	/* [own] */
	struct source *source;
	struct pollfd *pollfd;
	size_t n_pollfd;
};

/** All of it. */
struct poller {
	struct servers *servers;
	pthread_mutex_t lock; /* figures, queues */
	pthread_cond_t answered;
	atomic_bool is_abandoned; /* freed, but for a thread that does not return */
	int64_t patience_ns;      /* POLLER_PATIENCE_NS; tests have less */
	struct poll_thread *thread;
	struct source **source;
	size_t n; /* in the configuration's order */
};

/** Is this a thread that was left behind? Then servers may be gone. Pairs with the release in
 * poller_free(). [own] */
static inline bool poller_is_abandoned(const struct poller *poller)
{
	return atomic_load_explicit(&poller->is_abandoned, memory_order_acquire);
}

/*** poller_schedule.c: arithmetic [any] ***/

/** Where all of a target's pseudo-random choices come from. */
uint64_t poller_schedule_seed(const char *source, const char *target);

/** When in its first interval a target starts: 0 .. interval_ns - 1, even over seeds. */
int64_t poller_schedule_phase(uint64_t seed, int64_t interval_ns);

/**
 * The interval after so many failures in a row: doubled from the third on, up to eight intervals
 * or 30 s, whichever is less, and never less than the interval itself.
 */
int64_t poller_schedule_interval(int64_t interval_ns, unsigned failures);

/**
 * How far a round starts from its place in the target's grid: a fortieth of the interval more or
 * less, so that two starts are 0.95 to 1.05 intervals apart; a target keeps the same places for
 * ever, and so as many rounds as its interval says.
 */
int64_t poller_schedule_jitter(uint64_t seed, uint64_t round, int64_t interval_ns);

/** Set when the target is due next, from base_ns and its failures. Times that are past are left
 * out, in steps of the interval: after the thread was held up targets are spread as before. */
void poller_schedule_next(struct target *target, int64_t interval_ns, int64_t now_ns);

/**
 * Targets are started in batches, so that thousands do not wake the thread one by one: the time of
 * the batch to which at_ns belongs. Batches are a 512th of the interval apart, but 1 to 4 ms.
 */
int64_t poller_schedule_batch(int64_t at_ns, int64_t interval_ns);

/** Add a target; there is room. */
void poller_schedule_push(struct target_heap *heap, struct target *target);

/** Recompute target's wake_ns and put it in its place. */
void poller_schedule_place(struct target_heap *heap, struct target *target);

/*** poller_source.c: making and freeing sources ***/

/** A source as configured, for this plugin; not opened. Returns NULL with err. [main] */
struct source *poller_source_new(struct poller *poller, const struct config *config,
				 const struct config_source *from, const struct plugin *plugin,
				 struct err *err);

/** The same source for another version of its plugin. Returns NULL with err. [main] */
struct source *poller_source_renew(const struct source *old, const struct plugin *plugin,
				   struct err *err);

/** Do both ask in the same way: with the same code, options, secrets and timeout? [main] [own] */
bool poller_source_asks_alike(const struct source *source, const struct source *old);

/** Would old do exactly what source does? [main] */
bool poller_source_is_same(const struct source *source, const struct source *old);

/** Is the same asked of the same? What never changes of a target is looked at. [main] [own] */
bool poller_source_is_same_target(const struct target *a, const struct target *b);

/** Free a source that is not open. [main] [own] */
void poller_source_free(struct source *source);

/** The server of this name, or NULL. [own] */
struct source_server *poller_source_server(const struct source *source, const char *name);

/** The target of this name, or NULL. [own] */
struct target *poller_source_target(const struct source *source, const char *name, bool is_shared);

/*** poller_round.c: running a source [own] ***/

/** Open its instance. Returns 0 or < 0 with err. */
int poller_round_open(struct poll_thread *thread, struct source *source, struct err *err);

/** Forget its targets, close its instance, free it. */
void poller_round_close(struct poll_thread *thread, struct source *source);

/** First starts, spread; or in the place of old (NULL: none), whose equal targets keep their
 * times. But a target that fails is tried at once (thousands within a second) if it is asked in
 * another way now, or is at another place. */
void poller_round_start(struct source *source, const struct source *old, int64_t now_ns);

/** No new polls; polls of targets that successor does not have, or tries at once, are given up, and
 * servers that it does not cover hear no more of this source. Once more for each later successor.
 */
void poller_round_retire(struct source *source, const struct source *successor);

/** Start what is due, fail what is overdue, let the collector work. Returns when to come again. */
int64_t poller_round_visit(struct poll_thread *thread, struct source *source, int64_t now_ns);

/*** poller_log.c: targets that fail, and answer again; what collectors say [own] ***/

/** May one more line be written now? If not, it is counted. */
bool poller_log_take(struct poller_lines *lines, int64_t now_ns);

/** How many lines were left out, each time it is due to be told; else 0. */
size_t poller_log_others(struct poller_lines *lines, int64_t now_ns);

/** A line when a target begins to be polled less often, and when it is back; text: what is wrong.
 */
void poller_log_change(struct source *source, struct target *target, unsigned before,
		       const char *text);

/** A line of the collector's own: so many a minute of warnings, and of all else but debugging. */
void poller_log_say(struct source *source, enum cr_level level, const char *text);

/** Tell of those that were left out, if it is due. Returns when to come again. */
int64_t poller_log_visit(struct source *source, int64_t now_ns);

/** Tell of them now: there will be no more visits. */
void poller_log_end(struct source *source);

/*** poller_callbacks.c: what a collector reports [own] ***/

/** One visit, as the callbacks find it. */
struct visit {
	struct cr_round round; /* first: what the collector sees */
	struct source *source;
};

/** Fill in the callbacks. */
void poller_callbacks_set(struct cr_round *round);

/** A poll is over: why 0: good. */
void poller_callbacks_end(struct source *source, struct target *target, int why, const char *text);

/*** poller_thread.c ***/

/** Start the thread of a plugin. Returns NULL with err. [main] */
struct poll_thread *poller_thread_start(struct poller *poller, const char *plugin, struct err *err);

/** Put command in the thread's queue. [main] */
void poller_thread_post(struct poll_thread *thread, struct poller_command *command);

/** Wait for the thread's end at most until until_ns, and free it. Returns false if it goes on.
 * [main] */
bool poller_thread_join(struct poll_thread *thread, int64_t until_ns);

/** Wait under the lock for something to change. Returns false at until_ns. [main] */
bool poller_thread_wait(struct poller *poller, int64_t until_ns);

#endif
