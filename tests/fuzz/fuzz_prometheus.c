/* fuzz_prometheus.c - answers in Prometheus' exposition format, and in OpenMetrics'. */
#include "sources.h"

static struct fuzz_description descriptions[] = {
	{ "micrometer", NULL, NULL },
	{ "client-java", NULL, NULL },
	{ "simpleclient", NULL, NULL },
	{ "node-exporter", NULL, NULL },
	{ "otel-jvm", NULL, NULL },
	{ NULL,
	  "{ format: prometheus, key: s, fields: { busy_threads: n, max_threads: { select: l, "
	  "optional: "
	  "true } } }",
	  NULL },
	{ NULL,
	  "{ format: prometheus, fields: { busy_threads: { select: 'n{l=~\"(x+x+)+y\"}', reduce: "
	  "sum } "
	  "} }",
	  NULL },
	{ NULL,
	  "{ format: prometheus, key: s, sample_time: t, fields: { busy_threads: "
	  "{ select: n, reduce: sum } } }",
	  NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	fuzz_answer(descriptions, sizeof descriptions / sizeof *descriptions, &in);
	return 0;
}
