/* ranker_collector.c - a collector on trial in the ranker's process: open(), check() of targets,
 * close(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "ranker_wire.h"
#include "text.h"

#define OPTIONS_MAX 64

static int try_parse(const struct collector_trial *trial, char *packed, union cr_value *values,
		     struct err *err)
{
	const struct cr_option *table = trial->plugin->collector.options;
	struct option_text given[OPTIONS_MAX];
	int n = packed != NULL ? option_unpack(packed, given, OPTIONS_MAX) : -ENOMEM;

	if (n < 0)
		return err_set(err, n, "options could not be read");
	if (option_count(table) > OPTIONS_MAX)
		return err_set(err, -E2BIG, "more than 64 options");
	return option_parse(table, given, (size_t)n, values, err);
}

static int try_open(const struct collector_trial *trial, const union cr_value *values, void **self,
		    struct err *err)
{
	const struct cr_collector *collector = &trial->plugin->collector;
	char text[sizeof trial->area->refused] = "";
	const struct cr_open in = { .host = trial->host,
				    .option = values,
				    .source = trial->source,
				    .err = text,
				    .err_len = sizeof text };
	int failed = 0;

	trial->area->phase = WIRE_OPENING;
	if (collector->open != NULL)
		failed = collector->open(&in, self);
	text[sizeof text - 1] = '\0';
	if (failed >= 0)
		return 0;
	(void)text_copy(trial->area->refused, sizeof trial->area->refused, text);
	text[strcspn(text, "\n")] = '\0';
	return err_set(err, failed, "open() failed: %s",
		       text[0] != '\0' ? text : err_words(failed));
}

/* What is in the area now: verdicts come into it. */
static void try_targets(const struct collector_trial *trial, void *self)
{
	const struct cr_collector *collector = &trial->plugin->collector;
	struct wire_targets *targets = &trial->area->targets;
	const char *target = targets->text;

	if (collector->check == NULL)
		return;
	trial->area->phase = WIRE_CHECKING;
	for (uint32_t i = 0; i < targets->n; i++) {
		struct wire_verdict *verdict = &targets->verdict[i];
		char text[sizeof verdict->text] = "";
		const int failed = collector->check(self, target, text, sizeof text);

		text[sizeof text - 1] = '\0';
		if (failed < 0)
			text_copy(verdict->text, sizeof verdict->text,
				  text[0] != '\0' ? text : err_words(failed));
		verdict->is_bad = failed < 0;
		target += strlen(target) + 1;
	}
}

int ranker_try_collector(const struct collector_trial *trial, bool with_targets, struct err *err)
{
	const struct cr_collector *collector = &trial->plugin->collector;
	union cr_value values[OPTIONS_MAX] = { { 0 } };
	char *packed = strdup(trial->options);
	void *self = NULL;
	int failed = try_parse(trial, packed, values, err);

	if (failed >= 0)
		failed = try_open(trial, values, &self, err);
	if (failed >= 0 && with_targets)
		try_targets(trial, self);
	trial->area->phase = WIRE_CLOSING;
	if (failed >= 0 && collector->close != NULL)
		collector->close(self);
	trial->area->phase = WIRE_WAITING;
	free(packed);
	return failed < 0 ? failed : 0;
}
