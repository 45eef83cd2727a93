/* source_series.h - the lines of a text in Prometheus' exposition format (0.0.4, OpenMetrics too),
 * one series after the other. */
#ifndef CR_COLLECTORS_SOURCE_SERIES_H
#define CR_COLLECTORS_SOURCE_SERIES_H

#include "source_internal.h"

#define SOURCE_LABELS_MAX 64
#define SOURCE_LINE_MAX   8192 /* bytes of one series' line */

struct source_label {
	const char *name, *value;
};

/** One line. Lives until the next one is asked for. */
struct source_series {
	const char *name;
	struct source_label label[SOURCE_LABELS_MAX];
	size_t n_labels;
	const char *value; /* as it stands: "2.4e+10", "NaN" */
	const char *time;  /* likewise; "": none */
};

struct source_series_reader {
	const char *at, *end;
	size_t line;      /* the one that was read last; from 1 */
	bool has_eof;     /* "# EOF" has come, so nothing may follow */
	const char *text; /* what is wrong with the line */
	struct source_series series;
	char buffer[SOURCE_LINE_MAX + 1];
};

/** Begin to read text, which outlives the reader. [any] */
void source_series_begin(struct source_series_reader *reader, const char *bytes, size_t len);

/** The next series. Returns 1, 0 at the end, or -EPROTO with reader->line and text. [any] */
int source_series_next(struct source_series_reader *reader, const struct source_series **out);

/** A label's value, or "". [any] */
const char *source_series_label(const struct source_series *series, const char *name);

/** Letters at the start of text that make up a metric's or a label's name. [any] */
size_t source_series_name_len(const char *text);

#endif
