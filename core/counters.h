/*
 * counters.h - the file of figures that all processes of the host share: calls in progress per
 * server, decisions per service, and one slot per attached process with a ledger of what it holds.
 * [L2]
 *
 * Everybody who may write this file is trusted not to truncate it; what it says is still never used
 * as an index, an offset or a length. Totals can be read at any time; a dead process's share is
 * given back from its ledger by the daemon. Alive = holds the open-file-description lock on its
 * slot's byte: no pids are compared.
 */
#ifndef CR_CORE_COUNTERS_H
#define CR_CORE_COUNTERS_H

#include <stdatomic.h>
#include <sys/types.h>

#include <callrouter/plugin.h>
#include <callrouter/words.h>

#include "err.h"

#define COUNTERS_FILE     "counters.1"
#define COUNTERS_LINES    16384u /* servers, those of older generations included */
#define COUNTERS_SERVICES 256u
#define COUNTERS_SLOTS    1024u
#define COUNTERS_BANKS    4u /* of shared words, per service: router and default, two each */
#define COUNTERS_THREADS  128u
#define COUNTERS_LOADER                                                                            \
	(COUNTERS_THREADS - 1) /* the word of who loads plugins; the others: of callers */
#define COUNTERS_QUARANTINE 64u

/** One server's line. */
struct counters_line {
	union {
		struct cr_live live;
		/* What each call writes is one cache line: calls is live.calls, atomic. */
		struct {
			char figures[offsetof(struct cr_live, calls)];
			_Atomic uint64_t calls; /* ever reserved here */
		};
	};
	/* And what each call reads is another: only failures and health.c write it. */
	_Atomic uint64_t shut;     /* until when and why it gets no calls: see health.h; 0: open */
	_Atomic uint64_t failures; /* ever reported */
	_Atomic uint32_t
		incarnation; /* one more each time the line goes to another server; 0: never used */
	_Atomic uint32_t consecutive; /* failures in a row, while it is open */
	_Atomic uint32_t refusals;    /* times it was put aside in a row */
	uint32_t spare;
	_Atomic int64_t down_until_ns; /* an active check says so; the daemon writes it */
	uint64_t spare2[3];
	char name[64]; /* written by the daemon */
};

/** One service's line. */
struct counters_service {
	char name[64];
	_Atomic uint64_t decided[4]; /* by enum cr_decided */
	_Atomic uint64_t reason[32]; /* by enum cr_reason */
	uint64_t spare[4];
	uint64_t shared[COUNTERS_BANKS][CR_SHARED_WORDS_MAX]; /* the plugins', by __atomic */
};

/** One process's slot. */
struct counters_slot {
	_Atomic uint32_t state;      /* 0 free, 1 used */
	_Atomic uint32_t epoch;      /* one more at each claim */
	int32_t pid;                 /* for people only */
	_Atomic uint32_t is_leaving; /* it ends in good order: its death is nobody's fault */
	char program[32];
	int64_t attached_ns;
	_Atomic uint64_t prepared;       /* last prepare token dealt with */
	_Atomic int32_t prepared_result; /* 0 or negative errno: of that token */
	uint32_t spare2;
	_Atomic uint64_t generation; /* of the image in use */
	_Atomic uint64_t oldest;     /* oldest image generation still in use here */
	_Atomic uint64_t loaded_seq; /* newest plugin file loaded here */
	_Atomic int64_t loaded_ns;   /* and when */
	_Atomic uint64_t lacks;      /* key of an instance that could not be loaded here; 0: none */
	char error[160];             /* dlerror or the like: of prepared_result or lacks */
	uint64_t spare3[30];
};

/** What one process holds at one server. As in struct cr_live: only with the __atomic builtins. */
struct counters_hold {
	uint32_t inflight;
	uint32_t spare;
	int64_t bytes;
};

/** A process's private area: only allocated when a process claims the slot. */
struct counters_row {
	_Atomic uint64_t running[COUNTERS_THREADS]; /* plugin file's seq whose code runs in that
						       thread; 0: none */
	struct counters_hold hold[COUNTERS_LINES];
};

struct counters; /* a mapping of the file */

/*** Both sides ***/

/** Map an existing file. read_only: for looking on (no slot). Returns 0, -ENOENT, -ESTALE (other
 * boot), or < 0 with err. [any] */
int counters_open(const char *run_dir, bool read_only, struct counters **out, struct err *err);

/** Unmap. Gives up the slot, what is held there is given back. NULL is fine. [one thread] */
void counters_close(struct counters *c);

/** Was the file behind the mapping replaced or deleted? Makes system calls. [any] */
bool counters_is_replaced(const struct counters *c, const char *run_dir);

/**
 * Close the file's descriptors, the mapping stays: for who looks at lines only and lets foreign
 * code write into whatever is open. No slot can be claimed, or asked about, afterwards. [one
 * thread]
 */
