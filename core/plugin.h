/* plugin.h - load a router or collector from a file: every check that can be made before it runs.
 * [L3] */
#ifndef CR_CORE_PLUGIN_H
#define CR_CORE_PLUGIN_H

#include <callrouter/plugin.h>

#include "err.h"

enum plugin_kind { PLUGIN_ROUTER = 1, PLUGIN_COLLECTOR };

/** A loaded object; the tables are copies of this host's size, zeroed where the plugin's was
 * shorter. */
struct plugin {
	enum plugin_kind kind;
	void *handle; /* of dlopen() */
	char path[4096];
	struct cr_router router;       /* for PLUGIN_ROUTER */
	struct cr_collector collector; /* for PLUGIN_COLLECTOR */
};

/**
 * Is the open file a whole shared object for this machine? Reads headers only: a truncated file
 * would kill the process inside dlopen(). name: for messages. Returns 0 or -ENOEXEC with a
 * sentence. [any]
 */
int plugin_check_elf(int fd, const char *name, struct err *err);

/**
 * Check, dlopen (RTLD_NOW | RTLD_LOCAL; collectors also RTLD_NODELETE) and adopt the file. path
 * must be a name that was never used before in this process. name: what .name has to be, or NULL.
 * Returns 0 or < 0 with one sentence that says what to do: not ELF, truncated, wrong machine,
 * missing library, missing symbol, wrong ABI, unsound table. [any]
 */
int plugin_open(const char *path, const char *name, struct plugin **out, struct err *err);

/** dlclose. Nothing of it may be running. [any] */
void plugin_close(struct plugin *plugin);

const char *plugin_name(const struct plugin *plugin);
const char *plugin_version(const struct plugin *plugin);
const struct cr_option *plugin_options(const struct plugin *plugin);

/**
 * Open an instance of a router with packed options ("name=value\n" lines, see option.h). source:
 * service's name. saved: the predecessor's bytes or NULL. host: outlives the instance. values:
 * *values is malloc'd, the caller frees it after close(). Returns 0 or < 0 with err. [rank or
 * refresh]
 */
struct plugin_instance {
	const struct plugin *plugin;
	void *self;
	union cr_value *values;
	char *packed;
};
int plugin_instance_open(const struct plugin *plugin, const struct cr_host *host,
			 const char *source, const char *packed, const void *saved,
			 size_t saved_len, struct plugin_instance *out, struct err *err);
void plugin_instance_close(struct plugin_instance *instance);

/** The k-th metric that a router needs or wants, NULL after the last. [any] */
const char *plugin_metric(const struct cr_router *router, size_t k);
size_t plugin_count(const char *const *names); /* entries of a NULL-terminated list (NULL: 0) */

#endif
