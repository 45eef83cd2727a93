/*
 * ranker.h - a process in which one router instance lives: opened, tried, asked to rank. A router
 * that crashes or loops ends its ranker, never the daemon. The daemon's side; the child's is
 * ranker_main().
 */
#ifndef CR_DAEMON_RANKER_H
#define CR_DAEMON_RANKER_H

#include <event2/event.h>

#include "err.h"
#include "image.h"
#include "plugin.h"
#include "target_list.h"

#define RANKER_SAVED_MAX   (64u << 10)
#define RANKER_DEADLINE_NS (500 * INT64_C(1000000))  /* of one rank() */
#define RANKER_LOOPING_NS  (2000 * INT64_C(1000000)) /* then it is taken for looping, and killed */
#define RANKER_TRIAL_NS    (2000 * INT64_C(1000000)) /* of a whole trial */

/** What a plugin file says of itself, learnt in a child process. */
struct ranker_facts {
	enum plugin_kind kind;
	char name[32], version[32], summary[128];
	uint32_t flags; /* IMAGE_HAS_RANK, IMAGE_HAS_ROUTE */
	uint32_t state_tag, shared_words, n_columns;
	char **needs, **wants, **columns; /* NULL-terminated */
	struct cr_option *options;        /* NULL: none; a copy, with its strings */
};

/** Load path in a child and learn what it is; waits at most 2 s. Returns 0 with *out, or < 0 with a
 * sentence. [main] */
int ranker_describe(const char *path, const char *name, struct ranker_facts **out, struct err *err);
void ranker_facts_free(struct ranker_facts *facts);

struct ranker;

/** What a ranker has to load. Borrowed for ranker_start(). */
struct ranker_load {
	const char *path, *plugin, *service, *options; /* options packed */
	const char *run_dir;                           /* for the counters */
	const void *saved;
	size_t saved_len;
};

/**
 * Load it and call open() in a child, outside the event loop; is_trial: for a router also rank()
 * and route() on made-up views. Waits at most 2 s for each. Returns 0 or < 0 with a sentence;
 * *lines (NULL: nobody wants them) is what a collector's open() wrote, a line for each wrong
 * option, to be freed, or NULL. [main]
 */
int ranker_check(const struct ranker_load *load, bool is_trial, char **lines, struct err *err);

/**
 * Load a collector in a child, open it and have its check() judge targets; all are good if it has
 * none. Waits as long as the list says. Returns 0 (targets->bad has been told of the bad ones, in
 * their order), or < 0 with a sentence: nobody can tell. [main]
 */
int ranker_check_targets(const struct ranker_load *load, const struct target_list *targets,
			 struct err *err);

enum ranker_event {
	RANKER_TRIED = 1, /* trial passed */
	RANKER_RANKED,    /* an answer is there */
	RANKER_LATE,      /* past RANKER_DEADLINE_NS; the answer may still come */
	RANKER_DEAD,      /* trial failed (err: its words), crashed or looped (-ECHILD, -ETIMEDOUT),
			     broke its connection (-EPROTO), killed from outside (-EINTR), or not running
			     at all (-ETIME). The ranker      is to be freed */
};

typedef void ranker_fn(void *arg, struct ranker *ranker, enum ranker_event event,
		       const struct err *err);

/** An answer to RANKER_RANKED, in memory of the ranker's until the next request. */
struct ranker_answer {
	uint64_t generation; /* of the image that was ranked */
	int32_t verdict;     /* what rank() returned, or negative errno */
	uint32_t n;          /* entries in order, the router's own */
	uint32_t n_rows, n_columns;
	const uint16_t *order;
	const double *column; /* [n_columns][n_rows] */
};

/** Start one; fn is called from the event loop. NULL with err if no process could be made. [main]
 */
struct ranker *ranker_start(struct event_base *base, const struct ranker_load *load, ranker_fn *fn,
			    void *arg, struct err *err);

/** Kill and free. No event follows. [main] */
void ranker_free(struct ranker *ranker);

/** Try open(), rank() and route() on made-up views and on this image (NULL: only made-up). Ends
 * with TRIED or DEAD. [main] */
void ranker_try(struct ranker *ranker, const struct image_header *image, uint32_t instance);

/** Ask for a ranking of image's instance. Ends with RANKED or DEAD, LATE may come between. One at a
 * time. [main] */
void ranker_rank(struct ranker *ranker, const struct image_header *image, uint32_t instance);
bool ranker_is_busy(const struct ranker *ranker);
const struct ranker_answer *ranker_answer(const struct ranker *ranker);

/** What save() wrote after the latest rank(); len 0: nothing. Valid until the next request. [main]
 */
const void *ranker_saved(const struct ranker *ranker, size_t *len);

/** The child: callrouterd calls this at once when it was started as a ranker. Returns the exit
 * status. */
int ranker_main(int argc, char **argv);
bool ranker_is_me(int argc, char **argv);

#endif