void counters_close_files(struct counters *c);

/** Lines, by index; NULL if it is out of range. Valid until counters_close(). [any] */
struct counters_line *counters_line(const struct counters *c, uint32_t line);
struct counters_service *counters_service(const struct counters *c, uint32_t line);
struct counters_slot *counters_slot(const struct counters *c, uint32_t slot);

/**
 * A number that rises after any server of the file got into trouble: shut, down, or in slow start.
 * A cache line of its own. Valid until counters_close(). [any]
 */
_Atomic uint64_t *counters_trouble(const struct counters *c);

/** Is the process that claimed this slot alive? A system call. [any] */
bool counters_is_alive(const struct counters *c, uint32_t slot);

/*** Data planes ***/

/**
 * Claim a slot for this process. Returns its number, -EAGAIN (none free), -ENOSPC (no room for the
 * ledger): the process then routes uncounted. [one thread]
 */
int counters_claim(struct counters *c, const char *program);

/** The process ends without giving up its slot: whatever its threads are at, no plugin is to blame.
 * [any] */
void counters_leave(const struct counters *c);

/** Is the slot still this process's? No: its descriptors were closed, and the daemon took it for
 * dead. No system call. [any] */
bool counters_has_slot(const struct counters *c);

/** This process's row, or NULL without a slot; its slot number, or -1. [any] */
struct counters_row *counters_row(const struct counters *c);
int counters_slot_number(const struct counters *c);

/** Count a call in at a line, and out again. Saturating: never below 0. No system call. [call] */
void counters_hold_add(struct counters *c, uint32_t line, int64_t bytes);
void counters_hold_drop(struct counters *c, uint32_t line, int64_t bytes);

/** Was this plugin file found to crash data planes? [any] */
bool counters_is_quarantined(const struct counters *c, uint64_t seq);
void counters_quarantine(struct counters *c, uint64_t seq);

/** The newest file on the list; 0: it is empty. [any] */
uint64_t counters_quarantine_newest(const struct counters *c);

/** A number that changes whenever the list of quarantined files does. [any] */
uint64_t counters_quarantine_mark(const struct counters *c);

/**
 * A forked child: the slot is the parent's. Close the inherited descriptor, so that the parent's
 * death is noticed, and write nothing through this mapping any more; counters_close() then only
 * unmaps. [one thread]
 */
void counters_disown(struct counters *c);

/**
 * Look at slots whose process is dead and quarantine the plugin files in whose route() they died
 * (any process may do this; an attaching one does it before it loads a plugin). Returns how many
 * were found. [one thread]
 */
int counters_inquest(struct counters *c);

/*** The daemon ***/

/**
 * Make the file, or take over the one that is there if it is whole and of this boot: its figures go
 * on. gid: group that may write it, (gid_t)-1: leave. Returns 0 or < 0 with err. [daemon]
 */
int counters_create(const char *run_dir, gid_t gid, struct counters **out, struct err *err);

/** The line that a server or service of this name has, or -ENOENT. [daemon] */
int counters_find_line(const struct counters *c, const char *name);
int counters_find_service(const struct counters *c, const char *name);

/**
 * The line of a server or service name: the one it has, else one that was never used, else one that
 * no ledger refers to. keep: lines that may not be reused (bool [COUNTERS_LINES],
 * [COUNTERS_SERVICES]; NULL: for servers none, for services all). Returns it, -ENOSPC, or -EINVAL
 * or -ENAMETOOLONG for what cannot be a name. [daemon]
 */
int counters_line_of(struct counters *c, const char *name, const bool *keep);
int counters_service_of(struct counters *c, const char *name, const bool *keep);

#define COUNTERS_DEATH_SEQS 8

/** What happened to dead processes. */
struct counters_death {
	uint32_t slot;
	int32_t pid;
	char program[32];
	/* plugin files whose code was running, each once; 0: no more */
	uint64_t running_seq[COUNTERS_DEATH_SEQS];
	bool was_loading;    /* and that was while it loaded and opened it, not in route() */
	uint64_t loaded_seq; /* newest plugin file that it had loaded */
	int64_t loaded_ns;
	uint32_t inflight; /* calls given back */
};

/** Find dead processes, give back what they held, free their slots; each is reported. Returns how
 * many. [daemon] */
int counters_reap(struct counters *c, void (*report)(void *arg, const struct counters_death *death),
		  void *arg);

/**
 * Compare each line's totals with the sum of the ledgers; a difference that two audits in a row see
 * unchanged is corrected. Returns the number of corrections. [daemon]
 */
int counters_audit(struct counters *c);

/** Slots in use: the highest claimed number + 1. [any] */
uint32_t counters_slots_used(const struct counters *c);

#endif
