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
	int64_t since_ns;
};

struct census {
	struct counters *counters;
	const char *run_dir;
	bool is_lost; /* the file was removed, and that was said */
	struct event *look, *audit;
	census_fn *convict;
	void *arg;
	struct suspect suspect; /* only the newest file can be one */
};

/* A file that others have carried for long does not kill those who load it. */
static bool census_is_borne(const struct census *census, uint64_t seq, int64_t now)
{
	for (uint32_t i = 0; i < counters_slots_used(census->counters); i++) {
		const struct counters_slot *slot = counters_slot(census->counters, i);

		if (atomic_load_explicit(&slot->loaded_seq, memory_order_relaxed) == seq &&
		    now - atomic_load_explicit(&slot->loaded_ns, memory_order_relaxed) >
			    CENSUS_LOADED_S * CLOCK_S &&
		    counters_is_alive(census->counters, i))
			return true;
	}
	return false;
}

static void census_note_death(struct census *census, const struct counters_death *death)
{
	const int64_t now = clock_now_ns(), lived_ns = now - death->loaded_ns;
	char note[160];

	if (death->running_seq[0] != 0) {
		(void)snprintf(note, sizeof note, "process %d (%.31s) died %s", death->pid,
			       death->program,
			       death->was_loading ? "while it loaded it or prepared a view"
						  : "in its route()");
		for (size_t i = 0; i < COUNTERS_DEATH_SEQS && death->running_seq[i] != 0; i++)
			census->convict(census->arg, death->running_seq[i], note);
		return;
	}
	if (death->loaded_seq == 0 || lived_ns > CENSUS_LOADED_S * CLOCK_S ||
	    census_is_borne(census, death->loaded_seq, now))
		return;
	if (census->suspect.seq != death->loaded_seq ||
	    now - census->suspect.since_ns > CENSUS_LOADED_S * CLOCK_S)
		census->suspect = (struct suspect){ .seq = death->loaded_seq, .since_ns = now };
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

	if (death->inflight > 0 || death->running_seq[0] != 0)
		log_warn("attached process died",
			 "pid=%d program=%.31s calls_given_back=%" PRIu32 " in_code_of=%" PRIu64,
			 death->pid, death->program, death->inflight, death->running_seq[0]);
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
	if (!census->is_lost && counters_is_replaced(census->counters, census->run_dir)) {
		census->is_lost = true;
		log_error("counters file removed",
			  "dir=%s consequence=\"processes that attach now are not counted\" "
			  "remedy=\"restart callrouterd\"",
			  census->run_dir);
	}
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

struct census *census_new(struct event_base *base, struct counters *counters, const char *run_dir,
			  census_fn *convict, void *arg)
{
	const struct timeval look = { .tv_usec = CENSUS_MS * 1000 };
	const struct timeval audit = { .tv_sec = CENSUS_AUDIT_S };
	struct census *census = calloc(1, sizeof *census);

	if (census == NULL)
		return NULL;
	census->counters = counters;
	census->run_dir = run_dir;
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
