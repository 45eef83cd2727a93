/*
 * collector_host.h - plays callrouterd's part for one instance of a collector: opens it with
 * settings, gives it targets, visits it as the daemon would, and notes what it says.
 *
 *	host = collector_host_load("plugins.d/snmp.so", "wls", settings, err, sizeof err);
 *	ms1 = collector_host_add(host, "ms1", "udp:127.0.0.1:16161", false);
 *	collector_host_poll(host, 500 * CH_MS, 2000 * CH_MS);
 *	cr_assert_eq(collector_host_last(host, ms1)->state, COLLECTOR_GOOD);
 *	cr_assert_float_eq(collector_host_value(host, "ms1", NULL, "jvm_heap_free_bytes"), 42, 0);
 *	collector_host_close(host);
 *
 * One thread at a time. Nothing here waits longer than its limit.
 */
#ifndef CR_TESTS_COLLECTOR_HOST_H
#define CR_TESTS_COLLECTOR_HOST_H

#include <callrouter/plugin.h>

#define CH_MS INT64_C(1000000)

struct collector_host;

/** One put() or reject() of a collector. */
struct collector_value {
	char target[64];
	bool has_row; /* false: the collector gave no row */
	char row[64]; /* "" without one */
	char metric[64];
	double value;
	int64_t taken_ns; /* as put: 0 says "now" */
	char reject[32];  /* the word; value is NaN then */
	char text[192];   /* and the line with it */
};

enum collector_state {
	COLLECTOR_IDLE = 0, /* never polled */
	COLLECTOR_RUNNING,
	COLLECTOR_GOOD,   /* done() */
	COLLECTOR_FAILED, /* fail() */
};

/** How the last poll of a target went. */
struct collector_poll {
	enum collector_state state;
	enum cr_why why;    /* where it failed */
	char text[320];     /* and the words for the operator */
	int64_t took_ns;    /* from its start to its end */
	unsigned int skips; /* skip() calls since the start */
	char skip_row[64];  /* of the last one; "" without a row */
	char skip_text[320];
	unsigned int absents; /* likewise of absent() */
	char absent_row[64];
	char absent_text[320];
};

/**
 * Open an instance of collector, or of the one in the shared object at path. source: as in the
 * configuration; settings: "name=value" texts, NULL-terminated, checked against the collector's
 * table; err: one line on failure. Returns NULL on failure. Freed by collector_host_close().
 */
struct collector_host *collector_host_open(const struct cr_collector *collector, const char *source,
					   const char *const *settings, char *err, size_t err_len);
struct collector_host *collector_host_load(const char *path, const char *source,
					   const char *const *settings, char *err, size_t err_len);

/** forget() for all targets, then close(). NULL: no effect. */
void collector_host_close(struct collector_host *host);

/** Add a target; returns its index. Texts are copied. */
int collector_host_add(struct collector_host *host, const char *name, const char *endpoint,
		       bool is_shared);

/** The target has these variables, which stay the caller's as long as the host is open. */
void collector_host_vars(struct collector_host *host, int target, const struct cr_var *var,
			 size_t n);

/** What the collector's check() says of such a target; err: its line, or "". */
int collector_host_check(const struct collector_host *host, const char *endpoint, char *err,
			 size_t err_len);

/** The target is gone for good: forget(). Its index is not used again. */
void collector_host_forget(struct collector_host *host, int target);

/** The target has become due: it is part of the next visit, with a deadline timeout_ns from then.
 */
void collector_host_start(struct collector_host *host, int target, int64_t timeout_ns);

/**
 * Visit the collector when targets are due, its descriptor is readable or its own time has come,
 * until no poll is under way or limit_ns has passed. Returns how many polls are still under way.
 */
size_t collector_host_run(struct collector_host *host, int64_t limit_ns);

/** Forget the values put so far, start all targets, and run. Returns as collector_host_run(). */
size_t collector_host_poll(struct collector_host *host, int64_t timeout_ns, int64_t limit_ns);

/** From now on all hosts of this program tell the time as if so much more had passed. */
void collector_host_pass(int64_t ns);

/** How the last poll of a target went; lives until the host is closed. */
const struct collector_poll *collector_host_last(const struct collector_host *host, int target);

/** The newest value put for a target and row (NULL: without one), or NaN. */
double collector_host_value(const struct collector_host *host, const char *target, const char *row,
			    const char *metric);

/** All values since the last collector_host_poll() or collector_host_clear(), in order. */
const struct collector_value *collector_host_values(const struct collector_host *host, size_t *n);
void collector_host_clear(struct collector_host *host);

/**
 * The first breach of the contract, in words, or NULL: a second end of one poll, a value for a
 * target that is not being polled, a value without a row for a shared target, an unknown metric.
 */
const char *collector_host_fault(const struct collector_host *host);

/** How often collect() was called, and the longest that one call took. */
unsigned long collector_host_visits(const struct collector_host *host);
int64_t collector_host_longest_ns(const struct collector_host *host);

/** The newest log line whose text holds this, or NULL. */
const char *collector_host_logged(const struct collector_host *host, const char *text);

#endif
