/* source_yaml.c - lays YAML over a tree of what was laid before, each thing with its place. */
#include "source_thing.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { DEPTH_MAX = 12, THINGS_MAX = 10000, FILE_BYTES_MAX = 256 * 1024 };

/* One laying. */
struct layer {
	struct source_yaml *yaml;
	const char *file;
	yaml_document_t *document;
	const struct source_yaml_calls *calls;
	bool is_faulty, is_out_of_memory;
	size_t n_things;
};

struct source_yaml *source_yaml_new(void)
{
	struct source_yaml *yaml = calloc(1, sizeof *yaml);

	if (yaml != NULL)
		yaml->root.kind = SOURCE_THING_MAP;
	return yaml;
}

void source_yaml_free(struct source_yaml *yaml)
{
	if (yaml == NULL)
		return;
	for (size_t i = 0; i < yaml->root.n; i++)
		source_thing_free(yaml->root.child[i]);
	free(yaml->root.child);
	for (size_t i = 0; i < yaml->n_files; i++)
		free(yaml->file[i]);
	free(yaml);
}

/*** Faults ***/

static struct source_place place_of(const struct layer *layer, const yaml_mark_t *mark)
{
	return (struct source_place){ layer->file, mark->line + 1, mark->column + 1 };
}

static void fault(struct layer *layer, const struct source_place *place, const char *fmt, ...)
	CR_PRINTF(3, 4);

static void fault(struct layer *layer, const struct source_place *place, const char *fmt, ...)
{
	char text[300];
	va_list args;

	layer->is_faulty = true;
	if (layer->calls->on_fault == NULL)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	text_clean(text);
	layer->calls->on_fault(layer->calls->user, place, text);
}

/*** Building ***/

static bool is_null(const yaml_node_t *node)
{
	const char *text = (const char *)node->data.scalar.value;

	return node->type == YAML_SCALAR_NODE &&
	       node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static bool append(struct layer *layer, struct source_thing *parent, struct source_thing *child)
{
	struct source_thing **grown =
		reallocarray(parent->child, parent->n + 1, sizeof(struct source_thing *));

	if (grown == NULL) {
		layer->is_out_of_memory = true;
		source_thing_free(child);
		return false;
	}
	parent->child = grown;
	parent->child[parent->n++] = child;
	return true;
}

/* An empty thing for node. */
static struct source_thing *thing_new(struct layer *layer, const yaml_node_t *node, const char *key)
{
	struct source_thing *thing = calloc(1, sizeof *thing);

	if (thing == NULL || (key != NULL && (thing->key = strdup(key)) == NULL)) {
		layer->is_out_of_memory = true;
		free(thing);
		return NULL;
	}
	thing->kind = node->type == YAML_MAPPING_NODE    ? SOURCE_THING_MAP
		      : node->type == YAML_SEQUENCE_NODE ? SOURCE_THING_LIST
							 : SOURCE_THING_TEXT;
	thing->place = place_of(layer, &node->start_mark);
	return thing;
}

static bool is_too_much(struct layer *layer, const yaml_node_t *node, size_t depth)
{
	const struct source_place place = place_of(layer, &node->start_mark);

	if (depth > DEPTH_MAX)
		fault(layer, &place, "more than %d lists and maps inside each other", DEPTH_MAX);
	else if (++layer->n_things == THINGS_MAX)
		fault(layer, &place, "more than %d values", THINGS_MAX);
	return depth > DEPTH_MAX || layer->n_things >= THINGS_MAX;
}

static bool is_plain(struct layer *layer, const yaml_node_t *node)
{
	const struct source_place place = place_of(layer, &node->start_mark);
	const char *tag = (const char *)node->tag;

	if (tag != NULL && strncmp(tag, "tag:yaml.org,2002:", 18) != 0) {
		fault(layer, &place, "the tag %.40s does not work here; remove it", tag);
		return false;
	}
	if (node->type == YAML_SCALAR_NODE &&
	    strlen((const char *)node->data.scalar.value) != node->data.scalar.length) {
		fault(layer, &place, "the text holds a zero byte");
		return false;
	}
	return true;
}

/* A key of a map as text, or NULL. */
static const char *key_of(struct layer *layer, const yaml_node_pair_t *pair)
{
	const yaml_node_t *node = yaml_document_get_node(layer->document, pair->key);
	const struct source_place place = place_of(layer, &node->start_mark);

	if (!is_plain(layer, node))
		return NULL;
	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length > 0 &&
	    strcmp((const char *)node->data.scalar.value, "<<") != 0)
		return (const char *)node->data.scalar.value;
	fault(layer, &place, "a key has to be one word; merge keys (<<) do not work");
	return NULL;
}

