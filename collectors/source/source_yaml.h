/*
 * source_yaml.h - from YAML to the text of a source: a profile, and the keys of a collector's entry
 * laid over it; remembers where each key was written, so that a fault can name file, line and
 * column.
 *
 *	yaml = source_yaml_new();
 *	source_yaml_load(yaml, "/usr/share/callrouter/profiles/jolokia.yaml", &calls);
 *	source_yaml_lay(yaml, "callrouter.yaml", &document, entry, &calls);
 *	json = source_yaml_text(yaml);     to be handed over as the option "source"
 *	source_parse(json, &source, ...)   and for each fault:
 *	source_yaml_place(yaml, pointer)
 */
#ifndef CR_COLLECTORS_SOURCE_YAML_H
#define CR_COLLECTORS_SOURCE_YAML_H

#include <yaml.h>

#include <callrouter/plugin.h>

struct source_yaml;

/** Where something was written; line and column count from 1; line 0: the file as a whole. */
struct source_place {
	const char *file; /* as it was given; lives as long as the struct source_yaml */
	size_t line, column;
};

/** A fault of the YAML itself; text: one line. */
typedef void source_yaml_fault_fn(void *user, const struct source_place *place, const char *text);

/** Does this key of the outermost map belong to somebody else? */
typedef bool source_yaml_filter_fn(void *user, const char *key);

/** Whom to ask and whom to tell; each may be NULL. */
struct source_yaml_calls {
	source_yaml_filter_fn *is_other; /* keys for which it says true are left out */
	source_yaml_fault_fn *on_fault;
	void *user; /* passed to both */
};

/** Returns NULL without memory. [any] */
struct source_yaml *source_yaml_new(void);
void source_yaml_free(struct source_yaml *yaml);

/**
 * Lay a map over what is there: maps are merged key by key, texts and lists replace what was there,
 * a key without a value (null) takes away what was there. file: for places; copied. Returns 0,
 * -EINVAL after at least one fault, or -ENOMEM. [any]
 */
int source_yaml_lay(struct source_yaml *yaml, const char *file, yaml_document_t *document,
		    const yaml_node_t *map, const struct source_yaml_calls *calls);

/** The same for the one map that a file holds; at most 256 KiB. Also -errno if it cannot be read
 * (with a fault). [any] */
int source_yaml_load(struct source_yaml *yaml, const char *file,
		     const struct source_yaml_calls *calls);

/** Take a plain value at the top level out of the text: for keys that are options of the plugin.
 * malloc'd, or NULL: there is none. [any] */
char *source_yaml_take(struct source_yaml *yaml, const char *key);

/** The text for source_parse(), in one line; malloc'd, or NULL without memory. [any] */
char *source_yaml_text(const struct source_yaml *yaml);

/** Where the thing at this JSON pointer was written, or the nearest thing around it. [any] */
struct source_place source_yaml_place(const struct source_yaml *yaml, const char *pointer);

#endif
