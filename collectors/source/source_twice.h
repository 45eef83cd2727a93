/* source_twice.h - series that come twice in one answer: the same name with the same labels. */
#ifndef CR_COLLECTORS_SOURCE_TWICE_H
#define CR_COLLECTORS_SOURCE_TWICE_H

#include "source_series.h"

/** A series that has given a value to a place of the sheet. */
struct source_came {
	uint64_t id;          /* of its name and labels */
	uint32_t place, line; /* place: row * n_slots + slot */
};

/** All of one answer; { 0 } to begin with. */
struct source_twice {
	struct source_came *came;
	size_t n, cap;
};

/** The series in this line has given its value to a slot of a row. Returns 0 or -ENOMEM. [any] */
int source_twice_note(struct source_twice *twice, const struct source_series *series,
		      uint32_t place, size_t line);

/** Refuse what came twice, once the answer is read: nobody knows which of the two is true. Takes
 * n log n, whatever stands there. [any] */
void source_twice_refuse(struct source_twice *twice, struct source_sheet *sheet);

void source_twice_fini(struct source_twice *twice);

#endif
