/*
 * jolokia.c - reads {"value":{"used":..,"committed":..,"max":..},"status":200}; an error of JMX
 * comes with HTTP status 200 and another status in the body.
 */
#include "jolokia.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <jansson.h>

static const struct {
	const char *key;
	bool is_needed;
} fields[] = { { "used", true }, { "committed", true }, { "max", false } };

static const char *const metrics[] = { "jvm_heap_used_bytes", "jvm_heap_size_bytes",
				       "jvm_heap_max_bytes", NULL };

/* Numbers are strings where the agent is set up so (serializeLong), for the sake of JavaScript. */
static bool number_get(const json_t *json, double *out)
{
	if (json_is_string(json))
		return http_number(json_string_value(json), out);
	if (!json_is_number(json))
		return false;
	*out = json_number_value(json);
	if (*out == -1)
		*out = (double)NAN;
	return true;
}

static int read_status(const json_t *root, struct http_reading *reading)
{
	const json_t *status = json_object_get(root, "status");
	const json_t *error = json_object_get(root, "error");
	json_int_t code = json_integer_value(status);

	if (!json_is_integer(status))
		return http_reading_fail(reading, CR_REPLY,
					 "not an answer of Jolokia: it has no status");
	if (code == 200)
		return 0;
	return http_reading_fail(reading, code == 401 || code == 403 ? CR_AUTH : CR_REPLY,
				 "Jolokia's status %" JSON_INTEGER_FORMAT ": %s", code,
				 json_is_string(error) ? json_string_value(error)
						       : "no reason given");
}

static int read_value(const json_t *root, struct http_reading *reading)
{
	const json_t *value = json_object_get(root, "value");

	if (!json_is_object(value))
		return http_reading_fail(reading, CR_REPLY, "\"value\" is not an object");
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		const json_t *field = json_object_get(value, fields[i].key);

		if (!field && !fields[i].is_needed)
			continue;
		if (!field)
			return http_reading_fail(reading, CR_VALUE, "\"value\" has no \"%s\"",
						 fields[i].key);
		if (!number_get(field, &reading->value[i]))
			return http_reading_fail(reading, CR_VALUE, "\"%s\" is not a number",
						 fields[i].key);
	}
	return 0;
}

static int parse(const char *body, size_t len, struct http_reading *reading)
{
	json_error_t where;
	json_t *root;
	int rc;

	if (http_looks_like_html(body, len))
		return http_reading_fail(reading, CR_REPLY,
					 "not JSON: looks like HTML (login page?)");
	root = json_loadb(body, len, 0, &where);
	if (!root)
		return http_reading_fail(reading, CR_REPLY, "bad JSON in line %d, column %d: %s",
					 where.line, where.column, where.text);
	if (!json_is_object(root))
		rc = http_reading_fail(reading, CR_REPLY,
				       "not an answer of Jolokia: it is no JSON object");
	else
		rc = read_status(root, reading);
	if (rc == 0)
		rc = read_value(root, reading);
	json_decref(root);
	return rc;
}

const struct http_profile jolokia_profile = {
	.path = "/jolokia/read/java.lang:type=Memory/HeapMemoryUsage",
	.accept = "Accept: application/json",
	.allow = "Jolokia's policy has to allow reading java.lang:type=Memory",
	.metrics = metrics,
	.parse = parse,
};
