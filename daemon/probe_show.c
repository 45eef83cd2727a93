/* probe_show.c - the page of a tried source: answers, rows, figures, and what follows from them. */
#include "probe_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "text.h"
#include "words.h"

#define BYTES_SHOWN 1500 /* of an answer, unless all are wanted */
#define NAMES_SHOWN 8    /* of servers without a row */

/*** Answers ***/

/* Bytes of strangers: nothing of them may steer a terminal. */
static void print_byte(FILE *out, unsigned char byte)
{
	const bool is_plain = byte == '\n' || byte == '\t' || (byte >= ' ' && byte != 127);

	if (byte != '\r')
		(void)fputc(is_plain ? byte : '?', out);
}

void probe_show_answer(const struct probe_page *page, size_t request, const char *body, size_t len,
		       long status)
{
	const size_t shown = page->is_raw || len <= BYTES_SHOWN ? len : BYTES_SHOWN;

	(void)fprintf(page->out, "\nanswer to %s: ",
		      request < page->language->n_requests ? page->language->request[request].name
							   : "all requests");
	if (status != 0)
		(void)fprintf(page->out, "HTTP status %ld, ", status);
	(void)fprintf(page->out, "%zu byte%s\n", len, text_s(len));
	for (size_t i = 0; i < shown; i++)
		print_byte(page->out, (unsigned char)body[i]);
	if (shown > 0 && body[shown - 1] != '\n')
		(void)fputc('\n', page->out);
	if (shown < len)
		(void)fprintf(page->out, "... %zu more byte%s; --raw shows all\n", len - shown,
			      text_s(len - shown));
}

/*** Figures ***/

/* "123456 B (120.6 KiB)", "0.25", "17" */
static void show_value(char *buf, size_t len, const char *metric, double value)
{
	char people[32];

	value += 0.0; /* -0 is 0 */
	if (isnan(value))
		(void)text_copy(buf, len, "-");
	else if (text_ends_in(metric, "_bytes"))
		(void)snprintf(buf, len, "%.0f bytes (%s)", value,
			       text_show_bytes(people, sizeof people, value));
	else if (text_ends_in(metric, "_seconds"))
		(void)snprintf(buf, len, "%.9g s", value);
	else
		(void)snprintf(buf, len, "%.9g", value);
}

static void print_field(const struct probe_page *page, const char *metric, double value,
			const char *state)
{
	char text[96];

	show_value(text, sizeof text, metric, value);
	(void)fprintf(page->out, "  %-32s %-34s %s\n", metric, text, state);
}

/* The figures of a row that others follow from; NaN: not in it. */
struct figures {
	double heap[HEAP_COUNT], threads[THREADS_COUNT];
};

/* Where a figure belongs; NULL: nothing follows from it. */
static double *figure_of(struct figures *figures, const char *metric)
{
	for (size_t i = 0; i < HEAP_COUNT; i++)
		if (strcmp(derive_names[i], metric) == 0)
			return &figures->heap[i];
	for (size_t i = 0; i < THREADS_COUNT; i++)
		if (strcmp(derive_threads_names[i], metric) == 0)
			return &figures->threads[i];
	return NULL;
}

static void clear_figures(struct figures *figures)
{
	for (size_t i = 0; i < HEAP_COUNT; i++)
		figures->heap[i] = NAN;
	for (size_t i = 0; i < THREADS_COUNT; i++)
		figures->threads[i] = NAN;
}

static void print_how(const struct probe_page *page, const char *metric, double value,
		      const char *how)
{
	char reason[96];

	if (how == NULL)
		return;
	(void)snprintf(reason, sizeof reason, "derived: %s", how);
	print_field(page, metric, value, reason);
}

/* Figures of one poll have one time. */
static void note_times(const double *value, size_t n, int64_t *taken_ns)
{
	for (size_t i = 0; i < n; i++)
		taken_ns[i] = isnan(value[i]) ? 0 : 1;
}

/* heap_max of the row's server; 0: it has none. */
static double heap_max_of(const struct probe_page *page, const char *row)
{
	const char *name = row[0] != '\0' ? row : page->target->name;

	for (size_t i = 0; i < page->config->n_servers; i++)
		if (strcmp(page->config->servers[i].name, name) == 0)
			return (double)page->config->servers[i].heap_max;
	return 0;
}

static void print_derived(const struct probe_page *page, const char *row, struct figures *figures)
{
	int64_t taken_ns[HEAP_COUNT], threads_ns[THREADS_COUNT];
	const char *how[HEAP_COUNT], *threads_how[THREADS_COUNT];
	unsigned faults;

	note_times(figures->heap, HEAP_COUNT, taken_ns);
	note_times(figures->threads, THREADS_COUNT, threads_ns);
	faults = derive(figures->heap, taken_ns, heap_max_of(page, row), how);
	derive_threads(figures->threads, threads_ns, threads_how);
	for (size_t i = 0; i < HEAP_COUNT; i++)
		print_how(page, derive_names[i], figures->heap[i], how[i]);
	for (size_t i = 0; i < THREADS_COUNT; i++)
		print_how(page, derive_threads_names[i], figures->threads[i], threads_how[i]);
	for (size_t i = 0; i < DERIVE_FAULTS; i++)
		if ((faults & (1u << i)) != 0)
			(void)fprintf(page->out, "  inconsistent: %s\n", derive_fault_words(i));
}

