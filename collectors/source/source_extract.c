/* source_extract.c - from one answer to rows of a sample: keys, conditions, fields. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "source_sample.h"
#include "text.h"

/*** Rows ***/

/* One row of one answer on its way into the sample. */
struct absorb {
	struct source_sample *sample;
	size_t request;
	const struct source_sheet *sheet;
	size_t at; /* row of the sheet */
};

static bool is_name(const char *name)
{
	if (*name == '\0')
		return false;
	for (; *name != '\0'; name++)
		if (*name <= ' ' || *name > '~')
			return false;
	return true;
}

/* The row's name, or NULL. */
static const char *name_of(const struct absorb *absorb)
{
	const struct source_parts *parts = absorb->sheet->parts;

	for (size_t i = 0; i < parts->n_slots; i++) {
		const struct source_sum *sum = source_sheet_at(absorb->sheet, absorb->at, i);

		if (parts->slot[i].role == SOURCE_ROLE_KEY && sum->is_met && is_name(sum->text))
			return sum->text;
	}
	return NULL;
}

/* All places where a name is looked for: "A or B". */
static void list_keys(const struct source_parts *parts, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < parts->n_slots && used < len; i++)
		if (parts->slot[i].role == SOURCE_ROLE_KEY)
			used += (size_t)snprintf(buf + used, len - used, "%s%.60s",
						 used > 0 ? " or " : "", parts->slot[i].where);
}

static void note_nameless_row(const struct absorb *absorb)
{
	const struct source_parts *parts = absorb->sheet->parts;
	char keys[128];

	for (size_t i = 0; i < parts->n_slots; i++) {
		const struct source_sum *sum = source_sheet_at(absorb->sheet, absorb->at, i);

		if (parts->slot[i].role != SOURCE_ROLE_KEY || sum->n == 0)
			continue;
		source_sample_note(absorb->sample, "", SIZE_MAX, CR_VALUE,
				   "row %zu has no name that a server can have: %.60s is \"%.60s\"",
				   absorb->at, parts->slot[i].where, sum->text);
		return;
	}
	list_keys(parts, keys, sizeof keys);
	source_sample_note(absorb->sample, "", SIZE_MAX, CR_VALUE, "row %zu has %s %s", absorb->at,
			   parts->kind->has_labels ? "no label" : "nothing at", keys);
}

static void note_nameless_series(struct source_sample *sample, const struct source_sheet *sheet)
{
	const size_t n = sheet->n_nameless;
	char keys[128];

	list_keys(sheet->parts, keys, sizeof keys);
	if (n > 0)
		source_sample_note(sample, "", SIZE_MAX, CR_VALUE,
				   "%zu of the series %s no label %s", n, n > 1 ? "have" : "has",
				   keys);
}

/* The first slot of this role that is, or is not, met; NULL: none. */
static const struct source_slot *find_condition(const struct absorb *absorb, enum source_role role,
						bool is_met, const struct source_sum **found)
{
	const struct source_parts *parts = absorb->sheet->parts;

	for (size_t i = 0; i < parts->n_slots; i++) {
		const struct source_sum *sum = source_sheet_at(absorb->sheet, absorb->at, i);

		const struct source_slot *slot = &parts->slot[i];

		if (slot->role != role ||
		    (sum->is_met || (slot->is_optional && sum->n == 0)) != is_met)
			continue;
		*found = sum;
		return slot;
	}
	return NULL;
}

static void note_rejected(const struct absorb *absorb, const char *row,
			  const struct source_slot *slot, const struct source_sum *sum,
			  enum source_reject reject, double value)
{
	char text[SOURCE_TEXT_LEN];

