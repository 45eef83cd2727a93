/* source_tree.c - builds the tree of an XML answer with expat. */
#include "source_tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

struct builder {
	XML_Parser parser;
	struct source_reading *reading;
	struct source_node *document, *at;
	size_t n_nodes, depth;
	bool is_failed; /* reading says why */
};

static void node_free(struct source_node *node)
{
	for (size_t i = 0; i < node->n_attributes; i++) {
		free(node->attribute[i].name);
		free(node->attribute[i].value);
	}
	free(node->attribute);
	free(node->name);
	free(node->text);
	free(node);
}

/* Without recursion: leaves first. */
void source_tree_free(struct source_node *document)
{
	struct source_node *node = document, *parent;

	while (node != NULL) {
		if (node->child != NULL) {
			parent = node;
			node = node->child;
			parent->child = NULL;
			continue;
		}
		parent = node->next != NULL ? node->next : node->parent;
		node_free(node);
		node = parent;
	}
}

static void stop(struct builder *builder, const char *text)
{
	if (!builder->is_failed)
		source_reading_fail(builder->reading, CR_REPLY, "%s", text);
	builder->is_failed = true;
	XML_StopParser(builder->parser, XML_FALSE);
}

static bool copy_attributes(struct source_node *node, const XML_Char **attributes)
{
	size_t n = 0;

	while (attributes[2 * n] != NULL)
		n++;
	node->attribute = n > 0 ? calloc(n, sizeof *node->attribute) : NULL;
	if (n > 0 && node->attribute == NULL)
		return false;
	for (; node->n_attributes < n; node->n_attributes++) {
		struct source_attribute *to = &node->attribute[node->n_attributes];

		to->name = strdup(attributes[2 * node->n_attributes]);
		to->value = strdup(attributes[2 * node->n_attributes + 1]);
		if (to->name == NULL || to->value == NULL) {
			free(to->name);
			free(to->value);
			return false;
		}
	}
	return true;
}

static struct source_node *node_new(struct source_node *parent, const XML_Char *name,
				    const XML_Char **attributes)
{
	struct source_node *node = calloc(1, sizeof *node);

	if (node == NULL)
		return NULL;
	node->name = strdup(name);
	if (node->name == NULL || !copy_attributes(node, attributes)) {
		node_free(node);
		return NULL;
	}
	node->parent = parent;
	if (parent->last != NULL)
		parent->last->next = node;
	else
		parent->child = node;
	parent->last = node;
	return node;
}

static void on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
	struct builder *builder = user;
	struct source_node *node;

	if (builder->is_failed)
		return;
	if (++builder->depth > SOURCE_TREE_DEPTH_MAX) {
		stop(builder, "not taken: XML with more than 128 elements inside each other");
		return;
	}
	if (++builder->n_nodes > SOURCE_TREE_NODES_MAX) {
		stop(builder, "not taken: XML with more than 65536 elements");
		return;
	}
	node = node_new(builder->at, name, attributes);
	if (node == NULL)
		stop(builder, "no memory for an XML answer");
	else
		builder->at = node;
}

static void on_end(void *user, const XML_Char *name)
{
	struct builder *builder = user;

	(void)name;
	if (builder->is_failed)
		return;
	builder->depth--;
	builder->at = builder->at->parent;
}

static void on_text(void *user, const XML_Char *text, int len)
{
	struct builder *builder = user;
	struct source_node *node = builder->at;
	char *grown;

	/* 4 KiB are more than any figure or name; what is longer is prose. */
	if (builder->is_failed || node->len + (size_t)len > 4096)
		return;
	grown = realloc(node->text, node->len + (size_t)len + 1);
	if (grown == NULL) {
		stop(builder, "no memory for an XML answer");
		return;
	}
	memcpy(grown + node->len, text, (size_t)len);
	node->text = grown;
	node->len += (size_t)len;
	grown[node->len] = '\0';
}

/* What a DOCTYPE brings along (entities) can only do harm. */
static void on_doctype(void *user, const XML_Char *name, const XML_Char *system_id,
		       const XML_Char *public_id, int has_internal_subset)
{
	(void)name, (void)system_id, (void)public_id, (void)has_internal_subset;
	stop(user, "not taken: XML with a DOCTYPE");
}

static bool is_good(struct builder *builder, enum XML_Status status)
{
	if (builder->is_failed)
		return false;
	if (status == XML_STATUS_OK)
		return true;
	source_reading_fail(builder->reading, CR_REPLY, "bad XML in line %lu, column %lu: %s",
			    XML_GetCurrentLineNumber(builder->parser),
			    XML_GetCurrentColumnNumber(builder->parser) + 1,
			    XML_ErrorString(XML_GetErrorCode(builder->parser)));
	return false;
}

static struct source_node *build(struct builder *builder, const struct source_answer *answer)
{
	enum XML_Status status;

	XML_SetUserData(builder->parser, builder);
	XML_SetElementHandler(builder->parser, on_start, on_end);
	XML_SetCharacterDataHandler(builder->parser, on_text);
	XML_SetStartDoctypeDeclHandler(builder->parser, on_doctype);
	status = XML_Parse(builder->parser, answer->bytes, (int)answer->len, XML_TRUE);
	if (is_good(builder, status))
		return builder->document;
	source_tree_free(builder->document);
	return NULL;
}

struct source_node *source_tree_new(struct source_reading *reading,
				    const struct source_answer *answer)
{
	struct builder builder = { .reading = reading };
	struct source_node *document;

	if (source_looks_like_html(answer)) {
		source_reading_fail(reading, CR_REPLY, "not XML: looks like HTML (login page?)");
		return NULL;
	}
	if (answer->len > INT_MAX) {
		source_reading_fail(reading, CR_REPLY, "not taken: XML of more than 2 GiB");
		return NULL;
	}
	builder.parser = XML_ParserCreate(NULL);
	builder.document = builder.at = calloc(1, sizeof *builder.document);
	if (builder.parser == NULL || builder.document == NULL) {
		source_reading_fail(reading, CR_REPLY, "no memory for an XML parser");
		XML_ParserFree(builder.parser);
		free(builder.document);
		return NULL;
	}
	document = build(&builder, answer);
	XML_ParserFree(builder.parser);
	return document;
}

const char *source_tree_attribute(const struct source_node *node, const char *name)
{
	for (size_t i = 0; i < node->n_attributes; i++)
		if (strcmp(node->attribute[i].name, name) == 0)
			return node->attribute[i].value;
	return NULL;
}
