/* report_failing.c - which sources cannot find out about a server, and what they say. */
#include "report_parts.h"

#include "document.h"

#define SHOWN_MOST 16 /* of a service: with thousands down the first ones tell enough */

/* name: of the server, or NULL where that is clear. */
static json_t *failing_document(const struct report_source *source,
				const struct servers_failing *failing, const char *name)
{
	return json_pack("{s:o,s:o,s:o,s:s*}", "source",
			 document_text(failing->source, sizeof failing->source), "error",
			 document_text(failing->text, sizeof failing->text), "for_s",
			 document_seconds(source->now_ns - failing->since_ns), "server", name);
}

/* Appends what fails at one server, up to a length of most. Returns false without memory. */
static bool append(json_t *list, size_t most, const struct report_source *source, size_t server,
		   const char *name)
{
	struct servers_failing failing;

	for (size_t k = 0; json_array_size(list) < most &&
			   servers_get_failing(source->servers, server, k, &failing);
	     k++)
		if (json_array_append_new(list, failing_document(source, &failing, name)) < 0)
			return false;
	return true;
}

json_t *report_failing(const struct report_source *source, size_t server)
{
	json_t *list = json_array();

	if (append(list, SIZE_MAX, source, server, NULL))
		return list;
	json_decref(list);
	return NULL;
}

json_t *report_service_failing(const struct report_source *source,
			       const struct config_service *service)
{
	struct servers_failing first;
	json_t *list = json_array();
	json_int_t n = 0;

	for (size_t i = 0; i < service->n_servers; i++) {
		const size_t server = service->servers[i];

		if (!servers_get_failing(source->servers, server, 0, &first))
			continue;
		n++;
		if (!append(list, SHOWN_MOST, source, server,
			    source->config->servers[server].name)) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:I,s:o}", "servers", n, "list", list);
}
