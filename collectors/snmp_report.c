/* snmp_report.c - as little BER as discovery and reports need; every length is checked. */
#include "snmp_report.h"

#include <errno.h>
#include <string.h>

#define TAG_INTEGER  0x02
#define TAG_STRING   0x04
#define TAG_OID      0x06
#define TAG_SEQUENCE 0x30
#define TAG_GET      0xa0
#define TAG_RESPONSE 0xa2
#define TAG_REPORT   0xa8

#define FLAG_PRIVATE 0x02

/* clang-format off */
static const uint8_t question[] = {
	TAG_SEQUENCE, 62, TAG_INTEGER, 1, 3, /* version 3 */
	TAG_SEQUENCE, 17, TAG_INTEGER, 4, 0, 0, 0, 0, /* message id */
	TAG_INTEGER, 3, 0, 0xff, 0xe3, TAG_STRING, 1, 4, /* 65507 bytes; reportable */
	TAG_INTEGER, 1, 3, /* user-based security; engine, boots, time, user and keys: none */
	TAG_STRING, 16, TAG_SEQUENCE, 14, TAG_STRING, 0, TAG_INTEGER, 1, 0, TAG_INTEGER, 1, 0,
	TAG_STRING, 0, TAG_STRING, 0, TAG_STRING, 0,
	TAG_SEQUENCE, 20, TAG_STRING, 0, TAG_STRING, 0, /* engine and name of the context */
	TAG_GET, 14, TAG_INTEGER, 4, 0, 0, 0, 0, /* request id */
	TAG_INTEGER, 1, 0, TAG_INTEGER, 1, 0, TAG_SEQUENCE, 0, /* of nothing */
};
/* clang-format on */

_Static_assert(sizeof question == SNMP_DISCOVER_LEN, "the outer length is 62");

size_t snmp_report_ask(uint8_t out[SNMP_DISCOVER_LEN], uint32_t message)
{
	memcpy(out, question, sizeof question);
	for (int i = 0; i < 4; i++)
		out[9 + i] = out[52 + i] = (uint8_t)(message >> (24 - 8 * i));
	return sizeof question;
}

/* What is left of the message. */
struct bytes {
	const uint8_t *at, *end;
};

/* Take the next element off. Returns false if it is none with this tag that lies in bytes. */
static bool take(struct bytes *bytes, uint8_t tag, struct bytes *content)
{
	size_t len;

	if (bytes->end - bytes->at < 2 || *bytes->at != tag)
		return false;
	len = bytes->at[1];
	bytes->at += 2;
	if (len >= 0x80) {
		size_t n = len & 0x7f;

		if (n == 0 || n > 4)
			return false;
		for (len = 0; n > 0; n--) {
			if (bytes->at == bytes->end)
				return false;
			len = len << 8 | *bytes->at++;
		}
	}
	if (len > (size_t)(bytes->end - bytes->at))
		return false;
	content->at = bytes->at;
	content->end = bytes->at += len;
	return true;
}

/* A number of 0 .. 2^32 - 1. */
static bool take_number(struct bytes *bytes, uint32_t *number)
{
	struct bytes content;

	if (!take(bytes, TAG_INTEGER, &content) || content.at == content.end ||
	    content.end - content.at > 5)
		return false;
	for (*number = 0; content.at < content.end; content.at++)
		*number = *number << 8 | *content.at;
	return true;
}

static bool take_head(struct bytes *bytes, struct snmp_report *report, bool *is_private)
{
	struct bytes head, flags;
	uint32_t size, model;

	if (!take(bytes, TAG_SEQUENCE, &head) || !take_number(&head, &report->message) ||
	    !take_number(&head, &size) || !take(&head, TAG_STRING, &flags) ||
	    flags.end - flags.at != 1 || !take_number(&head, &model))
		return false;
	*is_private = (*flags.at & FLAG_PRIVATE) != 0;
	return model == 3;
}

static bool take_engine(struct bytes *bytes, struct snmp_engine *engine)
{
	struct bytes wrapped, security, id;

	if (!take(bytes, TAG_STRING, &wrapped) || !take(&wrapped, TAG_SEQUENCE, &security) ||
	    !take(&security, TAG_STRING, &id))
		return false;
	engine->len = (size_t)(id.end - id.at);
	if (engine->len < 5 || engine->len > SNMP_ENGINE_MAX)
		return false;
	memcpy(engine->id, id.at, engine->len);
	return true;
}

/* The object that a report is about: usmStats.COMPLAINT.0. */
static bool take_complaint(struct bytes *bytes, enum snmp_complaint *complaint)
{
	static const uint8_t stats[] = { 0x2b, 6, 1, 6, 3, 15, 1, 1 };
	struct bytes scope, text, report, objects, object, name;
	uint32_t number;

	if (!take(bytes, TAG_SEQUENCE, &scope) || !take(&scope, TAG_STRING, &text) ||
	    !take(&scope, TAG_STRING, &text) || !take(&scope, TAG_REPORT, &report) ||
	    !take_number(&report, &number) || !take_number(&report, &number) ||
	    !take_number(&report, &number) || !take(&report, TAG_SEQUENCE, &objects) ||
	    !take(&objects, TAG_SEQUENCE, &object) || !take(&object, TAG_OID, &name) ||
	    name.end - name.at != sizeof stats + 2 || memcmp(name.at, stats, sizeof stats) != 0)
		return false;
	number = name.at[sizeof stats];
	if (number < SNMP_UNSUPPORTED_LEVEL || number > SNMP_CANNOT_DECRYPT ||
	    name.at[sizeof stats + 1] != 0)
		return false;
	*complaint = (enum snmp_complaint)number;
	return true;
}

int snmp_report_read(const uint8_t *in, size_t len, struct snmp_report *report)
{
	struct bytes bytes = { in, in + len }, message;
	bool is_private = true;
	uint32_t version;

	if (!take(&bytes, TAG_SEQUENCE, &message) || !take_number(&message, &version) ||
	    version != 3 || !take_head(&message, report, &is_private) || is_private ||
	    !take_engine(&message, &report->engine) ||
	    !take_complaint(&message, &report->complaint))
		return -EBADMSG;
	return 0;
}

bool snmp_report_id(const uint8_t *in, size_t len, uint32_t *id)
{
	struct bytes bytes = { in, in + len }, message, content;
	struct snmp_report report;
	bool is_private;
	uint32_t version;

	if (!take(&bytes, TAG_SEQUENCE, &message) || !take_number(&message, &version))
		return false;
	if (version != 3)
		return take(&message, TAG_STRING, &content) &&
		       take(&message, TAG_RESPONSE, &content) && take_number(&content, id);
	if (!take_head(&message, &report, &is_private))
		return false;
	*id = report.message;
	return true;
}

bool snmp_report_is_from(const uint8_t *in, size_t len, uint32_t version, const char *community,
			 size_t community_len)
{
	struct bytes bytes = { in, in + len }, message, text;
	uint32_t number;

	return take(&bytes, TAG_SEQUENCE, &message) && take_number(&message, &number) &&
	       number == version && take(&message, TAG_STRING, &text) &&
	       (size_t)(text.end - text.at) == community_len &&
	       memcmp(text.at, community, community_len) == 0;
}
