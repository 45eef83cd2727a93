/* census.c - dead processes. */
#include "census.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"

/** Deaths since a plugin file was loaded there. */
struct suspect {
	uint64_t seq;
	unsigned deaths;
};

struct census {
	struct counters *counters;
	struct event *look, *audit;
	census_fn *convict;
	void *arg;
	struct suspect suspect; /* only the newest file can be one */
};

static void census_note_death(struct census *census, const struct counters_death *death)
{
	const int64_t lived_ns = clock_now_ns() - death->loaded_ns;
	char note[160];

	if (death->running_seq != 0) {
		(void)snprintf(note, sizeof note, "process %d (%.31s) died %s", death->pid,
			       death->program,
			       death->was_loading ? "while it loaded it" : "in its route()");
		census->convict(census->arg, death->running_seq, note);
		return;
	}
	if (death->loaded_seq == 0 || lived_ns > CENSUS_LOADED_S * CLOCK_S)
		return;
	if (census->suspect.seq != death->loaded_seq)
		census->suspect = (struct suspect){ .seq = death->loaded_seq };
	if (++census->suspect.deaths < CENSUS_DEATHS)
		return;
	(void)snprintf(note, sizeof note, "%d processes died within %d s of loading it",
		       CENSUS_DEATHS, CENSUS_LOADED_S);
	census->convict(census->arg, death->loaded_seq, note);
	census->suspect = (struct suspect){ 0 };
}

static void census_report(void *arg, const struct counters_death *death)
{
	struct census *census = arg;

	if (death->inflight > 0 || death->running_seq != 0)
		log_warn("attached process died",
			 "pid=%d program=%.31s calls_given_back=%" PRIu32 " in_code_of=%" PRIu64,
			 death->pid, death->program, death->inflight, death->running_seq);
	else
		log_info("attached process ended", "pid=%d program=%.31s", death->pid,
			 death->program);
	census_note_death(census, death);
}

static void census_look(evutil_socket_t fd, short what, void *arg)
{
	struct census *census = arg;

	(void)fd;
	(void)what;
	counters_reap(census->counters, census_report, census);
}

static void census_audit(evutil_socket_t fd, short what, void *arg)
{
	struct census *census = arg;
	const int corrected = counters_audit(census->counters);

	(void)fd;
	(void)what;
	if (corrected > 0)
		log_warn("counters corrected",
			 "lines=%d reason=\"totals differed from the ledgers\"", corrected);
}

struct census *census_new(struct event_base *base, struct counters *counters, census_fn *convict,
			  void *arg)
{
	const struct timeval look = { .tv_usec = CENSUS_MS * 1000 };
	const struct timeval audit = { .tv_sec = CENSUS_AUDIT_S };
	struct census *census = calloc(1, sizeof *census);

	if (census == NULL)
		return NULL;
	census->counters = counters;
	census->convict = convict;
	census->arg = arg;
	census->look = event_new(base, -1, EV_PERSIST, census_look, census);
	census->audit = event_new(base, -1, EV_PERSIST, census_audit, census);
	if (census->look == NULL || census->audit == NULL) {
		census_free(census);
		return NULL;
	}
	event_add(census->look, &look);
	event_add(census->audit, &audit);
	return census;
}

void census_free(struct census *census)
{
	if (census == NULL)
		return;
	if (census->look != NULL)
		event_free(census->look);
	if (census->audit != NULL)
		event_free(census->audit);
	free(census);
}
