/*
 * callrouter/plugin.h - the whole contract between callrouter and its plugins.
 *
 * A plugin is one shared object NAME.so that defines cr_router_1 or cr_collector_1; its .name is
 * NAME.
 *
 * Threads      [rank]  the ranker: one thread, one call at a time, in a process of its own
 *              [call]  any number of threads at once; no blocking, allocating, locking or logging
 *              [view]  in a data plane, off the call path: one thread at a time, while calls of
 *                      the same instance are in route()
 *              [own]   the collector plugin's own thread, shared by all instances of that plugin
 *              [any]   any thread, at any time between open() and close()
 * Memory       nothing allocated on one side is freed on the other; a pointer handed to a
 *              function is borrowed until that function returns, unless its comment says longer
 * Numbers      names carry the unit: _bytes, _seconds, _ratio, _ns; NaN means "nobody knows"
 * Results      >= 0 success, < 0 a negative errno value
 * Growth       within ABI 1 structures only grow at the end (arrays hold pointers to them), and a
 *              host never loads a plugin newer than itself: what this header declares is there.
 *              1.1 added prepare() and release() of routers, and view->prepared;
 *              1.2 added reject() of rounds;
 *              1.3 added check() of collectors, the variables of targets, absent() of rounds
 */
#ifndef CALLROUTER_PLUGIN_H
#define CALLROUTER_PLUGIN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CR_ABI_MAJOR 1u
#define CR_ABI_MINOR 3u
#define CR_ABI       ((CR_ABI_MAJOR << 16) | CR_ABI_MINOR)

#define CR_EXPORT            __attribute__((visibility("default")))
#define CR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define CR_NONE UINT16_MAX /* "no server", where an index is expected */

/* What rank() and route() may return besides the number of servers in order. */
#define CR_DEFAULT 0       /* getServerList()'s null: the default algorithm decides */
#define CR_REFUSE  INT_MIN /* nobody is to be contacted */

#define CR_COLUMNS_MAX      8   /* columns of a router */
#define CR_SHARED_WORDS_MAX 256 /* shared words of a router */

/** Bytes owned by the host; not NUL-terminated. */
struct cr_str {
	const char *ptr;
	size_t len;
};

/*** What a router sees ***/

enum cr_state { CR_UP = 1, CR_TRIAL, CR_ASIDE, CR_EJECTED, CR_DRAINED, CR_DOWN };

/** One server's live figures, shared by all processes. 64 bytes, frozen. Read with the functions
 * below. */
struct cr_live {
	uint32_t inflight;      /* calls in progress, all processes of this host */
	uint32_t peer_inflight; /* the same on other hosts, as last heard */
	int64_t inflight_bytes; /* sum of cost_bytes of those calls */
	int64_t peer_bytes;
	int64_t latency_ns;   /* decaying mean of finished calls */
	int64_t up_since_ns;  /* CLOCK_MONOTONIC; start of slow start */
	uint32_t failure_ppm; /* decaying share of failed calls, as of failure_ns */
	uint32_t state;       /* enum cr_state, as of its last change; order[] is what counts */
	uint64_t calls;       /* ever placed here */
	int64_t failure_ns;   /* CLOCK_MONOTONIC; when failure_ppm last changed */
};

/**
 * The managed servers of one service at one instant, the usable and the others: the rows stay where
 * they are within a generation, and order[] names the ones that may be contacted now. Private to
 * the process and immutable, but for live and shared. Arrays have n elements.
 */
struct cr_view {
	uint64_t generation;         /* one more with every published view */
	int64_t taken_ns;            /* CLOCK_MONOTONIC */
	size_t n;                    /* 1 .. CR_NONE - 1 */
	const char *const *name;     /* unique, NUL-terminated */
	const uint32_t *id;          /* the same server keeps its id */
	const uint32_t *weight;      /* 0 .. 100; 0: only calls that belong there */
	const double *const *metric; /* [k][i]: the k-th of needs[], wants[] at server i, or NaN */
	const int64_t *const *metric_taken_ns; /* [k][i]: when that was measured */
	const double *const *column;       /* [k][i]: the k-th of columns[], as rank() left it */
	const struct cr_live *const *live; /* [i] */
	uint64_t *shared; /* shared_words of this router, all processes (without a counters file:
			     this view's alone); NULL: it has none */
	uint32_t hosts;   /* data-plane hosts of the fleet, this one included; 0: unknown */
	const void *prepared; /* for route(): what prepare() made of this view; NULL: nothing, or
				 it failed. Since 1.1 */
};

struct cr_param {
	struct cr_str name, value;
};

