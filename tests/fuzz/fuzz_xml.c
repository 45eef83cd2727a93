/* fuzz_xml.c - XML answers. */
#include "sources.h"

static struct fuzz_description descriptions[] = {
	{ "tomcat-status", NULL, NULL },
	{ NULL, "{ format: xml, fields: { busy_threads: /a/b@n } }", NULL },
	{ NULL,
	  "{ format: xml, rows: /a/b, key: '@n', fields: { busy_threads: { select: /c, reduce: sum "
	  "} } }",
	  NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	fuzz_answer(descriptions, sizeof descriptions / sizeof *descriptions, &in);
	return 0;
}
