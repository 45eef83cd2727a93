/* source_put.c - a row of a sample goes to the host. */
#include "source.h"

void source_put_row(const struct source_sample *sample, const struct source_row *row,
		    const struct cr_round *round, struct cr_target *target, const int *metric,
		    int64_t taken_ns)
{
	const char *name = row->name[0] != '\0' ? row->name : NULL;

	if (row->left_out_by > 0) {
		if (name != NULL)
			round->absent(round, target, name, row->why);
		return;
	}
	if (row->is_skipped) {
		round->skip(round, target, name, row->why);
		return;
	}
	for (size_t i = 0; i < sample->source->n_metrics; i++) {
		if (metric[i] < 0)
			continue;
		if (row->state[i] == SOURCE_FOUND)
			round->put(round, target, name, metric[i], row->value[i], taken_ns);
		else if (row->state[i] == SOURCE_REJECTED)
			round->reject(round, target, name, metric[i], row->reject[i],
				      source_reject_text(sample, row, i));
	}
}