/** One call to be routed. */
struct cr_call {
	int64_t now_ns;       /* CLOCK_MONOTONIC, as coarse as the host's own clock */
	uint64_t random;      /* fresh for this call: routers need no generator */
	struct cr_str method; /* "Account.withdraw", "GET /shop" */
	struct cr_str key;    /* what must stay together (session, client), or empty */
	struct cr_str client; /* address in text, or empty */
	int64_t cost_bytes;   /* heap the call is expected to hold; 0: unknown */
	const struct cr_param *const *param; /* [n_params] */
	size_t n_params;
	uint16_t primary, secondary; /* row where the session lives, or CR_NONE */
};

/** Calls in progress at row i, this host's and its peers'. [any] */
static inline uint32_t cr_inflight(const struct cr_view *v, size_t i)
{
	return __atomic_load_n(&v->live[i]->inflight, __ATOMIC_RELAXED) +
	       __atomic_load_n(&v->live[i]->peer_inflight, __ATOMIC_RELAXED);
}

/** Bytes that the calls in progress at row i are expected to hold. [any] */
static inline int64_t cr_inflight_bytes(const struct cr_view *v, size_t i)
{
	/* anybody may have written there: no sum overflows */
	return (int64_t)((uint64_t)__atomic_load_n(&v->live[i]->inflight_bytes, __ATOMIC_RELAXED) +
			 (uint64_t)__atomic_load_n(&v->live[i]->peer_bytes, __ATOMIC_RELAXED));
}

/**
 * value (below 2^44) times e^(-dt/10 s): how what was measured dt_ns ago fades. Rounded down,
 * within half a percent, the same bits on every processor. 0 after 200 s; dt_ns < 0: value. [any]
 */
static inline uint64_t cr_fade(uint64_t value, int64_t dt_ns)
{
	uint64_t halvings, part;

	if (dt_ns <= 0 || value == 0)
		return value;
	if (dt_ns >= INT64_C(200000000000))
		return 0;
	/* In 2^-16 of the time in which it halves, 10 s * ln 2 = 6931471806 ns; then
	 * 2^-x = 1 - x * (0.6735 - 0.1735 * x) for x below 1. */
	halvings = (((uint64_t)dt_ns >> 6) * 162435u) >> 28;
	part = halvings & 0xffff;
	part = 65536 - ((part * (44138 - ((part * 11370) >> 16))) >> 16);
	return ((value * part) >> 16) >> (halvings >> 16);
}

/**
 * What a value of then_ns is at now_ns. One of a little later is as it is: threads' times differ;
 * one of more than a day later is nobody's: 0. Any two times will do. [any]
 */
static inline uint64_t cr_fade_between(uint64_t value, int64_t then_ns, int64_t now_ns)
{
	uint64_t dt_ns;

	if (then_ns > now_ns)
		return (uint64_t)then_ns - (uint64_t)now_ns > 86400000000000u ? 0 : value;
	dt_ns = (uint64_t)now_ns - (uint64_t)then_ns;
	return cr_fade(value, dt_ns < INT64_MAX ? (int64_t)dt_ns : INT64_MAX);
}

/**
 * Decaying share of failed calls at row i, 0 .. 1: a tenth of the way with each result, and fading
 * by itself (10 s), so that a server that failed is tried again. now_ns: the call's, or
 * view->taken_ns in rank(). [any]
 */
static inline double cr_failure_ratio_at(const struct cr_view *v, size_t i, int64_t now_ns)
{
	const uint64_t ppm = __atomic_load_n(&v->live[i]->failure_ppm, __ATOMIC_RELAXED);

	if (ppm == 0)
		return 0;
	return (double)cr_fade_between(ppm << 10,
				       __atomic_load_n(&v->live[i]->failure_ns, __ATOMIC_RELAXED),
				       now_ns) *
	       (1e-6 / (1 << 10));
}

/** Adds to a shared word and returns what it was before. [any] */
static inline uint64_t cr_shared_add(const struct cr_view *v, size_t word, uint64_t add)
{
	return __atomic_fetch_add(&v->shared[word], add, __ATOMIC_RELAXED);
}

/*** Opening a plugin ***/

enum cr_level { CR_ERROR = 3, CR_WARN = 4, CR_INFO = 6, CR_DEBUG = 7 }; /* as in syslog */

enum cr_type { CR_BOOL = 1, CR_INT, CR_REAL, CR_TEXT, CR_BYTES, CR_DURATION, CR_RATIO, CR_CHOICE };

/** One setting a plugin accepts. Frozen for ABI 1. */
struct cr_option {
	const char *name; /* "min_free"; NULL ends the table */
	enum cr_type type;
	const char *preset;         /* default, as text; NULL: must be given */
	double min, max;            /* inclusive, in base units; both 0: unbounded */
	const char *const *choices; /* for CR_CHOICE, NULL-terminated */
	const char *help;           /* one line */
};

