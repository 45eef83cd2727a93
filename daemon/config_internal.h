/* config_internal.h - what the parts of the configuration reader share: the reader, its mistakes,
 * and careful steps over YAML nodes. */
#ifndef CR_DAEMON_CONFIG_INTERNAL_H
#define CR_DAEMON_CONFIG_INTERNAL_H

#include <yaml.h>

#include "config.h"

#define CONFIG_BYTES_MAX    (4u << 20) /* of the file */
#define CONFIG_DEPTH_MAX    16         /* of lists and maps inside each other */
#define CONFIG_ANCHORS_MAX  1000       /* libyaml compares each with all */
#define CONFIG_TAGS_MAX     100        /* %TAG lines */
#define CONFIG_NODES_MAX    1000000    /* values in the file */
#define CONFIG_MISTAKES_MAX 500        /* that are listed */
#define CONFIG_TEXT_MAX     4095       /* bytes of one value */
#define CONFIG_PAIRS_MAX    64         /* options of a plugin, vars or targets of a server */
#define CONFIG_KEYS_MAX     12         /* known keys of one kind of map */
#define CONFIG_SERVERS_MAX  16384      /* as many as an image holds */
#define CONFIG_SERVICES_MAX 256
#define CONFIG_SOURCES_MAX  256

#define CONFIG_SOURCE_OPTION "source" /* of collectors that read the source language */

/** Where something was written; line and column count from 1; line 0: the file as a whole. */
struct config_place {
	const char *file; /* a profile; NULL: the configuration */
	size_t line, column;
	const yaml_node_t *at; /* of the configuration, to which it belongs; NULL: it is there */
};

/** One mistake. */
struct config_mistake {
	char *file; /* a profile; NULL: the configuration */
	size_t line, column;
	size_t at_line, at_column; /* in the configuration */
	size_t found;              /* the how many-th: keeps the order at one place */
	char *text;
};

/** A name with where it was given. */
struct config_name {
	const char *name; /* NULL: it had none; borrowed from the configuration */
	size_t index;
	const yaml_node_t *at;
};

/** Names for look-ups and for "did you mean". */
struct config_names {
	struct config_name *sorted; /* by name */
	const char **words;         /* the same, NULL-terminated */
	size_t n;
};

/** Where a source said what can only be checked once the servers are known. */
struct config_source_nodes {
	const yaml_node_t *entry, *target, *servers, *profile, *heap_max;
	bool is_per_server; /* its answers are about one server each */
	bool is_accepted;   /* the plugin has accepted the options */
};

/** One reading of one file. */
struct config_reader {
	const char *path;
	char *folder; /* of the file, absolute */
	const struct config_plugins *plugins;
	struct config *config;
	yaml_document_t document;
	struct config_mistake mistake[CONFIG_MISTAKES_MAX];
	size_t n_mistakes; /* listed */
	size_t n_unlisted; /* past CONFIG_MISTAKES_MAX */
	bool is_out_of_memory;
	struct config_names servers, sources;
	struct config_source_nodes *source_nodes;
};

/*** config_report.c ***/

/** Note a mistake; line 0: it concerns the file as a whole. The same text at the same place is
 * noted once. [main] */
void config_mistake_at(struct config_reader *reader, size_t line, size_t column, const char *fmt,
		       ...) CR_PRINTF(4, 5);

/** Note a mistake at the beginning of a node. [main] */
void config_mistake(struct config_reader *reader, const yaml_node_t *at, const char *fmt, ...)
	CR_PRINTF(3, 4);

/** " and 3 others", to stand behind the first of several servers; "" if n is 0. Returns buf. [any]
 */
const char *config_others(char *buf, size_t len, size_t n);

/** Where a pair was written: in the configuration, or in the profile that it names at profile_at.
 * [any] */
struct config_place config_pair_place(const struct config_pair *pair,
				      const yaml_node_t *profile_at);

/** Note a mistake in a profile, or in the configuration. file: copied. [main] */
void config_mistake_in(struct config_reader *reader, const struct config_place *place,
		       const char *fmt, ...) CR_PRINTF(3, 4);

/** All mistakes in the file's order. Returns 0 or -ENOMEM with the report saying so. [main] */
int config_report_make(struct config_reader *reader, struct config_report *report);
void config_mistakes_free(struct config_reader *reader);

/*** config_yaml.c ***/

/**
 * Read the file and load its one document into reader->document, to be deleted by the caller.
 * Returns 0 with the root, or < 0 with mistakes noted and nothing to delete. [main]
 */
int config_load(struct config_reader *reader, const yaml_node_t **root);

/*** config_walk.c: what is the name of the thing in messages ("address", "a server") ***/

