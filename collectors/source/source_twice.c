/* source_twice.c - notes every series that gave a value, sorts them, and so finds those that came
 * twice. */
#include "source_twice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callrouter/order.h>

static uint64_t hash_text(const char *text)
{
	return cr_hash64(text, strlen(text));
}

/* Labels may stand in any order, so theirs are added up; an empty one is one that is not there. Of
 * as many series as an answer may have, two that differ have the same id once in 8 billion
 * answers; who makes them so on purpose spoils figures of his own. */
static uint64_t id_of(const struct source_series *series)
{
	uint64_t id = hash_text(series->name);

	for (size_t i = 0; i < series->n_labels; i++) {
		const struct source_label *label = &series->label[i];

		if (label->value[0] != '\0')
			id += cr_mix64(cr_mix64(hash_text(label->name)) ^ hash_text(label->value));
	}
	return id;
}

int source_twice_note(struct source_twice *twice, const struct source_series *series,
		      uint32_t place, size_t line)
{
	const size_t cap = twice->cap > 0 ? 2 * twice->cap : 16;
	struct source_came *grown;

	if (twice->n == twice->cap) {
		grown = reallocarray(twice->came, cap, sizeof *grown);
		if (grown == NULL)
			return -ENOMEM;
		twice->came = grown;
		twice->cap = cap;
	}
	twice->came[twice->n++] = (struct source_came){ id_of(series), place, (uint32_t)line };
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct source_came *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

void source_twice_refuse(struct source_twice *twice, struct source_sheet *sheet)
{
	const size_t n_slots = sheet->parts->n_slots;
	const struct source_came *came = twice->came;
	char text[SOURCE_TEXT_LEN];

	if (twice->n < 2)
		return;
	qsort(twice->came, twice->n, sizeof *twice->came, compare);
	for (size_t i = 1; i < twice->n; i++) {
		if (came[i].place != came[i - 1].place || came[i].id != came[i - 1].id)
			continue;
		(void)snprintf(text, sizeof text, "in lines %u and %u", came[i - 1].line,
			       came[i].line);
		source_sheet_refuse(sheet, came[i].place / n_slots, came[i].place % n_slots,
				    SOURCE_TWICE, text);
	}
}

void source_twice_fini(struct source_twice *twice)
{
	free(twice->came);
	*twice = (struct source_twice){ 0 };
}
