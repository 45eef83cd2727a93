/*
 * server.h - one application server: processor sharing, threads, a backlog, a heap with pauses.
 *
 * Each call at work gets the same share of the cores, at most one core. A call then sends its
 * answer, which takes no CPU time but holds its data. In a pause of the JVM nobody computes, and
 * the system goes on sending what it has.
 */
#ifndef CR_SIM_SERVER_H
#define CR_SIM_SERVER_H

#include <callrouter/words.h>

#include "dice.h"
#include "jvm.h"
#include "queue.h"

enum job_phase { JOB_FREE, JOB_WAITING, JOB_RUNNING, JOB_SENDING, JOB_FAILING };

/** A call as the server sees it. */
struct job {
	double work_s; /* CPU time at speed 1 */
	double bytes;  /* its data: grows while it runs, is held while it sends */
	double send_s;
	double came_s; /* when the server took it */
	double began;  /* server->share when it began to run */
	uint32_t next; /* in the backlog */
	uint32_t phase;
	uint32_t outcome; /* enum cr_outcome: of a failing one */
};

/** What all servers of a scenario have in common. */
struct server_rules {
	struct jvm_rules jvm;
	uint32_t threads, backlog;
	double garbage; /* bytes allocated for each byte of data */
	bool dies;      /* out of memory: the whole server, not one call */
	double down_s;  /* for so long */
	/** A call is over. The server may be offered new ones only after it returned. */
	void (*ended)(void *arg, uint32_t id, enum cr_outcome outcome);
	void *arg;
};

enum server_event {
	SERVER_NOTHING,
	SERVER_CALL_RAN,
	SERVER_CALL_SENT,
	SERVER_COLLECTS,
	SERVER_RESUMES,
	SERVER_RESTARTS,
};

struct server {
	const struct server_rules *rules;
	struct job *job; /* [id], all servers' */
	struct jvm jvm;
	double cores, speed;
	double leak_per_s; /* bytes */
	struct dice victim;

	double now_s;
	double share; /* work that each running call got since the start */
	double up_s;  /* seconds without outages since the start */
	struct queue running, sending;
	uint32_t first, last, waiting; /* the backlog */
	/* The running calls hold slope * share - offset; slope: bytes per unit of share. */
	double slope, offset, sending_bytes;
	double share_at_gc; /* share when the last collection began */
	double until_s;     /* end of the pause or of the outage */
	bool is_paused, is_down;
	enum server_event next; /* what comes at next_s */
	double next_s;

	/* Since the start. */
	double busy_s; /* core seconds */
	double gc_s;   /* of pauses that have begun */
	uint64_t ended, failed;
	uint32_t oom_calls, deaths;
};

/** place: [id], for queue.h. */
void server_init(struct server *server, const struct server_rules *rules, struct job *job,
		 uint32_t *place);
void server_fini(struct server *server);

/** Take a call. job[id] has work_s, bytes, send_s. Returns false: connection refused. */
bool server_offer(struct server *server, uint32_t id, double now_s);

/** Take a call that will fail after so many seconds with this outcome, without any work. */
bool server_offer_failing(struct server *server, uint32_t id, double now_s, double after_s,
			  enum cr_outcome outcome);

/** When something happens next (infinite: not before it is offered a call), and let it happen. */
double server_next_s(const struct server *server);
void server_step(struct server *server, double now_s);

void server_set_speed(struct server *server, double now_s, double speed);

/** The process ends, and all its calls fail; it is back at until_s. */
void server_kill(struct server *server, double now_s, double until_s);

/** Bring all figures up to now, which is not after the next event. */
void server_advance(struct server *server, double now_s);

/** Figures of a server that was advanced. */
double server_live(const struct server *server); /* bytes that live */
uint32_t server_calls(const struct server *server);
uint32_t server_hogs(const struct server *server, double older_than_s);

#endif
