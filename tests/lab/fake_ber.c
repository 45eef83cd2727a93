/* fake_ber.c - SNMP messages as bytes, by hand. */
#include "fake_ber.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "fake_snmp.h"

#define TAG_SEQUENCE 0x30
#define TAG_OID      0x06

/*** Reading a request ***/

/* Enter the element at *p: its content's length, or -1. */
static long enter(const uint8_t **p, const uint8_t *end, uint8_t *tag)
{
	size_t len;

	if (end - *p < 2)
		return -1;
	*tag = *(*p)++;
	len = *(*p)++;
	if (len > 0x80) {
		size_t bytes = len & 0x7f;

		for (len = 0; bytes > 0 && *p < end; bytes--)
			len = len << 8 | *(*p)++;
	}
	return len <= (size_t)(end - *p) ? (long)len : -1;
}

static int64_t read_integer(const uint8_t **p, const uint8_t *end)
{
	uint8_t tag;
	const long len = enter(p, end, &tag);
	int64_t number = len > 0 && **p >= 0x80 ? -1 : 0;

	for (long i = 0; i < len; i++)
		number = (int64_t)((uint64_t)number << 8) | *(*p)++;
	return number;
}

static struct ber_name read_oid(const uint8_t *p, const uint8_t *end)
{
	struct ber_name name = { .id = { *p / 40, *p % 40 }, .n = 2 };

	for (p++; p < end && name.n < BER_OID_MAX; p++) {
		name.id[name.n] = name.id[name.n] << 7 | (*p & 0x7f);
		if (*p < 0x80)
			name.n++;
	}
	return name;
}

/* The part that all versions have. */
static int read_pdu(const uint8_t *p, const uint8_t *end, struct ber_request *request)
{
	uint8_t tag;
	long len;

	if (enter(&p, end, &request->tag) < 0)
		return -1;
	request->id = read_integer(&p, end);
	request->a = read_integer(&p, end);
	request->b = read_integer(&p, end);
	if (enter(&p, end, &tag) < 0)
		return -1;
	for (request->n = 0; p < end && request->n < BER_BINDS_MAX; request->n++) {
		const uint8_t *next, *q;

		len = enter(&p, end, &tag);
		if (len < 0)
			return -1;
		next = p + len;
		q = p;
		len = enter(&q, next, &tag);
		if (len < 1 || tag != TAG_OID)
			return -1;
		request->name[request->n] = read_oid(q, q + len);
		p = next;
	}
	return 0;
}

/* A text of at most max bytes. */
static long read_text(const uint8_t **p, const uint8_t *end, void *out, long max)
{
	uint8_t tag;
	const long len = enter(p, end, &tag);

	if (len < 0 || len > max || tag != FAKE_STRING)
		return -1;
	memcpy(out, *p, (size_t)len);
	*p += len;
	return len;
}

/* Version 3, behind the version. */
static int read_v3(const uint8_t *p, const uint8_t *end, struct ber_request *request)
{
	char text[256];
	uint8_t tag;
	long len;

	if (enter(&p, end, &tag) < 0)
		return -1;
	request->message = read_integer(&p, end);
	read_integer(&p, end); /* the greatest message it takes */
	if (read_text(&p, end, &request->flags, 1) != 1 || read_integer(&p, end) != 3)
		return -1;
	if (enter(&p, end, &tag) < 0 || enter(&p, end, &tag) < 0)
		return -1;
	len = read_text(&p, end, request->engine, sizeof request->engine);
	request->engine_len = len > 0 ? (size_t)len : 0;
	read_integer(&p, end);
	read_integer(&p, end);
	len = read_text(&p, end, request->user, sizeof request->user - 1);
	request->user[len > 0 ? len : 0] = '\0';
	if (read_text(&p, end, text, sizeof text) < 0 || read_text(&p, end, text, sizeof text) < 0)
		return -1;
	request->about[0] = '\0';
	if ((request->flags & 2) != 0)
		return 0;
	if (enter(&p, end, &tag) < 0 || read_text(&p, end, text, sizeof text) < 0)
		return -1;
	len = read_text(&p, end, request->about, sizeof request->about - 1);
	if (len < 0)
		return -1;
	request->about[len] = '\0';
	return read_pdu(p, end, request);
}

int ber_read(const uint8_t *p, size_t size, struct ber_request *request)
{
	const uint8_t *end = p + size;
	uint8_t tag;
	char community[6 + sizeof request->about];
	long len;

	request->n = 0;
	request->id = 0;
	request->tag = 0;
	if (enter(&p, end, &tag) < 0)
		return -1;
	request->version = read_integer(&p, end);
	if (request->version == BER_V3)
		return read_v3(p, end, request);
	len = read_text(&p, end, community, sizeof community - 1);
	if (len < 6 || memcmp(community, "public", 6) != 0 || (len > 6 && community[6] != '@'))
		return -1;
	memcpy(request->about, community + 6, (size_t)len - 6);
	request->about[len - 6] = '\0';
	return read_pdu(p, end, request);
}

/*** Writing an answer: from its end to its beginning, so that lengths are known ***/

