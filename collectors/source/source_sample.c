/* source_sample.c - a sample: its rows by name, its notes, and the verdict. */
#include "source_sample.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source_sample *source_sample_new(const struct source *source)
{
	struct source_sample *sample = calloc(1, sizeof *sample);

	if (sample == NULL)
		return NULL;
	sample->source = source;
	sample->progress = calloc(1, sizeof *sample->progress);
	if (sample->progress != NULL)
		sample->progress->outcome =
			calloc(source->n_requests, sizeof *sample->progress->outcome);
	if (sample->progress != NULL && sample->progress->outcome != NULL)
		return sample;
	source_sample_free(sample);
	return NULL;
}

static void row_fini(struct source_row *row)
{
	free(row->value);
	free(row->state);
	free(row->reject);
}

void source_sample_free(struct source_sample *sample)
{
	if (sample == NULL)
		return;
	for (size_t i = 0; i < sample->n_rows; i++)
		row_fini(&sample->row[i]);
	free(sample->row);
	free(sample->note);
	if (sample->progress != NULL) {
		free(sample->progress->outcome);
		source_names_fini(&sample->progress->names);
	}
	free(sample->progress);
	free(sample);
}

void source_clean(char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

void source_sample_note(struct source_sample *sample, const char *row, size_t metric,
			enum cr_why why, const char *fmt, ...)
{
	struct source_note *note;
	va_list args;

	if (sample->note == NULL)
		sample->note = calloc(SOURCE_NOTES_MAX, sizeof *sample->note);
	sample->progress->is_out_of_memory |= sample->note == NULL;
	if (sample->note == NULL || sample->n_notes == SOURCE_NOTES_MAX) {
		sample->n_unnoted++;
		return;
	}
	note = &sample->note[sample->n_notes++];
	(void)snprintf(note->row, sizeof note->row, "%s", row);
	note->metric = metric != SIZE_MAX ? sample->source->metric[metric] : NULL;
	note->why = why;
	va_start(args, fmt);
	(void)vsnprintf(note->text, sizeof note->text, fmt, args);
	va_end(args);
	source_clean(note->text);
}

static bool reserve(struct source_sample *sample)
{
	const size_t cap = sample->n_rows > 0 ? 2 * sample->n_rows : 1;
	struct source_row *row;

	if (sample->n_rows < sample->progress->cap_rows)
		return true;
	row = reallocarray(sample->row, cap, sizeof *row);
	if (row == NULL)
		return false;
	sample->row = row;
	sample->progress->cap_rows = cap;
	return true;
}

struct source_row *source_sample_row(struct source_sample *sample, const char *name, bool *is_new)
{
	struct source_progress *progress = sample->progress;
	const size_t n_metrics = sample->source->n_metrics, n = n_metrics > 0 ? n_metrics : 1;
	const size_t found =
		source_names_find(&progress->names, sample->row, sizeof *sample->row, name);
	struct source_row *row;

	*is_new = found == SIZE_MAX;
	if (found != SIZE_MAX)
		return &sample->row[found];
	if (!reserve(sample))
		return NULL;
	row = &sample->row[sample->n_rows];
	*row = (struct source_row){ .value = calloc(n, sizeof *row->value),
				    .state = calloc(n, sizeof *row->state),
				    .reject = calloc(n, sizeof *row->reject) };
	(void)snprintf(row->name, sizeof row->name, "%s", name);
	for (size_t i = 0; row->value != NULL && i < n_metrics; i++)
		row->value[i] = (double)NAN;
	if (row->value == NULL || row->state == NULL || row->reject == NULL ||
	    source_names_add(&progress->names, sample->row, sizeof *sample->row, sample->n_rows) <
		    0) {
		row_fini(row);
		return NULL;
	}
	sample->n_rows++;
	return row;
}

static bool has_where(const struct source_request *request)
{
	for (size_t i = 0; i < request->parts->n_slots; i++)
		if (request->parts->slot[i].role == SOURCE_ROLE_WHERE)
			return true;
	return false;
}

void source_fail(struct source_sample *sample, size_t request, enum cr_why why, const char *text)
{
	struct source_progress *progress = sample->progress;

	progress->outcome[request] = SOURCE_UNANSWERED;
	progress->is_blind |= why != CR_ABSENT && has_where(&sample->source->request[request]);
	if (progress->n_failed++ > 0)
		return;
	progress->first_failed = request;
	progress->why = why;
	(void)snprintf(progress->text, sizeof progress->text, "%s", text);
	source_clean(progress->text);
}

/*** The verdict ***/

static void merge(struct source_row *to, const struct source_row *from, size_t n_metrics)
{
	for (size_t i = 0; i < n_metrics; i++)
		if (to->state[i] != SOURCE_FOUND && from->state[i] != SOURCE_MISSING) {
			to->state[i] = from->state[i];
			to->value[i] = from->value[i];
			to->reject[i] = from->reject[i];
		}
	if (from->is_skipped || (from->left_out_by > 0 && !to->is_skipped))
		memcpy(to->why, from->why, sizeof to->why);
	to->is_skipped |= from->is_skipped;
	if (to->left_out_by == 0)
		to->left_out_by = from->left_out_by;
	if (to->is_skipped)
		to->left_out_by = 0;
	if (from->taken_ns != 0 && (to->taken_ns == 0 || from->taken_ns < to->taken_ns))
		to->taken_ns = from->taken_ns;
}

/* Of the rows only this server's stays, and what is said about the target itself is about it. */
static void keep_only(struct source_sample *sample, const char *server)
{
	struct source_row kept = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < sample->n_rows; i++) {
		struct source_row *row = &sample->row[i];

		if (row->name[0] != '\0' && strcmp(row->name, server) != 0) {
			row_fini(row);
		} else if (n == 0) {
			kept = *row;
			kept.name[0] = '\0';
			n = 1;
		} else {
			merge(&kept, row, sample->source->n_metrics);
			row_fini(row);
		}
	}
	sample->n_rows = n;
	if (n > 0)
		sample->row[0] = kept;
	source_names_fini(&sample->progress->names);

	n = 0;
	for (size_t i = 0; i < sample->n_notes; i++) {
		struct source_note note = sample->note[i];

		if (note.row[0] != '\0' && strcmp(note.row, server) != 0)
			continue;
		note.row[0] = '\0';
		sample->note[n++] = note;
	}
	sample->n_notes = n;
}

