/*
 * fuzz.h - what the fuzz harnesses share. A harness is one function that takes any bytes and may
 * neither crash, nor hang, nor break what it expects; libFuzzer calls it, or replay.c with the
 * corpus. Choices are taken from the end of the bytes, so that a capture is an input as it is.
 */
#ifndef CR_TESTS_FUZZ_H
#define CR_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What is left of an input. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* From the end; 0 when nothing is left. */
uint8_t fuzz_byte(struct fuzz_input *in);
uint64_t fuzz_word(struct fuzz_input *in);                 /* 8 bytes */
uint32_t fuzz_below(struct fuzz_input *in, uint32_t most); /* 0 .. most - 1; most <= 65536 */

/* From the beginning; malloc'd. */
char *fuzz_line(struct fuzz_input *in); /* up to the first newline, which is left out, or NUL */
char *fuzz_text(struct fuzz_input *in); /* all that is left, up to a NUL */
void *fuzz_rest(struct fuzz_input *in, size_t *len); /* all that is left, and not a byte more */

/** A finding, if not so: says what and aborts. */
void fuzz_expect(bool is_so, const char *what);

/** A text for people: one line, without control characters. */
void fuzz_expect_line(const char *text, const char *what);

/** A folder of this process, removed with its files at its end; the same at each call. */
const char *fuzz_folder(void);

/** The path of a file in it; of the last two that were asked for. */
const char *fuzz_path(const char *name);

/** Write that file. */
void fuzz_write(const char *name, const void *bytes, size_t len);

#endif
