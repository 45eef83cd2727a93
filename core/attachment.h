/* attachment.h - what one cr_attach() holds: shared by callrouter.c (set-up, refresh) and route.c
 * (calls). [L4] */
#ifndef CR_CORE_ATTACHMENT_H
#define CR_CORE_ATTACHMENT_H

#include <pthread.h>
#include <stdatomic.h>

#include <callrouter/callrouter.h>

#include "counters.h"
#include "guests.h"
#include "look.h"
#include "snapshot.h"
#include "world.h"

/** The counters file as mapped by this process, with its slot. Worlds hold references. */
struct mapping {
	struct counters *counters;
	unsigned refs;
	uint32_t epoch; /* unique in this process and its children; tickets carry it */
	bool has_slot;  /* false: calls in progress are not counted */
};

/** A page that the kernel empties in a forked child (MADV_WIPEONFORK). */
struct own_page {
	_Atomic uint32_t is_own;   /* 0: we are a child that has not refreshed yet */
	_Atomic uint32_t epoch;    /* of the mapping that we count in; 0: nothing is counted */
	_Atomic uint32_t has_left; /* a child that let go of what is its parent's */
};

/** What there is to complain about: the same complaint is made once. */
enum said {
	SAID_COUNTERS,
	SAID_SLOT,
	SAID_SNAPSHOT,
	SAID_LACKS,
	SAID_COMING,
	SAID_PREPARE,
	SAID_THREAD,
	SAIDS
};

/** A router's shared words as the dry calls of one thread see and change them: those of the calls
 * when it was first asked, and again with each published state. */
struct dry_words {
	uint64_t key, generation; /* of the instance, of the state; 0: none yet */
	uint64_t word[CR_SHARED_WORDS_MAX];
};

/** A calling thread. Never freed before cr_detach(), but used again. */
struct cr_thread {
	_Alignas(64) _Atomic(struct world *) in; /* the world that this thread is in; NULL: none */
	struct cr *cr;
	uint32_t number; /* which of its process's running words it writes */
	uint32_t stamp;  /* last one used in seen */
	uint64_t draw;   /* state of cr_call_now()'s generator */
	uint16_t *order; /* [CR_NONE] scratch for route() */
	uint32_t *seen;  /* [CR_NONE] */
	struct look look;
	int64_t now_ns;   /* of the last call that was routed here */
	int64_t clock_ns; /* the last one that cr_call_now() gave; 0: none */
	_Atomic bool is_used;
	struct dry_words dry[2]; /* of the router and of the default */
	struct cr_thread *next;
};

struct cr {
	_Atomic(struct world *) live; /* never NULL */
	struct own_page *page;
	_Atomic(struct cr_thread *) threads;

	/* From here on: cr_refresh()'s. */
	char *run_dir;
	char program[32];
	bool start_thread;
	void (*log)(void *arg, enum cr_level level, const char *line);
	void *log_arg;
	char said[SAIDS][320];      /* the last complaint of each kind: not repeated */
	pthread_mutex_t refreshing; /* held during a refresh; the thread that forks waits for it */
	struct snapshot_reader *reader;
	struct mapping *mapping;  /* NULL: no counters file yet */
	int64_t claimed_ns;       /* when a slot was last asked for in vain */
	uint64_t quarantine_mark; /* of the list that the live world knows */
	struct guests guests;
	struct cards cards;
	struct world *retired; /* replaced worlds that somebody may still be in */
	uint64_t prepare_answered;

	pthread_mutex_t names_lock; /* names, and by_name of the live world */
	char *name[WORLD_NAMES_MAX];
	size_t n_names;

	struct cr *next; /* attachment of this process */
	bool is_held_for_fork;
	pthread_t thread;
	bool has_thread;
	int stop_fd;
};

/** Make image (taken; NULL: nothing published) the live world. Returns 1 or -ENOMEM. [refresh] */
int cr_take_image(struct cr *cr, struct image_header *image);

/** Free the replaced worlds that nobody is in any more. [refresh] */
void worlds_reap(struct cr *cr);

/** One reference to a mapping less; NULL is fine. [refresh] */
void mapping_give(struct mapping *mapping);

/** Make the lock of refreshes, unlocked. [set-up] */
void cr_init_refreshing(struct cr *cr);

/**
 * In a forked child: let go of the parent's slot, forget its threads. No memory is taken or freed,
 * and no other thread of this process may use cr. [set-up]
 */
void cr_leave_parent(struct cr *cr);

/** Start the library's own refreshing thread. Returns 0 or a negative errno value. [set-up] */
int cr_start_thread(struct cr *cr);

#endif
