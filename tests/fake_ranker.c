/* fake_ranker.c - see fake_ranker.h. */
#include "fake_ranker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

unsigned fake_rankers;

struct ranker *ranker_start(struct event_base *base, const struct ranker_load *load, ranker_fn *fn,
			    void *arg, struct err *err)
{
	struct ranker *ranker = calloc(1, sizeof *ranker);

	(void)base;
	(void)load;
	(void)err;
	if (ranker == NULL)
		abort();
	ranker->fn = fn;
	ranker->arg = arg;
	fake_rankers++;
	return ranker;
}

void ranker_free(struct ranker *ranker)
{
	if (ranker == NULL)
		return;
	fake_rankers--;
	free(ranker->image);
	free(ranker);
}

void ranker_rank(struct ranker *ranker, const struct image_header *image, uint32_t instance)
{
	free(ranker->image);
	ranker->image = malloc(image->bytes);
	if (ranker->image == NULL || ranker->is_busy)
		abort();
	memcpy(ranker->image, image, image->bytes);
	ranker->instance = instance;
	ranker->is_busy = true;
	ranker->asked++;
}

bool ranker_is_busy(const struct ranker *ranker)
{
	return ranker->is_busy;
}

const struct ranker_answer *ranker_answer(const struct ranker *ranker)
{
	return &ranker->answer;
}

const void *ranker_saved(const struct ranker *ranker, size_t *len)
{
	*len = ranker->saved_len;
	return ranker->saved;
}

void fake_ranker_answers(struct ranker *ranker, int32_t verdict, const uint16_t *order,
			 uint32_t n_rows)
{
	ranker->is_busy = false;
	ranker->answer = (struct ranker_answer){ .verdict = verdict,
						 .n = verdict > 0 ? (uint32_t)verdict : 0,
						 .n_rows = n_rows,
						 .n_columns = ranker->answer.n_columns,
						 .order = ranker->order,
						 .column = ranker->column };
	for (int32_t i = 0; i < verdict; i++)
		ranker->order[i] = order[i];
	ranker->fn(ranker->arg, ranker, RANKER_RANKED, NULL);
}

void fake_ranker_is_late(struct ranker *ranker)
{
	struct err err = { .code = -ETIME };

	ranker->fn(ranker->arg, ranker, RANKER_LATE, &err);
}

void fake_ranker_dies(struct ranker *ranker)
{
	struct err err = { .code = -ECHILD };

	ranker->is_busy = false;
	ranker->fn(ranker->arg, ranker, RANKER_DEAD, &err);
}

int ranker_describe(const char *path, const char *name, struct ranker_facts **out, struct err *err)
{
	(void)path;
	(void)name;
	*out = NULL;
	return err_set(err, -ENOSYS, "nothing is described here");
}

/* Facts of tests are made of literals. */
void ranker_facts_free(struct ranker_facts *facts)
{
	free(facts);
}
