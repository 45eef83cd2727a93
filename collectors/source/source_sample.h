/* source_sample.h - how a sample grows while its answers come in. */
#ifndef CR_COLLECTORS_SOURCE_SAMPLE_H
#define CR_COLLECTORS_SOURCE_SAMPLE_H

#include "source_internal.h"

enum source_outcome { SOURCE_PENDING = 0, SOURCE_ANSWERED, SOURCE_UNANSWERED };

/** The hidden part of a sample. */
struct source_progress {
	enum source_outcome *outcome; /* [n_requests] */
	size_t n_failed, first_failed;
	bool is_blind;   /* a request that says which rows count has failed */
	enum cr_why why; /* of the first that failed */
	char text[224];
	size_t cap_rows;
	struct source_names names;
	bool is_out_of_memory; /* a note is lost, and with it perhaps what was wrong */
};

/** The row of this name, made if need be; NULL without memory. [any] */
struct source_row *source_sample_row(struct source_sample *sample, const char *name, bool *is_new);

/** Keep a note. metric: index, or SIZE_MAX. [any] */
void source_sample_note(struct source_sample *sample, const char *row, size_t metric,
			enum cr_why why, const char *fmt, ...) CR_PRINTF(5, 6);

/** Bytes of strangers must break no line of a log, nor be bad UTF-8. [any] */
void source_clean(char *text);

#endif
