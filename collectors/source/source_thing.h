/* source_thing.h - the tree that source_yaml.c grows and source_thing.c reads. */
#ifndef CR_COLLECTORS_SOURCE_THING_H
#define CR_COLLECTORS_SOURCE_THING_H

#include "source_yaml.h"

#define SOURCE_FILES_MAX 16

enum source_thing_kind { SOURCE_THING_TEXT, SOURCE_THING_LIST, SOURCE_THING_MAP };

/* A value; in a map or list of its own under parent. */
struct source_thing {
	enum source_thing_kind kind;
	char *key;  /* in a map */
	char *text; /* SOURCE_THING_TEXT */
	struct source_thing **child;
	size_t n;
	struct source_place place; /* of the key, or of the item of a list */
};

struct source_yaml {
	struct source_thing root;
	char *file[SOURCE_FILES_MAX];
	size_t n_files;
};

/** Index of the map's child of this key, or SIZE_MAX. */
size_t source_thing_find(const struct source_thing *map, const char *key);

/** Free the i-th child; those behind it move up. */
void source_thing_take_away(struct source_thing *map, size_t i);

/** With all below it. NULL: no effect. */
void source_thing_free(struct source_thing *thing);

#endif