/** A copy in the configuration's memory, or NULL with reader->is_out_of_memory. [main] */
char *config_copy(struct config_reader *reader, const char *text);
void *config_array(struct config_reader *reader, size_t n, size_t size); /* zeroed */

/** The node as text, or NULL with a mistake: not a scalar, no value, empty (unless may_be_empty),
 * tagged, too long, control characters. Borrowed from the document. [main] */
const char *config_text(struct config_reader *reader, const yaml_node_t *node, const char *what,
			bool may_be_empty);

/** Is it null: nothing, ~ or null, without quotes? [main] */
bool config_is_null(const yaml_node_t *node);

/**
 * Take a map apart: slot[i] becomes the value of the i-th of keys[] (NULL-terminated, at most
 * CONFIG_KEYS_MAX), or NULL. Other keys are mistakes unless takes_others. Returns false with a
 * mistake if node is no map. [main]
 */
bool config_map(struct config_reader *reader, const yaml_node_t *node, const char *what,
		const char *const *keys, bool takes_others, const yaml_node_t **slot);

/** Number of entries of a list of 1 .. max; 0 with a mistake if it is none. more: what to do about
 * an empty one. [main] */
size_t config_list(struct config_reader *reader, const yaml_node_t *node, const char *what,
		   size_t max, const char *more);
const yaml_node_t *config_item(struct config_reader *reader, const yaml_node_t *list, size_t i);

/** May this key stand in the map? Notes the mistake if not. NULL: any may. */
typedef bool config_key_fn(struct config_reader *reader, const yaml_node_t *key, const char *name);

/** A map of plain values as pairs, without the keys of known[] (NULL: take all). Returns how many.
 * [main] */
size_t config_pairs(struct config_reader *reader, const yaml_node_t *map, const char *what,
		    const char *const *known, config_key_fn *may_stand, struct config_pair **pairs);
void config_pairs_free(struct config_pair *pairs, size_t n);

/** From least to most, both in words for the message. */
struct config_range {
	int64_t least_ns, most_ns;
	const char *words; /* "50ms to 1d" */
};

/** A duration within range; *out_ns is untouched on a mistake or if node is NULL. [main] */
void config_duration(struct config_reader *reader, const yaml_node_t *node, const char *what,
		     const struct config_range *range, int64_t *out_ns);

/** A whole number from least to most; *out is untouched on a mistake or if node is NULL. [main] */
void config_whole(struct config_reader *reader, const yaml_node_t *node, const char *what,
		  int64_t least, int64_t most, uint32_t *out);

/** true or false; *out is untouched on a mistake or if node is NULL. [main] */
void config_bool(struct config_reader *reader, const yaml_node_t *node, const char *what,
		 bool *out);

/** The size of a heap, of a server or of all that a source polls; *out is untouched on a mistake or
 * if node is NULL. [main] */
void config_heap_max(struct config_reader *reader, const yaml_node_t *node, int64_t *out);

/** A name of a server, service, source or cluster, copied; NULL with a mistake. [main] */
char *config_name(struct config_reader *reader, const yaml_node_t *node, const char *what);

/** The name of a plugin, copied; NULL with a mistake. [main] */
char *config_plugin_name(struct config_reader *reader, const yaml_node_t *node, const char *what);

/** Sort names for look-ups; takes names (malloc'd). Notes every name that is there twice as a
 * mistake ("server \"a\" is ..."). [main] */
void config_names_make(struct config_reader *reader, struct config_name *names, size_t n,
		       const char *what, struct config_names *out);
void config_names_free(struct config_names *names);

/** What stands under this name, or NULL. [main] */
const struct config_name *config_names_find(const struct config_names *names, const char *name);

/*** config_options.c ***/

/**
 * Check the options of a plugin: secret files first (their values become absolute paths), then the
 * table. at: of the entry; plugin_at: of the plugin's name. own_keys: keys of the entry itself that
 * may have been meant, or NULL. [main]
 */
struct config_options {
	bool is_router;
	const char *plugin;
	struct config_pair *pairs;
	size_t n;
	const yaml_node_t *at, *plugin_at;
	const yaml_node_t *profile_at; /* what is said about a profile's options comes there */
	const char *const *own_keys;
	bool is_faulty; /* mistakes have been told: the plugin is not asked */
};

/** Judge the options of one plugin. Returns whether the plugin has accepted them. [main] */
bool config_options_check(struct config_reader *reader, const struct config_options *options);

/*** config_profile.c ***/

/** A collector's entry, and what may stand in it. */
struct config_entry {
	const yaml_node_t *at, *profile; /* profile: the value of that key, or NULL */
	const char *plugin;              /* NULL: nobody knows */
	const char *const *own_keys;     /* that are neither options nor of the source language */
};

