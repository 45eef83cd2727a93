/* fuzz_selectors.c - the grammars of all kinds of selectors (SNMP's are OIDs): the first line of an
 * input is one, what follows is an answer that it is tried on. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "source_internal.h"
#include "sources.h"

static const struct source_kind *const kinds[] = {
	&source_kind_json, &source_kind_xml,      &source_kind_prometheus, &source_kind_promql,
	&source_kind_text, &source_kind_snmp_get, &source_kind_snmp_table,
};

/* A selector's fault is one line at a place in it. Returns whether it is good. */
static bool compile(const struct source_kind *kind, const char *text)
{
	struct source_selector_fault fault = { 0 };
	void *selector = NULL;
	const int rc = kind->compile(text, &selector, &fault);

	fuzz_expect(rc == 0 || fault.text[0] != '\0', "a fault without a text");
	fuzz_expect_line(fault.text, "a fault is no line");
	fuzz_expect(rc == 0 || (fault.column >= 1 && fault.column <= strlen(text) + 1),
		    "a fault outside the selector");
	if (rc == 0 && kind->is_snmp)
		fuzz_expect(source_oid_get(selector)->len > 0, "an OID without numbers");
	if (rc == 0)
		kind->release(selector);
	return rc == 0;
}

/* The same as the only field of a description. NULL: it is no UTF-8, or more than a field may be.
 */
static struct source *describe(const struct source_kind *kind, const char *selector, bool has_rows)
{
	struct source *source = NULL;
	json_t *root =
		json_pack("{s:s,s:{s:{s:s,s:s,s:s}}}", "format", kind->word, "fields",
			  "busy_threads", "select", selector, "reduce", "sum", "optional", "true");
	char *json;

	if (root == NULL)
		return NULL;
	if (has_rows && kind->has_rows_selector) {
		(void)json_object_set_new(root, "rows", json_string(selector));
		(void)json_object_set_new(root, "key", json_string(selector));
	}
	if (kind->is_snmp)
		(void)json_object_set_new(root, "transport", json_string("snmp"));
	json = json_dumps(root, 0);
	json_decref(root);
	(void)source_parse(json, &source, NULL, NULL);
	free(json);
	return source;
}

static void try_on(const struct source *source, struct fuzz_input *in)
{
	struct source_sample *sample = source_sample_new(source);
	struct source_answer answer = { 0 };
	char *bytes = fuzz_rest(in, &answer.len);

	answer.bytes = bytes;
	if (source->transport == SOURCE_HTTP)
		(void)source_extract(sample, 0, &answer);
	free(bytes);
	fuzz_sample_end(sample, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	const struct source_kind *kind = kinds[how % (sizeof kinds / sizeof *kinds)];
	char *selector = fuzz_line(&in);

	if (compile(kind, selector)) {
		struct source *source = describe(kind, selector, how >= 128);

		if (source != NULL)
			try_on(source, &in);
		source_free(source);
	}
	free(selector);
	return 0;
}
