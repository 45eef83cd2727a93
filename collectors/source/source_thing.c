/* source_thing.c - what comes out of the tree: values, text, places. */
#include "source_thing.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

void source_thing_free(struct source_thing *thing)
{
	if (thing == NULL)
		return;
	for (size_t i = 0; i < thing->n; i++)
		source_thing_free(thing->child[i]);
	free(thing->child);
	free(thing->key);
	free(thing->text);
	free(thing);
}

size_t source_thing_find(const struct source_thing *map, const char *key)
{
	for (size_t i = 0; i < map->n; i++)
		if (strcmp(map->child[i]->key, key) == 0)
			return i;
	return SIZE_MAX;
}

void source_thing_take_away(struct source_thing *map, size_t i)
{
	source_thing_free(map->child[i]);
	memmove(&map->child[i], &map->child[i + 1],
		(map->n - i - 1) * sizeof(struct source_thing *));
	map->n--;
}

char *source_yaml_take(struct source_yaml *yaml, const char *key)
{
	const size_t at = source_thing_find(&yaml->root, key);
	char *text;

	if (at == SIZE_MAX || yaml->root.child[at]->text == NULL)
		return NULL;
	text = yaml->root.child[at]->text;
	yaml->root.child[at]->text = NULL;
	source_thing_take_away(&yaml->root, at);
	return text;
}

static json_t *json_of(const struct source_thing *thing)
{
	json_t *json;

	if (thing->kind == SOURCE_THING_TEXT)
		return json_string(thing->text);
	json = thing->kind == SOURCE_THING_MAP ? json_object() : json_array();
	for (size_t i = 0; json != NULL && i < thing->n; i++) {
		const struct source_thing *child = thing->child[i];
		const int rc = thing->kind == SOURCE_THING_MAP
				       ? json_object_set_new(json, child->key, json_of(child))
				       : json_array_append_new(json, json_of(child));

		if (rc < 0) {
			json_decref(json);
			return NULL;
		}
	}
	return json;
}

char *source_yaml_text(const struct source_yaml *yaml)
{
	json_t *json = json_of(&yaml->root);
	char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

/* Does key stand at the start of a pointer, its escapes undone? */
static bool is_token(const char *pointer, size_t len, const char *key)
{
	size_t i = 0;

	for (; i < len && *key != '\0'; i++, key++) {
		char letter = pointer[i];

		if (letter == '~' && i + 1 < len)
			letter = pointer[++i] == '0' ? '~' : '/';
		if (letter != *key)
			return false;
	}
	return i == len && *key == '\0';
}

static const struct source_thing *step(const struct source_thing *thing, const char *token,
				       size_t len)
{
	size_t index;

	if (thing->kind == SOURCE_THING_LIST) {
		index = strtoul(token, NULL, 10);
		return index < thing->n ? thing->child[index] : NULL;
	}
	for (size_t i = 0; thing->kind == SOURCE_THING_MAP && i < thing->n; i++)
		if (is_token(token, len, thing->child[i]->key))
			return thing->child[i];
	return NULL;
}

struct source_place source_yaml_place(const struct source_yaml *yaml, const char *pointer)
{
	const struct source_thing *thing = &yaml->root, *next;

	while (*pointer == '/') {
		const size_t len = strcspn(pointer + 1, "/");

		next = step(thing, pointer + 1, len);
		if (next == NULL)
			break;
		thing = next;
		pointer += 1 + len;
	}
	return thing->place;
}
