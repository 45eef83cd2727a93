/* fuzz_text.c - answers that are plain text, read with regular expressions. */
#include "sources.h"

static struct fuzz_description descriptions[] = {
	{ "tomcat-jmxproxy", NULL, NULL },
	{ NULL,
	  "{ format: text, fields: { busy_threads: { select: ' = ([0-9]+)$', reduce: sum } } }",
	  NULL },
	{ NULL, "{ format: text, fields: { busy_threads: { select: '(x+x+)*y', reduce: first } } }",
	  NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	fuzz_answer(descriptions, sizeof descriptions / sizeof *descriptions, &in);
	return 0;
}
