/* config_walk.c - careful steps over YAML nodes: maps, lists, names, durations, sizes, each with
 * its mistakes. */
#include "config_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "text.h"

#define HEAP_LEAST (INT64_C(1) << 20)
#define HEAP_MOST  (INT64_C(1) << 50)

char *config_copy(struct config_reader *reader, const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		reader->is_out_of_memory = true;
	return copy;
}

void *config_array(struct config_reader *reader, size_t n, size_t size)
{
	void *array = calloc(n > 0 ? n : 1, size);

	if (array == NULL)
		reader->is_out_of_memory = true;
	return array;
}

static const yaml_node_t *node_of(struct config_reader *reader, int index)
{
	return yaml_document_get_node(&reader->document, index);
}

static const char *kind_of(const yaml_node_t *node)
{
	switch (node->type) {
	case YAML_MAPPING_NODE:
		return "a map";
	case YAML_SEQUENCE_NODE:
		return "a list";
	case YAML_SCALAR_NODE:
	case YAML_NO_NODE:
		break;
	}
	return "one value";
}

bool config_is_null(const yaml_node_t *node)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

	if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
		if (strcmp((const char *)node->data.scalar.value, nulls[i]) == 0)
			return true;
	return false;
}

static bool has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return true;
	return false;
}

/* Tags of our own, like !include, would be silently ignored otherwise. */
static bool is_tagged(const yaml_node_t *node)
{
	static const char common[] = "tag:yaml.org,2002:";

	return node->tag != NULL &&
	       strncmp((const char *)node->tag, common, sizeof common - 1) != 0;
}

const char *config_text(struct config_reader *reader, const yaml_node_t *node, const char *what,
			bool may_be_empty)
{
	const char *text = (const char *)node->data.scalar.value;
	const size_t len = node->data.scalar.length;

	if (node->type != YAML_SCALAR_NODE)
		config_mistake(reader, node, "%s must be one value, not %s", what, kind_of(node));
	else if (is_tagged(node))
		config_mistake(reader, node, "%s has the tag %s; tags mean nothing here, remove it",
			       what, (const char *)node->tag);
	else if (config_is_null(node))
		config_mistake(reader, node, "%s has no value; give it one or remove it", what);
	else if (len == 0 && !may_be_empty)
		config_mistake(reader, node, "%s is empty; give it a value or remove it", what);
	else if (len > CONFIG_TEXT_MAX)
		config_mistake(reader, node, "%s is longer than 4095 bytes; shorten it", what);
	else if (has_control(text, len))
		config_mistake(reader, node,
			       "%s holds a control character (a line break, a tab); remove it",
			       what);
	else
		return text;
	return NULL;
}

/*** Maps ***/

static void note_unknown_key(struct config_reader *reader, const yaml_node_t *at, const char *key,
			     const char *what, const char *const *keys)
{
	const char *nearest = text_nearest(key, keys);
	char known[200];

	text_join(known, sizeof known, keys);
	if (nearest != NULL)
		config_mistake(reader, at, "unknown key \"%s\" in %s; did you mean \"%s\"?", key,
			       what, nearest);
	else
		config_mistake(reader, at, "unknown key \"%s\" in %s; there are: %s", key, what,
			       known);
}

static bool is_map(struct config_reader *reader, const yaml_node_t *node, const char *what)
{
	if (node->type == YAML_MAPPING_NODE)
		return true;
	if (config_is_null(node))
		config_mistake(reader, node, "%s has no value; give it one or remove it", what);
	else
		config_mistake(reader, node, "%s must be a map (key: value), not %s", what,
			       kind_of(node));
	return false;
}

static void note_twice(struct config_reader *reader, const yaml_node_t *at, const char *key,
		       const char *what)
{
	config_mistake(reader, at, "key \"%s\" is given twice in %s; keep one", key, what);
}

bool config_map(struct config_reader *reader, const yaml_node_t *node, const char *what,
		const char *const *keys, bool takes_others, const yaml_node_t **slot)
{
	const yaml_node_pair_t *pair;

	memset(slot, 0, CONFIG_KEYS_MAX * sizeof(const yaml_node_t *));
	if (!is_map(reader, node, what))
		return false;
	for (pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *at = node_of(reader, pair->key);
		const char *key;
		int i;

		key = config_text(reader, at, "a key", false);
		i = key != NULL ? text_index(key, keys) : -1;
		if (i >= 0 && slot[i] != NULL)
			note_twice(reader, at, key, what);
		else if (i >= 0)
			slot[i] = node_of(reader, pair->value);
		else if (key != NULL && !takes_others)
			note_unknown_key(reader, at, key, what, keys);
	}
	return true;
}

