/*
 * servers.h - what is known of every server: its metrics with their times, its operator's wishes,
 * its polls. Collector threads put, the main thread reads; one mutex, never held across anything
 * slow.
 */
#ifndef CR_DAEMON_SERVERS_H
#define CR_DAEMON_SERVERS_H

#include <callrouter/plugin.h>

#include "config.h"
#include "err.h"

#define SERVERS_METRICS_MAX   64
#define SERVERS_REJECTERS_MAX 32         /* sources whose rejected values are counted one by one */
#define SERVERS_WEIGHT_UNSET  UINT32_MAX /* the operator's weight is taken back */

struct servers;

/** Why a value was not taken. */
enum servers_reject {
	SERVERS_NAN = 0,
	SERVERS_INFINITE,
	SERVERS_NEGATIVE,
	SERVERS_WRAPPED,
	SERVERS_FUTURE,
	/* only collectors see these */
	SERVERS_NOT_A_NUMBER,
	SERVERS_TOO_LARGE,
	SERVERS_ABOVE_ONE,
	SERVERS_MANY,
	SERVERS_TWICE,
	SERVERS_NO_TIME,
	SERVERS_OTHER, /* a word of the collector's own */
	SERVERS_REJECTS
};

/** "nan", "negative", ... [any] */
const char *servers_reject_word(enum servers_reject reject);

/** A copy of one server's state. */
struct servers_entry {
	char name[64], address[128];
	bool is_admin, is_skipped, is_drained;
	char skip_text[160];                   /* what the collector said */
	uint32_t weight;                       /* the operator's if set, else the configuration's */
	bool weight_is_set;                    /* by the operator */
	double value[SERVERS_METRICS_MAX];     /* NaN: never measured; derived ones included */
	int64_t taken_ns[SERVERS_METRICS_MAX]; /* 0: never */
	const char *how[SERVERS_METRICS_MAX];  /* "max - used"; NULL: it was measured */
	unsigned contradictions; /* DERIVE_ bits of figures that cannot be true together */
	uint64_t rejected[SERVERS_REJECTS];
	uint64_t polls, failures; /* of all sources */
	/* Of the source that has failed for longest, "source: why: text"; "": none fails. */
	char error[160];
	int64_t good_ns; /* when a poll was last good; 0: never */
};

/**
 * state_dir: where drains and weights set by the operator are kept (operator.json; a torn or broken
 * file is reported, kept aside as operator.json.bad and started afresh). NULL: kept nowhere.
 * Returns NULL only without memory or descriptors. [main]
 */
struct servers *servers_new(const char *state_dir);
void servers_free(struct servers *servers);

/**
 * Take over the servers of a configuration; those that stay keep all that is known of them (but the
 * maximum of the heap, where heap_max is another one), a new address or role starts afresh. On a
 * reload poller_apply() comes first: it can fail, and after it no value of an old address arrives.
 * Returns 0, or -ENOMEM with nothing changed. [main]
 */
int servers_configure(struct servers *servers, const struct config *config, struct err *err);

/** A descriptor (eventfd, non-blocking) that becomes readable once when something was put or a
 * server skipped; servers_clear() makes it ready for the next batch. [main] */
int servers_fd(const struct servers *servers);

/** What was put is going to be read: servers_fd() becomes readable again with the next put. Until
 * then thousands of puts are one event. [main] */
void servers_clear(struct servers *servers);

/** Index of a metric by name, made if new (those of the heap are always there, those of the threads
 * once one of them is asked for: derive.h); -ENOSPC past SERVERS_METRICS_MAX, -EINVAL for a bad
 * name, -ENOMEM. [any] */
int servers_metric(struct servers *servers, const char *name);
size_t servers_metric_count(struct servers *servers);
const char *servers_metric_name(struct servers *servers,
				size_t metric); /* lives as long as servers */

/**
 * A value arrived. Rejected and counted: NaN, infinite, negative, exactly 2^32 - 1 bytes (a 32-bit
 * agent's limit), a time over 1 s ahead. taken_ns 0: now, and so is a time ahead by less. A value
 * older than the one that is known changes nothing. Returns 0, -ENOENT (no such managed server, or
 * it is skipped), -EINVAL (rejected, or no such metric), -ENOMEM. [any]
 */
