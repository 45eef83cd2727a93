/* source_sheet.c - takes the values of an answer as they come and keeps one sum per row and slot.
 */
#include "source_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

#include "text.h"

/*** Names ***/

static uint32_t *probe(const struct source_names *names, const void *base, size_t stride,
		       const char *name)
{
	size_t i = (size_t)cr_hash64(name, strlen(name)) & (names->n_slots - 1);

	for (;; i = (i + 1) & (names->n_slots - 1)) {
		const uint32_t found = names->slot[i];

		if (found == 0 || strcmp((const char *)base + (found - 1) * stride, name) == 0)
			return &names->slot[i];
	}
}

size_t source_names_find(const struct source_names *names, const void *base, size_t stride,
			 const char *name)
{
	const uint32_t found = names->n_slots > 0 ? *probe(names, base, stride, name) : 0;

	return found > 0 ? found - 1 : SIZE_MAX;
}

int source_names_add(struct source_names *names, const void *base, size_t stride, size_t index)
{
	const char *name = (const char *)base + index * stride;

	if (names->n_slots < 2 * (index + 1)) {
		const size_t n_slots = names->n_slots > 0 ? 4 * names->n_slots : 32;
		struct source_names grown = { calloc(n_slots, sizeof *grown.slot), n_slots };

		if (grown.slot == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < names->n_slots; i++)
			if (names->slot[i] > 0)
				*probe(&grown, base, stride,
				       (const char *)base + (names->slot[i] - 1) * stride) =
					names->slot[i];
		free(names->slot);
		*names = grown;
	}
	*probe(names, base, stride, name) = (uint32_t)index + 1;
	return 0;
}

void source_names_fini(struct source_names *names)
{
	free(names->slot);
	*names = (struct source_names){ 0 };
}

/*** Rows ***/

static bool reserve(struct source_sheet *sheet)
{
	const size_t width = sheet->parts->n_slots > 0 ? sheet->parts->n_slots : 1;
	size_t cap = sheet->cap_rows > 0 ? 2 * sheet->cap_rows : 1; /* many have row 0 only */
	struct source_sum *sum;
	char(*name)[SOURCE_NAME_LEN];

	if (sheet->n_rows < sheet->cap_rows)
		return true;
	sum = reallocarray(sheet->sum, cap * width, sizeof *sum);
	if (sum == NULL)
		return false;
	sheet->sum = sum;
	name = reallocarray(sheet->name, cap, sizeof *name);
	if (name == NULL)
		return false;
	sheet->name = name;
	sheet->cap_rows = cap;
	return true;
}

size_t source_sheet_row(struct source_sheet *sheet)
{
	const size_t width = sheet->parts->n_slots;

	if (sheet->n_rows > SOURCE_ROWS_MAX) {
		sheet->is_too_much = true;
		return 0;
	}
	if (!reserve(sheet)) {
		sheet->is_out_of_memory = true;
		return 0;
	}
	if (width > 0)
		memset(&sheet->sum[sheet->n_rows * width], 0, width * sizeof *sheet->sum);
	sheet->name[sheet->n_rows][0] = '\0';
	return sheet->n_rows++;
}

size_t source_sheet_named(struct source_sheet *sheet, const char *name)
{
	size_t row = source_names_find(&sheet->names, sheet->name, sizeof *sheet->name, name);

	if (row != SIZE_MAX)
		return row;
	row = source_sheet_row(sheet);
	if (row == 0)
		return 0;
	memcpy(sheet->name[row], name, strnlen(name, SOURCE_NAME_LEN - 1) + 1);
	sheet->name[row][SOURCE_NAME_LEN - 1] = '\0';
	if (source_names_add(&sheet->names, sheet->name, sizeof *sheet->name, row) < 0)
		sheet->is_out_of_memory = true;
	return row;
}

int source_sheet_init(struct source_sheet *sheet, const struct source_parts *parts)
{
	*sheet = (struct source_sheet){ .parts = parts };
	(void)source_sheet_row(sheet);
	return sheet->is_out_of_memory ? -ENOMEM : 0;
}