/*** Pairs ***/

static bool is_taken(const struct config_pair *pairs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(pairs[i].name, name) == 0)
			return true;
	return false;
}

static bool take_pair(struct config_reader *reader, const char *name, const yaml_node_t *value,
		      struct config_pair *out)
{
	const char *text = config_text(reader, value, name, true);
	struct config_pair pair = { .line = (int)value->start_mark.line + 1,
				    .column = (int)value->start_mark.column + 1 };

	if (text == NULL)
		return false;
	pair.name = config_copy(reader, name);
	pair.value = config_copy(reader, text);
	if (pair.name != NULL && pair.value != NULL) {
		*out = pair;
		return true;
	}
	free(pair.name);
	free(pair.value);
	return false;
}

static size_t pairs_room(const yaml_node_t *map)
{
	const size_t n = (size_t)(map->data.mapping.pairs.top - map->data.mapping.pairs.start);

	return n < CONFIG_PAIRS_MAX ? n : CONFIG_PAIRS_MAX;
}

size_t config_pairs(struct config_reader *reader, const yaml_node_t *map, const char *what,
		    const char *const *known, config_key_fn *may_stand, struct config_pair **pairs)
{
	const yaml_node_pair_t *pair;
	size_t n = 0;

	*pairs = is_map(reader, map, what) ? config_array(reader, pairs_room(map), sizeof **pairs)
					   : NULL;
	if (*pairs == NULL)
		return 0;
	for (pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *at = node_of(reader, pair->key);
		const char *key = config_text(reader, at, "a key", false);

		if (key == NULL || (known != NULL && text_index(key, known) >= 0))
			continue;
		if (n == CONFIG_PAIRS_MAX) {
			config_mistake(reader, at, "more than 64 keys in %s; remove some", what);
			break;
		}
		if (is_taken(*pairs, n, key))
			note_twice(reader, at, key, what);
		else if (may_stand == NULL || may_stand(reader, at, key))
			n += take_pair(reader, key, node_of(reader, pair->value), &(*pairs)[n]);
	}
	return n;
}

void config_pairs_free(struct config_pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(pairs[i].name);
		free(pairs[i].value);
		free(pairs[i].file);
	}
	free(pairs);
}

/*** Lists ***/

size_t config_list(struct config_reader *reader, const yaml_node_t *node, const char *what,
		   size_t max, const char *more)
{
	size_t n;

	if (node->type != YAML_SEQUENCE_NODE) {
		if (config_is_null(node))
			config_mistake(reader, node, "%s has no value; %s", what, more);
		else
			config_mistake(reader, node, "%s must be a list, not %s", what,
				       kind_of(node));
		return 0;
	}
	n = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
	if (n == 0)
		config_mistake(reader, node, "%s is an empty list; %s", what, more);
	if (n <= max)
		return n;
	config_mistake(reader, config_item(reader, node, max),
		       "%s has more than %zu entries; remove those from here on", what, max);
	return max;
}

const yaml_node_t *config_item(struct config_reader *reader, const yaml_node_t *list, size_t i)
{
	return node_of(reader, list->data.sequence.items.start[i]);
}

/*** Values ***/

void config_duration(struct config_reader *reader, const yaml_node_t *node, const char *what,
		     const struct config_range *range, int64_t *out_ns)
{
	const char *text = node != NULL ? config_text(reader, node, what, false) : NULL;
	int64_t ns = -1;
	double number;

	if (text == NULL)
		return;
	if (text_duration(text, &ns) == -EINVAL) {
		if (text_real(text, &number) == 0)
			config_mistake(reader, node,
				       "%s %s has no unit; write a duration like 500ms, 2s, 3m, "
				       "1h or 1d",
				       what, text);
		else
			config_mistake(
				reader, node,
				"%s \"%s\" is no duration; write one like 500ms, 2s, 3m, 1h or 1d",
				what, text);
		return;
	}
	if (ns < range->least_ns || ns > range->most_ns)
		config_mistake(reader, node, "%s %s is out of range; it may be %s", what, text,
			       range->words);
	else
		*out_ns = ns;
}

