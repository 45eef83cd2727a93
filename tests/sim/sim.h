/* sim.h - one run: calls, servers, hosts, polls and faults in virtual time. */
#ifndef CR_SIM_SIM_H
#define CR_SIM_SIM_H

#include <stdio.h>

#include "host.h"
#include "stats.h"
#include "workload.h"

#define SIM_CALLS_MAX 262144u /* in progress at once */

/** A call in progress. */
struct call {
	struct cr_ticket ticket;
	double came_s, tried_s;
	double gray;
	uint32_t host, server;
	enum call_kind kind;
	bool is_counted;
};

/** The last that a host heard about a server, or told its peers. */
struct outlook {
	struct sample last;
	double busy_s, at_s; /* of the server's busy_s, for its CPU load */
	bool is_answering;   /* the poll under way waits for the end of a pause */
	double due_s;        /* when the next poll is due */
	uint32_t told_calls; /* to the peers */
	int64_t told_bytes;
	uint32_t checks; /* in a row that say other than before */
	bool is_down;    /* checks say so */
};

struct sim {
	const struct scenario *scenario;
	const struct host_plan *plan;
	double now_s, end_s, warm_s, fault_s;
	struct err err;

	struct server_rules rules;
	struct server *server; /* [servers] */
	struct job *job;       /* [SIM_CALLS_MAX] */
	uint32_t *job_place;   /* [SIM_CALLS_MAX] */
	struct call *call;     /* [SIM_CALLS_MAX] */
	uint32_t *free_call;   /* stack */
	uint32_t n_free;

	struct host *host;       /* [hosts] */
	struct outlook *outlook; /* [hosts][servers] */
	double *told_s;          /* [hosts]: when it last told its peers */
	bool *is_due;            /* [hosts]: it has news to publish */

	struct queue events;
	uint32_t *event_place;
	struct workload workload;
	struct arrival arrival; /* the next */
	struct dice poll, noise, peer;
	struct trace trace; /* n 0: none */
	double *trace_at_s; /* [servers]: where in it each server began */

	bool is_flapped;
	uint32_t restarts, restart_phase;
	struct stats stats;
	FILE *series; /* the caller's, or NULL: a line each second about the first server */
};

/** Prepare a run. plan: opened with the same scenario. Returns 0 or < 0 with err. */
int sim_open(struct sim *sim, const struct scenario *scenario, const struct host_plan *plan,
	     uint64_t seed, struct err *err);
void sim_close(struct sim *sim);

/** Run to the end, or until *stop. Returns 0 or < 0 with err. */
int sim_run(struct sim *sim, const volatile int *stop, struct err *err);

/*** Between sim.c and polls.c ***/

/** Things that happen: each has one next time. Equal times: in this order. */
enum sim_event {
	EVENT_CALL,
	EVENT_SECOND,
	EVENT_FAULT,
	EVENT_FLAP,
	EVENT_RESTART,
	EVENT_SERVER, /* + server; then [hosts][servers] polls, [hosts] publications, [hosts]
			 messages to the peers, [hosts] checks of all servers */
};

uint32_t sim_poll_event(const struct sim *sim, uint32_t host, uint32_t server);
uint32_t sim_publish_event(const struct sim *sim, uint32_t host);
uint32_t sim_peer_event(const struct sim *sim, uint32_t host);
uint32_t sim_check_event(const struct sim *sim, uint32_t host);

/** The server's next event may have moved. */
void sim_expect_server(struct sim *sim, uint32_t server);

/** The first polls and publications; the first messages to the peers, each host at its own time. */
void polls_begin(struct sim *sim);
void polls_begin_peers(struct sim *sim);
void polls_begin_checks(struct sim *sim);

/** A poll is due, or its answer. */
void polls_step(struct sim *sim, uint32_t host, uint32_t server);

/** A publication is due. Returns 0 or < 0 with sim->err. */
int polls_publish(struct sim *sim, uint32_t host);

/** Something is to be published soon. */
void polls_touch(struct sim *sim, uint32_t host);

/** A host checks all servers. */
void polls_check(struct sim *sim, uint32_t host);

/** A host tells the others what it has in progress. */
void polls_tell_peers(struct sim *sim, uint32_t host);

#endif
