/* ctl_not_listed.c - why a server is not in a list, from the published state and the counters. */
#include <stdlib.h>
#include <string.h>

#include <callrouter/callrouter.h>

#include "clock.h"
#include "counters.h"
#include "ctl.h"
#include "document.h"
#include "health.h"
#include "image.h"
#include "snapshot.h"
#include "words.h"

static bool is_listed(const struct cr_ticket *ticket, const char *name)
{
	for (uint32_t i = 0; i < ticket->n; i++)
		if (strcmp(ticket->server[i]->name, name) == 0)
			return true;
	return false;
}

/* By the operator or a collector; NULL: it may be contacted. */
static const char *why_not_usable(const struct image_server *server)
{
	if ((server->flags & IMAGE_SKIPPED) != 0)
		return "admin";
	if ((server->flags & IMAGE_DRAINED) != 0)
		return words_state(CR_DRAINED);
	return server->weight == 0 ? "weight 0" : NULL;
}

static void explain(json_t *list, const struct counters *counters,
		    const struct image_server *server)
{
	const struct counters_line *line =
		counters != NULL ? counters_line(counters, server->line) : NULL;
	const int64_t now = clock_now_ns();
	const char *why = why_not_usable(server);
	enum cr_state state = CR_UP;
	json_t *left = NULL;

	if (why == NULL && line != NULL) {
		state = health_state(line, now);
		why = state != CR_UP ? words_state(state) : NULL;
	}
	if (why == NULL)
		return;
	if (state == CR_ASIDE || state == CR_EJECTED)
		left = document_seconds(health_left_ns(line, now));
	(void)json_array_append_new(
		list, json_pack("{s:o,s:s,s:o}", "server",
				document_text(server->name, sizeof server->name), "reason", why,
				"for_s", left != NULL ? left : json_null()));
}

static void explain_service(json_t *list, const struct image_header *image, const char *name,
			    const struct counters *counters, const struct cr_ticket *ticket)
{
	const struct image_service *service = image_services(image);

	for (uint32_t i = 0; i < image->service.count; i++) {
		if (strcmp(service[i].name, name) != 0)
			continue;
		for (uint32_t row = 0; row < service[i].n_rows; row++) {
			const struct image_server *server =
				&image_servers(image)[image_rows(image, &service[i])[row]];

			if (!is_listed(ticket, server->name))
				explain(list, counters, server);
		}
	}
}

json_t *ctl_not_listed(const struct ctl *ctl, const char *service, const struct cr_ticket *ticket)
{
	struct snapshot_reader *reader = snapshot_reader_new(ctl->run_dir);
	struct image_header *image = NULL;
	struct counters *counters = NULL;
	json_t *list = json_array();
	struct err err = { 0 };

	if (counters_open(ctl->run_dir, true, &counters, &err) < 0)
		counters = NULL;
	if (reader != NULL && snapshot_read(reader, 0, &image, &err) > 0)
		explain_service(list, image, service, counters, ticket);
	free(image);
	counters_close(counters);
	if (reader != NULL)
		snapshot_reader_free(reader);
	return list;
}
