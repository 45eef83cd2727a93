/* sample.c - metrics of a server, and recorded ones. */
#include "sample.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define COLUMNS_MAX 16

enum sample_metric {
	HEAP_FREE,
	HEAP_SIZE,
	HEAP_MAX,
	HEAP_USED,
	HEAP_AVAILABLE,
	HEAP_FREE_AFTER_GC,
	HEAP_FREE_RATIO,
	BUSY_THREADS,
	MAX_THREADS,
	BUSY_RATIO,
	HOGGING_THREADS,
	REQUESTS,
	ERRORS,
	CPU_LOAD,
	METRICS,
};

static const char *const metrics[METRICS] = {
	[HEAP_FREE] = "jvm_heap_free_bytes",
	[HEAP_SIZE] = "jvm_heap_size_bytes",
	[HEAP_MAX] = "jvm_heap_max_bytes",
	[HEAP_USED] = "jvm_heap_used_bytes",
	[HEAP_AVAILABLE] = "jvm_heap_available_bytes",
	[HEAP_FREE_AFTER_GC] = "jvm_heap_free_after_gc_bytes",
	[HEAP_FREE_RATIO] = "jvm_heap_free_ratio",
	[BUSY_THREADS] = "busy_threads",
	[MAX_THREADS] = "max_threads",
	[BUSY_RATIO] = "busy_threads_ratio",
	[HOGGING_THREADS] = "hogging_threads",
	[REQUESTS] = "requests_total",
	[ERRORS] = "request_errors_total",
	[CPU_LOAD] = "cpu_load_ratio",
};

int sample_index(const char *name)
{
	for (int i = 0; i < METRICS; i++)
		if (strcmp(metrics[i], name) == 0)
			return i;
	return -1;
}

double sample_value(const struct sample *sample, int index)
{
	switch ((enum sample_metric)index) {
	case HEAP_FREE:
	case HEAP_AVAILABLE: /* the heap has its full size from the start */
		return sample->heap - sample->used;
	case HEAP_SIZE:
	case HEAP_MAX:
		return sample->heap;
	case HEAP_USED:
		return sample->used;
	case HEAP_FREE_AFTER_GC:
		return sample->heap - sample->after_gc;
	case HEAP_FREE_RATIO:
		return (sample->heap - sample->used) / sample->heap;
	case BUSY_THREADS:
		return sample->calls;
	case MAX_THREADS:
		return sample->threads;
	case BUSY_RATIO:
		return sample->calls / sample->threads;
	case HOGGING_THREADS:
		return sample->hogs;
	case REQUESTS:
		return sample->ended;
	case ERRORS:
		return sample->failed;
	case CPU_LOAD:
		return sample->cpu;
	case METRICS:
		break;
	}
	return NAN;
}

/*** Traces ***/

/* Those that a row keeps come first, in its order; the rest is for other readers. */
static const char *const columns[] = { "t_ms",      "free",      "total", "max",       "after_gc",
				       "hogs",      "live",      "calls", "completed", "failed",
				       "minor_gcs", "major_gcs", "gc_ms" };
#define COLUMNS (sizeof columns / sizeof *columns)

/* The comma-separated words of a line, in place. Returns how many. */
static unsigned split(char *line, char **word, unsigned room)
{
	unsigned n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (n < room) {
		char *comma = strchr(line, ',');

		word[n++] = line;
		if (comma == NULL)
			break;
		*comma = '\0';
		line = comma + 1;
	}
	return n;
}

static int trace_header(char *line, int *column, unsigned *n, struct err *err)
{
	char *word[COLUMNS_MAX];

	*n = split(line, word, COLUMNS_MAX);
	for (unsigned i = 0; i < *n; i++) {
		column[i] = -1;
		for (size_t k = 0; k < COLUMNS; k++)
			if (strcmp(word[i], columns[k]) == 0)
				column[i] = (int)k;
		if (column[i] < 0)
			return err_set(err, -EINVAL, "unknown column \"%s\"", word[i]);
	}
	return *n >= 4 ? 0 : err_set(err, -EINVAL, "the columns t_ms,free,total,max are wanted");
}

static int trace_line(struct trace *trace, char *line, const int *column, unsigned n,
		      struct err *err)
{
	double value[COLUMNS] = { [4] = NAN, [5] = NAN };
	struct trace_row *rows;
	char *word[COLUMNS_MAX];

	if (split(line, word, COLUMNS_MAX) != n)
		return err_set(err, -EINVAL, "%u values are wanted", n);
	for (unsigned i = 0; i < n; i++)
		if (text_real(word[i], &value[column[i]]) < 0)
			return err_set(err, -EINVAL, "\"%s\" is not a number", word[i]);
	rows = realloc(trace->row, (trace->n + 1) * sizeof *rows);
	if (rows == NULL)
		return err_set(err, -ENOMEM, "no memory");
	trace->row = rows;
	rows[trace->n++] = (struct trace_row){ value[0] / 1000, value[1], value[2],
					       value[3],        value[4], value[5] };
	return 0;
}

int trace_read(struct trace *trace, const char *path, struct err *err)
{
	FILE *file = fopen(path, "re");
	unsigned n = 0, number = 0;
	int column[COLUMNS_MAX], code = 0;
	char line[512];

	*trace = (struct trace){ 0 };
	if (file == NULL)
		return err_set(err, -errno, "%s: %s", path, err_words(errno));
	while (code == 0 && fgets(line, sizeof line, file) != NULL) {
		number++;
		if (line[0] == '#')
			continue;
		code = n == 0 ? trace_header(line, column, &n, err)
			      : trace_line(trace, line, column, n, err);
	}
	(void)fclose(file);
	if (code == 0 && trace->n < 2)
		code = err_set(err, -EINVAL, "two lines of values at least are wanted");
	if (code < 0) {
		err_prefix(err, "%s:%u", path, number);
		trace_fini(trace);
	}
	return code;
}

void trace_fini(struct trace *trace)
{
	free(trace->row);
	*trace = (struct trace){ 0 };
}

void trace_apply(const struct trace *trace, double at_s, struct sample *sample)
{
	const double length_s = trace->row[trace->n - 1].at_s;
	const double within_s = at_s - (double)(int64_t)(at_s / length_s) * length_s;
	const struct trace_row *row = trace->row;
	double scale;

	while (row + 1 < trace->row + trace->n && row[1].at_s <= within_s)
		row++;
	scale = sample->heap / row->max;
	sample->used = (row->total - row->free) * scale;
	if (!isnan(row->after_gc))
		sample->after_gc = row->after_gc * scale;
	if (!isnan(row->hogs))
		sample->hogs = row->hogs;
}