/* What a build() still has to do, without more parameters. */
struct job {
	const yaml_node_t *node;
	size_t depth;
	bool is_outermost; /* its keys may be somebody else's */
};

static struct source_thing *build(struct layer *layer, const struct job *job, const char *key);
static void lay_map(struct layer *layer, struct source_thing *map, const struct job *job);

static void build_list(struct layer *layer, struct source_thing *list, const struct job *job)
{
	const yaml_node_t *node = job->node;

	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     item < node->data.sequence.items.top; item++) {
		const struct job inner = { yaml_document_get_node(layer->document, *item),
					   job->depth + 1, false };
		struct source_thing *child = build(layer, &inner, NULL);

		if (child == NULL || !append(layer, list, child))
			return;
	}
}

static struct source_thing *build(struct layer *layer, const struct job *job, const char *key)
{
	const yaml_node_t *node = job->node;
	struct source_thing *thing;

	if (is_too_much(layer, node, job->depth) || !is_plain(layer, node))
		return NULL;
	thing = thing_new(layer, node, key);
	if (thing == NULL)
		return NULL;
	switch (thing->kind) {
	case SOURCE_THING_TEXT:
		thing->text = strdup((const char *)node->data.scalar.value);
		layer->is_out_of_memory |= thing->text == NULL;
		break;
	case SOURCE_THING_LIST:
		build_list(layer, thing, job);
		break;
	case SOURCE_THING_MAP:
		lay_map(layer, thing, job);
		break;
	}
	return thing;
}

/* May a selector alone stand there, or a map with "select"? */
static bool is_selected(const struct source_thing *map, const char *key)
{
	static const char *const keys[] = { "key", "ok", "skip", "where", "sample_time", NULL };

	return (map->key != NULL && strcmp(map->key, "fields") == 0) || text_index(key, keys) >= 0;
}

/* How a selector alone is written with what was to be laid over it: "{ select: '/n', unit: kib }".
 */
static void write_whole(const char *selector, const struct source_thing *laid, char *buf,
			size_t len)
{
	const char quote = strchr(selector, '\'') == NULL ? '\'' : '"';
	int n = snprintf(buf, len, "{ select: %c%.100s%c", quote, selector, quote);

	for (size_t i = 0; i < laid->n && n > 0 && (size_t)n < len; i++)
		n += snprintf(buf + n, len - (size_t)n, ", %.20s: %.40s", laid->child[i]->key,
			      laid->child[i]->text != NULL ? laid->child[i]->text : "...");
	if (n > 0 && (size_t)n < len)
		(void)snprintf(buf + n, len - (size_t)n, " }");
}

/* A map over a selector alone has nothing to be merged with. Returns whether it was told. */
static bool is_over_selector(struct layer *layer, const struct source_thing *map,
			     const struct source_thing *old, const struct source_thing *laid)
{
	char whole[240];

	if (old->text == NULL || laid->kind != SOURCE_THING_MAP || !is_selected(map, laid->key) ||
	    source_thing_find(laid, "select") != SIZE_MAX)
		return false;
	write_whole(old->text, laid, whole, sizeof whole);
	fault(layer, &laid->place, "the profile has a selector alone here; write it whole: %s",
	      whole);
	return true;
}

/* One key with its value over what map has of it. */
static void lay_pair(struct layer *layer, struct source_thing *map, const char *key,
		     const struct job *job)
{
	const size_t found = source_thing_find(map, key);
	struct source_thing *thing;

	if (is_null(job->node)) {
		if (found != SIZE_MAX)
			source_thing_take_away(map, found);
		return;
	}
	if (found != SIZE_MAX && map->child[found]->kind == SOURCE_THING_MAP &&
	    job->node->type == YAML_MAPPING_NODE) {
		if (!is_too_much(layer, job->node, job->depth))
			lay_map(layer, map->child[found], job);
		return;
	}
	thing = build(layer, job, key);
	if (thing == NULL)
		return;
	if (found == SIZE_MAX) {
		(void)append(layer, map, thing);
		return;
	}
	if (is_over_selector(layer, map, map->child[found], thing)) {
		source_thing_free(thing);
		return;
	}
	source_thing_free(map->child[found]);
	map->child[found] = thing;
}

static bool is_twice(struct layer *layer, const yaml_node_t *map, const yaml_node_pair_t *pair,
		     const char *key)
{
	const yaml_node_t *at = yaml_document_get_node(layer->document, pair->key);
	const struct source_place place = place_of(layer, &at->start_mark);

	for (const yaml_node_pair_t *other = map->data.mapping.pairs.start; other < pair; other++) {
		const yaml_node_t *node = yaml_document_get_node(layer->document, other->key);

		if (node->type != YAML_SCALAR_NODE ||
		    strcmp((const char *)node->data.scalar.value, key) != 0)
			continue;
		fault(layer, &place, "key \"%.64s\" is there twice; remove one", key);
		return true;
	}
	return false;
}

