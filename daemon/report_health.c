/* report_health.c - what a server's line says of its health, as members of a document. */
#include "report_parts.h"

#include "clock.h"
#include "document.h"
#include "health.h"
#include "words.h"

/* How long a state lasts still; of the others nobody knows. */
static json_t *state_for(const struct counters_line *line, enum cr_state state, int64_t now_ns)
{
	if (line == NULL || (state != CR_ASIDE && state != CR_EJECTED))
		return json_null();
	return document_seconds(health_left_ns(line, now_ns));
}

static json_t *slow_start(const struct counters_line *line, int64_t slow_start_ns, int64_t now_ns)
{
	const double ramp = line != NULL ? health_ramp(line, slow_start_ns, now_ns) : 1;

	return ramp < 1 ? document_number(ramp) : json_null();
}

const char *report_state(const struct report_source *source, const struct counters_line *line)
{
	return words_state(line != NULL ? health_state(line, source->now_ns) : CR_UP);
}

json_t *report_add_health(json_t *document, const struct report_source *source,
			  const struct counters_line *line, int64_t slow_start_ns)
{
	const enum cr_state state = line != NULL ? health_state(line, source->now_ns) : CR_UP;
	const json_int_t in_row =
		line != NULL
			? (json_int_t)atomic_load_explicit(&line->consecutive, memory_order_relaxed)
			: 0;

	if (document == NULL)
		return NULL;
	if (json_object_set_new(document, "state_for_s", state_for(line, state, source->now_ns)) ==
		    0 &&
	    json_object_set_new(document, "failures_in_row", json_integer(in_row)) == 0 &&
	    json_object_set_new(document, "slow_start",
				slow_start(line, slow_start_ns, source->now_ns)) == 0)
		return document;
	json_decref(document);
	return NULL;
}

json_t *report_check(const struct report_source *source, const struct image_server *server)
{
	struct check_report check;

	if (source->checks == NULL || server == NULL ||
	    !checks_get(source->checks, server->line, &check))
		return json_null();
	return json_pack("{s:s,s:b,s:I,s:I,s:I,s:o}", "what", check.what, "down", check.is_down,
			 "passed_in_row", (json_int_t)check.good, "failed_in_row",
			 (json_int_t)check.bad, "runs", (json_int_t)check.runs, "error",
			 document_text_or_null(check.error, sizeof check.error));
}
