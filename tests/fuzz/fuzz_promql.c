/* fuzz_promql.c - answers of a Prometheus server's query API. */
#include "sources.h"

static struct fuzz_description descriptions[] = {
	{ "prometheus-query", NULL, NULL },
	{ NULL, "{ format: promql, fields: { jvm_heap_used_bytes: value } }", NULL },
	{ NULL,
	  "{ format: promql, key: { select: instance, before: ':' }, fields: { busy_threads: { "
	  "select: n, "
	  "reduce: sum } } }",
	  NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	fuzz_answer(descriptions, sizeof descriptions / sizeof *descriptions, &in);
	return 0;
}
