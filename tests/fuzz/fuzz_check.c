/* fuzz_check.c - the answer to an active check over HTTP: in whatever pieces it comes, it says the
 * same. */
#include "check_internal.h"
#include "fuzz.h"

static int feed(struct check_answer *answer, struct fuzz_input in, size_t piece)
{
	int rc = 0;

	while (rc == 0 && in.left > 0) {
		const size_t n = in.left < piece ? in.left : piece;

		rc = check_answer_feed(answer, (const char *)in.at, n);
		in.at += n;
		in.left -= n;
	}
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const size_t piece = 1u + fuzz_byte(&in);
	struct check_answer whole = { 0 }, pieces = { 0 };
	const int rc = feed(&whole, in, SIZE_MAX);

	fuzz_expect(feed(&pieces, in, piece) == rc, "in pieces it ends in another way");
	fuzz_expect(whole.status == pieces.status, "in pieces it has another status");
	fuzz_expect(whole.status < 1000, "a status of more than three digits");
	fuzz_expect(rc != 1 || whole.status >= 200, "the end without a status");
	return 0;
}
