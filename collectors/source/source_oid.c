/* source_oid.c - SNMP: a selector is an OID in numbers, .1.3.6.1.4.1.2021.4.5.0 */
#include "source_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_MAX = 128 }; /* of SNMP itself */

static void release(void *user)
{
	struct source_oid *oid = user;

	if (oid != NULL)
		free(oid->id);
	free(oid);
}

/* One number; *at moves on. */
static int take_id(const char *text, const char **at, uint32_t *out,
		   struct source_selector_fault *fault)
{
	const char *start = *at;
	uint64_t id = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++) {
		id = id * 10 + (uint64_t)(**at - '0');
		if (id > UINT32_MAX)
			return source_selector_fail(fault, (size_t)(start - text) + 1,
						    "this number is above 4294967295");
	}
	if (*at == start)
		return source_selector_fail(fault, (size_t)(start - text) + 1,
					    "an OID is written in numbers, as in "
					    ".1.3.6.1.4.1.2021.4.5.0");
	*out = (uint32_t)id;
	return 0;
}

static int read_ids(struct source_oid *oid, const char *text, struct source_selector_fault *fault)
{
	const char *at = text + (text[0] == '.');
	int rc;

	for (;; at++) {
		if (oid->len == IDS_MAX)
			return source_selector_fail(fault, (size_t)(at - text) + 1,
						    "more than %d numbers", IDS_MAX);
		rc = take_id(text, &at, &oid->id[oid->len], fault);
		if (rc < 0)
			return rc;
		oid->len++;
		if (*at == '\0')
			break;
		if (*at != '.')
			return source_selector_fail(fault, (size_t)(at - text) + 1,
						    "between the numbers come dots");
	}
	if (oid->len < 2 || oid->id[0] > 2 || (oid->id[0] < 2 && oid->id[1] > 39))
		return source_selector_fail(fault, 1, "no OID begins like that");
	return 0;
}

static int compile(const char *text, void **out, struct source_selector_fault *fault)
{
	struct source_oid *oid = calloc(1, sizeof *oid);
	int rc = -ENOMEM;

	if (oid == NULL)
		return -ENOMEM;
	oid->id = calloc(IDS_MAX, sizeof *oid->id);
	if (oid->id != NULL)
		rc = read_ids(oid, text, fault);
	if (rc < 0) {
		release(oid);
		return rc;
	}
	*out = oid;
	return 0;
}

const struct source_oid *source_oid_get(const void *selector)
{
	return selector;
}

static int read_nothing(struct source_reading *reading, const struct source_answer *answer)
{
	(void)answer;
	return source_reading_fail(reading, CR_REPLY, "an SNMP answer does not come as text");
}

const struct source_kind source_kind_snmp_get = {
	.word = "snmp-get",
	.is_snmp = true,
	.compile = compile,
	.release = release,
	.read = read_nothing,
};

const struct source_kind source_kind_snmp_table = {
	.word = "snmp-table",
	.is_snmp = true,
	.compile = compile,
	.release = release,
	.read = read_nothing,
};
