/* report_failing.c - which sources cannot find out about a server, and what they say. */
#include "report_parts.h"

#include "document.h"

#define SHOWN_MOST 16 /* of a service: with thousands down the first ones tell enough */

static json_t *failing_document(const struct report_source *source,
				const struct servers_failing *failing)
{
	return json_pack("{s:o,s:o,s:o}", "source",
			 document_text(failing->source, sizeof failing->source), "error",
			 document_text(failing->text, sizeof failing->text), "for_s",
			 document_seconds(source->now_ns - failing->since_ns));
}

json_t *report_failing(const struct report_source *source, size_t server)
{
	struct servers_failing failing;
	json_t *list = json_array();

	for (size_t k = 0; servers_get_failing(source->servers, server, k, &failing); k++)
		if (json_array_append_new(list, failing_document(source, &failing)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* Appends what fails at one server, as long as there is room. Returns false without memory. */
static bool append(json_t *list, const struct report_source *source, size_t server)
{
	const char *const name = source->config->servers[server].name;
	struct servers_failing failing;
	json_t *entry;

	for (size_t k = 0; json_array_size(list) < SHOWN_MOST &&
			   servers_get_failing(source->servers, server, k, &failing);
	     k++) {
		entry = failing_document(source, &failing);
		if (entry == NULL || json_object_set_new(entry, "server", json_string(name)) < 0 ||
		    json_array_append(list, entry) < 0) {
			json_decref(entry);
			return false;
		}
		json_decref(entry);
	}
	return true;
}

json_t *report_service_failing(const struct report_source *source,
			       const struct config_service *service)
{
	struct servers_failing first;
	json_t *list = json_array();
	json_int_t n = 0;

	for (size_t i = 0; i < service->n_servers; i++) {
		if (!servers_get_failing(source->servers, service->servers[i], 0, &first))
			continue;
		n++;
		if (!append(list, source, service->servers[i])) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:I,s:o}", "servers", n, "list", list);
}
