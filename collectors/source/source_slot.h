/* source_slot.h - reading what stands under ok, key, fields ... of a description. */
#ifndef CR_COLLECTORS_SOURCE_SLOT_H
#define CR_COLLECTORS_SOURCE_SLOT_H

#include "source_internal.h"

/** What a slot is for. */
struct source_slot_want {
	enum source_role role;
	const struct source_kind *kind;
	const char *metric; /* fields: its name; times: "_seconds" */
};

/** Compile a selector, or NULL with a fault. */
void *source_slot_compile(struct source_parser *parser, const struct source_at *at,
			  const struct source_kind *kind, const char *text);

/** Read a slot: a selector alone, or a map. Returns whether it is optional. */
bool source_slot_read(struct source_parser *parser, const struct source_at *at,
		      const struct json_t *json, const struct source_slot_want *want,
		      struct source_slot *slot);
void source_slot_fini(struct source_slot *slot, const struct source_kind *kind);

#endif
