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
	bool has_said_hello, is_late;
	struct ranker_answer answer;
	uint16_t *order; /* private copies of what the child wrote */
	double *column;
	void *saved;
	size_t saved_len;
};

/** Make the process and its channels: fills pid, sock and area. Returns 0 or negative errno;
 * ranker_bury() and the closing of what is filled are due either way. [main] */
int ranker_launch(struct ranker *ranker, const struct ranker_load *load);

/** Kill it and wait for its end; *status as of waitpid(), 0 without a process. [main] */
void ranker_bury(struct ranker *ranker, int *status);

/** "in rank()": what it was doing. [any] */
const char *ranker_phase_words(uint32_t phase);

#endif