static bool is_other(const struct layer *layer, const char *key)
{
	return layer->calls->is_other != NULL && layer->calls->is_other(layer->calls->user, key);
}

static void lay_map(struct layer *layer, struct source_thing *map, const struct job *job)
{
	const yaml_node_t *node = job->node;

	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key_node = yaml_document_get_node(layer->document, pair->key);
		const struct job inner = { yaml_document_get_node(layer->document, pair->value),
					   job->depth + 1, false };
		const char *key = key_of(layer, pair);
		size_t at;

		if (layer->n_things >= THINGS_MAX)
			return;
		if (key == NULL || is_twice(layer, node, pair, key) ||
		    (job->is_outermost && is_other(layer, key)))
			continue;
		lay_pair(layer, map, key, &inner);
		at = source_thing_find(map, key);
		if (at != SIZE_MAX)
			map->child[at]->place = place_of(layer, &key_node->start_mark);
	}
}

static const char *keep_file(struct source_yaml *yaml, const char *file)
{
	for (size_t i = 0; i < yaml->n_files; i++)
		if (strcmp(yaml->file[i], file) == 0)
			return yaml->file[i];
	if (yaml->n_files == SOURCE_FILES_MAX)
		return NULL;
	yaml->file[yaml->n_files] = strdup(file);
	return yaml->file[yaml->n_files] != NULL ? yaml->file[yaml->n_files++] : NULL;
}

int source_yaml_lay(struct source_yaml *yaml, const char *file, yaml_document_t *document,
		    const yaml_node_t *map, const struct source_yaml_calls *calls)
{
	struct layer layer = {
		.yaml = yaml, .file = keep_file(yaml, file), .document = document, .calls = calls
	};
	const struct job job = { map, 0, true };
	struct source_place place;

	if (layer.file == NULL)
		return -ENOMEM;
	place = place_of(&layer, &map->start_mark);
	if (map->type != YAML_MAPPING_NODE)
		fault(&layer, &place, "here has to be a map, key: value");
	else
		lay_map(&layer, &yaml->root, &job);
	if (yaml->root.place.line == 0)
		yaml->root.place = place;
	if (layer.is_out_of_memory)
		return -ENOMEM;
	return layer.is_faulty ? -EINVAL : 0;
}

/*** Files ***/

static void tell(const struct source_yaml_calls *calls, const struct source_place *place,
		 const char *text)
{
	if (calls->on_fault != NULL)
		calls->on_fault(calls->user, place, text);
}

static int load_document(const char *file, FILE *stream, yaml_document_t *document,
			 const struct source_yaml_calls *calls)
{
	struct source_place place = { file, 0, 0 };
	char text[200];
	yaml_parser_t parser;
	int is_good;

	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_file(&parser, stream);
	is_good = yaml_parser_load(&parser, document);
	if (!is_good) {
		place.line = parser.problem_mark.line + 1;
		place.column = parser.problem_mark.column + 1;
		(void)snprintf(text, sizeof text, "not YAML: %s",
			       parser.problem != NULL ? parser.problem : "?");
		tell(calls, &place, text);
	}
	yaml_parser_delete(&parser);
	return is_good ? 0 : -EINVAL;
}

static int check_size(FILE *stream)
{
	long len;

	if (fseek(stream, 0, SEEK_END) < 0)
		return -errno;
	len = ftell(stream);
	rewind(stream);
	return len < 0 ? -errno : len > FILE_BYTES_MAX ? -EFBIG : 0;
}

int source_yaml_load(struct source_yaml *yaml, const char *file,
		     const struct source_yaml_calls *calls)
{
	const struct source_place place = { file, 0, 0 };
	FILE *stream = fopen(file, "re");
	yaml_document_t document;
	const yaml_node_t *root;
	int rc = stream == NULL ? -errno : check_size(stream);

	if (rc < 0) {
		tell(calls, &place, strerrordesc_np(-rc));
		if (stream != NULL)
			(void)fclose(stream);
		return rc;
	}
	rc = load_document(file, stream, &document, calls);
	(void)fclose(stream);
	if (rc < 0)
		return rc;
	root = yaml_document_get_root_node(&document);
	if (root == NULL) {
		tell(calls, &place, "the file is empty");
		rc = -EINVAL;
	} else {
		rc = source_yaml_lay(yaml, file, &document, root, calls);
	}
	yaml_document_delete(&document);
	return rc;
}