static void put_byte(struct ber_writer *w, size_t byte)
{
	if (w->at == 0)
		abort();
	w->buf[--w->at] = (uint8_t)byte;
}

/* The element whose content ends at `end` and begins where we are. */
static void put_head(struct ber_writer *w, uint8_t tag, size_t end)
{
	const size_t len = end - w->at;

	put_byte(w, len & 0xff);
	if (len > 0xff)
		put_byte(w, len >> 8);
	if (len > 0x7f)
		put_byte(w, len > 0xff ? 0x82 : 0x81);
	put_byte(w, tag);
}

static void put_number(struct ber_writer *w, uint8_t tag, int64_t number)
{
	const size_t end = w->at;
	const bool is_signed = tag == FAKE_INTEGER;
	bool is_whole;

	do {
		const uint8_t byte = (uint8_t)number;

		put_byte(w, byte);
		number = is_signed ? number >> 8 : (int64_t)((uint64_t)number >> 8);
		is_whole =
			(number == 0 && byte < 0x80) || (is_signed && number == -1 && byte >= 0x80);
	} while (!is_whole);
	put_head(w, tag, end);
}

static void put_oid(struct ber_writer *w, const struct ber_name *name)
{
	const size_t end = w->at;

	for (size_t i = name->n; i-- > 2;) {
		uint32_t id = name->id[i];

		put_byte(w, id & 0x7f);
		while ((id >>= 7) != 0)
			put_byte(w, 0x80 | (id & 0x7f));
	}
	put_byte(w, name->id[0] * 40 + name->id[1]);
	put_head(w, TAG_OID, end);
}

static void put_object(struct ber_writer *w, const struct ber_object *object)
{
	const size_t end = w->at;
	size_t value_end = w->at;

	switch (object->type) {
	case FAKE_STRING:
		for (size_t i = object->len > 0 ? object->len : strlen(object->text); i-- > 0;)
			put_byte(w, (uint8_t)object->text[i]);
		put_head(w, FAKE_STRING, value_end);
		break;
	case FAKE_NULL:
	case FAKE_NO_OBJECT:
	case FAKE_NO_INSTANCE:
	case FAKE_END:
		put_head(w, object->type, value_end);
		break;
	default:
		put_number(w, object->type, object->number);
		break;
	}
	put_oid(w, &object->name);
	put_head(w, TAG_SEQUENCE, end);
}

static void put_bytes(struct ber_writer *w, const void *bytes, size_t len)
{
	const size_t end = w->at;

	while (len > 0)
		put_byte(w, ((const uint8_t *)bytes)[--len]);
	put_head(w, FAKE_STRING, end);
}

/* What lies around the PDU, from behind. */
static void put_v3(struct ber_writer *w, const struct ber_request *request,
		   const struct ber_answer *answer)
{
	size_t end;

	put_bytes(w, answer->context, strlen(answer->context));
	put_bytes(w, answer->engine, answer->engine_len);
	put_head(w, TAG_SEQUENCE, BER_MAX);
	end = w->at;
	put_bytes(w, "", 0);
	put_bytes(w, "", 0);
	put_bytes(w, request->user, strlen(request->user));
	put_number(w, FAKE_INTEGER, answer->time);
	put_number(w, FAKE_INTEGER, answer->boots);
	put_bytes(w, answer->engine, answer->engine_len);
	put_head(w, TAG_SEQUENCE, end);
	put_head(w, FAKE_STRING, end);
	end = w->at;
	put_number(w, FAKE_INTEGER, 3);
	put_bytes(w, "", 1); /* no flags */
	put_number(w, FAKE_INTEGER, 65507);
	put_number(w, FAKE_INTEGER, request->message);
	put_head(w, TAG_SEQUENCE, end);
}

void ber_write(struct ber_writer *w, const struct ber_request *request,
	       const struct ber_answer *answer, const struct ber_binds *binds)
{
	w->at = BER_MAX;
	for (size_t i = binds->n; i-- > 0;)
		put_object(w, &binds->object[i]);
	put_head(w, TAG_SEQUENCE, BER_MAX);
	put_number(w, FAKE_INTEGER, answer->index);
	put_number(w, FAKE_INTEGER, answer->error);
	put_number(w, FAKE_INTEGER, answer->id);
	put_head(w, answer->tag, BER_MAX);
	if (request->version == BER_V3)
		put_v3(w, request, answer);
	else
		put_bytes(w, answer->community, strlen(answer->community));
	put_number(w, FAKE_INTEGER, request->version);
	put_head(w, TAG_SEQUENCE, BER_MAX);
}

/*** Names ***/

int ber_compare(const struct ber_name *a, const struct ber_name *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (a->id[i] != b->id[i])
			return a->id[i] < b->id[i] ? -1 : 1;
	return a->n < b->n ? -1 : a->n > b->n;
}

struct ber_name ber_read_name(const char *text)
{
	struct ber_name name = { .n = 0 };
	char *end;

	for (; *text == '.' && name.n < BER_OID_MAX; text = end)
		name.id[name.n++] = (uint32_t)strtoul(text + 1, &end, 10);
	return name;
}