/* A row of somebody whom the configuration does not have polled here is dropped. */
static bool is_polled(const struct probe_page *page, const char *row)
{
	for (size_t i = 0; i < page->source->n_servers; i++)
		if (strcmp(page->config->servers[page->source->servers[i]].name, row) == 0)
			return true;
	return row[0] == '\0';
}

static void print_time(const struct probe_page *page, int64_t taken_ns)
{
	char shown[32];
	struct timespec now;
	double age_s;

	clock_gettime(CLOCK_REALTIME, &now);
	age_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)taken_ns / 1e9;
	(void)text_show_seconds(shown, sizeof shown, age_s < 0 ? -age_s : age_s);
	if (age_s < -1) /* what servers.c makes of it */
		(void)fprintf(page->out,
			      ", measured %s ahead of this host's clock: callrouterd will not take "
			      "it (future)",
			      shown);
	else if (age_s < 0)
		(void)fprintf(page->out, ", measured %s ahead of this host's clock", shown);
	else
		(void)fprintf(page->out, ", measured %s ago", shown);
}

static void print_head(const struct probe_page *page, const char *row, int64_t taken_ns)
{
	(void)fprintf(page->out, "\n%s%s", row[0] != '\0' ? row : page->target->name,
		      is_polled(page, row) ? ""
					   : ": none of the servers that this collector polls");
	if (taken_ns != 0)
		print_time(page, taken_ns);
	(void)fputc('\n', page->out);
}

static void print_row(const struct probe_page *page, const struct source_row *row)
{
	const struct source *language = page->language;
	struct figures figures;

	print_head(page, row->name, row->taken_ns);
	if (row->is_skipped) {
		(void)fprintf(page->out, "  administration server, skipped: %s\n", row->why);
		return;
	}
	if (row->left_out_by > 0) {
		(void)fprintf(page->out, "  left out: %s\n", row->why);
		return;
	}
	clear_figures(&figures);
	for (size_t k = 0; k < language->n_metrics; k++) {
		double *figure = figure_of(&figures, language->metric[k]);

		if (figure != NULL)
			*figure = row->value[k];
		print_field(page, language->metric[k], row->value[k],
			    source_state_word(row->state[k]));
	}
	print_derived(page, row->name, &figures);
}

static bool has_row(const struct source_sample *sample, const char *server)
{
	for (size_t i = 0; i < sample->n_rows; i++)
		if (strcmp(sample->row[i].name, server) == 0)
			return true;
	return false;
}

/* Of whom a target that answers for many servers says nothing. */
static void print_absent(const struct probe_page *page, const struct source_sample *sample)
{
	const struct config_source *source = page->source;
	size_t n = 0;

	for (size_t i = 0; page->target->is_shared && i < source->n_servers; i++) {
		const struct config_server *server = &page->config->servers[source->servers[i]];

		if (!config_is_covered(server, source) || has_row(sample, server->name))
			continue;
		if (n++ < NAMES_SHOWN)
			(void)fprintf(page->out, "%s%s", n == 1 ? "\nno row of " : ", ",
				      server->name);
	}
	if (n > NAMES_SHOWN)
		(void)fprintf(page->out, " and %zu more", n - NAMES_SHOWN);
	if (n > 0)
		(void)fputc('\n', page->out);
}

static void print_notes(const struct probe_page *page, const struct source_sample *sample)
{
	if (sample->n_notes > 0)
		(void)fputs("\nnotes\n", page->out);
	for (size_t i = 0; i < sample->n_notes; i++) {
		const struct source_note *note = &sample->note[i];

		(void)fprintf(page->out, "  %s%s%s: %s\n", note->row,
			      note->row[0] != '\0' ? ": " : "", words_why(note->why), note->text);
	}
	if (sample->n_unnoted > 0)
		(void)fprintf(page->out, "  and %zu more\n", sample->n_unnoted);
}

void probe_show_sample(const struct probe_page *page, const struct source_sample *sample, int rc)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->n_rows; i++)
		print_row(page, &sample->row[i]);
	for (size_t i = 0; i < sample->n_rows; i++)
		n += sample->row[i].left_out_by == 0;
	if (sample->n_rows > 0)
		print_absent(page, sample);
	print_notes(page, sample);
	if (rc == 0)
		(void)fprintf(page->out, "\ngood: %zu figure%s, %zu row%s\n", sample->n_found,
			      text_s(sample->n_found), n, text_s(n));
	else
		(void)fprintf(page->out, "\nfailed: %s: %s\n", words_why(sample->why),
			      sample->text);
}

/*** Other plugins ***/

void probe_show_values(const struct probe_page *page, const struct probe_poll *poll)
{
	const char *row = NULL;

	for (size_t i = 0; i < poll->n_values; i++) {
		const struct probe_value *value = &poll->value[i];

		if (row == NULL || strcmp(row, value->row) != 0)
			print_head(page, value->row, 0);
		row = value->row;
		if (value->is_skip)
			(void)fputs("  administration server, skipped\n", page->out);
		else if (value->is_absent)
			(void)fputs("  left out\n", page->out);
		else
			print_field(page, value->metric, value->value,
				    value->reject[0] != '\0' ? value->reject : "put");
	}
	if (poll->why == 0)
		(void)fprintf(page->out, "\ngood: %zu figure%s\n", poll->n_values,
			      text_s(poll->n_values));
	else
		(void)fprintf(page->out, "\nfailed: %s\n", poll->text);
}