static int fail(struct source_sample *sample, enum cr_why why, const char *fmt, ...)
	CR_PRINTF(3, 4);

static int fail(struct source_sample *sample, enum cr_why why, const char *fmt, ...)
{
	va_list args;

	sample->why = why;
	va_start(args, fmt);
	(void)vsnprintf(sample->text, sizeof sample->text, fmt, args);
	va_end(args);
	return -EPROTO;
}

static bool counts(const struct source_row *row)
{
	return !row->is_skipped && row->left_out_by == 0;
}

static void count_found(struct source_sample *sample)
{
	sample->n_found = 0;
	for (size_t i = 0; i < sample->n_rows; i++)
		for (size_t k = 0; counts(&sample->row[i]) && k < sample->source->n_metrics; k++)
			sample->n_found += sample->row[i].state[k] == SOURCE_FOUND;
}

/* Nobody knows which rows count: a lost message must not bring back those that do not. */
static void drop_rows(struct source_sample *sample)
{
	for (size_t i = 0; i < sample->n_rows; i++)
		row_fini(&sample->row[i]);
	sample->n_rows = 0;
	source_names_fini(&sample->progress->names);
}

static bool tells_times(const struct source *source)
{
	for (size_t r = 0; r < source->n_requests; r++) {
		const struct source_parts *parts = source->request[r].parts;

		for (size_t i = 0; i < parts->n_slots; i++)
			if (parts->slot[i].role == SOURCE_ROLE_TIME)
				return true;
	}
	return false;
}

/* Where the source says when it measured, what has no time may be as old as it likes. */
static void refuse_undated(struct source_sample *sample)
{
	const char *word = source_reject_word(SOURCE_NO_TIME);

	for (size_t i = 0; tells_times(sample->source) && i < sample->n_rows; i++) {
		struct source_row *row = &sample->row[i];

		for (size_t k = 0; row->taken_ns == 0 && k < sample->source->n_metrics; k++) {
			if (row->state[k] != SOURCE_FOUND)
				continue;
			source_sample_note(sample, row->name, k, CR_VALUE,
					   "%s: %s: %.15g has no sample_time: nobody knows how old "
					   "it is",
					   sample->source->metric[k], word, row->value[k]);
			row->state[k] = SOURCE_REJECTED;
			row->reject[k] = word;
			row->value[k] = (double)NAN;
		}
	}
}

static void note_missing(struct source_sample *sample, const struct source_row *row)
{
	const struct source *source = sample->source;

	for (size_t k = 0; counts(row) && k < source->n_metrics; k++)
		if (row->state[k] == SOURCE_MISSING && !source->is_optional[k])
			source_sample_note(sample, row->name, k, CR_ABSENT, "%s: nothing at %s",
					   source->metric[k],
					   source->where[k] != NULL ? source->where[k] : "?");
}

