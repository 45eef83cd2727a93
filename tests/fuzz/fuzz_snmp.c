/* fuzz_snmp.c - SNMP: messages as they come from the wire, and walks whose agents answer with any
 * objects, near the ones that were asked for. */
#include <stdlib.h>
#include <string.h>

#include "snmp_report.h"
#include "snmp_walk.h"
#include "sources.h"

static struct fuzz_description descriptions[] = {
	{ "weblogic-mib", NULL, NULL },
	{ "host-mib", NULL, NULL },
	{ "jvm-mib", NULL, NULL },
	{ "jrockit-mib", "{ fields: { jvm_heap_free_bytes: .1.3.6.1.4.1.140.625.302.1.25 } }",
	  NULL },
	{ NULL,
	  "{ transport: snmp, format: snmp-table, key: .1.3.6.1.4.1.9.2, fields: { busy_threads: { "
	  "select: .1.3.6.1.4.1.9.1, reduce: sum }, max_threads: .1.3.6.1.4.1.9.3 } }",
	  NULL },
};

static void take_message(struct fuzz_input *in)
{
	struct snmp_report report = { 0 };
	uint8_t ask[SNMP_DISCOVER_LEN];
	uint32_t id;
	size_t len;
	uint8_t *bytes = fuzz_rest(in, &len);

	if (snmp_report_read(bytes, len, &report) == 0)
		fuzz_expect(report.engine.len <= SNMP_ENGINE_MAX, "an engine that is too long");
	(void)snmp_report_is_from(bytes, len, 1, "public", 6);
	(void)snmp_report_is_from(bytes, len, 0, "", 0);
	(void)snmp_report_id(bytes, len, &id);
	fuzz_expect(snmp_report_ask(ask, report.message & 0x7fffffff) <= sizeof ask,
		    "a question that is too long");
	free(bytes);
}

/* Any value, of any type. */
static void add_value(struct fuzz_input *in, netsnmp_variable_list **vars, const oid *name,
		      size_t len)
{
	static const u_char types[] = {
		ASN_INTEGER, ASN_GAUGE,         ASN_COUNTER,         ASN_TIMETICKS,
		ASN_NULL,    SNMP_NOSUCHOBJECT, SNMP_NOSUCHINSTANCE, SNMP_ENDOFMIBVIEW,
	};
	const uint8_t kind = fuzz_below(in, 14);
	const uint64_t word = fuzz_word(in);
	const struct counter64 wide = { (u_long)(word >> 32), (u_long)(word & 0xffffffff) };
	const long number = (int32_t)word;
	char text[256];
	double real;
	float small;

	memcpy(&real, &word, sizeof real);
	memcpy(&small, &word, sizeof small);
	if (kind < 4) {
		snmp_varlist_add_variable(vars, name, len, types[kind], &number, sizeof number);
	} else if (kind < 8) {
		snmp_varlist_add_variable(vars, name, len, types[kind], NULL, 0);
	} else if (kind == 8) {
		snmp_varlist_add_variable(vars, name, len, ASN_COUNTER64, &wide, sizeof wide);
	} else if (kind == 9) {
		snmp_varlist_add_variable(vars, name, len, ASN_OPAQUE_DOUBLE, &real, sizeof real);
	} else if (kind == 10) {
		snmp_varlist_add_variable(vars, name, len, ASN_OPAQUE_FLOAT, &small, sizeof small);
	} else if (kind == 11) {
		snmp_varlist_add_variable(vars, name, len, ASN_OBJECT_ID, name, len * sizeof *name);
	} else {
		memset(text, (int)(word >> 8), sizeof text);
		memcpy(text, &word, 7);
		snmp_varlist_add_variable(vars, name, len, ASN_OCTET_STR, text,
					  kind == 12 ? word % 8 : word % sizeof text);
	}
}

/* The names that were asked for, with an index of up to three numbers or something else. */
static netsnmp_variable_list *answer_to(struct fuzz_input *in, const netsnmp_pdu *asked)
{
	netsnmp_variable_list *vars = NULL;
	const uint32_t n = fuzz_below(in, 12);
	const netsnmp_variable_list *ask = asked->variables;

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t how = fuzz_byte(in);
		oid name[MAX_OID_LEN + 4];
		size_t len = ask->name_length;

		memcpy(name, ask->name, len * sizeof *name);
		if (how % 16 == 15)
			name[fuzz_below(in, (uint32_t)len)] = fuzz_byte(in);
		if (how % 16 == 14)
			len = 1 + fuzz_below(in, (uint32_t)len);
		if (how % 16 < 14)
			for (uint32_t k = 0; k < how % 4u && len < MAX_OID_LEN; k++)
				name[len++] = fuzz_byte(in) + (how >= 128 ? 0xffffff00u : 0u);
		add_value(in, &vars, name, len);
		ask = ask->next_variable != NULL ? ask->next_variable : asked->variables;
	}
	return vars;
}

/* Answer until the walk is over, or nothing is left. Returns what the walk said last. */
static int walk_on(struct snmp_walk *walk, struct fuzz_input *in)
{
	char text[160] = "";
	int rc = 1;

	while (rc > 0 && in->left > 0) {
		netsnmp_pdu *pdu = snmp_walk_message(walk);
		netsnmp_variable_list *vars;

		fuzz_expect(pdu->variables != NULL, "a question about nothing");
		vars = answer_to(in, pdu);
		snmp_free_pdu(pdu);
		if (fuzz_below(in, 16) == 15)
			rc = snmp_walk_drop(walk, (int8_t)fuzz_byte(in), text, sizeof text);
		else
			rc = snmp_walk_answer(walk, vars, text, sizeof text);
		snmp_free_varbind(vars);
		if (fuzz_below(in, 16) == 15)
			(void)snmp_walk_shrink(walk);
		fuzz_expect(rc >= 0 || text[0] != '\0', "a failure without a text");
	}
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const uint8_t how = fuzz_byte(&in);
	const struct source *source;
	struct source_sample *sample;
	struct snmp_walk walk = { 0 };

	if (how % 4 == 3) {
		take_message(&in);
		return 0;
	}
	source = fuzz_source(&descriptions[how / 4 % (sizeof descriptions / sizeof *descriptions)]);
	sample = source_sample_new(source);
	for (size_t i = 0; i < source->n_requests; i++) {
		const struct source_request *request = &source->request[i];

		if (snmp_walk_start(&walk, request, how % 4 == 1, 10) == 0 &&
		    walk_on(&walk, &in) == 0)
			(void)source_extract_cells(sample, i, walk.cells.cell, walk.cells.n_rows);
	}
	snmp_walk_fini(&walk);
	fuzz_sample_end(sample, how >= 128 ? "ms1" : NULL);
	return 0;
}