	if (reject == SOURCE_MANY)
		(void)snprintf(text, sizeof text, "%zu at %.60s", sum->n, slot->where);
	else if (sum->reject != SOURCE_TAKEN)
		(void)snprintf(text, sizeof text, "%s", sum->text);
	else
		(void)snprintf(text, sizeof text, "%.15g", value);
	source_sample_note(absorb->sample, row, slot->metric, CR_VALUE, "%s: %s: %.40s: %s",
			   absorb->sample->source->metric[slot->metric], source_reject_word(reject),
			   text, source_reject_help(reject));
}

/* How good a state is, to choose among alternatives. */
static int rank(enum source_state state)
{
	switch (state) {
	case SOURCE_MISSING:
		return 0;
	case SOURCE_UNDEFINED:
		return 1;
	case SOURCE_REJECTED:
		return 2;
	case SOURCE_FOUND:
		return 3;
	}
	return 0;
}

static void grow_old(struct source_row *row, int64_t taken_ns)
{
	if (taken_ns != 0 && (row->taken_ns == 0 || taken_ns < row->taken_ns))
		row->taken_ns = taken_ns;
}

/* A field's slots, from first on: the first alternative that is found counts. Returns how many. */
static size_t absorb_field(const struct absorb *absorb, struct source_row *row, size_t first)
{
	const struct source_parts *parts = absorb->sheet->parts;
	const size_t metric = parts->slot[first].metric;
	enum source_reject reject, worst = SOURCE_TAKEN;
	size_t i, rejected = first;
	double value, rejected_value = 0;

	for (i = first; i < parts->n_slots && parts->slot[i].role == SOURCE_ROLE_FIELD &&
			parts->slot[i].metric == metric;
	     i++) {
		enum source_state state;

		value = (double)NAN;
		state = source_value_reduce(&parts->slot[i],
					    source_sheet_at(absorb->sheet, absorb->at, i), &value,
					    &reject);
		if (state == SOURCE_REJECTED && worst == SOURCE_TAKEN) {
			worst = reject;
			rejected = i;
			rejected_value = value;
		}
		if (rank(state) <= rank(row->state[metric]))
			continue;
		row->state[metric] = state;
		row->value[metric] = state == SOURCE_FOUND ? value : (double)NAN;
		grow_old(row, source_sheet_at(absorb->sheet, absorb->at, i)->taken_ns);
	}
	if (row->state[metric] != SOURCE_REJECTED || worst == SOURCE_TAKEN)
		return i - first;
	row->reject[metric] = source_reject_word(worst);
	note_rejected(absorb, row->name, &parts->slot[rejected],
		      source_sheet_at(absorb->sheet, absorb->at, rejected), worst, rejected_value);
	return i - first;
}

static void absorb_time(const struct absorb *absorb, struct source_row *row, size_t i)
{
	const struct source_slot *slot = &absorb->sheet->parts->slot[i];
	const struct source_sum *sum = source_sheet_at(absorb->sheet, absorb->at, i);
	const enum source_reject reject =
		sum->reject != SOURCE_TAKEN ? sum->reject : SOURCE_NO_TIME;
	int64_t taken_ns;

	if (source_value_time(slot, sum, &taken_ns)) {
		grow_old(row, taken_ns);
		return;
	}
	source_sample_note(absorb->sample, row->name, SIZE_MAX, CR_VALUE,
			   "sample_time: %.60s: %s: %s", slot->where, source_reject_word(reject),
			   source_reject_help(reject == SOURCE_TWICE ? reject : SOURCE_NO_TIME));
}

static int absorb_values(const struct absorb *absorb, const char *name)
{
	const struct source_parts *parts = absorb->sheet->parts;
	const struct source_slot *skip;
	const struct source_sum *sum;
	struct source_row *row;
	bool is_new;

	row = source_sample_row(absorb->sample, name, &is_new);
	if (row == NULL)
		return -ENOMEM;
	if (row->left_out_by == absorb->request + 1)
		row->left_out_by = 0; /* it was another row of this name */
	skip = find_condition(absorb, SOURCE_ROLE_SKIP, true, &sum);
	if (skip != NULL) {
		row->is_skipped = true;
		row->left_out_by = 0;
		(void)snprintf(row->why, sizeof row->why, "%.60s is %.30s", skip->where, sum->text);
		source_clean(row->why);
	}
	for (size_t i = 0; i < parts->n_slots; i++) {
		if (parts->slot[i].role == SOURCE_ROLE_FIELD)
			i += absorb_field(absorb, row, i) - 1;
		else if (parts->slot[i].role == SOURCE_ROLE_TIME)
			absorb_time(absorb, row, i);
	}
	return 0;
}

