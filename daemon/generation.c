/* generation.c - open and share generations of plugin files. */
#include "generation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"
#include "text.h"

struct generation *generation_open(const char *state_dir, const char *plugin, uint64_t seq,
				   uint64_t digest, struct err *err)
{
	struct generation *generation = calloc(1, sizeof *generation);
	char path[PATH_MAX];

	stage_path(path, state_dir, plugin, seq);
	if (generation == NULL || (generation->path = strdup(path)) == NULL) {
		free(generation);
		err_set(err, -ENOMEM, "no memory for plugin %s", plugin);
		return NULL;
	}
	if (ranker_describe(path, plugin, &generation->facts, err) < 0) {
		free(generation->path);
		free(generation);
		return NULL;
	}
	text_copy(generation->plugin, sizeof generation->plugin, plugin);
	generation->seq = seq;
	generation->digest = digest;
	generation->refs = 1;
	return generation;
}

struct generation *generation_keep(struct generation *generation)
{
	generation->refs++;
	return generation;
}

void generation_drop(struct generation *generation)
{
	if (generation == NULL || --generation->refs > 0)
		return;
	ranker_facts_free(generation->facts);
	free(generation->path);
	free(generation);
}
