/* fuzz_json.c - JSON answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sources.h"

static struct fuzz_description descriptions[] = {
	{ "actuator", NULL, NULL },
	{ "jolokia", NULL, NULL },
	{ "jolokia-bulk", NULL, NULL },
	{ "tomcat-status-json", NULL, NULL },
	{ "weblogic-rest", NULL, NULL },
	{ "weblogic-rest-1036", NULL, NULL },
	{ "weblogic-rest-server", NULL, NULL },
	{ "wildfly", NULL, NULL },
	{ NULL,
	  "{ format: json, rows: '/*', key: /n, skip: { select: /a }, fields: { busy_threads: { "
	  "select: "
	  "'/*', reduce: sum, optional: true } } }",
	  NULL },
};

static struct fuzz_description plain = {
	NULL, "{ format: json, fields: { busy_threads: { select: /a, optional: true } } }", NULL
};

/* Whatever a key holds: the same key once more, and nothing of the answer is believed. */
static void expect_one_of_a_key(struct fuzz_input in)
{
	struct source_sample *sample = source_sample_new(fuzz_source(&plain));
	struct source_answer answer = { 0 };
	size_t len;
	char *value = fuzz_rest(&in, &len), *body;
	const int n = (int)len;

	if (sample == NULL || asprintf(&body, "{\"a\":%.*s,\"a\":%.*s}", n, value, n, value) < 0)
		abort();
	answer.bytes = body;
	answer.len = strlen(body);
	fuzz_expect(source_extract(sample, 0, &answer) < 0, "a key that is there twice");
	free(body);
	free(value);
	fuzz_sample_end(sample, "ms1");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	expect_one_of_a_key(in);
	fuzz_answer(descriptions, sizeof descriptions / sizeof *descriptions, &in);
	return 0;
}