/* The names that this answer has had so far, to notice one that comes twice. */
static bool is_first_of_name(const struct absorb *absorb, struct source_names *seen,
			     const char *name)
{
	struct source_sheet *sheet = (struct source_sheet *)(uintptr_t)absorb->sheet;

	if (source_names_find(seen, sheet->name, sizeof *sheet->name, name) != SIZE_MAX)
		return false;
	(void)text_copy(sheet->name[absorb->at], sizeof *sheet->name, name);
	(void)source_names_add(seen, sheet->name, sizeof *sheet->name, absorb->at);
	return true;
}

/* This row does not count, and so no row of this name in any request, unless there is one in this
 * answer that does: then "where" has chosen among rows, not among servers. */
static int leave_out(const struct absorb *absorb, const struct source_names *seen, const char *name)
{
	const struct source_sheet *sheet = absorb->sheet;
	const struct source_sum *sum;
	const struct source_slot *where = find_condition(absorb, SOURCE_ROLE_WHERE, false, &sum);
	struct source_row *row;
	bool is_new;

	if (source_names_find(seen, sheet->name, sizeof *sheet->name, name) != SIZE_MAX)
		return 0;
	row = source_sample_row(absorb->sample, name, &is_new);
	if (row == NULL)
		return -ENOMEM;
	if (row->left_out_by > 0 || row->is_skipped)
		return 0;
	row->left_out_by = absorb->request + 1;
	if (sum->n == 0)
		(void)snprintf(row->why, sizeof row->why, "it has no %.60s", where->where);
	else if (where->n_equals == 0)
		(void)snprintf(row->why, sizeof row->why, "it is %.40s (%.60s)", sum->text,
			       where->where);
	else
		(void)snprintf(row->why, sizeof row->why, "it is %.40s, not %.40s (%.60s)",
			       sum->text, where->equals[0], where->where);
	source_clean(row->why);
	return 0;
}

static int absorb_row(const struct absorb *absorb, struct source_names *seen)
{
	const bool has_rows = absorb->sample->source->request[absorb->request].has_rows;
	const char *name = has_rows ? name_of(absorb) : "";
	const struct source_sum *sum;

	if (name == NULL) {
		note_nameless_row(absorb);
		return 0;
	}
	if (find_condition(absorb, SOURCE_ROLE_WHERE, false, &sum) != NULL)
		return leave_out(absorb, seen, name);
	if (has_rows && !is_first_of_name(absorb, seen, name)) {
		source_sample_note(absorb->sample, name, SIZE_MAX, CR_VALUE,
				   "a second row of this name does not count");
		return 0;
	}
	return absorb_values(absorb, name);
}

static int absorb_sheet(struct source_sample *sample, size_t request,
			const struct source_sheet *sheet)
{
	const bool has_rows = sample->source->request[request].has_rows;
	struct absorb absorb = { sample, request, sheet, has_rows };
	struct source_names seen = { 0 };
	int rc = 0;

	note_nameless_series(sample, sheet);
	for (; rc == 0 && absorb.at < (has_rows ? sheet->n_rows : 1); absorb.at++)
		rc = absorb_row(&absorb, &seen);
	source_names_fini(&seen);
	return rc;
}

/*** One answer ***/

