/* jvm.h - the heap of one server: allocation, minor and full collections, running out of it. */
#ifndef CR_SIM_JVM_H
#define CR_SIM_JVM_H

#include <stdbool.h>
#include <stdint.h>

#define JVM_GB 1073741824.0
#define JVM_MB 1048576.0

enum jvm_kind { JVM_NONE, JVM_PARALLEL, JVM_G1 };

/** What all heaps of a scenario have in common. Shares are of the heap. */
struct jvm_rules {
	uint32_t kind;     /* enum jvm_kind */
	double eden;       /* share: a minor collection when that much was allocated */
	double eden_least; /* share: and with a full heap when that much was */
	double minor_pause_s, copy_bytes_per_s;
	double floating;     /* share of the survivors that is garbage, but promoted */
	double full_at;      /* share of the old generation that starts a full collection */
	double full_room;    /* at least that share of what is free is filled before the next */
	double full_pause_s; /* and per GB that lives: */
	double full_pause_per_gb; /* seconds */
	double mark_at;           /* G1: share of the old generation that starts marking */
	double out_at;            /* share that lives after a full collection: out of memory */
	double base;              /* share that the application itself keeps */
};

/** One heap. Bytes, but for the marked ones. */
struct jvm {
	const struct jvm_rules *rules;
	double heap;
	double base, base_old; /* the application's own data, and what of it is in the old part */
	double old, young;     /* in use, garbage included */
	double promoted;       /* what of the living calls' data is in the old part */
	double full_at;        /* the old part that starts the next full collection */
	double after_gc;       /* in use after the last collection, and after the last one */
	double after_major;    /* that cleaned the old part */
	uint32_t minors, fulls, mixed_left; /* counts */
	bool is_out; /* the last full collection left too little: somebody has to go */
};

/** A heap of this size that has just been started. */
struct jvm jvm_new(const struct jvm_rules *rules, double heap);

/** The process ends and starts again: the counts go on. */
void jvm_restart(struct jvm *jvm);

/** How much may still be allocated before the next collection; infinite for JVM_NONE. */
double jvm_room(const struct jvm *jvm);

/** Bytes in use, never more than the heap. */
double jvm_used(const struct jvm *jvm);

/**
 * Collect: a minor collection, and what follows from it. live: bytes that calls in progress hold.
 * Returns the pause in seconds.
 */
double jvm_collect(struct jvm *jvm, double live);

#endif
