/* bench.h - what the parts of the bench share: subjects to measure, a staged run directory, counts.
 */
#ifndef CR_TESTS_BENCH_H
#define CR_TESTS_BENCH_H

#include <stdint.h>

#include <callrouter/callrouter.h>

#include "assemble.h"
#include "snapshot.h"

#define BENCH_THREADS      2
#define BENCH_SUBJECTS_MAX 192
#define BENCH_BATCH        64 /* calls between two looks at the clock */

struct bench_subject;

/** Do it n times (at most the subject's batch) in this thread (0, 1); returns the nanoseconds that
 * the part of it took that counts. */
typedef int64_t bench_fn(const struct bench_subject *subject, unsigned thread, unsigned n);

/** One thing that is measured. */
struct bench_subject {
	const char *what;    /* "cr_route", "whole call", "naive", "cr_refresh", ... */
	const char *variant; /* of it: which router, what is new, ... */
	unsigned servers;
	unsigned batch;
	unsigned threads_max;
	bench_fn *run;
	void *scene; /* what run needs */
	int number;  /* and which one in there */

	/** In a forked child, before run(): make what was inherited its own. NULL: nothing to do.
	 */
	void (*adopt)(const struct bench_subject *subject);
};

struct bench_list {
	struct bench_subject subject[BENCH_SUBJECTS_MAX];
	size_t n;
};

void bench_add(struct bench_list *list, const struct bench_subject *subject);

/** Print what is wrong and end the program: a bench has nothing to carry on with. */
_Noreturn void bench_die(const char *fmt, ...) CR_PRINTF(1, 2);

/*** bench_stage.c: a run directory as callrouterd would leave it ***/

/** One service to be staged: it has the first n of the servers. */
struct bench_service {
	char name[32];
	unsigned n_servers;
	const char *router;  /* plugin, or NULL: none */
	const char *options; /* of it, as "name: value, name: value", or NULL: none */
};

struct bench_stage {
	char dir[64];
	struct config *config;
	struct servers *servers;
	struct counters *counters;
	struct roster *roster;
	struct seats *seats;
	struct generation **generation;
	size_t n_generations;
	struct snapshot_writer *writer;
};

/** Configure n_servers servers with heap figures and these services, the default of each is
 * round_robin, and let every router answer once. */
void bench_stage_open(struct bench_stage *stage, unsigned n_servers,
		      const struct bench_service *service, size_t n);
void bench_stage_close(struct bench_stage *stage);

struct image_header *bench_stage_assemble(struct bench_stage *stage);
void bench_stage_publish(struct bench_stage *stage, struct image_header *image);

/** Attach to the run directory of the stage. */
struct cr *bench_stage_attach(const struct bench_stage *stage);

/** What free heap the i-th server has: no order in it, but always the same. */
double bench_free_bytes(unsigned i);

/*** The scenes: each adds its subjects ***/

struct bench_calls;
struct bench_calls *bench_calls_new(struct bench_list *list);
void bench_calls_free(struct bench_calls *calls);

struct bench_naive;
struct bench_naive *bench_naive_new(struct bench_list *list);
void bench_naive_free(struct bench_naive *naive);

struct bench_publish;
struct bench_publish *bench_publish_new(struct bench_list *list);
void bench_publish_free(struct bench_publish *publish);

struct bench_routers;
struct bench_routers *bench_routers_new(struct bench_list *list);
void bench_routers_free(struct bench_routers *routers);

/** The numbers of servers that calls are measured with. */
#define BENCH_SIZES 4
extern const unsigned bench_sizes[BENCH_SIZES];

/*** bench_count.c: what a call does besides computing ***/

/** Per call; < 0: cannot be counted here. */
struct bench_counts {
	double allocations, system_calls;
};

/** Count both for one subject, in thread 0. */
struct bench_counts bench_count(const struct bench_subject *subject);

/** A subject that allocates and makes a system call each time: it shows that the counting works. */
extern const struct bench_subject bench_control;

/*** What was measured ***/

#define BENCH_ROUNDS_MAX 64

/** One subject with one number of threads: a slice of time in each round, what one call cost in it.
 */
struct bench_cell {
	const struct bench_subject *subject;
	unsigned threads;
	double sample[BENCH_ROUNDS_MAX]; /* nanoseconds */
	double median, low, high;        /* of samples; low and high: the quartiles */
	struct bench_counts counts;
};

struct bench_result {
	struct bench_cell cell[BENCH_SUBJECTS_MAX * BENCH_THREADS];
	size_t n_cells;
	unsigned rounds;
	int64_t slice_ns;
	size_t n_repeated, n_disturbed; /* slices in which other programs had the processor: done
					   again; used all the same */
	bool is_pinned;
	struct bench_counts control, worst; /* worst: of all that libcallrouter does per call */
};

/** The cell of what was measured so; there has to be one. */
const struct bench_cell *bench_find(const struct bench_result *result, const char *what,
				    const char *variant, unsigned servers, unsigned threads);

/** The median of n figures, which are sorted; also the quartiles. */
double bench_median(double *figure, size_t n, double *low, double *high);

/*** bench_print.c ***/

void bench_print_table(const struct bench_result *result);
void bench_print_json(const struct bench_result *result);

/*** bench_judge.c: what each router costs, beside round_robin ***/

#define BENCH_ROUTER        "router" /* what such a subject measures */
#define BENCH_ROUTERS_MAX   48
#define BENCH_ROUTER_SIZES  3
#define BENCH_TIMES_AT_MOST 5.0 /* round_robin, with 8 servers */

/** The whole call with one router, on one thread, with 8, 64 and 512 servers. */
struct bench_verdict {
	const char *router; /* with its options */
	double ns[BENCH_ROUTER_SIZES];
	double times[BENCH_ROUTER_SIZES];      /* of round_robin with as many servers */
	double growth[BENCH_ROUTER_SIZES - 1]; /* from 8 to 64 and from 64 to 512 servers */
	bool is_cheap;                         /* times[0] is at most BENCH_TIMES_AT_MOST */
	bool is_linear;                        /* no growth is more than that of the servers */
};

/** Judge all routers; returns how many there are, in the order in which they were added. */
size_t bench_judge(const struct bench_result *result,
		   struct bench_verdict verdict[BENCH_ROUTERS_MAX]);

#endif