void source_sheet_fini(struct source_sheet *sheet)
{
	free(sheet->sum);
	free(sheet->name);
	source_names_fini(&sheet->names);
	*sheet = (struct source_sheet){ 0 };
}

/*** Values ***/

static void take_condition(struct source_sum *sum, const struct source_slot *slot,
			   const struct source_raw *raw)
{
	char text[256];

	if (slot->n_equals == 0)
		sum->is_met = true;
	if (!source_value_text(slot, raw, text, sizeof text))
		return;
	for (size_t i = 0; i < slot->n_equals; i++)
		if (strcmp(slot->equals[i], text) == 0)
			sum->is_met = true;
}

static void take_name(struct source_sum *sum, const struct source_slot *slot,
		      const struct source_raw *raw)
{
	sum->is_met =
		source_value_text(slot, raw, sum->text, SOURCE_NAME_LEN) && sum->text[0] != '\0';
	if (!sum->is_met)
		source_value_show(raw, sum->text, sizeof sum->text);
}

static void take_number(struct source_sum *sum, const struct source_slot *slot,
			const struct source_raw *raw)
{
	double number = (double)NAN;
	enum source_reject reject;

	if (slot->reduce == SOURCE_FIRST && sum->n > 1)
		return;
	reject = source_value_number(slot, raw, &number);
	if (reject == SOURCE_TAKEN && ((slot->negative_is_undefined && number < 0) ||
				       (slot->zero_is_undefined && number == 0))) {
		sum->first_is_undefined |= sum->n == 1;
		sum->n_undefined++;
		return;
	}
	if (reject == SOURCE_TAKEN)
		reject = source_value_judge(slot, number);
	if (reject != SOURCE_TAKEN) {
		if (sum->reject == SOURCE_TAKEN)
			source_value_show(raw, sum->text, sizeof sum->text);
		sum->reject = sum->reject == SOURCE_TAKEN ? reject : sum->reject;
		return;
	}
	if (sum->n - sum->n_undefined == 1) {
		sum->least = sum->most = number;
		if (sum->n == 1)
			sum->first = number;
	}
	sum->least = number < sum->least ? number : sum->least;
	sum->most = number > sum->most ? number : sum->most;
	sum->total += number;
}

void source_sheet_take(struct source_sheet *sheet, size_t row, size_t slot,
		       const struct source_raw *raw)
{
	const struct source_slot *at = &sheet->parts->slot[slot];
	struct source_sum *sum = &sheet->sum[row * sheet->parts->n_slots + slot];

	if (++sheet->n_values > SOURCE_VALUES_MAX) {
		sheet->is_too_much = true;
		return;
	}
	sum->n++;
	switch (at->role) {
	case SOURCE_ROLE_OK:
	case SOURCE_ROLE_SKIP:
	case SOURCE_ROLE_WHERE:
		if (sum->n == 1)
			source_value_show(raw, sum->text, sizeof sum->text);
		take_condition(sum, at, raw);
		break;
	case SOURCE_ROLE_ERROR:
		if (sum->n == 1)
			source_value_show(raw, sum->text, sizeof sum->text);
		break;
	case SOURCE_ROLE_KEY:
		if (!sum->is_met)
			take_name(sum, at, raw);
		break;
	case SOURCE_ROLE_FIELD:
	case SOURCE_ROLE_TIME:
		take_number(sum, at, raw);
		break;
	}
}

void source_sheet_refuse(struct source_sheet *sheet, size_t row, size_t slot,
			 enum source_reject reject, const char *text)
{
	struct source_sum *sum = &sheet->sum[row * sheet->parts->n_slots + slot];

	if (sum->reject == reject)
		return;
	sum->reject = reject;
	(void)text_copy(sum->text, sizeof sum->text, text);
}

void source_sheet_date(struct source_sheet *sheet, size_t row, size_t slot, const char *text)
{
	struct source_sum *sum = &sheet->sum[row * sheet->parts->n_slots + slot];
	int64_t taken_ns;

	if (!source_value_stamp(text, &taken_ns))
		source_sheet_refuse(sheet, row, slot, SOURCE_NO_TIME, text);
	else if (sum->taken_ns == 0 || taken_ns < sum->taken_ns)
		sum->taken_ns = taken_ns;
}
