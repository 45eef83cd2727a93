/* swap_internal.h - between swap.c (the sequence) and swap_look.c (what starts one). */
#ifndef CR_DAEMON_SWAP_INTERNAL_H
#define CR_DAEMON_SWAP_INTERNAL_H

#include "swap.h"

enum swap_phase { SWAP_IDLE = 0, SWAP_TRYING, SWAP_PREPARING };

/** What the manifest is to say after the flip. */
enum swap_kind {
	SWAP_ADOPT = 0, /* a new generation */
	SWAP_ROLLBACK,  /* the previous one, at the operator's wish */
	SWAP_RETURN,    /* the previous one, since the current was quarantined (the manifest knows
			   already) */
};

struct swap {
	struct swap_context context;
	enum swap_phase phase;
	enum swap_kind kind;
	struct shelf *shelf;
	struct generation *coming;
	bool is_forced;
	struct control_request *later; /* to be answered; NULL: nobody waits */
	size_t n_trying;
	uint64_t token;
	int64_t began_ns, tried_ns, prepare_ns;
	struct event *check; /* looks for data planes' answers */
	struct event *soon;  /* another look, outside of whatever calls us */
};

/** Start with this generation (taken, also on failure). Returns 0, or < 0 with err: refused at
 * once. */
int swap_begin(struct swap *swap, struct shelf *shelf, struct generation *coming,
	       enum swap_kind kind, struct err *err);

/** Give up the generation that is coming: all stays as it was. */
void swap_refuse(struct swap *swap, const struct err *err);

/** A ranker in office ended: start it again, or quarantine its generation. */
void swap_lost_ranker(struct swap *swap, struct sitter *sitter, const struct err *err);

/** Look again soon, from the loop. */
void swap_look_soon(struct swap *swap);

/** Is the plugin used by a seat or a source of the configuration? */
bool swap_is_used(const struct swap *swap, const char *plugin);

/** Note and log that a file was refused. */
void swap_note_refusal(struct swap *swap, struct shelf *shelf, const struct manifest_file *file,
		       const struct err *err);

#endif