static int read_answer(const struct source *source, const struct source_request *request,
		       const struct source_answer *answer, struct source_reading *reading)
{
	struct source_answer own = *answer;
	int rc;

	if (own.bytes == NULL)
		own.bytes = "";
	if (own.status != 0 && own.status != 200)
		return source_judge_status(source, request, &own, reading);
	rc = request->parts->kind->read(reading, &own);
	if (rc == 0 && reading->sheet->is_too_much)
		rc = source_reading_fail(reading, CR_REPLY,
					 "more than %d rows or %d values in the answer",
					 SOURCE_ROWS_MAX, SOURCE_VALUES_MAX);
	if (rc == 0 && reading->sheet->is_out_of_memory)
		rc = -ENOMEM;
	return rc == 0 ? source_judge_ok(reading) : rc;
}

static int settle(struct source_sample *sample, size_t request,
		  const struct source_reading *reading, int rc)
{
	if (rc == 0)
		rc = absorb_sheet(sample, request, reading->sheet);
	if (rc == 0)
		sample->progress->outcome[request] = SOURCE_ANSWERED;
	else if (rc == -ENOMEM)
		source_fail(sample, request, CR_REPLY, "no memory for the answer");
	else
		source_fail(sample, request, reading->why, reading->text);
	return rc;
}

int source_extract(struct source_sample *sample, size_t request, const struct source_answer *answer)
{
	const struct source_request *at = &sample->source->request[request];
	struct source_sheet sheet;
	struct source_reading reading = { .parts = at->parts, .sheet = &sheet };
	int rc = source_sheet_init(&sheet, at->parts);

	if (rc == 0)
		rc = read_answer(sample->source, at, answer, &reading);
	rc = settle(sample, request, &reading, rc);
	source_sheet_fini(&sheet);
	return rc;
}

static void take_cell(struct source_sheet *sheet, size_t row, size_t slot,
		      const struct source_cell *cell)
{
	struct source_raw raw = { .kind = SOURCE_RAW_TEXT, .text = cell->text, .len = cell->len };

	if (cell->kind == SOURCE_CELL_NONE)
		return;
	/* Many agents send the end of a C string, or a whole field that they have padded. */
	while (raw.len > 0 && raw.text[raw.len - 1] == '\0')
		raw.len--;
	if (cell->kind == SOURCE_CELL_NUMBER) {
		raw.kind = SOURCE_RAW_NUMBER;
		raw.number = cell->number;
		raw.is_whole = fabs(cell->number) < 9e15;
		raw.integer = raw.is_whole ? (int64_t)cell->number : 0;
	}
	source_sheet_take(sheet, row, slot, &raw);
}

static int take_row(struct source_sheet *sheet, const struct source_cell *cell, bool is_table)
{
	const struct source_parts *parts = sheet->parts;
	const size_t row = is_table ? source_sheet_row(sheet) : 0;

	if (is_table && row == 0)
		return -EPROTO;
	for (size_t slot = 0; slot < parts->n_slots; slot++)
		for (size_t i = 0; i < parts->slot[slot].n_selectors; i++)
			take_cell(sheet, row, slot, &cell[parts->slot[slot].oid[i]]);
	return 0;
}

int source_extract_cells(struct source_sample *sample, size_t request,
			 const struct source_cell *cell, size_t n_rows)
{
	const struct source_request *at = &sample->source->request[request];
	struct source_sheet sheet;
	struct source_reading reading = { .parts = at->parts, .sheet = &sheet };
	int rc = source_sheet_init(&sheet, at->parts);

	for (size_t row = 0; rc == 0 && row < n_rows; row++)
		rc = take_row(&sheet, &cell[row * at->n_oids], at->format == SOURCE_SNMP_TABLE);
	if (rc == -EPROTO)
		source_reading_fail(&reading, CR_REPLY, "more than %d rows", SOURCE_ROWS_MAX);
	rc = settle(sample, request, &reading, rc);
	source_sheet_fini(&sheet);
	return rc;
}
