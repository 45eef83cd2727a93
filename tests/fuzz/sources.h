/* sources.h - descriptions of the source language for the harnesses, and answers read by them. */
#ifndef CR_TESTS_FUZZ_SOURCES_H
#define CR_TESTS_FUZZ_SOURCES_H

#include "fuzz.h"
#include "source.h"

/** A profile (NULL: none) with keys in YAML laid over it (NULL: none). */
struct fuzz_description {
	const char *profile, *keys;
	struct source *source; /* made when it is first needed */
};

/** The parsed description. It has to be good. */
const struct source *fuzz_source(struct fuzz_description *description);

/** Read the input as the answer to each request of one of the n descriptions, which it chooses;
 * nothing that comes out may be what cannot be true. */
void fuzz_answer(struct fuzz_description *descriptions, size_t n, struct fuzz_input *in);

/** The end of a sample: the verdict, and what must hold of each row. Frees it. */
void fuzz_sample_end(struct source_sample *sample, const char *server);

#endif
