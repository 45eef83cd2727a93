/*
 * seats.h - a seat is a place where a router sits: the router or the default of one service. It
 * holds the sitter in office (an instance of one generation, with its ranker and its latest
 * answer), and during a swap the one that is coming.
 */
#ifndef CR_DAEMON_SEATS_H
#define CR_DAEMON_SEATS_H

#include "config.h"
#include "counters.h"
#include "generation.h"
#include "image.h"

struct seats;
struct seat;

struct sitter {
	struct seat *seat;
	struct generation *generation;
	uint64_t key;
	char *options;         /* packed; the seat's when it was made */
	uint32_t bank;         /* of shared words */
	struct ranker *ranker; /* NULL: no rank(), or it ended */
	unsigned restarts;     /* of the ranker, after it was killed from outside */
	int64_t restarted_ns;  /* the last time */
	bool is_late;          /* its rank() is past the deadline and still running */
	bool is_gone;          /* its ranker crashed or looped */
	bool has_answer;
	bool is_void;    /* the answer under way is to a question that no longer stands */
	int32_t verdict; /* the latest answer: CR_DEFAULT, CR_REFUSE, > 0: order counts, or negative
			    errno */
	enum cr_reason reason; /* CR_REASON_NONE: order is good */
	uint16_t *order;       /* [n_order] rows of the service */
	size_t n_order;
	double *column; /* [n_columns][n_rows] */
	size_t n_columns;
	int64_t ranked_ns;
	void *saved; /* what save() wrote after it */
	size_t saved_len;
};

struct seat {
	struct seats *seats;
	size_t service; /* index in the configuration */
	bool is_preset; /* the default algorithm's */
	const char *service_name;
	size_t n_rows;
	char plugin[32]; /* "": the service has no router */
	char *options;   /* packed */
	struct sitter *now, *coming;
};

/** Something happened to a sitter's ranker; err: for RANKER_LATE and RANKER_DEAD. */
typedef void seats_fn(void *arg, struct sitter *sitter, enum ranker_event event,
		      const struct err *err);

/** What sitters need to work. */
struct seats_context {
	struct event_base *base;
	const char *run_dir;
	seats_fn *event;
	void *arg;
};

struct seats {
	struct seats_context context;
	struct seat *seat; /* two per service: router, default */
	size_t n;
};

/** Lay out the seats of a configuration (borrowed, it must outlive them), all empty. NULL: no
 * memory. [main] */
struct seats *seats_new(const struct config *config, const struct seats_context *context);
void seats_free(struct seats *seats);

/** The first of a seat's two banks of shared words. [any] */
static inline uint32_t seat_bank(const struct seat *seat)
{
	return seat->is_preset ? 2 : 0;
}

/** Zero a bank of shared words. [main] */
void seat_clear_bank(struct counters_service *line, uint32_t bank);

/**
 * Make a sitter of this generation for a seat (one more reference to it). before: whose shared
 * words and saved bytes it takes over if the state_tag is the same, else it gets the seat's other
 * bank, zeroed; NULL: it gets bank as it is. NULL: no memory. [main]
 */
struct sitter *sitter_new(struct seat *seat, struct generation *generation,
			  const struct sitter *before, uint32_t bank,
			  struct counters_service *line);
void sitter_free(struct sitter *sitter); /* NULL is fine */

/** Start its ranker. Returns 0 or < 0 with err. [main] */
int sitter_start(struct sitter *sitter, struct err *err);

/** Take over the answer that its ranker has just given, and check it. usable: rows that were
 * offered. [main] */
void sitter_take_answer(struct sitter *sitter, const uint8_t *usable);

/** Has it rank()? Has it route()? [main] */
static inline bool sitter_ranks(const struct sitter *sitter)
{
	return (sitter->generation->facts->flags & IMAGE_HAS_RANK) != 0;
}

static inline bool sitter_routes(const struct sitter *sitter)
{
	return (sitter->generation->facts->flags & IMAGE_HAS_ROUTE) != 0;
}

/** The identity of an instance: the same file for the same seat with the same options, across
 * restarts. [any] */
uint64_t seat_key(const struct seat *seat, uint64_t seq);

#endif