union cr_value {
	bool flag;
	int64_t num;      /* CR_INT, CR_BYTES in bytes, CR_DURATION in ns, CR_CHOICE as index */
	double real;      /* CR_REAL, CR_RATIO (1 % is 0.01) */
	const char *text; /* lives until close() */
};

/** Services of the host. Lives until close() returns. */
struct cr_host {
	/** One line for the log: event words first, then key=value. [rank] [view] [own] */
	void (*log)(const struct cr_host *host, enum cr_level level, const char *fmt, ...)
		CR_PRINTF(3, 4);
	/** The index under which put() takes the metric of this name; < 0: no such name. [own], in
	 * open() */
	int (*metric)(const struct cr_host *host, const char *name);
};

struct cr_open {
	const struct cr_host *host;
	const union cr_value *option; /* checked values, in the order of options[] */
	const char *source; /* collectors: the source's name in the configuration; routers: the
			       service's */
	const void *saved;  /* routers: what the predecessor's save() wrote, or NULL */
	size_t saved_len;
	char *err; /* "" at first; on failure: one line for the operator, or of a collector one for
		      each wrong option. A line that begins with an option's name is told where
		      that one was written */
	size_t err_len;
};

/*** Routers ***/

struct cr_router {
	uint32_t abi, size;            /* from CR_ROUTER_HEAD */
	const char *name;              /* [a-z0-9_]{1,31} */
	const char *version, *summary; /* free text, one line each */
	uint32_t state_tag; /* layout of save()'s bytes and of shared; another number: start cold */
	uint32_t shared_words; /* of view->shared, zeroed at first */
	const char *const
		*needs; /* metrics without a fresh value of which (anywhere) it is not asked */
	const char *const
		*wants; /* metrics it uses when they are there; needs[] first, then these */
	const char *const
		*columns; /* what rank() computes per server for route(), status and explain */
	const struct cr_option *options; /* or NULL */

	/** Make an instance, in the ranker and once in each data plane. NULL: there is no state. */
	int (*open)(const struct cr_open *in, void **self);

	/** Free it. No other call is running or will come. */
	void (*close)(void *self);

	/** For a successor in the ranker: write at most cap bytes, no pointers; returns how many.
	 * [rank] */
	size_t (*save)(const void *self, void *buf, size_t cap);

	/**
	 * Metrics have arrived, a server changed, or the tick has come: put the servers in order,
	 * best first, and fill column[k][i]. order holds the n usable rows on entry. May take its
	 * time (a deadline of 500 ms), may allocate. Returns how many entries count (the host
	 * appends the others), CR_DEFAULT or CR_REFUSE. [rank]
	 */
	int (*rank)(void *self, const struct cr_view *view, uint16_t *order, size_t n,
		    double *const *column);

	/**
	 * A call has arrived: adjust the order to it. order holds the n rows that this call may
	 * contact (not aside, ejected or down; slow start is the host's matter, too), in the
	 * published ranking's order (or by row without rank()). What outlives the call
	 * belongs in columns or shared words. Returns how many entries count (the others are not
	 * contacted), CR_DEFAULT or CR_REFUSE. [call]
	 */
	int (*route)(const void *self, const struct cr_view *view, const struct cr_call *call,
		     uint16_t *order, size_t n);

	/*** Since 1.1 ***/

	/**
	 * A data plane has a new view: work out for route() what is too slow for a call, such as a
	 * table of all servers. May allocate and take some milliseconds. previous: what the view
	 * before this one has, if it is still there, or NULL; calls are reading it. *out, NULL on
	 * entry, becomes view->prepared: previous itself if nothing that matters has changed, a new
	 * thing, or NULL. It holds no pointers into view, which ends before it. Returns >= 0; < 0:
	 * view->prepared is NULL, the data plane logs it, and route() is asked all the same. [view]
	 */
	int (*prepare)(const void *self, const struct cr_view *view, const void *previous,
		       const void **out);

	/** Free what prepare() made: no view has it any more. Once for each thing, before close().
	 * [view] */
	void (*release)(const void *self, void *prepared);
};

#define CR_ROUTER_HEAD(name_, version_, summary_)                                                  \
	.abi = CR_ABI, .size = sizeof(struct cr_router), .name = (name_), .version = (version_),   \
	.summary = (summary_)

/*** Collectors ***/

/** A variable of a server: "${rack}" in what is sent stands for the value of the one named "rack".
 * Values hold no control bytes. */
struct cr_var {
	const char *name, *value;
};

/** One thing to poll: a server, or an agent that answers for many. The host keeps it until done()
 * or fail(). */
struct cr_target {
	const char *name;     /* of the server, or of the source that answers for many */
	const char *endpoint; /* URL, udp:host:port, ... with its variables filled in */
	int64_t deadline_ns;  /* CLOCK_MONOTONIC: the poll has to be over by then */
	bool is_shared;       /* it answers for many servers: every value needs its row */
	void *user;           /* the collector's own, kept from poll to poll; NULL at first */

