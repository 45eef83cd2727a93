/* probe.h - poll one target of a source once, or read a recorded answer, and show all that came of
 * it: callrouterd --test-source. */
#ifndef CR_DAEMON_PROBE_H
#define CR_DAEMON_PROBE_H

#include "catalogue.h"
#include "config.h"

/** What is to be tried. */
struct probe_options {
	const char *source;  /* name of a collector's entry */
	const char *server;  /* whose target; NULL: the shared one, else the first server's */
	const char *replay;  /* file with a recorded answer; NULL: ask the live source */
	const char *request; /* which one, by name or number from 1; NULL: all, or the only one */
	bool is_raw;         /* show answers whole */
};

/**
 * Try a source and print what came on standard output. catalogue: config was read with it. Returns
 * the exit status: 0, or 1: nothing usable came, or it could not be tried, which is said on
 * standard error. [main]
 */
int probe(const struct config *config, struct catalogue *catalogue,
	  const struct probe_options *options);

#endif
