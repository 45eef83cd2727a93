/* fuzz_description.c - descriptions in JSON, up to a NUL; behind it an answer to their requests. */
#include <stdlib.h>
#include <string.h>

#include "sources.h"

static void on_fault(void *user, const char *pointer, const char *text)
{
	size_t *n = user;

	fuzz_expect(pointer[0] == '\0' || pointer[0] == '/', "a fault at no JSON pointer");
	fuzz_expect(text[0] != '\0', "a fault without a text");
	fuzz_expect_line(text, "a fault is no line");
	++*n;
}

static void answer_all(const struct source *source, const char *bytes, size_t len)
{
	const struct source_answer answer = { .bytes = bytes, .len = len };
	struct source_sample *sample = source_sample_new(source);

	for (size_t i = 0; i < source->n_requests; i++) {
		const struct source_request *request = &source->request[i];
		const struct cr_var vars[] = { { "host", "h&?" }, { "a", "" } };
		const struct cr_target target = { .name = "ms1&?", .var = vars, .n_vars = 2 };
		char *filled;

		if (source->transport != SOURCE_HTTP)
			continue;
		if (source_fill(request->path, &target, SOURCE_ESCAPE_URL, &filled) == 0)
			fuzz_expect(strchr("/?", filled[0]) != NULL,
				    "a path without a slash"); /* or none */
		free(filled);
		if (source->n_requests == 1 || i % 3 != 2)
			(void)source_extract(sample, i, &answer);
	}
	fuzz_sample_end(sample, len % 2 == 0 ? "ms1" : NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t json_len = size > 0 ? strnlen((const char *)data, size) : 0;
	struct fuzz_input in = { data, json_len };
	struct source *source = NULL;
	char *json = fuzz_text(&in), *rest;
	size_t n_faults = 0, len;
	int rc;

	rc = source_parse(json, &source, on_fault, &n_faults);
	free(json);
	fuzz_expect((rc == 0) == (n_faults == 0), "faults, and it is good all the same");
	fuzz_expect((rc == 0) == (source != NULL), "faults, and a source");
	if (source == NULL)
		return 0;
	in = (struct fuzz_input){ data + json_len, size - json_len };
	if (in.left > 0) {
		in.at++;
		in.left--;
	}
	rest = fuzz_rest(&in, &len);
	answer_all(source, rest, len);
	free(rest);
	source_free(source);
	return 0;
}
