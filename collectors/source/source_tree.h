/* source_tree.h - an XML answer as a tree, bounded, without entities and DOCTYPE. */
#ifndef CR_COLLECTORS_SOURCE_TREE_H
#define CR_COLLECTORS_SOURCE_TREE_H

#include "source_internal.h"

#define SOURCE_TREE_NODES_MAX 65536
#define SOURCE_TREE_DEPTH_MAX 128

struct source_attribute {
	char *name, *value;
};

struct source_node {
	char *name; /* NULL: the document, whose only child is the root element */
	struct source_attribute *attribute;
	size_t n_attributes;
	char *text; /* its own, not that of its children; NULL: none */
	size_t len;
	struct source_node *parent, *child, *last, *next;
};

/** Read answer. NULL: no XML that we take, and reading says why. Freed by source_tree_free(). [any]
 */
struct source_node *source_tree_new(struct source_reading *reading,
				    const struct source_answer *answer);
void source_tree_free(struct source_node *document);

/** The value of an attribute, or NULL. [any] */
const char *source_tree_attribute(const struct source_node *node, const char *name);

#endif