void config_whole(struct config_reader *reader, const yaml_node_t *node, const char *what,
		  int64_t least, int64_t most, uint32_t *out)
{
	const char *text = node != NULL ? config_text(reader, node, what, false) : NULL;
	int64_t number;

	if (text == NULL)
		return;
	if (text_int(text, &number) == 0 && number >= least && number <= most)
		*out = (uint32_t)number;
	else
		config_mistake(reader, node,
			       "%s \"%s\" is out of range; write a whole number from %" PRId64
			       " to %" PRId64,
			       what, text, least, most);
}

void config_bool(struct config_reader *reader, const yaml_node_t *node, const char *what, bool *out)
{
	const char *text = node != NULL ? config_text(reader, node, what, false) : NULL;

	if (text != NULL && text_bool(text, out) < 0)
		config_mistake(reader, node, "%s \"%s\" is neither true nor false", what, text);
}

void config_heap_max(struct config_reader *reader, const yaml_node_t *node, int64_t *out)
{
	const char *text = node != NULL ? config_text(reader, node, "heap_max", false) : NULL;
	int64_t bytes = 0;
	int rc;

	if (text == NULL)
		return;
	rc = text_bytes(text, &bytes);
	if (rc == -EINVAL)
		config_mistake(reader, node,
			       "heap_max \"%s\" is no size; write one like 512MiB or 8GiB, with "
			       "nothing between number and unit",
			       text);
	else if (rc < 0 || bytes < HEAP_LEAST || bytes > HEAP_MOST)
		config_mistake(reader, node, "heap_max %s is out of range; it may be 1MiB to 1PiB",
			       text);
	else
		*out = bytes;
}

char *config_name(struct config_reader *reader, const yaml_node_t *node, const char *what)
{
	const char *text = config_text(reader, node, what, false);

	if (text == NULL)
		return NULL;
	if (text_is_name(text))
		return config_copy(reader, text);
	config_mistake(reader, node,
		       "%s \"%s\" is no name; use 1 to 63 letters, digits, \".\", \"_\" and "
		       "\"-\", the first a letter, digit or \"_\"",
		       what, text);
	return NULL;
}

char *config_plugin_name(struct config_reader *reader, const yaml_node_t *node, const char *what)
{
	const char *text = config_text(reader, node, what, false);

	if (text == NULL)
		return NULL;
	if (text_is_plugin_name(text))
		return config_copy(reader, text);
	config_mistake(reader, node, "%s \"%s\" is no plugin's name; use 1 to 31 of a-z, 0-9 and _",
		       what, text);
	return NULL;
}

/*** Names ***/

static int compare_names(const void *left, const void *right)
{
	const struct config_name *a = left, *b = right;
	const int order = strcmp(a->name, b->name);

	return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

void config_names_make(struct config_reader *reader, struct config_name *names, size_t n,
		       const char *what, struct config_names *out)
{
	size_t kept = 0;

	*out = (struct config_names){ .sorted = names };
	if (names == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		if (names[i].name != NULL)
			names[kept++] = names[i];
	if (kept > 0)
		qsort(names, kept, sizeof *names, compare_names);
	for (size_t i = 1; i < kept; i++)
		if (strcmp(names[i - 1].name, names[i].name) == 0)
			config_mistake(reader, names[i].at,
				       "%s \"%s\" is there twice, before on line %zu; names must "
				       "differ",
				       what, names[i].name, names[i - 1].at->start_mark.line + 1);
	out->words = config_array(reader, kept + 1, sizeof *out->words);
	if (out->words == NULL)
		return;
	out->n = kept;
	for (size_t i = 0; i < kept; i++)
		out->words[i] = names[i].name;
}

void config_names_free(struct config_names *names)
{
	free(names->sorted);
	free(names->words);
	*names = (struct config_names){ 0 };
}

const struct config_name *config_names_find(const struct config_names *names, const char *name)
{
	const struct config_name key = { .name = name };
	size_t low = 0, high = names->n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (compare_names(&names->sorted[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == names->n || strcmp(names->sorted[low].name, name) != 0)
		return NULL;
	return &names->sorted[low];
}
