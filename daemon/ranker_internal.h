/* ranker_internal.h - a ranker's process and its channels, for those who talk to it in the loop
 * (ranker.c) and at once (ranker_now.c). */
#ifndef CR_DAEMON_RANKER_INTERNAL_H
#define CR_DAEMON_RANKER_INTERNAL_H

#include <sys/types.h>

#include "ranker.h"
#include "ranker_wire.h"

struct ranker {
	pid_t pid;
	int sock;
	struct wire_area *area;
	struct event *readable, *timer;
	ranker_fn *fn;
	void *arg;
	char plugin[32];
	uint32_t op;      /* under way; 0: none */
	uint32_t next_op; /* asked for before the child said hello */
	uint32_t next_instance;
	int64_t ran_ns; /* how long it had run when it was asked */
	bool has_said_hello, is_late;
	struct ranker_answer answer;
	uint16_t *order; /* private copies of what the child wrote */
	double *column;
	void *saved;
	size_t saved_len;
};

/*** ranker_life.c ***/

/** Make the process and its channels: fills pid, sock and area; does not wait until it runs.
 * Returns 0 or negative errno; ranker_bury() and the closing of what is filled are due either way.
 * If there is no program to run it says hello with that error, and no text. [main] */
int ranker_launch(struct ranker *ranker, const struct ranker_load *load);

/** How long its process has run so far; 0: nobody knows. [main] */
int64_t ranker_ran_ns(const struct ranker *ranker);

/** Is it stopped, or has it not run at all since ran_ns was taken? Then it is not the plugin that
 * takes its time. [main] */
bool ranker_is_still(const struct ranker *ranker);

/** What a plugin is told that wrote into its process's connection, or closed it. name: the
 * plugin's. Returns err->code. [any] */
int ranker_blame(struct err *err, const char *name, uint32_t phase);

/** The sentence of a message that says no. name: the plugin's. Returns err->code. [any] */
int ranker_quote(struct err *err, const char *name, const struct wire_message *message);

/** Kill it and wait for its end; *status as of waitpid(), 0 without a process. [main] */
void ranker_bury(struct ranker *ranker, int *status);

/** "in rank()": what it was doing. [any] */
const char *ranker_phase_words(uint32_t phase);

#endif
