/* servers_internal.h - what servers.c keeps of every server, for the files that serve servers.h. */
#ifndef CR_DAEMON_SERVERS_INTERNAL_H
#define CR_DAEMON_SERVERS_INTERNAL_H

#include <pthread.h>

#include "derive.h"
#include "servers.h"
#include "servers_operator.h"

/** One value of one metric. */
struct sample {
	double value;
	int64_t taken_ns; /* 0: never */
};

/** By metric; those past n were never measured. */
struct samples {
	struct sample *at;
	size_t n;
};

/** A source whose last poll of a server failed. */
struct failing {
	struct servers_failing told;
	bool is_polled; /* by the configuration that is being taken over */
};

/** What is known of one server. */
struct server {
	/* What every image needs comes first: with thousands of servers memory is what it waits
	 * for. */
	struct samples sample;
	struct samples backup; /* of sources that are backups */
	int64_t hold_ns;       /* a backup's value counts if the other is older by more */
	uint32_t weight;       /* the configuration's */
	bool is_admin, is_skipped;
	bool is_suspected; /* skipped on hearsay: it is polled, and cleared if it turns out good */
	struct servers_wish wish;
	char name[64], address[128];
	double heap_max;  /* the configuration's, for derive(); 0: none */
	size_t index;     /* in the configuration's order */
	int64_t trust_ns; /* from when on a good poll clears it */
	uint64_t rejected[SERVERS_REJECTS];
	struct servers_rejected *reject; /* by source */
	size_t n_rejects;
	uint64_t polls, failures;
	int64_t good_ns;
	struct failing *failing; /* by source, those that have failed for longest first */
	size_t n_failing;
	char skip_text[160];
};

/** All servers. */
struct servers {
	pthread_mutex_t lock; /* all but fd and wishes; which servers there are changes on main
				 alone, so that main reads that without it */
	int fd;
	bool is_rung; /* fd was written and not cleared since */
	struct server **server;
	size_t n;
	struct server **by_name; /* the same, from their names' hash on; NULL: empty */
	size_t n_by_name;        /* a power of two, more than n */
	uint64_t seq;            /* counts changes that an image shows */
	uint64_t *changed;       /* by index: seq of the last one */
	int64_t turn_ns; /* in which every source polls each of its servers, and has its answer */
	char *metric[SERVERS_METRICS_MAX];
	size_t n_metrics;
	size_t threads_at;  /* where derive_threads_names begin in metric; 0: not there */
	char (*backup)[64]; /* names of the sources that are backups */
	size_t n_backups;
	struct servers_operator *wishes; /* [main] */
};

/** The server of this name, or NULL. Under the lock, or on main. */
struct server *servers_find(const struct servers *servers, const char *name);

/** A poll of source ended; error NULL: well. Under the lock. */
void servers_note_failing(struct server *server, const char *source, const char *error);

/** Forget what sources said that poll a server no more. server: as in config. Under the lock. */
void servers_keep_failing(struct server **server, size_t n, const struct config *config);

/** What a configuration says of a server's values: heap_max, and how long backups have to wait.
 * Under the lock. */
void servers_take_rules(struct server *server, const struct config_server *from);

/** Unlocks, and tells the main loop unless it has been told already. */
void servers_unlock_and_ring(struct servers *servers);

/** The next image says something else of server. Under the lock. */
static inline void servers_note_change(struct servers *servers, const struct server *server)
{
	servers->changed[server->index] = ++servers->seq;
}

#endif