	/*** Since 1.3 ***/

	/* Of the variables that the source names in what it sends (path, query, headers, body,
	 * community_suffix, context), those that this server has; "${name}" is name above. None if
	 * is_shared. Unchanged as long as the target lives. */
	const struct cr_var *var; /* [n_vars] */
	size_t n_vars;
};

enum cr_why { CR_TIMEOUT = 1, CR_CONNECT, CR_AUTH, CR_REPLY, CR_ABSENT, CR_VALUE };

/** One visit of the host to a collector, with the targets that have become due. */
struct cr_round {
	int64_t now_ns; /* CLOCK_MONOTONIC */
	size_t n;       /* may be 0: then only what is under way wants attention */
	struct cr_target *const *target;
	/** A value; row: which server it is about (NULL: the target itself). taken_ns 0: now. */
	void (*put)(const struct cr_round *r, struct cr_target *t, const char *row, int metric,
		    double value, int64_t taken_ns);
	/** The target turned out to be an administration server: never a candidate. */
	void (*skip)(const struct cr_round *r, struct cr_target *t, const char *row,
		     const char *text);
	/** The poll of t is over and was good: all values have been put. */
	void (*done)(const struct cr_round *r, struct cr_target *t);
	/** The poll of t is over and failed; text: one line for the operator. */
	void (*fail)(const struct cr_round *r, struct cr_target *t, enum cr_why why,
		     const char *text);

	/*** Since 1.2 ***/

	/**
	 * In place of put(): the source said something that cannot be true. It is counted for the
	 * server and shown to the operator. word: nan, infinite, negative, wrapped, too_large,
	 * above_one, many, not_a_number, twice, no_time; others are counted together. text: one
	 * line about it, or NULL.
	 */
	void (*reject)(const struct cr_round *r, struct cr_target *t, const char *row, int metric,
		       const char *word, const char *text);

	/*** Since 1.3 ***/

	/**
	 * In place of put(), of a target that answers for many servers: it speaks of this one, but
	 * what it says does not count now (the server takes no calls, say). Its values age, and the
	 * operator is told text: one line.
	 */
	void (*absent)(const struct cr_round *r, struct cr_target *t, const char *row,
		       const char *text);
};

/**
 * A collector never waits: one instance a source, all instances of a plugin on one thread. A dead
 * target so costs nobody anything, and a library that knows no threads (net-snmp) is safe.
 */
struct cr_collector {
	uint32_t abi, size; /* from CR_COLLECTOR_HEAD */
	const char *name, *version, *summary;
	const struct cr_option *options; /* or NULL */

	/** Make an instance for one source. [own] */
	int (*open)(const struct cr_open *in, void **self);

	/** Free it. Polls under way are given up without done() or fail(); target->user is freed by
	 * forget(). [own] */
	void (*close)(void *self);

	/** A descriptor that is readable when something under way wants attention (an epoll one).
	 * NULL: none. [own] */
	int (*fd)(const void *self);

	/**
	 * Start the round's targets and move on what is under way. Each target ends with one done()
	 * or fail(), in this call or a later one. A collector without fd() may poll its targets
	 * right here, and holds up the other sources of its plugin meanwhile. Returns when it wants
	 * to be called again at the latest, CLOCK_MONOTONIC; INT64_MAX: not before the descriptor
	 * is readable or targets are due; < 0: an error, and the round's targets count as failed.
	 * [own]
	 */
	int64_t (*collect)(void *self, const struct cr_round *round);

	/** The target is gone for good: free target->user. NULL: nothing to free. [own] */
	void (*forget)(void *self, struct cr_target *target);

	/*** Since 1.3 ***/

	/**
	 * Can this instance poll such a target? Asked when a configuration is checked, in a process
	 * of its own, for thousands at a time: judge the form, and ask nobody, not even for the
	 * address of a name. Returns 0, or a negative errno with one line for the operator in err:
	 * what is wrong and what to write, without the target itself. NULL: any target will do
	 * until it is polled. [own]
	 */
	int (*check)(void *self, const char *target, char *err, size_t err_len);
};

#define CR_COLLECTOR_HEAD(name_, version_, summary_)                                               \
	.abi = CR_ABI, .size = sizeof(struct cr_collector), .name = (name_),                       \
	.version = (version_), .summary = (summary_)

/* The symbols a plugin defines: CR_ROUTER = { ... };  CR_COLLECTOR = { ... }; */
extern CR_EXPORT const struct cr_router cr_router_1;
extern CR_EXPORT const struct cr_collector cr_collector_1;
#define CR_ROUTER    CR_EXPORT const struct cr_router cr_router_1
#define CR_COLLECTOR CR_EXPORT const struct cr_collector cr_collector_1

#ifdef __cplusplus
}
#endif
#endif