/**
 * Take the options of the entry's plugin out of it. If the plugin reads the source language (it has
 * an option "source"), its profile and the keys of the language become that option, and the profile
 * may hold presets of the others. Sets source's options, and nodes->is_per_server. [main]
 */
void config_profile_read(struct config_reader *reader, const struct config_entry *entry,
			 struct config_source *source, struct config_source_nodes *nodes);

/*** config_figures.c ***/

/** Take the figures out of a description in JSON, which is a good one; with those that follow from
 * them. [main] */
void config_figures_read(struct config_reader *reader, const char *text,
			 struct config_source *source);
void config_figures_free(struct config_source *source);

/** The figure that a source gives of a metric, or NULL. [any] */
const struct config_figure *config_figure_find(const struct config_source *source,
					       const char *metric);

/*** config_looks.c ***/

#define CONFIG_LOOKS_MAX 64 /* metrics of one router */

/** Metrics, borrowed from a plugin's facts. */
struct config_looks {
	const char *metric[CONFIG_LOOKS_MAX];
	size_t n;
};

/** The metrics that a router looks at: those that it needs, and those that it wants; of a router
 * that is told by free text what to look at, those that are named there. [main] */
void config_looks_find(const struct config_reader *reader, const struct config_choice *choice,
		       struct config_looks *looks);

/** Set choice->ranks_by. [main] */
void config_ranks_by_find(struct config_reader *reader, struct config_choice *choice);

/*** config_warnings.c ***/

/** Note what is seldom meant in reader->config, if it has no mistakes. [main] */
void config_warnings_make(struct config_reader *reader);
void config_warnings_free(struct config *config);

/*** config_vars.c ***/

struct source;
struct source_yaml;

/** Remember the variables that what the source sends names, and where. [main] */
void config_vars_note(struct config_reader *reader, const struct source *parsed,
		      const struct source_yaml *yaml, struct config_source *source);

/** Check them, once the servers are known. [main] */
void config_vars_check(struct config_reader *reader, const struct config_source *source,
		       const struct config_source_nodes *nodes);

/** A variable, and where it was written. */
struct config_use {
	struct config_place place;
	const char *what; /* "target", "path" */
	const char *name;
	size_t len;
	bool is_of_target; /* servers with a target of their own need not have it */
};

/** A mistake if a server that the source polls does not have the variable. [main] */
void config_vars_check_use(struct config_reader *reader, const struct config_source *source,
			   const struct config_use *use);

/*** config_servers.c ***/

/** Read the list of servers. Sources must have been read. [main] */
void config_servers_read(struct config_reader *reader, const yaml_node_t *list);

/**
 * A list of names of managed servers as indices; list NULL: all managed ones. never: what an
 * admin server never is ("polled"). [main]
 */
void config_servers_pick(struct config_reader *reader, const yaml_node_t *list, const char *never,
			 size_t **indices, size_t *n);

/*** config_sources.c ***/

/** Read the list of collectors but for what needs the servers. [main] */
void config_sources_read(struct config_reader *reader, const yaml_node_t *list);

/** The rest: which servers are polled, and what their targets are made of. [main] */
void config_sources_finish(struct config_reader *reader);

/*** config_targets.c ***/

/** Have collectors judge all targets of the sources whose options they accept. [main] */
void config_targets_check(struct config_reader *reader);

/*** config_services.c ***/

/** Read the list of services. [main] */
void config_services_read(struct config_reader *reader, const yaml_node_t *list);

/*** config_health.c ***/

/** What holds for a service that says nothing of health: on, without a check. */
struct config_health config_health_preset(void);

/** The value of a service's key health: on, off, or a map. [main] */
void config_health_read(struct config_reader *reader, const yaml_node_t *node,
			struct config_health *health);
void config_health_free(struct config_health *health);

/*** config_smooth.c ***/

/** Read what a service smooths. [main] */
void config_smooth_read(struct config_reader *reader, const yaml_node_t *node,
			struct config_service *service);

/*** config_expand.c ***/

/** A piece of a template: text as it stands, or the name of a variable. */
struct config_piece {
	const char *ptr;
	size_t len;
	bool is_variable;
};

/** Next piece; *at moves on. Returns 1, 0 at the end, -EINVAL for "${" without a name and "}".
 * [any] */
int config_piece_next(const char **at, struct config_piece *piece);

/** The value of a variable for a server, or NULL. [any] */
const char *config_variable(const struct config_server *server, const char *name, size_t len);

/** Are all variables of a target known for a server, and closed? [any] */
bool config_can_expand(const char *target, const struct config_server *server);

/** host, port, name: the variables that every server has. NULL-terminated. */
extern const char *const config_own_variables[];

#endif
