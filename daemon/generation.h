/* generation.h - one version of a plugin's file: staged, described, shared by all who use it. */
#ifndef CR_DAEMON_GENERATION_H
#define CR_DAEMON_GENERATION_H

#include "ranker.h"

struct generation {
	char plugin[32];
	uint64_t seq, digest;
	char *path; /* staged */
	struct ranker_facts *facts;
	unsigned refs;
};

/** Describe the staged file (in a child process). One reference. NULL with err. [main] */
struct generation *generation_open(const char *state_dir, const char *plugin, uint64_t seq,
				   uint64_t digest, struct err *err);
struct generation *generation_keep(struct generation *generation);
void generation_drop(struct generation *generation); /* NULL is fine */

#endif