static int fail_requests(struct source_sample *sample)
{
	const struct source_progress *progress = sample->progress;
	const size_t n = sample->source->n_requests;

	sample->is_partial = sample->n_found > 0;
	if (n == 1)
		return fail(sample, progress->why, "%s", progress->text);
	return fail(sample, progress->why, "%s%zu of %zu requests failed; %s: %s",
		    sample->is_partial ? "partial: " : "", progress->n_failed, n,
		    sample->source->request[progress->first_failed].name, progress->text);
}

static int fail_absent(struct source_sample *sample, const char *what)
{
	const char *help = sample->source->help_absent;
	const struct source_note *note = sample->n_notes > 0 ? &sample->note[0] : NULL;

	return fail(sample, CR_ABSENT, "%s%s%s%s%s", what, note != NULL ? ": " : "",
		    note != NULL ? note->text : "", *help != '\0' ? "; " : "", help);
}

/* One server's figures: what it needs has to be there and be true. */
static int judge_server(struct source_sample *sample)
{
	const struct source_row *row = sample->row;
	const struct source *source = sample->source;

	if (sample->n_rows == 0)
		return fail_absent(sample, "no row of this server in the answer");
	if (row->is_skipped)
		return 0;
	if (row->left_out_by > 0)
		return fail(sample, CR_ABSENT, "left out: %s", row->why);
	for (size_t i = 0; i < sample->n_notes; i++) {
		const struct source_note *note = &sample->note[i];
		bool is_optional = note->metric == NULL;

		for (size_t k = 0; k < source->n_metrics; k++)
			if (source->metric[k] == note->metric)
				is_optional =
					source->is_optional[k] || row->state[k] == SOURCE_FOUND;
		if (is_optional)
			continue;
		sample->is_partial = sample->n_found > 0;
		return fail(sample, note->why, "%s%s",
			    sample->is_partial && source->n_requests > 1 ? "partial: " : "",
			    note->text);
	}
	if (sample->n_found == 0)
		return fail_absent(sample, "no figure");
	return 0;
}

static int judge_group(struct source_sample *sample)
{
	const struct source_row *left_out = NULL;
	bool is_skipped = false;
	size_t n = 0;

	for (size_t i = 0; i < sample->n_rows; i++) {
		is_skipped |= sample->row[i].is_skipped;
		n += sample->row[i].left_out_by == 0;
		if (sample->row[i].left_out_by > 0 && left_out == NULL)
			left_out = &sample->row[i];
	}
	if (n == 0 && left_out != NULL)
		return fail(sample, CR_ABSENT, "all servers are left out; %s: %s", left_out->name,
			    left_out->why);
	if (n == 0)
		return fail_absent(sample, "no row of any server");
	if (sample->n_found == 0 && !is_skipped)
		return fail_absent(sample, "no figure");
	return 0;
}

int source_end(struct source_sample *sample, const char *server)
{
	const struct source_progress *progress = sample->progress;

	for (size_t i = 0; i < sample->source->n_requests; i++)
		if (progress->outcome[i] == SOURCE_PENDING)
			source_fail(sample, i, CR_TIMEOUT, "there was no time for it");
	if (progress->is_blind)
		drop_rows(sample);
	if (server != NULL)
		keep_only(sample, server);
	refuse_undated(sample);
	count_found(sample);
	if (progress->n_failed > 0)
		return fail_requests(sample);
	for (size_t i = 0; i < sample->n_rows; i++)
		note_missing(sample, &sample->row[i]);
	if (progress->is_out_of_memory)
		return fail(sample, CR_REPLY, "no memory for the answer");
	return server != NULL ? judge_server(sample) : judge_group(sample);
}

const char *source_reject_text(const struct source_sample *sample, const struct source_row *row,
			       size_t metric)
{
	const char *name = sample->source->metric[metric], *at;

	for (size_t i = 0; i < sample->n_notes; i++) {
		const struct source_note *note = &sample->note[i];

		if (note->metric != name || note->why != CR_VALUE ||
		    strcmp(note->row, row->name) != 0)
			continue;
		/* "metric: word: text" */
		at = strstr(note->text, ": ");
		at = at != NULL ? strstr(at + 2, ": ") : NULL;
		return at != NULL ? at + 2 : NULL;
	}
	return NULL;
}

const char *source_state_word(enum source_state state)
{
	switch (state) {
	case SOURCE_MISSING:
		return "missing";
	case SOURCE_FOUND:
		return "found";
	case SOURCE_UNDEFINED:
		return "undefined";
	case SOURCE_REJECTED:
		return "rejected";
	}
	return "unknown";
}