int servers_put(struct servers *servers, const char *server, int metric, double value,
		int64_t taken_ns);

/** The same for a value of this source: what is not taken is counted for it, too. [any] */
int servers_put_from(struct servers *servers, const char *source, const char *server, int metric,
		     double value, int64_t taken_ns);

/**
 * A source has not passed on a value that cannot be true: count it. word: as
 * servers_reject_word(), any other is SERVERS_OTHER; text: one line, or NULL. Returns 0 or -ENOENT
 * or -EINVAL as servers_put(). [any]
 */
int servers_reject(struct servers *servers, const char *source, const char *name, int metric,
		   const char *word, const char *text);

/** A poll of a source ended: error NULL: well; else "source: why: text". [any] */
void servers_polled(struct servers *servers, const char *source, const char *server,
		    const char *error);

/**
 * A collector found an administration server there: it gets no calls, and is polled no more. After
 * a reload it is polled again, and stays skipped until a poll ends well without a skip, once every
 * source has had the time for one and none fails; or until its address changes. [any]
 */
void servers_skip(struct servers *servers, const char *server, const char *text);

/** A daemon before us had it skipped: as after a reload, unless it is skipped already. [main] */
void servers_suspect(struct servers *servers, const char *server, const char *text);

/** Is it skipped for sure, or an admin server? Then nobody polls it. [any] */
bool servers_is_skipped(struct servers *servers, const char *server);

/** The operator's wishes, kept across restarts, and while a server is not in the configuration.
 * weight: 0 .. 100, or SERVERS_WEIGHT_UNSET: the configuration's again. Return 0, or < 0 with err:
 * -ENOENT, -EINVAL (an admin server), -ERANGE, not written (then not done). [main] */
int servers_drain(struct servers *servers, const char *server, bool drained, struct err *err);
int servers_weight(struct servers *servers, const char *server, uint32_t weight, struct err *err);

/** What an image says of a server. */
struct servers_brief {
	const char *name, *address;
	bool is_drained, is_skipped;
	bool max_is_assumed;     /* the maximum of its heap is the configuration's */
	uint32_t weight;         /* the operator's if set, else the configuration's */
	size_t n;                /* of value and taken_ns: as many metrics as there are */
	const double *value;     /* as in struct servers_entry */
	const int64_t *taken_ns; /* as in struct servers_entry */
};

typedef void servers_scan_fn(void *arg, size_t index, const struct servers_brief *brief);

/**
 * Show fn the servers that have changed after since (0: all of them), in the configuration's order,
 * with the first n_metrics metrics; brief until it returns. fn is called under the lock: it is
 * quick, and calls nothing from here. Returns what to give as since for what changes from now on,
 * as long as the configuration stays. [main]
 */
uint64_t servers_scan(struct servers *servers, size_t n_metrics, uint64_t since,
		      servers_scan_fn *fn, void *arg);

/**
 * Copy one server's state, derived metrics filled in (derive.h).
 * Returns false if index is out of range. [main]
 */
bool servers_get(struct servers *servers, size_t index, struct servers_entry *out);

/** What a source has put about a server and was not taken. */
struct servers_rejected {
	char source[64]; /* "": not a source's */
	uint64_t count[SERVERS_REJECTS];
	char text[128]; /* about the last one */
	int64_t at_ns;  /* and its time */
};

/** Copy the k-th source's rejected values of a server. Returns false if an index is out of range.
 * [main] */
bool servers_get_rejected(struct servers *servers, size_t index, size_t k,
			  struct servers_rejected *out);

/** A source whose last poll of a server failed. */
struct servers_failing {
	char source[64];
	char text[160];   /* of the last poll, "source: why: text" */
	int64_t since_ns; /* when the first of these polls in a row ended */
};

/** Copy what the k-th failing source of a server said; those that have failed for longest come
 * first. Returns false if an index is out of range. [main] */
bool servers_get_failing(struct servers *servers, size_t index, size_t k,
			 struct servers_failing *out);

#endif
