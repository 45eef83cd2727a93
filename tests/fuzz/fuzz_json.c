/* fuzz_json.c - JSON answers. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	fuzz_answer(descriptions, sizeof descriptions / sizeof *descriptions, &in);
	return 0;
}
